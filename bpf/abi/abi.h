/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The fast path and user space share the headers of this folder: the key and value of every map,
 * the load-time configuration, the names of every reason. This one has what goes for all of them.
 *
 * All integers are in host order unless their type is __be16/__be32; addresses and MACs are in
 * network order. A change of any layout or meaning here, a new reason or statistic too, raises
 * SL_ABI_VERSION: a reader that finds another version in the map sl_meta refuses the maps.
 */
#ifndef SL_ABI_H
#define SL_ABI_H

#include <linux/types.h>

#define SL_ABI_VERSION 31
#define SL_ASSERT_SIZE(type, bytes) \
	_Static_assert(sizeof(type) == (bytes), #type " has changed size")

/*
 * Which table answers a lookup. Chosen through read-only data, so the verifier removes the others.
 */
enum sl_engine {
	SL_ENGINE_KERNEL = 0, /* bpf_fib_lookup; the only one that needs no daemon */
	SL_ENGINE_LPM = 1,    /* sl_fib4 and sl_fib6, LPM_TRIE */
	SL_ENGINE_FAST = 2,   /* sl_root4 and sl_runs4, sl_root6 and sl_runs6 */
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
	__u32 n_queues;	   /* receive queues of an edge port that lead to VOQs, as sl_meta has it */
	__u32 n_workers;   /* of the bridge, as sl_meta has it */
	__u32 filters;	   /* 1: ports may have rule lists (classifier.h) */
	__u32 express;	   /* 1: frames for other nodes may take the express way (express.h) */
	__u32 reserves;	   /* 1: flows may have reserved rates (reserved.h) */
	__u32 exact_flows; /* elements of sl_exact_flow (exact_flow.h); 0: there are no exact flows
			    */
};
SL_ASSERT_SIZE(struct sl_config, 44);

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

/* Map sl_meta, one element: how the daemon has made these maps. */
struct sl_meta {
	__u32 abi_version; /* SL_ABI_VERSION */
	__u32 engine;	   /* enum sl_engine */
	__u64 created_ns;  /* CLOCK_MONOTONIC */
	/* of sl_config: a daemon that restarts keeps it, so flows keep paths */
	__u32 hash_seed;
	__u32 n_voqs;	/* elements of sl_voq and sl_backlog in use; 0: no cluster */
	__u32 n_queues; /* receive queues of an edge port: with n_workers, what sl_ring_key needs */
	/* edge ports that sl_ring and sl_xsk have room for: highest port number of this node */
	__u32 n_ports;
	__u32 n_workers; /* of the bridge */
	__u32 own_set;	 /* of sl_edge: which own elements are linked with it (own_element.h) */
};
SL_ASSERT_SIZE(struct sl_meta, 40);

/*
 * Map sl_heartbeat, one element: until when the fast path may go on without a sign of life of the
 * daemon. All generations share it. A daemon gives a sign each second, by the program sl_beat;
 * without one, all packets go to the kernel from the deadline on (AWAY).
 */
struct sl_heartbeat {
	__u64 deadline;	   /* in the kernel's jiffies64; 0: none */
	__u64 beat_ns;	   /* CLOCK_MONOTONIC of the last sign */
	__u64 limit_ticks; /* from the sign to the deadline, in jiffies; 0: no deadline */
	__u64 limit_s;	   /* the same in seconds, for people */
};
SL_ASSERT_SIZE(struct sl_heartbeat, 32);

#endif
