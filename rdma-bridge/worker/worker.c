/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/worker/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGES_PER_ROUND 4 /* to one peer, before the next one has its turn */
#define DISCARD_PER_ROUND  64
#define POST_BATCH	   64

static void post_receives(struct rb_worker *w)
{
	uint64_t offsets[POST_BATCH];

	while (w->chunks->count[RB_OWNER_RECEIVE] < w->config.receive_target) {
		uint32_t missing = w->config.receive_target - w->chunks->count[RB_OWNER_RECEIVE];
		uint32_t n = 0, taken;

		while (n < POST_BATCH && n < missing) {
			offsets[n] = rb_chunk_take(w->chunks, RB_OWNER_RECEIVE);
			if (offsets[n] == RB_CHUNK_NONE)
				break;
			n++;
		}
		taken = w->transport->ops->post_receive(w->transport, offsets, n);
		for (uint32_t i = taken; i < n; i++)
			rb_chunk_release(w->chunks, offsets[i], RB_OWNER_RECEIVE);
		if (taken < POST_BATCH)
			return;
	}
}

enum rb_peer_state rb_worker_peer_state(const struct rb_worker *w, uint8_t node)
{
	return w->peers.peer[node].state;
}

/* --- Sending --------------------------------------------------------------------------- */

static struct rb_msg_header header_to(const struct rb_worker *w, const struct rb_worker_peer *peer,
				      enum rb_msg_type type, uint64_t now_ns)
{
	return (struct rb_msg_header){
		.type = (uint8_t)type,
		.source = w->self.node,
		.destination = peer->node,
		.stream = w->config.stream,
		.epoch = w->config.epoch,
		.sequence = peer->sequence,
		.sent_ns = now_ns,
	};
}

/*
 * Lend a message to the transport: `pieces`, which lie in the n chunks of `offsets`, all INGRESS.
 * The chunks are freed when the transport has sent them. 0; after an error the caller keeps them.
 */
static int post(struct rb_worker *w, struct rb_worker_peer *peer, const struct rb_piece *pieces,
		uint32_t n_pieces, const uint64_t *offsets, uint32_t n)
{
	uint32_t slot;
	int err;

	/*
	 * A peer that restarted has no path if none to its new life could be created. It counts as
	 * up until its old life has been silent for too long.
	 */
	if (!peer->path || w->n_free_lent == 0)
		return -EAGAIN;
	slot = w->free_lent[w->n_free_lent - 1];
	err = w->transport->ops->post_send(w->transport, peer->path, pieces, n_pieces, slot);
	if (err < 0)
		return err;
	if (err == 0) {
		w->n_free_lent--;
		w->lent[slot].n = n;
		memcpy(w->lent[slot].offsets, offsets, n * sizeof(offsets[0]));
		return 0;
	}
	for (uint32_t i = 0; i < n; i++)
		rb_chunk_release(w->chunks, offsets[i], RB_OWNER_INGRESS);
	return 0;
}

static void count_message(struct rb_worker_peer *peer, const struct rb_msg_header *header)
{
	peer->sequence++;
	peer->sent[header->type]++;
	peer->sent_bytes[header->type] += header->length_bytes;
}

/*
 * Send a peer a message of `count` records, body_bytes together, at once; `context` is the worker.
 * 0; -EMSGSIZE: a chunk does not hold it; -EAGAIN: no room, or no path to the peer; or what else
 * the transport says. After an error the message is lost.
 */
static int send_records(void *context, uint8_t node, enum rb_msg_type type, uint32_t count,
			const uint8_t *body, uint32_t body_bytes, uint64_t now_ns)
{
	struct rb_worker *w = context;
	struct rb_worker_peer *peer = w->peer[node];
	struct rb_msg_header header = header_to(w, peer, type, now_ns);
	struct rb_piece piece;
	uint64_t offset;
	uint8_t *bytes;
	int err;

	if (RB_MSG_HEADER_BYTES + body_bytes > rb_chunk_bytes(w->chunks))
		return -EMSGSIZE;
	offset = rb_chunk_take(w->chunks, RB_OWNER_INGRESS);
	if (offset == RB_CHUNK_NONE)
		return -EAGAIN;
	bytes = rb_chunk_data(w->chunks, offset);
	header.count = (uint8_t)count;
	header.length_bytes = (uint16_t)(RB_MSG_HEADER_BYTES + body_bytes);
	rb_msg_header_encode(&header, bytes);
	memcpy(bytes + RB_MSG_HEADER_BYTES, body, body_bytes);
	piece = (struct rb_piece){ bytes, header.length_bytes };
	err = post(w, peer, &piece, 1, &offset, 1);
	if (err)
		rb_chunk_release(w->chunks, offset, RB_OWNER_INGRESS);
	else
		count_message(peer, &header);
	return err;
}

