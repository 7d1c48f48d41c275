/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `rcp` against the equation of the paper (Dukkipati et al., IWQoS 2005, equation 2) in floating
 * point, and against what the paper says of it: R comes to C / N without counting sources.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cc/sim/model.h"
#include "tests/lib/cc_rig.h"

#define C      CC_RIG_C
#define T      0.001
#define ALPHA  0.1 /* those of the authors' ns-2 runs */
#define BETA   1.0
#define RTTS   4
#define N_MANY 40

static void configure(struct cc_config *cfg, uint16_t sources)
{
	cc_rig_init(cfg, "rcp", sources);
	assert_int_equal(cc_config_set(cfg, "alpha_ppb", (int64_t)(ALPHA * 1e9)), 0);
	assert_int_equal(cc_config_set(cfg, "beta_ppb", (int64_t)(BETA * 1e9)), 0);
	assert_int_equal(cc_config_set(cfg, "rtt_intervals", RTTS), 0);
	assert_int_equal(cc_config_prepare(cfg, NULL), 0);
}

/* The rate that a source of weight 1 takes from the record of this sample. */
static double told(struct cc_egress *e, const struct cc_config *cfg, const struct cc_sample *s,
		   uint16_t weight)
{
	struct cc_ingress in;
	struct cc_feedback fb;

	cc_egress_sample(e, cfg, s);
	assert_true(cc_egress_feedback(e, cfg, s, &s->sources[0], &fb));
	cc_ingress_init(&in, cfg, weight);
	assert_int_equal(cc_ingress_feedback(&in, cfg, &fb), 0);
	return (double)in.rate_q16 / 65536;
}

/* Random arrivals and queues, and samples that come late: up to d they count as they are. */
static void each_step_is_the_equation_of_the_paper(void **state)
{
	struct cc_source source = { .id = 3, .weight = 1 };
	struct cc_config cfg;
	struct cc_egress e;
	double rate = C / 10;

	(void)state;
	configure(&cfg, 10);
	cc_egress_init(&e, &cfg);
	srandom(2);
	for (int k = 0; k < 5000; k++) {
		struct cc_sample s = { .capacity_ups = (uint64_t)C,
				       .elapsed_ns = 1000000 * (1 + (uint32_t)random() % RTTS),
				       .backlog_units = (uint32_t)random() % 3 ? 0 : 800,
				       .n_sources = 1,
				       .sources = &source,
				       .timer = true };
		double seconds = s.elapsed_ns * 1e-9, d = RTTS * T, y, now;

		source.arrived_units = (uint32_t)(random() % 1300) * (s.elapsed_ns / 1000000);
		y = source.arrived_units / seconds;
		rate *= 1 + seconds / d * (ALPHA * (C - y) - BETA * s.backlog_units / d) / C;
		rate = fmin(fmax(rate, (double)cfg.floor_q16 / 65536), C);
		now = told(&e, &cfg, &s, 1);
		if (fabs(now - rate) > 1e-4 * rate + 0.01)
			fail_msg("step %d: %.3f, the equation says %.3f", k, now, rate);
		rate = now; /* roundings do not add up */
	}
}

static void rate_is_of_weight_one_and_within_floor_and_capacity(void **state)
{
	struct cc_source source = { .id = 0, .weight = 1 };
	struct cc_sample s = { .capacity_ups = (uint64_t)C,
			       .elapsed_ns = 1000000,
			       .n_sources = 1,
			       .sources = &source,
			       .timer = true };
	struct cc_config cfg;
	struct cc_egress e;
	double rate;

	(void)state;
	configure(&cfg, 10);
	cc_egress_init(&e, &cfg);
	source.arrived_units = 1000;
	rate = told(&e, &cfg, &s, 1);
	assert_true(fabs(rate - C / 10) < 1);
	assert_true(fabs(told(&e, &cfg, &s, 7) - 7 * rate) < 1);
	source.arrived_units = 0;
	for (int k = 0; k < 1000; k++)
		rate = told(&e, &cfg, &s, 1);
	assert_true(fabs(rate - C) < 1);
	source.arrived_units = CC_UNITS_MAX;
	s.backlog_units = CC_UNITS_MAX;
	rate = told(&e, &cfg, &s, 1);
	assert_true(fabs(rate - (double)cfg.floor_q16 / 65536) < 1);
	/* A sample between two intervals changes nothing, and has no record. */
	s.timer = false;
	cc_egress_sample(&e, &cfg, &s);
	s.timer = true;
	s.backlog_units = 0;
	source.arrived_units = 1000;
	assert_true(fabs(told(&e, &cfg, &s, 1) - rate) < 1);
}

/* C / N, from C / 40 at the start. */
static void rate_comes_to_the_nth_part_of_the_port(void **state)
{
	static const uint32_t counts[] = { 2, 5, N_MANY };

	(void)state;
	for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
		struct sim_flow flows[N_MANY];
		struct sim_setup setup = { .n_sources = counts[k],
					   .n_outputs = 1,
					   .queue_limit_units = 1e6,
					   .voq_limit_units = 1e9,
					   .start_ups = -1,
					   .delay = 1,
					   .seed = 1,
					   .flows = flows,
					   .n_flows = counts[k] };
		struct sim *sim;

		configure(&setup.config, N_MANY);
		for (uint16_t i = 0; i < counts[k]; i++)
			flows[i] = (struct sim_flow){
				.source = i, .weight = 1, .offered_ups = 2 * C, .to = UINT32_MAX
			};
		assert_int_equal(sim_create(&sim, &setup), 0);
		for (int i = 0; i < 2000; i++)
			sim_step(sim);
		for (uint32_t i = 0; i < counts[k]; i++)
			assert_true(fabs(sim_rate_ups(sim_voq(sim, i, 0)) * counts[k] / C - 1) <
				    0.01);
		assert_true(sim->outputs[0].backlog_units < 0.05 * C * T);
		sim_destroy(sim);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_step_is_the_equation_of_the_paper),
		cmocka_unit_test(rate_is_of_weight_one_and_within_floor_and_capacity),
		cmocka_unit_test(rate_comes_to_the_nth_part_of_the_port),
	};

	return cmocka_run_group_tests_name("rcp", tests, NULL, NULL);
}
