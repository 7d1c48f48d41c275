/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages in fragments: in any order they are what they were; what does not fit is given up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "elements/signal/signal_fragments.h"

#define PIECES_MAX 1040

static struct el_signal_fragments fragments;
static uint8_t message[EL_SIGNAL_MESSAGE_BYTES + 64];

static int begin(void **state)
{
	(void)state;
	memset(&fragments, 0, sizeof(fragments));
	for (size_t i = 0; i < sizeof(message); i++)
		message[i] = (uint8_t)rand();
	return 0;
}

/* Bytes from..to of the message of that id. */
static struct el_signal_packet piece(uint32_t id, uint32_t from, uint32_t to, bool more)
{
	return (struct el_signal_packet){ .way = { { 1 }, { 2 } },
					  .message = message + from,
					  .n = to - from,
					  .is_fragment = true,
					  .fragment = { from, more, id } };
}

static enum el_signal_taken take(uint32_t id, uint32_t from, uint32_t to, bool more,
				 uint64_t now_ns)
{
	struct el_signal_packet packet = piece(id, from, to, more);

	return el_signal_fragments_take(&fragments, &packet, now_ns);
}

static void fragments_in_any_order_are_the_message(void **state)
{
	static struct el_signal_packet pieces[PIECES_MAX];

	(void)state;
	srand(1);
	for (int round = 0; round < 2000; round++) {
		const uint32_t bytes = 1 + (uint32_t)rand() % EL_SIGNAL_MESSAGE_BYTES;
		uint32_t n = 0, step = 8 * (1 + (uint32_t)rand() % 200);

		for (uint32_t from = 0; from < bytes; from += step) {
			const bool more = from + step < bytes;

			pieces[n++] =
				piece((uint32_t)round, from, more ? from + step : bytes, more);
		}
		for (uint32_t i = n; i > 1; i--) {
			const uint32_t other = (uint32_t)rand() % i;
			const struct el_signal_packet swapped = pieces[other];

			pieces[other] = pieces[i - 1];
			pieces[i - 1] = swapped;
		}
		for (uint32_t i = 0; i + 1 < n; i++)
			assert_int_equal(el_signal_fragments_take(&fragments, &pieces[i], 1),
					 EL_SIGNAL_WAITS);
		assert_int_equal(el_signal_fragments_take(&fragments, &pieces[n - 1], 1),
				 EL_SIGNAL_WHOLE);
		assert_int_equal(pieces[n - 1].n, bytes);
		assert_memory_equal(pieces[n - 1].message, message, bytes);
	}
}

static void what_does_not_fit_is_given_up(void **state)
{
	static const struct {
		const char *name;
		struct {
			uint32_t from, to;
			bool more;
		} first, second;
	} cases[] = {
		{ "twice the same", { 8, 16, true }, { 8, 16, true } },
		{ "an overlap", { 8, 24, true }, { 16, 32, true } },
		{ "an overlap with the last", { 8, 20, false }, { 16, 24, true } },
		{ "two that are the last", { 8, 16, false }, { 16, 24, false } },
		{ "one behind the last", { 8, 16, false }, { 16, 24, true } },
		{ "the last before another", { 16, 24, true }, { 8, 16, false } },
		{ "a part of 8 bytes in the middle", { 8, 16, true }, { 16, 20, true } },
		{ "none", { 8, 16, true }, { 16, 16, false } },
		{ "beyond a message",
		  { 8, 16, true },
		  { EL_SIGNAL_MESSAGE_BYTES, EL_SIGNAL_MESSAGE_BYTES + 1, false } },
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(
			take(i, cases[i].first.from, cases[i].first.to, cases[i].first.more, 1),
			EL_SIGNAL_WAITS);
		if (take(i, cases[i].second.from, cases[i].second.to, cases[i].second.more, 1) !=
		    EL_SIGNAL_GIVEN_UP)
			fail_msg("%s", cases[i].name);
		/* All of it has gone. */
		assert_int_equal(take(i, 0, 8, true, 1), EL_SIGNAL_WAITS);
		assert_int_equal(take(i, 8, 16, false, 1), EL_SIGNAL_WHOLE);
	}
}

static void messages_do_not_mix_and_the_oldest_gives_way(void **state)
{
	struct el_signal_packet other = piece(0, 8, 16, false);

	(void)state;
	for (uint32_t i = 0; i < EL_SIGNAL_PARTS; i++)
		assert_int_equal(take(i, 0, 8, true, 10 + i), EL_SIGNAL_WAITS);
	assert_int_equal(take(99, 0, 8, true, 99), EL_SIGNAL_GIVEN_UP); /* in the place of 0 */
	assert_int_equal(take(1, 8, 16, false, 99), EL_SIGNAL_WHOLE);
	assert_int_equal(take(99, 8, 16, false, 99), EL_SIGNAL_WHOLE);
	assert_int_equal(take(15, 8, 16, false, 99), EL_SIGNAL_WHOLE);
	assert_int_equal(take(0, 8, 16, false, 99), EL_SIGNAL_WAITS);
	other.way.source[0] = 3;
	assert_int_equal(el_signal_fragments_take(&fragments, &other, 99), EL_SIGNAL_WAITS);
	/* After 5 s the rest belongs to another message. */
	assert_int_equal(take(2, 8, 16, false, 12 + EL_SIGNAL_PART_NS), EL_SIGNAL_WHOLE);
	assert_int_equal(take(3, 8, 16, false, 14 + EL_SIGNAL_PART_NS), EL_SIGNAL_WAITS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(fragments_in_any_order_are_the_message, begin),
		cmocka_unit_test_setup(what_does_not_fit_is_given_up, begin),
		cmocka_unit_test_setup(messages_do_not_mix_and_the_oldest_gives_way, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
