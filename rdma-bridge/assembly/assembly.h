/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A bridge put together from the configuration, and taken apart: memory, the fabric's transport,
 * workers, ports, peers, and the sockets.
 */
#ifndef RB_ASSEMBLY_H
#define RB_ASSEMBLY_H

#include "rdma-bridge/bridge/bridge.h"
#include "rdma-bridge/worker/worker.h"

/* Failures have been logged. 0 or -errno. */
int rb_bridge_open(struct sl_settings *settings, struct rb_bridge **out);
void rb_bridge_close(struct rb_bridge *bridge); /* NULL is fine */

/*
 * Has the packet memory room for the rings of the ports that this node has in these settings? If
 * not, or if less can wait than they say, that is logged.
 */
bool rb_bridge_memory_fits(const struct rb_bridge *bridge,
			   const struct sl_cluster_settings *cluster);
/*
 * As many open files as the cluster needs with this netdev of the fabric. 0, or -EMFILE: too few
 * are allowed; logged.
 */
int rb_bridge_raise_limits(const struct sl_cluster_settings *cluster,
			   const struct rb_netdev *fabric);

/* What the settings mean for the worker of a lane, whose transport is open. */
struct rb_worker_config rb_bridge_worker_config(const struct rb_bridge *bridge,
						const struct rb_lane *lane);

#endif
