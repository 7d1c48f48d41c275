/* SPDX-License-Identifier: BSD-2-Clause */
/* A worker's way out: packing, refusals, announcements, and frames for the node itself. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "rdma-bridge/wire/bytes.h"
#include "tests/lib/worker_rig.h"

static struct worker_rig rig;

/* A node's transport with another post_send, which may call that of `real`. */
static const struct rb_transport_ops *real;
static struct rb_transport_ops replaced;

static void replace_post_send(int node,
			      int (*post_send)(struct rb_transport *, struct rb_path *,
					       const struct rb_piece *, uint32_t, uint64_t))
{
	real = rig.node[node].transport->ops;
	replaced = *real;
	replaced.post_send = post_send;
	rig.node[node].transport->ops = &replaced;
}

static void restore_transport(int node)
{
	rig.node[node].transport->ops = real;
}

static void small_frames_are_packed_to_the_message_limit(void **state)
{
	struct rb_worker_peer *peer;

	(void)state;
	rig_begin(&rig, &rig_plain);
	rig_offer(&rig, 1, 2, 0, 56 * 20, 60);
	rig_run_for(&rig, 20 * RIG_MS);
	peer = rig.node[1].worker->peer[2];
	/*
	 * 24 + 56 * (12 + 60) = 4056. Reading ahead by 32 may end a message early, never make one
	 * too large.
	 */
	assert_int_equal(rig_count_of(&rig, 2, RB_COUNT_TRANSMITTED), 56 * 20);
	assert_int_equal(peer->sent[RB_MSG_DATA], 20);
	assert_int_equal(peer->sent_bytes[RB_MSG_DATA], 20 * 4056);
	rig_end(&rig);
}

static void message_does_not_wait_unless_told(void **state)
{
	struct rig_setting s = rig_plain;

	(void)state;
	rig_begin(&rig, &s);
	rig_offer(&rig, 1, 2, 0, 1, 60);
	rig_run_for(&rig, 2 * RIG_STEP_NS);
	assert_int_equal(rig.node[1].worker->peer[2]->sent[RB_MSG_DATA], 1);
	rig_end(&rig);

	s.pack_delay_ns = 100 * RIG_US;
	rig_begin(&rig, &s);
	rig_offer(&rig, 1, 2, 0, 1, 60);
	rig_run_for(&rig, 90 * RIG_US);
	assert_int_equal(rig.node[1].worker->peer[2]->sent[RB_MSG_DATA], 0);
	rig_offer(&rig, 1, 2, 1, 1, 60);
	rig_run_for(&rig, 30 * RIG_US);
	assert_int_equal(rig.node[1].worker->peer[2]->sent[RB_MSG_DATA], 1);
	assert_int_equal(rig_count_of(&rig, 1, RB_COUNT_SENT), 2);
	rig_end(&rig);
}

/* So that a lane may sleep until then. */
static void frames_between_ports_of_a_node_wait_in_the_queues_of_the_port(void **state)
{
	struct rig_setting s = rig_plain;
	const struct rig_port *port = &rig.node[1].port[1];
	uint64_t sent;

	(void)state;
	s.own = true;
	s.port_rate = 10000;
	rig_begin(&rig, &s);
	rig_offer(&rig, 1, 1, 0, 300, 0);
	rig_offer(&rig, 2, 1, 0, 300, 0);
	rig_run_for(&rig, 20 * RIG_MS);
	assert_in_range(port->received, 200, 232); /* the rate, and what may come at once */
	assert_int_equal(rig_count_of(&rig, 1, RB_COUNT_LOCAL), 300);
	assert_int_equal(rig.node[1].worker->port[1]->queue[0].arrived_from[1], 300);
	assert_int_equal(rig.node[1].worker->port[1]->queue[0].arrived_from[2], 300);
	rig_run_for(&rig, 60 * RIG_MS);
	assert_int_equal(port->next[1][0], 300);
	assert_int_equal(port->next[2][0], 300);
	assert_int_equal(port->out_of_order + port->skipped, 0);
	assert_int_equal(rig.node[1].backlog[1][0].dequeued.frames, 300);
	rig_check_conservation(&rig);

	/* A VOQ of its own obeys its rate, and the node sends itself no message. */
	rig.node[1].voq[1][0].rate = 1000;
	sent = rig.node[1].worker->peer[1]->sent[RB_MSG_DATA];
	rig_offer(&rig, 1, 1, 0, 300, 0);
	rig_run_for(&rig, 100 * RIG_MS);
	assert_in_range(port->next[1][0], 398, 404);
	assert_int_equal(rig.node[1].worker->peer[1]->sent[RB_MSG_DATA], sent);
	rig.node[1].ring[1][0].to_make = 0;
	rig_end(&rig);
}

