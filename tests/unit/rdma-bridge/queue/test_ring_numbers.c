/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Backlogs on a model of XDP, kernel and bridge. The model's XDP admits frames to VOQs and puts
 * them into rings; its kernel loses some on the way, with or without counting them, and rings end
 * with frames in them. Whatever happens: at rest, a backlog is the number of frames that are really
 * held.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "rdma-bridge/queue/backlog.h"
#include "rdma-bridge/queue/ring_numbers.h"

#define RINGS 3
#define VOQS  5
#define MS    1000000ULL

struct waiting {
	uint32_t number, voq, len_bytes;
};

/* A ring between the model's XDP and the reader that is tested. */
struct ring {
	struct sl_ring shared;
	struct rb_ring_numbers numbers;
	struct waiting frame[SL_RING_FRAMES]; /* those that the kernel has delivered */
	uint32_t first, n;
	uint64_t refused; /* that its socket has counted */
};

/* A frame that the bridge holds. */
struct held {
	uint32_t voq, len_bytes;
};

static struct ring rings[RINGS];
static struct sl_backlog backlog[VOQS];
static struct sl_counter counters[RB_COUNT_COUNT];
static struct held held[65536];
static uint32_t n_held;
static uint64_t admitted, taken_in, never_came, left;
static const struct rb_ring_accounts accounts = { backlog, VOQS, counters };

static uint32_t below(uint32_t n)
{
	return (uint32_t)random() % n;
}

/* How the kernel may lose a frame that XDP has given it. */
enum loss { KEPT, COUNTED, SILENT };

static void admit(struct ring *ring, uint32_t voq, uint32_t len_bytes, enum loss loss)
{
	uint32_t number = (uint32_t)ring->shared.entered;

	if (ring->shared.entered - ring->shared.taken >= SL_RING_FRAMES)
		return; /* as XDP does */
	backlog[voq].enqueued.frames++;
	backlog[voq].enqueued.bytes += len_bytes;
	ring->shared.frame[number & (SL_RING_FRAMES - 1)] = voq | len_bytes << 16;
	ring->shared.entered++;
	admitted++;
	ring->refused += loss == COUNTED;
	never_came += loss != KEPT;
	if (loss == KEPT)
		ring->frame[(ring->first + ring->n++) % SL_RING_FRAMES] =
			(struct waiting){ number, voq, len_bytes };
}

/* The bridge reads up to max frames of a ring, as rb_edge_receive does. */
static void read_ring(struct ring *ring, uint32_t max)
{
	for (; max > 0 && ring->n > 0; max--, ring->n--) {
		const struct waiting *w = &ring->frame[ring->first];

		rb_ring_came(&ring->numbers, w->number, w->voq, w->len_bytes, &accounts);
		held[n_held++] = (struct held){ w->voq, w->len_bytes };
		ring->first = (ring->first + 1) % SL_RING_FRAMES;
		taken_in++;
	}
	rb_ring_publish(&ring->numbers);
}

static void settle(struct ring *ring, uint64_t now_ns)
{
	if (rb_ring_misses(&ring->numbers) && ring->n == 0)
		rb_ring_settle(&ring->numbers, ring->refused, now_ns, &accounts);
}

/* The socket is closed with what is in it, and another one opened. */
static void reopen(struct ring *ring)
{
	never_came += ring->n;
	ring->n = 0;
	rb_ring_end(&ring->numbers, &accounts);
	ring->refused = 0;
	rb_ring_begin(&ring->numbers, &ring->shared);
}

/* A frame leaves the bridge, for one reason or another. */
static void leave(void)
{
	struct held *frame = &held[below(n_held)];
	struct sl_backlog *b = &backlog[frame->voq];

	rb_backlog_take(b, frame->len_bytes);
	switch (below(4)) {
	case 0:
		rb_backlog_peer_down(b);
		break;
	case 1:
		rb_backlog_too_big(b);
		break;
	default:
		break;
	}
	*frame = held[--n_held];
	left++;
}

/* Nothing is on its way: every backlog is what is held, in frames and in bytes. */
static void check_rest(void)
{
	struct sl_counter sum[VOQS] = { { 0 } };
	uint64_t missed = 0;

	for (uint32_t i = 0; i < n_held; i++) {
		sum[held[i].voq].packets++;
		sum[held[i].voq].bytes += held[i].len_bytes;
	}
	for (uint32_t v = 0; v < VOQS; v++) {
		const struct sl_backlog *b = &backlog[v];

		assert_int_equal(b->enqueued.frames - b->dequeued.frames, sum[v].packets);
		assert_int_equal(b->enqueued.bytes - b->dequeued.bytes, sum[v].bytes);
		missed += b->missed;
	}
	assert_int_equal(missed, never_came);
	assert_int_equal(counters[RB_COUNT_DROP_VOQ_RING].packets, never_came);
	assert_int_equal(admitted, taken_in + never_came);
	assert_int_equal(taken_in, left + n_held);
}

static int setup(void **state)
{
	(void)state;
	memset(rings, 0, sizeof(rings));
	memset(backlog, 0, sizeof(backlog));
	memset(counters, 0, sizeof(counters));
	n_held = 0;
	admitted = taken_in = never_came = left = 0;
	for (uint32_t r = 0; r < RINGS; r++) {
		/* The low 32 bits of a number wrap early in the test. */
		rings[r].shared.entered = UINT32_MAX - 500 * r;
		rb_ring_begin(&rings[r].numbers, &rings[r].shared);
	}
	return 0;
}

