/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/transport_contract.h"
#include "tests/lib/deadline.h"
#include "user/lib/clock.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define SILENCE_NS 50000000ULL /* if nothing arrives for so long, nothing will */
#define BATCH	   64

static transport_pair_open_fn open_pair;
static transport_pair_close_fn close_pair;
static struct transport_pair pair;
static struct rb_path *path[2]; /* from t[i] to the other */
static int context[2];		/* the context of path[i] */
static uint8_t elsewhere[RB_CONTRACT_CONTENT_BYTES];
static uint8_t *content;

static struct rb_endpoint endpoint_of(int i)
{
	struct rb_endpoint e;

	pair.t[i]->ops->endpoint(pair.t[i], &e);
	return e;
}

static uint32_t message_max(void)
{
	return endpoint_of(1).message_max_bytes;
}

/* Post chunks for n messages, whichever receive queue they enter by. */
static void post(int i, uint32_t n)
{
	uint64_t offsets[BATCH];

	for (uint32_t queue = 0; queue < pair.spread; queue++) {
		for (uint32_t k = 0; k < n; k++) {
			offsets[k] = rb_chunk_take(pair.t[i]->chunks, RB_OWNER_RECEIVE);
			assert_true(offsets[k] != RB_CHUNK_NONE);
		}
		assert_int_equal(pair.t[i]->ops->post_receive(pair.t[i], offsets, n), n);
	}
}

/* Keep chunks for n messages posted. Queues without messages keep theirs, so twice as many. */
static void top_up(int i, uint32_t n)
{
	if (pair.t[i]->chunks->count[RB_OWNER_RECEIVE] < 2 * n * pair.spread)
		post(i, n);
}

static uint32_t poll_once(int i, struct rb_completion *out, uint32_t max)
{
	pair.let_pass(&pair);
	return pair.t[i]->ops->poll(pair.t[i], out, max, sl_now_ns());
}

/* A send may borrow its pieces until it completes, so these tests send static memory. */
static void send_pieces(int i, const struct rb_piece *pieces, uint32_t n)
{
	struct rb_transport *t = pair.t[i];
	struct rb_completion done;
	uint64_t end = sl_now_ns() + DEADLINE_NS;
	int err;

	/* A poll may be what makes room. Its completions do not concern these tests. */
	while ((err = t->ops->post_send(t, path[i], pieces, n, 77)) == -EAGAIN) {
		assert_true(sl_now_ns() < end);
		assert_int_equal(poll_once(i, &done, 1), 0);
	}
	assert_in_range(err, 0, 1);
	t->ops->flush(t);
	while (err == 0) {
		assert_true(sl_now_ns() < end);
		if (poll_once(i, &done, 1) == 1) {
			assert_int_equal(done.kind, RB_SENT);
			assert_true(done.cookie == 77);
			err = 1;
		}
	}
}

static void send_bytes(int i, uint32_t from, uint32_t bytes)
{
	const struct rb_piece piece = { content + from, bytes };

	send_pieces(i, &piece, 1);
}

static void receive(int i, struct rb_completion *out)
{
	uint64_t end = sl_now_ns() + DEADLINE_NS;

	while (poll_once(i, out, 1) == 0)
		assert_true(sl_now_ns() < end);
	assert_int_equal(out->kind, RB_RECEIVED);
}

static void expect(int i, uint32_t from, uint32_t bytes)
{
	struct rb_completion c;

	receive(i, &c);
	assert_int_equal(c.len_bytes, bytes);
	assert_memory_equal(rb_chunk_data(pair.t[i]->chunks, c.offset), content + from, bytes);
	assert_true(rb_chunk_base(pair.t[i]->chunks, c.offset) ==
		    rb_chunk_base(pair.t[i]->chunks, c.offset + bytes - 1));
	assert_ptr_equal(c.context, &context[i]);
	assert_false(c.ce);
	rb_chunk_release(pair.t[i]->chunks, c.offset, RB_OWNER_MESSAGE);
}

static void expect_silence(int i)
{
	struct rb_completion c;

	for (uint64_t end = sl_now_ns() + SILENCE_NS; sl_now_ns() < end;)
		assert_int_equal(poll_once(i, &c, 1), 0);
}

