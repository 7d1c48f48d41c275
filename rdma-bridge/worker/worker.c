/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/worker/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rdma-bridge/worker/worker_receive.h"

#define EGRESS_BUDGET  512 /* frames sent per port in one round: more than a round receives */
#define RECEIVE_TARGET 512 /* chunks kept posted to the transport, unless configured */

/* --- The loop --- */

static bool serve_port(struct rb_worker *w, struct rb_egress_port *port, uint64_t now_ns)
{
	uint64_t ready_ns;

	if (rb_egress_serve(port, EGRESS_BUDGET, w->chunks, w->counters, now_ns) > 0)
		return true;
	if (port->n_waiting == 0)
		return false;
	ready_ns = rb_pace_ready_at(&port->pace, now_ns);
	if (ready_ns <= now_ns)
		return true; /* waits for room in its device */
	rb_worker_hold(w, ready_ns);
	return false;
}

/*
 * What time it is while a port sends, which takes a system call and longer than the rest of the
 * round. Only measured frames want to know.
 */
static uint64_t time_of(const struct rb_worker *w, const struct rb_egress_port *port,
			uint64_t now_ns)
{
	return w->config.clock_ns && port->delay && port->delay->n ? w->config.clock_ns() : now_ns;
}

/* Serve the ports that are not idle. */
static bool serve_ports(struct rb_worker *w, uint64_t now_ns)
{
	bool busy = false;

	for (uint32_t i = rb_id_set_next(&w->todo_ports, 0); i != RB_ID_NONE;
	     i = rb_id_set_next(&w->todo_ports, i + 1)) {
		struct rb_egress_port *port = w->port[i];
		uint64_t from_ns;
		bool served;

		rb_egress_reap(port, w->chunks, now_ns, now_ns);
		served = serve_port(w, port, now_ns);
		from_ns = time_of(w, port, now_ns);
		if (rb_egress_flush(port, w->chunks, w->counters) == -EAGAIN)
			busy = true;
		/* In copy mode the frames are sent by now. */
		if (served)
			rb_egress_reap(port, w->chunks, from_ns, time_of(w, port, now_ns));
		if (rb_egress_is_idle(port))
			rb_id_set_remove(&w->todo_ports, i);
		busy |= served;
	}
	return busy;
}

static bool serve_waiting(struct rb_worker *w, uint32_t from, uint32_t until, uint64_t now_ns)
{
	bool busy = false;

	for (uint32_t i = rb_id_set_next(&w->todo.waiting, from); i < until;
	     i = rb_id_set_next(&w->todo.waiting, i + 1)) {
		struct rb_worker_peer *peer = w->peer[i];

		busy |= i == w->self.node ? rb_worker_serve_own(w, peer, now_ns)
					  : rb_worker_serve_peer(w, peer, now_ns);
		if (!rb_ingress_is_waiting(peer->ingress))
			rb_id_set_remove(&w->todo.waiting, i);
	}
	return busy;
}

/* Serve the nodes for which frames wait. Each of them is the first in turn. */
static bool serve_peers(struct rb_worker *w, uint64_t now_ns)
{
	uint32_t first;
	bool busy;

	rb_id_set_collect(&w->todo.asked, &w->todo.waiting);
	if (rb_id_set_is_empty(&w->todo.waiting))
		return false;
	first = rb_id_set_next(&w->todo.waiting, w->turn);
	if (first == RB_ID_NONE)
		first = rb_id_set_next(&w->todo.waiting, 0);
	busy = serve_waiting(w, first, RB_ID_SET_MAX, now_ns);
	busy |= serve_waiting(w, 0, first, now_ns);
	w->turn = first + 1;
	return busy;
}

/*
 * Receiving comes first and nothing after it holds it up. So congestion shows in the egress queues,
 * and not as messages lost for want of a chunk (thesis, section 5.4.3).
 */
