/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the bridge queues with: deficit round robin, token buckets, packet memory, chunks on their
 * way back.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "rdma-bridge/queue/chunk.h"
#include "rdma-bridge/queue/drr.h"
#include "rdma-bridge/queue/handback.h"
#include "rdma-bridge/queue/pace.h"

#define FRAME_MAX 1514

/* --- Deficit round robin --- */

#define QUEUES 8
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

/* Serve up to n frames; how many were. */
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
	/* Queue 1 may send one frame in each of many turns, then runs free. */
	for (int i = 0; i < 1000; i++) {
		s[1].held = i % 30 != 0;
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

/* Everything that goes in comes out once, whatever the order of arrivals, holds and sizes. */
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

/* --- Pacing --- */

#define SECOND 1000000000ULL

/* How many units of this size leave in the time, tried every step_ns. */
static uint64_t count(struct rb_pace *p, uint64_t from_ns, uint64_t to_ns, uint64_t step_ns,
		      uint32_t units)
{
	uint64_t n = 0;

	for (uint64_t now = from_ns; now < to_ns; now += step_ns)
		while (rb_pace_ready(p, now)) {
			rb_pace_spend(p, units);
			n += units;
		}
	return n;
}

static void pace_keeps_its_rate_exactly_over_time(void **state)
{
	/* rate, burst, units each, step in ns */
	static const uint64_t cases[][4] = {
		{ 1, 1, 1, 1000000 },
		{ 1000, 1, 1, 999 * 1000 },
		{ 764500, 32, 1, 1001 },
		{ 3333333, 64, 1, 997 },
		{ 125000000, 3000, 1514, 9973 },
		{ 7, 3, 1, 12345678 },
		{ 125000000, 1, 9000, 10007 }, /* burst below one frame */
		{ 12500000000ULL, 1000000, 60, 30011 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t seconds = cases[i][0] < 100 ? 20 : 1, start = 12345, sent, expected;
		struct rb_pace p;

		rb_pace_init(&p, cases[i][0], (uint32_t)cases[i][1], start);
		sent = count(&p, start, start + seconds * SECOND, cases[i][3],
			     (uint32_t)cases[i][2]);
		expected = cases[i][0] * seconds;
		/* Never more than rate, the first burst and one unit that went into debt; what a
		 * late try misses is at most one bucketful a step, when the bucket is smaller than
		 * a step's worth. */
		assert_true(sent <= expected + cases[i][1] + cases[i][2]);
		if (cases[i][1] >= cases[i][0] * cases[i][3] / SECOND + 1)
			assert_true(sent + cases[i][2] + cases[i][0] * cases[i][3] / SECOND + 1 >=
				    expected);
	}
}

static void pace_148_mpps_is_not_rounded_away(void **state)
{
	struct rb_pace p;
	uint64_t sent;

	(void)state;
	rb_pace_init(&p, 148809523, 1000, 0);
	sent = count(&p, 0, SECOND / 10, 1000, 1);
	assert_in_range(sent, 14880952 - 200, 14880952 + 1001);
}

static void pace_rate_0_stops_and_unlimited_does_not_pace(void **state)
{
	struct rb_pace p;

	(void)state;
	rb_pace_init(&p, 0, 10, 5);
	assert_false(rb_pace_ready(&p, 5));
	assert_false(rb_pace_ready(&p, 100 * SECOND));
	assert_true(rb_pace_ready_at(&p, 100 * SECOND) == UINT64_MAX);
	rb_pace_set(&p, SL_RATE_UNLIMITED, 10, 100 * SECOND);
	for (int i = 0; i < 1000; i++) {
		assert_true(rb_pace_ready(&p, 100 * SECOND));
		rb_pace_spend(&p, 9000);
	}
	assert_true(rb_pace_ready_at(&p, 7) == 7);
}

static void pace_change_of_rate_holds_from_then_on(void **state)
{
	struct rb_pace p;
	uint64_t now = 0, n;

	(void)state;
	rb_pace_init(&p, 1000, 1, now);
	n = count(&p, 0, SECOND, 10000, 1);
	assert_in_range(n, 1000, 1001);
	rb_pace_set(&p, 4000, 1, SECOND);
	n = count(&p, SECOND, 2 * SECOND, 10000, 1);
	assert_in_range(n, 3999, 4001);
	rb_pace_set(&p, 0, 1, 2 * SECOND);
	assert_int_equal(count(&p, 2 * SECOND + 1000000, 3 * SECOND, 1000000, 1), 0);
	rb_pace_set(&p, 100, 1, 3 * SECOND);
	n = count(&p, 3 * SECOND, 4 * SECOND, 10000, 1);
	assert_in_range(n, 99, 101);
}

static void pace_idle_saves_up_one_burst_and_no_more(void **state)
{
	struct rb_pace p;
	uint64_t n;

	(void)state;
	rb_pace_init(&p, 1000, 10, 0);
	n = count(&p, 3600 * SECOND, 3600 * SECOND + 1, 1, 1);
	assert_int_equal(n, 10);
	/* A century of silence overflows nothing. */
	n = count(&p, 3000000000ULL * SECOND, 3000000000ULL * SECOND + 1, 1, 1);
	assert_int_equal(n, 10);
}

static void pace_ready_at_is_the_first_time_it_is_ready(void **state)
{
	static const uint64_t rates[] = { 1, 3, 7, 1000, 764500, 99999999 };

	(void)state;
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct rb_pace p, before;
		uint64_t now = 1000, at;

		rb_pace_init(&p, rates[i], 1, now);
		for (int k = 0; k < 100; k++) {
			while (rb_pace_ready(&p, now))
				rb_pace_spend(&p, 3);
			at = rb_pace_ready_at(&p, now);
			assert_true(at > now);
			before = p;
			assert_false(rb_pace_ready(&before, at - 1));
			assert_true(rb_pace_ready(&p, at));
			now = at;
		}
	}
}

/* --- Chunks --- */

static uint8_t area[64 * 2048];

static void check_sum(const struct rb_chunks *c)
{
	uint32_t sum = 0;

	for (int i = 0; i < RB_OWNER_COUNT; i++)
		sum += c->count[i];
	assert_int_equal(sum, c->n);
	assert_int_equal(c->count[RB_OWNER_FREE], c->n_free);
}

static void chunks_bad_arguments_are_refused(void **state)
{
	struct rb_chunks *c;

	(void)state;
	assert_int_equal(rb_chunks_create(area, 0, 0, 2048, &c), -EINVAL);
	assert_int_equal(rb_chunks_create(area, 0, 1, 1024, &c), -EINVAL);
	assert_int_equal(rb_chunks_create(area, 0, 1, 3000, &c), -EINVAL);
	assert_int_equal(rb_chunks_create(area, 0, 1, 131072, &c), -EINVAL);
	assert_int_equal(rb_chunks_create(area, 1024, 1, 2048, &c), -EINVAL);
	assert_null(c);
	rb_chunks_destroy(NULL);
}

static void chunks_are_handed_out_once_each(void **state)
{
	struct rb_chunks *c;
	uint8_t seen[64] = { 0 };

	(void)state;
	assert_int_equal(rb_chunks_create(area, 8 * 2048, 56, 2048, &c), 0);
	for (int i = 0; i < 56; i++) {
		uint64_t offset = rb_chunk_take(c, RB_OWNER_FILL);

		assert_int_equal(offset % 2048, 0);
		assert_in_range(offset / 2048, 8, 63);
		assert_int_equal(seen[offset / 2048]++, 0);
	}
	assert_true(rb_chunk_take(c, RB_OWNER_FILL) == RB_CHUNK_NONE);
	check_sum(c);
	for (uint64_t i = 8; i < 64; i++)
		rb_chunk_release(c, i * 2048 + i, RB_OWNER_FILL);
	assert_int_equal(c->n_free, 56);
	assert_int_equal(c->violations, 0);
	rb_chunks_destroy(c);
}

static void chunk_with_uses_is_free_after_the_last(void **state)
{
	struct rb_chunks *c;
	uint64_t offset;

	(void)state;
	assert_int_equal(rb_chunks_create(area, 0, 2, 4096, &c), 0);
	offset = rb_chunk_take(c, RB_OWNER_FILL);
	rb_chunk_move(c, offset + 256, RB_OWNER_FILL, RB_OWNER_MESSAGE);
	rb_chunk_set_uses(c, offset, RB_OWNER_MESSAGE, 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(c->count[RB_OWNER_MESSAGE], 1);
		rb_chunk_release(c, offset + 300 * (uint64_t)i, RB_OWNER_MESSAGE);
	}
	assert_int_equal(c->n_free, 2);
	assert_int_equal(rb_chunk_base(c, offset + 4095), offset);
	check_sum(c);
	rb_chunks_destroy(c);
}

static void chunk_hand_over_by_a_stranger_is_counted_and_changes_nothing(void **state)
{
	struct rb_chunks *c;
	uint64_t offset;

	(void)state;
	assert_int_equal(rb_chunks_create(area, 2048, 4, 2048, &c), 0);
	offset = rb_chunk_take(c, RB_OWNER_INGRESS);
	rb_chunk_release(c, offset, RB_OWNER_SEND);	      /* another owner */
	rb_chunk_move(c, offset, RB_OWNER_TX, RB_OWNER_FREE); /* the same, moving */
	rb_chunk_release(c, 0, RB_OWNER_INGRESS);	      /* below our part */
	rb_chunk_release(c, 5 * 2048, RB_OWNER_INGRESS);      /* beyond our part */
	rb_chunk_release(c, 2 * 2048, RB_OWNER_FREE);	      /* free already */
	rb_chunk_set_uses(c, offset, RB_OWNER_MESSAGE, 7);
	assert_int_equal(c->violations, 6);
	assert_int_equal(c->count[RB_OWNER_INGRESS], 1);
	rb_chunk_release(c, offset, RB_OWNER_INGRESS);
	rb_chunk_release(c, offset, RB_OWNER_INGRESS); /* twice */
	assert_int_equal(c->violations, 7);
	assert_int_equal(c->n_free, 4);
	check_sum(c);
	rb_chunks_destroy(c);
}

static void chunks_of_an_owner_that_is_gone_are_reclaimed(void **state)
{
	struct rb_chunks *c;

	(void)state;
	assert_int_equal(rb_chunks_create(area, 0, 8, 2048, &c), 0);
	for (int i = 0; i < 6; i++)
		rb_chunk_take(c, i % 2 ? RB_OWNER_FILL : RB_OWNER_TX);
	assert_int_equal(rb_chunks_reclaim(c, RB_OWNER_FILL), 3);
	assert_int_equal(rb_chunks_reclaim(c, RB_OWNER_FILL), 0);
	assert_int_equal(rb_chunks_reclaim(c, RB_OWNER_FREE), 0);
	assert_int_equal(c->count[RB_OWNER_TX], 3);
	check_sum(c);
	for (int i = 0; i < 5; i++)
		assert_true(rb_chunk_take(c, RB_OWNER_FILL) != RB_CHUNK_NONE);
	assert_true(rb_chunk_take(c, RB_OWNER_FILL) == RB_CHUNK_NONE);
	rb_chunks_destroy(c);
}

/* --- Chunks handed back ------------------------------------------------------------------- */

enum { HANDED = 1000000, ROOM = 512 };

static struct rb_handback handback;
static uint32_t taken_back; /* by the owner: so many may be away again */

/* Hands out what the owner has taken back, in pieces of every size. */
static void *hand_back(void *unused)
{
	uint64_t entries[64];

	(void)unused;
	for (uint32_t put = 0; put < HANDED;) {
		uint32_t room = ROOM - (put - __atomic_load_n(&taken_back, __ATOMIC_ACQUIRE));
		uint32_t n = put % 64 + 1;

		n = n < room ? n : room;
		n = n < HANDED - put ? n : HANDED - put;
		for (uint32_t i = 0; i < n; i++)
			entries[i] = put + i;
		rb_handback_put(&handback, entries, n);
		put += n;
	}
	return NULL;
}

static void handback_between_threads_loses_and_changes_nothing(void **state)
{
	int wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	uint64_t entries[100], next = 0, wakes;
	pthread_t writer;

	(void)state;
	assert_int_equal(rb_handback_init(&handback, ROOM - 100, wake_fd), 0);
	assert_int_equal(pthread_create(&writer, NULL, hand_back, NULL), 0);
	while (next < HANDED) {
		uint32_t n = rb_handback_take(&handback, entries, 100);

		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(entries[i], next++);
		__atomic_store_n(&taken_back, (uint32_t)next, __ATOMIC_RELEASE);
	}
	pthread_join(writer, NULL);
	/* Few enough do not wake; as many as that do, once. */
	(void)!read(wake_fd, &wakes, sizeof(wakes));
	for (uint32_t i = 0; i < RB_HANDBACK_WAKE - 1; i++)
		rb_handback_put(&handback, &next, 1);
	assert_int_equal(read(wake_fd, &wakes, sizeof(wakes)), -1);
	rb_handback_put(&handback, &next, 1);
	rb_handback_put(&handback, &next, 1);
	assert_int_equal(read(wake_fd, &wakes, sizeof(wakes)), sizeof(wakes));
	assert_int_equal(wakes, 1);
	rb_handback_fini(&handback);
	close(wake_fd);
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
		cmocka_unit_test(pace_keeps_its_rate_exactly_over_time),
		cmocka_unit_test(pace_148_mpps_is_not_rounded_away),
		cmocka_unit_test(pace_rate_0_stops_and_unlimited_does_not_pace),
		cmocka_unit_test(pace_change_of_rate_holds_from_then_on),
		cmocka_unit_test(pace_idle_saves_up_one_burst_and_no_more),
		cmocka_unit_test(pace_ready_at_is_the_first_time_it_is_ready),
		cmocka_unit_test(chunks_bad_arguments_are_refused),
		cmocka_unit_test(chunks_are_handed_out_once_each),
		cmocka_unit_test(chunk_with_uses_is_free_after_the_last),
		cmocka_unit_test(chunk_hand_over_by_a_stranger_is_counted_and_changes_nothing),
		cmocka_unit_test(chunks_of_an_owner_that_is_gone_are_reclaimed),
		cmocka_unit_test(handback_between_threads_loses_and_changes_nothing),
	};
	return cmocka_run_group_tests_name("rb_queues", tests, NULL, NULL);
}
