/* SPDX-License-Identifier: BSD-2-Clause */
/* Single steps of `aimd` against integers worked out by hand from the top of cc/aimd.c. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "cc/cc.h"

/* The thesis's port, and its W = 50000 packets/s, M = 0.5, Q = 100 packets. */
static const struct cc_port port = {
	.capacity_ups = 764500,
	.line_ups = 1488100,
	.interval_ns = 1000000,
	.frame_bytes = 64,
	.units = CC_PACKETS,
	.sources = 3,
};

static void configure(struct cc_config *cfg)
{
	assert_int_equal(cc_config_init(cfg, "aimd", &port), 0);
	assert_int_equal(cc_config_set(cfg, "increase_ppb", 65402224), 0);
	assert_int_equal(cc_config_set(cfg, "decrease_ppb", 500000000), 0);
	assert_int_equal(cc_config_set(cfg, "threshold_ppb", 130804447), 0);
	assert_int_equal(cc_config_prepare(cfg, NULL), 0);
}

static void egress_reports_congestion_above_the_threshold_only(void **state)
{
	static const struct {
		uint32_t backlog_units, congested;
	} cases[] = { { 0, 0 },	   { 98, 0 },		{ 99, 0 }, { 100, 1 },
		      { 5000, 1 }, { CC_UNITS_MAX, 1 }, { 1, 0 } };
	const struct cc_source source = { .id = 0, .weight = 1 };
	struct cc_config cfg;
	struct cc_egress e;
	struct cc_feedback fb;

	(void)state;
	configure(&cfg);
	cc_egress_init(&e, &cfg);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cc_sample s = {
			.capacity_ups = 764500,
			.elapsed_ns = 1000000,
			.backlog_units = cases[i].backlog_units,
			.n_sources = 1,
			.sources = &source,
			.timer = true,
		};

		/* 0.130804447 of floor(764.5) packets is 99. */
		assert_int_equal(cc_egress_sample(&e, &cfg, &s), 0);
		assert_true(cc_egress_feedback(&e, &cfg, &s, &source, &fb));
		assert_int_equal(fb.signal, cases[i].congested);
	}
}

static void hear(struct cc_ingress *in, const struct cc_config *cfg, uint32_t congested)
{
	const struct cc_feedback fb = { .capacity_ups = 764500,
					.algorithm = CC_AIMD,
					.seq = in->seq + 1,
					.signal = congested };

	assert_int_equal(cc_ingress_feedback(in, cfg, &fb), 0);
}

static void source_adds_halves_and_holds(void **state)
{
	const struct cc_usage busy = { .elapsed_ns = 1000000, .backlogged = true };
	struct cc_config cfg;
	struct cc_ingress in;

	(void)state;
	configure(&cfg);
	cc_ingress_init(&in, &cfg, 1);
	in.rate_q16 = UINT64_C(200000) << 16;
	hear(&in, &cfg, 0);
	cc_ingress_tick(&in, &cfg, &busy);
	assert_int_equal(cc_ingress_rate_ups(&in), 250000); /* + 50000 */
	cc_ingress_tick(&in, &cfg, &busy);
	assert_int_equal(cc_ingress_rate_ups(&in), 250000); /* no record: no change */
	hear(&in, &cfg, 1);
	cc_ingress_tick(&in, &cfg, &busy);
	assert_int_equal(cc_ingress_rate_ups(&in), 125000); /* / 2, and nothing added */
	hear(&in, &cfg, 1);
	hear(&in, &cfg, 0);
	cc_ingress_tick(&in, &cfg, &busy);
	assert_int_equal(cc_ingress_rate_ups(&in), 62500); /* one of two: congested, once */
	hear(&in, &cfg, 1);
	cc_ingress_tick(&in, &cfg, &(struct cc_usage){ .elapsed_ns = 1000000, .sent_units = 10 });
	assert_int_equal(cc_ingress_rate_ups(&in), 5000); /* half of the 10000 it really sent */
}

static void weight_scales_the_increase_and_the_line_bounds_it(void **state)
{
	const struct cc_usage busy = { .elapsed_ns = 1000000, .backlogged = true };
	struct cc_config cfg;
	struct cc_ingress in;

	(void)state;
	configure(&cfg);
	cc_ingress_init(&in, &cfg, 4);
	in.rate_q16 = UINT64_C(200000) << 16;
	hear(&in, &cfg, 0);
	cc_ingress_tick(&in, &cfg, &busy);
	assert_int_equal(cc_ingress_rate_ups(&in), 400000);
	for (int i = 0; i < 10; i++) {
		hear(&in, &cfg, 0);
		cc_ingress_tick(&in, &cfg, &busy);
	}
	assert_int_equal(cc_ingress_rate_ups(&in), 1488100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(egress_reports_congestion_above_the_threshold_only),
		cmocka_unit_test(source_adds_halves_and_holds),
		cmocka_unit_test(weight_scales_the_increase_and_the_line_bounds_it),
	};

	return cmocka_run_group_tests_name("aimd", tests, NULL, NULL);
}
