/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The exact flow that the packet is of, or else the rule list of the port that it entered by: may
 * it go on, and how?
 *
 * This step comes before anything that gives an IP packet to the kernel, so that a sender cannot
 * pass the list with IP options, an expiring TTL or an extension header.
 */
#ifndef SL_FILTER_BPF_H
#define SL_FILTER_BPF_H

#include "bpf/edge/chain.bpf.h"
#include "bpf/edge/classify.bpf.h"
#include "bpf/edge/copy.bpf.h"
#include "bpf/edge/dscp.bpf.h"
#include "bpf/edge/exact_flow.bpf.h"
#include "bpf/edge/ip6.bpf.h"
#include "bpf/edge/packet.bpf.h"
#include "bpf/edge/police.bpf.h"
#include "bpf/edge/rule_hop.bpf.h"
#include "bpf/edge/stats.bpf.h"

#define SL_IP4_FRAGMENT_FIRST 0x2000 /* more-fragments flag */
#define SL_IP4_FRAGMENT_LATER 0x1fff /* fragment offset */

static __always_inline void sl_flow_init(struct sl_flow *flow)
{
	__u32 side;

	for (side = 0; side < SL_SIDES; side++)
		flow->address[side][0] = flow->address[side][1] = 0;
	flow->field[SL_FIELD_TCP_FLAGS] = SL_FIELD_TCP_FLAGS_ABSENT;
	flow->field[SL_FIELD_ICMP_TYPE] = SL_FIELD_ICMP_TYPE_ABSENT;
	flow->field[SL_FIELD_ICMP_CODE] = SL_FIELD_ICMP_CODE_ABSENT;
	flow->field[SL_FIELD_DESTINATION_PORT] = SL_FIELD_DESTINATION_PORT_ABSENT;
	flow->field[SL_FIELD_SOURCE_PORT] = SL_FIELD_SOURCE_PORT_ABSENT;
	flow->field[SL_FIELD_FRAGMENT] = SL_FRAGMENT_NONE;
	flow->field[SL_FIELD_FLOW_LABEL] = SL_FIELD_FLOW_LABEL_ABSENT;
}

/*
 * Ports, flags, type and code, from the L4 header at l4. What is not there stays absent: a header
 * that is cut short, or lies behind the first buffer, has no ports that a rule could allow.
 */
static __always_inline void sl_flow_l4(const struct sl_packet *pkt, struct sl_flow *flow,
				       __u8 protocol, const void *l4)
{
	const __u8 *byte = l4;
	const __be16 *port = l4;

	if (protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6) {
		if ((void *)(byte + 2) > pkt->end)
			return;
		flow->field[SL_FIELD_ICMP_TYPE] = byte[0];
		flow->field[SL_FIELD_ICMP_CODE] = byte[1];
		return;
	}
	if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP && protocol != IPPROTO_SCTP &&
	    protocol != IPPROTO_DCCP && protocol != IPPROTO_UDPLITE)
		return;
	if ((void *)(port + 2) > pkt->end)
		return;
	flow->field[SL_FIELD_SOURCE_PORT] = sl_ntohs(port[0]);
	flow->field[SL_FIELD_DESTINATION_PORT] = sl_ntohs(port[1]);
	if (protocol == IPPROTO_TCP && (void *)(byte + 14) <= pkt->end)
		flow->field[SL_FIELD_TCP_FLAGS] = byte[13];
}

/* The IPv4 header has been validated up to its length in ihl. */
static __always_inline void sl_flow_ip4(const struct sl_packet *pkt, struct sl_flow *flow)
{
	const struct iphdr *ip = pkt->l3;
	__u16 fragment = sl_ntohs(ip->frag_off);

	flow->address[SL_SIDE_SOURCE][0] = (__u64)sl_ntohl(ip->saddr) << 32;
	flow->address[SL_SIDE_DESTINATION][0] = (__u64)sl_ntohl(ip->daddr) << 32;
	flow->field[SL_FIELD_PROTOCOL] = ip->protocol;
	flow->field[SL_FIELD_DSCP] = ip->tos >> 2;
	flow->field[SL_FIELD_LENGTH] = pkt->ip_len_bytes;
	if (fragment & SL_IP4_FRAGMENT_LATER) {
		flow->field[SL_FIELD_FRAGMENT] = SL_FRAGMENT_LATER;
		return;
	}
	if (fragment & SL_IP4_FRAGMENT_FIRST)
		flow->field[SL_FIELD_FRAGMENT] = SL_FRAGMENT_FIRST;
	sl_flow_l4(pkt, flow, ip->protocol, pkt->l3 + ip->ihl * 4);
}

