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

/*
 * A frame that does not go on, or into a chain. Not inlined, so that it is verified only once, and
 * out of the way of those that do.
 */
__attribute__((noinline)) int sl_finish_here(sl_verdict verdict, __u32 len_bytes, __u32 ethertype,
					     __u32 port_ifindex)
{
	if (verdict & SL_CHAINED) {
		sl_count(&sl_stats,
			 ethertype == (SL_FORCE __u16)sl_htons(ETH_P_IP) ? SL_STAT_FORWARD
									 : SL_STAT_FORWARD_IP6,
			 1, len_bytes);
		return XDP_REDIRECT;
	}
	sl_count(&sl_stats, SL_STAT_RX, 1, len_bytes);
	if (ethertype == (SL_FORCE __u16)sl_htons(ETH_P_IP))
		sl_count(&sl_stats, SL_STAT_RX_IP4, 1, len_bytes);
	else if (ethertype == (SL_FORCE __u16)sl_htons(ETH_P_IPV6))
		sl_count(&sl_stats, SL_STAT_RX_IP6, 1, len_bytes);
	if (verdict & SL_VERDICT_DROP) {
		sl_count(&sl_drops, verdict & 0xff, 1, len_bytes);
		sl_count(&sl_port_drops, port_ifindex & (SL_PORTS_MAX - 1), 1, len_bytes);
		return XDP_DROP;
	}
	sl_count(&sl_punts, verdict & 0xff, 1, len_bytes);
	return XDP_PASS;
}

/* Count how the packet ended and turn the verdict into the XDP action. */
static __always_inline int sl_finish(const struct sl_packet *pkt, sl_verdict verdict)
{
	if (verdict == SL_GO_ON) {
		sl_count(&sl_stats, pkt->ip4 ? SL_STAT_FORWARD : SL_STAT_FORWARD_IP6, 1,
			 pkt->len_bytes);
		return XDP_REDIRECT;
	}
	if (verdict == SL_QUEUED) {
		sl_count(&sl_stats, pkt->ip4 ? SL_STAT_VOQ : SL_STAT_VOQ_IP6, 1, pkt->len_bytes);
		return XDP_REDIRECT;
	}
	return sl_finish_here(verdict, pkt->len_bytes, (SL_FORCE __u16)pkt->ethertype,
			      pkt->port_ifindex);
}

#endif
