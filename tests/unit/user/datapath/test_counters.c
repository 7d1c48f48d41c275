/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sums of counters: a frame that a driver refused was forwarded, and is in one sum alone; a frame
 * that XDP counted in one slot is in each counter that it belongs to.
 */
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

static struct sl_counter frames(uint64_t packets)
{
	return (struct sl_counter){ packets, 100 * packets };
}

/* Powers of two: each sum tells which slots are in it. */
static void frame_of_one_slot_is_counted_under_each_of_its_names(void **state)
{
	struct sl_counter s[SL_STAT_SLOTS] = {
		[SL_STAT_RX] = frames(1),	    [SL_STAT_RX_IP4] = frames(2),
		[SL_STAT_RX_IP6] = frames(4),	    [SL_STAT_FORWARD] = frames(8),
		[SL_STAT_FORWARD_IP6] = frames(16), [SL_STAT_VOQ] = frames(32),
		[SL_STAT_VOQ_IP6] = frames(64),	    [SL_STAT_CE] = frames(128),
		[SL_STAT_EXPRESS] = frames(256),
	};
	const uint64_t expected[SL_STAT_COUNT] = {
		[SL_STAT_RX] = 1 + 8 + 16 + 32 + 64,
		[SL_STAT_RX_IP4] = 2 + 8 + 32,
		[SL_STAT_RX_IP6] = 4 + 16 + 64,
		[SL_STAT_FORWARD] = 8 + 16,
		[SL_STAT_VOQ] = 32 + 64,
		[SL_STAT_CE] = 128,
		[SL_STAT_EXPRESS] = 256,
	};

	(void)state;
	sl_stats_complete(s);
	for (int i = 0; i < SL_STAT_COUNT; i++) {
		assert_int_equal(s[i].packets, expected[i]);
		assert_int_equal(s[i].bytes, 100 * expected[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_reason_is_in_one_sum),
		cmocka_unit_test(frame_of_one_slot_is_counted_under_each_of_its_names),
	};
	return cmocka_run_group_tests_name("counters", tests, NULL, NULL);
}
