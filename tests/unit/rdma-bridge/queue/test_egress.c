/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queues of an edge port by themselves, with a transmit back end of the test and no worker.
 * After each step every frame that arrived and every chunk is accounted for.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rdma-bridge/queue/egress.h"

#define N(array)    (sizeof(array) / sizeof((array)[0]))
#define CHUNKS	    2048
#define CHUNK_BYTES 2048
#define US	    1000ULL
#define MS	    1000000ULL
#define SECOND	    1000000000ULL

/* What a port sends by. It keeps each frame that it was given until it is told to be done. */
struct sink {
	struct rb_tx tx;
	uint32_t room;
	int flushed; /* what flush returns */
	uint32_t flushes;
	struct rb_frame held[CHUNKS]; /* the oldest first */
	uint32_t n_held, n_done;      /* it is done with the first of them */
	uint32_t taken, closed;
	uint64_t class_bytes[SL_CLASSES];
	uint32_t class_frames[SL_CLASSES];
};

static struct {
	uint8_t *area;
	struct rb_chunks *chunks;
	struct rb_egress_config config;
	struct rb_egress_port *port;
	struct sink sink[2];
	struct sl_counter counters[RB_COUNT_COUNT];
	uint64_t now_ns;
	uint64_t put_frames, put_bytes;
	uint32_t gone; /* frames that a back end had when it was closed */
} w;

static struct sink *sink_of(struct rb_tx *tx)
{
	return (struct sink *)tx;
}

static void sink_close(struct rb_tx *tx)
{
	w.gone += sink_of(tx)->n_held;
	sink_of(tx)->closed++;
}

static uint32_t sink_room(struct rb_tx *tx)
{
	return sink_of(tx)->room;
}

static uint32_t sink_put(struct rb_tx *tx, const struct rb_frame *frames, uint32_t n)
{
	struct sink *s = sink_of(tx);

	assert_true(n <= s->room);
	for (uint32_t k = 0; k < n; k++) {
		assert_true(s->n_held < N(s->held));
		s->held[s->n_held++] = frames[k];
		s->class_frames[frames[k].class]++;
		s->class_bytes[frames[k].class] += frames[k].len_bytes;
	}
	s->room -= n;
	s->taken += n;
	return n;
}

static int sink_flush(struct rb_tx *tx)
{
	sink_of(tx)->flushes++;
	return sink_of(tx)->flushed;
}

static uint32_t sink_reap(struct rb_tx *tx, uint64_t *offsets, uint32_t max)
{
	struct sink *s = sink_of(tx);
	uint32_t n = s->n_done < max ? s->n_done : max;

	for (uint32_t k = 0; k < n; k++)
		offsets[k] = s->held[k].offset;
	s->n_held -= n;
	s->n_done -= n;
	memmove(s->held, s->held + n, s->n_held * sizeof(s->held[0]));
	return n;
}

static const struct rb_tx_ops sink_ops = {
	.name = "sink",
	.close = sink_close,
	.room = sink_room,
	.put = sink_put,
	.flush = sink_flush,
	.reap = sink_reap,
};

/* Its classes have level 0, weight 1, 1024 frames; no rate. */
static struct rb_egress_config plain(void)
{
	struct rb_egress_config config = { .system_port = SL_SYSTEM_PORT(2, 1),
					   .rate = SL_RATE_UNLIMITED,
					   .burst = 1 };

	for (uint32_t c = 0; c < SL_CLASSES; c++)
		config.class[c] =
			(struct rb_egress_class_config){ .weight = 1, .limit_frames = 1024 };
	return config;
}

static void set_tx(struct sink *sink)
{
	rb_egress_set_tx(w.port, sink ? &sink->tx : NULL, w.chunks, w.counters);
}

static void begin(const struct rb_egress_config *config)
{
	memset(&w, 0, sizeof(w));
	w.now_ns = SECOND;
	w.area = malloc((size_t)CHUNKS * CHUNK_BYTES);
	assert_non_null(w.area);
	assert_int_equal(rb_chunks_create(w.area, 0, CHUNKS, CHUNK_BYTES, &w.chunks), 0);
	assert_int_equal(rb_egress_open(config, w.now_ns, &w.port), 0);
	for (size_t i = 0; i < N(w.sink); i++)
		w.sink[i] = (struct sink){ .tx = { .ops = &sink_ops }, .room = UINT32_MAX };
	set_tx(&w.sink[0]);
}

static uint64_t count(enum rb_frame_counter which)
{
	return w.counters[which].packets;
}

