/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A chain of elements in the fast path: a table, whose elements are gone through from the input on.
 *
 * One function for all chains, and not a program for each by tail call: the kernel lets no program
 * that is bound to a netdev make tail calls, as sl_edge is on netdevs that keep VLAN tags beside
 * the frame; and a packet that leaves the chain has yet to be routed.
 */
#ifndef SL_FAST_CHAIN_BPF_H
#define SL_FAST_CHAIN_BPF_H

#include "bpf/abi/chain_header.h"
#include "bpf/abi/fast_chain.h"
#include "bpf/edge/chain_time.bpf.h"
#include "bpf/edge/dscp.bpf.h"
#include "bpf/edge/maps.bpf.h"
#include "bpf/edge/own_element.bpf.h"
#include "bpf/edge/packet.bpf.h"

/* How a packet's way through a chain ends. */
enum sl_fast_end {
	SL_FAST_ABSENT = SL_FAST_NOWHERE + 1,
	SL_FAST_LEFT,
	SL_FAST_ENDED,
	SL_FAST_REFUSED
};

/* The packet that goes through a chain. */
struct sl_fast_state {
	__u32 value[SL_FAST_FIELDS];
	__u32 l3_offset;
	__u32 ip4;
	__u32 frame_bytes;
};

#define SL_FAST_NO_VALUE 0xffffffffu

static __always_inline bool sl_fast_has_ports(__u8 protocol)
{
	return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_DCCP ||
	       protocol == IPPROTO_SCTP || protocol == IPPROTO_UDPLITE;
}

/* The part of the packet that the elements look at. NULL as l3: for the verifier. */
static __always_inline struct sl_packet sl_fast_packet(struct xdp_md *ctx,
						       const struct sl_fast_state *state)
{
	struct sl_packet pkt = { .end = (void *)(long)ctx->data_end, .ip4 = state->ip4 };
	void *l3 = (void *)(long)ctx->data + (state->l3_offset & 0xff);

	if (l3 + (pkt.ip4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr)) <= pkt.end)
		pkt.l3 = l3;
	return pkt;
}

static __always_inline void sl_fast_dscp(struct xdp_md *ctx, struct sl_fast_state *state,
					 __u32 dscp)
{
	struct sl_packet pkt = sl_fast_packet(ctx, state);

	if (pkt.l3)
		sl_write_dscp(&pkt, dscp);
	state->value[SL_FAST_BY_DSCP] = dscp;
}

/* What CLASSIFY asks of the packet. Not inlined, so that the verifier looks at it once. */
__attribute__((noinline)) int sl_fast_values(struct xdp_md *ctx, struct sl_fast_state *state)
{
	struct sl_packet pkt;
	__u32 *value;
	const __be16 *port = NULL;
	__u8 protocol;

	if (!state)
		return 0;
	pkt = sl_fast_packet(ctx, state);
	if (!pkt.l3)
		return 0;
	value = state->value;
	if (pkt.ip4) {
		const struct iphdr *ip = pkt.l3;
		__u32 length = sl_ntohs(ip->tot_len), header = ip->ihl * 4;

		protocol = ip->protocol;
		value[SL_FAST_BY_DSCP] = ip->tos >> 2;
		value[SL_FAST_BY_LENGTH] = length;
		if (!(ip->frag_off & sl_htons(0x1fff)) && length >= header + 4)
			port = pkt.l3 + header;
	} else {
		const struct ipv6hdr *ip = pkt.l3;
		__u32 length = sl_ntohs(ip->payload_len);

		protocol = ip->nexthdr;
		value[SL_FAST_BY_DSCP] = sl_ntohl(*(const __be32 *)pkt.l3) >> 22 & 63;
		value[SL_FAST_BY_LENGTH] = length + sizeof(*ip);
		if (length >= 4)
			port = pkt.l3 + sizeof(*ip);
	}
	value[SL_FAST_BY_PROTOCOL] = protocol;
	value[SL_FAST_BY_SOURCE_PORT] = value[SL_FAST_BY_DESTINATION_PORT] = SL_FAST_NO_VALUE;
	if (!port || !sl_fast_has_ports(protocol) || (void *)(port + 2) > pkt.end)
		return 0;
	value[SL_FAST_BY_SOURCE_PORT] = sl_ntohs(port[0]);
	value[SL_FAST_BY_DESTINATION_PORT] = sl_ntohs(port[1]);
	return 0;
}

/*
 * 0: all values are within the element's ranges; else 1. Without branches, which the verifier would
 * follow in every combination: the difference is negative where value - low is beyond high - low.
 */
static __always_inline __u32 sl_fast_classify(const struct sl_fast_element *element,
					      const __u32 *value)
{
	__u64 outside = 0;
	__u32 i;

	for (i = 0; i < SL_FAST_FIELDS; i++) {
		const struct sl_fast_range *range = &element->range[i];

		outside |= (__u64)(range->high - range->low) - (__u32)(value[i] - range->low);
	}
	return outside >> 63;
}

static __always_inline __u32 sl_fast_sample(const struct sl_fast_element *element,
					    struct sl_fast_count *count)
{
	if (++count->seen < element->one_in)
		return 1;
	count->seen = 0;
	return 0;
}

static __always_inline int sl_fast_drop(struct sl_fast_count *count,
					const struct sl_fast_state *state)
{
	count->dropped_packets++;
	count->dropped_bytes += state->frame_bytes;
	return SL_FAST_ENDED;
}

