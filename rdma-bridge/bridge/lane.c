/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/bridge/lane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "rdma-bridge/express/express_paths.h"
#include "rdma-bridge/port/edge.h"
#include "rdma-bridge/port/injector.h"
#include "rdma-bridge/queue/backlog.h"
#include "user/lib/clock.h"
#include "user/lib/log.h"

struct rb_lane *rb_bridge_lane(const struct rb_bridge *b, uint16_t system_port)
{
	return &b->lanes[((system_port & 0xff) - 1) % b->n_lanes];
}

enum rb_peer_state rb_bridge_peer_state(const struct rb_bridge *b, uint8_t node)
{
	enum rb_peer_state worst = RB_PEER_UP;

	for (uint32_t i = 0; i < b->n_lanes; i++) {
		/* The other lanes run and may change it now. */
		enum rb_peer_state state = rb_peer_state_now(&b->lanes[i].worker->peers.peer[node]);

		if (state < worst)
			worst = state;
	}
	return worst;
}

void rb_watch(int epoll_fd, int fd, void *what)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = what };

	/* A descriptor that cannot be watched is still polled, once a tick. */
	epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

void rb_lane_wake(const struct rb_lane *lane)
{
	const uint64_t one = 1;

	if (write(lane->wake_fd, &one, sizeof(one)) < 0)
		sl_debug("cannot wake worker %u: %s", lane->index, strerror(errno));
}

void rb_bridge_wake(const struct rb_bridge *b, uint16_t system_port)
{
	const struct rb_lane *lane = rb_bridge_lane(b, system_port);

	if (lane->index > 0)
		rb_lane_wake(lane);
}

/* --- Past the bridge --- */

bool rb_bridge_may_pass(const struct rb_bridge *b, const struct rb_bridge_port *port)
{
	const struct sl_cluster_settings *cluster = &b->settings->cluster;

	/* A router alone has no key `express`. */
	return port->edge && !port->withdrawn &&
	       (port->settings->express != SL_EXPRESS_NEVER || !sl_cluster_has_fabric(cluster));
}

/* The VOQs of a port of its own that is shaped, by which frames may go past; NULL: none. */
static struct sl_backlog *own_voqs(const struct rb_lane *lane, struct rb_bridge_port *port)
{
	const struct rb_egress_port *egress = lane->worker->port[port->system_port & 0xff];
	const struct rb_maps *maps = &lane->bridge->maps;
	uint32_t *id = &port->way.voq_id;

	if (!maps->backlog || egress->pace.rate == SL_RATE_UNLIMITED ||
	    !rb_bridge_may_pass(lane->bridge, port))
		return NULL;
	if (*id >= maps->meta.n_voqs || maps->system_ports[*id / SL_CLASSES] != port->system_port)
		*id = rb_maps_voq(maps, port->system_port);
	return *id < maps->meta.n_voqs ? &maps->backlog[*id] : NULL;
}

/* Tell XDP whether frames for the port may go past the bridge: once a tick, in its lane. */
static void set_way(struct rb_lane *lane, struct rb_bridge_port *port, uint64_t now_ns)
{
	const uint8_t number = port->system_port & 0xff;
	const bool takes = __atomic_load_n(&port->takes, __ATOMIC_RELAXED);
	const bool others = rb_id_set_has(&lane->worker->from_others, number) ||
			    rb_express_is_used(lane->express, number);
	struct rb_worker *w = lane->worker;
	struct sl_backlog *voqs = own_voqs(lane, port);

	rb_id_set_remove(&w->from_others, number);
	if (rb_own_way_is_used(&port->way, voqs)) {
		rb_rates_express_arrived(w->rates, number, now_ns);
		rb_rates_express_sent(w->rates, w->self.node, now_ns);
	}
	if (lane->express && (!voqs || !rb_own_way_is_wanted(&port->way, voqs, others, now_ns))) {
		rb_own_way_point(&port->way, w->port[number], NULL);
		rb_express_set_port(lane->express, number,
				    port->edge && !port->withdrawn && takes ? port->ifindex : 0,
				    now_ns);
		return;
	}
	rb_express_shut_port(lane->express, number);
	rb_own_way_point(&port->way, w->port[number], voqs);
	rb_own_way_open(&port->way, w->port[number], takes ? now_ns + w->config.dead_after_ns : 0);
}

/* --- Its rounds --- */

#define SORT_BATCH 64

/*
 * Empty the rings of this lane into its VOQs. A frame whose VOQ another lane reads, because XDP
 * read an old sl_backlog.worker, is lost.
 */