bool rb_worker_round(struct rb_worker *w, uint64_t now_ns)
{
	bool busy;

	w->now_ns = now_ns;
	w->held = false;
	w->ready_ns = UINT64_MAX;
	rb_peers_run(&w->peers, now_ns);
	busy = rb_worker_receive(w, now_ns);
	rb_worker_post_receives(w);
	busy |= serve_ports(w, now_ns);
	/* Feedback goes before data. */
	rb_rates_round(w->rates, now_ns);
	busy |= serve_peers(w, now_ns);
	if (w->transport->ops->flush(w->transport))
		busy = true;
	w->rounds++;
	w->idle_rounds += !busy;
	return busy;
}

static void say_hello(struct rb_worker *w, struct rb_worker_peer *peer, uint64_t now_ns)
{
	const struct rb_hello hello = {
		.transit_ns = rb_transit_here_ns(&peer->transit),
		.heard_epoch = rb_peers_heard_epoch(&w->peers, peer->node, now_ns),
		.interval_us = (uint32_t)(w->config.hello_interval_ns / 1000),
	};
	uint8_t body[RB_HELLO_BYTES];

	rb_hello_encode(&hello, body);
	if (rb_worker_send_records(w, peer->node, RB_MSG_HELLO, 1, body, sizeof(body), now_ns) == 0)
		peer->hello_ns = now_ns + w->config.hello_interval_ns;
}

void rb_worker_tick(struct rb_worker *w, uint64_t now_ns)
{
	bool said = false;

	if (w->first_tick_ns == 0)
		w->first_tick_ns = now_ns;
	rb_peers_run(&w->peers, now_ns);
	for (uint32_t i = rb_id_set_next(&w->linked, 0); i != RB_ID_NONE;
	     i = rb_id_set_next(&w->linked, i + 1)) {
		struct rb_worker_peer *peer = w->peer[i];
		bool changed = rb_peers_tick(&w->peers, peer->node, now_ns);

		/* A change goes out at once: the peer is up only after it has heard of it. */
		if (peer->path && (changed || now_ns >= peer->hello_ns)) {
			say_hello(w, peer, now_ns);
			said = true;
		}
		if (changed)
			peer->since_ns = now_ns;
		if (changed)
			rb_rates_peer_changed(w->rates, peer->node, now_ns);
		if (changed && w->on_peer)
			w->on_peer(w->event_context, peer->node,
				   rb_worker_peer_state(w, peer->node));
	}
	/* The caller may sleep now, and hellos say when they were made. */
	if (said)
		w->transport->ops->flush(w->transport);
}

/* --- Setting up --- */

static int create_rates(struct rb_worker *w)
{
	const struct rb_rates_config config = {
		.node = w->config.node,
		.seed = w->config.epoch,
		.fabric_Bps = w->config.fabric_Bps,
		.urgency = w->config.urgency,
		.worker = w->config.worker,
		.n_workers = w->config.n_workers,
		.peers = &w->peers,
		.counters = w->counters,
		.now_ns = &w->now_ns,
		.egress = w->port,
		.send = rb_worker_send_records,
		.context = w,
	};

	return rb_rates_create(&config, &w->rates);
}

int rb_worker_create(const struct rb_worker_config *config, struct rb_worker **out)
{
	struct rb_worker *w;
	int err;

	*out = NULL;
	if (config->stream >= RB_STREAMS_MAX || config->degree == 0 ||
	    config->degree > RB_RECORDS_MAX || config->hello_interval_ns == 0 ||
	    config->hello_interval_ns >= config->dead_after_ns)
		return -EINVAL;
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	err = rb_peers_init(&w->peers, config->node, config->epoch, config->dead_after_ns);
	if (err)
		goto out;
	w->lent = calloc(RB_LENT_MAX, sizeof(*w->lent));
	if (!w->lent) {
		err = -ENOMEM;
		goto out;
	}
	for (uint32_t i = 0; i < RB_LENT_MAX; i++)
		w->free_lent[w->n_free_lent++] = i;
	w->config = *config;
	if (w->config.receive_target == 0)
		w->config.receive_target = RECEIVE_TARGET;
	w->transport = config->transport;
	w->chunks = config->transport->chunks;
	if (rb_chunk_bytes(w->chunks) < RB_PACK_HEADERS_MAX_BYTES) {
		err = -EINVAL;
		goto out;
	}
	w->self.node = config->node;
	err = rb_frame_pool_init(&w->pool, w->chunks);
	if (!err)
		err = create_rates(w);
	if (err)
		goto out;
	/* Before any node can know us, so that not even its first hello is lost. */
	rb_worker_post_receives(w);
	*out = w;
out:
	if (err)
		rb_worker_destroy(w);
	return err;
}

