/* SPDX-License-Identifier: BSD-2-Clause */
/* What the bridge asks the kernel about a netdev. */
#ifndef RB_NETDEV_H
#define RB_NETDEV_H

#include <stdbool.h>
#include <stdint.h>

struct rb_netdev {
	uint32_t ifindex;
	uint32_t mtu_bytes;
	uint32_t queues; /* receive queues, at least 1 */
	uint8_t mac[6];
	bool up;
};

/* 0, -ENODEV, or -errno of the kernel's answer. */
int rb_netdev_query(const char *name, struct rb_netdev *out);

#endif
