/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A class of an edge port with flow queues: whole frames in packet memory, through rb_egress, to a
 * back end that looks at their bytes. The test keeps a FIFO of each flow; every frame that leaves
 * is the first of its flow, and after each step all frames and chunks are accounted for.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "rdma-bridge/queue/egress.h"
#include "tests/lib/frame.h"

#define N(array)    (sizeof(array) / sizeof((array)[0]))
#define CHUNKS	    4096
#define CHUNK_BYTES 2048
#define FLOWS	    200
#define WAITING	    4096
#define CLASS	    1
#define SECOND	    1000000000ULL
#define MS	    1000000ULL

static struct {
	uint8_t *area;
	struct rb_chunks *chunks;
	struct rb_egress_port *port;
	struct rb_tx tx;
	struct sl_counter counters[RB_COUNT_COUNT];
	uint64_t now_ns, put, sent, lost;
	uint64_t offset[FLOWS][WAITING]; /* of the frames of a flow that wait, the oldest first */
	uint32_t n[FLOWS];
	uint64_t flow_bytes[FLOWS]; /* sent */
	uint8_t last[FRAME_MAX_BYTES];
	uint32_t last_bytes;
	uint64_t done[CHUNKS];
	uint32_t n_done;
} w;

/* The flow is the UDP source port less 1000. */
static uint32_t flow_of(const uint8_t *data)
{
	return (uint32_t)(data[34] << 8 | data[35]) - 1000;
}

static void sink_close(struct rb_tx *tx)
{
	(void)tx;
}

static uint32_t sink_room(struct rb_tx *tx)
{
	(void)tx;
	return 1;
}

/* Frames of the flow before this one must have been dropped. */
static uint32_t sink_put(struct rb_tx *tx, const struct rb_frame *frames, uint32_t n)
{
	(void)tx;
	for (uint32_t k = 0; k < n; k++) {
		const uint8_t *data = rb_chunk_data(w.chunks, frames[k].offset);
		const uint32_t flow = flow_of(data);
		uint32_t at = 0;

		while (at < w.n[flow] && w.offset[flow][at] != frames[k].offset)
			at++;
		assert_true(at < w.n[flow]);
		w.lost += at;
		w.n[flow] -= at + 1;
		memmove(w.offset[flow], w.offset[flow] + at + 1, w.n[flow] * sizeof(uint64_t));
		w.sent++;
		w.flow_bytes[flow] += frames[k].len_bytes;
		w.last_bytes = frames[k].len_bytes;
		memcpy(w.last, data, frames[k].len_bytes);
		w.done[w.n_done++] = frames[k].offset;
	}
	return n;
}

static int sink_flush(struct rb_tx *tx)
{
	(void)tx;
	return 0;
}

static uint32_t sink_reap(struct rb_tx *tx, uint64_t *offsets, uint32_t max)
{
	const uint32_t n = w.n_done < max ? w.n_done : max;

	(void)tx;
	memcpy(offsets, w.done, n * sizeof(*offsets));
	w.n_done = 0;
	return n;
}

static const struct rb_tx_ops sink_ops = { "sink",   sink_close, sink_room,
					   sink_put, sink_flush, sink_reap };

static void check(void)
{
	const struct rb_egress_queue *q = &w.port->queue[CLASS];
	const uint64_t *dropped = q->flows->dropped;
	const uint32_t waiting = rb_egress_backlog(w.port, CLASS);
	uint64_t all = 0;

	for (int i = 0; i < FQ_N_REASONS; i++)
		all += dropped[i];
	assert_int_equal(q->arrived.packets, w.put);
	assert_int_equal(q->departed.packets, w.sent);
	assert_int_equal(q->arrived.packets, q->departed.packets + q->dropped.packets + waiting);
	assert_int_equal(w.port->n_waiting, waiting);
	assert_int_equal(w.chunks->count[RB_OWNER_MESSAGE], waiting + w.port->lent);
	assert_int_equal(w.chunks->violations, 0);
	assert_int_equal(w.counters[RB_COUNT_DROP_QUEUE_POLICY].packets,
			 dropped[FQ_EARLY] + dropped[FQ_LATE]);
	assert_int_equal(w.counters[RB_COUNT_DROP_QUEUE_FULL].packets,
			 dropped[FQ_FULL] + dropped[FQ_PUSHED] + dropped[FQ_BAD_SIZE]);
	/* A port that is down drops arrivals before they reach a flow queue. */
	assert_int_equal(w.counters[RB_COUNT_DROP_PORT_DOWN].packets,
			 dropped[FQ_FLUSHED] + q->dropped.packets - all);
}

