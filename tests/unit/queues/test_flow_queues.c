/* SPDX-License-Identifier: BSD-2-Clause */
/* Queues, their round and the buffer, with policies that decide little. */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>

#include "tests/lib/flow_rig.h"

static void one_queue_is_a_fifo_that_returns_what_it_was_given(void **state)
{
	const struct fq_shape shape = flow_shape(1, 3);
	struct fq_frame frame = { .handle = UINT64_MAX - 1, .len_bytes = 700, .ect = true };
	struct fq_frame out;
	struct flow_rig rig;

	(void)state;
	flow_rig_open(&rig, "tail", &shape, NULL);
	assert_int_equal(fq_dequeue(rig.port, 0, &out), FQ_NONE);
	fq_enqueue(rig.port, 0, &frame, 17);
	assert_int_equal(flow_put(&rig, 0, 1, 18), 0);
	assert_int_equal(flow_put(&rig, 0, 1000, 19), 1);
	assert_int_equal(rig.port->n_frames, 3);
	assert_int_equal(rig.port->n_bytes, 1701);
	assert_int_equal(fq_dequeue(rig.port, 20, &out), 0);
	assert_true(out.handle == UINT64_MAX - 1 && out.len_bytes == 700 && out.ect && !out.ce);
	assert_int_equal(out.arrival_ns, 17);
	assert_int_equal(flow_get(&rig, 20), 0);
	assert_int_equal(flow_get(&rig, 20), 1);
	assert_int_equal(flow_get(&rig, 20), -1);
	assert_int_equal(rig.port->n_bytes, 0);
	flow_expect_no_drop(&rig);
	flow_rig_close(&rig);
}

static void a_frame_of_no_or_too_many_bytes_is_given_back(void **state)
{
	const struct fq_shape shape = flow_shape(2, 3);
	struct flow_rig rig;

	(void)state;
	for (const struct fq_ops *const *ops = fq_policies; *ops; ops++) {
		flow_rig_open(&rig, (*ops)->name, &shape, NULL);
		flow_expect_drop(&rig, flow_put(&rig, 1, 1001, 0), 1, FQ_BAD_SIZE);
		flow_expect_drop(&rig, flow_put(&rig, 1, 0, 0), 1, FQ_BAD_SIZE);
		assert_int_equal(flow_get(&rig, 0), -1);
		flow_rig_close(&rig);
	}
}

static void a_flush_gives_back_every_frame_and_leaves_a_port_that_works(void **state)
{
	const struct fq_shape shape = flow_shape(8, 100);
	struct flow_rig rig;

	(void)state;
	for (const struct fq_ops *const *ops = fq_policies; *ops; ops++) {
		flow_rig_open(&rig, (*ops)->name, &shape, NULL);
		for (int again = 0; again < 3; again++) {
			for (uint32_t i = 0; i < 40; i++)
				flow_put(&rig, i % 8, 100 + i, 0);
			flow_get(&rig, 0);
			flow_rig_clear(&rig);
			fq_flush(rig.port);
			assert_int_equal(rig.n_drops, 39);
			assert_int_equal(rig.port->n_frames, 0);
			assert_int_equal(rig.port->n_bytes, 0);
			assert_int_equal(flow_get(&rig, 0), -1);
		}
		flow_rig_close(&rig);
	}
}

/* Bytes that each queue has sent. */
struct sent {
	uint64_t bytes[FQ_QUEUES_MAX];
};

/* Keep every queue i below n backlogged with frames of len[i] bytes, and send `frames` of them. */
static void run(struct flow_rig *rig, struct sent *sent, const uint32_t *len, uint32_t n,
		uint32_t frames)
{
	for (uint32_t i = 0; i < n; i++)
		for (int k = 0; k < 3; k++)
			flow_put(rig, i, len[i], 0);
	for (uint32_t k = 0; k < frames; k++) {
		struct fq_frame out;
		const uint32_t queue = fq_dequeue(rig->port, 0, &out);

		assert_in_range(queue, 0, n - 1);
		sent->bytes[queue] += out.len_bytes;
		flow_put(rig, queue, len[queue], 0);
	}
	flow_expect_no_drop(rig);
}

/* Shreedhar and Varghese's bound: in any time, shares differ by less than three largest frames. */
static void backlogged_queues_share_bytes_equally_whatever_their_frames(void **state)
{
	static const uint32_t len[] = { 60, 1000, 577 };
	const struct fq_shape shape = flow_shape(16, 100);
	struct flow_rig rig;

	(void)state;
	for (const struct fq_ops *const *ops = fq_policies; *ops; ops++) {
		struct sent sent = { 0 };

		flow_rig_open(&rig, (*ops)->name, &shape, NULL);
		run(&rig, &sent, len, 3, 100000);
		for (int i = 1; i < 3; i++)
			assert_in_range(sent.bytes[i], sent.bytes[0] - 3000, sent.bytes[0] + 3000);
		flow_rig_close(&rig);
	}
}

