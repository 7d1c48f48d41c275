/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames in words, also of bytes that nobody should trust. The sanitizers watch the reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bpf/abi/classifier.h"
#include "user/capture/frame_text.h"

#define MACS "\x02\0\0\0\0\x01\x02\0\0\0\0\x02"
#define IP4(flags, protocol) \
	"\x45\0\0\x1c\0\0" flags "\x40" protocol "\0\0\x0a\0\x01\x02\x0a\0\x02\x02"
#define IP6(next)                                                                                  \
	"\x60\0\0\0\0\x10" next "\x40\xfd\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x02\xfd\0\0\x02\0\0\0\0\0" \
	"\0\0\0\0\0\0\x02"
#define PORTS "\x13\x88\0\x35\0\x08\0\0"

static const struct {
	const char *name, *bytes;
	size_t n;
	const char *text;
} cases[] = {
#define CASE(name, bytes, text)                      \
	{                                            \
		name, bytes, sizeof(bytes) - 1, text \
	}
	CASE("UDP of IPv4", MACS "\x08\0" IP4("\0\0", "\x11") PORTS,
	     "10.0.1.2.5000 > 10.0.2.2.53 UDP"),
	CASE("first fragment", MACS "\x08\0" IP4("\x20\0", "\x11") PORTS,
	     "10.0.1.2.5000 > 10.0.2.2.53 UDP"),
	CASE("later fragment", MACS "\x08\0" IP4("\0\x05", "\x11") PORTS,
	     "10.0.1.2 > 10.0.2.2 UDP"),
	CASE("ICMP", MACS "\x08\0" IP4("\0\0", "\x01") PORTS, "10.0.1.2 > 10.0.2.2 ICMP"),
	CASE("two tags", MACS "\x88\xa8\0\x05\x81\0\0\x07\x08\0" IP4("\0\0", "\x06") PORTS,
	     "10.0.1.2.5000 > 10.0.2.2.53 TCP"),
	CASE("TCP of IPv6", MACS "\x86\xdd" IP6("\x06") PORTS, "fd00:1::2.5000 > fd00:2::2.53 TCP"),
	CASE("IPv6 with destination options",
	     MACS "\x86\xdd" IP6("\x3c") "\x11\0\x01\x04\0\0\0\0" PORTS,
	     "fd00:1::2.5000 > fd00:2::2.53 UDP"),
	CASE("later fragment of IPv6", MACS "\x86\xdd" IP6("\x2c") "\x11\0\0\x08\0\0\0\x01" PORTS,
	     "fd00:1::2 > fd00:2::2 UDP"),
	CASE("another version than the type says", MACS "\x08\0\x65" PORTS,
	     "02:00:00:00:00:02 > 02:00:00:00:00:01 type 0x0800"),
	CASE("ARP", MACS "\x08\x06", "02:00:00:00:00:02 > 02:00:00:00:00:01 ARP 0x0806"),
	CASE("13 bytes", MACS "\x08", "less than an Ethernet header"),
	CASE("nothing", "", "less than an Ethernet header"),
};

static void frame_is_named_by_its_addresses(void **state)
{
	char text[SL_FRAME_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sl_frame_text((const uint8_t *)cases[i].bytes, (uint32_t)cases[i].n, text);
		print_message("%s\n", cases[i].name);
		assert_string_equal(text, cases[i].text);
	}
}

static struct sl_frame_flow flow_of(const char *bytes, size_t n)
{
	struct sl_frame_flow flow;

	sl_frame_flow((const uint8_t *)bytes, (uint32_t)n, &flow);
	return flow;
}
#define FLOW_OF(bytes) flow_of(bytes, sizeof(bytes) - 1)

static void frame_has_the_fields_that_rules_ask_for(void **state)
{
	struct sl_frame_flow flow;

	(void)state;
	flow = FLOW_OF(
		MACS "\x86\xdd\x6b\x8a\xbc\xde\0\x14\x06\x40\xfd\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\x02"
		     "\xfd\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\x02" PORTS "\0\0\0\0\x50\x12");
	assert_int_equal(flow.dscp, 46);
	assert_int_equal(flow.flow_label, 0xabcde);
	assert_int_equal(flow.tcp_flags, 0x12);
	assert_int_equal(flow.fragment, SL_FRAGMENT_NONE);
	assert_false(flow.has_icmp);
	flow = FLOW_OF(
		MACS
		"\x08\0\x45\x28\0\x1c\0\0\0\0\x40\x01\0\0\x0a\0\x01\x02\x0a\0\x02\x02\x08\x07");
	assert_int_equal(flow.dscp, 10);
	assert_true(flow.has_icmp);
	assert_int_equal(flow.icmp_type, 8);
	assert_int_equal(flow.icmp_code, 7);
	assert_int_equal(FLOW_OF(MACS "\x08\0" IP4("\x20\0", "\x11") PORTS).fragment,
			 SL_FRAGMENT_FIRST);
	assert_int_equal(FLOW_OF(MACS "\x08\0" IP4("\0\x05", "\x11") PORTS).fragment,
			 SL_FRAGMENT_LATER);
	assert_int_equal(
		FLOW_OF(MACS "\x86\xdd" IP6("\x2c") "\x11\0\0\x01\0\0\0\x01" PORTS).fragment,
		SL_FRAGMENT_FIRST);
}

static void frame_cut_anywhere_is_not_read_beyond(void **state)
{
	char text[SL_FRAME_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t n = 0; n <= cases[i].n; n++) {
			uint8_t *cut = malloc(n ? n : 1);

			assert_non_null(cut);
			memcpy(cut, cases[i].bytes, n);
			sl_frame_text(cut, (uint32_t)n, text);
			assert_true(strlen(text) > 0);
			free(cut);
		}
}

static void outcome_names_the_reason_of_show_drops(void **state)
{
	struct sl_sighting s = { .outcome = SL_OUTCOME_DROPPED, .reason = 6 };
	char text[SL_FRAME_TEXT_MAX];

	(void)state;
	sl_outcome_text(&s, text);
	assert_string_equal(text, "drop: ip4-checksum: header checksum is wrong");
	s.reason = 0;
	sl_outcome_text(&s, text);
	assert_string_equal(text, "drop");
	s.reason = 255;
	sl_outcome_text(&s, text);
	assert_string_equal(text, "drop");
	s = (struct sl_sighting){ .outcome = SL_OUTCOME_KERNEL, .reason = 1 };
	sl_outcome_text(&s, text);
	assert_string_equal(text, "kernel: not-ip: neither IPv4 nor IPv6: ARP, LLDP, MPLS, ...");
	s = (struct sl_sighting){ .outcome = SL_OUTCOME_QUEUED, .voq_plus1 = 13 };
	sl_outcome_text(&s, text);
	assert_string_equal(text, "queue: virtual output queue 12");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frame_is_named_by_its_addresses),
		cmocka_unit_test(frame_has_the_fields_that_rules_ask_for),
		cmocka_unit_test(frame_cut_anywhere_is_not_read_beyond),
		cmocka_unit_test(outcome_names_the_reason_of_show_drops),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
