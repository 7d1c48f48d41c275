/* SPDX-License-Identifier: BSD-2-Clause */
/* The latest intervals of a queue of ours, or of a VOQ, for pictures of them. */
#ifndef RB_RATE_TRACE_H
#define RB_RATE_TRACE_H

#include <stdint.h>

#define RB_RATE_TRACE_POINTS  4096
#define RB_RATE_TRACE_SOURCES 8

/* One interval. */
struct rb_rate_point {
	uint64_t end_ns; /* CLOCK_MONOTONIC; 0: none */
	uint64_t rate;	 /* VOQ: its rate from now on; queue: its capacity */
	uint32_t elapsed_ns, waiting;
	uint32_t arrived, departed, dropped; /* VOQ: departed alone */
	uint32_t signal, share;		     /* of the latest record */
	/* Queue: arrivals by source, in the order of rb_rates_add_peer. */
	uint32_t from[RB_RATE_TRACE_SOURCES];
};

struct rb_rate_trace {
	uint64_t n; /* points so far; the trace holds the last RB_RATE_TRACE_POINTS of them */
	struct rb_rate_point point[RB_RATE_TRACE_POINTS];
};

/* Allocate *trace unless it is there already; its owner frees it. 0 or -ENOMEM. */
int rb_rate_trace_begin(struct rb_rate_trace **trace);
void rb_rate_trace_add(struct rb_rate_trace *trace, const struct rb_rate_point *point);

#endif
