/* SPDX-License-Identifier: BSD-2-Clause */
/* Durations of arguments, each form and each refusal, and durations for people. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "user/text/duration.h"

static void durations_are_read_or_refused(void **state)
{
	static const struct {
		const char *text;
		int err;
		uint64_t ns;
	} cases[] = {
		{ "0ns", 0, 0 },
		{ "1ns", 0, 1 },
		{ "250us", 0, 250000 },
		{ "1.5s", 0, 1500000000 },
		{ "0.000000001s", 0, 1 },
		{ "0.9ns", 0, 0 },
		{ "2min", 0, 120000000000 },
		{ "1000h", 0, 3600000000000000 },
		{ "1001h", -ERANGE, 0 },
		{ "1000.5h", -ERANGE, 0 },
		{ "99999999999999999999ns", -ERANGE, 0 },
		{ "", -EINVAL, 0 },
		{ "5", -EINVAL, 0 },
		{ "s", -EINVAL, 0 },
		{ "-1s", -EINVAL, 0 },
		{ "+1s", -EINVAL, 0 },
		{ " 1s", -EINVAL, 0 },
		{ "1 s", -EINVAL, 0 },
		{ "1s ", -EINVAL, 0 },
		{ "1.s", -EINVAL, 0 },
		{ ".5s", -EINVAL, 0 },
		{ "1.0000000001s", -EINVAL, 0 },
		{ "1e3s", -EINVAL, 0 },
		{ "1S", -EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t ns = 77;

		print_message("\"%s\"\n", cases[i].text);
		assert_int_equal(sl_duration_parse(cases[i].text, &ns), cases[i].err);
		assert_int_equal(ns, cases[i].err ? 77 : cases[i].ns);
	}
}

static void durations_have_three_digits_and_the_unit_that_fits(void **state)
{
	static const struct {
		int64_t ns;
		const char *text;
	} cases[] = {
		{ 0, "0 ns" },
		{ 999, "999 ns" },
		{ -7, "-7 ns" },
		{ 1000, "1.00 us" },
		{ 15400, "15.4 us" },
		{ 999499, "999 us" },
		{ 999500, "1.00 ms" },
		{ 9995000, "10.0 ms" },
		{ -5820000, "-5.82 ms" },
		{ 1500000000, "1.50 s" },
		{ 90000000000000, "90000 s" },
	};
	char text[SL_DURATION_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(sl_duration_ns_text(cases[i].ns, text), cases[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_are_read_or_refused),
		cmocka_unit_test(durations_have_three_digits_and_the_unit_that_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
