/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hands out the numbers first..first+n-1, and takes them back. It hands out a returned number again
 * no sooner than SL_GRACE_NS later, or after sl_pool_unread: by then every program run that has
 * read the number has ended.
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
	uint32_t head;	  /* oldest of the queue */
	uint32_t waiting; /* length of the queue */
	uint32_t unread;  /* this many of the oldest have no reader left, whatever the time */
	struct sl_pool_retired *queue; /* owned; ring of n entries */
};

int sl_pool_init(struct sl_pool *pool, uint32_t first, uint32_t n); /* 0 or -ENOMEM */
void sl_pool_fini(struct sl_pool *pool);

/* Are `want` numbers free at this time? */
bool sl_pool_available(const struct sl_pool *pool, uint64_t now_ns, uint32_t want);
/* 0, or -ENOSPC: all numbers are in use or have not waited long enough. */
int sl_pool_take(struct sl_pool *pool, uint64_t now_ns, uint32_t *number);
/* Only numbers that were taken. */
void sl_pool_retire(struct sl_pool *pool, uint64_t now_ns, uint32_t number);

/* All program runs that began before this moment have ended: numbers that wait may go out. */
void sl_pool_unread(struct sl_pool *pool);

uint32_t sl_pool_used(const struct sl_pool *pool); /* without the numbers that wait */
size_t sl_pool_bytes(const struct sl_pool *pool);  /* memory of the queue */

#endif
