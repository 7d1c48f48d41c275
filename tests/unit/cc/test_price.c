/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Single steps of `price` against integers worked out by hand from the equations at the top of
 * cc/price.c, with gains that are short binary fractions: kappa = 1/8, rho = 1/2.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "cc/cc.h"

#define ONE_Q20 (1u << 20)
#define ONE_Q16 (1u << 16)

struct param {
	const char *name;
	int64_t value;
};

/* C = 10^6 packets/s and T = 1 ms: C T is 1000 packets. */
static void configure(struct cc_config *cfg, const struct param *params)
{
	const struct cc_port port = {
		.capacity_ups = 1000000,
		.line_ups = 10000000,
		.interval_ns = 1000000,
		.frame_bytes = 64,
		.units = CC_PACKETS,
		.sources = 3,
	};

	assert_int_equal(cc_config_init(cfg, "price", &port), 0);
	assert_int_equal(cc_config_set(cfg, "kappa_ppb", 125000000), 0);
	assert_int_equal(cc_config_set(cfg, "rho_ppb", 500000000), 0);
	assert_int_equal(cc_config_set(cfg, "target_units", 100), 0);
	assert_int_equal(cc_config_set(cfg, "normalise", 0), 0);
	for (; params && params->name; params++)
		assert_int_equal(cc_config_set(cfg, params->name, params->value), 0);
	assert_int_equal(cc_config_prepare(cfg, NULL), 0);
}

static struct cc_source sources[3] = { { .id = 0, .weight = 1 },
				       { .id = 1, .weight = 1 },
				       { .id = 2, .weight = 1 } };

static struct cc_sample sample(uint32_t a, uint32_t b, uint32_t c)
{
	sources[0].arrived_units = a;
	sources[1].arrived_units = b;
	sources[2].arrived_units = c;
	return (struct cc_sample){
		.capacity_ups = 1000000,
		.elapsed_ns = 1000000,
		.last_source = 2,
		.n_sources = 3,
		.sources = sources,
		.timer = true,
	};
}

static void egress(struct cc_egress *e, const struct cc_config *cfg, struct cc_sample s,
		   struct cc_feedback *fb)
{
	assert_int_equal(cc_egress_sample(e, cfg, &s), 0);
	assert_true(cc_egress_feedback(e, cfg, &s, &sources[0], fb));
	assert_int_equal(fb->algorithm, CC_PRICE);
	assert_int_equal(fb->capacity_ups, 1000000);
}

static void rate_form_price_moves_by_excess_over_rho_c_t(void **state)
{
	static const struct param params[] = { { "queue_form", 0 }, { NULL, 0 } };
	struct cc_config cfg;
	struct cc_egress e;
	struct cc_feedback fb;

	(void)state;
	configure(&cfg, params);
	cc_egress_init(&e, &cfg);
	egress(&e, &cfg, sample(500, 500, 500), &fb); /* + 500 / (0.5 * 1000) = 1 */
	assert_int_equal(fb.signal, ONE_Q20);
	egress(&e, &cfg, sample(250, 250, 250), &fb); /* - 250 / 500 = -0.5 */
	assert_int_equal(fb.signal, ONE_Q20 / 2);
	egress(&e, &cfg, sample(0, 0, 0), &fb); /* - 1000 / 500, and not below 0 */
	assert_int_equal(fb.signal, 0);
	egress(&e, &cfg, sample(333, 333, 335), &fb); /* + 1 / 500: floor(2^32 / 500) >> 12 */
	assert_int_equal(fb.signal, 2097);
	assert_int_equal(fb.seq, 4);
}

static void set_point_lowers_the_capacity_of_the_rate_form(void **state)
{
	static const struct param params[] = { { "queue_form", 0 },
					       { "set_point_ppb", 900000000 },
					       { NULL, 0 } };
	struct cc_config cfg;
	struct cc_egress e;
	struct cc_feedback fb;

	(void)state;
	configure(&cfg, params);
	cc_egress_init(&e, &cfg);
	egress(&e, &cfg, sample(500, 500, 150), &fb); /* (1150 - 900) / 500 */
	assert_int_equal(fb.signal, ONE_Q20 / 2);
}

