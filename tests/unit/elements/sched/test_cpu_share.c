/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "elements/sched/cpu_share.h"

static void rates_are_guaranteed_and_shares_get_the_rest(void **state)
{
	const struct el_grant grants[] = { { EL_GRANT_RATE, 300000000 },
					   { EL_GRANT_SHARE, 1 },
					   { EL_GRANT_RATE, 200000000 },
					   { EL_GRANT_SHARE, 4 } };
	uint32_t weights[4], free_ppb;

	(void)state;
	assert_int_equal(el_share_plan(grants, 4, 100000000, weights, &free_ppb), 0);
	assert_int_equal(weights[0], 300000000);
	assert_int_equal(weights[1], 100000000);
	assert_int_equal(weights[2], 200000000);
	assert_int_equal(weights[3], 400000000);
	assert_int_equal(free_ppb, 400000000);
}

static void admission_refuses_what_does_not_fit(void **state)
{
	static const struct {
		const char *name;
		struct el_grant grants[2];
		uint32_t reserve_ppb;
		int err;
		uint32_t free_ppb;
	} cases[] = {
		{ "all but the reserve",
		  { { EL_GRANT_RATE, 899999999 }, { EL_GRANT_RATE, 1 } },
		  100000000,
		  0,
		  0 },
		{ "one part too many",
		  { { EL_GRANT_RATE, 899999999 }, { EL_GRANT_RATE, 2 } },
		  100000000,
		  -ENOSPC,
		  0 },
		{ "sum beyond 32 bits",
		  { { EL_GRANT_RATE, EL_PPB_ALL }, { EL_GRANT_RATE, EL_PPB_ALL } },
		  0,
		  -ENOSPC,
		  0 },
		{ "share 0", { { EL_GRANT_SHARE, 0 }, { EL_GRANT_RATE, 1 } }, 0, -EINVAL, 0 },
		{ "share too large",
		  { { EL_GRANT_SHARE, EL_SHARE_MAX + 1 }, { EL_GRANT_RATE, 1 } },
		  0,
		  -EINVAL,
		  0 },
		{ "rate 0", { { EL_GRANT_RATE, 0 }, { EL_GRANT_RATE, 1 } }, 0, -EINVAL, 0 },
		{ "rate above all",
		  { { EL_GRANT_RATE, EL_PPB_ALL + 1 }, { EL_GRANT_RATE, 1 } },
		  0,
		  -EINVAL,
		  0 },
		{ "reserve above all",
		  { { EL_GRANT_SHARE, 1 }, { EL_GRANT_SHARE, 1 } },
		  EL_PPB_ALL + 1,
		  -EINVAL,
		  0 },
		{ "unknown kind", { { 2, 1 }, { EL_GRANT_RATE, 1 } }, 0, -EINVAL, 0 },
		{ "shares alone",
		  { { EL_GRANT_SHARE, 1 }, { EL_GRANT_SHARE, EL_SHARE_MAX } },
		  0,
		  0,
		  EL_PPB_ALL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t weights[2] = { 7, 7 }, free_ppb = 7;
		int err =
			el_share_plan(cases[i].grants, 2, cases[i].reserve_ppb, weights, &free_ppb);

		if (err != cases[i].err || free_ppb != cases[i].free_ppb)
			fail_msg("%s: %d, free %u", cases[i].name, err, free_ppb);
		if (err)
			assert_int_equal(weights[0] + weights[1], 14);
		else
			assert_true(weights[0] && weights[1]);
	}
}

static void costs_are_moving_means(void **state)
{
	struct el_cost c = { 0 };

	(void)state;
	el_cost_add(&c, 100, 0);
	assert_int_equal(c.mean_q16, 0);
	el_cost_add(&c, 1600, 2);
	assert_int_equal(c.mean_q16, 800 << 16);
	el_cost_add(&c, 1600, 1); /* 800 + 800 / 8 */
	assert_int_equal(c.mean_q16, 900 << 16);
	el_cost_add(&c, 100, 1); /* 900 - 800 / 8 */
	assert_int_equal(c.mean_q16, 800 << 16);
	for (int i = 0; i < 400; i++)
		el_cost_add(&c, 0, 5);
	assert_true(c.mean_q16 >= 1 && c.mean_q16 < 16);
}

static void weights_follow_costs(void **state)
{
	/* The paper's stages: 150 ns, 1.27 us, 130 ns. */
	struct el_cost paper[3] = { { 150 << 16 }, { 1270 << 16 }, { 130 << 16 } };
	struct el_cost part[3] = { { 0 }, { 20 << 16 }, { 10 << 16 } }, none[2] = { { 0 }, { 0 } };
	struct el_cost wide[2] = { { 1 }, { UINT64_C(1) << 56 } };
	uint32_t w[3];

	(void)state;
	el_cost_weights(paper, 3, 1550, w);
	assert_int_equal(w[0], 150);
	assert_int_equal(w[1], 1270);
	assert_int_equal(w[2], 130);
	el_cost_weights(part, 3, 400, w); /* unknown: like the cheapest */
	assert_int_equal(w[0], 100);
	assert_int_equal(w[1], 200);
	assert_int_equal(w[2], 100);
	el_cost_weights(none, 2, 1000, w);
	assert_int_equal(w[0], w[1]);
	el_cost_weights(wide, 2, EL_PPB_ALL, w);
	assert_int_equal(w[0], 1);
	assert_in_range(w[1], EL_PPB_ALL - 1, EL_PPB_ALL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_are_guaranteed_and_shares_get_the_rest),
		cmocka_unit_test(admission_refuses_what_does_not_fit),
		cmocka_unit_test(costs_are_moving_means),
		cmocka_unit_test(weights_follow_costs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
