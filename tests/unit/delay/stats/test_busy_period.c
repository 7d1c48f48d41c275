/* SPDX-License-Identifier: BSD-2-Clause */
/* Busy periods of short lists of packets, worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "delay/stats/busy_period.h"

static struct sl_passage passage(int64_t in_ns, int64_t out_ns, uint32_t input)
{
	return (struct sl_passage){ .in_ns = in_ns,
				    .out_ns = out_ns,
				    .wait_ns = 2,
				    .delay_ns = 10,
				    .bytes = 100,
				    .input = input };
}

static void periods_are_cut_where_the_system_is_empty(void **state)
{
	/* Two that overlap, one that comes just as the second leaves, one alone */
	const struct sl_passage packets[] = { passage(0, 10, 0), passage(5, 30, 1),
					      passage(30, 40, 1), passage(100, 103, 0) };
	struct sl_busy busy = { .guard_ns = 0 };
	struct sl_busy_period p;

	(void)state;
	assert_false(sl_busy_close(&busy, &p));
	assert_false(sl_busy_add(&busy, &packets[0], &p));
	assert_false(sl_busy_add(&busy, &packets[1], &p));
	assert_true(sl_busy_add(&busy, &packets[2], &p));
	assert_int_equal(p.start_ns, 0);
	assert_int_equal(p.end_ns, 30);
	assert_int_equal(p.amplitude_ns, 25);
	assert_int_equal(p.apex_ns, 5);
	assert_int_equal(p.packets, 2);
	assert_int_equal(p.bytes, 200);
	assert_int_equal(p.wait_ns, 4);
	assert_int_equal(p.delay_ns, 20);
	assert_int_equal(p.input_bytes[0], 100);
	assert_int_equal(p.input_bytes[1], 100);
	assert_true(sl_busy_add(&busy, &packets[3], &p));
	assert_int_equal(p.start_ns, 30);
	assert_int_equal(p.input_bytes[0], 0);
	assert_int_equal(p.input_bytes[1], 100);
	assert_true(sl_busy_close(&busy, &p));
	assert_int_equal(p.start_ns, 100);
	assert_int_equal(p.end_ns, 103);
	assert_int_equal(p.amplitude_ns, 3);
	assert_int_equal(busy.raw, 3);
	assert_false(sl_busy_close(&busy, &p));
}

static void a_packet_that_overtakes_does_not_end_the_period(void **state)
{
	const struct sl_passage packets[] = { passage(0, 50, 0), passage(10, 20, 0),
					      passage(49, 60, 0) };
	struct sl_busy busy = { .guard_ns = 0 };
	struct sl_busy_period p;

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_false(sl_busy_add(&busy, &packets[i], &p));
	assert_true(sl_busy_close(&busy, &p));
	assert_int_equal(p.end_ns, 60);
	assert_int_equal(p.amplitude_ns, 50);
}

static void idle_times_below_the_guard_are_bridged_and_counted(void **state)
{
	const struct sl_passage packets[] = { passage(0, 10, 0), passage(14, 20, 0),
					      passage(25, 30, 0) };
	struct sl_busy busy = { .guard_ns = 5 };
	struct sl_busy_period p;

	(void)state;
	assert_false(sl_busy_add(&busy, &packets[0], &p));
	assert_false(sl_busy_add(&busy, &packets[1], &p)); /* 4 ns idle */
	assert_true(sl_busy_add(&busy, &packets[2], &p));  /* 5 ns idle */
	assert_int_equal(p.end_ns, 20);
	assert_int_equal(p.packets, 2);
	assert_int_equal(busy.raw, 3);
}

/* --- In the order in which packets leave --- */

#define PACKETS 2000
#define ROUNDS	200

static int by_entry(const void *a, const void *b)
{
	const struct sl_passage *x = a, *y = b;

	if (x->in_ns != y->in_ns)
		return x->in_ns < y->in_ns ? -1 : 1;
	return (x->out_ns > y->out_ns) - (x->out_ns < y->out_ns);
}

static int by_exit(const void *a, const void *b)
{
	const struct sl_passage *x = a, *y = b;

	if (x->out_ns != y->out_ns)
		return x->out_ns < y->out_ns ? -1 : 1;
	return (x->in_ns > y->in_ns) - (x->in_ns < y->in_ns);
}

static uint32_t draw(uint32_t *random, uint32_t below)
{
	*random = *random * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)*random * below >> 32);
}

/* A router of one queue, or of several that overtake each other: stays of up to `longest`. */
static void draw_packets(struct sl_passage *packets, uint32_t longest, uint32_t *random)
{
	int64_t now_ns = 1000;

	for (uint32_t i = 0; i < PACKETS; i++) {
		const uint32_t stay_ns = draw(random, longest + 1);

		now_ns += 1 + draw(random, 6);
		packets[i] = passage(now_ns, now_ns + stay_ns, draw(random, SL_BUSY_INPUTS_MAX));
		packets[i].bytes = 1 + draw(random, 1500);
		packets[i].wait_ns = draw(random, stay_ns + 1);
		packets[i].delay_ns = stay_ns;
	}
}

