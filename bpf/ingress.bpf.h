/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Is the frame for this router's MAC address, and how does its L3 interface treat packets?
 *
 * With a daemon, sl_port says both. In bare mode nobody fills sl_port: the program reads the MAC
 * from its net_device where the kernel lets it (6.2 and later), and notes in sl_port the ports that it
 * runs on, which are those that it may redirect to (see bare.bpf.h).
 */
#ifndef SL_INGRESS_BPF_H
#define SL_INGRESS_BPF_H

#include "bpf/bare.bpf.h"
#include "bpf/maps.bpf.h"
#include "bpf/packet.bpf.h"

static __always_inline bool sl_mac_equal(const void *a, const void *b)
{
	const __u16 *x = a, *y = b;

	return x[0] == y[0] && x[1] == y[1] && x[2] == y[2];
}

static __always_inline sl_verdict sl_ingress(struct sl_packet *pkt)
{
	const struct ethhdr *eth = pkt->l2;
	const struct sl_port *port;
	__u8 mac[ETH_ALEN] __attribute__((aligned(2)));

	if (eth->h_dest[0] & 1)
		return SL_PUNT(MULTICAST);
	if (!sl_managed()) {
		sl_bare_note_port(pkt->port_ifindex);
		if (sl_bare_port_mac(pkt->ctx, mac) && !sl_mac_equal(eth->h_dest, mac))
			return SL_PUNT(OTHER);
		return SL_GO_ON;
	}
	port = sl_port_lookup(pkt->l3_ifindex);
	if (!port)
		return SL_PUNT(NOT_READY);
	if (!sl_mac_equal(eth->h_dest, port->mac))
		return SL_DROP(ETH_NOT_OURS);
	pkt->port_flags = port->flags;
	return SL_GO_ON;
}

#endif
