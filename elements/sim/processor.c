/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "elements/sim/processor.h"

#define SIM_CLICK_TICK_NS 1000u /* what a chain is charged where invocations are counted */

struct sim_state {
	const struct el_sim_setup *setup;
	struct el_sim_result *out;
	struct el_sched sched;
	struct el_flow flows[EL_SIM_FLOWS_MAX];
	struct el_client clients[EL_SIM_FLOWS_MAX];
	uint32_t heap[EL_SIM_FLOWS_MAX];
	uint64_t now_ns;
	uint64_t arrived[EL_SIM_FLOWS_MAX];  /* from outside so far */
	uint64_t woken_ns[EL_SIM_FLOWS_MAX]; /* 1 + time of the wake-up that waits for service */
	uint32_t next_input[EL_SIM_FLOWS_MAX];
	uint32_t taken[EL_SIM_FLOWS_MAX]; /* packets of the run that is going on */
	struct el_cost costs[EL_SIM_FLOWS_MAX];
	uint64_t next_auto_ns;
};

static int sim_check(const struct el_sim_setup *s)
{
	if (s->n_flows < 1 || s->n_flows > EL_SIM_FLOWS_MAX || s->auto_flows > s->n_flows ||
	    (s->auto_flows && !s->auto_every_ns) || s->change_flow >= s->n_flows)
		return -EINVAL;
	for (uint32_t i = 0; i < s->n_flows; i++) {
		const struct el_sim_flow *f = &s->flows[i];

		if (f->weight < 1 || f->weight > EL_WEIGHT_MAX || f->n_elements < 1 ||
		    f->n_elements > EL_SIM_ELEMENTS_MAX || f->batch < 1 || f->limit < 1 ||
		    f->n_inputs < 1 || f->n_inputs > EL_SIM_INPUTS_MAX ||
		    (f->to != EL_NONE && (f->to >= s->n_flows || f->to == i ||
					  f->to_input >= s->flows[f->to].n_inputs)) ||
		    (f->arrivals.period_ns &&
		     (f->arrivals.burst < 1 ||
		      f->arrivals.period_ns < f->arrivals.burst * f->arrivals.gap_ns)))
			return -EINVAL;
		for (uint32_t e = 0; e < f->n_elements; e++)
			if (f->cost_ns[e] == 0)
				return -EINVAL;
	}
	return 0;
}

static void sim_wake(struct sim_state *st, uint32_t flow)
{
	if (el_sched_wake(&st->sched, flow, 0))
		st->woken_ns[flow] = st->now_ns + 1;
}

static void sim_enqueue(struct sim_state *st, uint32_t flow, uint32_t input)
{
	struct el_sim_input *in = &st->out->inputs[flow][input];

	in->entered++;
	if (in->waiting >= st->setup->flows[flow].limit) {
		in->dropped += st->now_ns >= st->setup->measure_ns;
		in->lost++;
		return;
	}
	in->waiting++;
	if (in->waiting > in->peak && st->now_ns >= st->setup->measure_ns)
		in->peak = in->waiting;
	sim_wake(st, flow);
}

/* Time of a flow's next arrival, or UINT64_MAX. */
static uint64_t sim_next_arrival(const struct sim_state *st, uint32_t flow)
{
	const struct el_sim_arrivals *a = &st->setup->flows[flow].arrivals;
	uint64_t at;

	if (a->period_ns == 0)
		return UINT64_MAX;
	at = a->first_ns + st->arrived[flow] / a->burst * a->period_ns +
	     st->arrived[flow] % a->burst * a->gap_ns;
	return at < st->setup->duration_ns ? at : UINT64_MAX;
}

static uint64_t sim_earliest(const struct sim_state *st, uint32_t *flow)
{
	uint64_t earliest = UINT64_MAX;

	for (uint32_t i = 0; i < st->setup->n_flows; i++) {
		uint64_t at = sim_next_arrival(st, i);

		if (at < earliest) {
			earliest = at;
			*flow = i;
		}
	}
	return earliest;
}

/* Let time pass, with the arrivals in it. */
static void sim_pass(struct sim_state *st, uint64_t ns)
{
	uint64_t end = st->now_ns + ns, at;
	uint32_t flow = 0;

	while ((at = sim_earliest(st, &flow)) <= end) {
		st->now_ns = at > st->now_ns ? at : st->now_ns;
		st->arrived[flow]++;
		sim_enqueue(st, flow, 0);
	}
	st->now_ns = end;
	if (st->setup->auto_flows && st->now_ns >= st->next_auto_ns) {
		uint32_t weights[EL_SIM_FLOWS_MAX];

		el_cost_weights(st->costs, st->setup->auto_flows, EL_PPB_ALL, weights);
		for (uint32_t i = 0; i < st->setup->auto_flows; i++)
			el_sched_set_weight(&st->sched, i, weights[i]);
		st->next_auto_ns = st->now_ns + st->setup->auto_every_ns;
	}
}

/* Packets that one run takes from the flow's queues in turn. */
static uint32_t sim_take(struct sim_state *st, uint32_t flow)
{
	const struct el_sim_flow *f = &st->setup->flows[flow];
	uint32_t taken = 0, empty = 0;

	if (f->backlogged) {
		st->out->inputs[flow][0].served += f->batch;
		st->out->inputs[flow][0].entered += f->batch;
		return f->batch;
	}
	while (taken < f->batch && empty < f->n_inputs) {
		struct el_sim_input *in = &st->out->inputs[flow][st->next_input[flow]];

		st->next_input[flow] = (st->next_input[flow] + 1) % f->n_inputs;
		if (in->waiting == 0) {
			empty++;
			continue;
		}
		empty = 0;
		in->waiting--;
		in->served++;
		taken++;
	}
	return taken;
}

