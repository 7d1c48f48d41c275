/* SPDX-License-Identifier: BSD-2-Clause */
/* Does `cluster:` fit this host? The fabric is the loopback device here. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/config/check_host.h"

static char directory[] = "/tmp/sluice-check-XXXXXX", key_file[64];
static char file_name[] = "n1.yaml", device[] = "lo", address[] = "127.0.0.1";
static struct sl_cluster_node node = { .id = 1, .address = address };
static struct sl_settings settings = {
	.file_name = file_name,
	.cluster = { .node = 1,
		     .device = device,
		     .key_file = key_file,
		     .nodes = { .items = &node, .n = 1 } },
};

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -errno;
	snprintf(key_file, sizeof(key_file), "%s/key", directory);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(directory);
}

static void write_key(size_t bytes, mode_t mode)
{
	FILE *file = fopen(key_file, "w");

	assert_non_null(file);
	for (size_t i = 0; i < bytes; i++)
		fputc('k', file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(key_file, mode), 0);
}

static void key_is_for_its_owner_alone_and_long_enough(void **state)
{
	static const struct {
		size_t bytes;
		mode_t mode;
		const char *problem;
	} keys[] = {
		{ 32, 0600, NULL },
		{ 32, 0400, NULL },
		{ 16, 0600, NULL },
		{ 1025, 0600, NULL }, /* the last byte may end a line */
		{ 32, 0640, "may be read by others" },
		{ 32, 0620, "may be read by others" },
		{ 32, 0604, "may be read by others" },
		{ 15, 0600, "16 to 1024 bytes" },
		{ 1026, 0600, "16 to 1024 bytes" },
	};
	char error[SL_YAML_ERROR_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		int expected = keys[i].problem ? -EINVAL : 0, err;

		write_key(keys[i].bytes, keys[i].mode);
		err = sl_check_cluster(&settings, error);
		assert_int_equal(unlink(key_file), 0);
		if (err != expected || (err && !strstr(error, keys[i].problem)))
			fail_msg("%zu bytes, mode %o: %d, %s", keys[i].bytes, keys[i].mode, err,
				 err ? error : "");
	}
	assert_int_equal(sl_check_cluster(&settings, error), -EINVAL);
	assert_non_null(strstr(error, "is not there"));
}

static void fabric_is_a_netdev_here_with_the_address_of_this_node(void **state)
{
	static char nothing[] = "sluice-none", elsewhere[] = "192.0.2.1";
	char error[SL_YAML_ERROR_BYTES];

	(void)state;
	write_key(32, 0600);
	settings.cluster.device = nothing;
	assert_int_equal(sl_check_cluster(&settings, error), -EINVAL);
	assert_non_null(strstr(error, "is not a netdev here"));
	settings.cluster.device = device;
	node.address = elsewhere;
	assert_int_equal(sl_check_cluster(&settings, error), -EINVAL);
	assert_non_null(strstr(error, "is not an address of lo here"));
	node.address = address;
	assert_int_equal(sl_check_cluster(&settings, error), 0);
	assert_int_equal(unlink(key_file), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(key_is_for_its_owner_alone_and_long_enough),
		cmocka_unit_test(fabric_is_a_netdev_here_with_the_address_of_this_node),
	};
	return cmocka_run_group_tests_name("check_host", tests, setup, teardown);
}
