/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the frames of an egress queue waited, of a sample of them that is drawn at random: which
 * frame comes next does not depend on how many come at a time.
 *
 * Not thread-safe: belongs to the worker of the port.
 */
#ifndef RB_QUEUE_DELAY_H
#define RB_QUEUE_DELAY_H

#include <stdint.h>

#include "delay/stats/histogram.h"
#include "rdma-bridge/wire/descriptor.h"

enum rb_delay_stage {
	RB_DELAY_ENTRY, /* from the port where it entered to the egress queue, but for the fabric */
	RB_DELAY_QUEUE, /* in the egress queue */
	RB_DELAY_TOTAL, /* both */
	RB_DELAY_STAGES
};

struct rb_queue_delay {
	struct sl_histogram stage[RB_DELAY_STAGES];
	uint32_t mean;	 /* 1 frame of so many is measured */
	uint32_t until;	 /* the next one */
	uint32_t random; /* the state of a generator */
};

/* Measure 1 frame of `mean`, at least 1, from the first one on. 0, -ENOMEM. */
int rb_queue_delay_create(uint32_t mean, struct rb_queue_delay **out);
void rb_queue_delay_destroy(struct rb_queue_delay *delay); /* NULL is fine */

/* How long a frame that leaves now was in the router; entry_ns is at most total_ns. */
struct rb_stay {
	uint64_t entry_ns, total_ns;
};

static inline struct rb_stay rb_stay_of(const struct rb_frame *frame, uint64_t now_ns)
{
	const uint64_t total_ns = now_ns > frame->arrival_ns ? now_ns - frame->arrival_ns : 0;

	return (struct rb_stay){ frame->waited_ns < total_ns ? frame->waited_ns : total_ns,
				 total_ns };
}

/* A frame leaves its queue now. */
void rb_queue_delay_leave(struct rb_queue_delay *delay, const struct rb_frame *frame,
			  uint64_t now_ns);

#endif
