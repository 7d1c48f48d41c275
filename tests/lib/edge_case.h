/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables of cases for sl_edge. A case is one frame in a small world, and its one right end:
 * forwarded by a named adjacency, dropped or punted for a named reason. Running it compares the XDP
 * action, every byte of the frame afterwards, and every counter.
 *
 * The world (10.x/16 and 2001:db8:x::/48 alike); ingress is port 1, MAC FRAME_DST_MAC:
 *
 *   x = 2  EDGE_PLAIN    port 2, MTU 1500           x = 20  blackhole
 *   x = 3  EDGE_SMALL    port 2, MTU 1280           x = 21  unreachable
 *   x = 4  EDGE_JUMBO    port 3, MTU 9000           x = 22  neighbour not resolved
 *   x = 5  EDGE_TAG1     one tag on port 4          x = 23  an address of the node
 *   x = 6  EDGE_TAG2     two tags on port 4         x = 24  a group whose only member is EDGE_PLAIN
 *   x = 7  EDGE_HAIRPIN  back through port 1        x = 25  a group of EDGE_PLAIN and EDGE_BACK
 *   x = 8  EDGE_OUTSIDE  a netdev not in sl_tx      all else: no route
 *   x = 1  EDGE_BACK     port 1: where sources are
 *   x = 9  EDGE_REMOTE      a port of another node, MTU 1500
 *   x = 10 EDGE_REMOTE_TAG  the same, one tag on another port
 *
 * 10.2.9.9/32 and 2001:db8:2:9::9/128 lie in x = 2 and go to EDGE_JUMBO.
 */
#ifndef TEST_EDGE_CASE_H
#define TEST_EDGE_CASE_H

#include "bpf/abi/abi.h"
#include "bpf/abi/voq.h"
#include "tests/lib/edge_rig.h"
#include "tests/lib/frame.h"

enum edge_adj {
	EDGE_PLAIN,
	EDGE_SMALL,
	EDGE_JUMBO,
	EDGE_TAG1,
	EDGE_TAG2,
	EDGE_HAIRPIN,
	EDGE_OUTSIDE,
	EDGE_BACK,
	EDGE_REMOTE,
	EDGE_REMOTE_TAG,
	EDGE_ADJS
};

/*
 * L3 interfaces on port 1: VLAN 100, and VLAN 300 inside 802.1ad VLAN 200. They have MACs of their
 * own.
 */
#define EDGE_VLAN1     101u
#define EDGE_VLAN2     102u
#define EDGE_VLAN1_MAC 0x020000000065ULL
#define EDGE_VLAN2_MAC 0x020000000066ULL

/* The cluster: four system ports, of which this node's are the first two. */
#define EDGE_NODE	    7
#define EDGE_VOQS	    (4 * SL_CLASSES)
#define EDGE_REMOTE_VOQ	    (2 * SL_CLASSES)
#define EDGE_REMOTE_TAG_VOQ (3 * SL_CLASSES)
/* netdevs of the remote ports; XDP never transmits there */
#define EDGE_TAP(n) (60u + (n))

enum edge_end { EDGE_FORWARD, EDGE_DROP, EDGE_PUNT, EDGE_QUEUE };

struct edge_case {
	const char *name;
	struct frame in;
	enum edge_end end;
	uint32_t what;	      /* enum edge_adj, enum sl_drop or enum sl_punt */
	uint32_t port_flags;  /* of port 1 and its VLANs; 0: forwarding of both families */
	bool no_flags;	      /* of those: none at all */
	uint32_t ingress;     /* ifindex; 0: port 1 */
	bool jumbo;	      /* more than one buffer: for sl_edge_frags alone */
	bool tables_only;     /* not for the engine `kernel` */
	uint32_t kernel_what; /* the engine `kernel` gives this reason instead; 0: the same */
};

#define FORWARD_BY(adj) .end = EDGE_FORWARD, .what = EDGE_##adj
#define DROPS(reason)	.end = EDGE_DROP, .what = SL_DROP_##reason
#define PUNTS(reason)	.end = EDGE_PUNT, .what = SL_PUNT_##reason

/*
 * Run n cases with each engine and each program. Returns the number of tests that failed.
 * Tests are named ENGINE/PROGRAM/CASE.
 */
int edge_run_cases(const struct edge_case *cases, size_t n);

/* Run one case in a world of the test's own making; fails the running test if anything differs. */
void edge_check(struct edge *world, const struct edge_case *c);

/*
 * The world, for tests that are not one frame: 0 or -errno. edge_enter_namespace comes first. For
 * the engine `kernel` it is made of the namespace's own routes and neighbours (no VLANs), once per
 * process.
 */
int edge_world(enum sl_engine engine, struct edge **out);
int edge_kernel_routes(void);
/*
 * The world as node EDGE_NODE of a cluster: remote ports lead to VOQs, which are all stopped and
 * have no sockets.
 */
int edge_world_cluster(enum sl_engine engine, struct edge **out);
/* The same, whose frames may take the express way. */
int edge_world_express(enum sl_engine engine, struct edge **out);
/* The same as edge_world_cluster, whose ports may have rule lists. */
int edge_world_filters(enum sl_engine engine, struct edge **out);
/* The world of a node alone, with exact flows, whose ports may have rule lists or not. */
int edge_world_flows(enum sl_engine engine, bool filters, struct edge **out);
/* The frame `in` as it leaves by `adj`. */
struct frame edge_sent(const struct frame *in, enum edge_adj adj);

/* By how much the counters must have grown for this case; and the check that they have. */
void edge_expect_counters(const struct edge_case *c, const uint8_t *frame, uint32_t len,
			  struct edge_counters *out);
void edge_assert_counters(const struct edge_counters *got, const struct edge_counters *want);

#endif
