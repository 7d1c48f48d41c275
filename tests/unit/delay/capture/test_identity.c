/* SPDX-License-Identifier: BSD-2-Clause */
/* What makes a packet known again, and what must not, on frames written by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "delay/capture/identity.h"

enum { ETHERNET = 1, RAW = 101, SLL = 113, SLL2 = 276 };

/* 20 bytes of IPv4 and 24 of data: 44, as much as a capture needs */
static const uint8_t ip4[44] = { 0x45, 0,  0,  60, 0x12, 0x34, 0,  0,  64, 17, 0xaa,
				 0xbb, 10, 0,  0,  1,	 10,   0,  0,  2,  1,  2,
				 3,    4,  5,  6,  7,	 8,    9,  10, 11, 12, 13,
				 14,   15, 16, 17, 18,	 19,   20, 21, 22, 23, 24 };
/* 40 bytes of IPv6 and 24 of data */
static const uint8_t ip6[64] = { 0x60, 0,	 0,	      0,	0,	  40,	    17, 64,
				 0xfd, [23] = 1, [24] = 0xfd, [39] = 2, [40] = 1, 2,	    3,	4,
				 5,    6,	 7,	      8,	9,	  [63] = 24 };

static enum sl_identity_verdict identify(int type, const void *frame, uint32_t bytes, bool hide,
					 struct sl_identity *out)
{
	return sl_identify(sl_link_type_find(type), frame, bytes, hide, out);
}

static struct sl_identity known(int type, const void *frame, uint32_t bytes, bool hide)
{
	struct sl_identity id;

	assert_int_equal(identify(type, frame, bytes, hide, &id), SL_IDENTITY_OK);
	return id;
}

static bool same(const struct sl_identity *a, const struct sl_identity *b)
{
	return memcmp(a->id, b->id, sizeof(a->id)) == 0;
}

/* Which single bytes of the packet, changed, make it another packet? */
static void bytes_that_matter(const uint8_t *packet, uint32_t bytes, bool hide, uint8_t *matters)
{
	const struct sl_identity first = known(RAW, packet, bytes, hide);

	for (uint32_t i = 0; i < bytes; i++) {
		uint8_t changed[64];
		struct sl_identity id;

		memcpy(changed, packet, bytes);
		changed[i] ^= i == 2 ? 1 : 0x10; /* of the length's high byte: makes it longer */
		matters[i] = identify(RAW, changed, bytes, hide, &id) != SL_IDENTITY_OK ||
			     !same(&first, &id);
	}
}

static void ip4_is_known_by_addresses_identification_and_24_bytes(void **state)
{
	uint8_t matters[64];

	(void)state;
	bytes_that_matter(ip4, 44, false, matters);
	for (uint32_t i = 0; i < 44; i++) {
		/* 0: version; 4, 5: identification; 6: 0x1000 is the highest bit of the offset */
		const bool wanted = i == 0 || (i >= 4 && i <= 6) || i == 7 || i >= 12;

		if (matters[i] != wanted)
			fail_msg("byte %u: %s", i, wanted ? "should matter" : "should not matter");
	}
}

static void ip6_is_known_by_addresses_next_header_and_24_bytes(void **state)
{
	uint8_t matters[64];

	(void)state;
	bytes_that_matter(ip6, 64, false, matters);
	for (uint32_t i = 0; i < 64; i++) {
		const bool wanted = i == 0 || i == 6 || i >= 8;

		if (matters[i] != wanted)
			fail_msg("byte %u: %s", i, wanted ? "should matter" : "should not matter");
	}
}

static void checksums_may_stay_out(void **state)
{
	static const struct {
		uint8_t protocol, at; /* in the data; 255: nowhere */
	} cases[] = { { 6, 16 }, { 17, 6 }, { 1, 2 }, { 58, 2 }, { 50, 255 } };

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		uint8_t packet[44], matters[64];

		memcpy(packet, ip4, sizeof(packet));
		packet[9] = cases[c].protocol;
		bytes_that_matter(packet, 44, true, matters);
		for (uint32_t i = 20; i < 44; i++)
			assert_int_equal(matters[i],
					 i != 20u + cases[c].at && i != 21u + cases[c].at);
		packet[7] = 1; /* a later fragment has no checksum */
		bytes_that_matter(packet, 44, true, matters);
		for (uint32_t i = 20; i < 44; i++)
			assert_int_equal(matters[i], 1);
	}
}

static void length_options_and_tags_are_told(void **state)
{
	uint8_t frame[14 + 8 + 44] = { [12] = 0x88, 0xa8, 0, 1, 0x81, 0, 0, 2, 8, 0 };
	uint8_t options[48];
	struct sl_identity id;

	(void)state;
	memcpy(frame + 22, ip4, 44);
	id = known(ETHERNET, frame, sizeof(frame), false);
	assert_int_equal(id.ip_bytes, 60);
	assert_int_equal(id.vlan_tags, 2);
	assert_false(id.slow);
	memcpy(options, ip4, 20);
	options[0] = 0x46;
	memset(options + 20, 1, 4);
	memcpy(options + 24, ip4 + 20, 24);
	assert_true(known(RAW, options, 48, false).slow);
	id = known(RAW, ip6, 64, false);
	assert_int_equal(id.ip_bytes, 80);
	assert_false(id.slow);
	memcpy(frame, ip6, 64);
	frame[6] = 0; /* hop-by-hop options */
	assert_true(known(RAW, frame, 64, false).slow);
}

