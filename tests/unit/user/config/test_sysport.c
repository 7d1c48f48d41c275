/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of system ports: one order and one index on all nodes. And rates as text. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "user/text/rate.h"
#include "user/config/sysport.h"

static void order_of_adding_does_not_matter(void **state)
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

static void what_cannot_be_added_is_refused(void **state)
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

static void rates_are_bytes_or_frames_a_second(void **state)
{
	static const struct {
		const char *text;
		int err;
		uint64_t per_s;
		bool frames;
	} cases[] = {
		{ "8bit", 0, 1, false },
		{ "10gbit", 0, 1250000000, false },
		{ "1000000gbit", 0, 125000000000000, false },
		{ "1pps", 0, 1, true },
		{ "2mpps", 0, 2000000, true },
		{ "7bit", -ERANGE, 0, false },
		{ "0pps", -ERANGE, 0, false },
		{ "1000001gbit", -ERANGE, 0, false },
		{ "99999999999999999999bit", -ERANGE, 0, false },
		{ "10", -EINVAL, 0, false },
		{ "", -EINVAL, 0, false },
		{ "-1bit", -EINVAL, 0, false },
		{ " 1bit", -EINVAL, 0, false },
		{ "1 bit", -EINVAL, 0, false },
		{ "1.5gbit", -EINVAL, 0, false },
		{ "1Gbit", -EINVAL, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sl_rate rate = { 0 };

		if (sl_rate_parse(cases[i].text, &rate) != cases[i].err)
			print_error("%s\n", cases[i].text);
		assert_int_equal(sl_rate_parse(cases[i].text, &rate), cases[i].err);
		assert_true(rate.per_s == cases[i].per_s && rate.frames == cases[i].frames);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_of_adding_does_not_matter),
		cmocka_unit_test(what_cannot_be_added_is_refused),
		cmocka_unit_test(rates_are_bytes_or_frames_a_second),
	};
	return cmocka_run_group_tests_name("sysport", tests, NULL, NULL);
}
