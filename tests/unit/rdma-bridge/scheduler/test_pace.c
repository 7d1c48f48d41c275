/* SPDX-License-Identifier: BSD-2-Clause */
/* Token buckets against the time that the test lets pass. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "bpf/abi/virtual_clock.h"
#include "rdma-bridge/scheduler/pace.h"

#define SECOND 1000000000ULL

/* Count the units that leave in this time in packets of `units`, tried every step_ns. */
static uint64_t count(struct rb_pace *p, uint64_t from_ns, uint64_t to_ns, uint64_t step_ns,
		      uint32_t units)
{
	uint64_t n = 0;

	for (uint64_t now = from_ns; now < to_ns; now += step_ns)
		while (rb_pace_ready(p, now)) {
			rb_pace_spend(p, units, now);
			n += units;
		}
	return n;
}

/* A bucket of bytes, with the clock of the test. */
static __u64 the_clock;

static void init(struct rb_pace *p, uint64_t rate, uint32_t burst, uint64_t now_ns)
{
	rb_pace_init(p, &the_clock, rate, burst, SL_UNIT_BYTES, now_ns);
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
		uint64_t seconds = cases[i][0] < 100 ? 20 : 1, start = 12345, sent, expected, slack;
		struct rb_pace p;

		init(&p, cases[i][0], (uint32_t)cases[i][1], start);
		sent = count(&p, start, start + seconds * SECOND, cases[i][3],
			     (uint32_t)cases[i][2]);
		expected = cases[i][0] * seconds;
		/* A frame's cost is rounded to ticks. */
		slack = (uint64_t)((double)expected * (double)cases[i][0] /
				   ((double)cases[i][2] * SL_TICKS_PER_SECOND)) +
			1;
		/*
		 * At most the rate, the first burst and one unit of debt. A late try misses at most
		 * one bucketful for each step, if the bucket holds less than a step's worth.
		 */
		assert_true(sent <= expected + slack + cases[i][1] + cases[i][2]);
		if (cases[i][1] >= cases[i][0] * cases[i][3] / SECOND + 1)
			assert_true(sent + cases[i][2] + cases[i][0] * cases[i][3] / SECOND + 1 +
					    slack >=
				    expected);
	}
}

static void pace_148_mpps_is_not_rounded_away(void **state)
{
	struct rb_pace p;
	uint64_t sent;

	(void)state;
	init(&p, 148809523, 1000, 0);
	sent = count(&p, 0, SECOND / 10, 1000, 1);
	assert_in_range(sent, 14880952 - 2000, 14880952 + 1001 + 2000);
}

static void pace_rate_0_stops_and_unlimited_does_not_pace(void **state)
{
	struct rb_pace p;

	(void)state;
	init(&p, 0, 10, 5);
	assert_false(rb_pace_ready(&p, 5));
	assert_false(rb_pace_ready(&p, 100 * SECOND));
	assert_true(rb_pace_ready_at(&p, 100 * SECOND) == UINT64_MAX);
	rb_pace_set(&p, SL_RATE_UNLIMITED, 10, SL_UNIT_BYTES, 100 * SECOND);
	for (int i = 0; i < 1000; i++) {
		assert_true(rb_pace_ready(&p, 100 * SECOND));
		rb_pace_spend(&p, 9000, 100 * SECOND);
	}
	assert_true(rb_pace_ready_at(&p, 7) == 7);
}

static void pace_change_of_rate_holds_from_then_on(void **state)
{
	struct rb_pace p;
	uint64_t now = 0, n;

	(void)state;
	init(&p, 1000, 1, now);
	n = count(&p, 0, SECOND, 10000, 1);
	assert_in_range(n, 1000, 1001);
	rb_pace_set(&p, 4000, 1, SL_UNIT_BYTES, SECOND);
	n = count(&p, SECOND, 2 * SECOND, 10000, 1);
	assert_in_range(n, 3999, 4001);
	rb_pace_set(&p, 0, 1, SL_UNIT_BYTES, 2 * SECOND);
	assert_int_equal(count(&p, 2 * SECOND + 1000000, 3 * SECOND, 1000000, 1), 0);
	rb_pace_set(&p, 100, 1, SL_UNIT_BYTES, 3 * SECOND);
	n = count(&p, 3 * SECOND, 4 * SECOND, 10000, 1);
	assert_in_range(n, 99, 101);
}

