/* SPDX-License-Identifier: BSD-2-Clause */
/* One lane: its rounds, its sleep, and what ends it. */
#ifndef RB_LANE_H
#define RB_LANE_H

#include "rdma-bridge/bridge/bridge.h"

#define RB_BRIDGE_TICK_NS 1000000ULL /* hellos, sockets, frames that never came */
#define RB_LANE_NAP_NS	  100000ULL  /* at most, while frames wait for their time alone */
#define RB_LANE_POLL_NS	  200000ULL  /* how long a lane polls for more work between sleeps */
#define RB_LANE_SKIPS_MAX 255	     /* sleeps in a row without polling, after it was in vain */

/* Make bridge->lanes: n lanes with their descriptors alone. 0 or -errno. */
int rb_lanes_open(struct rb_bridge *bridge, uint32_t n);
/* Release everything but the chunks, some of which transports of other lanes may still hold. */
void rb_lane_close(struct rb_lane *lane);

/* One round of the worker, and the ports' upkeep that is due. True if there was work. */
bool rb_lane_round(struct rb_lane *lane, uint64_t now_ns);
/*
 * After a round with or without work: sleep if `poll` allows it and there was none, until something
 * happens or the next thing is due. While frames wait for nothing but their time it sleeps until
 * the first of them may leave, RB_LANE_NAP_NS at most.
 */
void rb_lane_rest(struct rb_lane *lane, bool worked, uint64_t now_ns);
/* End its sleep, or the next one. From any thread. */
void rb_lane_wake(const struct rb_lane *lane);

/*
 * Is upkeep to be done, which was due at due_ns? What woke the lane comes first, for as long as
 * there is work, a tick at most: the answer to a lone frame may be there already.
 */
static inline bool rb_lane_is_due(const struct rb_lane *lane, uint64_t due_ns, bool worked,
				  uint64_t now_ns)
{
	return now_ns >= due_ns &&
	       (!worked || (lane->awake_ns && now_ns - lane->awake_ns >= RB_BRIDGE_TICK_NS));
}

/* May frames for the port go past the bridge, if its netdev takes them? */
bool rb_bridge_may_pass(const struct rb_bridge *bridge, const struct rb_bridge_port *port);
/* Let an epoll report when a descriptor is readable; `what`, the event's pointer, may be NULL. */
void rb_watch(int epoll_fd, int fd, void *what);

/* The lane of a system port, ours or another node's. */
struct rb_lane *rb_bridge_lane(const struct rb_bridge *bridge, uint16_t system_port);
/* End the sleep of that lane, if it is not the first. */
void rb_bridge_wake(const struct rb_bridge *bridge, uint16_t system_port);
/* The state of a peer: the worst of all lanes. */
enum rb_peer_state rb_bridge_peer_state(const struct rb_bridge *bridge, uint8_t node);

#endif
