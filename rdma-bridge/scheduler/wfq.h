/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chooses the class of a port that sends next: strict priority between levels, self-clocked fair
 * queueing inside a level (Golestani, "A Self-Clocked Fair Queueing Scheme for Broadband
 * Applications", 1994).
 *
 * A frame of cost L in a queue of weight w has a start tag S and a finish tag F = S + L / w. S is
 * the finish tag of the queue's frame before it, or the level's virtual time V if that is later.
 * The level sends the frame with the least F, and V becomes that F. So classes interleave frame by
 * frame, whatever the weights and however short the queues. Deficit round robin gives a queue its
 * whole quantum at once; a queue that holds less than its quantum, as a controller's target does,
 * gives the rest away, and the shares are then those of the arrivals.
 *
 * A choice asks each queue of the level once. Not thread-safe.
 */
#ifndef RB_WFQ_H
#define RB_WFQ_H

#include <stdint.h>

#define RB_WFQ_LEVELS	  8 /* level 7 goes first */
#define RB_WFQ_QUEUES_MAX 8
#define RB_WFQ_WEIGHT_MAX 1024
#define RB_WFQ_NONE	  UINT32_MAX
#define RB_WFQ_EMPTY	  -1 /* answer of rb_wfq_head_fn: no frame */

/* Cost of the frame at the head of `queue`, 1..2^20, in the unit that is shared; or RB_WFQ_EMPTY.
 */
typedef int (*rb_wfq_head_fn)(void *context, uint32_t queue);

struct rb_wfq_queue {
	uint64_t start;	       /* S of the head frame, or of the next one to come; never after V */
	uint32_t per_cost_q30; /* 1 / weight, with 30 fraction bits */
	uint16_t weight;       /* 1..RB_WFQ_WEIGHT_MAX */
	uint8_t level;
};

struct rb_wfq {
	uint32_t n;
	uint64_t virtual_time[RB_WFQ_LEVELS]; /* V of each level, with 30 fraction bits; wraps */
	struct rb_wfq_queue queue[RB_WFQ_QUEUES_MAX];
};

/* n queues of weight 1 and level 0. 0, or -EINVAL: n is not in 1..RB_WFQ_QUEUES_MAX. */
int rb_wfq_init(struct rb_wfq *wfq, uint32_t n);

/* Set a queue's level and weight. 0, or -EINVAL for a bad value. */
int rb_wfq_configure(struct rb_wfq *wfq, uint32_t queue, uint32_t level, uint32_t weight);

/*
 * Choose the queue whose head frame the caller sends now, and charge the queue for it. A lower
 * level has its turn only if no queue of a higher level has a frame. Returns RB_WFQ_NONE if all are
 * empty.
 */
uint32_t rb_wfq_next(struct rb_wfq *wfq, rb_wfq_head_fn head, void *context);

#endif