static void worker_with_an_open_message_wakes_when_it_is_due(void **state)
{
	struct rig_setting s = rig_plain;
	const struct rb_worker *w;
	uint64_t opened_ns;

	(void)state;
	s.pack_delay_ns = 100 * RIG_US;
	rig_begin(&rig, &s);
	w = rig.node[1].worker;
	for (uint32_t frames = 1; frames <= 2; frames++) {
		rig_offer(&rig, 1, 2, 0, frames, 60);
		opened_ns = rig.now_ns;
		rb_worker_round(rig.node[1].worker, opened_ns);
		assert_false(rb_worker_round(rig.node[1].worker, opened_ns + 1));
		assert_true(w->held);
		assert_true(w->ready_ns == opened_ns + 100 * RIG_US);
		rig_run_for(&rig, RIG_MS);
	}
	assert_int_equal(w->peer[2]->sent[RB_MSG_DATA], 2);
	rig_end(&rig);
}

static int refuse_to_send(struct rb_transport *base, struct rb_path *path,
			  const struct rb_piece *pieces, uint32_t n, uint64_t cookie)
{
	(void)base, (void)path, (void)pieces, (void)n, (void)cookie;
	return -EAGAIN;
}

static void message_that_the_transport_refuses_goes_later_and_costs_nothing(void **state)
{
	const struct rb_worker *w;

	(void)state;
	rig_begin(&rig, &rig_plain);
	w = rig.node[1].worker;
	replace_post_send(1, refuse_to_send);
	rig_offer(&rig, 1, 2, 0, 1, 60);
	rig_run_for(&rig, 5 * RIG_MS); /* more rounds than messages can be under way */
	assert_true(w->peer[2]->send_refused > RB_LENT_MAX);
	restore_transport(1);
	rig_run_for(&rig, RIG_MS);
	assert_int_equal(rig_count_of(&rig, 2, RB_COUNT_TRANSMITTED), 1);
	assert_int_equal(w->n_free_lent, RB_LENT_MAX);
	rig_check_conservation(&rig);
	rig_end(&rig);
}

static void frame_larger_than_any_message_is_dropped_by_name(void **state)
{
	struct rig_setting s = rig_plain;

	(void)state;
	s.message_max_bytes = 1024;
	rig_begin(&rig, &s);
	rig_offer(&rig, 1, 2, 0, 5, 989);
	rig_run_for(&rig, 5 * RIG_MS);
	rig_offer(&rig, 1, 2, 0, 5, 988);
	rig_run_for(&rig, 5 * RIG_MS);
	assert_int_equal(rig_count_of(&rig, 1, RB_COUNT_DROP_TOO_BIG), 5);
	assert_int_equal(rig_count_of(&rig, 2, RB_COUNT_TRANSMITTED), 5);
	rig_check_conservation(&rig);
	rig_end(&rig);
}

static uint8_t announced_from;
static uint32_t announced_bytes;
static uint8_t announced[960];

static void on_announce(void *context, uint8_t node, const uint8_t *bytes, uint32_t n_bytes)
{
	(void)context;
	announced_from = node;
	announced_bytes = n_bytes;
	memcpy(announced, bytes, n_bytes);
}

static void announcement_reaches_the_daemon_of_the_peer(void **state)
{
	uint8_t body[960];

	(void)state;
	memset(body, 0x3c, sizeof(body));
	rig_begin(&rig, &rig_plain);
	rig.node[2].worker->on_announce = on_announce;
	assert_int_equal(rb_worker_announce(rig.node[1].worker, 9, body, 1, rig.now_ns), -ENOENT);
	assert_int_equal(rb_worker_announce(rig.node[1].worker, 2, body, 0, rig.now_ns), -EMSGSIZE);
	assert_int_equal(rb_worker_announce(rig.node[1].worker, 2, body, sizeof(body), rig.now_ns),
			 0);
	rig_run_for(&rig, RIG_MS);
	assert_int_equal(announced_from, 1);
	assert_int_equal(announced_bytes, sizeof(body));
	assert_memory_equal(announced, body, sizeof(body));
	rig_end(&rig);
}

