/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames that wait in VOQs, as lists, and buffers for those that a VOQ has read ahead. A frame lies
 * in a chunk of its own, so the pool has one place for each chunk of the worker: putting a frame
 * into a list never fails and allocates nothing. A VOQ has a buffer only while a frame is in it,
 * and takes the one that was given back last, so that few are in use, and those in the cache.
 *
 * Not thread-safe: belongs to the worker.
 */
#ifndef RB_FRAME_POOL_H
#define RB_FRAME_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "rdma-bridge/queue/chunk.h"
#include "rdma-bridge/wire/descriptor.h"

#define RB_READ_AHEAD 32 /* frames that a VOQ takes from a source at once */

union rb_ahead {
	struct rb_frame frame[RB_READ_AHEAD];
	union rb_ahead *next; /* given back before it */
};

struct rb_frame_pool {
	const struct rb_chunks *chunks; /* borrowed */
	struct rb_frame *frame;		/* owned: by chunk */
	uint32_t *next;			/* owned: chunk of the next frame in the list */
	/* Owned: one for each chunk or VOQ that there may be; memory that nobody touches is none */
	union rb_ahead *ahead;
	uint32_t n_ahead, n_touched; /* the rest has never been in use */
	union rb_ahead *given_back;
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

/* A buffer of RB_READ_AHEAD frames; NULL: all are in use. */
static inline struct rb_frame *rb_ahead_get(struct rb_frame_pool *pool)
{
	union rb_ahead *ahead = pool->given_back;

	if (ahead)
		pool->given_back = ahead->next;
	else if (pool->n_touched < pool->n_ahead)
		ahead = &pool->ahead[pool->n_touched++];
	return ahead ? ahead->frame : NULL;
}

static inline void rb_ahead_give_back(struct rb_frame_pool *pool, struct rb_frame *frames)
{
	union rb_ahead *ahead = (union rb_ahead *)frames;

	ahead->next = pool->given_back;
	pool->given_back = ahead;
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
