/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ingress side by itself: the VOQs to one node, fed by lists and inputs of the test. After each
 * step the backlog of every VOQ is compared with the frames that wait in it, and every chunk is
 * accounted for. A frame is known by the number in its arrival_ns.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi/virtual_clock.h"
#include "rdma-bridge/queue/ingress.h"

#define N(array)    (sizeof(array) / sizeof((array)[0]))
#define NODE	    2
#define VOQS	    5
#define INPUTS	    2 /* of each VOQ, besides its list */
#define CHUNKS	    1024
#define CHUNK_BYTES 2048
#define FRAME_MAX   1514
#define US	    1000ULL
#define MS	    1000000ULL
#define SECOND	    1000000000ULL
#define PORT	    SL_SYSTEM_PORT(1, 3) /* where frames entered that no kernel sent */

/* The frames that an input gives are numbered from first_number. */
struct source {
	struct rb_input input;
	uint64_t first_number;
	uint32_t to_make, made, reads, len_bytes;
	uint16_t ingress_port;
};

static struct {
	uint8_t *area;
	struct rb_chunks *chunks;
	struct rb_frame_pool pool;
	struct rb_ingress_todo todo;
	struct rb_ingress *in;
	struct sl_voq settings[VOQS];
	struct sl_backlog backlog[VOQS];
	struct source source[VOQS][INPUTS];
	struct sl_counter counters[RB_COUNT_COUNT];
	uint64_t now_ns, delay_ns;
	uint64_t delivered;
	struct rb_frame sent[8192]; /* in messages that have left */
	uint32_t n_sent;
} w;

static uint32_t give(void *context, struct rb_frame *out, uint32_t max)
{
	struct source *s = context;
	uint32_t n;

	s->reads++;
	for (n = 0; n < max && s->to_make > 0; n++, s->to_make--) {
		uint64_t offset = rb_chunk_take(w.chunks, RB_OWNER_INGRESS);

		assert_true(offset != RB_CHUNK_NONE);
		out[n] = (struct rb_frame){ .offset = offset + RB_CHUNK_HEADROOM_BYTES,
					    .arrival_ns = s->first_number + s->made++,
					    .len_bytes = s->len_bytes,
					    .ingress_port = s->ingress_port };
	}
	if (s->to_make > 0)
		rb_input_ask(&s->input);
	return n;
}

static void begin(uint32_t message_max_bytes, uint32_t degree)
{
	memset(&w, 0, sizeof(w));
	w.now_ns = SECOND;
	w.area = malloc((size_t)CHUNKS * CHUNK_BYTES);
	assert_non_null(w.area);
	assert_int_equal(rb_chunks_create(w.area, 0, CHUNKS, CHUNK_BYTES, &w.chunks), 0);
	assert_int_equal(rb_frame_pool_init(&w.pool, w.chunks), 0);
	assert_int_equal(rb_ingress_open(&w.todo, &w.pool, NODE, VOQS, FRAME_MAX, message_max_bytes,
					 degree, &w.in),
			 0);
	for (uint32_t i = 0; i < VOQS; i++) {
		w.settings[i].rate = SL_RATE_UNLIMITED;
		rb_ingress_set_voq(w.in, i, (uint16_t)SL_SYSTEM_PORT(NODE, 1 + i), i % SL_CLASSES,
				   &w.settings[i], &w.backlog[i], w.now_ns);
		for (uint32_t k = 0; k < INPUTS; k++) {
			struct source *s = &w.source[i][k];

			s->input = (struct rb_input){ .receive = give, .context = s };
			s->first_number = (i * INPUTS + k + 1) * 100000;
			rb_ingress_add_input(w.in, i, &s->input);
		}
	}
}

static uint64_t count(enum rb_frame_counter which)
{
	return w.counters[which].packets;
}

/* What waits in VOQ i and was counted into its backlog. */
static struct sl_passed waiting_in(uint32_t i)
{
	const struct rb_voq *voq = &w.in->voqs[i];
	struct sl_passed sum = { 0 };
	uint32_t at = voq->list.first;

	for (uint32_t k = 0; k < voq->list.n; k++, at = w.pool.next[at]) {
		sum.frames += w.pool.frame[at].ingress_port != 0;
		sum.bytes += w.pool.frame[at].ingress_port ? w.pool.frame[at].len_bytes : 0;
	}
	for (uint32_t k = 0; k < voq->n_ahead; k++) {
		const struct rb_frame *frame = &voq->ahead[voq->first + k];

		sum.frames += frame->ingress_port != 0;
		sum.bytes += frame->ingress_port ? frame->len_bytes : 0;
	}
	for (uint32_t k = 0; k < INPUTS; k++)
		if (w.source[i][k].ingress_port) {
			sum.frames += w.source[i][k].to_make;
			sum.bytes += (uint64_t)w.source[i][k].to_make * w.source[i][k].len_bytes;
		}
	return sum;
}