static void queue_form_price_moves_by_growth_and_distance(void **state)
{
	static const struct param params[] = { { "u_above_ppb", 250000000 },
					       { "u_below_ppb", 500000000 },
					       { NULL, 0 } };
	struct cc_config cfg;
	struct cc_egress e;
	struct cc_feedback fb;
	struct cc_sample s = sample(500, 500, 500);

	(void)state;
	configure(&cfg, params);
	cc_egress_init(&e, &cfg);
	s.backlog_units = 500;
	s.change_units = 500;
	egress(&e, &cfg, s, &fb); /* (500 + 0.25 * 400) / 500 = 1.2, floored at 2^-32 and 2^-20 */
	assert_int_equal(fb.signal, 1258291);
	s.backlog_units = 50;
	s.change_units = -450;
	egress(&e, &cfg, s, &fb); /* (-450 - 0.5 * 50) / 500 = -0.95: 0.25 is left */
	assert_int_equal(fb.signal, ONE_Q20 / 4);
	s.backlog_units = 100;
	s.change_units = 0;
	s.dropped_units = 250;
	egress(&e, &cfg, s, &fb); /* + 250 / 500 */
	assert_int_equal(fb.signal, ONE_Q20 / 4 + ONE_Q20 / 2);
	s.dropped_units = 3000;
	egress(&e, &cfg, s, &fb); /* drops count at most half of C T: + 500 / 500 */
	assert_int_equal(fb.signal, ONE_Q20 / 4 + ONE_Q20 / 2 + ONE_Q20);
}

static void the_price_stays_below_4096(void **state)
{
	struct cc_config cfg;
	struct cc_egress e;
	struct cc_feedback fb;
	struct cc_sample s = sample(500, 500, 500);

	(void)state;
	configure(&cfg, NULL);
	cc_egress_init(&e, &cfg);
	s.backlog_units = CC_UNITS_MAX;
	s.change_units = CC_UNITS_MAX;
	for (int i = 0; i < 3; i++)
		egress(&e, &cfg, s, &fb);
	assert_int_equal(fb.signal, UINT32_MAX);
	s.change_units = -CC_UNITS_MAX;
	s.backlog_units = 0;
	egress(&e, &cfg, s, &fb);
	assert_int_equal(fb.signal, 0);
}

/* Normalised, the price at rest is S = 3 for any mix: it starts there and stays above S / 2. */
static void a_normalised_price_starts_at_rest_and_keeps_its_floor(void **state)
{
	static const struct param params[] = { { "normalise", 1 },
					       { "queue_form", 0 },
					       { NULL, 0 } };
	struct cc_config cfg;
	struct cc_egress e;
	struct cc_feedback fb;

	(void)state;
	configure(&cfg, params);
	cc_egress_init(&e, &cfg);
	egress(&e, &cfg, sample(334, 333, 333), &fb);
	assert_int_equal(fb.signal, 3 * ONE_Q20);
	egress(&e, &cfg, sample(250, 250, 250), &fb); /* - 250 / 500 */
	assert_int_equal(fb.signal, 5 * ONE_Q20 / 2);
	egress(&e, &cfg, sample(0, 0, 0), &fb); /* - 2 would be 0.5 */
	assert_int_equal(fb.signal, 3 * ONE_Q20 / 2);
}

