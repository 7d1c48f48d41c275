/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers and bytes as etcd's JSON has them. The ids are of a member that etcd made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "user/etcd/etcd_client.h"

static void a_number_is_a_text_or_a_number(void **state)
{
	json_t *object = json_pack("{s:s, s:I, s:s, s:s}", "text", "7", "number", (json_int_t)8,
				   "least", "-9223372036854775808", "word", "seven");

	(void)state;
	assert_int_equal(sl_etcd_number(object, "text"), 7);
	assert_int_equal(sl_etcd_number(object, "number"), 8);
	assert_true(sl_etcd_number(object, "least") == INT64_MIN);
	assert_int_equal(sl_etcd_number(object, "word"), 0);
	assert_int_equal(sl_etcd_number(object, "missing"), 0);
	assert_int_equal(sl_etcd_number(NULL, "missing"), 0);
	json_decref(object);
}

static void ids_above_the_signed_range_stay_apart(void **state)
{
	json_t *object = json_pack("{s:s, s:s, s:s}", "leader", "10276657743932975437", "member",
				   "9372538179322589801", "most", "18446744073709551615");

	(void)state;
	assert_true((uint64_t)sl_etcd_number(object, "leader") == 0x8e9e05c52164694d);
	assert_true(sl_etcd_number(object, "leader") != sl_etcd_number(object, "member"));
	assert_true((uint64_t)sl_etcd_number(object, "most") == UINT64_MAX);
	json_decref(object);
}

static void bytes_come_back_as_they_were(void **state)
{
	static const char bytes[] = "a\0\xff\n7";
	char *text, *back;
	size_t n;

	(void)state;
	for (size_t i = 0; i <= sizeof(bytes); i++) {
		text = sl_etcd_base64(bytes, i);
		back = sl_etcd_bytes(text, &n);
		assert_non_null(back);
		assert_int_equal(n, i);
		assert_memory_equal(back, bytes, n);
		free(text);
		free(back);
	}
	/* An empty value is left out. */
	back = sl_etcd_bytes(NULL, &n);
	assert_non_null(back);
	assert_int_equal(n, 0);
	free(back);
}

static void what_is_no_base64_is_refused(void **state)
{
	static const char *const cases[] = { "Yg", "Yg=", "Y*==", "YWI=Y" };
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_null(sl_etcd_bytes(cases[i], &n));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_is_a_text_or_a_number),
		cmocka_unit_test(ids_above_the_signed_range_stay_apart),
		cmocka_unit_test(bytes_come_back_as_they_were),
		cmocka_unit_test(what_is_no_base64_is_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