/* True after each step: backlogs are what waits, no frame is unaccounted for, no chunk is lost. */
static void check(void)
{
	uint64_t ahead = 0, listed = 0, open = w.in->pack.count + w.in->held;

	for (uint32_t i = 0; i < VOQS; i++) {
		const struct sl_backlog *b = &w.backlog[i];
		const struct sl_passed waiting = waiting_in(i);

		assert_int_equal(b->enqueued.frames - b->dequeued.frames, waiting.frames);
		assert_int_equal(b->enqueued.bytes - b->dequeued.bytes, waiting.bytes);
		ahead += w.in->voqs[i].n_ahead;
		listed += w.in->voqs[i].list.n;
	}
	assert_int_equal(count(RB_COUNT_INGRESS),
			 ahead + open + count(RB_COUNT_SENT) + w.delivered +
				 count(RB_COUNT_DROP_PEER_DOWN) + count(RB_COUNT_DROP_TOO_BIG));
	assert_int_equal(w.chunks->count[RB_OWNER_INGRESS], ahead + listed + open);
	assert_int_equal(w.chunks->violations, 0);
	assert_int_equal(rb_ingress_holds(w.in), open > 0);
}

static void end(void)
{
	check();
	rb_ingress_close(w.in, w.chunks, w.counters);
	assert_int_equal(w.chunks->n_free, CHUNKS);
	assert_int_equal(w.chunks->violations, 0);
	rb_frame_pool_fini(&w.pool);
	rb_chunks_destroy(w.chunks);
	free(w.area);
}

static void admit(uint32_t voq, uint32_t frames, uint32_t len_bytes)
{
	w.backlog[voq].enqueued.frames += frames;
	w.backlog[voq].enqueued.bytes += (uint64_t)frames * len_bytes;
}

/* More frames at input k of a VOQ; ingress_port 0: of the kernel, which no XDP program admits. */
static void offer_from(uint32_t voq, uint32_t k, uint16_t ingress_port, uint32_t frames,
		       uint32_t len_bytes)
{
	struct source *s = &w.source[voq][k];

	s->ingress_port = ingress_port;
	s->len_bytes = len_bytes;
	s->to_make += frames;
	if (ingress_port)
		admit(voq, frames, len_bytes);
	rb_input_ask(&s->input);
}

static void offer(uint32_t voq, uint32_t frames, uint32_t len_bytes)
{
	offer_from(voq, 0, PORT, frames, len_bytes);
}

/* A frame of this number at the end of a VOQ's list. */
static void put(uint32_t voq, uint64_t number, uint32_t len_bytes)
{
	struct rb_frame frame = {
		.arrival_ns = number, .len_bytes = len_bytes, .ingress_port = PORT, .voq = 77
	};
	uint64_t offset = rb_chunk_take(w.chunks, RB_OWNER_INGRESS);

	assert_true(offset != RB_CHUNK_NONE);
	frame.offset = offset + RB_CHUNK_HEADROOM_BYTES;
	admit(voq, 1, len_bytes);
	rb_ingress_put(w.in, voq, &frame);
	check();
}

static bool fill(void)
{
	bool ready = rb_ingress_fill(w.in, w.delay_ns, w.now_ns, w.chunks, w.counters);

	check();
	return ready;
}

/* The message leaves. Returns how many frames it had. */
static uint32_t leave(void)
{
	const uint32_t n = w.in->pack.count;

	assert_true(w.n_sent + n <= N(w.sent));
	for (uint32_t k = 0; k < n; k++)
		w.sent[w.n_sent++] = w.in->pack.frame[k];
	rb_ingress_sent(w.in, w.counters);
	for (uint32_t k = 0; k < n; k++)
		rb_chunk_release(w.chunks, w.sent[w.n_sent - n + k].offset, RB_OWNER_INGRESS);
	check();
	return n;
}

/* Send messages until none is ready, at most so many. Returns how many. */
static uint32_t drain(uint32_t max)
{
	uint32_t n = 0;

	for (; n < max && fill(); n++)
		leave();
	return n;
}

static struct sl_passed sent_of(uint32_t voq)
{
	struct sl_passed sum = { 0 };

	for (uint32_t k = 0; k < w.n_sent; k++)
		if (w.sent[k].voq == voq) {
			sum.frames++;
			sum.bytes += w.sent[k].len_bytes;
		}
	return sum;
}

static uint32_t discard(uint32_t budget)
{
	uint32_t n = rb_ingress_discard(w.in, budget, w.chunks, w.counters);

	check();
	return n;
}

static uint64_t ready_at(void)
{
	return rb_ingress_ready_at(w.in, w.delay_ns, w.now_ns);
}

/* --- Tests --- */

