/* SPDX-License-Identifier: BSD-2-Clause */
/* The oracle that runs of the model are measured by: max-min shares and Jain's index. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "cc/sim/model.h"

static void max_min_shares_and_jains_index_are_those_worked_out_by_hand(void **state)
{
	static const uint16_t ones[3] = { 1, 1, 1 }, weights[3] = { 1, 2, 3 };
	double shares[3];

	(void)state;
	sim_maxmin(739, (double[]){ 300, 299, 224 }, ones, 3, shares);
	assert_true(shares[0] == 257.5 && shares[1] == 257.5 && shares[2] == 224);
	sim_maxmin(739, (double[]){ 299, 298, 74 }, ones, 3, shares);
	assert_true(shares[0] == 299 && shares[1] == 298 && shares[2] == 74);
	sim_maxmin(600, (double[]){ 900, 150, 900 }, weights, 3, shares);
	assert_true(shares[0] == 112.5 && shares[1] == 150 && shares[2] == 337.5);
	assert_true(sim_jain((double[]){ 1, 1, 1 }, 3) == 1);
	assert_true(sim_jain((double[]){ 1, 0, 0, 0 }, 4) == 0.25);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(max_min_shares_and_jains_index_are_those_worked_out_by_hand),
	};

	return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}
