/* SPDX-License-Identifier: BSD-2-Clause */
/* The simulated experiments keep the accepted shapes. x1 measures time and is not a test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "elements/sim/experiments.h"

static void check(const char *name)
{
	const struct el_experiment *e = el_experiments;
	struct el_finding finding = { 0 };

	while (e->name && strcmp(e->name, name) != 0)
		e++;
	assert_non_null(e->name);
	assert_int_equal(e->run(&finding), 0);
	if (!finding.holds)
		fail_msg("%s: %s; accepted: %s", finding.what, finding.ours, finding.accepted);
}

static void flows_share_an_element_two_to_one(void **state)
{
	(void)state;
	check("x4");
}

static void buffer_falls_to_its_floor_at_the_knee(void **state)
{
	(void)state;
	check("x5");
}

static void forwarding_loses_nothing_with_buffers_of_100(void **state)
{
	(void)state;
	check("x6");
}

static void preemption_keeps_the_buffer_flat(void **state)
{
	(void)state;
	check("x8");
}

static void video_gets_better_with_its_share(void **state)
{
	(void)state;
	check("x9");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flows_share_an_element_two_to_one),
		cmocka_unit_test(buffer_falls_to_its_floor_at_the_knee),
		cmocka_unit_test(forwarding_loses_nothing_with_buffers_of_100),
		cmocka_unit_test(preemption_keeps_the_buffer_flat),
		cmocka_unit_test(video_gets_better_with_its_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
