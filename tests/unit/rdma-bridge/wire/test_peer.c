/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Peers: sequence numbers against a model that remembers everything, epochs, liveness with injected
 * time.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rdma-bridge/wire/peer.h"

#define MS 1000000ULL

static void sequence_in_order_counts_nothing_lost(void **state)
{
	struct rb_seq seq = { 0 };

	(void)state;
	for (uint32_t s = 0xfffffff0; s != 0x100; s++) /* across the wrap */
		assert_int_equal(rb_seq_judge(&seq, s), RB_VERDICT_OK);
	assert_int_equal(seq.received, 0x110);
	assert_int_equal(seq.lost + seq.late + seq.duplicate + seq.stale, 0);
}

static void sequence_gap_counts_lost_until_the_late_message_comes(void **state)
{
	struct rb_seq seq = { 0 };

	(void)state;
	rb_seq_judge(&seq, 10);
	assert_int_equal(rb_seq_judge(&seq, 14), RB_VERDICT_OK);
	assert_int_equal(seq.lost, 3);
	assert_int_equal(rb_seq_judge(&seq, 12), RB_VERDICT_OK);
	assert_int_equal(seq.lost, 2);
	assert_int_equal(seq.late, 1);
	assert_int_equal(rb_seq_judge(&seq, 12), RB_VERDICT_DUPLICATE);
	assert_int_equal(rb_seq_judge(&seq, 14), RB_VERDICT_DUPLICATE);
	assert_int_equal(seq.duplicate, 2);
	assert_int_equal(seq.received, 3);
}

static void sequence_before_the_first_or_the_window_is_stale(void **state)
{
	struct rb_seq seq = { 0 };

	(void)state;
	rb_seq_judge(&seq, 100);
	assert_int_equal(rb_seq_judge(&seq, 99), RB_VERDICT_STALE);
	rb_seq_judge(&seq, 100 + RB_SEQ_WINDOW);
	assert_int_equal(rb_seq_judge(&seq, 100), RB_VERDICT_STALE);
	assert_int_equal(rb_seq_judge(&seq, 101), RB_VERDICT_OK);
	assert_int_equal(seq.stale, 2);
}

static void sequence_jump_beyond_the_window_forgets_what_was_seen(void **state)
{
	struct rb_seq seq = { 0 };

	(void)state;
	rb_seq_judge(&seq, 5);
	rb_seq_judge(&seq, 5 + 3 * RB_SEQ_WINDOW);
	assert_int_equal(seq.lost, 3 * RB_SEQ_WINDOW - 1);
	/* Same place in the window as 5, which was seen. */
	assert_int_equal(rb_seq_judge(&seq, 5 + 2 * RB_SEQ_WINDOW + 1), RB_VERDICT_OK);
	assert_int_equal(rb_seq_judge(&seq, 5 + 2 * RB_SEQ_WINDOW), RB_VERDICT_STALE);
}

/* Both jumps of almost 2^31 would count as 4e9 lost messages for ever. */
static void sequence_that_jumps_twice_counts_nothing_as_lost(void **state)
{
	const uint32_t jump = (1u << 31) - 1;
	struct rb_seq seq = { 0 };

	(void)state;
	rb_seq_judge(&seq, 5);
	rb_seq_judge(&seq, 8);
	for (uint32_t i = 1; i <= 2; i++) {
		assert_int_equal(rb_seq_judge(&seq, i * jump), RB_VERDICT_STALE);
		assert_int_equal(rb_seq_judge(&seq, i * jump + 1), RB_VERDICT_OK);
	}
	assert_int_equal(seq.lost, 2);
	assert_int_equal(seq.received, 4);
	/* The one before the first of the new numbers is not late. */
	assert_int_equal(rb_seq_judge(&seq, 2 * jump), RB_VERDICT_STALE);
	assert_int_equal(seq.lost, 2);
}

