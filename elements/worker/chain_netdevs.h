/* SPDX-License-Identifier: BSD-2-Clause */
/* The veth between the router and sluice-elements (bpf/abi/chain_header.h). */
#ifndef EL_CHAIN_NETDEVS_H
#define EL_CHAIN_NETDEVS_H

#include <stdint.h>

struct el_chain_netdevs {
	uint32_t router_ifindex, worker_ifindex;
	uint8_t router_mac[6], worker_mac[6];
};

/*
 * Make the veth, unless it is there, and set both ends up. The router's end forwards, and takes
 * packets of any source, because those of a tunnel are from this node. 0 or -errno; logged.
 */
int el_chain_netdevs_open(struct el_chain_netdevs *out);
/* Delete it. */
void el_chain_netdevs_delete(const struct el_chain_netdevs *netdevs);

#endif