static void backlogged_queues_share_bytes_by_weight(void **state)
{
	static const uint32_t len[] = { 60, 1000, 577 };
	const struct fq_shape shape = flow_shape(16, 100);
	struct sent sent = { 0 };
	struct flow_rig rig;

	(void)state;
	flow_rig_open(&rig, "longest", &shape, NULL);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(fq_set_weight(rig.port, i, i + 1), 0);
	run(&rig, &sent, len, 3, 100000);
	for (uint32_t i = 1; i < 3; i++)
		assert_in_range(sent.bytes[i], (i + 1) * (sent.bytes[0] - 3000),
				(i + 1) * (sent.bytes[0] + 3000));
	assert_int_equal(fq_set_weight(rig.port, 0, FQ_WEIGHT_MAX), 0);
	assert_int_equal(fq_set_weight(rig.port, 0, FQ_WEIGHT_MAX + 1), -EINVAL);
	assert_int_equal(fq_set_weight(rig.port, 0, 0), -EINVAL);
	assert_int_equal(fq_set_weight(rig.port, 16, 1), -EINVAL);
	flow_rig_close(&rig);
}

static void a_queue_that_ran_empty_has_saved_up_no_deficit(void **state)
{
	const struct fq_shape shape = flow_shape(2, 100);
	struct flow_rig rig;

	(void)state;
	flow_rig_open(&rig, "tail", &shape, NULL);
	for (int i = 0; i < 50; i++) { /* 999 bytes of each quantum would remain */
		flow_put(&rig, 0, 1, 0);
		flow_get(&rig, 0);
	}
	for (int i = 0; i < 20; i++) {
		flow_put(&rig, 0, 500, 0);
		flow_put(&rig, 1, 500, 0);
	}
	for (int i = 0; i < 20; i++) {
		struct fq_frame out;

		assert_int_equal(fq_dequeue(rig.port, 0, &out), i / 2 % 2);
	}
	flow_rig_close(&rig);
}

static void hashes_spread_over_the_queues_that_are_not_reserved(void **state)
{
	struct fq_shape shape = flow_shape(100, 100);
	uint32_t n[100] = { 0 };
	struct flow_rig rig;

	(void)state;
	shape.reserved = 36;
	flow_rig_open(&rig, "tail", &shape, NULL);
	for (uint64_t i = 0; i < 64000; i++)
		n[fq_queue_of(rig.port, i * UINT64_C(0x9e3779b97f4a7c15))]++;
	for (int i = 0; i < 36; i++)
		assert_int_equal(n[i], 0);
	for (int i = 36; i < 100; i++)
		assert_in_range(n[i], 900, 1100);
	assert_int_equal(fq_queue_of(rig.port, UINT64_MAX), 99);
	assert_int_equal(fq_queue_of(rig.port, 0), 36);
	flow_rig_close(&rig);
}

/* Eight flows whose hashes name one queue have eight queues; a ninth shares the one of the hash. */
static void flows_of_one_hash_get_queues_of_their_own_while_there_are_some(void **state)
{
	struct fq_shape shape = flow_shape(100, 100);
	const uint64_t to_queue = UINT64_C(13) << 57; /* of those that are not reserved, 6 and up */
	uint32_t of_flow[9], direct;
	struct flow_rig rig;

	(void)state;
	shape.reserved = 36;
	flow_rig_open(&rig, "longest", &shape, NULL);
	direct = fq_queue_of(rig.port, to_queue);
	for (uint32_t flow = 0; flow < 9; flow++) {
		of_flow[flow] = fq_queue_pick(rig.port, to_queue | flow);
		flow_put(&rig, of_flow[flow], 500, 0);
		/* Another frame of the flow goes where the first one is. */
		assert_int_equal(fq_queue_pick(rig.port, to_queue | flow), of_flow[flow]);
		for (uint32_t other = 0; other < flow && flow < 8; other++)
			assert_int_not_equal(of_flow[other], of_flow[flow]);
		assert_in_range(of_flow[flow], 36, 99);
	}
	assert_int_equal(of_flow[0], direct);
	assert_int_equal(of_flow[8], direct);
	flow_rig_close(&rig);
}

