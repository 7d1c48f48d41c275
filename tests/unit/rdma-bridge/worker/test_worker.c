/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Workers of three nodes on a network in memory, with rings that make frames and ports that
 * remember them. The test makes up the time. Every frame carries its sender, its VOQ and a number,
 * and the port that gets it compares every byte.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rdma-bridge/wire/bytes.h"
#include "rdma-bridge/transport/mem.h"
#include "rdma-bridge/worker/worker.h"
#include "rdma-bridge/worker/worker_receive.h"

#define NODES	    3
#define PORTS	    2			 /* of each node, numbers 1 and 2 */
#define VOQS	    (PORTS * SL_CLASSES) /* to each other node */
#define CHUNKS	    4096
#define CHUNK_BYTES 4096
#define US	    1000ULL
#define MS	    1000000ULL
#define SECOND	    1000000000ULL
#define STEP_NS	    (10 * US)
#define DEAD_NS	    (50 * MS)

/* A ring of one VOQ; it makes the frames when the worker reads it. */
struct ring {
	struct rb_input input;
	struct node *node;
	uint16_t system_port;
	uint8_t class;
	uint32_t to_make;   /* frames that wait in it */
	uint32_t len_bytes; /* of each; 0: varies */
	uint32_t made;
	uint32_t reads; /* times that the worker looked into it */
};

struct port {
	struct rb_tx tx;
	struct node *node;
	uint8_t number;
	uint32_t room; /* frames it takes between two reaps */
	uint64_t held[4096];
	uint32_t n_held;
	uint32_t calls;	   /* of flush and reap */
	bool closed, down; /* down: its device sends nothing and gives nothing back */
	uint32_t received;
	uint32_t next[256][SL_CLASSES]; /* number expected next from each node and class */
	uint32_t out_of_order, duplicate, skipped;
};

struct node {
	uint8_t id;
	bool dead; /* its loop does not run */
	uint8_t *area;
	struct rb_chunks *chunks;
	struct rb_transport *transport;
	struct rb_worker *worker;
	struct sl_voq voq[256][VOQS];
	struct sl_backlog backlog[256][VOQS];
	struct ring ring[256][VOQS];
	struct port port[PORTS + 1];
	uint32_t epoch, qkey;
	uint32_t ups, downs;
};

static struct rb_mem_network *network;
static struct node nodes[NODES + 1]; /* by id */
static uint64_t now_ns;

/* Length of frame n; the lengths go through all from 60 to 1514. */
static uint32_t length_of(const struct ring *ring, uint32_t n)
{
	return ring->len_bytes ? ring->len_bytes : 60 + n * 37 % 1455;
}

static uint32_t ring_receive(void *context, struct rb_frame *out, uint32_t max)
{
	struct ring *ring = context;
	struct rb_chunks *chunks = ring->node->chunks;
	uint32_t n;

	for (n = 0; n < max && n < ring->to_make; n++) {
		uint64_t offset = rb_chunk_take(chunks, RB_OWNER_INGRESS);
		uint32_t number = ring->made + n, len = length_of(ring, number);
		uint8_t *data;

		if (offset == RB_CHUNK_NONE)
			break;
		offset += 256;
		data = rb_chunk_data(chunks, offset);
		for (uint32_t i = 0; i < len; i++)
			data[i] = (uint8_t)(number * 13 + i);
		rb_put16(data, ring->system_port);
		data[2] = ring->node->id;
		data[3] = ring->class;
		rb_put32(data + 4, number);
		rb_put16(data + 8, (uint16_t)len);
		out[n] = (struct rb_frame){
			.offset = offset,
			.arrival_ns = now_ns,
			.len_bytes = len,
			.ingress_port = SL_SYSTEM_PORT(ring->node->id, 1),
		};
	}
	ring->reads++;
	ring->made += n;
	ring->to_make -= n;
	if (ring->to_make > 0)
		rb_input_ask(&ring->input);
	return n;
}

static struct port *port_of(struct rb_tx *tx)
{
	return (struct port *)((char *)tx - offsetof(struct port, tx));
}

static void port_close(struct rb_tx *tx)
{
	port_of(tx)->closed = true;
}

static uint32_t port_room(struct rb_tx *tx)
{
	return port_of(tx)->room - port_of(tx)->n_held;
}

static uint32_t port_put(struct rb_tx *tx, const struct rb_frame *frames, uint32_t n)
{
	struct port *port = port_of(tx);

	assert_true(n <= port_room(tx));
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *data = rb_chunk_data(port->node->chunks, frames[i].offset);
		uint32_t number = rb_get32(data + 4);
		uint32_t *next = &port->next[data[2]][data[3]];

		assert_int_equal(rb_get16(data), SL_SYSTEM_PORT(port->node->id, port->number));
		assert_int_equal(rb_get16(data + 8), frames[i].len_bytes);
		for (uint32_t b = 10; b < frames[i].len_bytes; b++)
			assert_int_equal(data[b], (uint8_t)(number * 13 + b));
		port->out_of_order += number < *next;
		port->skipped += number > *next ? number - *next : 0;
		if (number >= *next)
			*next = number + 1;
		port->held[port->n_held++] = frames[i].offset;
		port->received++;
	}
	return n;
}

static int port_flush(struct rb_tx *tx)
{
	port_of(tx)->calls++;
	return port_of(tx)->down ? -ENETDOWN : 0;
}

static uint32_t port_reap(struct rb_tx *tx, uint64_t *offsets, uint32_t max)
{
	struct port *port = port_of(tx);
	uint32_t n = port->down ? 0 : port->n_held < max ? port->n_held : max;

	port->calls++;
	for (uint32_t i = 0; i < n; i++)
		offsets[i] = port->held[--port->n_held];
	return n;
}

static const struct rb_tx_ops port_ops = {
	.name = "memory",
	.close = port_close,
	.room = port_room,
	.put = port_put,
	.flush = port_flush,
	.reap = port_reap,
};

