/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A rule's next hop in place of the one that leads to the destination, as a table for which a
 * policy rule of the kernel (ip rule) stands behind that of local addresses: an address, looked up
 * as a destination is, or a table of the kernel.
 */
#ifndef SL_RULE_HOP_BPF_H
#define SL_RULE_HOP_BPF_H

#include "bpf/edge/fib.bpf.h"
#include "bpf/edge/kernel_fib.bpf.h"
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

/* Fill the key of the kernel's lookup. False: the IP header is not there. */
static __always_inline bool sl_table_key(struct xdp_md *ctx, __u32 l3_place,
					 struct bpf_fib_lookup *fib)
{
	struct sl_packet pkt = { .end = (void *)(long)ctx->data_end };

	pkt.l3 = (void *)(long)ctx->data + (l3_place & SL_L3_OFFSET_MASK);
	if (l3_place & SL_L3_IP6) {
		const struct ipv6hdr *ip = pkt.l3;
		__u32 len_bytes;

		if ((const void *)(ip + 1) > pkt.end)
			return false;
		sl_kernel_key6(&pkt, fib);
		len_bytes = sizeof(*ip) + sl_ntohs(ip->payload_len);
		fib->tot_len = len_bytes > 0xffff ? 0xffff : len_bytes;
	} else {
		const struct iphdr *ip = pkt.l3;

		if ((const void *)(ip + 1) > pkt.end)
			return false;
		sl_kernel_key4(&pkt, fib);
		fib->tot_len = sl_ntohs(ip->tot_len);
	}
	return true;
}

/*
 * The next-hop id by which the kernel's table sends the packet; `id`, that of its destination, if
 * the table has no route for it. The kernel names a hop, and sluiced makes the next hop of that;
 * until then, and for what the table refuses, the id leads nowhere.
 */
__attribute__((noinline)) int sl_table_hop_id(struct xdp_md *ctx, __u32 l3_place, __u32 l3_ifindex,
					      __u32 table, __u32 id)
{
	struct sl_table_hop_key key = { .mtu_family =
						l3_place & SL_L3_IP6 ? SL_AF_INET6 : SL_AF_INET };
	struct bpf_fib_lookup fib = { .ifindex = l3_ifindex };
	const struct sl_table_hop none = {};
	struct sl_table_hop *hop;
	long result;

	if (!sl_table_key(ctx, l3_place, &fib))
		return 0;
	fib.tbid = table;
	result = bpf_fib_lookup(ctx, &fib, sizeof(fib), SL_TABLE_LOOKUP);
	if (result == BPF_FIB_LKUP_RET_NOT_FWDED)
		return id;
	if (result != BPF_FIB_LKUP_RET_SUCCESS)
		return 0;
	key.family = fib.family;
	key.ifindex = fib.ifindex;
	if (fib.family == SL_AF_INET)
		key.address[0] = fib.ipv4_dst;
	else
		__builtin_memcpy(key.address, fib.ipv6_dst, sizeof(key.address));
	hop = bpf_map_lookup_elem(&sl_table_hop, &key);
	if (!hop) {
		bpf_map_update_elem(&sl_table_hop, &key, &none, BPF_NOEXIST);
		return 0;
	}
	if (!hop->used)
		hop->used = 1;
	return hop->id;
}

/*
 * The next-hop id of a packet of the rule, whose destination has `id`. Not inlined, so that the
 * verifier looks at it once. A rule without its hop leads nowhere.
 */
__attribute__((noinline)) int sl_rule_hop_id(struct xdp_md *ctx, __u32 number, __u32 l3_place,
					     __u32 l3_ifindex, __u32 id)
{
	const struct sl_rule_hop *hop = bpf_map_lookup_elem(&sl_rule_hop, &number);

	if (!hop)
		return 0;
	if (hop->table)
		return sl_table_hop_id(ctx, l3_place, l3_ifindex, hop->table, id);
	return l3_place & SL_L3_IP6 ? sl_fib6_lookup((const struct in6_addr *)hop->address)
				    : sl_fib4_lookup(hop->address[0]);
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
	return sl_rule_hop_id(pkt->ctx, number_plus1 - 1, sl_l3_place(pkt), pkt->l3_ifindex, id);
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
