/* SPDX-License-Identifier: BSD-2-Clause */
/* The mark by which a node is drained, and whether it has come to rest. */
#ifndef SL_NODE_MARKS_H
#define SL_NODE_MARKS_H

#include "user/versions/await_agents.h"

/* All but sl_version_rest return an exit status. */

/* "7" into 7: a node's id. */
int sl_version_node(const char *text, uint32_t *node);
/* The current version, and whether it has the node drained. */
int sl_version_read_mark(struct sl_version_request *r, uint32_t node, long long *version,
			 bool *drained);
/* Write the mark, or take it out, as the next version; word: what history says. */
int sl_version_mark(struct sl_version_request *r, uint32_t node, const char *word, bool drain);

/* What the node's agent says of that version, or of a later one; words: how it stands. */
enum sl_rest { SL_AT_REST, SL_BUSY, SL_ABSENT };
enum sl_rest sl_version_rest(const json_t *its, long long version, char words[SL_AWAIT_WORDS]);

#endif
