/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which queue sends next: strict priority between levels, deficit round robin inside one (Shreedhar
 * and Varghese, "Efficient Fair Queuing using Deficit Round Robin", 1995). The queues themselves
 * are the caller's; this holds their turns and deficits. It serves VOQs of a node and classes of a
 * port alike.
 *
 * A queue's quantum is its weight times the largest frame, so that each turn sends at least one
 * frame and a choice costs one step, plus one for each queue in front that is held back (paced, or
 * no ring).
 *
 * Not thread-safe. Queues are numbered by the caller, 0..n-1.
 */
#ifndef RB_DRR_H
#define RB_DRR_H

#include <stdint.h>

#define RB_DRR_LEVELS	  8 /* level 7 goes first */
#define RB_DRR_WEIGHT_MAX 1024
#define RB_DRR_NONE	  UINT32_MAX

/* What rb_drr_next asks about the head of a queue. */
#define RB_DRR_EMPTY -1 /* nothing there: the queue leaves the round and loses its deficit */
#define RB_DRR_HELD  -2 /* something is there, but may not leave now */

/* Bytes of the frame at the head of `queue`, or one of the above. */
typedef int (*rb_drr_head_fn)(void *context, uint32_t queue);

struct rb_drr_queue {
	uint32_t quantum_bytes;
	int32_t deficit_bytes;
	uint32_t next; /* in its level's round; RB_DRR_NONE when it is in none */
	uint8_t level;
	uint8_t active;	 /* is in the round */
	uint8_t in_turn; /* has had its quantum for this turn */
};

struct rb_drr {
	uint32_t n;
	uint32_t frame_max_bytes;
	uint32_t levels; /* bit l: level l has active queues */
	uint32_t head[RB_DRR_LEVELS], tail[RB_DRR_LEVELS];
	uint32_t active[RB_DRR_LEVELS]; /* queues in each round */
	struct rb_drr_queue *queue;	/* owned, n entries */
};

/*
 * n queues of weight 1 and level 0, none active. -EINVAL: n is 0, frame_max_bytes is 0 or above
 * 2^20; -ENOMEM.
 */
int rb_drr_create(uint32_t n, uint32_t frame_max_bytes, struct rb_drr **out);
void rb_drr_destroy(struct rb_drr *drr); /* NULL is fine */

/*
 * Set a queue's level and weight; only while it is not active. -EINVAL for a bad value, -EBUSY if
 * active.
 */
int rb_drr_configure(struct rb_drr *drr, uint32_t queue, uint32_t level, uint32_t weight);

/* The queue has something to send; harmless if that is known already. */
void rb_drr_activate(struct rb_drr *drr, uint32_t queue);

/*
 * The queue whose head is to be sent now, charged for it; RB_DRR_NONE if no queue may send. The
 * caller sends that frame. A level is looked at only when no higher one has a queue that may send.
 */
uint32_t rb_drr_next(struct rb_drr *drr, rb_drr_head_fn head, void *context);

#endif
