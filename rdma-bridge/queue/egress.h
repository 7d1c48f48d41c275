/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The egress side: one queue per (edge port, class). Strict priority between levels and fair
 * queueing inside a level, in the unit of the port's rate, choose the next frame, and a token
 * bucket shapes the port to that rate. The port sends a frame straight out of the chunk that its
 * message arrived in. In place of one queue, a class may have flow queues (egress_flows.h).
 *
 * Not thread-safe: belongs to the worker of the port.
 */
#ifndef RB_EGRESS_H
#define RB_EGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma-bridge/measure/port_busy.h"
#include "rdma-bridge/measure/queue_delay.h"
#include "rdma-bridge/queue/chunk.h"
#include "rdma-bridge/queue/egress_flows.h"
#include "rdma-bridge/queue/frame_counters.h"
#include "rdma-bridge/scheduler/pace.h"
#include "rdma-bridge/queue/tx.h"
#include "rdma-bridge/scheduler/wfq.h"
#include "rdma-bridge/wire/wire.h"

struct rb_egress_class_config {
	uint32_t level;	 /* below RB_WFQ_LEVELS; a higher level goes first */
	uint32_t weight; /* share among the classes of its level */
	/* Most frames that wait, rounded up to a power of two; a full queue drops arrivals. */
	uint32_t limit_frames;
	/* Flow queues in its place, with their own limits: borrowed by rb_egress_open; or NULL. */
	const struct fq_config *flows;
};

struct rb_egress_config {
	uint16_t system_port;
	uint64_t rate; /* of the port, units a second, or SL_RATE_UNLIMITED */
	uint32_t unit; /* enum sl_unit */
	uint32_t burst;
	struct fq_hash_key flow_key; /* of the hash of flows */
	uint32_t delay_sample;	     /* measure the delay of 1 frame of so many; 0: nothing */
	struct rb_egress_class_config class[SL_CLASSES];
};

struct rb_egress_queue {
	struct rb_egress_flows *flows; /* owned; NULL: the class has one queue, the ring */
	struct rb_frame *frames;       /* owned ring */
	uint32_t mask;
	uint32_t head, tail; /* tail - head frames wait */
	/* For controllers; since the port was opened. */
	struct sl_counter arrived, departed, dropped;
	uint64_t arrived_from[256]; /* units, with those dropped, by source node */
	/* What classes of higher levels send; kept if the policy of `flows` asks for shares. */
	struct {
		uint64_t since_ns, bytes; /* what they had sent then */
		uint64_t rate_Bps;	  /* in the time before */
	} above;
	/* Units that may still arrive before one call of on_sample; 0: no call. */
	uint32_t sample_units;
};

/* A queue has received sample_units; called between two frames. */
typedef void (*rb_sample_fn)(void *context, uint32_t class);

struct rb_egress_port {
	uint16_t system_port;
	uint32_t unit;
	struct rb_pace pace;
	__u64 clock;	    /* the pace's, unless XDP shares another one with it */
	uint32_t n_waiting; /* frames in all queues */
	struct rb_wfq wfq;  /* among the queues */
	struct rb_tx *tx;   /* owned; NULL: the port is down and drops every frame */
	struct rb_egress_queue queue[SL_CLASSES];
	rb_sample_fn on_sample; /* set if the sample_units of a queue is not 0 */
	void *sample_context;
	struct rb_port_delay *delay; /* owned; NULL: not measured, and no busy periods either */
	struct rb_port_busy *busy;   /* owned */
	uint32_t lent;		     /* frames that tx has not given back */
	struct sl_counter under_way; /* given to tx, which has not sent or refused them yet */
	uint64_t settled;	     /* of tx->refused: counted as drops already */
};

int rb_egress_open(const struct rb_egress_config *config, uint64_t now_ns,
		   struct rb_egress_port **out); /* 0, -EINVAL, -ENOMEM */
void rb_egress_close(struct rb_egress_port *port, struct rb_chunks *chunks,
		     struct sl_counter *counters); /* drops what waits; NULL is fine */
/*
 * Give the port the rate, scheduler and queues of `next`, which has just been opened, and close
 * that. Netdev, counters and measurements stay. Frames that wait go into the new queues, those of a
 * flow in order, as far as these take them; the rest is dropped. Reserved flows get the like queue:
 * returns how many found none.
 */
uint32_t rb_egress_become(struct rb_egress_port *port, struct rb_egress_port *next,
			  struct rb_chunks *chunks, struct sl_counter *counters, uint64_t now_ns);

/*
 * Put a frame in a MESSAGE chunk into its queue, or drop it and end its use of the chunk. Flow
 * queues may drop another frame instead.
 */
void rb_egress_enqueue(struct rb_egress_port *port, const struct rb_frame *frame,
		       struct rb_chunks *chunks, struct sl_counter *counters, uint64_t now_ns);
/*
 * Give tx the frames that may leave now, at most `budget`. Returns how many. Flow queues may drop
 * frames.
 */
uint32_t rb_egress_serve(struct rb_egress_port *port, uint32_t budget, struct rb_chunks *chunks,
			 struct sl_counter *counters, uint64_t now_ns);
/*
 * Make tx send, and count what it sent and refused. Returns what rb_tx_ops.flush returns.
 * -ENETDOWN: the netdev is down; tx keeps what it has until it is up, and what waited here was
 * dropped.
 */
int rb_egress_flush(struct rb_egress_port *port, struct rb_chunks *chunks,
		    struct sl_counter *counters);
/*
 * Take back frames that tx is done with. Of those that it has not given back yet, it may have sent
 * the first ones from from_ns on, and the last one until until_ns: one after the other, as copy
 * mode does in one system call, where each takes as long as the next.
 */
void rb_egress_reap(struct rb_egress_port *port, struct rb_chunks *chunks, uint64_t from_ns,
		    uint64_t until_ns);
/*
 * Replace the port's tx when the port goes down (NULL) or comes back. Closes the former tx. A port
 * that is down drops the frames that wait.
 */
void rb_egress_set_tx(struct rb_egress_port *port, struct rb_tx *tx, struct rb_chunks *chunks,
		      struct sl_counter *counters);

/* Has it frames, or lent some to its tx? If not, there is nothing to serve, flush or reap. */
static inline bool rb_egress_is_idle(const struct rb_egress_port *port)
{
	return port->n_waiting == 0 && port->lent == 0;
}

uint32_t rb_egress_backlog(const struct rb_egress_port *port, uint32_t class); /* frames */
uint32_t rb_egress_limit(const struct rb_egress_port *port, uint32_t class);   /* frames */

#endif
