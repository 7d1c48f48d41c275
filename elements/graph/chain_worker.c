/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "elements/graph/chain_worker.h"

void el_worker_init(struct el_worker *w, struct el_pool *pool, const struct el_worker_ops *ops,
		    void *owner, uint32_t batch_packets)
{
	memset(w, 0, sizeof(*w));
	w->pool = pool;
	w->ops = ops;
	w->owner = owner;
	el_sched_init(&w->sched, w->flows, w->clients, w->heap, EL_WORKER_FLOWS, batch_packets);
}

int el_worker_open_task(struct el_worker *w, uint32_t flow, uint32_t weight, uint32_t quantum_ns,
			el_task *task)
{
	int err = el_sched_open(&w->sched, flow, weight, quantum_ns, 1);

	if (!err)
		w->tasks[flow] = task;
	return err;
}

int el_worker_open_chain(struct el_worker *w, uint32_t flow, uint32_t weight,
			 struct el_graph *graph)
{
	int err = el_sched_open(&w->sched, flow, weight, graph->quantum_ns, graph->n_stages);

	if (!err)
		w->graphs[flow] = graph;
	return err;
}

uint32_t el_worker_close(struct el_worker *w, uint32_t flow)
{
	struct el_graph *graph = w->graphs[flow];
	struct el_run run;
	uint32_t n = 0;

	if (el_sched_close(&w->sched, flow, &run)) {
		el_chain_drop(graph, w->pool, run.element, &w->pool->packets[(uint32_t)run.packet]);
		n = 1;
	}
	if (graph)
		n += el_chain_drain(graph, w->pool);
	w->graphs[flow] = NULL;
	w->tasks[flow] = NULL;
	return n;
}

void el_worker_wake(struct el_worker *w, uint32_t flow)
{
	el_sched_wake(&w->sched, flow, 0);
}

bool el_worker_enter(struct el_worker *w, uint32_t flow, struct el_packet *packet)
{
	if (!el_chain_enter(w->graphs[flow], packet))
		return false;
	el_sched_wake(&w->sched, flow, 0);
	return true;
}

static enum el_boundary run_task(struct el_worker *w, const struct el_run *run)
{
	return w->tasks[run->flow](w->owner) ? EL_CHAIN_OVER : EL_CHAIN_OVER_LAST;
}

static enum el_boundary run_element(struct el_worker *w, struct el_run *run, uint64_t now_ns)
{
	struct el_graph *graph = w->graphs[run->flow];
	struct el_context ctx = { .pool = w->pool, .now_ns = now_ns };
	struct el_packet *packet;
	enum el_boundary boundary;
	struct el_step step;

	w->runs++;
	w->running_element = run->resumed ? run->element : graph->stages[run->stage];
	w->running = graph;
	if (run->resumed) {
		packet = &w->pool->packets[(uint32_t)run->packet];
	} else {
		packet = el_chain_begin(graph, run->stage, &run->element);
		if (!packet) {
			w->running = NULL;
			return EL_CHAIN_OVER_LAST;
		}
		run->packet = packet->chunk;
		w->running_element = run->element;
	}
	boundary = el_chain_step(graph, &ctx, run->stage, packet, &run->element, &step);
	w->running = NULL;
	if (ctx.burn_ns)
		w->ops->burn(w->owner, ctx.burn_ns);
	if (step.sent)
		w->ops->sent(w->owner, graph, step.sent);
	for (uint32_t stage = 1; step.wake >> stage; stage++)
		if (step.wake >> stage & 1)
			el_sched_wake(&w->sched, run->flow, stage);
	return boundary;
}

bool el_worker_turn(struct el_worker *w)
{
	uint64_t now_ns = w->ops->now_ns(w->owner), used_ns;
	enum el_boundary boundary;
	struct el_run run;

	if (el_sched_pick(&w->sched, &run))
		return false;
	w->turns++;
	do {
		const uint64_t before_ns = now_ns;

		boundary = w->tasks[run.flow] ? run_task(w, &run) : run_element(w, &run, now_ns);
		now_ns = w->ops->now_ns(w->owner);
		used_ns = now_ns - before_ns;
	} while (el_sched_charge(&w->sched, &run, used_ns, boundary) == EL_CONTINUE);
	return true;
}
