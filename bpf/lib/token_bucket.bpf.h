/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* XDP's side of a token bucket that it shares with the bridge (bpf/abi/virtual_clock.h). */
#ifndef SL_TOKEN_BUCKET_BPF_H
#define SL_TOKEN_BUCKET_BPF_H

#include <linux/types.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi/virtual_clock.h"
#include "bpf/abi/voq.h"

/*
 * May a frame leave now? False as well for a clock that is ahead by years: the bridge, which then
 * gets the frame, puts it right. A burst beyond SL_TICKS_UNITS_MAX counts as that.
 */
static __always_inline bool sl_bucket_is_ready(const volatile __u64 *clock, __u64 rate, __u32 burst,
					       __u64 now_ns)
{
	__u64 ahead;

	if (rate == SL_RATE_UNLIMITED || !rate)
		return rate;
	if (!burst)
		burst = 1;
	if (burst > SL_TICKS_UNITS_MAX)
		burst = SL_TICKS_UNITS_MAX;
	ahead = *clock - now_ns * SL_TICKS_PER_NS;
	return ahead >> 63 || ahead < sl_ticks_of(burst, rate);
}

/*
 * A frame leaves: take its units, at most SL_TICKS_UNITS_MAX. If others spend at the same moment,
 * all are taken.
 */
static __always_inline void sl_bucket_spend(__u64 *clock, __u64 rate, __u32 units, __u64 now_ns)
{
	__u64 seen = *(volatile __u64 *)clock, cost;

	if (rate == SL_RATE_UNLIMITED || !rate)
		return;
	cost = sl_ticks_of(units, rate);
	/* A clock that is behind starts from now. If another CPU has just done that, it is ahead.
	 */
	if ((seen - now_ns * SL_TICKS_PER_NS) >> 63 &&
	    __sync_val_compare_and_swap(clock, seen, now_ns * SL_TICKS_PER_NS + cost) == seen)
		return;
	__sync_fetch_and_add(clock, cost);
}

#endif
