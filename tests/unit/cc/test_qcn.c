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

static void both_counts_past_recovery_increase_faster(void **state)
{
	const struct cc_usage cycle = { .elapsed_ns = 17250001 };
	struct cc_config cfg;
	struct cc_ingress in;

	(void)state;
	configure(&cfg);
	start(&in, &cfg, 100000000);
	tell(&in, &cfg, 32);
	for (int i = 0; i < 4; i++)
		byte_cycle(&in, &cfg);
	for (int i = 0; i < 4; i++)
		cc_ingress_tick(&in, &cfg, &cycle); /* 99.90234375 by now */
	assert_int_equal(cc_ingress_rate_ups(&in), 99902343);
	cc_ingress_tick(&in, &cfg, &cycle); /* the fifth of the timer alone: TR = 100.625 */
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
		cmocka_unit_test(reaction_point_cuts_recovers_and_probes_by_bytes),
		cmocka_unit_test(bytes_beyond_a_cycle_count_for_the_next),
		cmocka_unit_test(both_counts_past_recovery_increase_faster),
		cmocka_unit_test(told_again_at_once_keeps_the_target_and_a_far_target_is_reduced),
		cmocka_unit_test(source_at_the_line_has_no_limiter),
	};

	return cmocka_run_group_tests_name("qcn", tests, NULL, NULL);
}
