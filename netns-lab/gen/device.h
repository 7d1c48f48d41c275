/* SPDX-License-Identifier: BSD-2-Clause */
/* The facts about a netdev that generator and sink need. All return 0 or -errno. */
#ifndef LAB_DEVICE_H
#define LAB_DEVICE_H

#include <stdint.h>

int device_mac(const char *name, uint8_t mac[6]);
int device_mtu(const char *name, uint32_t *mtu);
int device_rx_queues(const char *name, uint32_t *n);

/* The device's first address of the family; 16 bytes, IPv4 in the first 4. -ENOENT: it has none. */
int device_address(const char *name, int family, uint8_t addr[16]);

/*
 * Frames redirected to a veth: how many its peer's ring took, and how many found no room there.
 * Exact, and never reset. -EOPNOTSUPP: the driver does not count them so.
 */
int device_xdp_xmit(const char *name, uint64_t *taken, uint64_t *refused);

#endif
