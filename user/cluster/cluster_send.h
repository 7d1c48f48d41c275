/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * To the bridge: the states of remote ports, this node's announcements, and requests to resolve
 * addresses. Without a connection, and when the bridge is behind, a message is lost. Announcements
 * and requests are repeated, and a new connection begins with the states of all remote ports.
 */
#ifndef SL_CLUSTER_SEND_H
#define SL_CLUSTER_SEND_H

#include "user/cluster/cluster_state.h"

/* Tell the bridge whether the port is up; sends nothing before the owner has announced it. */
void sl_cluster_send_port(struct sl_cluster *c, const struct sl_remote_port *port);
/* The port is no longer configured. */
void sl_cluster_send_gone(struct sl_cluster *c, const struct sl_remote_port *port);
/* This node's state, to one node, or to all that are up: node 0. */
void sl_cluster_announce(struct sl_cluster *c, uint8_t node);
/* A part of this node's daemon, to a node. */
void sl_cluster_send_part(struct sl_cluster *c, uint8_t node, const struct sl_announce_part *part);
/* As sl_cluster_send_flow. */
void sl_cluster_tell_flow(struct sl_cluster *c, uint16_t system_port,
			  const struct sl_flow_key *flow, uint32_t weight);
/* Note an address that the owner of the port shall resolve; more than SL_WANTED_MAX are dropped. */
void sl_cluster_want(struct sl_cluster *c, uint16_t system_port, uint8_t family,
		     const uint8_t addr[16]);
/* Send what was noted, to peers that are up, and forget it. */
void sl_cluster_send_wanted(struct sl_cluster *c);

#endif
