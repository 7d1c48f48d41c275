/* SPDX-License-Identifier: BSD-2-Clause */
/* The simulated processor: nothing is lost without a count, time adds up, buffers are the smallest.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "elements/sim/processor.h"

static uint32_t random_state;

static uint32_t draw(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state % below;
}

/* A chain of flows, each with arrivals of its own or packets of the one before. */
static void draw_setup(struct el_sim_setup *s)
{
	*s = (struct el_sim_setup){ .n_flows = 1 + draw(6),
				    .switch_ns = draw(2) * 250,
				    .batch_packets = draw(3) ? 0 : 1 + draw(20),
				    .by_invocation = draw(4) == 0,
				    .duration_ns = 3000000 };
	for (uint32_t i = 0; i < s->n_flows; i++) {
		struct el_sim_flow *f = &s->flows[i];

		f->weight = 1 + draw(10);
		f->quantum_ns = draw(6000);
		f->n_elements = 1 + draw(4);
		for (uint32_t e = 0; e < f->n_elements; e++)
			f->cost_ns[e] = 1 + draw(2000);
		f->batch = 1 + draw(8);
		f->poll_ns = draw(2) * 100;
		f->limit = 1 + draw(64);
		f->n_inputs = 1;
		f->to = i + 1 < s->n_flows && draw(2) ? i + 1 : EL_NONE;
		if (draw(2)) {
			f->arrivals.burst = 1 + draw(100);
			f->arrivals.gap_ns = draw(3000);
			f->arrivals.period_ns =
				f->arrivals.burst * f->arrivals.gap_ns + 1 + draw(100000);
		}
	}
	if (draw(3) == 0) {
		s->auto_flows = s->n_flows;
		s->auto_every_ns = 1000 + draw(100000);
	}
}

static void packets_and_time_add_up(void **state)
{
	uint64_t lost = 0, served = 0;

	(void)state;
	for (uint32_t seed = 1; seed <= 150; seed++) {
		struct el_sim_setup s;
		struct el_sim_result r;
		uint64_t busy = 0;

		random_state = seed * 2654435761u;
		draw_setup(&s);
		assert_int_equal(el_sim_run(&s, &r), 0);
		for (uint32_t i = 0; i < s.n_flows; i++) {
			const struct el_sim_input *in = &r.inputs[i][0];

			assert_int_equal(in->entered, in->served + in->lost);
			assert_int_equal(in->waiting, 0);
			assert_int_equal(in->dropped, in->lost);
			assert_true(in->peak <= s.flows[i].limit);
			assert_true(in->lost == 0 || in->peak == s.flows[i].limit);
			assert_int_equal(r.flows[i].sleeps, r.flows[i].wakeups);
			if (s.flows[i].to != EL_NONE)
				assert_true(r.inputs[s.flows[i].to][0].entered >= in->served);
			busy += r.flows[i].cpu_ns;
			lost += in->lost;
			served += in->served;
		}
		if (!s.by_invocation)
			assert_int_equal(busy + r.idle_ns + r.switch_ns, r.wall_ns);
	}
	assert_true(lost > 1000 && served > 10000);
}

/* A buffer below the greatest queue loses its first packet there, so the smallest one is that
 * queue. */
static void smallest_buffer_is_the_peak_without_a_limit(void **state)
{
	struct el_sim_setup s;
	struct el_sim_result r;
	uint32_t smallest, compared = 0;

	(void)state;
	for (uint32_t seed = 1; seed <= 40; seed++) {
		random_state = seed * 40503u;
		draw_setup(&s);
		s.auto_flows = 0;
		s.flows[0].limit = EL_SIM_NO_LIMIT;
		s.flows[0].arrivals = (struct el_sim_arrivals){ .burst = 1 + draw(50),
								.gap_ns = 1 + draw(500),
								.period_ns = 200000 };
		assert_int_equal(el_sim_run(&s, &r), 0);
		if (r.inputs[0][0].peak < 2)
			continue;
		assert_int_equal(el_sim_smallest_buffer(&s, 0, 1u << 16, &smallest), 0);
		assert_int_equal(smallest, r.inputs[0][0].peak);
		assert_int_equal(el_sim_smallest_buffer(&s, 0, smallest - 1, &smallest), -ENOSPC);
		compared++;
	}
	assert_true(compared > 20);
}