/*
 * The IPv6 extension headers in front of an L4 header, by protocol number: a header is
 * ((length & length_mask) + extra) * unit bytes long. unit 0: not such a header. From a table,
 * since a branch for each kind would multiply what the verifier looks at.
 */
static const struct sl_ip6_extension {
	__u8 unit, extra, length_mask, is_fragment;
} sl_ip6_extensions[256] = {
	[IPPROTO_HOPOPTS] = { 8, 1, 0xff, 0 }, /* RFC 8200 4.3 */
	[IPPROTO_ROUTING] = { 8, 1, 0xff, 0 }, /* 4.4 */
	[IPPROTO_FRAGMENT] = { 8, 1, 0, 1 },   /* 4.5 */
	[IPPROTO_DSTOPTS] = { 8, 1, 0xff, 0 }, /* 4.6 */
	[IPPROTO_AH] = { 4, 2, 0xff, 0 },      /* RFC 4302 2.2 */
};
#define SL_IP6_EXTENSIONS_MAX	8
#define SL_IP6_EXTENSIONS_BYTES 4096

/*
 * The fields of an IPv6 packet that lie behind its header, at l3_offset of the frame. Returns 0 if
 * the headers in front of the L4 header are cut short, lie behind the first buffer, or are more or
 * longer than the limits above: then nobody can say what the packet is (RFC 7112 5 allows to drop
 * it). Not inlined, so that the verifier looks at it once.
 */
__attribute__((noinline)) int sl_flow_ip6_headers(struct xdp_md *ctx, struct sl_flow *flow,
						  __u32 l3_offset)
{
	struct sl_packet pkt = { .end = (void *)(long)ctx->data_end };
	void *l3 = (void *)(long)ctx->data + (l3_offset & 0xff);
	__u32 offset = sizeof(struct ipv6hdr), i;
	const struct ipv6hdr *ip = l3;
	__u8 protocol;

	if (!flow || (void *)(ip + 1) > pkt.end)
		return 0;
	protocol = ip->nexthdr;
	for (i = 0; i < SL_IP6_EXTENSIONS_MAX; i++) {
		const struct sl_ip6_extension *kind = &sl_ip6_extensions[protocol];
		const __u8 *header = l3 + offset;
		__u16 fragment;

		if (!kind->unit)
			break;
		if ((void *)(header + 8) > pkt.end)
			return 0;
		protocol = header[0];
		if (kind->is_fragment) {
			fragment = sl_ntohs(*(const __be16 *)(header + 2));
			if (fragment & 0xfff8) {
				flow->field[SL_FIELD_PROTOCOL] = protocol;
				flow->field[SL_FIELD_FRAGMENT] = SL_FRAGMENT_LATER;
				return 1;
			}
			if (fragment & 1)
				flow->field[SL_FIELD_FRAGMENT] = SL_FRAGMENT_FIRST;
		}
		offset += ((header[1] & kind->length_mask) + kind->extra) * kind->unit;
		if (offset > SL_IP6_EXTENSIONS_BYTES)
			return 0;
	}
	flow->field[SL_FIELD_PROTOCOL] = protocol;
	if (sl_ip6_extensions[protocol].unit)
		return 0;
	sl_flow_l4(&pkt, flow, protocol, l3 + offset);
	return 1;
}

/* The header has been validated. Returns whether the packet's headers can be read to their end. */
static __always_inline bool sl_flow_ip6(const struct sl_packet *pkt, struct sl_flow *flow)
{
	const struct ipv6hdr *ip = pkt->l3;
	const __be32 *src = ip->saddr.s6_addr32, *dst = ip->daddr.s6_addr32;
	__u32 word = sl_ntohl(*(const __be32 *)pkt->l3), i;

	for (i = 0; i < 2; i++) {
		flow->address[SL_SIDE_SOURCE][i] =
			(__u64)sl_ntohl(src[2 * i]) << 32 | sl_ntohl(src[2 * i + 1]);
		flow->address[SL_SIDE_DESTINATION][i] =
			(__u64)sl_ntohl(dst[2 * i]) << 32 | sl_ntohl(dst[2 * i + 1]);
	}
	flow->field[SL_FIELD_DSCP] = word >> 22 & 63;
	flow->field[SL_FIELD_FLOW_LABEL] = word & 0xfffff;
	flow->field[SL_FIELD_LENGTH] = pkt->ip_len_bytes;
	return sl_flow_ip6_headers(pkt->ctx, flow, ETH_HLEN + pkt->tags * sizeof(struct sl_tag));
}

