/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of several processors become frames in order, each with what became of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "user/capture/sighting.h"

#define ALL UINT64_MAX

struct seen {
	uint64_t time_ns[64], id[64], end_ns[64];
	uint32_t ifindex[64], other[64], n;
	uint8_t outcome[64], first_byte[64];
	bool out[64];
};

static struct sl_sightings *sightings;

static int begin(void **state)
{
	(void)state;
	return sl_sightings_create(&sightings);
}

static int end(void **state)
{
	(void)state;
	sl_sightings_destroy(sightings);
	return 0;
}

static void note(void *arg, const struct sl_sighting *s)
{
	struct seen *seen = arg;
	uint32_t n = seen->n++;

	assert_true(n < 64);
	seen->time_ns[n] = s->time_ns;
	seen->id[n] = s->id;
	seen->end_ns[n] = s->end_ns;
	seen->ifindex[n] = s->ifindex;
	seen->other[n] = s->other_ifindex;
	seen->outcome[n] = s->outcome;
	seen->out[n] = s->out;
	seen->first_byte[n] = s->copied_bytes ? s->bytes[0] : 0;
}

static struct seen take(uint64_t until_ns)
{
	struct seen seen = { .n = 0 };

	sl_sightings_take(sightings, until_ns, note, &seen);
	return seen;
}

static void add_in(int cpu, uint64_t number, uint64_t time_ns, uint8_t byte)
{
	const struct sl_captured record = { .time_ns = time_ns,
					    .number = number,
					    .ifindex = 2,
					    .frame_bytes = 1,
					    .copied_bytes = 1,
					    .stage = SL_CAPTURE_IN };

	assert_int_equal(sl_sightings_add(sightings, cpu, &record, &byte), 0);
}

/* byte: of the frame as it leaves; 0: only the record */
static void add_end(int cpu, uint64_t number, uint64_t time_ns, uint8_t outcome, uint8_t byte)
{
	const struct sl_captured record = {
		.time_ns = time_ns,
		.number = number,
		.ifindex = 2,
		.to_ifindex = outcome == SL_OUTCOME_FORWARD ? 3 : 0,
		.frame_bytes = 1,
		.copied_bytes = byte ? 1 : 0,
		.stage = SL_CAPTURE_END,
		.outcome = outcome,
	};

	assert_int_equal(sl_sightings_add(sightings, cpu, &record, &byte), 0);
}

static void forwarded_frame_is_seen_in_and_out_with_one_id(void **state)
{
	struct seen seen;

	(void)state;
	add_in(0, 1, 100, 0xaa);
	add_end(0, 1, 150, SL_OUTCOME_FORWARD, 0xbb);
	seen = take(ALL);
	assert_int_equal(seen.n, 2);
	assert_false(seen.out[0]);
	assert_true(seen.out[1]);
	assert_int_equal(seen.id[0], seen.id[1]);
	assert_int_equal(seen.ifindex[0], 2);
	assert_int_equal(seen.other[0], 3);
	assert_int_equal(seen.ifindex[1], 3);
	assert_int_equal(seen.other[1], 2);
	assert_int_equal(seen.end_ns[0], 150);
	assert_int_equal(seen.outcome[0], SL_OUTCOME_FORWARD);
	assert_int_equal(seen.first_byte[0], 0xaa);
	assert_int_equal(seen.first_byte[1], 0xbb);
}

static void dropped_frame_is_seen_once_with_its_outcome(void **state)
{
	struct seen seen;

	(void)state;
	add_in(0, 1, 100, 0xaa);
	add_end(0, 1, 150, SL_OUTCOME_DROPPED, 0);
	seen = take(ALL);
	assert_int_equal(seen.n, 1);
	assert_int_equal(seen.outcome[0], SL_OUTCOME_DROPPED);
}

