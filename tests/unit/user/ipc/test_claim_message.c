/* SPDX-License-Identifier: BSD-2-Clause */
/* Claims and answers: the bytes of docs/PROTOCOL.md, there and back, and every refusal. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "user/ipc/claim_message.h"

/* A claim of node 1 to port 1 of node 2, as the document has it. */
static const uint8_t ask_bytes[] = {
	1,    3,    0,	  1,	0,  0,	  0,	0,    0, 0, 0, 1, /* header */
	5,    4,    2,	  1,	17, 0,	  0,	0,		  /* record: IPv4, n2p1, UDP */
	0x03, 0xe8, 0x00, 0x35, 0,  0,	  0,	0,		  /* ports 1000 and 53 */
	0,    0,    0,	  0,	0,  0x13, 0x12, 0xd0,		  /* 1,250,000 bytes a second */
	0,    0,    0,	  0,	0,  0,	  0,	0,    0, 0, 0, 0, 0, 0, 0, 0, /* of an answer */
	10,   1,    0,	  2,	0,  0,	  0,	0,    0, 0, 0, 0, 0, 0, 0, 0, /* 10.1.0.2 */
	10,   2,    0,	  2,	0,  0,	  0,	0,    0, 0, 0, 0, 0, 0, 0, 0, /* 10.2.0.2 */
};

struct seen {
	uint32_t n;
	struct sl_claim_record last;
};

static void on_record(void *ctx, enum sl_claim_kind kind, const struct sl_claim_record *record)
{
	struct seen *seen = ctx;

	(void)kind;
	seen->n++;
	seen->last = *record;
}

/* Parsed at `self`, from a buffer of exactly these bytes. */
static int parse(const uint8_t *bytes, size_t len, uint8_t source, uint8_t self, struct seen *seen)
{
	uint8_t *exact = malloc(len ? len : 1);
	enum sl_claim_kind kind;
	int err;

	memcpy(exact, bytes, len);
	*seen = (struct seen){ 0 };
	err = sl_claim_parse(exact, len, source, self, &kind, on_record, seen);
	free(exact);
	return err;
}

static void claim_encodes_to_the_documented_bytes_and_back(void **state)
{
	struct sl_announce_part part;
	struct seen seen;

	(void)state;
	assert_int_equal(parse(ask_bytes, sizeof(ask_bytes), 1, 2, &seen), 0);
	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.last.system_port, 0x0201);
	assert_int_equal(seen.last.rate_Bps, 1250000);
	assert_int_equal(seen.last.flow.version, 4);
	sl_claim_begin(&part, SL_CLAIM_ASK);
	assert_true(sl_claim_add(&part, &seen.last));
	assert_int_equal(part.len_bytes, sizeof(ask_bytes));
	assert_memory_equal(part.bytes, ask_bytes, sizeof(ask_bytes));
}

static void answer_names_a_port_of_its_sender(void **state)
{
	struct sl_announce_part part;
	struct sl_claim_record answer;
	struct seen seen;

	(void)state;
	parse(ask_bytes, sizeof(ask_bytes), 1, 2, &seen);
	answer = seen.last;
	answer.verdict = SL_CLAIM_NO_RATE;
	answer.limit_Bps = 5;
	answer.reserved_Bps = UINT64_MAX;
	sl_claim_begin(&part, SL_CLAIM_ANSWER);
	while (sl_claim_add(&part, &answer))
		;
	assert_int_equal(part.records, 13);
	assert_int_equal(parse(part.bytes, part.len_bytes, 2, 1, &seen), 0);
	assert_int_equal(seen.n, 13);
	assert_memory_equal(&seen.last, &answer, sizeof(answer));
	assert_int_equal(parse(part.bytes, part.len_bytes, 3, 1, &seen), -EINVAL);
	assert_int_equal(seen.n, 0);
}

static void claim_of_every_other_length_is_refused(void **state)
{
	uint8_t longer[sizeof(ask_bytes) + 1] = { 0 };
	struct seen seen;

	(void)state;
	memcpy(longer, ask_bytes, sizeof(ask_bytes));
	for (size_t len = 0; len <= sizeof(longer); len++)
		if (len != sizeof(ask_bytes)) {
			assert_int_not_equal(parse(longer, len, 1, 2, &seen), 0);
			assert_int_equal(seen.n, 0);
		}
}

static void claim_with_a_spoilt_byte_is_refused(void **state)
{
	static const struct {
		const char *name;
		size_t offset;
		uint8_t value;
		int expected;
	} refused[] = {
		{ "version", 0, 2, -EPROTO },
		{ "kind of an announcement", 1, 1, -EPROTO },
		{ "kind 5", 1, 5, -EPROTO },
		{ "records", 3, 2, -EMSGSIZE },
		{ "generation", 7, 1, -EINVAL },
		{ "part", 9, 1, -EINVAL },
		{ "parts", 11, 2, -EINVAL },
		{ "type", 12, 4, -EPROTO },
		{ "IP version", 13, 5, -EINVAL },
		{ "port of another node", 14, 3, -EINVAL },
		{ "port 0", 15, 0, -EINVAL },
		{ "verdict in a claim", 17, 1, -EINVAL },
		{ "zero", 18, 1, -EINVAL },
		{ "zero behind the ports", 27, 1, -EINVAL },
		{ "IPv4 address of five bytes", 56, 1, -EINVAL },
		{ "the same of the destination", 83, 1, -EINVAL },
		{ "answer without a verdict", 1, 4, -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		uint8_t bytes[sizeof(ask_bytes)];
		struct seen seen;
		int got;

		memcpy(bytes, ask_bytes, sizeof(bytes));
		bytes[refused[i].offset] = refused[i].value;
		got = parse(bytes, sizeof(bytes), 1, 2, &seen);
		if (got != refused[i].expected)
			print_error("%s: %d, not %d\n", refused[i].name, got, refused[i].expected);
		assert_int_equal(got, refused[i].expected);
		assert_int_equal(seen.n, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(claim_encodes_to_the_documented_bytes_and_back),
		cmocka_unit_test(answer_names_a_port_of_its_sender),
		cmocka_unit_test(claim_of_every_other_length_is_refused),
		cmocka_unit_test(claim_with_a_spoilt_byte_is_refused),
	};
	return cmocka_run_group_tests_name("claim_message", tests, NULL, NULL);
}
