// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sl_edge, the fast path: takes a packet from an edge port of this node to another, or into the
 * virtual output queue of another node's port. Each step is a header of its own, and returns
 * SL_GO_ON or the verdict with which the packet ends.
 */
#include "bpf/edge/egress.bpf.h"
#include "bpf/edge/fabric_guard.bpf.h"
#include "bpf/edge/fib.bpf.h"
#include "bpf/edge/filter.bpf.h"
#include "bpf/edge/frame.bpf.h"
#include "bpf/edge/heartbeat.bpf.h"
#include "bpf/edge/ingress.bpf.h"
#include "bpf/edge/ip4.bpf.h"
#include "bpf/edge/ip6.bpf.h"
#include "bpf/edge/kernel_fib.bpf.h"
#include "bpf/edge/limit.bpf.h"
#include "bpf/edge/maps.bpf.h"
#include "bpf/edge/nexthop.bpf.h"
#include "bpf/edge/packet.bpf.h"
#include "bpf/edge/parse.bpf.h"
#include "bpf/edge/reserve.bpf.h"
#include "bpf/edge/rule_hop.bpf.h"
#include "bpf/edge/stats.bpf.h"
#include "bpf/edge/transmit.bpf.h"
#include "bpf/edge/voq.bpf.h"

const volatile struct sl_config sl_config = {};
const volatile __u32 sl_bound_to_veth = 0;
const volatile __u32 sl_own_set = 0;

/*
 * Returns the adjacency, or NULL with *verdict saying how the packet ends. The engine `kernel`
 * builds its adjacency in *local.
 */
static __always_inline struct sl_adj *sl_route(const struct sl_packet *pkt, struct sl_adj *local,
					       sl_verdict *verdict)
{
	__u32 id;

	if (sl_config.engine == SL_ENGINE_KERNEL) {
		*verdict = sl_kernel_route(pkt, local);
		return *verdict == SL_GO_ON ? local : NULL;
	}
	if (pkt->ip4)
		id = sl_fib4_lookup(((struct iphdr *)pkt->l3)->daddr);
	else
		id = sl_fib6_lookup(&((struct ipv6hdr *)pkt->l3)->daddr);
	id = sl_rule_hop_choose(pkt, id);
	return sl_nexthop_resolve(pkt, id, verdict);
}

/* Where the packet goes, once it may go on. */
static __always_inline sl_verdict sl_forward_routed(struct sl_packet *pkt)
{
	struct sl_adj local = {}, *adj;
	sl_verdict verdict;

	adj = sl_route(pkt, &local, &verdict);
	if (sl_unlikely(!adj))
		return verdict;
	verdict = sl_egress_checks(pkt, adj);
	if (verdict == SL_GO_ON && sl_managed() &&
	    pkt->port_flags & (SL_PORT_PARTIAL | SL_PORT_NOTED) && sl_lacks_crc(pkt))
		verdict = SL_PUNT(OTHER);
	if (sl_unlikely(verdict != SL_GO_ON))
		return verdict;
	return sl_clustered() && adj->voq_plus1 ? sl_enqueue(pkt, adj) : sl_transmit(pkt, adj);
}

static __always_inline sl_verdict sl_forward(struct sl_packet *pkt, bool ip4)
{
	sl_verdict verdict;

	pkt->ip4 = ip4;
	verdict = sl_ingress(pkt);
	if (verdict == SL_GO_ON)
		verdict = ip4 ? sl_ip4_header(pkt) : sl_ip6_header(pkt);
	if (verdict == SL_GO_ON)
		verdict = sl_filter(pkt);
	if (verdict == SL_GO_ON && sl_managed() && sl_daemon_away())
		verdict = SL_PUNT(AWAY);
	if (verdict == SL_GO_ON)
		verdict = ip4 ? sl_ip4_input(pkt) : sl_ip6_input(pkt);
	if (sl_unlikely(verdict != SL_GO_ON))
		return verdict;
	sl_reserve(pkt);
	return sl_rule_hop_end(pkt, sl_forward_routed(pkt));
}

static __always_inline int sl_edge_frame(struct xdp_md *ctx, bool frags, bool bound)
{
	struct sl_packet pkt;
	sl_verdict verdict;

	pkt.arrival_ns = sl_clustered() ? bpf_ktime_get_ns() : 0;
	sl_packet_init(&pkt, ctx, sl_frame_bytes(ctx, frags));
	verdict = sl_parse_link(&pkt, bound && !sl_frame_is_from_xdp(ctx));
	if (sl_clustered() && !(verdict & SL_VERDICT_DROP) && sl_is_for_fabric(&pkt))
		verdict = SL_DROP(FABRIC_SPOOF);
	if (sl_unlikely(verdict != SL_GO_ON))
		return sl_finish(&pkt, verdict);
	if (pkt.ethertype == sl_htons(ETH_P_IP))
		return sl_finish(&pkt, sl_limit_punts(&pkt, sl_forward(&pkt, true)));
	if (pkt.ethertype == sl_htons(ETH_P_IPV6))
		return sl_finish(&pkt, sl_limit_punts(&pkt, sl_forward(&pkt, false)));
	return sl_finish(&pkt, SL_PUNT(NOT_IP));
}

SEC("xdp")
int sl_edge(struct xdp_md *ctx)
{
	return sl_edge_frame(ctx, false, false);
}

/* The same for drivers that hand over large frames in fragments. */
SEC("xdp.frags")
int sl_edge_frags(struct xdp_md *ctx)
{
	return sl_edge_frame(ctx, true, false);
}

/*
 * The same for a netdev that keeps VLAN tags beside the frame. The daemon loads it once for each
 * such netdev and binds it to that one, because only a bound program may ask the driver for the
 * tag.
 */
SEC("xdp.frags")
int sl_edge_bound(struct xdp_md *ctx)
{
	return sl_edge_frame(ctx, true, true);
}

/* The daemon runs it once a second, on no packet of the network. */
SEC("tc")
int sl_beat(struct __sk_buff *skb)
{
	(void)skb;
	sl_heartbeat_beat();
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