static void ingress_limits_out_of_range_are_refused(void **state)
{
	static const struct {
		uint32_t node, n_voqs, frame_max, message_max, degree;
		int err;
	} cases[] = {
		{ NODE, 1, 1514, 4096, 1, 0 },
		{ RB_ID_SET_MAX - 1, RB_ID_SET_MAX, 1514, 4096, 255, 0 },
		{ RB_ID_SET_MAX, 1, 1514, 4096, 1, -EINVAL },
		{ NODE, 0, 1514, 4096, 1, -EINVAL },
		{ NODE, RB_ID_SET_MAX + 1, 1514, 4096, 1, -EINVAL },
		{ NODE, 1, 0, 4096, 1, -EINVAL },
		{ NODE, 1, 1514, 49, 1, -EINVAL },
		{ NODE, 1, 1514, 65536, 1, -EINVAL },
		{ NODE, 1, 1514, 4096, 0, -EINVAL },
		{ NODE, 1, 1514, 4096, 256, -EINVAL },
	};
	static struct rb_ingress_todo todo;

	(void)state;
	for (size_t i = 0; i < N(cases); i++) {
		struct rb_ingress *in = (void *)&todo;

		assert_int_equal(rb_ingress_open(&todo, NULL, cases[i].node, cases[i].n_voqs,
						 cases[i].frame_max, cases[i].message_max,
						 cases[i].degree, &in),
				 cases[i].err);
		assert_int_equal(in == NULL, cases[i].err != 0);
		rb_ingress_close(in, NULL, NULL);
	}
}

static void frames_of_a_list_leave_in_order_and_know_where_to(void **state)
{
	uint64_t next[VOQS] = { 0 };

	(void)state;
	begin(4096, 255);
	assert_false(fill());
	assert_false(rb_ingress_is_waiting(w.in));
	assert_false(rb_id_set_has(&w.todo.waiting, NODE));
	for (uint32_t k = 0; k < 100; k++)
		put(k % 3, k / 3, 60 + k);
	assert_true(rb_id_set_has(&w.todo.waiting, NODE));
	assert_true(rb_ingress_is_waiting(w.in));
	drain(UINT32_MAX);
	assert_int_equal(w.n_sent, 100);
	assert_false(rb_ingress_is_waiting(w.in));
	for (uint32_t k = 0; k < w.n_sent; k++) {
		const struct rb_frame *f = &w.sent[k];

		assert_in_range(f->voq, 0, 2);
		assert_int_equal(f->arrival_ns, next[f->voq]++);
		assert_int_equal(f->len_bytes, 60 + f->arrival_ns * 3 + f->voq);
		assert_int_equal(f->system_port, SL_SYSTEM_PORT(NODE, 1 + f->voq));
		assert_int_equal(f->class, f->voq % SL_CLASSES);
		assert_int_equal(f->ingress_port, PORT);
		assert_int_equal(f->flags, 0);
	}
	assert_int_equal(w.counters[RB_COUNT_INGRESS].bytes, w.counters[RB_COUNT_SENT].bytes);
	end();
}

static void frames_of_the_kernel_are_marked_and_in_no_backlog(void **state)
{
	(void)state;
	begin(4096, 4);
	offer_from(1, 0, 0, 3, 100);
	offer_from(1, 1, PORT, 1, 100);
	assert_int_equal(drain(1), 1);
	assert_int_equal(w.n_sent, 4);
	for (uint32_t k = 0; k < w.n_sent; k++)
		assert_int_equal(w.sent[k].flags,
				 w.sent[k].ingress_port ? 0 : RB_FRAME_FROM_KERNEL);
	assert_int_equal(w.backlog[1].dequeued.frames, 1);
	assert_int_equal(w.backlog[1].dequeued.bytes, 100);
	end();
}

/* One after the other, the VOQs read into the same buffer, and two into two. */
static void buffers_are_as_many_as_voqs_that_have_frames_at_once(void **state)
{
	(void)state;
	begin(4096, 255);
	assert_int_equal(w.pool.n_touched, 0);
	for (uint32_t i = 0; i < VOQS; i++) {
		put(i, i, 100);
		assert_int_equal(drain(UINT32_MAX), 1);
		assert_int_equal(w.pool.n_touched, 1);
	}
	/* Each of the largest frames is a turn of its own. */
	for (uint32_t k = 0; k < 6; k++)
		put(k % 2, VOQS + k, FRAME_MAX);
	drain(UINT32_MAX);
	assert_int_equal(w.pool.n_touched, 2);
	assert_int_equal(w.n_sent, VOQS + 6);
	end();
}

