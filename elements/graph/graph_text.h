/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chains of elements as text, in a small part of the language of Click:
 *
 *      # comments run to the end of the line
 *      chain video share 20 quantum 5us {
 *              rate :: Police(rate=2mbit, burst=20k);
 *              input -> rate -> Dscp(dscp=af41) -> output;
 *              rate[1] -> Counter -> drop;
 *      }
 *
 * A statement names an element, or joins elements; in a path, a class stands for an element of its
 * own without a name. [N] behind an element is one of its outputs, 0 where none is written. Values
 * with blanks or commas stand in double quotes. An element must be named before a path uses it.
 *
 * Options of a chain: `share N` (1 to 1,000,000; default 1) or `rate N%` of the processor,
 * `quantum DURATION` (0 to 1 ms; default 5us), `limit N` packets that wait at its input (1 to
 * 65,536; default 256); or `fast`: the fast path runs it, and each of its elements must be one
 * that it can (fast_graph.h). Of the others, a fast chain can have `ceiling N%` alone, the most of
 * each processor's time that it may use.
 */
#ifndef EL_GRAPH_TEXT_H
#define EL_GRAPH_TEXT_H

#include "elements/graph/graph.h"

#define EL_CHAINS_MAX	  64u
#define EL_TEXT_MAX_BYTES (1u << 20)

struct el_chains {
	struct el_graph *chains; /* owned: n */
	uint32_t n;
};

/*
 * Read the chains of a text, ready to run; more: classes beside the built-in ones, as
 * el_class_find, borrowed until el_chains_free. 0; -EINVAL with `FILE:LINE: REASON` in error, which
 * is one printable line; -ENOMEM. file_name is only quoted. On error *out is empty; otherwise the
 * caller calls el_chains_free.
 */
int el_chains_parse(const char *file_name, const char *text, size_t text_bytes,
		    const struct el_class *const *more, struct el_chains *out,
		    char error[EL_ERROR_BYTES]);
void el_chains_free(struct el_chains *chains);
/* By name, or NULL. */
struct el_graph *el_chains_find(const struct el_chains *chains, const char *name);

#endif
