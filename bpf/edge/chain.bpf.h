/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Packets of a rule that names a chain of elements. If the chain is one for the fast path, it is
 * run here, and the packet goes on. Else: put the chain's name before the frame and redirect it to
 * sluice-elements. The packet comes back by that netdev, changed or not, and is then
 * routed as one that enters.
 *
 * The netdev has no rule list, so a packet goes through one chain at most.
 */
#ifndef SL_CHAIN_BPF_H
#define SL_CHAIN_BPF_H

#include "bpf/abi/chain_header.h"
#include "bpf/edge/fast_chain.bpf.h"
#include "bpf/edge/maps.bpf.h"
#include "bpf/edge/packet.bpf.h"

/* 1: redirected; 0: there is no sluice-elements, or the frame is too large for it. Not inlined, so
 * that the verifier looks at it once. */
__attribute__((noinline)) int sl_chain_redirect(struct xdp_md *ctx, __u32 number, __u32 partial)
{
	const struct sl_rule_chain *chain = bpf_map_lookup_elem(&sl_rule_chain, &number);
	struct sl_chain_header *header;

	if (!chain || !chain->id || bpf_xdp_get_buff_len(ctx) > SL_CHAIN_FRAME_MAX_BYTES ||
	    bpf_xdp_get_buff_len(ctx) != ctx->data_end - ctx->data ||
	    bpf_redirect_map(&sl_chain_tx, 0, 0) != XDP_REDIRECT ||
	    bpf_xdp_adjust_head(ctx, -(int)sizeof(*header)))
		return 0;
	header = (void *)(long)ctx->data;
	if ((void *)(header + 1) > (void *)(long)ctx->data_end)
		return 0; /* for the verifier */
	__builtin_memset(header->mac, 0, sizeof(header->mac));
	header->ethertype = sl_htons(SL_CHAIN_ETHERTYPE);
	header->partial = partial;
	header->reserved = 0;
	__builtin_memcpy(header->name, chain->name, sizeof(header->name));
	return 1;
}

static __always_inline sl_verdict sl_chain(const struct sl_packet *pkt, __u32 number)
{
	__u32 partial = !!(pkt->port_flags & (SL_PORT_PARTIAL | SL_PORT_NOTED));
	int end = sl_fast_chain_run(pkt->ctx, number, ETH_HLEN + pkt->tags * sizeof(struct sl_tag),
				    pkt->ip4, pkt->len_bytes);

	if (end == SL_FAST_REFUSED)
		return SL_DROP(CHAIN_TIME);
	if (end != SL_FAST_ABSENT)
		return end == SL_FAST_LEFT ? SL_GO_ON : SL_DROP(ELEMENT);
	return sl_chain_redirect(pkt->ctx, number, partial) ? SL_CHAINED : SL_DROP(CHAIN);
}

#endif
