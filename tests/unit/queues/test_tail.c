/* SPDX-License-Identifier: BSD-2-Clause */
/* tail: what fits is taken, what does not fit is not, by frames and by bytes. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "tests/lib/flow_rig.h"

static void an_arrival_that_does_not_fit_is_discarded(void **state)
{
	struct fq_shape shape = flow_shape(2, 3);
	struct flow_rig rig;

	(void)state;
	shape.limit_bytes = 1100;
	flow_rig_open(&rig, "tail", &shape, NULL);
	flow_put(&rig, 0, 500, 0);
	flow_put(&rig, 0, 500, 0);
	flow_expect_no_drop(&rig);
	flow_expect_drop(&rig, flow_put(&rig, 1, 101, 0), 1, FQ_FULL);
	flow_put(&rig, 1, 60, 0); /* three frames are the limit, whatever their size */
	flow_expect_drop(&rig, flow_put(&rig, 1, 1, 0), 1, FQ_FULL);
	assert_int_equal(flow_get(&rig, 0), 0);
	flow_put(&rig, 1, 540, 0); /* 1,100 bytes are not over the limit */
	flow_expect_no_drop(&rig);
	assert_int_equal(rig.port->n_bytes, 1100);
	flow_rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_arrival_that_does_not_fit_is_discarded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
