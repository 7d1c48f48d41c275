/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `dcqcn` against the rules of the paper (Zhu et al., SIGCOMM 2015: RED in Figure 5, equations 1 to
 * 4, Figure 7) in floating point, with the paper's numbers at 40 Gb/s and 50 us.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cc/cc.h"

#define C     5e9 /* bytes/s */
#define MTU   1000
#define KMIN  5e3
#define KMAX  200e3
#define PMAX  0.01
#define G     (1 / 256.0)
#define F     5
#define TIMER 55e-6
#define BYTES 10e6
#define RAI   5e6 /* 40 Mb/s */
#define RHAI  50e6

static void configure(struct cc_config *cfg)
{
	const struct cc_port port = {
		.capacity_ups = (uint64_t)C,
		.line_ups = (uint64_t)C,
		.interval_ns = 50000,
		.frame_bytes = MTU,
		.units = CC_BYTES,
		.sources = 2,
		.seed = 11,
	};

	assert_int_equal(cc_config_init(cfg, "dcqcn", &port), 0);
	assert_int_equal(cc_config_prepare(cfg, NULL), 0);
}

/* How often of 20,000 intervals with so many frames a source is told. */
static double told(uint32_t queue_bytes, uint32_t frames)
{
	struct cc_source sources[2] = { { .id = 70, .weight = 1, .arrived_units = frames * MTU },
					{ .id = 71, .weight = 1 } };
	const struct cc_sample s = { .capacity_ups = (uint64_t)C,
				     .elapsed_ns = 50000,
				     .backlog_units = queue_bytes,
				     .n_sources = 2,
				     .sources = sources,
				     .timer = true };
	struct cc_config cfg;
	struct cc_egress e;
	uint32_t n = 0;

	configure(&cfg);
	cc_egress_init(&e, &cfg);
	for (int k = 0; k < 20000; k++) {
		struct cc_feedback fb;

		cc_egress_sample(&e, &cfg, &s);
		assert_true(cc_egress_feedback(&e, &cfg, &s, &sources[1], &fb));
		assert_int_equal(fb.addressed, 0); /* it sent nothing */
		assert_true(cc_egress_feedback(&e, &cfg, &s, &sources[0], &fb));
		n += fb.addressed;
	}
	return n / 20000.0;
}

static void marks_follow_the_line_of_red(void **state)
{
	static const uint32_t queues[] = { 0, 5000, 44000, 102500, 180000, 200000, 200001, 900000 };
	static const uint32_t frames[] = { 1, 30, 250 };

	(void)state;
	for (size_t i = 0; i < sizeof(queues) / sizeof(queues[0]); i++)
		for (size_t j = 0; j < sizeof(frames) / sizeof(frames[0]); j++) {
			double q = queues[i], p, want, sd, got = told(queues[i], frames[j]);

			p = q <= KMIN ? 0 : q > KMAX ? 1 : (q - KMIN) / (KMAX - KMIN) * PMAX;
			want = 1 - pow(1 - p, frames[j]);
			sd = sqrt(want * (1 - want) / 20000);
			if (fabs(got - want) > 4 * sd + 1e-6)
				fail_msg("queue %.0f, %u frames: told %.4f of the time, %.4f due",
					 q, frames[j], got, want);
		}
}

struct paper {
	double rc, rt, alpha, timer, alpha_timer, bytes;
	int t, b;
};

static void paper_start(struct paper *p)
{
	p->t = p->b = 0;
	p->timer = p->alpha_timer = TIMER;
	p->bytes = BYTES;
}

static void paper_increase(struct paper *p, int weight)
{
	int low = p->t < p->b ? p->t : p->b, high = p->t > p->b ? p->t : p->b;

	if (high < F)
		; /* fast recovery */
	else if (low > F)
		p->rt += (low - F) * RHAI * weight;
	else
		p->rt += RAI * weight;
	p->rt = fmin(p->rt, C);
	p->rc = (p->rt + p->rc) / 2;
}

