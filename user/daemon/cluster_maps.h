/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells the fast path about the cluster: the number of virtual output queues, the classes, the
 * fabric's addresses.
 */
#ifndef SL_CLUSTER_MAPS_H
#define SL_CLUSTER_MAPS_H

#include "user/config/config_cluster.h"
#include "user/datapath/datapath.h"

/*
 * Set the sizes for sl_datapath_open: VOQs of all system ports, the highest port number, and the
 * highest number of receive queues that an edge port of this node has now. If a port appears later
 * with more receive queues, only the next generation serves the surplus. A node that is alone
 * changes nothing here.
 */
void sl_cluster_size_maps(const struct sl_cluster_settings *cluster,
			  struct sl_datapath_params *params);

/*
 * Fill sl_dscp, the class of each DSCP, and sl_fabric, the addresses of all nodes. Call it before
 * dp is attached, and when the configuration has changed. 0 or -errno.
 */
int sl_cluster_fill_maps(const struct sl_cluster_settings *cluster, const struct sl_datapath *dp);

#endif
