/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A network in memory, with transports on it: for tests and for the simulator. It loses,
 * duplicates, delays and reorders as told, from a seed, in time that the caller lets pass; so every
 * run can be had again.
 *
 * Not thread-safe: a network and all its transports belong to one thread.
 */
#ifndef RB_MEM_H
#define RB_MEM_H

#include "rdma-bridge/transport/transport.h"

struct rb_mem_config {
	uint64_t seed;
	uint32_t loss_ppm;	/* of a million messages, so many are lost */
	uint32_t duplicate_ppm; /* so many come twice */
	uint32_t reorder_ppm;	/* so many are overtaken: delayed by reorder_ns more */
	uint32_t mark_ppm;	/* so many carry a congestion mark */
	uint64_t delay_ns;
	uint64_t reorder_ns;
	/* all of the above meets messages of this enum rb_msg_type; 0: of any */
	uint8_t only_type;
	uint32_t in_flight_max; /* messages on the way; a send beyond them finds no room */
	/* sends borrow their pieces until the next poll, as adapters do */
	bool lend;
};

struct rb_mem_network;

/* -EINVAL: a share above a million, or in_flight_max 0; -ENOMEM. */
int rb_mem_network_create(const struct rb_mem_config *config, struct rb_mem_network **out);
/* All transports must be closed. NULL is fine. */
void rb_mem_network_destroy(struct rb_mem_network *network);
/* Change the impairments; in_flight_max stays. */
void rb_mem_network_set(struct rb_mem_network *network, const struct rb_mem_config *config);
/* Let time pass until now_ns: what is due arrives. Time starts at 0. */
void rb_mem_network_advance(struct rb_mem_network *network, uint64_t now_ns);

struct rb_mem_stats {
	uint64_t lost, duplicated, reordered; /* by the network */
	uint64_t refused;		      /* no such queue pair, or a wrong queue key */
};
void rb_mem_network_stats(const struct rb_mem_network *network, struct rb_mem_stats *out);

/*
 * A transport on the network. gid, qpn, qkey and message_max_bytes say how it is reached;
 * receive_max is the most chunks it takes. -EINVAL, -EEXIST (the same gid and QPN), -ENOSPC (16 are
 * open), -ENOMEM.
 */
int rb_mem_open(struct rb_mem_network *network, const struct rb_endpoint *self,
		struct rb_chunks *chunks, uint32_t receive_max, struct rb_transport **out);

#endif
