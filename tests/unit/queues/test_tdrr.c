/* SPDX-License-Identifier: BSD-2-Clause */
/* tdrr: the active queue that has sent most, by bytes that fade, loses its head. */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>

#include "tests/lib/flow_rig.h"

#define MS UINT64_C(1000000)

static void the_queue_with_most_throughput_loses_even_if_another_is_longer(void **state)
{
	const struct fq_shape shape = flow_shape(3, 8);
	struct flow_rig rig;

	(void)state;
	flow_rig_open(&rig, "tdrr", &shape, NULL);
	for (int i = 0; i < 20; i++) {
		flow_put(&rig, 1, 1000, 0);
		flow_get(&rig, 0);
	}
	flow_put(&rig, 1, 100, 0); /* handle 20 */
	for (int i = 0; i < 7; i++)
		flow_put(&rig, 0, 1000, 0);
	flow_expect_no_drop(&rig);
	flow_put(&rig, 0, 1000, 0);
	flow_expect_drop(&rig, 20, 1, FQ_PUSHED);
	/* Queue 1 is empty now, and only active queues count. */
	flow_put(&rig, 2, 100, 0);
	assert_int_equal(rig.n_drops, 1);
	assert_int_not_equal(rig.drop[0].queue, 1);
	flow_rig_close(&rig);
}

/* Bytes of a half-life ago count half. */
static void what_was_sent_long_ago_counts_less(void **state)
{
	static const struct {
		uint64_t after_ms;
		uint32_t victim; /* queue 0 sends 1,000 bytes first, queue 1 sends 300 at the end */
	} cases[] = { { 100, 0 }, { 150, 0 }, { 180, 1 }, { 200, 1 }, { 100000, 1 } };
	const struct fq_shape shape = flow_shape(2, 2);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint64_t now = 7 * MS + cases[i].after_ms * MS;
		struct flow_rig rig;

		flow_rig_open(&rig, "tdrr", &shape, "half_life_us=100000", NULL);
		flow_put(&rig, 0, 1000, 7 * MS);
		flow_get(&rig, 7 * MS);
		flow_put(&rig, 1, 300, now);
		flow_get(&rig, now);
		flow_put(&rig, 0, 100, now); /* handle 2 */
		flow_put(&rig, 1, 100, now); /* handle 3 */
		flow_put(&rig, 1 - cases[i].victim, 100, now);
		flow_expect_drop(&rig, 2 + cases[i].victim, cases[i].victim, FQ_PUSHED);
		flow_rig_close(&rig);
	}
}

/* 2^floor(x) (1 + frac(x)): doubles with each half-life, linear in between. */
static double weight(double half_lives)
{
	return ldexp(1 + half_lives - floor(half_lives), (int)floor(half_lives));
}

/* Against sums over what was sent, in floating point; the clock's origin moves on with time. */
static void the_victim_has_the_greatest_sum_of_faded_bytes(void **state)
{
	enum { QUEUES = 20 };
	const struct fq_shape shape = flow_shape(QUEUES, 60);
	double sum[QUEUES] = { 0 };
	int waiting[QUEUES] = { 0 }, victims = 0, not_longest = 0;
	uint64_t now = 0, origin = 0; /* of the weights: when the first frame was sent */
	struct flow_rig rig;

	(void)state;
	srandom(11);
	flow_rig_open(&rig, "tdrr", &shape, "half_life_us=50000", NULL);
	for (int i = 0; i < 100000; i++) {
		const uint32_t q = (uint32_t)(random() % QUEUES * (random() % 5) / 4);
		struct fq_frame out;
		uint32_t from;

		now += (uint64_t)random() % (2 * MS);
		if (i % 1000 == 999)
			now += (uint64_t)random() % (3000 * MS);
		while (origin && now - origin > 5000 * MS) { /* 20 half-lives on */
			origin += 1000 * MS;
			for (int k = 0; k < QUEUES; k++)
				sum[k] = ldexp(sum[k], -20);
		}
		flow_rig_clear(&rig);
		flow_put(&rig, q, 1 + (uint32_t)random() % 1000, now);
		waiting[q]++;
		if (rig.n_drops > 0) {
			const uint32_t victim = rig.drop[0].queue;
			double most = 0;
			int longest = 0;

			for (int k = 0; k < QUEUES; k++) {
				most = fmax(most, waiting[k] > 0 ? sum[k] : 0);
				longest = waiting[k] > longest ? waiting[k] : longest;
			}
			assert_int_equal(rig.n_drops, 1);
			/* The key of the rank has 27 bits of fraction, the weight 16. */
			assert_true(sum[victim] >= most * (1 - 1e-4));
			not_longest += waiting[victim] < longest;
			waiting[victim]--;
			victims++;
		}
		if (random() % 10 >= 7)
			continue;
		from = fq_dequeue(rig.port, now, &out);
		if (from == FQ_NONE)
			continue;
		origin = origin ? origin : now;
		waiting[from]--;
		sum[from] += out.len_bytes * weight((double)(now - origin) / 50e6);
	}
	assert_true(victims > 5000 && not_longest > 1000);
	flow_rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_queue_with_most_throughput_loses_even_if_another_is_longer),
		cmocka_unit_test(what_was_sent_long_ago_counts_less),
		cmocka_unit_test(the_victim_has_the_greatest_sum_of_faded_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
