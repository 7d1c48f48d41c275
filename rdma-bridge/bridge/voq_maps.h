/* SPDX-License-Identifier: BSD-2-Clause */
/* The VOQs that lead to other nodes, and sluiced's maps, which hold their settings and backlogs. */
#ifndef RB_VOQ_MAPS_H
#define RB_VOQ_MAPS_H

#include "rdma-bridge/bridge/bridge.h"

/* The ingress, in the lane of that remote port, that has its VOQs. */
struct rb_ingress *rb_bridge_ingress(const struct rb_bridge *bridge,
				     const struct rb_bridge_remote *remote);
/*
 * Point every VOQ at its elements of the maps, or at settings of our own while the maps are closed.
 * A VOQ that no controller has touched yet begins without a rate and with a limit. Frames that a
 * backlog still counts are counted as missed.
 */
void rb_bridge_point_voqs(struct rb_bridge *bridge, uint64_t now_ns);
/* The same for the VOQs of one port; and before the port goes: they lead nowhere. */
void rb_bridge_point_remote(struct rb_bridge *bridge, struct rb_bridge_remote *remote,
			    uint64_t now_ns);
void rb_bridge_disown_remote(struct rb_bridge *bridge, struct rb_bridge_remote *remote,
			     uint64_t now_ns);
/* Whether its frames may take the express way has changed. */
void rb_bridge_set_path(struct rb_bridge *bridge, const struct rb_bridge_remote *remote);
/* A reload of sluiced may have added ports to the maps, or taken some away. The maps are open. */
void rb_bridge_renew_voqs(struct rb_bridge *bridge, uint64_t now_ns);
/* Open the maps and point the VOQs at them. 0 or -errno, logged when the outcome changes. */
int rb_bridge_open_maps(struct rb_bridge *bridge, uint64_t now_ns);

/* VOQs that may hold as many frames as the configuration said may hold as many as it says now. */
void rb_bridge_limit_voqs(struct rb_bridge *bridge, uint32_t from_frames, uint32_t to_frames);

#endif