/* A port with one class of flow queues, or none; nothing waits in the other classes. */
static struct rb_egress_port *open_port(const char *policy, uint32_t flows, uint32_t reserved,
					uint32_t limit_frames)
{
	const struct fq_shape shape = { .queues = flows,
					.reserved = reserved,
					.limit_frames = limit_frames,
					.limit_bytes = limit_frames * 1522,
					.frame_max_bytes = 1600,
					.quantum_bytes = 1522,
					.seed = 1,
					.rate_Bps = 12500000 };
	struct rb_egress_config config = { .system_port = SL_SYSTEM_PORT(2, 1),
					   .rate = SL_RATE_UNLIMITED,
					   .flow_key = { 3, flows },
					   .burst = 1 };
	struct rb_egress_port *port;
	struct fq_config fq;

	for (uint32_t c = 0; c < SL_CLASSES; c++)
		config.class[c] = (struct rb_egress_class_config){ .weight = 1,
								   .limit_frames = limit_frames };
	if (policy) {
		assert_int_equal(fq_config_init(&fq, policy, &shape), 0);
		assert_int_equal(fq_config_prepare(&fq, NULL), 0);
		config.class[CLASS].flows = &fq;
	}
	assert_int_equal(rb_egress_open(&config, w.now_ns, &port), 0);
	return port;
}

static void begin_reserved(const char *policy, uint32_t flows, uint32_t reserved,
			   uint32_t limit_frames)
{
	memset(&w, 0, sizeof(w));
	w.now_ns = SECOND;
	w.area = malloc((size_t)CHUNKS * CHUNK_BYTES);
	assert_non_null(w.area);
	assert_int_equal(rb_chunks_create(w.area, 0, CHUNKS, CHUNK_BYTES, &w.chunks), 0);
	w.port = open_port(policy, flows, reserved, limit_frames);
	w.tx.ops = &sink_ops;
	rb_egress_set_tx(w.port, &w.tx, w.chunks, w.counters);
}

static void begin(const char *policy, uint32_t flows, uint32_t limit_frames)
{
	begin_reserved(policy, flows, 0, limit_frames);
}

static void end(void)
{
	check();
	rb_egress_close(w.port, w.chunks, w.counters);
	assert_int_equal(w.chunks->n_free, CHUNKS);
	assert_int_equal(w.chunks->violations, 0);
	rb_chunks_destroy(w.chunks);
	free(w.area);
}

static struct frame frame_of(uint32_t flow, uint32_t len_bytes, uint8_t tos)
{
	return (struct frame){ .sport = (uint16_t)(1000 + flow),
			       .tos = tos,
			       .payload_bytes = (int32_t)len_bytes - 34 };
}

static void put(uint32_t flow, uint32_t len_bytes, uint8_t tos)
{
	const struct frame description = frame_of(flow, len_bytes, tos);
	uint8_t bytes[FRAME_MAX_BYTES];
	struct rb_frame frame = { .class = CLASS, .source = 1 };

	frame.len_bytes = frame_build(&description, bytes);
	assert_int_equal(frame.len_bytes, len_bytes);
	frame.offset = rb_chunk_take(w.chunks, RB_OWNER_MESSAGE);
	assert_true(frame.offset != RB_CHUNK_NONE && w.n[flow] < WAITING);
	memcpy(rb_chunk_data(w.chunks, frame.offset), bytes, frame.len_bytes);
	w.offset[flow][w.n[flow]++] = frame.offset;
	w.put++;
	rb_egress_enqueue(w.port, &frame, w.chunks, w.counters, w.now_ns);
	check();
}

/* Let one frame leave. Returns its flow, or -1. */
static int serve(void)
{
	const uint32_t n = rb_egress_serve(w.port, 1, w.chunks, w.counters, w.now_ns);

	check();
	rb_egress_flush(w.port, w.chunks, w.counters);
	rb_egress_reap(w.port, w.chunks, w.now_ns, w.now_ns);
	check();
	return n ? (int)flow_of(w.last) : -1;
}

/* --- Tests --- */

/*
 * One flow sends ten times as much as the others, and some send less than a share. Those get what
 * they ask, and the rest the same bytes: to within three quanta, the bound of deficit round robin,
 * where the policy takes only from the longest queue, and within 2 % where it may empty a queue.
 */
