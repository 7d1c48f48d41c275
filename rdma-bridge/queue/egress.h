/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The egress side: one queue per (edge port, class), served by strict priority between levels and
 * deficit round robin inside one, shaped to the port's rate, and transmitted straight out of the
 * chunk that the message arrived in.
 *
 * Not thread-safe: belongs to the worker.
 */
#ifndef RB_EGRESS_H
#define RB_EGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma-bridge/queue/chunk.h"
#include "rdma-bridge/queue/drr.h"
#include "rdma-bridge/queue/frame_counters.h"
#include "rdma-bridge/queue/pace.h"
#include "rdma-bridge/queue/tx.h"
#include "rdma-bridge/wire/wire.h"

struct rb_egress_class_config {
	/* below RB_DRR_LEVELS; a higher level goes first, whatever waits below */
	uint32_t level;
	uint32_t weight; /* share among the classes of its level */
	uint32_t
		/* rounded up to a power of two; a frame that finds so many is dropped */
		limit_frames;
};

struct rb_egress_config {
	uint16_t system_port;
	uint32_t frame_max_bytes;
	uint64_t rate; /* of the port, units a second; SL_RATE_UNLIMITED: as fast as it goes */
	uint32_t unit; /* enum sl_unit */
	uint32_t burst;
	struct rb_egress_class_config class[SL_CLASSES];
};

struct rb_egress_frame {
	uint64_t offset;
	uint32_t len_bytes;
	uint8_t source; /* node it came from */
};

struct rb_egress_queue {
	struct rb_egress_frame *frames; /* owned ring */
	uint32_t mask;
	uint32_t head, tail; /* tail - head wait */
	/* For a controller: since the port was opened. */
	struct sl_counter arrived, departed, dropped;
	uint64_t arrived_from[256]; /* units, dropped ones included, by source node */
	uint8_t last_source;	    /* node of the latest arrival; 0: none yet */
	uint32_t
		/* so many may arrive before on_sample is called, once; 0: it is not */
		sample_units;
};

/* A controller wants a sample of a queue; called between two frames. */
typedef void (*rb_sample_fn)(void *context, uint32_t class);

struct rb_egress_port {
	uint16_t system_port;
	uint32_t unit;
	struct rb_pace pace;
	struct rb_drr *drr; /* owned */
	struct rb_tx
		*tx; /* owned; NULL while the port is down: what waits and arrives is dropped */
	struct rb_egress_queue queue[SL_CLASSES];
	rb_sample_fn on_sample; /* set where a sample_units is */
	void *sample_context;
	struct sl_counter under_way; /* put, and not known to be sent or refused */
	uint64_t settled;	     /* of the tx's refused: counted as drops */
};

int rb_egress_open(const struct rb_egress_config *config, uint64_t now_ns,
		   struct rb_egress_port **out); /* 0, -EINVAL, -ENOMEM */
void rb_egress_close(struct rb_egress_port *port, struct rb_chunks *chunks,
		     struct sl_counter *counters); /* frees what waits; NULL is fine */

/* Hand a frame in a MESSAGE chunk to its queue, or drop it and release its use of the chunk. */
void rb_egress_enqueue(struct rb_egress_port *port, uint32_t class,
		       const struct rb_egress_frame *frame, struct rb_chunks *chunks,
		       struct sl_counter *counters);
/* Send what may be sent now, at most `budget` frames. Returns how many were. */
uint32_t rb_egress_serve(struct rb_egress_port *port, uint32_t budget, uint64_t now_ns);
/* Start what was put, and count what became of it. As rb_tx_ops.flush. */
int rb_egress_flush(struct rb_egress_port *port, struct sl_counter *counters);
/* Take back sent chunks. */
void rb_egress_reap(struct rb_egress_port *port, struct rb_chunks *chunks);
/*
 * The port went down (tx NULL) or came back. The former tx is closed, and what it held is dropped.
 */
void rb_egress_set_tx(struct rb_egress_port *port, struct rb_tx *tx, struct rb_chunks *chunks,
		      struct sl_counter *counters);

uint32_t rb_egress_backlog(const struct rb_egress_port *port, uint32_t class); /* frames */

#endif
