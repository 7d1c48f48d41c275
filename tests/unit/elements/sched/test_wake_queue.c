/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>

#include "elements/sched/wake_queue.h"

static void init_refuses_odd_sizes(void **state)
{
	static const struct {
		uint32_t n_items, limit;
		int err;
	} cases[] = { { 0, 1, -EINVAL }, { 3, 1, -EINVAL }, { 4, 0, -EINVAL },
		      { 4, 5, -EINVAL }, { 4, 4, 0 },	    { 1, 1, 0 } };
	uint64_t items[4];
	struct el_wake_queue q;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(el_wake_queue_init(&q, items, cases[i].n_items, cases[i].limit),
				 cases[i].err);
}

static void items_come_in_order_up_to_the_limit(void **state)
{
	uint64_t items[8], item;
	struct el_wake_queue q;

	(void)state;
	assert_int_equal(el_wake_queue_init(&q, items, 8, 5), 0);
	for (uint64_t round = 0; round < 100; round++) {
		for (uint64_t i = 0; i < 5; i++)
			assert_int_equal(el_wake_queue_put(&q, round * 10 + i), 0);
		assert_int_equal(el_wake_queue_put(&q, 99), -ENOBUFS);
		assert_int_equal(q.refused, round + 1);
		for (uint64_t i = 0; i < 5; i++) {
			assert_int_equal(el_wake_queue_waiting(&q), 5 - i);
			assert_true(el_wake_queue_take(&q, &item));
			assert_int_equal(item, round * 10 + i);
		}
		assert_false(el_wake_queue_take(&q, &item));
	}
}

static void only_a_sleeping_reader_is_woken_and_once(void **state)
{
	uint64_t items[8], item;
	struct el_wake_queue q;

	(void)state;
	assert_int_equal(el_wake_queue_init(&q, items, 8, 8), 0);
	assert_int_equal(el_wake_queue_put(&q, 1), 0);
	assert_false(el_wake_queue_sleep(&q)); /* an item waits */
	assert_int_equal(el_wake_queue_put(&q, 2), 0);
	while (el_wake_queue_take(&q, &item))
		;
	assert_true(el_wake_queue_sleep(&q));
	assert_int_equal(el_wake_queue_put(&q, 3), 1);
	assert_int_equal(el_wake_queue_put(&q, 4), 0);
	while (el_wake_queue_take(&q, &item))
		;
	assert_true(el_wake_queue_sleep(&q));
	el_wake_queue_awake(&q); /* for another reason */
	assert_int_equal(el_wake_queue_put(&q, 5), 0);
}

#define ITEMS 100000

struct pair {
	struct el_wake_queue q;
	uint64_t items[4];
	pthread_mutex_t lock;
	pthread_cond_t bell;
	bool rung;
	uint64_t wakes;
};

static void *write_items(void *arg)
{
	struct pair *p = arg;

	for (uint64_t i = 1; i <= ITEMS;) {
		int said = el_wake_queue_put(&p->q, i);

		if (said == -ENOBUFS)
			continue;
		i++;
		if (said == 1) {
			pthread_mutex_lock(&p->lock);
			p->rung = true;
			p->wakes++;
			pthread_cond_signal(&p->bell);
			pthread_mutex_unlock(&p->lock);
		}
	}
	return NULL;
}

/* The reader sleeps as often as it can; each sleep ends by the writer's bell, or the deadline says
 * who lost it. */
static void no_wake_up_is_lost_between_threads(void **state)
{
	static struct pair p;
	uint64_t next = 1, item, sleeps = 0;
	pthread_t writer;

	(void)state;
	assert_int_equal(el_wake_queue_init(&p.q, p.items, 4, 4), 0);
	pthread_mutex_init(&p.lock, NULL);
	pthread_cond_init(&p.bell, NULL);
	assert_int_equal(pthread_create(&writer, NULL, write_items, &p), 0);
	while (next <= ITEMS) {
		struct timespec deadline;

		if (el_wake_queue_take(&p.q, &item)) {
			assert_int_equal(item, next);
			next++;
			continue;
		}
		if (!el_wake_queue_sleep(&p.q))
			continue;
		sleeps++;
		clock_gettime(CLOCK_REALTIME, &deadline);
		deadline.tv_sec += 60;
		pthread_mutex_lock(&p.lock);
		while (!p.rung)
			if (pthread_cond_timedwait(&p.bell, &p.lock, &deadline))
				fail_msg("item %llu: the writer did not wake the sleeping reader",
					 (unsigned long long)next);
		p.rung = false;
		pthread_mutex_unlock(&p.lock);
	}
	pthread_join(writer, NULL);
	assert_true(sleeps > 0);
	assert_true(sleeps <= p.wakes); /* a bell may also ring for a reader that stayed awake */
	assert_int_equal(el_wake_queue_waiting(&p.q), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(init_refuses_odd_sizes),
		cmocka_unit_test(items_come_in_order_up_to_the_limit),
		cmocka_unit_test(only_a_sleeping_reader_is_woken_and_once),
		cmocka_unit_test(no_wake_up_is_lost_between_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