static struct rb_transport_stats stats_of(int i)
{
	struct rb_transport_stats s;

	pair.t[i]->ops->stats(pair.t[i], &s);
	return s;
}

static int setup(void **state)
{
	(void)state;
	memset(&pair, 0, sizeof(pair));
	if (open_pair(&pair))
		return -1;
	content = pair.content ? pair.content : elsewhere;
	for (size_t i = 0; i < RB_CONTRACT_CONTENT_BYTES; i++)
		content[i] = (uint8_t)(i * 31 + i / 251);
	for (int i = 0; i < 2; i++) {
		struct rb_endpoint other = endpoint_of(!i);

		if (pair.t[i]->ops->path_create(pair.t[i], &other, &context[i], &path[i]))
			return -1;
	}
	for (uint64_t end = sl_now_ns() + DEADLINE_NS; pair.settled && !pair.settled(&pair);) {
		if (sl_now_ns() > end)
			return -1;
		pair.let_pass(&pair);
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		const struct rb_chunks *chunks = pair.t[i]->chunks;

		if (chunks->violations) {
			print_error("%llu chunk hand-overs by a stranger\n",
				    (unsigned long long)chunks->violations);
			return -1;
		}
	}
	close_pair(&pair);
	return 0;
}

/* --- The promises --- */

static void endpoint_is_one_that_can_be_reached(void **state)
{
	struct rb_endpoint a = endpoint_of(0), b = endpoint_of(1);

	(void)state;
	assert_in_range(a.qpn, 2, 0xfffffe);
	assert_true(a.message_max_bytes >= 256);
	assert_true(a.qpn != b.qpn || memcmp(a.gid, b.gid, 16));
}

static void message_of_every_size_arrives_as_it_was_sent(void **state)
{
	uint32_t max = message_max();

	(void)state;
	for (uint32_t bytes = 1; bytes <= max; bytes += bytes < 70 || bytes + 8 > max ? 1 : 61) {
		int i = bytes & 1;

		top_up(!i, 1);
		send_bytes(i, bytes, bytes);
		expect(!i, bytes, bytes);
	}
	post(1, 1);
	send_bytes(0, 0, max);
	expect(1, 0, max);
}

static void gathered_pieces_arrive_as_one_message(void **state)
{
	struct rb_piece pieces[RB_PIECES_MAX];

	(void)state;
	srandom(5);
	for (uint32_t n = 1; n <= pair.t[0]->pieces_max; n++) {
		uint32_t at = 100 * n, total = 0;

		for (uint32_t i = 0; i < n; i++) {
			uint32_t bytes = 1 + (uint32_t)random() % (message_max() / n);

			pieces[i] = (struct rb_piece){ content + at + total, bytes };
			total += bytes;
		}
		post(1, 1);
		send_pieces(0, pieces, n);
		expect(1, at, total);
	}
}

static void invalid_send_is_refused_and_sends_nothing(void **state)
{
	struct rb_transport *t = pair.t[0];
	struct rb_piece pieces[RB_PIECES_MAX + 1] = { { content, message_max() + 1 } };

	(void)state;
	post(1, 4);
	assert_int_equal(t->ops->post_send(t, path[0], pieces, 1, 0), -EMSGSIZE);
	pieces[0].len_bytes = 0;
	assert_int_equal(t->ops->post_send(t, path[0], pieces, 1, 0), -EINVAL);
	assert_int_equal(t->ops->post_send(t, path[0], pieces, 0, 0), -EINVAL);
	for (int i = 0; i <= RB_PIECES_MAX; i++)
		pieces[i] = (struct rb_piece){ content, 1 };
	assert_int_equal(t->ops->post_send(t, path[0], pieces, t->pieces_max + 1, 0), -EINVAL);
	t->ops->flush(t);
	expect_silence(1);
	assert_int_equal(stats_of(0).sent, 0);
}

