/* SPDX-License-Identifier: BSD-2-Clause */
/* Single steps of `weights` against integers worked out by hand from the top of cc/weights.c. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "cc/cc.h"

static void configure(struct cc_config *cfg)
{
	const struct cc_port port = {
		.capacity_ups = 1000000,
		.line_ups = 2000000,
		.interval_ns = 1000000,
		.frame_bytes = 64,
		.units = CC_PACKETS,
		.sources = 2,
	};

	assert_int_equal(cc_config_init(cfg, "weights", &port), 0);
	assert_int_equal(cc_config_set(cfg, "threshold_units", 100), 0);
	assert_int_equal(cc_config_prepare(cfg, NULL), 0);
}

static void only_the_sampled_source_of_a_queue_long_at_both_ends_is_told(void **state)
{
	static const struct {
		uint32_t backlog_units;
		int32_t change_units;
		uint16_t last;
		uint32_t congested;
	} cases[] = {
		{ 101, 0, 0, 1 },
		{ 100, 0, 0, 0 },
		{ 5000, 4900, 0, 0 },
		{ 5000, 4899, 1, 1 },
		{ 101, -900, 1, 1 },
		{ 99, -900, 1, 0 },
		{ 500, 0, CC_NO_SOURCE, 1 },
	};
	const struct cc_source sources[2] = { { .id = 0, .weight = 1 }, { .id = 1, .weight = 1 } };
	struct cc_config cfg;
	struct cc_egress e;
	struct cc_feedback fb;

	(void)state;
	configure(&cfg);
	cc_egress_init(&e, &cfg);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cc_sample s = {
			.capacity_ups = 1000000,
			.elapsed_ns = 1000000,
			.backlog_units = cases[i].backlog_units,
			.change_units = cases[i].change_units,
			.last_source = cases[i].last,
			.n_sources = 2,
			.sources = sources,
			.timer = true,
		};

		assert_int_equal(cc_egress_sample(&e, &cfg, &s), 0);
		for (int j = 0; j < 2; j++) {
			assert_true(cc_egress_feedback(&e, &cfg, &s, &sources[j], &fb));
			assert_int_equal(fb.signal, cases[i].congested);
			assert_int_equal(fb.addressed, cases[i].congested && cases[i].last == j);
		}
	}
}

/* A source is active for 16 intervals after its last frame; one with frames that wait stays so. */
static void record_has_the_number_of_active_sources(void **state)
{
	struct cc_source sources[3] = { { .id = 0, .weight = 1, .arrived_units = 5 },
					{ .id = 200, .weight = 1, .arrived_units = 1 },
					{ .id = 255, .weight = 1 } };
	struct cc_sample s = { .capacity_ups = 1000000,
			       .elapsed_ns = 1000000,
			       .last_source = 0,
			       .n_sources = 3,
			       .sources = sources,
			       .timer = true };
	struct cc_feedback fb;
	struct cc_config cfg;
	struct cc_egress e;

	(void)state;
	configure(&cfg);
	cc_egress_init(&e, &cfg);
	for (int i = 0; i < 60; i++) {
		cc_egress_sample(&e, &cfg, &s);
		cc_egress_feedback(&e, &cfg, &s, &sources[2], &fb);
		/* the second falls silent after i = 0, the third has frames waiting from 20 to 39
		 */
		assert_int_equal(fb.share, 1 + (i <= 15) + (i >= 20 && i < 55));
		sources[1].arrived_units = 0;
		sources[2].waiting_units = i >= 19 && i < 39;
	}
}

static void hear(struct cc_ingress *in, const struct cc_config *cfg, uint8_t addressed)
{
	const struct cc_feedback fb = { .capacity_ups = 1000000,
					.algorithm = CC_WEIGHTS,
					.seq = in->seq + 1,
					.signal = 1,
					.addressed = addressed };

	assert_int_equal(cc_ingress_feedback(in, cfg, &fb), 0);
}

/* A start at half of the capacity is w = 32768; incr is 65536 / 4 / 2^2 = 4096. */
static void weight_halves_when_told_and_grows_when_not(void **state)
{
	const struct cc_usage busy = { .elapsed_ns = 1000000, .backlogged = true };
	struct cc_config cfg;
	struct cc_ingress in;

	(void)state;
	configure(&cfg);
	cc_ingress_init(&in, &cfg, 1);
	assert_int_equal(cc_ingress_rate_ups(&in), 500000);
	hear(&in, &cfg, 1);
	hear(&in, &cfg, 0);
	cc_ingress_tick(&in, &cfg, &busy);
	assert_int_equal(cc_ingress_rate_ups(&in), 250000); /* w = 16384 */
	cc_ingress_tick(&in, &cfg, &busy);
	assert_int_equal(cc_ingress_rate_ups(&in), 250000); /* silence */
	hear(&in, &cfg, 0);
	cc_ingress_tick(&in, &cfg, &busy);
	assert_int_equal(cc_ingress_rate_ups(&in), 312500); /* w = 20480 */
	in.weight = 3;
	hear(&in, &cfg, 0);
	cc_ingress_tick(&in, &cfg, &busy);
	assert_int_equal(cc_ingress_rate_ups(&in), 500000); /* w = 32768 */
	for (int i = 0; i < 10; i++) {
		hear(&in, &cfg, 0);
		cc_ingress_tick(&in, &cfg, &busy);
	}
	assert_int_equal(cc_ingress_rate_ups(&in), 1000000); /* MAXW */
	for (int i = 0; i < 40; i++) {
		hear(&in, &cfg, 1);
		cc_ingress_tick(&in, &cfg, &busy);
	}
	assert_int_equal(cc_ingress_rate_ups(&in), 1000); /* w = 1 is 15; the floor is above */
	hear(&in, &cfg, 0);
	cc_ingress_tick(&in, &cfg, &busy);
	assert_int_equal(cc_ingress_rate_ups(&in), 187515); /* w = 1 + 3 * 4096 */
}

/* incr of a source of weight 1 is 16384 / N^2; a record without N leaves the former one. */
static void increase_goes_by_the_number_of_active_sources(void **state)
{
	static const struct {
		uint32_t share, rate_ups;
	} steps[] = { { 4, 15625 + 15625 },
		      { 1, 15625 + 15625 + 250000 },
		      { 0, 15625 + 15625 + 2 * 250000 },
		      { 128, 15625 + 15625 + 2 * 250000 + 15 } };
	const struct cc_usage busy = { .elapsed_ns = 1000000, .backlogged = true };
	struct cc_config cfg;
	struct cc_ingress in;

	(void)state;
	configure(&cfg);
	cc_ingress_init(&in, &cfg, 1);
	in.rate_q16 = UINT64_C(15625) << 16; /* w = 1024 */
	cc_ingress_switch(&in, &cfg);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		const struct cc_feedback fb = { .capacity_ups = 1000000,
						.algorithm = CC_WEIGHTS,
						.seq = (uint32_t)i + 1,
						.share = steps[i].share };

		assert_int_equal(cc_ingress_feedback(&in, &cfg, &fb), 0);
		cc_ingress_tick(&in, &cfg, &busy);
		assert_int_equal(cc_ingress_rate_ups(&in), steps[i].rate_ups);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_sampled_source_of_a_queue_long_at_both_ends_is_told),
		cmocka_unit_test(record_has_the_number_of_active_sources),
		cmocka_unit_test(weight_halves_when_told_and_grows_when_not),
		cmocka_unit_test(increase_goes_by_the_number_of_active_sources),
	};

	return cmocka_run_group_tests_name("weights", tests, NULL, NULL);
}
