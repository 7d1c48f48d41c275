/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Another configuration for this node's own ports: queues, rate and controller of a port change
 * while it stays open; ports come and go. In two steps, of which the first one may fail and changes
 * nothing.
 */
#ifndef RB_OWN_PORTS_H
#define RB_OWN_PORTS_H

#include "rdma-bridge/bridge/bridge.h"

struct rb_own_ports;

/*
 * Compare the ports of this node with those of `to`, and make the queues of the ones that are new
 * or change. 0; -EINVAL: a controller does not fit its port, logged; -ENOMEM.
 */
int rb_own_ports_prepare(const struct rb_bridge *bridge, const struct sl_cluster_settings *to,
			 uint64_t now_ns, struct rb_own_ports **out);
/*
 * Take the change over while the lanes are halted. From now on the bridge borrows the settings of
 * the ports from those that were prepared. Ports that leave, or get another netdev or another way
 * to transmit, close by themselves later (rb_bridge_round).
 */
void rb_own_ports_apply(struct rb_bridge *bridge, struct rb_own_ports *change, uint64_t now_ns);
/* After it, or in place of it; NULL is fine. */
void rb_own_ports_close(struct rb_own_ports *change);

#endif
