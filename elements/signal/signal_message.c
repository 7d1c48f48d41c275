/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <string.h>

#include "elements/signal/signal_message.h"

/* Offsets in the header. */
enum {
	MAGIC_AT = 0,
	VERSION_AT = 4,
	TYPE_AT = 5,
	OUTCOME_AT = 6,
	ZERO_AT = 7,
	TIME_AT = 8,
	KEY_AT = 16
};
#define ANSWER 0x80u

static const uint8_t magic[4] = { 's', 'l', 's', 'g' };

_Static_assert(KEY_AT + EL_SIGNAL_KEY_BYTES == EL_SIGNAL_HEADER_BYTES, "layout of the header");
_Static_assert(sizeof(struct el_signal_way) == 32, "no padding in what is sealed");

const char *el_signal_command_name(uint8_t command)
{
	static const char *const names[EL_SIGNAL_COMMANDS] = {
		[EL_SIGNAL_SETUP] = "setup",
		[EL_SIGNAL_CONFIGURE] = "configure",
		[EL_SIGNAL_TEARDOWN] = "teardown",
		[EL_SIGNAL_QUERY] = "query",
	};

	return command < EL_SIGNAL_COMMANDS && names[command] ? names[command] : "unknown";
}

const char *el_signal_outcome_name(uint8_t outcome)
{
	static const char *const names[EL_SIGNAL_OUTCOMES] = {
		[EL_SIGNAL_DONE] = "done",
		[EL_SIGNAL_REFUSED] = "refused",
		[EL_SIGNAL_UNAUTHENTIC] = "unauthentic",
		[EL_SIGNAL_STALE] = "stale",
		[EL_SIGNAL_MALFORMED] = "malformed",
		[EL_SIGNAL_BUSY] = "busy",
	};

	return outcome < EL_SIGNAL_OUTCOMES ? names[outcome] : "unknown";
}

void el_signal_map4(const uint8_t address[4], uint8_t out[16])
{
	memset(out, 0, 10);
	memset(out + 10, 0xff, 2);
	memcpy(out + 12, address, 4);
}

int el_signal_parse(const uint8_t *message, size_t n, struct el_signal *out)
{
	const uint8_t *key = message + KEY_AT;

	if (n < sizeof(magic) || memcmp(message, magic, sizeof(magic)) != 0)
		return -EPROTO;
	if (n < EL_SIGNAL_HEADER_BYTES + EL_SIGNAL_MAC_BYTES || n > EL_SIGNAL_MESSAGE_BYTES ||
	    message[VERSION_AT] != EL_SIGNAL_VERSION)
		return -EINVAL;
	*out = (struct el_signal){
		.command = message[TYPE_AT] & (ANSWER - 1),
		.is_answer = message[TYPE_AT] & ANSWER,
		.outcome = message[OUTCOME_AT],
		.text = (const char *)message + EL_SIGNAL_HEADER_BYTES,
		.text_bytes = (uint32_t)(n - EL_SIGNAL_HEADER_BYTES - EL_SIGNAL_MAC_BYTES),
	};
	for (int i = 0; i < 8; i++)
		out->time_ns = out->time_ns << 8 | message[TIME_AT + i];
	memcpy(out->key, key, EL_SIGNAL_KEY_BYTES);
	if (key[EL_SIGNAL_KEY_BYTES - 1] || message[ZERO_AT])
		return -EINVAL;
	/* The answer to what was malformed has the command 0, which names none. */
	if (out->is_answer)
		return out->command < EL_SIGNAL_COMMANDS && out->outcome < EL_SIGNAL_OUTCOMES
			       ? 0
			       : -EINVAL;
	return out->command && out->command < EL_SIGNAL_COMMANDS && !out->outcome ? 0 : -EINVAL;
}

/* The MAC of way and message up to its MAC (RFC 2104, FIPS 180-4). False: libcrypto has failed. */
static bool compute_mac(const uint8_t *message, size_t n, const struct el_signal_way *way,
			const uint8_t *secret, size_t secret_bytes,
			uint8_t mac[EL_SIGNAL_MAC_BYTES])
{
	uint8_t sealed[sizeof(*way) + EL_SIGNAL_MESSAGE_BYTES];

	memcpy(sealed, way, sizeof(*way));
	memcpy(sealed + sizeof(*way), message, n);
	return HMAC(EVP_sha256(), secret, (int)secret_bytes, sealed, sizeof(*way) + n, mac, NULL);
}

size_t el_signal_write(const struct el_signal *signal, const struct el_signal_way *way,
		       const uint8_t *secret, size_t secret_bytes, uint8_t *out)
{
	const size_t n = EL_SIGNAL_HEADER_BYTES + signal->text_bytes;

	memset(out, 0, EL_SIGNAL_HEADER_BYTES);
	memcpy(out + MAGIC_AT, magic, sizeof(magic));
	out[VERSION_AT] = EL_SIGNAL_VERSION;
	out[TYPE_AT] = (uint8_t)(signal->command | (signal->is_answer ? ANSWER : 0));
	out[OUTCOME_AT] = signal->outcome;
	for (int i = 0; i < 8; i++)
		out[TIME_AT + i] = (uint8_t)(signal->time_ns >> (56 - 8 * i));
	memcpy(out + KEY_AT, signal->key, EL_SIGNAL_KEY_BYTES);
	if (signal->text_bytes)
		memcpy(out + EL_SIGNAL_HEADER_BYTES, signal->text, signal->text_bytes);
	memset(out + n, 0, EL_SIGNAL_MAC_BYTES);
	if (secret && !compute_mac(out, n, way, secret, secret_bytes, out + n))
		return 0;
	return n + EL_SIGNAL_MAC_BYTES;
}

bool el_signal_is_sealed(const uint8_t *message, size_t n, const struct el_signal_way *way,
			 const uint8_t *secret, size_t secret_bytes)
{
	const size_t text_end = n - EL_SIGNAL_MAC_BYTES;
	uint8_t mac[EL_SIGNAL_MAC_BYTES];

	return compute_mac(message, text_end, way, secret, secret_bytes, mac) &&
	       CRYPTO_memcmp(mac, message + text_end, sizeof(mac)) == 0;
}
