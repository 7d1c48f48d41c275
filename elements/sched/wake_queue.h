/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A queue between two threads, whose reader sleeps when it is empty, without a lost wake-up.
 *
 * The ring has one writer and one reader. The reader says that it will sleep, looks once more, and
 * only then sleeps; the writer puts the item, then looks whether the reader sleeps. Each side
 * writes before it reads what the other writes, with a full fence between, so at least one of them
 * sees the other: the reader stays awake, or the writer is told to wake it. (Both at once is
 * harmless.) How to wake (eventfd, futex) is the caller's.
 *
 * Pure: no allocation, no I/O, no lock.
 */
#ifndef EL_SCHED_WAKE_QUEUE_H
#define EL_SCHED_WAKE_QUEUE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct el_wake_queue {
	uint64_t *items; /* borrowed from el_wake_queue_init on: a power of two */
	uint32_t mask;
	uint32_t limit; /* most items that wait, 1..mask + 1 */

	_Alignas(64) atomic_uint tail; /* items put; written by the writer */
	uint64_t refused;	       /* the writer's: items for which there was no room */

	_Alignas(64) atomic_uint head; /* items taken; written by the reader */

	/* the reader sets it before it sleeps, the writer clears it when it wakes the reader */
	_Alignas(64) atomic_bool asleep;
};

/*
 * Start empty. n_items is a power of two, limit 1..n_items. Returns 0, or -EINVAL.
 */
int el_wake_queue_init(struct el_wake_queue *q, uint64_t *items, uint32_t n_items, uint32_t limit);

/*
 * Writer: put an item. Returns 0; 1: put, and the caller must wake the reader; -ENOBUFS: limit
 * items wait, the item is counted in q->refused and remains the caller's.
 */
int el_wake_queue_put(struct el_wake_queue *q, uint64_t item);

/* Reader: take the oldest item. Returns false if there is none. */
bool el_wake_queue_take(struct el_wake_queue *q, uint64_t *item);

/* Items that wait; exact for the reader and the writer, in so far as the other one stands still. */
uint32_t el_wake_queue_waiting(const struct el_wake_queue *q);

/*
 * Reader: announce sleep. True: the queue is empty and the next item will be told to the writer's
 * caller: sleep. False: something waits: take it. After waking for another reason call
 * el_wake_queue_awake.
 */
bool el_wake_queue_sleep(struct el_wake_queue *q);

/* Reader: it is awake by itself; the writer need not wake it. */
void el_wake_queue_awake(struct el_wake_queue *q);

#endif
