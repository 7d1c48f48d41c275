/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `hpcc` against Algorithm 1 of the paper (Li et al., SIGCOMM 2019) in floating point, and against
 * what the paper says of it: a division brings the port to eta in one round trip, and after
 * maxStage additions comes one.
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

#define C   CC_RIG_C
#define ETA 0.9503 /* no round number: no load in these tests is at eta */
#define N   8
#define RTT 2 /* intervals */

static void configure(struct cc_config *cfg)
{
	cc_rig_init(cfg, "hpcc", N);
	assert_int_equal(cc_config_set(cfg, "eta_ppb", (int64_t)(ETA * 1e9 + 0.5)), 0);
	assert_int_equal(cc_config_prepare(cfg, NULL), 0);
}

/* Algorithm 1, in numbers of C and of intervals. */
struct paper {
	double window, u, queue; /* Wc / (C rtt), U, qlen / (C rtt) of the record before */
	int stage, since;
};

static double paper_record(struct paper *p, double queue, double transmitted, int age, int weight)
{
	double u = fmin(queue, p->queue) + transmitted, part = fmin(age, RTT) / RTT, w;
	int divide;

	p->u = (1 - part) * p->u + part * u;
	p->queue = queue;
	divide = p->u >= ETA || p->stage >= 5;
	w = (divide ? p->window / (p->u / ETA) : p->window) + (1 - ETA) / N * weight;
	w = fmin(w, 1);
	if (p->since >= RTT) {
		p->since = 0;
		p->window = w;
		p->stage = divide ? 0 : p->stage + 1;
	}
	return w;
}

/* Random queues and loads, records that are missing, weights 1 and 3. */
static void each_record_is_algorithm_1(void **state)
{
	(void)state;
	for (uint16_t weight = 1; weight <= 3; weight += 2) {
		const struct cc_usage usage = { .elapsed_ns = 1000000, .sent_units = 1 };
		struct paper paper = { .window = 1.0 / N, .queue = INFINITY };
		struct cc_config cfg;
		struct cc_ingress in;
		struct cc_egress e;
		int age = RTT; /* the first record counts whole */

		configure(&cfg);
		cc_egress_init(&e, &cfg);
		cc_ingress_init(&in, &cfg, weight);
		srandom(3);
		for (int k = 0; k < 3000; k++) {
			uint32_t queue = (uint32_t)(random() % 2 ? random() % 2000 : 0);
			uint32_t departed = (uint32_t)(random() % 1001);
			struct cc_feedback fb =
				cc_rig_record(&e, &cfg,
					      (struct cc_sample){ .backlog_units = queue,
								  .departed_units = departed });

			cc_ingress_sent(&in, &cfg, 1);
			cc_ingress_tick(&in, &cfg, &usage);
			paper.since++;
			if (random() % 4 == 0) {
				age += k > 0;
				continue;
			}
			double want =
				paper_record(&paper, queue / (C * 0.001 * RTT),
					     departed / (C * 0.001), k == 0 ? RTT : age, weight);

			age = 1;
			assert_int_equal(cc_ingress_feedback(&in, &cfg, &fb), 0);
			want = fmax(want * C, (double)cfg.floor_q16 / 65536);
			if (fabs(cc_rig_rate(&in) - want) > 1e-3 * want + 1)
				fail_msg("record %d: %.2f, algorithm 1 says %.2f", k,
					 cc_rig_rate(&in), want);
			/* roundings do not add up */
			if (paper.since == 0)
				paper.window = cc_rig_rate(&in) / C;
		}
	}
}

/* 3.2: with all of a round trip known, U / eta is what the load has to be divided by. */
static void overload_is_gone_after_one_round_trip(void **state)
{
	struct cc_config cfg;
	struct cc_ingress in;
	struct cc_egress e;
	struct cc_feedback fb;
	const struct cc_usage usage = { .elapsed_ns = RTT * 1000000, .sent_units = 1 };

	(void)state;
	configure(&cfg);
	cc_egress_init(&e, &cfg);
	cc_ingress_init(&in, &cfg, 1);
	/* a queue of 2 C rtt beside a full port: U = 3 */
	for (int k = 0; k < 2; k++) {
		fb = cc_rig_record(
			&e, &cfg,
			(struct cc_sample){ .backlog_units = 4000, .departed_units = 1000 });
		cc_ingress_sent(&in, &cfg, 1);
		cc_ingress_tick(&in, &cfg, &usage);
		assert_int_equal(cc_ingress_feedback(&in, &cfg, &fb), 0);
		if (k == 0)
			assert_true(fabs(cc_rig_rate(&in) - (C / N * ETA / 3 + C / N * (1 - ETA))) <
				    2);
	}
}

