/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The loop of a worker, liveness, and setting up: workers of three nodes on a network in memory.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>

#include "rdma-bridge/wire/bytes.h"
#include "tests/lib/worker_rig.h"

static struct worker_rig rig;

static void traffic_of_all_nodes_arrives_whole_and_in_order(uint32_t degree, uint32_t message_bytes,
							    bool lend)
{
	struct rig_setting s = rig_plain;
	uint64_t messages = 0;

	s.degree = degree;
	s.message_max_bytes = message_bytes;
	s.network.lend = lend;
	rig_begin(&rig, &s);
	for (int from = 1; from <= RIG_NODES; from++)
		for (int to = 1; to <= RIG_NODES; to++)
			for (uint32_t voq = 0; from != to && voq < RIG_VOQS; voq++)
				rig_offer(&rig, from, to, voq, 200, 0);
	rig_run_for(&rig, 400 * RIG_MS);
	assert_int_equal(rig_sum_of(&rig, RB_COUNT_INGRESS), 6 * RIG_VOQS * 200);
	assert_int_equal(rig_sum_of(&rig, RB_COUNT_TRANSMITTED), 6 * RIG_VOQS * 200);
	rig_check_conservation(&rig);
	for (int i = 1; i <= RIG_NODES; i++) {
		for (int p = 1; p <= RIG_PORTS; p++) {
			const struct rig_port *port = &rig.node[i].port[p];

			assert_int_equal(port->received, 2 * SL_CLASSES * 200);
			assert_int_equal(port->out_of_order + port->skipped, 0);
		}
		for (int k = 1; k <= RIG_NODES; k++)
			messages += i != k ? rig.node[i].worker->peer[k]->sent[RB_MSG_DATA] : 0;
	}
	if (degree == 1)
		assert_int_equal(messages, 6 * RIG_VOQS * 200);
	else
		assert_true(messages < 6 * RIG_VOQS * 200 * 2 / 3);
	for (int i = 1; i <= RIG_NODES; i++)
		for (int k = 1; k <= RIG_NODES; k++)
			for (uint32_t v = 0; i != k && v < RIG_VOQS; v++)
				assert_int_equal(rig.node[i].backlog[k][v].dequeued.frames, 200);
	rig_end(&rig);
}

static void traffic_arrives_at_every_packing_degree(void **state)
{
	(void)state;
	traffic_of_all_nodes_arrives_whole_and_in_order(1, 4096, false);
	traffic_of_all_nodes_arrives_whole_and_in_order(4, 4096, false);
	traffic_of_all_nodes_arrives_whole_and_in_order(RB_RECORDS_MAX, 4096, false);
	traffic_of_all_nodes_arrives_whole_and_in_order(RB_RECORDS_MAX, 2048, false);
}

static void traffic_arrives_over_a_transport_that_borrows(void **state)
{
	(void)state;
	traffic_of_all_nodes_arrives_whole_and_in_order(RB_RECORDS_MAX, 4096, true);
}

static void worker_that_waits_for_time_alone_says_until_when(void **state)
{
	struct rig_setting s = rig_plain;
	const struct rb_worker *w;

	(void)state;
	s.port_rate = 10000;
	rig_begin(&rig, &s);
	w = rig.node[1].worker;
	assert_false(rb_worker_round(rig.node[1].worker, rig.now_ns));
	assert_false(w->held);
	assert_true(w->ready_ns == UINT64_MAX);
	/* Paced: 2,000 frames a second, one each 500 us. */
	rig.node[1].voq[2][0] = (struct sl_voq){ .rate = 2000, .burst = 1 };
	rig_offer(&rig, 1, 2, 0, 50, 60);
	assert_true(rb_worker_round(rig.node[1].worker, rig.now_ns));
	rig_run_for(&rig, 2 * RIG_MS);
	while (rb_worker_round(rig.node[1].worker, rig.now_ns))
		rig_run_for(&rig, RIG_STEP_NS);
	assert_true(w->held);
	assert_in_range(w->ready_ns, rig.now_ns + 1, rig.now_ns + 501 * RIG_US);
	assert_false(rb_worker_round(rig.node[1].worker, w->ready_ns - 1));
	assert_true(rb_worker_round(rig.node[1].worker, w->ready_ns + 1));
	rig.now_ns += RIG_MS;
	/* At rate 0 there is no such time. */
	rig.node[1].voq[2][0].rate = 0;
	rig_run_for(&rig, RIG_MS);
	assert_true(w->held);
	assert_true(w->ready_ns == UINT64_MAX);
	rig.node[1].voq[2][0].rate = SL_RATE_UNLIMITED;
	/* The shaped port of the other node: 100 us a frame. */
	rig_offer(&rig, 1, 2, 1, 200, 60);
	rig_run_for(&rig, 5 * RIG_MS);
	while (rb_worker_round(rig.node[2].worker, rig.now_ns))
		rig_run_for(&rig, RIG_STEP_NS);
	assert_true(rig.node[2].worker->held);
	assert_in_range(rig.node[2].worker->ready_ns, rig.now_ns + 1, rig.now_ns + 101 * RIG_US);
	rig_run_for(&rig, 100 * RIG_MS);
	rig_check_conservation(&rig);
	rig_end(&rig);
}

