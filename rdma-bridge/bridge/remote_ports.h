/* SPDX-License-Identifier: BSD-2-Clause */
/* The TAPs of the other nodes' ports: sluiced makes them, the bridge reads and writes them. */
#ifndef RB_REMOTE_PORTS_H
#define RB_REMOTE_PORTS_H

#include "rdma-bridge/bridge/bridge.h"

/* sluiced made the netdev of a remote port or removed it, or its owner announced `up`. */
void rb_bridge_remote_port_changed(struct rb_bridge *bridge, uint16_t system_port, bool up,
				   bool gone);
/* A peer's state changed: set the carriers of its ports. */
void rb_bridge_set_carriers(struct rb_bridge *bridge, uint8_t node);
/* An event of sockets_fd: if it is a remote port's, its TAP can be read. */
void rb_bridge_tap_ready(struct rb_bridge *bridge, const void *what);
void rb_bridge_close_taps(struct rb_bridge *bridge);

#endif
