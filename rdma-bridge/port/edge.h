/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An edge port of the bridge: on each receive queue one AF_XDP ring for each worker, with the
 * frames of all VOQs that the worker reads, and one transmit ring for the egress queues. A ring is
 * no queue: its worker empties it each round, and sorts the frames into VOQs by their metadata. The
 * port publishes its sockets in the map sl_xsk. XDP drops a frame for which it finds no socket
 * there (no-bridge).
 *
 * A port has one owner, the worker that alone fills its rings and transmits. Another worker copies
 * the frames of its rings into chunks of its own and hands the emptied chunks back to the owner.
 * The port is published, withdrawn, shut and closed while no worker runs.
 */
#ifndef RB_EDGE_H
#define RB_EDGE_H

#include "rdma-bridge/port/injector.h"
#include "rdma-bridge/queue/egress.h"
#include "rdma-bridge/queue/ingress.h"

#define RB_EDGE_WORKERS_MAX SL_WORKERS_MAX

struct rb_edge_config {
	const char *netdev;
	uint16_t system_port;
	struct rb_chunks *chunks;
	uint64_t area_bytes; /* of the whole packet memory */
	/* Of sl_meta: limits of ports, receive queues and VOQ ids. Workers are those below. */
	uint32_t meta_ports, meta_queues, meta_voqs;
	struct sl_ring *rings; /* borrowed until the port is shut: all elements of sl_ring */
	/* Chunks to keep in the fill ring of each queue. */
	uint32_t fill_target;
	int xsk_fd;		      /* map sl_xsk */
	struct rb_injector *injector; /* borrowed: sends on this port; NULL: AF_XDP sends */
	/* With several workers; workers 0 means one, which owns the chunks above. */
	uint32_t workers;
	uint32_t owner; /* the worker that owns the port and the chunks above */
	int wake_fd;	/* borrowed: an eventfd that ends the owner's sleep */
	struct rb_chunks *const *reader_chunks; /* read by rb_edge_begin: chunks of each worker */
};

struct rb_edge;

/*
 * Begin to open the sockets in a thread of the port's own, since the kernel may take tens of
 * milliseconds; workers may run meanwhile. Queues beyond meta_queues get no rings, and XDP drops
 * what enters by them. 0; -ENOMEM; -EINVAL: too many workers.
 */
int rb_edge_begin(const struct rb_edge_config *config, struct rb_edge **out);
/*
 * Has the thread come to an end? Then *err says how: 0; -ENODEV; -EINVAL: sl_xsk has no place for
 * this port; else as rb_xsk_open. After an error the port can only be shut and closed.
 */
bool rb_edge_has_opened(const struct rb_edge *edge, int *err);
/* Fill the rings and let XDP find the sockets. 0; -errno: shut it and close it. */
int rb_edge_publish(struct rb_edge *edge);
/* All three, waiting; after an error *out is NULL. */
int rb_edge_open(const struct rb_edge_config *config, struct rb_edge **out);
/*
 * Withdraw from the maps and begin to close the sockets, in a thread of the port's own: each takes
 * the kernel a grace period. The port receives and transmits nothing from now on. It is withdrawn
 * while no worker runs; the workers may go on then.
 */
void rb_edge_withdraw(struct rb_edge *edge);
/* Has the thread closed all sockets, so that rb_edge_shut does not wait? */
bool rb_edge_is_withdrawn(const struct rb_edge *edge);
/*
 * Wait for the end of opening, and of rb_edge_withdraw, which this does where nobody has. Drops the
 * frames that wait in the rings, and counts them as it counts the kernel's drops. Frees the chunks
 * of the fill rings. The tx's reap gives back the frames that were being sent, sent or not. Works
 * for a netdev that is gone.
 */
void rb_edge_shut(struct rb_edge *edge, struct sl_backlog *backlog, struct sl_counter *counters);
/* Free a port that was shut and whose tx nobody uses any more. NULL is fine. */
void rb_edge_close(struct rb_edge *edge);

uint32_t rb_edge_queues(const struct rb_edge *edge);  /* queues that have rings */
uint32_t rb_edge_ifindex(const struct rb_edge *edge); /* of the netdev it was opened on */
bool rb_edge_is_zero_copy(const struct rb_edge *edge);
/*
 * Take up to max frames out of the rings that this worker reads. Their chunks become
 * RB_OWNER_INGRESS of the worker's chunks. Frames that XDP admitted and that never came are counted
 * off the backlog, as soon as a later frame of the same ring comes. Returns how many it took.
 */
uint32_t rb_edge_receive(struct rb_edge *edge, uint32_t worker, struct sl_backlog *backlog,
			 struct sl_counter *counters, struct rb_frame *out, uint32_t max);
/* The back end that transmits on the port. It ends with the port; its close does nothing. */
struct rb_tx *rb_edge_tx(struct rb_edge *edge);
/* Readable when frames wait for this worker. */
int rb_edge_fd(const struct rb_edge *edge, uint32_t queue, uint32_t worker);

/* Fill the fill rings up. The owner calls it once a round. */
void rb_edge_refill(struct rb_edge *edge);
/*
 * For rings that this worker reads: count off the backlog the frames that never came where no later
 * frame tells. Call it every millisecond or so; it costs a system call only where frames are
 * missing.
 */
void rb_edge_settle(struct rb_edge *edge, uint32_t worker, struct sl_backlog *backlog,
		    struct sl_counter *counters, uint64_t now_ns);
/* Tell XDP how much of its free memory this worker lets one VOQ take. */
void rb_edge_share(struct rb_edge *edge, uint32_t worker);

/* Frames dropped because they lacked the metadata of our XDP program. Must stay 0. */
uint64_t rb_edge_strangers(const struct rb_edge *edge);

#endif