static void sort_frames(struct rb_lane *lane, struct rb_edge *edge)
{
	const struct rb_bridge *b = lane->bridge;
	struct rb_frame frames[SORT_BATCH];
	uint32_t n, total = 0;

	do {
		n = rb_edge_receive(edge, lane->index, b->maps.backlog, lane->worker->counters,
				    frames, SORT_BATCH);
		for (uint32_t i = 0; i < n; i++) {
			const struct rb_bridge_place *place = &b->places[frames[i].voq];

			if (place->ingress && place->lane == lane->index) {
				rb_ingress_put(place->ingress, place->local, &frames[i]);
				continue;
			}
			rb_backlog_lose(&b->maps.backlog[frames[i].voq], frames[i].len_bytes);
			rb_count(lane->worker->counters, RB_COUNT_DROP_VOQ_RING, 1,
				 frames[i].len_bytes);
			rb_chunk_release(lane->chunks, frames[i].offset, RB_OWNER_INGRESS);
		}
		total += n;
	} while (n > 0 && total < SL_RING_FRAMES);
}

/* Own ports of this lane let frames past while they wait for none of ours: before a round. */
static void begin_ways(struct rb_lane *lane)
{
	struct rb_bridge *b = lane->bridge;

	for (uint32_t i = 0; i < b->n_ports; i++)
		if (rb_bridge_lane(b, b->ports[i].system_port) == lane)
			rb_own_way_begin(&b->ports[i].way);
}

/* The same after it. True if frames that it sent are not gone yet. */
static bool end_ways(struct rb_lane *lane)
{
	struct rb_bridge *b = lane->bridge;
	const struct rb_worker *w = lane->worker;
	bool under_way = false;

	for (uint32_t i = 0; i < b->n_ports; i++)
		if (rb_bridge_lane(b, b->ports[i].system_port) == lane && b->ports[i].way.backlog)
			under_way |= rb_own_way_end(&b->ports[i].way,
						    w->port[b->ports[i].system_port & 0xff],
						    w->peer[w->self.node]->ingress);
	return under_way;
}

/* What this lane adds to the time in its messages, where the clocks of all nodes agree. */
static void set_clock(struct rb_worker *w)
{
	if (w->config.clock_error_ns)
		w->self.clock_offset_ns = sl_tai_offset_ns(w->self.clock_offset_ns);
}

bool rb_lane_round(struct rb_lane *lane, uint64_t now_ns)
{
	struct rb_bridge *b = lane->bridge;
	bool busy;

	if (lane->round_ns && now_ns - lane->round_ns > lane->longest_ns)
		lane->longest_ns = now_ns - lane->round_ns;
	lane->round_ns = now_ns;
	for (uint32_t i = 0; i < b->n_ports; i++)
		if (b->ports[i].edge)
			sort_frames(lane, b->ports[i].edge);
	begin_ways(lane);
	busy = rb_worker_round(lane->worker, now_ns);
	lane->under_way = end_ways(lane);
	lane->under_way |= rb_express_round(lane->express);
	for (uint32_t i = 0; i < b->n_ports; i++) {
		if (!b->ports[i].edge)
			continue;
		if (rb_bridge_lane(b, b->ports[i].system_port) == lane)
			rb_edge_refill(b->ports[i].edge);
		rb_edge_share(b->ports[i].edge, lane->index);
	}
	if (rb_lane_is_due(lane, lane->tick_ns, busy, now_ns)) {
		lane->tick_ns = now_ns + RB_BRIDGE_TICK_NS;
		set_clock(lane->worker);
		rb_worker_tick(lane->worker, now_ns);
		rb_express_tick(lane->express, __atomic_load_n(&b->fabric_takes, __ATOMIC_RELAXED),
				now_ns);
		for (uint32_t i = 0; i < b->n_ports; i++)
			if (rb_bridge_lane(b, b->ports[i].system_port) == lane)
				set_way(lane, &b->ports[i], now_ns);
		for (uint32_t i = 0; i < b->n_ports; i++)
			if (b->ports[i].edge)
				rb_edge_settle(b->ports[i].edge, lane->index, b->maps.backlog,
					       lane->worker->counters, now_ns);
	}
	return busy;
}

