/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `swift` against Algorithm 1 and equation 2 (flow scaling) of the paper (Kumar et al., SIGCOMM
 * 2020) in floating point.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cc/sim/model.h"
#include "tests/lib/cc_rig.h"

#define C	CC_RIG_C
#define T	0.001
#define BASE	(0.130804447 * T)
#define RANGE	(0.654022235 * T)
#define F_MIN	0.001
#define F_MAX	1.0
#define AI	(0.01 * C * T)
#define BETA	0.8
#define MAX_MDF 0.5
#define RTT	(2 * T)
#define N	10

static void configure(struct cc_config *cfg)
{
	cc_rig_init(cfg, "swift", N);
	assert_int_equal(cc_config_prepare(cfg, NULL), 0);
}

static double target(double window)
{
	double a = RANGE / (1 / sqrt(F_MIN) - 1 / sqrt(F_MAX)), b = -a / sqrt(F_MAX);

	return BASE + fmax(0, fmin(a / sqrt(window / (C * T)) + b, RANGE));
}

/* The paper's window, and its clock. */
struct paper {
	double window, since;
};

static void paper_tick(struct paper *p, double delay, bool lost, double acknowledged, int weight)
{
	double rtt = RTT + delay;
	bool can = p->since >= rtt;

	if (lost) {
		if (can)
			p->window *= 1 - MAX_MDF;
	} else if (delay < target(p->window)) {
		p->window += AI * weight * acknowledged / p->window;
		can = false;
	} else if (can) {
		p->window *= fmax(1 - BETA * (delay - target(p->window)) / delay, 1 - MAX_MDF);
	}
	if (can)
		p->since = 0;
}

/* Random delays from 0 to 3 targets, losses now and then, sources with more and less to send. */
static void each_interval_is_algorithm_1(void **state)
{
	(void)state;
	for (uint16_t weight = 1; weight <= 5; weight += 4) {
		struct paper paper = { .window = C / N * RTT };
		struct cc_config cfg;
		struct cc_ingress in;
		struct cc_egress e;

		configure(&cfg);
		cc_egress_init(&e, &cfg);
		cc_ingress_init(&in, &cfg, weight);
		srandom(4);
		for (int k = 0; k < 4000; k++) {
			/* Phases in which the windows grow, so that all sizes come. */
			bool quiet = k / 200 % 2 == 0;
			uint32_t queue = (uint32_t)(quiet ? random() % 150 : random() % 1200 | 1);
			bool lost = !quiet && random() % 20 == 0;
			double delay, rtt, line, due = target(paper.window);
			struct cc_feedback fb;
			struct cc_usage usage = { .elapsed_ns = 1000000 };

			/* So near the target, roundings would decide. */
			while (fabs(queue / C - due) < 0.005 * due)
				queue += 3;
			delay = queue / C;
			rtt = RTT + delay;
			fb = cc_rig_record(&e, &cfg,
					   (struct cc_sample){ .backlog_units = queue,
							       .dropped_units = lost ? 7 : 0 });
			usage.sent_units = (uint32_t)(paper.window / rtt * T / (1 + random() % 2));
			if (random() % 10) {
				assert_int_equal(cc_ingress_feedback(&in, &cfg, &fb), 0);
				paper.since += T;
				paper_tick(&paper, delay, lost, usage.sent_units, weight);
			} else { /* the record is lost: nothing changes */
				paper.since += T;
				cc_ingress_tick(&in, &cfg, &usage);
				continue;
			}
			cc_ingress_tick(&in, &cfg, &usage);
			line = fmin(fmax(paper.window / rtt, (double)cfg.floor_q16 / 65536), C);
			if (fabs((double)in.rate_q16 / 65536 - line) > 2e-3 * line + 1)
				fail_msg("interval %d: %.2f, algorithm 1 says %.2f", k,
					 (double)in.rate_q16 / 65536, line);
			paper.window = (double)in.rate_q16 / 65536 * rtt;
		}
	}
}

/* Equation 2: the largest window that still grows at a delay is the one with that target. */
static void smaller_windows_have_longer_targets(void **state)
{
	static const double windows[] = { 0.0002, 0.001, 0.004, 0.01, 0.1, 0.5, 1, 1.5 };
	struct cc_config cfg;

	(void)state;
	configure(&cfg);
	assert_int_equal(cc_config_set(&cfg, "floor_ppb", 1), 0);
	assert_int_equal(cc_config_prepare(&cfg, NULL), 0);
	for (size_t k = 0; k < sizeof(windows) / sizeof(windows[0]); k++) {
		for (int above = 0; above < 2; above++) {
			double delay = target(windows[k] * C * T) * (above ? 1.02 : 0.98), before;
			const struct cc_usage usage = { .elapsed_ns = 10000000, .sent_units = 100 };
			struct cc_ingress in;
			struct cc_egress e;
			struct cc_feedback fb;

			cc_egress_init(&e, &cfg);
			cc_ingress_init(&in, &cfg, 1);
			in.rate_q16 = (uint64_t)(windows[k] * C * T / (RTT + delay) * 65536);
			before = (double)in.rate_q16;
			fb = cc_rig_record(
				&e, &cfg,
				(struct cc_sample){ .backlog_units = (uint32_t)(delay * C) });
			assert_int_equal(cc_ingress_feedback(&in, &cfg, &fb), 0);
			cc_ingress_tick(&in, &cfg, &usage);
			if (((double)in.rate_q16 > before) == above)
				fail_msg("window %g at %.3f of its target: %.2f after %.2f",
					 windows[k], above ? 1.02 : 0.98,
					 (double)in.rate_q16 / 65536, before / 65536);
		}
	}
}

static void flow_scaling_without_a_span_is_refused(void **state)
{
	const char *why = NULL;
	struct cc_config cfg;

	(void)state;
	configure(&cfg);
	assert_int_equal(cc_config_set(&cfg, "flow_max_ppb", 1000000), 0);
	assert_int_equal(cc_config_prepare(&cfg, &why), -EINVAL);
	assert_string_equal(why, "flow_max_ppb: less than twice flow_min_ppb");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_interval_is_algorithm_1),
		cmocka_unit_test(smaller_windows_have_longer_targets),
		cmocka_unit_test(flow_scaling_without_a_span_is_refused),
	};

	return cmocka_run_group_tests_name("swift", tests, NULL, NULL);
}
