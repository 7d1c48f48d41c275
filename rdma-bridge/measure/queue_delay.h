/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where the frames of a port waited, class by class and stage by stage, of a sample of them that is
 * drawn at random: which frame comes next does not depend on how many come at a time. The stages of
 * a frame add up to its total.
 *
 * The last stage ends when the port gives the frame back. Ports do so in the order in which they
 * got the frames, so a count says which one it is.
 *
 * Not thread-safe: belongs to the worker of the port.
 */
#ifndef RB_QUEUE_DELAY_H
#define RB_QUEUE_DELAY_H

#include <stdbool.h>
#include <stdint.h>

#include "delay/stats/histogram.h"
#include "rdma-bridge/wire/descriptor.h"

#define RB_DELAY_CLASSES   4
#define RB_DELAY_UNDER_WAY 256 /* measured frames that the port has, at most */
#define RB_DELAY_KEPT	   256 /* measured frames that have left, the last ones */
#define RB_DELAY_HEAD	   96  /* bytes of a frame that are kept: IPv6 and TCP in two tags */

/* A stage: its name, and what a frame does there */
#define RB_DELAY_STAGE_TABLE(X)                                                 \
	X(VOQ, "voq", "at its node of entry: virtual output queue and packing") \
	X(MESSAGE, "message", "in a message, between the bridges")              \
	X(QUEUE, "queue", "in the egress queue")                                \
	X(TRANSMIT, "transmit", "with the driver of the port")                  \
	X(TOTAL, "total", "all of them")

enum rb_delay_stage {
#define X(name, text, what) RB_DELAY_##name,
	RB_DELAY_STAGE_TABLE(X)
#undef X
		RB_DELAY_STAGES
};

/* How long a frame that the port gets now was in each stage before. */
struct rb_stay {
	uint64_t voq_ns, message_ns, queue_ns;
};

/* A measured frame. */
struct rb_delay_frame {
	uint64_t number;   /* of the frames that the port got */
	uint64_t given_ns; /* when the port got it */
	uint64_t transmit_ns;
	struct rb_stay stay;
	uint32_t len_bytes;
	uint16_t ingress_port; /* as in struct rb_frame */
	uint16_t error_us;     /* as in struct rb_frame */
	uint8_t class;
	bool express; /* it went past the bridges: its time is in message and driver */
	uint8_t head[RB_DELAY_HEAD]; /* the first bytes, or the whole frame */
};

struct rb_port_delay {
	struct sl_histogram stage[RB_DELAY_CLASSES][RB_DELAY_STAGES];
	uint32_t mean;	 /* 1 frame of so many is measured */
	uint32_t until;	 /* the next one */
	uint32_t random; /* the state of a generator */
	/* Frames that the port got and gave back, and those measured between: a ring */
	uint64_t given, back;
	struct rb_delay_frame under_way[RB_DELAY_UNDER_WAY];
	uint32_t first, n;
	/* The last ones that came back: number i of them, from 0, at i % RB_DELAY_KEPT */
	struct rb_delay_frame kept[RB_DELAY_KEPT];
	uint64_t n_kept; /* ever */
};

/* Measure 1 frame of `mean`, at least 1, from the first one on. 0, -ENOMEM. */
int rb_port_delay_create(uint32_t mean, struct rb_port_delay **out);
void rb_port_delay_destroy(struct rb_port_delay *delay); /* NULL is fine */

static inline struct rb_stay rb_stay_of(const struct rb_frame *frame, uint64_t now_ns)
{
	const uint64_t total_ns = now_ns > frame->arrival_ns ? now_ns - frame->arrival_ns : 0;
	const uint64_t before_ns = (uint64_t)frame->waited_ns + frame->message_ns;

	/* Clocks that jumped, or an age that its field could not hold */
	if (before_ns > total_ns)
		return (struct rb_stay){ .voq_ns = total_ns };
	return (struct rb_stay){ frame->waited_ns, frame->message_ns, total_ns - before_ns };
}

/* The port gets a frame now. Its bytes are frame->len_bytes long, and borrowed for the call. */
void rb_port_delay_give(struct rb_port_delay *delay, const struct rb_frame *frame,
			const uint8_t *bytes, uint64_t now_ns);
/* The port gives n frames back, and has sent each so long after the one before, or after from_ns.
 */
void rb_port_delay_back(struct rb_port_delay *delay, uint32_t n, uint64_t from_ns,
			uint64_t step_ns);
/* A frame that went past the bridges, and was drawn where it did, is measured. */
void rb_port_delay_add(struct rb_port_delay *delay, const struct rb_delay_frame *frame);
/* The port is another one: nothing that the former one has comes back in order. */
void rb_port_delay_restart(struct rb_port_delay *delay);

#endif
