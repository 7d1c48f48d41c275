/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which netdevs take frames that XDP redirects to them, in order with those of the bridge? The
 * kernel says it behind its routing lock, so a thread of its own asks while the lanes forward.
 */
#ifndef RB_TAKERS_H
#define RB_TAKERS_H

#include "rdma-bridge/bridge/bridge.h"

/* Begin to ask of the fabric and the ports, where frames may go past the bridge at all. */
void rb_takers_begin(struct rb_bridge *bridge);
/* Take over what has been answered, if anything has. */
void rb_takers_end(struct rb_bridge *bridge);
/* A netdev may be another one now: ask the next time also what seldom changes. */
void rb_takers_forget(struct rb_bridge *bridge);
/* Wait for the thread, and free. NULL is fine. */
void rb_takers_close(struct rb_takers *takers);

#endif
