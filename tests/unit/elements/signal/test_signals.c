/* SPDX-License-Identifier: BSD-2-Clause */
/* Which signals are obeyed, by their times and numbers; and what keys a text has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "elements/signal/signals.h"

#define S	1000000000ULL
#define WALL_NS (1700000000 * S)
#define SECRET	"secret=00112233445566778899aabbccddeeff"

static const struct el_signal_way way = { { 1 }, { 2 } };
static struct el_signals signals;
static struct el_signal_keys keys;
static uint32_t obeyed;
static enum el_signal_outcome next;

static enum el_signal_outcome obey(void *owner, const struct el_signal_key *key,
				   enum el_signal_command command, const char *text,
				   uint32_t text_bytes, char said[EL_SIGNAL_SAID_BYTES])
{
	(void)owner, (void)key, (void)command;
	snprintf(said, EL_SIGNAL_SAID_BYTES, "%u of %.*s", ++obeyed, (int)text_bytes, text);
	return next;
}

static const struct el_signal_ops ops = { obey };

static void read_keys(const char *text)
{
	char error[EL_SIGNAL_ERROR_BYTES];

	assert_int_equal(el_signal_keys_parse("f", text, &keys, error), 0);
}

static int begin(void **state)
{
	(void)state;
	read_keys("a " SECRET " chains=c\nb " SECRET "00 chains=c\n");
	el_signals_init(&signals, &ops, NULL, WALL_NS);
	el_signals_set_keys(&signals, &keys);
	obeyed = 0;
	next = EL_SIGNAL_DONE;
	return 0;
}

/* The outcome of a signal of key `name` and time_ns, when it is wall_ns; said: the answer's text.
 */
static int take(const char *name, uint64_t time_ns, uint64_t wall_ns, char *said)
{
	static uint8_t message[EL_SIGNAL_MESSAGE_BYTES], bytes[EL_SIGNAL_MESSAGE_BYTES];
	const struct el_signal_key *key = el_signal_keys_find(&keys, name);
	struct el_signal signal = { .command = EL_SIGNAL_QUERY,
				    .time_ns = time_ns,
				    .text = "t",
				    .text_bytes = 1 },
			 answer;
	size_t n;

	memcpy(signal.key, key->name, sizeof(signal.key));
	n = el_signal_write(&signal, &way, key->secret, key->secret_bytes, message);
	n = el_signals_take(&signals, message, n, &way, wall_ns, wall_ns - WALL_NS + 100 * S, "x",
			    bytes);
	if (!n)
		return -1;
	assert_int_equal(el_signal_parse(bytes, n, &answer), 0);
	if (said)
		snprintf(said, EL_SIGNAL_SAID_BYTES, "%.*s", (int)answer.text_bytes, answer.text);
	return answer.outcome;
}

static void times_within_30_s_before_and_1_s_after_are_taken_once_in_order(void **state)
{
	const uint64_t now_ns = WALL_NS + 100 * S;
	char said[EL_SIGNAL_SAID_BYTES];

	(void)state;
	assert_int_equal(take("a", now_ns - 30 * S - 1, now_ns, NULL), EL_SIGNAL_STALE);
	assert_int_equal(take("a", now_ns - 30 * S, now_ns, said), EL_SIGNAL_DONE);
	assert_string_equal(said, "1 of t");
	assert_int_equal(take("a", now_ns - 30 * S, now_ns + 99 * S, said), EL_SIGNAL_DONE);
	assert_string_equal(said, "1 of t");
	assert_int_equal(take("a", now_ns + S + 1, now_ns, NULL), EL_SIGNAL_STALE);
	assert_int_equal(take("a", now_ns + S, now_ns, said), EL_SIGNAL_DONE);
	assert_string_equal(said, "2 of t");
	assert_int_equal(take("a", now_ns + S - 1, now_ns, NULL), EL_SIGNAL_STALE);
	assert_int_equal(take("a", now_ns - 30 * S, now_ns, NULL), EL_SIGNAL_STALE);
	assert_int_equal(take("b", now_ns, now_ns, NULL), EL_SIGNAL_DONE);
	assert_int_equal(obeyed, 3);
}

