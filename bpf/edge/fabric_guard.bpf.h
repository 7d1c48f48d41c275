/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Keeps packets from edge ports away from the fabric's own protocol, RoCEv2: neither the fast path
 * nor the kernel delivers them. This step runs before any other could give the packet to the
 * kernel, so nothing has validated the packet yet. Where the UDP port cannot be seen, the step
 * assumes that it is RoCEv2's.
 *
 * Only UDP, and headers that may hide it, pay for the lookup of the address.
 */
#ifndef SL_FABRIC_GUARD_BPF_H
#define SL_FABRIC_GUARD_BPF_H

#include <linux/udp.h>

#include "bpf/edge/ip4.bpf.h"
#include "bpf/edge/maps.bpf.h"
#include "bpf/edge/packet.bpf.h"

/*
 * Extension headers that linux/in6.h does not name: RFC 6275, 7401, 5533.
 */
#define SL_IPPROTO_MOBILITY 135
#define SL_IPPROTO_HIP	    139
#define SL_IPPROTO_SHIM6    140

static __always_inline bool sl_may_be_roce_port(const struct sl_packet *pkt,
						const struct udphdr *udp)
{
	return (void *)(udp + 1) > pkt->end || udp->dest == sl_htons(SL_ROCE_PORT);
}

static __always_inline bool sl_may_be_roce4(const struct sl_packet *pkt, const struct iphdr *ip)
{
	if (ip->protocol != IPPROTO_UDP)
		return false;
	return ip->ihl != 5 || (ip->frag_off & sl_htons(SL_IP4_FRAGMENT)) ||
	       sl_may_be_roce_port(pkt, (void *)(ip + 1));
}

static __always_inline bool sl_may_be_roce6(const struct sl_packet *pkt, const struct ipv6hdr *ip)
{
	switch (ip->nexthdr) {
	case IPPROTO_UDP:
		return sl_may_be_roce_port(pkt, (void *)(ip + 1));
	case IPPROTO_HOPOPTS:
	case IPPROTO_ROUTING:
	case IPPROTO_FRAGMENT:
	case IPPROTO_AH:
	case IPPROTO_DSTOPTS:
	case SL_IPPROTO_MOBILITY:
	case SL_IPPROTO_HIP:
	case SL_IPPROTO_SHIM6:
		return true;
	default:
		return false;
	}
}

static __always_inline bool sl_is_for_fabric(const struct sl_packet *pkt)
{
	struct sl_fabric_key to = {};

	if (pkt->ethertype == sl_htons(ETH_P_IP)) {
		const struct iphdr *ip = pkt->l3;

		if ((void *)(ip + 1) > pkt->end || !sl_may_be_roce4(pkt, ip))
			return false;
		to.word[2] = sl_htonl(0xffff);
		to.word[3] = ip->daddr;
	} else if (pkt->ethertype == sl_htons(ETH_P_IPV6)) {
		const struct ipv6hdr *ip = pkt->l3;

		if ((void *)(ip + 1) > pkt->end || !sl_may_be_roce6(pkt, ip))
			return false;
		__builtin_memcpy(&to, &ip->daddr, sizeof(to));
	} else {
		return false;
	}
	return bpf_map_lookup_elem(&sl_fabric, &to);
}

#endif
