/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Numbers first..first+n-1 to hand out and take back, where what was taken back is handed out again
 * no sooner than SL_GRACE_NS later, or after sl_pool_unread: a program run that read the number
 * before has ended by then.
 *
 * Returned numbers wait in a queue, oldest first; numbers never used come from a mark that only
 * rises.
 */
#ifndef SL_FIB_POOL_H
#define SL_FIB_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sl_pool_retired {
	uint64_t free_ns; /* CLOCK_MONOTONIC; may be handed out from then on */
	uint32_t number;
};

struct sl_pool {
	uint32_t first, n; /* the numbers */
	/* numbers handed out so far that had never been: first..first+fresh-1 */
	uint32_t fresh;
	uint32_t head;		       /* oldest of the queue */
	uint32_t waiting;	       /* length of the queue */
	uint32_t unread;	       /* its oldest that nobody can still use, whatever the time */
	struct sl_pool_retired *queue; /* owned; ring of n entries */
};

int sl_pool_init(struct sl_pool *pool, uint32_t first, uint32_t n); /* 0 or -ENOMEM */
void sl_pool_fini(struct sl_pool *pool);

/* Can `want` numbers be had at this time? */
bool sl_pool_available(const struct sl_pool *pool, uint64_t now_ns, uint32_t want);
/* 0, or -ENOSPC: all are in use or have not waited long enough. */
int sl_pool_take(struct sl_pool *pool, uint64_t now_ns, uint32_t *number);
/* Only what was taken. */
void sl_pool_retire(struct sl_pool *pool, uint64_t now_ns, uint32_t number);

/* No program run is left that began before this moment: what waits may be handed out. */
void sl_pool_unread(struct sl_pool *pool);

uint32_t sl_pool_used(const struct sl_pool *pool); /* without those that wait */
size_t sl_pool_bytes(const struct sl_pool *pool);  /* memory of the queue */

#endif
