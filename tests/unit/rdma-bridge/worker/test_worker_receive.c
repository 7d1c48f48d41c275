/* SPDX-License-Identifier: BSD-2-Clause */
/* A worker's way in: verdicts on messages, bounds of a round, chunks to receive into. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "rdma-bridge/wire/bytes.h"
#include "rdma-bridge/worker/worker_receive.h"
#include "tests/lib/worker_rig.h"

static struct worker_rig rig;

static void hellos_alone_are_no_work(void **state)
{
	struct rig_setting s = rig_plain;
	uint64_t rounds, idle, heard;
	const struct rb_worker *w;

	(void)state;
	rig_begin(&rig, &s);
	w = rig.node[1].worker;
	rounds = w->rounds;
	idle = w->idle_rounds;
	heard = w->peers.peer[2].seq[0].received;
	rig_run_for(&rig, 10 * RIG_DEAD_NS);
	assert_true(w->peers.peer[2].seq[0].received >= heard + 10);
	assert_int_equal(w->idle_rounds - idle, w->rounds - rounds);
	rig_offer(&rig, 2, 1, 0, 1, 60);
	rig_run_for(&rig, RIG_MS);
	assert_true(w->idle_rounds - idle < w->rounds - rounds);
	rig_end(&rig);
}

static uint32_t flood_polls;

/* As many messages as the worker asks for, all malformed. It ends if the worker knows no bound. */
static uint32_t poll_flood(struct rb_transport *t, struct rb_completion *out, uint32_t max,
			   uint64_t now)
{
	(void)now;
	if (++flood_polls > 10 * RB_RECEIVE_BATCHES)
		return 0;
	for (uint32_t i = 0; i < max; i++)
		out[i] = (struct rb_completion){
			.kind = RB_RECEIVED, .offset = rb_chunk_take(t->chunks, RB_OWNER_MESSAGE)
		};
	return max;
}

static void flood_of_messages_without_frames_does_not_prolong_a_round(void **state)
{
	const struct rb_transport_ops *ops;
	struct rb_transport_ops flood;

	(void)state;
	rig_begin(&rig, &rig_plain);
	ops = rig.node[1].transport->ops;
	flood = *ops;
	flood.poll = poll_flood;
	rig.node[1].transport->ops = &flood;
	flood_polls = 0;
	assert_false(rb_worker_receive(rig.node[1].worker, rig.now_ns)); /* no frames, no work */
	assert_int_equal(flood_polls, RB_RECEIVE_BATCHES);
	rig.node[1].transport->ops = ops;
	rig_end(&rig);
}

/* Each bad message counts under one verdict, and nothing else happens. */
static void bad_messages_are_counted_by_name_and_change_nothing(void **state)
{
	uint64_t verdicts[RB_VERDICT_COUNT];
	struct rb_msg_header h = { .type = RB_MSG_DATA,
				   .source = 2,
				   .destination = 1,
				   .count = 1,
				   .length_bytes = 24 + 12 + 60,
				   .epoch = 1002,
				   .sequence = 500000 };
	struct rb_frame frame = { .len_bytes = 60, .system_port = SL_SYSTEM_PORT(1, 1) };
	static const enum rb_verdict expected[] = { RB_VERDICT_OK,	    RB_VERDICT_SOURCE,
						    RB_VERDICT_DESTINATION, RB_VERDICT_FRAME_PORT,
						    RB_VERDICT_VERSION,	    RB_VERDICT_EPOCH,
						    RB_VERDICT_DUPLICATE };

	(void)state;
	rig_begin(&rig, &rig_plain);
	memcpy(verdicts, rig.node[1].worker->verdicts, sizeof(verdicts));
	for (uint32_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		struct rb_msg_header bad = h;
		struct rb_frame bad_frame = frame;
		uint8_t msg[24 + 12 + 60] = { 0 };
		const struct rb_piece piece = { msg, sizeof(msg) };
		uint64_t egress = rig_count_of(&rig, 1, RB_COUNT_EGRESS);

		if (expected[i] == RB_VERDICT_SOURCE)
			bad.source = 3; /* node 2 speaks in the name of node 3 */
		if (expected[i] == RB_VERDICT_DESTINATION)
			bad.destination = 3;
		if (expected[i] == RB_VERDICT_FRAME_PORT)
			bad_frame.system_port = SL_SYSTEM_PORT(2, 1);
		if (expected[i] == RB_VERDICT_EPOCH)
			bad.epoch++;
		rb_msg_header_encode(&bad, msg);
		rb_frame_header_encode(&bad_frame, 0, msg + 24);
		rb_put16(msg + 36, SL_SYSTEM_PORT(1, 1));
		msg[38] = 2;
		rb_put16(msg + 36 + 8, 60);
		for (uint32_t b = 10; b < 60; b++)
			msg[36 + b] = (uint8_t)b;
		if (expected[i] == RB_VERDICT_VERSION)
			msg[0] = 9;
		assert_int_equal(rig.node[2].transport->ops->post_send(
					 rig.node[2].transport, rig.node[2].worker->peer[1]->path,
					 &piece, 1, 0),
				 1);
		rig_run_for(&rig, 200 * RIG_US);
		verdicts[expected[i]]++;
		assert_int_equal(rig.node[1].worker->verdicts[expected[i]], verdicts[expected[i]]);
		assert_int_equal(rig_count_of(&rig, 1, RB_COUNT_EGRESS) - egress,
				 expected[i] == RB_VERDICT_OK);
	}
	rig_end(&rig);
}