static bool sim_has_more(const struct sim_state *st, uint32_t flow)
{
	const struct el_sim_flow *f = &st->setup->flows[flow];

	for (uint32_t i = 0; i < f->n_inputs; i++)
		if (st->out->inputs[flow][i].waiting)
			return true;
	return (f->backlogged || f->poll_ns) && st->now_ns < st->setup->duration_ns;
}

/* One element of a run, with the time it takes; *over says where the packet stands then. */
static uint64_t sim_element(struct sim_state *st, struct el_run *run, enum el_boundary *over)
{
	const struct el_sim_flow *f = &st->setup->flows[run->flow];
	uint64_t ns;

	if (!run->resumed) {
		st->taken[run->flow] = sim_take(st, run->flow);
		run->element = 0;
	}
	ns = (uint64_t)f->cost_ns[run->element] * st->taken[run->flow];
	if (st->setup->change_ns && st->now_ns >= st->setup->change_ns &&
	    run->flow == st->setup->change_flow)
		ns *= st->setup->change_factor;
	if (st->taken[run->flow])
		el_cost_add(&st->costs[run->flow], ns, st->taken[run->flow]);
	else
		ns = f->poll_ns;
	sim_pass(st, ns);
	run->element++;
	*over = EL_CHAIN_GOES_ON;
	if (run->element < f->n_elements && st->taken[run->flow])
		return ns;
	if (f->to != EL_NONE)
		for (uint32_t i = 0; i < st->taken[run->flow]; i++)
			sim_enqueue(st, f->to, f->to_input);
	*over = sim_has_more(st, run->flow) ? EL_CHAIN_OVER : EL_CHAIN_OVER_LAST;
	return ns;
}

static void sim_turn(struct sim_state *st, struct el_run *run)
{
	enum el_verdict verdict = EL_CONTINUE;

	if (st->woken_ns[run->flow]) {
		uint64_t wait_ns = st->now_ns + 1 - st->woken_ns[run->flow];

		if (wait_ns > st->out->longest_wait_ns[run->flow])
			st->out->longest_wait_ns[run->flow] = wait_ns;
		st->woken_ns[run->flow] = 0;
	}
	while (verdict == EL_CONTINUE) {
		enum el_boundary over;
		uint64_t ns = sim_element(st, run, &over);

		if (st->setup->by_invocation)
			ns = over == EL_CHAIN_GOES_ON ? 0 : SIM_CLICK_TICK_NS;
		verdict = el_sched_charge(&st->sched, run, ns, over);
	}
}

static int sim_start(struct sim_state *st)
{
	const struct el_sim_setup *s = st->setup;
	int err;

	el_sched_init(&st->sched, st->flows, st->clients, st->heap, s->n_flows, s->batch_packets);
	for (uint32_t i = 0; i < s->n_flows; i++) {
		err = el_sched_open(&st->sched, i, s->flows[i].weight, s->flows[i].quantum_ns, 1);
		if (err)
			return err;
		if (s->flows[i].backlogged || s->flows[i].poll_ns)
			sim_wake(st, i);
	}
	return 0;
}

int el_sim_run(const struct el_sim_setup *setup, struct el_sim_result *out)
{
	struct sim_state st = { .setup = setup, .out = out };
	uint32_t previous = EL_NONE, flow;
	int err = sim_check(setup);

	memset(out, 0, sizeof(*out));
	if (!err)
		err = sim_start(&st);
	if (err)
		return err;
	for (;;) {
		struct el_run run;

		if (el_sched_pick(&st.sched, &run)) {
			uint64_t at = sim_earliest(&st, &flow);

			if (at == UINT64_MAX)
				break;
			if (at > st.now_ns) {
				out->idle_ns += at - st.now_ns;
				sim_pass(&st, at - st.now_ns);
			} else {
				sim_pass(&st, 0);
			}
			continue;
		}
		if (previous != run.flow && previous != EL_NONE) {
			out->switch_ns += setup->switch_ns;
			sim_pass(&st, setup->switch_ns);
		}
		previous = run.flow;
		sim_turn(&st, &run);
	}
	out->wall_ns = st.now_ns;
	for (uint32_t i = 0; i < setup->n_flows; i++) {
		out->flows[i] = st.flows[i].counters;
		out->weights[i] = st.clients[i].weight;
	}
	return 0;
}

int el_sim_smallest_buffer(const struct el_sim_setup *setup, uint32_t flow, uint32_t most,
			   uint32_t *smallest)
{
	struct el_sim_setup trial = *setup;
	struct el_sim_result result;
	uint32_t low = 1, high = most;
	int err;

	if (flow >= setup->n_flows || most < 1)
		return -EINVAL;
	while (low <= high) {
		trial.flows[flow].limit = low + (high - low) / 2;
		err = el_sim_run(&trial, &result);
		if (err)
			return err;
		if (result.inputs[flow][0].dropped)
			low = trial.flows[flow].limit + 1;
		else
			high = trial.flows[flow].limit - 1;
	}
	*smallest = low;
	return low > most ? -ENOSPC : 0;
}