static void frames_of_several_processors_come_in_the_order_of_their_times(void **state)
{
	struct seen seen;

	(void)state;
	for (uint64_t i = 0; i < 8; i++) {
		add_in(0, i + 1, 100 + 20 * i, 1);
		add_end(0, i + 1, 105 + 20 * i, SL_OUTCOME_DROPPED, 0);
	}
	for (uint64_t i = 0; i < 8; i++) {
		add_in(3, i + 1, 110 + 20 * i, 2);
		add_end(3, i + 1, 115 + 20 * i, SL_OUTCOME_DROPPED, 0);
	}
	seen = take(ALL);
	assert_int_equal(seen.n, 16);
	for (uint32_t i = 0; i < 16; i++) {
		assert_int_equal(seen.time_ns[i], 100 + 10 * i);
		assert_int_equal(seen.first_byte[i], i % 2 + 1);
		for (uint32_t k = 0; k < i; k++)
			assert_int_not_equal(seen.id[k], seen.id[i]);
	}
}

static void end_that_was_lost_leaves_the_outcome_unknown(void **state)
{
	struct seen seen;

	(void)state;
	add_in(0, 1, 100, 0xaa);
	add_in(0, 2, 200, 0xab);
	add_end(0, 2, 250, SL_OUTCOME_KERNEL, 0);
	seen = take(ALL);
	assert_int_equal(seen.n, 2);
	assert_int_equal(seen.outcome[0], SL_OUTCOME_UNKNOWN);
	assert_int_equal(seen.end_ns[0], 0);
	assert_int_equal(seen.outcome[1], SL_OUTCOME_KERNEL);
}

static void beginning_that_was_lost_does_not_decide_another_frame(void **state)
{
	struct seen seen;

	(void)state;
	add_in(0, 1, 100, 0xaa);
	add_end(0, 2, 250, SL_OUTCOME_FORWARD, 0xbb);
	seen = take(ALL);
	assert_int_equal(seen.n, 2);
	assert_int_equal(seen.outcome[0], SL_OUTCOME_UNKNOWN);
	assert_true(seen.out[1]);
	assert_int_not_equal(seen.id[0], seen.id[1]);
}

static void later_frames_wait_for_an_earlier_one_without_its_end_but_not_for_ever(void **state)
{
	struct seen seen;

	(void)state;
	add_in(0, 1, 1000, 0xaa);
	add_in(1, 1, 2000, 0xbb);
	add_end(1, 1, 2100, SL_OUTCOME_DROPPED, 0);
	assert_int_equal(take(5000).n, 0);
	seen = take(5000 + SL_SIGHTING_PATIENCE_NS);
	assert_int_equal(seen.n, 2);
	assert_int_equal(seen.time_ns[0], 1000);
	assert_int_equal(seen.outcome[0], SL_OUTCOME_UNKNOWN);
}

static void frames_of_the_limit_and_later_stay(void **state)
{
	(void)state;
	add_in(0, 1, 100, 1);
	add_end(0, 1, 110, SL_OUTCOME_DROPPED, 0);
	add_in(0, 2, 200, 1);
	add_end(0, 2, 210, SL_OUTCOME_DROPPED, 0);
	assert_int_equal(take(100).n, 0);
	assert_int_equal(take(200).n, 1);
	assert_int_equal(take(ALL).n, 1);
	assert_int_equal(take(ALL).n, 0);
}

static void record_of_an_impossible_processor_or_stage_is_refused(void **state)
{
	const struct sl_captured in = { .stage = SL_CAPTURE_IN };
	const struct sl_captured odd = { .stage = SL_CAPTURE_STAGES };

	(void)state;
	assert_int_equal(sl_sightings_add(sightings, -1, &in, (const uint8_t *)""), -34);
	assert_int_equal(
		sl_sightings_add(sightings, SL_SIGHTING_CPUS_MAX, &in, (const uint8_t *)""), -34);
	assert_int_equal(sl_sightings_add(sightings, 0, &odd, (const uint8_t *)""), -34);
	assert_int_equal(take(ALL).n, 0);
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(forwarded_frame_is_seen_in_and_out_with_one_id),
		TEST(dropped_frame_is_seen_once_with_its_outcome),
		TEST(frames_of_several_processors_come_in_the_order_of_their_times),
		TEST(end_that_was_lost_leaves_the_outcome_unknown),
		TEST(beginning_that_was_lost_does_not_decide_another_frame),
		TEST(later_frames_wait_for_an_earlier_one_without_its_end_but_not_for_ever),
		TEST(frames_of_the_limit_and_later_stay),
		TEST(record_of_an_impossible_processor_or_stage_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