/* Other nodes still send to it, in messages that also have frames for the port that stays. */
static void port_goes_and_comes_while_frames_for_it_are_under_way(void **state)
{
	struct rb_egress_config again = { .system_port = SL_SYSTEM_PORT(1, 2),
					  .rate = SL_RATE_UNLIMITED,
					  .burst = 1 };
	struct rb_worker *w;
	uint32_t stays, goes;

	(void)state;
	for (uint32_t c = 0; c < SL_CLASSES; c++)
		again.class[c] =
			(struct rb_egress_class_config){ .weight = 1, .limit_frames = 512 };
	rig_begin(&rig, &rig_plain);
	w = rig.node[1].worker;
	rig.node[1].port[2].room = 1; /* so that frames wait for it */
	for (int from = 2; from <= RIG_NODES; from++)
		for (uint32_t v = 0; v < RIG_VOQS; v++)
			rig_offer(&rig, from, 1, v, 3000, 200);
	rig_run_for(&rig, 2 * RIG_MS);
	assert_true(w->port[2]->n_waiting > 0);
	rb_egress_set_tx(w->port[2], NULL, w->chunks, w->counters);
	rb_worker_remove_port(w, 2);
	assert_null(w->port[2]);
	goes = rig.node[1].port[2].received;
	stays = rig.node[1].port[1].received;
	rig_run_for(&rig, 200 * RIG_MS);
	rig_check_conservation(&rig);
	assert_int_equal(rig.node[1].port[2].received, goes);
	assert_true(rig.node[1].port[1].received > stays);
	assert_int_equal(rig.node[1].port[1].received, 2 * SL_CLASSES * 3000);
	assert_int_equal(rig.node[1].port[1].skipped, 0);
	assert_int_equal(w->verdicts[RB_VERDICT_FRAME_PORT], 0);
	assert_true(rig_count_of(&rig, 1, RB_COUNT_DROP_PORT_DOWN) > 0);
	assert_int_equal(rig_count_of(&rig, 1, RB_COUNT_DROP_PORT_DOWN) +
				 rig_count_of(&rig, 1, RB_COUNT_DROP_QUEUE_FULL),
			 2 * SL_CLASSES * 3000 - goes);

	assert_int_equal(rb_worker_add_port(w, &again, rig.now_ns), 0);
	rig.node[1].port[2].closed = false;
	rig.node[1].port[2].room = 4096;
	rb_egress_set_tx(w->port[2], &rig.node[1].port[2].tx, w->chunks, w->counters);
	rig_offer(&rig, 2, 1, SL_CLASSES, 300, 200);
	rig_run_for(&rig, 20 * RIG_MS);
	assert_int_equal(rig.node[1].port[2].received, goes + 300);
	rig_check_conservation(&rig);
	rig_end(&rig);
}

