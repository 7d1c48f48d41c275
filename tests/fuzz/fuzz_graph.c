/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as chains of elements, and as packets of them: the text before a byte 0 is refused in
 * one printable line, or its chains run; what stands behind it are packets, a byte of length before
 * each. No packet is lost without a name.
 */
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "elements/graph/chain_worker.h"
#include "elements/graph/fast_graph.h"
#include "elements/graph/graph_text.h"

#define CHUNKS	    64u
#define CHUNK_BYTES 512u
#define HEADROOM    64u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct el_pool pool;
static struct el_packet packets[CHUNKS];
static uint8_t area[CHUNKS * CHUNK_BYTES];
static struct el_worker worker;
static uint64_t clock_ns;

static uint64_t now_ns(void *owner)
{
	(void)owner;
	return clock_ns += 700;
}

static void burn(void *owner, uint64_t ns)
{
	(void)owner;
	clock_ns += ns;
}

static void sent(void *owner, struct el_graph *graph, struct el_packet *packet)
{
	(void)owner;
	(void)graph;
	el_pool_give(&pool, packet);
}

static const struct el_worker_ops ops = { .now_ns = now_ns, .burn = burn, .sent = sent };

static void check_sums(const struct el_graph *graph, uint32_t flow)
{
	assert(graph->entered.packets + el_chain_copied(graph).packets ==
	       graph->left.packets + el_chain_dropped(graph).packets + el_chain_waiting(graph) +
		       worker.flows[flow].saved);
}

/* What sl_edge relies on: outputs lead to places that are there. */
static void check_fast(const struct el_graph *graph)
{
	char error[EL_ERROR_BYTES];
	struct sl_fast_chain chain;
	uint32_t line;

	if (el_fast_graph(graph, 0, &chain, &line, error)) {
		assert(!graph->fast && *error);
		return;
	}
	for (uint32_t i = 0; i < graph->n_instances; i++)
		for (uint32_t out = 0; out < 2; out++)
			assert(chain.element[i].to[out] == SL_FAST_NOWHERE ||
			       chain.element[i].to[out] < graph->n_instances);
}

static void run_chains(struct el_chains *chains, const uint8_t *data, size_t size)
{
	uint32_t chain = 0;

	el_pool_init(&pool, area, packets, CHUNKS, CHUNK_BYTES, HEADROOM);
	el_worker_init(&worker, &pool, &ops, NULL, 0);
	for (uint32_t i = 0; i < chains->n; i++)
		check_fast(&chains->chains[i]);
	for (uint32_t i = 0; i < chains->n; i++)
		assert(!el_worker_open_chain(&worker, EL_FLOWS_GLOBAL + i, 1, &chains->chains[i]));
	while (size) {
		uint32_t len = data[0] < size ? data[0] : (uint32_t)size - 1, flow;
		struct el_packet *packet = el_pool_take(&pool);

		if (!packet)
			break;
		memcpy(packet->data, data + 1, len);
		packet->len_bytes = len;
		flow = EL_FLOWS_GLOBAL + chain++ % chains->n;
		if (!el_worker_enter(&worker, flow, packet))
			el_pool_give(&pool, packet);
		if (len & 1)
			el_worker_turn(&worker);
		check_sums(worker.graphs[flow], flow);
		data += len + 1;
		size -= len + 1;
	}
	for (int turns = 0; turns < 300 && el_worker_turn(&worker); turns++)
		;
	for (uint32_t i = 0; i < chains->n; i++)
		el_worker_close(&worker, EL_FLOWS_GLOBAL + i);
	assert(pool.n_free == CHUNKS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
	size_t text_bytes = zero ? (size_t)(zero - data) : size;
	char *text = malloc(text_bytes + 1), error[EL_ERROR_BYTES];
	struct el_chains chains;

	/* of the exact size, so that the sanitizer sees a read beyond the end */
	text = realloc(text, text_bytes ? text_bytes : 1);
	if (text_bytes)
		memcpy(text, data, text_bytes);
	if (el_chains_parse("f", text, text_bytes, NULL, &chains, error)) {
		assert(!chains.n && strncmp(error, "f:", 2) == 0);
		for (const char *p = error; *p; p++)
			assert(isprint((unsigned char)*p));
	} else if (chains.n) {
		run_chains(&chains, zero ? zero + 1 : data, zero ? size - text_bytes - 1 : 0);
	}
	el_chains_free(&chains);
	free(text);
	return 0;
}
