/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Controllers at work: workers of five nodes on a network in memory. The first four feed a port of
 * the last, which is shaped. Frames are admitted to a VOQ up to its limit, as XDP does. The test
 * makes up the time, so every figure is the same in every run.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "rdma-bridge/transport/mem.h"
#include "rdma-bridge/worker/worker.h"

#define NODES_MAX   5
#define EGRESS	    5 /* the node whose port the others feed */
#define CHUNKS	    4096
#define CHUNK_BYTES 4096
#define US	    1000ULL
#define MS	    1000000ULL
#define SECOND	    1000000000ULL
#define STEP_NS	    (20 * US)
#define DEAD_NS	    (50 * MS)
#define CAPACITY    200000 /* frames a second: 200 in an interval of 1 ms */
#define LIMIT	    512	   /* frames of a VOQ */
#define FRAME_BYTES 60

/* A source of one class: frames come at a rate and wait up to the limit. */
struct ring {
	struct rb_input input;
	struct node *node;
	uint64_t offered_pps;
	uint64_t part; /* of a frame, 1e-9 */
	uint64_t offered, admitted, dropped;
	uint32_t waiting;
};

struct port {
	struct rb_tx tx;
	uint64_t held[4096];
	uint32_t n_held;
};

struct node {
	uint8_t id;
	bool dead;
	uint8_t *area;
	struct rb_chunks *chunks;
	struct rb_transport *transport;
	struct rb_worker *worker;
	struct sl_voq voq[SL_CLASSES];
	struct sl_backlog backlog[SL_CLASSES];
	struct ring ring[SL_CLASSES];
	struct port port;
	uint32_t epoch;
};

static struct rb_mem_network *network;
static struct node nodes[NODES_MAX + 1]; /* by id */
static uint64_t now_ns;
static uint32_t egress_message_max_bytes = 2048;
static uint32_t turn; /* of the order in which the nodes run */
static uint32_t unit; /* of the rate of the egress's port, enum sl_unit */
static uint32_t class_weights[SL_CLASSES];
static uint64_t fabric_Bps; /* of each node; 0: unknown */
/* Of node 1: itself, and another worker that has no VOQs here. */
static struct rb_rates_urgency urgency[2];

static uint32_t ring_receive(void *context, struct rb_frame *out, uint32_t max)
{
	struct ring *ring = context;
	uint32_t n;

	for (n = 0; n < max && n < ring->waiting; n++) {
		uint64_t offset = rb_chunk_take(ring->node->chunks, RB_OWNER_INGRESS);

		if (offset == RB_CHUNK_NONE)
			break;
		out[n] = (struct rb_frame){
			.offset = offset + 256,
			.arrival_ns = now_ns,
			.len_bytes = FRAME_BYTES,
			.ingress_port = SL_SYSTEM_PORT(ring->node->id, 1),
		};
		memset(rb_chunk_data(ring->node->chunks, offset + 256), 0, FRAME_BYTES);
	}
	ring->waiting -= n;
	return n;
}

/* XDP's part: admit the frames of this step while the VOQ holds less than its limit. */
static void ring_fill(struct ring *ring, uint32_t class)
{
	struct sl_backlog *backlog = &ring->node->backlog[class];

	ring->part += ring->offered_pps * STEP_NS;
	for (; ring->part >= SECOND; ring->part -= SECOND) {
		ring->offered++;
		if (ring->node->voq[class].rate == 0 ||
		    backlog->enqueued.frames - backlog->dequeued.frames >= LIMIT) {
			ring->dropped++;
			continue;
		}
		ring->admitted++;
		ring->waiting++;
		backlog->enqueued.frames++;
		backlog->enqueued.bytes += FRAME_BYTES;
	}
	if (ring->waiting > 0)
		rb_input_ask(&ring->input);
}

static struct port *port_of(struct rb_tx *tx)
{
	return (struct port *)((char *)tx - offsetof(struct port, tx));
}

static void port_close(struct rb_tx *tx)
{
	(void)tx;
}

static uint32_t port_room(struct rb_tx *tx)
{
	return 4096 - port_of(tx)->n_held;
}

static uint32_t port_put(struct rb_tx *tx, const struct rb_frame *frames, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		port_of(tx)->held[port_of(tx)->n_held++] = frames[i].offset;
	return n;
}

static int port_flush(struct rb_tx *tx)
{
	(void)tx;
	return 0;
}