static void sequence_restart_takes_any_number_as_the_first(void **state)
{
	struct rb_seq seq = { 0 };

	(void)state;
	rb_seq_judge(&seq, 1000);
	rb_seq_restart(&seq);
	assert_int_equal(rb_seq_judge(&seq, 0), RB_VERDICT_OK);
	assert_int_equal(rb_seq_judge(&seq, 1), RB_VERDICT_OK);
	assert_int_equal(seq.lost, 0);
	assert_int_equal(seq.received, 3);
}

/* A model with a flag for each number ever used gives the expected verdicts. */
static void random_order_agrees_with_a_model_that_forgets_nothing(void **state)
{
	enum { TOTAL = 200000 };
	static uint8_t seen[TOTAL];
	struct rb_seq seq = { 0 };
	uint32_t top = 0, base = 0xffff8000; /* crosses the wrap */
	uint64_t received = 0, duplicate = 0, stale = 0;

	(void)state;
	srandom(7);
	memset(seen, 0, sizeof(seen));
	assert_int_equal(rb_seq_judge(&seq, base), RB_VERDICT_OK);
	seen[0] = 1;
	received = 1;
	while (top < TOTAL - 3000) {
		uint32_t roll = (uint32_t)random() % 100;
		uint32_t back = (uint32_t)random() % (roll >= 98 ? 3000 : 40);
		uint32_t s = roll < 60 ? top + 1 + (roll < 5 ? (uint32_t)random() % 50 : 0)
				       : (back > top ? 0 : top - back);
		enum rb_verdict expected;

		if (s > top)
			expected = RB_VERDICT_OK;
		else if (top - s >= RB_SEQ_WINDOW)
			expected = RB_VERDICT_STALE;
		else
			expected = seen[s] ? RB_VERDICT_DUPLICATE : RB_VERDICT_OK;
		assert_int_equal(rb_seq_judge(&seq, base + s), expected);
		received += expected == RB_VERDICT_OK;
		duplicate += expected == RB_VERDICT_DUPLICATE;
		stale += expected == RB_VERDICT_STALE;
		if (expected == RB_VERDICT_OK)
			seen[s] = 1;
		if (s > top)
			top = s;
	}
	assert_int_equal(seq.received, received);
	assert_int_equal(seq.duplicate, duplicate);
	assert_int_equal(seq.stale, stale);
	assert_int_equal(seq.received + seq.lost, top + 1);
	assert_true(duplicate > 0 && stale > 0 && seq.late > 0);
}

/* --- Peers --- */

static struct rb_peers peers;

static int setup(void **state)
{
	(void)state;
	assert_int_equal(rb_peers_init(&peers, 1, 111, 50 * MS), 0);
	assert_int_equal(rb_peers_add(&peers, 2), 0);
	assert_int_equal(rb_peers_introduce(&peers, 2, 222), 0);
	return 0;
}

static enum rb_verdict arrive(uint8_t source, uint32_t epoch, uint32_t sequence, uint64_t now_ns)
{
	const struct rb_msg_header h = { .type = RB_MSG_DATA,
					 .source = source,
					 .destination = 1,
					 .epoch = epoch,
					 .sequence = sequence };

	return rb_peers_judge(&peers, &h, now_ns);
}

static void hear(uint32_t sequence, uint32_t heard_epoch, uint64_t now_ns)
{
	const struct rb_hello hello = { .heard_epoch = heard_epoch, .interval_us = 1000 };

	assert_int_equal(arrive(2, 222, sequence, now_ns), RB_VERDICT_OK);
	rb_peers_hello(&peers, 2, &hello, now_ns);
}

static void bad_configuration_is_refused(void **state)
{
	struct rb_peers *p = malloc(sizeof(*p));

	(void)state;
	assert_int_equal(rb_peers_init(p, 0, 1, 1), -EINVAL);
	assert_int_equal(rb_peers_init(p, 1, 0, 1), -EINVAL);
	assert_int_equal(rb_peers_init(p, 1, 1, 0), -EINVAL);
	free(p);
	assert_int_equal(rb_peers_add(&peers, 0), -EINVAL);
	assert_int_equal(rb_peers_add(&peers, 1), -EINVAL);
	assert_int_equal(rb_peers_add(&peers, 2), -EEXIST);
	assert_int_equal(rb_peers_introduce(&peers, 3, 1), -ENOENT);
	assert_int_equal(rb_peers_introduce(&peers, 2, 0), -EINVAL);
}