/* True after each step, if each frame has a chunk of its own. */
static void check(void)
{
	uint64_t arrived = 0, bytes = 0, departed = 0, dropped = 0, waiting = 0;

	for (uint32_t c = 0; c < SL_CLASSES; c++) {
		const struct rb_egress_queue *q = &w.port->queue[c];

		assert_int_equal(q->arrived.packets, q->departed.packets + q->dropped.packets +
							     rb_egress_backlog(w.port, c));
		arrived += q->arrived.packets;
		bytes += q->arrived.bytes;
		departed += q->departed.packets;
		dropped += q->dropped.packets;
		waiting += rb_egress_backlog(w.port, c);
	}
	assert_int_equal(arrived, w.put_frames);
	assert_int_equal(bytes, w.put_bytes);
	assert_int_equal(departed, w.sink[0].taken + w.sink[1].taken);
	assert_int_equal(dropped, count(RB_COUNT_DROP_QUEUE_FULL) + count(RB_COUNT_DROP_PORT_DOWN));
	assert_int_equal(departed, count(RB_COUNT_TRANSMITTED) + count(RB_COUNT_DROP_TRANSMIT) +
					   w.port->under_way.packets);
	assert_int_equal(w.port->n_waiting, waiting);
	assert_int_equal(rb_egress_is_idle(w.port), waiting == 0 && w.port->lent == 0);
	assert_int_equal(w.chunks->count[RB_OWNER_MESSAGE], waiting + w.port->lent + w.gone);
	assert_int_equal(w.chunks->violations, 0);
}

static void end(void)
{
	struct sink *s = w.port->tx ? sink_of(w.port->tx) : NULL;

	check();
	if (s)
		s->n_done = s->n_held;
	rb_egress_close(w.port, w.chunks, w.counters);
	assert_int_equal(w.chunks->n_free, CHUNKS - w.gone);
	assert_int_equal(w.chunks->violations, 0);
	rb_chunks_destroy(w.chunks);
	free(w.area);
}

/* Frames of a class from a node arrive, each in a message of its own. */
static void put_from(uint8_t source, uint32_t class, uint32_t frames, uint32_t len_bytes)
{
	for (uint32_t k = 0; k < frames; k++) {
		struct rb_frame frame = { .arrival_ns = w.put_frames,
					  .len_bytes = len_bytes,
					  .class = (uint8_t) class,
					  .source = source };

		frame.offset = rb_chunk_take(w.chunks, RB_OWNER_MESSAGE);
		assert_true(frame.offset != RB_CHUNK_NONE);
		w.put_frames++;
		w.put_bytes += len_bytes;
		rb_egress_enqueue(w.port, &frame, w.chunks, w.counters, w.now_ns);
		check();
	}
}

static void put(uint32_t class, uint32_t frames, uint32_t len_bytes)
{
	put_from(1, class, frames, len_bytes);
}

static uint32_t serve(uint32_t budget)
{
	uint32_t n = rb_egress_serve(w.port, budget, w.chunks, w.counters, w.now_ns);

	check();
	return n;
}

static int flush(void)
{
	int err = rb_egress_flush(w.port, w.chunks, w.counters);

	check();
	return err;
}

/* Let the port's back end be done with n frames, and take them back. */
static void reap(struct sink *sink, uint32_t n)
{
	sink->n_done = n;
	rb_egress_reap(w.port, w.chunks, w.now_ns, w.now_ns);
	check();
}

/* --- Tests --- */

static void port_values_out_of_range_are_refused(void **state)
{
	static const struct {
		struct rb_egress_class_config class;
		int err;
	} cases[] = {
		{ { .level = 7, .weight = 1024, .limit_frames = 1 << 20 }, 0 },
		{ { .level = 0, .weight = 1, .limit_frames = 1 }, 0 },
		{ { .level = 8, .weight = 1, .limit_frames = 1 }, -EINVAL },
		{ { .level = 0, .weight = 0, .limit_frames = 1 }, -EINVAL },
		{ { .level = 0, .weight = 1025, .limit_frames = 1 }, -EINVAL },
		{ { .level = 0, .weight = 1, .limit_frames = 0 }, -EINVAL },
		{ { .level = 0, .weight = 1, .limit_frames = (1 << 20) + 1 }, -EINVAL },
	};

	(void)state;
	for (size_t i = 0; i < N(cases); i++) {
		struct rb_egress_config config = plain();
		struct rb_egress_port *port = (void *)&config;

		config.class[SL_CLASSES - 1] = cases[i].class;
		assert_int_equal(rb_egress_open(&config, SECOND, &port), cases[i].err);
		assert_int_equal(port == NULL, cases[i].err != 0);
		rb_egress_close(port, NULL, NULL);
	}
}

static void queue_takes_its_limit_and_drops_the_rest_by_name(void **state)
{
	static const uint32_t cases[][2] = {
		{ 1, 1 }, { 2, 2 }, { 3, 4 }, { 512, 512 }, { 513, 1024 }
	};

	(void)state;
	for (size_t i = 0; i < N(cases); i++) {
		struct rb_egress_config config = plain();

		config.class[2].limit_frames = cases[i][0];
		begin(&config);
		put(2, cases[i][1], 60);
		assert_int_equal(count(RB_COUNT_DROP_QUEUE_FULL), 0);
		put(2, 3, 100);
		assert_int_equal(count(RB_COUNT_DROP_QUEUE_FULL), 3);
		assert_int_equal(w.counters[RB_COUNT_DROP_QUEUE_FULL].bytes, 300);
		assert_int_equal(w.port->queue[2].dropped.bytes, 300);
		assert_int_equal(rb_egress_backlog(w.port, 2), cases[i][1]);
		/*
		 * The other classes have room of their own, and one that leaves makes room for one.
		 */
		put(1, 1, 60);
		assert_int_equal(rb_egress_backlog(w.port, 1), 1);
		while (rb_egress_backlog(w.port, 2) == cases[i][1])
			assert_int_equal(serve(1), 1);
		put(2, 2, 60);
		assert_int_equal(count(RB_COUNT_DROP_QUEUE_FULL), 4);
		end();
	}
}

