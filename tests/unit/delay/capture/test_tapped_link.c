/* SPDX-License-Identifier: BSD-2-Clause */
/* Links as words on the command line, and what their time stamps mean, by hand. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "delay/capture/tapped_link.h"

#define ETHERNET 1
#define RAW	 101

static struct sl_tapped_link parsed(const char *text)
{
	struct sl_tapped_link link;
	char why[256] = "";

	assert_int_equal(sl_tapped_link_parse(text, true, &link, why, sizeof(why)), 0);
	assert_string_equal(why, "");
	return link;
}

static void every_option_is_read(void **state)
{
	struct sl_tapped_link link = parsed("up=/tmp/a,b=c.pcap,rate=2488320kbit,overhead=9,"
					    "stamp=4,filter=ip and len < 100,rate=1");

	(void)state;
	assert_string_equal(link.name, "up");
	assert_string_equal(link.path, "/tmp/a,b=c.pcap");
	assert_string_equal(link.filter, "ip and len < 100,rate=1");
	assert_true(link.output);
	assert_int_equal(link.rate_bps, 2488320000);
	assert_true(link.overhead_given);
	assert_int_equal(link.overhead_bytes, 9);
	assert_int_equal(link.stamp, SL_STAMP_DEPTH);
	assert_int_equal(link.depth_bytes, 4);
	sl_tapped_link_fini(&link);
}

static void without_options_the_file_names_the_link(void **state)
{
	struct sl_tapped_link link = parsed("captures/a=b/eth1.2.pcapng");

	(void)state;
	assert_string_equal(link.name, "eth1");
	assert_string_equal(link.path, "captures/a=b/eth1.2.pcapng");
	assert_null(link.filter);
	assert_int_equal(link.rate_bps, 0);
	assert_false(link.overhead_given);
	assert_int_equal(link.stamp, SL_STAMP_END);
	sl_tapped_link_fini(&link);
}

static void what_is_wrong_is_refused_with_what_would_be_right(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "a.pcap,rate=fast", "rate=fast: a rate in bit, kbit, mbit or gbit is wanted" },
		{ "a.pcap,rate=5mpps", "rate=5mpps: a rate in bit" },
		{ "a.pcap,overhead=65536", "overhead=65536: bytes in 0..65535 are wanted" },
		{ "a.pcap,overhead=+1", "overhead=+1: bytes in 0..65535 are wanted" },
		{ "a.pcap,stamp=99999", "stamp=99999: end, start, or bytes of the IP packet" },
		{ "a.pcap,stamp=", "stamp=: end, start, or bytes of the IP packet" },
		{ "a.pcap,stamp=start",
		  "a: a stamp before the packet's end needs the link's rate" },
		{ "a.pcap,stamp=0", "a: a stamp before the packet's end needs the link's rate" },
		{ "name=", "names no file: [NAME=]FILE[,OPTION=VALUE] is wanted" },
		{ "", "names no file" },
		{ "=a.pcap", "the link's name has 1..63 letters" },
		{ ".pcap", ".pcap: give the link a name of 1..63 letters, as in eth1=FILE" },
		{ "0123456789012345678901234567890123456789012345678901234567890123=a.pcap",
		  "the link's name has 1..63 letters" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sl_tapped_link link;
		char why[256] = "";

		assert_int_equal(
			sl_tapped_link_parse(cases[i].text, false, &link, why, sizeof(why)),
			-EINVAL);
		if (!strstr(why, cases[i].says))
			fail_msg("\"%s\": \"%s\" does not say \"%s\"", cases[i].text, why,
				 cases[i].says);
		sl_tapped_link_fini(&link);
	}
}

struct correction {
	const char *name, *options;
	int type;
	uint32_t ip_bytes, vlan_tags;
	uint64_t ns;
};

/* T = t + 8 (bytes from the stamp to the last bit) / rate; 1 Gbit/s is 8 ns per byte. */
static const struct correction corrections[] = {
	{ "software saw the whole packet", "rate=1gbit", ETHERNET, 1500, 0, 0 },
	{ "hardware: 14 + 1500 + 4", "rate=1gbit,stamp=start", ETHERNET, 1500, 0, 12144 },
	{ "hardware: two tags more", "rate=1gbit,stamp=start", ETHERNET, 1500, 2, 12208 },
	{ "hardware: padded to 46", "rate=1gbit,stamp=start", ETHERNET, 28, 0, 512 },
	/* equation 2, OC-48: 8 * 1496 / 2.48832 Gbit/s = 4809.67 ns */
	{ "4 bytes deep on OC-48", "rate=2488320kbit,stamp=4", RAW, 1500, 0, 4810 },
	{ "the packet ends before the depth", "rate=1gbit,stamp=53", RAW, 40, 0, 0 },
	{ "the depth is the packet's end", "rate=1gbit,stamp=40", RAW, 40, 0, 0 },
	{ "raw IP has no frame", "rate=1gbit,stamp=start", RAW, 40, 0, 320 },
};

static void stamps_move_to_the_last_bit(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(corrections) / sizeof(corrections[0]); i++) {
		const struct correction *c = &corrections[i];
		struct sl_tapped_link link;
		char text[64] = "a.pcap,";
		uint64_t ns;

		strncat(text, c->options, sizeof(text) - strlen(text) - 1);
		link = parsed(text);
		link.type = sl_link_type_find(c->type);
		ns = sl_tapped_link_correction_ns(&link, c->ip_bytes, c->vlan_tags);
		if (ns != c->ns)
			fail_msg("%s: %lu ns, not %lu", c->name, (unsigned long)ns,
				 (unsigned long)c->ns);
		sl_tapped_link_fini(&link);
	}
}

/* Overheads of section "Effective output rate": 38 of Ethernet, where IP is padded to 46 */
static void a_packet_takes_its_bytes_and_the_links(void **state)
{
	struct sl_tapped_link ethernet = parsed("a.pcap"), given = parsed("a.pcap,overhead=42");

	(void)state;
	ethernet.type = given.type = sl_link_type_find(ETHERNET);
	assert_int_equal(sl_tapped_link_wire_bytes(&ethernet, 1500, 0), 1538);
	assert_int_equal(sl_tapped_link_wire_bytes(&ethernet, 46, 0), 84);
	assert_int_equal(sl_tapped_link_wire_bytes(&ethernet, 28, 0), 84);
	assert_int_equal(sl_tapped_link_wire_bytes(&ethernet, 1500, 2), 1546);
	assert_int_equal(sl_tapped_link_wire_bytes(&given, 28, 0), 70);
	assert_int_equal(sl_tapped_link_wire_bytes(&given, 28, 2), 70);
	ethernet.type = sl_link_type_find(RAW);
	assert_int_equal(sl_tapped_link_wire_bytes(&ethernet, 28, 0), 28);
	sl_tapped_link_fini(&ethernet);
	sl_tapped_link_fini(&given);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_option_is_read),
		cmocka_unit_test(without_options_the_file_names_the_link),
		cmocka_unit_test(what_is_wrong_is_refused_with_what_would_be_right),
		cmocka_unit_test(stamps_move_to_the_last_bit),
		cmocka_unit_test(a_packet_takes_its_bytes_and_the_links),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