static void what_a_former_process_may_have_taken_is_stale(void **state)
{
	(void)state;
	assert_int_equal(take("a", WALL_NS + S, WALL_NS + S, NULL), EL_SIGNAL_STALE);
	assert_int_equal(take("a", WALL_NS + S + 1, WALL_NS + S, NULL), EL_SIGNAL_DONE);
}

static void a_busy_owner_takes_the_same_message_later(void **state)
{
	char said[EL_SIGNAL_SAID_BYTES];

	(void)state;
	next = EL_SIGNAL_BUSY;
	assert_int_equal(take("a", WALL_NS + 5 * S, WALL_NS + 5 * S, NULL), EL_SIGNAL_BUSY);
	next = EL_SIGNAL_DONE;
	assert_int_equal(take("a", WALL_NS + 5 * S, WALL_NS + 6 * S, said), EL_SIGNAL_DONE);
	assert_string_equal(said, "2 of t");
}

static void keys_read_again_take_no_former_message_and_keep_their_counts(void **state)
{
	char said[EL_SIGNAL_SAID_BYTES];

	(void)state;
	assert_int_equal(take("b", WALL_NS + 6 * S, WALL_NS + 5 * S, NULL), EL_SIGNAL_DONE);
	assert_int_equal(take("a", WALL_NS + 5 * S, WALL_NS + 5 * S, NULL), EL_SIGNAL_DONE);
	read_keys("c " SECRET " chains=c\na " SECRET " chains=c\n");
	el_signals_set_keys(&signals, &keys);
	assert_int_equal(signals.senders[1].outcomes[EL_SIGNAL_DONE], 1);
	assert_int_equal(take("a", WALL_NS + 5 * S, WALL_NS + 6 * S, said), EL_SIGNAL_DONE);
	assert_string_equal(said, "2 of t");
	read_keys("a " SECRET " chains=c\nb " SECRET "00 chains=c\n");
	el_signals_set_keys(&signals, &keys);
	assert_int_equal(take("b", WALL_NS + 6 * S, WALL_NS + 6 * S, NULL), EL_SIGNAL_STALE);
	assert_int_equal(obeyed, 2);
}

static void copies_and_stale_messages_have_20_answers_at_once_and_10_a_second(void **state)
{
	const uint64_t latest_ns = WALL_NS + 50 * S;
	uint64_t now_ns = latest_ns;
	int copies = 0, stale = 0;

	(void)state;
	assert_int_equal(take("a", latest_ns, now_ns, NULL), EL_SIGNAL_DONE);
	for (uint32_t i = 0; i < 100; i++) {
		copies += take("a", latest_ns, now_ns, NULL) == EL_SIGNAL_DONE;
		stale += take("a", latest_ns - 1 - i, now_ns, NULL) == EL_SIGNAL_STALE;
	}
	assert_int_equal(copies + stale, 20);
	assert_int_equal(signals.senders[0].outcomes[EL_SIGNAL_STALE], 200);
	assert_int_equal(signals.senders[0].unanswered, 180);
	/* They hold up neither what the key sends anew nor another key. */
	assert_int_equal(take("a", latest_ns + 1, now_ns, NULL), EL_SIGNAL_DONE);
	assert_int_equal(take("b", latest_ns, now_ns, NULL), EL_SIGNAL_DONE);
	assert_int_equal(take("b", latest_ns, now_ns, NULL), EL_SIGNAL_DONE);
	now_ns += S;
	for (uint32_t i = 0; i < 100; i++)
		copies += take("a", latest_ns + 1, now_ns, NULL) == EL_SIGNAL_DONE;
	assert_int_equal(copies + stale, 30);
	assert_int_equal(obeyed, 3);
	assert_int_equal(signals.unanswered, 0);
}

