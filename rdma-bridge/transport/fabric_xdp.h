/* SPDX-License-Identifier: BSD-2-Clause */
/* The XDP program bpf/fabric.bpf.c on the fabric's netdev. It goes when the process does. */
#ifndef RB_FABRIC_XDP_H
#define RB_FABRIC_XDP_H

#include <stdbool.h>
#include <stdint.h>

#define RB_FABRIC_QUEUES_MAX 64

struct rb_fabric_xdp;

/*
 * Load, tell it our address and the queue pairs of our workers, first_qpn and those after it;
 * attach: native, else generic. -EBUSY if another program is attached; else what the kernel said.
 */
int rb_fabric_xdp_open(uint32_t ifindex, const uint8_t address[16], uint32_t workers,
		       uint32_t first_qpn, struct rb_fabric_xdp **out);
void rb_fabric_xdp_close(struct rb_fabric_xdp *xdp); /* NULL is fine */
/* The XSKMAP: receive queue, below RB_FABRIC_QUEUES_MAX, times workers, plus worker, to socket. */
int rb_fabric_xdp_map(const struct rb_fabric_xdp *xdp);
bool rb_fabric_xdp_is_native(const struct rb_fabric_xdp *xdp);

#endif
