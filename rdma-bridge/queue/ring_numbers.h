/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which frames of an AF_XDP ring came, and which never will. XDP numbers the frames that it puts
 * into a ring, and notes VOQ and length of each (struct sl_ring). The kernel may refuse a frame
 * after that. Its reader, the only writer of `taken`, sees the gap at the next frame, or once the
 * ring is empty, and counts the frame off the backlog by name: so a backlog holds nothing that is
 * nowhere. Pure.
 */
#ifndef RB_RING_NUMBERS_H
#define RB_RING_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi/voq.h"
#include "rdma-bridge/queue/frame_counters.h"

#define RB_RING_STUCK_NS 100000000ULL /* after which missing numbers are given up */

struct rb_ring_numbers {
	struct sl_ring *shared; /* borrowed: its element of the map */
	uint64_t taken;		/* as shared->taken after rb_ring_publish; the next number */
	uint64_t lost;		/* numbers that never came */
	/* What was missing while the ring was empty, and since when nothing changed; 0: not so. */
	uint64_t stuck_entered, stuck_taken, stuck_ns;
};

/* Where losses are counted. */
struct rb_ring_accounts {
	struct sl_backlog *backlog; /* borrowed: by VOQ */
	uint32_t n_voqs;
	struct sl_counter *counters; /* borrowed: of the worker */
};

/* Begin with an empty ring, which XDP does not know yet. */
void rb_ring_begin(struct rb_ring_numbers *ring, struct sl_ring *shared);
/* A frame came, with the low bits of its number: those before it that did not come are lost. */
void rb_ring_came(struct rb_ring_numbers *ring, uint32_t number, uint32_t voq, uint32_t len_bytes,
		  const struct rb_ring_accounts *accounts);
/* Tell XDP how far the ring has been read. */
void rb_ring_publish(struct rb_ring_numbers *ring);
/* Has XDP put frames into the ring that have not come? */
bool rb_ring_misses(const struct rb_ring_numbers *ring);
/*
 * The ring is empty, and refused frames are what its socket has counted since it was opened. If
 * that explains what is missing, or nothing has changed for RB_RING_STUCK_NS, it is lost: the
 * socket counts nothing when its netdev is gone and another one of that name has come.
 */
void rb_ring_settle(struct rb_ring_numbers *ring, uint64_t refused, uint64_t now_ns,
		    const struct rb_ring_accounts *accounts);
/* Nothing will come any more: all that has not come is lost. */
void rb_ring_end(struct rb_ring_numbers *ring, const struct rb_ring_accounts *accounts);

#endif