static void a_key_has_20_at_once_and_10_a_second_and_others_are_not_held_up(void **state)
{
	uint64_t now_ns = WALL_NS + 50 * S;
	int done = 0;

	(void)state;
	for (uint32_t i = 0; i < 40; i++)
		done += take("a", now_ns + i, now_ns, NULL) == EL_SIGNAL_DONE;
	assert_int_equal(done, 20);
	assert_int_equal(take("b", now_ns, now_ns, NULL), EL_SIGNAL_DONE);
	now_ns += S;
	for (uint32_t i = 0; i < 40; i++)
		done += take("a", now_ns + i, now_ns, NULL) == EL_SIGNAL_DONE;
	assert_int_equal(done, 30);
	assert_int_equal(signals.senders[0].outcomes[EL_SIGNAL_BUSY], 50);
}

static void texts_of_keys_that_are_wrong_are_refused_by_line(void **state)
{
	static const struct {
		const char *text, *error;
	} cases[] = {
		{ "\n\na chains=c\n", "f:3: key \"a\" needs secret= and chains=" },
		{ "a " SECRET "\n", "f:1: key \"a\" needs secret= and chains=" },
		{ "a " SECRET "0 chains=c",
		  "f:1: secret= must be 16 to 64 bytes, in hexadecimal digits" },
		{ "a " SECRET "xx chains=c",
		  "f:1: secret= must be 16 to 64 bytes, in hexadecimal digits" },
		{ "a " SECRET " chains=c,",
		  "f:1: chains= must be up to 16 names of chains, with commas between" },
		{ "a " SECRET " chains=c chains=d", "f:1: chains= stands there twice" },
		{ "a " SECRET " chains=c rate=101%", "f:1: rate= must be 1% to 100%" },
		{ "a " SECRET " chains=c rate=5", "f:1: rate= must be 1% to 100%" },
		{ "a " SECRET " chains=c share=0", "f:1: share= must be 1 to 1000000" },
		{ "a " SECRET " chains=c\na " SECRET " chains=c",
		  "f:2: there is a key \"a\" already" },
		{ "a " SECRET " chains=c more",
		  "f:1: behind a key's name write secret=, chains=, classes=, share= or rate=" },
		{ "sixteen_letters_ " SECRET " chains=c",
		  "f:1: a line begins with the name of a key: up to 15 letters, digits, _, - or ." },
	};
	struct el_signal_keys read;
	char error[EL_SIGNAL_ERROR_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_not_equal(el_signal_keys_parse("f", cases[i].text, &read, error), 0);
		assert_string_equal(error, cases[i].error);
		assert_int_equal(read.n, 0);
	}
	assert_int_equal(el_signal_keys_parse("f",
					      "# keys\na\tchains=c,d " SECRET
					      " rate=7% share=9 classes=Counter # last\n",
					      &read, error),
			 0);
	assert_int_equal(read.n, 1);
	assert_int_equal(read.keys[0].secret[15], 0xff);
	assert_int_equal(read.keys[0].secret_bytes, 16);
	assert_string_equal(read.keys[0].chains.name[1], "d");
	assert_int_equal(read.keys[0].rate_percent, 7);
	assert_int_equal(read.keys[0].share, 9);
	assert_true(el_signal_names_have(&read.keys[0].classes, "Counter"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(
			times_within_30_s_before_and_1_s_after_are_taken_once_in_order, begin),
		cmocka_unit_test_setup(what_a_former_process_may_have_taken_is_stale, begin),
		cmocka_unit_test_setup(a_busy_owner_takes_the_same_message_later, begin),
		cmocka_unit_test_setup(keys_read_again_take_no_former_message_and_keep_their_counts,
				       begin),
		cmocka_unit_test_setup(
			a_key_has_20_at_once_and_10_a_second_and_others_are_not_held_up, begin),
		cmocka_unit_test_setup(
			copies_and_stale_messages_have_20_answers_at_once_and_10_a_second, begin),
		cmocka_unit_test(texts_of_keys_that_are_wrong_are_refused_by_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
