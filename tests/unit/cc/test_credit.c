/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Single steps of `credit` against numbers worked out by hand from the top of cc/credit.c, and its
 * grants against weighted max-min shares. A port of 1000 units in T, q0 = 130, for 4 sources: each
 * has an unsolicited credit of 250 / 4 = 62 and a window of 4000.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "cc/sim/model.h"

#define C 1000000

static void configure(struct cc_config *cfg)
{
	const struct cc_port port = {
		.capacity_ups = C,
		.line_ups = 4 * C,
		.interval_ns = 1000000,
		.frame_bytes = 64,
		.units = CC_PACKETS,
		.sources = 4,
	};

	assert_int_equal(cc_config_init(cfg, "credit", &port), 0);
	assert_int_equal(cc_config_prepare(cfg, NULL), 0);
}

static struct cc_sample sample(uint32_t backlog_units, const struct cc_source *sources, uint16_t n)
{
	return (struct cc_sample){ .capacity_ups = C,
				   .elapsed_ns = 1000000,
				   .backlog_units = backlog_units,
				   .n_sources = n,
				   .sources = sources,
				   .timer = true };
}

static struct cc_feedback record(struct cc_egress *e, const struct cc_config *cfg,
				 const struct cc_sample *s, uint32_t i)
{
	struct cc_feedback fb;

	assert_true(cc_egress_feedback(e, cfg, s, &s->sources[i], &fb));
	return fb;
}

/* The sum of grants and what is outstanding, after each of five intervals. */
static void grants_go_by_reports_and_by_what_has_arrived(void **state)
{
	static const struct {
		uint32_t waiting[3], arrived[3], granted[3], outstanding[3];
	} steps[] = {
		/* wants 4000, 100, 62: the small ones get all */
		{ { 5000, 100, 0 }, { 0 }, { 838, 100, 62 }, { 838, 100, 62 } },
		/* 838 - 838 / 64 = 825 and 100 - 1 = 99 are still under way, 62 - 62 / 16 = 59 of
		 * an idle source; wants 3175, 1, 3 */
		{ { 5000, 100, 0 }, { 0 }, { 1834, 101, 65 }, { 1821, 100, 62 } },
		/* 983 - 15 = 968, 59 - 0, 59; wants 3032, 31 + 41, 3 */
		{ { 4000, 90, 0 }, { 838, 41, 0 }, { 2759, 173, 68 }, { 1893, 131, 62 } },
		/* 1055 - 16 = 1039, 131 - 100 = 31, 59. A VOQ that holds less than what is under
		 * way wants as much as came, and half as much again if that waits: 838 + 419, 100 +
		 * 40, 3: the first gets 857 */
		{ { 700, 40, 0 }, { 838, 100, 0 }, { 3616, 313, 71 }, { 1896, 171, 62 } },
		/* 58 - 0, 31 - 0, 59; wants 4000 - 58, 0 + 140, 3 */
		{ { 60000, 0, 0 }, { 1838, 140, 0 }, { 4473, 453, 74 }, { 915, 171, 62 } },
	};
	struct cc_source sources[3] = { { .id = 0, .weight = 1 },
					{ .id = 255, .weight = 1 },
					{ .id = 7, .weight = 1 } };
	struct cc_config cfg;
	struct cc_egress e;

	(void)state;
	configure(&cfg);
	cc_egress_init(&e, &cfg);
	for (size_t k = 0; k < sizeof(steps) / sizeof(steps[0]); k++) {
		const struct cc_sample s = sample(130, sources, 3);

		for (uint32_t i = 0; i < 3; i++) {
			sources[i].waiting_units = steps[k].waiting[i];
			sources[i].arrived_units = steps[k].arrived[i];
		}
		assert_int_equal(cc_egress_sample(&e, &cfg, &s), 0);
		for (uint32_t i = 0; i < 3; i++) {
			const struct cc_feedback fb = record(&e, &cfg, &s, i);

			if (fb.signal != steps[k].granted[i] || fb.share != steps[k].outstanding[i])
				fail_msg("step %zu source %u: granted %u, outstanding %u", k, i,
					 fb.signal, fb.share);
		}
	}
}