static void frames_of_a_class_leave_in_order_as_they_came(void **state)
{
	struct rb_egress_config config = plain();
	uint64_t next = 0;

	(void)state;
	begin(&config);
	for (uint32_t k = 0; k < 300; k++)
		put(1, 1, 60 + k);
	while (serve(7) > 0)
		for (; next < w.sink[0].n_held; next++) {
			assert_int_equal(w.sink[0].held[next].arrival_ns, next);
			assert_int_equal(w.sink[0].held[next].len_bytes, 60 + next);
		}
	assert_int_equal(next, 300);
	end();
}

static void higher_level_goes_first(void **state)
{
	struct rb_egress_config config = plain();

	(void)state;
	config.class[3].level = 7;
	config.class[2].level = 1;
	begin(&config);
	put(0, 10, 60);
	put(2, 10, 60);
	assert_int_equal(serve(5), 5);
	assert_int_equal(w.sink[0].class_frames[2], 5);
	put(3, 5, 1514);
	assert_int_equal(serve(7), 7);
	assert_int_equal(w.sink[0].class_frames[3], 5);
	assert_int_equal(w.sink[0].class_frames[2], 7);
	assert_int_equal(w.sink[0].class_frames[0], 0);
	assert_int_equal(serve(100), 13);
	assert_int_equal(w.sink[0].class_frames[0], 10);
	end();
}

/*
 * What two classes that always have frames were served, by their weights, never differs by more
 * than their largest frames by their weights (Golestani, 1994).
 */
static void classes_share_by_weight_in_the_unit_of_the_rate(void **state)
{
	static const struct {
		enum sl_unit unit;
		uint32_t weight[2], len_bytes[2];
	} cases[] = {
		{ SL_UNIT_FRAMES, { 1, 1 }, { 60, 1514 } },
		{ SL_UNIT_FRAMES, { 1, 3 }, { 1514, 60 } },
		{ SL_UNIT_FRAMES, { 5, 2 }, { 100, 100 } },
		{ SL_UNIT_BYTES, { 1, 1 }, { 60, 1514 } },
		{ SL_UNIT_BYTES, { 1, 3 }, { 1514, 60 } },
		{ SL_UNIT_BYTES, { 5, 2 }, { 700, 600 } },
	};

	(void)state;
	for (size_t i = 0; i < N(cases); i++) {
		struct rb_egress_config config = plain();
		const struct sink *s = &w.sink[0];
		uint32_t n;

		config.unit = cases[i].unit;
		for (uint32_t c = 0; c < 2; c++)
			config.class[c].weight = cases[i].weight[c];
		begin(&config);
		for (uint32_t c = 0; c < 2; c++)
			put(c, 500, cases[i].len_bytes[c]);
		for (n = 0; rb_egress_backlog(w.port, 0) && rb_egress_backlog(w.port, 1); n++) {
			double share[2], most = 0;

			assert_int_equal(serve(1), 1);
			for (uint32_t c = 0; c < 2; c++) {
				const bool bytes = cases[i].unit == SL_UNIT_BYTES;

				share[c] =
					(double)(bytes ? s->class_bytes[c] : s->class_frames[c]) /
					cases[i].weight[c];
				most += (bytes ? cases[i].len_bytes[c] : 1.0) / cases[i].weight[c];
			}
			/* A weight is kept as its inverse, with 30 fraction bits. */
			assert_true(share[0] - share[1] <= most * 1.0001);
			assert_true(share[1] - share[0] <= most * 1.0001);
		}
		assert_true(n >= 500);
		end();
	}
}

/* What a token bucket promises, as in test_ingress.c. */
static void port_keeps_to_its_rate(void **state)
{
	static const struct {
		uint64_t rate;
		uint32_t unit, burst, len_bytes;
	} cases[] = {
		{ 10000, SL_UNIT_FRAMES, 1, 60 },
		{ 10000, SL_UNIT_FRAMES, 32, 1514 },
		{ 1000000, SL_UNIT_BYTES, 1500, 100 },
		{ 3000000, SL_UNIT_BYTES, 200, 1514 },
	};

	(void)state;
	for (size_t i = 0; i < N(cases); i++) {
		struct rb_egress_config config = plain();
		const uint32_t cost = cases[i].unit == SL_UNIT_BYTES ? cases[i].len_bytes : 1;

		config.rate = cases[i].rate;
		config.unit = cases[i].unit;
		config.burst = cases[i].burst;
		begin(&config);
		for (uint64_t t = 0; t <= 100 * MS; t += 50 * US) {
			uint64_t units, promised = cases[i].rate * t / SECOND;

			while (rb_egress_backlog(w.port, 0) < 100)
				put(0, 1, cases[i].len_bytes);
			w.now_ns = SECOND + t;
			serve(64);
			reap(&w.sink[0], w.sink[0].n_held);
			units = (uint64_t)w.sink[0].taken * cost;
			assert_in_range(units, promised, promised + cases[i].burst + cost);
		}
		end();
	}
}

