/* SPDX-License-Identifier: BSD-2-Clause */
/* The XDP program bpf/fabric.bpf.c on the fabric's netdev. The kernel detaches it when we end. */
#ifndef RB_FABRIC_XDP_H
#define RB_FABRIC_XDP_H

#include <stdbool.h>
#include <stdint.h>

#define RB_FABRIC_QUEUES_MAX 64

struct rb_fabric_xdp;

/*
 * Load the program for our address and the queue pairs of our workers, which have first_qpn and the
 * numbers after it, and attach it: native, else generic. 0, -EBUSY if another program is attached,
 * else -errno of the kernel.
 */
int rb_fabric_xdp_open(uint32_t ifindex, const uint8_t address[16], uint32_t workers,
		       uint32_t first_qpn, struct rb_fabric_xdp **out);
void rb_fabric_xdp_close(struct rb_fabric_xdp *xdp); /* NULL is fine */
/* The XSKMAP. Key: receive queue (below RB_FABRIC_QUEUES_MAX) * workers + worker. */
int rb_fabric_xdp_map(const struct rb_fabric_xdp *xdp);
bool rb_fabric_xdp_is_native(const struct rb_fabric_xdp *xdp);

#endif
