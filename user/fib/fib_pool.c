/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/fib/fib_pool.h"

#include <errno.h>
#include <stdlib.h>

#include "bpf/abi/forwarding.h"

int sl_pool_init(struct sl_pool *pool, uint32_t first, uint32_t n)
{
	*pool = (struct sl_pool){ .first = first, .n = n };
	pool->queue = calloc(n ? n : 1, sizeof(*pool->queue));
	return pool->queue ? 0 : -ENOMEM;
}

void sl_pool_fini(struct sl_pool *pool)
{
	free(pool->queue);
	*pool = (struct sl_pool){ 0 };
}

static uint32_t ring(const struct sl_pool *pool, uint32_t position)
{
	uint32_t i = pool->head + position;

	return i >= pool->n ? i - pool->n : i;
}

static bool has_waited(const struct sl_pool *pool, uint32_t position, uint64_t now_ns)
{
	return position < pool->unread || pool->queue[ring(pool, position)].free_ns <= now_ns;
}

bool sl_pool_available(const struct sl_pool *pool, uint64_t now_ns, uint32_t want)
{
	uint32_t fresh = pool->n - pool->fresh;

	if (want <= fresh)
		return true;
	want -= fresh;
	return want <= pool->waiting && has_waited(pool, want - 1, now_ns);
}

int sl_pool_take(struct sl_pool *pool, uint64_t now_ns, uint32_t *number)
{
	/* Used memory first: it is in the caches, and the rest stays untouched. */
	if (pool->waiting && has_waited(pool, 0, now_ns)) {
		*number = pool->queue[pool->head].number;
		pool->head = ring(pool, 1);
		pool->waiting--;
		pool->unread -= pool->unread > 0;
		return 0;
	}
	if (pool->fresh == pool->n)
		return -ENOSPC;
	*number = pool->first + pool->fresh++;
	return 0;
}

void sl_pool_retire(struct sl_pool *pool, uint64_t now_ns, uint32_t number)
{
	pool->queue[ring(pool, pool->waiting++)] = (struct sl_pool_retired){
		.free_ns = now_ns + SL_GRACE_NS,
		.number = number,
	};
}

void sl_pool_unread(struct sl_pool *pool)
{
	pool->unread = pool->waiting;
}

uint32_t sl_pool_used(const struct sl_pool *pool)
{
	return pool->fresh - pool->waiting;
}

size_t sl_pool_bytes(const struct sl_pool *pool)
{
	return pool->n * sizeof(*pool->queue);
}
