/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an element of a chain costs in the worker: its packet loop over UDP packets of 60 bytes,
 * with the clock that sluice-elements reads around every element, but without its rings. Every
 * chain drops what comes. A line per class, as bench-chain prints them.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elements/graph/chain_worker.h"
#include "elements/graph/graph_text.h"
#include "tests/lib/frame.h"
#include "user/lib/clock.h"

#define ELEMENTS    10
#define ROUNDS	    15
#define BATCHES	    4000
#define BATCH	    64u
#define CHUNK_BYTES 2048u
#define HEADROOM    128u

static const struct {
	const char *name, *text;
} classes[] = {
	{ "none", "" },
	{ "none again", "" },
	{ "Counter", "Counter -> " },
	{ "Paint", "Paint(colour=1) -> " },
	{ "Dscp", "Dscp(dscp=46) -> " },
	{ "Sample", "Sample(one_in=1) -> " },
	{ "Classifier", "Classifier(protocol=17, destination_port=1000-5000) -> " },
	{ "Police", "Police(rate=100gbit, burst=1m) -> " },
	{ "Nat44", "Nat44(side=source, from=10.0.0.0/8, to=11.0.0.0/8) -> " },
};
#define CLASSES (sizeof(classes) / sizeof(classes[0]))

static uint8_t area[BATCH * CHUNK_BYTES];
static struct el_packet packets[BATCH];
static struct el_pool pool;
static struct el_worker worker;
static double took[CLASSES][ROUNDS]; /* ns of a packet */

static uint64_t now_ns(void *owner)
{
	(void)owner;
	return sl_now_ns();
}

static void sent(void *owner, struct el_graph *graph, struct el_packet *packet)
{
	(void)owner, (void)graph;
	el_pool_give(&pool, packet);
}

static const struct el_worker_ops ops = { .now_ns = now_ns, .sent = sent };

static void parse(const char *elements, struct el_chains *chains)
{
	char text[ELEMENTS * 80 + 64], error[EL_ERROR_BYTES];
	size_t n = (size_t)snprintf(text, sizeof(text), "chain c { input -> ");

	for (int i = 0; i < ELEMENTS; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s", elements);
	n += (size_t)snprintf(text + n, sizeof(text) - n, "drop; }");
	if (!el_chains_parse("text", text, n, NULL, chains, error))
		return;
	fprintf(stderr, "bench-worker: %s\n", error);
	exit(EXIT_FAILURE);
}

static double run(struct el_graph *graph)
{
	const struct frame frame = { .dport = 4321 };
	static uint8_t bytes[FRAME_MAX_BYTES];
	uint32_t len = frame_build(&frame, bytes);
	uint64_t from_ns = sl_now_ns();

	el_worker_init(&worker, &pool, &ops, NULL, 0);
	if (el_worker_open_chain(&worker, EL_FLOWS_GLOBAL, 1, graph))
		exit(EXIT_FAILURE);
	for (int batch = 0; batch < BATCHES; batch++) {
		for (uint32_t i = 0; i < BATCH; i++) {
			struct el_packet *packet = el_pool_take(&pool);

			memcpy(packet->data, bytes, len);
			packet->len_bytes = len;
			packet->l3_offset = 14;
			packet->paint = 0;
			el_worker_enter(&worker, EL_FLOWS_GLOBAL, packet);
		}
		while (el_worker_turn(&worker))
			;
	}
	el_worker_close(&worker, EL_FLOWS_GLOBAL);
	return (double)(sl_now_ns() - from_ns) / (BATCHES * BATCH);
}

static double clock_reading_ns(void)
{
	const uint32_t readings = 1000000;
	uint64_t from_ns = sl_now_ns();

	for (uint32_t i = 0; i < readings; i++)
		sl_now_ns();
	return (double)(sl_now_ns() - from_ns) / readings;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(void)
{
	struct el_chains chains[CLASSES];

	el_pool_init(&pool, area, packets, BATCH, CHUNK_BYTES, HEADROOM);
	for (size_t i = 0; i < CLASSES; i++)
		parse(classes[i].text, &chains[i]);
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < CLASSES; i++)
			took[i][round] = run(&chains[i].chains[0]);
	printf("reading the clock: %.1f ns\n", clock_reading_ns());
	for (size_t i = 0; i < CLASSES; i++) {
		double *t = took[i];

		qsort(t, ROUNDS, sizeof(*t), by_value);
		printf("%-12s %4.0f [%.0f-%.0f] ns a packet", classes[i].name, t[ROUNDS / 2], t[0],
		       t[ROUNDS - 1]);
		if (i > 1)
			printf(", %5.1f ns an element, of the least %.1f",
			       (t[ROUNDS / 2] - took[0][ROUNDS / 2]) / ELEMENTS,
			       (t[0] - took[0][0]) / ELEMENTS);
		putchar('\n');
		el_chains_free(&chains[i]);
	}
	return 0;
}