static void no_more_leave_than_the_budget_and_the_room(void **state)
{
	/* frames that wait, budget, room, how many leave */
	static const uint32_t cases[][4] = {
		{ 10, 0, 9, 0 },      { 10, 9, 0, 0 },	      { 10, 3, 9, 3 },
		{ 10, 9, 3, 3 },      { 10, 64, 64, 10 },     { 200, 64, 500, 64 },
		{ 200, 65, 500, 65 }, { 200, 500, 128, 128 }, { 200, 500, 500, 200 },
	};

	(void)state;
	for (size_t i = 0; i < N(cases); i++) {
		struct rb_egress_config config = plain();

		begin(&config);
		put(0, cases[i][0], 60);
		w.sink[0].room = cases[i][2];
		assert_int_equal(serve(cases[i][1]), cases[i][3]);
		assert_int_equal(w.sink[0].n_held, cases[i][3]);
		assert_int_equal(w.port->lent, cases[i][3]);
		end();
	}
}

static void frames_count_as_sent_when_the_back_end_says_so(void **state)
{
	struct rb_egress_config config = plain();
	struct sink *s = &w.sink[0];

	(void)state;
	begin(&config);
	put(0, 10, 100);
	assert_int_equal(serve(10), 10);
	assert_int_equal(count(RB_COUNT_TRANSMITTED), 0);
	/* Some of it waits for the next flush. */
	s->flushed = -EAGAIN;
	assert_int_equal(flush(), -EAGAIN);
	assert_int_equal(count(RB_COUNT_TRANSMITTED), 0);
	put(0, 5, 200);
	serve(10);
	s->flushed = 0;
	assert_int_equal(flush(), 0);
	assert_int_equal(count(RB_COUNT_TRANSMITTED), 15);
	assert_int_equal(w.counters[RB_COUNT_TRANSMITTED].bytes, 2000);
	/* Once. */
	assert_int_equal(flush(), 0);
	assert_int_equal(count(RB_COUNT_TRANSMITTED), 15);
	/* The driver refuses some: it does not say which, so their bytes count as sent. */
	put(0, 4, 100);
	serve(10);
	s->tx.refused += 3;
	s->flushed = -EIO;
	assert_int_equal(flush(), -EIO);
	assert_int_equal(count(RB_COUNT_TRANSMITTED), 16);
	assert_int_equal(count(RB_COUNT_DROP_TRANSMIT), 3);
	assert_int_equal(w.counters[RB_COUNT_TRANSMITTED].bytes, 2400);
	s->flushed = 0;
	flush();
	assert_int_equal(count(RB_COUNT_DROP_TRANSMIT), 3);
	assert_int_equal(s->flushes, 5);
	end();
}

static void netdev_that_is_down_keeps_what_it_has_and_the_rest_is_dropped(void **state)
{
	struct rb_egress_config config = plain();
	struct sink *s = &w.sink[0];

	(void)state;
	begin(&config);
	s->room = 4;
	put(0, 10, 100);
	put(2, 3, 50);
	assert_int_equal(serve(10), 4);
	s->flushed = -ENETDOWN;
	assert_int_equal(flush(), -ENETDOWN);
	assert_int_equal(count(RB_COUNT_DROP_PORT_DOWN), 9);
	assert_int_equal(w.counters[RB_COUNT_DROP_PORT_DOWN].bytes,
			 1150 - s->class_bytes[0] - s->class_bytes[2]);
	assert_int_equal(count(RB_COUNT_TRANSMITTED), 0);
	assert_int_equal(w.port->lent, 4);
	assert_int_equal(w.port->n_waiting, 0);
	assert_int_equal(serve(10), 0);
	/* It comes up. */
	s->flushed = 0;
	s->room = 100;
	put(0, 2, 100);
	assert_int_equal(serve(10), 2);
	assert_int_equal(flush(), 0);
	assert_int_equal(count(RB_COUNT_TRANSMITTED), 6);
	end();
}

static void each_frame_comes_back_once_and_frees_its_chunk(void **state)
{
	struct rb_egress_config config = plain();

	(void)state;
	begin(&config);
	put(0, 200, 60);
	serve(200);
	reap(&w.sink[0], 0);
	assert_int_equal(w.port->lent, 200);
	reap(&w.sink[0], 1);
	assert_int_equal(w.chunks->n_free, CHUNKS - 199);
	reap(&w.sink[0], 150); /* more than are taken back at once */
	assert_int_equal(w.port->lent, 49);
	reap(&w.sink[0], 49);
	assert_true(rb_egress_is_idle(w.port));
	reap(&w.sink[0], 0);
	assert_int_equal(w.chunks->n_free, CHUNKS);
	end();
}

