/* SPDX-License-Identifier: BSD-2-Clause */
/* Where waiting comes from, on traces whose only cause is known; 1 byte takes 1 ns. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "delay/semi_experiments.h"
#include "delay/stats/two_stage.h"

#define RATE	  8000000000ULL
#define SECOND_NS 1000000000LL

/* An output, and its experiments beside it */
struct rig {
	struct sl_two_stage queue;
	struct sl_semi *semi;
};

static struct rig begin(void)
{
	struct rig rig;

	sl_two_stage_init(&rig.queue, RATE);
	assert_int_equal(sl_semi_create(RATE, &rig.semi), 0);
	return rig;
}

static void arrive(struct rig *rig, int64_t at_ns, uint32_t input, uint32_t bytes)
{
	const struct sl_service s = sl_two_stage_serve(&rig->queue, at_ns, bytes);

	assert_int_equal(sl_semi_add(rig->semi, at_ns, input, bytes, s.wait_ns), 0);
}

static struct sl_semi_result end(struct rig *rig)
{
	struct sl_semi_result result;

	sl_semi_finish(rig->semi);
	result = *sl_semi_result(rig->semi);
	sl_semi_destroy(rig->semi);
	return result;
}

static void packets_that_never_meet_wait_for_no_cause(void **state)
{
	struct rig rig = begin();
	struct sl_semi_result r;

	(void)state;
	for (int i = 0; i < 100; i++)
		arrive(&rig, i * 1000, 0, 1000);
	r = end(&rig);
	assert_int_equal(r.packets, 100);
	assert_int_equal(r.wait_ns, 0);
	assert_int_equal(r.slow_inputs_ns, 0);
	assert_int_equal(r.alone_ns, 0);
}

static void a_fast_input_alone_waits_for_its_bandwidth(void **state)
{
	struct rig rig = begin();
	struct sl_semi_result r;

	(void)state;
	/* Ten packets come at ten times the output's rate: they wait 0, 900, 1800... */
	for (int i = 0; i < 10; i++)
		arrive(&rig, 100 + i * 100, 5, 1000);
	assert_int_equal(sl_semi_take_amplitude_ns(rig.semi), 9 * 900 + 1000);
	assert_int_equal(sl_semi_take_amplitude_ns(rig.semi), 0);
	r = end(&rig);
	assert_int_equal(r.wait_ns, 45 * 900);
	assert_int_equal(r.slow_inputs_ns, 0);
	assert_int_equal(r.alone_ns, 45 * 900);
	assert_int_equal(r.input_packets[5], 10);
	assert_int_equal(r.input_alone_ns[5], 45 * 900);
}

static void two_inputs_of_the_outputs_rate_wait_for_each_other(void **state)
{
	struct rig rig = begin();
	struct sl_semi_result r;

	(void)state;
	/* Packets k of both come at 1000 k, and find 2 k before them: 1000 k, and 1000 more. */
	for (int k = 0; k < 10; k++)
		for (uint32_t input = 0; input < 2; input++)
			arrive(&rig, k * 1000, input, 1000);
	assert_int_equal(sl_semi_take_amplitude_ns(rig.semi), 1000);
	r = end(&rig);
	assert_int_equal(r.wait_ns, 2 * 45 * 1000 + 10 * 1000);
	/* No input is faster than the output, so all of it stays, a packet's time later. */
	assert_int_equal(r.slow_inputs_ns, r.wait_ns);
	assert_int_equal(r.alone_ns, 0);
	assert_int_equal(r.input_packets[0], 10);
	assert_int_equal(r.input_alone_ns[1], 0);
}

/*
 * By hand, with ends: alone, input 0 leaves at 1000, 2000, 3000 and input 1 at 1200. Behind them
 * they are served from 1000, 2500, 3500 and, input 1, from 2000 on.
 */
static void leavers_queue_in_the_order_in_which_they_leave(void **state)
{
	struct rig rig = begin();
	struct sl_semi_result r;

	(void)state;
	arrive(&rig, 0, 0, 1000);
	arrive(&rig, 0, 0, 1000);
	arrive(&rig, 0, 0, 1000);
	arrive(&rig, 700, 1, 500);
	r = end(&rig);
	assert_int_equal(r.wait_ns, 1000 + 2000 + 2300);
	assert_int_equal(r.alone_ns, 1000 + 2000);
	assert_int_equal(r.slow_inputs_ns, 800 + 500 + 500);
}

static void packets_all_at_once_wait_for_being_so(void **state)
{
	struct rig rig = begin();
	struct sl_semi_result r;

	(void)state;
	/* Each second, 1,000 packets of 1 us at once: a thousandth of the output's capacity */
	for (int second = -2; second < 3; second++)
		for (int i = 0; i < 1000; i++)
			arrive(&rig, second * SECOND_NS + 999999999, 0, 1000);
	r = end(&rig);
	assert_int_equal(r.wait_ns, 5 * 499500000ULL);
	/* M/D/1 at a load of 0.001: the mean wait is 1000 * 0.001 / (2 * 0.999) = 0.5 ns */
	assert_in_range(r.smooth_ns, 1, 10 * 5000);
}

/* Redrawn, what comes at random stays what it was: M/D/1 at a load of 0.7. */
static void what_comes_at_random_has_no_bursts_to_lose(void **state)
{
	struct rig rig = begin();
	struct sl_semi_result r;
	uint64_t random = 1;
	int64_t at_ns = 0;

	(void)state;
	while (at_ns < 2 * SECOND_NS) {
		/* A slot of 100 ns has a packet with chance 0.07. */
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		if (random >> 32 < (uint64_t)(0.07 * 4294967296.0))
			arrive(&rig, at_ns, 0, 1000);
		at_ns += 100;
	}
	r = end(&rig);
	/* 1000 * 0.7 / (2 * 0.3) = 1167 ns; slots make it a little less. */
	assert_in_range(r.wait_ns / r.packets, 1000, 1300);
	assert_in_range(r.smooth_ns / r.packets, 1050, 1300);
}

/* The last second counts up to its last packet, lest what was dense thins out. */
static void a_second_that_breaks_off_keeps_its_load(void **state)
{
	struct rig rig = begin();
	struct sl_semi_result r;

	(void)state;
	for (int i = 0; i < 1000; i++)
		arrive(&rig, i * 1000, 0, 1000);
	r = end(&rig);
	/* 1,000 packets of 1 us within 1 ms cannot but wait: about sqrt(n) packets' time. */
	assert_in_range(r.smooth_ns / r.packets, 5000, 60000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_that_never_meet_wait_for_no_cause),
		cmocka_unit_test(a_fast_input_alone_waits_for_its_bandwidth),
		cmocka_unit_test(two_inputs_of_the_outputs_rate_wait_for_each_other),
		cmocka_unit_test(leavers_queue_in_the_order_in_which_they_leave),
		cmocka_unit_test(packets_all_at_once_wait_for_being_so),
		cmocka_unit_test(what_comes_at_random_has_no_bursts_to_lose),
		cmocka_unit_test(a_second_that_breaks_off_keeps_its_load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