/* When the next thing is due by the clock alone. */
static uint64_t due_ns(const struct rb_lane *lane, uint64_t now_ns)
{
	const struct rb_worker *w = lane->worker;
	/* Nothing else is due sooner than a fraction of the time in which a death is noticed. */
	uint64_t until_ns = now_ns + w->config.hello_interval_ns / 3;

	if ((w->held || lane->under_way) && until_ns > now_ns + RB_LANE_NAP_NS)
		until_ns = now_ns + RB_LANE_NAP_NS;
	if (until_ns > w->ready_ns)
		until_ns = w->ready_ns;
	if (lane->index == 0 && until_ns > lane->bridge->retry_ns)
		until_ns = lane->bridge->retry_ns;
	if (until_ns > rb_rates_due_ns(w->rates))
		until_ns = rb_rates_due_ns(w->rates);
	return until_ns;
}

static void sleep_until_due(struct rb_lane *lane, uint64_t now_ns)
{
	struct rb_transport *transport = lane->transport;
	uint64_t until_ns = due_ns(lane, now_ns);
	struct epoll_event event;
	struct timespec timeout;

	lane->awake = RB_AWAKE_IDLE;
	lane->awake_ns = 0;
	if (transport->ops->arm(transport))
		return;
	lane->round_ns = 0;
	if (until_ns <= now_ns)
		return;
	timeout.tv_sec = (time_t)((until_ns - now_ns) / 1000000000);
	timeout.tv_nsec = (long)((until_ns - now_ns) % 1000000000);
	epoll_pwait2(lane->all_fd, &event, 1, &timeout, NULL);
}

/*
 * This lane has nothing to do. Does it poll for more work before it sleeps? A frame from another
 * core arrives sooner than a sleeper wakes, and its sender need not wake anyone. But a producer on
 * this core can run only while we sleep. So after each polling in vain the lane sleeps without
 * polling for twice as many times as before, and for half as many after polling found work. And it
 * never polls on for long without a sleep, for the sake of everything else on this core.
 */
static bool polls_on(struct rb_lane *lane, uint64_t now_ns)
{
	if (lane->awake == RB_AWAKE_IDLE)
		return false;
	if (lane->awake == RB_AWAKE_WORKED && lane->skips > 0) {
		lane->skips--;
		return false;
	}
	if (now_ns - lane->awake_ns <= RB_LANE_POLL_NS) {
		if (lane->awake == RB_AWAKE_WORKED)
			lane->awake = RB_AWAKE_POLLING;
		return true;
	}
	if (lane->awake == RB_AWAKE_FOUND) {
		lane->skips_next /= 2;
	} else if (lane->awake == RB_AWAKE_POLLING) {
		lane->skips_next = 2 * lane->skips_next + 1;
		if (lane->skips_next > RB_LANE_SKIPS_MAX)
			lane->skips_next = RB_LANE_SKIPS_MAX;
		lane->skips = lane->skips_next;
	}
	return false;
}

void rb_lane_rest(struct rb_lane *lane, bool worked, uint64_t now_ns)
{
	if (lane->awake_ns == 0)
		lane->awake_ns = now_ns;
	if (worked && lane->awake == RB_AWAKE_IDLE)
		lane->awake = RB_AWAKE_WORKED;
	else if (worked && lane->awake == RB_AWAKE_POLLING)
		lane->awake = RB_AWAKE_FOUND;
	if (worked || lane->bridge->settings->cluster.bridge.poll == SL_POLL_BUSY)
		return;
	if (lane->worker->held || !polls_on(lane, now_ns))
		sleep_until_due(lane, now_ns);
}

/* --- Opening and closing --- */

int rb_lanes_open(struct rb_bridge *b, uint32_t n)
{
	b->lanes = calloc(n, sizeof(*b->lanes));
	if (!b->lanes)
		return -ENOMEM;
	b->n_lanes = n;
	for (uint32_t i = 0; i < n; i++)
		b->lanes[i] =
			(struct rb_lane){ .bridge = b, .index = i, .all_fd = -1, .wake_fd = -1 };
	for (uint32_t i = 0; i < n; i++) {
		struct epoll_event event = { .events = EPOLLIN | EPOLLET };
		struct rb_lane *lane = &b->lanes[i];

		lane->all_fd = epoll_create1(EPOLL_CLOEXEC);
		lane->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (lane->all_fd < 0 || lane->wake_fd < 0 ||
		    epoll_ctl(lane->all_fd, EPOLL_CTL_ADD, lane->wake_fd, &event))
			return -errno;
	}
	return 0;
}

void rb_lane_close(struct rb_lane *lane)
{
	rb_injector_close(lane->injector);
	rb_worker_destroy(lane->worker);
	if (lane->transport)
		lane->transport->ops->close(lane->transport);
	if (lane->wake_fd >= 0)
		close(lane->wake_fd);
	if (lane->all_fd >= 0)
		close(lane->all_fd);
	rb_express_close(lane->express);
}
