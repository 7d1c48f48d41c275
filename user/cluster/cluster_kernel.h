/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Towards this node's kernel: remote ports, a peer's announcements as routes and neighbours, and
 * what an earlier life of this daemon left there.
 */
#ifndef SL_CLUSTER_KERNEL_H
#define SL_CLUSTER_KERNEL_H

#include "user/cluster/cluster_state.h"

/*
 * These begin, and sl_peer_work goes on: at most SL_PEER_STEP entries of the kernel in each call.
 *
 * Apply: give the kernel the peer's newest generation, if it is complete and this node's own state
 * has been read. Call it again when that state has changed: by it, announcements are judged, and
 * routes have preferred sources.
 */
void sl_peer_apply(struct sl_cluster *c, struct sl_peer *peer);
/* Give the kernel again what it may have lost (a port was down, an address went). */
void sl_peer_ensure(struct sl_cluster *c, struct sl_peer *peer);
/* True: there is more to do. */
bool sl_peer_work(struct sl_cluster *c, struct sl_peer *peer);
/* Remove all that the peer announced. Its ports are down until it announces them again. */
void sl_peer_forget(struct sl_cluster *c, struct sl_peer *peer);

/* Make the remote ports that are missing. 0 or the first error; logged. */
int sl_cluster_make_ports(struct sl_cluster *c);
void sl_cluster_delete_ports(struct sl_cluster *c);

/* Take over routes and neighbours on remote ports from an earlier life. 0 or -errno. */
int sl_cluster_adopt(struct sl_cluster *c);
/* Remove the remote ports that the configuration does not name. A failure is logged. */
void sl_cluster_delete_stale_ports(struct sl_cluster *c);

#endif
