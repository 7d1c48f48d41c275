/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An edge port as the bridge has it: for each receive queue an AF_XDP ring per VOQ, which XDP
 * fills, and one transmit ring for the egress queues. It publishes its sockets in sl_xsk; XDP drops
 * what has none (no-bridge).
 *
 * It belongs to one worker, who alone fills and transmits. The rings of a VOQ may be read by
 * another, in whose chunks the frames are then: they are copied, and what they came in is handed
 * back. What opens and shuts it runs while no worker does.
 */
#ifndef RB_EDGE_H
#define RB_EDGE_H

#include "rdma-bridge/queue/egress.h"
#include "rdma-bridge/port/injector.h"
#include "rdma-bridge/queue/ingress.h"

#define RB_EDGE_WORKERS_MAX 16

struct rb_edge_config {
	const char *netdev;
	uint16_t system_port;
	struct rb_chunks *chunks;
	uint64_t area_bytes;  /* of the whole packet memory */
	const uint32_t *voqs; /* VOQ ids that have a ring: those that lead to other nodes */
	uint32_t n_voqs;
	/* What sl_xsk_key needs, of sl_meta */
	uint32_t meta_ports, meta_queues, meta_voqs;
	uint32_t ring_size; /* entries of a VOQ's ring on one queue, a power of two */
	uint32_t
		/* chunks kept in the fill ring of each queue, whatever waits in its VOQs */
		fill_target;
	uint32_t held_max;	      /* with those that wait in its VOQs; at least fill_target */
	int xsk_fd;		      /* map sl_xsk */
	struct rb_injector *injector; /* borrowed: sends on this port; NULL: AF_XDP does */
	/* Where there are several workers; workers 0: one, whose chunks are the above. */
	uint32_t workers;
	uint32_t owner; /* whose chunks are the above */
	int wake_fd;	/* borrowed: an eventfd that ends the owner's sleep */
	struct rb_chunks *const *reader_chunks; /* borrowed while opening: by worker */
	const uint8_t *readers;			/* the same: of each VOQ, the worker */
};

struct rb_edge;

/*
 * Queues beyond meta_queues get no rings: what comes by them is dropped by XDP. 0; -ENODEV;
 * -EINVAL: sl_xsk has no place for this port or one of the VOQs; else as rb_xsk_open.
 */
int rb_edge_open(const struct rb_edge_config *config, struct rb_edge **out);
/*
 * Withdraw from the maps and close the sockets. Frames that waited in the rings are dropped,
 * counted as the kernel's drops are; chunks that were given to receive into are free again. What
 * was being transmitted comes out of the tx's reap, sent or not. Works for a netdev that is gone.
 */
void rb_edge_shut(struct rb_edge *edge, struct sl_backlog *backlog, struct sl_counter *counters);
/* Free a port that was shut, and whose tx the egress has let go. NULL is fine. */
void rb_edge_close(struct rb_edge *edge);

uint32_t rb_edge_queues(const struct rb_edge *edge); /* that have rings */
bool rb_edge_is_zero_copy(const struct rb_edge *edge);
/* The input of VOQ voqs[i] on a queue; its inputs are the worker's to link. */
struct rb_input *rb_edge_input(struct rb_edge *edge, uint32_t queue, uint32_t i);
/* What transmits on the port; closing it does nothing, it ends with the edge. */
struct rb_tx *rb_edge_tx(struct rb_edge *edge);
int rb_edge_fd(const struct rb_edge *edge, uint32_t queue,
	       uint32_t i); /* readable when frames wait */

/* Keep the fill rings full. Once a round of the owner. */
void rb_edge_refill(struct rb_edge *edge);
/*
 * Take frames that XDP counted as enqueued in VOQs of this worker, and the kernel then had no room
 * for, off the backlog. Costs a system call per ring: a few times a second.
 */
void rb_edge_settle(struct rb_edge *edge, uint32_t worker, struct sl_backlog *backlog,
		    struct sl_counter *counters);

/* Frames without the metadata that XDP puts below them; they are dropped. Must stay 0. */
uint64_t rb_edge_strangers(const struct rb_edge *edge);

#endif