/* The frames of one message lie in one chunk, which is free when all of them have gone. */
static void chunk_of_a_message_is_free_after_its_last_frame(void **state)
{
	struct rb_egress_config config = plain();
	struct rb_frame frame = { .len_bytes = 100, .source = 1 };

	(void)state;
	config.class[1].limit_frames = 1;
	begin(&config);
	frame.offset = rb_chunk_take(w.chunks, RB_OWNER_MESSAGE);
	rb_chunk_set_uses(w.chunks, frame.offset, RB_OWNER_MESSAGE, 4);
	for (uint32_t k = 0; k < 4; k++) {
		struct rb_frame part = frame;

		part.offset += 100 * k;
		part.class = k / 2; /* the second one of class 1 finds its queue full */
		rb_egress_enqueue(w.port, &part, w.chunks, w.counters, w.now_ns);
	}
	assert_int_equal(count(RB_COUNT_DROP_QUEUE_FULL), 1);
	assert_int_equal(rb_egress_serve(w.port, 10, w.chunks, w.counters, w.now_ns), 3);
	for (uint32_t k = 0; k < 3; k++) {
		assert_int_equal(w.chunks->n_free, CHUNKS - 1);
		w.sink[0].n_done = 1;
		rb_egress_reap(w.port, w.chunks, w.now_ns, w.now_ns);
	}
	assert_int_equal(w.chunks->n_free, CHUNKS);
	rb_egress_flush(w.port, w.chunks, w.counters);
	w.put_frames = 4;
	w.put_bytes = 400;
	end();
}

static void port_without_a_back_end_drops_by_name_and_comes_back(void **state)
{
	struct rb_egress_config config = plain();

	(void)state;
	begin(&config);
	put(0, 6, 100);
	set_tx(NULL);
	assert_int_equal(w.sink[0].closed, 1);
	check();
	assert_int_equal(count(RB_COUNT_DROP_PORT_DOWN), 6); /* what waited */
	put(1, 4, 60);
	assert_int_equal(count(RB_COUNT_DROP_PORT_DOWN), 10);
	assert_int_equal(w.counters[RB_COUNT_DROP_PORT_DOWN].bytes, 840);
	assert_int_equal(serve(10), 0);
	assert_int_equal(flush(), 0);
	rb_egress_reap(w.port, w.chunks, w.now_ns, w.now_ns);
	assert_int_equal(w.sink[0].taken, 0);
	assert_true(rb_egress_is_idle(w.port));
	/* What the new one refused before is no frame of ours. */
	w.sink[1].tx.refused = 5;
	set_tx(&w.sink[1]);
	put(0, 3, 60);
	assert_int_equal(serve(10), 3);
	flush();
	assert_int_equal(count(RB_COUNT_TRANSMITTED), 3);
	assert_int_equal(count(RB_COUNT_DROP_TRANSMIT), 0);
	end();
}

/* The former back end gives back what it is done with, its refusals count, and it is closed. */
static void back_end_is_replaced_while_frames_are_lent(void **state)
{
	struct rb_egress_config config = plain();
	struct sink *s = &w.sink[0];

	(void)state;
	begin(&config);
	put(0, 20, 60);
	serve(12);
	s->flushed = -EAGAIN;
	flush();
	s->tx.refused = 2;
	s->n_done = 7;
	set_tx(&w.sink[1]);
	check();
	assert_int_equal(s->closed, 1);
	assert_int_equal(w.gone, 5); /* lost with the device: the other chunks are free */
	assert_int_equal(count(RB_COUNT_DROP_TRANSMIT), 2);
	assert_int_equal(count(RB_COUNT_TRANSMITTED), 10);
	assert_int_equal(w.port->lent, 0);
	/* What waited goes to the new one. */
	assert_int_equal(rb_egress_backlog(w.port, 0), 8);
	assert_int_equal(serve(100), 8);
	assert_int_equal(w.sink[1].held[0].arrival_ns, 12);
	assert_int_equal(w.port->lent, 8);
	flush();
	assert_int_equal(count(RB_COUNT_TRANSMITTED), 18);
	assert_int_equal(w.sink[1].closed, 0);
	end();
	assert_int_equal(w.sink[1].closed, 1);
}

static void close_drops_what_waits(void **state)
{
	struct rb_egress_config config = plain();

	(void)state;
	begin(&config);
	put(0, 5, 60);
	put(3, 6, 60);
	assert_int_equal(serve(4), 4);
	w.sink[0].n_done = 4;
	rb_egress_close(w.port, w.chunks, w.counters);
	assert_int_equal(w.sink[0].closed, 1);
	assert_int_equal(count(RB_COUNT_DROP_PORT_DOWN), 7);
	assert_int_equal(count(RB_COUNT_TRANSMITTED), 4);
	assert_int_equal(w.chunks->n_free, CHUNKS);
	rb_chunks_destroy(w.chunks);
	free(w.area);
}

static void arrivals_are_counted_by_source_in_the_unit_of_the_rate(void **state)
{
	(void)state;
	for (enum sl_unit unit = SL_UNIT_FRAMES; unit <= SL_UNIT_BYTES; unit++) {
		struct rb_egress_config config = plain();
		const struct rb_egress_queue *q;
		const bool bytes = unit == SL_UNIT_BYTES;

		config.unit = unit;
		config.class[1].limit_frames = 4;
		begin(&config);
		q = &w.port->queue[1];
		put_from(1, 1, 3, 100);
		put_from(255, 1, 5, 200); /* four of them find the queue full */
		put_from(1, 0, 9, 70);
		assert_int_equal(count(RB_COUNT_DROP_QUEUE_FULL), 4);
		assert_int_equal(q->arrived_from[1], bytes ? 300 : 3);
		assert_int_equal(q->arrived_from[255], bytes ? 1000 : 5);
		assert_int_equal(q->arrived_from[0], 0);
		assert_int_equal(w.port->queue[0].arrived_from[1], bytes ? 630 : 9);
		set_tx(NULL);
		put_from(1, 1, 1, 100);
		assert_int_equal(q->arrived_from[1], bytes ? 400 : 4);
		end();
	}
}