static void voqs_wait_for_a_buffer_and_lose_nothing(void **state)
{
	uint64_t next[VOQS] = { 0 };
	uint32_t rounds = 0;

	(void)state;
	begin(4096, 1);
	w.pool.n_ahead = 1;
	for (uint32_t k = 0; k < 120; k++)
		put(k % 3, k / 3, 100);
	while (w.n_sent < 120 && rounds++ < 1000)
		drain(UINT32_MAX);
	assert_int_equal(w.n_sent, 120);
	for (uint32_t k = 0; k < w.n_sent; k++)
		assert_int_equal(w.sent[k].arrival_ns, next[w.sent[k].voq]++);
	assert_int_equal(w.pool.n_touched, 1);
	end();
}

/* Reading ahead takes up to RB_READ_AHEAD frames from one source, and then it is another's turn. */
static void sources_of_a_voq_take_turns(void **state)
{
	uint32_t taken[3] = { 0 };

	(void)state;
	begin(65535, 1);
	offer_from(0, 0, PORT, 200, 60);
	offer_from(0, 1, PORT, 200, 60);
	for (uint32_t k = 0; k < 200; k++)
		put(0, k, 60);
	for (uint32_t round = 1; round <= 6; round++) {
		assert_int_equal(drain(3 * RB_READ_AHEAD), 3 * RB_READ_AHEAD);
		memset(taken, 0, sizeof(taken));
		for (uint32_t k = 0; k < w.n_sent; k++)
			taken[w.sent[k].arrival_ns / 100000]++;
		for (uint32_t k = 0; k < 3; k++)
			assert_int_equal(taken[k], round * RB_READ_AHEAD);
	}
	/* A source that is empty takes no turn. */
	assert_int_equal(drain(UINT32_MAX), 600 - 6 * 3 * RB_READ_AHEAD);
	assert_int_equal(w.n_sent, 600);
	end();
}

static void input_is_read_when_it_asks_and_no_other_is(void **state)
{
	(void)state;
	begin(4096, 255);
	fill(); /* an input that is added is asked once */
	for (uint32_t i = 0; i < VOQS; i++)
		w.source[i][0].reads = w.source[i][1].reads = 0;
	rb_id_set_collect(&w.todo.asked, &w.todo.waiting);
	w.todo.waiting = (struct rb_id_set){ 0 };
	fill();
	assert_int_equal(w.source[3][0].reads, 0);
	offer(3, 2, 60);
	assert_true(rb_id_set_has(&w.todo.asked, NODE));
	assert_true(fill());
	assert_true(rb_id_set_has(&w.todo.waiting, NODE));
	leave();
	assert_int_equal(w.n_sent, 2);
	for (uint32_t i = 0; i < VOQS; i++)
		assert_int_equal(w.source[i][0].reads > 0, i == 3);
	end();
}

static void removed_input_is_not_read_and_may_still_ask(void **state)
{
	struct source *s;

	(void)state;
	begin(65535, 1);
	s = &w.source[1][0];
	offer(1, 100, 60);
	assert_true(fill()); /* reads ahead */
	rb_ingress_remove_input(w.in, 1, &s->input);
	assert_null(s->input.ingress);
	s->reads = 0;
	rb_input_ask(&s->input);
	leave();
	drain(UINT32_MAX);
	assert_int_equal(w.n_sent, RB_READ_AHEAD); /* what was read stays */
	assert_int_equal(s->reads, 0);
	/* The VOQ's other sources go on. */
	offer_from(1, 1, PORT, 10, 60);
	drain(UINT32_MAX);
	assert_int_equal(w.n_sent, RB_READ_AHEAD + 10);
	/* And it may come back. */
	rb_ingress_add_input(w.in, 1, &s->input);
	drain(UINT32_MAX);
	assert_int_equal(w.n_sent, 110);
	end();
}

static void removing_an_input_takes_no_turn_from_the_others(void **state)
{
	struct rb_voq *voq;
	struct rb_input *next;

	(void)state;
	begin(65535, 1);
	voq = &w.in->voqs[0];
	for (uint32_t k = 0; k < INPUTS; k++)
		offer_from(0, k, PORT, 100, 60);
	for (uint32_t k = 0; k < 3; k++) { /* wherever the turn is */
		const struct rb_input *turn;

		drain(RB_READ_AHEAD);
		turn = voq->turn;
		rb_ingress_remove_input(w.in, 0, &w.source[1][0].input); /* of another VOQ */
		assert_ptr_equal(voq->turn, turn);
		assert_ptr_equal(w.source[1][0].input.ingress, w.in);
	}
	while (voq->turn != &w.source[0][0].input)
		drain(1);
	rb_ingress_remove_input(w.in, 0, &w.source[0][1].input);
	assert_ptr_equal(voq->turn, &w.source[0][0].input);
	/* The one in turn goes: the turn is the next one's, or the first one's after the last. */
	next = voq->turn->next ? voq->turn->next : voq->inputs;
	rb_ingress_remove_input(w.in, 0, voq->turn);
	assert_ptr_equal(voq->turn, next);
	rb_ingress_remove_input(w.in, 0, voq->turn);
	assert_null(voq->turn);
	offer_from(0, 0, PORT, 0, 60);
	drain(UINT32_MAX);
	end();
}

