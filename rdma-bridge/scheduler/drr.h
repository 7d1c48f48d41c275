/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chooses the queue that sends next, by strict priority between levels and deficit round robin
 * inside a level (Shreedhar and Varghese, "Efficient Fair Queuing using Deficit Round Robin",
 * 1995). The caller has the queues, numbered 0..n-1; a rb_drr has their turns and deficits. The
 * ingress side chooses among VOQs by one.
 *
 * A queue's quantum is its weight times the largest frame, so each turn sends at least one frame. A
 * choice costs one step, and one more for each queue before it that is held back.
 *
 * Not thread-safe.
 */
#ifndef RB_DRR_H
#define RB_DRR_H

#include <stdint.h>

#define RB_DRR_LEVELS	  8 /* level 7 goes first */
#define RB_DRR_WEIGHT_MAX 1024
#define RB_DRR_NONE	  UINT32_MAX

/* Answers of the caller when rb_drr_next asks for the head of a queue. */
#define RB_DRR_EMPTY -1 /* no frame: the queue leaves the round and loses its deficit */
#define RB_DRR_HELD  -2 /* a frame waits, but may not leave now: the queue is paced */

/* Bytes of the frame at the head of `queue`, or one of the above. */
typedef int (*rb_drr_head_fn)(void *context, uint32_t queue);

struct rb_drr_queue {
	uint32_t quantum_bytes;
	int32_t deficit_bytes;
	uint32_t next; /* in its level's round; RB_DRR_NONE: the last, or in no round */
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

/* Set a queue's level and weight. 0, -EINVAL for a bad value, -EBUSY while the queue is active. */
int rb_drr_configure(struct rb_drr *drr, uint32_t queue, uint32_t level, uint32_t weight);

/* The queue has a frame to send. No effect on a queue that is active already. */
void rb_drr_activate(struct rb_drr *drr, uint32_t queue);

/*
 * Choose the queue whose head frame the caller sends now, and charge the queue for it. A lower
 * level has its turn only if no queue of a higher level may send. Returns RB_DRR_NONE if no queue
 * may send.
 */
uint32_t rb_drr_next(struct rb_drr *drr, rb_drr_head_fn head, void *context);

/* All active queues, one after the other; RB_DRR_NONE: no more. Nothing changes. */
uint32_t rb_drr_first(const struct rb_drr *drr);
uint32_t rb_drr_after(const struct rb_drr *drr, uint32_t queue);

#endif
