/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Bare mode: the program was attached by `ip link set ... xdp obj` and no daemon tells it anything. Two facts it
 * must then find out itself.
 *
 * The port's own MAC address, since a port in promiscuous mode also receives frames for others, and those
 * must not be forwarded. It is read from the net_device, with two kfuncs of Linux 6.2. On older
 * kernels every unicast frame is taken as ours, as bpf_fib_lookup forwarders commonly do.
 *
 * The devices that take redirected frames: a veth whose peer runs no XDP, or a driver without
 * ndo_xdp_xmit, loses them in silence. A device that itself runs this program will do, and that is
 * known once a frame has come in by it. Until then the kernel forwards.
 */
#ifndef SL_BARE_BPF_H
#define SL_BARE_BPF_H

#include <bpf/bpf_core_read.h>
#include "bpf/maps.bpf.h"
#include "bpf/packet.bpf.h"

/* The kernel's types, as far as they are read here; the loader finds the real offsets. */
struct net_device {
	const unsigned char *dev_addr;
} __attribute__((preserve_access_index));

struct xdp_rxq_info {
	struct net_device *dev;
} __attribute__((preserve_access_index));

struct xdp_buff {
	struct xdp_rxq_info *rxq;
} __attribute__((preserve_access_index));

extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym __weak;

static __always_inline struct sl_port *sl_port_element(__u32 ifindex)
{
	__u32 element = ifindex & (SL_PORTS_MAX - 1);

	return bpf_map_lookup_elem(&sl_port, &element);
}

/* NULL: not one of our L3 interfaces. */
static __always_inline struct sl_port *sl_port_lookup(__u32 ifindex)
{
	struct sl_port *port = sl_port_element(ifindex);

	return port && port->ifindex == ifindex ? port : NULL;
}

static __always_inline void sl_bare_note_port(__u32 ifindex)
{
	struct sl_port *port = sl_port_element(ifindex);

	if (port && !port->ifindex)
		port->ifindex = ifindex;
}

/* False: this kernel does not tell. */
static __always_inline bool sl_bare_port_mac(struct xdp_md *ctx, __u8 mac[ETH_ALEN])
{
	struct xdp_buff *xdp;

	if (!bpf_cast_to_kern_ctx)
		return false;
	xdp = bpf_cast_to_kern_ctx(ctx);
	return bpf_probe_read_kernel(mac, ETH_ALEN, xdp->rxq->dev->dev_addr) == 0;
}

#endif
