/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/bridge/housekeeping.h"

#include <errno.h>
#include <sys/epoll.h>

#include "rdma-bridge/bridge/ports.h"
#include "rdma-bridge/bridge/fabric.h"
#include "rdma-bridge/bridge/lane.h"
#include "rdma-bridge/bridge/lane_threads.h"
#include "rdma-bridge/bridge/peering.h"
#include "rdma-bridge/bridge/remote_ports.h"
#include "rdma-bridge/bridge/takers.h"
#include "rdma-bridge/bridge/voq_maps.h"
#include "rdma-bridge/ipc/relay_server.h"
#include "rdma-bridge/join/join.h"
#include "rdma-bridge/port/edge.h"
#include "rdma-bridge/port/netdev.h"
#include "user/lib/clock.h"
#include "user/lib/log.h"

#define EVENTS_MAX 32 /* of sockets that one tick handles */

/* False while a port is being opened, or is closed only because the kernel frees its queues. */
static bool ports_are_settled(const struct rb_bridge *b)
{
	for (uint32_t i = 0; i < b->n_ports; i++)
		if (b->ports[i].opening ||
		    (b->ports[i].err == -EBUSY && b->ports[i].busy < RB_BRIDGE_BUSY_MAX))
			return false;
	return true;
}

/* Drop all frames that wait in VOQs. */
static void discard_waiting(struct rb_lane *lane)
{
	struct rb_worker *w = lane->worker;

	for (uint32_t i = 0; i < 256; i++)
		if (w->peer[i] && w->peer[i]->ingress)
			rb_ingress_discard(w->peer[i]->ingress, UINT32_MAX, lane->chunks,
					   w->counters);
}

static void withdraw_ports(struct rb_bridge *b)
{
	sl_info("sluiced has made new maps; opening the ports again");
	rb_bridge_halt(b);
	for (uint32_t i = 0; i < b->n_ports; i++)
		rb_bridge_withdraw_port(&b->ports[i]);
	rb_bridge_release(b);
	b->maps_old = true;
}

static void renew_maps(struct rb_bridge *b, uint64_t now_ns)
{
	for (uint32_t i = 0; i < b->n_ports; i++)
		if (rb_bridge_is_closing(&b->ports[i]))
			return;
	rb_bridge_halt(b);
	for (uint32_t i = 0; i < b->n_ports; i++)
		rb_bridge_close_port(b, &b->ports[i]);
	for (uint32_t i = 0; i < b->n_lanes; i++)
		discard_waiting(&b->lanes[i]);
	rb_maps_close(&b->maps);
	rb_bridge_point_voqs(b, now_ns);
	rb_bridge_release(b);
	b->maps_old = false;
}

/* Where the configuration says that the clocks of all nodes agree, one that does not is news. */
static void say_whose_clock_disagrees(struct rb_bridge *b)
{
	const struct rb_worker *w = b->lanes[0].worker;

	for (uint32_t i = 0; i < w->n_nodes; i++) {
		const uint8_t node = w->nodes[i];
		const bool disagrees =
			rb_transit_clock(&w->peer[node]->transit) == RB_TRANSIT_DISAGREES;

		if (disagrees && !b->clock_said[node])
			sl_warning(
				"node %u: its clock and ours do not agree within `clock_error_us: %u`, "
				"or it has no such key: delays between us are estimated",
				node, b->settings->cluster.clock_error_us);
		b->clock_said[node] = disagrees;
	}
}

/*
 * Why a port that is open must be closed now; NULL: it need not. Queues that have sockets cannot
 * go: the kernel refuses it.
 */
static const char *why_close(const struct rb_bridge *b, const struct rb_bridge_port *port,
			     const struct rb_netdev *netdev, int err)
{
	const uint32_t queues = rb_edge_queues(port->edge);

	if (err == -ENODEV || (!err && netdev->ifindex != port->ifindex))
		return "the netdev is gone";
	if (!err && queues < b->maps.meta.n_queues &&
	    rb_netdev_has_queue(port->settings->name, netdev, queues))
		return "the netdev has more receive queues";
	return NULL;
}