/* All rings are read, and what is missing is found missing, by count or by patience. */
static void come_to_rest(uint64_t *now_ns)
{
	for (uint32_t r = 0; r < RINGS; r++) {
		read_ring(&rings[r], SL_RING_FRAMES);
		settle(&rings[r], *now_ns);
	}
	*now_ns += RB_RING_STUCK_NS;
	for (uint32_t r = 0; r < RINGS; r++)
		settle(&rings[r], *now_ns);
	check_rest();
}

static void at_rest_a_backlog_is_what_is_held(void **state)
{
	uint64_t now_ns = MS;

	(void)state;
	for (uint32_t seed = 1; seed <= 20; seed++) {
		srandom(seed);
		for (uint32_t round = 0; round < 300; round++) {
			/* Some rounds lose nothing, some nearly all. */
			uint32_t loss_of_8 = below(8), burst = below(400);
			struct ring *ring = &rings[below(RINGS)];

			for (uint32_t i = 0; i < burst; i++)
				admit(ring, below(VOQS), 60 + below(1455),
				      below(8) >= loss_of_8 ? KEPT
				      : below(2)	    ? COUNTED
							    : SILENT);
			read_ring(&rings[below(RINGS)], below(300));
			settle(&rings[below(RINGS)], now_ns);
			now_ns += below(10) * MS;
			while (n_held > below(2000))
				leave();
			if (below(20) == 0)
				reopen(&rings[below(RINGS)]);
			if (below(10) == 0)
				come_to_rest(&now_ns);
		}
		come_to_rest(&now_ns);
		while (n_held > 0)
			leave();
		check_rest();
	}
	assert_true(never_came > 10000 && taken_in > 100000);
}

/* What a socket has counted needs no patience; what it has not needs all of it. */
static void losses_are_found_as_soon_as_they_are_certain(void **state)
{
	struct ring *ring = &rings[0];

	(void)state;
	admit(ring, 1, 100, KEPT);
	admit(ring, 1, 200, COUNTED);
	admit(ring, 2, 300, KEPT);
	read_ring(ring, 2);
	assert_int_equal(backlog[1].missed, 1); /* the next frame tells */
	check_rest();

	admit(ring, 3, 400, COUNTED);
	settle(ring, MS);
	check_rest();

	admit(ring, 4, 500, SILENT);
	settle(ring, 2 * MS);
	settle(ring, 2 * MS + RB_RING_STUCK_NS - 1);
	assert_int_equal(backlog[4].missed, 0);
	settle(ring, 2 * MS + RB_RING_STUCK_NS);
	check_rest();
	assert_int_equal(backlog[4].missed, 1);
}

/* Patience begins anew when something moves. */
static void a_ring_that_moves_is_not_given_up(void **state)
{
	struct ring *ring = &rings[0];
	uint64_t now_ns = MS;

	(void)state;
	for (uint32_t i = 0; i < 10; i++) {
		admit(ring, 0, 60, SILENT);
		settle(ring, now_ns);
		now_ns += RB_RING_STUCK_NS - 1;
		settle(ring, now_ns);
	}
	assert_int_equal(backlog[0].missed, 0);
	now_ns += RB_RING_STUCK_NS;
	settle(ring, now_ns);
	assert_int_equal(backlog[0].missed, 10);
	check_rest();
}

/* A frame that was given up too early waits and counts like any other. */
static void a_frame_that_comes_late_is_no_loss(void **state)
{
	struct ring *ring = &rings[0];

	(void)state;
	admit(ring, 2, 77, KEPT);
	rb_ring_settle(&ring->numbers, 0, MS, &accounts);
	rb_ring_settle(&ring->numbers, 0, MS + RB_RING_STUCK_NS, &accounts);
	assert_int_equal(backlog[2].missed, 1);
	read_ring(ring, 1);
	check_rest();
	assert_int_equal(counters[RB_COUNT_DROP_VOQ_RING].bytes, 0);
	/* Nor does it hide the next one. */
	admit(ring, 2, 78, COUNTED);
	settle(ring, 200 * MS);
	check_rest();
}

/* A new bridge begins with empty backlogs, whatever its predecessor held. */
static void a_new_bridge_adopts_backlogs_as_lost(void **state)
{
	uint64_t lost = 0;

	(void)state;
	srandom(7);
	for (uint32_t i = 0; i < 500; i++)
		admit(&rings[0], below(VOQS), 60, KEPT);
	read_ring(&rings[0], 200);
	for (uint32_t v = 0; v < VOQS; v++) {
		rb_backlog_adopt(&backlog[v], 0);
		lost += backlog[v].missed;
		assert_int_equal(backlog[v].enqueued.frames, backlog[v].dequeued.frames);
		assert_int_equal(backlog[v].enqueued.bytes, backlog[v].dequeued.bytes);
	}
	assert_int_equal(lost, 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(at_rest_a_backlog_is_what_is_held, setup),
		cmocka_unit_test_setup(losses_are_found_as_soon_as_they_are_certain, setup),
		cmocka_unit_test_setup(a_ring_that_moves_is_not_given_up, setup),
		cmocka_unit_test_setup(a_frame_that_comes_late_is_no_loss, setup),
		cmocka_unit_test_setup(a_new_bridge_adopts_backlogs_as_lost, setup),
	};
	return cmocka_run_group_tests_name("ring_numbers", tests, NULL, NULL);
}