/* A round costs what there is to do, however many nodes, VOQs and ports there are. */
static void round_visits_only_voqs_and_ports_with_frames(void **state)
{
	struct rig_setting s = rig_plain;

	(void)state;
	rig_begin(&rig, &s);
	for (uint32_t other = 2; other <= RIG_NODES; other++)
		for (uint32_t i = 0; i < RIG_VOQS; i++)
			rig.node[1].ring[other][i].reads = 0;
	for (uint32_t number = 1; number <= RIG_PORTS; number++)
		rig.node[2].port[number].calls = 0;
	rig_offer(&rig, 1, 2, 1, 500, 60); /* to port 1 of node 2 */
	rig_run_for(&rig, 50 * RIG_MS);
	assert_int_equal(rig.node[2].port[1].received, 500);
	for (uint32_t other = 2; other <= RIG_NODES; other++)
		for (uint32_t i = 0; i < RIG_VOQS; i++)
			if (other == 2 && i == 1)
				assert_in_range(rig.node[1].ring[other][i].reads, 500 / 32,
						500 / 32 + 2);
			else
				assert_int_equal(rig.node[1].ring[other][i].reads, 0);
	/* 5,000 rounds, of which at most 500 had a frame to send. */
	assert_in_range(rig.node[2].port[1].calls, 2, 2000);
	assert_int_equal(rig.node[2].port[2].calls, 0);
	/* And with a node that is not up. */
	rig.node[3].dead = true;
	rig_run_for(&rig, 100 * RIG_MS);
	rig.node[1].ring[3][2].reads = 0;
	rig_offer(&rig, 1, 3, 2, 300, 60);
	rig_run_for(&rig, 50 * RIG_MS);
	assert_true(rig_count_of(&rig, 1, RB_COUNT_DROP_PEER_DOWN) == 300);
	assert_in_range(rig.node[1].ring[3][2].reads, 300 / 32, 300 / 32 + 3);
	assert_int_equal(rig.node[1].ring[3][1].reads, 0);
	rig_check_conservation(&rig);
	rig_end(&rig);
}

static void port_whose_device_is_down_drops_by_name_and_costs_no_round(void **state)
{
	struct rig_port *port = &rig.node[2].port[1];
	const struct rb_worker *w;
	uint64_t rounds, idle;

	(void)state;
	rig_begin(&rig, &rig_plain);
	w = rig.node[2].worker;
	port->room = 4;
	port->down = true;
	rig_offer(&rig, 1, 2, 0, 10, 60);
	rig_run_for(&rig, 5 * RIG_MS);
	assert_int_equal(port->received, 4);
	assert_int_equal(rig_count_of(&rig, 2, RB_COUNT_DROP_PORT_DOWN), 6);
	assert_int_equal(rig_count_of(&rig, 2, RB_COUNT_TRANSMITTED), 0);
	rounds = w->rounds;
	idle = w->idle_rounds;
	rig_run_for(&rig, 5 * RIG_MS);
	assert_true(w->rounds > rounds);
	assert_int_equal(w->idle_rounds - idle, w->rounds - rounds);
	port->down = false;
	rig_offer(&rig, 1, 2, 0, 3, 60);
	rig_run_for(&rig, 5 * RIG_MS);
	assert_int_equal(rig_count_of(&rig, 2, RB_COUNT_TRANSMITTED), 7);
	rig_check_conservation(&rig);
	rig_end(&rig);
}

static void slow_port_takes_nothing_from_the_others(void **state)
{
	(void)state;
	rig_begin(&rig, &rig_plain);
	rig.node[2].port[1].room = 0;
	/* Slower than a port's share of a round, so that only the stuck one fills up. */
	rig.node[1].voq[2][0] = (struct sl_voq){ .rate = 1000000, .burst = 1 };
	rig.node[1].voq[2][SL_CLASSES] = (struct sl_voq){ .rate = 1000000, .burst = 1 };
	rig_offer(&rig, 1, 2, 0, 5000, 60);
	rig_offer(&rig, 1, 2, SL_CLASSES, 5000, 60);
	rig_run_for(&rig, 100 * RIG_MS);
	assert_int_equal(rig.node[2].port[2].received, 5000);
	assert_int_equal(rig.node[2].port[1].received, 0);
	assert_int_equal(rig_count_of(&rig, 2, RB_COUNT_DROP_QUEUE_FULL), 5000 - 1024);
	rig.node[2].port[1].room = 256;
	rig_run_for(&rig, 100 * RIG_MS);
	assert_int_equal(rig.node[2].port[1].received, 1024);
	rig_check_conservation(&rig);
	rig_end(&rig);
}