static void on_peer(void *context, uint8_t id, enum rb_peer_state state)
{
	struct node *node = context;

	(void)id;
	node->ups += state == RB_PEER_UP;
	node->downs += state == RB_PEER_DOWN;
}

struct setting {
	uint32_t degree;
	uint32_t message_max_bytes;
	uint32_t limit_frames;
	uint64_t pack_delay_ns;
	uint64_t port_rate;
	bool own; /* nodes have VOQs to their own ports */
	struct rb_mem_config network;
};
static struct setting setting;

static struct rb_endpoint endpoint(const struct node *node)
{
	struct rb_endpoint e = { .qpn = 0x100u + node->id,
				 .qkey = node->qkey,
				 .message_max_bytes = setting.message_max_bytes };

	e.gid[0] = 0xfd;
	e.gid[15] = node->id;
	return e;
}

static void start(struct node *node, uint32_t epoch)
{
	struct rb_worker_config config = {
		.node = node->id,
		.epoch = epoch,
		.dead_after_ns = DEAD_NS,
		.hello_interval_ns = DEAD_NS / 5,
		.pack_delay_ns = setting.pack_delay_ns,
		.degree = setting.degree,
		.receive_target = 256,
	};
	struct rb_endpoint self;

	node->epoch = epoch;
	node->qkey = epoch * 7;
	node->dead = false;
	self = endpoint(node);
	assert_int_equal(rb_chunks_create(node->area, 0, CHUNKS, CHUNK_BYTES, &node->chunks), 0);
	assert_int_equal(rb_mem_open(network, &self, node->chunks, 512, &node->transport), 0);
	config.transport = node->transport;
	assert_int_equal(rb_worker_create(&config, &node->worker), 0);
	node->worker->event_context = node;
	node->worker->on_peer = on_peer;
	for (uint8_t number = 1; number <= PORTS; number++) {
		struct rb_egress_config egress = {
			.system_port = SL_SYSTEM_PORT(node->id, number),
			.rate = setting.port_rate,
			.burst = 32,
		};
		struct port *port = &node->port[number];

		for (uint32_t c = 0; c < SL_CLASSES; c++)
			egress.class[c] = (struct rb_egress_class_config){
				.level = c == 3, .weight = 1, .limit_frames = setting.limit_frames
			};
		assert_int_equal(rb_worker_add_port(node->worker, &egress, now_ns), 0);
		memset(port, 0, sizeof(*port));
		*port = (struct port){
			.tx = { .ops = &port_ops }, .node = node, .number = number, .room = 256
		};
		rb_egress_set_tx(node->worker->port[number], &port->tx, node->chunks,
				 node->worker->counters);
	}
	for (uint8_t other = 1; other <= NODES; other++) {
		if (other == node->id && !setting.own)
			continue;
		assert_int_equal(other == node->id
					 ? rb_worker_add_self(node->worker, VOQS, 1514)
					 : rb_worker_add_peer(node->worker, other, VOQS, 1514),
				 0);
		for (uint32_t i = 0; i < VOQS; i++) {
			struct ring *ring = &node->ring[other][i];
			struct rb_ingress *in = node->worker->peer[other]->ingress;

			node->voq[other][i] = (struct sl_voq){ .rate = SL_RATE_UNLIMITED };
			memset(&node->backlog[other][i], 0, sizeof(node->backlog[other][i]));
			*ring = (struct ring){
				.input = { .receive = ring_receive, .context = ring },
				.node = node,
				.system_port = SL_SYSTEM_PORT(other, 1 + i / SL_CLASSES),
				.class = i % SL_CLASSES,
			};
			rb_ingress_set_voq(in, i, ring->system_port, ring->class,
					   &node->voq[other][i], &node->backlog[other][i], now_ns);
			rb_ingress_add_input(in, i, &ring->input);
		}
	}
}

static void stop(struct node *node)
{
	rb_worker_destroy(node->worker);
	node->transport->ops->close(node->transport);
	rb_chunks_reclaim(node->chunks, RB_OWNER_RECEIVE);
	/* No chunk is left but those that the ports had not given back. */
	assert_int_equal(node->chunks->n_free, CHUNKS);
	assert_int_equal(node->chunks->violations, 0);
	rb_chunks_destroy(node->chunks);
}

static void introduce(struct node *to, const struct node *whom)
{
	struct rb_endpoint e = endpoint(whom);

	assert_int_equal(rb_worker_connect(to->worker, whom->id, whom->epoch, &e, now_ns), 0);
}

/* Let time pass for all nodes. */
static void run_for(uint64_t ns)
{
	for (uint64_t end = now_ns + ns; now_ns < end; now_ns += STEP_NS) {
		rb_mem_network_advance(network, now_ns);
		for (int i = 1; i <= NODES; i++) {
			if (nodes[i].dead)
				continue;
			rb_worker_round(nodes[i].worker, now_ns);
			if (now_ns % MS == 0)
				rb_worker_tick(nodes[i].worker, now_ns);
		}
	}
}

static void begin(const struct setting *s)
{
	setting = *s;
	setting.network.in_flight_max = 4096;
	now_ns = SECOND;
	assert_int_equal(rb_mem_network_create(&setting.network, &network), 0);
	for (uint8_t i = 1; i <= NODES; i++) {
		uint8_t *area = malloc((size_t)CHUNKS * CHUNK_BYTES);

		assert_non_null(area);
		memset(&nodes[i], 0, sizeof(nodes[i]));
		nodes[i].id = i;
		nodes[i].area = area;
		start(&nodes[i], 1000u + i);
	}
	for (int i = 1; i <= NODES; i++)
		for (int k = 1; k <= NODES; k++)
			if (i != k)
				introduce(&nodes[i], &nodes[k]);
	run_for(10 * MS);
}

static void end(void)
{
	for (int i = 1; i <= NODES; i++) {
		stop(&nodes[i]);
		free(nodes[i].area);
	}
	rb_mem_network_destroy(network);
}