/*
 * What a token bucket promises: by any time no more than burst + rate * time and the rest of one
 * frame, and no less than rate * time once a frame always waits. (The bursts here are no less than
 * what comes between two looks at the VOQ.)
 */
static void voq_keeps_to_the_rate_in_its_settings(void **state)
{
	static const struct {
		struct sl_voq settings;
		uint32_t len_bytes;
	} cases[] = {
		{ { .rate = 10000, .burst = 1 }, 60 },
		{ { .rate = 10000, .burst = 20 }, 1514 },
		{ { .rate = 1000000, .burst = 1500, .unit = SL_UNIT_BYTES }, 100 },
		{ { .rate = 3000000, .burst = 200, .unit = SL_UNIT_BYTES }, 1514 },
	};

	(void)state;
	for (size_t c = 0; c < N(cases); c++) {
		const struct sl_voq *s = &cases[c].settings;
		const uint32_t cost = s->unit == SL_UNIT_BYTES ? cases[c].len_bytes : 1;
		uint64_t promised;

		begin(65535, 1);
		w.settings[4] = *s;
		rb_ingress_set_voq(w.in, 4, SL_SYSTEM_PORT(NODE, 5), 0, &w.settings[4],
				   &w.backlog[4], w.now_ns);
		offer(4, 5000, cases[c].len_bytes);
		for (uint64_t t = 0; t <= 100 * MS; t += 50 * US) {
			uint64_t units;

			w.now_ns = SECOND + t;
			drain(UINT32_MAX);
			units = (uint64_t)w.n_sent * cost;
			promised = s->rate * t / SECOND;
			assert_in_range(units, promised, promised + s->burst + cost);
		}
		/* A rate that someone writes holds from the next frame on. */
		w.settings[4].rate = 0;
		w.n_sent = 0;
		w.now_ns += SECOND;
		assert_int_equal(drain(UINT32_MAX), 0);
		assert_true(ready_at() == UINT64_MAX);
		w.settings[4].rate = SL_RATE_UNLIMITED;
		drain(UINT32_MAX);
		assert_int_equal(w.backlog[4].dequeued.frames, 5000);
		end();
	}
}

/*
 * Deficit round robin: what two VOQs that always have frames have sent never differs by more than
 * three times the largest frame, which is the quantum (Shreedhar and Varghese, 1995).
 */
static void voqs_share_by_bytes_and_one_that_is_stopped_costs_nothing(void **state)
{
	static const uint32_t cases[][2] = {
		{ 60, 60 }, { 100, 1000 }, { 1514, 60 }, { 1514, 1514 }, { 777, 778 }
	};

	(void)state;
	for (size_t c = 0; c < N(cases); c++) {
		uint64_t a = 0, b = 0;
		uint32_t seen = 0;

		begin(4096, 4);
		w.settings[2].rate = 0;
		offer(0, 3000, cases[c][0]);
		offer(1, 3000, cases[c][1]);
		offer(2, 3000, 1000);
		while (a < 150000 && b < 150000) {
			assert_int_equal(drain(1), 1);
			for (; seen < w.n_sent; seen++)
				*(w.sent[seen].voq ? &b : &a) += w.sent[seen].len_bytes;
			assert_in_range(a + 3ULL * FRAME_MAX - b, 0, 6ULL * FRAME_MAX);
		}
		assert_int_equal(sent_of(0).bytes, a);
		assert_int_equal(sent_of(1).bytes, b);
		assert_int_equal(sent_of(2).frames, 0);
		end();
	}
}

static void chosen_frame_without_room_leads_the_next_message(void **state)
{
	(void)state;
	begin(24 + 3 * (12 + 100), 255);
	offer(0, 19, 100); /* at last only the held one is left */
	for (uint32_t message = 0; message < 6; message++) {
		assert_true(fill());
		assert_int_equal(w.in->pack.count, 3);
		assert_int_equal(w.in->pack.bytes, 24 + 3 * (12 + 100));
		assert_true(w.in->held);
		/* It has left its VOQ, and nothing more does until the message has left. */
		assert_int_equal(w.backlog[0].dequeued.frames, message * 3 + 4);
		assert_true(fill());
		assert_int_equal(w.backlog[0].dequeued.frames, message * 3 + 4);
		assert_true(ready_at() == w.now_ns);
		leave();
		assert_true(rb_ingress_holds(w.in));
		assert_true(rb_ingress_is_waiting(w.in));
		assert_true(ready_at() == w.now_ns);
	}
	assert_true(fill());
	assert_int_equal(leave(), 1);
	for (uint32_t k = 0; k < w.n_sent; k++)
		assert_int_equal(w.sent[k].arrival_ns, w.source[0][0].first_number + k);
	assert_false(rb_ingress_is_waiting(w.in));
	end();
}

