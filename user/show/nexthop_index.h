/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The mirror's next hops, found by id: to show many routes, the mirror is walked once. An index is
 * a snapshot, valid while the router does not change.
 */
#ifndef SL_NEXTHOP_INDEX_H
#define SL_NEXTHOP_INDEX_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "user/daemon/router.h"

struct sl_nexthop_index;
/* NULL: not enough memory. The router is borrowed. */
struct sl_nexthop_index *sl_nexthop_index_create(const struct sl_router *router);
void sl_nexthop_index_destroy(struct sl_nexthop_index *index); /* NULL is fine */

/* One next hop: its kind, and its adjacency, its reason, or its members with their shares. */
json_t *sl_nexthop_json(struct sl_nexthop_index *index, uint32_t id);
/* The legs of a route, each with "via", "dev" and "weight"; a blackhole, for one, has none. */
json_t *sl_nexthop_legs_json(struct sl_nexthop_index *index, uint32_t id);
/*
 * Step through the next hops, members of groups left out: *n is 0 at first, and changed here.
 * False: there are no more.
 */
bool sl_nexthop_index_next(const struct sl_nexthop_index *index, uint32_t *n, uint32_t *id);

#endif
