/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Single steps of `qcn` against numbers worked out by hand from the pseudo-code at the top of
 * cc/qcn.c: a port of 10 Gb/s counted in bytes, Qeq = 20 frames of 1500.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "cc/cc.h"

#define LINE UINT64_C(1250000000)

static void configure(struct cc_config *cfg)
{
	const struct cc_port port = {
		.capacity_ups = LINE,
		.line_ups = LINE,
		.interval_ns = 1000000,
		.frame_bytes = 1500,
		.units = CC_BYTES,
		.sources = 10,
	};

	assert_int_equal(cc_config_init(cfg, "qcn", &port), 0);
	assert_int_equal(cc_config_set(cfg, "target_frames", 20), 0);
	assert_int_equal(cc_config_set(cfg, "stale_intervals", 1000), 0);
	assert_int_equal(cc_config_prepare(cfg, NULL), 0);
}

static void congestion_point_samples_by_bytes_and_quantises(void **state)
{
	static const struct {
		uint32_t arrived_units, backlog_units;
		uint32_t level;		   /* 0: nobody is told */
		uint32_t next_lo, next_hi; /* when the next sample is wanted */
	} steps[] = {
		{ 149999, 90000, 0, 1, 1 }, /* 1 byte is left of 150000 */
		{ 1, 90000, 0, 1, 1 },	    /* at 0 it is not yet due */
		/* (10000 + 2 * 40000) * 64 / 150000 = 38.4 */
		{ 1, 40000, 38, 25500, 34500 },
		{ 34501, 31000, 0, 127500, 172500 }, /* 1000 - 2 * 9000 */
		/* (30000 + 2 * 29000) * 64 / 150000 = 37.5 */
		{ 172501, 60000, 37, 25500, 34500 },
		{ 34501, 500000, 63, 15682, 21218 }, /* off the scale */
		{ 21219, 500000, 63, 15682, 21218 }, /* a long queue that does not grow */
		{ 21219, 30000, 0, 127500, 172500 }, /* at the target, and falling */
	};
	struct cc_source sources[2] = { { .id = 3, .weight = 1 }, { .id = 4, .weight = 1 } };
	struct cc_config cfg;
	struct cc_egress e;
	struct cc_feedback fb;

	(void)state;
	configure(&cfg);
	cc_egress_init(&e, &cfg);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct cc_sample s = {
			.capacity_ups = LINE,
			.elapsed_ns = 1000,
			.backlog_units = steps[i].backlog_units,
			.last_source = 4,
			.n_sources = 2,
			.sources = sources,
		};
		uint32_t next;

		sources[1].arrived_units = steps[i].arrived_units;
		next = cc_egress_sample(&e, &cfg, &s);
		assert_in_range(next, steps[i].next_lo, steps[i].next_hi);
		assert_false(cc_egress_feedback(&e, &cfg, &s, &sources[0], &fb));
		assert_int_equal(cc_egress_feedback(&e, &cfg, &s, &sources[1], &fb),
				 steps[i].level > 0);
		assert_int_equal(fb.signal, steps[i].level);
		assert_int_equal(fb.addressed, steps[i].level > 0);
		/* At the end of an interval everyone hears that the queue lives. */
		s.timer = true;
		assert_true(cc_egress_feedback(&e, &cfg, &s, &sources[0], &fb));
		assert_int_equal(fb.addressed, 0);
	}
}

/*
 * Of 100 frames that complete a sample, source 3 sent 90 before the timer looked, and source 4 ten
 * after: source 3 is told nine times of ten. 10,000 tries; 5 standard deviations are 150.
 */
static void source_told_is_drawn_from_all_frames_of_the_sample(void **state)
{
	struct cc_source sources[2] = { { .id = 3, .weight = 1 }, { .id = 4, .weight = 1 } };
	struct cc_sample s = { .capacity_ups = LINE,
			       .elapsed_ns = 1000,
			       .backlog_units = 90000,
			       .n_sources = 2,
			       .sources = sources };
	uint32_t wanted = 150000, told[2] = { 0 };
	struct cc_feedback fb;
	struct cc_config cfg;
	struct cc_egress e;

	(void)state;
	configure(&cfg);
	cc_egress_init(&e, &cfg);
	for (int i = 0; i < 10000; i++) {
		sources[0].arrived_units = wanted / 10 * 9;
		sources[1].arrived_units = 0;
		s.last_source = 3;
		s.timer = true;
		cc_egress_sample(&e, &cfg, &s);
		for (uint32_t k = 0; k < 2; k++) {
			cc_egress_feedback(&e, &cfg, &s, &sources[k], &fb);
			assert_int_equal(fb.addressed, 0);
		}
		sources[0].arrived_units = 0;
		sources[1].arrived_units = wanted - wanted / 10 * 9 + 1;
		s.last_source = 4;
		s.timer = false;
		wanted = cc_egress_sample(&e, &cfg, &s);
		for (uint32_t k = 0; k < 2; k++) {
			cc_egress_feedback(&e, &cfg, &s, &sources[k], &fb);
			told[k] += fb.addressed;
		}
	}
	assert_int_equal(told[0] + told[1], 10000);
	assert_in_range(told[0], 8850, 9150);
}

