/* SPDX-License-Identifier: BSD-2-Clause */
/* A transport without a network takes nothing, brings nothing, and lets its worker sleep. */
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "rdma-bridge/transport/none.h"

#define CHUNK_BYTES 4096
#define CHUNKS	    4

static void nothing_is_taken_and_nothing_comes(void **state)
{
	struct rb_endpoint endpoint, remote = { .qpn = 1, .message_max_bytes = 4096 };
	uint8_t *area = aligned_alloc(CHUNK_BYTES, (size_t)CHUNK_BYTES * CHUNKS);
	struct rb_transport_stats stats;
	struct rb_completion completion;
	struct rb_transport *t;
	struct rb_chunks *chunks;
	struct rb_path *path;
	uint64_t offset;

	(void)state;
	assert_non_null(area);
	assert_int_equal(rb_chunks_create(area, 0, CHUNKS, CHUNK_BYTES, &chunks), 0);
	assert_int_equal(rb_none_open(chunks, &t), 0);
	assert_string_equal(t->ops->name, "none");
	t->ops->endpoint(t, &endpoint);
	assert_int_equal(endpoint.message_max_bytes, 0);
	assert_int_equal(t->ops->path_create(t, &remote, NULL, &path), -EINVAL);
	offset = rb_chunk_take(chunks, RB_OWNER_RECEIVE);
	assert_int_equal(t->ops->post_receive(t, &offset, 1), 0);
	assert_int_equal(t->ops->flush(t), 0);
	assert_int_equal(t->ops->poll(t, &completion, 1, 1), 0);
	assert_false(t->ops->arm(t));
	assert_int_equal(poll(&(struct pollfd){ .fd = t->ops->wait_fd(t), .events = POLLIN }, 1, 0),
			 0);
	t->ops->stats(t, &stats);
	assert_int_equal(stats.sent + stats.received + stats.no_buffer, 0);
	rb_chunk_release(chunks, offset, RB_OWNER_RECEIVE);
	t->ops->close(t);
	assert_int_equal(chunks->violations, 0);
	rb_chunks_destroy(chunks);
	free(area);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_taken_and_nothing_comes),
	};

	return cmocka_run_group_tests_name("transport_none", tests, NULL, NULL);
}
