/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of system ports: one order for all nodes; indices that stay. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "user/config/sysport.h"

static void table_is_the_same_in_any_order_of_adding(void **state)
{
	static const uint16_t ports[] = { 0x0201, 0x0102, 0xffff, 0x0101 };
	static const uint8_t bytes[] = { 'S',  'L',  'P',  'T',	 1,    0,    0,	   4,
					 0x01, 0x01, 0x01, 0x02, 0x02, 0x01, 0xff, 0xff };
	struct sl_sysport_table a = { 0 }, b = { 0 };
	uint8_t out[SL_SYSPORT_BYTES_MAX];

	(void)state;
	for (int i = 0; i < 4; i++) {
		assert_int_equal(sl_sysport_add(&a, ports[i]), 0);
		assert_int_equal(sl_sysport_add(&b, ports[3 - i]), 0);
	}
	assert_memory_equal(&a, &b, sizeof(a));
	assert_int_equal(sl_sysport_encode(&a, out), sizeof(bytes));
	assert_memory_equal(out, bytes, sizeof(bytes));
	assert_int_equal(sl_sysport_index(&a, 0x0101), 0);
	assert_int_equal(sl_sysport_index(&a, 0xffff), 3);
	assert_int_equal(sl_sysport_index(&a, 0x0103), -ENOENT);
	assert_int_equal(sl_sysport_voq(3), 12);
}

static void add_of_a_duplicate_zero_or_surplus_port_is_refused(void **state)
{
	static struct sl_sysport_table t;

	(void)state;
	assert_int_equal(sl_sysport_add(&t, 0x0100), -EINVAL);
	assert_int_equal(sl_sysport_add(&t, 0x0001), -EINVAL);
	for (uint32_t i = 0; i < SL_SYSTEM_PORTS_MAX; i++)
		assert_int_equal(sl_sysport_add(&t, SL_SYSTEM_PORT(9 - i / 200, 1 + i % 200)), 0);
	assert_int_equal(sl_sysport_add(&t, SL_SYSTEM_PORT(9, 1)), -EEXIST);
	assert_int_equal(sl_sysport_add(&t, SL_SYSTEM_PORT(10, 1)), -ENOSPC);
	for (uint32_t i = 0; i < t.n; i++)
		assert_int_equal(sl_sysport_index(&t, t.port[i]), i);
}

static struct sl_sysport_table table_of(const uint16_t *ports, uint32_t n)
{
	struct sl_sysport_table t = { 0 };

	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(sl_sysport_add(&t, ports[i]), 0);
	return t;
}

static void ports_that_stay_keep_their_index_and_others_get_none_that_was_in_use(void **state)
{
	static const uint16_t before[] = { 0x0101, 0x0102, 0x0201, 0x0301 };
	static const uint16_t after[] = { 0x0102, 0x0103, 0x0202, 0x0301 };
	static const uint16_t of_index[8] = { 0, 0x0102, 0, 0x0301, 0, 0x0103, 0x0202, 0 };
	struct sl_sysport_table t = table_of(before, 4);
	uint16_t held[SL_SYSTEM_PORTS_MAX] = { 0 };
	bool in_use[SL_SYSTEM_PORTS_MAX] = { false };

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		held[i] = t.port[i];
	/* Index 4 is of a port that went earlier, whose frames may still wait. */
	in_use[4] = true;
	t = table_of(after, 4);
	sl_sysport_keep(&t, held, in_use);
	assert_int_equal(sl_sysport_index(&t, 0x0102), 1);
	assert_int_equal(sl_sysport_index(&t, 0x0301), 3);
	assert_int_equal(sl_sysport_index(&t, 0x0103), 5);
	assert_int_equal(sl_sysport_index(&t, 0x0202), 6);
	assert_int_equal(sl_sysport_index(&t, 0x0101), -ENOENT);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(sl_sysport_of_index(&t, i), of_index[i]);
	/* The bytes that nodes compare tell nothing of indices. */
	assert_int_equal(t.port[1], 0x0103);
}

static void full_table_takes_what_is_in_use_then_what_goes_and_no_index_twice(void **state)
{
	static struct sl_sysport_table t;
	static uint16_t held[SL_SYSTEM_PORTS_MAX];
	static bool in_use[SL_SYSTEM_PORTS_MAX], seen[SL_SYSTEM_PORTS_MAX];

	(void)state;
	for (uint32_t i = 0; i < SL_SYSTEM_PORTS_MAX; i++)
		assert_int_equal(sl_sysport_add(&t, SL_SYSTEM_PORT(20 + i / 200, 1 + i % 200)), 0);
	/* Three of its ports hold an index, one twice; ports that go hold 10; 20 are in use. */
	held[500] = t.port[0];
	held[501] = t.port[1000];
	held[502] = t.port[7];
	held[503] = t.port[7];
	for (uint32_t i = 0; i < 10; i++)
		held[i] = SL_SYSTEM_PORT(1, i + 1);
	for (uint32_t i = 100; i < 120; i++)
		in_use[i] = true;
	sl_sysport_keep(&t, held, in_use);
	assert_int_equal(sl_sysport_index(&t, t.port[0]), 500);
	assert_int_equal(sl_sysport_index(&t, t.port[1000]), 501);
	assert_int_equal(sl_sysport_index(&t, t.port[7]), 502);
	for (uint32_t i = 0; i < t.n; i++) {
		int index = sl_sysport_index(&t, t.port[i]);

		assert_in_range(index, 0, SL_SYSTEM_PORTS_MAX - 1);
		assert_false(seen[index]);
		seen[index] = true;
		/* The last to be served get what others had. */
		if (index < 10 || index == 503)
			assert_true(i >= SL_SYSTEM_PORTS_MAX - 12);
		if (index >= 100 && index < 120)
			assert_true(i >= SL_SYSTEM_PORTS_MAX - 32);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_is_the_same_in_any_order_of_adding),
		cmocka_unit_test(add_of_a_duplicate_zero_or_surplus_port_is_refused),
		cmocka_unit_test(
			ports_that_stay_keep_their_index_and_others_get_none_that_was_in_use),
		cmocka_unit_test(full_table_takes_what_is_in_use_then_what_goes_and_no_index_twice),
	};
	return cmocka_run_group_tests_name("sysport", tests, NULL, NULL);
}
