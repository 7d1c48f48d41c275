/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cluster control of one node. It announces this node's ports, addresses and neighbours to the
 * peers. It gives this node's kernel what the peers announce: remote ports with MAC and MTU, their
 * connected prefixes as routes `proto sluice`, their neighbours as permanent, externally learnt
 * ones. The state is soft: a node sends its whole state every second, and at once after a change.
 *
 * - While a peer is down, its state stays in the kernel. Its remote ports have no carrier, so next
 *   hops through them are dead. After SL_CLUSTER_EXPIRY_S the state is removed.
 * - When this kernel wants a neighbour on a remote port resolved, this node asks the port's owner.
 *   The owner's kernel resolves it, and the owner's next announcement names it. This node repeats
 *   the request for neighbours in use every SL_CLUSTER_REFRESH_S: the owner's kernel sends them
 *   nothing itself, and would forget them.
 * - The addresses of a remote port itself are reached over the fabric's netdev, from kernel to
 *   kernel.
 *
 * One thread calls all of it.
 */
#ifndef SL_CLUSTER_H
#define SL_CLUSTER_H

#include "user/cluster/cluster_ops.h"
#include "user/cluster/cluster_view.h"
#include "user/config/config_cluster.h"

#define SL_CLUSTER_REPEAT_MS   1000 /* between two announcements, while nothing changes */
#define SL_CLUSTER_COALESCE_MS 5    /* from a change to its announcement: others may join it */
#define SL_CLUSTER_EXPIRY_S    60   /* how long a peer's state outlives the peer */
/* Between requests for neighbours in use, and repairs of what the kernel has lost. */
#define SL_CLUSTER_REFRESH_S 10

struct sl_cluster;

/*
 * Make the remote ports, and adopt those that an earlier life left. settings and ops are borrowed
 * until sl_cluster_close. 0 or -errno; logged.
 */
int sl_cluster_open(const struct sl_cluster_settings *settings, const struct sl_cluster_ops *ops,
		    void *ctx, struct sl_cluster **out);
/*
 * This configuration is in force, and no other: remove the remote ports that it does not name, and
 * give the kernel again what it may have lost.
 */
void sl_cluster_take_charge(struct sl_cluster *c);
/* End cluster control. The remote ports and the routes to them stay. NULL is fine. */
void sl_cluster_close(struct sl_cluster *c);
/* Remove remote ports, routes and neighbours from the kernel. */
void sl_cluster_remove_all(struct sl_cluster *c);

/* Send a part of claims or answers to a node, if it is up. It may be lost. */
void sl_cluster_send_claims(struct sl_cluster *c, uint8_t node,
			    const struct sl_announce_part *part);
/*
 * Have the bridge give a flow a queue of its own with this weight at a port of this node; 0: take
 * it away. Without a bridge this does nothing: `bridge_connected` says when there is one.
 */
void sl_cluster_send_flow(struct sl_cluster *c, uint16_t system_port,
			  const struct sl_flow_key *flow, uint32_t weight);

/* Is a bridge there? Of one that comes or goes, sl_cluster_poll takes notice. */
bool sl_cluster_has_bridge(const struct sl_cluster *c);

/* An epoll-able descriptor, readable when sl_cluster_poll has work; for the life of c. */
int sl_cluster_fd(const struct sl_cluster *c);
/* Handle a bounded batch of what is there. 0, or -errno: cluster control cannot go on. */
int sl_cluster_poll(struct sl_cluster *c);

#endif