/*
 * A caller that samples once where five samples were due: five draws by shares of the arrivals,
 * whatever the order of the sources. A source with a third of them is in one of five draws or more
 * with the chance 1 - (2/3)^5 = 0.868.
 */
static void rare_samples_draw_once_for_each_that_was_due(void **state)
{
	struct cc_source sources[3] = { { .id = 3 }, { .id = 4 }, { .id = 5 } };
	struct cc_sample s = { .capacity_ups = LINE,
			       .elapsed_ns = 1000,
			       .backlog_units = 10000000, /* qF = 63: a sample each 18450 bytes */
			       .n_sources = 3,
			       .sources = sources,
			       .timer = true };
	uint32_t told[3] = { 0 };
	struct cc_feedback fb;
	struct cc_config cfg;
	struct cc_egress e;

	(void)state;
	configure(&cfg);
	for (uint32_t i = 0; i < 10000; i++) {
		cfg.port.seed = (uint16_t)i;
		cc_egress_init(&e, &cfg);
		/* 150000 are due at first, then four times 18450: 223801 */
		for (uint32_t k = 0; k < 3; k++)
			sources[k].arrived_units = 74601;
		s.last_source = (uint16_t)(3 + i % 3);
		cc_egress_sample(&e, &cfg, &s);
		for (uint32_t k = 0; k < 3; k++) {
			cc_egress_feedback(&e, &cfg, &s, &sources[k], &fb);
			told[k] += fb.addressed;
		}
	}
	for (uint32_t k = 0; k < 3; k++)
		assert_in_range(told[k], 8510, 8850); /* 5 standard deviations are 170 */
}

static void tell(struct cc_ingress *in, const struct cc_config *cfg, uint32_t level)
{
	const struct cc_feedback fb = { .capacity_ups = LINE,
					.algorithm = CC_QCN,
					.seq = in->seq + 1,
					.signal = level,
					.addressed = level > 0 };

	assert_int_equal(cc_ingress_feedback(in, cfg, &fb), 0);
}

/* Send until the rate moves: one byte cycle. */
static uint32_t byte_cycle(struct cc_ingress *in, const struct cc_config *cfg)
{
	uint64_t before = in->rate_q16;
	uint32_t sent = 0;

	while (in->rate_q16 == before && sent < 1000000) {
		cc_ingress_sent(in, cfg, 100);
		sent += 100;
	}
	return sent;
}

/* Let time pass until the rate moves: one timer cycle. */
static void timer_cycle(struct cc_ingress *in, const struct cc_config *cfg)
{
	const struct cc_usage usage = { .elapsed_ns = 10000 };
	uint64_t before = in->rate_q16;

	for (int i = 0; i < 1725 && in->rate_q16 == before; i++)
		cc_ingress_tick(in, cfg, &usage);
}

static void start(struct cc_ingress *in, const struct cc_config *cfg, uint64_t rate_ups)
{
	cc_ingress_init(in, cfg, 1);
	in->rate_q16 = rate_ups << 16;
	cc_ingress_switch(in, cfg);
}

static void reaction_point_cuts_recovers_and_probes_by_bytes(void **state)
{
	static const uint64_t recovery[] = { 87500000, 93750000, 96875000, 98437500, 99531250 };
	struct cc_config cfg;
	struct cc_ingress in;

	(void)state;
	configure(&cfg);
	start(&in, &cfg, 100000000);
	tell(&in, &cfg, 0);
	assert_int_equal(cc_ingress_rate_ups(&in), 100000000); /* news is not a cut */
	tell(&in, &cfg, 32);
	assert_int_equal(cc_ingress_rate_ups(&in), 75000000); /* 1 - 32 / 128 */
	/* Four halvings of the way back, then 0.05 % of the capacity on top before the fifth. */
	for (size_t i = 0; i < 5; i++) {
		assert_in_range(byte_cycle(&in, &cfg), 127500, 172600);
		assert_int_equal(cc_ingress_rate_ups(&in), recovery[i]);
	}
	/* Past fast recovery a cycle has half the length: (99.53125 + 101.25) / 2. */
	assert_in_range(byte_cycle(&in, &cfg), 63700, 86300);
	assert_int_equal(cc_ingress_rate_ups(&in), 100390625);
}

/* A cycle has 127,500 to 172,500 bytes, the first one 150,000: 330,000 bytes end two. */
static void bytes_beyond_a_cycle_count_for_the_next(void **state)
{
	struct cc_config cfg;
	struct cc_ingress in;

	(void)state;
	configure(&cfg);
	start(&in, &cfg, 100000000);
	tell(&in, &cfg, 32);
	cc_ingress_sent(&in, &cfg, 330000);
	assert_int_equal(cc_ingress_rate_ups(&in), 93750000);
	assert_in_range(byte_cycle(&in, &cfg), 75000, 165000);
}