static uint32_t port_reap(struct rb_tx *tx, uint64_t *offsets, uint32_t max)
{
	struct port *port = port_of(tx);
	uint32_t n = port->n_held < max ? port->n_held : max;

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

static struct rb_endpoint endpoint(const struct node *node)
{
	struct rb_endpoint e = { .qpn = 0x100u + node->id,
				 .qkey = node->epoch * 7,
				 .message_max_bytes =
					 node->id == EGRESS ? egress_message_max_bytes : 2048 };

	e.gid[0] = 0xfd;
	e.gid[15] = node->id;
	return e;
}

static void add_own_port(struct node *node, uint64_t rate)
{
	struct rb_egress_config egress = {
		.system_port = SL_SYSTEM_PORT(node->id, 1),
		.rate = rate,
		.unit = unit,
		.burst = unit == SL_UNIT_BYTES ? 16 * FRAME_BYTES : 16,
	};

	for (uint32_t c = 0; c < SL_CLASSES; c++)
		egress.class[c] = (struct rb_egress_class_config){ .level = c == 3,
								   .weight = class_weights[c],
								   .limit_frames = 2048 };
	assert_int_equal(rb_worker_add_port(node->worker, &egress, now_ns), 0);
	memset(&node->port, 0, sizeof(node->port));
	node->port.tx.ops = &port_ops;
	rb_egress_set_tx(node->worker->port[1], &node->port.tx, node->chunks,
			 node->worker->counters);
}

/* Every node has VOQs to the egress, which has none itself. */
static void add_peers(struct node *node)
{
	for (uint8_t other = 1; other <= NODES_MAX; other++) {
		struct rb_ingress *in;

		if (other == node->id)
			continue;
		assert_int_equal(rb_worker_add_peer(node->worker, other,
						    other == EGRESS ? SL_CLASSES : 0, 1514),
				 0);
		in = node->worker->peer[other]->ingress;
		for (uint8_t c = 0; in && c < SL_CLASSES; c++) {
			struct ring *ring = &node->ring[c];

			node->voq[c] = (struct sl_voq){ .rate = SL_RATE_UNLIMITED, .burst = 16 };
			node->backlog[c] = (struct sl_backlog){ .marked = 0 };
			*ring = (struct ring){
				.input = { .receive = ring_receive, .context = ring }, .node = node
			};
			rb_ingress_set_voq(in, c, SL_SYSTEM_PORT(EGRESS, 1), c, &node->voq[c],
					   &node->backlog[c], now_ns);
			rb_ingress_add_input(in, c, &ring->input);
		}
	}
}

static void start(struct node *node, uint32_t epoch)
{
	struct rb_worker_config config = {
		.node = node->id,
		.epoch = epoch,
		.dead_after_ns = DEAD_NS,
		.hello_interval_ns = DEAD_NS / 5,
		.degree = 16,
		.receive_target = 512,
		.fabric_Bps = fabric_Bps,
		.urgency = node->id == 1 ? urgency : NULL,
		.n_workers = 2,
	};
	struct rb_endpoint self;

	node->epoch = epoch;
	node->dead = false;
	self = endpoint(node);
	assert_int_equal(rb_chunks_create(node->area, 0, CHUNKS, CHUNK_BYTES, &node->chunks), 0);
	assert_int_equal(rb_mem_open(network, &self, node->chunks, 1024, &node->transport), 0);
	config.transport = node->transport;
	assert_int_equal(rb_worker_create(&config, &node->worker), 0);
	add_own_port(node, node->id != EGRESS	   ? SL_RATE_UNLIMITED
			   : unit == SL_UNIT_BYTES ? CAPACITY * FRAME_BYTES
						   : CAPACITY);
	add_peers(node);
}

static void stop(struct node *node)
{
	rb_worker_destroy(node->worker);
	node->transport->ops->close(node->transport);
	rb_chunks_reclaim(node->chunks, RB_OWNER_RECEIVE);
	assert_int_equal(node->chunks->n_free, CHUNKS);
	assert_int_equal(node->chunks->violations, 0);
	rb_chunks_destroy(node->chunks);
}

static void introduce(struct node *to, const struct node *whom)
{
	struct rb_endpoint e = endpoint(whom);

	assert_int_equal(rb_worker_connect(to->worker, whom->id, whom->epoch, &e, now_ns), 0);
}

/* The nodes run in another order each time: bridges do not run in step. */
static void run_for(uint64_t ns)
{
	for (uint64_t end = now_ns + ns; now_ns < end; now_ns += STEP_NS) {
		turn = turn * 1664525 + 1013904223;
		rb_mem_network_advance(network, now_ns);
		for (uint32_t k = 0; k < NODES_MAX; k++) {
			uint32_t i = 1 + ((turn >> 16) + k) % NODES_MAX;

			if (nodes[i].dead)
				continue;
			for (uint32_t c = 0; c < SL_CLASSES && i != EGRESS; c++)
				ring_fill(&nodes[i].ring[c], c);
			rb_worker_round(nodes[i].worker, now_ns);
			if (now_ns % MS == 0)
				rb_worker_tick(nodes[i].worker, now_ns);
		}
	}
}

static const struct rb_mem_config good_network = { .seed = 5, .in_flight_max = 4096 };

/* The classes of the egress's port have these weights, and its rate is in frames or bytes. */
static void begin_with(uint32_t rate_unit, const uint32_t *weights)
{
	now_ns = SECOND;
	unit = rate_unit;
	memcpy(class_weights, weights, sizeof(class_weights));
	turn = 1;
	assert_int_equal(rb_mem_network_create(&good_network, &network), 0);
	for (uint8_t i = 1; i <= NODES_MAX; i++) {
		uint8_t *area = malloc((size_t)CHUNKS * CHUNK_BYTES);

		assert_non_null(area);
		memset(&nodes[i], 0, sizeof(nodes[i]));
		nodes[i].id = i;
		nodes[i].area = area;
		start(&nodes[i], 1000u + i);
	}
	for (int i = 1; i <= NODES_MAX; i++)
		for (int k = 1; k <= NODES_MAX; k++)
			if (i != k)
				introduce(&nodes[i], &nodes[k]);
	run_for(10 * MS);
}

static void begin(void)
{
	static const uint32_t alike[SL_CLASSES] = { 1, 1, 1, 1 };

	begin_with(SL_UNIT_FRAMES, alike);
}

static void end(void)
{
	for (int i = 1; i <= NODES_MAX; i++) {
		stop(&nodes[i]);
		free(nodes[i].area);
	}
	rb_mem_network_destroy(network);
}

/* --- What the tests do and ask --- */

static void set_controller(const char *controller, const char *words)
{
	struct sl_cc_settings settings;
	char why[SL_CC_WHY_BYTES] = "";
	struct rb_rates *r = nodes[EGRESS].worker->rates;

	assert_int_equal(sl_cc_settings_init(&settings, controller), 0);
	if (sl_cc_settings_set_all(&settings, words, why))
		fail_msg("%s", why);
	if (unit == SL_UNIT_BYTES)
		settings.frame_bytes = FRAME_BYTES;
	assert_int_equal(rb_rates_set_port(r, 1, &settings, 1000000, 10000000, now_ns, NULL), 0);
}

static void offer(int node, uint32_t class, uint64_t pps)
{
	nodes[node].ring[class].offered_pps = pps;
}

static void offer_all(uint64_t pps)
{
	for (int i = 1; i < EGRESS; i++)
		offer(i, 0, pps);
}

static struct rb_egress_queue *queue(uint32_t class)
{
	return &nodes[EGRESS].worker->port[1]->queue[class];
}

/* Frames since a mark. */
struct mark {
	uint64_t from[NODES_MAX + 1][SL_CLASSES];
	uint64_t departed, dropped, arrived;
	uint64_t ns;
};

static struct mark mark(void)
{
	struct mark m = { .ns = now_ns };

	for (uint32_t c = 0; c < SL_CLASSES; c++) {
		for (int i = 1; i < EGRESS; i++)
			m.from[i][c] = queue(c)->arrived_from[i];
		m.departed += queue(c)->departed.packets;
		m.dropped += queue(c)->dropped.packets;
		m.arrived += queue(c)->arrived.packets;
	}
	return m;
}

static double rate_of(const struct mark *m, int node, uint32_t class)
{
	return (double)(queue(class)->arrived_from[node] - m->from[node][class]) * 1e9 /
	       (double)(now_ns - m->ns);
}

static double use_of(const struct mark *m)
{
	return (double)(mark().departed - m->departed) * 1e9 / (double)(now_ns - m->ns) / CAPACITY;
}

static void assert_share(const struct mark *m, int node, uint32_t class, double expected,
			 double tolerance)
{
	double rate = rate_of(m, node, class);

	if (rate < expected * (1 - tolerance) || rate > expected * (1 + tolerance))
		fail_msg("node %d class %u: %.0f frames/s, expected %.0f within %.1f %%", node,
			 class, rate, expected, tolerance * 100);
}

/* Every frame that was offered left, waits, or is counted as dropped. */
static void check_conservation(void)
{
	uint64_t offered = 0, dropped = 0, waiting = 0, lost = 0, out = 0;

	for (int i = 1; i < EGRESS; i++)
		for (uint32_t c = 0; c < SL_CLASSES; c++) {
			offered += nodes[i].ring[c].offered;
			dropped += nodes[i].ring[c].dropped;
			waiting += nodes[i].ring[c].waiting;
		}
	for (int i = 1; i < EGRESS; i++) {
		const struct rb_worker *w = nodes[i].worker;

		waiting += w->counters[RB_COUNT_INGRESS].packets -
			   w->counters[RB_COUNT_SENT].packets -
			   w->counters[RB_COUNT_DROP_PEER_DOWN].packets;
		lost += w->counters[RB_COUNT_SENT].packets;
		dropped += w->counters[RB_COUNT_DROP_PEER_DOWN].packets;
	}
	for (uint32_t c = 0; c < SL_CLASSES; c++) {
		lost -= queue(c)->arrived.packets;
		out += queue(c)->departed.packets;
		dropped += queue(c)->dropped.packets;
		waiting += rb_egress_backlog(nodes[EGRESS].worker->port[1], c);
	}
	assert_int_equal(lost, 0);
	assert_int_equal(offered, out + dropped + waiting);
}

/* Offer nothing more, and let the frames that wait leave. */
static void drain(void)
{
	for (int i = 1; i < EGRESS; i++)
		for (uint32_t c = 0; c < SL_CLASSES; c++)
			offer(i, c, 0);
	run_for(100 * MS);
	check_conservation();
}

/* --- Tests --- */

static void without_a_controller_the_egress_drops_the_excess(void **state)
{
	struct mark m;

	(void)state;
	begin();
	set_controller("fixed", "");
	offer_all(CAPACITY);
	run_for(50 * MS);
	m = mark();
	run_for(100 * MS);
	/* Four times what the port takes crosses the fabric. */
	assert_in_range(mark().arrived - m.arrived, CAPACITY * 4 / 10 * 99 / 100,
			CAPACITY * 4 / 10 * 101 / 100);
	assert_true(mark().dropped - m.dropped > CAPACITY / 10 * 29 / 10);
	assert_int_equal(nodes[1].voq[0].rate == SL_RATE_UNLIMITED, 1);
	drain();
	end();
}

static void fixed_takes_off_the_limit_that_another_controller_left(void **state)
{
	(void)state;
	begin();
	set_controller("price", "");
	offer_all(CAPACITY);
	run_for(300 * MS);
	assert_in_range(nodes[1].voq[0].rate, 1, CAPACITY);
	set_controller("fixed", "");
	run_for(30 * MS);
	assert_true(nodes[1].voq[0].rate == SL_RATE_UNLIMITED);
	drain();
	end();
}

/* Offered rates in thousandths of C, and the max-min shares of them, written out. */
static const struct row {
	const char *name;
	uint32_t offered[4], share[4];
} rows[] = {
	{ "all the same, 4 times too much", { 1000, 1000, 1000, 1000 }, { 250, 250, 250, 250 } },
	{ "table 7.1, row 1", { 405, 403, 100, 0 }, { 405, 403, 100, 0 } },
	{ "table 7.1, row 2", { 405, 405, 202, 0 }, { 399, 399, 202, 0 } },
	{ "table 7.1, row 3", { 406, 405, 303, 0 }, { 348, 349, 303, 0 } },
	{ "table 7.1, row 4", { 405, 405, 405, 0 }, { 333, 333, 333, 0 } },
	{ "500, 50, 5", { 1200, 120, 12, 0 }, { 868, 120, 12, 0 } },
	{ "one source alone", { 1500, 0, 0, 0 }, { 1000, 0, 0, 0 } },
};

static void price_gives_max_min_shares_fills_the_port_and_drops_nothing_at_the_egress(void **state)
{
	(void)state;
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		uint32_t longest = 0;
		struct mark m;

		begin();
		set_controller("price", "");
		for (int i = 1; i < EGRESS; i++)
			offer(i, 0, (uint64_t)rows[r].offered[i - 1] * CAPACITY / 1000);
		run_for(200 * MS);
		m = mark();
		for (int i = 0; i < 200; i++) {
			uint32_t backlog = rb_egress_backlog(nodes[EGRESS].worker->port[1], 0);

			longest = backlog > longest ? backlog : longest;
			run_for(MS);
		}
		print_message("price, %s: %.0f %.0f %.0f %.0f, use %.2f %%, longest queue %u\n",
			      rows[r].name, rate_of(&m, 1, 0), rate_of(&m, 2, 0), rate_of(&m, 3, 0),
			      rate_of(&m, 4, 0), use_of(&m) * 100, longest);
		for (int i = 1; i < EGRESS; i++)
			assert_share(&m, i, 0, rows[r].share[i - 1] * (CAPACITY / 1000.0), 0.02);
		assert_int_equal(mark().dropped, 0);
		assert_true(use_of(&m) >= 0.99 || r == 1); /* which is less than the port takes */
		/* Four times the target, 0.13 C T, in a port that serves every 20 us. */
		assert_true(longest < 4 * 26 + 16);
		drain();
		end();
	}
}

