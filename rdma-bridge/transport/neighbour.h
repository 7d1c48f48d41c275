/* SPDX-License-Identifier: BSD-2-Clause */
/* The MAC address of a station on the fabric's link, from the kernel's neighbour table. */
#ifndef RB_NEIGHBOUR_H
#define RB_NEIGHBOUR_H

#include <stdint.h>

/*
 * Look `address` (IPv6 or v4-mapped) up among the neighbours of a netdev. -ENOENT: the kernel does
 * not know it, or knows that it does not answer; whoever has just spoken to it by TCP will find it.
 * Else -errno.
 */
int rb_neighbour_mac(uint32_t ifindex, const uint8_t address[16], uint8_t mac[6]);

#endif