static uint32_t periods_by_entry(struct sl_passage *packets, struct sl_busy_period *out)
{
	struct sl_busy busy = { .guard_ns = 0 };
	uint32_t n = 0;

	qsort(packets, PACKETS, sizeof(*packets), by_entry);
	for (uint32_t i = 0; i < PACKETS; i++)
		n += sl_busy_add(&busy, &packets[i], &out[n]);
	return n + sl_busy_close(&busy, &out[n]);
}

static uint32_t periods_by_exit(struct sl_passage *packets, struct sl_busy_period *out)
{
	static struct sl_busy_leaving busy;
	const struct sl_busy_period *closed;
	uint32_t n = 0;

	memset(&busy, 0, sizeof(busy));
	qsort(packets, PACKETS, sizeof(*packets), by_exit);
	for (uint32_t i = 0; i < PACKETS; i++) {
		closed = sl_busy_leave(&busy, &packets[i]);
		if (closed)
			out[n++] = *closed;
	}
	assert_null(sl_busy_close_before(&busy, packets[PACKETS - 1].out_ns - 1000));
	while ((closed = sl_busy_close_before(&busy, INT64_MAX)))
		out[n++] = *closed;
	assert_int_equal(busy.late, 0);
	return n;
}

/* With stays of up to 14 ns, a packet finds at most the 15 periods that are still open. */
static void the_order_of_leaving_gives_the_periods_of_the_order_of_coming(void **state)
{
	static struct sl_passage packets[PACKETS];
	static struct sl_busy_period expected[PACKETS + 1], got[PACKETS + 1];
	uint32_t random = 1;

	(void)state;
	for (uint32_t round = 0; round < ROUNDS; round++) {
		uint32_t n;

		draw_packets(packets, round % 15, &random);
		n = periods_by_entry(packets, expected);
		assert_int_equal(periods_by_exit(packets, got), n);
		assert_memory_equal(got, expected, n * sizeof(got[0]));
	}
}

static void a_packet_that_was_held_back_joins_the_periods_since_it_came(void **state)
{
	const struct sl_passage packets[] = { passage(0, 10, 0), passage(20, 30, 0),
					      passage(40, 50, 0), passage(25, 60, 1) };
	struct sl_busy_leaving busy = { .n = 0 };
	const struct sl_busy_period *p;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_null(sl_busy_leave(&busy, &packets[i]));
	p = sl_busy_close_before(&busy, INT64_MAX);
	assert_int_equal(p->end_ns, 10);
	p = sl_busy_close_before(&busy, INT64_MAX);
	assert_int_equal(p->start_ns, 20);
	assert_int_equal(p->end_ns, 60);
	assert_int_equal(p->amplitude_ns, 35);
	assert_int_equal(p->apex_ns, 25);
	assert_int_equal(p->packets, 3);
	assert_null(sl_busy_close_before(&busy, INT64_MAX));
}

static void a_packet_later_than_all_open_periods_counts_as_late(void **state)
{
	struct sl_busy_leaving busy = { .n = 0 };
	const struct sl_busy_period *p;
	struct sl_passage packet;

	(void)state;
	for (int i = 0; i < 20; i++) {
		packet = passage(100 * i, 100 * i + 10, 0);
		p = sl_busy_leave(&busy, &packet);
		assert_int_equal(p != NULL, i >= SL_BUSY_RECENT - 1);
		if (p)
			assert_int_equal(p->start_ns, 100 * (i - SL_BUSY_RECENT + 1));
	}
	/* Since 50: the five periods from 0 to 410 are closed. */
	packet = passage(50, 2000, 1);
	assert_null(sl_busy_leave(&busy, &packet));
	assert_int_equal(busy.late, 1);
	p = sl_busy_close_before(&busy, INT64_MAX);
	assert_int_equal(p->start_ns, 410);
	assert_int_equal(p->end_ns, 2000);
	assert_int_equal(p->amplitude_ns, 1950);
	assert_int_equal(p->packets, 16);
	assert_null(sl_busy_close_before(&busy, INT64_MAX));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(periods_are_cut_where_the_system_is_empty),
		cmocka_unit_test(a_packet_that_overtakes_does_not_end_the_period),
		cmocka_unit_test(idle_times_below_the_guard_are_bridged_and_counted),
		cmocka_unit_test(the_order_of_leaving_gives_the_periods_of_the_order_of_coming),
		cmocka_unit_test(a_packet_that_was_held_back_joins_the_periods_since_it_came),
		cmocka_unit_test(a_packet_later_than_all_open_periods_counts_as_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