static void rates_are_written_into_the_settings_of_the_voqs(void **state)
{
	(void)state;
	begin();
	set_controller("price", "");
	run_for(30 * MS);
	/* The policy alone brings name and first rate: a fourth each. */
	assert_string_equal(nodes[2].voq[0].controller, "price");
	assert_int_equal(nodes[2].voq[0].rate, CAPACITY / 4);
	assert_int_equal(nodes[2].voq[0].unit, SL_UNIT_FRAMES);
	offer_all(CAPACITY);
	run_for(200 * MS);
	for (int i = 1; i < EGRESS; i++)
		assert_in_range(nodes[i].voq[0].rate, CAPACITY / 4 * 97 / 100,
				CAPACITY / 4 * 103 / 100);
	drain();
	end();
}

static void weights_of_nodes_and_classes_share_the_port(void **state)
{
	struct mark m;

	(void)state;
	begin();
	set_controller("price", "node2.weight=2 node3.weight=3");
	for (int i = 1; i <= 3; i++)
		offer(i, 0, CAPACITY);
	run_for(300 * MS);
	m = mark();
	run_for(200 * MS);
	for (int i = 1; i <= 3; i++)
		assert_share(&m, i, 0, CAPACITY * i / 6.0, 0.02);
	drain();
	/* Two classes of one level: each has half of the port, and its own price. */
	for (int i = 1; i <= 2; i++) {
		offer(i, 0, CAPACITY);
		offer(i, 1, CAPACITY);
	}
	run_for(400 * MS);
	m = mark();
	run_for(200 * MS);
	assert_share(&m, 1, 0, CAPACITY / 6.0, 0.03);
	assert_share(&m, 2, 0, CAPACITY / 3.0, 0.03);
	assert_share(&m, 1, 1, CAPACITY / 6.0, 0.03);
	assert_share(&m, 2, 1, CAPACITY / 3.0, 0.03);
	assert_true(use_of(&m) >= 0.99);
	drain();
	end();
}