/* A source that wants all gets the budget. */
static void budget_goes_by_queue_and_time(void **state)
{
	static const struct {
		uint32_t backlog_units, elapsed_ns, budget;
	} cases[] = {
		{ 0, 1000000, 1016 }, /* 130 / 8 more */
		{ 130, 1000000, 1000 }, { 930, 1000000, 900 },
		{ 8130, 1000000, 0 },	{ 100000, 1000000, 0 },
		{ 130, 2500000, 2500 }, { 130, 100000000, 4000 }, /* a late sample */
	};
	struct cc_source source = { .id = 1, .weight = 5, .waiting_units = CC_UNITS_MAX };
	struct cc_config cfg;

	(void)state;
	configure(&cfg);
	assert_int_equal(cc_config_set(&cfg, "window_ppb", 100 * CC_ONE_PPB), 0);
	assert_int_equal(cc_config_prepare(&cfg, NULL), 0);
	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		struct cc_sample s = sample(cases[k].backlog_units, &source, 1);
		struct cc_egress e;

		s.elapsed_ns = cases[k].elapsed_ns;
		cc_egress_init(&e, &cfg);
		cc_egress_sample(&e, &cfg, &s);
		assert_int_equal(record(&e, &cfg, &s, 0).signal, cases[k].budget);
	}
}

/*
 * Random backlogs and weights of 1 to 40 sources: what is granted is what is wanted, or the whole
 * budget of 1000, and each grant is a weighted max-min share but for the rounds and the turns: by
 * less than a fifth of it and its weight.
 */
static void grants_are_weighted_max_min_shares(void **state)
{
	(void)state;
	srandom(1);
	for (int round = 0; round < 2000; round++) {
		uint16_t n = (uint16_t)(1 + random() % 40), weights[40];
		double offered[40], shares[40];
		uint64_t wanted = 0, granted = 0;
		struct cc_source sources[40];
		struct cc_config cfg;
		struct cc_egress e;
		struct cc_sample s = sample(130, sources, n);

		configure(&cfg);
		assert_int_equal(cc_config_set(&cfg, "unsolicited_ppb", 0), 0);
		assert_int_equal(cc_config_prepare(&cfg, NULL), 0);
		cc_egress_init(&e, &cfg);
		for (uint16_t i = 0; i < n; i++) {
			uint32_t units = (uint32_t)(random() % 3 ? random() % 200 : 0);

			weights[i] = (uint16_t)(1 + random() % 4);
			sources[i] = (struct cc_source){ .id = i,
							 .weight = weights[i],
							 .waiting_units = units };
			offered[i] = units;
			wanted += units;
		}
		sim_maxmin(1000, offered, weights, n, shares);
		cc_egress_sample(&e, &cfg, &s);
		for (uint16_t i = 0; i < n; i++) {
			uint32_t units = record(&e, &cfg, &s, i).signal;

			granted += units;
			if (units + 1 < shares[i] * 0.8 - weights[i] ||
			    units > shares[i] * 1.2 + weights[i] + 1)
				fail_msg("round %d source %u: %u of %.1f", round, i, units,
					 shares[i]);
		}
		assert_int_equal(granted, wanted < 1000 ? wanted : 1000);
	}
}

/* 7 units for 10 sources that want 10 each: by turns, so that all have 7 after 10 intervals. */
static void what_does_not_divide_goes_by_turns(void **state)
{
	struct cc_source sources[10];
	struct cc_sample s = sample(130, sources, 10);
	struct cc_config cfg;
	struct cc_egress e;

	(void)state;
	configure(&cfg);
	cc_egress_init(&e, &cfg);
	s.capacity_ups = 7000;
	for (uint16_t i = 0; i < 10; i++)
		sources[i] =
			(struct cc_source){ .id = i, .weight = 1, .waiting_units = CC_UNITS_MAX };
	for (int k = 0; k < 10; k++)
		cc_egress_sample(&e, &cfg, &s);
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(record(&e, &cfg, &s, i).signal, 7);
}

static void hear(struct cc_ingress *in, const struct cc_config *cfg, uint32_t granted,
		 uint32_t outstanding)
{
	const struct cc_feedback fb = { .capacity_ups = C,
					.algorithm = CC_CREDIT,
					.seq = in->seq + 1,
					.signal = granted,
					.share = outstanding };

	assert_int_equal(cc_ingress_feedback(in, cfg, &fb), 0);
}

static void send_and_tick(struct cc_ingress *in, const struct cc_config *cfg, uint32_t units)
{
	const struct cc_usage usage = { .elapsed_ns = 1000000,
					.sent_units = units,
					.backlogged = true };

	cc_ingress_sent(in, cfg, units);
	cc_ingress_tick(in, cfg, &usage);
}

