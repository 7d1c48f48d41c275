/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The chains that the fast path runs itself: written into the maps that sluiced has pinned. While
 * there are none, packets of such chains come to the worker as those of others.
 */
#ifndef EL_FAST_CHAINS_H
#define EL_FAST_CHAINS_H

#include "bpf/abi/fast_chain.h"
#include "elements/fast/own_set.h"
#include "elements/graph/graph_text.h"

struct el_fast {
	const char *pin_dir;	    /* borrowed */
	int chains_fd, counts_fd;   /* owned; -1: not there */
	uint32_t map_id;	    /* of chains_fd */
	struct sl_fast_count *each; /* owned: one for each processor */
	int processors;
	uint64_t look_ns;	      /* when to look again whether sluiced has made other maps */
	const struct el_own_set *own; /* borrowed: programs of installed classes */
	uint32_t linked_set;	      /* those that sl_edge has; 0: none */
	uint32_t published_set;	      /* those that its chains were published for */
};

/* 0 or -ENOMEM. The maps need not be there. */
int el_fast_open(struct el_fast *fast, const char *pin_dir, const struct el_own_set *own);
/* What leaves a chain of the worker's in the maps goes with it. Zeroed memory is fine. */
void el_fast_close(struct el_fast *fast);

/*
 * Chains i of `chains` count from element i * SL_FAST_ELEMENTS_MAX on, anew. In between, their
 * packets come to the worker.
 */
void el_fast_publish(struct el_fast *fast, const struct el_chains *chains);
/*
 * Class `changed` is another one, or own programs are: publish chains with it, which count anew,
 * and those with programs, which do not. A chain with programs that sl_edge has not is the
 * worker's.
 */
void el_fast_change(struct el_fast *fast, const struct el_chains *chains, const char *changed);
/* Once a second: publish in the maps of a sluiced that has come or was started again, and chains
 * for the programs that it has linked. */
void el_fast_follow(struct el_fast *fast, const struct el_chains *chains, uint64_t now_ns);

/*
 * What instance `element` of chain `chain` has seen there, on all processors: the sums. Of chains
 * from EL_CHAINS_MAX on, which are of signals, 0.
 */
struct sl_fast_count el_fast_count(const struct el_fast *fast, uint32_t chain, uint32_t element);

#endif
