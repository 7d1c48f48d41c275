/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Token bucket: lets `rate` units a second through. A unit is a frame or a byte. A frame of any
 * size may leave while any token is left, and the bucket then owes the rest. So a burst smaller
 * than a frame delays frames but does not block them. What a frame costs is rounded by half a tick
 * at most: 0.0007 % of the rate at 14.88 million frames a second.
 *
 * The tokens are a virtual clock (bpf/abi/virtual_clock.h), which others may spend from at the same
 * time. A change of rate keeps what the bucket owes or holds, in units.
 */
#ifndef RB_PACE_H
#define RB_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi/voq.h"

#define RB_PACE_RATE_MAX  1000000000000ULL /* units a second; more is SL_RATE_UNLIMITED */
#define RB_PACE_BURST_MAX 1000000000U	   /* units */
#define RB_PACE_BYTES_MAX 65536U	   /* of a frame */

struct rb_pace {
	uint64_t rate;	   /* units a second, 0..RB_PACE_RATE_MAX, or SL_RATE_UNLIMITED */
	uint32_t burst;	   /* what a full bucket holds, units */
	uint32_t unit;	   /* enum sl_unit */
	uint64_t capacity; /* the time in which an empty bucket fills, ticks */
	uint64_t owed_max; /* how far a clock can be ahead of now, ticks */
	__u64 *clock;	   /* borrowed */
};

/*
 * Start with a full bucket and `clock`, which is borrowed. A burst beyond its limit is cut to it,
 * and 0 means 1.
 */
void rb_pace_init(struct rb_pace *pace, __u64 *clock, uint64_t rate, uint32_t burst, uint32_t unit,
		  uint64_t now_ns);
/* Go on with another clock, from where this one stands. */
void rb_pace_move(struct rb_pace *pace, __u64 *clock);
/* Change rate, burst and unit from now on. Cheap if nothing differs. */
void rb_pace_set(struct rb_pace *pace, uint64_t rate, uint32_t burst, uint32_t unit,
		 uint64_t now_ns);
/* May a frame leave now? Time must not run backwards between calls. */
bool rb_pace_ready(struct rb_pace *pace, uint64_t now_ns);
/* A frame left: take its units. */
void rb_pace_spend(struct rb_pace *pace, uint32_t len_bytes, uint64_t now_ns);
/* When rb_pace_ready will be true if nothing is spent. now_ns: now; UINT64_MAX: never. */
uint64_t rb_pace_ready_at(const struct rb_pace *pace, uint64_t now_ns);

#endif
