/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Answers to rejected packets, where bytes are cut or wrong: no byte beyond the packet is read.
 * tests/netns/router/copies.bats compares answers with those of nftables.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "user/copies/reject.h"

/* TCP SYN, 10.0.1.9:1234 to 10.0.9.9:80, as scapy makes it. */
static const uint8_t syn4[] = {
	0x45, 0x00, 0x00, 0x28, 0x00, 0x01, 0x00, 0x00, 0x40, 0x06, 0x5c, 0xbe, 0x0a, 0x00,
	0x01, 0x09, 0x0a, 0x00, 0x09, 0x09, 0x04, 0xd2, 0x00, 0x50, 0x00, 0x00, 0x03, 0xe8,
	0x00, 0x00, 0x00, 0x00, 0x50, 0x02, 0x20, 0x00, 0x68, 0xc7, 0x00, 0x00,
};

/* A copy in memory of its own size, so that a sanitizer sees what is read beyond. */
static int answer(const uint8_t *packet, size_t n,
		  int (*make)(const uint8_t *, size_t, struct sl_reject *), struct sl_reject *out)
{
	uint8_t *copy = malloc(n ? n : 1);
	int err;

	assert_non_null(copy);
	memcpy(copy, packet, n);
	err = make(copy, n, out);
	free(copy);
	return err;
}

static void a_packet_that_was_cut_is_reset_never(void **state)
{
	struct sl_reject out;

	(void)state;
	for (size_t n = 0; n < sizeof(syn4); n++)
		assert_int_equal(answer(syn4, n, sl_reject_reset, &out), -ENOENT);
	assert_int_equal(answer(syn4, sizeof(syn4), sl_reject_reset, &out), 0);
	assert_int_equal(out.n_bytes, 40);
	assert_memory_equal(out.to, syn4 + 12, 4);
	assert_memory_equal(out.bytes + 12, syn4 + 16, 4);
	assert_int_equal(out.bytes[33], 0x14); /* RST, ACK */
	assert_int_equal(out.bytes[31], 0xe9); /* of 1000 and the SYN: 1001 */
}

static void an_error_quotes_what_there_is(void **state)
{
	struct sl_reject out;

	(void)state;
	for (size_t n = 0; n < 20; n++)
		assert_int_equal(answer(syn4, n, sl_reject_error, &out), -ENOENT);
	for (size_t n = 20; n <= sizeof(syn4); n++) {
		assert_int_equal(answer(syn4, n, sl_reject_error, &out), 0);
		assert_int_equal(out.n_bytes, 8 + n);
		assert_memory_equal(out.bytes + 8, syn4, n);
		assert_memory_equal(out.to, syn4 + 12, 4);
	}
}

static void addresses_of_no_single_host_get_no_answer(void **state)
{
	static const uint8_t addresses[][4] = { { 0, 0, 0, 0 },
						{ 127, 0, 0, 1 },
						{ 224, 0, 0, 1 },
						{ 240, 0, 0, 1 },
						{ 255, 255, 255, 255 } };

	(void)state;
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
		for (size_t at = 12; at <= 16; at += 4) {
			uint8_t packet[20];
			struct sl_reject out;

			memcpy(packet, syn4, sizeof(packet));
			memcpy(packet + at, addresses[i], 4);
			packet[3] = sizeof(packet);
			packet[9] = 17;
			assert_int_equal(answer(packet, sizeof(packet), sl_reject_error, &out),
					 -ENOENT);
		}
}

/* Bytes at random, of both versions: whatever comes of them, nothing beyond them is touched. */
static void random_bytes_do_no_harm(void **state)
{
	uint32_t seed = 1, answered = 0;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		uint8_t packet[128];
		struct sl_reject out;
		size_t n;

		for (size_t j = 0; j < sizeof(packet); j++) {
			seed = seed * 1664525 + 1013904223;
			packet[j] = (uint8_t)(seed >> 24);
		}
		n = packet[127] % sizeof(packet);
		packet[0] =
			i % 2 ? (uint8_t)(0x60 | packet[0] % 16) : (uint8_t)(0x45 + packet[0] % 3);
		if (i % 4 < 2) { /* a length that fits, and a protocol that is known */
			static const uint8_t protocols[] = { 0, 1, 6, 17, 43, 44, 51, 58, 60 };

			packet[i % 2 ? 4 : 2] = 0;
			packet[i % 2 ? 6 : 9] = protocols[packet[126] % sizeof(protocols)];
		}
		answered += !answer(packet, n, sl_reject_error, &out);
		answered += !answer(packet, n, sl_reject_reset, &out);
	}
	assert_true(answered > 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_packet_that_was_cut_is_reset_never),
		cmocka_unit_test(an_error_quotes_what_there_is),
		cmocka_unit_test(addresses_of_no_single_host_get_no_answer),
		cmocka_unit_test(random_bytes_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
