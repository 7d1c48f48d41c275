/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/scheduler/drr.h"

#include <errno.h>
#include <stdlib.h>

#define FRAME_MAX_BYTES (1U << 20)

int rb_drr_create(uint32_t n, uint32_t frame_max_bytes, struct rb_drr **out)
{
	struct rb_drr *drr;

	*out = NULL;
	if (n == 0 || frame_max_bytes == 0 || frame_max_bytes > FRAME_MAX_BYTES)
		return -EINVAL;
	drr = calloc(1, sizeof(*drr));
	if (!drr)
		return -ENOMEM;
	drr->queue = calloc(n, sizeof(*drr->queue));
	if (!drr->queue) {
		free(drr);
		return -ENOMEM;
	}
	drr->n = n;
	drr->frame_max_bytes = frame_max_bytes;
	for (uint32_t i = 0; i < n; i++)
		drr->queue[i] = (struct rb_drr_queue){ .quantum_bytes = frame_max_bytes,
						       .next = RB_DRR_NONE };
	*out = drr;
	return 0;
}

void rb_drr_destroy(struct rb_drr *drr)
{
	if (!drr)
		return;
	free(drr->queue);
	free(drr);
}

int rb_drr_configure(struct rb_drr *drr, uint32_t queue, uint32_t level, uint32_t weight)
{
	struct rb_drr_queue *q;

	if (queue >= drr->n || level >= RB_DRR_LEVELS || weight == 0 || weight > RB_DRR_WEIGHT_MAX)
		return -EINVAL;
	q = &drr->queue[queue];
	if (q->active)
		return -EBUSY;
	q->level = (uint8_t)level;
	q->quantum_bytes = weight * drr->frame_max_bytes;
	return 0;
}

static void append(struct rb_drr *drr, uint32_t queue)
{
	struct rb_drr_queue *q = &drr->queue[queue];

	q->next = RB_DRR_NONE;
	if (drr->active[q->level]++ == 0)
		drr->head[q->level] = queue;
	else
		drr->queue[drr->tail[q->level]].next = queue;
	drr->tail[q->level] = queue;
	drr->levels |= 1U << q->level;
}

static void remove_head(struct rb_drr *drr, uint32_t level)
{
	drr->head[level] = drr->queue[drr->head[level]].next;
	if (--drr->active[level] == 0)
		drr->levels &= ~(1U << level);
}

void rb_drr_activate(struct rb_drr *drr, uint32_t queue)
{
	struct rb_drr_queue *q = &drr->queue[queue];

	if (q->active)
		return;
	q->active = 1;
	q->in_turn = 0;
	q->deficit_bytes = 0;
	append(drr, queue);
}

/* End the turn of the queue at the head: move it to the end of the round. */
static void end_turn(struct rb_drr *drr, uint32_t level)
{
	uint32_t queue = drr->head[level];

	drr->queue[queue].in_turn = 0;
	remove_head(drr, level);
	append(drr, queue);
}

/*
 * A turn may last for several calls, until the deficit is used up; in_turn says that it goes on. A
 * held queue loses its turn and keeps no more deficit than a queue whose next frame did not fit, so
 * that a queue cannot save up a burst while it is held.
 */
static uint32_t next_in_level(struct rb_drr *drr, uint32_t level, rb_drr_head_fn head,
			      void *context)
{
	/*
	 * Each pass chooses a queue or ends a turn. A queue whose turn goes on may end it without a
	 * frame, but not a turn that begins with its quantum: two rounds are enough.
	 */
	for (uint32_t bound = 2 * drr->active[level]; bound > 0 && drr->active[level]; bound--) {
		uint32_t queue = drr->head[level];
		struct rb_drr_queue *q = &drr->queue[queue];
		int bytes = head(context, queue);

		if (bytes == RB_DRR_EMPTY) {
			remove_head(drr, level);
			q->active = 0;
			continue;
		}
		if (bytes == RB_DRR_HELD) {
			if (q->deficit_bytes > (int32_t)drr->frame_max_bytes)
				q->deficit_bytes = (int32_t)drr->frame_max_bytes;
			end_turn(drr, level);
			continue;
		}
		if (!q->in_turn) {
			q->in_turn = 1;
			q->deficit_bytes += (int32_t)q->quantum_bytes;
		}
		if (bytes <= q->deficit_bytes) {
			q->deficit_bytes -= bytes;
			return queue;
		}
		end_turn(drr, level);
	}
	return RB_DRR_NONE;
}

uint32_t rb_drr_next(struct rb_drr *drr, rb_drr_head_fn head, void *context)
{
	uint32_t levels = drr->levels;

	while (levels) {
		uint32_t level = 31 - (uint32_t)__builtin_clz(levels);
		uint32_t queue = next_in_level(drr, level, head, context);

		if (queue != RB_DRR_NONE)
			return queue;
		levels &= ~(1U << level);
	}
	return RB_DRR_NONE;
}

/* The first queue of the highest of these levels. */
static uint32_t first_of(const struct rb_drr *drr, uint32_t levels)
{
	return levels ? drr->head[31 - (uint32_t)__builtin_clz(levels)] : RB_DRR_NONE;
}

uint32_t rb_drr_first(const struct rb_drr *drr)
{
	return first_of(drr, drr->levels);
}

uint32_t rb_drr_after(const struct rb_drr *drr, uint32_t queue)
{
	const struct rb_drr_queue *q = &drr->queue[queue];

	if (q->next != RB_DRR_NONE)
		return q->next;
	return first_of(drr, drr->levels & ((1U << q->level) - 1));
}
