/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two key files of a node while the cluster's key changes: that of `key_file`, by which the
 * node proves itself, and that with SL_KEY_ALSO at its end, which it takes from others, too. A
 * change survives a loss of power: it is on disk, whole, or not there at all.
 */
#ifndef SL_KEY_FILES_H
#define SL_KEY_FILES_H

struct sl_key_files {
	char *key, *also; /* owned: paths */
};

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