/*
 * Class 0 alone has the port for a while; then class 1 asks for all of it, too, and class 2 for a
 * twentieth, which is less than its part. Whoever came first, the two share the rest by weight.
 */
static const struct class_case {
	const char *controller;
	uint32_t unit;
	uint32_t weight[SL_CLASSES];
	/*
	 * A class may miss its share by this. Of a controller that leaves a part of its own share
	 * unused, another class takes that part.
	 */
	double tolerance;
} class_cases[] = {
	{ "price", SL_UNIT_FRAMES, { 1, 1, 2, 1 }, 0.01 },
	{ "price", SL_UNIT_BYTES, { 10, 10, 20, 1 }, 0.01 },
	{ "price", SL_UNIT_FRAMES, { 100, 100, 200, 1 }, 0.01 },
	{ "price", SL_UNIT_FRAMES, { 512, 512, 1024, 1 }, 0.01 },
	{ "price", SL_UNIT_BYTES, { 1, 10, 11, 1 }, 0.01 },
	{ "price", SL_UNIT_FRAMES, { 10, 1, 11, 1 }, 0.01 },
	{ "price", SL_UNIT_FRAMES, { 1023, 1, 1024, 1 }, 0.05 }, /* 185 frames/s: one is 2 % */
	{ "dq", SL_UNIT_BYTES, { 10, 10, 20, 1 }, 0.01 },
	{ "dq", SL_UNIT_FRAMES, { 10, 1, 11, 1 }, 0.01 },
	{ "credit", SL_UNIT_BYTES, { 10, 10, 20, 1 }, 0.01 },
	{ "credit", SL_UNIT_FRAMES, { 10, 1, 11, 1 }, 0.01 },
	{ "rcp", SL_UNIT_BYTES, { 10, 10, 20, 1 }, 0.03 },
	{ "rcp", SL_UNIT_FRAMES, { 10, 1, 11, 1 }, 0.03 },
	{ "swift", SL_UNIT_FRAMES, { 10, 10, 20, 1 }, 0.05 },
	{ "swift", SL_UNIT_BYTES, { 10, 1, 11, 1 }, 0.05 },
	{ "hpcc", SL_UNIT_BYTES, { 10, 10, 20, 1 }, 0.05 },
	{ "hpcc", SL_UNIT_FRAMES, { 10, 1, 11, 1 }, 0.05 },
	{ "dcqcn", SL_UNIT_FRAMES, { 10, 10, 20, 1 }, 0.05 },
	{ "dcqcn", SL_UNIT_BYTES, { 10, 1, 11, 1 }, 0.05 },
	{ "aimd", SL_UNIT_FRAMES, { 10, 10, 20, 1 }, 0.03 },
	{ "aimd", SL_UNIT_BYTES, { 10, 1, 11, 1 }, 0.03 },
	{ "qcn", SL_UNIT_BYTES, { 10, 10, 20, 1 }, 0.01 },
	{ "qcn", SL_UNIT_FRAMES, { 10, 1, 11, 1 }, 0.01 },
	{ "asm", SL_UNIT_FRAMES, { 10, 10, 20, 1 }, 0.01 },
	{ "asm", SL_UNIT_BYTES, { 10, 1, 11, 1 }, 0.01 },
	{ "weights", SL_UNIT_FRAMES, { 10, 10, 20, 1 }, 0.25 }, /* it uses 78 to 92 % of a port */
	{ "weights", SL_UNIT_BYTES, { 10, 1, 11, 1 }, 0.25 },
};

static void classes_share_the_port_by_weight_whoever_came_first(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof(class_cases) / sizeof(class_cases[0]); k++) {
		const struct class_case *t = &class_cases[k];
		uint64_t before[SL_CLASSES], from_ns;
		double share[3];

		begin_with(t->unit, t->weight);
		set_controller(t->controller, "");
		offer(1, 0, CAPACITY);
		offer(2, 0, CAPACITY);
		run_for(200 * MS);
		offer(3, 1, CAPACITY);
		offer(4, 1, CAPACITY);
		offer(1, 2, CAPACITY / 20);
		run_for(700 * MS);
		from_ns = now_ns;
		for (uint32_t c = 0; c < 3; c++)
			before[c] = queue(c)->departed.packets;
		run_for(300 * MS);
		for (uint32_t c = 0; c < 3; c++)
			share[c] = (double)(queue(c)->departed.packets - before[c]) * 1e9 /
				   (double)(now_ns - from_ns) / CAPACITY;
		print_message("%s, %s, weights %u and %u: %.4f %.4f, and %.4f of the port\n",
			      t->controller, t->unit == SL_UNIT_BYTES ? "bytes" : "frames",
			      t->weight[0], t->weight[1], share[0], share[1], share[2]);
		for (uint32_t c = 0; c < 2; c++) {
			double due = 0.95 * t->weight[c] / (t->weight[0] + t->weight[1]);

			if (share[c] < due * (1 - t->tolerance))
				fail_msg("class %u has %.4f of the port, its share is %.4f", c,
					 share[c], due);
		}
		assert_true(share[2] > 0.049);
		drain();
		end();
	}
}

/*
 * Every controller keeps the port in use, starves nobody, and takes the excess away at the ingress.
 */
