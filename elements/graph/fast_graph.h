/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A graph as a chain of the fast path (bpf/abi/fast_chain.h), if all of its elements can be one:
 * each class says itself what it is there (el_class.fast).
 */
#ifndef EL_FAST_GRAPH_H
#define EL_FAST_GRAPH_H

#include "bpf/abi/fast_chain.h"
#include "elements/graph/graph.h"

/*
 * Write the chain, whose elements count from first_count on. 0; -EINVAL with *line and a reason in
 * error: an element needs the worker, or there are too many.
 */
int el_fast_graph(const struct el_graph *graph, uint32_t first_count, struct sl_fast_chain *out,
		  uint32_t *line, char error[EL_ERROR_BYTES]);

#endif
