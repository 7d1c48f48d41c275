/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The messages that nodes send each other over the fabric, byte by byte as docs/PROTOCOL.md has
 * them: structs to bytes, bytes to structs, and a verdict on bytes that arrive. Pure, no state.
 *
 * A message is one header, `count` records and, for data, the frames themselves. Integers are
 * big-endian on the wire and in host order in every struct here.
 */
#ifndef RB_WIRE_H
#define RB_WIRE_H

#include <stdint.h>

#include "bpf/abi/voq.h"
#include "rdma-bridge/wire/descriptor.h"

#define RB_WIRE_VERSION 1

#define RB_MSG_HEADER_BYTES   24
#define RB_FRAME_HEADER_BYTES 12
#define RB_FEEDBACK_BYTES     32
#define RB_HELLO_BYTES	      16
#define RB_POLICY_BYTES	      48 /* and 8 for each parameter */
#define RB_POLICY_PARAMS_MAX  32
#define RB_REPORT_BYTES	      16
#define RB_MSG_MAX_BYTES      65535 /* the length field has 16 bits */
#define RB_RECORDS_MAX	      255   /* the count field has 8: frames or records in one message */
#define RB_FRAME_MIN_BYTES    14    /* an Ethernet header */
#define RB_STREAMS_MAX	      16    /* streams of one queue pair */

/* The bytes that a message adds to a single frame in it. */
#define RB_MSG_OVERHEAD_BYTES (RB_MSG_HEADER_BYTES + RB_FRAME_HEADER_BYTES)

enum rb_msg_type {
	RB_MSG_DATA = 1,     /* count frames, 1..255 */
	RB_MSG_FEEDBACK = 2, /* count feedback records, 1..255 */
	RB_MSG_HELLO = 3,    /* one hello record */
	RB_MSG_ANNOUNCE = 4, /* one announcement of the sender's daemon, opaque to the bridge */
	RB_MSG_POLICY = 5,   /* the controller of one port of the sender */
	RB_MSG_REPORT = 6,   /* count reports of VOQs that lead to the receiver, 1..255 */
	RB_MSG_TYPE_COUNT
};

/*
 * The verdict on a received message: OK, or the reason why the receiver drops the whole message. A
 * message counts under exactly one verdict. wire.c gives the verdicts before UNKNOWN_NODE, from the
 * bytes alone; peer.c gives the others.
 */
#define RB_VERDICTS(X)                                                                        \
	X(OK, "ok", "delivered")                                                              \
	X(TRUNCATED, "truncated", "shorter than a message header")                            \
	X(VERSION, "version", "another version of the protocol")                              \
	X(TYPE, "type", "a message type that does not exist")                                 \
	X(LENGTH, "length", "length field differs from the bytes that arrived")               \
	X(STREAM, "stream", "a stream number above the largest")                              \
	X(SOURCE, "source", "from node 0 or from ourselves")                                  \
	X(DESTINATION, "destination", "for another node")                                     \
	X(RECORD_COUNT, "record-count",                                                       \
	  "a number of records that its type or length does not allow")                       \
	X(FRAME_LENGTH, "frame-length", "frame too short, or frames do not fill the message") \
	X(FRAME_PORT, "frame-port", "for port 0, or a port of another node")                  \
	X(FRAME_INGRESS, "frame-ingress",                                                     \
	  "claims to have entered at a port that is not the sender's")                        \
	X(FRAME_CLASS, "frame-class", "a class that does not exist")                          \
	X(FRAME_FLAGS, "frame-flags", "a flag that does not exist")                           \
	X(RECORD, "record",                                                                   \
	  "a feedback, hello, policy or report with an impossible port, class or value")      \
	X(UNKNOWN_NODE, "unknown-node", "from a node that is no peer, or not yet")            \
	X(EPOCH, "epoch", "from a life of the peer that has not introduced itself")           \
	X(DUPLICATE, "duplicate", "a sequence number that was received before")               \
	X(STALE, "stale", "a sequence number too old to be judged: replayed or very late")
#define RB_ENUM_VERDICT(id, name, text) RB_VERDICT_##id,
enum rb_verdict { RB_VERDICTS(RB_ENUM_VERDICT) RB_VERDICT_COUNT };

/* The name that users see. verdict is below RB_VERDICT_COUNT. */
const char *rb_verdict_name(enum rb_verdict verdict);

struct rb_msg_header {
	uint8_t type;	     /* enum rb_msg_type */
	uint8_t source;	     /* node id of the sender, 1..255 */
	uint8_t destination; /* node id of the receiver, 1..255 */
	/*
	 * Tells apart sending threads that share a queue pair, below RB_STREAMS_MAX. A worker has a
	 * queue pair of its own, so it sends stream 0.
	 */
	uint8_t stream;
	uint8_t count;	       /* records that follow */
	uint16_t length_bytes; /* of the whole message, this header included */
	uint32_t epoch;	       /* of the sender: which life of it, not 0 */
	uint32_t sequence;     /* 0, 1, 2, ... per (epoch, stream, destination), wraps */
	uint64_t sent_ns;      /* our clock when the message was made; base of frame ages */
	/*
	 * What the encoder adds to sent_ns; the decoder subtracts the receiver's. The clock of the
	 * messages less ours, 0 where each node has its own there.
	 */
	int64_t clock_offset_ns;
};