static const struct setting plain = {
	.degree = RB_RECORDS_MAX,
	.message_max_bytes = 4096,
	.limit_frames = 1024,
	.port_rate = SL_RATE_UNLIMITED,
	.network = { .seed = 1, .delay_ns = 20 * US },
};

static uint64_t count_of(int node, enum rb_frame_counter which)
{
	return nodes[node].worker->counters[which].packets;
}

static uint64_t sum_of(enum rb_frame_counter which)
{
	return count_of(1, which) + count_of(2, which) + count_of(3, which);
}

static void offer(int from, int to, uint32_t voq, uint32_t frames, uint32_t len_bytes)
{
	struct ring *ring = &nodes[from].ring[to][voq];

	ring->to_make += frames;
	ring->len_bytes = len_bytes;
	rb_input_ask(&ring->input);
}

/* When nothing waits, a counter accounts for every frame that a node took in. */
static void check_conservation(void)
{
	for (int i = 1; i <= NODES; i++) {
		const struct sl_counter *c = nodes[i].worker->counters;

		assert_int_equal(c[RB_COUNT_INGRESS].packets,
				 c[RB_COUNT_SENT].packets + c[RB_COUNT_LOCAL].packets +
					 c[RB_COUNT_DROP_PEER_DOWN].packets +
					 c[RB_COUNT_DROP_TOO_BIG].packets);
		assert_int_equal(c[RB_COUNT_EGRESS].packets,
				 c[RB_COUNT_TRANSMITTED].packets +
					 c[RB_COUNT_DROP_QUEUE_FULL].packets +
					 c[RB_COUNT_DROP_PORT_DOWN].packets);
		assert_int_equal(c[RB_COUNT_EGRESS].bytes,
				 c[RB_COUNT_TRANSMITTED].bytes + c[RB_COUNT_DROP_QUEUE_FULL].bytes +
					 c[RB_COUNT_DROP_PORT_DOWN].bytes);
	}
}

/* --- Tests --- */

static void traffic_of_all_nodes_arrives_whole_and_in_order(uint32_t degree, uint32_t message_bytes,
							    bool lend)
{
	struct setting s = plain;
	uint64_t messages = 0;

	s.degree = degree;
	s.message_max_bytes = message_bytes;
	s.network.lend = lend;
	begin(&s);
	for (int from = 1; from <= NODES; from++)
		for (int to = 1; to <= NODES; to++)
			for (uint32_t voq = 0; from != to && voq < VOQS; voq++)
				offer(from, to, voq, 200, 0);
	run_for(400 * MS);
	assert_int_equal(sum_of(RB_COUNT_INGRESS), 6 * VOQS * 200);
	assert_int_equal(sum_of(RB_COUNT_TRANSMITTED), 6 * VOQS * 200);
	check_conservation();
	for (int i = 1; i <= NODES; i++) {
		for (int p = 1; p <= PORTS; p++) {
			const struct port *port = &nodes[i].port[p];

			assert_int_equal(port->received, 2 * SL_CLASSES * 200);
			assert_int_equal(port->out_of_order + port->skipped, 0);
		}
		for (int k = 1; k <= NODES; k++)
			messages += i != k ? nodes[i].worker->peer[k]->sent[RB_MSG_DATA] : 0;
	}
	if (degree == 1)
		assert_int_equal(messages, 6 * VOQS * 200);
	else
		assert_true(messages < 6 * VOQS * 200 * 2 / 3);
	for (int i = 1; i <= NODES; i++)
		for (int k = 1; k <= NODES; k++)
			for (uint32_t v = 0; i != k && v < VOQS; v++)
				assert_int_equal(nodes[i].backlog[k][v].dequeued.frames, 200);
	end();
}

static void traffic_arrives_at_every_packing_degree(void **state)
{
	(void)state;
	traffic_of_all_nodes_arrives_whole_and_in_order(1, 4096, false);
	traffic_of_all_nodes_arrives_whole_and_in_order(4, 4096, false);
	traffic_of_all_nodes_arrives_whole_and_in_order(RB_RECORDS_MAX, 4096, false);
	traffic_of_all_nodes_arrives_whole_and_in_order(RB_RECORDS_MAX, 2048, false);
}

static void traffic_arrives_over_a_transport_that_borrows(void **state)
{
	(void)state;
	traffic_of_all_nodes_arrives_whole_and_in_order(RB_RECORDS_MAX, 4096, true);
}

static void small_frames_are_packed_to_the_message_limit(void **state)
{
	struct rb_worker_peer *peer;

	(void)state;
	begin(&plain);
	offer(1, 2, 0, 56 * 20, 60);
	run_for(20 * MS);
	peer = nodes[1].worker->peer[2];
	/*
	 * 24 + 56 * (12 + 60) = 4056. Reading ahead by 32 may end a message early, never make one
	 * too large.
	 */
	assert_int_equal(count_of(2, RB_COUNT_TRANSMITTED), 56 * 20);
	assert_int_equal(peer->sent[RB_MSG_DATA], 20);
	assert_int_equal(peer->sent_bytes[RB_MSG_DATA], 20 * 4056);
	end();
}

static void message_does_not_wait_unless_told(void **state)
{
	struct setting s = plain;

	(void)state;
	begin(&s);
	offer(1, 2, 0, 1, 60);
	run_for(2 * STEP_NS);
	assert_int_equal(nodes[1].worker->peer[2]->sent[RB_MSG_DATA], 1);
	end();

	s.pack_delay_ns = 100 * US;
	begin(&s);
	offer(1, 2, 0, 1, 60);
	run_for(90 * US);
	assert_int_equal(nodes[1].worker->peer[2]->sent[RB_MSG_DATA], 0);
	offer(1, 2, 1, 1, 60);
	run_for(30 * US);
	assert_int_equal(nodes[1].worker->peer[2]->sent[RB_MSG_DATA], 1);
	assert_int_equal(count_of(1, RB_COUNT_SENT), 2);
	end();
}

