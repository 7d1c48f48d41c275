/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of the controllers inside a bridge with 250 peers, in processor time of one interval of
 * T = 1 ms:
 *
 *   egress    one port that all of them feed: the sample, a record for each, and the 250 messages
 *             handed to the transport `mem`
 *   ingress   a VOQ towards a port of each: 250 records taken, 250 rates moved and written
 *
 * It times only what the rates do (rb_rates_round, rb_rates_feedback). Between intervals it counts
 * up arrivals by hand; no node is at the other end. It prints a line per controller: median
 * [least-greatest] of nine rounds.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "rdma-bridge/transport/mem.h"
#include "rdma-bridge/worker/worker.h"
#include "user/lib/clock.h"

#define SELF	    255
#define PEERS	    250
#define CHUNKS	    4096
#define CHUNK_BYTES 4096
#define CAPACITY    14880000 /* frames a second: 10 Gb/s of 64 bytes */
#define T_NS	    1000000ULL
#define ROUNDS	    9
#define INTERVALS   200

static struct rb_mem_network *network;
static struct rb_transport *transport;
static struct rb_chunks *chunks;
static struct rb_worker *worker;
static struct sl_voq settings[PEERS + 1][SL_CLASSES];
static struct sl_backlog backlog[PEERS + 1][SL_CLASSES];
static uint64_t now_ns = 1000000000;
static uint32_t generation, sequence;

static void need(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "bench-rates: %s: error %d\n", what, err);
	exit(EXIT_FAILURE);
}

