/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * RoCEv2 frames: we accept the frames that we make, and refuse each wrong field under its name.
 * tests/oracle/test_roce.py compares the bytes with other implementations.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "rdma-bridge/transport/roce.h"

static const struct rb_roce_config config = {
	.pkey = RB_ROCE_PKEY_DEFAULT,
	.dscp = 26,
	.ecn = RB_ECN_ECT0,
	.hop_limit = 64,
	.payload_max_bytes = RB_ROCE_PAYLOAD_MAX_BYTES,
};

static struct rb_roce_end end_a[2] = {
	{ { 2, 0, 0, 0, 0, 1 }, { [10] = 0xff, 0xff, 10, 9, 0, 1 }, 0x111111, 0xaaaa0001 },
	{ { 2, 0, 0, 0, 0, 1 }, { 0xfd, 9, [15] = 1 }, 0x111111, 0xaaaa0001 },
};
static struct rb_roce_end end_b[2] = {
	{ { 2, 0, 0, 0, 0, 2 }, { [10] = 0xff, 0xff, 10, 9, 0, 2 }, 0x222222, 0xbbbb0002 },
	{ { 2, 0, 0, 0, 0, 2 }, { 0xfd, 9, [15] = 2 }, 0x222222, 0xbbbb0002 },
};
enum { V4, V6 };

static uint8_t frame[RB_ROCE_FRAME_MAX_BYTES];

/* Make a frame from a to b with `bytes` bytes of payload 0, 1, 2, ... */
static uint32_t make(int family, uint32_t psn, uint32_t bytes)
{
	struct rb_roce_path path;

	assert_int_equal(rb_roce_path_init(&path, &config, &end_a[family], &end_b[family]), 0);
	for (uint32_t i = 0; i < bytes; i++)
		frame[path.header_bytes + i] = (uint8_t)i;
	return rb_roce_frame(&path, psn, frame, bytes);
}

/* Parse as b, from memory that ends with the frame. */
static enum rb_roce_verdict parse(int family, const uint8_t *data, uint32_t bytes,
				  struct rb_roce_packet *packet)
{
	uint8_t *copy = malloc(bytes ? bytes : 1);
	enum rb_roce_verdict verdict;

	assert_non_null(copy);
	memcpy(copy, data, bytes);
	verdict = rb_roce_parse(&config, &end_b[family], copy, bytes, packet);
	if (verdict == RB_ROCE_SEND) {
		assert_true(packet->payload >= copy &&
			    packet->payload + packet->payload_bytes <= copy + bytes);
		packet->payload = data + (packet->payload - copy);
	}
	free(copy);
	return verdict;
}

/* Write the right ICRC into a changed frame, computed by zlib and not by our code. */
static void reseal(int family, uint8_t *data, uint32_t bytes)
{
	uint8_t masked[8 + RB_ROCE_FRAME_MAX_BYTES];
	uint32_t n = bytes - 14 - 4, ip_bytes = family == V4 ? 20 : 40, crc;
	uint8_t *m = masked + 8;

	memset(masked, 0xff, 8);
	memcpy(m, data + 14, n);
	if (family == V4) {
		uint32_t sum = 0;

		data[24] = data[25] = 0;
		for (int i = 14; i < 34; i += 2)
			sum += (uint32_t)(data[i] << 8 | data[i + 1]);
		sum = (sum & 0xffff) + (sum >> 16);
		sum = ~((sum & 0xffff) + (sum >> 16));
		data[24] = (uint8_t)(sum >> 8);
		data[25] = (uint8_t)sum;
		m[1] = m[8] = m[10] = m[11] = 0xff;
	} else {
		m[0] = 0x6f;
		m[1] = m[2] = m[3] = m[7] = 0xff;
	}
	m[ip_bytes + 6] = m[ip_bytes + 7] = m[ip_bytes + 8 + 4] = 0xff;
	crc = (uint32_t)crc32(0, masked, n + 8);
	for (int i = 0; i < 4; i++)
		data[bytes - 4 + (uint32_t)i] = (uint8_t)(crc >> 8 * i);
}