static void voq_is_paced_to_the_rate_in_its_settings(void **state)
{
	(void)state;
	begin(&plain);
	nodes[1].voq[2][0] = (struct sl_voq){ .rate = 10000, .burst = 1 };
	nodes[1].voq[2][1] =
		(struct sl_voq){ .rate = 1000000, .unit = SL_UNIT_BYTES, .burst = 1500 };
	nodes[1].voq[2][2] = (struct sl_voq){ .rate = 0 };
	for (uint32_t v = 0; v < 3; v++)
		offer(1, 2, v, 10000, 100);
	run_for(100 * MS);
	assert_in_range(nodes[2].port[1].next[1][0], 998, 1002);
	assert_in_range(nodes[2].port[1].next[1][1], 998, 1018);
	assert_int_equal(nodes[2].port[1].next[1][2], 0);
	/* A rate that an operator writes holds at once. */
	nodes[1].voq[2][0].rate = 50000;
	nodes[1].voq[2][2].rate = 10000;
	run_for(100 * MS);
	assert_in_range(nodes[2].port[1].next[1][0], 5996, 6004);
	assert_in_range(nodes[2].port[1].next[1][2], 998, 1002);
	end();
}

static void voqs_of_a_node_share_by_bytes_and_a_stopped_one_costs_nothing(void **state)
{
	struct setting s = plain;
	uint64_t a, b;

	(void)state;
	s.degree = 4;
	begin(&s);
	nodes[1].voq[2][2].rate = 0;
	offer(1, 2, 0, 100000, 100);
	offer(1, 2, 1, 100000, 1000);
	offer(1, 2, 2, 100000, 1000);
	run_for(20 * MS);
	a = nodes[2].port[1].next[1][0] * 100ULL;
	b = nodes[2].port[1].next[1][1] * 1000ULL;
	assert_true(a > 100000 && b > 100000);
	assert_in_range(a, b * 95 / 100, b * 105 / 100);
	nodes[1].ring[2][0].to_make = nodes[1].ring[2][1].to_make = nodes[1].ring[2][2].to_make = 0;
	end();
}

static void port_is_shaped_and_higher_level_goes_first(void **state)
{
	struct setting s = plain;
	const struct port *port = &nodes[2].port[1];
	uint32_t received;

	(void)state;
	s.port_rate = 10000;
	s.limit_frames = 512;
	begin(&s);
	offer(1, 2, 0, 3000, 60);
	run_for(20 * MS);
	assert_in_range(port->received, 220, 240);
	/* 512 found a place and 32 left as the first burst; the rest found the queue full. */
	assert_in_range(count_of(2, RB_COUNT_DROP_QUEUE_FULL), 3000 - 512 - 40, 3000 - 512 - 32);
	assert_int_equal(count_of(2, RB_COUNT_DROP_QUEUE_FULL) + port->received +
				 rb_egress_backlog(nodes[2].worker->port[1], 0),
			 3000);
	/* Class 3 has a level of its own: its frames pass those that wait. */
	received = port->received;
	offer(1, 2, 3, 10, 60);
	run_for(3 * MS);
	assert_in_range(port->received - received, 29, 31);
	assert_int_equal(port->next[1][3], 10);
	run_for(200 * MS);
	check_conservation();
	assert_int_equal(port->out_of_order, 0);
	end();
}

/* So that a lane may sleep until then. */
static void frames_between_ports_of_a_node_wait_in_the_queues_of_the_port(void **state)
{
	struct setting s = plain;
	const struct port *port = &nodes[1].port[1];
	uint64_t sent;

	(void)state;
	s.own = true;
	s.port_rate = 10000;
	begin(&s);
	offer(1, 1, 0, 300, 0);
	offer(2, 1, 0, 300, 0);
	run_for(20 * MS);
	assert_in_range(port->received, 200, 232); /* the rate, and what may come at once */
	assert_int_equal(count_of(1, RB_COUNT_LOCAL), 300);
	assert_int_equal(nodes[1].worker->port[1]->queue[0].arrived_from[1], 300);
	assert_int_equal(nodes[1].worker->port[1]->queue[0].arrived_from[2], 300);
	run_for(60 * MS);
	assert_int_equal(port->next[1][0], 300);
	assert_int_equal(port->next[2][0], 300);
	assert_int_equal(port->out_of_order + port->skipped, 0);
	assert_int_equal(nodes[1].backlog[1][0].dequeued.frames, 300);
	check_conservation();

	/* A VOQ of its own obeys its rate, and the node sends itself no message. */
	nodes[1].voq[1][0].rate = 1000;
	sent = nodes[1].worker->peer[1]->sent[RB_MSG_DATA];
	offer(1, 1, 0, 300, 0);
	run_for(100 * MS);
	assert_in_range(port->next[1][0], 398, 404);
	assert_int_equal(nodes[1].worker->peer[1]->sent[RB_MSG_DATA], sent);
	nodes[1].ring[1][0].to_make = 0;
	end();
}

static void worker_that_waits_for_time_alone_says_until_when(void **state)
{
	struct setting s = plain;
	const struct rb_worker *w;

	(void)state;
	s.port_rate = 10000;
	begin(&s);
	w = nodes[1].worker;
	assert_false(rb_worker_round(nodes[1].worker, now_ns));
	assert_false(w->held);
	assert_true(w->ready_ns == UINT64_MAX);
	/* Paced: 2,000 frames a second, one each 500 us. */
	nodes[1].voq[2][0] = (struct sl_voq){ .rate = 2000, .burst = 1 };
	offer(1, 2, 0, 50, 60);
	assert_true(rb_worker_round(nodes[1].worker, now_ns));
	run_for(2 * MS);
	while (rb_worker_round(nodes[1].worker, now_ns))
		run_for(STEP_NS);
	assert_true(w->held);
	assert_in_range(w->ready_ns, now_ns + 1, now_ns + 501 * US);
	assert_false(rb_worker_round(nodes[1].worker, w->ready_ns - 1));
	assert_true(rb_worker_round(nodes[1].worker, w->ready_ns + 1));
	now_ns += MS;
	/* At rate 0 there is no such time. */
	nodes[1].voq[2][0].rate = 0;
	run_for(MS);
	assert_true(w->held);
	assert_true(w->ready_ns == UINT64_MAX);
	nodes[1].voq[2][0].rate = SL_RATE_UNLIMITED;
	/* The shaped port of the other node: 100 us a frame. */
	offer(1, 2, 1, 200, 60);
	run_for(5 * MS);
	while (rb_worker_round(nodes[2].worker, now_ns))
		run_for(STEP_NS);
	assert_true(nodes[2].worker->held);
	assert_in_range(nodes[2].worker->ready_ns, now_ns + 1, now_ns + 101 * US);
	run_for(100 * MS);
	check_conservation();
	end();
}

