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
	const struct rb_transport_ops *ops;
	struct rb_transport_ops full;
	const struct rb_worker *w;

	(void)state;
	rig_begin(&rig, &rig_plain);
	w = rig.node[1].worker;
	ops = rig.node[1].transport->ops;
	full = *ops;
	full.post_send = refuse_to_send;
	rig.node[1].transport->ops = &full;
	rig_offer(&rig, 1, 2, 0, 1, 60);
	rig_run_for(&rig, 5 * RIG_MS); /* more rounds than messages can be under way */
	assert_true(w->peer[2]->send_refused > RB_LENT_MAX);
	rig.node[1].transport->ops = ops;
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
	};
	return cmocka_run_group_tests_name("worker_send", tests, NULL, NULL);
}
