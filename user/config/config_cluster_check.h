/* SPDX-License-Identifier: BSD-2-Clause */
/* The checks of `cluster:` that the schema cannot express. */
#ifndef SL_CONFIG_CLUSTER_CHECK_H
#define SL_CONFIG_CLUSTER_CHECK_H

#include "user/config/config_cluster.h"
#include "user/text/yaml.h"

/*
 * Check what the parser has read, and fill in what follows from it: the table of system ports, the
 * rates, queues and controllers of the ports, the class of each DSCP, the number of workers.
 * 0, or -EINVAL with one line in error.
 */
int sl_cluster_settings_check(struct sl_cluster_settings *cluster, const char *file_name,
			      char error[SL_YAML_ERROR_BYTES]);

#endif