static void lossy_network_loses_messages_and_nothing_else(void **state)
{
	struct rig_setting s = rig_plain;
	struct rb_mem_stats stats;
	uint64_t lost = 0, late = 0, duplicate = 0;

	(void)state;
	s.degree = 8;
	s.network = (struct rb_mem_config){ .seed = 11,
					    .loss_ppm = 20000,
					    .duplicate_ppm = 20000,
					    .reorder_ppm = 20000,
					    .delay_ns = 50 * RIG_US,
					    .reorder_ns = 100 * RIG_US };
	rig_begin(&rig, &s);
	for (int from = 1; from <= RIG_NODES; from++)
		for (int to = 1; to <= RIG_NODES; to++)
			for (uint32_t v = 0; from != to && v < RIG_VOQS; v++)
				rig_offer(&rig, from, to, v, 2000, 200);
	rig_run_for(&rig, 600 * RIG_MS);
	rb_mem_network_stats(rig.network, &stats);
	rig_check_conservation(&rig);
	for (int i = 1; i <= RIG_NODES; i++) {
		for (int k = 1; k <= RIG_NODES; k++) {
			lost += rig.node[i].worker->peers.peer[k].seq[0].lost;
			late += rig.node[i].worker->peers.peer[k].seq[0].late;
			duplicate += rig.node[i].worker->peers.peer[k].seq[0].duplicate;
		}
		assert_int_equal(rig.node[i].worker->verdicts[RB_VERDICT_DUPLICATE] +
					 rig.node[i].worker->verdicts[RB_VERDICT_OK] +
					 rig.node[i].worker->verdicts[RB_VERDICT_STALE] +
					 rig.node[i].worker->verdicts[RB_VERDICT_UNKNOWN_NODE] +
					 rig.node[i].worker->verdicts[RB_VERDICT_EPOCH],
				 rig.node[i].worker->verdicts[RB_VERDICT_OK] +
					 rig.node[i].worker->verdicts[RB_VERDICT_DUPLICATE]);
	}
	assert_true(stats.lost > 100 && late > 50);
	assert_int_equal(duplicate, stats.duplicated);
	/* Nobody can know that the first or the last messages of a stream are lost. */
	assert_in_range(lost, stats.lost - 12, stats.lost);
	assert_int_equal(rig_sum_of(&rig, RB_COUNT_SENT), 6 * RIG_VOQS * 2000);
	assert_in_range(rig_sum_of(&rig, RB_COUNT_SENT) - rig_sum_of(&rig, RB_COUNT_EGRESS), 1,
			8 * stats.lost);
	rig_end(&rig);
}

/* --- Completions as a test wants them --- */

static const struct rb_transport_ops *real;
static struct rb_transport_ops replaced;
static uint32_t polls;
static bool as_numbered, as_unknown;

static uint32_t change_poll(struct rb_transport *t, struct rb_completion *out, uint32_t max,
			    uint64_t now)
{
	uint32_t n = real->poll(t, out, max, now);

	polls++;
	for (uint32_t k = 0; k < n; k++) {
		out[k].numbered = as_numbered;
		if (as_unknown)
			out[k].context = NULL;
	}
	return n;
}

static void replace_poll(int node)
{
	as_numbered = as_unknown = false;
	polls = 0;
	real = rig.node[node].transport->ops;
	replaced = *real;
	replaced.poll = change_poll;
	rig.node[node].transport->ops = &replaced;
}

/* Node 2 sends node 1 a message of one frame with this number. */
static void send_numbered(uint32_t sequence)
{
	const struct rb_msg_header h = { .type = RB_MSG_DATA,
					 .source = 2,
					 .destination = 1,
					 .count = 1,
					 .length_bytes = 24 + 12 + 60,
					 .epoch = rig.node[2].epoch,
					 .sequence = sequence };
	const struct rb_frame frame = { .len_bytes = 60,
					.system_port = SL_SYSTEM_PORT(1, 1),
					.ingress_port = SL_SYSTEM_PORT(2, 1) };
	uint8_t msg[24 + 12 + 60] = { 0 };
	const struct rb_piece piece = { msg, sizeof(msg) };
	struct rb_transport *t = rig.node[2].transport;

	rb_msg_header_encode(&h, msg);
	rb_frame_header_encode(&frame, 0, msg + 24);
	rb_put16(msg + 36, SL_SYSTEM_PORT(1, 1));
	msg[36 + 2] = 2;
	rb_put16(msg + 36 + 8, 60);
	for (uint32_t b = 10; b < 60; b++)
		msg[36 + b] = (uint8_t)b;
	assert_int_equal(t->ops->post_send(t, rig.node[2].worker->peer[1]->path, &piece, 1, 0), 1);
	rig_run_for(&rig, 200 * RIG_US);
}