static void invalid_path_is_refused(void **state)
{
	struct rb_endpoint bad = endpoint_of(1);
	struct rb_path *p;

	(void)state;
	assert_int_equal(pair.t[0]->ops->path_create(pair.t[0], &bad, NULL, &p), -EEXIST);
	assert_null(p);
	bad.qpn = 0;
	assert_int_equal(pair.t[0]->ops->path_create(pair.t[0], &bad, NULL, &p), -EINVAL);
	bad.qpn = 0x1000000;
	assert_int_equal(pair.t[0]->ops->path_create(pair.t[0], &bad, NULL, &p), -EINVAL);
	bad = endpoint_of(1);
	bad.qpn ^= 2;
	bad.message_max_bytes = 0;
	assert_int_equal(pair.t[0]->ops->path_create(pair.t[0], &bad, NULL, &p), -EINVAL);
	assert_null(p);
}

static void message_without_a_posted_chunk_waits_for_one(void **state)
{
	(void)state;
	send_bytes(0, 0, 100);
	send_bytes(0, 100, 100);
	expect_silence(1);
	post(1, 1);
	expect(1, 0, 100);
	expect_silence(1);
	post(1, 2);
	expect(1, 100, 100);
	send_bytes(0, 200, 100);
	expect(1, 200, 100);
	assert_int_equal(stats_of(1).no_buffer, 0);
}

static void message_without_a_posted_chunk_is_lost_and_the_next_one_is_not(void **state)
{
	if (pair.reliable) {
		message_without_a_posted_chunk_waits_for_one(state);
		return;
	}
	send_bytes(0, 0, 100);
	expect_silence(1);
	assert_int_equal(stats_of(1).no_buffer, !pair.silent_no_buffer);
	assert_int_equal(stats_of(1).received, 0);
	post(1, 1);
	send_bytes(0, 200, 100);
	expect(1, 200, 100);
	assert_int_equal(stats_of(1).no_buffer, !pair.silent_no_buffer);
}

static void wrong_queue_key_delivers_nothing(void **state)
{
	struct rb_endpoint other = endpoint_of(1);

	(void)state;
	post(1, 2);
	pair.t[0]->ops->path_destroy(pair.t[0], path[0]);
	other.qkey ^= 1;
	assert_int_equal(pair.t[0]->ops->path_create(pair.t[0], &other, &context[0], &path[0]), 0);
	send_bytes(0, 0, 100);
	expect_silence(1);
	assert_int_equal(stats_of(1).received, 0);
	assert_int_equal(stats_of(1).no_buffer, 0);
	pair.t[0]->ops->path_destroy(pair.t[0], path[0]);
	other.qkey ^= 1;
	assert_int_equal(pair.t[0]->ops->path_create(pair.t[0], &other, &context[0], &path[0]), 0);
	send_bytes(0, 7, 100);
	expect(1, 7, 100);
}

static void unknown_queue_pair_delivers_nothing(void **state)
{
	struct rb_endpoint other = endpoint_of(1);
	struct rb_path *keep = path[0];

	(void)state;
	post(1, 1);
	other.qpn ^= 0x10;
	assert_int_equal(pair.t[0]->ops->path_create(pair.t[0], &other, &context[0], &path[0]), 0);
	send_bytes(0, 0, 100);
	expect_silence(1);
	path[0] = keep;
	send_bytes(0, 0, 100);
	expect(1, 0, 100);
}

static void message_of_a_sender_without_a_path_has_no_context(void **state)
{
	struct rb_completion c;

	(void)state;
	post(1, 1);
	pair.t[1]->ops->path_destroy(pair.t[1], path[1]);
	send_bytes(0, 0, 100);
	if (pair.reliable) {
		expect_silence(1);
		return;
	}
	receive(1, &c);
	assert_null(c.context);
	rb_chunk_release(pair.t[1]->chunks, c.offset, RB_OWNER_MESSAGE);
}

static void messages_keep_their_order_and_are_counted(void **state)
{
	enum { ROUNDS = 50, EACH = 20 };
	uint64_t bytes = 0;

	(void)state;
	for (uint32_t round = 0; round < ROUNDS; round++) {
		top_up(1, EACH);
		for (uint32_t k = 0; k < EACH; k++) {
			send_bytes(0, round * EACH + k, 60 + k);
			bytes += 60 + k;
		}
		for (uint32_t k = 0; k < EACH; k++)
			expect(1, round * EACH + k, 60 + k);
	}
	assert_int_equal(stats_of(0).sent, ROUNDS * EACH);
	assert_int_equal(stats_of(0).sent_bytes, bytes);
	assert_int_equal(stats_of(1).received, ROUNDS * EACH);
	assert_int_equal(stats_of(1).received_bytes, bytes);
	assert_int_equal(stats_of(1).no_buffer + stats_of(1).ring_full, 0);
}