/*
 * Feedback from an egress to an ingress that feeds one of its queues. The controllers of cc/ define
 * word and wide; the fabric only carries them. The receiver ignores a record older than the newest
 * seen.
 */
struct rb_feedback {
	uint16_t system_port; /* of the sender */
	uint8_t class;	      /* below SL_CLASSES */
	uint8_t controller;   /* number of the algorithm that speaks */
	uint32_t sequence;    /* per egress queue, wraps */
	uint32_t word[4];
	uint64_t wide;
};

/*
 * A policy from an egress to an ingress that feeds one of its ports: the controller and its
 * parameters. The controllers of cc/ define what the numbers mean; struct cc_port has their ranges.
 * The receiver ignores a generation that is not newer than the newest seen.
 */
struct rb_policy {
	uint16_t system_port; /* of the sender */
	uint8_t controller;
	uint8_t unit;	     /* enum sl_unit */
	uint32_t generation; /* one more with each change, wraps */
	uint32_t interval_ns;
	uint16_t frame_bytes;
	uint16_t sources;
	uint64_t capacity;	     /* of the port, units a second */
	uint64_t line;		     /* the most that one source can send, units a second */
	uint16_t weight[SL_CLASSES]; /* of the receiver, by class */
	uint8_t n_params;	     /* 0..RB_POLICY_PARAMS_MAX */
	uint64_t param[RB_POLICY_PARAMS_MAX];
};

/* A report from an ingress to the egress that one of its VOQs leads to. */
struct rb_report {
	uint16_t system_port; /* of the receiver */
	uint8_t class;	      /* below SL_CLASSES */
	uint32_t sequence;    /* per VOQ, wraps */
	uint32_t waiting;     /* units in the VOQ */
};

struct rb_hello {
	uint32_t heard_epoch; /* the receiver's epoch if the sender hears the receiver, else 0 */
	uint32_t interval_us; /* the sender's longest pause between hellos, not 0 */
	int64_t transit_ns;   /* rb_transit_here_ns() of the sender, for messages of the receiver */
};

/* Encoders write exactly the RB_*_BYTES of their kind, and do not check values. */
void rb_msg_header_encode(const struct rb_msg_header *header, uint8_t *out);
/* The frame's age is from its arrival to sent_ns, the time of the message's header. */
/* How long a frame has been here, at most 2^32 - 1 ns. */
uint32_t rb_frame_age_ns(const struct rb_frame *frame, uint64_t now_ns);
void rb_frame_header_encode(const struct rb_frame *frame, uint64_t sent_ns, uint8_t *out);
void rb_feedback_encode(const struct rb_feedback *record, uint8_t *out);
void rb_hello_encode(const struct rb_hello *hello, uint8_t *out);
/* Writes and returns RB_POLICY_BYTES + 8 * n_params bytes. */
uint32_t rb_policy_encode(const struct rb_policy *policy, uint8_t *out);
void rb_report_encode(const struct rb_report *report, uint8_t *out);

/* The receiving node, which judges. */
struct rb_receiver {
	uint8_t node;		 /* own node id */
	int64_t clock_offset_ns; /* as in struct rb_msg_header */
};

/*
 * Judge a message's header: its fields against each other, against the receiver and against the
 * number of bytes that arrived.
 *
 * msg     the message, without any transport header; bytes as the transport delivered them
 * header  filled in when the verdict is OK
 */
enum rb_verdict rb_msg_header_decode(const struct rb_receiver *self, const uint8_t *msg,
				     uint32_t bytes, struct rb_msg_header *header);

/*
 * Turn a message's body into records. `header` is what rb_msg_header_decode made of the same bytes
 * with verdict OK, and its type is the function's. OK means that every record is good; on any other
 * verdict *n is 0 and the caller uses nothing of the message.
 *
 * offset  of msg in packet memory; the frames stay where they are
 * now_ns  the receiver's clock; their ages are counted back from it
 * out     borrowed array of RB_RECORDS_MAX entries; *n entries are written, in the order they were
 *         packed
 */
enum rb_verdict rb_unpack_frames(const struct rb_receiver *self, const struct rb_msg_header *header,
				 const uint8_t *msg, uint64_t offset, uint64_t now_ns,
				 struct rb_frame *out, uint32_t *n);
enum rb_verdict rb_unpack_feedback(const struct rb_msg_header *header, const uint8_t *msg,
				   struct rb_feedback *out, uint32_t *n);
/* Find the daemon's announcement in the message: first byte and length, at least 1. */
void rb_unpack_announce(const struct rb_msg_header *header, const uint8_t *msg,
			const uint8_t **body, uint32_t *body_bytes);
enum rb_verdict rb_unpack_hello(const struct rb_msg_header *header, const uint8_t *msg,
				struct rb_hello *out);
enum rb_verdict rb_unpack_policy(const struct rb_msg_header *header, const uint8_t *msg,
				 struct rb_policy *out);
enum rb_verdict rb_unpack_reports(const struct rb_receiver *self,
				  const struct rb_msg_header *header, const uint8_t *msg,
				  struct rb_report *out, uint32_t *n);

#endif
