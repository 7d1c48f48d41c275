/* SPDX-License-Identifier: BSD-2-Clause */
/* The threads of all lanes but the first, which runs in the caller's thread. */
#ifndef RB_LANE_THREADS_H
#define RB_LANE_THREADS_H

#include "rdma-bridge/bridge/bridge.h"

/* In this order. 0 or -errno. Start also pins the caller's thread, if the first lane has a core. */
int rb_lane_threads_create(struct rb_bridge *bridge);
int rb_lane_threads_start(struct rb_bridge *bridge);
void rb_lane_threads_stop(struct rb_bridge *bridge);
void rb_lane_threads_destroy(struct rb_bridge *bridge);

/*
 * Halt the other lanes; until the release, the caller may read and change all that is theirs. Calls
 * may be nested. For the first lane's thread.
 */
void rb_bridge_halt(struct rb_bridge *bridge);
void rb_bridge_release(struct rb_bridge *bridge);

#endif
