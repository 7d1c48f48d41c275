/* SPDX-License-Identifier: BSD-2-Clause */
/* What the bridge tells XDP of an own port, and when. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "bpf/abi/virtual_clock.h"
#include "rdma-bridge/express/own_way.h"

#define NOW_NS 5000000000ULL
#define RATE   1000 /* bytes a second */

static struct rb_egress_port port;
static struct rb_ingress ingress;
static struct sl_backlog backlog[SL_CLASSES], other[SL_CLASSES];
static struct rb_own_way way;
static struct rb_voq voq;

/* A port with a bucket of 100 bytes, of which 100 are spent, and its VOQs. */
static int reset(void **state)
{
	(void)state;
	port = (struct rb_egress_port){ .unit = SL_UNIT_BYTES };
	ingress = (struct rb_ingress){ 0 };
	way = (struct rb_own_way){ 0 };
	voq = (struct rb_voq){ .backlog = &backlog[1] };
	for (uint32_t c = 0; c < SL_CLASSES; c++)
		backlog[c] = other[c] = (struct sl_backlog){ 0 };
	rb_pace_init(&port.pace, &port.clock, RATE, 100, SL_UNIT_BYTES, NOW_NS);
	rb_pace_spend(&port.pace, 100, NOW_NS);
	return 0;
}

static enum rb_express_state state_at(bool takes, uint64_t now_ns)
{
	return rb_own_way_state(&way, &port, &voq, takes, now_ns);
}

static void the_bucket_moves_with_the_maps(void **state)
{
	const uint64_t clock = port.clock;

	(void)state;
	backlog[0].own.until_ns = 77;
	rb_own_way_point(&way, &port, backlog);
	assert_int_equal(backlog[0].own.clock, clock);
	assert_ptr_equal(port.pace.clock, &backlog[0].own.clock);
	assert_int_equal(backlog[0].own.until_ns, 0);
	assert_int_equal(backlog[0].own.busy, 1); /* until a round has looked */
	rb_own_way_open(&way, &port, NOW_NS + 1);
	rb_pace_spend(&port.pace, 50, NOW_NS);
	rb_own_way_point(&way, &port, other);
	assert_int_equal(backlog[0].own.until_ns, 0);
	assert_int_equal(other[0].own.clock, clock + sl_ticks_of(50, RATE));
	rb_own_way_point(&way, &port, NULL);
	assert_ptr_equal(port.pace.clock, &port.clock);
	assert_int_equal(port.clock, clock + sl_ticks_of(50, RATE));
	assert_int_equal(state_at(true, NOW_NS), RB_EXPRESS_OWN);
}

static void it_opens_at_the_rate_of_the_port(void **state)
{
	(void)state;
	rb_own_way_open(&way, &port, NOW_NS + 1); /* there is none: nothing happens */
	rb_own_way_point(&way, &port, backlog);
	rb_own_way_open(&way, &port, NOW_NS + 1);
	assert_int_equal(backlog[0].own.until_ns, NOW_NS + 1);
	assert_int_equal(backlog[0].own.rate, RATE);
	assert_int_equal(backlog[0].own.burst, 100);
	assert_int_equal(backlog[0].own.unit, SL_UNIT_BYTES);
	rb_pace_set(&port.pace, 2 * RATE, 300, SL_UNIT_FRAMES, NOW_NS);
	port.unit = SL_UNIT_FRAMES;
	rb_own_way_open(&way, &port, NOW_NS + 2);
	assert_int_equal(backlog[0].own.until_ns, NOW_NS + 2);
	assert_int_equal(backlog[0].own.rate, 2 * RATE);
	assert_int_equal(backlog[0].own.burst, 300);
	assert_int_equal(backlog[0].own.unit, SL_UNIT_FRAMES);
	rb_own_way_open(&way, &port, 0);
	assert_int_equal(backlog[0].own.until_ns, 0);
}

