/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's facts about a netdev. */
#ifndef RB_NETDEV_H
#define RB_NETDEV_H

#include <stdbool.h>
#include <stdint.h>

struct rb_netdev {
	uint32_t ifindex;
	uint32_t mtu_bytes;
	uint32_t queues;    /* receive queues, at least 1 */
	uint64_t speed_Bps; /* of its link; 0: the driver does not know */
	uint8_t mac[6];
	bool up;
};

/*
 * Ask the kernel. 0; -ENODEV: no netdev has this name; another -errno of the kernel, as -EMFILE,
 * says nothing of the netdev.
 */
int rb_netdev_query(const char *name, struct rb_netdev *out);

#endif
