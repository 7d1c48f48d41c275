/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Writing the DSCP of a packet. */
#ifndef SL_DSCP_BPF_H
#define SL_DSCP_BPF_H

#include "bpf/edge/packet.bpf.h"

/*
 * Write a DSCP, and leave ECN alone (RFC 3168 5). The IPv4 checksum follows by RFC 1624,
 * equation 3.
 */
static __always_inline void sl_write_dscp(const struct sl_packet *pkt, __u32 dscp)
{
	if (pkt->ip4) {
		struct iphdr *ip = pkt->l3;
		__u8 tos = dscp << 2 | (ip->tos & 3);
		/* ~m + m' for the first word, in network order: version and IHL do not change */
		__u32 sum = (__u16) ~(SL_FORCE __u16)ip->check +
			    (__u16) ~(SL_FORCE __u16)sl_htons(ip->tos) +
			    (SL_FORCE __u16)sl_htons(tos);

		sum = (sum & 0xffff) + (sum >> 16);
		ip->check = (SL_FORCE __sum16)(__u16) ~((sum & 0xffff) + (sum >> 16));
		ip->tos = tos;
	} else {
		struct ipv6hdr *ip = pkt->l3;

		ip->priority = dscp >> 2;
		ip->flow_lbl[0] = (dscp & 3) << 6 | (ip->flow_lbl[0] & 0x3f);
	}
}

#endif
