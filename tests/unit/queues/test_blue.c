/* SPDX-License-Identifier: BSD-2-Clause */
/* blue against the paper's two events, with a link that says every millisecond that it is idle. */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>

#include "tests/lib/flow_rig.h"

#define MS UINT64_C(1000000)

/* The probability is the first word of blue's state, with 32 fraction bits. */
static double p_m(const struct flow_rig *rig)
{
	return (double)rig->port->priv[0] / 4294967296.0;
}

static void the_probability_moves_by_loss_and_idle_events(void **state)
{
	const double d1 = 0.02, d2 = 0.002;
	const int freeze_ms = 10;
	const struct fq_shape shape = flow_shape(1, 4);
	double p = 0, highest = 0;
	int last_ms = 0, falls = 0, rises = 0;
	struct flow_rig rig;

	(void)state;
	srandom(9);
	flow_rig_open(&rig, "blue", &shape, "increase_ppb=20000000", "decrease_ppb=2000000",
		      "freeze_us=10000", NULL);
	for (int ms = 0; ms < 300000; ms++) {
		const uint64_t full = rig.dropped[FQ_FULL];
		const int is_busy = ms / 3000 % 2;
		int idle = rig.port->n_frames == 0;

		if (random() % 8 < (is_busy ? 6 : 1)) {
			if (idle && ms - last_ms >= freeze_ms) {
				falls += p > 0;
				p = p > d2 ? p - d2 : 0;
				last_ms = ms;
			}
			flow_put(&rig, 0, 100, (uint64_t)ms * MS);
			if (rig.dropped[FQ_FULL] > full && ms - last_ms >= freeze_ms) {
				p += d1;
				last_ms = ms;
				rises++;
			}
			assert_true(fabs(p_m(&rig) - p) < 1e-5);
			highest = fmax(highest, p);
			continue;
		}
		flow_get(&rig, (uint64_t)ms * MS);
		idle = rig.port->n_frames == 0;
		if (idle && ms - last_ms >= freeze_ms) {
			falls += p > 0;
			p = p > d2 ? p - d2 : 0;
			last_ms = ms;
		}
	}
	assert_true(rises > 50 && falls > 500 && highest > 0.2 && highest < 1);
	flow_rig_close(&rig);
}

static void the_probability_stays_within_0_and_1(void **state)
{
	const struct fq_shape shape = flow_shape(1, 1);
	struct flow_rig rig;
	uint64_t now = 0;

	(void)state;
	flow_rig_open(&rig, "blue", &shape, "increase_ppb=300000000", "decrease_ppb=1000000000",
		      "freeze_us=1", NULL);
	flow_put(&rig, 0, 100, now);
	for (int i = 0; i < 100; i++)
		flow_put(&rig, 0, 100, now += 1000);
	assert_true(p_m(&rig) == 1);
	assert_int_equal(flow_get(&rig, now), 0);
	flow_put(&rig, 0, 100, now += 1000 * MS);
	assert_true(p_m(&rig) == 0);
	assert_int_equal(rig.port->n_frames, 1);
	flow_rig_close(&rig);
}

/* One loss sets p_m; then signals are counted among arrivals that always fit. */
static void arrivals_are_signalled_with_the_probability(void **state)
{
	enum { ARRIVALS = 100000 };
	const struct fq_shape shape = flow_shape(1, 2);

	(void)state;
	for (int ect = 0; ect < 2; ect++) {
		const double p = 0.07, sd = sqrt(ARRIVALS * p * (1 - p));
		uint64_t signals = 0;
		struct fq_frame out;
		struct flow_rig rig;

		flow_rig_open(&rig, "blue", &shape, "increase_ppb=70000000", NULL);
		flow_put(&rig, 0, 100, 0);
		flow_put(&rig, 0, 100, 0);
		flow_put(&rig, 0, 100, 500 * MS); /* is lost, so p_m rises */
		flow_expect_drop(&rig, 2, 0, FQ_FULL);
		assert_true(fabs(p_m(&rig) - p) < 1e-9);
		for (int i = 0; i < ARRIVALS; i++) {
			if (rig.port->n_frames == 2) {
				assert_int_equal(fq_dequeue(rig.port, 500 * MS, &out), 0);
				signals += out.ce;
			}
			if (ect)
				flow_put_ect(&rig, 0, 100, 500 * MS);
			else
				flow_put(&rig, 0, 100, 500 * MS);
		}
		assert_int_equal(rig.dropped[FQ_FULL], 1);
		assert_int_equal(signals == 0, !ect);
		assert_int_equal(rig.dropped[FQ_EARLY] == 0, ect);
		signals += rig.dropped[FQ_EARLY];
		assert_true(fabs((double)signals - ARRIVALS * p) < 5 * sd);
		flow_rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_probability_moves_by_loss_and_idle_events),
		cmocka_unit_test(the_probability_stays_within_0_and_1),
		cmocka_unit_test(arrivals_are_signalled_with_the_probability),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
