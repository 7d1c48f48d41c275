/* SPDX-License-Identifier: BSD-2-Clause */
/* Quantities for people, at every edge where their form changes. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "user/text/quantity.h"

struct row {
	uint64_t value;
	const char *text;
};

static void quantity_has_three_digits_and_the_prefix_that_fits(void **state)
{
	static const struct row rows[] = {
		{ 0, "0 " },
		{ 999, "999 " },
		{ 1000, "1.00 k" },
		{ 1004, "1.00 k" },
		{ 1005, "1.01 k" },
		{ 9994, "9.99 k" },
		{ 9995, "10.0 k" },
		{ 12340, "12.3 k" },
		{ 99949, "99.9 k" },
		{ 99950, "100 k" },
		{ 999499, "999 k" },
		{ 999500, "1.00 M" },
		{ 10000000000ULL, "10.0 G" },
		{ 999499999999999999ULL, "999 P" },
		{ UINT64_MAX, "18.4 E" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[SL_QUANTITY_BYTES];

		assert_string_equal(sl_quantity(rows[i].value, text), rows[i].text);
	}
}

/* The text, read back, is never farther from the value than half of its last digit. */
static void quantity_is_right_to_half_of_its_last_digit(void **state)
{
	uint64_t value = 1;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		static const char prefixes[] = " kMGTPE";
		char text[SL_QUANTITY_BYTES], prefix = ' ';
		double number, unit, last;

		value = value * 6364136223846793005ULL + 1442695040888963407ULL;
		sl_quantity(value >> (i % 64), text);
		assert_true(sscanf(text, "%lf %c", &number, &prefix) >= 1);
		unit = pow(1000, (double)(strchr(prefixes, prefix) - prefixes));
		last = unit == 1	   ? 1
		       : strchr(text, '.') ? pow(10, -(double)strcspn(strchr(text, '.') + 1, " "))
					   : 1;
		assert_true(fabs(number * unit - (double)(value >> (i % 64))) <=
			    last * unit / 2 * 1.0000001);
		assert_true(number < 1000);
	}
}

static void duration_changes_its_form_at_each_unit(void **state)
{
	static const struct row rows[] = {
		{ 0, "0 ms" },
		{ 999, "999 ms" },
		{ 1000, "1.0 s" },
		{ 59999, "59.9 s" },
		{ 60000, "1:00 min" },
		{ 3599999, "59:59 min" },
		{ 3600000, "1:00:00 h" },
		{ 86399999, "23:59:59 h" },
		{ 86400000, "1 d 0 h" },
		{ 1000000000000ULL, "11574 d 1 h" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[SL_QUANTITY_BYTES];

		assert_string_equal(sl_duration(rows[i].value, text), rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantity_has_three_digits_and_the_prefix_that_fits),
		cmocka_unit_test(quantity_is_right_to_half_of_its_last_digit),
		cmocka_unit_test(duration_changes_its_form_at_each_unit),
	};

	return cmocka_run_group_tests_name("quantity", tests, NULL, NULL);
}
