/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The configuration file of this node, which is the last good one: replaced as a whole, or not at
 * all, whatever dies in between. Beside FILE there are, at times,
 *
 *   FILE.former    the one before, until the daemons have taken the new one
 *   FILE.refused   the one that they refused last, for who wants to look at it
 *   FILE.version   which version FILE is: {"version": 7, "sum": "..."}
 */
#ifndef SL_NODE_FILE_H
#define SL_NODE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sl_node_file {
	const char *path;   /* borrowed */
	uint64_t sum;	    /* of the text in it; 0: there is no file */
	long long version;  /* that it is; 0: not known, or changed by hand since */
	long long recorded; /* that it is, or was before it was changed by hand; 0: none */
};

/* Read what is there. 0 or -errno; no file is no error. */
int sl_node_file_read(struct sl_node_file *file);
/* Is there just this text? */
bool sl_node_file_is(const struct sl_node_file *file, const char *text, size_t bytes);
/* Put a text in the place of the former one, which stays beside it. 0 or -errno. */
int sl_node_file_replace(struct sl_node_file *file, const char *text, size_t bytes);
/* The daemons have it: it is that version. */
int sl_node_file_keep(struct sl_node_file *file, long long version);
/* They refuse it: take the former one back, if there is one. -ENOENT: there is none. */
int sl_node_file_take_back(struct sl_node_file *file);

#endif