static struct {
	uint32_t calls, class, again;
	uint64_t at_frames; /* frames that had arrived at the last call */
} sample;

static void on_sample(void *context, uint32_t class)
{
	struct rb_egress_port *port = context;

	sample.calls++;
	sample.class = class;
	sample.at_frames = port->queue[class].arrived.packets;
	assert_int_equal(port->queue[class].sample_units, 0);
	port->queue[class].sample_units = sample.again;
}

/* A controller asks to be told when so many units have arrived, dropped or not. */
static void controller_is_told_of_each_sample_once(void **state)
{
	(void)state;
	for (enum sl_unit unit = SL_UNIT_FRAMES; unit <= SL_UNIT_BYTES; unit++) {
		struct rb_egress_config config = plain();
		const uint32_t of = unit == SL_UNIT_BYTES ? 100 : 1; /* units of a frame */

		config.unit = unit;
		config.class[1].limit_frames = 8;
		begin(&config);
		memset(&sample, 0, sizeof(sample));
		w.port->on_sample = on_sample;
		w.port->sample_context = w.port;
		w.port->queue[1].sample_units = 10 * of;
		put(0, 50, 100);
		put(1, 9, 100);
		assert_int_equal(sample.calls, 0);
		put(1, 1, 100);
		assert_int_equal(sample.calls, 1);
		assert_int_equal(sample.class, 1);
		assert_int_equal(sample.at_frames, 10); /* the frame counts already */
		put(1, 50, 100);
		assert_int_equal(sample.calls, 1);
		/* It may ask again at once. */
		sample.again = 4 * of;
		w.port->queue[1].sample_units = 3 * of;
		put(1, 3 + 4 + 4 + 3, 100);
		assert_int_equal(sample.calls, 4);
		assert_int_equal(sample.at_frames, 60 + 3 + 4 + 4);
		/* A frame that is larger than the rest of the sample ends it. */
		w.port->queue[1].sample_units = of > 1 ? of + 1 : 2;
		put(1, 1, 100);
		assert_int_equal(sample.calls, 4);
		put(1, 1, 100);
		assert_int_equal(sample.calls, 5);
		end();
	}
}

/*
 * A burst of frames, which entered 1 us before each other and were 3 us in a message; then the port
 * gets them, 100 us later, and gives them back one after another, each 2 us after the one before.
 */
#define BURST 64

static void pass_burst(uint64_t *voq_ns, uint64_t *transmit_ns)
{
	struct sink *s = &w.sink[0];

	for (uint32_t k = 0; k < BURST; k++) {
		struct rb_frame frame = { .arrival_ns = w.now_ns - 1000 * (k + 4),
					  .waited_ns = 1000 * (k + 1),
					  .message_ns = 3000,
					  .len_bytes = 100,
					  .source = 1 };

		frame.offset = rb_chunk_take(w.chunks, RB_OWNER_MESSAGE);
		w.put_frames++;
		w.put_bytes += frame.len_bytes;
		rb_egress_enqueue(w.port, &frame, w.chunks, w.counters, w.now_ns);
		*voq_ns += frame.waited_ns;
		*transmit_ns += 2000 * (k + 1);
	}
	w.now_ns += 100000;
	assert_int_equal(serve(BURST), BURST);
	assert_int_equal(flush(), 0);
	for (uint32_t k = 0; k < BURST; k++) {
		w.now_ns += 2000;
		reap(s, 1);
	}
}

static void where_every_frame_waited_adds_up(void **state)
{
	struct rb_egress_config config = plain();
	uint64_t voq_ns = 0, transmit_ns = 0;
	const struct sl_histogram *stage;

	(void)state;
	config.delay_sample = 1;
	begin(&config);
	for (uint32_t i = 0; i < 10; i++)
		pass_burst(&voq_ns, &transmit_ns);
	stage = w.port->delay->stage[0];
	for (uint32_t k = 0; k < RB_DELAY_STAGES; k++)
		assert_int_equal(stage[k].count, 10 * BURST);
	assert_int_equal(stage[RB_DELAY_VOQ].sum_ns, voq_ns);
	assert_int_equal(stage[RB_DELAY_MESSAGE].sum_ns, 10 * BURST * 3000);
	assert_int_equal(stage[RB_DELAY_QUEUE].sum_ns, 10 * BURST * 100000);
	assert_int_equal(stage[RB_DELAY_TRANSMIT].sum_ns, transmit_ns);
	assert_int_equal(stage[RB_DELAY_TOTAL].sum_ns, voq_ns + 10 * BURST * 103000 + transmit_ns);
	assert_int_equal(stage[RB_DELAY_VOQ].min_ns, 1000);
	assert_int_equal(stage[RB_DELAY_VOQ].max_ns, 1000 * BURST);
	assert_int_equal(stage[RB_DELAY_MESSAGE].max_ns, 3000);
	assert_int_equal(stage[RB_DELAY_QUEUE].min_ns, 100000);
	assert_int_equal(stage[RB_DELAY_TRANSMIT].min_ns, 2000);
	assert_int_equal(stage[RB_DELAY_TOTAL].max_ns, 103000 + 3000 * BURST);
	assert_int_equal(w.port->delay->stage[1][RB_DELAY_TOTAL].count, 0);
	end();
}