/* Processing becomes four times as expensive: fixed weights no longer fit, `auto` follows. */
static void auto_follows_a_change_of_cost(void **state)
{
	struct el_sim_setup s = { .n_flows = 3,
				  .duration_ns = 60000000,
				  .auto_flows = 3,
				  .auto_every_ns = 100000,
				  .change_ns = 20000000,
				  .change_flow = 1,
				  .change_factor = 4 };
	static const uint32_t cost_ns[3] = { 150, 300, 150 };
	struct el_sim_result follows, fixed;

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		s.flows[i] = (struct el_sim_flow){ .weight = 1 + (i == 1),
						   .n_elements = 1,
						   .cost_ns = { cost_ns[i] },
						   .batch = 1,
						   .poll_ns = 100,
						   .limit = EL_SIM_NO_LIMIT,
						   .to = i < 2 ? i + 1 : EL_NONE,
						   .n_inputs = 1 };
	s.flows[0].arrivals =
		(struct el_sim_arrivals){ .gap_ns = 1600, .period_ns = 2000000, .burst = 400 };
	s.measure_ns = 30000000;
	assert_int_equal(el_sim_run(&s, &follows), 0);
	s.auto_flows = 0;
	assert_int_equal(el_sim_run(&s, &fixed), 0);
	/* 150 : 1200 : 150 of all */
	assert_in_range(follows.weights[0], 99000000, 101000000);
	assert_in_range(follows.weights[1], 799000000, 801000000);
	assert_in_range(follows.weights[2], 99000000, 101000000);
	assert_true(follows.inputs[1][0].peak <= 8);
	assert_true(fixed.inputs[1][0].peak > 100);
}

static void setups_out_of_range_are_refused(void **state)
{
	struct el_sim_setup good = { .n_flows = 1, .duration_ns = 1000 }, bad;
	struct el_sim_result r;
	uint32_t smallest;

	(void)state;
	good.flows[0] = (struct el_sim_flow){ .weight = 1,
					      .n_elements = 1,
					      .cost_ns = { 1 },
					      .batch = 1,
					      .limit = 1,
					      .to = EL_NONE,
					      .n_inputs = 1 };
	assert_int_equal(el_sim_run(&good, &r), 0);
#define REFUSED(change)                                          \
	do {                                                     \
		bad = good;                                      \
		change;                                          \
		assert_int_equal(el_sim_run(&bad, &r), -EINVAL); \
	} while (0)
	REFUSED(bad.n_flows = 0);
	REFUSED(bad.n_flows = EL_SIM_FLOWS_MAX + 1);
	REFUSED(bad.flows[0].weight = 0);
	REFUSED(bad.flows[0].n_elements = 0);
	REFUSED(bad.flows[0].cost_ns[0] = 0);
	REFUSED(bad.flows[0].batch = 0);
	REFUSED(bad.flows[0].limit = 0);
	REFUSED(bad.flows[0].to = 0);
	REFUSED(bad.flows[0].to = 1);
	REFUSED(bad.flows[0].n_inputs = 0);
	REFUSED(bad.flows[0].arrivals.period_ns = 1);
	REFUSED(bad.auto_flows = 1);
	REFUSED(bad.change_flow = 1);
	assert_int_equal(el_sim_smallest_buffer(&good, 1, 5, &smallest), -EINVAL);
	assert_int_equal(el_sim_smallest_buffer(&good, 0, 0, &smallest), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_and_time_add_up),
		cmocka_unit_test(smallest_buffer_is_the_peak_without_a_limit),
		cmocka_unit_test(auto_follows_a_change_of_cost),
		cmocka_unit_test(setups_out_of_range_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
