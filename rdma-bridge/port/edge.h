/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An edge port of the bridge: on each receive queue one AF_XDP ring for each VOQ, which XDP fills,
 * and one transmit ring for the egress queues. The port publishes its sockets in the map sl_xsk.
 * XDP drops a frame for which it finds no socket there (no-bridge).
 *
 * A port has one owner, the worker that alone fills its rings and transmits. Another worker may
 * read the ring of a VOQ: it copies the frames into chunks of its own and hands the emptied chunks
 * back to the owner. The port is opened, shut and closed while no worker runs.
 */
#ifndef RB_EDGE_H
#define RB_EDGE_H

#include "rdma-bridge/port/injector.h"
#include "rdma-bridge/queue/egress.h"
#include "rdma-bridge/queue/ingress.h"

#define RB_EDGE_WORKERS_MAX 16

struct rb_edge_config {
	const char *netdev;
	uint16_t system_port;
	struct rb_chunks *chunks;
	uint64_t area_bytes;  /* of the whole packet memory */
	const uint32_t *voqs; /* ids of the VOQs that lead to other nodes; each has a ring */
	uint32_t n_voqs;
	/* Of sl_meta, for sl_xsk_key. */
	uint32_t meta_ports, meta_queues, meta_voqs;
	uint32_t ring_size; /* entries of a VOQ's ring on one queue, a power of two */
	/* Chunks to keep in the fill ring of each queue. */
	uint32_t fill_target;
	/* Most chunks in the fill ring and the VOQ rings of a queue; at least fill_target. */
	uint32_t held_max;
	int xsk_fd;		      /* map sl_xsk */
	struct rb_injector *injector; /* borrowed: sends on this port; NULL: AF_XDP sends */
	/* With several workers; workers 0 means one, which owns the chunks above. */
	uint32_t workers;
	uint32_t owner; /* the worker that owns the port and the chunks above */
	int wake_fd;	/* borrowed: an eventfd that ends the owner's sleep */
	struct rb_chunks *const *reader_chunks; /* borrowed while opening: chunks of each worker */
	const uint8_t *readers; /* borrowed while opening: the worker that reads each VOQ */
};

struct rb_edge;

/*
 * Queues beyond meta_queues get no rings, and XDP drops what enters by them. 0; -ENODEV; -EINVAL:
 * sl_xsk has no place for this port or one of the VOQs; else as rb_xsk_open.
 */
int rb_edge_open(const struct rb_edge_config *config, struct rb_edge **out);
/*
 * Withdraw from the maps and close the sockets. Drops the frames that wait in the rings, and counts
 * them as it counts the kernel's drops. Frees the chunks of the fill rings. The tx's reap gives
 * back the frames that were being sent, sent or not. Works for a netdev that is gone.
 */
void rb_edge_shut(struct rb_edge *edge, struct sl_backlog *backlog, struct sl_counter *counters);
/* Free a port that was shut and whose tx nobody uses any more. NULL is fine. */
void rb_edge_close(struct rb_edge *edge);

uint32_t rb_edge_queues(const struct rb_edge *edge); /* queues that have rings */
bool rb_edge_is_zero_copy(const struct rb_edge *edge);
/* The input of VOQ voqs[i] on a queue. The worker that reads the VOQ links it. */
struct rb_input *rb_edge_input(struct rb_edge *edge, uint32_t queue, uint32_t i);
/* The back end that transmits on the port. It ends with the port; its close does nothing. */
struct rb_tx *rb_edge_tx(struct rb_edge *edge);
int rb_edge_fd(const struct rb_edge *edge, uint32_t queue,
	       uint32_t i); /* readable when frames wait */

/* Do frames wait in a ring of VOQ voqs[i]? Its worker may ask. */
bool rb_edge_waits(const struct rb_edge *edge, uint32_t i);

/* Fill the fill rings up. The owner calls it once a round. */
void rb_edge_refill(struct rb_edge *edge);
/*
 * For VOQs that this worker reads: take off the backlog the frames that XDP counted as enqueued but
 * the kernel had no room for. Costs a system call for each ring: call it a few times a second.
 */
void rb_edge_settle(struct rb_edge *edge, uint32_t worker, struct sl_backlog *backlog,
		    struct sl_counter *counters);

/* Frames dropped because they lacked the metadata of our XDP program. Must stay 0. */
uint64_t rb_edge_strangers(const struct rb_edge *edge);

#endif
