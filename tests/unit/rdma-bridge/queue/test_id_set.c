/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets of small numbers, against an array of flags. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <pthread.h>
#include <string.h>

#include "rdma-bridge/queue/id_set.h"

enum { STEPS = 100000, ADDED = 1000000 };

static uint64_t seed;

static uint32_t random_below(uint32_t n)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)((seed >> 33) % n);
}

static void set_begins_empty_and_finds_first_and_last_id(void **state)
{
	struct rb_id_set set = { 0 };

	(void)state;
	assert_true(rb_id_set_is_empty(&set));
	assert_int_equal(rb_id_set_next(&set, 0), RB_ID_NONE);
	rb_id_set_add(&set, RB_ID_SET_MAX - 1);
	assert_int_equal(rb_id_set_next(&set, 0), RB_ID_SET_MAX - 1);
	assert_int_equal(rb_id_set_next(&set, RB_ID_SET_MAX - 1), RB_ID_SET_MAX - 1);
	assert_int_equal(rb_id_set_next(&set, RB_ID_SET_MAX), RB_ID_NONE);
	rb_id_set_add(&set, 0);
	assert_int_equal(rb_id_set_next(&set, 0), 0);
	assert_int_equal(rb_id_set_next(&set, 1), RB_ID_SET_MAX - 1);
	rb_id_set_remove(&set, 0);
	rb_id_set_remove(&set, RB_ID_SET_MAX - 1);
	assert_true(rb_id_set_is_empty(&set));
}

/* Few ids lie far apart, with empty words between them. */
static void compare_with_flags(uint32_t ids)
{
	static bool in[RB_ID_SET_MAX];
	struct rb_id_set set = { 0 };
	uint32_t members = 0;

	memset(in, 0, sizeof(in));
	seed = ids;
	for (uint32_t step = 0; step < STEPS; step++) {
		uint32_t id = random_below(ids) * (RB_ID_SET_MAX / ids), from = id, next;

		if (random_below(2)) {
			rb_id_set_add(&set, id);
			members += !in[id];
			in[id] = true;
		} else {
			rb_id_set_remove(&set, id);
			members -= in[id];
			in[id] = false;
		}
		assert_int_equal(rb_id_set_has(&set, id), in[id]);
		assert_int_equal(rb_id_set_is_empty(&set), members == 0);
		from = random_below(RB_ID_SET_MAX);
		next = from;
		while (next < RB_ID_SET_MAX && !in[next])
			next++;
		assert_int_equal(rb_id_set_next(&set, from),
				 next < RB_ID_SET_MAX ? next : RB_ID_NONE);
	}
}

static void set_agrees_with_flags(void **state)
{
	(void)state;
	compare_with_flags(4);
	compare_with_flags(64);
	compare_with_flags(RB_ID_SET_MAX);
}

static struct rb_id_set shared;
static uint64_t asked[RB_ID_SET_MAX]; /* times that the writer added the id */

static void *add_ids(void *unused)
{
	(void)unused;
	for (uint32_t i = 0; i < ADDED; i++) {
		uint32_t id = i * 67 % RB_ID_SET_MAX;

		__atomic_fetch_add(&asked[id], 1, __ATOMIC_RELAXED);
		rb_id_set_add_shared(&shared, id);
	}
	return NULL;
}

/* What the writer did before it added an id is visible to the reader that collected the id. */
static void collect_forgets_no_id_that_another_thread_adds(void **state)
{
	static uint64_t seen[RB_ID_SET_MAX];
	struct rb_id_set set = { 0 };
	uint64_t total = 0;
	pthread_t writer;

	(void)state;
	assert_int_equal(pthread_create(&writer, NULL, add_ids, NULL), 0);
	while (total < ADDED) {
		rb_id_set_collect(&shared, &set);
		for (uint32_t id = rb_id_set_next(&set, 0); id != RB_ID_NONE;
		     id = rb_id_set_next(&set, id + 1)) {
			uint64_t now = __atomic_load_n(&asked[id], __ATOMIC_RELAXED);

			rb_id_set_remove(&set, id);
			total += now - seen[id];
			seen[id] = now;
		}
	}
	pthread_join(writer, NULL);
	assert_int_equal(total, ADDED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_begins_empty_and_finds_first_and_last_id),
		cmocka_unit_test(set_agrees_with_flags),
		cmocka_unit_test(collect_forgets_no_id_that_another_thread_adds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
