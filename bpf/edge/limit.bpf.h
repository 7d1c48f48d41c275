/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The kernel's part of a flood: packets that only the kernel can answer (TTL, no route, for this
 * node) pass at a bounded rate, so that a flood of them leaves processor time for the protocols and
 * sessions of the node.
 *
 * Each class of packets has a rate on each processor. The bound is the generic cell rate algorithm
 * (ITU-T I.371): a packet is due one interval after the one before it, and may come up to
 * SL_LIMIT_BURST_NS early.
 */
#ifndef SL_LIMIT_BPF_H
#define SL_LIMIT_BPF_H

#include "bpf/abi/limit.h"
#include "bpf/edge/ip4.bpf.h"
#include "bpf/edge/maps.bpf.h"
#include "bpf/edge/packet.bpf.h"

static __always_inline bool sl_within_limit(__u32 class)
{
	struct sl_limit *limit = bpf_map_lookup_elem(&sl_limit, &class);
	__u64 now_ns;

	if (!limit || !limit->interval_ns)
		return true;
	now_ns = bpf_ktime_get_ns();
	if (limit->due_ns > now_ns + SL_LIMIT_BURST_NS)
		return false;
	if (limit->due_ns < now_ns)
		limit->due_ns = now_ns;
	limit->due_ns += limit->interval_ns;
	return true;
}

/* Does the packet belong to a connection, maybe one that is being made, and not to a listener? */
static __always_inline bool sl_has_connection(struct xdp_md *ctx, struct bpf_sock_tuple *tuple,
					      __u32 tuple_bytes)
{
	struct bpf_sock *socket =
		bpf_skc_lookup_tcp(ctx, tuple, tuple_bytes, BPF_F_CURRENT_NETNS, 0);
	bool connection;

	if (!socket)
		return false;
	connection = socket->state != BPF_TCP_LISTEN;
	bpf_sk_release(socket);
	return connection;
}

static __always_inline bool sl_has_reader(struct xdp_md *ctx, struct bpf_sock_tuple *tuple,
					  __u32 tuple_bytes)
{
	struct bpf_sock *socket =
		bpf_sk_lookup_udp(ctx, tuple, tuple_bytes, BPF_F_CURRENT_NETNS, 0);

	if (!socket)
		return false;
	bpf_sk_release(socket);
	return true;
}

/* Protocols of routers and tunnels, which have no ports that would tell a peer from a stranger. */
static __always_inline bool sl_is_control(__u8 protocol)
{
	switch (protocol) {
	case IPPROTO_IPIP:
	case IPPROTO_IPV6:
	case IPPROTO_GRE:
	case IPPROTO_ESP:
	case IPPROTO_AH:
	case IPPROTO_PIM:
	case IPPROTO_L2TP:
	case IPPROTO_SCTP:
	case 89:  /* OSPF */
	case 112: /* VRRP */
		return true;
	}
	return false;
}

/* The class of a packet for this node; SL_LIMITS: one that has no limit. */
static __always_inline __u32 sl_local_class(const struct sl_packet *pkt)
{
	struct bpf_sock_tuple tuple = {};
	__u32 tuple_bytes;
	const __be16 *ports;
	__u8 protocol;

	if (pkt->ip4) {
		const struct iphdr *ip = pkt->l3;

		protocol = ip->frag_off & sl_htons(SL_IP4_OFFSET) ? 0 : ip->protocol;
		ports = (const void *)(ip + 1);
		tuple_bytes = sizeof(tuple.ipv4);
		tuple.ipv4.saddr = ip->saddr;
		tuple.ipv4.daddr = ip->daddr;
	} else {
		const struct ipv6hdr *ip = pkt->l3;

		protocol = ip->nexthdr;
		ports = (const void *)(ip + 1);
		tuple_bytes = sizeof(tuple.ipv6);
		__builtin_memcpy(tuple.ipv6.saddr, &ip->saddr, sizeof(tuple.ipv6.saddr));
		__builtin_memcpy(tuple.ipv6.daddr, &ip->daddr, sizeof(tuple.ipv6.daddr));
	}
	if (sl_is_control(protocol))
		return SL_LIMITS;
	if ((protocol != IPPROTO_TCP && protocol != IPPROTO_UDP) || (void *)(ports + 2) > pkt->end)
		return SL_LIMIT_OTHER;
	if (pkt->ip4) {
		tuple.ipv4.sport = ports[0];
		tuple.ipv4.dport = ports[1];
	} else {
		tuple.ipv6.sport = ports[0];
		tuple.ipv6.dport = ports[1];
	}
	if (protocol == IPPROTO_TCP)
		return sl_has_connection(pkt->ctx, &tuple, tuple_bytes) ? SL_LIMITS : SL_LIMIT_TCP;
	return sl_has_reader(pkt->ctx, &tuple, tuple_bytes) ? SL_LIMITS : SL_LIMIT_UDP;
}

/* The verdict on a packet, once it is known whether the kernel gets too many of its class. */
static __always_inline sl_verdict sl_limit_punts(const struct sl_packet *pkt, sl_verdict verdict)
{
	__u32 class;

	if (!sl_managed() || !sl_unlikely(verdict & SL_VERDICT_PUNT))
		return verdict;
	if (verdict == SL_PUNT(TTL))
		return sl_within_limit(SL_LIMIT_TTL) ? verdict : SL_DROP(TTL_LIMIT);
	if (verdict == SL_PUNT(NO_ROUTE))
		return sl_within_limit(SL_LIMIT_NO_ROUTE) ? verdict : SL_DROP(NO_ROUTE_LIMIT);
	if (verdict != SL_PUNT(LOCAL))
		return verdict;
	class = sl_local_class(pkt);
	return class == SL_LIMITS || sl_within_limit(class) ? verdict : SL_DROP(LOCAL_LIMIT);
}

#endif