/* A round costs what there is to do, however many nodes, VOQs and ports there are. */
static void round_visits_only_voqs_and_ports_with_frames(void **state)
{
	struct setting s = plain;

	(void)state;
	begin(&s);
	for (uint32_t other = 2; other <= NODES; other++)
		for (uint32_t i = 0; i < VOQS; i++)
			nodes[1].ring[other][i].reads = 0;
	for (uint32_t number = 1; number <= PORTS; number++)
		nodes[2].port[number].calls = 0;
	offer(1, 2, 1, 500, 60); /* to port 1 of node 2 */
	run_for(50 * MS);
	assert_int_equal(nodes[2].port[1].received, 500);
	for (uint32_t other = 2; other <= NODES; other++)
		for (uint32_t i = 0; i < VOQS; i++)
			if (other == 2 && i == 1)
				assert_in_range(nodes[1].ring[other][i].reads, 500 / 32,
						500 / 32 + 2);
			else
				assert_int_equal(nodes[1].ring[other][i].reads, 0);
	/* 5,000 rounds, of which at most 500 had a frame to send. */
	assert_in_range(nodes[2].port[1].calls, 2, 2000);
	assert_int_equal(nodes[2].port[2].calls, 0);
	/* And with a node that is not up. */
	nodes[3].dead = true;
	run_for(100 * MS);
	nodes[1].ring[3][2].reads = 0;
	offer(1, 3, 2, 300, 60);
	run_for(50 * MS);
	assert_true(count_of(1, RB_COUNT_DROP_PEER_DOWN) == 300);
	assert_in_range(nodes[1].ring[3][2].reads, 300 / 32, 300 / 32 + 3);
	assert_int_equal(nodes[1].ring[3][1].reads, 0);
	check_conservation();
	end();
}

static void worker_with_an_open_message_wakes_when_it_is_due(void **state)
{
	struct setting s = plain;
	const struct rb_worker *w;
	uint64_t opened_ns;

	(void)state;
	s.pack_delay_ns = 100 * US;
	begin(&s);
	w = nodes[1].worker;
	for (uint32_t frames = 1; frames <= 2; frames++) {
		offer(1, 2, 0, frames, 60);
		opened_ns = now_ns;
		rb_worker_round(nodes[1].worker, opened_ns);
		assert_false(rb_worker_round(nodes[1].worker, opened_ns + 1));
		assert_true(w->held);
		assert_true(w->ready_ns == opened_ns + 100 * US);
		run_for(MS);
	}
	assert_int_equal(w->peer[2]->sent[RB_MSG_DATA], 2);
	end();
}

static int refuse_to_send(struct rb_transport *base, struct rb_path *path,
			  const struct rb_piece *pieces, uint32_t n, uint64_t cookie)
{
	(void)base, (void)path, (void)pieces, (void)n, (void)cookie;
	return -EAGAIN;
}

static void message_that_the_transport_refuses_goes_later_and_costs_nothing(void **state)
{
	const struct rb_transport_ops *ops;
	struct rb_transport_ops full;
	const struct rb_worker *w;

	(void)state;
	begin(&plain);
	w = nodes[1].worker;
	ops = nodes[1].transport->ops;
	full = *ops;
	full.post_send = refuse_to_send;
	nodes[1].transport->ops = &full;
	offer(1, 2, 0, 1, 60);
	run_for(5 * MS); /* more rounds than messages can be under way */
	assert_true(w->peer[2]->send_refused > RB_LENT_MAX);
	nodes[1].transport->ops = ops;
	run_for(MS);
	assert_int_equal(count_of(2, RB_COUNT_TRANSMITTED), 1);
	assert_int_equal(w->n_free_lent, RB_LENT_MAX);
	check_conservation();
	end();
}

static void hellos_alone_are_no_work(void **state)
{
	struct setting s = plain;
	uint64_t rounds, idle, heard;
	const struct rb_worker *w;

	(void)state;
	begin(&s);
	w = nodes[1].worker;
	rounds = w->rounds;
	idle = w->idle_rounds;
	heard = w->peers.peer[2].seq[0].received;
	run_for(10 * DEAD_NS);
	assert_true(w->peers.peer[2].seq[0].received >= heard + 10);
	assert_int_equal(w->idle_rounds - idle, w->rounds - rounds);
	offer(2, 1, 0, 1, 60);
	run_for(MS);
	assert_true(w->idle_rounds - idle < w->rounds - rounds);
	end();
}

static void frame_larger_than_any_message_is_dropped_by_name(void **state)
{
	struct setting s = plain;

	(void)state;
	s.message_max_bytes = 1024;
	begin(&s);
	offer(1, 2, 0, 5, 989);
	run_for(5 * MS);
	offer(1, 2, 0, 5, 988);
	run_for(5 * MS);
	assert_int_equal(count_of(1, RB_COUNT_DROP_TOO_BIG), 5);
	assert_int_equal(count_of(2, RB_COUNT_TRANSMITTED), 5);
	check_conservation();
	end();
}

