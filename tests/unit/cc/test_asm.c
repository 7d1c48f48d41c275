/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Single steps of `asm` against numbers worked out by hand from the top of cc/asm.c: a port of
 * 10 Gb/s counted in bytes, the default scales (q0 33000, FSoff 400500, FSdelta 150000, w 24).
 */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "cc/cc.h"

#define LINE UINT64_C(1250000000)

static void configure(struct cc_config *cfg, int64_t gain_large, int64_t fair)
{
	const struct cc_port port = {
		.capacity_ups = LINE,
		.line_ups = LINE,
		.interval_ns = 10000,
		.frame_bytes = 1500,
		.units = CC_BYTES,
		.sources = 10,
		.point = 1,
	};

	assert_int_equal(cc_config_init(cfg, "asm", &port), 0);
	assert_int_equal(cc_config_set(cfg, "gain_large", gain_large), 0);
	assert_int_equal(cc_config_set(cfg, "fair", fair), 0);
	assert_int_equal(cc_config_prepare(cfg, NULL), 0);
}

static uint32_t signal_of(int off, int delta)
{
	return (uint8_t)off | (uint32_t)(uint8_t)delta << 8;
}

/* Shows the queue to the egress half; returns the source told, or CC_NO_SOURCE. */
static uint16_t show(struct cc_egress *e, const struct cc_config *cfg, struct cc_sample s,
		     uint32_t *signal)
{
	uint16_t told = CC_NO_SOURCE;

	cc_egress_sample(e, cfg, &s);
	for (uint32_t i = 0; i < s.n_sources; i++) {
		struct cc_feedback fb;

		if (!cc_egress_feedback(e, cfg, &s, &s.sources[i], &fb) || !fb.addressed)
			continue;
		assert_int_equal(told, CC_NO_SOURCE); /* one at most */
		told = s.sources[i].id;
		*signal = fb.signal;
	}
	return told;
}

static void congestion_point_sends_offset_and_change_apart(void **state)
{
	static const struct {
		uint32_t backlog_units;
		int off, delta;
	} steps[] = {
		{ 73050, 13, 62 }, /* 40050 * 127 / 400500 = 12.7; 73050 * 127 / 150000 = 61.8 */
		{ 33000, 0, -34 }, /* -40050 * 127 / 150000 = -33.9 */
		{ 33000, 0, 0 },   /* at rest it sends a record too: rates may rise or stay */
		{ 0, -10, -28 },   /* -33000 * 127 / 400500 = -10.5 (to nearest -10.46), -27.94 */
		{ 9000000, 127, 127 }, /* off both scales */
	};
	struct cc_source sources[2] = { { .id = 0, .weight = 1 }, { .id = 1, .weight = 1 } };
	struct cc_config cfg;
	struct cc_egress e;

	(void)state;
	configure(&cfg, 4, 0);
	cc_egress_init(&e, &cfg);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct cc_sample s = {
			.capacity_ups = LINE,
			.elapsed_ns = 1000,
			.backlog_units = steps[i].backlog_units,
			.last_source = i & 1,
			.n_sources = 2,
			.sources = sources,
		};
		uint32_t signal = 0;

		sources[0].arrived_units = 200000; /* more than any jittered 150000 */
		assert_int_equal(show(&e, &cfg, s, &signal), i & 1);
		assert_int_equal(signal, signal_of(steps[i].off, steps[i].delta));
	}
}

