/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two key files of a node while the cluster's key changes: that of `key_file`, by which the
 * node proves itself, and that with SL_KEY_ALSO at its end, which it takes from others, too. A
 * change survives a loss of power: it is on disk, whole, or not there at all.
 */
#ifndef SL_KEY_FILES_H
#define SL_KEY_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SL_KEY_MAX_BYTES  1024
#define SL_KEY_FILE_BYTES (SL_KEY_MAX_BYTES + 2) /* a newline, and one that is too many */

struct sl_key_files {
	char *key, *also; /* owned: paths */
};

/* Are these bytes of a file a key: 16 to 1024 bytes, and maybe one newline more? */
bool sl_key_is_one(const uint8_t *bytes, size_t n);
/* The bytes of a key file. Returns how many; -EINVAL: it has no key; else what the kernel said. */
ssize_t sl_key_file_read(const char *path, uint8_t bytes[SL_KEY_FILE_BYTES]);

/* 0 or -ENOMEM. */
int sl_key_files_init(struct sl_key_files *files, const char *key_file);
void sl_key_files_free(struct sl_key_files *files);

/*
 * The second key becomes a copy of the file `from`. -EEXIST: there is one; -EINVAL: that is no key,
 * of 16 to 1024 bytes; else what the kernel said. *at: which of the two files an error is about;
 * borrowed from the arguments.
 */
int sl_key_files_add(const struct sl_key_files *files, const char *from, const char **at);
/* The two change places. -ENOENT: there is no second one; else what the kernel said. */
int sl_key_files_switch(const struct sl_key_files *files);
/* Is there a second one? 0, -ENOENT, or what the kernel said. */
int sl_key_files_look(const struct sl_key_files *files);
/* Remove the second one. -ENOENT: there is none; else what the kernel said. */
int sl_key_files_remove(const struct sl_key_files *files);

#endif
