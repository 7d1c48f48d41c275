/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers that several views sum up, and texts. */
#ifndef RB_VIEW_SUMS_H
#define RB_VIEW_SUMS_H

#include "rdma-bridge/bridge/bridge.h"

/* A frame counter, summed over all workers. */
struct sl_counter rb_view_count(const struct rb_bridge *bridge, enum rb_frame_counter which);
/* Add the sequence numbers of a lane's peer, over all its streams, express ones included. */
void rb_view_add_seqs(struct rb_seq *sum, const struct rb_lane *lane, uint8_t node);

/* The name of a key as text, of 8 hexadecimal digits. */
#define RB_VIEW_KEY_NAME_BYTES (2 * RB_KEY_NAME_BYTES + 1)
void rb_view_key_name(const uint8_t name[RB_KEY_NAME_BYTES], char text[RB_VIEW_KEY_NAME_BYTES]);

/* Frames that XDP redirected to our ports; express messages that it dropped as damaged. */
uint64_t rb_view_express_taken(const struct rb_bridge *bridge);
uint64_t rb_view_express_damaged(const struct rb_bridge *bridge);

#endif
