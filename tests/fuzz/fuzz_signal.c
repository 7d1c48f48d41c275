/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as signals, two a run, as a file of keys, and as a packet with its headers. The mutator
 * seals what is no signal of the key's yet, so that most inputs are obeyed; whoever is not
 * authentic is not. Each request has one answer, which parses, has its time and key, and is sealed
 * if and only if the request was; a copy of an obeyed message is not obeyed again.
 */
#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elements/signal/signal_fragments.h"
#include "elements/signal/signals.h"
#include "user/lib/log.h"

#define WALL_NS 1700000000000000000ULL
#define NOW_NS	1000000000000ULL

static const char keys_text[] = "k secret=00112233445566778899aabbccddeeff chains=a\n";
static struct el_signals signals;
static struct el_signal_keys keys;
static const struct el_signal_way way = { { 1 }, { 2 } };
static uint32_t obeyed;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t size_max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned int seed);

static enum el_signal_outcome obey(void *owner, const struct el_signal_key *key,
				   enum el_signal_command command, const char *text,
				   uint32_t text_bytes, char said[EL_SIGNAL_SAID_BYTES])
{
	static const enum el_signal_outcome outcomes[] = { EL_SIGNAL_DONE, EL_SIGNAL_REFUSED,
							   EL_SIGNAL_BUSY };
	uint32_t sum = 0;

	(void)owner;
	assert(key == &signals.keys.keys[0] && command > 0 && command < EL_SIGNAL_COMMANDS);
	for (uint32_t i = 0; i < text_bytes; i++)
		sum += (uint8_t)text[i];
	obeyed++;
	memset(said, 'x', sum % EL_SIGNAL_SAID_BYTES);
	return outcomes[sum % 3];
}

static const struct el_signal_ops ops = { obey };

static void read_keys(void)
{
	char error[EL_SIGNAL_ERROR_BYTES];

	if (!keys.n)
		assert(!el_signal_keys_parse("k", keys_text, &keys, error));
}

/* One message; what was asked and answered must agree. */
static uint8_t take(const uint8_t *message, size_t n)
{
	static uint8_t answer[EL_SIGNAL_MESSAGE_BYTES];
	struct el_signal asked, said;
	const struct el_signal_key *key = &keys.keys[0];
	int err = el_signal_parse(message, n, &asked);
	bool sealed = !err && strcmp(asked.key, key->name) == 0 &&
		      el_signal_is_sealed(message, n, &way, key->secret, key->secret_bytes);
	const uint32_t before = obeyed;
	size_t bytes = el_signals_take(&signals, message, n, &way, WALL_NS, NOW_NS, "x", answer);

	if (err == -EPROTO || (!err && asked.is_answer)) {
		assert(!bytes && obeyed == before);
		return EL_SIGNAL_OUTCOMES;
	}
	assert(bytes && !el_signal_parse(answer, bytes, &said) && said.is_answer);
	assert(sealed || obeyed == before);
	assert(sealed ==
	       (!err && el_signal_is_sealed(answer, bytes, &way, key->secret, key->secret_bytes)));
	if (err) {
		assert(said.outcome == EL_SIGNAL_MALFORMED && !said.command);
	} else {
		assert(said.command == asked.command && said.time_ns == asked.time_ns);
		assert(strcmp(said.key, asked.key) == 0);
		assert(sealed == (said.outcome != EL_SIGNAL_UNAUTHENTIC));
	}
	assert(sealed || said.text_bytes <= 64);
	return said.outcome;
}

static void take_keys(const uint8_t *data, size_t size)
{
	static struct el_signal_keys read;
	char *text = malloc(size + 1), error[EL_SIGNAL_ERROR_BYTES];

	memcpy(text, data, size);
	text[size] = '\0';
	if (el_signal_keys_parse("k", text, &read, error)) {
		assert(!read.n && strncmp(error, "k:", 2) == 0);
		for (const char *p = error; *p; p++)
			assert(isprint((unsigned char)*p));
	}
	for (uint32_t i = 0; i < read.n; i++)
		assert(read.keys[i].secret_bytes >= 16 && read.keys[i].chains.n &&
		       el_signal_keys_find(&read, read.keys[i].name) == &read.keys[i]);
	free(text);
}

/* A message is the end of its packet; what is put together of fragments is no longer than one. */
static void take_packet(const uint8_t *data, size_t size)
{
	static struct el_signal_fragments fragments;
	struct el_signal_packet packet;

	el_signal_packet_read(data, size, &packet);
	assert(packet.n < size || !size);
	assert(!packet.n || packet.message + packet.n == data + size);
	if (packet.is_fragment &&
	    el_signal_fragments_take(&fragments, &packet, NOW_NS) == EL_SIGNAL_WHOLE)
		assert(packet.n && packet.n <= EL_SIGNAL_MESSAGE_BYTES);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t outcome;

	sl_log_set_level(SL_LOG_ERROR);
	read_keys();
	take_packet(data, size);
	if (size && data[0] == '#') {
		take_keys(data + 1, size - 1);
		return 0;
	}
	el_signals_init(&signals, &ops, NULL, WALL_NS - 60 * 1000000000ULL);
	el_signals_set_keys(&signals, &keys);
	obeyed = 0;
	outcome = take(data, size);
	if (outcome == EL_SIGNAL_DONE || outcome == EL_SIGNAL_REFUSED) {
		const uint32_t before = obeyed;

		assert(take(data, size) == outcome);
		assert(obeyed == before);
	}
	return 0;
}

/* Seal three of four, of a time near the router's. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned int seed)
{
	static uint8_t sealed[EL_SIGNAL_MESSAGE_BYTES];
	struct el_signal signal = { .command = 1 + seed / 16 % 5, .key = "k" };

	size = LLVMFuzzerMutate(data, size, size_max);
	read_keys();
	if (seed % 4 == 0 || (size && data[0] == '#') || size > EL_SIGNAL_TEXT_MAX ||
	    size + EL_SIGNAL_HEADER_BYTES + EL_SIGNAL_MAC_BYTES > size_max)
		return size;
	if (size > EL_SIGNAL_HEADER_BYTES + EL_SIGNAL_MAC_BYTES && memcmp(data, "slsg", 4) == 0) {
		size -= EL_SIGNAL_HEADER_BYTES + EL_SIGNAL_MAC_BYTES;
		signal.text = (const char *)data + EL_SIGNAL_HEADER_BYTES;
	} else {
		signal.text = (const char *)data;
	}
	signal.text_bytes = (uint32_t)size;
	signal.time_ns = WALL_NS + 2000000000ULL - (uint64_t)(seed / 128 % 40) * 1000000000ULL;
	size = el_signal_write(&signal, &way, keys.keys[0].secret, keys.keys[0].secret_bytes,
			       sealed);
	memcpy(data, sealed, size);
	return size;
}
