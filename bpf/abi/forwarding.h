/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * From an address to where the packet leaves: next hops, adjacencies, groups, and the tables of the
 * engines.
 */
#ifndef SL_FORWARDING_H
#define SL_FORWARDING_H

#include <linux/types.h>

#include "bpf/abi/abi.h"

/*
 *   prefix --(sl_fib*, sl_dir24/sl_tbl8/sl_tbl6)--> next-hop id --(sl_nexthop)--> kind + ref
 *       FORWARD -> sl_adj[ref]                  where it leaves and with which Ethernet header
 *       GROUP   -> sl_group[ref].bucket[hash]   a next-hop id again, of a kind other than GROUP
 *       PUNT    -> ref is an enum sl_punt
 *       DROP    -> ref is an enum sl_drop
 *
 * Atomicity. A table slot, an sl_nexthop entry and a bucket are each one aligned word: a reader
 * sees the old or the new. User space changes no adjacency that a reader can reach, and groups only
 * bucket by bucket, so no read is torn. For a new adjacency or group it fills a free entry,
 * publishes the entry's id in sl_nexthop, and reuses the old entry no sooner than SL_GRACE_NS
 * later, when every program run that could have seen it has ended.
 */
#define SL_GRACE_NS 1000000000ULL

enum sl_nexthop_kind {
	SL_NH_NONE = 0,	   /* no route: punt NO_ROUTE. Id 0 is always of this kind. */
	SL_NH_FORWARD = 1, /* ref: index into sl_adj */
	SL_NH_GROUP = 2,   /* ref: index into sl_group */
	SL_NH_PUNT = 3,	   /* ref: enum sl_punt */
	SL_NH_DROP = 4,	   /* ref: enum sl_drop */
	SL_NH_COUNT
};

/* Map sl_nexthop: next-hop id -> what to do. Written as one 64-bit word. */
struct sl_nexthop {
	__u32 kind; /* enum sl_nexthop_kind */
	__u32 ref;
} __attribute__((aligned(8)));
SL_ASSERT_SIZE(struct sl_nexthop, 8);

/* Map sl_adj: an adjacency, in the sense of RFC 1812's link layer: one neighbour on one port. */
struct sl_adj {
	__u32 port_ifindex; /* the netdev that transmits; key of sl_tx */
	__u32 l3_ifindex;   /* the interface that routes name: the port, or a VLAN on it */
	/* largest IP packet that may leave here; the kernel's MTU or a route's */
	__u32 mtu_bytes;
	__u8 dst_mac[6];     /* the neighbour */
	__u8 src_mac[6];     /* the interface */
	__u16 vlan_tags;     /* tags to write, 0..2, outer first */
	__be16 vlan_tpid[2]; /* 0x8100 or 0x88a8 */
	__be16 vlan_tci[2];  /* priority and DEI 0, VLAN id */
	/*
	 * 0: the port is this node's; else it is a remote port, and this is one more than the VOQ
	 * of its class 0
	 */
	__u16 voq_plus1;
	/* XDP sets it to 1 when it is 0 and a packet leaves here; the daemon clears it */
	__u32 used;
};
SL_ASSERT_SIZE(struct sl_adj, 40);

/*
 * Map sl_group: resilient ECMP (as the kernel's resilient next-hop groups). A flow's hash picks
 * a bucket; the share of buckets is the weight. Removing a member rewrites only its own buckets.
 */
#define SL_GROUP_BUCKETS 128
struct sl_group {
	__u32 bucket[SL_GROUP_BUCKETS]; /* next-hop ids */
};
SL_ASSERT_SIZE(struct sl_group, 512);

/* --- Tables of the fast engine --- */

/*
 * A slot says either "next hop" or "continue in this block", and remembers the length of the
 * prefix that owns it, which is what the writer needs to insert and delete in place:
 *
 *   bit 31      1: bits 22..0 are a block number; 0: bits 22..0 are a next-hop id
 *   bits 30..23 length of the prefix that wrote it, 0..128 (next-hop slots; 0 and id 0: no route)
 */
#define SL_SLOT_BLOCK	    0x80000000u
#define SL_SLOT_DEPTH_SHIFT 23
#define SL_SLOT_DEPTH_MASK  0xffu
#define SL_SLOT_INDEX_MASK  0x007fffffu

/* The element of all three tables: the slots that 8 bits of an address choose from. */
#define SL_BLOCK_SLOTS 256
struct sl_block {
	__u32 slot[SL_BLOCK_SLOTS];
};
SL_ASSERT_SIZE(struct sl_block, 1024);

/*
 * IPv4: the first 16 bits choose the block of sl_dir24, the next 8 the slot, the last 8 a slot in a
 * block of sl_tbl8. IPv6: the first 8 bits choose one of blocks 0..255 of sl_tbl6, which are the
 * root and never handed out. Each further 8 bits choose a slot, which may lead to another block of
 * sl_tbl6. We tried strides of 4, 6 and 8 below roots of 16, 20 and 24 bits on the Internet's
 * 168,000 prefixes: this choice is within a fifth of the quickest, at 40 MB; a root of 24 bits
 * would add 64 MB.
 */
#define SL_DIR24_BLOCKS	    (1u << 16)
#define SL_TBL6_ROOT_BLOCKS 256u

/* --- Lookups by longest prefix match (engine lpm) --- */

struct sl_key4 {
	__u32 prefix_len; /* 0..32 */
	__u8 addr[4];
};
SL_ASSERT_SIZE(struct sl_key4, 8);

struct sl_key6 {
	__u32 prefix_len; /* 0..128 */
	__u8 addr[16];
};
SL_ASSERT_SIZE(struct sl_key6, 20);

/* --- Sizes --- */
/* Entries that user space gives the maps unless the configuration says otherwise. */
#define SL_NEXTHOPS_DEFAULT 65536
#define SL_ADJS_DEFAULT	    32768
#define SL_GROUPS_DEFAULT   4096
#define SL_TBL8_DEFAULT	    8192  /* IPv4 blocks: /24s that hold longer prefixes */
#define SL_TBL6_DEFAULT	    65536 /* IPv6 blocks */
/* limits of the lpm engine; memory is taken by what is used */
#define SL_FIB4_DEFAULT 2000000
#define SL_FIB6_DEFAULT 1000000

#endif
