/* SPDX-License-Identifier: BSD-2-Clause */
/* The oracle that runs of the model are measured by: max-min shares, Jain's index, flows' ends. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "cc/sim/model.h"

/* Sources of a fixed rate and a port of 1000 units in T. */
static void prepare(struct sim_setup *setup, const struct sim_flow *flows, uint32_t n,
		    int64_t rate_ups)
{
	const struct cc_port port = {
		.capacity_ups = 1000000,
		.line_ups = 10000000,
		.interval_ns = 1000000,
		.frame_bytes = 64,
		.units = CC_PACKETS,
		.sources = 4,
	};

	memset(setup, 0, sizeof(*setup));
	assert_int_equal(cc_config_init(&setup->config, "fixed", &port), 0);
	assert_int_equal(cc_config_set(&setup->config, "rate_ups", rate_ups), 0);
	assert_int_equal(cc_config_prepare(&setup->config, NULL), 0);
	setup->n_sources = 4;
	setup->n_outputs = 1;
	setup->queue_limit_units = 1e9;
	setup->voq_limit_units = 10;
	setup->start_ups = -1;
	setup->seed = 1;
	setup->flows = flows;
	setup->n_flows = n;
}

static void max_min_shares_and_jains_index_are_those_worked_out_by_hand(void **state)
{
	static const uint16_t ones[3] = { 1, 1, 1 }, weights[3] = { 1, 2, 3 };
	double shares[3];

	(void)state;
	sim_maxmin(739, (double[]){ 300, 299, 224 }, ones, 3, shares);
	assert_true(shares[0] == 257.5 && shares[1] == 257.5 && shares[2] == 224);
	sim_maxmin(739, (double[]){ 299, 298, 74 }, ones, 3, shares);
	assert_true(shares[0] == 299 && shares[1] == 298 && shares[2] == 74);
	sim_maxmin(600, (double[]){ 900, 150, 900 }, weights, 3, shares);
	assert_true(shares[0] == 112.5 && shares[1] == 150 && shares[2] == 337.5);
	assert_true(sim_jain((double[]){ 1, 1, 1 }, 3) == 1);
	assert_true(sim_jain((double[]){ 1, 0, 0, 0 }, 4) == 0.25);
}

/*
 * At 500 units in T each: 1000 units of source 0 take 2 T. Its next 250 are there at 1 and leave
 * after them, 2 T later; the 500 of source 1 take 1 T. At 4000 in T, 4000 units come at once and
 * the port needs 4 T for them.
 */
static void flows_end_when_their_last_unit_leaves_the_port(void **state)
{
	static const struct sim_flow flows[] = {
		{ .source = 0, .weight = 1, .size_units = 1000 },
		{ .source = 0, .weight = 1, .size_units = 250, .from = 1 },
		{ .source = 1, .weight = 1, .size_units = 500 },
		{ .source = 2, .weight = 1, .offered_ups = 0, .to = UINT32_MAX },
	};
	static const struct sim_flow burst = { .source = 3, .weight = 1, .size_units = 4000 };
	struct sim_setup setup;
	struct sim *sim;

	(void)state;
	prepare(&setup, flows, 4, 500000);
	assert_int_equal(sim_create(&sim, &setup), 0);
	for (int k = 0; k < 5; k++)
		sim_step(sim);
	assert_true(fabs(sim->flow_seconds[0] - 0.002) < 1e-9);
	assert_true(fabs(sim->flow_seconds[1] - 0.002) < 1e-9);
	assert_true(fabs(sim->flow_seconds[2] - 0.001) < 1e-9);
	assert_true(isnan(sim->flow_seconds[3]));
	sim_destroy(sim);
	prepare(&setup, &burst, 1, 4000000);
	assert_int_equal(sim_create(&sim, &setup), 0);
	sim_step(sim);
	assert_true(fabs(sim->flow_seconds[0] - 0.004) < 1e-9);
	sim_destroy(sim);
}

/* The queue has room for 100 units: of 2500 a T, 1500 and then 1400 are dropped. */
static void what_the_egress_drops_of_a_flow_is_sent_again(void **state)
{
	static const struct sim_flow flow = { .source = 0, .weight = 1, .size_units = 10000 };
	struct sim_setup setup;
	struct sim *sim;

	(void)state;
	prepare(&setup, &flow, 1, 2500000);
	setup.queue_limit_units = 100;
	assert_int_equal(sim_create(&sim, &setup), 0);
	for (int k = 0; k < 20; k++)
		sim_step(sim);
	assert_true(fabs(sim->outputs[0].total_departed_units - 10000) < 1e-6);
	assert_true(sim->outputs[0].total_dropped_units > 5000);
	assert_true(fabs(sim->flow_seconds[0] - 0.010) < 1e-4);
	assert_true(sim_voq(sim, 0, 0)->dropped_units == 0);
	sim_destroy(sim);
}

/* A source whose records are 3 T later hears of the same sample 3 T later. */
static void records_to_one_source_may_take_longer(void **state)
{
	static const struct sim_flow flows[] = {
		{ .source = 0, .weight = 1, .offered_ups = 1e6, .to = UINT32_MAX },
		{ .source = 1,
		  .weight = 1,
		  .offered_ups = 1e6,
		  .to = UINT32_MAX,
		  .extra_delay = 3 },
	};
	uint32_t first[2] = { 0, 0 };
	struct sim_setup setup;
	struct cc_port port;
	struct sim *sim;

	(void)state;
	prepare(&setup, flows, 2, 0);
	port = setup.config.port;
	assert_int_equal(cc_config_init(&setup.config, "price", &port), 0);
	assert_int_equal(cc_config_prepare(&setup.config, NULL), 0);
	setup.delay = 2;
	assert_int_equal(sim_create(&sim, &setup), 0);
	for (uint32_t k = 1; k < 20; k++) {
		sim_step(sim);
		for (uint32_t i = 0; i < 2; i++)
			if (!first[i] && sim_voq(sim, i, 0)->ingress.ever)
				first[i] = k;
	}
	assert_int_equal(first[0], 3);
	assert_int_equal(first[1], 6);
	sim_destroy(sim);
	setup.delay = SIM_DELAY_MAX - 3;
	assert_int_equal(sim_create(&sim, &setup), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(max_min_shares_and_jains_index_are_those_worked_out_by_hand),
		cmocka_unit_test(flows_end_when_their_last_unit_leaves_the_port),
		cmocka_unit_test(what_the_egress_drops_of_a_flow_is_sent_again),
		cmocka_unit_test(records_to_one_source_may_take_longer),
	};

	return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
