/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Is the frame for this router's MAC address, and how does its L3 interface treat packets?
 *
 * With a daemon, sl_port answers both; in bare mode the kernel's net_device answers the first.
 */
#ifndef SL_INGRESS_BPF_H
#define SL_INGRESS_BPF_H

#include "bpf/edge/bare.bpf.h"
#include "bpf/edge/maps.bpf.h"
#include "bpf/edge/packet.bpf.h"

static __always_inline bool sl_mac_equal(const void *a, const void *b)
{
	const __u16 *x = a, *y = b;

	return *(const __u32 *)a == *(const __u32 *)b && x[2] == y[2];
}

/* NULL: not one of our L3 interfaces. */
static __always_inline const struct sl_port *sl_port_lookup(__u32 ifindex)
{
	__u32 element = ifindex & (SL_PORTS_MAX - 1);
	const struct sl_port *port = bpf_map_lookup_elem(&sl_port, &element);

	return port && port->ifindex == ifindex ? port : NULL;
}

/* The port's address is unicast, so a frame for it needs no look at the multicast bit. */
static __always_inline sl_verdict sl_not_ours(const struct ethhdr *eth, const struct sl_port *port)
{
	if (eth->h_dest[0] & 1)
		return SL_PUNT(MULTICAST);
	return port ? SL_PUNT(ETH_NOT_OURS) : SL_PUNT(NOT_READY);
}

static __always_inline sl_verdict sl_ingress(struct sl_packet *pkt)
{
	const struct ethhdr *eth = pkt->l2;
	const struct sl_port *port;

	if (!sl_managed()) {
		if (eth->h_dest[0] & 1)
			return SL_PUNT(MULTICAST);
		if (!sl_bare_possible())
			return SL_PUNT(NOT_READY);
		return sl_bare_is_ours(pkt) ? SL_GO_ON : SL_PUNT(ETH_NOT_OURS);
	}
	port = sl_port_lookup(pkt->l3_ifindex);
	if (sl_unlikely(!port || !sl_mac_equal(eth->h_dest, port->mac)))
		return sl_not_ours(eth, port);
	pkt->port_flags = port->flags;
	pkt->port_number = port->number;
	pkt->filter = port->filter;
	return SL_GO_ON;
}

#endif
