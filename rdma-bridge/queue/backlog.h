/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bridge's half of a VOQ's backlog (struct sl_backlog), and the only code that writes it. XDP
 * counts a frame into the backlog when it redirects it; one verb here counts it out, by the reason
 * for which it leaves. Whenever nothing moves, the backlog is the number of frames that the bridge
 * holds for the VOQ.
 *
 * One thread, the worker of the VOQ, writes; XDP and whoever shows the backlog read.
 */
#ifndef RB_BACKLOG_H
#define RB_BACKLOG_H

#include <stdint.h>

#include "bpf/abi/voq.h"

static inline void rb_backlog_leave(struct sl_backlog *b, uint64_t frames, uint64_t bytes)
{
	__atomic_store_n(&b->dequeued.bytes, b->dequeued.bytes + bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&b->dequeued.frames, b->dequeued.frames + frames, __ATOMIC_RELAXED);
}

/* A frame is taken out of the VOQ. What becomes of it is counted by the next two. */
static inline void rb_backlog_take(struct sl_backlog *b, uint32_t len_bytes)
{
	rb_backlog_leave(b, 1, len_bytes);
}

/* A frame that was taken is dropped: its node is not up. */
static inline void rb_backlog_peer_down(struct sl_backlog *b)
{
	b->peer_down++;
}

/* A frame that was taken is dropped: the fabric does not carry a frame of its size. */
static inline void rb_backlog_too_big(struct sl_backlog *b)
{
	b->too_big++;
}

/* A frame that XDP admitted never came, or its ring was closed while it waited there. */
static inline void rb_backlog_lose(struct sl_backlog *b, uint32_t len_bytes)
{
	b->missed++;
	rb_backlog_leave(b, 1, len_bytes);
}

/* A frame that was counted as lost has come after all, and waits now. */
static inline void rb_backlog_find(struct sl_backlog *b, uint32_t len_bytes)
{
	b->missed--;
	rb_backlog_leave(b, (uint64_t)-1, -(uint64_t)len_bytes);
}

/* A new bridge: what its predecessor held is lost. `worker` reads the VOQ from now on. */
static inline void rb_backlog_adopt(struct sl_backlog *b, uint32_t worker)
{
	b->missed += b->enqueued.frames - b->dequeued.frames;
	b->dequeued = b->enqueued;
	__atomic_store_n(&b->worker, worker, __ATOMIC_RELAXED);
}

#endif
