/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/express/express_paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rdma-bridge/transport/roce_xdp.h"

#define CAPACITY_BURST_US 1000 /* of a port's capacity that may arrive at once */

struct rb_express {
	struct rb_express_config config;
	struct rb_transport *transport; /* borrowed */
	struct sl_express_path *map;	/* borrowed, or NULL */
	struct rb_id_set waiting;	/* our ports that XDP knows to be busy */
	/* By node: what the bridge writes into the map; and what stands for it without one. */
	struct sl_express_path path[SL_EXPRESS_NODES];
};

int rb_express_open(const struct rb_express_config *config, struct rb_express **out)
{
	struct rb_express *x = calloc(1, sizeof(*x));

	*out = x;
	if (!x)
		return -ENOMEM;
	x->config = *config;
	x->transport = config->worker->transport;
	rb_rates_set_express(config->worker->rates, rb_roce_xdp_taken(x->transport));
	rb_express_set_map(x, NULL);
	return 0;
}

void rb_express_close(struct rb_express *x)
{
	free(x);
}

/* --- Paths --- */

static struct sl_express_path *path_of(struct rb_express *x, uint8_t node)
{
	return x->map ? &x->map[node * x->config.n_workers + x->config.index] : &x->path[node];
}

static void close_path(struct sl_express_path *path)
{
	__atomic_store_n(&path->until_ns, 0, __ATOMIC_SEQ_CST);
}

/* Write what is known of the path into the map, except whether it is open. */
static void write_path(struct rb_express *x, uint8_t node)
{
	const struct sl_express_path *from = &x->path[node];
	struct sl_express_path *path = path_of(x, node);

	if (path == from)
		return;
	close_path(path);
	path->ifindex = from->ifindex;
	path->epoch = from->epoch;
	path->frame_max_bytes = from->frame_max_bytes;
	path->node = from->node;
	path->check = from->check;
	path->ip_sum = from->ip_sum;
	path->pseudo_sum = from->pseudo_sum;
	path->header_bytes = from->header_bytes;
	memcpy(path->header, from->header, sizeof(path->header));
}

void rb_express_set_map(struct rb_express *x, struct sl_express_path *map)
{
	const struct rb_worker *w;

	if (!x)
		return;
	x->map = map;
	w = x->config.worker;
	for (uint32_t i = 0; i < w->n_nodes; i++) {
		struct rb_ingress *in = w->peer[w->nodes[i]]->ingress;

		write_path(x, w->nodes[i]);
		if (!in)
			continue;
		in->busy = &path_of(x, w->nodes[i])->busy;
		*in->busy = 1; /* rb_express_round finds out */
		rb_id_set_add(&x->config.worker->todo.busy, w->nodes[i]);
	}
}

void rb_express_close_path(struct rb_express *x, uint8_t node)
{
	if (!x)
		return;
	x->path[node].check = SL_EXPRESS_NONE;
	close_path(path_of(x, node));
}

void rb_express_remove_path(struct rb_express *x, uint8_t node)
{
	static const struct rb_endpoint nowhere;

	if (!x)
		return;
	rb_express_close_path(x, node);
	rb_roce_xdp_expect_express(x->transport, node, &nowhere, 0, SL_EXPRESS_NONE);
}

/* The check of our messages to a peer that takes these; a peer on verbs takes the ICRC alone. */
static enum sl_express_check taken(enum sl_express_check ours, uint8_t takes)
{
	if (takes >> ours & 1)
		return ours;
	return takes >> SL_EXPRESS_ICRC & 1 ? SL_EXPRESS_ICRC : SL_EXPRESS_NONE;
}

void rb_express_open_path(struct rb_express *x, uint8_t node, uint32_t epoch, uint8_t sends,
			  uint8_t takes, const struct rb_endpoint *remote)
{
	const struct rb_worker_peer *peer = x ? x->config.worker->peer[node] : NULL;
	enum sl_express_check check;

	if (!x || !peer->path)
		return;
	check = taken(x->config.check, takes);
	rb_roce_xdp_expect_express(x->transport, node, remote, epoch, sends);
	if (check)
		rb_roce_xdp_express_path(x->transport, peer->path, x->config.worker->config.epoch,
					 node, check, &x->path[node]);
	write_path(x, node);
}

/* --- What changes --- */

/* Tell XDP whether frames wait for our port `number`. */
static void show_waiting(struct rb_express *x, uint32_t number)
{
	struct sl_arrival_port *port = &rb_roce_xdp_ports(x->transport)[number];
	uint32_t busy = x->config.worker->port[number]->n_waiting > 0;

	if (busy)
		rb_id_set_add(&x->waiting, number);
	else
		rb_id_set_remove(&x->waiting, number);
	if (port->busy != busy)
		__atomic_store_n(&port->busy, busy, __ATOMIC_RELAXED);
}

