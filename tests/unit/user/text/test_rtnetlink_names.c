/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of route protocols: built in, and those that a system adds in iproute2's files. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/text/rtnetlink_names.h"

static void put(const char *directory, const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void assert_name(uint8_t number, const char *name)
{
	char buf[SL_NAME_BYTES];

	assert_string_equal(sl_route_protocol_name(number, buf), name);
}

static void files_of_the_system_name_protocols(void **state)
{
	char directory[] = "/tmp/rt_protos.XXXXXX", path[128];

	(void)state;
	assert_name(12, "bird");
	assert_name(196, "196");
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/rt_protos.d", directory);
	assert_int_equal(mkdir(path, 0700), 0);
	put(directory, "rt_protos",
	    "# 194 comment\n12 duck\n0xc3\ttwelve # of hex\n300 beyond\n-1 below\n17\n");
	put(directory, "rt_protos.d/frr.conf",
	    "196 eigrp2\n197 a_name_that_is_longer_than_15_characters\n");
	put(directory, "rt_protos.d/other.txt", "198 unseen\n");
	sl_route_protocol_names_read(directory);
	assert_name(12, "duck");
	assert_name(194, "194");
	assert_name(195, "twelve");
	assert_name(17, "mrouted");
	assert_name(196, "eigrp2");
	assert_name(197, "a_name_that_is_");
	assert_name(198, "198");
	assert_name(2, "kernel");
	sl_route_protocol_names_read("/nonexistent");
	assert_name(12, "duck");

	snprintf(path, sizeof(path), "rm -r %s", directory);
	assert_int_equal(system(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_the_system_name_protocols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
