/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a change spreads: from links and neighbours to hops, from there to next-hop objects and
 * paths, and at last to routes. The lower files call by way of this table, so that none of them
 * names a file above it.
 */
#include "user/mirror/mirror_route.h"
#include "user/mirror/mirror_state.h"

static void links_changed(struct sl_mirror *m)
{
	sl_nhobject_update_all(m);
	sl_path_update_all(m);
}

static void neigh_changed(struct sl_mirror *m, struct sl_neigh *n)
{
	sl_hop_neigh_changed(m, n);
	sl_route_host_changed(m, n);
}

const struct sl_mirror_above sl_mirror_above = {
	.link_changed = sl_hop_link_changed,
	.link_lost = sl_nhobject_link_lost,
	.links_changed = links_changed,
	.any_leg_dead = sl_path_any_dead,
	.neigh_changed = neigh_changed,
	.neigh_used = sl_hop_neigh_used,
	.nhobject_changed = sl_path_nhobject_changed,
	.nhobject_removed = sl_route_remove_nhobject,
};