bool rb_express_round(struct rb_express *x)
{
	struct rb_worker *w = x ? x->config.worker : NULL;
	bool under_way = false;

	if (!x)
		return false;
	for (uint32_t i = rb_id_set_next(&w->todo.busy, 0); i != RB_ID_NONE;
	     i = rb_id_set_next(&w->todo.busy, i + 1)) {
		const struct rb_worker_peer *peer = w->peer[i];

		if (peer->path && rb_roce_xdp_is_under_way(x->transport, peer->path)) {
			under_way = true;
		} else if (!rb_ingress_holds(peer->ingress)) {
			__atomic_store_n(peer->ingress->busy, 0, __ATOMIC_SEQ_CST);
			rb_id_set_remove(&w->todo.busy, i);
		}
	}
	/* A port that waits no more may have left the set of the worker, but not ours. */
	for (uint32_t i = rb_id_set_next(&x->waiting, 0); i != RB_ID_NONE;
	     i = rb_id_set_next(&x->waiting, i + 1))
		show_waiting(x, i);
	for (uint32_t i = rb_id_set_next(&w->todo_ports, 0); i != RB_ID_NONE;
	     i = rb_id_set_next(&w->todo_ports, i + 1))
		show_waiting(x, i);
	return under_way || w->chunks->count[RB_OWNER_MESSAGE] > 0;
}

/* What the sample says, by our clock. */
static void measure(struct rb_worker *w, const struct sl_sample *sample)
{
	struct rb_egress_port *port = w->port[sample->system_port & 0xff];
	struct rb_worker_peer *peer = w->peer[sample->source];
	struct rb_delay_frame frame = { .given_ns = sample->came_ns,
					.len_bytes = sample->len_bytes,
					.ingress_port = sample->ingress_port,
					.class = sample->class,
					.transmit_ns = sample->left_ns - sample->came_ns,
					.express = true };
	int64_t message_ns;

	if (!sample->left_ns || !port || !port->delay || !peer)
		return;
	message_ns =
		rb_transit_of(&peer->transit, sample->sent_ns - (uint64_t)w->self.clock_offset_ns,
			      sample->came_ns);
	frame.stay.message_ns = message_ns > 0 ? (uint64_t)message_ns : 0;
	frame.error_us = rb_transit_error_us(&peer->transit);
	memcpy(frame.head, sample->head, sizeof(frame.head));
	rb_port_delay_add(port->delay, &frame);
}

void rb_express_measure(struct rb_express *x)
{
	struct sl_samples *samples = x ? rb_roce_xdp_samples(x->transport) : NULL;
	uint64_t number;

	for (; samples && samples->read != __atomic_load_n(&samples->made, __ATOMIC_RELAXED);
	     __atomic_store_n(&samples->read, samples->read + 1, __ATOMIC_RELEASE)) {
		const struct sl_sample *sample = &samples->sample[samples->read % SL_SAMPLES];

		/*
		 * Another CPU may be writing it, or a driver not have its frame yet. More than
		 * room for are made if CPUs race, or if that of a frame was not seen to leave.
		 */
		number = __atomic_load_n(&sample->number, __ATOMIC_ACQUIRE);
		if (number <= samples->read &&
		    __atomic_load_n(&samples->made, __ATOMIC_RELAXED) - samples->read < SL_SAMPLES)
			return;
		if (number == samples->read + 1)
			measure(x->config.worker, sample);
	}
}

void rb_express_tick(struct rb_express *x, bool fabric_takes, uint64_t now_ns)
{
	const struct rb_worker *w = x ? x->config.worker : NULL;

	if (!x)
		return;
	rb_express_measure(x);
	for (uint32_t i = rb_id_set_next(&w->linked, 0); i != RB_ID_NONE;
	     i = rb_id_set_next(&w->linked, i + 1)) {
		uint8_t node = (uint8_t)i;
		struct sl_express_path *path = path_of(x, node);
		bool open = x->path[node].check && fabric_takes &&
			    rb_worker_peer_state(w, node) == RB_PEER_UP;

		__atomic_store_n(&path->clock_offset_ns, w->self.clock_offset_ns, __ATOMIC_RELAXED);
		__atomic_store_n(&path->until_ns, open ? now_ns + w->config.dead_after_ns : 0,
				 __ATOMIC_RELEASE);
		if (path->used) {
			path->used = 0;
			rb_rates_express_sent(w->rates, node, now_ns);
		}
	}
}

/* The bucket of a port that is not shaped, at what its controller takes for its capacity. */
static uint32_t capacity_burst(uint64_t capacity_ups)
{
	uint64_t burst = capacity_ups / (1000000 / CAPACITY_BURST_US);

	return burst < RB_PACE_BURST_MAX ? (uint32_t)burst + 1 : RB_PACE_BURST_MAX;
}