static void every_payload_size_comes_back_in_both_families(void **state)
{
	struct rb_roce_packet p;

	(void)state;
	for (int family = V4; family <= V6; family++)
		for (uint32_t bytes = 1; bytes <= RB_ROCE_PAYLOAD_MAX_BYTES;
		     bytes += bytes < 140 || bytes > 4000 ? 1 : 97) {
			uint32_t n = make(family, 0x1000000 + bytes, bytes);

			assert_int_equal(n, (family == V4 ? 62 : 82) + ((bytes + 3) & ~3U) + 4);
			assert_int_equal(parse(family, frame, n, &p), RB_ROCE_SEND);
			assert_int_equal(p.payload_bytes, bytes);
			for (uint32_t i = 0; i < bytes; i++)
				assert_int_equal(p.payload[i], (uint8_t)i);
			assert_int_equal(p.psn, bytes);
			assert_int_equal(p.src_qpn, 0x111111);
			assert_memory_equal(p.src_ip, end_a[family].ip, 16);
			assert_false(p.ce);
		}
}

static void frame_to_ipv4_has_these_bytes(void **state)
{
	/* clang-format off */
	static const uint8_t expected[] = {
		/* Ethernet */
		2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0,
		/* IPv4; checksum 0x2633 computed by hand */
		0x45, 26 << 2 | 2, 0, 20 + 8 + 12 + 8 + 8 + 4, 0, 0, 0x40, 0, 64, 17,
		0x26, 0x33, 10, 9, 0, 1, 10, 9, 0, 2,
		/* UDP, source port left open */
		0, 0, 0x12, 0xb7, 0, 40, 0, 0,
		/* BTH: UD SEND only, MigReq and 3 bytes of padding, P_Key; QPN, PSN */
		0x64, 0x70, 0xff, 0xff, 0, 0x22, 0x22, 0x22, 0, 0, 0, 7,
		/* DETH: queue key, source QPN */
		0xbb, 0xbb, 0, 2, 0, 0x11, 0x11, 0x11,
		/* payload, padding */
		0, 1, 2, 3, 4, 0, 0, 0,
	};
	/* clang-format on */

	(void)state;
	memset(frame, 0xee, sizeof(frame));
	assert_int_equal(make(V4, 7, 5), sizeof(expected) + 4);
	assert_in_range(frame[34], 0xc0, 0xff);
	frame[34] = frame[35] = 0;
	assert_memory_equal(frame, expected, sizeof(expected));
}

static void source_port_is_one_per_path_and_spread_over_paths(void **state)
{
	uint8_t seen[1 << 14] = { 0 };
	uint32_t distinct = 0;

	(void)state;
	for (uint32_t qpn = 2; qpn < 1002; qpn++) {
		struct rb_roce_end remote = end_b[V4];
		struct rb_roce_path one, two;
		uint32_t port;

		remote.qpn = qpn;
		rb_roce_path_init(&one, &config, &end_a[V4], &remote);
		rb_roce_path_init(&two, &config, &end_a[V4], &remote);
		assert_memory_equal(&one, &two, sizeof(one));
		port = (uint32_t)(one.header[34] << 8 | one.header[35]);
		assert_in_range(port, 0xc000, 0xffff);
		distinct += !seen[port - 0xc000];
		seen[port - 0xc000] = 1;
	}
	/* 1000 draws out of 16384 leave about 970 distinct ports. */
	assert_true(distinct > 930);
}

/* A good frame with one byte changed; sealed: with checksum and ICRC made right again. */
struct refusal {
	const char *name;
	uint32_t at;
	uint8_t value;
	int sealed;
	enum rb_roce_verdict verdict;
};

static const struct refusal refusals4[] = {
	{ "ethertype ARP", 13, 6, 0, RB_ROCE_ETHERTYPE },
	{ "ethertype of the other family", 13, 1, 0, RB_ROCE_ETHERTYPE },
	{ "IP version 5", 14, 0x55, 1, RB_ROCE_IP_HEADER },
	{ "IP options", 14, 0x46, 1, RB_ROCE_IP_HEADER },
	{ "IP checksum", 24, 0, 0, RB_ROCE_IP_HEADER },
	{ "more fragments", 20, 0x20, 1, RB_ROCE_IP_HEADER },
	{ "fragment offset", 21, 1, 1, RB_ROCE_IP_HEADER },
	{ "TCP", 23, 6, 1, RB_ROCE_IP_PROTOCOL },
	{ "total length beyond the frame", 16, 1, 1, RB_ROCE_IP_LENGTH },
	{ "total length below the headers", 17, 27, 1, RB_ROCE_IP_LENGTH },
	{ "total length one short", 17, 20 + 8 + 12 + 8 + 8 + 3, 1, RB_ROCE_UDP_LENGTH },
	{ "another destination", 33, 3, 1, RB_ROCE_IP_ADDRESS },
	{ "UDP port 4790", 37, 0xb6, 1, RB_ROCE_UDP_PORT },
	{ "UDP length one less", 39, 39, 1, RB_ROCE_UDP_LENGTH },
	{ "UDP length one more", 39, 41, 1, RB_ROCE_UDP_LENGTH },
	{ "ICRC", 70, 0x5a, 0, RB_ROCE_ICRC },
	{ "payload damaged", 63, 0x5a, 0, RB_ROCE_ICRC },
	{ "queue key damaged", 54, 0x5a, 0, RB_ROCE_ICRC },
	{ "IP source damaged, checksum right", 29, 9, 2, RB_ROCE_ICRC },
	{ "transport version 1", 43, 0x71, 1, RB_ROCE_BTH_VERSION },
	{ "opcode RC SEND only", 42, 0x04, 1, RB_ROCE_OPCODE },
	{ "opcode UD SEND only with immediate", 42, 0x65, 1, RB_ROCE_OPCODE },
	{ "another partition", 45, 0xfe, 1, RB_ROCE_PKEY },
	{ "another queue pair", 49, 0x23, 1, RB_ROCE_QPN },
	{ "another queue key", 57, 3, 1, RB_ROCE_QKEY },
};