void rb_worker_destroy(struct rb_worker *w)
{
	if (!w)
		return;
	rb_rates_destroy(w->rates);
	for (uint32_t i = 0; i < 256; i++) {
		struct rb_worker_peer *peer = w->peer[i];

		if (peer && peer->path)
			w->transport->ops->path_destroy(w->transport, peer->path);
		if (peer)
			rb_ingress_close(peer->ingress, w->chunks, w->counters);
		free(peer);
	}
	for (uint32_t i = 0; i < w->n_ports; i++)
		rb_egress_close(w->port[w->ports[i]], w->chunks, w->counters);
	rb_frame_pool_fini(&w->pool);
	free(w->lent);
	free(w);
}

/* The sending side of a destination: another node, or this one. */
static int add_destination(struct rb_worker *w, uint8_t node, uint32_t n_voqs,
			   uint32_t frame_max_bytes, uint32_t message_max_bytes, uint32_t degree)
{
	struct rb_worker_peer *peer = calloc(1, sizeof(*peer));
	int err = 0;

	if (!peer)
		return -ENOMEM;
	peer->node = node;
	if (n_voqs > 0)
		err = rb_ingress_open(&w->todo, &w->pool, node, n_voqs, frame_max_bytes,
				      message_max_bytes, degree, &peer->ingress);
	if (err) {
		free(peer);
		return err;
	}
	w->peer[node] = peer;
	rb_rates_add_peer(w->rates, node, peer->ingress);
	return 0;
}

/* The headers of a message take one gather entry. */
static uint32_t degree_of(const struct rb_worker *w)
{
	const uint32_t most = w->transport->pieces_max - 1;

	return w->config.degree < most ? w->config.degree : most;
}

void rb_worker_set_packing(struct rb_worker *w, uint32_t degree, uint64_t pack_delay_ns)
{
	w->config.degree = degree;
	w->config.pack_delay_ns = pack_delay_ns;
	/* What goes to this node itself is not packed for a transport. */
	for (uint32_t i = 0; i < w->n_nodes; i++)
		if (w->peer[w->nodes[i]]->ingress)
			rb_ingress_set_degree(w->peer[w->nodes[i]]->ingress, degree_of(w));
}

void rb_worker_set_fabric(struct rb_worker *w, uint64_t fabric_Bps)
{
	w->config.fabric_Bps = fabric_Bps;
	rb_rates_set_fabric(w->rates, fabric_Bps);
}

int rb_worker_add_peer(struct rb_worker *w, uint8_t node, uint32_t n_voqs, uint32_t frame_max_bytes)
{
	struct rb_endpoint self;
	int err = rb_peers_add(&w->peers, node);

	if (err)
		return err;
	w->transport->ops->endpoint(w->transport, &self);
	err = add_destination(w, node, n_voqs, frame_max_bytes, self.message_max_bytes,
			      degree_of(w));
	if (!err)
		w->nodes[w->n_nodes++] = node;
	if (err)
		return err;
	w->peer[node]->sequence = w->next_sequence[node];
	rb_transit_init(&w->peer[node]->transit, w->config.clock_error_ns);
	return 0;
}

void rb_worker_remove_peer(struct rb_worker *w, uint8_t node)
{
	struct rb_worker_peer *peer = w->peer[node];

	rb_peers_remove(&w->peers, node);
	if (!peer)
		return;
	w->next_sequence[node] = peer->sequence;
	if (peer->path)
		w->transport->ops->path_destroy(w->transport, peer->path);
	rb_id_set_remove(&w->linked, node);
	rb_rates_remove_peer(w->rates, node);
	rb_ingress_close(peer->ingress, w->chunks, w->counters);
	rb_id_set_remove(&w->todo.waiting, node);
	rb_id_set_remove(&w->todo.busy, node);
	rb_id_set_collect(&w->todo.asked, &w->todo.waiting);
	rb_id_set_remove(&w->todo.waiting, node);
	free(peer);
	w->peer[node] = NULL;
	for (uint32_t i = 0; i < w->n_nodes; i++)
		if (w->nodes[i] == node)
			memmove(&w->nodes[i], &w->nodes[i + 1], --w->n_nodes - i);
}

