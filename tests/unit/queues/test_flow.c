/* SPDX-License-Identifier: BSD-2-Clause */
/* Which frames are of one flow, and the ECN mark. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>
#include <stdlib.h>

#include "queues/flow.h"
#include "tests/lib/frame.h"

#define MORE_FRAGMENTS 0x2000

static struct fq_flow parse(const struct frame *description)
{
	uint8_t bytes[FRAME_MAX_BYTES];
	const uint32_t n = frame_build(description, bytes);
	uint8_t *exact = malloc(n); /* ASan watches its end */
	struct fq_flow flow;

	memcpy(exact, bytes, n);
	fq_flow_parse(exact, n, &flow);
	free(exact);
	return flow;
}

static int same_flow(const struct frame *a, const struct frame *b)
{
	static const struct fq_hash_key key = { 1, 2 };
	const struct fq_flow flow_a = parse(a), flow_b = parse(b);
	const int same = flow_a.key_bytes == flow_b.key_bytes &&
			 memcmp(flow_a.key, flow_b.key, flow_a.key_bytes) == 0;

	assert_int_equal(fq_flow_hash(&flow_a, &key) == fq_flow_hash(&flow_b, &key), same);
	return same;
}

/* Each row against a plain frame of its version. */
static void flows_differ_by_addresses_protocol_and_ports_and_by_nothing_else(void **state)
{
	static const struct {
		const char *name;
		struct frame frame;
		int same;
	} cases[] = {
		{ "TTL, TOS and id", { .ttl = 3, .tos = 0xb8, .id = 77 }, 1 },
		{ "MAC addresses", { .src_mac = 5, .dst_mac = 6 }, 1 },
		{ "length", { .payload_bytes = 900 }, 1 },
		{ "a VLAN tag", { .tag = { { 0x8100, 5 } } }, 1 },
		{ "two VLAN tags", { .tag = { { 0x88a8, 9 }, { 0x8100, 5 } } }, 1 },
		{ "padding", { .padding_bytes = 9 }, 1 },
		{ "source", { .src = "10.1.0.3" }, 0 },
		{ "destination", { .dst = "10.2.0.3" }, 0 },
		{ "source port", { .sport = 1235 }, 0 },
		{ "destination port", { .dport = 4320 }, 0 },
		{ "protocol", { .protocol = 6 }, 0 },
		{ "no IP", { .ethertype = 0x0806 }, 0 },
		{ "IPv6, TTL and TOS", { .ip6 = true, .ttl = 3, .tos = 0xb8 }, 1 },
		{ "IPv6, flow label", { .ip6 = true, .flow_label = 99 }, 1 },
		{ "IPv6, a VLAN tag", { .ip6 = true, .tag = { { 0x8100, 5 } } }, 1 },
		{ "IPv6, source", { .ip6 = true, .src = "2001:db8:1::3" }, 0 },
		{ "IPv6, destination", { .ip6 = true, .dst = "2001:db8:2::3" }, 0 },
		{ "IPv6, source port", { .ip6 = true, .sport = 1235 }, 0 },
		{ "IPv6, destination port", { .ip6 = true, .dport = 4320 }, 0 },
		{ "IPv6, protocol", { .ip6 = true, .protocol = 132 }, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct frame plain = { .ip6 = cases[i].frame.ip6 };

		if (same_flow(&cases[i].frame, &plain) != cases[i].same)
			fail_msg("%s", cases[i].name);
	}
}

static void fragments_of_a_packet_are_one_flow_whatever_they_carry(void **state)
{
	const struct frame first = { .fragment = MORE_FRAGMENTS };
	const struct frame middle = { .fragment = MORE_FRAGMENTS | 20, .sport = 9, .dport = 10 };
	const struct frame last = { .fragment = 40, .sport = 11, .dport = 12 };
	const struct frame whole = { .fragment = 0 };
	const struct frame never = { .fragment = 0x4000 }; /* don't fragment */

	(void)state;
	assert_true(same_flow(&first, &middle));
	assert_true(same_flow(&first, &last));
	assert_false(same_flow(&first, &whole));
	assert_true(same_flow(&whole, &never));
}

static void protocols_without_ports_are_told_apart_by_addresses(void **state)
{
	const struct frame icmp = { .protocol = 1, .sport = 1, .dport = 2 };
	const struct frame other = { .protocol = 1, .sport = 3, .dport = 4 };
	const struct frame ports = { .protocol = 17, .sport = 3, .dport = 4 };

	(void)state;
	assert_true(same_flow(&icmp, &other));
	assert_false(same_flow(&other, &ports));
}

static void ports_are_found_behind_ipv4_options(void **state)
{
	/* A header of 24 bytes: the ports are those that the payload has at its byte 4. */
	static const struct frame a = { .payload_bytes = 30,
					.patch = { { 0, 0x46 }, { 27, 1 }, { 0, 0 } } };
	static const struct frame b = { .payload_bytes = 30,
					.patch = { { 0, 0x46 }, { 27, 2 }, { 0, 0 } } };
	/* And these are options, no ports. */
	static const struct frame c = { .payload_bytes = 30,
					.sport = 7,
					.patch = { { 0, 0x46 }, { 27, 1 }, { 0, 0 } } };

	(void)state;
	assert_false(same_flow(&a, &b));
	assert_true(same_flow(&a, &c));
}

static void a_frame_cut_off_anywhere_is_read_within_its_length(void **state)
{
	static const struct frame cases[] = {
		{ .tag = { { 0x88a8, 9 }, { 0x8100, 5 } } },
		{ .ip6 = true, .tag = { { 0x88a8, 9 }, { 0x8100, 5 } } },
		{ .patch = { { 0, 0x4f } } }, /* a header of 60 bytes */
		{ .patch = { { 0, 0x40 } } }, /* of none */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (uint32_t cut = 1; cut < 70; cut++) {
			struct frame frame = cases[i];

			frame.cut_bytes = cut;
			parse(&frame);
		}
}

/* The marked frame must be the one that a sender would have built with CE. */
static void a_mark_sets_congestion_experienced_and_keeps_the_checksum_right(void **state)
{
	(void)state;
	for (int ip6 = 0; ip6 < 2; ip6++)
		for (uint16_t id = 0; id < 2000; id++)
			for (uint8_t ecn = 1; ecn < 4; ecn++) {
				struct frame frame = { .ip6 = ip6, .tos = 0xb8 | ecn, .id = id };
				uint8_t bytes[FRAME_MAX_BYTES], wanted[FRAME_MAX_BYTES];
				const uint32_t n = frame_build(&frame, bytes);
				struct fq_flow flow;

				fq_flow_parse(bytes, n, &flow);
				assert_int_equal(flow.ecn, ecn);
				assert_true(fq_flow_is_ect(&flow));
				fq_flow_mark(bytes, &flow);
				frame.tos = 0xbb;
				assert_int_equal(frame_build(&frame, wanted), n);
				assert_memory_equal(bytes, wanted, n);
			}
}

static void a_sender_without_ecn_and_frames_that_are_not_ip_are_not_ect(void **state)
{
	const struct frame cases[] = { { .tos = 0xb8 },
				       { .ip6 = true, .tos = 0xb8 },
				       { .ethertype = 0x0806, .tos = 3 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct fq_flow flow = parse(&cases[i]);

		assert_false(fq_flow_is_ect(&flow));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flows_differ_by_addresses_protocol_and_ports_and_by_nothing_else),
		cmocka_unit_test(fragments_of_a_packet_are_one_flow_whatever_they_carry),
		cmocka_unit_test(protocols_without_ports_are_told_apart_by_addresses),
		cmocka_unit_test(ports_are_found_behind_ipv4_options),
		cmocka_unit_test(a_frame_cut_off_anywhere_is_read_within_its_length),
		cmocka_unit_test(a_mark_sets_congestion_experienced_and_keeps_the_checksum_right),
		cmocka_unit_test(a_sender_without_ecn_and_frames_that_are_not_ip_are_not_ect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
