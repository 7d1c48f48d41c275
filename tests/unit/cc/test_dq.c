/* SPDX-License-Identifier: BSD-2-Clause */
/* `dq`: single steps by hand, and the paper's invariants on random backlogs. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <setjmp.h>
#include <cmocka.h>

#include "cc/cc.h"

#define N 8
#define L 1000000

static void configure(struct cc_config *cfg, int64_t refined)
{
	const struct cc_port port = {
		.capacity_ups = L,
		.line_ups = 2 * L,
		.interval_ns = 500000,
		.frame_bytes = 520,
		.units = CC_PACKETS,
		.sources = N,
	};

	assert_int_equal(cc_config_init(cfg, "dq", &port), 0);
	assert_int_equal(cc_config_set(cfg, "refined", refined), 0);
	assert_int_equal(cc_config_set(cfg, "queue_ppb", 0), 0);
	assert_int_equal(cc_config_prepare(cfg, NULL), 0);
}

static struct cc_sample sample(uint32_t backlog_units, const struct cc_source *sources, uint16_t n)
{
	return (struct cc_sample){
		.capacity_ups = L,
		.elapsed_ns = 500000,
		.backlog_units = backlog_units,
		.last_source = CC_NO_SOURCE,
		.n_sources = n,
		.sources = sources,
		.timer = true,
	};
}

static void output_hands_out_shares_of_its_backlogs(void **state)
{
	static const struct {
		int64_t refined;
		uint32_t waiting[2], backlog;
		uint16_t weight;
		uint32_t hi_q31, lo_q31; /* of source 0 */
	} cases[] = {
		{ 0, { 3000, 1000 }, 1000, 1, 1610612736, 1288490188 }, /* 3/4, 3/5 */
		{ 0, { 1000, 1000 }, 1000, 3, 1610612736, 1288490188 }, /* weight 3 */
		{ 0, { 0, 0 }, 0, 1, 0, 0 },				/* 0 / 0 */
		{ 1, { 7, 7 }, 2, 1, 1073741824, 1476395008 },		/* 8/16, 1/4 + 7/16 */
		{ 1, { 0, 0 }, 0, 1, 1073741824, 536870912 },		/* 1/2, 1/4 */
	};
	struct cc_config cfg;
	struct cc_egress e;
	struct cc_feedback fb;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct cc_source sources[2] = {
			{ .id = 0,
			  .weight = cases[i].weight,
			  .waiting_units = cases[i].waiting[0] },
			{ .id = 1, .weight = 1, .waiting_units = cases[i].waiting[1] },
		};
		struct cc_sample s = sample(cases[i].backlog, sources, 2);

		configure(&cfg, cases[i].refined);
		cc_egress_init(&e, &cfg);
		cc_egress_sample(&e, &cfg, &s);
		assert_true(cc_egress_feedback(&e, &cfg, &s, &sources[0], &fb));
		assert_int_equal(fb.signal, cases[i].hi_q31);
		assert_int_equal(fb.share, cases[i].lo_q31);
	}
}

/* C T is 500 packets and the bound 4 C T; S is 2: hi falls from 3/4 to 3/8, and on to 0. */
static void output_takes_what_it_drains_when_its_queue_is_long_and_less_beyond(void **state)
{
	static const struct {
		uint32_t backlog, hi_q31;
	} cases[] = {
		{ 0, 1610612736 },   { 1000, 1207959552 }, { 2000, 805306368 },
		{ 3000, 402653184 }, { 4000, 0 },	   { 90000, 0 },
	};
	const struct cc_source sources[2] = { { .id = 0, .weight = 1, .waiting_units = 3000 },
					      { .id = 1, .weight = 1, .waiting_units = 1000 } };
	struct cc_config cfg;
	struct cc_egress e;
	struct cc_feedback fb;

	(void)state;
	configure(&cfg, 0);
	assert_int_equal(cc_config_set(&cfg, "queue_ppb", 4000000000), 0);
	cc_egress_init(&e, &cfg);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cc_sample s = sample(cases[i].backlog, sources, 2);

		cc_egress_sample(&e, &cfg, &s);
		assert_true(cc_egress_feedback(&e, &cfg, &s, &sources[0], &fb));
		assert_int_equal(fb.signal, cases[i].hi_q31);
	}
}

