/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Counting, in per-CPU slots by plain adds: on one CPU no run of the program interrupts another.
 */
#ifndef SL_STATS_BPF_H
#define SL_STATS_BPF_H

#include "bpf/edge/maps.bpf.h"
#include "bpf/edge/packet.bpf.h"

static __always_inline void sl_count(void *map, __u32 slot, __u64 packets, __u64 bytes)
{
	struct sl_counter *counter = bpf_map_lookup_elem(map, &slot);

	if (!counter)
		return;
	counter->packets += packets;
	counter->bytes += bytes;
}

static __always_inline void sl_count_rx(const struct sl_packet *pkt)
{
	sl_count(&sl_stats, SL_STAT_RX, 1, pkt->len_bytes);
	if (pkt->ethertype == sl_htons(ETH_P_IP))
		sl_count(&sl_stats, SL_STAT_RX_IP4, 1, pkt->len_bytes);
	else if (pkt->ethertype == sl_htons(ETH_P_IPV6))
		sl_count(&sl_stats, SL_STAT_RX_IP6, 1, pkt->len_bytes);
}

/* Count how the packet ended and turn the verdict into the XDP action. */
static __always_inline int sl_finish(const struct sl_packet *pkt, sl_verdict verdict)
{
	if (verdict == SL_GO_ON) {
		sl_count(&sl_stats, SL_STAT_FORWARD, 1, pkt->len_bytes);
		return XDP_REDIRECT;
	}
	if (verdict == SL_QUEUED) {
		sl_count(&sl_stats, SL_STAT_VOQ, 1, pkt->len_bytes);
		return XDP_REDIRECT;
	}
	if (verdict & SL_VERDICT_DROP) {
		sl_count(&sl_drops, verdict & 0xff, 1, pkt->len_bytes);
		return XDP_DROP;
	}
	sl_count(&sl_punts, verdict & 0xff, 1, pkt->len_bytes);
	return XDP_PASS;
}

#endif
