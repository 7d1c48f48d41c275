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
	rb_worker_round(rig.node[1].worker, rig.now_ns);
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
			bad_frame.system_port = SL_SYSTEM_PORT(1, 3);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hellos_alone_are_no_work),
		cmocka_unit_test(flood_of_messages_without_frames_does_not_prolong_a_round),
		cmocka_unit_test(bad_messages_are_counted_by_name_and_change_nothing),
		cmocka_unit_test(lossy_network_loses_messages_and_nothing_else),
	};
	return cmocka_run_group_tests_name("worker_receive", tests, NULL, NULL);
}
