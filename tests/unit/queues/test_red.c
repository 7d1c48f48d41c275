/* SPDX-License-Identifier: BSD-2-Clause */
/* red against the paper: figure 2 in floating point, equation 3, and the gaps of section 7. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>

#include "tests/lib/flow_rig.h"

#define FRAME 1000

/* The average is the first word of red's state, with 16 fraction bits. */
static double average_bytes(const struct flow_rig *rig)
{
	return (double)rig->port->priv[0] / 65536;
}

static void the_average_follows_figure_2_also_over_idle_times(void **state)
{
	const struct fq_shape shape = flow_shape(1, 200); /* 1 MB/s: a full frame takes 1 ms */
	const double w = 0.002;
	double avg = 0, idle_since = 0;
	uint64_t now = 0;
	struct flow_rig rig;
	int idles = 0;

	(void)state;
	srandom(5);
	flow_rig_open(&rig, "red", &shape, "weight_ppb=2000000", "min_ppb=50000000",
		      "max_ppb=500000000", NULL);
	for (int i = 0; i < 100000; i++) {
		now += 1 + (uint64_t)random() % 900000;
		if (i / 500 % 2 ? random() % 3 > 0 : random() % 4 == 0) {
			const double q = rig.port->n_bytes;

			if (rig.port->n_frames > 0) {
				avg = (1 - w) * avg + w * q;
			} else {
				const double m = floor((now - idle_since) / 1e6);

				avg = pow(1 - w, m) * avg;
				idles += m > 0;
			}
			flow_put(&rig, 0, 60 + (uint32_t)random() % 900, now);
			assert_true(fabs(average_bytes(&rig) - avg) <= 0.01 + avg * 1e-6);
		} else if (flow_get(&rig, now) >= 0 && rig.port->n_frames == 0) {
			idle_since = (double)now;
		}
	}
	assert_true(idles > 100 && rig.dropped[FQ_EARLY] > 100);
	flow_rig_close(&rig);
}

/* Equation 3, for a queue that grows by a frame with each arrival: its example is w = 0.001. */
static void a_burst_of_l_frames_raises_the_average_as_equation_3_says(void **state)
{
	const struct fq_shape shape = flow_shape(1, 10000);
	struct flow_rig rig;

	(void)state;
	flow_rig_open(&rig, "red", &shape, NULL);
	for (int i = 0; i <= 1000; i++) /* the arrival that finds 1,000 frames is the 1,001st */
		flow_put(&rig, 0, FRAME, 0);
	for (int l = 1000; l < 1100; l++) {
		const double wanted = l + 1 + (pow(1 - 0.001, l + 1) - 1) / 0.001;

		assert_true(fabs(average_bytes(&rig) / FRAME - wanted) < 1e-3);
		flow_put(&rig, 0, FRAME, 0);
	}
	assert_int_equal(rig.n_drops, 0);
	flow_rig_close(&rig);
}

/* With w = 1 the average is the queue, which is held at `frames` frames. Gaps between signals. */
static void gaps(struct flow_rig *rig, uint32_t frames, uint32_t *n, uint32_t max, int signals)
{
	uint32_t gap = 0;

	while (rig->port->n_frames < frames) /* the frames before are signalled, too */
		flow_put(rig, 0, FRAME, 0);
	flow_rig_clear(rig);
	for (int i = -1; i < signals;) {
		gap++;
		flow_put(rig, 0, FRAME, 0);
		if (rig->n_drops == 0) {
			flow_get(rig, 0);
			continue;
		}
		flow_rig_clear(rig);
		assert_in_range(gap, 1, max);
		if (i++ >= 0) /* the first one began before the average was this */
			n[gap]++;
		gap = 0;
	}
}

static void gaps_between_signals_are_uniform_up_to_1_by_p_b(void **state)
{
	/* min_th 20, max_th 100 of 100 frames, max_p 0.1: p_b is 0.1 * (q - 20) / 80. */
	static const struct {
		uint32_t frames, longest;
	} cases[] = { { 60, 20 }, { 84, 13 }, { 36, 50 }, { 22, 400 } };
	const struct fq_shape shape = flow_shape(1, 100);

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		enum { SIGNALS = 40000 };
		const double p_b = 0.1 * (cases[c].frames - 20) / 80;
		uint32_t n[402] = { 0 };
		double chi2 = 0, whole = floor(1 / p_b);
		struct flow_rig rig;

		flow_rig_open(&rig, "red", &shape, "weight_ppb=1000000000", "max_p_ppb=100000000",
			      NULL);
		gaps(&rig, cases[c].frames, n, cases[c].longest, SIGNALS);
		/* Each gap up to 1 / p_b has probability p_b; what is left goes to the next. */
		for (uint32_t gap = 1; gap <= (uint32_t)whole; gap++) {
			const double wanted = SIGNALS * p_b;

			chi2 += (n[gap] - wanted) * (n[gap] - wanted) / wanted;
		}
		/* Mean `whole`, standard deviation sqrt(2 whole): five of them. */
		assert_true(chi2 < whole + 5 * sqrt(2 * whole));
		flow_rig_close(&rig);
	}
}

