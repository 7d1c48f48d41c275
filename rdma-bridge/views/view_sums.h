/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers that several views sum up. */
#ifndef RB_VIEW_SUMS_H
#define RB_VIEW_SUMS_H

#include "rdma-bridge/bridge/bridge.h"

/* A frame counter, summed over all workers. */
struct sl_counter rb_view_count(const struct rb_bridge *bridge, enum rb_frame_counter which);
/* Add the sequence numbers of a peer, over all its streams. */
void rb_view_add_seqs(struct rb_seq *sum, const struct rb_peer *peer);

#endif