static void paper_tick(struct paper *p, double seconds, int weight)
{
	p->alpha_timer -= seconds;
	p->timer -= seconds;
	if (p->alpha_timer <= 1e-12) {
		p->alpha *= 1 - G;
		p->alpha_timer += TIMER;
	}
	if (p->timer <= 1e-12) {
		p->timer += TIMER;
		p->t++;
		paper_increase(p, weight);
	}
}

/* CNPs at random, seldom enough for all three phases, and more in some times. */
static void rate_follows_the_paper(void **state)
{
	(void)state;
	for (uint16_t weight = 1; weight <= 4; weight += 3) {
		struct paper p = { .rc = C / 2, .rt = C / 2, .alpha = 1 };
		const struct cc_usage usage = { .elapsed_ns = 50000 };
		struct cc_config cfg;
		struct cc_ingress in;
		bool hyper = false;

		configure(&cfg);
		cc_ingress_init(&in, &cfg, weight);
		paper_start(&p);
		srandom(5);
		for (int k = 0; k < 20000; k++) {
			const struct cc_feedback fb = {
				.capacity_ups = (uint64_t)C,
				.algorithm = CC_DCQCN,
				.seq = (uint32_t)k,
				.addressed = random() % (k / 2000 % 2 ? 20 : 900) == 0
			};
			uint32_t sent = (uint32_t)(p.rc * 50e-6);

			cc_ingress_sent(&in, &cfg, sent);
			p.bytes -= sent;
			if (p.bytes <= 0) {
				p.bytes += BYTES;
				p.b++;
				paper_increase(&p, weight);
			}
			assert_int_equal(cc_ingress_feedback(&in, &cfg, &fb), 0);
			if (fb.addressed) {
				p.rt = p.rc;
				p.rc *= 1 - p.alpha / 2;
				p.alpha = (1 - G) * p.alpha + G;
				paper_start(&p);
			}
			cc_ingress_tick(&in, &cfg, &usage);
			paper_tick(&p, 50e-6, weight);
			p.rc = fmax(p.rc, (double)cfg.floor_q16 / 65536);
			hyper |= p.t > F && p.b > F;
			if (fabs((double)in.rate_q16 / 65536 - p.rc) > 1e-4 * p.rc + 10)
				fail_msg("interval %d: %.0f, the paper says %.0f", k,
					 (double)in.rate_q16 / 65536, p.rc);
		}
		assert_true(hyper);
	}
}

/* Equation 1 with alpha 1: half; five steps of fast recovery leave 1/64 of that. */
static void first_cut_is_half_and_fast_recovery_takes_it_back(void **state)
{
	const struct cc_feedback fb = {
		.capacity_ups = (uint64_t)C, .algorithm = CC_DCQCN, .seq = 1, .addressed = 1
	};
	const struct cc_usage usage = { .elapsed_ns = 55000 };
	struct cc_config cfg;
	struct cc_ingress in;

	(void)state;
	configure(&cfg);
	cc_ingress_init(&in, &cfg, 1);
	assert_int_equal(cc_ingress_feedback(&in, &cfg, &fb), 0);
	assert_int_equal(cc_ingress_rate_ups(&in), C / 4);
	for (int k = 1; k < F; k++) {
		cc_ingress_tick(&in, &cfg, &usage);
		assert_int_equal(cc_ingress_rate_ups(&in), C / 2 - C / 4 / (1 << k));
	}
}

static void red_without_a_slope_is_refused(void **state)
{
	const char *why = NULL;
	struct cc_config cfg;

	(void)state;
	configure(&cfg);
	assert_int_equal(cc_config_set(&cfg, "kmin_ppb", 800000000), 0);
	assert_int_equal(cc_config_prepare(&cfg, &why), -EINVAL);
	assert_string_equal(why, "kmin_ppb: not below kmax_ppb");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(marks_follow_the_line_of_red),
		cmocka_unit_test(rate_follows_the_paper),
		cmocka_unit_test(first_cut_is_half_and_fast_recovery_takes_it_back),
		cmocka_unit_test(red_without_a_slope_is_refused),
	};

	return cmocka_run_group_tests_name("dcqcn", tests, NULL, NULL);
}