static void renew_port(struct rb_bridge *b, struct rb_bridge_port *port)
{
	const char *why = NULL;
	struct rb_netdev netdev;
	int err = rb_netdev_look(port->settings->name, &netdev);

	if (port->edge && !port->withdrawn)
		why = why_close(b, port, &netdev, err);
	if (why) {
		sl_warning("port %s: %s", port->settings->name, why);
		rb_bridge_halt(b);
		rb_bridge_withdraw_port(port);
		rb_bridge_release(b);
	}
	if (port->withdrawn && !rb_bridge_is_closing(port)) {
		rb_bridge_halt(b);
		rb_bridge_close_port(b, port);
		rb_bridge_release(b);
	}
	if (port->leaves) {
		rb_bridge_halt(b);
		if (!port->edge && !port->opening)
			rb_bridge_remove_port(b, port);
		rb_bridge_release(b);
		return;
	}
	if (port->edge || port->opening)
		return;
	if (err)
		port->retry_ns = port->pause_ns = 0; /* it is tried at once when it comes */
	if (sl_now_ns() >= port->retry_ns)
		rb_bridge_begin_port(b, port);
}

/* Put to use what has been opened, and look at once what else is to be done with it. */
static void end_ports(struct rb_bridge *b)
{
	for (uint32_t i = 0; i < b->n_ports; i++) {
		if (!rb_bridge_end_port(b, &b->ports[i]))
			continue;
		rb_takers_forget(b);
		b->retry_ns = 0;
	}
}

/* Close what is gone: maps, ports, the fabric. Open what is there and is not open. */
static void renew(struct rb_bridge *b, uint64_t now_ns)
{
	rb_fabric_check(b);
	say_whose_clock_disagrees(b);
	if (b->maps.voq && !b->maps_old && rb_maps_changed(&b->maps, b->settings->pin_dir))
		withdraw_ports(b);
	if (b->maps_old)
		renew_maps(b, now_ns);
	if (b->maps_old)
		return;
	if (b->maps.voq) {
		rb_maps_refresh(&b->maps);
		rb_bridge_renew_voqs(b, now_ns);
	} else if (rb_bridge_open_maps(b, now_ns)) {
		return;
	}
	/* The last one takes the place of one that is removed. */
	for (uint32_t i = b->n_ports; i > 0; i--)
		renew_port(b, &b->ports[i - 1]);
	rb_takers_begin(b);
	if (!b->ready && ports_are_settled(b)) {
		b->ready = true;
		if (b->join)
			rb_watch(b->sockets_fd, rb_join_fd(b->join), NULL);
	}
}

static void poll_sockets(struct rb_bridge *b, uint64_t now_ns)
{
	struct epoll_event events[EVENTS_MAX];
	int n;

	if (b->ready && b->join)
		rb_join_poll(b->join, now_ns);
	/* A TAP is read only after an event of its own; the relay is served anyway. */
	n = epoll_wait(b->sockets_fd, events, EVENTS_MAX, 0);
	for (int i = 0; i < n; i++)
		rb_bridge_tap_ready(b, events[i].data.ptr);
	if (n > 0)
		rb_relay_accept(b->relay);
	rb_relay_serve(b->relay, now_ns);
}

uint64_t rb_bridge_round(struct rb_bridge *b)
{
	struct rb_lane *lane = &b->lanes[0];
	uint64_t now_ns = sl_now_ns();
	const bool worked = rb_lane_round(lane, now_ns);

	b->worked = worked;
	if (rb_lane_is_due(lane, b->retry_ns, worked, now_ns)) {
		b->retry_ns = now_ns + RB_BRIDGE_RETRY_NS;
		renew(b, now_ns);
	}
	if (rb_lane_is_due(lane, b->tick_ns, worked, now_ns)) {
		b->tick_ns = now_ns + RB_BRIDGE_TICK_NS;
		end_ports(b);
		rb_takers_end(b);
		poll_sockets(b, now_ns);
		rb_bridge_kernel_alive(b, now_ns);
		/* The callbacks of the first lane's worker do not hear of the other lanes. */
		for (uint32_t i = 0; b->n_lanes > 1 && i < lane->worker->n_nodes; i++)
			rb_peering_update(b, lane->worker->nodes[i]);
	}
	rb_lane_rest(lane, worked, now_ns);
	return now_ns;
}