/* Ticks of 0.1, 1, 5 and 50 ms end the same cycles in a second. */
static void timer_cycles_do_not_depend_on_the_interval(void **state)
{
	static const uint32_t ticks_us[] = { 100, 1000, 5000, 50000 };
	uint64_t rate[4];
	struct cc_config cfg;
	struct cc_ingress in;

	(void)state;
	configure(&cfg);
	assert_int_equal(cc_config_set(&cfg, "stale_intervals", 100000), 0);
	assert_int_equal(cc_config_prepare(&cfg, NULL), 0);
	for (size_t k = 0; k < 4; k++) {
		const struct cc_usage usage = { .elapsed_ns = ticks_us[k] * 1000 };

		start(&in, &cfg, 100000000);
		tell(&in, &cfg, 32);
		for (uint32_t us = 0; us < 1000000; us += ticks_us[k])
			cc_ingress_tick(&in, &cfg, &usage);
		rate[k] = in.rate_q16;
		assert_int_equal(rate[k], rate[0]);
	}
	/* About 5 + (1000 - 75) / 7.5 = 128 cycles: 123 or so add 0.625 to 100 MB/s. */
	assert_in_range(rate[0] >> 16, 170000000, 183000000);
}

static void both_counts_past_recovery_increase_faster(void **state)
{
	struct cc_config cfg;
	struct cc_ingress in;

	(void)state;
	configure(&cfg);
	start(&in, &cfg, 100000000);
	tell(&in, &cfg, 32);
	for (int i = 0; i < 4; i++)
		byte_cycle(&in, &cfg);
	for (int i = 0; i < 4; i++)
		timer_cycle(&in, &cfg); /* 99.90234375 by now */
	assert_int_equal(cc_ingress_rate_ups(&in), 99902343);
	timer_cycle(&in, &cfg); /* the fifth of the timer alone: TR = 100.625 */
	assert_int_equal(cc_ingress_rate_ups(&in), 100263671);
	byte_cycle(&in, &cfg); /* both at 5: TR = 106.875 */
	assert_int_equal(cc_ingress_rate_ups(&in), 103569335);
}

static void told_again_at_once_keeps_the_target_and_a_far_target_is_reduced(void **state)
{
	struct cc_config cfg;
	struct cc_ingress in;

	(void)state;
	configure(&cfg);
	start(&in, &cfg, 100000000);
	for (int i = 0; i < 4; i++)
		tell(&in, &cfg, 63); /* times 65/128 each: 6649876 */
	assert_int_equal(cc_ingress_rate_ups(&in), 6649876);
	byte_cycle(&in, &cfg); /* TR 100e6 is above 10 CR: 12.5e6; (6.6498760 + 12.5) / 2 */
	assert_int_equal(cc_ingress_rate_ups(&in), 9574938);
	tell(&in, &cfg, 63); /* after a cycle the target is where the rate was */
	byte_cycle(&in, &cfg);
	assert_int_equal(cc_ingress_rate_ups(&in), 7218605); /* 9.574938 (65/128 + 1) / 2 */
}

static void source_at_the_line_has_no_limiter(void **state)
{
	const struct cc_usage cycle = { .elapsed_ns = 17250001 };
	struct cc_config cfg;
	struct cc_ingress in;

	(void)state;
	configure(&cfg);
	start(&in, &cfg, LINE);
	cc_ingress_sent(&in, &cfg, 1000000);
	cc_ingress_tick(&in, &cfg, &cycle);
	assert_int_equal(cc_ingress_rate_ups(&in), LINE);
	tell(&in, &cfg, 32);
	assert_int_equal(cc_ingress_rate_ups(&in), LINE / 4 * 3);
	for (int i = 0; i < 60; i++)
		byte_cycle(&in, &cfg);
	assert_int_equal(cc_ingress_rate_ups(&in), LINE); /* all the way back */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(congestion_point_samples_by_bytes_and_quantises),
		cmocka_unit_test(source_told_is_drawn_from_all_frames_of_the_sample),
		cmocka_unit_test(rare_samples_draw_once_for_each_that_was_due),
		cmocka_unit_test(reaction_point_cuts_recovers_and_probes_by_bytes),
		cmocka_unit_test(bytes_beyond_a_cycle_count_for_the_next),
		cmocka_unit_test(timer_cycles_do_not_depend_on_the_interval),
		cmocka_unit_test(both_counts_past_recovery_increase_faster),
		cmocka_unit_test(told_again_at_once_keeps_the_target_and_a_far_target_is_reduced),
		cmocka_unit_test(source_at_the_line_has_no_limiter),
	};

	return cmocka_run_group_tests_name("qcn", tests, NULL, NULL);
}
