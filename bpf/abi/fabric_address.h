/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The addresses of the fabric, and its protocol's port.
 */
#ifndef SL_FABRIC_ADDRESS_H
#define SL_FABRIC_ADDRESS_H

#include <linux/types.h>

#include "bpf/abi/abi.h"

#define SL_ROCE_PORT 4791

/*
 * TTL or hop limit of all that nodes send each other. A node that receives less drops the frame:
 * it was forwarded, so no neighbour on the fabric sent it (RFC 5082).
 */
#define SL_FABRIC_HOP_LIMIT 255

/*
 * Map sl_fabric: the addresses that this node and its peers have on the fabric -> 1. XDP drops a
 * frame from an edge port to one of them if it may be the fabric's own protocol: UDP port
 * SL_ROCE_PORT, or UDP whose port cannot be seen (a fragment, options, extension headers). IPv4 is
 * v4-mapped.
 */
struct sl_fabric_key {
	__be32 word[4];
};
SL_ASSERT_SIZE(struct sl_fabric_key, 16);

/* addresses: an IPv4 and an IPv6 one of each node, and as many again */
#define SL_FABRIC_MAX 1024

#endif
