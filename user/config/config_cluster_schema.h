/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The schema of `cluster:`: each key with its type, its range and its place in the struct. And the
 * keys of a router alone that mean the same: of a port, of `bridge:`, of an entry of `classes:`.
 */
#ifndef SL_CONFIG_CLUSTER_SCHEMA_H
#define SL_CONFIG_CLUSTER_SCHEMA_H

#include <stdbool.h>

#include "user/config/config_cluster.h"
#include "user/text/yaml.h"

extern const struct sl_yaml_key sl_cluster_keys[];	/* of struct sl_cluster_settings */
extern const struct sl_yaml_key sl_alone_port_keys[];	/* of struct sl_cluster_port */
extern const struct sl_yaml_key sl_alone_bridge_keys[]; /* of struct sl_cluster_settings */
extern const struct sl_yaml_key sl_class_keys[];	/* of struct sl_class_settings */

/* May a netdev have this name? As the kernel's dev_valid_name(). */
bool sl_valid_netdev(const char *text);

#endif