int rb_worker_announce(struct rb_worker *w, uint8_t node, const uint8_t *bytes, uint32_t n_bytes,
		       uint64_t now_ns)
{
	struct rb_worker_peer *peer = w->peer[node];

	if (!peer)
		return -ENOENT;
	if (!peer->path)
		return -ENOTCONN;
	if (n_bytes == 0 || n_bytes > RB_MSG_MAX_BYTES - RB_MSG_HEADER_BYTES)
		return -EMSGSIZE;
	return send_records(w, node, RB_MSG_ANNOUNCE, 1, bytes, n_bytes, now_ns);
}

/* Send the message that is being packed for a peer. False if it has to wait. */
static bool send_data(struct rb_worker *w, struct rb_worker_peer *peer, uint64_t now_ns)
{
	struct rb_ingress *in = peer->ingress;
	struct rb_msg_header header = header_to(w, peer, RB_MSG_DATA, now_ns);
	struct rb_piece pieces[RB_PIECES_MAX];
	uint32_t count = in->pack.count, n;
	uint8_t *headers;

	/* The headers are lent as the frames are, in a chunk of their own: the last of the list. */
	in->offsets[count] = rb_chunk_take(w->chunks, RB_OWNER_INGRESS);
	if (in->offsets[count] == RB_CHUNK_NONE)
		return false;
	headers = rb_chunk_data(w->chunks, in->offsets[count]);
	rb_ingress_seal(in, now_ns);
	n = rb_pack_gather(&in->pack, headers, rb_pack_headers(&in->pack, &header, headers),
			   pieces);
	if (post(w, peer, pieces, n, in->offsets, count + 1)) {
		rb_chunk_release(w->chunks, in->offsets[count], RB_OWNER_INGRESS);
		peer->send_refused++;
		return false;
	}
	count_message(peer, &header);
	w->packed[31 - __builtin_clz(count)]++;
	rb_ingress_sent(in, w->counters);
	return true;
}

/* Note that frames wait until then, and for nothing but time. */
static void hold(struct rb_worker *w, uint64_t until_ns)
{
	w->held = true;
	if (until_ns < w->ready_ns)
		w->ready_ns = until_ns;
}

static bool serve_peer(struct rb_worker *w, struct rb_worker_peer *peer, uint64_t now_ns)
{
	uint64_t ready_ns;
	bool busy = false;

	if (!peer->ingress)
		return false;
	if (rb_worker_peer_state(w, peer->node) != RB_PEER_UP)
		return rb_ingress_discard(peer->ingress, DISCARD_PER_ROUND, w->chunks,
					  w->counters) > 0;
	for (int i = 0; i < MESSAGES_PER_ROUND; i++) {
		if (!rb_ingress_fill(peer->ingress, w->config.pack_delay_ns, now_ns, w->chunks,
				     w->counters))
			break;
		busy = true;
		if (!send_data(w, peer, now_ns))
			break;
	}
	if (busy || !rb_ingress_is_waiting(peer->ingress))
		return busy;
	ready_ns = rb_ingress_ready_at(peer->ingress, w->config.pack_delay_ns, now_ns);
	if (ready_ns <= now_ns)
		return true;
	hold(w, ready_ns);
	return false;
}

static bool serve_port(struct rb_worker *w, struct rb_egress_port *port, uint64_t now_ns)
{
	uint64_t ready_ns;

	if (rb_egress_serve(port, RB_EGRESS_BUDGET, now_ns) > 0)
		return true;
	if (!port->drr->levels)
		return false;
	ready_ns = rb_pace_ready_at(&port->pace, now_ns);
	if (ready_ns <= now_ns)
		return true; /* waits for room in its device */
	hold(w, ready_ns);
	return false;
}