static void bad_field_is_refused_under_its_name(void **state)
{
	struct rb_roce_packet p;

	(void)state;
	for (size_t i = 0; i < sizeof(refusals4) / sizeof(refusals4[0]); i++) {
		const struct refusal *c = &refusals4[i];
		enum rb_roce_verdict verdict;
		uint32_t n = make(V4, 7, 5);
		uint8_t icrc[4];

		memcpy(icrc, frame + n - 4, 4);
		frame[c->at] = c->value;
		if (c->sealed)
			reseal(V4, frame, n);
		if (c->sealed == 2)
			memcpy(frame + n - 4, icrc, 4);
		verdict = parse(V4, frame, n, &p);
		if (verdict != c->verdict)
			print_error("%s: %s\n", c->name, rb_roce_verdict_name(verdict));
		assert_int_equal(verdict, c->verdict);
	}
}

static const struct refusal refusals6[] = {
	{ "IP version 4", 14, 0x46, 1, RB_ROCE_IP_HEADER },
	{ "hop-by-hop options", 20, 0, 1, RB_ROCE_IP_PROTOCOL },
	{ "fragment header", 20, 44, 1, RB_ROCE_IP_PROTOCOL },
	{ "payload length beyond the frame", 18, 1, 1, RB_ROCE_IP_LENGTH },
	{ "payload length below UDP", 19, 7, 1, RB_ROCE_IP_LENGTH },
	{ "another destination", 53, 3, 1, RB_ROCE_IP_ADDRESS },
	{ "UDP port", 57, 0xb6, 1, RB_ROCE_UDP_PORT },
	{ "payload damaged", 83, 0x5a, 0, RB_ROCE_ICRC },
	{ "source damaged", 24, 0x5a, 0, RB_ROCE_ICRC },
	{ "another queue key", 77, 3, 1, RB_ROCE_QKEY },
};

static void bad_field_over_ipv6_is_refused_under_its_name(void **state)
{
	struct rb_roce_packet p;

	(void)state;
	for (size_t i = 0; i < sizeof(refusals6) / sizeof(refusals6[0]); i++) {
		const struct refusal *c = &refusals6[i];
		enum rb_roce_verdict verdict;
		uint32_t n = make(V6, 7, 5);

		frame[c->at] = c->value;
		if (c->sealed)
			reseal(V6, frame, n);
		verdict = parse(V6, frame, n, &p);
		if (verdict != c->verdict)
			print_error("%s: %s\n", c->name, rb_roce_verdict_name(verdict));
		assert_int_equal(verdict, c->verdict);
	}
}

static void fields_that_routers_change_do_not_matter(void **state)
{
	/* TOS, TTL; traffic class and flow label, hop limit; UDP checksum; FECN and BECN. */
	static const struct {
		int family;
		uint32_t at;
	} fields[] = { { V4, 15 }, { V4, 22 }, { V6, 15 }, { V6, 16 }, { V6, 17 },
		       { V6, 21 }, { V4, 40 }, { V4, 41 }, { V6, 60 }, { V4, 46 } };
	struct rb_roce_packet p;

	(void)state;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		uint32_t n = make(fields[i].family, 7, 5);
		uint8_t icrc[4];

		memcpy(icrc, frame + n - 4, 4);
		frame[fields[i].at] ^= 0x14;
		if (fields[i].family == V4)
			reseal(V4, frame, n); /* for the IPv4 header checksum alone */
		assert_memory_equal(frame + n - 4, icrc, 4);
		assert_int_equal(parse(fields[i].family, frame, n, &p), RB_ROCE_SEND);
	}
}