static void message_of_an_unknown_or_not_introduced_node_is_refused(void **state)
{
	(void)state;
	assert_int_equal(arrive(3, 222, 0, 1), RB_VERDICT_UNKNOWN_NODE);
	assert_int_equal(rb_peers_add(&peers, 3), 0);
	assert_int_equal(arrive(3, 0, 0, 1), RB_VERDICT_UNKNOWN_NODE);
	assert_int_equal(rb_peers_introduce(&peers, 3, 333), 0);
	assert_int_equal(arrive(3, 333, 0, 1), RB_VERDICT_OK);
}

static void message_of_another_epoch_is_refused_and_does_not_keep_the_peer_up(void **state)
{
	(void)state;
	hear(0, 111, 1 * MS);
	assert_int_equal(arrive(2, 221, 1, 50 * MS), RB_VERDICT_EPOCH);
	rb_peers_tick(&peers, 2, 52 * MS);
	assert_int_equal(peers.peer[2].state, RB_PEER_DOWN);
}

static void replayed_message_does_not_keep_the_peer_up(void **state)
{
	(void)state;
	hear(0, 111, 1 * MS);
	assert_int_equal(arrive(2, 222, 0, 50 * MS), RB_VERDICT_DUPLICATE);
	rb_peers_tick(&peers, 2, 52 * MS);
	assert_int_equal(peers.peer[2].state, RB_PEER_DOWN);
}

static void new_epoch_forgets_sequences_and_starts_down(void **state)
{
	(void)state;
	hear(500, 111, 1 * MS);
	rb_peers_tick(&peers, 2, 1 * MS);
	assert_int_equal(peers.peer[2].state, RB_PEER_UP);
	assert_int_equal(rb_peers_introduce(&peers, 2, 222),
			 0); /* the same life again changes nothing */
	assert_int_equal(peers.peer[2].state, RB_PEER_UP);
	assert_int_equal(rb_peers_introduce(&peers, 2, 223), 0);
	assert_int_equal(peers.peer[2].state, RB_PEER_DOWN);
	assert_int_equal(peers.peer[2].downs, 1);
	assert_int_equal(rb_peers_heard_epoch(&peers, 2, 2 * MS), 0);
	assert_int_equal(arrive(2, 222, 501, 2 * MS), RB_VERDICT_EPOCH);
	assert_int_equal(arrive(2, 223, 0, 2 * MS), RB_VERDICT_OK);
	assert_int_equal(peers.peer[2].seq[0].lost, 0);
}

static void streams_count_apart(void **state)
{
	struct rb_msg_header h = { .source = 2, .destination = 1, .epoch = 222 };

	(void)state;
	for (uint8_t stream = 0; stream < RB_STREAMS_MAX; stream++) {
		h.stream = stream;
		h.sequence = stream * 1000;
		assert_int_equal(rb_peers_judge(&peers, &h, 1), RB_VERDICT_OK);
		assert_int_equal(rb_peers_judge(&peers, &h, 1), RB_VERDICT_DUPLICATE);
	}
}

static void one_forged_sequence_number_changes_nothing(void **state)
{
	(void)state;
	assert_int_equal(arrive(2, 222, 7, 1 * MS), RB_VERDICT_OK);
	assert_int_equal(arrive(2, 222, 7 + (1u << 30), 2 * MS), RB_VERDICT_STALE);
	assert_int_equal(peers.peer[2].heard_ns, 1 * MS);
	assert_int_equal(arrive(2, 222, 8, 3 * MS), RB_VERDICT_OK);
	assert_int_equal(arrive(2, 222, 9 + (1u << 30), 4 * MS), RB_VERDICT_STALE);
	assert_int_equal(arrive(2, 222, 9, 5 * MS), RB_VERDICT_OK);
	assert_int_equal(peers.peer[2].seq[0].lost, 0);
}

