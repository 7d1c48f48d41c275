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
 *   prefix --(sl_fib*, sl_root* and sl_runs*)--> next-hop id --(sl_nexthop)--> kind + ref
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
	__u8 vlan_tags;	     /* tags to write, 0..2, outer first */
	__u8 remote;	     /* 1: the port is another node's */
	__be16 vlan_tpid[2]; /* 0x8100 or 0x88a8 */
	__be16 vlan_tci[2];  /* priority and DEI 0, VLAN id */
	/*
	 * 0: frames leave at once; else they wait in a VOQ, and this is one more than that of class
	 * 0. Frames for remote ports always do.
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
 * Bits of an address choose a word. A word is a next hop, or leads to a record, which the next 8
 * bits are looked up in:
 *
 *   bit 31      0: bits 22..0 are a next-hop id, and bits 30..23 the length of the prefix that
 *               wrote it, 0..128, which the writer needs to insert and delete in place; all 0: no
 *               route
 *               1: bits 29..0 are the number of a record's first unit, and bit 30 says whether
 *               its values are words (1) or 16-bit next-hop ids (0)
 */
#define SL_WORD_RECORD	    0x80000000u
#define SL_WORD_WIDE	    0x40000000u
#define SL_WORD_UNIT_MASK   0x3fffffffu
#define SL_WORD_DEPTH_SHIFT 23
#define SL_WORD_DEPTH_MASK  0xffu
#define SL_WORD_INDEX_MASK  0x007fffffu

/* Maps sl_root4 and sl_root6: the first 8 bits choose the element, the next 8 the word. */
#define SL_ROOT_BLOCKS 256
#define SL_BLOCK_WORDS 256
struct sl_block {
	__u32 word[SL_BLOCK_WORDS];
};
SL_ASSERT_SIZE(struct sl_block, 1024);

/*
 * A record: what the 256 slots say that 8 bits of an address choose from, as runs. A run is slots
 * side by side with one answer. Bit b of starts[w] is set if a run starts at slot 32 * w + b, and
 * before[w] counts the runs that start before slot 32 * w. The value of the run r lies r places
 * behind the first value: 2 bytes each, or 4 in a wide record. A record is one unit, or goes on in
 * the units after it, which hold values only.
 *
 * Starts and counts of a record that a word leads to never change. Values may: each is stored as
 * one.
 */
#define SL_RECORD_SLOTS 256
#define SL_UNIT_VALUES	6
struct sl_record {
	__u32 starts[SL_RECORD_SLOTS / 32];
	__u8 before[SL_RECORD_SLOTS / 32];
	__u32 value[SL_UNIT_VALUES]; /* as words, whether or not the record is wide */
};
SL_ASSERT_SIZE(struct sl_record, 64);

/* Maps sl_runs4 and sl_runs6: the records of one family. No record lies in two pages. */
#define SL_PAGE_UNITS 64
struct sl_page {
	struct sl_record unit[SL_PAGE_UNITS];
};
SL_ASSERT_SIZE(struct sl_page, 4096);

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
/* routes; the fast engine takes memory for as many at once, the lpm engine as they come */
#define SL_FIB4_DEFAULT 2000000
#define SL_FIB6_DEFAULT 1000000

#endif