/* --- What goes out, and what an error costs --- */

static struct {
	struct rb_msg_header header[64];
	uint32_t bytes[64]; /* of all pieces */
	uint32_t n, refusals;
} posted;

/* Remember what goes to node 2. Each third message is refused. */
static int note_post_send(struct rb_transport *base, struct rb_path *path,
			  const struct rb_piece *pieces, uint32_t n, uint64_t cookie)
{
	const struct rb_receiver node2 = { .node = 2 };
	uint32_t bytes = 0;

	if (path != rig.node[1].worker->peer[2]->path)
		return real->post_send(base, path, pieces, n, cookie);
	if ((posted.n + posted.refusals) % 3 == 2) {
		posted.refusals++;
		return -EAGAIN;
	}
	assert_in_range(posted.n, 0, 63);
	for (uint32_t k = 0; k < n; k++)
		bytes += pieces[k].len_bytes;
	assert_int_equal(
		rb_msg_header_decode(&node2, pieces[0].data, bytes, &posted.header[posted.n]),
		RB_VERDICT_OK);
	posted.bytes[posted.n++] = bytes;
	return real->post_send(base, path, pieces, n, cookie);
}

/* Numbers go up by one with each message that left; one that was refused costs no number. */
static void messages_tell_sender_life_and_number(void **state)
{
	const struct rb_worker_peer *peer;
	uint64_t sent[RB_MSG_TYPE_COUNT] = { 0 }, bytes[RB_MSG_TYPE_COUNT] = { 0 };
	uint32_t first, frames = 0;

	(void)state;
	memset(&posted, 0, sizeof(posted));
	rig_begin(&rig, &rig_plain);
	peer = rig.node[1].worker->peer[2];
	first = peer->sequence;
	memcpy(sent, peer->sent, sizeof(sent));
	memcpy(bytes, peer->sent_bytes, sizeof(bytes));
	replace_post_send(1, note_post_send);
	for (uint32_t k = 0; k < 20; k++) {
		rig_offer(&rig, 1, 2, k % RIG_VOQS, 3, 0);
		rig_run_for(&rig, RIG_MS);
	}
	restore_transport(1);
	assert_true(posted.refusals > 5);
	for (uint32_t k = 0; k < posted.n; k++) {
		const struct rb_msg_header *h = &posted.header[k];

		assert_int_equal(h->source, 1);
		assert_int_equal(h->destination, 2);
		assert_int_equal(h->epoch, rig.node[1].epoch);
		assert_int_equal(h->sequence, first + k);
		assert_int_equal(h->length_bytes, posted.bytes[k]);
		assert_in_range(h->sent_ns, rig.now_ns - 20 * RIG_MS, rig.now_ns);
		frames += h->type == RB_MSG_DATA ? h->count : 0;
		sent[h->type]++;
		bytes[h->type] += h->length_bytes;
	}
	assert_int_equal(frames, 60);
	assert_memory_equal(peer->sent, sent, sizeof(sent));
	assert_memory_equal(peer->sent_bytes, bytes, sizeof(bytes));
	assert_true(sent[RB_MSG_HELLO] > 1);
	rig_end(&rig);
}

/* packed[i] counts messages of 2^i to 2^(i + 1) - 1 frames. */
static void messages_are_counted_by_how_many_frames_they_carry(void **state)
{
	static const uint32_t frames[] = { 1, 2, 3, 4, 7, 8, 15, 16, 32, 55 };
	static const uint64_t packed[RB_PACKED_CLASSES] = { 1, 2, 2, 2, 1, 2 };
	struct rig_setting s = rig_plain;

	(void)state;
	s.pack_delay_ns = 100 * RIG_US;
	rig_begin(&rig, &s);
	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		rig_offer(&rig, 1, 2, 0, frames[i], 60);
		rig_run_for(&rig, RIG_MS);
	}
	assert_memory_equal(rig.node[1].worker->packed, packed, sizeof(packed));
	rig_end(&rig);
}

