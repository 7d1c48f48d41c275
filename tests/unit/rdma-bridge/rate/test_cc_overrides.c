/* SPDX-License-Identifier: BSD-2-Clause */
/* Which overrides hold beside which configuration, and files that cannot be parsed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "rdma-bridge/rate/cc_overrides.h"

#define PORT  SL_SYSTEM_PORT(3, 1)
#define OTHER SL_SYSTEM_PORT(3, 2)

static char directory[] = "/tmp/cc-overrides-XXXXXX";
static char *path;

static struct sl_cc_settings settings(const char *text)
{
	struct sl_cc_settings s;
	char why[SL_CC_WHY_BYTES];

	if (sl_cc_settings_read(&s, text, why))
		fail_msg("%s: %s", text, why);
	return s;
}

static void assert_holds(uint16_t port, const char *configured, const char *expected)
{
	const struct sl_cc_settings file = settings(configured);
	struct sl_cc_settings found;
	char *text;

	rb_cc_overrides_find(path, port, &file, &found);
	assert_int_equal(sl_cc_settings_text(&found, &text), 0);
	assert_string_equal(text, expected);
	free(text);
}

static void put(uint16_t port, const char *configured, const char *set)
{
	const struct sl_cc_settings file = settings(configured), now = settings(set);

	assert_int_equal(rb_cc_overrides_put(path, port, &file, &now), 0);
}

static void write_file(const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int remove_file(void **state)
{
	(void)state;
	return unlink(path) && errno != ENOENT ? -1 : 0;
}

static void settings_text_has_what_is_not_at_its_default(void **state)
{
	static const char *const texts[] = {
		"fixed",
		"fixed rate_ups=7000",
		"price kappa_ppb=100 target_ppb=5",
		"dq floor_ppb=7 interval_us=500 frame_bytes=60 node2.weight=3 node255.weight=9",
	};
	char why[SL_CC_WHY_BYTES];
	struct sl_cc_settings s;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_holds(PORT, texts[i], texts[i]);
	assert_holds(PORT, "price kappa_ppb=130804447 node7.weight=1", "price");
	assert_int_equal(sl_cc_settings_read(&s, "prize kappa_ppb=1", why), -EINVAL);
	assert_non_null(strstr(why, "\"prize\" is not a controller"));
	assert_int_equal(sl_cc_settings_read(&s, "price kappa=1", why), -EINVAL);
	assert_non_null(strstr(why, "has no parameter \"kappa\""));
	assert_int_equal(sl_cc_settings_read(&s, "price class3.weight=2", why), -EINVAL);
	assert_non_null(strstr(why, "weights of its queues"));
}

static void override_holds_while_the_configuration_stays_the_same(void **state)
{
	(void)state;
	put(PORT, "price", "dq interval_us=500");
	assert_holds(PORT, "price", "dq interval_us=500");
	assert_holds(PORT, "price", "dq interval_us=500");
	assert_holds(OTHER, "price", "price");
	put(OTHER, "fixed", "aimd node2.weight=3");
	put(PORT, "price", "price kappa_ppb=5");
	assert_holds(PORT, "price", "price kappa_ppb=5");
	assert_holds(OTHER, "fixed", "aimd node2.weight=3");
}

static void edited_configuration_ends_an_override_for_good(void **state)
{
	(void)state;
	put(PORT, "price", "dq");
	put(OTHER, "price", "qcn");
	assert_holds(PORT, "price interval_us=2000", "price interval_us=2000");
	assert_holds(PORT, "price", "price");
	assert_holds(OTHER, "price", "qcn");
}

static void setting_what_is_configured_ends_an_override(void **state)
{
	(void)state;
	put(PORT, "price interval_us=5000", "dq");
	put(PORT, "price interval_us=5000", "price interval_us=5000");
	assert_holds(PORT, "price interval_us=5000", "price interval_us=5000");
	put(PORT, "fixed", "price");
	put(PORT, "fixed", "fixed");
	assert_holds(PORT, "fixed", "fixed");
}

static void file_that_cannot_be_parsed_counts_as_no_file(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"[1]",
		"{\"n3p1\": 7}",
		"{\"n3p1\": {\"configured\": \"price\"}}",
		"{\"n3p1\": {\"configured\": \"price\", \"set\": 5}}",
		"{\"n3p1\": {\"configured\": \"price\", \"set\": \"prize\"}}",
		"{\"n3p1\": {\"configured\": \"price\", \"set\": \"price kappa_ppb=0\"}}",
		"{\"n3p1\": {\"configured\": [], \"set\": \"dq\"}}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		write_file(texts[i]);
		assert_holds(PORT, "price", "price");
		put(PORT, "price", "dq");
		assert_holds(PORT, "price", "dq");
	}
}

static void missing_directory_fails_put_and_not_find(void **state)
{
	const struct sl_cc_settings price = settings("price"), dq = settings("dq");
	struct sl_cc_settings found;

	(void)state;
	assert_int_equal(rb_cc_overrides_put("/nonexistent/file", PORT, &price, &dq), -ENOENT);
	rb_cc_overrides_find("/nonexistent/file", PORT, &price, &found);
	assert_ptr_equal(found.ops, price.ops);
}

static int make_directory(void **state)
{
	char socket[64];

	(void)state;
	if (!mkdtemp(directory))
		return -1;
	snprintf(socket, sizeof(socket), "%s/bridge.sock", directory);
	path = rb_cc_overrides_path(socket);
	return path ? 0 : -1;
}

static int remove_directory(void **state)
{
	(void)state;
	free(path);
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(settings_text_has_what_is_not_at_its_default,
					  remove_file),
		cmocka_unit_test_teardown(override_holds_while_the_configuration_stays_the_same,
					  remove_file),
		cmocka_unit_test_teardown(edited_configuration_ends_an_override_for_good,
					  remove_file),
		cmocka_unit_test_teardown(setting_what_is_configured_ends_an_override, remove_file),
		cmocka_unit_test_teardown(file_that_cannot_be_parsed_counts_as_no_file,
					  remove_file),
		cmocka_unit_test_teardown(missing_directory_fails_put_and_not_find, remove_file),
	};

	return cmocka_run_group_tests_name("cc_overrides", tests, make_directory, remove_directory);
}
