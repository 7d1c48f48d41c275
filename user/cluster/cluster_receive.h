/* SPDX-License-Identifier: BSD-2-Clause */
/* From the bridge: which peers are up, and what they announce. */
#ifndef SL_CLUSTER_RECEIVE_H
#define SL_CLUSTER_RECEIVE_H

#include "user/cluster/cluster_state.h"

/* Try to connect to the bridge, and set when to try again. */
void sl_cluster_connect(struct sl_cluster *c);
/* Handle the messages that are there, at most a batch of them. */
void sl_cluster_poll_relay(struct sl_cluster *c);

#endif
