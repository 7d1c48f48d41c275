/* SPDX-License-Identifier: BSD-2-Clause */
/* Token buckets against the time that the test lets pass. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "rdma-bridge/scheduler/pace.h"

#define SECOND 1000000000ULL

/* Count the units that leave in this time in packets of `units`, tried every step_ns. */
static uint64_t count(struct rb_pace *p, uint64_t from_ns, uint64_t to_ns, uint64_t step_ns,
		      uint32_t units)
{
	uint64_t n = 0;

	for (uint64_t now = from_ns; now < to_ns; now += step_ns)
		while (rb_pace_ready(p, now)) {
			rb_pace_spend(p, units);
			n += units;
		}
	return n;
}

static void pace_keeps_its_rate_exactly_over_time(void **state)
{
	/* rate, burst, units each, step in ns */
	static const uint64_t cases[][4] = {
		{ 1, 1, 1, 1000000 },
		{ 1000, 1, 1, 999 * 1000 },
		{ 764500, 32, 1, 1001 },
		{ 3333333, 64, 1, 997 },
		{ 125000000, 3000, 1514, 9973 },
		{ 7, 3, 1, 12345678 },
		{ 125000000, 1, 9000, 10007 }, /* burst below one frame */
		{ 12500000000ULL, 1000000, 60, 30011 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t seconds = cases[i][0] < 100 ? 20 : 1, start = 12345, sent, expected;
		struct rb_pace p;

		rb_pace_init(&p, cases[i][0], (uint32_t)cases[i][1], start);
		sent = count(&p, start, start + seconds * SECOND, cases[i][3],
			     (uint32_t)cases[i][2]);
		expected = cases[i][0] * seconds;
		/*
		 * At most the rate, the first burst and one unit of debt. A late try misses at most
		 * one bucketful for each step, if the bucket holds less than a step's worth.
		 */
		assert_true(sent <= expected + cases[i][1] + cases[i][2]);
		if (cases[i][1] >= cases[i][0] * cases[i][3] / SECOND + 1)
			assert_true(sent + cases[i][2] + cases[i][0] * cases[i][3] / SECOND + 1 >=
				    expected);
	}
}

static void pace_148_mpps_is_not_rounded_away(void **state)
{
	struct rb_pace p;
	uint64_t sent;

	(void)state;
	rb_pace_init(&p, 148809523, 1000, 0);
	sent = count(&p, 0, SECOND / 10, 1000, 1);
	assert_in_range(sent, 14880952 - 200, 14880952 + 1001);
}

static void pace_rate_0_stops_and_unlimited_does_not_pace(void **state)
{
	struct rb_pace p;

	(void)state;
	rb_pace_init(&p, 0, 10, 5);
	assert_false(rb_pace_ready(&p, 5));
	assert_false(rb_pace_ready(&p, 100 * SECOND));
	assert_true(rb_pace_ready_at(&p, 100 * SECOND) == UINT64_MAX);
	rb_pace_set(&p, SL_RATE_UNLIMITED, 10, 100 * SECOND);
	for (int i = 0; i < 1000; i++) {
		assert_true(rb_pace_ready(&p, 100 * SECOND));
		rb_pace_spend(&p, 9000);
	}
	assert_true(rb_pace_ready_at(&p, 7) == 7);
}

static void pace_change_of_rate_holds_from_then_on(void **state)
{
	struct rb_pace p;
	uint64_t now = 0, n;

	(void)state;
	rb_pace_init(&p, 1000, 1, now);
	n = count(&p, 0, SECOND, 10000, 1);
	assert_in_range(n, 1000, 1001);
	rb_pace_set(&p, 4000, 1, SECOND);
	n = count(&p, SECOND, 2 * SECOND, 10000, 1);
	assert_in_range(n, 3999, 4001);
	rb_pace_set(&p, 0, 1, 2 * SECOND);
	assert_int_equal(count(&p, 2 * SECOND + 1000000, 3 * SECOND, 1000000, 1), 0);
	rb_pace_set(&p, 100, 1, 3 * SECOND);
	n = count(&p, 3 * SECOND, 4 * SECOND, 10000, 1);
	assert_in_range(n, 99, 101);
}

static void pace_idle_saves_up_one_burst_and_no_more(void **state)
{
	struct rb_pace p;
	uint64_t n;

	(void)state;
	rb_pace_init(&p, 1000, 10, 0);
	n = count(&p, 3600 * SECOND, 3600 * SECOND + 1, 1, 1);
	assert_int_equal(n, 10);
	/* A century of silence overflows nothing. */
	n = count(&p, 3000000000ULL * SECOND, 3000000000ULL * SECOND + 1, 1, 1);
	assert_int_equal(n, 10);
}

static void pace_ready_at_is_the_first_time_it_is_ready(void **state)
{
	static const uint64_t rates[] = { 1, 3, 7, 1000, 764500, 99999999 };

	(void)state;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct rb_pace p, before;
		uint64_t now = 1000, at;

		rb_pace_init(&p, rates[i], 1, now);
		for (int k = 0; k < 100; k++) {
			while (rb_pace_ready(&p, now))
				rb_pace_spend(&p, 3);
			at = rb_pace_ready_at(&p, now);
			assert_true(at > now);
			before = p;
			assert_false(rb_pace_ready(&before, at - 1));
			assert_true(rb_pace_ready(&p, at));
			now = at;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pace_keeps_its_rate_exactly_over_time),
		cmocka_unit_test(pace_148_mpps_is_not_rounded_away),
		cmocka_unit_test(pace_rate_0_stops_and_unlimited_does_not_pace),
		cmocka_unit_test(pace_change_of_rate_holds_from_then_on),
		cmocka_unit_test(pace_idle_saves_up_one_burst_and_no_more),
		cmocka_unit_test(pace_ready_at_is_the_first_time_it_is_ready),
	};
	return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