/* An element of an operator's own, whose function may change the packet and its paint. */
static __always_inline __u32 sl_fast_own(struct xdp_md *ctx, const struct sl_fast_element *element,
					 struct sl_fast_state *state)
{
	struct sl_own_packet packet = { .l3_offset = state->l3_offset,
					.ip4 = state->ip4,
					.frame_bytes = state->frame_bytes,
					.paint = state->value[SL_FAST_BY_PAINT] };
	__u32 out = sl_own_element(ctx, element->argument, &packet, &element->own);

	state->value[SL_FAST_BY_PAINT] = packet.paint & 0xff;
	if (element->writes)
		sl_fast_values(ctx, state);
	return out;
}

/*
 * One element: returns the place of the next, or enum sl_fast_end beyond SL_FAST_NOWHERE. Not
 * inlined, so that the verifier looks at it once and not for each place in a chain.
 */
__attribute__((noinline)) int sl_fast_step(struct xdp_md *ctx,
					   const struct sl_fast_element *element,
					   struct sl_fast_state *state, __u32 place)
{
	struct sl_fast_count *count = bpf_map_lookup_elem(&sl_fast_count, &place);
	__u32 out = 0;

	if (!element || !state || !count)
		return SL_FAST_ENDED; /* for the verifier */
	count->packets++;
	count->bytes += state->frame_bytes;
	switch (element->kind) {
	case SL_FAST_OUTPUT:
		return SL_FAST_LEFT;
	case SL_FAST_PAINT:
		state->value[SL_FAST_BY_PAINT] = element->argument;
		break;
	case SL_FAST_CLASSIFY:
		out = sl_fast_classify(element, state->value);
		break;
	case SL_FAST_DSCP:
		sl_fast_dscp(ctx, state, element->argument & 63);
		break;
	case SL_FAST_SAMPLE:
		out = sl_fast_sample(element, count);
		break;
	case SL_FAST_OWN:
		if (sl_own_set)
			out = sl_fast_own(ctx, element, state);
		if (out > 1)
			return sl_fast_drop(count, state);
		break;
	default:
		break;
	}
	if (element->kind != SL_FAST_DROP && element->to[out & 1] != SL_FAST_NOWHERE)
		return element->to[out & 1];
	return sl_fast_drop(count, state);
}

/* Two chains may have one id, so the name decides. */
static __always_inline const struct sl_fast_chain *sl_fast_chain_find(__u32 rule)
{
	const struct sl_rule_chain *of = bpf_map_lookup_elem(&sl_rule_chain, &rule);
	const struct sl_fast_chain *chain =
		of ? bpf_map_lookup_elem(&sl_fast_chain, &of->id) : NULL;
	const __u64 *wanted = (const __u64 *)of, *found = (const __u64 *)chain;
	__u64 differ = 0;
	__u32 i;

	if (!chain)
		return NULL;
	for (i = 0; i < sizeof(*of) / sizeof(__u64); i++)
		differ |= wanted[i] ^ found[i];
	return differ ? NULL : chain;
}

/* From the input's output on. Returns enum sl_fast_end. */
static __always_inline int sl_fast_walk(struct xdp_md *ctx, const struct sl_fast_chain *chain,
					struct sl_fast_state *state)
{
	__u32 at = chain->element[SL_FAST_INPUT].to[0], i;

	for (i = 1; i < SL_FAST_ELEMENTS_MAX; i++) {
		at &= SL_FAST_ELEMENTS_MAX - 1;
		at = sl_fast_step(ctx, &chain->element[at], state, chain->first_count + at);
		if (at >= SL_FAST_NOWHERE)
			return at;
	}
	return SL_FAST_ENDED; /* a chain has no circle: for the verifier */
}

/*
 * Run the packet through the chain of a rule, if that is one for the fast path. The IP header, of
 * IPv4 or not, is valid and lies at l3_offset. Not inlined, so that the verifier looks at it once.
 * Returns enum sl_fast_end.
 */
__attribute__((noinline)) int sl_fast_chain_run(struct xdp_md *ctx, __u32 number, __u32 l3_offset,
						__u32 ip4, __u32 frame_bytes)
{
	const struct sl_fast_chain *chain = sl_fast_chain_find(number);
	struct sl_fast_state state = { .l3_offset = l3_offset,
				       .ip4 = ip4,
				       .frame_bytes = frame_bytes };
	struct sl_fast_count *input;
	__u64 from_ns;
	__u32 at;
	int end;

	/* Where another set is linked in, the worker has all elements of the chain. */
	if (!chain || (chain->own_set && chain->own_set != sl_own_set))
		return SL_FAST_ABSENT;
	at = chain->first_count + SL_FAST_INPUT;
	input = bpf_map_lookup_elem(&sl_fast_count, &at);
	if (!input)
		return SL_FAST_ABSENT; /* for the verifier */
	if (sl_chain_owes(input)) {
		input->dropped_packets++;
		input->dropped_bytes += frame_bytes;
		return SL_FAST_REFUSED;
	}
	input->packets++;
	input->bytes += frame_bytes;
	from_ns = sl_chain_timed_from(input);
	if (chain->classifies)
		sl_fast_values(ctx, &state);
	end = sl_fast_walk(ctx, chain, &state);
	if (from_ns)
		sl_chain_charge(chain, input, from_ns);
	return end;
}

#endif