static void flows_that_ask_for_more_than_their_share_get_equal_bytes(void **state)
{
	static const char *const policies[] = { "longest", "tdrr", "qsdrr", "codel" };
	enum { ASK = 20, ROUNDS = 4000 };

	(void)state;
	for (size_t p = 0; p < N(policies); p++) {
		uint64_t from[ASK];

		begin(policies[p], 1024, 1000);
		for (int round = 0; round < ROUNDS; round++) {
			if (round == ROUNDS / 4)
				memcpy(from, w.flow_bytes, sizeof(from));
			for (uint32_t flow = 0; flow < ASK; flow++)
				for (int k = 0; k < (flow ? 2 : 20); k++)
					put(flow, flow % 3 ? 1514 : 300, 0);
			/* codel needs time to pass; 100 Mbit/s */
			for (int k = 0; k < 20; k++) {
				assert_true(serve() >= 0);
				w.now_ns += 100000;
			}
		}
		for (uint32_t flow = 0; flow < ASK; flow++)
			from[flow] = w.flow_bytes[flow] - from[flow];
		/* Flows of 300 bytes ask for less than a share, and get it all but what waits. */
		for (uint32_t flow = 1; flow < ASK; flow++) {
			const uint64_t apart = p ? from[1] / 50 : 3 * 1522;

			if (flow % 3)
				assert_in_range(from[flow], from[1] - apart, from[1] + apart);
			else
				assert_in_range(from[flow], 600 * (ROUNDS - ROUNDS / 4 - 2),
						600 * (ROUNDS - ROUNDS / 4 + 2));
		}
		end();
	}
}

static void a_flow_of_few_frames_passes_a_flow_that_fills_the_buffer(void **state)
{
	(void)state;
	begin("qsdrr", 1024, 500);
	for (int k = 0; k < 2000; k++)
		put(0, 1514, 0);
	assert_int_equal(rb_egress_backlog(w.port, CLASS), 500);
	assert_int_equal(w.port->queue[CLASS].flows->dropped[FQ_PUSHED], 1500);
	assert_int_equal(serve(), 0); /* it is at the head of the class */
	put(7, 100, 0);
	put(7, 100, 0);
	assert_int_equal(rb_egress_flows_in_use(w.port->queue[CLASS].flows), 2);
	for (int k = 0; k < 2; k++) {
		int steps = 0;

		while (serve() != 7)
			assert_true(++steps <= 2);
	}
	end();
}

/* The only policies that mark; each signals here within the time that its source gives. */
static void policies_mark_frames_whose_senders_know_ecn_and_change_nothing_else(void **state)
{
	static const char *const policies[] = { "red", "codel" };

	(void)state;
	for (size_t p = 0; p < N(policies); p++) {
		const uint8_t ect = p ? 2 : 1; /* ECT(0), ECT(1) */
		uint64_t marked = 0;

		begin(policies[p], p ? 64 : 1, 1000);
		for (int k = 0; k < 5000; k++) {
			const struct frame plain = frame_of(3, 1000, ect | 0x28);
			const struct frame ce = frame_of(3, 1000, 3 | 0x28);
			uint8_t expected[FRAME_MAX_BYTES];
			bool is_marked;

			if (rb_egress_backlog(w.port, CLASS) < 600)
				put(3, 1000, ect | 0x28);
			if (k % 2 == 0)
				put(3, 1000, ect | 0x28);
			if (rb_egress_backlog(w.port, CLASS) < 599)
				continue;
			assert_int_equal(serve(), 3);
			w.now_ns += 80000;
			is_marked = (w.last[15] & 3) == 3;
			marked += is_marked;
			assert_int_equal(frame_build(is_marked ? &ce : &plain, expected), 1000);
			assert_memory_equal(w.last, expected, 1000);
		}
		assert_true(marked > 0);
		assert_int_equal(w.port->queue[CLASS].flows->marked, marked);
		assert_int_equal(w.counters[RB_COUNT_DROP_QUEUE_POLICY].packets, 0);
		end();
	}
}