/* However many frames wait for one peer, the next one has its turn in the same round. */
static void round_sends_as_many_messages_to_each_peer(void **state)
{
	struct rig_setting s = rig_plain;
	uint64_t sent;

	(void)state;
	s.degree = 1;
	rig_begin(&rig, &s);
	rig_offer(&rig, 1, 2, 0, 100, 60);
	rig_offer(&rig, 1, 3, 0, 100, 60);
	for (uint32_t round = 1; round <= 5; round++) {
		rb_worker_round(rig.node[1].worker, rig.now_ns);
		sent = rig.node[1].worker->peer[2]->sent[RB_MSG_DATA];
		assert_in_range(sent, round, 99);
		assert_int_equal(rig.node[1].worker->peer[3]->sent[RB_MSG_DATA], sent);
	}
	rig_run_for(&rig, 5 * RIG_MS);
	assert_int_equal(rig_sum_of(&rig, RB_COUNT_TRANSMITTED), 200);
	rig_check_conservation(&rig);
	rig_end(&rig);
}

static void dropping_for_a_peer_that_is_not_up_is_work_until_none_is_left(void **state)
{
	struct rb_worker_peer *peer;
	uint32_t calls = 0;

	(void)state;
	rig_begin(&rig, &rig_plain);
	peer = rig.node[1].worker->peer[2];
	rig.node[2].dead = true;
	rig_run_for(&rig, 2 * RIG_DEAD_NS);
	assert_int_equal(rb_worker_peer_state(rig.node[1].worker, 2), RB_PEER_DOWN);
	rig_offer(&rig, 1, 2, 1, 500, 60);
	while (rb_worker_serve_peer(rig.node[1].worker, peer, rig.now_ns))
		assert_true(++calls < 100);
	assert_in_range(calls, 2, 99); /* not all at once: others wait */
	assert_int_equal(rig_count_of(&rig, 1, RB_COUNT_DROP_PEER_DOWN), 500);
	assert_int_equal(rig.node[1].backlog[2][1].peer_down, 500);
	rig_end(&rig);
}

/* The frames' chunks and that of the headers are the transport's until it says that it has sent. */
static void lent_message_keeps_its_chunks_until_it_is_sent(void **state)
{
	struct rig_setting s = rig_plain;
	const struct rb_worker *w;

	(void)state;
	s.network.lend = true;
	rig_begin(&rig, &s);
	w = rig.node[1].worker;
	rig_run_for(&rig, RIG_STEP_NS);
	assert_int_equal(w->n_free_lent, RB_LENT_MAX);
	rig_offer(&rig, 1, 2, 0, 3, 60);
	rb_worker_round(rig.node[1].worker, rig.now_ns);
	assert_int_equal(w->n_free_lent, RB_LENT_MAX - 1);
	assert_int_equal(w->chunks->count[RB_OWNER_INGRESS], 3 + 1);
	rb_worker_round(rig.node[1].worker, rig.now_ns);
	assert_int_equal(w->n_free_lent, RB_LENT_MAX);
	assert_int_equal(w->chunks->count[RB_OWNER_INGRESS], 0);
	rig_run_for(&rig, RIG_MS + 2 * RIG_STEP_NS); /* the last hello is sent, too */
	assert_int_equal(rig_count_of(&rig, 2, RB_COUNT_TRANSMITTED), 3);
	rig_end(&rig);
}

static void messages_under_way_are_bounded_and_the_next_one_waits(void **state)
{
	struct rig_setting s = rig_plain;
	struct rb_worker *w;
	uint32_t sequence;
	const uint8_t body = 7;

	(void)state;
	s.network.lend = true;
	rig_begin(&rig, &s);
	w = rig.node[1].worker;
	rig_run_for(&rig, RIG_STEP_NS);
	for (uint32_t k = 0; k < RB_LENT_MAX; k++)
		assert_int_equal(rb_worker_announce(w, 2, &body, 1, rig.now_ns), 0);
	sequence = w->peer[2]->sequence;
	assert_int_equal(rb_worker_announce(w, 2, &body, 1, rig.now_ns), -EAGAIN);
	assert_int_equal(w->chunks->count[RB_OWNER_INGRESS], RB_LENT_MAX);
	/* Frames wait in their message, and that counts as work. */
	rig_offer(&rig, 1, 2, 0, 1, 60);
	assert_true(rb_worker_serve_peer(w, w->peer[2], rig.now_ns));
	assert_int_equal(w->peer[2]->sent[RB_MSG_DATA], 0);
	assert_int_equal(w->peer[2]->sequence, sequence);
	assert_int_equal(w->chunks->count[RB_OWNER_INGRESS], RB_LENT_MAX + 1);
	rig_run_for(&rig, 2 * RIG_MS + 2 * RIG_STEP_NS);
	assert_int_equal(w->n_free_lent, RB_LENT_MAX);
	assert_int_equal(w->chunks->count[RB_OWNER_INGRESS], 0);
	assert_int_equal(rig_count_of(&rig, 2, RB_COUNT_TRANSMITTED), 1);
	rig_check_conservation(&rig);
	rig_end(&rig);
}

