/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * May the packet leave by this adjacency? A packet that fails a check goes to the kernel, which
 * knows the answer that its sender gets.
 */
#ifndef SL_EGRESS_BPF_H
#define SL_EGRESS_BPF_H

#include "bpf/edge/bare.bpf.h"
#include "bpf/edge/fib.bpf.h"
#include "bpf/edge/kernel_fib.bpf.h"
#include "bpf/edge/nexthop.bpf.h"
#include "bpf/edge/packet.bpf.h"

/* Does next hop `id` leave through the L3 interface that the packet came in by? */
static __always_inline bool sl_nexthop_leaves_by(__u32 id, __u32 l3_ifindex)
{
	struct sl_nexthop nexthop = sl_nexthop_read(id);
	struct sl_adj *adj;

	if (nexthop.kind != SL_NH_FORWARD)
		return false;
	adj = bpf_map_lookup_elem(&sl_adj, &nexthop.ref);
	return adj && adj->l3_ifindex == l3_ifindex;
}

/* Does any member of the group leave there? Not inlined, so that it is verified only once. */
__attribute__((noinline)) int sl_group_leaves_by(__u32 id, __u32 l3_ifindex)
{
	struct sl_group *group = bpf_map_lookup_elem(&sl_group, &id);
	__u32 i;

	if (!group)
		return false;
	for (i = 0; i < SL_GROUP_BUCKETS; i++)
		if (sl_nexthop_leaves_by(group->bucket[i], l3_ifindex))
			return true;
	return false;
}

static __always_inline bool sl_source_is_here(__u32 id, __u32 l3_ifindex)
{
	struct sl_nexthop nexthop = sl_nexthop_read(id);

	if (nexthop.kind == SL_NH_GROUP)
		return sl_group_leaves_by(nexthop.ref, l3_ifindex);
	return sl_nexthop_leaves_by(id, l3_ifindex);
}

static __always_inline bool sl_source_is_reachable(__u32 id)
{
	__u32 kind = sl_nexthop_read(id).kind;

	return kind == SL_NH_FORWARD || kind == SL_NH_GROUP;
}

/*
 * The reverse-path filter, RFC 3704 2.2 (strict) and 2.4 (loose), as Linux implements it. The
 * kernel judges the packets that do not pass here.
 */
static __always_inline bool sl_reverse_path_ok(const struct sl_packet *pkt)
{
	bool strict = pkt->port_flags & SL_PORT_RP_STRICT;
	__u32 source;

	if (!(pkt->port_flags & (SL_PORT_RP_STRICT | SL_PORT_RP_LOOSE)))
		return true;
	if (sl_config.engine == SL_ENGINE_KERNEL) {
		source = sl_kernel_reverse(pkt);
		return strict ? source == pkt->l3_ifindex : source != 0;
	}
	source = sl_fib4_lookup(((struct iphdr *)pkt->l3)->saddr);
	return strict ? sl_source_is_here(source, pkt->l3_ifindex) : sl_source_is_reachable(source);
}

static __always_inline sl_verdict sl_egress_checks(const struct sl_packet *pkt,
						   const struct sl_adj *adj)
{
	bool ip4 = pkt->ip4;

	if (sl_managed()) {
		if (!(pkt->port_flags & (ip4 ? SL_PORT_FORWARD4 : SL_PORT_FORWARD6)))
			return SL_PUNT(FORWARDING_OFF);
		if (ip4 && !sl_reverse_path_ok(pkt))
			return SL_PUNT(RP_FILTER);
	}
	if (pkt->ttl <= 1) /* RFC 1812 5.3.1, RFC 8200 3 */
		return SL_PUNT(TTL);
	if (pkt->ip_len_bytes > adj->mtu_bytes)
		return SL_PUNT(TOO_BIG);
	if (adj->l3_ifindex == pkt->l3_ifindex &&
	    (!sl_managed() || (pkt->port_flags & (ip4 ? SL_PORT_REDIRECT4 : SL_PORT_REDIRECT6))))
		return SL_PUNT(REDIRECT);
	return SL_GO_ON;
}

#endif