static void peer_that_falls_silent_is_down_within_the_bound_and_its_frames_are_dropped(void **state)
{
	uint64_t died_ns;

	(void)state;
	rig_begin(&rig, &rig_plain);
	for (uint8_t k = 2; k <= RIG_NODES; k++)
		assert_int_equal(rb_worker_peer_state(rig.node[1].worker, k), RB_PEER_UP);
	rig.node[2].dead = true;
	died_ns = rig.now_ns;
	while (rb_worker_peer_state(rig.node[1].worker, 2) == RB_PEER_UP) {
		rig_run_for(&rig, RIG_MS);
		assert_true(rig.now_ns - died_ns <= RIG_DEAD_NS + 2 * RIG_MS);
	}
	assert_int_equal(rig.node[1].downs, 1);
	assert_int_equal(rb_worker_peer_state(rig.node[1].worker, 3), RB_PEER_UP);
	rig_offer(&rig, 1, 2, 0, 300, 60);
	rig_offer(&rig, 1, 3, 0, 300, 60);
	rig_run_for(&rig, 20 * RIG_MS);
	assert_int_equal(rig_count_of(&rig, 1, RB_COUNT_DROP_PEER_DOWN), 300);
	assert_int_equal(rig_count_of(&rig, 3, RB_COUNT_TRANSMITTED), 300);
	/* The dropped frames have left the backlog, or XDP would admit no more. */
	assert_int_equal(rig.node[1].backlog[2][0].dequeued.frames, 300);
	rig.node[2].dead = false;
	rig_run_for(&rig, 20 * RIG_MS);
	assert_int_equal(rb_worker_peer_state(rig.node[1].worker, 2), RB_PEER_UP);
	rig_end(&rig);
}

static void restarted_peer_is_known_by_its_epoch_and_traffic_resumes(void **state)
{
	struct rb_msg_header old = { .type = RB_MSG_HELLO,
				     .source = 2,
				     .destination = 1,
				     .count = 1,
				     .length_bytes = RB_MSG_HEADER_BYTES + RB_HELLO_BYTES,
				     .epoch = 1002,
				     .sequence = 1000000 };

	(void)state;
	rig_begin(&rig, &rig_plain);
	rig_offer(&rig, 2, 1, 0, 100, 60);
	rig_run_for(&rig, 5 * RIG_MS);
	assert_int_equal(rig.node[1].port[1].received, 100);
	rig_stop(&rig.node[2]);
	rig_start(&rig.node[2], 5555);
	for (int k = 1; k <= RIG_NODES; k++)
		if (k != 2) {
			rig_introduce(&rig.node[k], &rig.node[2]);
			rig_introduce(&rig.node[2], &rig.node[k]);
		}
	rig_run_for(&rig, 15 * RIG_MS);
	assert_int_equal(rb_worker_peer_state(rig.node[1].worker, 2), RB_PEER_UP);
	rig.node[1].port[1].next[2][0] = 0;
	rig_offer(&rig, 2, 1, 0, 100, 60);
	rig_offer(&rig, 1, 2, 0, 100, 60);
	rig_run_for(&rig, 5 * RIG_MS);
	assert_int_equal(rig.node[1].port[1].received, 200);
	assert_int_equal(rig.node[2].port[1].received, 100);
	assert_int_equal(rig.node[1].worker->peers.peer[2].seq[0].lost, 0);
	/* A message of the former life is refused under its name. */
	{
		uint8_t msg[RB_MSG_HEADER_BYTES + RB_HELLO_BYTES] = { 0 };
		const struct rb_piece piece = { msg, sizeof(msg) };
		uint64_t before = rig.node[1].worker->verdicts[RB_VERDICT_EPOCH];

		rb_msg_header_encode(&old, msg);
		msg[31] = 1; /* the interval */
		assert_int_equal(rig.node[2].transport->ops->post_send(
					 rig.node[2].transport, rig.node[2].worker->peer[1]->path,
					 &piece, 1, 0),
				 1);
		rig_run_for(&rig, RIG_MS);
		assert_int_equal(rig.node[1].worker->verdicts[RB_VERDICT_EPOCH], before + 1);
	}
	rig_end(&rig);
}

/*
 * A reload takes a peer away and brings it again, sooner than that peer takes us for dead: to it,
 * we are in the same life all the time.
 */