/* --- Receiving ------------------------------------------------------------------------- */

static void deliver(struct rb_worker *w, const struct rb_msg_header *header,
		    const struct rb_frame *frames, uint32_t n, uint64_t message_offset,
		    const uint8_t *msg)
{
	rb_chunk_set_uses(w->chunks, message_offset, RB_OWNER_MESSAGE, (uint16_t)n);
	for (uint32_t i = 0; i < n; i++) {
		const struct rb_egress_frame frame = {
			.offset = message_offset + (uint64_t)(frames[i].data - msg),
			.len_bytes = frames[i].len_bytes,
			.source = header->source,
		};

		rb_count(w->counters, RB_COUNT_EGRESS, 1, frame.len_bytes);
		rb_egress_enqueue(w->port[frames[i].system_port & 0xff], frames[i].class, &frame,
				  w->chunks, w->counters);
	}
}

/* What a message without frames says, by its type. */
union records {
	struct rb_feedback feedback[RB_RECORDS_MAX];
	struct rb_report reports[RB_RECORDS_MAX];
	struct rb_policy policy;
	struct rb_hello hello;
};

static enum rb_verdict unpack_records(const struct rb_worker *w, const struct rb_msg_header *header,
				      const uint8_t *msg, union records *out, uint32_t *n)
{
	switch (header->type) {
	case RB_MSG_FEEDBACK:
		return rb_unpack_feedback(header, msg, out->feedback, n);
	case RB_MSG_HELLO:
		return rb_unpack_hello(header, msg, &out->hello);
	case RB_MSG_POLICY:
		return rb_unpack_policy(header, msg, &out->policy);
	case RB_MSG_REPORT:
		return rb_unpack_reports(&w->self, header, msg, out->reports, n);
	default:
		return RB_VERDICT_OK;
	}
}

static void use_records(struct rb_worker *w, const struct rb_msg_header *header, const uint8_t *msg,
			const union records *records, uint32_t n, uint64_t now_ns)
{
	const uint8_t *body;
	uint32_t body_bytes;

	switch (header->type) {
	case RB_MSG_FEEDBACK:
		rb_rates_feedback(w->rates, records->feedback, n, now_ns);
		break;
	case RB_MSG_HELLO:
		rb_peers_hello(&w->peers, header->source, &records->hello, now_ns);
		break;
	case RB_MSG_POLICY:
		rb_rates_policy(w->rates, &records->policy, now_ns);
		break;
	case RB_MSG_REPORT:
		rb_rates_reports(w->rates, header->source, records->reports, n, now_ns);
		break;
	case RB_MSG_ANNOUNCE:
		rb_unpack_announce(header, msg, &body, &body_bytes);
		if (w->on_announce)
			w->on_announce(w->event_context, header->source, body, body_bytes);
		break;
	default:
		break;
	}
}

/* Judge the whole message, then use it. True if its chunk now belongs to its frames. */
static bool receive(struct rb_worker *w, const struct rb_completion *c, uint64_t now_ns)
{
	const uint8_t *msg = rb_chunk_data(w->chunks, c->offset);
	const struct rb_worker_peer *peer = c->context;
	struct rb_frame frames[RB_RECORDS_MAX];
	struct rb_msg_header header;
	union records records;
	uint32_t n = 0;
	enum rb_verdict verdict = rb_msg_header_decode(&w->self, msg, c->len_bytes, &header);

	if (verdict == RB_VERDICT_OK && !peer)
		verdict = RB_VERDICT_UNKNOWN_NODE;
	/* A node may speak for itself only. */
	if (verdict == RB_VERDICT_OK && peer->node != header.source)
		verdict = RB_VERDICT_SOURCE;
	if (verdict == RB_VERDICT_OK && header.type == RB_MSG_DATA)
		verdict = rb_unpack_frames(&w->self, &header, msg, frames, &n);
	else if (verdict == RB_VERDICT_OK)
		verdict = unpack_records(w, &header, msg, &records, &n);
	if (verdict == RB_VERDICT_OK)
		verdict = rb_peers_judge(&w->peers, &header, now_ns);
	w->verdicts[verdict]++;
	if (verdict != RB_VERDICT_OK)
		return false;

	if (header.type == RB_MSG_DATA) {
		deliver(w, &header, frames, n, c->offset, msg);
		return true;
	}
	use_records(w, &header, msg, &records, n, now_ns);
	return false;
}

