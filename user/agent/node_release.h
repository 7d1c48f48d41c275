/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which release the daemons of this node run, not which one is on its disk, which versions of the
 * fabric's protocol they speak, and which nodes their bridge does not reach.
 */
#ifndef SL_NODE_RELEASE_H
#define SL_NODE_RELEASE_H

#include <jansson.h>

/*
 * {"agent": "0.1.0", "sluiced": "0.1.0", "bridge": "0.1.0", "protocol": [4, 5], "away": [{"node":
 * 3, "why": "version"}]}, a new reference. null: does not run, or does not say; away is [] only of
 * a bridge that reaches all. why: the refusal of the start-up exchange, or "". path is the
 * configuration that names the sockets.
 */
json_t *sl_node_release_ask(const char *path);

#endif