/* Whatever comes and goes, the frames of a flow are in one queue. */
static void a_flow_never_waits_in_two_queues(void **state)
{
	static const uint32_t queues[] = { 1, 3, 8, 20, 100 };

	(void)state;
	for (size_t n = 0; n < sizeof(queues) / sizeof(queues[0]); n++) {
		enum { FLOWS = 60 };
		const struct fq_shape shape = flow_shape(queues[n], 80);
		uint32_t waiting[FLOWS] = { 0 }, at[FLOWS] = { 0 }, shared = 0;
		uint8_t flow_of[50000];
		struct flow_rig rig;

		srandom(5);
		flow_rig_open(&rig, "longest", &shape, NULL);
		for (int i = 0; i < 50000; i++) {
			const uint32_t flow = (uint32_t)random() % (i / 500 % 2 ? 6 : FLOWS);
			const uint64_t hash = (flow + 1) * UINT64_C(0x9e3779b97f4a7c15);
			const uint32_t queue = fq_queue_pick(rig.port, hash);
			struct fq_frame out;

			assert_true(queue < queues[n]);
			assert_true(waiting[flow] == 0 || at[flow] == queue);
			at[flow] = queue;
			waiting[flow]++;
			shared += rig.port->queue[queue].is_shared;
			flow_rig_clear(&rig);
			flow_of[rig.next_handle] = (uint8_t)flow;
			flow_put(&rig, queue, 1 + (uint32_t)random() % 1000, 0);
			for (uint32_t k = 0; k < rig.n_drops; k++)
				waiting[flow_of[rig.drop[k].handle]]--;
			for (int k = 0; k < (i / 300 % 2 ? 3 : 1) && random() % 2; k++)
				if (fq_dequeue(rig.port, 0, &out) != FQ_NONE)
					waiting[flow_of[out.handle]]--;
		}
		assert_true(queues[n] > 20 || shared > 0);
		flow_rig_close(&rig);
	}
}

/* Random traffic: every frame comes out once, in the order of its queue; no limit is exceeded. */
static void every_frame_leaves_once_in_order_within_the_limits(void **state)
{
	enum { FRAMES = 60000 };
	static uint8_t seen[FRAMES];

	(void)state;
	for (const struct fq_ops *const *ops = fq_policies; *ops; ops++) {
		struct fq_shape shape = flow_shape(FQ_QUEUES_MAX, 500);
		uint64_t last[FQ_QUEUES_MAX] = { 0 }, sent = 0, bytes = 0, sent_bytes = 0, now = 0;
		struct flow_rig rig;

		srandom(7);
		shape.limit_bytes = 200000;
		flow_rig_open(&rig, (*ops)->name, &shape, NULL);
		for (int i = 0; i < FRAMES; i++)
			seen[i] = 0;
		for (int i = 0; i < FRAMES; i++) {
			const uint32_t len = 1 + (uint32_t)random() % 1000;
			const uint32_t flows = i < FRAMES / 2 ? 5 : FQ_QUEUES_MAX;
			struct fq_frame out;
			uint32_t queue;

			now += (uint64_t)random() % 2000000;
			bytes += len;
			flow_put(&rig, (uint32_t)random() % flows, len, now);
			assert_true(rig.port->n_frames <= 500 && rig.port->n_bytes <= 200000);
			if (random() % 3 == 0 || i == FRAMES - 1)
				continue;
			queue = fq_dequeue(rig.port, now, &out);
			if (queue == FQ_NONE)
				continue;
			assert_int_equal(seen[out.handle]++, 0);
			assert_true(out.handle + 1 > last[queue]);
			last[queue] = out.handle + 1;
			sent++;
			sent_bytes += out.len_bytes;
		}
		fq_flush(rig.port);
		assert_int_equal(rig.port->n_frames, 0);
		for (int i = 0; i < FQ_N_REASONS; i++)
			sent += rig.dropped[i];
		assert_int_equal(sent, FRAMES);
		assert_int_equal(sent_bytes + rig.dropped_bytes, bytes);
		flow_rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_queue_is_a_fifo_that_returns_what_it_was_given),
		cmocka_unit_test(a_frame_of_no_or_too_many_bytes_is_given_back),
		cmocka_unit_test(a_flush_gives_back_every_frame_and_leaves_a_port_that_works),
		cmocka_unit_test(backlogged_queues_share_bytes_equally_whatever_their_frames),
		cmocka_unit_test(backlogged_queues_share_bytes_by_weight),
		cmocka_unit_test(a_queue_that_ran_empty_has_saved_up_no_deficit),
		cmocka_unit_test(hashes_spread_over_the_queues_that_are_not_reserved),
		cmocka_unit_test(flows_of_one_hash_get_queues_of_their_own_while_there_are_some),
		cmocka_unit_test(a_flow_never_waits_in_two_queues),
		cmocka_unit_test(every_frame_leaves_once_in_order_within_the_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
