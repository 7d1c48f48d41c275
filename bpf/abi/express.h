/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Express: while nothing waits for a VOQ, sl_edge itself makes a message of one frame and sends it
 * into the fabric, without the bridge. The bridge says for each path, the way to one worker of one
 * other node, whether that may be, and with which headers.
 */
#ifndef SL_EXPRESS_H
#define SL_EXPRESS_H

#include <linux/types.h>

#include "bpf/abi/abi.h"

/* What protects an express message. Both ends of a path agree on it in the start-up exchange. */
enum sl_express_check {
	SL_EXPRESS_NONE = 0,   /* the path takes no express messages */
	SL_EXPRESS_HEADER = 1, /* the UDP checksum's field covers the headers of the message */
	SL_EXPRESS_UDP = 2,    /* the UDP checksum (RFC 768), which covers all of the message */
	SL_EXPRESS_ICRC = 3,   /* as in the messages of bridges: any RoCE device takes it */
};

/*
 * Streams of a path (docs/PROTOCOL.md, 1.1): the bridge sends in stream 0, and a CPU sends express
 * messages in stream 1 + its number modulo SL_EXPRESS_STREAMS.
 */
#define SL_STREAMS_MAX	   16
#define SL_EXPRESS_STREAMS 8 /* a power of two */

#define SL_EXPRESS_HEADER4_BYTES 62 /* Ethernet, IPv4, UDP, BTH, DETH */
#define SL_EXPRESS_HEADER6_BYTES 82 /* the same with IPv6 */
#define SL_EXPRESS_HEADER_ROOM	 88

/* The next sequence number of a stream, in a cache line of its own. */
struct sl_express_stream {
	__u32 sequence;
	__u32 pad[15]; /* 0 */
};

/*
 * Map sl_express: path -> what sl_edge needs to send by it. Element node * n_workers + worker;
 * sl_meta has n_workers. The bridge writes all but `stream` and `used`.
 *
 * Order. The frames of a VOQ may take the express way only while none of them is under way by the
 * bridge: its backlog is 0, and the path is not busy. The bridge sets `busy` before it counts the
 * first frame out of a backlog, and clears it when the completions of all messages on the path have
 * come. So everything that entered before is on the wire.
 *
 * The bridge closes a path (until_ns 0) before it changes the headers. A program that reads them
 * meanwhile may send a message with headers of two lives of the peer, which no receiver accepts.
 */
struct sl_express_path {
	__u64 until_ns; /* CLOCK_MONOTONIC; 0: closed. A bridge that runs moves it on. */
	__u32 busy;	/* 1: messages of the bridge are under way */
	__u32 ifindex;	/* the fabric's netdev */
	__u32 epoch;	/* of the bridge's life */
	__u16 frame_max_bytes;
	__u8 node;	   /* of the receiver */
	__u8 check;	   /* enum sl_express_check */
	__u32 ip_sum;	   /* of the IPv4 header in `header`, for its checksum */
	__u32 pseudo_sum;  /* of the pseudo header without the length, for the UDP checksum */
	__u8 header_bytes; /* SL_EXPRESS_HEADER4_BYTES or _HEADER6_BYTES */
	__u8 pad[31];	   /* 0 */
	/* Lengths, checksums and the packet sequence number are 0. */
	__u8 header[SL_EXPRESS_HEADER_ROOM];
	__u32 used;	       /* XDP: 1: it sent a message; bridge: 0 */
	__u32 pad1;	       /* 0 */
	__s64 clock_offset_ns; /* CLOCK_MONOTONIC and this are the time in messages */
	__u8 pad2[24];	       /* 0 */
	struct sl_express_stream stream[SL_STREAMS_MAX];
};
SL_ASSERT_SIZE(struct sl_express_path, 192 + 64 * SL_STREAMS_MAX);

#define SL_EXPRESS_NODES 256 /* paths of each worker: by node id */

#endif
