/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/bridge/ports.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "rdma-bridge/bridge/fabric.h"
#include "rdma-bridge/bridge/lane.h"
#include "rdma-bridge/bridge/lane_threads.h"
#include "rdma-bridge/bridge/remote_ports.h"
#include "rdma-bridge/bridge/voq_maps.h"
#include "rdma-bridge/express/express_paths.h"
#include "rdma-bridge/port/edge.h"
#include "rdma-bridge/port/injector.h"
#include "rdma-bridge/rate/cc_overrides.h"
#include "user/lib/clock.h"
#include "user/lib/log.h"

#define FULL_VOQS	4 /* VOQs that may be full for each receive queue, whatever others do */
#define RETRY_MIN_NS	100000000ULL
#define RETRY_MAX_NS	10000000000ULL
#define BURST_BYTES	(16 * 1514)
#define FRAME_MIN_BYTES 84 /* of a link that the shortest frame takes, with preamble and gap */

uint32_t rb_bridge_waiting_frames(const struct sl_cluster_settings *cluster)
{
	return FULL_VOQS * cluster->bridge.voq_frames;
}

void rb_bridge_ask_netdevs(struct sl_cluster_settings *cluster)
{
	const struct sl_cluster_node *self = sl_cluster_find_node(cluster, cluster->node);
	struct sl_cluster_port *ports = self->ports.items;

	for (uint32_t p = 0; p < self->ports.n; p++) {
		struct rb_netdev netdev = { 0 };

		rb_netdev_query(ports[p].name, &netdev);
		ports[p].receive_queues = netdev.queues;
		ports[p].link_Bps = netdev.speed_Bps;
	}
}

/* --- Opening and closing --- */

static void link_port(struct rb_bridge *b, struct rb_bridge_port *port)
{
	struct rb_lane *lane = rb_bridge_lane(b, port->system_port);

	for (uint32_t q = 0; q < rb_edge_queues(port->edge); q++)
		for (uint32_t w = 0; w < b->n_lanes; w++)
			rb_watch(b->lanes[w].all_fd, rb_edge_fd(port->edge, q, w), NULL);
	rb_egress_set_tx(lane->worker->port[port->settings->number], rb_edge_tx(port->edge),
			 lane->chunks, lane->worker->counters);
}

void rb_bridge_close_port(struct rb_bridge *b, struct rb_bridge_port *port)
{
	struct rb_lane *lane = rb_bridge_lane(b, port->system_port);

	if (port->opening) { /* only at the end of the bridge: else it is waited for */
		rb_edge_shut(port->opening, NULL, NULL);
		rb_edge_close(port->opening);
		port->opening = NULL;
	}
	if (!port->edge)
		return;
	rb_own_way_point(&port->way, lane->worker->port[port->settings->number], NULL);
	rb_bridge_leave_to_kernel(b, port);
	rb_edge_shut(port->edge, b->maps.backlog, lane->worker->counters);
	rb_egress_set_tx(lane->worker->port[port->settings->number], NULL, lane->chunks,
			 lane->worker->counters);
	rb_edge_close(port->edge);
	port->edge = NULL;
	port->withdrawn = false;
	port->ifindex = 0;
}

void rb_bridge_withdraw_port(struct rb_bridge_port *port)
{
	port->withdrawn = port->edge || port->opening;
	if (port->edge)
		rb_edge_withdraw(port->edge);
}

bool rb_bridge_is_closing(const struct rb_bridge_port *port)
{
	return port->withdrawn && (port->opening || !rb_edge_is_withdrawn(port->edge));
}

/* The injector for a port that is configured so, opened with the first such port; else NULL. */
static struct rb_injector *injector_of(struct rb_lane *lane, const struct rb_bridge_port *port)
{
	int err;

	if (port->settings->transmit != SL_TRANSMIT_INJECT || lane->injector)
		return port->settings->transmit == SL_TRANSMIT_INJECT ? lane->injector : NULL;
	err = lane->injector_err ? lane->injector_err : rb_injector_open(&lane->injector);
	if (err && !lane->injector_err)
		sl_warning("cannot inject frames: %s; ports transmit by AF_XDP", strerror(-err));
	else if (!err && !rb_injector_counts(lane->injector))
		sl_warning("without CAP_PERFMON, frames that a driver refuses are not counted");
	lane->injector_err = err;
	return lane->injector;
}