/* n is the sum of the rates over the highest one; all are smoothed alike, so n needs no time. */
static void effective_sources_follow_the_arrivals(void **state)
{
	static const struct {
		uint32_t arrived[3];
		uint16_t weight[3];
		uint32_t n_q16;
	} cases[] = {
		{ { 300, 300, 300 }, { 1, 1, 1 }, 3 * ONE_Q16 },
		{ { 600, 0, 0 }, { 1, 1, 1 }, ONE_Q16 },
		{ { 600, 300, 0 }, { 1, 1, 1 }, ONE_Q16 * 3 / 2 },
		{ { 600, 300, 0 }, { 2, 1, 1 }, 3 * ONE_Q16 },
		{ { 512, 64, 64 }, { 1, 1, 4 }, ONE_Q16 * 5 / 4 },
		{ { 0, 0, 0 }, { 1, 1, 1 }, 3 * ONE_Q16 }, /* nothing to see: as at the start */
	};
	struct cc_config cfg;

	(void)state;
	configure(&cfg, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cc_sample s =
			sample(cases[i].arrived[0], cases[i].arrived[1], cases[i].arrived[2]);
		struct cc_feedback fb;
		struct cc_egress e;

		for (int j = 0; j < 3; j++)
			sources[j].weight = cases[i].weight[j];
		cc_egress_init(&e, &cfg);
		for (int k = 0; k < 300; k++)
			egress(&e, &cfg, s, &fb);
		/* Smoothing rounds down at each step: within 2^-8 of the exact ratio. */
		assert_in_range(fb.share, cases[i].n_q16 - 256, cases[i].n_q16 + 256);
	}
	for (int j = 0; j < 3; j++)
		sources[j].weight = 1;
}

/*
 * Three sources of 300 packets, of which the first falls silent. With a gain of 1/4 an interval and
 * 300 packets = 0.3 C T (5033164 in Q24), smoothed arrivals are 1258291 = 5033164 / 4 for all; then
 * 3/4 of that for the silent one, 943718, and 943718 + 1258291 = 2202009 for the others: n = (2 *
 * 2202009 + 943718) / 2202009 = 17 / 7.
 */
static void a_source_that_falls_silent_leaves_n_by_a_quarter_each_interval(void **state)
{
	struct cc_config cfg;
	struct cc_egress e;
	struct cc_feedback fb;

	(void)state;
	configure(&cfg, NULL);
	cc_egress_init(&e, &cfg);
	egress(&e, &cfg, sample(300, 300, 300), &fb);
	assert_int_equal(fb.share, 3 * ONE_Q16);
	egress(&e, &cfg, sample(0, 300, 300), &fb);
	assert_int_equal(fb.share, 17 * ONE_Q16 / 7);
	/* When all are silent their ratio stays. */
	egress(&e, &cfg, sample(0, 0, 0), &fb);
	assert_in_range(fb.share, 17 * ONE_Q16 / 7 - 1, 17 * ONE_Q16 / 7 + 1);
}

/* 32 packets in T: the price moves every second interval, by what both saw. */
static void slow_ports_gather_min_frames_before_they_act(void **state)
{
	static const struct param params[] = { { "queue_form", 0 }, { NULL, 0 } };
	struct cc_config cfg;
	struct cc_egress e;
	struct cc_feedback fb;
	struct cc_sample s = sample(16, 16, 16);

	(void)state;
	configure(&cfg, params);
	cc_egress_init(&e, &cfg);
	s.capacity_ups = 32000;
	for (int i = 1; i <= 4; i++) {
		cc_egress_sample(&e, &cfg, &s);
		assert_true(cc_egress_feedback(&e, &cfg, &s, &sources[0], &fb));
		assert_int_equal(fb.signal, (i / 2) * ONE_Q20); /* 2 * (48 - 32) / (0.5 * 64) */
	}
}

static void source_step(const struct param *params, uint16_t weight, uint64_t rate_ups,
			struct cc_feedback fb, struct cc_usage usage, uint64_t expected_ups)
{
	struct cc_config cfg;
	struct cc_ingress in;

	configure(&cfg, params);
	cc_ingress_init(&in, &cfg, weight);
	in.rate_q16 = rate_ups << 16;
	fb.algorithm = CC_PRICE;
	fb.capacity_ups = 1000000;
	usage.elapsed_ns = 1000000;
	assert_int_equal(cc_ingress_feedback(&in, &cfg, &fb), 0);
	cc_ingress_tick(&in, &cfg, &usage);
	assert_int_equal(cc_ingress_rate_ups(&in), expected_ups);
}