static void full_queue_returns_eagain_and_takes_more_after_polling(void **state)
{
	const struct rb_piece piece = { content, 64 };
	struct rb_transport *t = pair.t[0];
	struct rb_completion done[BATCH];
	uint64_t end = sl_now_ns() + DEADLINE_NS, accepted = 0;
	int err;

	(void)state;
	while ((err = t->ops->post_send(t, path[0], &piece, 1, 0)) >= 0) {
		accepted++;
		assert_true(accepted < 1U << 20);
	}
	assert_int_equal(err, -EAGAIN);
	assert_true(accepted >= 16);
	if (pair.reliable)
		post(1, BATCH);
	do {
		t->ops->flush(t);
		poll_once(0, done, BATCH);
		err = t->ops->post_send(t, path[0], &piece, 1, 0);
		assert_true(sl_now_ns() < end);
	} while (err == -EAGAIN);
	assert_in_range(err, 0, 1);
}

static void waiting_ends_when_a_message_comes_and_not_before(void **state)
{
	struct rb_transport *t = pair.t[1];
	struct pollfd fd = { .fd = t->ops->wait_fd(t), .events = POLLIN };
	uint64_t end = sl_now_ns() + DEADLINE_NS;

	(void)state;
	post(1, 2);
	for (int round = 0; round < 2; round++) {
		assert_false(t->ops->arm(t));
		assert_int_equal(poll(&fd, 1, 0), 0);
		send_bytes(0, 0, 100);
		do {
			pair.let_pass(&pair);
			assert_true(sl_now_ns() < end);
		} while (poll(&fd, 1, 1) == 0);
		assert_true(t->ops->arm(t));
		expect(1, 0, 100);
	}
}

static void chunks_posted_beyond_the_room_are_not_taken(void **state)
{
	uint64_t offsets[BATCH];
	struct rb_chunks *chunks = pair.t[1]->chunks;
	uint32_t taken = 0, n = 0;

	(void)state;
	/*
	 * Post single chunks until one is refused or none is left; the refused one is still ours.
	 */
	while (chunks->n_free > 0) {
		offsets[0] = rb_chunk_take(chunks, RB_OWNER_RECEIVE);
		n = pair.t[1]->ops->post_receive(pair.t[1], offsets, 1);
		taken += n;
		if (n == 0) {
			rb_chunk_release(chunks, offsets[0], RB_OWNER_RECEIVE);
			break;
		}
	}
	assert_int_equal(chunks->count[RB_OWNER_RECEIVE], taken);
	assert_true(taken >= BATCH);
	send_bytes(0, 0, 100);
	expect(1, 0, 100);
	assert_int_equal(chunks->count[RB_OWNER_RECEIVE], taken - 1);
}

int transport_contract_run(const char *name, transport_pair_open_fn open,
			   transport_pair_close_fn close)
{
#define PROMISE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest promises[] = {
		PROMISE(endpoint_is_one_that_can_be_reached),
		PROMISE(message_of_every_size_arrives_as_it_was_sent),
		PROMISE(gathered_pieces_arrive_as_one_message),
		PROMISE(invalid_send_is_refused_and_sends_nothing),
		PROMISE(invalid_path_is_refused),
		PROMISE(message_without_a_posted_chunk_is_lost_and_the_next_one_is_not),
		PROMISE(wrong_queue_key_delivers_nothing),
		PROMISE(unknown_queue_pair_delivers_nothing),
		PROMISE(message_of_a_sender_without_a_path_has_no_context),
		PROMISE(messages_keep_their_order_and_are_counted),
		PROMISE(full_queue_returns_eagain_and_takes_more_after_polling),
		PROMISE(waiting_ends_when_a_message_comes_and_not_before),
		PROMISE(chunks_posted_beyond_the_room_are_not_taken),
	};

	open_pair = open;
	close_pair = close;
	return _cmocka_run_group_tests(name, promises, sizeof(promises) / sizeof(promises[0]), NULL,
				       NULL);
}
