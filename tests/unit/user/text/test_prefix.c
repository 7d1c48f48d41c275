/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "user/text/prefix.h"

struct text_case {
	const char *text;
	int rc;
	const char *formatted; /* as read and written again */
};

static const struct text_case cases[] = {
	{ "0.0.0.0/0", 0, "0.0.0.0/0" },
	{ "10.0.0.0/8", 0, "10.0.0.0/8" },
	{ "192.0.2.128/25", 0, "192.0.2.128/25" },
	{ "255.255.255.255/32", 0, "255.255.255.255/32" },
	{ "192.0.2.1", 0, "192.0.2.1/32" },
	{ "::/0", 0, "::/0" },
	{ "2001:db8::/32", 0, "2001:db8::/32" },
	{ "2001:0DB8:0:0::/33", 0, "2001:db8::/33" },
	{ "2001:db8::1", 0, "2001:db8::1/128" },
	{ "::ffff:192.0.2.1/128", 0, "::ffff:192.0.2.1/128" },
	{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128", 0,
	  "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128" },
	{ "", -EINVAL, NULL },
	{ "/", -EINVAL, NULL },
	{ "/8", -EINVAL, NULL },
	{ "default", -EINVAL, NULL },
	{ "10/8", -EINVAL, NULL },
	{ "10.0.0.0/", -EINVAL, NULL },
	{ "10.0.0.0/8 ", -EINVAL, NULL },
	{ " 10.0.0.0/8", -EINVAL, NULL },
	{ "10.0.0.0 /8", -EINVAL, NULL },
	{ "10.0.0.0/+8", -EINVAL, NULL },
	{ "10.0.0.0/-8", -EINVAL, NULL },
	{ "10.0.0.0/08", -EINVAL, NULL },
	{ "10.0.0.0/0x8", -EINVAL, NULL },
	{ "10.0.0.0/8/8", -EINVAL, NULL },
	{ "10.0.0.0/255.0.0.0", -EINVAL, NULL },
	{ "010.0.0.0/8", -EINVAL, NULL },
	{ "10.0.0.256/32", -EINVAL, NULL },
	{ "10.0.0/24", -EINVAL, NULL },
	{ "fe80::1%eth0/64", -EINVAL, NULL },
	{ "2001:db8:::/32", -EINVAL, NULL },
	{ "2001:db8::/32::", -EINVAL, NULL },
	{ "1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb/128", -EINVAL, NULL },
	{ "10.0.0.0/33", -ERANGE, NULL },
	{ "10.0.0.0/4294967304", -ERANGE, NULL },
	{ "2001:db8::/129", -ERANGE, NULL },
	{ "10.0.0.1/31", -EDOM, NULL },
	{ "10.0.0.0/6", -EDOM, NULL },
	{ "0.0.0.1/0", -EDOM, NULL },
	{ "2001:db8::/31", 0, "2001:db8::/31" },
	{ "2001:db8::/28", -EDOM, NULL },
	{ "2001:db8::1/127", -EDOM, NULL },
};

static void parse_accepts_one_way_of_writing_and_formats_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sl_prefix untouched, p;
		char buf[SL_PREFIX_STRLEN];
		int rc;

		memset(&p, 0x5a, sizeof(p));
		untouched = p;
		rc = sl_prefix_parse(cases[i].text, &p);
		if (rc != cases[i].rc)
			print_error("\"%s\"\n", cases[i].text);
		assert_int_equal(rc, cases[i].rc);
		if (rc) {
			assert_memory_equal(&p, &untouched, sizeof(p));
		} else {
			assert_true(sl_prefix_valid(&p));
			assert_string_equal(sl_prefix_format(&p, buf), cases[i].formatted);
		}
	}
}

static void addr_parse_refuses_a_length(void **state)
{
	uint8_t family = 0, addr[16];

	(void)state;
	assert_int_equal(sl_addr_parse("192.0.2.0/24", &family, addr), -EINVAL);
	assert_int_equal(family, 0);
	assert_int_equal(sl_addr_parse("192.0.2.7", &family, addr), 0);
	assert_int_equal(family, AF_INET);
	assert_memory_equal(addr, "\xc0\x00\x02\x07\0\0\0\0\0\0\0\0\0\0\0", 16);
}

static int naive_bit(const uint8_t *addr, int i)
{
	return addr[i / 8] >> (7 - i % 8) & 1;
}

static void mask_and_match_agree_with_bit_by_bit(void **state)
{
	uint8_t ones[16], addr[16];

	(void)state;
	memset(ones, 0xff, sizeof(ones));
	for (int len = 0; len <= 128; len++) {
		memcpy(addr, ones, sizeof(addr));
		sl_addr_mask(addr, (unsigned int)len);
		for (int i = 0; i < 128; i++)
			assert_int_equal(naive_bit(addr, i), i < len);
		for (int l = 0; l <= 128; l++)
			assert_int_equal(sl_addr_match(addr, ones, (unsigned int)l), l <= len);
	}
}

static void valid_refuses_unknown_families_and_host_bits(void **state)
{
	struct sl_prefix p = { .family = AF_UNIX };

	(void)state;
	assert_false(sl_prefix_valid(&p));
	p = (struct sl_prefix){ .family = AF_INET, .len = 33 };
	assert_false(sl_prefix_valid(&p));
	p = (struct sl_prefix){ .family = AF_INET, .len = 32, .addr = { [4] = 1 } };
	assert_false(sl_prefix_valid(&p));
	p = (struct sl_prefix){ .family = AF_INET6, .len = 128, .addr = { [15] = 1 } };
	assert_true(sl_prefix_valid(&p));
	p.len = 127;
	assert_false(sl_prefix_valid(&p));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse_accepts_one_way_of_writing_and_formats_it),
		cmocka_unit_test(addr_parse_refuses_a_length),
		cmocka_unit_test(mask_and_match_agree_with_bit_by_bit),
		cmocka_unit_test(valid_refuses_unknown_families_and_host_bits),
	};
	return cmocka_run_group_tests_name("prefix", tests, NULL, NULL);
}
