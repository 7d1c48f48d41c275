/* SPDX-License-Identifier: BSD-2-Clause */
/* Sums of counters: a frame that a driver refused was forwarded, and is in one sum alone. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "user/datapath/counters.h"

static void each_reason_is_in_one_sum(void **state)
{
	struct sl_counters c = { 0 };

	(void)state;
	for (uint64_t i = 0; i < SL_DROP_COUNT; i++)
		c.drops[i] = (struct sl_counter){ 1, 100 };
	for (uint64_t i = 0; i < SL_PUNT_COUNT; i++)
		c.punts[i] = (struct sl_counter){ 1, 100 };
	c.drops[SL_DROP_TX_RING] = (struct sl_counter){ 1000, 100000 };
	c.drops[SL_DROP_TX_ERROR] = (struct sl_counter){ 2000, 200000 };
	assert_int_equal(sl_counters_dropped(&c).packets, SL_DROP_COUNT - 2);
	assert_int_equal(sl_counters_dropped(&c).bytes, (SL_DROP_COUNT - 2) * 100);
	assert_int_equal(sl_counters_unsent(&c).packets, 3000);
	assert_int_equal(sl_counters_unsent(&c).bytes, 300000);
	assert_int_equal(sl_counters_punted(&c).packets, SL_PUNT_COUNT);
	assert_int_equal(sl_counters_punted(&c).bytes, SL_PUNT_COUNT * 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_reason_is_in_one_sum),
	};
	return cmocka_run_group_tests_name("counters", tests, NULL, NULL);
}