static void try_later(struct rb_bridge_port *port, int err)
{
	/*
	 * The kernel frees a queue up to half a second after its last user has ended; so after a
	 * bridge that was killed, the netdev is busy for a while.
	 */
	port->busy = err == -EBUSY ? port->busy + 1 : 0;
	if (err == -EBUSY ? port->busy == RB_BRIDGE_BUSY_MAX : err != port->err)
		sl_warning("port %s: cannot open AF_XDP rings: %s; trying again",
			   port->settings->name, strerror(-err));
	port->err = err;
	port->pause_ns = port->pause_ns ? 2 * port->pause_ns : RETRY_MIN_NS;
	if (port->pause_ns > RETRY_MAX_NS)
		port->pause_ns = RETRY_MAX_NS;
	port->retry_ns =
		sl_now_ns() +
		(port->busy && port->busy < RB_BRIDGE_BUSY_MAX ? RETRY_MIN_NS : port->pause_ns);
}

void rb_bridge_begin_port(struct rb_bridge *b, struct rb_bridge_port *port)
{
	struct rb_chunks *chunks[RB_EDGE_WORKERS_MAX];
	struct rb_lane *lane = rb_bridge_lane(b, port->system_port);
	const struct rb_edge_config config = {
		.netdev = port->settings->name,
		.system_port = port->system_port,
		.chunks = lane->chunks,
		.area_bytes = b->area_bytes,
		.meta_ports = b->maps.meta.n_ports,
		.meta_queues = b->maps.meta.n_queues,
		.meta_voqs = b->maps.meta.n_voqs,
		.rings = b->maps.ring,
		.fill_target = RB_BRIDGE_FILL_TARGET,
		.xsk_fd = b->maps.xsk_fd,
		.injector = injector_of(lane, port),
		.workers = b->n_lanes,
		.owner = lane->index,
		.wake_fd = lane->wake_fd,
		.reader_chunks = chunks,
	};
	int err;

	for (uint32_t i = 0; i < b->n_lanes; i++)
		chunks[i] = b->lanes[i].chunks;
	err = rb_edge_begin(&config, &port->opening);
	if (err)
		try_later(port, err);
}

/* What has been opened is the port's now, or never will be. */
static int take_rings(struct rb_bridge_port *port)
{
	int err = 0;

	rb_edge_has_opened(port->opening, &err);
	if (!err && !port->withdrawn)
		err = rb_edge_publish(port->opening);
	if (err) {
		rb_edge_shut(port->opening, NULL, NULL);
		rb_edge_close(port->opening);
		port->withdrawn = false;
	} else {
		port->edge = port->opening;
	}
	port->opening = NULL;
	return err;
}

bool rb_bridge_end_port(struct rb_bridge *b, struct rb_bridge_port *port)
{
	int err;

	if (!port->opening || !rb_edge_has_opened(port->opening, &err))
		return false;
	rb_bridge_halt(b);
	err = take_rings(port);
	if (err) {
		try_later(port, err);
	} else if (port->withdrawn) {
		rb_edge_withdraw(port->edge);
	} else {
		port->err = 0;
		port->busy = 0;
		port->pause_ns = 0;
		port->ifindex = rb_edge_ifindex(port->edge);
		port->takes = port->keeps_order = false; /* it may be another netdev */
		link_port(b, port);
		rb_bridge_take_from_kernel(b, port);
		sl_info("port %s: n%up%u, %u queues, %s, transmits by %s", port->settings->name,
			port->system_port >> 8, port->system_port & 0xff,
			rb_edge_queues(port->edge),
			rb_edge_is_zero_copy(port->edge) ? "zero-copy" : "copy mode",
			rb_edge_tx(port->edge)->ops->name);
	}
	rb_bridge_release(b);
	return true;
}

/* --- Egress queues and controllers --- */

/* The flow queues of a class: what the configuration says, for the rate that this port has. */
static int prepare_flows(const struct sl_cluster_port *settings,
			 const struct sl_queue_settings *queue, uint32_t seed,
			 struct fq_config *out)
{
	*out = queue->flow_queues;
	out->shape.seed = seed;
	if (settings->rate.per_s)
		return 0;
	if (settings->link_Bps && settings->link_Bps <= FQ_RATE_MAX_BPS)
		out->shape.rate_Bps = settings->link_Bps;
	return fq_config_prepare(out, NULL);
}