static void forged_sequence_numbers_silence_a_peer_no_longer_than_until_it_is_down(void **state)
{
	(void)state;
	hear(7, 111, 1 * MS);
	rb_peers_tick(&peers, 2, 1 * MS);
	assert_int_equal(peers.peer[2].state, RB_PEER_UP);
	arrive(2, 222, 7 + (1u << 30), 2 * MS);
	assert_int_equal(arrive(2, 222, 8 + (1u << 30), 2 * MS), RB_VERDICT_OK);
	assert_int_equal(arrive(2, 222, 8, 3 * MS), RB_VERDICT_STALE);
	assert_true(rb_peers_tick(&peers, 2, 53 * MS));
	assert_int_equal(peers.peer[2].state, RB_PEER_DOWN);
	hear(9, 111, 54 * MS);
	assert_int_equal(peers.peer[2].heard_ns, 54 * MS);
	assert_int_equal(peers.peer[2].seq[0].lost, 0);
	rb_peers_tick(&peers, 2, 54 * MS);
	assert_int_equal(peers.peer[2].state, RB_PEER_UP);
}

/* A forged number below the limit of jumps is believed until the peer has been down. */
static void what_a_forged_message_skipped_is_not_lost(void **state)
{
	(void)state;
	hear(7, 111, 1 * MS);
	hear(10, 111, 1 * MS);
	rb_peers_tick(&peers, 2, 1 * MS);
	assert_int_equal(arrive(2, 222, 10 + RB_SEQ_JUMP, 2 * MS), RB_VERDICT_OK);
	assert_int_equal(arrive(2, 222, 11, 3 * MS), RB_VERDICT_STALE);
	assert_true(rb_peers_tick(&peers, 2, 53 * MS));
	hear(12, 111, 54 * MS);
	assert_int_equal(peers.peer[2].seq[0].lost, 2);
}

static void what_is_lost_while_a_peer_is_silent_counts_when_it_is_back(void **state)
{
	(void)state;
	hear(7, 111, 1 * MS);
	rb_peers_tick(&peers, 2, 1 * MS);
	assert_true(rb_peers_tick(&peers, 2, 53 * MS));
	assert_int_equal(peers.peer[2].state, RB_PEER_DOWN);
	hear(7 + 41, 111, 54 * MS);
	assert_int_equal(peers.peer[2].seq[0].lost, 40);
}

/* Each step: the time, the heard_epoch of a hello at that time (-1: no hello), the state after. */
static void liveness_follows_both_directions(void **state)
{
	static const struct {
		const char *name;
		uint64_t at_ms;
		int64_t heard_epoch;
		enum rb_peer_state expected;
	} steps[] = {
		{ "introduced, silent", 100, -1, RB_PEER_DOWN },
		{ "heard, does not hear us", 110, 0, RB_PEER_ONE_WAY },
		{ "hears a former life of us", 120, 110, RB_PEER_ONE_WAY },
		{ "hears us", 130, 111, RB_PEER_UP },
		{ "silent for 50 ms", 180, -1, RB_PEER_UP },
		{ "silent for 51 ms", 181, -1, RB_PEER_DOWN },
		{ "heard again", 200, 111, RB_PEER_UP },
		{ "still heard, hears us no more", 210, 0, RB_PEER_ONE_WAY },
		{ "hears us again", 220, 111, RB_PEER_UP },
		{ "long silence", 5000, -1, RB_PEER_DOWN },
	};
	uint32_t sequence = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		uint64_t now_ns = steps[i].at_ms * MS;
		enum rb_peer_state before = peers.peer[2].state;
		bool changed;

		if (steps[i].heard_epoch >= 0)
			hear(sequence++, (uint32_t)steps[i].heard_epoch, now_ns);
		changed = rb_peers_tick(&peers, 2, now_ns);
		if (peers.peer[2].state != steps[i].expected)
			print_error("%s: %s\n", steps[i].name,
				    rb_peer_state_name(peers.peer[2].state));
		assert_int_equal(peers.peer[2].state, steps[i].expected);
		assert_int_equal(changed, before != steps[i].expected);
	}
	assert_int_equal(peers.peer[2].ups, 3);
	assert_int_equal(peers.peer[2].downs, 3);
}