/* Take all free chunks but n. */
static uint32_t take_all_but(struct rb_chunks *chunks, uint32_t n, uint64_t *offsets)
{
	uint32_t taken = 0;

	while (chunks->n_free > n)
		offsets[taken++] = rb_chunk_take(chunks, RB_OWNER_TX);
	return taken;
}

static void message_without_a_chunk_for_its_headers_waits(void **state)
{
	static uint64_t offsets[RIG_CHUNKS];
	struct rb_worker *w;
	uint32_t n;

	(void)state;
	rig_begin(&rig, &rig_plain);
	w = rig.node[1].worker;
	n = take_all_but(w->chunks, 5, offsets);
	rig_offer(&rig, 1, 2, 0, 5, 60);
	assert_true(rb_worker_serve_peer(w, w->peer[2], rig.now_ns));
	assert_int_equal(w->chunks->n_free, 0);
	assert_int_equal(w->peer[2]->sent[RB_MSG_DATA], 0);
	while (n > 0)
		rb_chunk_release(w->chunks, offsets[--n], RB_OWNER_TX);
	assert_true(rb_worker_serve_peer(w, w->peer[2], rig.now_ns));
	assert_int_equal(w->peer[2]->sent[RB_MSG_DATA], 1);
	assert_int_equal(w->chunks->count[RB_OWNER_INGRESS], 0);
	rig_run_for(&rig, RIG_MS);
	assert_int_equal(rig_count_of(&rig, 2, RB_COUNT_TRANSMITTED), 5);
	rig_end(&rig);
}

/* The message is lost, and nothing else: no chunk, no slot, no number. */
static void records_that_cannot_be_sent_cost_nothing(void **state)
{
	static const uint8_t body[RB_MSG_MAX_BYTES];
	static uint64_t offsets[RIG_CHUNKS];
	enum { FITS, FITS_NO_CHUNK, FITS_NO_MESSAGE, NO_CHUNK, NO_PATH, REFUSED, N_CASES };
	static const int errors[N_CASES] = { 0, -EMSGSIZE, -EMSGSIZE, -EAGAIN, -EAGAIN, -EAGAIN };
	struct rig_setting s = rig_plain;

	(void)state;
	s.message_max_bytes = 2048;
	for (int i = 0; i < N_CASES; i++) {
		struct rb_worker_peer *peer;
		struct rb_path *path;
		struct rb_worker *w;
		uint32_t n_taken = 0, n_free, sequence, bytes = 2048 - RB_MSG_HEADER_BYTES;
		uint8_t *behind; /* the byte after the chunk that will be taken */
		uint64_t sent;

		rig_begin(&rig, &s);
		w = rig.node[1].worker;
		peer = w->peer[2];
		path = peer->path;
		if (i == FITS_NO_CHUNK)
			bytes = RIG_CHUNK_BYTES - RB_MSG_HEADER_BYTES + 1;
		if (i == FITS_NO_MESSAGE)
			bytes++;
		if (i == NO_CHUNK)
			n_taken = take_all_but(w->chunks, 0, offsets);
		if (i == NO_PATH)
			peer->path = NULL;
		if (i == REFUSED)
			replace_post_send(1, refuse_to_send);
		n_free = w->chunks->n_free;
		behind = w->chunks->area;
		if (n_free > 0)
			behind += (w->chunks->free[n_free - 1] + 1ULL) * RIG_CHUNK_BYTES;
		*behind = 0x5a;
		sequence = peer->sequence;
		sent = peer->sent_bytes[RB_MSG_ANNOUNCE];
		assert_int_equal(
			rb_worker_send_records(w, 2, RB_MSG_ANNOUNCE, 1, body, bytes, rig.now_ns),
			errors[i]);
		assert_int_equal(*behind, 0x5a);
		assert_int_equal(w->chunks->n_free, n_free);
		assert_int_equal(w->n_free_lent, RB_LENT_MAX);
		assert_int_equal(peer->sequence, sequence + (i == FITS));
		assert_int_equal(peer->sent_bytes[RB_MSG_ANNOUNCE], sent + (i == FITS ? 2048 : 0));
		peer->path = path;
		if (i == REFUSED)
			restore_transport(1);
		while (n_taken > 0)
			rb_chunk_release(w->chunks, offsets[--n_taken], RB_OWNER_TX);
		rig_end(&rig);
	}
}

