/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ingress side: the virtual output queues that lead to one other node. Frames wait in the rings
 * that XDP fills; a queue reads a few ahead, a deficit round robin over the queues chooses, each is
 * paced to its rate, and the chosen frames are packed into messages.
 *
 * Not thread-safe: belongs to the worker.
 */
#ifndef RB_INGRESS_H
#define RB_INGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma-bridge/queue/chunk.h"
#include "rdma-bridge/queue/frame_counters.h"
#include "rdma-bridge/queue/drr.h"
#include "rdma-bridge/queue/pace.h"
#include "rdma-bridge/queue/pack.h"

#define RB_READ_AHEAD 32 /* frames a VOQ holds outside its rings */

/* A frame from an edge port, in a chunk of RB_OWNER_INGRESS. */
struct rb_ingress_frame {
	uint64_t offset;
	uint64_t arrival_ns;
	uint32_t len_bytes;
	uint16_t ingress_port; /* system port; 0: the kernel */
};

/* One ring that feeds a VOQ: an AF_XDP socket, or a remote port's netdev. */
struct rb_input {
	/* Take up to max frames, which become RB_OWNER_INGRESS; how many. */
	uint32_t (*receive)(void *context, struct rb_ingress_frame *out, uint32_t max);
	void *context;
	struct rb_input *next; /* the VOQ's list */
};

struct rb_voq {
	uint16_t system_port;
	uint8_t class;
	volatile struct sl_voq *settings; /* borrowed: element of sl_voq; control.h writes it */
	struct sl_backlog
		*backlog; /* borrowed: element of sl_backlog; we write the bridge's half */
	struct rb_pace pace;
	struct rb_input *inputs; /* borrowed list */
	struct rb_input *turn;	 /* the input to be read next */
	struct rb_ingress_frame ahead[RB_READ_AHEAD];
	uint32_t first, n_ahead;
	bool ran_empty;		 /* since a controller cleared it: it could not have sent more */
	struct sl_counter taken; /* frames that left it: packed or dropped */
};

struct rb_ingress {
	uint32_t n_voqs;
	struct rb_voq *voqs; /* owned */
	struct rb_drr *drr;  /* owned; queue i is voqs[i] */
	struct rb_pack pack; /* the message being made */
	uint64_t opened_ns;  /* when its first frame came in */
	uint64_t now_ns;     /* of the current call */
	bool ready;	     /* the open message is to be sent as it is */
	bool held; /* a frame was chosen that did not fit; it is the first of the next message */
	struct rb_ingress_frame held_frame;
	uint32_t held_voq;
	uint64_t arrival_ns[RB_RECORDS_MAX];  /* of the frames in pack */
	uint64_t offsets[RB_RECORDS_MAX + 1]; /* their chunks; room for one of the sender's own */
};

/* n_voqs of 1 and up; message limit and degree as rb_pack_init has them. 0, -EINVAL, -ENOMEM. */
int rb_ingress_open(uint32_t n_voqs, uint32_t frame_max_bytes, uint32_t message_max_bytes,
		    uint32_t degree, struct rb_ingress **out);
/* What it holds is dropped as peer-down. NULL is fine. */
void rb_ingress_close(struct rb_ingress *in, struct rb_chunks *chunks, struct sl_counter *counters);

/* Set VOQ i up; its settings decide its rate from now on. */
void rb_ingress_set_voq(struct rb_ingress *in, uint32_t i, uint16_t system_port, uint8_t class,
			volatile struct sl_voq *settings, struct sl_backlog *backlog,
			uint64_t now_ns);
void rb_ingress_add_input(struct rb_ingress *in, uint32_t i, struct rb_input *input);
/* No effect if it is not an input of VOQ i. What was read from it stays. */
void rb_ingress_remove_input(struct rb_ingress *in, uint32_t i, const struct rb_input *input);
/* Another message size or degree; only while no message is open: -EBUSY. Else as rb_pack_init. */
int rb_ingress_set_limits(struct rb_ingress *in, uint32_t message_max_bytes, uint32_t degree);

/*
 * Put frames into the open message until it is full, nothing waits or nothing may leave. True if
 * there is a message to be sent: it is full, or has been open for delay_ns. Frames that fit no
 * message are dropped.
 */
bool rb_ingress_fill(struct rb_ingress *in, uint64_t delay_ns, uint64_t now_ns,
		     struct rb_chunks *chunks, struct sl_counter *counters);
/* The message is being sent at sent_ns: set the ages of its frames. */
void rb_ingress_seal(struct rb_ingress *in, uint64_t sent_ns);
/*
 * The message has left: count its frames and begin the next one. Their chunks, in->offsets, are the
 * caller's.
 */
void rb_ingress_sent(struct rb_ingress *in, struct sl_counter *counters);
/*
 * The node is not up: drop the open message and up to `budget` frames of each VOQ. Returns how
 * many.
 */
uint32_t rb_ingress_discard(struct rb_ingress *in, uint32_t budget, struct rb_chunks *chunks,
			    struct sl_counter *counters);
/*
 * After rb_ingress_fill: when the next frame of those that wait here may leave. now_ns: it may, but
 * found no room; UINT64_MAX: nothing waits, or only what is stopped.
 */
uint64_t rb_ingress_ready_at(const struct rb_ingress *in, uint64_t delay_ns, uint64_t now_ns);
/* Anything read ahead or packed? */
bool rb_ingress_is_waiting(const struct rb_ingress *in);

#endif
