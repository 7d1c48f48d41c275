/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Token bucket: lets `rate` units a second through, exactly in the long run. A unit is a packet or
 * a byte, as the caller counts. A packet of any size may leave while any token is left, and the
 * bucket then owes the rest. So a burst smaller than a packet delays packets but does not block
 * them.
 *
 * Tokens count in 1e-9 units, so rounding takes nothing from any rate.
 */
#ifndef RB_PACE_H
#define RB_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi/voq.h"

#define RB_PACE_RATE_MAX  1000000000000ULL /* units a second; more is SL_RATE_UNLIMITED */
#define RB_PACE_BURST_MAX 1000000000U	   /* units */

struct rb_pace {
	uint64_t rate;	     /* units a second, 0..RB_PACE_RATE_MAX, or SL_RATE_UNLIMITED */
	int64_t burst_nano;  /* what a full bucket holds, 1e-9 units */
	int64_t tokens_nano; /* negative: owed */
	uint64_t settled_ns; /* tokens are right for this time */
};

/* Start with a full bucket. A burst beyond its limit is cut to it, and 0 means 1. */
void rb_pace_init(struct rb_pace *pace, uint64_t rate, uint32_t burst, uint64_t now_ns);
/* Change rate and burst from now on. Debts stay. Cheap if nothing differs. */
void rb_pace_set(struct rb_pace *pace, uint64_t rate, uint32_t burst, uint64_t now_ns);
/* May a packet leave now? Time must not run backwards between calls. */
bool rb_pace_ready(struct rb_pace *pace, uint64_t now_ns);
/* A packet left: take its units. */
void rb_pace_spend(struct rb_pace *pace, uint32_t units);
/* When rb_pace_ready will be true if nothing is spent. now_ns: now; UINT64_MAX: never. */
uint64_t rb_pace_ready_at(const struct rb_pace *pace, uint64_t now_ns);

#endif
