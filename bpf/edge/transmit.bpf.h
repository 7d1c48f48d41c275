/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The last step where the egress port is this node's: redirect the frame to the port, and only then
 * change the packet. A frame that the port cannot take goes to the kernel, which must see it
 * unchanged.
 */
#ifndef SL_TRANSMIT_BPF_H
#define SL_TRANSMIT_BPF_H

#include "bpf/edge/bare.bpf.h"
#include "bpf/edge/maps.bpf.h"
#include "bpf/edge/packet.bpf.h"
#include "bpf/edge/rewrite.bpf.h"

static __always_inline bool sl_redirect(const struct sl_packet *pkt, __u32 ifindex)
{
	if (sl_managed())
		return bpf_redirect_map(&sl_tx, ifindex, 0) == XDP_REDIRECT;
	return sl_bare_takes_redirects(pkt, ifindex) && bpf_redirect(ifindex, 0) == XDP_REDIRECT;
}

static __always_inline bool sl_is_in_several_buffers(const struct sl_packet *pkt)
{
	return pkt->end - pkt->l2 != pkt->len_bytes;
}

static __always_inline sl_verdict sl_transmit(struct sl_packet *pkt, struct sl_adj *adj)
{
	if (sl_managed() && sl_is_in_several_buffers(pkt)) {
		if (bpf_redirect_map(&sl_tx_buffers, adj->port_ifindex, 0) != XDP_REDIRECT)
			return SL_PUNT(BUFFERS);
	} else if (!sl_redirect(pkt, adj->port_ifindex)) {
		return SL_PUNT(NOT_A_PORT);
	}
	return sl_rewrite(pkt, adj, SL_PORT_PARTIAL);
}

#endif