/* Count and copy for the auxiliary rules. Not inlined, so that the verifier looks at it once. */
__attribute__((noinline)) int sl_filter_auxiliary(struct xdp_md *ctx, __u32 frame_bytes,
						  __u32 l3_ifindex)
{
	__u32 zero = 0, i;
	const struct sl_auxiliary *all = bpf_map_lookup_elem(&sl_auxiliary, &zero);

	if (!all)
		return 0;
	for (i = 0; i < SL_AUXILIARY_MAX; i++) {
		if (i >= all->n)
			break;
		sl_count(&sl_filter_hits, all->rule[i].number, 1, frame_bytes);
		if (all->rule[i].sample)
			sl_copy_sample(ctx, all->rule[i].number, all->rule[i].sample, l3_ifindex);
	}
	return 0;
}

/* Ask the rule list of the port, which the caller knows to have one. */
static __always_inline void sl_ask_list(const struct sl_packet *pkt, struct sl_flow *flow)
{
	sl_classify(flow, (pkt->filter - 1) * 2 + (pkt->ip4 ? SL_LIST_IP4 : SL_LIST_IP6));
	if (flow->number != SL_RULE_NONE)
		sl_count(&sl_filter_hits, flow->number, 1, pkt->len_bytes);
}

/*
 * SL_GO_ON, or the end that an exact flow or the port's list has for the packet. Called once its
 * header is valid.
 */
static __always_inline sl_verdict sl_filter(struct sl_packet *pkt)
{
	const bool has_flows = sl_has_exact_flows() && !(pkt->port_flags & SL_PORT_CHAINED) &&
			       sl_exact_flows_there();
	const bool has_list = sl_filtered() && pkt->filter;
	struct sl_flow flow;

	if (!has_flows && !has_list)
		return SL_GO_ON;
	if (sl_filtered())
		sl_rule_hop_set(0);
	/* a list that denies neighbour discovery would cut off the port; it never leaves the link
	 */
	if (!pkt->ip4 && sl_ip6_is_nd(pkt, pkt->l3))
		return SL_GO_ON;
	sl_flow_init(&flow);
	if (pkt->ip4)
		sl_flow_ip4(pkt, &flow);
	else if (!sl_flow_ip6(pkt, &flow))
		return SL_DROP(FILTER_HEADERS);
	if (!has_flows || !sl_exact_flow_find(&flow, pkt->ip4 ? 4 : 6, pkt->len_bytes)) {
		if (!has_list)
			return SL_GO_ON;
		sl_ask_list(pkt, &flow);
	}
	/* A rule that a flow names has judged the packet where the port has no list, too. */
	if (sl_has_exact_flows())
		pkt->filter |= flow.number + 1;
	if (flow.sample)
		sl_copy_sample(pkt->ctx, flow.number, flow.sample, pkt->l3_ifindex);
	if (flow.auxiliary)
		sl_filter_auxiliary(pkt->ctx, pkt->len_bytes, pkt->l3_ifindex);
	pkt->class_plus1 = flow.action >> SL_RULE_CLASS_SHIFT & 0xff;
	pkt->dscp_plus1 = flow.action >> SL_RULE_DSCP_SHIFT & 0xff;
	switch (flow.action & SL_RULE_ACTION_MASK) {
	case SL_FILTER_PERMIT:
		if (flow.action & SL_RULE_POLICE && !sl_police(pkt, flow.number))
			return SL_DROP(POLICED);
		/* At once, so that a packet has it that the kernel then forwards, as one with
		 * options.
		 */
		if (pkt->dscp_plus1)
			sl_write_dscp(pkt, (pkt->dscp_plus1 - 1) & 63);
		if (flow.action & SL_RULE_NEXT_HOP)
			sl_rule_hop_set(flow.number + 1);
		if (flow.action & SL_RULE_RESERVE)
			pkt->reserve_rule_plus1 = flow.number + 1;
		if (flow.action & SL_RULE_CHAIN)
			return sl_chain(pkt, flow.number);
		return SL_GO_ON;
	case SL_FILTER_KERNEL:
		return SL_PUNT(FILTER);
	case SL_FILTER_REJECT:
		sl_copy_for_answer(pkt, SL_COPY_REJECT, flow.number);
		return SL_DROP(FILTER);
	case SL_FILTER_RESET:
		sl_copy_for_answer(pkt, SL_COPY_RESET, flow.number);
		return SL_DROP(FILTER);
	default:
		return SL_DROP(FILTER);
	}
}

#endif
