/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A rule's next hop in place of the one that leads to the destination, as a table for which a
 * policy rule of the kernel (ip rule) stands behind that of local addresses.
 */
#ifndef SL_RULE_HOP_BPF_H
#define SL_RULE_HOP_BPF_H

#include "bpf/edge/fib.bpf.h"
#include "bpf/edge/maps.bpf.h"
#include "bpf/edge/nexthop.bpf.h"
#include "bpf/edge/packet.bpf.h"

static __always_inline void sl_rule_hop_set(__u32 number_plus1)
{
	__u32 zero = 0, *now = bpf_map_lookup_elem(&sl_hop_rule, &zero);

	if (now)
		*now = number_plus1;
}

/* The rule or the reserved flow that names the packet's next hop, plus 1; 0: none does. */
static __always_inline __u32 sl_rule_hop_get(const struct sl_packet *pkt)
{
	__u32 zero = 0;
	const __u32 *now;

	if (!sl_names_hops() || (!sl_reserves() && !pkt->filter))
		return 0;
	now = bpf_map_lookup_elem(&sl_hop_rule, &zero);
	return now ? *now : 0;
}

/*
 * The next-hop id that leads to the address of the rule. Not inlined, so that the verifier looks at
 * it once. A rule without its address leads nowhere.
 */
__attribute__((noinline)) int sl_rule_hop_id(__u32 number, __u32 ip4)
{
	const struct sl_rule_hop *hop = bpf_map_lookup_elem(&sl_rule_hop, &number);

	if (!hop)
		return 0;
	return ip4 ? sl_fib4_lookup(hop->address[0])
		   : sl_fib6_lookup((const struct in6_addr *)hop->address);
}

/* The id for a packet whose destination has `id`. */
static __always_inline __u32 sl_rule_hop_choose(const struct sl_packet *pkt, __u32 id)
{
	const __u32 number_plus1 = sl_rule_hop_get(pkt);
	struct sl_nexthop nexthop;

	if (!number_plus1)
		return id;
	nexthop = sl_nexthop_read(id);
	if (nexthop.kind == SL_NH_PUNT && nexthop.ref == SL_PUNT_LOCAL)
		return id;
	return sl_rule_hop_id(number_plus1 - 1, pkt->ip4);
}

/*
 * The kernel would send the packet where its destination is, so it gets none of those that the
 * rule's next hop does not take, but for its own and what it answers itself.
 */
static __always_inline sl_verdict sl_rule_hop_end(const struct sl_packet *pkt, sl_verdict verdict)
{
	if (!sl_names_hops())
		return verdict;
	if (!(verdict & SL_VERDICT_PUNT) || verdict == SL_PUNT(LOCAL) || verdict == SL_PUNT(TTL) ||
	    !sl_rule_hop_get(pkt))
		return verdict;
	return SL_DROP(NEXT_HOP);
}

#endif
