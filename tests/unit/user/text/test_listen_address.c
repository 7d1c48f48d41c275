/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses at which a TCP server listens: each form that is read, and every refusal. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "user/text/listen_address.h"

static void addresses_are_read_or_refused(void **state)
{
	static const struct {
		const char *text, *address; /* NULL: refused */
		uint16_t port;
	} cases[] = {
		{ "9101", "127.0.0.1", 9101 },
		{ "1", "127.0.0.1", 1 },
		{ "65535", "127.0.0.1", 65535 },
		{ "0.0.0.0:80", "0.0.0.0", 80 },
		{ "192.0.2.1:9101", "192.0.2.1", 9101 },
		{ "[::1]:9101", "::1", 9101 },
		{ "[2001:db8::1]:9", "2001:db8::1", 9 },
		{ "", NULL, 0 },
		{ ":9101", NULL, 0 },
		{ "0", NULL, 0 },
		{ "65536", NULL, 0 },
		{ "+9101", NULL, 0 },
		{ " 9101", NULL, 0 },
		{ "9101 ", NULL, 0 },
		{ "127.0.0.1", NULL, 0 },
		{ "127.0.0.1:", NULL, 0 },
		{ "localhost:9101", NULL, 0 },
		{ "10.0.0.300:9101", NULL, 0 },
		{ "::1:9101", NULL, 0 },
		{ "[::1]", NULL, 0 },
		{ "[]:9101", NULL, 0 },
		{ "[127.0.0.1]:9101", NULL, 0 },
		{ "[::1:9101", NULL, 0 },
		{ "[::1]x:9101", NULL, 0 },
		{ "[1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb]:9101", NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sockaddr_storage got = { .ss_family = 77 };
		const struct sockaddr_in *in = (const struct sockaddr_in *)&got;
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&got;
		const int len = sl_listen_address_parse(cases[i].text, &got);
		char text[INET6_ADDRSTRLEN];

		print_message("\"%s\"\n", cases[i].text);
		if (!cases[i].address) {
			assert_int_equal(len, -EINVAL);
			assert_int_equal(got.ss_family, 77);
		} else if (strchr(cases[i].address, ':')) {
			assert_int_equal(len, sizeof(*in6));
			inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text));
			assert_string_equal(text, cases[i].address);
			assert_int_equal(ntohs(in6->sin6_port), cases[i].port);
		} else {
			assert_int_equal(len, sizeof(*in));
			inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
			assert_string_equal(text, cases[i].address);
			assert_int_equal(ntohs(in->sin_port), cases[i].port);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_read_or_refused),
	};
	return cmocka_run_group_tests_name("listen_address", tests, NULL, NULL);
}
