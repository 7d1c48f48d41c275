/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The fast path and user space share this header: the key and value of every map, the load-time
 * configuration, the names of every reason.
 *
 * All integers are in host order unless their type is __be16/__be32; addresses and MACs are in
 * network order. A change of any layout or meaning here, a new reason or statistic too, raises
 * SL_ABI_VERSION: a reader that finds another version in the map sl_meta refuses the maps.
 */
#ifndef SLUICE_H
#define SLUICE_H

#include <linux/types.h>

#define SL_ABI_VERSION 6
#define SL_ASSERT_SIZE(type, bytes) \
	_Static_assert(sizeof(type) == (bytes), #type " has changed size")

/* --- Load-time configuration --- */

/*
 * Which table answers a lookup. Chosen through read-only data, so the verifier removes the others.
 */
enum sl_engine {
	SL_ENGINE_KERNEL = 0, /* bpf_fib_lookup; the only one that needs no daemon */
	SL_ENGINE_LPM = 1,    /* sl_fib4 and sl_fib6, LPM_TRIE */
	SL_ENGINE_FAST = 2,   /* sl_dir24, sl_tbl8 and sl_tbl6 */
	SL_ENGINE_COUNT
};

/*
 * Read-only data `sl_config`. All zero is the bare mode: kernel engine, no daemon, no port table.
 */
struct sl_config {
	__u32 engine;  /* enum sl_engine */
	__u32 managed; /* 1: a daemon fills sl_port, sl_vlan and sl_tx; 0: bare mode */
	/* of the flow hash; random per node so that chained routers do not polarise */
	__u32 hash_seed;
	__u32 node_id; /* 1..255 in a cluster, 0 alone */
	/* 0: alone, nothing goes to a VOQ; else 1..SL_VOQS_MAX, as sl_meta has it */
	__u32 n_voqs;
	__u32 n_queues; /* receive queues of an edge port that lead to VOQs, as sl_meta has it */
};
SL_ASSERT_SIZE(struct sl_config, 24);

/* Read-only data `sl_txdrops_config` of txdrops.bpf.o. */
struct sl_txdrops_config {
	/*
	 * Of the network namespace whose drops count, since tracepoints see all of them; by
	 * getsockopt SO_NETNS_COOKIE.
	 */
	__u64 netns_cookie;
	/* The daemon reads these two to see whether it may keep a pinned pair of programs. */
	__u32 drops_map_id; /* id of the map sl_drops they write */
	__u32 object_hash;  /* of their object file */
};
SL_ASSERT_SIZE(struct sl_txdrops_config, 16);

/* --- Why a packet did not take the fast path --- */

/*
 * Every packet that sl_edge sees counts once in sl_stats (RX) and once in exactly one of:
 * sl_stats (FORWARD: handed to the driver of the egress port; VOQ: redirected into a virtual output
 * queue), sl_drops (a drop reason) or sl_punts (a punt reason: given to this node's kernel).
 *
 * A driver may still refuse a frame that it was handed. txdrops.bpf.c learns of it afterwards, and
 * only how many frames: such a frame counts in FORWARD, and also as one packet of 0 bytes in
 * TX_RING or TX_ERROR. With T = TX_RING + TX_ERROR and D = all other drop reasons:
 *
 *   rx = forward + voq + D + punts   always
 *   left by a port = forward - T     if txdrops.bpf.o is loaded
 *
 * The bridge counts what happens to a frame after VOQ; sl_backlog has those that the ring did not
 * take.
 *
 * Bytes are those of the frame as received, also for FORWARD, so the sums hold for them too.
 * Each list is X(enumerator, name, text); the name is what users see, the text explains it.
 */
#define SL_DROP_REASONS(X)                                                                         \
	X(ETH_TRUNCATED, "eth-truncated", "frame shorter than its Ethernet and VLAN headers")      \
	X(IP4_TRUNCATED, "ip4-truncated", "frame or total length too short for the IPv4 header")   \
	X(IP4_VERSION, "ip4-version", "IPv4 ethertype, but version is not 4")                      \
	X(IP4_HEADER_LENGTH, "ip4-header-length", "IHL below 5, or header beyond the frame")       \
	X(IP4_TOTAL_LENGTH, "ip4-total-length",                                                    \
	  "total length below the header or beyond the frame")                                     \
	X(IP4_CHECKSUM, "ip4-checksum", "header checksum is wrong")                                \
	X(IP4_MARTIAN_SOURCE, "ip4-martian-source", "source address that no host may use")         \
	X(IP4_MARTIAN_DEST, "ip4-martian-dest", "destination address that is never forwarded")     \
	X(IP6_TRUNCATED, "ip6-truncated", "frame too short for the IPv6 header")                   \
	X(IP6_VERSION, "ip6-version", "IPv6 ethertype, but version is not 6")                      \
	X(IP6_PAYLOAD_LENGTH, "ip6-payload-length", "payload length beyond the frame")             \
	X(IP6_MARTIAN_SOURCE, "ip6-martian-source", "source address that no host may use")         \
	X(IP6_MARTIAN_DEST, "ip6-martian-dest", "destination address that is never forwarded")     \
	X(BLACKHOLE, "blackhole", "a blackhole route matches")                                     \
	X(TX_RING, "tx-ring", "the egress driver took fewer frames than it was handed")            \
	X(TX_ERROR, "tx-error", "the egress port is gone, down or refuses redirected frames")      \
	X(REWRITE, "rewrite", "no room before the frame for a VLAN tag")                           \
	X(VOQ_FULL, "voq-full", "the virtual output queue holds as many frames as it may")         \
	X(VOQ_DELAY, "voq-delay", "would wait longer in the virtual output queue than is allowed") \
	X(VOQ_STOPPED, "voq-stopped", "the rate of the virtual output queue is 0")                 \
	X(NO_BRIDGE, "no-bridge",                                                                  \
	  "no socket of the bridge for this port, receive queue and virtual output queue")         \
	X(FABRIC_SPOOF, "fabric-spoof",                                                            \
	  "the fabric's protocol, for an address of the fabric, at an edge port")                  \
	X(TAGS, "tags", "in a cluster: more than two VLAN tags, which could hide such a frame")

#define SL_PUNT_REASONS(X)                                                                       \
	X(NOT_IP, "not-ip", "neither IPv4 nor IPv6: ARP, LLDP, MPLS, ...")                       \
	X(VLAN, "vlan", "a VLAN that is not configured for the fast path")                       \
	X(MULTICAST, "multicast",                                                                \
	  "multicast or broadcast destination, link-layer or network-layer")                     \
	X(LOCAL, "local", "for an address of this node")                                         \
	X(LINK_LOCAL, "link-local", "to or from a link-local address")                           \
	X(IP4_OPTIONS, "ip4-options", "IPv4 options")                                            \
	X(IP6_HOP_BY_HOP, "ip6-hop-by-hop", "IPv6 hop-by-hop options")                           \
	X(TTL, "ttl", "TTL or hop limit about to expire: the kernel answers")                    \
	X(TOO_BIG, "too-big", "larger than the egress MTU: the kernel fragments or answers")     \
	X(NO_ROUTE, "no-route", "no route: the kernel answers")                                  \
	X(UNREACHABLE, "unreachable", "an unreachable, prohibit or throw route matches")         \
	X(NEIGHBOUR, "neighbour", "next hop not resolved yet: the kernel resolves it")           \
	X(REDIRECT, "redirect", "would leave where it entered: the kernel may send a redirect")  \
	X(NOT_A_PORT, "not-a-port", "the egress device is not one of the fast path's ports")     \
	X(FORWARDING_OFF, "forwarding-off", "forwarding is disabled on the ingress port")        \
	X(RP_FILTER, "rp-filter", "reverse-path filter is on and the source does not pass here") \
	X(ENCAP, "encap", "the route needs an encapsulation that only the kernel does")          \
	X(OVERFLOW, "overflow", "the route did not fit the tables")                              \
	X(POLICY, "policy",                                                                      \
	  "policy rules, or a route with a lifetime or a condition: the kernel decides")         \
	X(NOT_READY, "not-ready", "the tables are being filled")                                 \
	X(ETH_NOT_OURS, "eth-not-ours",                                                          \
	  "for another MAC address: a bridge, a macvlan or VRRP of this node may take it")       \
	X(OTHER, "other",                                                                        \
	  "headers in several buffers, or bpf_fib_lookup refused for another reason")            \
	X(NO_META, "no-meta",                                                                    \
	  "no room for metadata below the frame: the kernel sends by the remote port")           \
	X(XFRM, "xfrm", "IPsec policies exist: the kernel decides")                              \
	X(NETFILTER, "netfilter",                                                                \
	  "netfilter rules for forwarded packets exist: the kernel decides")                     \
	X(BUFFERS, "buffers", "in several buffers, which the egress driver does not take")       \
	X(ND, "nd", "neighbour discovery: the kernel may answer for others (proxy_ndp)")

#define SL_ENUM_DROP(id, name, text) SL_DROP_##id,
#define SL_ENUM_PUNT(id, name, text) SL_PUNT_##id,

enum sl_drop { SL_DROP_REASONS(SL_ENUM_DROP) SL_DROP_COUNT };
enum sl_punt { SL_PUNT_REASONS(SL_ENUM_PUNT) SL_PUNT_COUNT };

#define SL_STATS(X)                                                                 \
	X(RX, "rx", "frames that entered at an edge port")                          \
	X(FORWARD, "forward", "frames handed to the driver of a local egress port") \
	X(RX_IP4, "rx-ip4", "of those that entered, IPv4")                          \
	X(RX_IP6, "rx-ip6", "of those that entered, IPv6")                          \
	X(VOQ, "voq", "frames redirected into a virtual output queue")              \
	X(CE, "ce", "of those, marked as having experienced congestion (RFC 3168)")
#define SL_ENUM_STAT(id, name, text) SL_STAT_##id,
enum sl_stat { SL_STATS(SL_ENUM_STAT) SL_STAT_COUNT };

/* One slot of sl_drops, sl_punts and sl_stats: per CPU, never reset. */
struct sl_counter {
	__u64 packets;
	__u64 bytes; /* frame bytes from the Ethernet header on, without FCS */
};
SL_ASSERT_SIZE(struct sl_counter, 16);

/* --- Forwarding state --- */

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

/* --- Ports --- */

#define SL_PORT_FORWARD4  (1u << 0) /* the kernel forwards IPv4 that enters here */
#define SL_PORT_FORWARD6  (1u << 1) /* the same for IPv6 */
#define SL_PORT_RP_STRICT (1u << 2) /* IPv4 rp_filter 1: the source is reachable through here */
#define SL_PORT_RP_LOOSE  (1u << 3) /* IPv4 rp_filter 2: the source is reachable */
/* give all IPv4 to the kernel (policy rules, a member of a bridge, a bond or a VRF) */
#define SL_PORT_PUNT4 (1u << 4)
#define SL_PORT_PUNT6 (1u << 5) /* the same for IPv6 */
/* the kernel may send ICMP redirects from here: punt packets that leave where they came in */
#define SL_PORT_REDIRECT4 (1u << 6)
#define SL_PORT_REDIRECT6 (1u << 7) /* the same for IPv6 */
/* give all IPv4 to the kernel: IPsec policies could apply to forwarded packets */
#define SL_PORT_XFRM4 (1u << 8)
#define SL_PORT_XFRM6 (1u << 9) /* the same for IPv6 */
/* give all IPv4 to the kernel: netfilter has rules for forwarded packets */
#define SL_PORT_NETFILTER4 (1u << 10)
#define SL_PORT_NETFILTER6 (1u << 11) /* the same for IPv6 */
/* packets may come without a TCP or UDP checksum: from a veth, or a TAP */
#define SL_PORT_PARTIAL (1u << 12)
/* IPv4 route_localnet: 127/8 is an address like others, if the kernel says so */
#define SL_PORT_LOCALNET4 (1u << 13)
/* IPv4 flows that differ only in protocol or ports take the same member of a group */
#define SL_PORT_HASH_L3_4 (1u << 14)
#define SL_PORT_HASH_L3_6 (1u << 15) /* the same for IPv6 */

/*
 * Map sl_port: how XDP treats packets that enter at an L3 interface (a port or a VLAN on it).
 * Element ifindex & (SL_PORTS_MAX - 1). `ifindex` names the interface that owns the element; the
 * daemon refuses to attach an interface whose element another one owns.
 */
struct sl_port {
	__u32 ifindex; /* 0: free */
	__u32 flags;   /* SL_PORT_* */
	__u8 mac[6];   /* unicast frames for any other address are not ours */
	/* in a cluster: of the port, or of the port below the VLAN, 1..255; 0: none */
	__u8 number;
	__u8 pad;
};
SL_ASSERT_SIZE(struct sl_port, 16);

/* Map sl_vlan: (port, tags) of a received frame -> L3 ifindex, a key of sl_port. */
struct sl_vlan_key {
	__u32 port_ifindex;
	__be16 tpid[2]; /* outer first; 0 where there is no tag */
	__be16 vid[2];	/* VLAN id only, without priority and DEI */
};
SL_ASSERT_SIZE(struct sl_vlan_key, 12);

/* Map sl_meta, one element: how the daemon has made these maps. */
struct sl_meta {
	__u32 abi_version; /* SL_ABI_VERSION */
	__u32 engine;	   /* enum sl_engine */
	__u64 created_ns;  /* CLOCK_MONOTONIC */
	/* of sl_config: a daemon that restarts keeps it, so flows keep paths */
	__u32 hash_seed;
	__u32 n_voqs;	/* elements of sl_voq and sl_backlog in use; 0: no cluster */
	__u32 n_queues; /* receive queues of an edge port: with n_voqs, what sl_xsk_key needs */
	/* edge ports that sl_xsk has room for: highest port number of this node */
	__u32 n_ports;
};
SL_ASSERT_SIZE(struct sl_meta, 32);

/* --- The cluster --- */

/*
 * A system port is an edge port as the whole cluster names it: (node id << 8) | port number, both
 * 1..255; `n2p1` is 0x0201. All nodes hold the same table of system ports in the same order; a
 * port's place in it is its index. A virtual output queue is (system port, class): index *
 * SL_CLASSES + class.
 */
/* traffic classes, from DSCP; higher is served first where strict */
#define SL_CLASSES		   4
#define SL_SYSTEM_PORTS_MAX	   1024
#define SL_VOQS_MAX		   (SL_SYSTEM_PORTS_MAX * SL_CLASSES)
#define SL_SYSTEM_PORT(node, port) ((__u16)((node) << 8 | (port)))

#define SL_RATE_UNLIMITED (~0ULL)

enum sl_unit {
	SL_UNIT_FRAMES = 0, /* rates and bursts of this queue count frames */
	SL_UNIT_BYTES = 1,  /* frame bytes, as in sl_counter */
};

/*
 * Map sl_voq: VOQ id -> its rate and limits. The queue's controller writes it, or an operator where
 * the controller is `fixed`; XDP admits by it, and the bridge paces by it. Values that change with
 * each frame are in sl_backlog, so that writing an element here disturbs no count.
 */
struct sl_voq {
	__u64 rate;	    /* units a second; 0 stops it, SL_RATE_UNLIMITED does not pace */
	__u32 unit;	    /* enum sl_unit */
	__u32 burst;	    /* units that may leave at once after a pause */
	__u32 limit_frames; /* most frames that may wait; 0 drops everything */
	/* XDP drops a frame that would wait longer than this at this rate; 0: no limit */
	__u32 delay_max_us;
	__u32 ecn_frames;    /* mark ECN-capable frames when so many wait; 0: never */
	__u32 pad;	     /* 0 */
	char controller[16]; /* name of the algorithm that writes rate and burst */
};
SL_ASSERT_SIZE(struct sl_voq, 48);

/* Frames and bytes that passed a point, since the map was made. */
struct sl_passed {
	__u64 frames;
	__u64 bytes;
};
SL_ASSERT_SIZE(struct sl_passed, 16);

/* the reasons for which a queue drops are consecutive */
#define SL_VOQ_DROP_FIRST SL_DROP_VOQ_FULL
#define SL_VOQ_DROPS	  4
_Static_assert(SL_DROP_NO_BRIDGE == SL_VOQ_DROP_FIRST + SL_VOQ_DROPS - 1, "reasons of a VOQ");

/*
 * Map sl_backlog: VOQ id -> what entered it by XDP and what left it. The difference waits in the
 * queue, and XDP admits by it. For each frame that it redirects, XDP adds to `enqueued` one frame
 * and the bytes that it has after the rewrite. The bridge adds to `dequeued` the frames that it
 * took out, and those that the kernel could not put into the ring after XDP had counted them (a
 * full ring, no free chunk). Frames that come by a remote port's netdev are in neither. A new
 * bridge begins by setting `dequeued` to `enqueued`: it counts the frames that waited in the rings
 * of its predecessor as `missed`. Each writer has a cache line of its own.
 *
 * CPUs that admit at the same moment do not see each other's frames, so a queue may exceed its
 * limit by one frame for each CPU but one.
 */
struct sl_backlog {
	struct sl_passed enqueued;
	/*
	 * Frames for this queue that XDP dropped, by enum sl_drop less SL_VOQ_DROP_FIRST; they are
	 * in sl_drops too.
	 */
	__u64 dropped[SL_VOQ_DROPS];
	__u64 marked; /* of those enqueued: marked by us as having experienced congestion */
	__u64 pad0;   /* 0 */
	struct sl_passed dequeued;
	/* Of the frames dequeued, those that the bridge did not send: */
	__u64 missed; /* the kernel had no room for them, or the bridge ended while they waited */
	__u64 peer_down; /* for a node that was not up */
	__u64 too_big;	 /* larger than the fabric carries */
	__u64 pad1[3];	 /* 0 */
};
SL_ASSERT_SIZE(struct sl_backlog, 128);

/* XDP writes this just below a frame that it redirects into a VOQ. */
struct sl_frame_meta {
	__u64 arrival_ns;   /* CLOCK_MONOTONIC */
	__u16 voq;	    /* VOQ id */
	__u16 ingress_port; /* system port */
	__u32 magic;	    /* SL_FRAME_META_MAGIC */
};
SL_ASSERT_SIZE(struct sl_frame_meta, 16);
#define SL_FRAME_META_MAGIC 0x736c6d31u /* tells a frame of ours from one without metadata */

/*
 * Map sl_xsk: the AF_XDP socket of each (port, queue, VOQ), since a socket takes only frames of its
 * own port and receive queue. port is in 1..n_ports, queue < n_queues, voq < n_voqs; sl_meta has
 * these limits. The map has n_ports * n_queues * n_voqs elements. No port has number 0: its keys
 * would lie beyond the last element. XDP drops a frame that has no socket (NO_BRIDGE).
 */
static inline __attribute__((always_inline)) __u32 sl_xsk_key(__u32 port, __u32 queue, __u32 voq,
							      __u32 n_queues, __u32 n_voqs)
{
	return ((port - 1) * n_queues + queue) * n_voqs + voq;
}

/* Map sl_dscp: DSCP -> class. */
#define SL_DSCPS 64

/*
 * Map sl_fabric: the addresses that this node and its peers have on the fabric -> 1. XDP drops a
 * frame from an edge port to one of them if it may be the fabric's own protocol: UDP port
 * SL_ROCE_PORT, or UDP whose port cannot be seen (a fragment, options, extension headers). IPv4 is
 * v4-mapped.
 */
#define SL_ROCE_PORT 4791
struct sl_fabric_key {
	__be32 word[4];
};
SL_ASSERT_SIZE(struct sl_fabric_key, 16);

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
#define SL_PORTS_MAX	1024
/* addresses: an IPv4 and an IPv6 one of each node, and as many again */
#define SL_FABRIC_MAX 1024

#endif
