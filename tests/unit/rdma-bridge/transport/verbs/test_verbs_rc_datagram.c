/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagrams of verbs-rc: the bytes of docs/PROTOCOL.md section 2.1, and every refusal. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "rdma-bridge/transport/verbs/verbs_rc_datagram.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

/* clang-format off */
static const uint8_t connect[RB_RC_DATAGRAM_BYTES] = {
	/* magic, version, type, path MTU 1024, zero */
	'S', 'L', 'R', 'C', 1, 1, 3, 0,
	/* attempt, instance */
	3, 4, 1, 2, 8, 7, 6, 5,
	/* queue pair number, sequence number, credit */
	0, 0x12, 0x34, 0x56, 0, 0xab, 0xcd, 0xef, 0x10, 0x20, 0x30, 0x40,
};
/* clang-format on */

static void connect_decodes_and_encodes_to_the_same_bytes(void **state)
{
	struct rb_rc_datagram d;
	uint8_t out[RB_RC_DATAGRAM_BYTES];

	(void)state;
	assert_true(rb_rc_datagram_decode(connect, sizeof(connect), &d));
	assert_int_equal(d.type, RB_RC_CONNECT);
	assert_int_equal(d.mtu, 3);
	assert_int_equal(d.attempt, 0x03040102);
	assert_int_equal(d.instance, 0x08070605);
	assert_int_equal(d.qpn, 0x123456);
	assert_int_equal(d.psn, 0xabcdef);
	assert_int_equal(d.credit, 0x10203040);
	rb_rc_datagram_encode(&d, out);
	assert_memory_equal(out, connect, sizeof(out));
}

/* A connect with one byte changed. */
static const struct {
	const char *name;
	uint32_t at;
	uint8_t value;
	bool good;
} changes[] = {
	{ "another magic", 3, 'D', false },
	{ "version 0", 4, 0, false },
	{ "version 2", 4, 2, false },
	{ "type 0", 5, 0, false },
	{ "type 7", 5, 7, false },
	{ "path MTU 0", 6, 0, false },
	{ "path MTU 6", 6, 6, false },
	{ "a byte that must be 0", 7, 1, false },
	{ "queue pair number of 25 bits", 16, 1, false },
	{ "sequence number of 25 bits", 20, 1, false },
	{ "type accept", 5, RB_RC_ACCEPT, true },
	{ "type want", 5, RB_RC_WANT, true },
	{ "path MTU 5", 6, 5, true },
	{ "much credit", 24, 0xff, true },
};

static void bad_field_is_refused(void **state)
{
	struct rb_rc_datagram d;

	(void)state;
	for (size_t i = 0; i < N(changes); i++) {
		uint8_t bytes[sizeof(connect)];

		memcpy(bytes, connect, sizeof(bytes));
		bytes[changes[i].at] = changes[i].value;
		if (rb_rc_datagram_decode(bytes, sizeof(bytes), &d) != changes[i].good)
			fail_msg("%s", changes[i].name);
	}
}

static void connection_fields_of_0_are_refused_where_they_have_a_meaning(void **state)
{
	/* attempt, instance, queue pair number: the first byte of each */
	static const uint32_t fields[] = { 8, 12, 16 };
	struct rb_rc_datagram d;

	(void)state;
	for (size_t i = 0; i < N(fields); i++) {
		uint8_t bytes[sizeof(connect)];

		memcpy(bytes, connect, sizeof(bytes));
		memset(bytes + fields[i], 0, 4);
		assert_false(rb_rc_datagram_decode(bytes, sizeof(bytes), &d));
		bytes[5] = RB_RC_AGAIN; /* needs only an instance */
		assert_int_equal(rb_rc_datagram_decode(bytes, sizeof(bytes), &d), fields[i] != 12);
	}
}

static void another_length_is_refused(void **state)
{
	uint8_t bytes[sizeof(connect) + 1] = { 0 };
	struct rb_rc_datagram d;

	(void)state;
	memcpy(bytes, connect, sizeof(connect));
	for (uint32_t n = 0; n <= sizeof(bytes); n++)
		assert_int_equal(rb_rc_datagram_decode(bytes, n, &d), n == sizeof(connect));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connect_decodes_and_encodes_to_the_same_bytes),
		cmocka_unit_test(bad_field_is_refused),
		cmocka_unit_test(connection_fields_of_0_are_refused_where_they_have_a_meaning),
		cmocka_unit_test(another_length_is_refused),
	};
	return cmocka_run_group_tests_name("verbs_rc_datagram", tests, NULL, NULL);
}
