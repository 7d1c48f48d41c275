/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Announcements between daemons: the bytes of docs/PROTOCOL.md, "Announcements", and every refusal.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "user/ipc/announce.h"

#define SELF   1
#define SOURCE 2

struct seen {
	struct sl_announce_record records[64];
	unsigned int n;
};

static void remember(void *ctx, const struct sl_announce_record *record)
{
	struct seen *seen = ctx;

	assert_true(seen->n < 64);
	seen->records[seen->n++] = *record;
}

static const struct sl_announce_record port = {
	.type = SL_ANNOUNCE_PORT,
	.system_port = SOURCE << 8 | 1,
	.up = true,
	.mtu_bytes = 1280,
	.rate_bps = 10000000000ULL,
	.mac = { 2, 0, 0, 0, 2, 1 },
};
static const struct sl_announce_record address4 = {
	.type = SL_ANNOUNCE_ADDRESS,
	.system_port = SOURCE << 8 | 1,
	.family = AF_INET,
	.prefix_len = 24,
	.addr = { 10, 0, 2, 1 },
};
static const struct sl_announce_record peer4 = {
	.type = SL_ANNOUNCE_ADDRESS,
	.system_port = SOURCE << 8 | 1,
	.family = AF_INET,
	.prefix_len = 32,
	.is_peer = true,
	.addr = { 10, 0, 3, 1 },
};
static const struct sl_announce_record neighbour6 = {
	.type = SL_ANNOUNCE_NEIGHBOUR,
	.system_port = SOURCE << 8 | 1,
	.family = AF_INET6,
	.mac = { 2, 0, 0, 0, 2, 99 },
	.addr = { 0x20, 0x01, 0x0d, 0xb8, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x99 },
};
static const struct sl_announce_record wanted4 = {
	.type = SL_ANNOUNCE_WANTED,
	.system_port = SELF << 8 | 2,
	.family = AF_INET,
	.addr = { 10, 0, 1, 77 },
};

/* Written by hand from docs/PROTOCOL.md. */
/* clang-format off */
static const uint8_t state_bytes[] = {
	/* header: 3 records, generation 9 */
	1, 1, 0, 3, 0, 0, 0, 9, 0, 0, 0, 1,
	/* port, up, MAC, MTU 1280, 10 Gb/s */
	1, 0, 2, 1, 1, 0, 2, 0, 0, 0, 2, 1, 0, 0, 0x05, 0x00, 0, 0, 0, 2, 0x54, 0x0b, 0xe4, 0,
	/* 10.0.2.1/24 */
	2, 4, 2, 1, 24, 0, 0, 0, 10, 0, 2, 1,
	/* neighbour, MAC, 2001:db8:2::99 */
	3, 6, 2, 1, 2, 0, 0, 0, 2, 99, 0, 0,
	0x20, 0x01, 0x0d, 0xb8, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x99,
};
/* clang-format on */

static int parse(const uint8_t *bytes, size_t len_bytes, struct seen *seen)
{
	struct sl_announce_header header;

	seen->n = 0;
	return sl_announce_parse(bytes, len_bytes, SOURCE, SELF, &header, remember, seen);
}

static void announce_state_encodes_to_the_documented_bytes(void **state)
{
	const struct sl_announce_header header = { SL_ANNOUNCE_STATE, 9, 0, 0 };
	struct sl_announce_part part;

	(void)state;
	sl_announce_begin(&part, &header);
	assert_true(sl_announce_add(&part, &port));
	assert_true(sl_announce_add(&part, &address4));
	assert_true(sl_announce_add(&part, &neighbour6));
	sl_announce_set_parts(&part, 1);
	assert_int_equal(part.len_bytes, sizeof(state_bytes));
	assert_memory_equal(part.bytes, state_bytes, sizeof(state_bytes));
}

static void announce_state_decodes_to_what_was_encoded(void **state)
{
	struct seen seen;

	(void)state;
	assert_int_equal(parse(state_bytes, sizeof(state_bytes), &seen), 0);
	assert_int_equal(seen.n, 3);
	assert_memory_equal(&seen.records[0], &port, sizeof(port));
	assert_memory_equal(&seen.records[1], &address4, sizeof(address4));
	assert_memory_equal(&seen.records[2], &neighbour6, sizeof(neighbour6));
}

static void announce_of_a_peer_s_prefix_has_its_flag(void **state)
{
	const struct sl_announce_header header = { SL_ANNOUNCE_STATE, 9, 0, 1 };
	const uint8_t bytes[] = { 2, 4, 2, 1, 32, 1, 0, 0, 10, 0, 3, 1 };
	struct sl_announce_part part;
	struct seen seen;

	(void)state;
	sl_announce_begin(&part, &header);
	assert_true(sl_announce_add(&part, &peer4));
	assert_memory_equal(part.bytes + 12, bytes, sizeof(bytes));
	assert_int_equal(parse(part.bytes, part.len_bytes, &seen), 0);
	assert_int_equal(seen.n, 1);
	assert_memory_equal(&seen.records[0], &peer4, sizeof(peer4));
}