static void every_controller_works(void **state)
{
	static const struct {
		const char *name, *words;
		double use, least; /* of C, of a fair share */
	} cases[] = {
		{ "weights", "", 0.85, 0.6 }, { "price", "", 0.99, 0.98 },
		{ "aimd", "", 0.97, 0.95 },   { "qcn", "", 0.99, 0.75 },
		{ "asm", "", 0.99, 0.9 },     { "dq", "", 0.99, 0.98 },
		{ "credit", "", 0.99, 0.98 }, { "rcp", "", 0.99, 0.98 },
		{ "swift", "", 0.97, 0.95 },  { "hpcc", "", 0.99, 0.98 },
		{ "dcqcn", "", 0.95, 0.7 },
	};

	(void)state;
	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		struct mark m;

		begin();
		set_controller(cases[k].name, cases[k].words);
		offer_all(CAPACITY);
		run_for(500 * MS);
		m = mark();
		run_for(500 * MS);
		print_message("%s: %.0f %.0f %.0f %.0f, use %.1f %%, dropped at the egress %llu\n",
			      cases[k].name, rate_of(&m, 1, 0), rate_of(&m, 2, 0),
			      rate_of(&m, 3, 0), rate_of(&m, 4, 0), use_of(&m) * 100,
			      (unsigned long long)(mark().dropped - m.dropped));
		assert_true(use_of(&m) >= cases[k].use);
		for (int i = 1; i < EGRESS; i++)
			assert_true(rate_of(&m, i, 0) >= cases[k].least * CAPACITY / 4);
		assert_true(mark().arrived - m.arrived < CAPACITY / 2 * 11 / 10);
		drain();
		end();
	}
}

/*
 * From the third to the tenth second no controller leaves a source behind. QCN compares no rates,
 * and `weights` halves one source's after another: they promise less.
 */
static void sources_have_equal_shares_in_every_second_of_ten(void **state)
{
	static const struct {
		const char *name;
		double jain, least, use; /* least: of a share */
	} cases[] = {
		{ "price", 0.999, 0.99, 0.99 },	 { "dq", 0.999, 0.99, 0.99 },
		{ "credit", 0.999, 0.99, 0.99 }, { "aimd", 0.99, 0.95, 0.98 },
		{ "asm", 0.99, 0.9, 0.99 },	 { "qcn", 0.96, 0.7, 0.99 },
		{ "weights", 0.98, 0.75, 0.9 },	 { "rcp", 0.999, 0.99, 0.99 },
		{ "swift", 0.99, 0.95, 0.97 },	 { "hpcc", 0.99, 0.95, 0.98 },
		{ "dcqcn", 0.95, 0.7, 0.95 },
	};

	(void)state;
	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		double jain = 1, smallest = 1, use = 1;

		begin();
		set_controller(cases[k].name, "");
		offer_all(CAPACITY);
		run_for(2 * SECOND);
		for (int second = 2; second < 10; second++) {
			struct mark m = mark();
			double sum = 0, squares = 0, index;

			run_for(SECOND);
			for (int i = 1; i < EGRESS; i++) {
				double share = rate_of(&m, i, 0) / (CAPACITY / 4.0);

				sum += share;
				squares += share * share;
				smallest = share < smallest ? share : smallest;
			}
			index = sum * sum / squares / 4;
			jain = index < jain ? index : jain;
			use = use_of(&m) < use ? use_of(&m) : use;
		}
		print_message("%s, windows of 1 s in 2..10 s: least Jain %.4f, least share %.2f, "
			      "use %.1f %%\n",
			      cases[k].name, jain, smallest, use * 100);
		if (jain < cases[k].jain || smallest < cases[k].least || use < cases[k].use)
			fail_msg("%s is unfair in a window", cases[k].name);
		drain();
		end();
	}
}

/*
 * Node 1 feeds two classes, and its way into the fabric carries half of what the port drains, of
 * frames of 60 bytes: dq gives them all of that, as both are as urgent. If another worker of the
 * node has VOQs that are three times as urgent as these two together, they get a fourth.
 */
static void dq_divides_the_way_into_the_fabric_among_all_workers(void **state)
{
	static const struct {
		uint32_t unit;
		uint64_t others; /* urgency of the other worker's VOQs by that of ours */
	} cases[] = { { SL_UNIT_FRAMES, 0 }, { SL_UNIT_FRAMES, 3 }, { SL_UNIT_BYTES, 3 } };
	static const uint32_t alike[SL_CLASSES] = { 1, 1, 1, 1 };

	(void)state;
	fabric_Bps = CAPACITY * FRAME_BYTES / 2;
	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		struct mark m;

		memset(urgency, 0, sizeof(urgency));
		begin_with(cases[k].unit, alike);
		set_controller("dq", "");
		offer(1, 0, CAPACITY);
		offer(1, 1, CAPACITY);
		run_for(20 * MS);
		for (int ms = 0; ms < 300; ms++) {
			if (ms == 100)
				m = mark();
			urgency[1].total = cases[k].others * urgency[0].total;
			run_for(MS);
		}
		for (uint32_t c = 0; c < 2; c++)
			assert_share(&m, 1, c,
				     (unit == SL_UNIT_BYTES ? FRAME_BYTES : 1) * CAPACITY / 4.0 /
					     (1 + cases[k].others),
				     0.02);
		drain();
		end();
	}
	fabric_Bps = 0;
	memset(urgency, 0, sizeof(urgency));
}

static const struct rb_rates_stats *stats_of(int node)
{
	return &nodes[node].worker->rates->stats;
}

/*
 * Milliseconds until the rates of these nodes' VOQs stay within 5 % of `expected` for 20 ms; 1000:
 * not in time.
 */
static uint32_t settle_ms(int first, int last, double expected)
{
	uint32_t good = 0;

	for (uint32_t ms = 1; ms < 1000; ms++) {
		bool all = true;

		run_for(MS);
		for (int i = first; i <= last; i++)
			all &= nodes[i].voq[0].rate > expected * 0.95 &&
			       nodes[i].voq[0].rate < expected * 1.05;
		good = all ? good + 1 : 0;
		if (good == 20)
			return ms - 19;
	}
	return 1000;
}

