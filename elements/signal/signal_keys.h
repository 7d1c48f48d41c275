/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The keys of senders of signals, and what each sender may do. A file, one key a line:
 *
 *      # NAME secret=HEX chains=NAME[,NAME...] [share=N] [rate=N%] [classes=CLASS[,CLASS...]]
 *      alice secret=00112233445566778899aabbccddeeff chains=video,audio share=20
 */
#ifndef EL_SIGNAL_KEYS_H
#define EL_SIGNAL_KEYS_H

#include "elements/signal/signal_message.h"

#define EL_SIGNAL_KEYS_MAX     64u
#define EL_SIGNAL_SECRET_BYTES 64u /* at least a quarter of that */
#define EL_SIGNAL_NAMES_MAX    16u
#define EL_SIGNAL_NAME_BYTES   32u /* of a chain or class, with its NUL */
#define EL_SIGNAL_ERROR_BYTES  256

struct el_signal_names {
	uint32_t n;
	char name[EL_SIGNAL_NAMES_MAX][EL_SIGNAL_NAME_BYTES];
};

struct el_signal_key {
	char name[EL_SIGNAL_KEY_BYTES];
	uint8_t secret[EL_SIGNAL_SECRET_BYTES];
	uint32_t secret_bytes;
	struct el_signal_names chains;	/* that it may have */
	struct el_signal_names classes; /* of which its elements may be; none: of all */
	uint32_t share;			/* the largest that each chain may have; 1 unless written */
	uint32_t rate_percent;		/* the same, of the processor; 0 unless written */
};

struct el_signal_keys {
	uint32_t n;
	struct el_signal_key keys[EL_SIGNAL_KEYS_MAX];
};

/*
 * Read the keys of a text, which has a NUL at its end. file_name is only quoted. 0; -EINVAL with
 * `FILE:LINE: REASON` in error, which never quotes a secret.
 */
int el_signal_keys_parse(const char *file_name, const char *text, struct el_signal_keys *out,
			 char error[EL_SIGNAL_ERROR_BYTES]);
/* The same, of a file that its owner alone may read. 0 or -errno, with a line in error. */
int el_signal_keys_read(const char *path, struct el_signal_keys *out,
			char error[EL_SIGNAL_ERROR_BYTES]);
/* Wipe the secrets. */
void el_signal_keys_wipe(struct el_signal_keys *keys);

/* By name, or NULL. */
const struct el_signal_key *el_signal_keys_find(const struct el_signal_keys *keys,
						const char *name);
bool el_signal_names_have(const struct el_signal_names *names, const char *name);

#endif
