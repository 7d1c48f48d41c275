/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Next-hop id -> adjacency. The id of an ECMP group leads through the group, where the hash of the
 * flow picks the member.
 */
#ifndef SL_NEXTHOP_BPF_H
#define SL_NEXTHOP_BPF_H

#include "bpf/edge/ip4.bpf.h"
#include "bpf/edge/maps.bpf.h"
#include "bpf/edge/packet.bpf.h"

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

/* Both directions of a flow have the same hash. */
static __always_inline __u32 sl_hash_turn(__u32 ports)
{
	return ports >> 16 | ports << 16;
}

/*
 * All fragments of a packet must take the same path, and only the first has ports, so the hash of a
 * fragment leaves them out.
 */
static __always_inline __u64 sl_hash_ip4(const struct sl_packet *pkt, const struct iphdr *ip)
{
	__u32 low = (SL_FORCE __u32)ip->saddr, high = (SL_FORCE __u32)ip->daddr, ports = 0;
	__u64 hash = sl_config.hash_seed;

	if (ip->ihl == 5 && !(ip->frag_off & sl_htons(SL_IP4_FRAGMENT)))
		ports = sl_hash_ports(pkt, ip->protocol, ip + 1);
	if (low > high) {
		high = low;
		low = (SL_FORCE __u32)ip->daddr;
		ports = sl_hash_turn(ports);
	}
	hash = sl_hash_mix(hash, (__u64)low << 32 | high);
	if (pkt->port_flags & SL_PORT_HASH_L3_4)
		return hash;
	return sl_hash_mix(hash, (__u64)ip->protocol << 32 | ports);
}

/*
 * In IPv6 the fragment header hides the ports by itself, as other extension headers do; there the
 * flow label, which the sender sets for this purpose (RFC 6437, RFC 6438), tells flows apart. Where
 * the ports are in sight it does not count: the two directions of a flow have different labels, and
 * an ICMP error quotes that of the other one.
 */
static __always_inline __u64 sl_hash_ip6(const struct sl_packet *pkt, const struct ipv6hdr *ip)
{
	const __u64 *src = (const void *)&ip->saddr, *dst = (const void *)&ip->daddr;
	__u32 label = *(const __u32 *)ip & (SL_FORCE __u32)sl_htonl(0x000fffff);
	__u32 ports = sl_hash_ports(pkt, ip->nexthdr, ip + 1);
	__u64 low[2] = { src[0], src[1] }, high[2] = { dst[0], dst[1] };
	__u64 hash = sl_config.hash_seed;

	if (src[0] > dst[0] || (src[0] == dst[0] && src[1] > dst[1])) {
		low[0] = dst[0], low[1] = dst[1];
		high[0] = src[0], high[1] = src[1];
		ports = sl_hash_turn(ports);
	}
	hash = sl_hash_mix(hash, low[0]);
	hash = sl_hash_mix(hash, low[1]);
	hash = sl_hash_mix(hash, high[0]);
	hash = sl_hash_mix(hash, high[1]);
	if (pkt->port_flags & SL_PORT_HASH_L3_6)
		return hash;
	return sl_hash_mix(hash, (__u64)ip->nexthdr << 32 | (ports ? ports : label));
}

/* linux/icmp.h needs headers of user space. */
#define SL_ICMP_BYTES 8 /* before the quoted packet */

static __always_inline bool sl_icmp4_is_error(__u8 type) /* RFC 1122 3.2.2 */
{
	return type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
}

static __always_inline bool sl_icmp6_is_error(__u8 type) /* RFC 4443 2.1 */
{
	return type < 128;
}

/*
 * An ICMP error takes the path of the flow that it is about, whose packet it quotes, sent in the
 * other direction: else an error about the path's MTU would not reach the host of an anycast
 * address that it is for (RFC 7690).
 */
static __always_inline __u32 sl_flow_hash(const struct sl_packet *pkt)
{
	__u64 hash;

	if (pkt->ip4) {
		const struct iphdr *ip = pkt->l3;
		const __u8 *type = (const void *)(ip + 1);
		const struct iphdr *quoted = (const void *)(type + SL_ICMP_BYTES);

		if (ip->protocol == IPPROTO_ICMP && !(ip->frag_off & sl_htons(SL_IP4_FRAGMENT)) &&
		    (const void *)(quoted + 1) <= pkt->end && sl_icmp4_is_error(*type))
			hash = sl_hash_ip4(pkt, quoted);
		else
			hash = sl_hash_ip4(pkt, ip);
	} else {
		const struct ipv6hdr *ip = pkt->l3;
		const __u8 *type = (const void *)(ip + 1);
		const struct ipv6hdr *quoted = (const void *)(type + SL_ICMP_BYTES);

		if (ip->nexthdr == IPPROTO_ICMPV6 && (const void *)(quoted + 1) <= pkt->end &&
		    sl_icmp6_is_error(*type))
			hash = sl_hash_ip6(pkt, quoted);
		else
			hash = sl_hash_ip6(pkt, ip);
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