static void source_that_leaves_or_joins_settles_within_50_intervals(void **state)
{
	uint32_t ms;

	(void)state;
	begin();
	set_controller("price", "");
	offer_all(CAPACITY);
	run_for(300 * MS);
	offer(1, 0, 0);
	ms = settle_ms(2, 4, CAPACITY / 3.0);
	print_message("one of four leaves: within 5 %% after %u T\n", ms);
	assert_true(ms <= 50);
	offer(1, 0, CAPACITY);
	ms = settle_ms(1, 4, CAPACITY / 4.0);
	print_message("and joins: after %u T\n", ms);
	assert_true(ms <= 50);
	assert_int_equal(mark().dropped, 0);
	drain();
	end();
}

static void peer_that_dies_frees_its_share_within_the_liveness_bound(void **state)
{
	uint64_t died_ns;
	struct mark m;

	(void)state;
	begin();
	set_controller("dq", "");
	offer_all(CAPACITY);
	run_for(200 * MS);
	nodes[1].dead = true;
	died_ns = now_ns;
	while (rb_worker_peer_state(nodes[EGRESS].worker, 1) == RB_PEER_UP)
		run_for(MS);
	assert_true(now_ns - died_ns <= DEAD_NS + 2 * MS);
	/* Its reports count no longer, and it is no source any more. */
	run_for(50 * MS);
	assert_int_equal(nodes[EGRESS].worker->rates->by_number[1]->queue[0].sample.n_sources, 3);
	m = mark();
	run_for(100 * MS);
	for (int i = 2; i < EGRESS; i++)
		assert_share(&m, i, 0, CAPACITY / 3.0, 0.02);
	assert_true(use_of(&m) >= 0.99);
	nodes[1].dead = false;
	run_for(200 * MS);
	m = mark();
	run_for(100 * MS);
	assert_share(&m, 1, 0, CAPACITY / 4.0, 0.02);
	end();
}

static void report_of_a_source_that_reports_no_more_counts_no_more(void **state)
{
	const struct rb_report report = { .system_port = SL_SYSTEM_PORT(EGRESS, 1),
					  .sequence = 1,
					  .waiting = 100 };
	const struct rb_rates_queue *q;
	struct rb_rates *r;

	(void)state;
	begin();
	set_controller("dq", "");
	offer(2, 0, CAPACITY / 10);
	run_for(20 * MS);
	r = nodes[EGRESS].worker->rates;
	q = &r->by_number[1]->queue[0];
	rb_rates_reports(r, 1, &report, 1, now_ns);
	run_for((RB_RATES_REPORT_STALE - 2) * MS);
	assert_int_equal(q->waiting[1], 100);
	run_for(4 * MS);
	assert_int_equal(q->waiting[1], 0);
	drain();
	end();
}

static void switching_controllers_and_parameters_drops_nothing(void **state)
{
	static const char *const names[] = { "price",	"dq",  "fixed", "aimd",	 "price",
					     "weights", "asm", "qcn",	"fixed", "price" };
	uint64_t dropped = 0;

	(void)state;
	begin();
	set_controller("price", "");
	offer_all(CAPACITY * 12 / 100);
	run_for(100 * MS);
	for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
		set_controller(names[k], "");
		run_for(40 * MS);
		for (int i = 1; i < EGRESS; i++)
			assert_string_equal(nodes[i].voq[0].controller, names[k]);
	}
	for (int i = 1; i < EGRESS; i++)
		dropped += nodes[i].ring[0].dropped;
	assert_int_equal(dropped, 0);
	assert_int_equal(mark().dropped, 0);
	/* At four times the load the sources drop; the egress still does not. */
	offer_all(CAPACITY);
	run_for(300 * MS);
	set_controller("price", "kappa_ppb=100000000");
	run_for(50 * MS);
	set_controller("price", "interval_us=2000");
	run_for(100 * MS);
	set_controller("dq", "");
	run_for(100 * MS);
	set_controller("price", "");
	run_for(100 * MS);
	assert_int_equal(mark().dropped, 0);
	drain();
	end();
}

static void fixed_leaves_a_rate_that_another_program_wrote(void **state)
{
	struct mark m;

	(void)state;
	begin();
	set_controller("fixed", "");
	run_for(30 * MS);
	assert_string_equal(nodes[1].voq[0].controller, "fixed");
	offer_all(CAPACITY);
	nodes[1].voq[0].rate = 20000;
	nodes[2].voq[0].rate = 40000;
	nodes[3].voq[0].rate = nodes[4].voq[0].rate = 0;
	run_for(50 * MS);
	m = mark();
	run_for(200 * MS);
	assert_share(&m, 1, 0, 20000, 0.01);
	assert_share(&m, 2, 0, 40000, 0.01);
	assert_share(&m, 3, 0, 0, 0);
	/* It writes a rate of its own once; the map may be changed again. */
	set_controller("fixed", "rate_ups=30000");
	run_for(30 * MS);
	assert_int_equal(nodes[4].voq[0].rate, 30000);
	nodes[4].voq[0].rate = 10000;
	m = mark();
	run_for(2 * SECOND);
	assert_share(&m, 3, 0, 30000, 0.01);
	assert_share(&m, 4, 0, 10000, 0.01);
	/* The next controller takes the rate over. */
	nodes[4].voq[0].rate = 50000;
	set_controller("price", "");
	run_for(3 * MS);
	assert_in_range(nodes[4].voq[0].rate, 40000, 60000);
	drain();
	end();
}

static void timer_rests_without_traffic_and_the_next_frame_finds_a_good_rate(void **state)
{
	uint64_t intervals, sent;
	struct mark m;

	(void)state;
	begin();
	set_controller("price", "");
	offer_all(CAPACITY);
	run_for(200 * MS);
	for (int i = 1; i < EGRESS; i++)
		offer(i, 0, 0);
	run_for(RB_RATES_LINGER_NS + 200 * MS);
	intervals = stats_of(EGRESS)->intervals;
	sent = stats_of(EGRESS)->feedback_sent;
	run_for(2 * SECOND);
	assert_int_equal(stats_of(EGRESS)->intervals, intervals);
	assert_int_equal(stats_of(EGRESS)->feedback_sent, sent);
	/* Policies alone are due: about one a second. */
	assert_true(rb_rates_due_ns(nodes[EGRESS].worker->rates) > now_ns);
	assert_in_range(rb_rates_due_ns(nodes[1].worker->rates), now_ns, UINT64_MAX);
	for (int i = 1; i < EGRESS; i++)
		assert_true(nodes[i].voq[0].rate >= CAPACITY / 12);
	offer_all(CAPACITY);
	run_for(2 * MS);
	assert_true(stats_of(EGRESS)->intervals > intervals);
	m = mark();
	run_for(20 * MS);
	assert_true(use_of(&m) > 0.95);
	drain();
	end();
}