static void message_is_full_at_its_degree(void **state)
{
	(void)state;
	begin(65535, 7);
	offer(0, 15, 60);
	w.delay_ns = SECOND;
	assert_true(fill());
	assert_int_equal(w.in->pack.count, 7);
	assert_false(w.in->held);
	assert_int_equal(w.backlog[0].dequeued.frames, 7);
	leave();
	assert_true(fill());
	assert_int_equal(leave(), 7);
	assert_false(fill());
	assert_int_equal(w.in->pack.count, 1);
	end();
}

static void frame_that_fits_no_message_is_dropped_by_name(void **state)
{
	(void)state;
	begin(1024, 255);
	offer(0, 3, 1024 - 36);
	offer(1, 5, 1024 - 35);
	offer_from(2, 0, 0, 2, 1500); /* of the kernel */
	drain(UINT32_MAX);
	assert_int_equal(w.n_sent, 3);
	assert_int_equal(sent_of(0).frames, 3);
	assert_int_equal(count(RB_COUNT_DROP_TOO_BIG), 7);
	assert_int_equal(w.counters[RB_COUNT_DROP_TOO_BIG].bytes, 5 * 989 + 2 * 1500);
	assert_int_equal(w.backlog[0].too_big, 0);
	assert_int_equal(w.backlog[1].too_big, 5);
	assert_int_equal(w.backlog[1].dequeued.frames, 5);
	assert_int_equal(w.backlog[2].too_big, 0);
	assert_int_equal(w.backlog[1].peer_down, 0);
	end();
}

static void message_waits_for_more_frames_from_its_first_one_on(void **state)
{
	(void)state;
	begin(24 + 3 * (12 + 100), 255);
	w.delay_ns = 100 * US;
	offer(0, 1, 100);
	assert_false(fill());
	assert_true(ready_at() == SECOND + 100 * US);
	w.now_ns = SECOND + 60 * US;
	offer(1, 1, 100);
	assert_false(fill());
	assert_int_equal(w.in->pack.count, 2);
	assert_true(ready_at() == SECOND + 100 * US);
	w.now_ns = SECOND + 100 * US - 1;
	assert_false(fill());
	w.now_ns = SECOND + 100 * US;
	assert_true(fill());
	assert_true(ready_at() == w.now_ns);
	leave();
	/* One that is full does not wait, and a frame held for the next one opens it. */
	offer(0, 4, 100);
	assert_true(fill());
	leave();
	w.now_ns += 10 * US;
	assert_false(fill());
	assert_true(ready_at() == w.now_ns + 100 * US);
	w.now_ns += 100 * US;
	assert_true(fill());
	assert_int_equal(leave(), 1);
	assert_true(ready_at() == UINT64_MAX);
	end();
}

/* At the time that it names a frame leaves, and a nanosecond before none does. */
static void ready_at_is_when_the_first_paced_frame_leaves(void **state)
{
	uint64_t at_ns;

	(void)state;
	begin(65535, 1);
	assert_true(ready_at() == UINT64_MAX);
	w.settings[0] = (struct sl_voq){ .rate = 1000, .burst = 1 };
	w.settings[1] = (struct sl_voq){ .rate = 3000, .burst = 1 };
	w.settings[2] = (struct sl_voq){ .rate = 0 };
	for (uint32_t i = 0; i < 3; i++)
		offer(i, 50, 60);
	drain(UINT32_MAX);
	for (uint32_t k = 0; k < 40; k++) {
		const uint32_t before = w.n_sent;

		at_ns = ready_at();
		assert_in_range(at_ns, w.now_ns + 1, w.now_ns + SECOND / 3000 + 1);
		w.now_ns = at_ns - 1;
		assert_int_equal(drain(UINT32_MAX), 0);
		w.now_ns = at_ns;
		drain(UINT32_MAX);
		assert_true(w.n_sent > before);
	}
	assert_int_equal(sent_of(2).frames, 0);
	end();
}

