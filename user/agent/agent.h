/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The agent of a node: keeps the node's configuration file equal to the current version in etcd,
 * has the daemons take it, and says in etcd how the node stands.
 *
 * Whatever becomes of etcd, the file and what the daemons have in force stay as they are. A version
 * below the one in force is not taken: numbers only grow, so it comes from a backup of etcd. It is
 * older than what the operator has seen in force, nodes that were away would differ from the
 * others, and a restored etcd should change no forwarding by itself.
 */
#ifndef SL_AGENT_H
#define SL_AGENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "user/etcd/etcd_settings.h"

struct sl_agent;

/* settings is borrowed until close. 0 or -errno, after a line of log. */
int sl_agent_open(const struct sl_etcd_settings *settings, struct sl_agent **out);
/* Say in etcd that the node has no agent any more, if etcd answers. NULL is fine. */
void sl_agent_close(struct sl_agent *agent);

/*
 * Call serve(arg) whenever fd is readable while etcd does not answer, and now and then while
 * daemons reload. All are borrowed; serve NULL: no more.
 */
void sl_agent_serve(struct sl_agent *agent, int fd, void (*serve)(void *arg), void *arg);
/* Follow etcd and n descriptors, until one of these is readable, for a second at most. */
void sl_agent_wait(struct sl_agent *agent, const int *fds, unsigned int n);
/* Try a version again that was refused. */
void sl_agent_retry(struct sl_agent *agent);

/*
 * Write the current version to the file once, before there are daemons to ask. 0; -ENOENT: nothing
 * has been applied; -ESTALE: the file is of a newer version; -errno, after a line of log.
 */
int sl_agent_fetch(struct sl_agent *agent);

/* How the node stands, and etcd: the row of `status`, a new reference. */
json_t *sl_agent_status(const struct sl_agent *agent);

#endif
