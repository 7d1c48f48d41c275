/* SPDX-License-Identifier: BSD-2-Clause */
/* The headers around signals, of both versions of IP: which bytes are the message. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "elements/signal/signal_socket.h"

#define IPV6 0x60, 0, 0, 0, 0, 12
/* fd00::1 to fd00::2 */
#define FROM 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1
#define TO   0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2

struct packet {
	const char *name;
	uint8_t bytes[64];
	size_t n, message_bytes;
	const char *source, *destination; /* of a signal */
};

static const struct packet
	packets
		[] = {
			{ "IPv4 without options",
			  { 0x45, 0,  0, 22, 0, 0,  0, 0, 64, 253, 0,
			    0,	  10, 0, 0,  1, 10, 0, 0, 2,  's', 'l' },
			  22,
			  2,
			  "10.0.0.1",
			  "10.0.0.2" },
			{ "IPv4 with Router Alert",
			  { 0x46, 0, 0, 25, 0, 0, 0, 0,	   64, 253, 0, 0,  10,
			    0,	  0, 1, 10, 0, 0, 2, 0x94, 4,  0,   0, 's' },
			  25,
			  1,
			  "10.0.0.1",
			  "10.0.0.2" },
			{ "IPv4 with a header beyond the packet", { 0x46 }, 23, 0, NULL, NULL },
			{ "IPv4 with a header of 16 bytes", { 0x44 }, 40, 0, NULL, NULL },
			{ "IPv4 cut off in the header", { 0x45 }, 19, 0, NULL, NULL },
			{ "IPv6 with an alert",
			  { IPV6, 0, 64, FROM, TO, 253, 0, 5, 2, 0xff, 0xdf, 1, 0, 's', 'l', 's',
			    'g' },
			  52,
			  4,
			  "fd00::1",
			  "fd00::2" },
			{ "IPv6 with 16 bytes of options",
			  { IPV6, 0, 64, FROM, TO, 253, 1, 5, 2, 0xff, 0xdf, 1, 8 },
			  57,
			  1,
			  "fd00::1",
			  "fd00::2" },
			{ "IPv6 with options beyond the packet",
			  { IPV6, 0, 64, FROM, TO, 253, 1, 5, 2, 0xff, 0xdf },
			  55,
			  0,
			  NULL,
			  NULL },
			{ "IPv6 with a message of UDP",
			  { IPV6, 0, 64, FROM, TO, 17 },
			  60,
			  0,
			  NULL,
			  NULL },
			{ "IPv6 with a fragment of UDP",
			  { IPV6, 0, 64, FROM, TO, 44, 0, 5, 2, 0xff, 0xdf, 1, 0, 17 },
			  60,
			  0,
			  NULL,
			  NULL },
			{ "IPv6 with a fragment that is cut off",
			  { IPV6, 0, 64, FROM, TO, 44, 0, 5, 2, 0xff, 0xdf, 1, 0, 253 },
			  55,
			  0,
			  NULL,
			  NULL },
			{ "IPv6 with a fragment",
			  { IPV6, 0, 64,  FROM, TO, 44, 0, 5, 2, 0xff, 0xdf,
			    1,	  0, 253, 0,	1,  1,	9, 9, 9, 9 },
			  60,
			  4,
			  "fd00::1",
			  "fd00::2" },
			{ "IPv6 without hop-by-hop options",
			  { IPV6, 253, 64, FROM, TO, 253 },
			  60,
			  0,
			  NULL,
			  NULL },
			{ "IPv6 cut off in the options",
			  { IPV6, 0, 64, FROM, TO, 253 },
			  47,
			  0,
			  NULL,
			  NULL },
			{ "a packet of version 5", { 0x55 }, 60, 0, NULL, NULL },
			{ "no packet", { 0 }, 0, 0, NULL, NULL },
		};

static void the_message_begins_behind_whole_headers_alone(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(packets) / sizeof(packets[0]); i++) {
		const struct packet *p = &packets[i];
		/* Its own memory, so that the sanitizer sees each byte beyond. */
		uint8_t *bytes = malloc(p->n + !p->n);
		struct el_signal_packet out;
		char text[EL_SIGNAL_TEXT_BYTES];

		memcpy(bytes, p->bytes, p->n);
		el_signal_packet_read(bytes, p->n, &out);
		if (out.n != p->message_bytes)
			fail_msg("%s: %zu bytes", p->name, out.n);
		assert_int_equal(out.is_fragment, strcmp(p->name, "IPv6 with a fragment") == 0);
		if (out.is_fragment) {
			assert_int_equal(out.fragment.offset, 256);
			assert_true(out.fragment.more && out.fragment.id == 0x09090909);
		}
		if (p->source) {
			assert_ptr_equal(out.message, bytes + p->n - out.n);
			assert_string_equal(el_signal_address_text(out.way.source, text),
					    p->source);
			assert_string_equal(el_signal_address_text(out.way.destination, text),
					    p->destination);
		}
		free(bytes);
	}
}

static void addresses_of_both_versions_are_read_and_written(void **state)
{
	static const struct {
		const char *text;
		uint8_t bytes[16];
	} right[] = {
		{ "10.0.0.2", { [10] = 0xff, 0xff, 10, 0, 0, 2 } },
		{ "fd00::2", { TO } },
		{ "::", { 0 } },
	};
	static const char *const wrong[] = { "",	  "10.0.0",	  "10.0.0.300",
					     "fd00::2::", "fe80::1%eth0", "a.host",
					     "fd00::/64" };
	uint8_t bytes[16];
	char text[EL_SIGNAL_TEXT_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		assert_int_equal(el_signal_address_parse(right[i].text, bytes), 0);
		assert_memory_equal(bytes, right[i].bytes, sizeof(bytes));
		assert_string_equal(el_signal_address_text(bytes, text), right[i].text);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_not_equal(el_signal_address_parse(wrong[i], bytes), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_message_begins_behind_whole_headers_alone),
		cmocka_unit_test(addresses_of_both_versions_are_read_and_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
