/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Flows with a reserved rate: what conforms to it goes by the class of reserved flows, and what
 * does not goes as if nothing were reserved.
 *
 * This step comes after the rule list, so a list may drop such a packet, and its class and next hop
 * give way to those of the reservation.
 */
#ifndef SL_RESERVE_BPF_H
#define SL_RESERVE_BPF_H

#include "bpf/edge/maps.bpf.h"
#include "bpf/edge/packet.bpf.h"
#include "bpf/edge/police.bpf.h"
#include "bpf/edge/rule_hop.bpf.h"
#include "bpf/edge/stats.bpf.h"

/* The flow of the packet whose IP header is at l3. False: it is of no flow that has ports. */
static __always_inline bool sl_flow_key_of(const void *l3, const void *end, bool ip4,
					   struct sl_flow_key *key)
{
	const __be16 *port;

	if (ip4) {
		const struct iphdr *ip = l3;

		if ((void *)(ip + 1) > end || ip->ihl != 5 || ip->frag_off & sl_htons(0x3fff))
			return false;
		key->version = 4;
		key->protocol = ip->protocol;
		key->source[0] = ip->saddr;
		key->destination[0] = ip->daddr;
		port = (const void *)(ip + 1);
	} else {
		const struct ipv6hdr *ip = l3;

		if ((void *)(ip + 1) > end)
			return false;
		key->version = 6;
		key->protocol = ip->nexthdr;
		__builtin_memcpy(key->source, &ip->saddr, sizeof(key->source));
		__builtin_memcpy(key->destination, &ip->daddr, sizeof(key->destination));
		port = (const void *)(ip + 1);
	}
	if ((void *)(port + 2) > end)
		return false;
	key->source_port = port[0];
	key->destination_port = port[1];
	return true;
}

/*
 * Tell sluiced of a flow for which a rule reserves: once, until sluiced has taken it out of the map
 * of those. If that is full the packet counts as missed, and a later one may tell. Not inlined, so
 * that the verifier looks at it once.
 */
__attribute__((noinline)) int sl_tell_of_flow(const struct sl_flow_key *key, __u32 number,
					      __u32 l3_ifindex)
{
	struct sl_flow_setup setup = { .number = number, .l3_ifindex = l3_ifindex };
	__u64 now_ns = bpf_ktime_get_ns();

	if (!key)
		return 0;
	/* What else a rule matches has no ports. */
	if (key->protocol != IPPROTO_TCP && key->protocol != IPPROTO_UDP &&
	    key->protocol != IPPROTO_SCTP && key->protocol != IPPROTO_DCCP &&
	    key->protocol != IPPROTO_UDPLITE)
		return 0;
	setup.flow = *key;
	if (bpf_map_lookup_elem(&sl_setup_told, &setup.flow))
		return 0;
	if (bpf_map_update_elem(&sl_setup_told, &setup.flow, &now_ns, BPF_NOEXIST))
		sl_count(&sl_setup_missed, 0, 1, 0);
	else if (bpf_ringbuf_output(&sl_setups, &setup, sizeof(setup), 0))
		bpf_map_delete_elem(&sl_setup_told, &setup.flow);
	return 0;
}

/*
 * The class that the packet goes by, plus 1. class_and_rule has in its low 8 bits what it was, and
 * from bit 8 on the number plus 1 of the rule that reserves for its flow; l3_ifindex is 0 where no
 * flow has reserved anything and no rule does. Not inlined, so that the verifier looks at it once,
 * and what follows too: it does not know the answer. A branch around the call would double what
 * follows.
 */
__attribute__((noinline)) int sl_reserved_class(struct xdp_md *ctx, __u32 l3_place,
						__u32 l3_ifindex, __u32 ip_len_bytes,
						__u32 class_and_rule)
{
	const void *l3 = (void *)(long)ctx->data + (l3_place & SL_L3_OFFSET_MASK);
	const __u32 class_plus1 = class_and_rule & 0xff;
	struct sl_flow_key key = {};
	const struct sl_reserved *reserved;

	if (!l3_ifindex)
		return class_plus1;
	if (!sl_flow_key_of(l3, (void *)(long)ctx->data_end, !(l3_place & SL_L3_IP6), &key))
		return class_plus1;
	reserved = bpf_map_lookup_elem(&sl_reserved, &key);
	if (!reserved) {
		if (class_and_rule >> 8)
			sl_tell_of_flow(&key, (class_and_rule >> 8) - 1, l3_ifindex);
		return class_plus1;
	}
	if (reserved->l3_ifindex != l3_ifindex)
		return class_plus1;
	/* The rate is that of frames, as the port's is. */
	if ((sl_police_number(reserved->number, ETH_HLEN + ip_len_bytes) & 0xff) == SL_COLOUR_RED)
		return class_plus1;
	if (reserved->pinned)
		sl_rule_hop_set(reserved->number + 1);
	return SL_RESERVED_CLASS + 1;
}

static __always_inline void sl_reserve(struct sl_packet *pkt)
{
	__u32 any = -((pkt->port_flags >> SL_PORT_RESERVES_BIT & 1) | !!pkt->reserve_rule_plus1);

	if (!sl_reserves())
		return;
	if (!sl_filtered() || !pkt->filter)
		sl_rule_hop_set(0);
	pkt->class_plus1 = sl_reserved_class(pkt->ctx, sl_l3_place(pkt), pkt->l3_ifindex & any,
					     pkt->ip_len_bytes,
					     pkt->class_plus1 | pkt->reserve_rule_plus1 << 8);
}

#endif