static void records_for_the_node_itself_are_used_at_once(void **state)
{
	const struct rb_feedback impossible = { .system_port = SL_SYSTEM_PORT(1, 1),
						.class = SL_CLASSES };
	const uint8_t body[3] = { 4, 5, 6 };
	uint8_t record[RB_FEEDBACK_BYTES];
	struct rig_setting s = rig_plain;
	struct rb_worker *w;
	uint32_t n_free;

	(void)state;
	s.own = true;
	rig_begin(&rig, &s);
	w = rig.node[1].worker;
	w->on_announce = on_announce;
	n_free = w->chunks->n_free;
	announced_from = 0;
	assert_int_equal(rb_worker_send_records(w, 1, RB_MSG_ANNOUNCE, 1, body, 3, rig.now_ns), 0);
	assert_int_equal(announced_from, 1);
	assert_int_equal(announced_bytes, 3);
	assert_memory_equal(announced, body, 3);
	rb_feedback_encode(&impossible, record);
	assert_int_equal(rb_worker_send_records(w, 1, RB_MSG_FEEDBACK, 1, record, sizeof(record),
						rig.now_ns),
			 -EINVAL);
	assert_int_equal(w->chunks->n_free, n_free);
	assert_int_equal(w->peer[1]->sent[RB_MSG_ANNOUNCE], 0);
	assert_int_equal(w->peer[1]->sequence, 0);
	rig_end(&rig);
}

static void announcement_that_cannot_be_sent_says_why(void **state)
{
	static const uint8_t body[RB_MSG_MAX_BYTES];
	struct rb_worker *w;
	struct rb_path *path;

	(void)state;
	rig_begin(&rig, &rig_plain);
	w = rig.node[1].worker;
	path = w->peer[2]->path;
	assert_int_equal(rb_worker_announce(w, 9, body, 1, rig.now_ns), -ENOENT);
	assert_int_equal(rb_worker_announce(w, 2, body, 0, rig.now_ns), -EMSGSIZE);
	assert_int_equal(rb_worker_announce(w, 2, body, RB_MSG_MAX_BYTES - RB_MSG_HEADER_BYTES + 1,
					    rig.now_ns),
			 -EMSGSIZE);
	w->peer[2]->path = NULL;
	assert_int_equal(rb_worker_announce(w, 2, body, 1, rig.now_ns), -ENOTCONN);
	w->peer[2]->path = path;
	replace_post_send(1, refuse_to_send);
	assert_int_equal(rb_worker_announce(w, 2, body, 1, rig.now_ns), -EAGAIN);
	restore_transport(1);
	assert_int_equal(w->peer[2]->sent[RB_MSG_ANNOUNCE], 0);
	rig_end(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_frames_are_packed_to_the_message_limit),
		cmocka_unit_test(message_does_not_wait_unless_told),
		cmocka_unit_test(frames_between_ports_of_a_node_wait_in_the_queues_of_the_port),
		cmocka_unit_test(worker_with_an_open_message_wakes_when_it_is_due),
		cmocka_unit_test(message_that_the_transport_refuses_goes_later_and_costs_nothing),
		cmocka_unit_test(frame_larger_than_any_message_is_dropped_by_name),
		cmocka_unit_test(announcement_reaches_the_daemon_of_the_peer),
		cmocka_unit_test(messages_tell_sender_life_and_number),
		cmocka_unit_test(messages_are_counted_by_how_many_frames_they_carry),
		cmocka_unit_test(round_sends_as_many_messages_to_each_peer),
		cmocka_unit_test(dropping_for_a_peer_that_is_not_up_is_work_until_none_is_left),
		cmocka_unit_test(lent_message_keeps_its_chunks_until_it_is_sent),
		cmocka_unit_test(messages_under_way_are_bounded_and_the_next_one_waits),
		cmocka_unit_test(message_without_a_chunk_for_its_headers_waits),
		cmocka_unit_test(records_that_cannot_be_sent_cost_nothing),
		cmocka_unit_test(records_for_the_node_itself_are_used_at_once),
		cmocka_unit_test(announcement_that_cannot_be_sent_says_why),
	};
	return cmocka_run_group_tests_name("worker_send", tests, NULL, NULL);
}
