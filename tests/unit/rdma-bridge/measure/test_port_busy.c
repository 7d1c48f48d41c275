/* SPDX-License-Identifier: BSD-2-Clause */
/* Busy periods of an edge port, from descriptors of frames as the bridge has them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rdma-bridge/measure/port_busy.h"

#define SECOND 1000000000ULL
#define MS     1000000ULL

/* A frame that entered by a port at `in_ms` and reached the egress queue after entry_ms. */
static struct rb_frame frame(uint64_t in_ms, uint32_t entry_ms, uint16_t port)
{
	return (struct rb_frame){ .arrival_ns = SECOND + in_ms * MS,
				  .waited_ns = entry_ms * (uint32_t)MS,
				  .len_bytes = 1000,
				  .ingress_port = port };
}

static void leave(struct rb_port_busy *busy, uint64_t in_ms, uint32_t entry_ms, uint64_t out_ms,
		  uint16_t port)
{
	const struct rb_frame f = frame(in_ms, entry_ms, port);

	rb_port_busy_leave(busy, &f, SECOND + out_ms * MS);
}

static void settle(struct rb_port_busy *busy, uint64_t ms)
{
	rb_port_busy_settle(busy, SECOND + ms * MS);
}

/* Two ports and a kernel send; the second period is of one frame, which waits for nobody. */
static void an_episode_has_its_queue_and_inputs(void **state)
{
	const struct sl_busy_period *e;
	struct rb_port_busy *busy;

	(void)state;
	assert_int_equal(rb_port_busy_create(&busy), 0);
	leave(busy, 10, 0, 12, 0x102);
	leave(busy, 11, 1, 20, 0x201);
	leave(busy, 13, 2, 25, 0);
	leave(busy, 14, 3, 30, 0x201);
	leave(busy, 50, 5, 60, 0x102);
	assert_int_equal(busy->n_episodes, 0);
	settle(busy, 1030); /* the first ended a second ago, not longer */
	assert_int_equal(busy->n_episodes, 0);
	settle(busy, 1031);
	assert_int_equal(busy->n_episodes, 1);
	settle(busy, 2000);
	assert_int_equal(busy->n_episodes, 1);
	e = &busy->episode[0];
	assert_int_equal(e->start_ns, SECOND + 10 * MS);
	assert_int_equal(e->end_ns, SECOND + 30 * MS);
	assert_int_equal(e->amplitude_ns, 16 * MS);
	assert_int_equal(e->apex_ns, SECOND + 14 * MS);
	assert_int_equal(e->packets, 4);
	assert_int_equal(e->bytes, 4000);
	assert_int_equal(e->delay_ns, (2 + 9 + 12 + 16) * MS);
	assert_int_equal(e->wait_ns, (2 + 8 + 10 + 13) * MS);
	assert_int_equal(busy->n_inputs, 3);
	assert_int_equal(busy->input[0], 0x102);
	assert_int_equal(busy->input[1], 0x201);
	assert_int_equal(busy->input[2], 0);
	assert_int_equal(e->input_bytes[0], 1000);
	assert_int_equal(e->input_bytes[1], 2000);
	assert_int_equal(e->input_bytes[2], 1000);
	rb_port_busy_destroy(busy);
}

/* One that lasts 20 ms with A = 16 ms, one of 10 ms with A = 10 ms. */
static void time_above_a_level_is_that_of_triangles(void **state)
{
	struct sl_triangle_level level;
	struct rb_port_busy *busy;
	uint32_t k = 0;

	(void)state;
	assert_int_equal(rb_port_busy_create(&busy), 0);
	leave(busy, 10, 0, 26, 0x102);
	leave(busy, 14, 0, 30, 0x102);
	leave(busy, 50, 0, 60, 0x102);
	settle(busy, 2000);
	while (sl_triangle_edge_ns(k) < 8 * MS)
		k++;
	/* The edge is 8.192 ms: 20 (1 - 8.192 / 16) = 9.76, and 10 (1 - 8.192 / 10) = 1.808 */
	assert_int_equal(sl_triangle_edge_ns(k), 8192000);
	level = sl_triangle_level(&busy->triangle, k);
	assert_int_equal(level.periods, 2);
	assert_in_range(level.above_ns, 11568000, 11568400);
	rb_port_busy_destroy(busy);
}

/* A period of two frames, the longest stay being a_ms */
static void period(struct rb_port_busy *busy, uint64_t at_ms, uint64_t a_ms)
{
	leave(busy, at_ms, 0, at_ms + a_ms - 1, 0x102);
	leave(busy, at_ms, 0, at_ms + a_ms, 0x102);
	settle(busy, at_ms + a_ms + 1001);
}

static uint64_t least_ms(const struct rb_port_busy *busy)
{
	uint64_t least_ns = UINT64_MAX;

	for (uint32_t i = 0; i < busy->n_episodes; i++)
		if (busy->episode[i].amplitude_ns < least_ns)
			least_ns = busy->episode[i].amplitude_ns;
	return least_ns / MS;
}

static void the_largest_of_an_hour_are_kept(void **state)
{
	const uint64_t hour_ms = 3600000;
	struct rb_port_busy *busy;

	(void)state;
	assert_int_equal(rb_port_busy_create(&busy), 0);
	for (uint64_t i = 0; i < RB_EPISODES; i++)
		period(busy, 10000 * i, 10 + i);
	assert_int_equal(least_ms(busy), 10);
	period(busy, 200000, 9);
	assert_int_equal(busy->n_episodes, RB_EPISODES);
	assert_int_equal(least_ms(busy), 10);
	period(busy, 210000, 500);
	assert_int_equal(least_ms(busy), 11);
	/* Then all of them are of a former hour. */
	for (uint64_t i = 0; i < RB_EPISODES; i++)
		period(busy, 2 * hour_ms + 10000 * i, 3);
	assert_int_equal(busy->n_episodes, RB_EPISODES);
	for (uint32_t i = 0; i < RB_EPISODES; i++)
		assert_int_equal(busy->episode[i].amplitude_ns, 3 * MS);
	rb_port_busy_destroy(busy);
}

static void more_inputs_than_places_share_the_last(void **state)
{
	struct rb_port_busy *busy;

	(void)state;
	assert_int_equal(rb_port_busy_create(&busy), 0);
	for (uint32_t i = 0; i < 70; i++)
		leave(busy, 10, 0, 100 + i, (uint16_t)(0x101 + i));
	settle(busy, 2000);
	assert_int_equal(busy->n_inputs, RB_BUSY_OTHERS);
	assert_int_equal(busy->episode[0].input_bytes[RB_BUSY_OTHERS - 1], 1000);
	assert_int_equal(busy->episode[0].input_bytes[RB_BUSY_OTHERS], 7000);
	rb_port_busy_destroy(busy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_episode_has_its_queue_and_inputs),
		cmocka_unit_test(time_above_a_level_is_that_of_triangles),
		cmocka_unit_test(the_largest_of_an_hour_are_kept),
		cmocka_unit_test(more_inputs_than_places_share_the_last),
	};

	return cmocka_run_group_tests_name("port_busy", tests, NULL, NULL);
}
