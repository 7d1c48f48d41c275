/* SPDX-License-Identifier: BSD-2-Clause */
/* Time under way between two nodes whose clocks differ, and drift, against the truth. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "rdma-bridge/wire/transit.h"

#define MS 1000000ULL

static uint32_t random_state = 1;

static uint32_t draw(uint32_t below)
{
	random_state = random_state * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)random_state * below >> 32);
}

/* Clock of node 1 at a true time: ahead by `ahead`, and faster by ppm. */
static uint64_t clock_1(uint64_t true_ns, int64_t ahead_ns, int64_t ppm)
{
	return true_ns + (uint64_t)ahead_ns + true_ns / 1000000 * (uint64_t)ppm;
}

/*
 * Messages each millisecond in both directions, that take at least `least` and up to 1 ms more;
 * returns the largest error of the time that node 0 finds for those of node 1.
 */
static int64_t largest_error(int64_t ahead_ns, int64_t ppm, uint32_t least_ns)
{
	struct rb_transit of_1, of_0;
	int64_t largest_ns = 0;

	rb_transit_init(&of_1, 0);
	rb_transit_init(&of_0, 0);
	for (uint32_t i = 0; i < 5000; i++) {
		const uint64_t at_ns = 10000 * MS + i * MS;
		const uint32_t there_ns = least_ns + (i % 7 ? draw(1000000) : 0);
		const uint32_t here_ns = least_ns + (i % 5 ? draw(1000000) : 0);
		int64_t error_ns;

		rb_transit_note(&of_0, at_ns, clock_1(at_ns + there_ns, ahead_ns, ppm));
		of_1.there_ns = rb_transit_here_ns(&of_0);
		rb_transit_note(&of_1, clock_1(at_ns, ahead_ns, ppm), at_ns + here_ns);
		error_ns = (int64_t)rb_transit_of(&of_1, clock_1(at_ns, ahead_ns, ppm),
						  at_ns + here_ns) -
			   here_ns;
		if (i > 10 && llabs(error_ns) > largest_ns)
			largest_ns = llabs(error_ns);
	}
	assert_in_range(rb_transit_round_trip_ns(&of_1) + 1000000, 2 * least_ns + 900000,
			2 * least_ns + 1100000);
	return largest_ns;
}

static void the_difference_of_clocks_cancels_out(void **state)
{
	(void)state;
	assert_true(largest_error(0, 0, 20000) == 0);
	assert_true(largest_error(-8000000000, 0, 20000) == 0);
	assert_true(largest_error(3600000000000, 0, 5000) == 0);
}

/* 50 ppm for a second are 50 us. */
static void drift_shows_no_more_than_that_of_a_second(void **state)
{
	(void)state;
	assert_in_range(largest_error(12345, 50, 100000), 1, 50100);
	assert_in_range(largest_error(12345, -50, 100000), 1, 50100);
}

static void the_error_is_half_of_the_round_trip(void **state)
{
	struct rb_transit t;

	(void)state;
	rb_transit_init(&t, 0);
	assert_int_equal(rb_transit_error_us(&t), RB_TRANSIT_ERROR_MAX);
	rb_transit_note(&t, 1000, 31000);
	assert_int_equal(rb_transit_error_us(&t), RB_TRANSIT_ERROR_MAX);
	t.there_ns = 70000;
	assert_in_range(rb_transit_error_us(&t), 50, 51);
	t.there_ns = INT64_MAX - 40000;
	assert_int_equal(rb_transit_error_us(&t), RB_TRANSIT_ERROR_MAX);
	t.there_ns = 2 * 65536000LL;
	assert_int_equal(rb_transit_error_us(&t), RB_TRANSIT_ERROR_MAX);
}

static void without_a_word_of_the_peer_it_is_the_time_beyond_the_least(void **state)
{
	struct rb_transit t;

	(void)state;
	rb_transit_init(&t, 0);
	assert_true(rb_transit_here_ns(&t) == RB_TRANSIT_UNKNOWN);
	assert_int_equal(rb_transit_of(&t, 1000, 5000), 0);
	rb_transit_note(&t, 1000, 5000);
	assert_int_equal(rb_transit_of(&t, 1000, 5000), 0);
	rb_transit_note(&t, 2000, 6700);
	assert_int_equal(rb_transit_of(&t, 2000, 6700), 700);
	assert_true(rb_transit_round_trip_ns(&t) == RB_TRANSIT_UNKNOWN);
	t.there_ns = -3000;
	assert_int_equal(rb_transit_round_trip_ns(&t), 1000);
	assert_int_equal(rb_transit_of(&t, 2000, 6700), 1200);
}

/* Other messages may be quicker than any hello, and a round may have begun before they were sent.
 */
static void a_message_may_come_in_a_round_that_began_before(void **state)
{
	struct rb_transit t;

	(void)state;
	rb_transit_init(&t, 0);
	rb_transit_note(&t, 1000, 5000);
	assert_int_equal(rb_transit_of(&t, 2000, 5999), -1);
	t.there_ns = 6000;
	assert_int_equal(rb_transit_of(&t, 2000, 5999), 4999);
	assert_int_equal(rb_transit_of(&t, 2000, 1000), 0);
	assert_int_equal(rb_transit_of(&t, 2000, 900), -100);
	assert_int_equal(rb_transit_of(&t, 1000 + 50 * MS, 0), -50 * (int64_t)MS);
	assert_int_equal(rb_transit_of(&t, 1001 + 50 * MS, 0), 0);
	assert_int_equal(rb_transit_of(&t, 2000, 1001), 1);
}