void rb_express_set_port(struct rb_express *x, uint8_t number, uint32_t ifindex, uint64_t now_ns)
{
	struct rb_worker *w = x ? x->config.worker : NULL;
	struct sl_arrival_port *port;
	uint64_t rate, capacity_ups;
	uint32_t burst;

	if (!x)
		return;
	port = &rb_roce_xdp_ports(x->transport)[number];
	capacity_ups = rb_rates_port_capacity(w->rates, number);
	rate = w->port[number]->pace.rate;
	burst = w->port[number]->pace.burst;
	if (rate != SL_RATE_UNLIMITED) {
		rb_pace_move(&w->port[number]->pace, &port->clock);
	} else if (capacity_ups) {
		rate = capacity_ups;
		burst = capacity_burst(capacity_ups);
	}
	if (port->rate != rate || port->burst != burst || port->unit != w->port[number]->unit) {
		__atomic_store_n(&port->ifindex, 0, __ATOMIC_SEQ_CST);
		port->rate = rate;
		port->burst = burst;
		port->unit = w->port[number]->unit;
	}
	port->worker = x->config.index;
	if (port->ifindex != ifindex)
		__atomic_store_n(&port->ifindex, ifindex, __ATOMIC_SEQ_CST);
	if (port->used) {
		port->used = 0;
		rb_rates_express_arrived(w->rates, number, now_ns);
	}
}

bool rb_express_is_used(const struct rb_express *x, uint8_t number)
{
	return x && rb_roce_xdp_ports(x->transport)[number].used;
}

void rb_express_shut_port(struct rb_express *x, uint8_t number)
{
	struct sl_arrival_port *port = x ? &rb_roce_xdp_ports(x->transport)[number] : NULL;

	if (port && port->ifindex)
		__atomic_store_n(&port->ifindex, 0, __ATOMIC_SEQ_CST);
}

void rb_express_remove_port(struct rb_express *x, uint8_t number)
{
	struct sl_arrival_port *port;

	if (!x)
		return;
	port = &rb_roce_xdp_ports(x->transport)[number];
	__atomic_store_n(&port->ifindex, 0, __ATOMIC_SEQ_CST);
	port->rate = 0; /* that of a later port of this number is written anew */
	port->busy = 0;
	rb_id_set_remove(&x->waiting, number);
}

/* --- Views --- */

#define NAME(id, name, text) name,
static const char *const state_names[] = { RB_EXPRESS_STATES(NAME) };
#undef NAME
#define TEXT(id, name, text) text,
static const char *const state_texts[] = { RB_EXPRESS_STATES(TEXT) };
#undef TEXT

const char *rb_express_state_name(enum rb_express_state state)
{
	return state_names[state];
}

const char *rb_express_state_text(enum rb_express_state state)
{
	return state_texts[state];
}

static bool has_token(const struct rb_voq *voq, uint64_t now_ns)
{
	struct rb_pace pace = voq->pace;
	__u64 clock = __atomic_load_n(pace.clock, __ATOMIC_RELAXED);

	pace.clock = &clock;
	rb_pace_set(&pace, voq->settings->rate, voq->settings->burst, voq->settings->unit, now_ns);
	return rb_pace_ready(&pace, now_ns);
}

/* As sl_express_way judges, but for what differs from frame to frame. */
enum rb_express_state rb_express_state(struct rb_express *x, uint8_t node, const struct rb_voq *voq,
				       bool fabric_takes, uint64_t now_ns)
{
	const struct rb_worker *w = x ? x->config.worker : NULL;
	const struct sl_backlog *b = voq->backlog;

	if (!x)
		return RB_EXPRESS_OFF;
	if (node == w->self.node)
		return RB_EXPRESS_OWN;
	if (!b->path_plus1)
		return RB_EXPRESS_OFF;
	if (rb_worker_peer_state(w, node) != RB_PEER_UP)
		return RB_EXPRESS_DOWN;
	if (!x->path[node].check)
		return RB_EXPRESS_PEER;
	if (!fabric_takes)
		return RB_EXPRESS_DRIVER;
	if (!voq->settings->limit_frames || !has_token(voq, now_ns))
		return RB_EXPRESS_RATE;
	if (__atomic_load_n(&b->enqueued.frames, __ATOMIC_RELAXED) !=
	    __atomic_load_n(&b->dequeued.frames, __ATOMIC_RELAXED))
		return RB_EXPRESS_WAITING;
	return path_of(x, node)->busy ? RB_EXPRESS_UNDER_WAY : RB_EXPRESS_OPEN;
}

const struct sl_arrivals *rb_express_arrivals(const struct rb_express *x, uint8_t node)
{
	return x ? rb_roce_xdp_arrivals(x->transport, node) : NULL;
}

struct sl_passed rb_express_taken(const struct rb_express *x, uint8_t number, uint32_t class)
{
	const struct sl_passed *taken = x ? rb_roce_xdp_taken(x->transport) : NULL;
	struct sl_passed sum = { 0 };

	for (uint32_t i = sl_taken_key(number, class, 0);
	     x && i < sl_taken_key(number, class + 1, 0); i++) {
		sum.frames += taken[i].frames;
		sum.bytes += taken[i].bytes;
	}
	return sum;
}
