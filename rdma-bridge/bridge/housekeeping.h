/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The work of the first lane's thread beside its rounds: it opens maps and ports that were gone or
 * are new, polls the sockets, and notices that the fabric is lost.
 *
 * A bridge that is up takes frames. So it joins the others only after sluiced has made the maps and
 * the ports have been opened, or it would drop those frames.
 */
#ifndef RB_HOUSEKEEPING_H
#define RB_HOUSEKEEPING_H

#include "rdma-bridge/bridge/bridge.h"

#define RB_BRIDGE_RETRY_NS 100000000ULL /* between two looks for what is gone, or new */

/*
 * One round of the first lane, with what is due beside it and the sleep after it. Returns when it
 * began, CLOCK_MONOTONIC in ns.
 */
uint64_t rb_bridge_round(struct rb_bridge *bridge);

#endif