static void complete(struct rb_worker *w, const struct rb_completion *c, uint64_t now_ns)
{
	uint32_t slot = (uint32_t)c->cookie;

	if (c->kind == RB_RECEIVED) {
		if (!receive(w, c, now_ns))
			rb_chunk_release(w->chunks, c->offset, RB_OWNER_MESSAGE);
		return;
	}
	for (uint32_t k = 0; k < w->lent[slot].n; k++)
		rb_chunk_release(w->chunks, w->lent[slot].offsets[k], RB_OWNER_INGRESS);
	w->free_lent[w->n_free_lent++] = slot;
}

/*
 * Take in messages; true if frames came. Hellos and feedback alone do not count as work: no frames
 * follow them, and the next message wakes a lane that sleeps.
 *
 * Frames bound what a round takes in, not messages, so that a burst of full messages does not
 * overrun an egress queue that could drain it. Batches bound it, too: messages without frames may
 * come as fast as we take them.
 */
static bool poll_transport(struct rb_worker *w, uint64_t now_ns)
{
	uint64_t first = w->counters[RB_COUNT_EGRESS].packets;
	struct rb_completion completions[RB_WORKER_BATCH];
	uint32_t batches = 0, n;

	do {
		n = w->transport->ops->poll(w->transport, completions, RB_WORKER_BATCH, now_ns);
		for (uint32_t i = 0; i < n; i++)
			complete(w, &completions[i], now_ns);
	} while (n == RB_WORKER_BATCH && ++batches < RB_RECEIVE_BATCHES &&
		 w->counters[RB_COUNT_EGRESS].packets - first < RB_RECEIVE_FRAMES);
	return w->counters[RB_COUNT_EGRESS].packets != first;
}

/* --- The loop -------------------------------------------------------------------------- */

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
	busy = poll_transport(w, now_ns);
	post_receives(w);
	for (uint32_t i = 0; i < w->n_ports; i++) {
		struct rb_egress_port *port = w->port[w->ports[i]];

		rb_egress_reap(port, w->chunks);
		if (serve_port(w, port, now_ns))
			busy = true;
		if (rb_egress_flush(port, w->counters) == -EAGAIN)
			busy = true;
	}
	/* Feedback goes before data. */
	rb_rates_round(w->rates, now_ns);
	for (uint32_t i = 0; i < w->n_nodes; i++)
		if (serve_peer(w, w->peer[w->nodes[(w->turn + i) % w->n_nodes]], now_ns))
			busy = true;
	if (w->n_nodes)
		w->turn = (w->turn + 1) % w->n_nodes;
	if (w->transport->ops->flush(w->transport))
		busy = true;
	w->rounds++;
	w->idle_rounds += !busy;
	return busy;
}

static void say_hello(struct rb_worker *w, struct rb_worker_peer *peer, uint64_t now_ns)
{
	const struct rb_hello hello = {
		.heard_epoch = rb_peers_heard_epoch(&w->peers, peer->node, now_ns),
		.interval_us = (uint32_t)(w->config.hello_interval_ns / 1000),
	};
	uint8_t body[RB_HELLO_BYTES];

	rb_hello_encode(&hello, body);
	if (send_records(w, peer->node, RB_MSG_HELLO, 1, body, sizeof(body), now_ns) == 0)
		peer->hello_ns = now_ns + w->config.hello_interval_ns;
}

void rb_worker_tick(struct rb_worker *w, uint64_t now_ns)
{
	rb_peers_run(&w->peers, now_ns);
	for (uint32_t i = 0; i < w->n_nodes; i++) {
		struct rb_worker_peer *peer = w->peer[w->nodes[i]];
		bool changed = rb_peers_tick(&w->peers, peer->node, now_ns);

		/* A change goes out at once: the peer is up only after it has heard of it. */
		if (peer->path && (changed || now_ns >= peer->hello_ns))
			say_hello(w, peer, now_ns);
		if (changed || peer->since_ns == 0)
			peer->since_ns = now_ns;
		if (changed)
			rb_rates_peer_changed(w->rates, peer->node, now_ns);
		if (changed && w->on_peer)
			w->on_peer(w->event_context, peer->node,
				   rb_worker_peer_state(w, peer->node));
	}
}

