/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Processor time of chains in the fast path: measured at one packet of many, charged to the chain,
 * and policed by a token bucket on each processor, whose tokens are nanoseconds.
 *
 * A chain that owes nothing reads no clock but for the packets that are timed. The one that takes
 * it beyond its ceiling goes through; those after it are dropped until the time is paid for.
 */
#ifndef SL_CHAIN_TIME_BPF_H
#define SL_CHAIN_TIME_BPF_H

#include <linux/types.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi/fast_chain.h"

/* Must the packet be dropped, as the chain has used more than its ceiling? */
static __always_inline bool sl_chain_owes(struct sl_fast_count *input)
{
	if (!input->in_debt)
		return false;
	if (bpf_ktime_get_ns() < input->paid_ns)
		return true;
	input->in_debt = 0;
	return false;
}

/* 0: this packet is not timed. */
static __always_inline __u64 sl_chain_timed_from(struct sl_fast_count *input)
{
	if (++input->seen < SL_FAST_TIMED_EVERY)
		return 0;
	input->seen = 0;
	return bpf_ktime_get_ns();
}

static __always_inline void sl_chain_charge(const struct sl_fast_chain *chain,
					    struct sl_fast_count *input, __u64 from_ns)
{
	__u64 now_ns = bpf_ktime_get_ns(), used_ns = now_ns - from_ns, saved_ns;

	if (used_ns > SL_FAST_TIMED_MAX_NS)
		used_ns = SL_FAST_TIMED_MAX_NS;
	used_ns *= SL_FAST_TIMED_EVERY;
	input->cpu_ns += used_ns;
	if (!chain->ceiling_percent)
		return;
	saved_ns = SL_FAST_SAVED_MAX_NS * 100 / chain->ceiling_percent;
	if (input->paid_ns + saved_ns < now_ns)
		input->paid_ns = now_ns - saved_ns;
	input->paid_ns += used_ns * 100 / chain->ceiling_percent;
	input->in_debt = input->paid_ns > now_ns;
}

#endif
