/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chunks on their way back to the worker that owns them. The ring has one writer, the worker that
 * has copied the frames out of the chunks, and one reader, the owner. It has room for every chunk
 * that can be away, so putting never fails.
 */
#ifndef RB_HANDBACK_H
#define RB_HANDBACK_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#define RB_HANDBACK_WAKE 128 /* the writer wakes the owner when so many entries wait */

struct rb_handback {
	uint64_t *entries; /* owned, mask + 1 of them */
	uint32_t mask;
	int wake_fd; /* borrowed: an eventfd that ends the owner's sleep */
	/* Padding: writer and owner do not write into each other's cache line. */
	uint8_t owners[64];
	uint32_t head; /* the owner writes it: the next entry to take */
	uint8_t writers[64];
	uint32_t tail; /* the writer writes it: the next entry to put */
	uint8_t others[64];
};

/* Make room for n entries. 0 or -ENOMEM. */
static inline int rb_handback_init(struct rb_handback *h, uint32_t n, int wake_fd)
{
	*h = (struct rb_handback){ .wake_fd = wake_fd };
	h->mask = n <= 1 ? 0 : (1U << (32 - __builtin_clz(n - 1))) - 1;
	h->entries = calloc(h->mask + 1UL, sizeof(*h->entries));
	return h->entries ? 0 : -ENOMEM;
}

static inline void rb_handback_fini(struct rb_handback *h)
{
	free(h->entries);
	h->entries = NULL;
}

/* Writer: hand n chunks over to the owner. */
static inline void rb_handback_put(struct rb_handback *h, const uint64_t *entries, uint32_t n)
{
	/* What the owner took it has read: its places are free. */
	uint32_t waiting = h->tail - __atomic_load_n(&h->head, __ATOMIC_ACQUIRE);
	const uint64_t one = 1;

	for (uint32_t i = 0; i < n; i++)
		h->entries[(h->tail + i) & h->mask] = entries[i];
	__atomic_store_n(&h->tail, h->tail + n, __ATOMIC_RELEASE);
	/* A write fails only if the eventfd is full, and then it is readable already. */
	if (waiting < RB_HANDBACK_WAKE && waiting + n >= RB_HANDBACK_WAKE &&
	    write(h->wake_fd, &one, sizeof(one)) < 0)
		return;
}

/* Owner: take up to max entries, in the order of put. Returns how many. */
static inline uint32_t rb_handback_take(struct rb_handback *h, uint64_t *entries, uint32_t max)
{
	uint32_t n = __atomic_load_n(&h->tail, __ATOMIC_ACQUIRE) - h->head;

	if (n > max)
		n = max;
	for (uint32_t i = 0; i < n; i++)
		entries[i] = h->entries[(h->head + i) & h->mask];
	__atomic_store_n(&h->head, h->head + n, __ATOMIC_RELEASE);
	return n;
}

#endif