/* --- Setting up ------------------------------------------------------------------------ */

static int create_rates(struct rb_worker *w)
{
	const struct rb_rates_config config = {
		.seed = w->config.epoch,
		.peers = &w->peers,
		.counters = w->counters,
		.now_ns = &w->now_ns,
		.egress = w->port,
		.send = send_records,
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
		w->config.receive_target = RB_RECEIVE_TARGET;
	w->transport = config->transport;
	w->chunks = config->transport->chunks;
	if (rb_chunk_bytes(w->chunks) < RB_PACK_HEADERS_MAX_BYTES) {
		err = -EINVAL;
		goto out;
	}
	w->self.node = config->node;
	err = create_rates(w);
	if (err)
		goto out;
	/* Before any node can know us, so that not even its first hello is lost. */
	post_receives(w);
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
	for (uint32_t i = 0; i < w->n_nodes; i++) {
		struct rb_worker_peer *peer = w->peer[w->nodes[i]];

		if (peer->path)
			w->transport->ops->path_destroy(w->transport, peer->path);
		rb_ingress_close(peer->ingress, w->chunks, w->counters);
		free(peer);
	}
	for (uint32_t i = 0; i < w->n_ports; i++)
		rb_egress_close(w->port[w->ports[i]], w->chunks, w->counters);
	free(w->lent);
	free(w);
}

int rb_worker_add_peer(struct rb_worker *w, uint8_t node, uint32_t n_voqs, uint32_t frame_max_bytes)
{
	struct rb_endpoint self;
	struct rb_worker_peer *peer;
	uint32_t degree = w->config.degree;
	int err = rb_peers_add(&w->peers, node);

	if (err)
		return err;
	/* The headers take one gather entry. */
	if (degree > w->transport->pieces_max - 1)
		degree = w->transport->pieces_max - 1;
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return -ENOMEM;
	peer->node = node;
	w->transport->ops->endpoint(w->transport, &self);
	if (n_voqs > 0)
		err = rb_ingress_open(n_voqs, frame_max_bytes, self.message_max_bytes, degree,
				      &peer->ingress);
	if (err) {
		free(peer);
		return err;
	}
	w->peer[node] = peer;
	w->nodes[w->n_nodes++] = node;
	rb_rates_add_peer(w->rates, node, peer->ingress);
	return 0;
}

int rb_worker_add_port(struct rb_worker *w, const struct rb_egress_config *config, uint64_t now_ns)
{
	uint8_t number = config->system_port & 0xff;
	int err;

	if (config->system_port >> 8 != w->self.node || number == 0)
		return -EINVAL;
	if (w->port[number])
		return -EEXIST;
	err = rb_egress_open(config, now_ns, &w->port[number]);
	if (err)
		return err;
	w->ports[w->n_ports++] = number;
	w->self.ports[number / 64] |= 1ULL << number % 64;
	return 0;
}

int rb_worker_connect(struct rb_worker *w, uint8_t node, uint32_t epoch,
		      const struct rb_endpoint *remote, uint64_t now_ns)
{
	struct rb_worker_peer *peer = w->peer[node];
	enum rb_peer_state before;
	struct rb_endpoint self;
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
	rb_rates_set_message_max(w->rates, node, remote->message_max_bytes);
	w->transport->ops->endpoint(w->transport, &self);
	if (peer->ingress) {
		uint32_t limit = remote->message_max_bytes < self.message_max_bytes
					 ? remote->message_max_bytes
					 : self.message_max_bytes;

		/* Drop what was packed for the former life, whose limit may have been another. */
		rb_ingress_discard(peer->ingress, 0, w->chunks, w->counters);
		err = rb_ingress_set_limits(peer->ingress, limit, peer->ingress->pack.degree);
		if (err)
			return err;
	}
	if (epoch != w->peers.peer[node].epoch)
		rb_rates_new_life(w->rates, node);
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
