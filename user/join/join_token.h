/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A token by which one node joins, "ID.SECRET" in hexadecimal. etcd has the cluster's keys under
 * the ID, sealed by a key that is derived from the SECRET, which etcd never sees.
 *
 * Key and nonce are the 44 bytes of HKDF-SHA256 (RFC 5869) with the 16 bytes of the secret as input
 * keying material, the 8 bytes of the id as salt, and SL_JOIN_INFO as info. What is sealed by
 * AES-256-GCM (NIST SP 800-38D) is, without additional data:
 *
 *   1 byte    1, the version of this format
 *   2 bytes   length of the key by which nodes prove themselves, the higher byte first; and the key
 *   2 bytes   the same of the key that they take, too; 0: there is none
 *
 * The 16 bytes of the tag follow. A token seals once, so no key and nonce are used twice.
 */
#ifndef SL_JOIN_TOKEN_H
#define SL_JOIN_TOKEN_H

#include <stddef.h>
#include <stdint.h>

#include "user/keys/key_files.h"

#define SL_JOIN_INFO	     "sluice cluster join 1"
#define SL_JOIN_ID_BYTES     8
#define SL_JOIN_SECRET_BYTES 16
#define SL_JOIN_TOKEN_CHARS  (2 * SL_JOIN_ID_BYTES + 1 + 2 * SL_JOIN_SECRET_BYTES)
#define SL_JOIN_TAG_BYTES    16
#define SL_JOIN_SEALED_MAX   (1 + 2 * (2 + SL_KEY_FILE_BYTES) + SL_JOIN_TAG_BYTES)

struct sl_join_token {
	uint8_t id[SL_JOIN_ID_BYTES], secret[SL_JOIN_SECRET_BYTES];
};

/* The bytes of the cluster's key files. */
struct sl_join_keys {
	uint8_t key[SL_KEY_FILE_BYTES], also[SL_KEY_FILE_BYTES];
	size_t key_bytes, also_bytes; /* also_bytes 0: there is no second one */
};

/* A new one, of random bytes. 0, or -errno of getrandom. */
int sl_join_token_create(struct sl_join_token *out);
/* Read and write the text. -EINVAL: it is no token. */
int sl_join_token_parse(const char *text, struct sl_join_token *out);
void sl_join_token_text(const struct sl_join_token *token, char text[SL_JOIN_TOKEN_CHARS + 1]);
void sl_join_token_id(const struct sl_join_token *token, char id[2 * SL_JOIN_ID_BYTES + 1]);

/* Returns how many bytes out has; -EIO: libcrypto cannot. */
int sl_join_seal(const struct sl_join_token *token, const struct sl_join_keys *keys,
		 uint8_t out[SL_JOIN_SEALED_MAX]);
/*
 * 0; -EBADMSG: another token has sealed these bytes, or they have been altered; -EPROTO: this
 * version of sluice does not know what is in them; -EIO: libcrypto cannot. *keys has nothing then.
 */
int sl_join_open(const struct sl_join_token *token, const uint8_t *sealed, size_t n,
		 struct sl_join_keys *keys);

#endif
