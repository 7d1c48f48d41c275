/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Packets of rules that name a chain of elements: sl_edge puts this header before the frame and
 * sends it to SL_CHAIN_NETDEV. At the other end of that veth, sluice-elements takes the frame from
 * SL_CHAIN_WORKER_NETDEV, and sends what leaves the chain the same way back, without the header, to
 * be routed anew.
 */
#ifndef SL_CHAIN_HEADER_H
#define SL_CHAIN_HEADER_H

#include <linux/types.h>

#include "bpf/abi/abi.h"

#define SL_CHAIN_NETDEV	       "slchain0" /* the router's end */
#define SL_CHAIN_WORKER_NETDEV "slchain1" /* the end of sluice-elements */
#define SL_CHAIN_ETHERTYPE     0x88b5	  /* for local experiments: IEEE 802, 9.2.3 */
#define SL_CHAIN_NAME_BYTES    32	  /* with its NUL */
/* Most bytes of a frame; with the header, and room for a tunnel's, it fits a veth with XDP. */
#define SL_CHAIN_FRAME_MAX_BYTES 3000u

/* Map sl_rule_chain: number of a rule -> its chain, or zeros. */
struct sl_rule_chain {
	char name[SL_CHAIN_NAME_BYTES]; /* filled up with zeros */
	__u64 id;			/* sl_chain_id(name) */
};
SL_ASSERT_SIZE(struct sl_rule_chain, 40);

/* A short key in place of the name (64-bit FNV-1a). Who finds a chain by it compares the names. */
static inline __u64 sl_chain_id(const char name[SL_CHAIN_NAME_BYTES])
{
	__u64 id = 0xcbf29ce484222325ULL;
	int i;

	for (i = 0; i < SL_CHAIN_NAME_BYTES; i++)
		id = (id ^ (__u8)name[i]) * 0x100000001b3ULL;
	return id;
}

struct sl_chain_header {
	__u8 mac[12];	  /* 0 */
	__be16 ethertype; /* SL_CHAIN_ETHERTYPE */
	__u8 partial;	  /* 1: the sender may have left the TCP or UDP checksum to its device */
	__u8 reserved;	  /* 0 */
	char name[SL_CHAIN_NAME_BYTES];
};
SL_ASSERT_SIZE(struct sl_chain_header, 48);

#endif