/* Gaps behind max_th, where p_b is 1 or, gentle, on its way to 1. */
static double mean_gap(uint32_t frames, const char *gentle, int signals)
{
	const struct fq_shape shape = flow_shape(1, 100);
	uint32_t n[402] = { 0 };
	double sum = 0;
	struct flow_rig rig;

	flow_rig_open(&rig, "red", &shape, "weight_ppb=1000000000", "max_p_ppb=100000000",
		      "min_ppb=200000000", "max_ppb=400000000", gentle, NULL);
	gaps(&rig, frames, n, 400, signals);
	for (uint32_t gap = 1; gap < 402; gap++)
		sum += (double)gap * n[gap];
	flow_rig_close(&rig);
	return sum / signals;
}

static void from_max_th_on_all_are_discarded_unless_gentle(void **state)
{
	struct flow_rig rig;
	const struct fq_shape shape = flow_shape(1, 100);

	(void)state;
	/* Halfway to twice max_th: p_b = 0.1 + 0.9 / 2. Gaps are 1 with 0.55, else 2. */
	assert_true(fabs(mean_gap(60, "gentle=1", 40000) - (0.55 + 2 * 0.45)) < 0.01);
	assert_true(fabs(mean_gap(79, "gentle=1", 40000) - 1) < 0.05);
	/* Below max_th it changes nothing: p_b is 0.05, gaps are uniform to 20. */
	assert_true(fabs(mean_gap(30, "gentle=1", 40000) - 10.5) < 0.2);
	assert_true(fabs(mean_gap(30, "gentle=0", 40000) - 10.5) < 0.2);

	flow_rig_open(&rig, "red", &shape, "weight_ppb=1000000000", "max_p_ppb=1",
		      "min_ppb=200000000", "max_ppb=400000000", "gentle=0", NULL);
	for (int i = 0; i < 60; i++)
		flow_put(&rig, 0, FRAME, 0);
	assert_int_equal(rig.port->n_frames, 40);
	flow_rig_close(&rig);
}

static void a_sender_that_knows_ecn_is_marked_below_max_th_and_discarded_from_there(void **state)
{
	const struct fq_shape shape = flow_shape(1, 100);
	int marks = 0, frames = 0;
	struct fq_frame out;
	struct flow_rig rig;

	(void)state;
	flow_rig_open(&rig, "red", &shape, "weight_ppb=1000000000", "max_p_ppb=1000000000",
		      "min_ppb=200000000", "max_ppb=400000000", NULL);
	for (int i = 0; i < 60; i++)
		flow_put_ect(&rig, 0, FRAME, 0);
	assert_int_equal(rig.dropped[FQ_EARLY], 20);
	for (; fq_dequeue(rig.port, 0, &out) != FQ_NONE; frames++) {
		marks += out.ce;
		assert_true(!out.ce || frames > 20); /* those that found up to 20 frames pass */
	}
	assert_int_equal(frames, 40);
	assert_in_range(marks, 8, 18); /* p_b rises from 0 to 0.95 */
	/* Without ECN the same signals are losses. */
	for (int i = 0; i < 40; i++)
		flow_put(&rig, 0, FRAME, 0);
	while (fq_dequeue(rig.port, 0, &out) != FQ_NONE)
		assert_false(out.ce);
	flow_rig_close(&rig);
}

static void a_full_buffer_discards_whatever_the_average(void **state)
{
	const struct fq_shape shape = flow_shape(1, 100);
	struct flow_rig rig;

	(void)state;
	flow_rig_open(&rig, "red", &shape, "weight_ppb=1", NULL);
	for (int i = 0; i < 100; i++)
		flow_put_ect(&rig, 0, FRAME, 0);
	flow_expect_no_drop(&rig);
	flow_expect_drop(&rig, flow_put_ect(&rig, 0, FRAME, 0), 0, FQ_FULL);
	flow_rig_close(&rig);
}

static void thresholds_in_the_wrong_order_are_refused(void **state)
{
	const struct fq_shape shape = flow_shape(1, 100);
	struct fq_config cfg;
	const char *why;

	(void)state;
	assert_int_equal(fq_config_init(&cfg, "red", &shape), 0);
	assert_int_equal(fq_config_set(&cfg, "max_ppb", 200000000), 0);
	assert_int_equal(fq_config_prepare(&cfg, &why), -EINVAL);
	assert_non_null(why);
	assert_int_equal(fq_config_set(&cfg, "max_ppb", 200010000), 0); /* a byte of 100,000 */
	assert_int_equal(fq_config_prepare(&cfg, &why), 0);
	assert_null(why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_average_follows_figure_2_also_over_idle_times),
		cmocka_unit_test(a_burst_of_l_frames_raises_the_average_as_equation_3_says),
		cmocka_unit_test(gaps_between_signals_are_uniform_up_to_1_by_p_b),
		cmocka_unit_test(from_max_th_on_all_are_discarded_unless_gentle),
		cmocka_unit_test(
			a_sender_that_knows_ecn_is_marked_below_max_th_and_discarded_from_there),
		cmocka_unit_test(a_full_buffer_discards_whatever_the_average),
		cmocka_unit_test(thresholds_in_the_wrong_order_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