int rb_bridge_open_queues(const struct rb_bridge *b, const struct sl_cluster_port *settings,
			  bool measured, uint64_t now_ns, struct rb_egress_port **out)
{
	struct rb_egress_config egress = {
		.system_port = SL_SYSTEM_PORT(b->settings->cluster.node, settings->number),
		.rate = settings->rate.per_s ? settings->rate.per_s : SL_RATE_UNLIMITED,
		.unit = settings->rate.frames ? SL_UNIT_FRAMES : SL_UNIT_BYTES,
		.burst = settings->rate.frames ? RB_BRIDGE_BURST_FRAMES : BURST_BYTES,
		.delay_sample = measured ? b->settings->cluster.bridge.delay_sample : 0,
	};
	uint64_t burst = settings->rate.per_s / 1000 * settings->burst_us / 1000;
	struct fq_config flows[SL_CLASSES];

	*out = NULL;
	if (burst > egress.burst)
		egress.burst = burst < RB_PACE_BURST_MAX ? (uint32_t)burst : RB_PACE_BURST_MAX;
	if (getrandom(&egress.flow_key, sizeof(egress.flow_key), 0) < 0)
		return -errno;
	for (uint32_t c = 0; c < SL_CLASSES; c++) {
		const struct sl_queue_settings *queue = &settings->queue[c];

		egress.class[c] = (struct rb_egress_class_config){
			.level = sl_scheduler_level(settings->scheduler, c),
			.weight = queue->weight,
			.limit_frames = queue->frames,
			.flows = queue->flow_queues.ops ? &flows[c] : NULL,
		};
		if (queue->flow_queues.ops &&
		    prepare_flows(settings, queue, (uint32_t)egress.flow_key.k0, &flows[c]))
			return -EINVAL;
	}
	return rb_egress_open(&egress, now_ns, out);
}

void rb_bridge_add_port(struct rb_bridge *b, const struct sl_cluster_port *settings,
			struct rb_egress_port *queues, uint64_t now_ns)
{
	struct rb_bridge_port *port = &b->ports[b->n_ports++];

	*port = (struct rb_bridge_port){ .settings = settings, .system_port = queues->system_port };
	rb_worker_take_port(rb_bridge_lane(b, port->system_port)->worker, queues, now_ns);
}

void rb_bridge_adopt_settings(struct rb_bridge_port *port, const struct sl_cluster_port *settings,
			      struct sl_cluster_port *kept)
{
	if (port->kept)
		free(port->kept->name);
	free(port->kept);
	port->settings = settings;
	port->kept = kept;
	port->leaves = kept;
	port->retry_ns = port->pause_ns = 0;
}

void rb_bridge_remove_port(struct rb_bridge *b, struct rb_bridge_port *port)
{
	const struct rb_lane *lane = rb_bridge_lane(b, port->system_port);
	const uint8_t number = port->system_port & 0xff;

	rb_express_remove_port(lane->express, number);
	rb_worker_remove_port(lane->worker, number);
	rb_bridge_adopt_settings(port, NULL, NULL);
	*port = b->ports[--b->n_ports];
}

/* --- Queues of reserved flows --- */

static struct rb_egress_flows *reserved_flows(struct rb_bridge *b, uint16_t system_port)
{
	const struct rb_worker *worker = rb_bridge_lane(b, system_port)->worker;
	const struct rb_egress_port *port = worker->port[system_port & 0xff];
	struct rb_egress_flows *flows = port ? port->queue[SL_RESERVED_CLASS].flows : NULL;

	return flows && flows->port->config.shape.reserved ? flows : NULL;
}

void rb_bridge_reserve_flow(struct rb_bridge *b, uint16_t system_port,
			    const struct sl_flow_key *key, uint32_t weight)
{
	struct rb_egress_flows *flows = NULL;
	struct fq_flow flow;
	int err = -ENOENT;

	fq_flow_of(key->version, key->protocol, key->source, key->destination, &key->source_port,
		   &flow);
	rb_bridge_halt(b);
	if (system_port >> 8 == b->settings->cluster.node)
		flows = reserved_flows(b, system_port);
	if (flows)
		err = weight ? rb_egress_flows_reserve(flows, &flow, weight)
			     : rb_egress_flows_release(flows, &flow);
	rb_bridge_release(b);
	if (err && weight)
		sl_warning("n%up%u: a reserved flow has no queue of its own: %s", system_port >> 8,
			   system_port & 0xff, strerror(-err));
}

