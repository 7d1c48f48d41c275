/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The virtual output queues of the cluster: rates and limits, what waits, how frames reach the
 * bridge.
 */
#ifndef SL_VOQ_H
#define SL_VOQ_H

#include <linux/types.h>

#include "bpf/abi/abi.h"
#include "bpf/abi/reasons.h"

/*
 * A system port is an edge port as the whole cluster names it: (node id << 8) | port number, both
 * 1..255; `n2p1` is 0x0201. Each system port that a node knows of has an index on this node, for as
 * long as the node knows of it: map sl_system_ports has the port of each index, or 0, as __u64.
 * A virtual
 * output queue is (system port, class): index * SL_CLASSES + class.
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
#define SL_VOQ_DROPS	  5
_Static_assert(SL_DROP_NO_BRIDGE == SL_VOQ_DROP_FIRST + SL_VOQ_DROPS - 1, "reasons of a VOQ");

/*
 * Of an own port, in the element of its class 0: while no frame for the port waits and its token
 * bucket holds a token, sl_edge sends frames out of it at once, past the bridge.
 *
 * Order. A frame leaves at once only if its VOQ is empty and the port is not busy. The bridge sets
 * `busy` before it counts a frame for the port out of a backlog, and clears it when all frames that
 * it took have been sent.
 */
struct sl_own_port {
	__u64 until_ns; /* bridge, CLOCK_MONOTONIC: until then frames may; 0: they may not */
	__u64 rate;	/* bridge: of the port, units a second */
	__u64 clock;	/* both: its token bucket (virtual_clock.h) */
	__u32 burst;	/* bridge: units */
	__u32 unit;	/* bridge: enum sl_unit */
	__u32 busy;	/* bridge: 1: it has frames for the port */
	__u32 pad;	/* 0 */
};
SL_ASSERT_SIZE(struct sl_own_port, 40);

/*
 * Map sl_backlog: VOQ id -> what entered it by XDP and what left it. The difference waits in the
 * queue, and XDP admits by it. For each frame that it redirects, XDP adds to `enqueued` one frame
 * and the bytes that it has after the rewrite. The bridge adds to `dequeued` the frames that it
 * took out, and those that XDP had counted and that never came (sl_ring says which). Frames that
 * come by a remote port's netdev are in neither. A new bridge begins by setting `dequeued` to
 * `enqueued`: it counts the frames that its predecessor held as `missed`. Each writer has a cache
 * line of its own.
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
	struct sl_passed dequeued;
	/* Of the frames dequeued, those that the bridge did not send: */
	__u64 missed; /* the kernel had no room for them, or the bridge ended while they waited */
	__u64 peer_down;   /* for a node that was not up */
	__u64 too_big;	   /* larger than the fabric carries */
	__u32 worker;	   /* of the bridge: the one that reads this queue */
	__u16 system_port; /* of the bridge: where the queue leads; 0: it serves no such queue */
	/* Plus 1: its path (express.h), if its frames may take the express way; 0: never. */
	__u16 path_plus1;
	__u64 pad1[2]; /* 0 */
	/* XDP: frames that went past the bridge. They are not in `enqueued`. */
	struct sl_passed express;
	/* Both: the token bucket of sl_voq's rate (virtual_clock.h). */
	__u64 clock;
	struct sl_own_port own; /* class 0 of an own port; else 0 */
};
SL_ASSERT_SIZE(struct sl_backlog, 192);

/* XDP writes this just below a frame that it redirects into a VOQ. */
struct sl_frame_meta {
	__u64 arrival_ns;   /* CLOCK_MONOTONIC */
	__u16 voq;	    /* VOQ id */
	__u16 ingress_port; /* system port */
	__u32 magic;	    /* SL_FRAME_META_MAGIC */
	__u32 number;	    /* low bits of its number in the ring (sl_ring) */
	__u32 pad;	    /* 0 */
};
SL_ASSERT_SIZE(struct sl_frame_meta, 24);
#define SL_FRAME_META_MAGIC 0x736c6d32u /* tells a frame of ours from one without metadata */

/*
 * Maps sl_ring and sl_xsk have an element for each ring between XDP and the bridge: that of a
 * (port, receive queue, worker). The ring is an AF_XDP socket, which takes only frames of its own
 * port and receive queue, and whose worker reads all its frames whatever VOQ they are for. port is
 * in 1..n_ports, queue < n_queues, worker < n_workers; sl_meta has these limits. XDP drops a frame
 * that has no socket (NO_BRIDGE).
 */
static inline __attribute__((always_inline)) __u32 sl_ring_key(__u32 port, __u32 queue,
							       __u32 worker, __u32 n_queues,
							       __u32 n_workers)
{
	return ((port - 1) * n_queues + queue) * n_workers + worker;
}

#define SL_QUEUED_MAX_BYTES 3500 /* of a frame that a chunk of the bridge holds */
#define SL_RING_FRAMES	    1024 /* that a ring holds; a power of two */
#define SL_VOQ_FLOOR	    8	 /* frames of a VOQ that no lack of memory refuses */
#define SL_WORKERS_MAX	    16

/*
 * Map sl_ring: what went into a ring and what came out. XDP numbers the frames that it redirects
 * into a ring, and notes for each number the VOQ and the length. The bridge sees by the numbers
 * which frames never came: the kernel had no chunk for them, or the socket's netdev is gone. XDP
 * redirects no more than SL_RING_FRAMES that the bridge has not accounted for, so a ring is never
 * full and a note is never lost. One NAPI instance serves a receive queue at a time.
 */
struct sl_ring {
	__u64 entered; /* XDP: the number of the next frame */
	__u64 pad0[7]; /* 0 */
	__u64 taken;   /* bridge: the next number that it has not accounted for */
	/*
	 * Bridge: a VOQ may hold so many frames, or SL_VOQ_FLOOR. It is as much as the worker has
	 * free packet memory, so a VOQ alone takes half of it, and each of n takes 1 / (n + 1)
	 * (Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet
	 * switches", 1998, with a factor of 1).
	 */
	__u32 share_frames;
	__u32 pad1;
	__u64 pad2[6];		     /* 0 */
	__u32 frame[SL_RING_FRAMES]; /* XDP: by number: VOQ id | length << 16 */
};
SL_ASSERT_SIZE(struct sl_ring, 128 + 4 * SL_RING_FRAMES);

/* Map sl_dscp: DSCP -> class. */
#define SL_DSCPS 64

#endif