/* The caller judges it: whether a sender chooses its own differs from path to path. */
static void hop_limit_is_told(void **state)
{
	static const uint32_t at[] = { [V4] = 22, [V6] = 21 };
	struct rb_roce_packet p;

	(void)state;
	for (int family = V4; family <= V6; family++)
		for (uint32_t hop_limit = 0; hop_limit <= 255; hop_limit++) {
			uint32_t n = make(family, 7, 5);

			frame[at[family]] = (uint8_t)hop_limit;
			if (family == V4)
				reseal(V4, frame, n);
			assert_int_equal(parse(family, frame, n, &p), RB_ROCE_SEND);
			assert_int_equal(p.hop_limit, hop_limit);
		}
}

static void congestion_mark_is_seen(void **state)
{
	struct rb_roce_packet p;
	uint32_t n = make(V4, 7, 5);

	(void)state;
	frame[15] |= RB_ECN_CE;
	reseal(V4, frame, n);
	assert_int_equal(parse(V4, frame, n, &p), RB_ROCE_SEND);
	assert_true(p.ce);
	n = make(V6, 7, 5);
	frame[15] |= RB_ECN_CE << 4;
	assert_int_equal(parse(V6, frame, n, &p), RB_ROCE_SEND);
	assert_true(p.ce);
}

static void frame_cut_anywhere_is_refused(void **state)
{
	struct rb_roce_packet p;

	(void)state;
	for (int family = V4; family <= V6; family++) {
		uint32_t n = make(family, 7, 5);

		for (uint32_t bytes = 0; bytes < n; bytes++) {
			enum rb_roce_verdict verdict = parse(family, frame, bytes, &p);

			assert_true(verdict == RB_ROCE_TRUNCATED || verdict == RB_ROCE_IP_LENGTH);
		}
	}
}

static void ethernet_padding_is_ignored(void **state)
{
	struct rb_roce_packet p;
	uint32_t n = make(V4, 7, 5);

	(void)state;
	memset(frame + n, 0, 20);
	assert_int_equal(parse(V4, frame, n + 20, &p), RB_ROCE_SEND);
	assert_int_equal(p.payload_bytes, 5);
}

static void pad_beyond_the_payload_is_refused(void **state)
{
	struct rb_roce_packet p;
	uint32_t n = make(V4, 7, 4);

	(void)state;
	/* No payload at all, and a pad count of 3: the lengths say 48 bytes of IP, then ICRC. */
	n -= 4;
	frame[17] -= 4;
	frame[39] -= 4;
	frame[43] = 0x70;
	reseal(V4, frame, n);
	assert_int_equal(parse(V4, frame, n, &p), RB_ROCE_PAD);
	frame[43] = 0x40;
	reseal(V4, frame, n);
	assert_int_equal(parse(V4, frame, n, &p), RB_ROCE_SEND);
	assert_int_equal(p.payload_bytes, 0);
}

static void payload_that_is_no_multiple_of_4_is_refused(void **state)
{
	struct rb_roce_packet p;
	uint32_t n = make(V4, 7, 5);

	(void)state;
	n -= 1;
	frame[17] -= 1;
	frame[39] -= 1;
	reseal(V4, frame, n);
	assert_int_equal(parse(V4, frame, n, &p), RB_ROCE_PAD);
}

static void payload_beyond_our_path_mtu_is_refused(void **state)
{
	struct rb_roce_config small = config;
	struct rb_roce_packet p;
	uint32_t n = make(V4, 7, 1025);

	(void)state;
	small.payload_max_bytes = 1024;
	assert_int_equal(rb_roce_parse(&small, &end_b[V4], frame, n, &p), RB_ROCE_MTU);
	n = make(V4, 7, 1024);
	assert_int_equal(rb_roce_parse(&small, &end_b[V4], frame, n, &p), RB_ROCE_SEND);
}

static void partition_needs_one_full_member(void **state)
{
	struct rb_roce_config ours = config;
	struct rb_roce_packet p;
	uint32_t n = make(V4, 7, 5); /* from a full member */

	(void)state;
	ours.pkey = 0x7fff;
	assert_int_equal(rb_roce_parse(&ours, &end_b[V4], frame, n, &p), RB_ROCE_SEND);
	frame[44] = 0x7f;
	reseal(V4, frame, n);
	assert_int_equal(rb_roce_parse(&ours, &end_b[V4], frame, n, &p), RB_ROCE_PKEY);
	assert_int_equal(rb_roce_parse(&config, &end_b[V4], frame, n, &p), RB_ROCE_SEND);
}

