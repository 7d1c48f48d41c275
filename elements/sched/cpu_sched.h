/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processor time of one worker, shared by flows.
 *
 * A flow is charged for the time that elements spend on its packets, whichever elements those are.
 * An element that begins a chain and has a packet waiting is an eligible stage; a flow is eligible
 * while one of its stages is. Flows compete by start-time fair queueing (sfq.h), and the stages of
 * a flow compete for its time in the same way.
 *
 * Input, output and plain forwarding are flows like the others ("global flows"), by the numbers
 * below, so that a flood of one flow leaves them their share.
 *
 * The caller runs elements and says what they took:
 *
 *      while (el_sched_pick(s, &run) == 0) {
 *              do {
 *                      if (!run.resumed)
 *                              take a packet from the queue of run.stage; its first element
 *                      run the element; measure used_ns; where does the packet go next?
 *              } while (el_sched_charge(s, &run, used_ns, boundary) == EL_CONTINUE);
 *      }
 *      -EAGAIN: nothing to do: sleep (wake_queue.h), or poll the inputs
 *
 * Between any two elements, and between packets, the flow may have to give way: then the run holds
 * the packet and its next element, and the flow's next turn begins there.
 *
 * Bounds. With l_f = quantum of f + its longest element: sfq.h's bound on shares; a flow that wakes
 * with the least start tag, the flow in service included, waits at most l of the flow in service.
 *
 * Pure: no clock, no allocation, no I/O. One thread per object. Functions that take a flow or a
 * stage expect one that is open; only el_sched_open checks its arguments.
 */
#ifndef EL_SCHED_CPU_SCHED_H
#define EL_SCHED_CPU_SCHED_H

#include "elements/sched/sfq.h"

#define EL_STAGES_MAX 16u

/* Flows that every worker has; the flows of rules come behind. */
enum {
	EL_FLOW_INPUT,
	EL_FLOW_OUTPUT,
	EL_FLOW_PLAIN, /* forwarding without elements */
	EL_FLOWS_GLOBAL
};

/* Where an element left its packet. */
enum el_boundary {
	EL_CHAIN_GOES_ON,  /* to another element; run.packet and run.element say which */
	EL_CHAIN_OVER,	   /* queued, sent or dropped; the stage's queue has another */
	EL_CHAIN_OVER_LAST /* the same, and the stage's queue is empty: it sleeps */
};

enum el_verdict {
	EL_CONTINUE, /* go on with this run */
	EL_YIELD     /* pick anew; a packet in mid-chain is saved */
};

/* What to run. */
struct el_run {
	uint32_t flow;
	uint32_t stage;
	bool resumed; /* go on with packet and element; false: take a packet from the stage's queue
		       */
	uint32_t element; /* the caller's; not looked at here */
	uint64_t packet;  /* the caller's */
};

struct el_flow_counters {
	uint64_t cpu_ns;
	uint64_t packets;     /* chains that ended */
	uint64_t slices;      /* services charged */
	uint64_t preemptions; /* turns that ended though the flow had more to do */
	uint64_t sleeps, wakeups;
	uint64_t longest_slice_ns; /* l of the bounds */
};

struct el_flow {
	bool open;
	bool saved;	  /* run holds a packet in mid-chain */
	bool woken;	  /* the stage in service got a packet meanwhile */
	uint8_t reserved; /* 0 */
	uint32_t quantum_ns;
	struct el_run run;    /* valid while saved */
	uint64_t stage_ns;    /* of the stage in service, not yet charged */
	struct el_sfq stages; /* its arrays are the two below */
	struct el_client stage_clients[EL_STAGES_MAX];
	uint32_t stage_heap[EL_STAGES_MAX];
	struct el_flow_counters counters;
};

struct el_sched {
	struct el_sfq turns;   /* of the flows */
	struct el_flow *flows; /* borrowed from el_sched_init on */
	uint32_t n_flows;
	/* 0: preempt at the quantum; else the least packets of a turn, whatever time they take */
	uint32_t batch_packets;
	uint64_t slice_ns;	/* used in this slice */
	uint32_t slice_packets; /* chains ended in this slice */
	uint32_t reserved;
};

/*
 * Start with n_flows flows, all closed. flows, clients and heap are borrowed arrays of n_flows.
 * batch_packets 0 is the preemptive mode; other values are the mode to compare with, which serves
 * at least that many packets in a turn and never preempts a chain.
 */
void el_sched_init(struct el_sched *s, struct el_flow *flows, struct el_client *clients,
		   uint32_t *heap, uint32_t n_flows, uint32_t batch_packets);

/*
 * Open a flow with stages of equal weight, asleep. quantum_ns 0: look around at each boundary.
 * Returns 0; -EINVAL: flow, weight or n_stages out of range; -EEXIST: the flow is open.
 */
int el_sched_open(struct el_sched *s, uint32_t flow, uint32_t weight, uint32_t quantum_ns,
		  uint32_t n_stages);

/*
 * Close a flow that is not in service. Returns true if it had stopped in mid-chain: then *run holds
 * the packet, which the caller must finish or drop.
 */
bool el_sched_close(struct el_sched *s, uint32_t flow, struct el_run *run);

void el_sched_set_weight(struct el_sched *s, uint32_t flow, uint32_t weight);
void el_sched_set_stage_weight(struct el_sched *s, uint32_t flow, uint32_t stage, uint32_t weight);

/*
 * A packet waits for a stage: call it after each enqueue, also from an element that runs; no
 * wake-up is lost. Returns true if the flow slept.
 */
bool el_sched_wake(struct el_sched *s, uint32_t flow, uint32_t stage);

/* Choose the next turn. Returns 0 and fills *run; -EAGAIN: no flow is eligible. */
int el_sched_pick(struct el_sched *s, struct el_run *run);

/*
 * An element of the picked run has taken used_ns. EL_CONTINUE: if the chain was over, *run now says
 * which stage of the same flow is next. EL_YIELD: pick anew.
 */
enum el_verdict el_sched_charge(struct el_sched *s, struct el_run *run, uint64_t used_ns,
				enum el_boundary boundary);

#endif
