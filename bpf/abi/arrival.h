/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Express messages at their receiver: what sl_fabric and the bridge that loaded it know of each
 * other. sl_fabric takes such a message apart itself and redirects the frame to its edge port, if
 * nothing from that sender is in the bridge and the port is free. It gives everything else to the
 * bridge.
 */
#ifndef SL_ARRIVAL_H
#define SL_ARRIVAL_H

#include <linux/types.h>

#include "bpf/abi/express.h"
#include "bpf/abi/voq.h"

/*
 * sl_fabric is attached by a link that is pinned beside the directory of pins, under its name and
 * this: so the program stays while one bridge follows another, and is replaced in one step.
 */
#define SL_FABRIC_LINK "-fabric"

/* Read-only data `arrival` of sl_fabric: of the bridge that loads it. */
struct sl_arrival_config {
	__u8 express; /* 1: express messages are taken apart here */
	__u8 node;    /* own id */
	__be32 qkey;
	__u32 sample; /* one frame of so many that are redirected is recorded; 0: none */
};

/*
 * The sequence numbers of a stream of express messages. sl_fabric judges all of them, also those
 * that it gives to the bridge. The counters mean what those of struct rb_seq do. The bridge sets
 * `span` to 0 when the sender begins anew; what else is here is sl_fabric's.
 */
struct sl_arrival_stream {
	__u64 received, lost, late, duplicate, stale;
	__u64 seen; /* bit i: the number next - 1 - i has come */
	__u32 next; /* the number expected */
	__u32 jump; /* the number after that of the latest jump */
	__u32 span; /* numbers below `next` that `seen` knows, 0..64; 0: the next one begins */
	__u32 pad;  /* 0 */
};
SL_ASSERT_SIZE(struct sl_arrival_stream, 64);

#define SL_ARRIVAL_WINDOW 64
/* As RB_SEQ_JUMP: one message that skips so many numbers proves nothing. */
#define SL_ARRIVAL_JUMP (1u << 24)

/*
 * Map fabric_arrivals: what comes from one worker of one node. Element node * workers + worker.
 *
 * Order. sl_fabric counts and numbers each data message that it gives to the bridge. The bridge
 * counts it in `left` when the last of its frames has left by its port, or is dropped, or when a
 * later number shows that it never came. While the two differ, all messages of this sender go to
 * the bridge. So no frame overtakes one of its flow, which enters the cluster at one node.
 */
struct sl_arrivals {
	__u64 handed;  /* sl_fabric: messages given to the bridge */
	__u64 damaged; /* sl_fabric: express messages dropped, because their check failed */
	__u64 pad0[6]; /* 0 */
	__u64 left;    /* bridge: of `handed`, those that are in it no longer */
	__be32 ip[4];  /* bridge: the sender's address; IPv4 is v4-mapped */
	__be32 epoch;  /* bridge: the sender's life */
	__be32 qpn;    /* bridge: the sender's queue pair */
	__u32 check;   /* bridge: enum sl_express_check of its messages; 0: it sends none */
	__u32 pad1;    /* 0 */
	__u64 pad2[3]; /* 0 */
	struct sl_arrival_stream stream[SL_STREAMS_MAX]; /* 0 is not used: the bridge judges it */
};
SL_ASSERT_SIZE(struct sl_arrivals, 128 + 64 * SL_STREAMS_MAX);

/* Map fabric_ports: edge ports by number. */
struct sl_arrival_port {
	__u32 ifindex; /* bridge: the netdev; 0: all frames for this port go to the bridge */
	__u32 busy;    /* bridge: 1: frames wait in its queues */
	/* bridge: of the port's token bucket; a frame that finds no token goes to the bridge */
	__u64 rate;    /* units a second, or SL_RATE_UNLIMITED */
	__u32 burst;   /* units */
	__u32 unit;    /* enum sl_unit */
	__u32 worker;  /* bridge: of the port */
	__u32 pad0;    /* 0 */
	__u64 pad1[4]; /* 0 */
	__u64 clock;   /* both: the bucket (virtual_clock.h) */
	__u32 used;    /* sl_fabric: 1: it redirected a frame; bridge: 0 */
	__s32 until;   /* sl_fabric: the next frame but so many is recorded */
	__u64 pad2[6]; /* 0 */
};
SL_ASSERT_SIZE(struct sl_arrival_port, 128);
#define SL_ARRIVAL_PORTS 256

/*
 * Map fabric_taken: what sl_fabric redirected itself, struct sl_passed, by port, class and node
 * that sent it.
 */
static inline __attribute__((always_inline)) __u32 sl_taken_key(__u32 port, __u32 class, __u32 node)
{
	return (port * SL_CLASSES + class) * SL_EXPRESS_NODES + node;
}
#define SL_TAKEN_KEYS (SL_ARRIVAL_PORTS * SL_CLASSES * SL_EXPRESS_NODES)

/*
 * Map fabric_samples, by worker: a sample of the frames that sl_fabric redirected itself to ports
 * of that worker, drawn at random. A frame that finds no room is not recorded.
 */
#define SL_SAMPLE_HEAD 96   /* bytes of a frame that are kept: IPv6 and TCP in two tags */
#define SL_SAMPLES     1024 /* a power of two; 20,000 a second in 50 ms */

struct sl_sample {
	__u64 number;  /* of the worker's samples, from 1; written last */
	__u64 sent_ns; /* of the message, by its sender's clock */
	__u64 came_ns; /* CLOCK_MONOTONIC: XDP redirected it */
	__u64 left_ns; /* the same clock: the driver had it; 0: it was dropped after its redirect */
	__u16 system_port, ingress_port;
	__u16 len_bytes;
	__u8 class, source; /* source: the node that sent the message */
	__u8 head[SL_SAMPLE_HEAD];
};
SL_ASSERT_SIZE(struct sl_sample, 136);

struct sl_samples {
	__u64 made;			     /* sl_fabric */
	__u64 pad0[7];			     /* 0 */
	__u64 read;			     /* bridge: of `made` */
	__u64 pad1[7];			     /* 0 */
	struct sl_sample sample[SL_SAMPLES]; /* number i at (i - 1) % SL_SAMPLES */
};
SL_ASSERT_SIZE(struct sl_samples, 128 + 136 * SL_SAMPLES);

/* Entries of the map fabric_bulks: the programs' own, which know when a driver takes a sample. */
#define SL_BULKS 256

/* Read-only data `sent` of fabric_sent.bpf.c. */
struct sl_sent_config {
	__u32 program; /* id of the sl_fabric whose frames it sees */
};

/*
 * sl_fabric writes this just below each message that it gives to the bridge, if express messages
 * are taken at all.
 */
struct sl_arrival_meta {
	__u64 number;  /* of sl_arrivals.handed, unless node is 0 */
	__u64 came_ns; /* CLOCK_MONOTONIC, if node is 0 */
	__u32 magic;   /* SL_ARRIVAL_META_MAGIC */
	__u8 node;     /* the element of fabric_arrivals is this node's; 0: no data message */
	__u8 judged;   /* 1: an express message whose fields, check and number are good */
	__u16 pad;     /* 0 */
};
SL_ASSERT_SIZE(struct sl_arrival_meta, 24);
#define SL_ARRIVAL_META_MAGIC 0x736c6d61u

#endif