static void records_of_all_queues_share_a_message(void **state)
{
	const struct rb_worker_peer *peer;
	uint64_t messages, records, intervals;

	(void)state;
	begin();
	set_controller("price", "");
	for (uint32_t c = 0; c < SL_CLASSES; c++)
		offer(1, c, CAPACITY / 2);
	run_for(50 * MS);
	peer = nodes[EGRESS].worker->peer[1];
	messages = peer->sent[RB_MSG_FEEDBACK];
	records = stats_of(EGRESS)->feedback_sent;
	intervals = stats_of(EGRESS)->intervals;
	run_for(100 * MS);
	assert_in_range(peer->sent[RB_MSG_FEEDBACK] - messages, 99, 101);
	/* Four queues, four sources. */
	assert_in_range(stats_of(EGRESS)->intervals - intervals, 4 * 99, 4 * 101);
	assert_int_equal(stats_of(EGRESS)->feedback_sent - records,
			 4 * (stats_of(EGRESS)->intervals - intervals));
	drain();
	end();
}

/* The smaller end of a path limits its messages, also when it is the sender. */
static void records_fill_messages_of_the_smaller_end(void **state)
{
	const uint32_t records_max = 3; /* of the four that are due in each interval */
	uint64_t messages, records;

	(void)state;
	egress_message_max_bytes = RB_MSG_HEADER_BYTES + records_max * RB_FEEDBACK_BYTES + 8;
	begin();
	set_controller("price", "");
	for (uint32_t c = 0; c < SL_CLASSES; c++)
		offer(1, c, CAPACITY / 2);
	run_for(50 * MS);
	messages = nodes[EGRESS].worker->peer[1]->sent[RB_MSG_FEEDBACK];
	records = stats_of(EGRESS)->feedback_sent;
	run_for(100 * MS);
	assert_int_equal(stats_of(EGRESS)->feedback_refused, 0);
	assert_in_range(stats_of(EGRESS)->feedback_sent - records, 16 * 99, 16 * 101);
	assert_in_range(nodes[EGRESS].worker->peer[1]->sent[RB_MSG_FEEDBACK] - messages, 2 * 99,
			2 * 101);
	drain();
	end();
	egress_message_max_bytes = 2048;
}

static void sources_follow_a_restarted_egress_at_once(void **state)
{
	struct mark m;

	(void)state;
	begin();
	set_controller("price", "");
	offer_all(CAPACITY);
	run_for(200 * MS);
	stop(&nodes[EGRESS]);
	start(&nodes[EGRESS], 77); /* random in truth, so it may as well be smaller */
	set_controller("price", "");
	for (int k = 1; k < EGRESS; k++) {
		introduce(&nodes[k], &nodes[EGRESS]);
		introduce(&nodes[EGRESS], &nodes[k]);
	}
	run_for(150 * MS);
	m = mark();
	run_for(100 * MS);
	for (int i = 1; i < EGRESS; i++)
		assert_share(&m, i, 0, CAPACITY / 4.0, 0.02);
	for (int i = 1; i < EGRESS; i++) {
		assert_int_equal(stats_of(i)->feedback_stale, 0);
		offer(i, 0, 0);
	}
	run_for(100 * MS);
	end();
}

static void impossible_policies_and_strange_records_change_nothing(void **state)
{
	struct rb_rates *r;
	struct rb_policy bad = { .system_port = SL_SYSTEM_PORT(EGRESS, 1),
				 .controller = CC_PRICE,
				 .generation = 1000,
				 .interval_ns = 1000000,
				 .frame_bytes = 1514,
				 .sources = 4,
				 .capacity = CAPACITY,
				 .line = CAPACITY,
				 .weight = { 1, 1, 1, 1 } };
	struct rb_feedback record = { .system_port = SL_SYSTEM_PORT(EGRESS, 1),
				      .controller = CC_AIMD,
				      .sequence = 1000000,
				      .wide = CAPACITY };
	uint64_t rate, foreign;

	(void)state;
	begin();
	set_controller("price", "");
	offer_all(CAPACITY);
	run_for(200 * MS);
	r = nodes[1].worker->rates;
	rate = nodes[1].voq[0].rate;
	rb_rates_policy(r, &bad, now_ns); /* no parameters */
	bad.n_params = cc_lookup("price")->n_params;
	rb_rates_policy(r, &bad, now_ns); /* all 0: below their ranges */
	for (uint32_t i = 0; i < bad.n_params; i++)
		bad.param[i] = (uint64_t)cc_lookup("price")->params[i].value;
	bad.interval_ns = 1;
	rb_rates_policy(r, &bad, now_ns);
	bad.interval_ns = 1000000;
	bad.controller = 200;
	rb_rates_policy(r, &bad, now_ns);
	bad.controller = CC_PRICE;
	bad.system_port = SL_SYSTEM_PORT(EGRESS, 9); /* no VOQ leads there */
	rb_rates_policy(r, &bad, now_ns);
	assert_int_equal(stats_of(1)->policies_refused, 5);
	foreign = stats_of(1)->feedback_foreign;
	rb_rates_feedback(r, &record, 1, now_ns);
	record.system_port = SL_SYSTEM_PORT(3, 1);
	rb_rates_feedback(r, &record, 1, now_ns);
	assert_int_equal(stats_of(1)->feedback_foreign, foreign + 2);
	assert_int_equal(nodes[1].voq[0].rate, rate);
	drain();
	end();
}

/* --- Lost, late and reordered feedback --- */

/* That a controller runs under bad feedback, before it is measured as long again. */
static uint64_t trouble_ns = 200 * MS;

/* Delays for T = 1 ms; they are scaled for a controller with another T. */
static const struct trouble {
	const char *name;
	struct rb_mem_config network;
} troubles[] = {
	{ "none", { .in_flight_max = 1 } },
	{ "1 % lost", { .loss_ppm = 10000 } },
	{ "10 % lost", { .loss_ppm = 100000 } },
	{ "50 % lost", { .loss_ppm = 500000 } },
	{ "1 T late", { .delay_ns = MS } },
	{ "3 T late", { .delay_ns = 3 * MS } },
	{ "5 T late", { .delay_ns = 5 * MS } },
	{ "1 T late, half of them 2.5 T more: reordered",
	  { .delay_ns = MS, .reorder_ppm = 500000, .reorder_ns = 2500 * US } },
	{ "50 % lost, 2 T late, half of them 3 T more",
	  { .loss_ppm = 500000, .delay_ns = 2 * MS, .reorder_ppm = 500000, .reorder_ns = 3 * MS } },
};

