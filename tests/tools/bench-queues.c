/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of a frame in flow queues: processor time, by policy and number of queues.
 *
 *   waiting   2,048 frames wait; one comes, to a random queue, and one leaves
 *   full      4,096 frames wait, as many as fit; two come and one leaves, so that half of them are
 *             discarded
 *
 * Frames have 60 to 1,514 bytes; a microsecond passes with each step. The figure is nanoseconds for
 * each frame that comes: it enters, and it leaves or is discarded. The state is the same for any
 * number of queues but for the queues themselves. All cases take turns, nine times; the table has
 * median [least-greatest], and the first case twice, as what two equal cases differ by. The last
 * line is what it costs to know a frame's flow: fq_flow_parse() and fq_flow_hash().
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "queues/flow.h"
#include "queues/fq.h"
#include "user/lib/clock.h"

#define ROUNDS	 9
#define STEPS	 200000u
#define LIMIT	 4096u
#define ARRIVALS 65536u /* a power of two */

static const uint32_t sizes[] = { 1, 16, 256, 1024 };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

struct bench_case {
	const struct fq_ops *ops;
	uint32_t queues;
	int is_full;
	struct fq_port *port;
	uint64_t now_ns, at, discarded;
	double ns[ROUNDS];
};

static struct {
	uint32_t random; /* a queue when taken modulo their number */
	uint32_t len_bytes;
} arrival[ARRIVALS];

static void on_drop(void *context, const struct fq_frame *frame, uint32_t queue,
		    enum fq_reason reason)
{
	(void)frame;
	(void)queue;
	(void)reason;
	++*(uint64_t *)context;
}

static void put(struct bench_case *c)
{
	const uint32_t i = (uint32_t)(c->at++ % ARRIVALS);
	const struct fq_frame frame = { .handle = c->at, .len_bytes = arrival[i].len_bytes };

	fq_enqueue(c->port, arrival[i].random & (c->queues - 1), &frame, c->now_ns);
}

static void open_case(struct bench_case *c)
{
	const struct fq_shape shape = {
		.queues = c->queues,
		.limit_bytes = LIMIT * 1514,
		.limit_frames = LIMIT,
		.frame_max_bytes = 1514,
		.seed = 1,
		.rate_Bps = 1250000000,
	};
	struct fq_config config;
	void *memory;

	if (fq_config_init(&config, c->ops->name, &shape) || fq_config_prepare(&config, NULL) ||
	    !(memory = malloc(fq_port_size(&config)))) {
		fprintf(stderr, "bench-queues: cannot make a port of %s\n", c->ops->name);
		exit(EXIT_FAILURE);
	}
	c->port = fq_port_init(memory, &config, on_drop, &c->discarded);
	for (uint32_t i = 0; i < (c->is_full ? 2 * LIMIT : LIMIT / 2); i++)
		put(c);
}

static double run_case(struct bench_case *c)
{
	const uint64_t start = sl_clock_ns(CLOCK_THREAD_CPUTIME_ID), frames = c->at;
	struct fq_frame out;

	for (uint32_t i = 0; i < STEPS; i++) {
		c->now_ns += 1000;
		put(c);
		if (c->is_full)
			put(c);
		fq_dequeue(c->port, c->now_ns, &out);
	}
	return (double)(sl_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start) / (double)(c->at - frames);
}

static int compare(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_case(struct bench_case *c)
{
	qsort(c->ns, ROUNDS, sizeof(c->ns[0]), compare);
	printf(" %6.1f [%.1f-%.1f]", c->ns[ROUNDS / 2], c->ns[0], c->ns[ROUNDS - 1]);
}

static void flow_cost(void)
{
	static uint8_t frame[64] = { [12] = 0x08, [14] = 0x45, [23] = 17 };
	const struct fq_hash_key key = { 1, 2 };
	const uint64_t start = sl_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	struct fq_flow flow;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < 10 * STEPS; i++) {
		frame[35] = (uint8_t)i;
		fq_flow_parse(frame, sizeof(frame), &flow);
		sum += fq_flow_hash(&flow, &key);
	}
	printf("flow and hash of an IPv4 UDP frame: %.1f ns (checksum %u)\n",
	       (double)(sl_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start) / (10 * STEPS),
	       (unsigned int)(sum & 255));
}

int main(void)
{
	static struct bench_case cases[1 + 2 * SIZES * FQ_N_POLICIES];
	size_t n = 0;

	for (uint32_t i = 0; i < ARRIVALS; i++) {
		arrival[i].random = (uint32_t)random();
		arrival[i].len_bytes = 60 + (uint32_t)random() % 1455;
	}
	for (const struct fq_ops *const *ops = fq_policies; *ops; ops++)
		for (int is_full = 0; is_full < 2; is_full++)
			for (size_t s = 0; s < SIZES; s++)
				cases[n++] = (struct bench_case){ .ops = *ops,
								  .queues = sizes[s],
								  .is_full = is_full };
	cases[n] = cases[0];
	n++;
	for (size_t i = 0; i < n; i++)
		open_case(&cases[i]);
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < n; i++)
			cases[i].ns[round] = run_case(&cases[i]);

	printf("ns for each frame that comes, median [least-greatest] of %d\n%-16s", ROUNDS,
	       "queues");
	for (size_t s = 0; s < SIZES; s++)
		printf(" %18u", sizes[s]);
	for (size_t i = 0; i < n; i++) {
		if (i % SIZES == 0)
			printf("\n%-7s %-8s", cases[i].ops->name,
			       i == n - 1	  ? "again"
			       : cases[i].is_full ? "full"
						  : "waiting");
		print_case(&cases[i]);
	}
	printf("\n%-16s", "memory, KB");
	for (size_t s = 0; s < SIZES; s++)
		printf(" %18zu", fq_port_size(&cases[s].port->config) / 1000);
	printf("\n");
	flow_cost();
	for (size_t i = 0; i < n; i++)
		free(cases[i].port);
	return 0;
}