static void port_whose_device_is_down_drops_by_name_and_costs_no_round(void **state)
{
	struct port *port = &nodes[2].port[1];
	const struct rb_worker *w;
	uint64_t rounds, idle;

	(void)state;
	begin(&plain);
	w = nodes[2].worker;
	port->room = 4;
	port->down = true;
	offer(1, 2, 0, 10, 60);
	run_for(5 * MS);
	assert_int_equal(port->received, 4);
	assert_int_equal(count_of(2, RB_COUNT_DROP_PORT_DOWN), 6);
	assert_int_equal(count_of(2, RB_COUNT_TRANSMITTED), 0);
	rounds = w->rounds;
	idle = w->idle_rounds;
	run_for(5 * MS);
	assert_true(w->rounds > rounds);
	assert_int_equal(w->idle_rounds - idle, w->rounds - rounds);
	port->down = false;
	offer(1, 2, 0, 3, 60);
	run_for(5 * MS);
	assert_int_equal(count_of(2, RB_COUNT_TRANSMITTED), 7);
	check_conservation();
	end();
}

static void port_that_is_down_drops_by_name_and_comes_back(void **state)
{
	struct rb_worker *w;

	(void)state;
	begin(&plain);
	w = nodes[2].worker;
	rb_egress_set_tx(w->port[1], NULL, nodes[2].chunks, w->counters);
	assert_true(nodes[2].port[1].closed);
	offer(1, 2, 0, 10, 60);
	offer(1, 2, SL_CLASSES, 10, 60);
	run_for(5 * MS);
	assert_int_equal(count_of(2, RB_COUNT_DROP_PORT_DOWN), 10);
	assert_int_equal(nodes[2].port[2].received, 10);
	rb_egress_set_tx(w->port[1], &nodes[2].port[1].tx, nodes[2].chunks, w->counters);
	offer(1, 2, 0, 10, 60);
	run_for(5 * MS);
	assert_int_equal(nodes[2].port[1].received, 10);
	check_conservation();
	end();
}

static void slow_port_takes_nothing_from_the_others(void **state)
{
	(void)state;
	begin(&plain);
	nodes[2].port[1].room = 0;
	/* Slower than a port's share of a round, so that only the stuck one fills up. */
	nodes[1].voq[2][0] = (struct sl_voq){ .rate = 1000000, .burst = 1 };
	nodes[1].voq[2][SL_CLASSES] = (struct sl_voq){ .rate = 1000000, .burst = 1 };
	offer(1, 2, 0, 5000, 60);
	offer(1, 2, SL_CLASSES, 5000, 60);
	run_for(100 * MS);
	assert_int_equal(nodes[2].port[2].received, 5000);
	assert_int_equal(nodes[2].port[1].received, 0);
	assert_int_equal(count_of(2, RB_COUNT_DROP_QUEUE_FULL), 5000 - 1024);
	nodes[2].port[1].room = 256;
	run_for(100 * MS);
	assert_int_equal(nodes[2].port[1].received, 1024);
	check_conservation();
	end();
}

static void peer_that_falls_silent_is_down_within_the_bound_and_its_frames_are_dropped(void **state)
{
	uint64_t died_ns;

	(void)state;
	begin(&plain);
	for (uint8_t k = 2; k <= NODES; k++)
		assert_int_equal(rb_worker_peer_state(nodes[1].worker, k), RB_PEER_UP);
	nodes[2].dead = true;
	died_ns = now_ns;
	while (rb_worker_peer_state(nodes[1].worker, 2) == RB_PEER_UP) {
		run_for(MS);
		assert_true(now_ns - died_ns <= DEAD_NS + 2 * MS);
	}
	assert_int_equal(nodes[1].downs, 1);
	assert_int_equal(rb_worker_peer_state(nodes[1].worker, 3), RB_PEER_UP);
	offer(1, 2, 0, 300, 60);
	offer(1, 3, 0, 300, 60);
	run_for(20 * MS);
	assert_int_equal(count_of(1, RB_COUNT_DROP_PEER_DOWN), 300);
	assert_int_equal(count_of(3, RB_COUNT_TRANSMITTED), 300);
	/* The dropped frames have left the backlog, or XDP would admit no more. */
	assert_int_equal(nodes[1].backlog[2][0].dequeued.frames, 300);
	nodes[2].dead = false;
	run_for(20 * MS);
	assert_int_equal(rb_worker_peer_state(nodes[1].worker, 2), RB_PEER_UP);
	end();
}

static void restarted_peer_is_known_by_its_epoch_and_traffic_resumes(void **state)
{
	struct rb_msg_header old = { .type = RB_MSG_HELLO,
				     .source = 2,
				     .destination = 1,
				     .count = 1,
				     .length_bytes = 32,
				     .epoch = 1002,
				     .sequence = 1000000 };

	(void)state;
	begin(&plain);
	offer(2, 1, 0, 100, 60);
	run_for(5 * MS);
	assert_int_equal(nodes[1].port[1].received, 100);
	stop(&nodes[2]);
	start(&nodes[2], 5555);
	for (int k = 1; k <= NODES; k++)
		if (k != 2) {
			introduce(&nodes[k], &nodes[2]);
			introduce(&nodes[2], &nodes[k]);
		}
	run_for(15 * MS);
	assert_int_equal(rb_worker_peer_state(nodes[1].worker, 2), RB_PEER_UP);
	nodes[1].port[1].next[2][0] = 0;
	offer(2, 1, 0, 100, 60);
	offer(1, 2, 0, 100, 60);
	run_for(5 * MS);
	assert_int_equal(nodes[1].port[1].received, 200);
	assert_int_equal(nodes[2].port[1].received, 100);
	assert_int_equal(nodes[1].worker->peers.peer[2].seq[0].lost, 0);
	/* A message of the former life is refused under its name. */
	{
		uint8_t msg[32] = { 0 };
		const struct rb_piece piece = { msg, sizeof(msg) };
		uint64_t before = nodes[1].worker->verdicts[RB_VERDICT_EPOCH];

		rb_msg_header_encode(&old, msg);
		msg[31] = 1;
		assert_int_equal(nodes[2].transport->ops->post_send(nodes[2].transport,
								    nodes[2].worker->peer[1]->path,
								    &piece, 1, 0),
				 1);
		run_for(MS);
		assert_int_equal(nodes[1].worker->verdicts[RB_VERDICT_EPOCH], before + 1);
	}
	end();
}