static void the_link_layer_does_not_matter(void **state)
{
	static const struct {
		const char *name;
		int type;
		uint32_t bytes; /* of the link layer's header */
		uint8_t header[24];
	} cases[] = {
		{ "Ethernet", ETHERNET, 14, { [12] = 8, 0 } },
		{ "VLAN", ETHERNET, 18, { [12] = 0x81, 0, 0xe0, 7, 8, 0 } },
		{ "SLL", SLL, 16, { [14] = 8, 0 } },
		{ "SLL with a tag", SLL, 20, { [14] = 0x81, 0, 0, 7, 8, 0 } },
		{ "SLL2", SLL2, 20, { 8, 0, 0 } },
		{ "PPP", 9, 2, { 0, 0x21 } },
		{ "PPP in HDLC", 50, 4, { 0xff, 3, 0, 0x21 } },
		{ "PPP, compressed", 9, 1, { 0x21 } },
		{ "Cisco HDLC", 104, 4, { 0x0f, 0, 8, 0 } },
		{ "BSD loopback", 0, 4, { 2, 0, 0, 0 } },
		{ "OpenBSD loopback", 108, 4, { 0, 0, 0, 2 } },
		{ "IPv4", 228, 0, { 0 } },
	};
	const struct sl_identity raw = known(RAW, ip4, 44, false);

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		uint8_t frame[24 + 44 + 6];
		struct sl_identity id;

		memcpy(frame, cases[c].header, cases[c].bytes);
		memcpy(frame + cases[c].bytes, ip4, 44);
		memset(frame + cases[c].bytes + 44, 0x77, 6); /* padding */
		for (uint32_t more = 0; more <= 6; more += 6) {
			if (identify(cases[c].type, frame, cases[c].bytes + 44 + more, false,
				     &id) != SL_IDENTITY_OK ||
			    !same(&raw, &id))
				fail_msg("%s", cases[c].name);
		}
		/* Cut anywhere before its end, nothing is known of it. */
		for (uint32_t bytes = 0; bytes < cases[c].bytes + 44; bytes++)
			assert_int_equal(identify(cases[c].type, frame, bytes, false, &id),
					 SL_IDENTITY_SHORT);
	}
}

/* A frame of 60 bytes has up to 26 behind a short packet, and they may change on the way. */
static void padding_is_no_data(void **state)
{
	uint8_t frame[60] = { [12] = 8, 0 };
	struct sl_identity first, again;

	(void)state;
	memcpy(frame + 14, ip4, 28);
	frame[14 + 3] = 28; /* 8 bytes of data */
	first = known(ETHERNET, frame, 60, false);
	memset(frame + 14 + 28, 0x5a, 18);
	again = known(ETHERNET, frame, 60, false);
	assert_true(same(&first, &again));
	again = known(ETHERNET, frame, 14 + 28, false);
	assert_true(same(&first, &again));
	frame[14 + 27] ^= 1;
	again = known(ETHERNET, frame, 60, false);
	assert_false(same(&first, &again));
}

static void what_is_no_ip_or_broken_is_told_apart(void **state)
{
	static const struct {
		const char *name;
		enum sl_identity_verdict verdict;
		int type;
		uint8_t at, value; /* changed in ip4 */
	} cases[] = {
		{ "header of 16 bytes", SL_IDENTITY_BROKEN, RAW, 0, 0x44 },
		{ "total length below the header", SL_IDENTITY_BROKEN, RAW, 3, 19 },
		{ "version 5", SL_IDENTITY_NOT_IP, RAW, 0, 0x55 },
		{ "ARP", SL_IDENTITY_NOT_IP, ETHERNET, 13, 6 },
	};
	struct sl_identity id;

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		uint8_t frame[44];

		memcpy(frame, ip4, sizeof(frame));
		frame[12] = 8; /* ARP's type begins as IPv4's */
		frame[cases[c].at] = cases[c].value;
		if (identify(cases[c].type, frame, 44, false, &id) != cases[c].verdict)
			fail_msg("%s", cases[c].name);
	}
	assert_null(sl_link_type_find(147));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ip4_is_known_by_addresses_identification_and_24_bytes),
		cmocka_unit_test(ip6_is_known_by_addresses_next_header_and_24_bytes),
		cmocka_unit_test(checksums_may_stay_out),
		cmocka_unit_test(length_options_and_tags_are_told),
		cmocka_unit_test(the_link_layer_does_not_matter),
		cmocka_unit_test(padding_is_no_data),
		cmocka_unit_test(what_is_no_ip_or_broken_is_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
