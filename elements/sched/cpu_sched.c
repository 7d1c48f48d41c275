/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "elements/sched/cpu_sched.h"

void el_sched_init(struct el_sched *s, struct el_flow *flows, struct el_client *clients,
		   uint32_t *heap, uint32_t n_flows, uint32_t batch_packets)
{
	*s = (struct el_sched){ .flows = flows,
				.n_flows = n_flows,
				.batch_packets = batch_packets };
	el_sfq_init(&s->turns, clients, heap, n_flows);
	for (uint32_t i = 0; i < n_flows; i++)
		memset(&flows[i], 0, sizeof(flows[i]));
}

int el_sched_open(struct el_sched *s, uint32_t flow, uint32_t weight, uint32_t quantum_ns,
		  uint32_t n_stages)
{
	struct el_flow *f;

	if (flow >= s->n_flows || weight < 1 || weight > EL_WEIGHT_MAX || n_stages < 1 ||
	    n_stages > EL_STAGES_MAX)
		return -EINVAL;
	f = &s->flows[flow];
	if (f->open)
		return -EEXIST;
	memset(f, 0, sizeof(*f));
	f->open = true;
	f->quantum_ns = quantum_ns;
	el_sfq_init(&f->stages, f->stage_clients, f->stage_heap, n_stages);
	/* Its finish tag stays, so that a flow gains nothing by being closed and opened. */
	el_sfq_set_weight(&s->turns, flow, weight);
	return 0;
}

bool el_sched_close(struct el_sched *s, uint32_t flow, struct el_run *run)
{
	struct el_flow *f = &s->flows[flow];

	el_sfq_forget(&s->turns, flow);
	f->open = false;
	*run = f->run;
	return f->saved;
}

void el_sched_set_weight(struct el_sched *s, uint32_t flow, uint32_t weight)
{
	el_sfq_set_weight(&s->turns, flow, weight);
}

void el_sched_set_stage_weight(struct el_sched *s, uint32_t flow, uint32_t stage, uint32_t weight)
{
	el_sfq_set_weight(&s->flows[flow].stages, stage, weight);
}

bool el_sched_wake(struct el_sched *s, uint32_t flow, uint32_t stage)
{
	struct el_flow *f = &s->flows[flow];

	if (f->stages.served == stage)
		f->woken = true;
	else
		el_sfq_wake(&f->stages, stage);
	if (!el_sfq_wake(&s->turns, flow))
		return false;
	f->counters.wakeups++;
	return true;
}

int el_sched_pick(struct el_sched *s, struct el_run *run)
{
	uint32_t flow = el_sfq_pick(&s->turns);
	struct el_flow *f;

	if (flow == EL_NONE)
		return -EAGAIN;
	f = &s->flows[flow];
	s->slice_ns = 0;
	s->slice_packets = 0;
	if (f->saved) {
		*run = f->run;
		run->resumed = true;
		f->saved = false;
	} else {
		*run = (struct el_run){ .flow = flow, .stage = el_sfq_pick(&f->stages) };
	}
	return 0;
}

/* End a slice; the flow waits again if it is eligible. */
static void sched_end_slice(struct el_sched *s, struct el_flow *f, bool eligible)
{
	f->counters.slices++;
	if (s->slice_ns > f->counters.longest_slice_ns)
		f->counters.longest_slice_ns = s->slice_ns;
	el_sfq_charge(&s->turns, s->slice_ns, eligible);
	s->slice_ns = 0;
	s->slice_packets = 0;
}

/* May the flow be made to give way at this boundary? */
static bool sched_turn_used_up(const struct el_sched *s, const struct el_flow *f, bool over)
{
	if (s->batch_packets)
		return over && s->slice_packets >= s->batch_packets;
	return s->slice_ns >= f->quantum_ns;
}

enum el_verdict el_sched_charge(struct el_sched *s, struct el_run *run, uint64_t used_ns,
				enum el_boundary boundary)
{
	struct el_flow *f = &s->flows[run->flow];
	bool over = boundary != EL_CHAIN_GOES_ON;

	s->slice_ns += used_ns;
	f->stage_ns += used_ns;
	f->counters.cpu_ns += used_ns;
	run->resumed = !over;
	if (over) {
		s->slice_packets++;
		f->counters.packets++;
		el_sfq_charge(&f->stages, f->stage_ns, boundary == EL_CHAIN_OVER || f->woken);
		f->stage_ns = 0;
		f->woken = false;
		if (f->stages.n_eligible == 0) {
			f->counters.sleeps++;
			sched_end_slice(s, f, false);
			return EL_YIELD;
		}
	}
	if (sched_turn_used_up(s, f, over)) {
		if (el_sfq_due(&s->turns, s->slice_ns)) {
			f->counters.preemptions++;
			f->saved = !over;
			f->run = *run;
			sched_end_slice(s, f, true);
			return EL_YIELD;
		}
		/* All others have later start tags: a new slice of the same flow begins. */
		sched_end_slice(s, f, true);
		el_sfq_pick(&s->turns);
	}
	if (over)
		run->stage = el_sfq_pick(&f->stages);
	return EL_CONTINUE;
}