static void pace_idle_saves_up_one_burst_and_no_more(void **state)
{
	struct rb_pace p;
	uint64_t n;

	(void)state;
	init(&p, 1000, 10, 0);
	n = count(&p, 3600 * SECOND, 3600 * SECOND + 1, 1, 1);
	assert_int_equal(n, 10);
}

/*
 * After a silence of any length the clock, which wraps, may seem to be ahead. Then the bucket owes
 * what one frame can, and no more.
 */
static void pace_recovers_from_a_clock_of_long_ago(void **state)
{
	const uint64_t wrap_ns = UINT64_MAX / SL_TICKS_PER_NS + 1;

	(void)state;
	for (uint64_t i = 0; i < 64; i++) {
		uint64_t now = wrap_ns * i / 32 + 3 * i * SECOND, owed_ns;
		struct rb_pace p;

		init(&p, 1000000, 1000, 0);
		owed_ns = (RB_PACE_BYTES_MAX + 1000) * (SECOND / 1000000);
		rb_pace_ready(&p, now);
		assert_true(rb_pace_ready_at(&p, now) <= now + owed_ns);
		assert_true(rb_pace_ready(&p, now + owed_ns));
		assert_in_range(count(&p, now + owed_ns, now + owed_ns + SECOND, 1000, 1), 1000000,
				1001000);
	}
}

/* What a bucket owes or holds is so many units, and stays so many at another rate. */
static void pace_debt_is_paid_at_the_new_rate(void **state)
{
	struct rb_pace p;

	(void)state;
	init(&p, 1000, 10, 0);
	rb_pace_spend(&p, 1510, 0); /* owes 1,500: 1.5 s at this rate */
	rb_pace_set(&p, 1000000, 10, SL_UNIT_BYTES, 0);
	assert_in_range(rb_pace_ready_at(&p, 0), 1500000, 1500002);
	rb_pace_set(&p, 1000, 10, SL_UNIT_BYTES, 1000000); /* 500 are left */
	assert_in_range(rb_pace_ready_at(&p, 1000000), 1000000 + SECOND / 2, 1000002 + SECOND / 2);
}

/* Two that share a clock, such as XDP and the bridge, together keep to the rate. */
static void pace_shared_clock_gives_each_token_once(void **state)
{
	struct rb_pace a, b;
	uint64_t n = 0;

	(void)state;
	init(&a, 100000, 10, 0);
	b = a;
	for (uint64_t now = 0; now < SECOND; now += 1000) {
		if (rb_pace_ready(&a, now)) {
			rb_pace_spend(&a, 1, now);
			n++;
		}
		if (now % 3000 == 0 && rb_pace_ready(&b, now)) {
			rb_pace_spend(&b, 1, now);
			n++;
		}
	}
	assert_in_range(n, 100000 - 2, 100010);
}

static void pace_moves_to_another_clock_with_what_it_owes(void **state)
{
	__u64 other = 12345;
	struct rb_pace p;

	(void)state;
	init(&p, 1000, 1, 0);
	rb_pace_spend(&p, 5, 0);
	rb_pace_move(&p, &other);
	assert_in_range(rb_pace_ready_at(&p, 0), 4000000, 4000001);
	rb_pace_spend(&p, 5, 0);
	assert_true(other > the_clock);
}

static void pace_ready_at_is_the_first_time_it_is_ready(void **state)
{
	static const uint64_t rates[] = { 1, 3, 7, 1000, 764500, 99999999 };

	(void)state;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct rb_pace p, before;
		uint64_t now = 1000, at;

		init(&p, rates[i], 1, now);
		for (int k = 0; k < 100; k++) {
			while (rb_pace_ready(&p, now))
				rb_pace_spend(&p, 3, now);
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
		cmocka_unit_test(pace_recovers_from_a_clock_of_long_ago),
		cmocka_unit_test(pace_debt_is_paid_at_the_new_rate),
		cmocka_unit_test(pace_shared_clock_gives_each_token_once),
		cmocka_unit_test(pace_moves_to_another_clock_with_what_it_owes),
		cmocka_unit_test(pace_ready_at_is_the_first_time_it_is_ready),
	};
	return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
