/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/join/join_token.h"

#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <string.h>
#include <sys/random.h>

#define FORMAT	    1
#define CIPHER_KEY  32
#define NONCE_BYTES 12

/* --- Text --- */

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_hex(const char *text, uint8_t *out, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		out[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static char *write_hex(const uint8_t *bytes, size_t n, char *out)
{
	for (size_t i = 0; i < n; i++) {
		*out++ = "0123456789abcdef"[bytes[i] >> 4];
		*out++ = "0123456789abcdef"[bytes[i] & 15];
	}
	return out;
}

int sl_join_token_create(struct sl_join_token *out)
{
	/* 24 bytes come whole, or not at all. */
	if (getrandom(out->id, sizeof(out->id), 0) < 0 ||
	    getrandom(out->secret, sizeof(out->secret), 0) < 0)
		return -errno;
	return 0;
}

int sl_join_token_parse(const char *text, struct sl_join_token *out)
{
	if (strlen(text) != SL_JOIN_TOKEN_CHARS || text[2 * SL_JOIN_ID_BYTES] != '.' ||
	    !read_hex(text, out->id, sizeof(out->id)) ||
	    !read_hex(text + 2 * SL_JOIN_ID_BYTES + 1, out->secret, sizeof(out->secret)))
		return -EINVAL;
	return 0;
}

void sl_join_token_text(const struct sl_join_token *token, char text[SL_JOIN_TOKEN_CHARS + 1])
{
	char *end = write_hex(token->id, sizeof(token->id), text);

	*end = '.';
	*write_hex(token->secret, sizeof(token->secret), end + 1) = '\0';
}

void sl_join_token_id(const struct sl_join_token *token, char id[2 * SL_JOIN_ID_BYTES + 1])
{
	*write_hex(token->id, sizeof(token->id), id) = '\0';
}

/* --- Sealing --- */

static int derive(const struct sl_join_token *token, uint8_t out[CIPHER_KEY + NONCE_BYTES])
{
	uint8_t secret[SL_JOIN_SECRET_BYTES], salt[SL_JOIN_ID_BYTES];
	char digest[] = "SHA256", info[] = SL_JOIN_INFO;
	const OSSL_PARAM params[] = {
		OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, secret, sizeof(secret)),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, salt, sizeof(salt)),
		OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info, sizeof(info) - 1),
		OSSL_PARAM_construct_end(),
	};
	EVP_KDF *hkdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
	EVP_KDF_CTX *ctx = hkdf ? EVP_KDF_CTX_new(hkdf) : NULL;
	int err = -EIO;

	memcpy(secret, token->secret, sizeof(secret));
	memcpy(salt, token->id, sizeof(salt));
	if (ctx && EVP_KDF_derive(ctx, out, CIPHER_KEY + NONCE_BYTES, params) == 1)
		err = 0;
	EVP_KDF_CTX_free(ctx);
	EVP_KDF_free(hkdf);
	explicit_bzero(secret, sizeof(secret));
	return err;
}

/* Encrypt or decrypt n bytes in place; the tag is written, or compared (-EBADMSG). */
static int cipher(const struct sl_join_token *token, bool encrypt, uint8_t *bytes, int n,
		  uint8_t tag[SL_JOIN_TAG_BYTES])
{
	uint8_t derived[CIPHER_KEY + NONCE_BYTES];
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int err = ctx ? derive(token, derived) : -EIO, written;

	if (!err && (EVP_CipherInit_ex2(ctx, EVP_aes_256_gcm(), derived, derived + CIPHER_KEY,
					encrypt, NULL) != 1 ||
		     EVP_CipherUpdate(ctx, bytes, &written, bytes, n) != 1))
		err = -EIO;
	if (!err && !encrypt &&
	    EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_SET_TAG, SL_JOIN_TAG_BYTES, tag) != 1)
		err = -EIO;
	if (!err && EVP_CipherFinal_ex(ctx, bytes + n, &written) != 1)
		err = encrypt ? -EIO : -EBADMSG;
	if (!err && encrypt &&
	    EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_GCM_GET_TAG, SL_JOIN_TAG_BYTES, tag) != 1)
		err = -EIO;
	EVP_CIPHER_CTX_free(ctx);
	explicit_bzero(derived, sizeof(derived));
	return err;
}

static uint8_t *put_key(uint8_t *out, const uint8_t *key, size_t n)
{
	*out++ = (uint8_t)(n >> 8);
	*out++ = (uint8_t)n;
	memcpy(out, key, n);
	return out + n;
}

/* Returns the bytes taken, or 0: they are none of a key file. */
static size_t take_key(const uint8_t *from, size_t left, uint8_t key[SL_KEY_FILE_BYTES],
		       size_t *key_bytes)
{
	const size_t n = left >= 2 ? (size_t)from[0] << 8 | from[1] : SIZE_MAX;

	if (n > SL_KEY_FILE_BYTES || n > left - 2)
		return 0;
	memcpy(key, from + 2, n);
	*key_bytes = n;
	return n + 2;
}

static int take_keys(const uint8_t *plain, size_t n, struct sl_join_keys *keys)
{
	size_t first, second;

	if (n < 1 || plain[0] != FORMAT)
		return -EPROTO;
	first = take_key(plain + 1, n - 1, keys->key, &keys->key_bytes);
	if (!first)
		return -EPROTO;
	second = take_key(plain + 1 + first, n - 1 - first, keys->also, &keys->also_bytes);
	if (!second || 1 + first + second != n || !sl_key_is_one(keys->key, keys->key_bytes) ||
	    (keys->also_bytes && !sl_key_is_one(keys->also, keys->also_bytes)))
		return -EPROTO;
	return 0;
}

int sl_join_seal(const struct sl_join_token *token, const struct sl_join_keys *keys,
		 uint8_t out[SL_JOIN_SEALED_MAX])
{
	uint8_t *end = out;
	int err;

	*end++ = FORMAT;
	end = put_key(end, keys->key, keys->key_bytes);
	end = put_key(end, keys->also, keys->also_bytes);
	err = cipher(token, true, out, (int)(end - out), end);
	if (err) {
		explicit_bzero(out, SL_JOIN_SEALED_MAX);
		return err;
	}
	return (int)(end - out) + SL_JOIN_TAG_BYTES;
}

int sl_join_open(const struct sl_join_token *token, const uint8_t *sealed, size_t n,
		 struct sl_join_keys *keys)
{
	uint8_t plain[SL_JOIN_SEALED_MAX];
	size_t plain_bytes;
	int err;

	explicit_bzero(keys, sizeof(*keys));
	if (n < SL_JOIN_TAG_BYTES || n > sizeof(plain))
		return -EBADMSG;
	plain_bytes = n - SL_JOIN_TAG_BYTES;
	memcpy(plain, sealed, n);
	err = cipher(token, false, plain, (int)plain_bytes, plain + plain_bytes);
	if (!err)
		err = take_keys(plain, plain_bytes, keys);
	if (err)
		explicit_bzero(keys, sizeof(*keys));
	explicit_bzero(plain, sizeof(plain));
	return err;
}
