/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signatures of elements: ed25519 (RFC 8032) over the whole object, 64 bytes beside it. The
 * operator's public keys are the files `*.pub` of a directory, as `openssl pkey -pubout` writes
 * them.
 */
#ifndef EL_SIGNATURE_H
#define EL_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

#include "elements/core/package.h"

#define EL_SIGNATURE_BYTES 64u
#define EL_KEY_NAME_BYTES  64u

/*
 * Has one of the keys signed these bytes? 0, and the key's file without `.pub` in key; -EACCES, and
 * the reason in why.
 */
int el_signature_check(const char *keys_dir, const uint8_t *bytes, size_t n,
		       const uint8_t *signature, size_t signature_bytes,
		       char key[EL_KEY_NAME_BYTES], char why[EL_WHY_BYTES]);

#endif