/* Over a transport that judges numbers itself, a number that came before is no duplicate. */
static void number_is_judged_once_by_transport_or_worker(void **state)
{
	const struct rb_worker *w;
	uint64_t duplicates;

	(void)state;
	rig_begin(&rig, &rig_plain);
	w = rig.node[1].worker;
	replace_poll(1);
	duplicates = w->verdicts[RB_VERDICT_DUPLICATE];
	for (uint32_t k = 0; k < 2; k++)
		send_numbered(500);
	assert_int_equal(w->verdicts[RB_VERDICT_DUPLICATE], duplicates + 1);
	assert_int_equal(rig_count_of(&rig, 1, RB_COUNT_EGRESS), 1);
	as_numbered = true;
	for (uint32_t k = 0; k < 2; k++)
		send_numbered(500);
	assert_int_equal(w->verdicts[RB_VERDICT_DUPLICATE], duplicates + 1);
	assert_int_equal(rig_count_of(&rig, 1, RB_COUNT_EGRESS), 3);
	assert_int_equal(rig_count_of(&rig, 1, RB_COUNT_TRANSMITTED), 3);
	rig.node[1].transport->ops = real;
	rig_end(&rig);
}

static void message_without_a_path_is_of_an_unknown_node(void **state)
{
	const struct rb_worker *w;
	uint64_t unknown;

	(void)state;
	rig_begin(&rig, &rig_plain);
	w = rig.node[1].worker;
	replace_poll(1);
	as_unknown = true;
	unknown = w->verdicts[RB_VERDICT_UNKNOWN_NODE];
	send_numbered(500);
	assert_int_equal(w->verdicts[RB_VERDICT_UNKNOWN_NODE], unknown + 1);
	assert_int_equal(rig_count_of(&rig, 1, RB_COUNT_EGRESS), 0);
	assert_int_equal(w->chunks->count[RB_OWNER_MESSAGE], 0);
	rig.node[1].transport->ops = real;
	rig_end(&rig);
}

/* What waits in the transport waits for the next round. */
static void round_takes_in_no_more_batches_after_so_many_frames(void **state)
{
	struct rig_setting s = rig_plain;
	struct rb_worker *w;

	(void)state;
	s.degree = 1;
	rig_begin(&rig, &s);
	w = rig.node[1].worker;
	w->config.receive_target = 512;
	rb_worker_post_receives(w);
	rig.node[1].dead = true;
	rig_offer(&rig, 2, 1, 0, 400, 60);
	rig_run_for(&rig, 3 * RIG_MS / 2);
	assert_int_equal(rig_count_of(&rig, 2, RB_COUNT_SENT), 400);
	replace_poll(1);
	assert_true(rb_worker_receive(w, rig.now_ns));
	/* A batch has at most 8 frames; hellos may have come among them. */
	assert_in_range(rig_count_of(&rig, 1, RB_COUNT_EGRESS), RB_RECEIVE_FRAMES,
			RB_RECEIVE_FRAMES + 7);
	assert_in_range(polls, RB_RECEIVE_FRAMES / 8, RB_RECEIVE_FRAMES / 8 + 1);
	assert_true(rb_worker_receive(w, rig.now_ns));
	assert_int_equal(rig_count_of(&rig, 1, RB_COUNT_EGRESS), 400);
	assert_false(rb_worker_receive(w, rig.now_ns));
	rig.node[1].transport->ops = real;
	rig.node[1].dead = false;
	rig_run_for(&rig, RIG_MS);
	assert_int_equal(rig.node[1].port[1].received, 400);
	rig_end(&rig);
}

static void message_that_was_sent_is_taken_in_and_no_work(void **state)
{
	struct rig_setting s = rig_plain;
	struct rb_worker *w;

	(void)state;
	s.network.lend = true;
	rig_begin(&rig, &s);
	w = rig.node[1].worker;
	rig_run_for(&rig, RIG_STEP_NS);
	rig_offer(&rig, 1, 2, 0, 4, 60);
	assert_true(rb_worker_serve_peer(w, w->peer[2], rig.now_ns));
	assert_int_equal(w->chunks->count[RB_OWNER_INGRESS], 4 + 1);
	assert_false(rb_worker_receive(w, rig.now_ns));
	assert_int_equal(w->chunks->count[RB_OWNER_INGRESS], 0);
	assert_int_equal(w->n_free_lent, RB_LENT_MAX);
	rig_end(&rig);
}

