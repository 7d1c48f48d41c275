/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Bare mode: the program was attached by `ip link set ... xdp obj` and no daemon tells it anything.
 * It then reads two facts from the kernel's own net_device, through the kfuncs of Linux 6.2:
 *
 * - the MAC address of the ingress port: a port in promiscuous mode also receives frames for other
 *   stations, which must not be forwarded;
 * - whether the egress device takes redirected frames (xdp_features, 6.3): a veth whose peer has no
 *   NAPI, or a driver without ndo_xdp_xmit, would lose them in silence.
 *
 * It reads both again for each packet, so neither goes stale when XDP is switched off. On an older
 * kernel, or one whose structures differ, every packet goes to the kernel.
 */
#ifndef SL_BARE_BPF_H
#define SL_BARE_BPF_H

#include <bpf/bpf_core_read.h>
#include "bpf/lib/kernel_types.bpf.h"
#include "bpf/edge/packet.bpf.h"

#define SL_NETDEV_HASH	    256 /* the kernel's NETDEV_HASHENTRIES */
#define SL_NETDEV_CHAIN_MAX 16	/* devices looked at in one hash chain */
#define SL_ACT_NDO_XMIT	    4	/* enum netdev_xdp_act */
#define SL_ACT_NDO_XMIT_SG  64

static __always_inline struct net_device *sl_bare_ingress_device(struct xdp_md *ctx)
{
	struct xdp_buff *xdp = bpf_cast_to_kern_ctx(ctx);

	return xdp->rxq->dev;
}

static __always_inline bool sl_bare_possible(void)
{
	return bpf_cast_to_kern_ctx && bpf_rdonly_cast &&
	       bpf_core_field_exists(struct net_device, xdp_features);
}

static __always_inline bool sl_bare_is_ours(const struct sl_packet *pkt)
{
	const struct ethhdr *eth = pkt->l2;
	const struct ethhdr *port; /* h_dest lies over dev_addr */
	__u32 i;

	port = SL_AS(ethhdr, sl_bare_ingress_device(pkt->ctx)->dev_addr);
	for (i = 0; i < ETH_ALEN; i++)
		if (port->h_dest[i] != eth->h_dest[i])
			return false;
	return true;
}

/* As the kernel's dev_get_by_index_rcu: an XDP program runs inside an RCU read section. */
static __always_inline struct net_device *sl_bare_device(struct net *net, __u32 ifindex)
{
	struct hlist_head *heads = net->dev_index_head;
	struct hlist_node *node =
		SL_AS(hlist_head, heads + (ifindex & (SL_NETDEV_HASH - 1)))->first;
	struct net_device *dev;
	__u32 i;

	for (i = 0; i < SL_NETDEV_CHAIN_MAX && node; i++) {
		dev = SL_AS(net_device,
			    (void *)node - bpf_core_field_offset(struct net_device, index_hlist));
		if (dev->ifindex == ifindex)
			return dev;
		node = dev->index_hlist.next;
	}
	return NULL;
}

/* Does device `ifindex` transmit frames that are redirected to it? */
static __always_inline bool sl_bare_takes_redirects(const struct sl_packet *pkt, __u32 ifindex)
{
	struct net_device *ingress, *egress;
	__u32 needed = SL_ACT_NDO_XMIT;

	if (pkt->end - pkt->l2 != pkt->len_bytes)
		needed |= SL_ACT_NDO_XMIT_SG;
	ingress = sl_bare_ingress_device(pkt->ctx);
	if (ingress->xdp_state[SL_XDP_MODE_SKB].prog)
		return true; /* generic XDP transmits by the device's ordinary queue */
	egress = sl_bare_device(ingress->nd_net.net, ifindex);
	return egress && (egress->xdp_features & needed) == needed;
}

#endif
