/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Does the daemon still follow the kernel? Its tables are right only as long as it does.
 *
 * The clock is the kernel's tick counter, which the verifier turns into one load. User space cannot
 * read it, so the daemon moves the deadline by running sl_beat.
 */
#ifndef SL_HEARTBEAT_BPF_H
#define SL_HEARTBEAT_BPF_H

#include "bpf/edge/maps.bpf.h"
#include "bpf/edge/packet.bpf.h"

static __always_inline struct sl_heartbeat *sl_heartbeat_get(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&sl_heartbeat, &zero);
}

static __always_inline bool sl_daemon_away(void)
{
	const struct sl_heartbeat *heartbeat = sl_heartbeat_get();

	/* A deadline of 0 becomes the latest of all. */
	return heartbeat && heartbeat->deadline - 1 < bpf_jiffies64();
}

static __always_inline void sl_heartbeat_beat(void)
{
	struct sl_heartbeat *heartbeat = sl_heartbeat_get();

	if (!heartbeat)
		return;
	heartbeat->beat_ns = bpf_ktime_get_ns();
	heartbeat->deadline = heartbeat->limit_ticks ? bpf_jiffies64() + heartbeat->limit_ticks : 0;
}

#endif
