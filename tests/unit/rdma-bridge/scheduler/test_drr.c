/* SPDX-License-Identifier: BSD-2-Clause */
/* Deficit round robin: shares, levels, and queues that are held back. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>

#include "rdma-bridge/scheduler/drr.h"

#define FRAME_MAX 1514
#define QUEUES	  8
struct source {
	int bytes;    /* size of each frame of the queue */
	int64_t left; /* frames it still has */
	int held;
	uint64_t sent_bytes;
};

static int head(void *context, uint32_t queue)
{
	const struct source *s = (const struct source *)context + queue;

	if (s->left == 0)
		return RB_DRR_EMPTY;
	return s->held ? RB_DRR_HELD : s->bytes;
}

/* Serve up to n frames. Returns how many. */
static int serve(struct rb_drr *drr, struct source *s, int n)
{
	int done;

	for (done = 0; done < n; done++) {
		uint32_t q = rb_drr_next(drr, head, s);

		if (q == RB_DRR_NONE)
			break;
		assert_in_range(q, 0, QUEUES - 1);
		assert_true(s[q].left > 0 && !s[q].held);
		s[q].left--;
		s[q].sent_bytes += (uint64_t)s[q].bytes;
	}
	return done;
}

static struct rb_drr *make(struct source *s, uint32_t n)
{
	struct rb_drr *drr;

	assert_int_equal(rb_drr_create(QUEUES, FRAME_MAX, &drr), 0);
	for (uint32_t i = 0; i < n; i++)
		if (s[i].left)
			rb_drr_activate(drr, i);
	return drr;
}

static void drr_bad_arguments_are_refused(void **state)
{
	struct rb_drr *drr;

	(void)state;
	assert_int_equal(rb_drr_create(0, FRAME_MAX, &drr), -EINVAL);
	assert_null(drr);
	assert_int_equal(rb_drr_create(1, 0, &drr), -EINVAL);
	assert_int_equal(rb_drr_create(1, (1 << 20) + 1, &drr), -EINVAL);
	assert_int_equal(rb_drr_create(1, FRAME_MAX, &drr), 0);
	assert_int_equal(rb_drr_configure(drr, 1, 0, 1), -EINVAL);
	assert_int_equal(rb_drr_configure(drr, 0, RB_DRR_LEVELS, 1), -EINVAL);
	assert_int_equal(rb_drr_configure(drr, 0, 0, 0), -EINVAL);
	assert_int_equal(rb_drr_configure(drr, 0, 0, RB_DRR_WEIGHT_MAX + 1), -EINVAL);
	rb_drr_activate(drr, 0);
	assert_int_equal(rb_drr_configure(drr, 0, 0, 1), -EBUSY);
	rb_drr_destroy(drr);
	rb_drr_destroy(NULL);
}

static void drr_shares_bytes_equally_between_frame_sizes(void **state)
{
	struct source s[QUEUES] = { { .bytes = 60, .left = 1 << 20 },
				    { .bytes = 1514, .left = 1 << 20 },
				    { .bytes = 577, .left = 1 << 20 } };
	struct rb_drr *drr = make(s, 3);

	(void)state;
	serve(drr, s, 100000);
	for (int i = 1; i < 3; i++)
		assert_in_range(s[i].sent_bytes, s[0].sent_bytes - 2 * FRAME_MAX,
				s[0].sent_bytes + 2 * FRAME_MAX);
	rb_drr_destroy(drr);
}

static void drr_shares_bytes_by_weight(void **state)
{
	struct source s[QUEUES] = { { .bytes = 60, .left = 1 << 24 },
				    { .bytes = 1514, .left = 1 << 24 },
				    { .bytes = 333, .left = 1 << 24 } };
	struct rb_drr *drr = make(s, 0);

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(rb_drr_configure(drr, i, 0, i + 1), 0);
		rb_drr_activate(drr, i);
	}
	serve(drr, s, 1000000);
	for (uint32_t i = 1; i < 3; i++)
		assert_in_range(s[i].sent_bytes, (i + 1) * (s[0].sent_bytes - 3 * FRAME_MAX),
				(i + 1) * (s[0].sent_bytes + 3 * FRAME_MAX));
	rb_drr_destroy(drr);
}