/* Of frames that one system call sends, each takes as long as the next. */
static void frames_of_a_system_call_leave_one_after_another(void **state)
{
	struct rb_egress_config config = plain();
	const struct sl_histogram *transmit;

	(void)state;
	config.delay_sample = 1;
	begin(&config);
	transmit = &w.port->delay->stage[0][RB_DELAY_TRANSMIT];
	put(0, 4, 100);
	assert_int_equal(serve(4), 4);
	assert_int_equal(flush(), 0);
	w.sink[0].n_done = 4;
	rb_egress_reap(w.port, w.chunks, w.now_ns + 1000, w.now_ns + 9000);
	assert_int_equal(transmit->count, 4);
	assert_int_equal(transmit->min_ns, 1000 + 2000);
	assert_int_equal(transmit->max_ns, 1000 + 4 * 2000);
	assert_int_equal(transmit->sum_ns, 4 * 1000 + (1 + 2 + 3 + 4) * 2000);
	/* It may have sent all four, and given back two. */
	put(0, 4, 100);
	assert_int_equal(serve(4), 4);
	assert_int_equal(flush(), 0);
	w.sink[0].n_done = 2;
	rb_egress_reap(w.port, w.chunks, w.now_ns, w.now_ns + 400);
	assert_int_equal(transmit->sum_ns, 24000 + 100 + 200);
	reap(&w.sink[0], 2);
	end();
}

/* A round reads its clock when it begins, and frames may enter after that. */
static void a_frame_that_entered_during_the_round_waits_from_then_on(void **state)
{
	struct rb_egress_config config = plain();
	struct rb_frame frame = { .len_bytes = 100, .source = 1 };
	const struct sl_histogram *stage;

	(void)state;
	config.delay_sample = 1;
	begin(&config);
	frame.arrival_ns = w.now_ns + 3000;
	frame.offset = rb_chunk_take(w.chunks, RB_OWNER_MESSAGE);
	w.put_frames++;
	w.put_bytes += frame.len_bytes;
	rb_egress_enqueue(w.port, &frame, w.chunks, w.counters, w.now_ns);
	assert_int_equal(serve(1), 1);
	assert_int_equal(flush(), 0);
	w.now_ns += 10000;
	reap(&w.sink[0], 1);
	stage = w.port->delay->stage[0];
	assert_int_equal(stage[RB_DELAY_TRANSMIT].sum_ns, 7000);
	assert_int_equal(stage[RB_DELAY_TOTAL].sum_ns, 7000);
	end();
}

/* One of 64, and every place in a burst of 64 has its turn. */
static void a_sample_sees_every_place_in_a_burst(void **state)
{
	struct rb_egress_config config = plain();
	uint64_t voq_ns = 0, transmit_ns = 0;
	const struct sl_histogram *voq;

	(void)state;
	config.delay_sample = 64;
	begin(&config);
	for (uint32_t i = 0; i < 2000; i++)
		pass_burst(&voq_ns, &transmit_ns);
	voq = &w.port->delay->stage[0][RB_DELAY_VOQ];
	assert_in_range(voq->count, 1900, 2100);
	for (uint32_t k = 1; k <= BURST; k++)
		assert_in_range(voq->bucket[sl_histogram_index(1000 * k)], 10, 100);
	end();
}

/* What a port that went down had is not measured, and no frame is taken for another. */
static void frames_of_a_port_that_went_down_are_not_measured(void **state)
{
	struct rb_egress_config config = plain();
	uint64_t voq_ns = 0, transmit_ns = 0;

	(void)state;
	config.delay_sample = 1;
	begin(&config);
	pass_burst(&voq_ns, &transmit_ns);
	put(0, 5, 100);
	assert_int_equal(serve(5), 5);
	set_tx(&w.sink[1]);
	assert_int_equal(w.port->delay->n, 0);
	put(0, 3, 100);
	assert_int_equal(serve(3), 3);
	w.now_ns += 7000;
	reap(&w.sink[1], 1);
	assert_int_equal(w.port->delay->stage[0][RB_DELAY_TOTAL].count, BURST + 1);
	assert_int_equal(w.port->delay->n, 2);
	reap(&w.sink[1], 2);
	end();
}

static void no_sample_measures_nothing(void **state)
{
	struct rb_egress_config config = plain();

	(void)state;
	begin(&config);
	assert_null(w.port->delay);
	assert_null(w.port->busy);
	end();
}

/* Let the port become one of this configuration. */
static void become(const struct rb_egress_config *config)
{
	struct rb_egress_port *next;

	assert_int_equal(rb_egress_open(config, w.now_ns, &next), 0);
	assert_int_equal(rb_egress_become(w.port, next, w.chunks, w.counters, w.now_ns), 0);
	check();
}

