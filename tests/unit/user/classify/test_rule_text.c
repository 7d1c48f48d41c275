/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of a rule as text: what is read, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/classify/rule_text.h"

/* What a text means, as "LOW-HIGH ..."; NULL: it is refused, with this error. */
static const struct ranges_case {
	const char *name;
	enum sl_field field;
	const char *text, *ranges;
	int err;
} ranges_cases[] = {
	{ "one_value", SL_FIELD_DESTINATION_PORT, "80", "80-80", 0 },
	{ "largest_port", SL_FIELD_SOURCE_PORT, "65535", "65535-65535", 0 },
	{ "several", SL_FIELD_DESTINATION_PORT, "443,80,8000-8080", "80-80 443-443 8000-8080", 0 },
	{ "ranges_that_touch_are_joined", SL_FIELD_DESTINATION_PORT, "2-3,1,4", "1-4", 0 },
	{ "ranges_that_overlap_are_joined", SL_FIELD_LENGTH, "0-100,50-60,90-200", "0-200", 0 },
	{ "protocol_names", SL_FIELD_PROTOCOL, "udp,tcp,47", "6-6 17-17 47-47", 0 },
	{ "dscp_names", SL_FIELD_DSCP, "ef,0-7", "0-7 46-46", 0 },
	{ "fragments", SL_FIELD_FRAGMENT, "later,first", "1-2", 0 },
	{ "flow_label", SL_FIELD_FLOW_LABEL, "1048575", "1048575-1048575", 0 },
	{ "sixteen_ranges", SL_FIELD_ICMP_TYPE, "0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30",
	  "0-0 2-2 4-4 6-6 8-8 10-10 12-12 14-14 16-16 18-18 20-20 22-22 24-24 26-26 28-28 30-30",
	  0 },
	{ "empty", SL_FIELD_PROTOCOL, "", NULL, -EINVAL },
	{ "empty_part", SL_FIELD_PROTOCOL, "tcp,,udp", NULL, -EINVAL },
	{ "comma_at_the_end", SL_FIELD_PROTOCOL, "tcp,", NULL, -EINVAL },
	{ "blank", SL_FIELD_PROTOCOL, "tcp, udp", NULL, -EINVAL },
	{ "unknown_name", SL_FIELD_PROTOCOL, "tcpp", NULL, -EINVAL },
	{ "name_of_another_field", SL_FIELD_DESTINATION_PORT, "tcp", NULL, -EINVAL },
	{ "port_too_large", SL_FIELD_DESTINATION_PORT, "65536", NULL, -EINVAL },
	{ "type_too_large", SL_FIELD_ICMP_TYPE, "256", NULL, -EINVAL },
	{ "dscp_too_large", SL_FIELD_DSCP, "64", NULL, -EINVAL },
	{ "range_turned_round", SL_FIELD_DESTINATION_PORT, "90-80", NULL, -EINVAL },
	{ "range_without_end", SL_FIELD_DESTINATION_PORT, "90-", NULL, -EINVAL },
	{ "range_without_start", SL_FIELD_DESTINATION_PORT, "-90", NULL, -EINVAL },
	{ "negative", SL_FIELD_LENGTH, "-1", NULL, -EINVAL },
	{ "hexadecimal", SL_FIELD_PROTOCOL, "0x6", NULL, -EINVAL },
	{ "digits_without_end", SL_FIELD_LENGTH, "4294967376", NULL, -EINVAL },
	{ "fragment_by_number", SL_FIELD_FRAGMENT, "1", NULL, -EINVAL },
	{ "seventeen_ranges", SL_FIELD_ICMP_TYPE, "0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32",
	  NULL, -E2BIG },
};

static void ranges_are_read(void **state)
{
	const struct ranges_case *c = *state;
	struct sl_ranges ranges = { .n = 77 };
	char text[512] = "";
	size_t used = 0;

	assert_int_equal(sl_ranges_parse(c->field, c->text, &ranges), c->err);
	if (c->err) {
		assert_int_equal(ranges.n, 77);
		return;
	}
	for (uint32_t i = 0; i < ranges.n; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u-%u", i ? " " : "",
					 ranges.range[i].low, ranges.range[i].high);
	assert_string_equal(text, c->ranges);
}

static void flags_are_read(void **state)
{
	static const struct {
		const char *text;
		int err;
		uint8_t flags, mask;
	} cases[] = {
		{ "syn", 0, 0x02, 0x02 },
		{ "syn,!ack", 0, 0x02, 0x12 },
		{ "!fin,!syn,!rst,!psh,!ack,!urg,!ece,!cwr", 0, 0, 0xff },
		{ "cwr,ece", 0, 0xc0, 0xc0 },
		{ "", -EINVAL, 0, 0 },
		{ "!", -EINVAL, 0, 0 },
		{ "!!syn", -EINVAL, 0, 0 },
		{ "syn,", -EINVAL, 0, 0 },
		{ "syn,!syn", -EINVAL, 0, 0 },
		{ "SYN", -EINVAL, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t flags = 0, mask = 0;

		assert_int_equal(sl_flags_parse(cases[i].text, &flags, &mask), cases[i].err);
		assert_int_equal(flags, cases[i].flags);
		assert_int_equal(mask, cases[i].mask);
	}
}

static void one_dscp_is_read(void **state)
{
	uint8_t dscp = 99;

	(void)state;
	assert_int_equal(sl_rule_dscp_parse("0-1", &dscp), -EINVAL);
	assert_int_equal(sl_rule_dscp_parse("ef,af11", &dscp), -EINVAL);
	assert_int_equal(dscp, 99);
	assert_int_equal(sl_rule_dscp_parse("af43", &dscp), 0);
	assert_int_equal(dscp, 38);
	assert_int_equal(sl_rule_dscp_parse("63", &dscp), 0);
	assert_int_equal(dscp, 63);
}

#define N_RANGES (sizeof(ranges_cases) / sizeof(ranges_cases[0]))

int main(void)
{
	static struct CMUnitTest tests[N_RANGES + 2];
	size_t n = 0;

	for (; n < N_RANGES; n++)
		tests[n] = (struct CMUnitTest){ .name = ranges_cases[n].name,
						.test_func = ranges_are_read,
						.initial_state = (void *)&ranges_cases[n] };
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(flags_are_read);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(one_dscp_is_read);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
