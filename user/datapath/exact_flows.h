/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The map of exact flows (bpf/abi/exact_flow.h) from outside: look through it, count, end what is
 * idle. Other programs may change it meanwhile; a look then finds a flow that stays, and may miss
 * or find twice what comes or goes.
 */
#ifndef SL_EXACT_FLOWS_H
#define SL_EXACT_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi/exact_flow.h"

/* Flows that one call to the kernel moves, at most. */
#define SL_EXACT_FLOWS_BATCH 4096

struct sl_exact_flow_batch {
	uint32_t n;
	struct sl_flow_key key[SL_EXACT_FLOWS_BATCH];
	struct sl_exact_flow flow[SL_EXACT_FLOWS_BATCH];
};

/* A place in the map; all zero: its beginning. */
struct sl_exact_flow_place {
	uint32_t next;
	bool is_inside;
};

/*
 * The next flows; place->is_inside afterwards: there may be more. 0; -EPROTO: the map is of another
 * version; or -errno.
 */
int sl_exact_flows_next(int fd, struct sl_exact_flow_place *place, struct sl_exact_flow_batch *out);

/*
 * sl_exact_puts (bpf/abi/exact_flow.h), mapped into memory. 0 or -errno; *out is owned, and let go
 * by sl_exact_puts_close, to which NULL is fine.
 */
int sl_exact_puts_open(int fd, uint64_t **out);
void sl_exact_puts_close(uint64_t *puts);
/* Flows are about to be put, or have been. */
void sl_exact_puts_note(uint64_t *puts);

/* How many there are. 0 or as sl_exact_flows_next. */
int sl_exact_flows_count(int fd, uint32_t *n);

/* Put those that are in one map and not in the other into the other. 0 or -errno. */
int sl_exact_flows_copy(int from_fd, int to_fd);

/* A look through the map, a part each second. All zero: it has not begun. */
struct sl_exact_flow_sweep {
	struct sl_exact_flow_place place;
	uint32_t so_far; /* flows found in this round */
	uint32_t flows;	 /* in the last round that came to its end */
	uint64_t puts;	 /* at the beginning of this round */
};

/*
 * Look through the next SL_EXACT_FLOWS_A_SWEEP flows and delete those that have been idle for their
 * time at now_ns of CLOCK_MONOTONIC. At the end of a round *puts says whether there are any; only
 * one process may sweep. 0 or -errno.
 */
#define SL_EXACT_FLOWS_A_SWEEP (16 * SL_EXACT_FLOWS_BATCH)
int sl_exact_flows_sweep(int fd, uint64_t *puts, uint64_t now_ns,
			 struct sl_exact_flow_sweep *sweep);

/* For struct sl_exact_flow.used: now_ns of CLOCK_MONOTONIC. */
static inline uint32_t sl_exact_flow_used(uint64_t now_ns)
{
	return (uint32_t)(now_ns >> SL_EXACT_FLOW_USED_SHIFT);
}

#endif
