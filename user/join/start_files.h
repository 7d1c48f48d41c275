/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files with which a node starts: all of them are there in the end, or none. They have no names
 * until all are on disk.
 */
#ifndef SL_START_FILES_H
#define SL_START_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SL_START_FILES_MAX 4

struct sl_start_file {
	const char *path;  /* borrowed, as is all below */
	const void *bytes; /* NULL: nothing is written */
	size_t n;
	mode_t mode;
	const char *former; /* the text that it replaces; NULL: there may be none */
	int fd;		    /* owned; -1: none */
	bool placed;
};

struct sl_start_files {
	struct sl_start_file file[SL_START_FILES_MAX];
	unsigned int n;
};

/* Another file, the `path` of which may be there already if `former` has its text. */
void sl_start_files_add(struct sl_start_files *files, const struct sl_start_file *file);
/*
 * Write them without names; then give them their names. 0; -EEXIST: one is there, and none has
 * changed; else -errno. *at: the path that an error is about.
 */
int sl_start_files_write(struct sl_start_files *files, const char **at);
int sl_start_files_place(struct sl_start_files *files, const char **at);
/* Everything as it was before. */
void sl_start_files_undo(struct sl_start_files *files);
/* Release what is held; what has been placed stays. */
void sl_start_files_close(struct sl_start_files *files);

#endif
