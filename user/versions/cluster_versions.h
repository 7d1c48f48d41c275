/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `sluice cluster apply`, `diff`, `history`, `rollback`, `status`, `drain`, `undrain`, `leave` and
 * `upgrade`: versions of a cluster's configuration in etcd, and the nodes that take them.
 */
#ifndef SL_CLUSTER_VERSIONS_H
#define SL_CLUSTER_VERSIONS_H

#include <stdbool.h>

#include "user/cli/cmd.h"

/* Is that word one of these? */
bool sl_cluster_versions_has(const char *word);
/* argv[0] is that word. Returns an exit status. */
int sl_cmd_cluster_versions(const struct sl_cmd_options *options, int argc, char **argv);

#endif
