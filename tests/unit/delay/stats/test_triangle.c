/* SPDX-License-Identifier: BSD-2-Clause */
/* Time above a level: d_L = D (1 - L / A) by sums per bin, by levels, and exact. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "delay/stats/triangle.h"

static void edges_are_powers_of_the_root_of_two(void **state)
{
	(void)state;
	assert_int_equal(sl_triangle_edge_ns(0), 1000);
	assert_int_equal(sl_triangle_edge_ns(1), 1414);
	assert_int_equal(sl_triangle_edge_ns(2), 2000);
	assert_int_equal(sl_triangle_edge_ns(20), 1024000);
	assert_int_equal(sl_triangle_edge_ns(47), 11863283203); /* 11.9 s */
}

static void three_sums_give_the_time_above_each_edge(void **state)
{
	/* A and D in ns; at 2 us (edge 2) the second lies at the level, and is not above it. */
	static const uint64_t periods[][2] = {
		{ 4000, 10000 }, { 2000, 5000 }, { 8000, 8000 }, { 500, 900 }
	};
	struct sl_triangle t;
	struct sl_triangle_level level;

	(void)state;
	memset(&t, 0, sizeof(t));
	for (size_t i = 0; i < 4; i++)
		sl_triangle_add(&t, periods[i][0], periods[i][1]);
	sl_triangle_add(&t, 0, 77);
	level = sl_triangle_level(&t, 0); /* 7500 + 2500 + 7000 */
	assert_int_equal(level.periods, 3);
	assert_in_range(level.above_ns, 17000, 17001);
	level = sl_triangle_level(&t, 2); /* 5000 + 6000 */
	assert_int_equal(level.periods, 2);
	assert_in_range(level.above_ns, 11000, 11001);
	level = sl_triangle_level(&t, 4); /* at 4 us: only the third, 4000 */
	assert_int_equal(level.periods, 1);
	assert_in_range(level.above_ns, 4000, 4001);
	level = sl_triangle_level(&t, SL_TRIANGLE_EDGES - 1);
	assert_int_equal(level.periods, 0);
	assert_int_equal(level.above_ns, 0);
}

static void sums_and_levels_agree_on_every_edge(void **state)
{
	struct sl_above above = { .n = SL_TRIANGLE_EDGES };
	struct sl_triangle t;
	uint64_t random = 88172645463325252ULL;

	(void)state;
	memset(&t, 0, sizeof(t));
	for (uint32_t k = 0; k < SL_TRIANGLE_EDGES; k++)
		above.level_ns[k] = sl_triangle_edge_ns(k);
	for (int i = 0; i < 10000; i++) {
		uint64_t amplitude, duration;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		amplitude = 1 + (random >> 20) % (1ULL << (random % 34));
		duration = amplitude + (random >> 40) % 1000000;
		sl_triangle_add(&t, amplitude, duration);
		sl_above_period(&above, amplitude, duration);
	}
	for (uint32_t k = 0; k < SL_TRIANGLE_EDGES; k++) {
		const struct sl_triangle_level level = sl_triangle_level(&t, k);
		const double cut = (double)above.periods[k] * (double)above.level_ns[k] / 65536;

		assert_int_equal(level.periods, above.periods[k]);
		assert_true((double)level.above_ns >= (double)above.triangles_ns[k] - 1);
		assert_true((double)level.above_ns <=
			    (double)above.triangles_ns[k] + cut + (double)above.periods[k] + 1);
	}
}

static void falling_work_is_above_a_level_until_it_reaches_it(void **state)
{
	struct sl_above above = { .n = 3, .level_ns = { 10, 20, 40 } };

	(void)state;
	sl_above_fall(&above, 30, 15); /* 30 -> 15 */
	assert_int_equal(above.above_ns[0], 15);
	assert_int_equal(above.above_ns[1], 10);
	assert_int_equal(above.above_ns[2], 0);
	sl_above_fall(&above, 41, 1000); /* 41 -> 0, and idle */
	assert_int_equal(above.above_ns[0], 15 + 31);
	assert_int_equal(above.above_ns[1], 10 + 21);
	assert_int_equal(above.above_ns[2], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edges_are_powers_of_the_root_of_two),
		cmocka_unit_test(three_sums_give_the_time_above_each_edge),
		cmocka_unit_test(sums_and_levels_agree_on_every_edge),
		cmocka_unit_test(falling_work_is_above_a_level_until_it_reaches_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