/* Both sides take the larger one of the dead times that they ask for. */
static void peer_that_speaks_seldom_is_dead_only_after_its_own_dead_time(void **state)
{
	(void)state;
	rb_peers_set_liveness(&peers, 2, 500 * MS);
	hear(0, 111, 1 * MS);
	rb_peers_tick(&peers, 2, 1 * MS);
	assert_int_equal(peers.peer[2].state, RB_PEER_UP);
	rb_peers_tick(&peers, 2, 501 * MS);
	assert_int_equal(peers.peer[2].state, RB_PEER_UP);
	assert_int_equal(rb_peers_heard_epoch(&peers, 2, 501 * MS), 222);
	assert_true(rb_peers_tick(&peers, 2, 502 * MS));
	assert_int_equal(peers.peer[2].state, RB_PEER_DOWN);
	assert_int_equal(rb_peers_heard_epoch(&peers, 2, 502 * MS), 0);
	/* One that asks for less than we do gets what we ask for. */
	rb_peers_set_liveness(&peers, 2, 5 * MS);
	hear(1, 111, 600 * MS);
	assert_true(rb_peers_tick(&peers, 2, 650 * MS));
	assert_false(rb_peers_tick(&peers, 2, 650 * MS));
	assert_true(rb_peers_tick(&peers, 2, 651 * MS));
}

static void data_alone_does_not_prove_that_the_peer_hears_us(void **state)
{
	(void)state;
	hear(0, 111, 1 * MS);
	for (uint32_t i = 1; i < 10; i++) {
		assert_int_equal(arrive(2, 222, i, (1 + 10 * i) * MS), RB_VERDICT_OK);
		rb_peers_tick(&peers, 2, (1 + 10 * i) * MS);
	}
	assert_int_equal(peers.peer[2].state, RB_PEER_ONE_WAY);
}

/*
 * Tick every millisecond except in a pause. The peer goes down after dead_after of the time in
 * which we ran.
 */
