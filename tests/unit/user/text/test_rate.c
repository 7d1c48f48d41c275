/* SPDX-License-Identifier: BSD-2-Clause */
/* Rates as text: every unit, both ends of the range, every refusal. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "user/text/rate.h"

static void rate_is_bytes_or_frames_a_second_or_refused(void **state)
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
		cmocka_unit_test(rate_is_bytes_or_frames_a_second_or_refused),
	};
	return cmocka_run_group_tests_name("rate", tests, NULL, NULL);
}
