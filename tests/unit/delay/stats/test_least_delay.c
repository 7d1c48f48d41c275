/* SPDX-License-Identifier: BSD-2-Clause */
/* Least delays, lines through points, and the rate of a link from gaps. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "delay/stats/least_delay.h"

static void the_least_delay_stays(void **state)
{
	static const int64_t delays[] = { 700, 300, 500, -5, 0 };
	struct sl_least least = { 0, 0 };

	(void)state;
	for (int i = 0; i < 2; i++)
		sl_least_add(&least, delays[i]);
	assert_int_equal(least.delay_ns, 300);
	for (int i = 2; i < 5; i++)
		sl_least_add(&least, delays[i]);
	assert_int_equal(least.delay_ns, -5);
	assert_int_equal(least.count, 5);
}

static void a_line_is_found_that_points_lie_on(void **state)
{
	static const double sizes[] = { 40, 552, 1500 };
	struct sl_line line = { 0 };
	double at_zero, slope;

	(void)state;
	assert_false(sl_line_fit(&line, &at_zero, &slope));
	sl_line_add(&line, 40, 15400);
	sl_line_add(&line, 40, 15400);
	assert_false(sl_line_fit(&line, &at_zero, &slope)); /* one size tells no slope */
	for (int i = 0; i < 3; i++)
		sl_line_add(&line, sizes[i], 15000 + 10 * sizes[i]);
	assert_true(sl_line_fit(&line, &at_zero, &slope));
	assert_true(fabs(at_zero - 15000) < 1e-6 && fabs(slope - 10) < 1e-9);
}

static void least_squares_of_points_beside_the_line(void **state)
{
	struct sl_line line = { 0 };
	double at_zero, slope;

	(void)state;
	/* (0,0) (1,2) (2,1) (3,3): slope 0.8, at zero 0.3 */
	sl_line_add(&line, 0, 0);
	sl_line_add(&line, 1, 2);
	sl_line_add(&line, 2, 1);
	sl_line_add(&line, 3, 3);
	assert_true(sl_line_fit(&line, &at_zero, &slope));
	assert_true(fabs(at_zero - 0.3) < 1e-12 && fabs(slope - 0.8) < 1e-12);
}

static void gaps_tell_rate_and_overhead(void **state)
{
	struct sl_line gaps = { 0 };
	double rate, overhead;

	(void)state;
	/* Ethernet of 1 Gb/s: 8 ns a byte, 38 bytes more than IP */
	for (int i = 0; i < SL_LEAST_RELIABLE - 1; i++)
		sl_line_add(&gaps, 46 + 50 * i, 8 * (46 + 50 * i + 38));
	assert_false(sl_line_rate(&gaps, &rate, &overhead)); /* one too few */
	sl_line_add(&gaps, 1500, 8 * 1538);
	assert_true(sl_line_rate(&gaps, &rate, &overhead));
	assert_true(fabs(rate - 1e9) < 1 && fabs(overhead - 38) < 1e-6);
}

static void gaps_that_do_not_grow_with_size_tell_nothing(void **state)
{
	struct sl_line gaps = { 0 };
	double rate, overhead;

	(void)state;
	for (int i = 0; i < 100; i++)
		sl_line_add(&gaps, 100 + i, 5000 - i);
	assert_false(sl_line_rate(&gaps, &rate, &overhead));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_least_delay_stays),
		cmocka_unit_test(a_line_is_found_that_points_lie_on),
		cmocka_unit_test(least_squares_of_points_beside_the_line),
		cmocka_unit_test(gaps_tell_rate_and_overhead),
		cmocka_unit_test(gaps_that_do_not_grow_with_size_tell_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
