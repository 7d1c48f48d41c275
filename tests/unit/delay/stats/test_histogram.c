/* SPDX-License-Identifier: BSD-2-Clause */
/* The log-linear histogram: its edges, its error, its quantiles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "delay/stats/histogram.h"

static void every_bucket_begins_at_its_edge_and_ends_before_the_next(void **state)
{
	(void)state;
	for (uint32_t i = 0; i + 1 < SL_HISTOGRAM_BUCKETS; i++) {
		const uint64_t low = sl_histogram_edge_ns(i), next = sl_histogram_edge_ns(i + 1);

		assert_true(next > low);
		assert_int_equal(sl_histogram_index(low), i);
		assert_int_equal(sl_histogram_index(next - 1), i);
		assert_int_equal(sl_histogram_index(next), i + 1);
		/* The middle lies within 1.6 % of both ends. */
		assert_true((next - 1 - low) * 1000 <= 2 * 16 * low || next - low == 1);
	}
	assert_int_equal(sl_histogram_index(UINT64_MAX), SL_HISTOGRAM_BUCKETS - 1);
}

static void quantiles_lie_within_the_error_of_the_value_of_their_rank(void **state)
{
	static struct sl_histogram h;
	static const struct {
		uint32_t ppm;
		uint64_t rank; /* of 1..1000, times 1,000 ns */
	} cases[] = {
		{ 1, 1 },	 { 1000, 1 },	  { 1001, 2 },
		{ 10000, 10 },	 { 500000, 500 }, { 500001, 501 },
		{ 990000, 990 }, { 999000, 999 }, { 1000000, 1000 },
	};

	(void)state;
	memset(&h, 0, sizeof(h));
	assert_int_equal(sl_histogram_quantile_ns(&h, 500000), 0);
	for (uint64_t i = 1000; i; i--)
		sl_histogram_add(&h, i * 1000);
	assert_int_equal(h.count, 1000);
	assert_int_equal(h.sum_ns, 500500000);
	assert_int_equal(h.min_ns, 1000);
	assert_int_equal(h.max_ns, 1000000);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const int64_t got = (int64_t)sl_histogram_quantile_ns(&h, cases[i].ppm),
			      want = (int64_t)cases[i].rank * 1000;

		assert_in_range(got, want - want / 62, want + want / 62);
	}
}

static void one_value_is_all_its_quantiles(void **state)
{
	static const uint64_t values[] = { 0, 1, 31, 32, 63, 64, 12345, 1ULL << 41, 1ULL << 50 };
	static struct sl_histogram h;

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		memset(&h, 0, sizeof(h));
		sl_histogram_add(&h, values[i]);
		assert_int_equal(sl_histogram_quantile_ns(&h, 1), values[i]);
		assert_int_equal(sl_histogram_quantile_ns(&h, 1000000), values[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_bucket_begins_at_its_edge_and_ends_before_the_next),
		cmocka_unit_test(quantiles_lie_within_the_error_of_the_value_of_their_rank),
		cmocka_unit_test(one_value_is_all_its_quantiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