/* 3.3: five steps by addition, the sixth by division. */
static void after_five_additions_comes_a_division(void **state)
{
	const struct cc_usage usage = { .elapsed_ns = RTT * 1000000, .sent_units = 1 };
	double add = C / N * (1 - ETA), before;
	struct cc_config cfg;
	struct cc_ingress in;
	struct cc_egress e;

	(void)state;
	configure(&cfg);
	cc_egress_init(&e, &cfg);
	cc_ingress_init(&in, &cfg, 1);
	before = cc_rig_rate(&in);
	for (int k = 0; k < 13; k++) {
		struct cc_feedback fb = cc_rig_record(
			&e, &cfg, (struct cc_sample){ .backlog_units = 0, .departed_units = 475 });
		bool divides = k % 6 == 5;

		cc_ingress_sent(&in, &cfg, 1);
		cc_ingress_tick(&in, &cfg, &usage);
		assert_int_equal(cc_ingress_feedback(&in, &cfg, &fb), 0);
		assert_true(fabs(cc_rig_rate(&in) -
				 fmin((divides ? ETA / 0.475 * before : before) + add, C)) < 2);
		before = cc_rig_rate(&in);
	}
}

static void source_that_sends_nothing_learns_nothing(void **state)
{
	const struct cc_usage usage = { .elapsed_ns = RTT * 1000000 };
	struct cc_config cfg;
	struct cc_ingress in;
	struct cc_egress e;

	(void)state;
	configure(&cfg);
	cc_egress_init(&e, &cfg);
	cc_ingress_init(&in, &cfg, 1);
	for (int k = 0; k < 20; k++) {
		struct cc_feedback fb = cc_rig_record(
			&e, &cfg, (struct cc_sample){ .backlog_units = 0, .departed_units = 100 });

		cc_ingress_tick(&in, &cfg, &usage);
		assert_int_equal(cc_ingress_feedback(&in, &cfg, &fb), 0);
	}
	assert_true(fabs(cc_rig_rate(&in) - C / N) < 1);
}

/* 5.4: the port is used to eta, and the queue is next to nothing. */
static void port_is_used_to_eta_with_hardly_a_queue(void **state)
{
	struct sim_flow flows[N];
	struct sim_setup setup = { .n_sources = N,
				   .n_outputs = 1,
				   .queue_limit_units = 1e6,
				   .voq_limit_units = 1e5,
				   .start_ups = -1,
				   .delay = 1,
				   .seed = 1,
				   .flows = flows,
				   .n_flows = N };
	struct sim *sim;
	double departed = 0, queue = 0, rates[N];

	(void)state;
	configure(&setup.config);
	for (uint16_t i = 0; i < N; i++)
		flows[i] = (struct sim_flow){ .source = i,
					      .weight = 1,
					      .offered_ups = C,
					      .from = i * 100,
					      .to = UINT32_MAX };
	assert_int_equal(sim_create(&sim, &setup), 0);
	for (int k = 0; k < 6000; k++) {
		sim_step(sim);
		if (k < 3000)
			continue;
		departed += sim->outputs[0].departed_units;
		queue = fmax(queue, sim->outputs[0].backlog_units);
	}
	assert_true(departed > 0.93 * 3000 * 1000 && departed <= 3000 * 1000);
	assert_true(queue < 0.1 * C * 0.001);
	for (uint32_t i = 0; i < N; i++)
		rates[i] = sim_rate_ups(sim_voq(sim, i, 0));
	assert_true(sim_jain(rates, N) > 0.99);
	sim_destroy(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_record_is_algorithm_1),
		cmocka_unit_test(overload_is_gone_after_one_round_trip),
		cmocka_unit_test(after_five_additions_comes_a_division),
		cmocka_unit_test(source_that_sends_nothing_learns_nothing),
		cmocka_unit_test(port_is_used_to_eta_with_hardly_a_queue),
	};

	return cmocka_run_group_tests_name("hpcc", tests, NULL, NULL);
}
