/* SPDX-License-Identifier: BSD-2-Clause */
/* longest: which queue loses its head. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/lib/flow_rig.h"

static void the_head_of_the_queue_with_most_bytes_is_discarded(void **state)
{
	struct fq_shape shape = flow_shape(4, 5);
	struct flow_rig rig;

	(void)state;
	flow_rig_open(&rig, "longest", &shape, NULL);
	flow_put(&rig, 2, 900, 0); /* 0: two frames of 1,600 bytes */
	flow_put(&rig, 2, 700, 0);
	flow_put(&rig, 1, 500, 0); /* 2: three frames of 1,500 bytes */
	flow_put(&rig, 1, 500, 0);
	flow_put(&rig, 1, 500, 0);
	flow_put(&rig, 3, 60, 0);
	flow_expect_drop(&rig, 0, 2, FQ_PUSHED);
	flow_put(&rig, 3, 60, 0); /* now queue 1 has most */
	flow_expect_drop(&rig, 2, 1, FQ_PUSHED);
	flow_rig_close(&rig);
}

static void among_equals_the_lowest_number_loses(void **state)
{
	struct fq_shape shape = flow_shape(4, 3);
	struct flow_rig rig;

	(void)state;
	flow_rig_open(&rig, "longest", &shape, NULL);
	flow_put(&rig, 3, 100, 0);
	flow_put(&rig, 1, 100, 0);
	flow_put(&rig, 2, 100, 0);
	flow_put(&rig, 0, 60, 0);
	flow_expect_drop(&rig, 1, 1, FQ_PUSHED);
	flow_rig_close(&rig);
}

static void an_arrival_that_makes_its_queue_longest_pushes_its_own_head(void **state)
{
	struct fq_shape shape = flow_shape(2, 3);
	struct flow_rig rig;

	(void)state;
	flow_rig_open(&rig, "longest", &shape, NULL);
	flow_put(&rig, 0, 100, 0);
	flow_put(&rig, 1, 100, 0);
	flow_put(&rig, 1, 100, 0);
	flow_put(&rig, 1, 100, 0);
	flow_expect_drop(&rig, 1, 1, FQ_PUSHED);
	flow_rig_close(&rig);
}

static void one_large_arrival_pushes_as_many_small_frames_as_it_needs(void **state)
{
	struct fq_shape shape = flow_shape(2, 100);
	struct flow_rig rig;

	(void)state;
	shape.limit_bytes = 1000;
	flow_rig_open(&rig, "longest", &shape, NULL);
	for (int i = 0; i < 16; i++)
		flow_put(&rig, 0, 60, 0); /* 960 */
	flow_put(&rig, 1, 500, 0);	  /* 460 too many: eight frames */
	assert_int_equal(rig.n_drops, 8);
	for (uint32_t i = 0; i < 8; i++)
		assert_true(rig.drop[i].handle == i && rig.drop[i].queue == 0);
	assert_int_equal(rig.port->n_bytes, 980);
	flow_rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_head_of_the_queue_with_most_bytes_is_discarded),
		cmocka_unit_test(among_equals_the_lowest_number_loses),
		cmocka_unit_test(an_arrival_that_makes_its_queue_longest_pushes_its_own_head),
		cmocka_unit_test(one_large_arrival_pushes_as_many_small_frames_as_it_needs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
