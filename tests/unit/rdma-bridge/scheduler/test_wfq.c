/* SPDX-License-Identifier: BSD-2-Clause */
/* Fair queueing among classes: shares, levels, and queues that run empty. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>

#include "rdma-bridge/scheduler/wfq.h"

#define QUEUES 4

struct source {
	int cost;     /* of each frame of the queue */
	int64_t left; /* frames it still has */
	uint64_t sent;
};

static int head(void *context, uint32_t queue)
{
	const struct source *s = (const struct source *)context + queue;

	return s->left == 0 ? RB_WFQ_EMPTY : s->cost;
}

/* Serve up to n frames. Returns how many. */
static int serve(struct rb_wfq *wfq, struct source *s, int n)
{
	int done;

	for (done = 0; done < n; done++) {
		uint32_t q = rb_wfq_next(wfq, head, s);

		if (q == RB_WFQ_NONE)
			break;
		assert_in_range(q, 0, QUEUES - 1);
		assert_true(s[q].left > 0);
		s[q].left--;
		s[q].sent += (uint64_t)s[q].cost;
	}
	return done;
}

static struct rb_wfq make(const uint32_t *weights)
{
	struct rb_wfq wfq;

	assert_int_equal(rb_wfq_init(&wfq, QUEUES), 0);
	for (uint32_t i = 0; i < QUEUES; i++)
		assert_int_equal(rb_wfq_configure(&wfq, i, 0, weights[i]), 0);
	return wfq;
}

static void wfq_bad_arguments_are_refused(void **state)
{
	struct rb_wfq wfq;

	(void)state;
	assert_int_equal(rb_wfq_init(&wfq, 0), -EINVAL);
	assert_int_equal(rb_wfq_init(&wfq, RB_WFQ_QUEUES_MAX + 1), -EINVAL);
	assert_int_equal(rb_wfq_init(&wfq, QUEUES), 0);
	assert_int_equal(rb_wfq_configure(&wfq, QUEUES, 0, 1), -EINVAL);
	assert_int_equal(rb_wfq_configure(&wfq, 0, RB_WFQ_LEVELS, 1), -EINVAL);
	assert_int_equal(rb_wfq_configure(&wfq, 0, 0, 0), -EINVAL);
	assert_int_equal(rb_wfq_configure(&wfq, 0, 0, RB_WFQ_WEIGHT_MAX + 1), -EINVAL);
}

static void wfq_shares_are_as_weights_within_a_frame_of_each_queue(void **state)
{
	static const uint32_t weights[][QUEUES] = {
		{ 1, 1, 1, 1 }, { 10, 10, 1, 3 }, { 1024, 1, 512, 7 }, { 1000, 1000, 1000, 999 }
	};

	(void)state;
	for (size_t w = 0; w < sizeof(weights) / sizeof(weights[0]); w++) {
		struct source s[QUEUES] = { { 60, 1 << 30, 0 },
					    { 1514, 1 << 30, 0 },
					    { 9000, 1 << 30, 0 },
					    { 1, 1 << 30, 0 } };
		struct rb_wfq wfq = make(weights[w]);
		uint64_t total = 0, weight = 0;

		assert_int_equal(serve(&wfq, s, 1000000), 1000000);
		for (int i = 0; i < QUEUES; i++) {
			total += s[i].sent;
			weight += weights[w][i];
		}
		for (int i = 0; i < QUEUES; i++) {
			double due = (double)total * weights[w][i] / (double)weight;
			/* A frame of its own, and its part of a frame of each other queue. */
			double slack = s[i].cost + 10575.0 * weights[w][i] / (double)weight +
				       due * 2e-6; /* 1 / weight has 30 fraction bits */

			if ((double)s[i].sent < due - slack || (double)s[i].sent > due + slack)
				fail_msg("queue %d of case %zu: %llu, due %.0f within %.0f", i, w,
					 (unsigned long long)s[i].sent, due, slack);
		}
	}
}

/* What deficit round robin cannot do: the queues hold fewer frames than a quantum. */
static void wfq_short_queues_share_as_weights_too(void **state)
{
	struct source s[QUEUES] = { { 60, 0, 0 }, { 60, 0, 0 }, { 60, 0, 0 }, { 60, 0, 0 } };
	struct rb_wfq wfq = make((const uint32_t[]){ 1024, 512, 1, 1 });

	(void)state;
	for (int round = 0; round < 3000; round++) {
		/* Two frames wait in each of two queues; what is served comes again. */
		s[0].left = s[1].left = 2;
		serve(&wfq, s, 1);
	}
	assert_in_range(s[0].sent / 60, 1999, 2001);
	assert_in_range(s[1].sent / 60, 999, 1001);
}

static void wfq_higher_level_goes_first(void **state)
{
	struct source s[QUEUES] = { { 60, 5, 0 }, { 60, 5, 0 }, { 60, 5, 0 }, { 60, 0, 0 } };
	struct rb_wfq wfq = make((const uint32_t[]){ 1024, 1, 1, 1 });

	(void)state;
	assert_int_equal(rb_wfq_configure(&wfq, 2, 7, 1), 0);
	assert_int_equal(rb_wfq_configure(&wfq, 1, 3, 1), 0);
	serve(&wfq, s, 5);
	assert_int_equal(s[2].left, 0);
	serve(&wfq, s, 5);
	assert_int_equal(s[1].left, 0);
	assert_int_equal(s[0].left, 5);
	assert_int_equal(serve(&wfq, s, 10), 5);
	assert_int_equal(rb_wfq_next(&wfq, head, s), RB_WFQ_NONE);
}

static void wfq_queue_that_was_idle_saves_nothing_up_and_owes_nothing(void **state)
{
	struct source s[QUEUES] = { { 60, 1000, 0 }, { 60, 0, 0 }, { 60, 0, 0 }, { 60, 0, 0 } };
	struct rb_wfq wfq = make((const uint32_t[]){ 1, 1, 1, 1 });

	(void)state;
	serve(&wfq, s, 500);
	s[1].left = 1000;
	serve(&wfq, s, 100);
	assert_in_range(s[1].sent / 60, 49, 51);
}

static void wfq_tags_that_wrap_around_keep_the_shares(void **state)
{
	struct source s[QUEUES] = { { 60, 1000, 0 }, { 60, 1000, 0 }, { 60, 0, 0 }, { 60, 0, 0 } };
	struct rb_wfq wfq = make((const uint32_t[]){ 3, 1, 1, 1 });

	(void)state;
	wfq.virtual_time[0] = UINT64_MAX - (UINT64_C(1000) << 30);
	for (int i = 0; i < QUEUES; i++)
		wfq.queue[i].start = wfq.virtual_time[0];
	serve(&wfq, s, 400);
	assert_true(wfq.virtual_time[0] < UINT64_C(1) << 60);
	assert_in_range(s[0].sent / 60, 299, 301);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wfq_bad_arguments_are_refused),
		cmocka_unit_test(wfq_shares_are_as_weights_within_a_frame_of_each_queue),
		cmocka_unit_test(wfq_short_queues_share_as_weights_too),
		cmocka_unit_test(wfq_higher_level_goes_first),
		cmocka_unit_test(wfq_queue_that_was_idle_saves_nothing_up_and_owes_nothing),
		cmocka_unit_test(wfq_tags_that_wrap_around_keep_the_shares),
	};
	return cmocka_run_group_tests_name("wfq", tests, NULL, NULL);
}
