/* SPDX-License-Identifier: BSD-2-Clause */
/* The edge ports of this node: rings, egress queues, controllers. */
#ifndef RB_PORTS_H
#define RB_PORTS_H

#include "bpf/abi/reserved.h"
#include "rdma-bridge/bridge/bridge.h"

#define RB_BRIDGE_BUSY_MAX 20 /* tries of a busy netdev until the log says so */

#define RB_BRIDGE_FILL_TARGET 2048 /* chunks that wait for frames of a receive queue */

/* Frames in VOQs that the packet memory has room for, for each receive queue of an edge port. */
uint32_t rb_bridge_waiting_frames(const struct sl_cluster_settings *cluster);

/*
 * Ask the kernel for the receive queues and the speeds of this node's ports, and write them into
 * the settings. That waits for the kernel's routing lock: no packet loop does it.
 */
void rb_bridge_ask_netdevs(struct sl_cluster_settings *cluster);

/*
 * Make the egress queues that the settings of a port of ours ask for; `measured`: with those that
 * measure delay. 0 or -errno.
 */
int rb_bridge_open_queues(const struct rb_bridge *bridge, const struct sl_cluster_port *settings,
			  bool measured, uint64_t now_ns, struct rb_egress_port **out);
/* Add a port with these queues, which it takes, to its lane's worker. It has no controller yet. */
void rb_bridge_add_port(struct rb_bridge *bridge, const struct sl_cluster_port *settings,
			struct rb_egress_port *queues, uint64_t now_ns);

/*
 * Give a port other settings, borrowed from now on; `kept`, if not NULL, are the same, to be owned,
 * and the port leaves. And take a port away that leaves and is closed, while the lanes are halted;
 * the last of the ports is then in its place.
 */
void rb_bridge_adopt_settings(struct rb_bridge_port *port, const struct sl_cluster_port *settings,
			      struct sl_cluster_port *kept);
void rb_bridge_remove_port(struct rb_bridge *bridge, struct rb_bridge_port *port);

/*
 * Begin to open a port's rings, without waiting for the kernel. Once it has opened them, or could
 * not, rb_bridge_end_port puts them to use and returns true. A failure is logged and stands in
 * port->err.
 */
void rb_bridge_begin_port(struct rb_bridge *bridge, struct rb_bridge_port *port);
bool rb_bridge_end_port(struct rb_bridge *bridge, struct rb_bridge_port *port);
/* Close a port's rings, while the lanes are halted. */
void rb_bridge_close_port(struct rb_bridge *bridge, struct rb_bridge_port *port);
/*
 * Begin to close a port, if it is open or being opened, without waiting for the kernel. When
 * rb_bridge_is_closing says false, rb_bridge_close_port ends it at once.
 */
void rb_bridge_withdraw_port(struct rb_bridge_port *port);
bool rb_bridge_is_closing(const struct rb_bridge_port *port);

/*
 * Give a flow a queue of its own at a port of ours, with a weight; 0: it has none any more. What
 * cannot be is logged: the flow then goes by its hash. And take all such queues away.
 */
void rb_bridge_reserve_flow(struct rb_bridge *bridge, uint16_t system_port,
			    const struct sl_flow_key *flow, uint32_t weight);
void rb_bridge_forget_flows(struct rb_bridge *bridge);

/* Give a port of ours another controller, or other parameters; errors as rb_rates_set_port. */
int rb_bridge_set_controller(struct rb_bridge *bridge, uint8_t number,
			     const struct sl_cc_settings *settings, uint64_t now_ns,
			     const char **why);
/* Would a port with these queues get a controller from the next function? 0; -EINVAL, logged. */
int rb_bridge_check_controller(const struct rb_bridge *bridge, const struct sl_cluster_port *port,
			       const struct rb_egress_port *queues);
/*
 * Give every port that does not leave the controller that `cc set` or the configuration says. 0 or
 * -errno, logged.
 */
int rb_bridge_set_controllers(struct rb_bridge *bridge, uint64_t now_ns);

#endif