static int no_path(struct rb_transport *t, const struct rb_endpoint *remote, void *context,
		   struct rb_path **out)
{
	(void)t;
	(void)remote;
	(void)context;
	(void)out;
	return -ENOMEM;
}

/*
 * A peer restarted and no path to its new life can be created: the worker sends it nothing, and it
 * counts as down after its old life has been silent long enough.
 */
static void restarted_peer_without_a_path_is_down_until_there_is_one(void **state)
{
	const struct rb_transport_ops *ops;
	struct rb_transport_ops failing;
	struct rb_endpoint e;

	(void)state;
	begin(&plain);
	ops = nodes[1].transport->ops;
	failing = *ops;
	failing.path_create = no_path;
	nodes[1].transport->ops = &failing;
	stop(&nodes[2]);
	start(&nodes[2], 5555);
	e = endpoint(&nodes[2]);
	assert_int_equal(rb_worker_connect(nodes[1].worker, 2, 5555, &e, now_ns), -ENOMEM);
	assert_int_equal(rb_worker_peer_state(nodes[1].worker, 2), RB_PEER_UP);
	offer(1, 2, 0, 10, 60);
	run_for(2 * DEAD_NS);
	assert_int_equal(rb_worker_peer_state(nodes[1].worker, 2), RB_PEER_DOWN);
	assert_int_equal(count_of(1, RB_COUNT_SENT), 0);
	assert_int_equal(count_of(1, RB_COUNT_DROP_PEER_DOWN), 10);
	nodes[1].transport->ops = ops;
	introduce(&nodes[1], &nodes[2]);
	introduce(&nodes[2], &nodes[1]);
	run_for(15 * MS);
	offer(1, 2, 0, 10, 60);
	run_for(5 * MS);
	assert_int_equal(nodes[2].port[1].received, 10);
	end();
}

static uint32_t flood_polls;

/* As many messages as the worker asks for, all malformed. It ends if the worker knows no bound. */
static uint32_t poll_flood(struct rb_transport *t, struct rb_completion *out, uint32_t max,
			   uint64_t now)
{
	(void)now;
	if (++flood_polls > 10 * RB_RECEIVE_BATCHES)
		return 0;
	for (uint32_t i = 0; i < max; i++)
		out[i] = (struct rb_completion){
			.kind = RB_RECEIVED, .offset = rb_chunk_take(t->chunks, RB_OWNER_MESSAGE)
		};
	return max;
}

static void flood_of_messages_without_frames_does_not_prolong_a_round(void **state)
{
	const struct rb_transport_ops *ops;
	struct rb_transport_ops flood;

	(void)state;
	begin(&plain);
	ops = nodes[1].transport->ops;
	flood = *ops;
	flood.poll = poll_flood;
	nodes[1].transport->ops = &flood;
	flood_polls = 0;
	rb_worker_round(nodes[1].worker, now_ns);
	assert_int_equal(flood_polls, RB_RECEIVE_BATCHES);
	nodes[1].transport->ops = ops;
	end();
}

/* Each bad message counts under one verdict, and nothing else happens. */
static void bad_messages_are_counted_by_name_and_change_nothing(void **state)
{
	uint64_t verdicts[RB_VERDICT_COUNT];
	struct rb_msg_header h = { .type = RB_MSG_DATA,
				   .source = 2,
				   .destination = 1,
				   .count = 1,
				   .length_bytes = 24 + 12 + 60,
				   .epoch = 1002,
				   .sequence = 500000 };
	struct rb_frame frame = { .len_bytes = 60, .system_port = SL_SYSTEM_PORT(1, 1) };
	static const enum rb_verdict expected[] = { RB_VERDICT_OK,	    RB_VERDICT_SOURCE,
						    RB_VERDICT_DESTINATION, RB_VERDICT_FRAME_PORT,
						    RB_VERDICT_VERSION,	    RB_VERDICT_EPOCH,
						    RB_VERDICT_DUPLICATE };

	(void)state;
	begin(&plain);
	memcpy(verdicts, nodes[1].worker->verdicts, sizeof(verdicts));
	for (uint32_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		struct rb_msg_header bad = h;
		struct rb_frame bad_frame = frame;
		uint8_t msg[24 + 12 + 60] = { 0 };
		const struct rb_piece piece = { msg, sizeof(msg) };
		uint64_t egress = count_of(1, RB_COUNT_EGRESS);

		if (expected[i] == RB_VERDICT_SOURCE)
			bad.source = 3; /* node 2 speaks in the name of node 3 */
		if (expected[i] == RB_VERDICT_DESTINATION)
			bad.destination = 3;
		if (expected[i] == RB_VERDICT_FRAME_PORT)
			bad_frame.system_port = SL_SYSTEM_PORT(1, 3);
		if (expected[i] == RB_VERDICT_EPOCH)
			bad.epoch++;
		rb_msg_header_encode(&bad, msg);
		rb_frame_header_encode(&bad_frame, 0, msg + 24);
		rb_put16(msg + 36, SL_SYSTEM_PORT(1, 1));
		msg[38] = 2;
		rb_put16(msg + 36 + 8, 60);
		for (uint32_t b = 10; b < 60; b++)
			msg[36 + b] = (uint8_t)b;
		if (expected[i] == RB_VERDICT_VERSION)
			msg[0] = 9;
		assert_int_equal(nodes[2].transport->ops->post_send(nodes[2].transport,
								    nodes[2].worker->peer[1]->path,
								    &piece, 1, 0),
				 1);
		run_for(200 * US);
		verdicts[expected[i]]++;
		assert_int_equal(nodes[1].worker->verdicts[expected[i]], verdicts[expected[i]]);
		assert_int_equal(count_of(1, RB_COUNT_EGRESS) - egress,
				 expected[i] == RB_VERDICT_OK);
	}
	end();
}

