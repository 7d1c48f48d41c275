/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The link layer: Ethernet, up to two VLAN tags, and the interface that the frame entered by.
 *
 * The outer tag may be missing from the frame: a NIC can take it off on receive, and a sender on a
 * veth leaves it to its device, which then never writes it. Either keeps it beside the frame, and a
 * program that is bound to the netdev can ask for it (Linux 6.8). The daemon attaches the unbound
 * programs only where no tag is beside the frame (user/datapath/vlan_tags.h).
 */
#ifndef SL_PARSE_BPF_H
#define SL_PARSE_BPF_H

#include "bpf/edge/maps.bpf.h"
#include "bpf/edge/packet.bpf.h"

static __always_inline bool sl_is_tag(__be16 ethertype)
{
	return ethertype == sl_htons(ETH_P_8021Q) || ethertype == sl_htons(ETH_P_8021AD);
}

extern int bpf_xdp_metadata_rx_vlan_tag(const struct xdp_md *ctx, __be16 *tpid,
					__u16 *tci) __ksym __weak;

static __always_inline void sl_packet_init(struct sl_packet *pkt, struct xdp_md *ctx,
					   __u32 len_bytes)
{
	pkt->ctx = ctx;
	pkt->l2 = (void *)(long)ctx->data;
	pkt->end = (void *)(long)ctx->data_end;
	pkt->len_bytes = len_bytes;
	pkt->port_ifindex = ctx->ingress_ifindex;
	pkt->l3_ifindex = pkt->port_ifindex;
	pkt->tags = 0;
	pkt->ethertype = 0;
	pkt->ip4 = false;
	pkt->port_flags = 0;
	pkt->port_number = 0;
	pkt->filter = 0;
	pkt->class_plus1 = 0;
	pkt->reserve_rule_plus1 = 0;
	pkt->dscp_plus1 = 0;
	pkt->has_trailer = false;
}

/* Is a tag beside the frame? Then it is the outer one. */
static __always_inline bool sl_tag_beside(const struct sl_packet *pkt, struct sl_vlan_key *key)
{
	__be16 tpid = 0;
	__u16 tci = 0;

	if (bpf_xdp_metadata_rx_vlan_tag(pkt->ctx, &tpid, &tci))
		return false;
	key->tpid[0] = tpid;
	key->vid[0] = sl_htons(tci & 0x0fff);
	return true;
}

/* beside: the number of tags that key has already, 0 or 1 */
static __always_inline sl_verdict sl_parse_tags(struct sl_packet *pkt, struct sl_vlan_key key,
						__u32 beside)
{
	struct sl_tag *tag;
	__be16 *next;
	__u32 *l3_ifindex;
	__u32 i;

	for (i = beside; i < SL_TAGS_MAX; i++) {
		if (!sl_is_tag(pkt->ethertype))
			break;
		next = pkt->l3;
		if ((void *)(next + 2) > pkt->end)
			return sl_missing(pkt, ETH_HLEN + (i + 1 - beside) * sizeof(*tag),
					  SL_DROP(ETH_TRUNCATED));
		key.tpid[i] = pkt->ethertype;
		key.vid[i] = next[0] & sl_htons(0x0fff);
		pkt->ethertype = next[1];
		pkt->l3 += sizeof(*tag);
		pkt->tags++;
	}
	/* The kernel takes off any number of tags with VLAN id 0. */
	if (sl_clustered() && sl_is_tag(pkt->ethertype))
		return SL_DROP(TAGS);
	if (!sl_managed() || sl_is_tag(pkt->ethertype))
		return SL_PUNT(VLAN);
	l3_ifindex = bpf_map_lookup_elem(&sl_vlan, &key);
	if (!l3_ifindex)
		return SL_PUNT(VLAN);
	pkt->l3_ifindex = *l3_ifindex;
	return SL_GO_ON;
}

static __always_inline sl_verdict sl_parse_link(struct sl_packet *pkt, bool bound)
{
	struct sl_vlan_key key = { .port_ifindex = pkt->port_ifindex };
	struct ethhdr *eth = pkt->l2;

	if (sl_unlikely((void *)(eth + 1) > pkt->end))
		return SL_DROP(ETH_TRUNCATED);
	pkt->ethertype = *(const __be16 *)((void *)eth + 2 * ETH_ALEN);
	pkt->l3 = eth + 1;
	if (bound && sl_unlikely(sl_tag_beside(pkt, &key)))
		return sl_parse_tags(pkt, key, 1);
	if (sl_unlikely(sl_is_tag(pkt->ethertype)))
		return sl_parse_tags(pkt, key, 0);
	return SL_GO_ON;
}

#endif
