/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The transport of a router without a cluster: it has no network. There is nobody to make a path
 * to, so nothing can be sent, and nothing comes. A worker on it moves frames from the VOQs of its
 * own ports into their egress queues, and no further.
 */
#ifndef RB_NONE_H
#define RB_NONE_H

#include "rdma-bridge/transport/transport.h"

/* chunks: borrowed until close. 0; -errno of eventfd(2), -ENOMEM. */
int rb_none_open(struct rb_chunks *chunks, struct rb_transport **out);

#endif
