/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The routes of one family in a pool of small records, found by a hash of their prefix. A full
 * table is some 700,000 of them, so a record is 20 bytes plus the address, and no route costs an
 * allocation. It only stores: mirror_route.c decides.
 */
#ifndef SL_MIRROR_RIB_H
#define SL_MIRROR_RIB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/text/prefix.h"

#define SL_ROUTE_NONE UINT32_MAX

/* Names a route in its store: stays valid until the route is removed. */
typedef uint32_t sl_route_ref;

struct sl_route {
	/* In the hash chain. Routes of one prefix follow each other in the kernel's order. */
	sl_route_ref next;
	uint32_t path; /* index; SL_ROUTE_NONE: the record is free */
	uint32_t metric;
	uint8_t len, table, protocol;
	uint8_t seen;	/* the current dump listed it */
	uint8_t addr[]; /* 4 or 16 */
};

struct sl_neigh;

struct sl_rib {
	uint8_t family, addr_bytes;
	uint32_t stride; /* bytes per route */
	uint8_t *pool;	 /* owned */
	uint32_t used, room, n;
	sl_route_ref free;
	sl_route_ref *bucket; /* owned */
	uint32_t mask;
	uint32_t with_len[129]; /* routes by prefix length */
	/* Prefixes of table local that are more than one address: they hide what is below them. */
	struct sl_prefix *shadow; /* owned */
	uint32_t n_shadow;
	/* Neighbours in order of address, to find those below a prefix. */
	struct sl_neigh **host; /* owned; borrowed elements */
	uint32_t n_host, host_room;
	/*
	 * The walk over routes whose path has changed: where it is, and how many records it still
	 * has to look at.
	 */
	uint32_t walk_at, walk_left;
};

static inline struct sl_route *sl_rib_at(const struct sl_rib *s, sl_route_ref ref)
{
	return (struct sl_route *)(s->pool + (size_t)ref * s->stride);
}

int sl_rib_init(struct sl_rib *s, uint8_t family); /* 0 or -ENOMEM */
void sl_rib_fini(struct sl_rib *s);
/* First route of a prefix, then the next one of the same prefix. */
sl_route_ref sl_rib_first(const struct sl_rib *s, const uint8_t *addr, uint8_t len);
sl_route_ref sl_rib_next(const struct sl_rib *s, sl_route_ref ref);
/*
 * Add a route after `after` (a route of the same prefix), or before the first of its prefix if that
 * is SL_ROUTE_NONE. Returns SL_ROUTE_NONE if there is no memory. It may move the pool, which
 * invalidates every pointer to a route.
 */
sl_route_ref sl_rib_add(struct sl_rib *s, const uint8_t *addr, uint8_t len, sl_route_ref after);
/* Move it behind another one of the same prefix, or before the first. */
void sl_rib_move(struct sl_rib *s, sl_route_ref ref, sl_route_ref after);
void sl_rib_del(struct sl_rib *s, sl_route_ref ref);
size_t sl_rib_bytes(const struct sl_rib *s);
bool sl_prefix_covers(uint8_t len, const uint8_t *prefix, const uint8_t *addr);

#endif
