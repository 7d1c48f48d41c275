/* SPDX-License-Identifier: BSD-2-Clause */
/* Routes: find the one of a prefix that the kernel would use, and put it into the fib. */
#ifndef SL_MIRROR_ROUTE_H
#define SL_MIRROR_ROUTE_H

#include "user/mirror/mirror_path.h"
#include "user/mirror/mirror_rib.h"

void sl_route_message(struct sl_mirror *m, const struct sl_rtnl_route *msg);
void sl_route_clear_seen(struct sl_rib *s); /* before a dump */
/* After it: remove what it did not list; only routes through this link, unless 0. */
void sl_route_sweep(struct sl_mirror *m, struct sl_rib *s, uint32_t through_ifindex);
/* Remove the routes that name the object. */
void sl_route_remove_nhobject(struct sl_mirror *m, const struct sl_nhobject *object);
/* Is it the one of its prefix that the fib has? */
bool sl_route_wins(const struct sl_mirror *m, const struct sl_rib *s, sl_route_ref ref);
/*
 * Update the fib for routes whose path has changed, at most `most` of them; later calls do the
 * rest. Until then a prefix leads where it led before, and a next hop that died meanwhile leaves
 * the packets to the kernel.
 */
void sl_route_walk_changed(struct sl_mirror *m, uint32_t most);
/* Install all routes again, those of hosts included: some found no memory. */
void sl_route_again(struct sl_mirror *m);
bool sl_route_walk_pending(const struct sl_mirror *m);
/* The neighbour became usable, or is no longer: install or remove its host route. */
void sl_route_host_changed(struct sl_mirror *m, struct sl_neigh *n);

#endif
