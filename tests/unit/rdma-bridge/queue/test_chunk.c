/* SPDX-License-Identifier: BSD-2-Clause */
/* Packet memory: each chunk has one owner, and a wrong hand-over is counted. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>

#include "rdma-bridge/queue/chunk.h"

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
	rb_chunk_move(c, offset, RB_OWNER_TX, RB_OWNER_FREE); /* a move by another owner */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunks_bad_arguments_are_refused),
		cmocka_unit_test(chunks_are_handed_out_once_each),
		cmocka_unit_test(chunk_with_uses_is_free_after_the_last),
		cmocka_unit_test(chunk_hand_over_by_a_stranger_is_counted_and_changes_nothing),
		cmocka_unit_test(chunks_of_an_owner_that_is_gone_are_reclaimed),
	};
	return cmocka_run_group_tests_name("chunk", tests, NULL, NULL);
}
