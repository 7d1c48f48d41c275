/* SPDX-License-Identifier: BSD-2-Clause */
/* `sluice cluster init`, `token` and `join`: a cluster begins, and a node comes to it. */
#ifndef SL_CLUSTER_JOIN_H
#define SL_CLUSTER_JOIN_H

#include <stdbool.h>

#include "user/cli/cmd.h"

/* Is that word one of these? */
bool sl_cluster_join_has(const char *word);
/* argv[0] is that word. Returns an exit status. */
int sl_cmd_cluster_join(const struct sl_cmd_options *options, int argc, char **argv);

#endif
