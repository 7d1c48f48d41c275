/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What a frame of the fabric looks like: Ethernet, IP without options, UDP, and the header of RoCE.
 */
#ifndef SL_ROCE_FRAME_BPF_H
#define SL_ROCE_FRAME_BPF_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi/fabric_address.h"
#include "bpf/lib/endian.bpf.h"

/* The UDP header of a frame, and the address it is for; NULL if it is no whole UDP packet. */
static __always_inline struct udphdr *find_udp(void *data, void *end, struct sl_fabric_key *to)
{
	struct ethhdr *eth = data;

	if ((void *)(eth + 1) > end)
		return NULL;
	if (eth->h_proto == sl_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)(eth + 1);

		if ((void *)(ip + 1) > end || ip->ihl != 5 || ip->protocol != IPPROTO_UDP ||
		    (ip->frag_off & sl_htons(0x3fff)))
			return NULL;
		to->word[2] = sl_htonl(0xffff);
		to->word[3] = ip->daddr;
		return (void *)(ip + 1);
	}
	if (eth->h_proto == sl_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip = (void *)(eth + 1);

		if ((void *)(ip + 1) > end || ip->nexthdr != IPPROTO_UDP)
			return NULL;
		__builtin_memcpy(to, &ip->daddr, sizeof(*to));
		return (void *)(ip + 1);
	}
	return NULL;
}

#endif