static void source_moves_by_kappa_times_weight_less_payment(void **state)
{
	static const struct param printed[] = { { "normalise", 0 },
						{ "step_max_ppb", 0 },
						{ NULL, 0 } };
	static const struct param normal[] = { { "normalise", 1 }, { NULL, 0 } };
	const struct cc_usage busy = { .backlogged = true };
	const struct cc_feedback price_1 = { .signal = ONE_Q20, .share = 3 * ONE_Q16 };
	const struct cc_feedback price_4 = { .signal = 4 * ONE_Q20, .share = 3 * ONE_Q16 };
	const struct cc_feedback price_16 = { .signal = 16 * ONE_Q20, .share = 3 * ONE_Q16 };
	const struct cc_feedback free_2 = { .share = 2 * ONE_Q16 };

	(void)state;
	/* x + (W C - x pi) / 8 */
	source_step(printed, 1, 500000, price_1, busy, 562500);
	source_step(printed, 2, 500000, price_1, busy, 687500);
	source_step(printed, 1, 500000, price_4, busy, 375000);
	source_step(printed, 1, 500000, price_16, busy, 1000); /* below 0: the floor */
	/* W = 3 w / n: 1 with n = 3, 1.5 with n = 2 */
	source_step(normal, 1, 500000, price_1, busy, 562500);
	source_step(normal, 1, 500000, free_2, busy, 687500);
	source_step(normal, 2, 500000, free_2, busy, 875000);
	/* kappa pi = 2 is cut to 0.7 = 16 kappa', kappa' = 0.04375: x (1 - 0.7) + 0.04375 C */
	source_step(normal, 1, 500000, price_16, busy, 193750);
}

static void source_that_does_not_use_its_limit_steps_from_what_it_sends(void **state)
{
	static const struct param printed[] = { { "normalise", 0 },
						{ "step_max_ppb", 0 },
						{ NULL, 0 } };
	const struct cc_feedback price_2 = { .signal = 2 * ONE_Q20, .share = 3 * ONE_Q16 };

	(void)state;
	/* 80 packets in 1 ms: 80000 + (1000000 - 160000) / 8 */
	source_step(printed, 1, 900000, price_2, (struct cc_usage){ .sent_units = 80 }, 185000);
	/* idle: kappa W C */
	source_step(printed, 1, 900000, price_2, (struct cc_usage){ .sent_units = 0 }, 125000);
	/*
	 * a burst within the bucket is not a rate above the limit: 100000 + (1000000 - 200000) / 8
	 */
	source_step(printed, 1, 100000, price_2, (struct cc_usage){ .sent_units = 400 }, 200000);
}

static void source_without_a_price_keeps_its_rate(void **state)
{
	const struct cc_usage busy = { .elapsed_ns = 1000000, .backlogged = true };
	struct cc_config cfg;
	struct cc_ingress in;

	(void)state;
	configure(&cfg, NULL);
	cc_ingress_init(&in, &cfg, 1);
	cc_ingress_tick(&in, &cfg, &busy);
	assert_int_equal(cc_ingress_rate_ups(&in), 333333);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rate_form_price_moves_by_excess_over_rho_c_t),
		cmocka_unit_test(set_point_lowers_the_capacity_of_the_rate_form),
		cmocka_unit_test(queue_form_price_moves_by_growth_and_distance),
		cmocka_unit_test(the_price_stays_below_4096),
		cmocka_unit_test(a_normalised_price_starts_at_rest_and_keeps_its_floor),
		cmocka_unit_test(effective_sources_follow_the_arrivals),
		cmocka_unit_test(a_source_that_falls_silent_leaves_n_by_a_quarter_each_interval),
		cmocka_unit_test(slow_ports_gather_min_frames_before_they_act),
		cmocka_unit_test(source_moves_by_kappa_times_weight_less_payment),
		cmocka_unit_test(source_that_does_not_use_its_limit_steps_from_what_it_sends),
		cmocka_unit_test(source_without_a_price_keeps_its_rate),
	};

	return cmocka_run_group_tests_name("price", tests, NULL, NULL);
}
