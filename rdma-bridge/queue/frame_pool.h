/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames that wait in VOQs, as lists. A frame lies in a chunk of its own, so the pool has one place
 * for each chunk of the worker: putting a frame into a list never fails and allocates nothing.
 *
 * Not thread-safe: belongs to the worker.
 */
#ifndef RB_FRAME_POOL_H
#define RB_FRAME_POOL_H

#include <stdint.h>

#include "rdma-bridge/queue/chunk.h"
#include "rdma-bridge/wire/descriptor.h"

struct rb_frame_pool {
	const struct rb_chunks *chunks; /* borrowed */
	struct rb_frame *frame;		/* owned: by chunk */
	uint32_t *next;			/* owned: chunk of the next frame in the list */
};

struct rb_frame_list {
	uint32_t first, last; /* chunks; valid while n > 0 */
	uint32_t n;
};

/* 0 or -ENOMEM. */
int rb_frame_pool_init(struct rb_frame_pool *pool, const struct rb_chunks *chunks);
void rb_frame_pool_fini(struct rb_frame_pool *pool);

static inline void rb_frame_list_put(struct rb_frame_pool *pool, struct rb_frame_list *list,
				     const struct rb_frame *frame)
{
	uint32_t i = (uint32_t)((frame->offset - pool->chunks->first_bytes) >> pool->chunks->shift);

	pool->frame[i] = *frame;
	if (list->n++ == 0)
		list->first = i;
	else
		pool->next[list->last] = i;
	list->last = i;
}

/* Take up to max frames, in the order of put. Returns how many. */
static inline uint32_t rb_frame_list_take(struct rb_frame_pool *pool, struct rb_frame_list *list,
					  struct rb_frame *out, uint32_t max)
{
	uint32_t n = 0;

	for (; n < max && list->n > 0; list->n--) {
		out[n++] = pool->frame[list->first];
		list->first = pool->next[list->first];
	}
	return n;
}

#endif