static void announce_request_for_own_port_is_delivered(void **state)
{
	const struct sl_announce_header header = { SL_ANNOUNCE_RESOLVE, 0, 0, 1 };
	struct sl_announce_part part;
	struct seen seen;

	(void)state;
	sl_announce_begin(&part, &header);
	assert_true(sl_announce_add(&part, &wanted4));
	assert_int_equal(parse(part.bytes, part.len_bytes, &seen), 0);
	assert_int_equal(seen.n, 1);
	assert_memory_equal(&seen.records[0], &wanted4, sizeof(wanted4));
}

static void announce_part_refuses_a_record_that_does_not_fit(void **state)
{
	const struct sl_announce_header header = { SL_ANNOUNCE_STATE, 1, 0, 1 };
	struct sl_announce_part part;
	struct seen seen;
	unsigned int n = 0;

	(void)state;
	sl_announce_begin(&part, &header);
	while (sl_announce_add(&part, &neighbour6))
		n++;
	assert_int_equal(n, (SL_ANNOUNCE_PART_BYTES - 12) / 28);
	assert_int_equal(parse(part.bytes, part.len_bytes, &seen), 0);
	assert_int_equal(seen.n, n);
}

static void announce_of_every_truncated_length_is_refused_whole(void **state)
{
	struct seen seen;

	(void)state;
	for (size_t len = 0; len < sizeof(state_bytes); len++) {
		/* a copy of the exact length, so that the sanitizer sees a read beyond it */
		uint8_t exact[sizeof(state_bytes)];

		memcpy(exact + sizeof(exact) - len, state_bytes, len);
		assert_int_equal(parse(exact + sizeof(exact) - len, len, &seen), -EMSGSIZE);
		assert_int_equal(seen.n, 0);
	}
}

/* Each row spoils one byte of state_bytes. */
static const struct {
	const char *name;
	size_t offset;
	uint8_t value;
	int expected;
} refused[] = {
	{ "another version", 0, 2, -EPROTO },
	{ "unknown kind", 1, 3, -EPROTO },
	{ "state sent as a request", 1, SL_ANNOUNCE_RESOLVE, -EINVAL },
	{ "more records than there are", 3, 4, -EMSGSIZE },
	{ "fewer records than there are", 3, 2, -EMSGSIZE },
	{ "part beyond the last", 9, 1, -EINVAL },
	{ "no parts", 11, 0, -EINVAL },
	{ "unknown record type", 12, 5, -EPROTO },
	{ "request within a state", 12, SL_ANNOUNCE_WANTED, -EPROTO },
	{ "port record with a family", 13, 4, -EPROTO },
	{ "port of another node", 14, 3, -EINVAL },
	{ "port number 0", 15, 0, -EINVAL },
	{ "unknown flag", 16, 3, -EINVAL },
	{ "reserved byte set", 17, 1, -EINVAL },
	{ "multicast port MAC", 18, 3, -EINVAL },
	{ "MTU below 68", 26, 0, -EINVAL },
	{ "MTU above 65535", 25, 1, -EINVAL },
	{ "address of no family", 37, 5, -EPROTO },
	{ "prefix length beyond the address", 40, 33, -EINVAL },
	{ "unknown flag of an address", 41, 2, -EINVAL },
	{ "reserved byte of an address set", 42, 1, -EINVAL },
	{ "multicast neighbour MAC", 52, 1, -EINVAL },
};

static void announce_with_a_spoilt_byte_is_refused_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		uint8_t bytes[sizeof(state_bytes)];
		struct seen seen;
		int got;

		memcpy(bytes, state_bytes, sizeof(bytes));
		assert_int_not_equal(bytes[refused[i].offset], refused[i].value);
		bytes[refused[i].offset] = refused[i].value;
		got = parse(bytes, sizeof(bytes), &seen);
		if (got != refused[i].expected)
			print_error("%s: %d, not %d\n", refused[i].name, got, refused[i].expected);
		assert_int_equal(got, refused[i].expected);
		assert_int_equal(seen.n, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(announce_state_encodes_to_the_documented_bytes),
		cmocka_unit_test(announce_state_decodes_to_what_was_encoded),
		cmocka_unit_test(announce_of_a_peer_s_prefix_has_its_flag),
		cmocka_unit_test(announce_request_for_own_port_is_delivered),
		cmocka_unit_test(announce_part_refuses_a_record_that_does_not_fit),
		cmocka_unit_test(announce_of_every_truncated_length_is_refused_whole),
		cmocka_unit_test(announce_with_a_spoilt_byte_is_refused_whole),
	};
	return cmocka_run_group_tests_name("announce", tests, NULL, NULL);
}