/* What a peer says is not to be relied on. */
static void an_impossible_word_of_the_peer_adds_nothing(void **state)
{
	struct rb_transit t;

	(void)state;
	rb_transit_init(&t, 0);
	rb_transit_note(&t, 1000, 5000);
	t.there_ns = -9000;
	assert_int_equal(rb_transit_round_trip_ns(&t), 0);
	assert_int_equal(rb_transit_of(&t, 1000, 5000), 0);
	t.there_ns = INT64_MAX;
	assert_int_equal(rb_transit_of(&t, 1000, 5000), 0);
	t.there_ns = INT64_MAX - 4000;
	assert_int_equal(rb_transit_of(&t, 1000, 5000), UINT32_MAX);
}

static void values_of_more_than_a_second_ago_are_forgotten(void **state)
{
	struct rb_transit t;

	(void)state;
	rb_transit_init(&t, 0);
	rb_transit_note(&t, 1000 * MS, 1001 * MS);
	rb_transit_note(&t, 1100 * MS, 1105 * MS);
	assert_int_equal(rb_transit_here_ns(&t), MS);
	rb_transit_note(&t, 1600 * MS, 1605 * MS);
	assert_int_equal(rb_transit_here_ns(&t), MS);
	rb_transit_note(&t, 2200 * MS, 2205 * MS);
	assert_int_equal(rb_transit_here_ns(&t), 5 * MS);
	rb_transit_note(&t, 9000 * MS, 9007 * MS);
	assert_int_equal(rb_transit_here_ns(&t), 7 * MS);
}

/* Hellos of a peer whose clock is ahead of ours, under way for 30 us in each direction. */
static struct rb_transit of_peer(int64_t ahead_ns, uint32_t clock_error_ns)
{
	struct rb_transit t;

	rb_transit_init(&t, clock_error_ns);
	rb_transit_note(&t, (uint64_t)(MS + ahead_ns), MS + 30000);
	t.there_ns = 30000 + ahead_ns;
	return t;
}

static void clocks_that_agree_are_taken_for_one(void **state)
{
	struct rb_transit t = of_peer(1500, 2000);

	(void)state;
	assert_int_equal(rb_transit_clock(&t), RB_TRANSIT_SYNCHRONIZED);
	assert_int_equal(rb_transit_of(&t, 5000, 17000), 12000);
	assert_int_equal(rb_transit_of(&t, 17000, 5000), -12000);
	assert_int_equal(rb_transit_of(&t, 0, 1ULL << 40), UINT32_MAX);
	assert_int_equal(rb_transit_error_us(&t), 2);
	/* Without the word, the estimate takes half of the round trip for the quickest hello. */
	t.clock_error_ns = 0;
	assert_int_equal(rb_transit_clock(&t), RB_TRANSIT_ESTIMATED);
	assert_int_equal(rb_transit_of(&t, 5000, 17000), 13500);
	assert_int_equal(rb_transit_error_us(&t), 31);
}

/* No hello comes before it was sent. */
static void clocks_that_hellos_refute_are_not_used(void **state)
{
	static const int64_t apart_ns[] = { 32001, -32001, 37000000000, -37000000000 };
	struct rb_transit t = of_peer(32000, 2000);

	(void)state;
	assert_int_equal(rb_transit_clock(&t), RB_TRANSIT_SYNCHRONIZED);
	for (uint32_t i = 0; i < sizeof(apart_ns) / sizeof(apart_ns[0]); i++) {
		t = of_peer(apart_ns[i], 2000);
		assert_int_equal(rb_transit_clock(&t), RB_TRANSIT_DISAGREES);
		assert_int_equal(rb_transit_error_us(&t), 31);
		assert_int_equal(rb_transit_of(&t, MS, (uint64_t)(MS - apart_ns[i] + 12000)),
				 12000);
	}
}

static void clocks_are_not_used_before_hellos_of_both_directions(void **state)
{
	struct rb_transit t;

	(void)state;
	rb_transit_init(&t, 2000);
	assert_int_equal(rb_transit_clock(&t), RB_TRANSIT_ESTIMATED);
	assert_int_equal(rb_transit_of(&t, 1000, 5000), 0);
	rb_transit_note(&t, 1000, 31000);
	assert_int_equal(rb_transit_clock(&t), RB_TRANSIT_ESTIMATED);
	assert_int_equal(rb_transit_error_us(&t), RB_TRANSIT_ERROR_MAX);
	t.there_ns = 30000;
	assert_int_equal(rb_transit_clock(&t), RB_TRANSIT_SYNCHRONIZED);
	assert_string_equal(rb_transit_clock_name(rb_transit_clock(&t)), "synchronized");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_difference_of_clocks_cancels_out),
		cmocka_unit_test(drift_shows_no_more_than_that_of_a_second),
		cmocka_unit_test(the_error_is_half_of_the_round_trip),
		cmocka_unit_test(without_a_word_of_the_peer_it_is_the_time_beyond_the_least),
		cmocka_unit_test(a_message_may_come_in_a_round_that_began_before),
		cmocka_unit_test(an_impossible_word_of_the_peer_adds_nothing),
		cmocka_unit_test(values_of_more_than_a_second_ago_are_forgotten),
		cmocka_unit_test(clocks_that_agree_are_taken_for_one),
		cmocka_unit_test(clocks_that_hellos_refute_are_not_used),
		cmocka_unit_test(clocks_are_not_used_before_hellos_of_both_directions),
	};

	return cmocka_run_group_tests_name("transit", tests, NULL, NULL);
}
