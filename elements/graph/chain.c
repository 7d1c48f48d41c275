/* SPDX-License-Identifier: BSD-2-Clause */
#include "elements/graph/chain.h"

static void count(struct el_counter *counter, uint64_t packets, uint64_t bytes)
{
	counter->packets += packets;
	counter->bytes += bytes;
}

bool el_chain_enter(struct el_graph *graph, struct el_packet *packet)
{
	if (graph->n_waiting >= graph->limit_packets) {
		count(&graph->refused, 1, packet->len_bytes);
		return false;
	}
	count(&graph->entered, 1, packet->len_bytes);
	packet->link = NULL;
	if (graph->n_waiting++)
		graph->last->link = packet;
	else
		graph->first = packet;
	graph->last = packet;
	return true;
}

static struct el_packet *take_input(struct el_graph *graph)
{
	struct el_packet *packet = graph->n_waiting ? graph->first : NULL;

	if (packet) {
		graph->first = packet->link;
		graph->n_waiting--;
	}
	return packet;
}

struct el_packet *el_chain_begin(struct el_graph *graph, uint32_t stage, uint32_t *element)
{
	const struct el_instance *from = &graph->instances[graph->stages[stage]];

	if (!stage) {
		*element = EL_AT_INPUT;
		return take_input(graph);
	}
	*element = from->to[from->class->stage_output];
	return from->class->dequeue(from->state);
}

static uint32_t stage_waiting(const struct el_graph *graph, uint32_t stage)
{
	const struct el_instance *at = &graph->instances[graph->stages[stage]];

	return stage ? at->class->waiting(at->state) : graph->n_waiting;
}

void el_chain_drop(struct el_graph *graph, struct el_pool *pool, uint32_t element,
		   struct el_packet *packet)
{
	count(&graph->instances[element].dropped, 1, packet->len_bytes);
	el_pool_give(pool, packet);
}

/* What the element said in the context, beside where its packet goes. */
static void settle(struct el_instance *at, const struct el_context *ctx)
{
	count(&at->dropped, ctx->dropped, ctx->dropped_bytes);
	count(&at->copied, ctx->copied, ctx->copied_bytes);
	at->not_copied += ctx->not_copied;
}

enum el_boundary el_chain_step(struct el_graph *graph, struct el_context *ctx, uint32_t stage,
			       struct el_packet *packet, uint32_t *element, struct el_step *step)
{
	struct el_instance *at = &graph->instances[*element];
	int result;

	*step = (struct el_step){ 0 };
	count(&at->in, 1, packet->len_bytes);
	result = at->class->process(at->state, ctx, packet);
	settle(at, ctx);
	if (at->stage && (result == EL_HELD || ctx->copied))
		step->wake = 1u << at->stage;
	if (result >= 0 && result < at->class->outputs && at->to[result] != EL_NOWHERE) {
		*element = at->to[result];
		return EL_CHAIN_GOES_ON;
	}
	if (result == EL_SENT) {
		count(&graph->left, 1, packet->len_bytes);
		step->sent = packet;
	} else if (result != EL_HELD) {
		el_chain_drop(graph, ctx->pool, *element, packet);
	}
	return stage_waiting(graph, stage) ? EL_CHAIN_OVER : EL_CHAIN_OVER_LAST;
}

void el_chain_move_input(struct el_graph *from, struct el_graph *to)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < from->n_waiting; i++) {
		struct el_packet *packet = from->first;

		bytes += packet->len_bytes;
		from->first = packet->link;
		if (i)
			to->last->link = packet;
		else
			to->first = packet;
		to->last = packet;
	}
	to->n_waiting = from->n_waiting;
	from->n_waiting = 0;
	count(&to->entered, to->n_waiting, bytes);
	from->entered.packets -= to->n_waiting;
	from->entered.bytes -= bytes;
}

uint32_t el_chain_waiting(const struct el_graph *graph)
{
	uint32_t n = 0;

	for (uint32_t stage = 0; stage < graph->n_stages; stage++)
		n += stage_waiting(graph, stage);
	return n;
}

uint32_t el_chain_drain(struct el_graph *graph, struct el_pool *pool)
{
	struct el_packet *packet;
	uint32_t n = 0, element;

	for (uint32_t stage = 0; stage < graph->n_stages; stage++)
		while ((packet = el_chain_begin(graph, stage, &element))) {
			el_chain_drop(graph, pool, graph->stages[stage], packet);
			n++;
		}
	return n;
}

struct el_counter el_chain_dropped(const struct el_graph *graph)
{
	struct el_counter sum = { 0 };

	for (uint32_t i = 0; i < graph->n_instances; i++)
		count(&sum, graph->instances[i].dropped.packets, graph->instances[i].dropped.bytes);
	return sum;
}

struct el_counter el_chain_copied(const struct el_graph *graph)
{
	struct el_counter sum = { 0 };

	for (uint32_t i = 0; i < graph->n_instances; i++)
		count(&sum, graph->instances[i].copied.packets, graph->instances[i].copied.bytes);
	return sum;
}
