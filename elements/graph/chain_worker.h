/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The packet loop of chains: flows take turns by the scheduler, and each turn runs elements until
 * the flow must give way. Input and output are flows of their own, whose work is a task.
 *
 * Clock, and what happens to packets that leave, are the owner's: so that the process, the tests
 * and the fuzzer run the same loop.
 */
#ifndef EL_CHAIN_WORKER_H
#define EL_CHAIN_WORKER_H

#include "elements/graph/chain.h"

#define EL_WORKER_CHAINS 80u
#define EL_WORKER_FLOWS	 (EL_FLOWS_GLOBAL + EL_WORKER_CHAINS)

struct el_worker_ops {
	uint64_t (*now_ns)(void *owner);
	void (*burn)(void *owner, uint64_t ns); /* let so much time pass, busily */
	/* A packet has left the graph: it is the owner's. */
	void (*sent)(void *owner, struct el_graph *graph, struct el_packet *packet);
};

/* One batch of a global flow. Returns whether there is more to do. */
typedef bool el_task(void *owner);

struct el_worker {
	struct el_sched sched;
	struct el_flow flows[EL_WORKER_FLOWS];
	struct el_client clients[EL_WORKER_FLOWS];
	uint32_t heap[EL_WORKER_FLOWS];
	struct el_graph *graphs[EL_WORKER_FLOWS]; /* borrowed while the flow is open */
	el_task *tasks[EL_WORKER_FLOWS];
	struct el_pool *pool; /* borrowed */
	const struct el_worker_ops *ops;
	void *owner;
	uint64_t turns;
	/*
	 * For who looks in from a signal, when an element crashes or does not end: the graph whose
	 * element runs, or NULL; the element; a number that changes with each.
	 */
	struct el_graph *volatile running; /* borrowed */
	volatile uint32_t running_element;
	volatile uint32_t runs;
};

/* batch_packets as in el_sched_init. */
void el_worker_init(struct el_worker *w, struct el_pool *pool, const struct el_worker_ops *ops,
		    void *owner, uint32_t batch_packets);

/* Open one of the flows before EL_FLOWS_GLOBAL. Returns as el_sched_open. */
int el_worker_open_task(struct el_worker *w, uint32_t flow, uint32_t weight, uint32_t quantum_ns,
			el_task *task);
/* Open a flow that goes through the graph, with the graph's quantum. Returns as el_sched_open. */
int el_worker_open_chain(struct el_worker *w, uint32_t flow, uint32_t weight,
			 struct el_graph *graph);
/* Close a flow; packets of its graph are dropped, where they wait. Returns how many. */
uint32_t el_worker_close(struct el_worker *w, uint32_t flow);

/* A task has something to do. */
void el_worker_wake(struct el_worker *w, uint32_t flow);
/* A packet for a flow, as el_chain_enter. */
bool el_worker_enter(struct el_worker *w, uint32_t flow, struct el_packet *packet);

/* One turn. Returns false if no flow has anything to do. */
bool el_worker_turn(struct el_worker *w);

#endif
