/* SPDX-License-Identifier: BSD-2-Clause */
/* The two-stage model, step by step, with the figures of an OC-3 output. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "delay/stats/two_stage.h"

#define OC3 155520000ULL

static void sending_takes_eight_bits_a_byte(void **state)
{
	(void)state;
	assert_int_equal(sl_serialisation_ps(40, OC3), 2057613);    /* 2.06 us */
	assert_int_equal(sl_serialisation_ps(1500, OC3), 77160494); /* 77.16 us */
	assert_int_equal(sl_serialisation_ps(1500, 10000000000ULL), 1200000);
	assert_int_equal(sl_serialisation_ps(1048576, 8), 1048576000000000000ULL);
}

static void a_packet_alone_takes_its_excess_and_its_sending(void **state)
{
	struct sl_two_stage model;
	struct sl_service s;

	(void)state;
	sl_two_stage_init(&model, OC3);
	/* Excess of 1,500 bytes: 30.0 us. Times may lie before 0. */
	s = sl_two_stage_serve(&model, sl_two_stage_arrival_ns(&model, 0, -50000, 30000), 1500);
	assert_int_equal(s.wait_ns, 0);
	assert_int_equal(s.departure_ns, -50000 + 30000 + 77160);
}

static void packets_wait_for_those_before_them(void **state)
{
	struct sl_two_stage model;
	struct sl_service s;

	(void)state;
	sl_two_stage_init(&model, 8000000000ULL); /* a byte each ns */
	s = sl_two_stage_serve(&model, 1000, 100);
	assert_int_equal(s.departure_ns, 1100);
	s = sl_two_stage_serve(&model, 1040, 50);
	assert_int_equal(s.wait_ns, 60);
	assert_int_equal(s.departure_ns, 1150);
	s = sl_two_stage_serve(&model, 1150, 10); /* comes as the last one leaves */
	assert_int_equal(s.wait_ns, 0);
	assert_int_equal(s.departure_ns, 1160);
}

static void an_input_keeps_its_order_and_no_other(void **state)
{
	struct sl_two_stage model;

	(void)state;
	sl_two_stage_init(&model, OC3);
	/* A large packet takes 30 us, the small one behind it 15.4 us. */
	assert_int_equal(sl_two_stage_arrival_ns(&model, 0, 0, 30000), 30000);
	assert_int_equal(sl_two_stage_arrival_ns(&model, 0, 1000, 15400), 30000);
	assert_int_equal(sl_two_stage_arrival_ns(&model, 63, 1000, 15400), 16400);
	assert_int_equal(sl_two_stage_arrival_ns(&model, 0, 20000, 15400), 35400);
}

static void a_million_packets_back_to_back_add_up_no_rounding(void **state)
{
	struct sl_two_stage model;
	struct sl_service s = { 0, 0 };

	(void)state;
	sl_two_stage_init(&model, OC3);
	for (int i = 0; i < 1000000; i++)
		s = sl_two_stage_serve(&model, 0, 40);
	/* 320,000,000 bits take 2.0576131687 s. */
	assert_in_range(s.departure_ns, 2057613168 - 200, 2057613169 + 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sending_takes_eight_bits_a_byte),
		cmocka_unit_test(a_packet_alone_takes_its_excess_and_its_sending),
		cmocka_unit_test(packets_wait_for_those_before_them),
		cmocka_unit_test(an_input_keeps_its_order_and_no_other),
		cmocka_unit_test(a_million_packets_back_to_back_add_up_no_rounding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
