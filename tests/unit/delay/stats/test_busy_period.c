/* SPDX-License-Identifier: BSD-2-Clause */
/* Busy periods of short lists of packets, worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "delay/stats/busy_period.h"

static struct sl_passage passage(int64_t in_ns, int64_t out_ns, uint32_t input)
{
	return (struct sl_passage){ .in_ns = in_ns,
				    .out_ns = out_ns,
				    .wait_ns = 2,
				    .delay_ns = 10,
				    .bytes = 100,
				    .input = input };
}

static void periods_are_cut_where_the_system_is_empty(void **state)
{
	/* Two that overlap, one that comes just as the second leaves, one alone */
	const struct sl_passage packets[] = { passage(0, 10, 0), passage(5, 30, 1),
					      passage(30, 40, 1), passage(100, 103, 0) };
	struct sl_busy busy = { .guard_ns = 0 };
	struct sl_busy_period p;

	(void)state;
	assert_false(sl_busy_close(&busy, &p));
	assert_false(sl_busy_add(&busy, &packets[0], &p));
	assert_false(sl_busy_add(&busy, &packets[1], &p));
	assert_true(sl_busy_add(&busy, &packets[2], &p));
	assert_int_equal(p.start_ns, 0);
	assert_int_equal(p.end_ns, 30);
	assert_int_equal(p.amplitude_ns, 25);
	assert_int_equal(p.apex_ns, 5);
	assert_int_equal(p.packets, 2);
	assert_int_equal(p.bytes, 200);
	assert_int_equal(p.wait_ns, 4);
	assert_int_equal(p.delay_ns, 20);
	assert_int_equal(p.input_bytes[0], 100);
	assert_int_equal(p.input_bytes[1], 100);
	assert_true(sl_busy_add(&busy, &packets[3], &p));
	assert_int_equal(p.start_ns, 30);
	assert_int_equal(p.input_bytes[0], 0);
	assert_int_equal(p.input_bytes[1], 100);
	assert_true(sl_busy_close(&busy, &p));
	assert_int_equal(p.start_ns, 100);
	assert_int_equal(p.end_ns, 103);
	assert_int_equal(p.amplitude_ns, 3);
	assert_int_equal(busy.raw, 3);
	assert_false(sl_busy_close(&busy, &p));
}

static void a_packet_that_overtakes_does_not_end_the_period(void **state)
{
	const struct sl_passage packets[] = { passage(0, 50, 0), passage(10, 20, 0),
					      passage(49, 60, 0) };
	struct sl_busy busy = { .guard_ns = 0 };
	struct sl_busy_period p;

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_false(sl_busy_add(&busy, &packets[i], &p));
	assert_true(sl_busy_close(&busy, &p));
	assert_int_equal(p.end_ns, 60);
	assert_int_equal(p.amplitude_ns, 50);
}

static void idle_times_below_the_guard_are_bridged_and_counted(void **state)
{
	const struct sl_passage packets[] = { passage(0, 10, 0), passage(14, 20, 0),
					      passage(25, 30, 0) };
	struct sl_busy busy = { .guard_ns = 5 };
	struct sl_busy_period p;

	(void)state;
	assert_false(sl_busy_add(&busy, &packets[0], &p));
	assert_false(sl_busy_add(&busy, &packets[1], &p)); /* 4 ns idle */
	assert_true(sl_busy_add(&busy, &packets[2], &p));  /* 5 ns idle */
	assert_int_equal(p.end_ns, 20);
	assert_int_equal(p.packets, 2);
	assert_int_equal(busy.raw, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(periods_are_cut_where_the_system_is_empty),
		cmocka_unit_test(a_packet_that_overtakes_does_not_end_the_period),
		cmocka_unit_test(idle_times_below_the_guard_are_bridged_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