static void silence_counts_only_while_we_run(void **state)
{
	static const struct {
		const char *name;
		uint64_t pause_at_ms, pause_ms, down_at_ms;
	} cases[] = {
		{ "no pause", 10, 1, 52 },
		{ "a pause as long as loops take", 10, 12, 52 },
		{ "a pause of 112 ms, 12.5 of which count", 10, 112, 151 },
		{ "a pause of a minute", 10, 60012, 60051 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t ms = 1;

		setup(state);
		hear(0, 111, 1 * MS);
		do {
			rb_peers_run(&peers, ms * MS);
			rb_peers_tick(&peers, 2, ms * MS);
			ms += ms == cases[i].pause_at_ms ? cases[i].pause_ms : 1;
		} while (peers.peer[2].state == RB_PEER_UP && ms < 100000);
		if (ms - 1 != cases[i].down_at_ms)
			print_error("%s: down at %u\n", cases[i].name, (unsigned)(ms - 1));
		assert_int_equal(ms - 1, cases[i].down_at_ms);
	}
}

static void silence_before_our_pause_still_counts(void **state)
{
	(void)state;
	hear(0, 111, 1 * MS);
	for (uint64_t ms = 1; ms <= 50; ms++) {
		rb_peers_run(&peers, ms * MS);
		rb_peers_tick(&peers, 2, ms * MS);
	}
	rb_peers_run(&peers, 1050 * MS);
	rb_peers_tick(&peers, 2, 1050 * MS);
	assert_int_equal(peers.peer[2].state, RB_PEER_DOWN);
	assert_int_equal(peers.stalls, 1);
}

static void message_after_a_pause_is_not_dated_in_the_future(void **state)
{
	(void)state;
	rb_peers_run(&peers, 1 * MS);
	hear(0, 111, 500 * MS);
	rb_peers_run(&peers, 500 * MS);
	assert_true(peers.peer[2].heard_ns == 500 * MS);
	assert_true(peers.peer[2].hears_us_ns == 500 * MS);
}

/*
 * No peer heard us during the pause. Hellos of that time say so, and so do those that come before
 * the peer had the time to hear us and to answer: twice dead_after on a machine that is busy
 * everywhere.
 */
static void hello_that_denies_hearing_us_is_ignored_after_our_pause(void **state)
{
	(void)state;
	rb_peers_run(&peers, 1 * MS);
	hear(0, 111, 1 * MS);
	rb_peers_run(&peers, 1000 * MS);
	hear(1, 0, 1000 * MS);
	rb_peers_tick(&peers, 2, 1000 * MS);
	assert_int_equal(peers.peer[2].state, RB_PEER_UP);
	for (uint64_t ms = 1001; ms <= 1100; ms++) {
		rb_peers_run(&peers, ms * MS);
		hear((uint32_t)ms, ms < 1095 ? 0 : 111, ms * MS);
		rb_peers_tick(&peers, 2, ms * MS);
		assert_int_equal(peers.peer[2].state, RB_PEER_UP);
	}
	rb_peers_run(&peers, 1101 * MS);
	hear(1101, 0, 1101 * MS);
	rb_peers_tick(&peers, 2, 1101 * MS);
	assert_int_equal(peers.peer[2].state, RB_PEER_ONE_WAY);
}

static void hello_names_the_peers_epoch_while_it_is_heard(void **state)
{
	(void)state;
	assert_int_equal(rb_peers_heard_epoch(&peers, 2, 1 * MS), 0);
	hear(0, 0, 1 * MS);
	assert_int_equal(rb_peers_heard_epoch(&peers, 2, 51 * MS), 222);
	assert_int_equal(rb_peers_heard_epoch(&peers, 2, 52 * MS), 0);
}

#define PEER_TEST(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sequence_in_order_counts_nothing_lost),
		cmocka_unit_test(sequence_gap_counts_lost_until_the_late_message_comes),
		cmocka_unit_test(sequence_before_the_first_or_the_window_is_stale),
		cmocka_unit_test(sequence_jump_beyond_the_window_forgets_what_was_seen),
		cmocka_unit_test(sequence_that_jumps_twice_counts_nothing_as_lost),
		cmocka_unit_test(sequence_restart_takes_any_number_as_the_first),
		cmocka_unit_test(random_order_agrees_with_a_model_that_forgets_nothing),
		PEER_TEST(bad_configuration_is_refused),
		PEER_TEST(message_of_an_unknown_or_not_introduced_node_is_refused),
		PEER_TEST(message_of_another_epoch_is_refused_and_does_not_keep_the_peer_up),
		PEER_TEST(replayed_message_does_not_keep_the_peer_up),
		PEER_TEST(new_epoch_forgets_sequences_and_starts_down),
		PEER_TEST(streams_count_apart),
		PEER_TEST(one_forged_sequence_number_changes_nothing),
		PEER_TEST(what_is_lost_while_a_peer_is_silent_counts_when_it_is_back),
		PEER_TEST(what_a_forged_message_skipped_is_not_lost),
		PEER_TEST(forged_sequence_numbers_silence_a_peer_no_longer_than_until_it_is_down),
		PEER_TEST(liveness_follows_both_directions),
		PEER_TEST(peer_that_speaks_seldom_is_dead_only_after_its_own_dead_time),
		PEER_TEST(data_alone_does_not_prove_that_the_peer_hears_us),
		PEER_TEST(silence_counts_only_while_we_run),
		PEER_TEST(silence_before_our_pause_still_counts),
		PEER_TEST(message_after_a_pause_is_not_dated_in_the_future),
		PEER_TEST(hello_that_denies_hearing_us_is_ignored_after_our_pause),
		PEER_TEST(hello_names_the_peers_epoch_while_it_is_heard),
	};
	return cmocka_run_group_tests_name("peer", tests, NULL, NULL);
}
