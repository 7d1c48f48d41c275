/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the fast path is told of the cluster: sizes of the virtual output queues, classes, the
 * fabric's addresses.
 */
#ifndef SL_CLUSTER_MAPS_H
#define SL_CLUSTER_MAPS_H

#include "user/config/config_cluster.h"
#include "user/datapath/datapath.h"

/*
 * The sizes for sl_datapath_open: VOQs of all system ports, the highest port number and the most
 * receive queues that an edge port of this node has now. A port that appears with more of them has
 * its other queues served by the next generation. Nothing changes if the node is alone.
 */
void sl_cluster_size_maps(const struct sl_cluster_settings *cluster,
			  struct sl_datapath_params *params);

/*
 * Before it is attached, and when the configuration changes: sl_dscp, the class of each DSCP, and
 * sl_fabric, the addresses of all nodes. 0 or -errno.
 */
int sl_cluster_fill_maps(const struct sl_cluster_settings *cluster, const struct sl_datapath *dp);

#endif