static void peer_that_goes_and_comes_back_at_once_takes_our_messages_as_before(void **state)
{
	struct rig_node *one = &rig.node[1], *two = &rig.node[2];
	uint64_t stale;

	(void)state;
	rig_begin(&rig, &rig_plain);
	rig_offer(&rig, 1, 2, 0, 3000, 60);
	rig_offer(&rig, 2, 1, 0, 100, 60);
	rig_run_for(&rig, 10 * RIG_MS);
	assert_int_equal(two->port[1].received, 3000);
	stale = two->worker->peers.peer[1].seq[0].stale;
	/* What waits is dropped by name, and another peer notices nothing. */
	one->voq[2][0].rate = 0;
	rig_offer(&rig, 1, 2, 0, 50, 60);
	rig_offer(&rig, 1, 3, 0, 200, 60);
	rig_run_for(&rig, RIG_US);
	rig_remove_peer(one, 2);
	assert_int_equal(rig_count_of(&rig, 1, RB_COUNT_DROP_PEER_DOWN) > 0, 1);
	rig_run_for(&rig, 5 * RIG_MS);
	assert_int_equal(rig.node[3].port[1].received, 200);
	assert_int_equal(one->worker->n_nodes, 1);

	rig_add_peer(one, 2);
	rig_introduce(one, two);
	two->port[1].next[1][0] = 0;
	rig_run_for(&rig, 20 * RIG_MS);
	assert_int_equal(two->downs, 0);
	assert_int_equal(rb_worker_peer_state(one->worker, 2), RB_PEER_UP);
	rig_offer(&rig, 1, 2, 0, 300, 60);
	rig_offer(&rig, 2, 1, 0, 100, 60);
	rig_run_for(&rig, 10 * RIG_MS);
	assert_int_equal(two->port[1].received, 3300);
	assert_int_equal(one->port[1].received, 200);
	assert_int_equal(two->worker->peers.peer[1].seq[0].stale, stale);
	rig_end(&rig);
}

static int no_path(struct rb_transport *t, const struct rb_endpoint *remote, void *context,
		   struct rb_path **out)
{
	(void)t;
	(void)remote;
	(void)context;
	(void)out;
	return -ENOMEM;
}

/*
 * A peer restarted and no path to its new life can be created: the worker sends it nothing, and it
 * counts as down after its old life has been silent long enough.
 */
static void restarted_peer_without_a_path_is_down_until_there_is_one(void **state)
{
	const struct rb_transport_ops *ops;
	struct rb_transport_ops failing;
	struct rb_endpoint e;

	(void)state;
	rig_begin(&rig, &rig_plain);
	ops = rig.node[1].transport->ops;
	failing = *ops;
	failing.path_create = no_path;
	rig.node[1].transport->ops = &failing;
	rig_stop(&rig.node[2]);
	rig_start(&rig.node[2], 5555);
	e = rig_endpoint(&rig.node[2]);
	assert_int_equal(rb_worker_connect(rig.node[1].worker, 2, 5555, &e, rig.now_ns), -ENOMEM);
	assert_int_equal(rb_worker_peer_state(rig.node[1].worker, 2), RB_PEER_UP);
	rig_offer(&rig, 1, 2, 0, 10, 60);
	rig_run_for(&rig, 2 * RIG_DEAD_NS);
	assert_int_equal(rb_worker_peer_state(rig.node[1].worker, 2), RB_PEER_DOWN);
	assert_int_equal(rig_count_of(&rig, 1, RB_COUNT_SENT), 0);
	assert_int_equal(rig_count_of(&rig, 1, RB_COUNT_DROP_PEER_DOWN), 10);
	rig.node[1].transport->ops = ops;
	rig_introduce(&rig.node[1], &rig.node[2]);
	rig_introduce(&rig.node[2], &rig.node[1]);
	rig_run_for(&rig, 15 * RIG_MS);
	rig_offer(&rig, 1, 2, 0, 10, 60);
	rig_run_for(&rig, 5 * RIG_MS);
	assert_int_equal(rig.node[2].port[1].received, 10);
	rig_end(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(traffic_arrives_at_every_packing_degree),
		cmocka_unit_test(traffic_arrives_over_a_transport_that_borrows),
		cmocka_unit_test(worker_that_waits_for_time_alone_says_until_when),
		cmocka_unit_test(round_visits_only_voqs_and_ports_with_frames),
		cmocka_unit_test(port_whose_device_is_down_drops_by_name_and_costs_no_round),
		cmocka_unit_test(slow_port_takes_nothing_from_the_others),
		cmocka_unit_test(
			peer_that_falls_silent_is_down_within_the_bound_and_its_frames_are_dropped),
		cmocka_unit_test(restarted_peer_is_known_by_its_epoch_and_traffic_resumes),
		cmocka_unit_test(
			peer_that_goes_and_comes_back_at_once_takes_our_messages_as_before),
		cmocka_unit_test(restarted_peer_without_a_path_is_down_until_there_is_one),
	};
	return cmocka_run_group_tests_name("worker", tests, NULL, NULL);
}