static void discard_drops_what_was_packed_and_what_waits_up_to_the_budget(void **state)
{
	(void)state;
	begin(24 + 3 * (12 + 100), 255);
	for (uint32_t i = 0; i < 3; i++)
		offer(i, 100, 100);
	offer_from(3, 1, 0, 5, 100);
	w.settings[1].rate = 0; /* nor does it wait for a rate */
	assert_true(fill());
	assert_true(w.in->held);
	assert_int_equal(discard(0), 4);
	assert_int_equal(count(RB_COUNT_DROP_PEER_DOWN), 4);
	assert_false(rb_ingress_holds(w.in));
	assert_int_equal(discard(10), 4 * 10);
	for (uint32_t n = 0; rb_ingress_is_waiting(w.in); n++) {
		assert_true(n < 100);
		assert_true(discard(10) <= 4 * 10);
	}
	assert_int_equal(discard(10), 0);
	assert_int_equal(count(RB_COUNT_DROP_PEER_DOWN), 305);
	assert_int_equal(w.counters[RB_COUNT_DROP_PEER_DOWN].bytes, 30500);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(w.backlog[i].peer_down, 100);
	assert_int_equal(w.backlog[3].peer_down, 0); /* the kernel's */
	assert_int_equal(w.chunks->n_free, CHUNKS);
	/* Then all is as before. */
	offer(0, 3, 100);
	assert_true(fill());
	assert_int_equal(leave(), 3);
	end();
}

static void close_drops_what_it_holds_and_reads_no_input(void **state)
{
	(void)state;
	begin(24 + 2 * (12 + 100), 255);
	for (uint32_t k = 0; k < 50; k++)
		put(2, k, 100);
	for (uint32_t k = 0; k < INPUTS; k++)
		offer_from(0, k, PORT, 40, 100);
	assert_true(fill()); /* reads 32 of one of them ahead */
	for (uint32_t k = 0; k < INPUTS; k++) {
		w.source[0][k].reads = 0;
		/* What its owner still has in the input is the owner's. */
		w.backlog[0].enqueued.frames -= w.source[0][k].to_make;
	}
	rb_ingress_close(w.in, w.chunks, w.counters);
	for (uint32_t k = 0; k < INPUTS; k++)
		assert_int_equal(w.source[0][k].reads, 0);
	assert_int_equal(count(RB_COUNT_DROP_PEER_DOWN), 50 + 32);
	assert_int_equal(w.backlog[2].peer_down, 50);
	assert_int_equal(w.backlog[0].peer_down, 32);
	assert_int_equal(w.backlog[0].dequeued.frames, w.backlog[0].enqueued.frames);
	assert_int_equal(w.chunks->n_free, CHUNKS);
	rb_frame_pool_fini(&w.pool);
	rb_chunks_destroy(w.chunks);
	free(w.area);
}

static void side_is_busy_once_a_frame_has_left_a_backlog(void **state)
{
	uint32_t busy = 0;

	(void)state;
	begin(65535, 1);
	w.in->busy = &busy;
	w.settings[0].rate = 0;
	offer(0, 2, 60);
	fill();
	assert_int_equal(busy, 0);
	assert_false(rb_id_set_has(&w.todo.busy, NODE));
	w.settings[0].rate = SL_RATE_UNLIMITED;
	fill();
	assert_int_equal(busy, 1);
	assert_true(rb_id_set_has(&w.todo.busy, NODE));
	/* It stays so until someone knows that the frames have reached the network. */
	leave();
	assert_int_equal(busy, 1);
	busy = 0;
	rb_id_set_remove(&w.todo.busy, NODE);
	assert_int_equal(discard(1), 1);
	assert_int_equal(busy, 1);
	assert_true(rb_id_set_has(&w.todo.busy, NODE));
	end();
}

static void delivered_frames_leave_without_a_message(void **state)
{
	(void)state;
	begin(65535, 2);
	offer(0, 4, 60);
	for (uint32_t k = 0; k < 2; k++) {
		assert_true(fill());
		for (uint32_t i = 0; i < 2; i++)
			rb_chunk_release(w.chunks, w.in->pack.frame[i].offset, RB_OWNER_INGRESS);
		rb_ingress_delivered(w.in);
		w.delivered += 2;
		check();
	}
	assert_false(fill());
	assert_int_equal(count(RB_COUNT_SENT), 0);
	end();
}

static void limits_change_between_messages_only(void **state)
{
	(void)state;
	begin(4096, 3);
	offer(0, 6, 1000);
	assert_int_equal(rb_ingress_set_limits(w.in, 4096, 2), 0);
	assert_true(fill());
	assert_int_equal(w.in->pack.count, 2);
	assert_int_equal(rb_ingress_set_limits(w.in, 4096, 1), -EBUSY);
	leave();
	assert_int_equal(rb_ingress_set_limits(w.in, 4096, 0), -EINVAL);
	assert_int_equal(rb_ingress_set_limits(w.in, 65536, 1), -EINVAL);
	assert_int_equal(rb_ingress_set_limits(w.in, 24 + 12 + 1000, 3), 0);
	assert_true(fill());
	assert_int_equal(w.in->pack.count, 1);
	assert_true(w.in->held);
	leave();
	/* A frame held for the next message meets the limit of that one. */
	assert_int_equal(rb_ingress_set_limits(w.in, 24 + 12 + 999, 3), 0);
	drain(UINT32_MAX);
	assert_int_equal(w.n_sent, 3);
	assert_int_equal(count(RB_COUNT_DROP_TOO_BIG), 3);
	assert_int_equal(w.backlog[0].too_big, 3);
	end();
}