static void source_takes_the_smaller_of_cap_and_urgency(void **state)
{
	const struct cc_feedback fb = {
		.capacity_ups = L, .algorithm = CC_DQ, .signal = 1610612736, .share = 1288490188
	};
	struct cc_usage usage = { .elapsed_ns = 500000, .backlogged = true };
	struct cc_config cfg;
	struct cc_ingress in;

	(void)state;
	configure(&cfg, 1);
	cc_ingress_init(&in, &cfg, 1);
	assert_int_equal(cc_ingress_feedback(&in, &cfg, &fb), 0);
	assert_int_equal(cc_ingress_urgency(&in, &cfg), 1288490188);
	cc_ingress_tick(&in, &cfg, &usage); /* alone: 2 L * 3/4 */
	assert_int_equal(cc_ingress_rate_ups(&in), 1500000);
	usage.urgency_total = 2 * UINT64_C(1288490188);
	cc_ingress_tick(&in, &cfg, &usage); /* half of the source's 2 L */
	assert_int_equal(cc_ingress_rate_ups(&in), 1000000);
	usage.node_ups = 500000;
	cc_ingress_tick(&in, &cfg, &usage); /* half of what its node can send */
	assert_int_equal(cc_ingress_rate_ups(&in), 250000);
	usage.node_ups = CC_RATE_MAX;
	cc_ingress_tick(&in, &cfg, &usage); /* then the cap */
	assert_int_equal(cc_ingress_rate_ups(&in), 1500000);
}

/*
 * Random backlogs of 8 sources for 8 outputs. No output and no source gets rates beyond its line;
 * and under equations 1 to 4, a source whose floors fit its line gives each output at least its
 * floor.
 */
static void rates_into_an_output_and_out_of_a_source_stay_within_the_line(void **state)
{
	const uint64_t line_q16 = (uint64_t)(2 * L) << 16, floor_q16 = ((uint64_t)L << 16) / 1000;

	(void)state;
	srandom(1);
	for (int round = 0; round < 600; round++) {
		uint64_t into_output[N] = { 0 };
		struct cc_ingress in[N][N];
		struct cc_config cfg;

		configure(&cfg, round & 1);
		for (int j = 0; j < N; j++) {
			struct cc_source sources[N];
			struct cc_egress e;
			struct cc_sample s =
				sample((uint32_t)(random() % 3 ? random() % 5000 : 0), sources, N);

			for (uint16_t i = 0; i < N; i++)
				sources[i] = (struct cc_source){
					.id = i,
					.weight = 1,
					.waiting_units =
						(uint32_t)(random() % 2 ? random() % 3000 : 0)
				};
			cc_egress_init(&e, &cfg);
			cc_egress_sample(&e, &cfg, &s);
			for (int i = 0; i < N; i++) {
				struct cc_feedback fb;

				cc_ingress_init(&in[i][j], &cfg, 1);
				assert_true(cc_egress_feedback(&e, &cfg, &s, &sources[i], &fb));
				assert_int_equal(cc_ingress_feedback(&in[i][j], &cfg, &fb), 0);
			}
		}
		for (int i = 0; i < N; i++) {
			struct cc_usage usage = { .elapsed_ns = 500000, .backlogged = true };
			uint64_t out_of_source = 0;

			for (int j = 0; j < N; j++)
				usage.urgency_total += cc_ingress_urgency(&in[i][j], &cfg);
			for (int j = 0; j < N; j++) {
				uint64_t lo_q31 = cc_ingress_urgency(&in[i][j], &cfg);

				cc_ingress_tick(&in[i][j], &cfg, &usage);
				out_of_source += in[i][j].rate_q16;
				into_output[j] += in[i][j].rate_q16;
				if (!(round & 1) && usage.urgency_total <= UINT64_C(2) << 31)
					assert_true(in[i][j].rate_q16 + 65536 >=
						    (uint64_t)L * lo_q31 >> 15);
			}
			/* The common floor keeps an idle VOQ at 0.1 % of L. */
			assert_true(out_of_source <= line_q16 + N * floor_q16);
		}
		for (int j = 0; j < N; j++)
			assert_true(into_output[j] <= line_q16 + N * floor_q16);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(output_hands_out_shares_of_its_backlogs),
		cmocka_unit_test(
			output_takes_what_it_drains_when_its_queue_is_long_and_less_beyond),
		cmocka_unit_test(source_takes_the_smaller_of_cap_and_urgency),
		cmocka_unit_test(rates_into_an_output_and_out_of_a_source_stay_within_the_line),
	};

	return cmocka_run_group_tests_name("dq", tests, NULL, NULL);
}
