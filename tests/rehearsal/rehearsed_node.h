/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A node of the rehearsal: what its bridge and its daemon do for the cluster, without packets.
 *
 * The bridge's worker, peers and exchange, and the daemon's cluster control (user/cluster/) are
 * those that run in a cluster. Between nodes are a network in memory and TCP over loopback. Between
 * bridge and daemon, and in place of the daemon's kernel, are functions of no_kernel.c.
 */
#ifndef REHEARSED_NODE_H
#define REHEARSED_NODE_H

#include "tests/rehearsal/rehearsed_state.h"

/* Its address on the fabric, as a GID. */
void rehearsed_gid(uint8_t id, uint8_t gid[16]);

/* Zeroed before. The file's settings are borrowed until rehearsed_node_close. 0 or -errno. */
int rehearsed_bridge_open(struct rehearsed_node *node, const struct sl_cluster_settings *file,
			  struct rb_mem_network *network, uint32_t epoch);
/* Then these, which touch nothing of other nodes. 0 or -errno. */
int rehearsed_bridge_add_peers(struct rehearsed_node *node, uint64_t now_ns);
int rehearsed_daemon_open(struct rehearsed_node *node);
void rehearsed_node_close(struct rehearsed_node *node);

/* One turn of each, a millisecond after the last one. */
void rehearsed_bridge_turn(struct rehearsed_node *node, uint64_t now_ns);
void rehearsed_join_turn(struct rehearsed_node *node, uint64_t now_ns);
/* 0, or -errno: it cannot go on. */
int rehearsed_daemon_turn(struct rehearsed_node *node, uint64_t now_ns);

/* Port 1 loses its carrier, and a host more is found behind port 2. */
void rehearsed_change(struct rehearsed_node *node);

/* Has `node` all that `other` announces now, and its kernel, too? */
bool rehearsed_knows(const struct rehearsed_node *node, const struct rehearsed_node *other);
/* Does `node` take `other` for dead, in bridge and daemon? */
bool rehearsed_misses(const struct rehearsed_node *node, const struct rehearsed_node *other);

#endif
