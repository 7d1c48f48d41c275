/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Turn the packet into the frame that the next hop gets: one hop less, the egress tags and MAC
 * addresses, and no padding. Both last steps, transmit and voq, call it once the packet can no
 * longer go to the kernel.
 */
#ifndef SL_REWRITE_BPF_H
#define SL_REWRITE_BPF_H

#include "bpf/abi/forwarding.h"
#include "bpf/edge/l4_checksum.bpf.h"
#include "bpf/edge/ip4.bpf.h"
#include "bpf/edge/packet.bpf.h"

/* Both addresses of an Ethernet header; sl_adj holds them side by side in the same order. */
struct sl_mac_pair {
	__u32 word[3];
} __attribute__((may_alias));
_Static_assert(__builtin_offsetof(struct sl_adj, src_mac) ==
		       __builtin_offsetof(struct sl_adj, dst_mac) + ETH_ALEN,
	       "sl_adj holds the MAC pair in the order of the wire");

/* The padding behind the IP packet, which is to be cut off. */
static __always_inline __u32 sl_padding_bytes(const struct sl_packet *pkt)
{
	__u32 headers_bytes = ETH_HLEN + pkt->tags * sizeof(struct sl_tag);

	return pkt->has_trailer ? 0 : pkt->len_bytes - headers_bytes - pkt->ip_len_bytes;
}

/*
 * Make room for the egress tags, cut off the padding behind the IP packet, as the kernel does, and
 * update pkt->l2 and pkt->end.
 */
static __always_inline bool sl_resize(struct sl_packet *pkt, __u32 tags)
{
	__u32 padding_bytes = sl_padding_bytes(pkt);

	if (padding_bytes && bpf_xdp_adjust_tail(pkt->ctx, -(int)padding_bytes))
		return false;
	if (tags != pkt->tags && bpf_xdp_adjust_head(pkt->ctx, ((int)pkt->tags - (int)tags) *
								       (int)sizeof(struct sl_tag)))
		return false;
	pkt->l2 = (void *)(long)pkt->ctx->data;
	pkt->end = (void *)(long)pkt->ctx->data_end;
	return true;
}

static __always_inline bool sl_write_tags(struct sl_packet *pkt, const struct sl_adj *adj)
{
	__be16 *next = pkt->l2 + 2 * ETH_ALEN;

	if (adj->vlan_tags > 0) {
		if ((void *)(next + 3) > pkt->end)
			return false;
		*next++ = adj->vlan_tpid[0];
		*next++ = adj->vlan_tci[0];
	}
	if (adj->vlan_tags > 1) {
		if ((void *)(next + 3) > pkt->end)
			return false;
		*next++ = adj->vlan_tpid[1];
		*next++ = adj->vlan_tci[1];
	}
	if ((void *)(next + 1) > pkt->end)
		return false;
	*next = pkt->ethertype;
	return true;
}

/*
 * partial: on frames of ports with one of these flags, a missing checksum is completed. SL_GO_ON,
 * or a drop where the frame has no room for a tag.
 */
static __always_inline sl_verdict sl_rewrite(struct sl_packet *pkt, struct sl_adj *adj,
					     __u32 partial)
{
	if (!adj->used)
		adj->used = 1;

	if (sl_managed() && pkt->port_flags & partial)
		sl_complete_checksum(pkt);
	if (pkt->ip4)
		sl_ip4_decrement_ttl(pkt->l3);
	else
		((struct ipv6hdr *)pkt->l3)->hop_limit--;

	if (pkt->tags | adj->vlan_tags || sl_padding_bytes(pkt)) {
		if (!sl_resize(pkt, adj->vlan_tags) || pkt->l2 + ETH_HLEN > pkt->end ||
		    !sl_write_tags(pkt, adj))
			return SL_DROP(REWRITE);
	}
	*(struct sl_mac_pair *)pkt->l2 = *(struct sl_mac_pair *)adj->dst_mac;
	return SL_GO_ON;
}

#endif