static void on_taken(void *context, uint32_t len_bytes)
{
	struct sl_passed *sum = context;

	sum->frames++;
	sum->bytes += len_bytes;
}

static void controller_learns_what_left_and_when_nothing_waited(void **state)
{
	struct sl_passed told = { 0 };
	struct rb_voq *voq;

	(void)state;
	begin(1024, 8);
	voq = &w.in->voqs[1];
	voq->on_taken = on_taken;
	voq->taken_context = &told;
	w.settings[1].rate = 0;
	offer(1, 40, 100);
	offer(0, 10, 200);
	fill();
	voq->ran_empty = false;
	leave();
	assert_int_equal(told.frames, 0);
	w.settings[1].rate = SL_RATE_UNLIMITED;
	assert_true(fill());
	while (told.frames <= RB_READ_AHEAD)
		assert_int_equal(drain(1), 1);
	assert_false(voq->ran_empty); /* as long as frames wait in it */
	drain(UINT32_MAX);
	assert_true(voq->ran_empty);
	assert_int_equal(told.frames, 40);
	/* A drop counts as well. */
	offer(1, 2, 1200);
	drain(UINT32_MAX);
	offer(1, 5, 300);
	discard(64);
	assert_int_equal(told.frames, 47);
	assert_int_equal(told.bytes, 40 * 100 + 2 * 1200 + 5 * 300);
	assert_int_equal(voq->taken.packets, told.frames);
	assert_int_equal(voq->taken.bytes, told.bytes);
	assert_int_equal(w.in->voqs[0].taken.packets, 10);
	end();
}

/* The bucket is in the backlog: XDP spends from it, too. */
static void voq_shares_its_bucket_with_xdp(void **state)
{
	(void)state;
	begin(65535, 1);
	w.settings[4] = (struct sl_voq){ .rate = 1000, .burst = 5 };
	rb_ingress_set_voq(w.in, 4, SL_SYSTEM_PORT(NODE, 5), 0, &w.settings[4], &w.backlog[4],
			   w.now_ns);
	w.backlog[4].clock += 3 * SL_TICKS_PER_SECOND / 1000; /* XDP sent 3 */
	offer(4, 5, 60);
	assert_int_equal(drain(UINT32_MAX), 2);
	assert_int_equal(ready_at(), w.now_ns + 1);
	w.now_ns += 2 * MS;
	assert_int_equal(drain(UINT32_MAX), 2);
	assert_int_equal(w.backlog[4].clock, (w.now_ns + 5 * MS) * SL_TICKS_PER_NS);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ingress_limits_out_of_range_are_refused),
		cmocka_unit_test(frames_of_a_list_leave_in_order_and_know_where_to),
		cmocka_unit_test(frames_of_the_kernel_are_marked_and_in_no_backlog),
		cmocka_unit_test(buffers_are_as_many_as_voqs_that_have_frames_at_once),
		cmocka_unit_test(voqs_wait_for_a_buffer_and_lose_nothing),
		cmocka_unit_test(sources_of_a_voq_take_turns),
		cmocka_unit_test(input_is_read_when_it_asks_and_no_other_is),
		cmocka_unit_test(removed_input_is_not_read_and_may_still_ask),
		cmocka_unit_test(removing_an_input_takes_no_turn_from_the_others),
		cmocka_unit_test(voq_keeps_to_the_rate_in_its_settings),
		cmocka_unit_test(voqs_share_by_bytes_and_one_that_is_stopped_costs_nothing),
		cmocka_unit_test(chosen_frame_without_room_leads_the_next_message),
		cmocka_unit_test(message_is_full_at_its_degree),
		cmocka_unit_test(frame_that_fits_no_message_is_dropped_by_name),
		cmocka_unit_test(message_waits_for_more_frames_from_its_first_one_on),
		cmocka_unit_test(ready_at_is_when_the_first_paced_frame_leaves),
		cmocka_unit_test(discard_drops_what_was_packed_and_what_waits_up_to_the_budget),
		cmocka_unit_test(close_drops_what_it_holds_and_reads_no_input),
		cmocka_unit_test(side_is_busy_once_a_frame_has_left_a_backlog),
		cmocka_unit_test(delivered_frames_leave_without_a_message),
		cmocka_unit_test(limits_change_between_messages_only),
		cmocka_unit_test(controller_learns_what_left_and_when_nothing_waited),
		cmocka_unit_test(voq_shares_its_bucket_with_xdp),
	};
	return cmocka_run_group_tests_name("ingress", tests, NULL, NULL);
}