static void lossy_network_loses_messages_and_nothing_else(void **state)
{
	struct setting s = plain;
	struct rb_mem_stats stats;
	uint64_t lost = 0, late = 0, duplicate = 0;

	(void)state;
	s.degree = 8;
	s.network = (struct rb_mem_config){ .seed = 11,
					    .loss_ppm = 20000,
					    .duplicate_ppm = 20000,
					    .reorder_ppm = 20000,
					    .delay_ns = 50 * US,
					    .reorder_ns = 100 * US };
	begin(&s);
	for (int from = 1; from <= NODES; from++)
		for (int to = 1; to <= NODES; to++)
			for (uint32_t v = 0; from != to && v < VOQS; v++)
				offer(from, to, v, 2000, 200);
	run_for(600 * MS);
	rb_mem_network_stats(network, &stats);
	check_conservation();
	for (int i = 1; i <= NODES; i++) {
		for (int k = 1; k <= NODES; k++) {
			lost += nodes[i].worker->peers.peer[k].seq[0].lost;
			late += nodes[i].worker->peers.peer[k].seq[0].late;
			duplicate += nodes[i].worker->peers.peer[k].seq[0].duplicate;
		}
		assert_int_equal(nodes[i].worker->verdicts[RB_VERDICT_DUPLICATE] +
					 nodes[i].worker->verdicts[RB_VERDICT_OK] +
					 nodes[i].worker->verdicts[RB_VERDICT_STALE] +
					 nodes[i].worker->verdicts[RB_VERDICT_UNKNOWN_NODE] +
					 nodes[i].worker->verdicts[RB_VERDICT_EPOCH],
				 nodes[i].worker->verdicts[RB_VERDICT_OK] +
					 nodes[i].worker->verdicts[RB_VERDICT_DUPLICATE]);
	}
	assert_true(stats.lost > 100 && late > 50);
	assert_int_equal(duplicate, stats.duplicated);
	/* Nobody can know that the first or the last messages of a stream are lost. */
	assert_in_range(lost, stats.lost - 12, stats.lost);
	assert_int_equal(sum_of(RB_COUNT_SENT), 6 * VOQS * 2000);
	assert_in_range(sum_of(RB_COUNT_SENT) - sum_of(RB_COUNT_EGRESS), 1, 8 * stats.lost);
	end();
}

static uint8_t announced_from;
static uint32_t announced_bytes;
static uint8_t announced[960];

static void on_announce(void *context, uint8_t node, const uint8_t *bytes, uint32_t n_bytes)
{
	(void)context;
	announced_from = node;
	announced_bytes = n_bytes;
	memcpy(announced, bytes, n_bytes);
}

static void announcement_reaches_the_daemon_of_the_peer(void **state)
{
	uint8_t body[960];

	(void)state;
	memset(body, 0x3c, sizeof(body));
	begin(&plain);
	nodes[2].worker->on_announce = on_announce;
	assert_int_equal(rb_worker_announce(nodes[1].worker, 9, body, 1, now_ns), -ENOENT);
	assert_int_equal(rb_worker_announce(nodes[1].worker, 2, body, 0, now_ns), -EMSGSIZE);
	assert_int_equal(rb_worker_announce(nodes[1].worker, 2, body, sizeof(body), now_ns), 0);
	run_for(MS);
	assert_int_equal(announced_from, 1);
	assert_int_equal(announced_bytes, sizeof(body));
	assert_memory_equal(announced, body, sizeof(body));
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(traffic_arrives_at_every_packing_degree),
		cmocka_unit_test(traffic_arrives_over_a_transport_that_borrows),
		cmocka_unit_test(small_frames_are_packed_to_the_message_limit),
		cmocka_unit_test(message_does_not_wait_unless_told),
		cmocka_unit_test(voq_is_paced_to_the_rate_in_its_settings),
		cmocka_unit_test(voqs_of_a_node_share_by_bytes_and_a_stopped_one_costs_nothing),
		cmocka_unit_test(port_is_shaped_and_higher_level_goes_first),
		cmocka_unit_test(frames_between_ports_of_a_node_wait_in_the_queues_of_the_port),
		cmocka_unit_test(worker_that_waits_for_time_alone_says_until_when),
		cmocka_unit_test(round_visits_only_voqs_and_ports_with_frames),
		cmocka_unit_test(worker_with_an_open_message_wakes_when_it_is_due),
		cmocka_unit_test(message_that_the_transport_refuses_goes_later_and_costs_nothing),
		cmocka_unit_test(hellos_alone_are_no_work),
		cmocka_unit_test(frame_larger_than_any_message_is_dropped_by_name),
		cmocka_unit_test(port_whose_device_is_down_drops_by_name_and_costs_no_round),
		cmocka_unit_test(port_that_is_down_drops_by_name_and_comes_back),
		cmocka_unit_test(slow_port_takes_nothing_from_the_others),
		cmocka_unit_test(
			peer_that_falls_silent_is_down_within_the_bound_and_its_frames_are_dropped),
		cmocka_unit_test(restarted_peer_is_known_by_its_epoch_and_traffic_resumes),
		cmocka_unit_test(restarted_peer_without_a_path_is_down_until_there_is_one),
		cmocka_unit_test(flood_of_messages_without_frames_does_not_prolong_a_round),
		cmocka_unit_test(bad_messages_are_counted_by_name_and_change_nothing),
		cmocka_unit_test(lossy_network_loses_messages_and_nothing_else),
		cmocka_unit_test(announcement_reaches_the_daemon_of_the_peer),
	};
	return cmocka_run_group_tests_name("worker", tests, NULL, NULL);
}