static void the_port_is_busy_from_before_a_round_until_all_has_left(void **state)
{
	(void)state;
	rb_own_way_point(&way, &port, backlog);
	assert_false(rb_own_way_end(&way, &port, &ingress));
	assert_int_equal(backlog[0].own.busy, 0);
	rb_own_way_begin(&way);
	assert_int_equal(backlog[0].own.busy, 0);
	for (uint32_t c = 0; c < SL_CLASSES; c++) {
		backlog[c].enqueued.frames++;
		rb_own_way_begin(&way); /* the round will take it, or not */
		assert_int_equal(backlog[0].own.busy, 1);
		backlog[c].dequeued.frames++;
		port.n_waiting = 1;
		assert_false(rb_own_way_end(&way, &port, &ingress)); /* it waits for its rate */
		rb_own_way_begin(&way);
		assert_int_equal(backlog[0].own.busy, 1);
		port.n_waiting = 0;
		port.lent = 1;
		assert_true(rb_own_way_end(&way, &port, &ingress));
		assert_int_equal(backlog[0].own.busy, 1);
		port.lent = 0;
		ingress.held = true;
		rb_own_way_end(&way, &port, &ingress);
		assert_int_equal(backlog[0].own.busy, 1);
		ingress.held = false;
		assert_false(rb_own_way_end(&way, &port, &ingress));
		assert_int_equal(backlog[0].own.busy, 0);
	}
	/* Frames of the kernel are in no backlog. */
	port.n_waiting = 1;
	rb_own_way_end(&way, &port, &ingress);
	assert_int_equal(backlog[0].own.busy, 1);
}

static void users_are_told_why_frames_go_by_the_bridge(void **state)
{
	const uint64_t later_ns = NOW_NS + 1000000000;

	(void)state;
	assert_int_equal(state_at(true, later_ns), RB_EXPRESS_OWN);
	rb_own_way_point(&way, &port, backlog);
	rb_own_way_end(&way, &port, &ingress);
	assert_int_equal(state_at(true, later_ns), RB_EXPRESS_OWN);
	rb_own_way_open(&way, &port, later_ns + 1);
	assert_int_equal(state_at(false, later_ns), RB_EXPRESS_DRIVER);
	assert_int_equal(state_at(true, NOW_NS), RB_EXPRESS_RATE); /* it owes */
	assert_int_equal(state_at(true, later_ns), RB_EXPRESS_OPEN);
	backlog[1].enqueued.frames++;
	assert_int_equal(state_at(true, later_ns), RB_EXPRESS_WAITING);
	backlog[1].dequeued.frames++;
	backlog[0].own.busy = 1;
	assert_int_equal(state_at(true, later_ns), RB_EXPRESS_UNDER_WAY);
	assert_int_equal(state_at(true, later_ns + 1), RB_EXPRESS_OWN);
}

static void frames_that_go_past_are_noticed_once(void **state)
{
	(void)state;
	assert_false(rb_own_way_is_used(&way, NULL));
	assert_false(rb_own_way_is_used(&way, backlog));
	backlog[3].express.frames = 5;
	assert_true(rb_own_way_is_used(&way, backlog));
	assert_false(rb_own_way_is_used(&way, backlog));
	assert_false(rb_own_way_is_used(&way, NULL));
	backlog[0].express.frames = 1;
	assert_true(rb_own_way_is_used(&way, backlog));
}

static bool wanted_at(bool others, uint64_t now_ns)
{
	return rb_own_way_is_wanted(&way, backlog, others, now_ns);
}

static void other_nodes_have_the_bucket_while_they_send(void **state)
{
	(void)state;
	/* Nobody sends: it stays where it is. */
	assert_false(wanted_at(false, NOW_NS));
	backlog[2].enqueued.frames++;
	assert_true(wanted_at(false, NOW_NS));
	rb_own_way_point(&way, &port, backlog);
	assert_true(wanted_at(false, NOW_NS));
	assert_false(wanted_at(true, NOW_NS));
	backlog[2].enqueued.frames++;
	assert_false(wanted_at(false, NOW_NS + RB_OWN_WAY_OTHERS_NS - 1));
	rb_own_way_point(&way, &port, NULL);
	assert_false(wanted_at(false, NOW_NS + RB_OWN_WAY_OTHERS_NS));
	backlog[0].enqueued.frames++;
	assert_true(wanted_at(false, NOW_NS + RB_OWN_WAY_OTHERS_NS));
	rb_own_way_point(&way, &port, backlog);
	/* Frames that went past before have not changed. */
	assert_true(wanted_at(false, NOW_NS + 3 * RB_OWN_WAY_OTHERS_NS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_bucket_moves_with_the_maps, reset),
		cmocka_unit_test_setup(it_opens_at_the_rate_of_the_port, reset),
		cmocka_unit_test_setup(the_port_is_busy_from_before_a_round_until_all_has_left,
				       reset),
		cmocka_unit_test_setup(frames_that_go_past_are_noticed_once, reset),
		cmocka_unit_test_setup(other_nodes_have_the_bucket_while_they_send, reset),
		cmocka_unit_test_setup(users_are_told_why_frames_go_by_the_bridge, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
