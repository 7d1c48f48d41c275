/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Next-hop id -> adjacency. The id of an ECMP group leads through the group, where the hash of the
 * flow picks the member.
 */
#ifndef SL_NEXTHOP_BPF_H
#define SL_NEXTHOP_BPF_H

#include "bpf/ip4.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/packet.bpf.h"

/* An odd 64-bit constant with well-spread bits: 2^64 divided by the golden ratio. */
#define SL_HASH_MULTIPLIER 0x9e3779b97f4a7c15ULL

static __always_inline __u64 sl_hash_mix(__u64 hash, __u64 value)
{
	hash = (hash ^ value) * SL_HASH_MULTIPLIER;
	return hash ^ (hash >> 32);
}

/* Source and destination port of protocols that have them in their first four bytes, else 0. */
static __always_inline __u32 sl_hash_ports(const struct sl_packet *pkt, __u8 protocol,
					   const void *l4)
{
	const __u32 *ports = l4;

	if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP && protocol != IPPROTO_SCTP)
		return 0;
	return (void *)(ports + 1) > pkt->end ? 0 : *ports;
}

/*
 * All fragments of a packet must take the same path, and only the first has ports, so the hash of a
 * fragment leaves them out. In IPv6 the fragment header hides the ports by itself, as other
 * extension headers do; there the flow label, which the sender sets for this purpose (RFC 6437, RFC
 * 6438), tells flows apart.
 */
static __always_inline __u32 sl_flow_hash(const struct sl_packet *pkt)
{
	__u64 hash = sl_config.hash_seed;

	if (pkt->ip4) {
		const struct iphdr *ip = pkt->l3;
		__u32 ports = 0;

		if (!(ip->frag_off & sl_htons(SL_IP4_FRAGMENT)))
			ports = sl_hash_ports(pkt, ip->protocol, ip + 1);
		hash = sl_hash_mix(hash, (__u64)(SL_FORCE __u32)ip->saddr << 32 |
						 (SL_FORCE __u32)ip->daddr);
		hash = sl_hash_mix(hash, (__u64)ip->protocol << 32 | ports);
	} else {
		const struct ipv6hdr *ip = pkt->l3;
		const __u64 *addrs = (const void *)&ip->saddr;
		__u32 label = *(const __u32 *)ip & (SL_FORCE __u32)sl_htonl(0x000fffff);

		hash = sl_hash_mix(hash, addrs[0]);
		hash = sl_hash_mix(hash, addrs[1]);
		hash = sl_hash_mix(hash, addrs[2]);
		hash = sl_hash_mix(hash, addrs[3]);
		hash = sl_hash_mix(hash, (__u64)ip->nexthdr << 32 |
						 sl_hash_ports(pkt, ip->nexthdr, ip + 1));
		hash = sl_hash_mix(hash, label);
	}
	return hash * SL_HASH_MULTIPLIER >> 32;
}

static __always_inline struct sl_nexthop sl_nexthop_read(__u32 id)
{
	struct sl_nexthop nexthop = { .kind = SL_NH_NONE };
	struct sl_nexthop *entry = bpf_map_lookup_elem(&sl_nexthop, &id);
	__u64 word;

	if (!entry)
		return nexthop;
	word = *(volatile __u64 *)entry; /* written as one word: read it as one */
	__builtin_memcpy(&nexthop, &word, sizeof(nexthop));
	return nexthop;
}

static __always_inline __u32 sl_group_pick(__u32 group, __u32 hash)
{
	struct sl_group *entry = bpf_map_lookup_elem(&sl_group, &group);

	return entry ? *(volatile __u32 *)&entry->bucket[hash & (SL_GROUP_BUCKETS - 1)] : 0;
}

/* The verdict on a packet whose next hop does not forward. */
static __always_inline sl_verdict sl_nexthop_verdict(struct sl_nexthop nexthop)
{
	switch (nexthop.kind) {
	case SL_NH_PUNT:
		if (nexthop.ref < SL_PUNT_COUNT)
			return SL_VERDICT_PUNT | nexthop.ref;
		break;
	case SL_NH_DROP:
		if (nexthop.ref < SL_DROP_COUNT)
			return SL_VERDICT_DROP | nexthop.ref;
		break;
	case SL_NH_NONE:
		return SL_PUNT(NO_ROUTE);
	}
	return SL_PUNT(OTHER); /* user space writes no such next hop */
}

/*
 * Returns the adjacency, or NULL with *verdict saying how the packet ends. Callers test the
 * pointer, not the verdict: the verifier of Linux 6.1 does not see that a verdict made of a map's
 * value is never SL_GO_ON.
 */
static __always_inline struct sl_adj *sl_nexthop_resolve(const struct sl_packet *pkt, __u32 id,
							 sl_verdict *verdict)
{
	struct sl_nexthop nexthop = sl_nexthop_read(id);

	if (nexthop.kind == SL_NH_GROUP)
		nexthop = sl_nexthop_read(sl_group_pick(nexthop.ref, sl_flow_hash(pkt)));
	if (nexthop.kind != SL_NH_FORWARD) {
		*verdict = sl_nexthop_verdict(nexthop);
		return NULL;
	}
	*verdict = SL_PUNT(OTHER);
	return bpf_map_lookup_elem(&sl_adj, &nexthop.ref);
}

#endif