int rb_worker_add_self(struct rb_worker *w, uint32_t n_voqs, uint32_t frame_max_bytes)
{
	uint8_t node = w->self.node;
	int err = w->peer[node] ? -EEXIST : 0;

	if (!err)
		err = add_destination(w, node, n_voqs, frame_max_bytes, RB_MSG_MAX_BYTES,
				      RB_RECORDS_MAX);
	if (!err)
		rb_rates_set_message_max(w->rates, node, RB_MSG_MAX_BYTES);
	return err;
}

int rb_worker_add_port(struct rb_worker *w, const struct rb_egress_config *config, uint64_t now_ns)
{
	uint8_t number = config->system_port & 0xff;
	struct rb_egress_port *port;
	int err;

	if (config->system_port >> 8 != w->self.node || number == 0)
		return -EINVAL;
	if (w->port[number])
		return -EEXIST;
	err = rb_egress_open(config, now_ns, &port);
	if (!err)
		rb_worker_take_port(w, port, now_ns);
	return err;
}

uint32_t rb_worker_take_port(struct rb_worker *w, struct rb_egress_port *next, uint64_t now_ns)
{
	uint8_t number = next->system_port & 0xff;

	if (w->port[number])
		return rb_egress_become(w->port[number], next, w->chunks, w->counters, now_ns);
	w->port[number] = next;
	w->ports[w->n_ports++] = number;
	return 0;
}

void rb_worker_remove_port(struct rb_worker *w, uint8_t number)
{
	rb_rates_remove_port(w->rates, number);
	rb_egress_close(w->port[number], w->chunks, w->counters);
	w->port[number] = NULL;
	rb_id_set_remove(&w->todo_ports, number);
	for (uint32_t i = 0; i < w->n_ports; i++)
		if (w->ports[i] == number)
			w->ports[i] = w->ports[--w->n_ports];
}

int rb_worker_connect(struct rb_worker *w, uint8_t node, uint32_t epoch,
		      const struct rb_endpoint *remote, uint64_t now_ns)
{
	struct rb_worker_peer *peer = w->peer[node];
	enum rb_peer_state before;
	struct rb_endpoint self;
	uint32_t limit;
	int err;

	if (!peer)
		return -ENOENT;
	before = rb_worker_peer_state(w, node);
	if (peer->path && w->peers.peer[node].epoch == epoch &&
	    memcmp(&peer->remote, remote, sizeof(*remote)) == 0)
		return 0;
	if (peer->path)
		w->transport->ops->path_destroy(w->transport, peer->path);
	peer->path = NULL;
	err = w->transport->ops->path_create(w->transport, remote, peer, &peer->path);
	if (err)
		return err;
	peer->remote = *remote;
	rb_id_set_add(&w->linked, node);
	w->transport->ops->endpoint(w->transport, &self);
	limit = remote->message_max_bytes < self.message_max_bytes ? remote->message_max_bytes
								   : self.message_max_bytes;
	rb_rates_set_message_max(w->rates, node, limit);
	if (peer->ingress) {
		/* Drop what was packed for the former life, whose limit may have been another. */
		rb_ingress_discard(peer->ingress, 0, w->chunks, w->counters);
		err = rb_ingress_set_limits(peer->ingress, limit, peer->ingress->pack.degree);
		if (err)
			return err;
	}
	if (epoch != w->peers.peer[node].epoch)
		rb_rates_new_life(w->rates, node);
	rb_transit_init(&peer->transit, w->config.clock_error_ns);
	err = rb_peers_introduce(&w->peers, node, epoch);
	if (err)
		return err;
	if (before != rb_worker_peer_state(w, node))
		peer->since_ns = now_ns;
	if (before != rb_worker_peer_state(w, node) && w->on_peer)
		w->on_peer(w->event_context, node, rb_worker_peer_state(w, node));
	say_hello(w, peer, now_ns);
	return 0;
}