void rb_bridge_forget_flows(struct rb_bridge *b)
{
	rb_bridge_halt(b);
	for (uint32_t i = 0; i < b->n_ports; i++) {
		struct rb_egress_flows *flows = reserved_flows(b, b->ports[i].system_port);

		if (flows)
			rb_egress_flows_release_all(flows);
	}
	rb_bridge_release(b);
}

static uint64_t in_units(uint64_t speed_Bps, enum sl_unit unit)
{
	return unit == SL_UNIT_BYTES ? speed_Bps : speed_Bps / FRAME_MIN_BYTES;
}

/* The speed of a port's link: what its netdev said, or that of 10 Gb/s Ethernet. */
static uint64_t link_speed_Bps(uint64_t said_Bps)
{
	return said_Bps ? said_Bps : RB_RATES_SPEED_DEFAULT;
}

static struct rb_bridge_port *port_of(const struct rb_bridge *b, uint8_t number)
{
	for (uint32_t p = 0; p < b->n_ports; p++)
		if ((b->ports[p].system_port & 0xff) == number)
			return &b->ports[p];
	return NULL;
}

static int set_controller(struct rb_bridge *b, const struct rb_bridge_port *port,
			  const struct sl_cc_settings *settings, uint64_t link_Bps, uint64_t now_ns,
			  const char **why)
{
	const uint8_t number = port->system_port & 0xff;
	struct rb_worker *worker = rb_bridge_lane(b, port->system_port)->worker;
	const enum sl_unit unit = worker->port[number]->unit;

	/* A source's line is taken to be ours; each source knows its own. */
	return rb_rates_set_port(worker->rates, number, settings,
				 in_units(link_speed_Bps(link_Bps), unit),
				 in_units(rb_fabric_speed_Bps(b), unit), now_ns, why);
}

int rb_bridge_set_controller(struct rb_bridge *b, uint8_t number,
			     const struct sl_cc_settings *settings, uint64_t now_ns,
			     const char **why)
{
	const struct rb_bridge_port *port = port_of(b, number);
	struct rb_netdev netdev = { 0 };

	if (!port)
		return -ENOENT;
	rb_netdev_query(port->settings->name, &netdev);
	return set_controller(b, port, settings, netdev.speed_Bps, now_ns, why);
}

/* What `cc set` or the configuration says, if it fits the queues. -EINVAL, logged: neither does. */
static int find_controller(const struct rb_bridge *b, const struct sl_cluster_port *port,
			   const struct rb_egress_port *queues, struct sl_cc_settings *out)
{
	const struct rb_rates *rates = rb_bridge_lane(b, queues->system_port)->worker->rates;
	const uint64_t capacity_ups = in_units(link_speed_Bps(port->link_Bps), queues->unit);
	const uint64_t line_ups = in_units(rb_fabric_speed_Bps(b), queues->unit);
	const char *why;

	rb_cc_overrides_find(b->cc_overrides_path, queues->system_port, &port->control, out);
	if (rb_rates_check_port(rates, queues, out, capacity_ups, line_ups, &why) == 0)
		return 0;
	/* The setting of `cc set` may fit only a former rate of the port. */
	*out = port->control;
	if (rb_rates_check_port(rates, queues, out, capacity_ups, line_ups, &why) == 0)
		return 0;
	sl_error("port %s: its controller does not work: %s", port->name, why);
	return -EINVAL;
}

int rb_bridge_check_controller(const struct rb_bridge *b, const struct sl_cluster_port *port,
			       const struct rb_egress_port *queues)
{
	struct sl_cc_settings unused;

	return find_controller(b, port, queues, &unused);
}

int rb_bridge_set_controllers(struct rb_bridge *b, uint64_t now_ns)
{
	int err = 0;

	for (uint32_t p = 0; p < b->n_ports && !err; p++) {
		const struct rb_bridge_port *port = &b->ports[p];
		const uint8_t number = port->system_port & 0xff;
		const struct rb_worker *worker = rb_bridge_lane(b, port->system_port)->worker;
		struct sl_cc_settings settings;

		if (port->leaves)
			continue;
		err = find_controller(b, port->settings, worker->port[number], &settings);
		if (!err)
			err = set_controller(b, port, &settings, port->settings->link_Bps, now_ns,
					     NULL);
	}
	return err;
}