static void announcement_that_nobody_awaits_is_received(void **state)
{
	const uint8_t body[3] = { 1, 2, 3 };
	const struct rb_worker *w;
	uint64_t ok;

	(void)state;
	rig_begin(&rig, &rig_plain);
	w = rig.node[1].worker;
	assert_null(w->on_announce);
	ok = w->verdicts[RB_VERDICT_OK];
	assert_int_equal(rb_worker_announce(rig.node[2].worker, 1, body, 3, rig.now_ns), 0);
	rig_run_for(&rig, 200 * RIG_US);
	assert_true(w->verdicts[RB_VERDICT_OK] > ok);
	assert_int_equal(w->chunks->count[RB_OWNER_MESSAGE], 0);
	rig_end(&rig);
}

/* --- Chunks to receive into --- */

static uint32_t take_max, posts;

static uint32_t post_few(struct rb_transport *t, const uint64_t *offsets, uint32_t n)
{
	posts++;
	return real->post_receive(t, offsets, n < take_max ? n : take_max);
}

/* As many as wanted are posted; those that the transport or the memory refuse are no loss. */
static void chunks_are_posted_up_to_the_target(void **state)
{
	static uint64_t offsets[RIG_CHUNKS];
	struct rb_worker *w;
	uint32_t n_taken = 0;

	(void)state;
	rig_begin(&rig, &rig_plain);
	w = rig.node[1].worker;
	assert_int_equal(w->chunks->count[RB_OWNER_RECEIVE], RIG_RECEIVES);
	rb_worker_post_receives(w);
	assert_int_equal(w->chunks->count[RB_OWNER_RECEIVE], RIG_RECEIVES);
	w->config.receive_target = RIG_RECEIVES + 65; /* one more than a batch */
	rb_worker_post_receives(w);
	assert_int_equal(w->chunks->count[RB_OWNER_RECEIVE], RIG_RECEIVES + 65);

	/* The transport takes a few. */
	real = rig.node[1].transport->ops;
	replaced = *real;
	replaced.post_receive = post_few;
	rig.node[1].transport->ops = &replaced;
	take_max = 10;
	posts = 0;
	w->config.receive_target = RIG_RECEIVES + 165;
	rb_worker_post_receives(w);
	assert_int_equal(posts, 1);
	assert_int_equal(w->chunks->count[RB_OWNER_RECEIVE], RIG_RECEIVES + 75);
	rig.node[1].transport->ops = real;

	/* Few chunks are free. */
	while (w->chunks->n_free > 7)
		offsets[n_taken++] = rb_chunk_take(w->chunks, RB_OWNER_TX);
	rb_worker_post_receives(w);
	assert_int_equal(w->chunks->count[RB_OWNER_RECEIVE], RIG_RECEIVES + 82);
	assert_int_equal(w->chunks->n_free, 0);
	rb_worker_post_receives(w);
	while (n_taken > 0)
		rb_chunk_release(w->chunks, offsets[--n_taken], RB_OWNER_TX);

	/* It has no room for more than 512. */
	w->config.receive_target = 600;
	rb_worker_post_receives(w);
	assert_int_equal(w->chunks->count[RB_OWNER_RECEIVE], 512);
	assert_int_equal(w->chunks->n_free, RIG_CHUNKS - 512);
	rig_end(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(port_goes_and_comes_while_frames_for_it_are_under_way),
		cmocka_unit_test(hellos_alone_are_no_work),
		cmocka_unit_test(flood_of_messages_without_frames_does_not_prolong_a_round),
		cmocka_unit_test(bad_messages_are_counted_by_name_and_change_nothing),
		cmocka_unit_test(lossy_network_loses_messages_and_nothing_else),
		cmocka_unit_test(number_is_judged_once_by_transport_or_worker),
		cmocka_unit_test(message_without_a_path_is_of_an_unknown_node),
		cmocka_unit_test(round_takes_in_no_more_batches_after_so_many_frames),
		cmocka_unit_test(message_that_was_sent_is_taken_in_and_no_work),
		cmocka_unit_test(announcement_that_nobody_awaits_is_received),
		cmocka_unit_test(chunks_are_posted_up_to_the_target),
	};
	return cmocka_run_group_tests_name("worker_receive", tests, NULL, NULL);
}
