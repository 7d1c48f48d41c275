/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A simulated processor: flows with queues and chains of elements of known cost, scheduled by the
 * objects of elements/sched. Time is in whole nanoseconds and passes only while something runs or
 * the processor waits for the next arrival, so a run is the same everywhere.
 */
#ifndef EL_SIM_PROCESSOR_H
#define EL_SIM_PROCESSOR_H

#include "elements/sched/cpu_share.h"
#include "elements/sched/cpu_sched.h"

#define EL_SIM_FLOWS_MAX    16u
#define EL_SIM_ELEMENTS_MAX 16u
#define EL_SIM_INPUTS_MAX   2u
#define EL_SIM_NO_LIMIT	    UINT32_MAX

/* Packets that arrive from outside: bursts of evenly spaced packets. */
struct el_sim_arrivals {
	uint64_t first_ns;  /* of the first packet */
	uint64_t gap_ns;    /* between packets of a burst */
	uint64_t period_ns; /* from burst to burst, at least burst * gap_ns; 0: no arrivals */
	uint32_t burst;	    /* packets, 1.. */
};

/* What a flow does; the element costs of its chain in order. */
struct el_sim_flow {
	const char *name;
	uint32_t weight; /* 1..EL_WEIGHT_MAX */
	uint32_t quantum_ns;
	uint32_t n_elements; /* 1..EL_SIM_ELEMENTS_MAX */
	uint32_t cost_ns[EL_SIM_ELEMENTS_MAX];
	uint32_t batch;	   /* packets that one run takes, at the cost of each; 1.. */
	uint32_t poll_ns;  /* not 0: always eligible, and a run without a packet takes this long */
	bool backlogged;   /* its queue never empties */
	uint32_t limit;	   /* of its queues, packets */
	uint32_t to;	   /* flow whose queue its packets enter, or EL_NONE: they leave */
	uint32_t to_input; /* which queue of that flow */
	uint32_t n_inputs; /* queues, served in turn; 1..EL_SIM_INPUTS_MAX */
	struct el_sim_arrivals arrivals;
};

struct el_sim_setup {
	struct el_sim_flow flows[EL_SIM_FLOWS_MAX];
	uint32_t n_flows;
	uint32_t batch_packets; /* of el_sched_init: 0 is the preemptive mode */
	bool by_invocation;	/* each chain is charged alike, whatever it took (Click's shares) */
	uint32_t switch_ns;	/* between turns of different flows; charged to nobody */
	uint64_t duration_ns;	/* arrivals stop then, and what waits is served */
	uint64_t measure_ns;	/* peaks and drops count from then on */
	/* not 0: weights of flows 0.. auto_flows-1 follow their measured costs, each auto_every_ns
	 */
	uint32_t auto_flows;
	uint64_t auto_every_ns;
	/* not 0: from then on the costs of flow change_flow are change_factor times as high */
	uint64_t change_ns;
	uint32_t change_flow, change_factor;
};

struct el_sim_input {
	uint32_t waiting, peak;
	uint64_t entered, served, lost; /* entered = served + lost once all is over */
	uint64_t dropped;		/* of the lost ones, those from measure_ns on */
};

struct el_sim_result {
	struct el_sim_input inputs[EL_SIM_FLOWS_MAX][EL_SIM_INPUTS_MAX];
	struct el_flow_counters flows[EL_SIM_FLOWS_MAX];
	uint32_t weights[EL_SIM_FLOWS_MAX]; /* at the end */
	uint64_t wall_ns, idle_ns, switch_ns;
	uint64_t longest_wait_ns[EL_SIM_FLOWS_MAX]; /* from wake-up to first service */
};

/*
 * Run a setup to its end. Returns 0, or -EINVAL: a number of the setup is out of its range.
 * A flow that is backlogged or polls ends at duration_ns.
 */
int el_sim_run(const struct el_sim_setup *setup, struct el_sim_result *out);

/*
 * The smallest limit of a flow's queue 0 with which the setup loses nothing there, by bisection
 * between 1 and most; other queues keep their limits. Returns 0, -EINVAL as above, or -ENOSPC: the
 * flow loses packets even with most.
 */
int el_sim_smallest_buffer(const struct el_sim_setup *setup, uint32_t flow, uint32_t most,
			   uint32_t *smallest);

#endif