static void the_same_source_is_not_told_twice_unless_it_is_alone(void **state)
{
	struct cc_source sources[2] = { { .id = 0, .weight = 1 }, { .id = 1, .weight = 1 } };
	struct cc_sample s = {
		.capacity_ups = LINE,
		.elapsed_ns = 150000, /* a sampling time is 120 us, four are 480 */
		.last_source = 1,
		.n_sources = 2,
		.sources = sources,
	};
	struct cc_config cfg;
	struct cc_egress e;
	uint32_t signal;

	(void)state;
	configure(&cfg, 4, 0);
	cc_egress_init(&e, &cfg);
	sources[1].arrived_units = 200000;
	assert_int_equal(show(&e, &cfg, s, &signal), 1);
	assert_int_equal(show(&e, &cfg, s, &signal), CC_NO_SOURCE);
	s.last_source = 0; /* the next frame of another source is taken at once */
	sources[1].arrived_units = 1500;
	assert_int_equal(show(&e, &cfg, s, &signal), 0);
	sources[1].arrived_units = 200000;
	assert_int_equal(show(&e, &cfg, s, &signal), CC_NO_SOURCE);
	assert_int_equal(show(&e, &cfg, s, &signal), CC_NO_SOURCE);
	assert_int_equal(show(&e, &cfg, s, &signal), CC_NO_SOURCE);
	assert_int_equal(show(&e, &cfg, s, &signal), 0); /* 600 us: it is alone */
	/* Hardly anything arrives: the timer takes the sample after a sampling time. */
	sources[1].arrived_units = 60;
	s.last_source = 1;
	s.timer = true;
	s.elapsed_ns = 100000;
	assert_int_equal(show(&e, &cfg, s, &signal), CC_NO_SOURCE);
	assert_int_equal(show(&e, &cfg, s, &signal), 1);
}

static void fairness_gives_increases_by_turns_and_decreases_to_the_largest(void **state)
{
	static const struct {
		uint32_t backlog_units;
		uint16_t told;
	} steps[] = { { 90000, 2 }, { 0, 0 }, { 0, 1 },	    { 0, 1 }, { 0, 2 },
		      { 0, 0 },	    { 0, 1 }, { 90000, 2 }, { 0, 1 }, { 0, 2 } };
	struct cc_source sources[4] = { { .id = 0, .weight = 1, .waiting_units = 1 },
					{ .id = 1, .weight = 2, .arrived_units = 200000 },
					{ .id = 2, .weight = 1, .arrived_units = 200000 },
					{ .id = 3, .weight = 1 } }; /* idle */
	struct cc_config cfg;
	struct cc_egress e;

	(void)state;
	configure(&cfg, 4, 1);
	cc_egress_init(&e, &cfg);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct cc_sample s = {
			.capacity_ups = LINE,
			.elapsed_ns = 600000,
			.backlog_units = steps[i].backlog_units,
			.last_source = 1,
			.n_sources = 4,
			.sources = sources,
		};
		uint32_t signal;

		assert_int_equal(show(&e, &cfg, s, &signal), steps[i].told);
	}
}

/*
 * Source 1 sends a little more than source 0. What it is told to take back counts at once, before
 * its arrivals show it: the next decrease of the same size goes to the other.
 */
static void source_that_was_told_counts_as_smaller_at_once(void **state)
{
	struct cc_source sources[2] = { { .id = 0, .weight = 1, .arrived_units = 200000 },
					{ .id = 1, .weight = 1, .arrived_units = 202000 } };
	struct cc_sample s = {
		.capacity_ups = LINE,
		.elapsed_ns = 120000,
		.backlog_units = 90000,
		.last_source = 0,
		.n_sources = 2,
		.sources = sources,
	};
	struct cc_config cfg;
	struct cc_egress e;
	uint32_t signal;

	(void)state;
	configure(&cfg, 4, 1);
	cc_egress_init(&e, &cfg);
	assert_int_equal(show(&e, &cfg, s, &signal), 1);
	sources[1].arrived_units = 200000;
	assert_int_equal(show(&e, &cfg, s, &signal), 0);
}

static void feed(struct cc_ingress *in, const struct cc_config *cfg, int off, int delta,
		 uint16_t point)
{
	const struct cc_feedback fb = { .capacity_ups = LINE,
					.algorithm = CC_ASM,
					.seq = in->seq + 1,
					.signal = signal_of(off, delta),
					.point = point,
					.addressed = 1 };

	assert_int_equal(cc_ingress_feedback(in, cfg, &fb), 0);
}

