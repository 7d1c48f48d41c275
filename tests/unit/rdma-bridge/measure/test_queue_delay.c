/* SPDX-License-Identifier: BSD-2-Clause */
/* Stages of a frame's delay, from descriptors as the bridge has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rdma-bridge/measure/queue_delay.h"

#define NOW 5000000000ULL

/* A frame that entered at arrival_ns is given at NOW, and comes back at back_ns. */
static const struct rb_delay_frame *measured(struct rb_port_delay *delay, uint64_t arrival_ns,
					     uint64_t back_ns)
{
	static const uint8_t bytes[60];
	const struct rb_frame frame = {
		.arrival_ns = arrival_ns, .len_bytes = 60, .waited_ns = 300, .message_ns = 200
	};

	rb_port_delay_give(delay, &frame, bytes, NOW);
	rb_port_delay_back(delay, 1, back_ns, 0);
	return &delay->kept[0];
}

static uint64_t most(const struct rb_port_delay *delay, enum rb_delay_stage stage)
{
	return delay->stage[0][stage].max_ns;
}

static void stages_add_up_to_the_total(void **state)
{
	struct rb_port_delay *delay;

	(void)state;
	assert_int_equal(rb_port_delay_create(1, &delay), 0);
	assert_int_equal(measured(delay, NOW - 1500, NOW + 700)->transmit_ns, 700);
	assert_int_equal(most(delay, RB_DELAY_VOQ), 300);
	assert_int_equal(most(delay, RB_DELAY_MESSAGE), 200);
	assert_int_equal(most(delay, RB_DELAY_QUEUE), 1000);
	assert_int_equal(most(delay, RB_DELAY_TRANSMIT), 700);
	assert_int_equal(most(delay, RB_DELAY_TOTAL), 2200);
	rb_port_delay_destroy(delay);
}

/* Its node's clock is known within some microseconds: it may seem to enter after it has left. */
static void a_frame_that_seems_to_leave_before_it_entered_took_no_time(void **state)
{
	struct rb_port_delay *delay;

	(void)state;
	assert_int_equal(rb_port_delay_create(1, &delay), 0);
	assert_int_equal(measured(delay, NOW + 9000, NOW + 4000)->transmit_ns, 0);
	for (int stage = 0; stage < RB_DELAY_STAGES; stage++)
		assert_int_equal(most(delay, (enum rb_delay_stage)stage), 0);
	rb_port_delay_destroy(delay);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stages_add_up_to_the_total),
		cmocka_unit_test(a_frame_that_seems_to_leave_before_it_entered_took_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