static void drr_higher_level_goes_first_and_yields_when_held(void **state)
{
	struct source s[QUEUES] = { { .bytes = 100, .left = 10 },
				    { .bytes = 100, .left = 10 },
				    { .bytes = 100, .left = 5 } };
	struct rb_drr *drr = make(s, 2);

	(void)state;
	assert_int_equal(rb_drr_configure(drr, 2, 7, 1), 0);
	rb_drr_activate(drr, 2);
	assert_int_equal(serve(drr, s, 3), 3);
	assert_int_equal(s[2].left, 2);
	s[2].held = 1;
	assert_int_equal(serve(drr, s, 4), 4);
	assert_int_equal(s[0].left + s[1].left, 16);
	s[2].held = 0;
	assert_int_equal(serve(drr, s, 2), 2);
	assert_int_equal(s[2].left, 0);
	assert_int_equal(serve(drr, s, 100), 16);
	assert_int_equal(rb_drr_next(drr, head, s), RB_DRR_NONE);
	rb_drr_destroy(drr);
}

static void drr_queue_that_was_held_saves_up_no_burst(void **state)
{
	struct source s[QUEUES] = { { .bytes = 60, .left = 1 << 20 },
				    { .bytes = 60, .left = 1 << 20 } };
	struct rb_drr *drr = make(s, 2);

	(void)state;
	/* Queue 1 sends one frame in each of many turns, then runs free. */
	for (int i = 0; i < 100; i++) {
		const int64_t left = s[1].left;

		for (s[1].held = 0; s[1].left == left;)
			assert_int_equal(serve(drr, s, 1), 1);
		s[1].held = 1;
		serve(drr, s, 1);
	}
	s[1].held = 0;
	s[0].sent_bytes = s[1].sent_bytes = 0;
	serve(drr, s, 10000);
	assert_in_range(s[1].sent_bytes, s[0].sent_bytes - 3 * FRAME_MAX,
			s[0].sent_bytes + 3 * FRAME_MAX);
	rb_drr_destroy(drr);
}

static void drr_all_held_sends_nothing_and_ends(void **state)
{
	struct source s[QUEUES] = { { .bytes = 60, .left = 1, .held = 1 },
				    { .bytes = 60, .left = 1, .held = 1 },
				    { .bytes = 60, .left = 1, .held = 1 } };
	struct rb_drr *drr = make(s, 3);

	(void)state;
	assert_int_equal(rb_drr_next(drr, head, s), RB_DRR_NONE);
	s[1].held = 0;
	assert_int_equal(rb_drr_next(drr, head, s), 1);
	rb_drr_destroy(drr);
}

static void drr_emptied_queue_comes_back_by_activation(void **state)
{
	struct source s[QUEUES] = { { .bytes = 60, .left = 1 } };
	struct rb_drr *drr = make(s, 1);

	(void)state;
	assert_int_equal(serve(drr, s, 10), 1);
	s[0].left = 2;
	assert_int_equal(serve(drr, s, 10), 0);
	rb_drr_activate(drr, 0);
	rb_drr_activate(drr, 0);
	assert_int_equal(serve(drr, s, 10), 2);
	rb_drr_destroy(drr);
}

/* Every frame that goes in comes out once, in any order of arrivals, holds and sizes. */
static void drr_random_load_loses_no_queue(void **state)
{
	struct source s[QUEUES] = { 0 };
	struct rb_drr *drr;
	int64_t in = 0, out = 0;

	(void)state;
	srandom(3);
	assert_int_equal(rb_drr_create(QUEUES, FRAME_MAX, &drr), 0);
	for (uint32_t i = 0; i < QUEUES; i++)
		assert_int_equal(rb_drr_configure(drr, i, i / 4, 1 + i % 4), 0);
	for (int i = 0; i < 50000; i++) {
		uint32_t q = (uint32_t)random() % QUEUES;

		s[q].held = random() % 3 == 0;
		if (random() % 2) {
			if (s[q].left == 0)
				s[q].bytes = 14 + (int)(random() % 1500);
			s[q].left++;
			in++;
			rb_drr_activate(drr, q);
		}
		out += serve(drr, s, (int)(random() % 3));
	}
	for (int i = 0; i < QUEUES; i++)
		s[i].held = 0;
	out += serve(drr, s, 1 << 20);
	assert_int_equal(in, out);
	rb_drr_destroy(drr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(drr_bad_arguments_are_refused),
		cmocka_unit_test(drr_shares_bytes_equally_between_frame_sizes),
		cmocka_unit_test(drr_shares_bytes_by_weight),
		cmocka_unit_test(drr_higher_level_goes_first_and_yields_when_held),
		cmocka_unit_test(drr_queue_that_was_held_saves_up_no_burst),
		cmocka_unit_test(drr_all_held_sends_nothing_and_ends),
		cmocka_unit_test(drr_emptied_queue_comes_back_by_activation),
		cmocka_unit_test(drr_random_load_loses_no_queue),
	};
	return cmocka_run_group_tests_name("drr", tests, NULL, NULL);
}