/* C / 127 is 9842519.685; alpha1 1 %, beta1 7 %, alpha2 0, beta2 6.5 %. */
static void each_region_steps_by_its_gains(void **state)
{
	static const struct {
		const char *region;
		int off, delta;
		int64_t step_ups;
	} cases[] = {
		{ "I", -20, -10, 8858268 }, /* 0.2 + 0.7 */
		{ "II", -100, 2, 8464567 }, /* 1 - 0.14 */
		{ "III", 20, 10, -8858268 }, { "IV", 100, -2, -8464567 },
		{ "V", -10, 30, -19192913 }, /* 0.065 * 30 */
		{ "VI", 10, -30, 19192913 }, { "at rest", 0, 0, 0 },
	};
	struct cc_config cfg;

	(void)state;
	configure(&cfg, 1, 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const int64_t before = 500000000;
		struct cc_ingress in;
		int64_t step;

		cc_ingress_init(&in, &cfg, 1);
		in.rate_q16 = (uint64_t)before << 16;
		feed(&in, &cfg, cases[i].off, cases[i].delta, 1);
		step = (int64_t)cc_ingress_rate_ups(&in) - before;
		/* Gains have 32 fraction bits of C for 1/127: within 127 * 0.3 units. */
		if (step < cases[i].step_ups - 40 || step > cases[i].step_ups + 40)
			fail_msg("region %s: %lld", cases[i].region, (long long)step);
	}
}

static void large_gains_last_until_the_line_is_near(void **state)
{
	struct cc_config cfg;
	struct cc_ingress in;

	(void)state;
	configure(&cfg, 4, 0);
	cc_ingress_init(&in, &cfg, 1);
	in.rate_q16 = UINT64_C(1000000000) << 16;
	feed(&in, &cfg, 20, 10, 1); /* four times 8858268 */
	assert_in_range(cc_ingress_rate_ups(&in), 964566900, 964567000);
	feed(&in, &cfg, 9, -1, 1); /* sigma = (9 * 400500 - 24 * 150000) / 127: 35 units */
	in.rate_q16 = UINT64_C(1000000000) << 16;
	feed(&in, &cfg, 20, 10, 1);
	assert_in_range(cc_ingress_rate_ups(&in), 991141700, 991141800);
}

static void increases_come_from_the_point_that_decreased_last(void **state)
{
	struct cc_config cfg;
	struct cc_ingress in;
	uint64_t rate;

	(void)state;
	configure(&cfg, 1, 0);
	cc_ingress_init(&in, &cfg, 1);
	rate = in.rate_q16;
	feed(&in, &cfg, -20, -10, 5); /* never decreased: any point may raise it */
	assert_true(in.rate_q16 > rate);
	feed(&in, &cfg, 20, 10, 5);
	rate = in.rate_q16;
	feed(&in, &cfg, -20, -10, 6);
	assert_true(in.rate_q16 == rate);
	feed(&in, &cfg, -20, -10, 5);
	assert_true(in.rate_q16 > rate);
	feed(&in, &cfg, 20, 10, 6);
	rate = in.rate_q16;
	feed(&in, &cfg, -20, -10, 5);
	assert_true(in.rate_q16 == rate);
}

static void gains_that_do_not_slide_are_refused(void **state)
{
	static const struct {
		const char *param;
		int64_t value;
	} cases[] = {
		{ "beta1_ppb", 200000000 }, /* 2.157 - 4.8 + 1 < 0 */
		{ "beta2_ppb", 41000000 },  /* 24 * 0.041 = 0.984 < 1 */
		{ "w", 15 },		    /* 15 * 0.065 < 1 */
		{ "alpha2_ppb", 10000000 }, /* 2.157 - 1.56 + 1 > 0 */
	};
	struct cc_config cfg;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *why = NULL;

		configure(&cfg, 1, 0);
		assert_int_equal(cc_config_set(&cfg, cases[i].param, cases[i].value), 0);
		assert_int_equal(cc_config_prepare(&cfg, &why), -EINVAL);
		assert_non_null(why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(congestion_point_sends_offset_and_change_apart),
		cmocka_unit_test(the_same_source_is_not_told_twice_unless_it_is_alone),
		cmocka_unit_test(fairness_gives_increases_by_turns_and_decreases_to_the_largest),
		cmocka_unit_test(source_that_was_told_counts_as_smaller_at_once),
		cmocka_unit_test(each_region_steps_by_its_gains),
		cmocka_unit_test(large_gains_last_until_the_line_is_near),
		cmocka_unit_test(increases_come_from_the_point_that_decreased_last),
		cmocka_unit_test(gains_that_do_not_slide_are_refused),
	};

	return cmocka_run_group_tests_name("asm", tests, NULL, NULL);
}