static void congestion_notification_of_ours_is_accepted(void **state)
{
	struct rb_roce_path path;
	struct rb_roce_packet p;

	(void)state;
	for (int family = V4; family <= V6; family++) {
		uint32_t n;

		rb_roce_path_init(&path, &config, &end_a[family], &end_b[family]);
		n = rb_roce_cnp(&path, end_b[family].qpn, frame);
		assert_int_equal(n, path.header_bytes - 8 + 16 + 4);
		assert_int_equal(frame[path.header_bytes - 20], 0x81);
		assert_int_equal(frame[path.header_bytes - 16], 0x40);
		assert_int_equal(parse(family, frame, n, &p), RB_ROCE_CNP);
		assert_memory_equal(p.src_ip, end_a[family].ip, 16);
		frame[n - 1] ^= 1;
		assert_int_equal(parse(family, frame, n, &p), RB_ROCE_ICRC);
	}
}

static void path_with_a_bad_end_is_refused(void **state)
{
	struct rb_roce_config bad = config;
	struct rb_roce_end end = end_b[V4];
	struct rb_roce_path path;

	(void)state;
	assert_int_equal(rb_roce_path_init(&path, &config, &end_a[V4], &end_b[V6]), -EINVAL);
	end.qpn = 1;
	assert_int_equal(rb_roce_path_init(&path, &config, &end_a[V4], &end), -EINVAL);
	end.qpn = 0xffffff;
	assert_int_equal(rb_roce_path_init(&path, &config, &end_a[V4], &end), -EINVAL);
	end = end_b[V4];
	memset(end.ip + 12, 0, 4);
	assert_int_equal(rb_roce_path_init(&path, &config, &end_a[V4], &end), -EINVAL);
	bad.ecn = RB_ECN_CE;
	assert_int_equal(rb_roce_path_init(&path, &bad, &end_a[V4], &end_b[V4]), -EINVAL);
	bad = config;
	bad.dscp = 64;
	assert_int_equal(rb_roce_path_init(&path, &bad, &end_a[V4], &end_b[V4]), -EINVAL);
	bad = config;
	bad.hop_limit = 0;
	assert_int_equal(rb_roce_path_init(&path, &bad, &end_a[V4], &end_b[V4]), -EINVAL);
}

static void sizes_follow_the_mtu(void **state)
{
	static const struct {
		uint32_t mtu, v4, v6, path_mtu;
	} cases[] = {
		{ 52, 0, 0, 0 },
		{ 56, 4, 0, 0 },
		{ 76, 24, 4, 0 },
		{ 1500, 1448, 1428, 1024 },
		{ 3500, 3448, 3428, 2048 },
		{ 4191, 4096, 4096, 2048 },
		{ 4192, 4096, 4096, 4096 },
		{ 9000, 4096, 4096, 4096 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(rb_roce_payload_for_mtu(cases[i].mtu, end_a[V4].ip), cases[i].v4);
		assert_int_equal(rb_roce_payload_for_mtu(cases[i].mtu, end_a[V6].ip), cases[i].v6);
		assert_int_equal(rb_roce_path_mtu(cases[i].mtu), cases[i].path_mtu);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_payload_size_comes_back_in_both_families),
		cmocka_unit_test(frame_to_ipv4_has_these_bytes),
		cmocka_unit_test(source_port_is_one_per_path_and_spread_over_paths),
		cmocka_unit_test(bad_field_is_refused_under_its_name),
		cmocka_unit_test(bad_field_over_ipv6_is_refused_under_its_name),
		cmocka_unit_test(fields_that_routers_change_do_not_matter),
		cmocka_unit_test(hop_limit_is_told),
		cmocka_unit_test(congestion_mark_is_seen),
		cmocka_unit_test(frame_cut_anywhere_is_refused),
		cmocka_unit_test(ethernet_padding_is_ignored),
		cmocka_unit_test(pad_beyond_the_payload_is_refused),
		cmocka_unit_test(payload_that_is_no_multiple_of_4_is_refused),
		cmocka_unit_test(payload_beyond_our_path_mtu_is_refused),
		cmocka_unit_test(partition_needs_one_full_member),
		cmocka_unit_test(congestion_notification_of_ours_is_accepted),
		cmocka_unit_test(path_with_a_bad_end_is_refused),
		cmocka_unit_test(sizes_follow_the_mtu),
	};
	return cmocka_run_group_tests_name("roce", tests, NULL, NULL);
}
