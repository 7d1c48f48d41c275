/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A new file that is on disk and whole under its name, or is not there at all, whatever dies in
 * between: it has no name until its bytes are on disk.
 */
#ifndef SL_NEW_FILE_H
#define SL_NEW_FILE_H

#include <stddef.h>
#include <sys/types.h>

/* Bytes in a file without a name in the folder of `path`. Returns a descriptor, or -errno. */
int sl_new_file_write(const char *path, const void *bytes, size_t n, mode_t mode);
/* Give it that name. 0; -EEXIST: something has it; else -errno. The descriptor stays open. */
int sl_new_file_place(int fd, const char *path);
/* Names in the folder of that path are on disk. 0 or -errno. */
int sl_new_file_sync_folder(const char *path);

#endif
