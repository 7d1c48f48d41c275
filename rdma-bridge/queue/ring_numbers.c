/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/queue/ring_numbers.h"

#include "rdma-bridge/queue/backlog.h"

void rb_ring_begin(struct rb_ring_numbers *ring, struct sl_ring *shared)
{
	*ring = (struct rb_ring_numbers){ .shared = shared, .taken = shared->entered };
	rb_ring_publish(ring);
}

void rb_ring_publish(struct rb_ring_numbers *ring)
{
	__atomic_store_n(&ring->shared->taken, ring->taken, __ATOMIC_RELEASE);
}

/* The frames with numbers below `end` have come, or never will: count off those that did not. */
static void lose_until(struct rb_ring_numbers *ring, uint64_t end,
		       const struct rb_ring_accounts *accounts)
{
	for (; ring->taken < end; ring->taken++) {
		uint32_t note = ring->shared->frame[ring->taken & (SL_RING_FRAMES - 1)];
		uint32_t voq = note & 0xffff, len_bytes = note >> 16;

		ring->lost++;
		rb_count(accounts->counters, RB_COUNT_DROP_VOQ_RING, 1, len_bytes);
		if (voq < accounts->n_voqs)
			rb_backlog_lose(&accounts->backlog[voq], len_bytes);
	}
}

void rb_ring_came(struct rb_ring_numbers *ring, uint32_t number, uint32_t voq, uint32_t len_bytes,
		  const struct rb_ring_accounts *accounts)
{
	int32_t ahead = (int32_t)(number - (uint32_t)ring->taken);

	if (ahead >= 0) {
		lose_until(ring, ring->taken + (uint32_t)ahead, accounts);
		ring->taken++;
	} else {
		/* It was given up too early, so it does not count as lost any more. */
		rb_backlog_find(&accounts->backlog[voq], len_bytes);
		rb_count(accounts->counters, RB_COUNT_DROP_VOQ_RING, -1ULL, -(uint64_t)len_bytes);
		ring->lost--;
	}
}

static uint64_t entered(const struct rb_ring_numbers *ring)
{
	return __atomic_load_n(&ring->shared->entered, __ATOMIC_ACQUIRE);
}

bool rb_ring_misses(const struct rb_ring_numbers *ring)
{
	return entered(ring) != ring->taken;
}

void rb_ring_settle(struct rb_ring_numbers *ring, uint64_t refused, uint64_t now_ns,
		    const struct rb_ring_accounts *accounts)
{
	uint64_t end = entered(ring);

	if (refused < ring->lost + (end - ring->taken)) {
		if (ring->stuck_ns == 0 || end != ring->stuck_entered ||
		    ring->taken != ring->stuck_taken) {
			ring->stuck_entered = end;
			ring->stuck_taken = ring->taken;
			ring->stuck_ns = now_ns;
		}
		if (now_ns - ring->stuck_ns < RB_RING_STUCK_NS)
			return;
	}
	lose_until(ring, end, accounts);
	rb_ring_publish(ring);
}

void rb_ring_end(struct rb_ring_numbers *ring, const struct rb_ring_accounts *accounts)
{
	lose_until(ring, entered(ring), accounts);
	rb_ring_publish(ring);
}
