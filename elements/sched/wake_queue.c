/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "elements/sched/wake_queue.h"

int el_wake_queue_init(struct el_wake_queue *q, uint64_t *items, uint32_t n_items, uint32_t limit)
{
	if (n_items == 0 || (n_items & (n_items - 1)) || limit < 1 || limit > n_items)
		return -EINVAL;
	memset(q, 0, sizeof(*q));
	q->items = items;
	q->mask = n_items - 1;
	q->limit = limit;
	return 0;
}

int el_wake_queue_put(struct el_wake_queue *q, uint64_t item)
{
	uint32_t tail = atomic_load_explicit(&q->tail, memory_order_relaxed);

	/* acquire: the reader has read the place that is written now; partner: take's release */
	if (tail - atomic_load_explicit(&q->head, memory_order_acquire) >= q->limit) {
		q->refused++;
		return -ENOBUFS;
	}
	q->items[tail & q->mask] = item;
	atomic_store_explicit(&q->tail, tail + 1, memory_order_release);
	/* partner: the fence of el_wake_queue_sleep */
	atomic_thread_fence(memory_order_seq_cst);
	if (!atomic_load_explicit(&q->asleep, memory_order_relaxed))
		return 0;
	return atomic_exchange(&q->asleep, false) ? 1 : 0;
}

bool el_wake_queue_take(struct el_wake_queue *q, uint64_t *item)
{
	uint32_t head = atomic_load_explicit(&q->head, memory_order_relaxed);

	/* acquire: the item is there; partner: put's release */
	if (head == atomic_load_explicit(&q->tail, memory_order_acquire))
		return false;
	*item = q->items[head & q->mask];
	atomic_store_explicit(&q->head, head + 1, memory_order_release);
	return true;
}

uint32_t el_wake_queue_waiting(const struct el_wake_queue *q)
{
	uint32_t head = atomic_load_explicit(&q->head, memory_order_acquire);

	return atomic_load_explicit(&q->tail, memory_order_acquire) - head;
}

bool el_wake_queue_sleep(struct el_wake_queue *q)
{
	atomic_store_explicit(&q->asleep, true, memory_order_relaxed);
	/* partner: the fence of el_wake_queue_put */
	atomic_thread_fence(memory_order_seq_cst);
	if (el_wake_queue_waiting(q) == 0)
		return true;
	el_wake_queue_awake(q);
	return false;
}

void el_wake_queue_awake(struct el_wake_queue *q)
{
	atomic_store(&q->asleep, false);
}
