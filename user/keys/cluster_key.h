/* SPDX-License-Identifier: BSD-2-Clause */
/* `sluice cluster key`: change the cluster's key while the nodes forward. */
#ifndef SL_CLUSTER_KEY_H
#define SL_CLUSTER_KEY_H

#include "user/cli/cmd.h"

/* argv[0] is `key`. Returns an exit status. */
int sl_cmd_cluster_key(const struct sl_cmd_options *options, int argc, char **argv);

#endif
