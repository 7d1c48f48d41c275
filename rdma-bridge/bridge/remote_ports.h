/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The TAPs by which the kernel's frames reach VOQs: those of the other nodes' ports, which sluiced
 * makes, and those of this node's ports with queues, which the bridge makes.
 */
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
void rb_bridge_close_tap(struct rb_bridge *bridge, struct rb_bridge_remote *remote);
void rb_bridge_close_taps(struct rb_bridge *bridge);

/*
 * A port has been opened: what the kernel sends by it goes through its queues from now on, if it
 * has queues. Or it is closed: the kernel sends by itself. The lanes are halted.
 */
void rb_bridge_take_from_kernel(struct rb_bridge *bridge, const struct rb_bridge_port *port);
void rb_bridge_leave_to_kernel(struct rb_bridge *bridge, const struct rb_bridge_port *port);
/* Does it, or has the port no queues? */
bool rb_bridge_is_taken_from_kernel(struct rb_bridge *bridge, const struct rb_bridge_port *port);
/* The bridge runs: call it each tick. */
void rb_bridge_kernel_alive(const struct rb_bridge *bridge, uint64_t now_ns);

#endif
