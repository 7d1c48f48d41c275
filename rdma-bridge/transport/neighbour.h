/* SPDX-License-Identifier: BSD-2-Clause */
/* The MAC address of a station on the fabric's link, from the kernel's neighbour table. */
#ifndef RB_NEIGHBOUR_H
#define RB_NEIGHBOUR_H

#include <stdint.h>

/*
 * Look `address` (IPv6 or v4-mapped) up among the neighbours of a netdev. 0, -ENOENT: the kernel
 * does not know the neighbour, or knows that it does not answer; else -errno. The kernel knows a
 * neighbour that we have just talked to by TCP.
 */
int rb_neighbour_mac(uint32_t ifindex, const uint8_t address[16], uint8_t mac[6]);

#endif
