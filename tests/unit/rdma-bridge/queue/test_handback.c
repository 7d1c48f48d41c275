/* SPDX-License-Identifier: BSD-2-Clause */
/* Chunks handed back from one thread to another. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "rdma-bridge/queue/handback.h"

enum { HANDED = 1000000, ROOM = 512 };

static struct rb_handback handback;
/* entries that the owner has taken; the writer may have ROOM more out */
static uint32_t taken_back;

/* The writer: puts numbered entries in pieces of every size, never more than ROOM at once. */
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
	/* Fewer than RB_HANDBACK_WAKE entries do not wake the owner; that many do, once. */
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
		cmocka_unit_test(handback_between_threads_loses_and_changes_nothing),
	};
	return cmocka_run_group_tests_name("handback", tests, NULL, NULL);
}
