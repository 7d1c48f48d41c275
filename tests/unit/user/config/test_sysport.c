/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of system ports: one order and one index on all nodes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_is_the_same_in_any_order_of_adding),
		cmocka_unit_test(add_of_a_duplicate_zero_or_surplus_port_is_refused),
	};
	return cmocka_run_group_tests_name("sysport", tests, NULL, NULL);
}
