/* SPDX-License-Identifier: BSD-2-Clause */
/* The text of /proc/net/dev, whole and broken. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "user/sflow/netdev_counters.h"

static const char text[] =
	"Inter-|   Receive                                                |  Transmit\n"
	" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs "
	"drop fifo colls carrier compressed\n"
	"    lo:      10       1    0    0    0     0          0         0       10       1    0    "
	"0    0     0       0          0\n"
	"  eth1: 4294967299      50    2    3    4     5          6         7    8000      90    11   "
	"12    13     14       15          16\n"
	"eth1.5:1 2 3\n";

static void line_of_a_netdev_is_read_column_by_column(void **state)
{
	struct sl_sflow_counters counters = { .ifindex = 4 };

	(void)state;
	assert_int_equal(sl_netdev_counters_parse(text, "eth1", &counters), 0);
	assert_int_equal(counters.ifindex, 4);
	assert_true(counters.in_bytes == 4294967299);
	assert_int_equal(counters.in_packets, 43);
	assert_int_equal(counters.in_multicast, 7);
	assert_int_equal(counters.in_errors, 2);
	assert_int_equal(counters.in_discards, 3);
	assert_true(counters.out_bytes == 8000);
	assert_int_equal(counters.out_packets, 90);
	assert_int_equal(counters.out_errors, 11);
	assert_int_equal(counters.out_discards, 12);
	assert_int_equal(sl_netdev_counters_parse(text, "lo", &counters), 0);
	assert_int_equal(counters.in_packets, 1);
}

static void netdev_without_a_line_or_with_half_of_one_is_refused(void **state)
{
	struct sl_sflow_counters counters;

	(void)state;
	assert_int_equal(sl_netdev_counters_parse(text, "eth", &counters), -ENODEV);
	assert_int_equal(sl_netdev_counters_parse(text, "th1", &counters), -ENODEV);
	assert_int_equal(sl_netdev_counters_parse("", "eth1", &counters), -ENODEV);
	assert_int_equal(sl_netdev_counters_parse(text, "eth1.5", &counters), -EPROTO);
	assert_int_equal(sl_netdev_counters_parse("eth1:", "eth1", &counters), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_of_a_netdev_is_read_column_by_column),
		cmocka_unit_test(netdev_without_a_line_or_with_half_of_one_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