static uint64_t cpu_ns(void)
{
	return sl_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static struct rb_endpoint endpoint(uint8_t node)
{
	struct rb_endpoint e = { .qpn = 0x100u + node, .qkey = node, .message_max_bytes = 4096 };

	e.gid[0] = 0xfd;
	e.gid[15] = node;
	return e;
}

static void add_peer(uint8_t node)
{
	const struct rb_endpoint remote = endpoint(node);
	struct rb_ingress *in;

	need(rb_worker_add_peer(worker, node, SL_CLASSES, 1514), "peer");
	in = worker->peer[node]->ingress;
	for (uint8_t k = 0; k < SL_CLASSES; k++) {
		settings[node][k] = (struct sl_voq){ .rate = SL_RATE_UNLIMITED, .burst = 16 };
		rb_ingress_set_voq(in, k, SL_SYSTEM_PORT(node, 1), k, &settings[node][k],
				   &backlog[node][k], now_ns);
	}
	need(rb_worker_connect(worker, node, 1, &remote, now_ns), "connection");
	worker->peers.peer[node].state = RB_PEER_UP;
}

static void set_up(void)
{
	const struct rb_mem_config config = { .seed = 1, .in_flight_max = 1024 };
	const struct rb_egress_config port = {
		.system_port = SL_SYSTEM_PORT(SELF, 1),
		.rate = CAPACITY,
		.burst = 64,
		.class = { { .weight = 1, .limit_frames = 65536 },
			   { .weight = 1, .limit_frames = 16 },
			   { .weight = 1, .limit_frames = 16 },
			   { .weight = 1, .limit_frames = 16 } },
	};
	struct rb_worker_config bridge = {
		.node = SELF,
		.epoch = 1,
		.dead_after_ns = 50000000,
		.hello_interval_ns = 10000000,
		.degree = 16,
		.receive_target = 64,
	};
	const struct rb_endpoint self = endpoint(SELF);
	uint8_t *area = malloc((size_t)CHUNKS * CHUNK_BYTES);

	need(!area, "memory");
	need(rb_mem_network_create(&config, &network), "network");
	need(rb_chunks_create(area, 0, CHUNKS, CHUNK_BYTES, &chunks), "chunks");
	need(rb_mem_open(network, &self, chunks, 64, &transport), "transport");
	bridge.transport = transport;
	need(rb_worker_create(&bridge, &worker), "worker");
	need(rb_worker_add_port(worker, &port, now_ns), "port");
	for (uint8_t node = 1; node <= PEERS; node++)
		add_peer(node);
}

/* Let time pass, and the network take what was sent; not timed. */
static void pass(void)
{
	now_ns += T_NS;
	rb_mem_network_advance(network, now_ns);
}

static uint64_t egress_interval(void)
{
	struct rb_egress_queue *q = &worker->port[1]->queue[0];
	uint64_t start;

	for (uint32_t node = 1; node <= PEERS; node++) {
		uint32_t frames = 55 + (uint32_t)random() % 10;

		q->arrived_from[node] += frames;
		q->arrived.packets += frames;
		worker->counters[RB_COUNT_EGRESS].packets += frames;
	}
	/* A queue of 1500 to 2400 frames. */
	q->departed.packets = q->arrived.packets - 1500 - (uint64_t)random() % 900;
	pass();
	start = cpu_ns();
	rb_rates_round(worker->rates, now_ns);
	return cpu_ns() - start;
}

static uint64_t ingress_interval(const struct cc_ops *ops)
{
	struct rb_feedback record = { .controller = ops->algorithm,
				      .word = { 3 << 20, 250 << 16, 0 },
				      .wide = CAPACITY };
	uint64_t start;

	pass();
	record.sequence = ++sequence;
	start = cpu_ns();
	for (uint32_t node = 1; node <= PEERS; node++) {
		record.system_port = SL_SYSTEM_PORT(node, 1);
		rb_rates_feedback(worker->rates, &record, 1, now_ns);
	}
	rb_rates_round(worker->rates, now_ns);
	return cpu_ns() - start;
}

/* A port of each peer has the controller, and its VOQ holds something. */
static void take_policies(const struct cc_ops *ops)
{
	struct rb_policy policy = { .controller = ops->algorithm,
				    .generation = ++generation,
				    .interval_ns = T_NS,
				    .frame_bytes = 64,
				    .sources = PEERS,
				    .capacity = CAPACITY,
				    .line = CAPACITY,
				    .n_params = ops->n_params,
				    .weight = { 1, 1, 1, 1 } };

	for (uint32_t i = 0; i < ops->n_params; i++)
		policy.param[i] = (uint64_t)ops->params[i].value;
	for (uint32_t node = 1; node <= PEERS; node++) {
		policy.system_port = SL_SYSTEM_PORT(node, 1);
		backlog[node][0].enqueued.frames = backlog[node][0].dequeued.frames + 100;
		rb_rates_policy(worker->rates, &policy, now_ns);
	}
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print(double us[ROUNDS])
{
	qsort(us, ROUNDS, sizeof(us[0]), compare);
	printf("  %6.1f [%.1f-%.1f] us = %.2f %%", us[ROUNDS / 2], us[0], us[ROUNDS - 1],
	       us[ROUNDS / 2] * 1000 * 100 / T_NS);
}

static void measure(const struct cc_ops *ops)
{
	double egress_us[ROUNDS], ingress_us[ROUNDS];
	struct sl_cc_settings cc;
	uint64_t sent, reports;

	need(sl_cc_settings_init(&cc, ops->name), ops->name);
	need(rb_rates_set_port(worker->rates, 1, &cc, CAPACITY, CAPACITY, now_ns, NULL), ops->name);
	/* The policies of the change go, and the queue wakes. */
	for (int i = 0; i < 4; i++)
		egress_interval();
	sent = worker->rates->stats.feedback_sent;
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t ns = 0;

		for (int k = 0; k < INTERVALS; k++)
			ns += egress_interval();
		egress_us[round] = (double)ns / INTERVALS / 1e3;
	}
	sent = worker->rates->stats.feedback_sent - sent;

	/* Our port rests, so that the half at the ingress is timed alone. */
	need(sl_cc_settings_init(&cc, "fixed"), "fixed");
	need(rb_rates_set_port(worker->rates, 1, &cc, CAPACITY, CAPACITY, now_ns, NULL), "fixed");
	take_policies(ops);
	reports = worker->rates->stats.reports_sent;
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t ns = 0;

		for (int k = 0; k < INTERVALS; k++)
			ns += ingress_interval(ops);
		ingress_us[round] = (double)ns / INTERVALS / 1e3;
	}
	reports = worker->rates->stats.reports_sent - reports;
	take_policies(cc_lookup("fixed"));
	printf("%-8s", ops->name);
	print(egress_us);
	print(ingress_us);
	printf("  %.0f records and %.0f reports an interval\n", (double)sent / ROUNDS / INTERVALS,
	       (double)reports / ROUNDS / INTERVALS);
}

int main(void)
{
	set_up();
	printf("%d peers, T = 1 ms, of a core: egress, ingress\n", PEERS);
	for (const struct cc_ops *const *ops = cc_algorithms; *ops; ops++)
		if ((*ops)->needs_feedback)
			measure(*ops);
	return 0;
}