/* Rates are balances in units of 1 / T = 1000 units/s. */
static void source_spends_grants_and_goes_on_for_four_intervals_without_records(void **state)
{
	struct cc_config cfg;
	struct cc_ingress in;

	(void)state;
	configure(&cfg);
	cc_ingress_init(&in, &cfg, 1);
	assert_int_equal(cc_ingress_rate_ups(&in), 250000);
	send_and_tick(&in, &cfg, 250); /* before the first record: as it began */
	assert_int_equal(cc_ingress_rate_ups(&in), 250000);
	hear(&in, &cfg, UINT32_MAX - 99, 200); /* what is outstanding; the sum will wrap */
	assert_int_equal(cc_ingress_rate_ups(&in), 200000);
	for (uint32_t k = 0; k < 40; k++) {
		send_and_tick(&in, &cfg, 200);
		hear(&in, &cfg, 100 + 200 * k, 400);
		assert_int_equal(cc_ingress_rate_ups(&in), 200000);
	}
	send_and_tick(&in, &cfg, 200);
	/* Nothing is left, and no record comes; 196: smoothing in whole units stays below. */
	for (int k = 0; k < 4; k++) {
		send_and_tick(&in, &cfg, 196);
		assert_in_range(cc_ingress_rate_ups(&in), 196000, 200000);
	}
	send_and_tick(&in, &cfg, 0);
	assert_int_equal(cc_ingress_rate_ups(&in), 1000); /* the floor */
	/* The grants of six intervals come at once; 4 * 196 were sent on their account. */
	hear(&in, &cfg, 100 + 200 * 45, 400);
	assert_int_equal(cc_ingress_rate_ups(&in), (6 * 200 - 4 * 196) * 1000);
}

/* Every third record is lost, and the next one has the grants of two intervals: usual is 200. */
static void grants_of_two_intervals_are_not_taken_for_those_of_one(void **state)
{
	struct cc_config cfg;
	struct cc_ingress in;

	(void)state;
	configure(&cfg);
	cc_ingress_init(&in, &cfg, 1);
	for (uint32_t k = 0; k < 60; k++) {
		if (k % 3)
			hear(&in, &cfg, 200 * k, 400);
		send_and_tick(&in, &cfg, 200);
	}
	send_and_tick(&in, &cfg, 200); /* k = 60 is lost */
	assert_in_range(cc_ingress_rate_ups(&in), 190000, 200000);
}

/* After a restart the egress counts anew: only what it takes for outstanding is granted. */
static void sums_of_two_lives_of_the_egress_do_not_add(void **state)
{
	struct cc_config cfg;
	struct cc_ingress in;

	(void)state;
	configure(&cfg);
	cc_ingress_init(&in, &cfg, 1);
	hear(&in, &cfg, 3000000, 100);
	hear(&in, &cfg, 3000150, 250);
	assert_int_equal(cc_ingress_rate_ups(&in), 150000); /* none of the 100 is usual yet */
	cc_ingress_forget(&in);
	hear(&in, &cfg, 70, 70);
	assert_int_equal(cc_ingress_rate_ups(&in), 70000);
	hear(&in, &cfg, 100, 100);
	assert_int_equal(cc_ingress_rate_ups(&in), 30000);
}

/* 400 a record, of which 100 are sent: what is usual is carried over, so that 800 is the most. */
static void source_saves_no_more_than_usual(void **state)
{
	struct cc_config cfg;
	struct cc_ingress in;

	(void)state;
	configure(&cfg);
	cc_ingress_init(&in, &cfg, 1);
	for (uint32_t k = 0; k < 100; k++) {
		hear(&in, &cfg, 400 * k, 400);
		send_and_tick(&in, &cfg, 100);
		assert_in_range(cc_ingress_rate_ups(&in), 1000, 800000);
	}
	assert_in_range(cc_ingress_rate_ups(&in), 790000, 800000);
}

static void balance_of_an_idle_source_expires(void **state)
{
	const struct cc_usage idle = { .elapsed_ns = 1000000 };
	struct cc_config cfg;
	struct cc_ingress in;

	(void)state;
	configure(&cfg);
	cc_ingress_init(&in, &cfg, 1);
	hear(&in, &cfg, 1600, 1600);
	cc_ingress_tick(&in, &cfg, &idle);
	cc_ingress_tick(&in, &cfg, &idle); /* 1600 - 100 - 93 */
	assert_int_equal(cc_ingress_rate_ups(&in), 1407000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grants_go_by_reports_and_by_what_has_arrived),
		cmocka_unit_test(budget_goes_by_queue_and_time),
		cmocka_unit_test(grants_are_weighted_max_min_shares),
		cmocka_unit_test(what_does_not_divide_goes_by_turns),
		cmocka_unit_test(
			source_spends_grants_and_goes_on_for_four_intervals_without_records),
		cmocka_unit_test(grants_of_two_intervals_are_not_taken_for_those_of_one),
		cmocka_unit_test(sums_of_two_lives_of_the_egress_do_not_add),
		cmocka_unit_test(source_saves_no_more_than_usual),
		cmocka_unit_test(balance_of_an_idle_source_expires),
	};

	return cmocka_run_group_tests_name("credit", tests, NULL, NULL);
}
