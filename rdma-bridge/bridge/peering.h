/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The other nodes: their introductions, their states, and what sluiced and they announce to each
 * other.
 */
#ifndef RB_PEERING_H
#define RB_PEERING_H

#include "rdma-bridge/bridge/bridge.h"

/*
 * Read the cluster's keys. Peers that are up stay up, and introduce themselves again, so that
 * bridge->met says what they hold. 0, or -errno and the keys are as they were; logged.
 */
int rb_peering_read_keys(struct rb_bridge *bridge);

/* Join the other nodes, serve sluiced, listen to the first lane's worker. 0 or -errno. */
int rb_peering_open(struct rb_bridge *bridge);
void rb_peering_close(struct rb_bridge *bridge);

/* A node of the configuration has come, and has been given to the workers; or goes now. */
void rb_peering_add(struct rb_bridge *bridge, const struct sl_cluster_node *node);
void rb_peering_remove(struct rb_bridge *bridge, uint8_t node);
/* The table of system ports has changed: tell the nodes that we meet from now on. 0 or -errno. */
int rb_peering_table_changed(struct rb_bridge *bridge);
/* Tell sluiced of a node again, so that it tells us of its ports. */
void rb_peering_tell(struct rb_bridge *bridge, uint8_t node);

/*
 * If a peer's state changed: log it, tell sluiced, set carriers, and tell join.h whether to connect
 * to it.
 */
void rb_peering_update(struct rb_bridge *bridge, uint8_t node);

#endif
