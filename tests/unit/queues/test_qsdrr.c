/* SPDX-License-Identifier: BSD-2-Clause */
/* qsdrr: a victim stays the victim until it is empty or the smallest of the active queues. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/lib/flow_rig.h"

/* Queue i gets n[i] frames of 100 bytes, in order of the queues. */
static void fill(struct flow_rig *rig, const uint32_t *n, uint32_t queues)
{
	for (uint32_t i = 0; i < queues; i++)
		for (uint32_t k = 0; k < n[i]; k++)
			flow_put(rig, i, 100, 0);
	flow_expect_no_drop(rig);
}

static void the_longest_queue_is_drained_to_the_smallest_before_another_is_chosen(void **state)
{
	static const uint32_t n[] = { 4, 2, 7 };
	const struct fq_shape shape = flow_shape(3, 13);
	struct flow_rig rig;

	(void)state;
	flow_rig_open(&rig, "qsdrr", &shape, NULL);
	fill(&rig, n, 3);
	/* Arrivals in queue 0. Queue 2, with the handles 6 to 12, was the longest: 6, 5, 4, 3, 2.
	 */
	for (uint64_t i = 0; i < 5; i++) {
		flow_put(&rig, 0, 100, 0);
		flow_expect_drop(&rig, 6 + i, 2, FQ_PUSHED);
	}
	/* Queue 2 has 2 frames, as queue 1: it is the smallest. Queue 0 has 4 + 5 + 1. */
	flow_put(&rig, 0, 100, 0);
	flow_expect_drop(&rig, 0, 0, FQ_PUSHED);
	/* Down from 9 frames, 0 stays the victim when queue 2, which grows to 9, is longer. */
	for (uint64_t i = 0; i < 7; i++) {
		flow_put(&rig, 2, 100, 0);
		flow_expect_drop(&rig, 1 + i + (i > 2 ? 9 : 0), 0, FQ_PUSHED);
	}
	flow_rig_close(&rig);
}

static void a_victim_that_ran_empty_is_replaced_by_the_longest(void **state)
{
	static const uint32_t n[] = { 3, 1, 1 };
	const struct fq_shape shape = flow_shape(3, 5);
	struct fq_frame out;
	struct flow_rig rig;

	(void)state;
	flow_rig_open(&rig, "qsdrr", &shape, NULL);
	fill(&rig, n, 3);
	flow_put(&rig, 2, 100, 0); /* 0: 2, 1: 1, 2: 2 */
	flow_expect_drop(&rig, 0, 0, FQ_PUSHED);
	for (int i = 0; i < 2; i++) /* a quantum is ten of them: queue 0 goes first and empties */
		assert_int_equal(fq_dequeue(rig.port, 0, &out), 0);
	flow_put(&rig, 1, 100, 0);
	flow_put(&rig, 1, 100, 0);
	flow_expect_no_drop(&rig); /* 1: 3, 2: 2 */
	flow_put(&rig, 2, 100, 0); /* 1: 3, 2: 3, the lower of equals */
	flow_expect_drop(&rig, 3, 1, FQ_PUSHED);
	flow_rig_close(&rig);
}

static void the_victim_is_remembered_between_congestions(void **state)
{
	static const uint32_t n[] = { 1, 4, 3 };
	const struct fq_shape shape = flow_shape(3, 8);
	struct fq_frame out;
	struct flow_rig rig;

	(void)state;
	flow_rig_open(&rig, "qsdrr", &shape, NULL);
	fill(&rig, n, 3);
	flow_put(&rig, 0, 100, 0); /* 0: 2, 1: 3, 2: 3 */
	flow_expect_drop(&rig, 1, 1, FQ_PUSHED);
	assert_int_equal(fq_dequeue(rig.port, 0, &out), 0);
	flow_put(&rig, 2, 100, 0); /* 0: 1, 1: 3, 2: 4: full again */
	flow_expect_no_drop(&rig);
	flow_put(&rig, 2, 100, 0); /* queue 2 is longer by two, but 1 is the victim */
	flow_expect_drop(&rig, 2, 1, FQ_PUSHED);
	flow_rig_close(&rig);
}

static void until_longest_releases_a_victim_as_soon_as_another_queue_is_longer(void **state)
{
	static const uint32_t n[] = { 5, 2, 6 };
	const struct fq_shape shape = flow_shape(3, 13);
	struct flow_rig rig;

	(void)state;
	flow_rig_open(&rig, "qsdrr", &shape, "until_longest=1", NULL);
	fill(&rig, n, 3);
	flow_put(&rig, 1, 100, 0); /* 0: 5, 1: 3, 2: 5 */
	flow_expect_drop(&rig, 7, 2, FQ_PUSHED);
	flow_put(&rig, 1, 100,
		 0); /* none is longer than 2: it stays, though 0 has the lower number */
	flow_expect_drop(&rig, 8, 2, FQ_PUSHED);
	flow_put(&rig, 1, 100, 0); /* 0: 5, 1: 5, 2: 4: 0 is longer */
	flow_expect_drop(&rig, 0, 0, FQ_PUSHED);
	flow_rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			the_longest_queue_is_drained_to_the_smallest_before_another_is_chosen),
		cmocka_unit_test(a_victim_that_ran_empty_is_replaced_by_the_longest),
		cmocka_unit_test(the_victim_is_remembered_between_congestions),
		cmocka_unit_test(
			until_longest_releases_a_victim_as_soon_as_another_queue_is_longer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