/* Run a controller with bad feedback; use and the least share of a source, as a part of fair. */
static void under(const struct trouble *trouble, const char *name, const char *words,
		  uint64_t interval_ns, double use, double least)
{
	struct rb_mem_config bad = trouble->network;
	double smallest = 10;
	struct mark m;

	begin();
	set_controller(name, words);
	bad.seed = 5;
	bad.only_type = RB_MSG_FEEDBACK;
	bad.delay_ns = bad.delay_ns * interval_ns / MS;
	bad.reorder_ns = bad.reorder_ns * interval_ns / MS;
	rb_mem_network_set(network, &bad);
	offer_all(CAPACITY);
	run_for(trouble_ns);
	m = mark();
	run_for(trouble_ns);
	for (int i = 1; i < EGRESS; i++) {
		double share = rate_of(&m, i, 0) / (CAPACITY / 4.0);

		smallest = share < smallest ? share : smallest;
	}
	print_message("%-8s %-44s use %5.1f %%, least share %3.0f %%, dropped %.2f %%\n", name,
		      trouble->name, use_of(&m) * 100, smallest * 100,
		      (double)(mark().dropped - m.dropped) * 100 /
			      (double)(mark().arrived - m.arrived));
	assert_true(use_of(&m) >= use);
	assert_true(smallest >= least);
	end();
}

static void bad_feedback_neither_stops_the_port_nor_starves_a_source(void **state)
{
	/* QCN and ASM sample every hundred arrivals: 500 us. */
	static const struct {
		const char *name, *words;
		uint64_t interval_ns;
		double use, least;
	} cases[] = {
		{ "price", "", MS, 0.97, 0.9 },
		{ "weights", "", MS, 0.8, 0.5 },
		{ "aimd", "", MS, 0.93, 0.85 },
		{ "dq", "", MS, 0.97, 0.9 },
		{ "credit", "", MS, 0.9, 0.85 },
		{ "rcp", "", MS, 0.75, 0.7 },
		{ "swift", "", MS, 0.55, 0.5 },
		{ "hpcc", "", MS, 0.55, 0.5 },
		{ "dcqcn", "", MS, 0.5, 0.4 },
		{ "qcn", "interval_us=500", 500 * US, 0.95, 0.6 },
		{ "asm", "interval_us=500", 500 * US, 0.97, 0.6 },
	};

	(void)state;
	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++)
		for (size_t t = 0; t < sizeof(troubles) / sizeof(troubles[0]); t++)
			under(&troubles[t], cases[k].name, cases[k].words, cases[k].interval_ns,
			      cases[k].use, cases[k].least);
}

static void rates_fall_to_the_floor_without_feedback_and_rise_with_the_first_record(void **state)
{
	static const struct {
		const char *name;
		uint32_t ms;
	} cases[] = {
		{ "price", 20 }, { "weights", 20 }, { "aimd", 50 }, /* four sources add C / 200
								       each: 45 intervals */
		{ "dq", 20 },	 { "credit", 20 },  { "rcp", 20 },  { "swift", 200 },
		{ "hpcc", 30 },	 { "dcqcn", 20 },
	};

	(void)state;
	for (size_t k = 0; k < sizeof(cases) / sizeof(cases[0]); k++) {
		struct rb_mem_config deaf = { .seed = 5,
					      .loss_ppm = 1000000,
					      .only_type = RB_MSG_FEEDBACK };
		uint32_t ms = 0;

		begin();
		set_controller(cases[k].name, "");
		offer_all(CAPACITY);
		run_for(200 * MS);
		rb_mem_network_set(network, &deaf);
		run_for(200 * MS);
		/* 0.1 % of the capacity: safe whatever the others do. */
		for (int i = 1; i < EGRESS; i++)
			assert_int_equal(nodes[i].voq[0].rate, CAPACITY / 1000);
		rb_mem_network_set(network, &good_network);
		for (ms = 1; ms < 200; ms++) {
			struct mark m = mark();

			run_for(MS);
			if (use_of(&m) >= 0.9)
				break;
		}
		print_message("%s: nine tenths of the port after %u T\n", cases[k].name, ms);
		assert_true(ms < cases[k].ms);
		end();
	}
}

/* An argument: seconds for each row of bad feedback, as for docs/CONTROLLERS.md. */
int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_controller_the_egress_drops_the_excess),
		cmocka_unit_test(
			price_gives_max_min_shares_fills_the_port_and_drops_nothing_at_the_egress),
		cmocka_unit_test(rates_are_written_into_the_settings_of_the_voqs),
		cmocka_unit_test(weights_of_nodes_and_classes_share_the_port),
		cmocka_unit_test(classes_share_the_port_by_weight_whoever_came_first),
		cmocka_unit_test(every_controller_works),
		cmocka_unit_test(sources_have_equal_shares_in_every_second_of_ten),
		cmocka_unit_test(dq_divides_the_way_into_the_fabric_among_all_workers),
		cmocka_unit_test(source_that_leaves_or_joins_settles_within_50_intervals),
		cmocka_unit_test(peer_that_dies_frees_its_share_within_the_liveness_bound),
		cmocka_unit_test(report_of_a_source_that_reports_no_more_counts_no_more),
		cmocka_unit_test(switching_controllers_and_parameters_drops_nothing),
		cmocka_unit_test(fixed_leaves_a_rate_that_another_program_wrote),
		cmocka_unit_test(fixed_takes_off_the_limit_that_another_controller_left),
		cmocka_unit_test(timer_rests_without_traffic_and_the_next_frame_finds_a_good_rate),
		cmocka_unit_test(records_of_all_queues_share_a_message),
		cmocka_unit_test(records_fill_messages_of_the_smaller_end),
		cmocka_unit_test(sources_follow_a_restarted_egress_at_once),
		cmocka_unit_test(impossible_policies_and_strange_records_change_nothing),
		cmocka_unit_test(bad_feedback_neither_stops_the_port_nor_starves_a_source),
		cmocka_unit_test(
			rates_fall_to_the_floor_without_feedback_and_rise_with_the_first_record),
	};

	if (argc > 1)
		trouble_ns = strtoul(argv[1], NULL, 10) * SECOND;
	return cmocka_run_group_tests_name("rates", tests, NULL, NULL);
}