static void changed_port_sends_what_waits_in_order_and_shares_anew(void **state)
{
	struct rb_egress_config config = plain();
	uint32_t taken;

	(void)state;
	begin(&config);
	put(0, 100, 60);
	put(1, 100, 60);
	assert_int_equal(serve(10), 10);
	config.class[1].weight = 3;
	config.class[1].limit_frames = 512;
	become(&config);
	assert_int_equal(w.port->n_waiting, 190);
	assert_int_equal(rb_egress_limit(w.port, 1), 512);
	assert_int_equal(rb_egress_limit(w.port, 0), 1024);
	taken = w.sink[0].class_frames[1];
	assert_int_equal(serve(80), 80);
	assert_in_range(w.sink[0].class_frames[1] - taken, 59, 61);
	serve(UINT32_MAX);
	for (uint32_t k = 1, last[2] = { 0 }; k < w.sink[0].n_held; k++) {
		const struct rb_frame *frame = &w.sink[0].held[k];

		/* put counted the frames in arrival_ns */
		assert_true(!last[frame->class] || frame->arrival_ns == last[frame->class] + 1);
		last[frame->class] = (uint32_t)frame->arrival_ns;
	}
	assert_int_equal(w.sink[0].taken, 200);
	assert_int_equal(w.sink[0].closed, 0);
	end();
}

static void smaller_queue_keeps_the_oldest_frames_and_drops_the_rest_by_name(void **state)
{
	struct rb_egress_config config = plain();

	(void)state;
	begin(&config);
	put(2, 100, 60);
	put(3, 5, 60);
	config.class[2].limit_frames = 32;
	become(&config);
	assert_int_equal(rb_egress_backlog(w.port, 2), 32);
	assert_int_equal(rb_egress_backlog(w.port, 3), 5);
	assert_int_equal(count(RB_COUNT_DROP_QUEUE_FULL), 68);
	serve(UINT32_MAX);
	assert_int_equal(w.sink[0].class_frames[2], 32);
	for (uint32_t k = 0; k < w.sink[0].n_held; k++)
		assert_true(w.sink[0].held[k].arrival_ns < 32 || w.sink[0].held[k].class == 3);
	end();
}

static void changed_rate_holds_at_once_in_its_own_unit(void **state)
{
	struct rb_egress_config config = plain();

	(void)state;
	config.rate = 1000000; /* bytes/s */
	config.unit = SL_UNIT_BYTES;
	config.burst = 1500;
	begin(&config);
	put(0, 400, 1500);
	while (serve(1))
		;
	/* Twice as much: what is owed stays the same bytes. */
	config.rate = 2000000;
	become(&config);
	for (uint32_t taken = w.sink[0].taken, us = 100; us <= 90000; us += 100) {
		w.now_ns += 100 * US;
		while (serve(1))
			;
		assert_in_range((w.sink[0].taken - taken) * 1500 + 1500, us * 2, us * 2 + 3000);
	}
	/* A bucket of bytes that is empty owes no frames. */
	config.rate = 1000; /* frames/s */
	config.unit = SL_UNIT_FRAMES;
	config.burst = 1;
	become(&config);
	assert_int_equal(serve(UINT32_MAX), 1);
	for (uint32_t taken = w.sink[0].taken, ms = 1; ms <= 50; ms++) {
		w.now_ns += MS;
		serve(UINT32_MAX);
		assert_int_equal(w.sink[0].taken - taken, ms);
	}
	config.rate = SL_RATE_UNLIMITED;
	become(&config);
	serve(UINT32_MAX);
	assert_int_equal(w.port->n_waiting, 0);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(changed_port_sends_what_waits_in_order_and_shares_anew),
		cmocka_unit_test(smaller_queue_keeps_the_oldest_frames_and_drops_the_rest_by_name),
		cmocka_unit_test(changed_rate_holds_at_once_in_its_own_unit),
		cmocka_unit_test(where_every_frame_waited_adds_up),
		cmocka_unit_test(frames_of_a_system_call_leave_one_after_another),
		cmocka_unit_test(a_frame_that_entered_during_the_round_waits_from_then_on),
		cmocka_unit_test(a_sample_sees_every_place_in_a_burst),
		cmocka_unit_test(no_sample_measures_nothing),
		cmocka_unit_test(frames_of_a_port_that_went_down_are_not_measured),
		cmocka_unit_test(port_values_out_of_range_are_refused),
		cmocka_unit_test(queue_takes_its_limit_and_drops_the_rest_by_name),
		cmocka_unit_test(frames_of_a_class_leave_in_order_as_they_came),
		cmocka_unit_test(higher_level_goes_first),
		cmocka_unit_test(classes_share_by_weight_in_the_unit_of_the_rate),
		cmocka_unit_test(port_keeps_to_its_rate),
		cmocka_unit_test(no_more_leave_than_the_budget_and_the_room),
		cmocka_unit_test(frames_count_as_sent_when_the_back_end_says_so),
		cmocka_unit_test(netdev_that_is_down_keeps_what_it_has_and_the_rest_is_dropped),
		cmocka_unit_test(each_frame_comes_back_once_and_frees_its_chunk),
		cmocka_unit_test(chunk_of_a_message_is_free_after_its_last_frame),
		cmocka_unit_test(port_without_a_back_end_drops_by_name_and_comes_back),
		cmocka_unit_test(back_end_is_replaced_while_frames_are_lent),
		cmocka_unit_test(close_drops_what_waits),
		cmocka_unit_test(arrivals_are_counted_by_source_in_the_unit_of_the_rate),
		cmocka_unit_test(controller_is_told_of_each_sample_once),
	};
	return cmocka_run_group_tests_name("egress", tests, NULL, NULL);
}
