/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A network in memory with transports on it, for tests. It loses, duplicates, delays and reorders
 * messages as it is told, from a seed, in time that the caller lets pass. So every run is
 * repeatable.
 *
 * Not thread-safe: a network and all its transports belong to one thread.
 */
#ifndef RB_MEM_H
#define RB_MEM_H

#include "rdma-bridge/transport/transport.h"

struct rb_mem_config {
	uint64_t seed;
	uint32_t loss_ppm;	/* messages lost, of a million */
	uint32_t duplicate_ppm; /* messages that come twice */
	/* messages delayed by reorder_ns more, so that others overtake them */
	uint32_t reorder_ppm;
	uint32_t mark_ppm; /* messages that get a congestion mark */
	uint64_t delay_ns;
	uint64_t reorder_ns;
	uint8_t only_type;	/* the enum rb_msg_type that suffers this; 0: any */
	uint32_t in_flight_max; /* messages on the way; a send beyond finds no room */
	bool lend;		/* sends borrow their pieces until the next poll, as adapters do */
};

struct rb_mem_network;

/* 0, -EINVAL: a ppm above a million, or in_flight_max 0; -ENOMEM. */
int rb_mem_network_create(const struct rb_mem_config *config, struct rb_mem_network **out);
/* Close all its transports first. NULL is fine. */
void rb_mem_network_destroy(struct rb_mem_network *network);
/* Change what happens to messages; in_flight_max stays. */
void rb_mem_network_set(struct rb_mem_network *network, const struct rb_mem_config *config);
/* Let time pass until now_ns: messages due by then arrive. Time starts at 0. */
void rb_mem_network_advance(struct rb_mem_network *network, uint64_t now_ns);

struct rb_mem_stats {
	uint64_t lost, duplicated, reordered; /* by the network */
	uint64_t refused; /* no such queue pair, a wrong queue key, or too long */
};
void rb_mem_network_stats(const struct rb_mem_network *network, struct rb_mem_stats *out);

/*
 * Open a transport on the network. gid, qpn, qkey and message_max_bytes of `self` say how to reach
 * it; receive_max is the most chunks that it takes. 0, -EINVAL, -EEXIST (the same gid and QPN),
 * -ENOSPC (256 are open), -ENOMEM.
 */
int rb_mem_open(struct rb_mem_network *network, const struct rb_endpoint *self,
		struct rb_chunks *chunks, uint32_t receive_max, struct rb_transport **out);

#endif
