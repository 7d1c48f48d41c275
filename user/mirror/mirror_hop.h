/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hops: one gateway on one link, or "on link" without a gateway. The next-hop id of a hop is an
 * adjacency, or a punt that says why the kernel gets the packets.
 */
#ifndef SL_MIRROR_HOP_H
#define SL_MIRROR_HOP_H

#include "user/mirror/mirror_neigh.h"

enum sl_hop_state { SL_HOP_NEW, SL_HOP_ADJ, SL_HOP_PUNT, SL_HOP_FAILED };

struct sl_hop_key {
	uint32_t ifindex;
	uint8_t mtu_family;	/* the link's MTU of this family counts; 0: the smaller of both */
	uint8_t gateway_family; /* 0: on link */
	uint8_t pad[2];
	uint32_t mtu_bytes; /* of the route; 0: the link's */
	uint8_t gateway[16];
};

struct sl_hop {
	struct sl_hnode node; /* in mirror.hops unless private */
	struct sl_hop_key key;
	bool is_private; /* owned by one next-hop object, with whose id */
	uint32_t refs;
	uint32_t id;		/* next-hop id in the fib; 0: none was free */
	struct sl_link *link;	/* holds a reference */
	struct sl_neigh *neigh; /* NULL: on link */
	LIST_ENTRY(sl_hop) link_entry, neigh_entry;
	/* The state that the fib was told last. */
	enum sl_hop_state state;
	enum sl_punt punt;
	struct sl_adj adj;
};

/* The shared hop of this key, made if need be, with a reference for the caller. NULL: no memory. */
struct sl_hop *sl_hop_get(struct sl_mirror *m, const struct sl_hop_key *key);
/* A private hop with the caller's next-hop id. NULL: no memory. */
struct sl_hop *sl_hop_create(struct sl_mirror *m, const struct sl_hop_key *key, uint32_t id);
void sl_hop_put(struct sl_mirror *m, struct sl_hop *hop); /* NULL is fine */
/* Tell the fib what the hop is now, if that has changed. */
void sl_hop_apply(struct sl_mirror *m, struct sl_hop *hop);
void sl_hop_retry(struct sl_mirror *m); /* the fib may have room again */
/* Update the link's hops; if it came up, ask for their neighbours at once. */
void sl_hop_link_changed(struct sl_mirror *m, struct sl_link *link, bool came_up);
void sl_hop_neigh_changed(struct sl_mirror *m, struct sl_neigh *n);
/* Did XDP send to the neighbour since the last call? */
bool sl_hop_neigh_used(struct sl_mirror *m, struct sl_neigh *n);
/* The id; if none was free (0), the id that punts as OVERFLOW. */
uint32_t sl_nexthop_id(const struct sl_mirror *m, uint32_t id);

#endif
