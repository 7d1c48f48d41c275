/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where frames can go: the other nodes and their ports, and the ports of this node that have
 * queues. Those of other nodes come and go while the bridge forwards. Each port has its VOQs in the
 * ingress of its node and lane, which has places to spare for ports that come later.
 */
#ifndef RB_REACHABLE_H
#define RB_REACHABLE_H

#include "rdma-bridge/bridge/bridge.h"

/* All nodes and ports of the settings. 0 or -ENOMEM. */
int rb_reachable_open(struct rb_bridge *bridge, uint64_t now_ns);
void rb_reachable_close(struct rb_bridge *bridge);

/*
 * May the nodes and ports of `to` take the place of those that there are? False, logged: a node
 * would have more ports than it has places for.
 */
bool rb_reachable_fit(const struct rb_bridge *bridge, const struct sl_cluster_settings *to);
/*
 * Nodes and ports that `to` does not name go; their frames that wait are dropped as peer-down.
 * Those that it names for the first time come. The others go on as they are. The lanes are halted,
 * and `to` fits. 0, or -ENOMEM: some have not come.
 */
int rb_reachable_change(struct rb_bridge *bridge, const struct sl_cluster_settings *to,
			uint64_t now_ns);

#endif
