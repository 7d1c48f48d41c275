/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cluster control of one node: announces this node's ports, addresses and neighbours to the peers,
 * and gives the kernel what they announce: remote ports with MAC and MTU, their connected prefixes
 * as routes `proto sluice`, their neighbours as permanent, externally learnt ones. Soft state: a
 * node's whole state is sent every second and at once after a change.
 *
 * - A peer's state stays in the kernel while the peer is down: its remote ports have no carrier, so
 *   next hops through them are dead; after SL_CLUSTER_EXPIRY_S it is removed.
 * - What the kernel cannot resolve on a remote port is asked of the owner, whose kernel resolves it
 *   and whose next announcement names it. Neighbours in use are asked for every
 *   SL_CLUSTER_REFRESH_S, so that the owner keeps them, although its own kernel sends nothing to
 *   them.
 * - The addresses of a remote port itself are reached over the fabric's netdev, by the kernels.
 *
 * One thread owns it.
 */
#ifndef SL_CLUSTER_H
#define SL_CLUSTER_H

#include "user/cluster/cluster_ops.h"
#include "user/cluster/cluster_view.h"
#include "user/config/config_cluster.h"

#define SL_CLUSTER_REPEAT_MS   1000 /* between announcements without a change */
#define SL_CLUSTER_COALESCE_MS 5    /* after a change, for others that come with it */
#define SL_CLUSTER_EXPIRY_S    60   /* a peer's state after it went down */
#define SL_CLUSTER_REFRESH_S \
	10 /* neighbours in use; and what the kernel has lost is given to it again */

struct sl_cluster;

/*
 * Make the remote ports, adopt what an earlier life left and remove what is configured no longer.
 * settings and ops are borrowed until sl_cluster_close. 0 or -errno; logged.
 */
int sl_cluster_open(const struct sl_cluster_settings *settings, const struct sl_cluster_ops *ops,
		    void *ctx, struct sl_cluster **out);
/* Let go: the remote ports and what leads to them stay. NULL is fine. */
void sl_cluster_close(struct sl_cluster *c);
/* Remove remote ports, routes and neighbours from the kernel. */
void sl_cluster_remove_all(struct sl_cluster *c);

/* An epoll-able descriptor, readable when sl_cluster_poll has work; for the life of c. */
int sl_cluster_fd(const struct sl_cluster *c);
/* Handle what is there, a bounded batch. 0 or -errno: it can go on no longer. */
int sl_cluster_poll(struct sl_cluster *c);

#endif