static void senders_that_do_not_know_ecn_lose_the_frames_that_others_have_marked(void **state)
{
	(void)state;
	begin("codel", 64, 1000);
	for (int k = 0; k < 5000; k++) {
		if (rb_egress_backlog(w.port, CLASS) < 600)
			put(3, 1000, 0x28);
		if (k % 2)
			serve();
		w.now_ns += 80000;
	}
	assert_true(w.port->queue[CLASS].flows->dropped[FQ_LATE] > 0);
	assert_int_equal(w.port->queue[CLASS].flows->marked, 0);
	end();
}

static void a_port_that_goes_down_drops_the_frames_of_all_flows(void **state)
{
	struct rb_egress_drops drops;

	(void)state;
	begin("longest", 16, 100);
	drops = (struct rb_egress_drops){ w.chunks, w.counters, &w.port->queue[CLASS].dropped };
	for (uint32_t flow = 0; flow < 60; flow++)
		put(flow, 500, 0);
	assert_true(serve() >= 0);
	/* One is out of its queue already, as after a turn of another class. */
	assert_non_null(rb_egress_flows_head(w.port->queue[CLASS].flows, &drops, w.now_ns));
	check();
	rb_egress_set_tx(w.port, NULL, w.chunks, w.counters);
	check();
	assert_int_equal(rb_egress_backlog(w.port, CLASS), 0);
	assert_int_equal(w.counters[RB_COUNT_DROP_PORT_DOWN].packets, 59);
	put(1, 500, 0);
	assert_int_equal(w.counters[RB_COUNT_DROP_PORT_DOWN].packets, 60);
	memset(w.n, 0, sizeof(w.n));
	rb_egress_set_tx(w.port, &w.tx, w.chunks, w.counters);
	put(1, 500, 0);
	assert_int_equal(serve(), 1);
	end();
}

/* Any traffic under any policy: order within a flow and all sums hold, to the end. */
static void random_traffic_leaves_in_order_of_its_flows_and_is_accounted_for(void **state)
{
	(void)state;
	for (const struct fq_ops *const *ops = fq_policies; *ops; ops++) {
		srandom(11);
		begin((*ops)->name, 100, 150);
		for (int k = 0; k < 20000; k++) {
			const uint32_t flow = (uint32_t)random() % (k / 1000 % 2 ? FLOWS : 5);

			w.now_ns += (uint64_t)random() % (k / 500 % 2 ? 400000 : 40000);
			if (w.n[flow] < WAITING)
				put(flow, 60 + (uint32_t)random() % 1455, (uint8_t)random() & 3);
			if (random() % 3)
				serve();
		}
		while (rb_egress_backlog(w.port, CLASS) > 0)
			serve();
		assert_int_equal(serve(), -1);
		assert_true(w.sent > 5000);
		assert_int_equal(w.put, w.sent + w.port->queue[CLASS].dropped.packets);
		end();
	}
}

static void a_frame_larger_than_the_queues_take_is_dropped(void **state)
{
	(void)state;
	begin("codel", 16, 100);
	put(1, 1601, 0);
	put(2, 1600, 0);
	assert_int_equal(serve(), 2);
	assert_int_equal(w.counters[RB_COUNT_DROP_QUEUE_FULL].packets, 1);
	end();
}

/* serve, but for what check wants to know of flow queues that have gone meanwhile */
static int serve_changed(void)
{
	const uint32_t n = rb_egress_serve(w.port, 1, w.chunks, w.counters, w.now_ns);
	const struct rb_egress_queue *q = &w.port->queue[CLASS];

	rb_egress_flush(w.port, w.chunks, w.counters);
	rb_egress_reap(w.port, w.chunks, w.now_ns, w.now_ns);
	assert_int_equal(q->arrived.packets, w.put);
	assert_int_equal(q->departed.packets, w.sent);
	assert_int_equal(w.chunks->count[RB_OWNER_MESSAGE], w.port->n_waiting + w.port->lent);
	return n ? (int)flow_of(w.last) : -1;
}

