/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tells the fast path about the cluster: the virtual output queues of each port, the classes, the
 * fabric's addresses.
 */
#ifndef SL_CLUSTER_MAPS_H
#define SL_CLUSTER_MAPS_H

#include "user/config/config_cluster.h"
#include "user/datapath/datapath.h"

/*
 * Set the sizes for sl_datapath_open: VOQs of as many system ports as there can be, because they
 * may come with a reload, the highest number of a port of this node with some to spare, and the
 * highest number of receive queues that an edge port of this node has now. If a port appears later
 * with more receive queues, only the next generation serves the surplus. A node that is alone
 * changes nothing here.
 */
void sl_cluster_size_maps(const struct sl_cluster_settings *cluster,
			  struct sl_datapath_params *params);

/* Is there a place in the maps of this fast path for each port of this node? */
bool sl_cluster_fits_maps(const struct sl_cluster_settings *cluster, const struct sl_datapath *dp);

/*
 * Give the system ports the indices that they have in the fast path pinned at pin_dir, if there is
 * one; a bridge may have its VOQs open. Before anything asks for an index.
 */
void sl_cluster_keep_indices(struct sl_cluster_settings *cluster, const char *pin_dir);

/*
 * Fill sl_system_ports, the port of each index; sl_dscp, the class of each DSCP; and sl_fabric, the
 * addresses of all nodes. Call it before
 * dp is attached, and when the configuration has changed. 0 or -errno.
 */
int sl_cluster_fill_maps(const struct sl_cluster_settings *cluster, const struct sl_datapath *dp);

#endif
