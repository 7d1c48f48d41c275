/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flow queues of one class of an edge port, in place of its one queue: frames wait by flow, and
 * a discard policy of queues/ decides which of them are dropped or marked.
 *
 * The scheduler of the port wants to know the length of the frame that the class would send, but a
 * policy may drop frames up to the moment that one leaves. So the frame that leaves next is taken
 * out of its queue when the scheduler asks, and stays at the head of the class until it is sent.
 *
 * Not thread-safe: belongs to its port.
 */
#ifndef RB_EGRESS_FLOWS_H
#define RB_EGRESS_FLOWS_H

#include <stdbool.h>
#include <stdint.h>

#include "queues/fq.h"
#include "queues/reserved_flows.h"
#include "queues/siphash.h"
#include "rdma-bridge/queue/chunk.h"
#include "rdma-bridge/queue/frame_counters.h"
#include "rdma-bridge/wire/descriptor.h"

/* What a call needs to drop frames. */
struct rb_egress_drops {
	struct rb_chunks *chunks;
	struct sl_counter *counters; /* by enum rb_frame_counter */
	struct sl_counter *total;    /* of the class */
};

/* Takes a frame over. */
typedef void (*rb_frame_fn)(void *context, const struct rb_frame *frame);

struct rb_egress_flows {
	struct fq_port *port; /* owned memory */
	struct fq_hash_key key;
	struct fq_reserved reserved; /* flows that have one of the port's reserved queues */
	struct rb_frame *frame;	     /* owned: the frames of `port`, by handle */
	uint32_t *free;		     /* owned: stack of the handles that are not in use */
	uint32_t n_free;
	bool has_head;
	struct rb_frame head; /* valid while has_head */
	/* Since the class was opened. */
	uint64_t marked;		/* frames that left with an ECN mark of the policy */
	uint64_t dropped[FQ_N_REASONS]; /* frames */
	struct rb_egress_drops drops;	/* borrowed for the time of a call */
	rb_frame_fn take;		/* during rb_egress_flows_drain; else NULL */
	void *take_context;
};

/*
 * Make the flow queues of a class. config is prepared and is copied; key is of the hash that
 * spreads flows. 0 or -ENOMEM.
 */
int rb_egress_flows_open(const struct fq_config *config, const struct fq_hash_key *key,
			 struct rb_egress_flows **out);
void rb_egress_flows_close(struct rb_egress_flows *flows); /* holds no frame; NULL is fine */

/*
 * Give a flow a queue of its own with this weight, or take it away; of `flow`, the key counts.
 * Errors as of fq_reserved_put and fq_reserved_remove.
 */
int rb_egress_flows_reserve(struct rb_egress_flows *flows, const struct fq_flow *flow,
			    uint32_t weight);
int rb_egress_flows_release(struct rb_egress_flows *flows, const struct fq_flow *flow);
void rb_egress_flows_release_all(struct rb_egress_flows *flows);

/* Take a frame in a MESSAGE chunk into the queue of its flow. May drop this or other frames. */
void rb_egress_flows_put(struct rb_egress_flows *flows, const struct rb_frame *frame,
			 const struct rb_egress_drops *drops, uint64_t now_ns);
/* The frame that leaves next, valid until the next call, or NULL. May drop frames before it. */
const struct rb_frame *rb_egress_flows_head(struct rb_egress_flows *flows,
					    const struct rb_egress_drops *drops, uint64_t now_ns);
/* Take that frame; there is one. */
struct rb_frame rb_egress_flows_take(struct rb_egress_flows *flows);
/* Drop all frames, as those of a port that is down. */
void rb_egress_flows_flush(struct rb_egress_flows *flows, const struct rb_egress_drops *drops);

/* Hand all frames over: those of a queue in order, whatever the policy would do with them. */
void rb_egress_flows_drain(struct rb_egress_flows *flows, rb_frame_fn take, void *context);
/*
 * Give the flows that have queues of their own the like among the queues `to`, which is new.
 * Returns how many found none.
 */
uint32_t rb_egress_flows_inherit(const struct rb_egress_flows *flows, struct rb_egress_flows *to);

static inline uint32_t rb_egress_flows_backlog(const struct rb_egress_flows *flows)
{
	return flows->port->n_frames + flows->has_head;
}

/* Queues that have frames. Takes a step for each queue. */
uint32_t rb_egress_flows_in_use(const struct rb_egress_flows *flows);

#endif