/* The sink sees to it that no frame of a flow leaves after one that came later. */
static void frames_of_all_flows_stay_in_order_over_changes_of_the_queues(void **state)
{
	static const char *const policies[] = { "codel", NULL, "qsdrr", "red", "longest", NULL };

	(void)state;
	begin("longest", 64, 1000);
	for (int k = 0; k < 15; k++)
		for (uint32_t flow = 0; flow < 40; flow++)
			put(flow, 500, 0);
	assert_true(serve() >= 0);
	for (size_t i = 0; i < N(policies); i++) {
		struct rb_egress_port *next = open_port(policies[i], i % 2 ? 1 : 16, 0, 1024);
		const struct rb_egress_drops drops = { w.chunks, w.counters,
						       &w.port->queue[CLASS].dropped };

		/* One frame is at the head of its class, in no queue. */
		if (w.port->queue[CLASS].flows)
			assert_non_null(
				rb_egress_flows_head(w.port->queue[CLASS].flows, &drops, w.now_ns));

		assert_int_equal(rb_egress_become(w.port, next, w.chunks, w.counters, w.now_ns), 0);
		assert_int_equal(w.port->n_waiting, 599 - 50 * i);
		for (int k = 0; k < 50; k++)
			assert_true(serve_changed() >= 0);
	}
	while (serve_changed() >= 0)
		;
	assert_int_equal(w.sent, 600);
	assert_int_equal(w.lost, 0);
	assert_int_equal(w.port->queue[CLASS].dropped.packets, 0);
	rb_egress_become(w.port, open_port("longest", 64, 0, 1000), w.chunks, w.counters, w.now_ns);
	end();
}

static struct fq_flow key_of(uint32_t flow)
{
	const struct frame description = frame_of(flow, 100, 0);
	uint8_t bytes[FRAME_MAX_BYTES];
	struct fq_flow key;

	fq_flow_parse(bytes, frame_build(&description, bytes), &key);
	return key;
}

/* Bytes of flow 7 among 1,000 frames that leave, while it and another flow have frames enough. */
static uint64_t share_of_7(void)
{
	const uint64_t before = w.flow_bytes[7];

	for (int k = 0; k < 1000; k++) {
		put(7, 1000, 0);
		put(3, 1000, 0);
		assert_true(serve() >= 0);
	}
	return w.flow_bytes[7] - before;
}

static void reserved_flow_keeps_its_queue_weight_and_counters(void **state)
{
	const struct fq_flow reserved[] = { key_of(7), key_of(8) };
	const struct rb_egress_flows *flows;

	(void)state;
	begin_reserved("longest", 64, 4, 3000);
	for (size_t i = 0; i < N(reserved); i++)
		assert_int_equal(rb_egress_flows_reserve(w.port->queue[CLASS].flows, &reserved[i],
							 i ? 1 : 4),
				 0);
	assert_in_range(share_of_7(), 790000, 810000);
	rb_egress_become(w.port, open_port("longest", 128, 2, 3000), w.chunks, w.counters,
			 w.now_ns);
	flows = w.port->queue[CLASS].flows;
	assert_int_equal(flows->reserved.n, 2);
	assert_int_equal(flows->reserved
				 .queue[fq_reserved_find(&flows->reserved, &reserved[0],
							 fq_flow_hash(&reserved[0], &flows->key))]
				 .arrived_frames,
			 1000 + (1000 - w.flow_bytes[7] / 1000));
	assert_in_range(share_of_7(), 790000, 810000);
	/* One of them finds no queue; then both do not. */
	assert_int_equal(rb_egress_become(w.port, open_port("longest", 64, 1, 3000), w.chunks,
					  w.counters, w.now_ns),
			 1);
	assert_int_equal(rb_egress_become(w.port, open_port(NULL, 0, 0, 3000), w.chunks, w.counters,
					  w.now_ns),
			 1);
	while (serve_changed() >= 0)
		;
	rb_egress_become(w.port, open_port("longest", 64, 0, 3000), w.chunks, w.counters, w.now_ns);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_of_all_flows_stay_in_order_over_changes_of_the_queues),
		cmocka_unit_test(reserved_flow_keeps_its_queue_weight_and_counters),
		cmocka_unit_test(flows_that_ask_for_more_than_their_share_get_equal_bytes),
		cmocka_unit_test(a_flow_of_few_frames_passes_a_flow_that_fills_the_buffer),
		cmocka_unit_test(
			policies_mark_frames_whose_senders_know_ecn_and_change_nothing_else),
		cmocka_unit_test(
			senders_that_do_not_know_ecn_lose_the_frames_that_others_have_marked),
		cmocka_unit_test(a_port_that_goes_down_drops_the_frames_of_all_flows),
		cmocka_unit_test(random_traffic_leaves_in_order_of_its_flows_and_is_accounted_for),
		cmocka_unit_test(a_frame_larger_than_the_queues_take_is_dropped),
	};
	return cmocka_run_group_tests_name("egress_flows", tests, NULL, NULL);
}
