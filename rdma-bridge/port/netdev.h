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
 * says nothing of the netdev. rb_netdev_look leaves out queues and speed, which are 0 then: those
 * wait for the kernel's routing lock, and maybe for firmware, so no packet loop asks for them.
 */
int rb_netdev_look(const char *name, struct rb_netdev *out);
int rb_netdev_query(const char *name, struct rb_netdev *out);
/*
 * Do frames leave in the order in which they are sent, by AF_XDP and by XDP's redirect alike? A
 * veth with TSO takes those of AF_XDP by a queue of the processor, and those of XDP by a ring of
 * its own.
 */
bool rb_netdev_keeps_order(const char *name);
/* Has this netdev a receive queue of this number? False as well if sysfs is another namespace's. */
bool rb_netdev_has_queue(const char *name, const struct rb_netdev *netdev, uint32_t queue);

#endif
