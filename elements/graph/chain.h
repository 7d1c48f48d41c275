/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Run the packets of a graph, one element at a time, so that the scheduler can look up between any
 * two (elements/sched/cpu_sched.h).
 *
 * Conservation, in packets, between two calls: entered + copied = left + dropped + those that wait
 * + the one at hand. refused counts those that did not enter.
 */
#ifndef EL_CHAIN_H
#define EL_CHAIN_H

#include "elements/graph/graph.h"
#include "elements/sched/cpu_sched.h"

/*
 * A packet for the graph: it waits at the input. Returns false if limit_packets wait there: it is
 * counted as refused and remains the caller's.
 */
bool el_chain_enter(struct el_graph *graph, struct el_packet *packet);

/* Take the packet whose turn it is at a stage, and the first element of its chain; NULL: none. */
struct el_packet *el_chain_begin(struct el_graph *graph, uint32_t stage, uint32_t *element);

/* What el_chain_step did with its packet, beside the boundary. */
struct el_step {
	struct el_packet *sent; /* it has left the graph: the caller's now; or NULL */
	uint32_t wake;		/* stages that have got a packet, bit by number */
};

/*
 * Let *element process the packet, and say where it goes on. ctx has pool and now_ns; its counts
 * start at 0 and are burn_ns afterwards, the rest is counted in the graph. stage is the one whose
 * chain this is. A packet that the graph drops goes back to the pool.
 */
enum el_boundary el_chain_step(struct el_graph *graph, struct el_context *ctx, uint32_t stage,
			       struct el_packet *packet, uint32_t *element, struct el_step *step);

/* End a packet that stands before an element: it counts as dropped there. */
void el_chain_drop(struct el_graph *graph, struct el_pool *pool, uint32_t element,
		   struct el_packet *packet);

/*
 * Let what waits at the input of a graph wait at that of another, which has had no packet yet, and
 * count as entered there.
 */
void el_chain_move_input(struct el_graph *from, struct el_graph *to);

/* Packets that wait at all stages. */
uint32_t el_chain_waiting(const struct el_graph *graph);

/* Give all that wait back to the pool, dropped at the element that held them. Returns how many. */
uint32_t el_chain_drain(struct el_graph *graph, struct el_pool *pool);

/* Packets that the graph has dropped, at all elements. */
struct el_counter el_chain_dropped(const struct el_graph *graph);
struct el_counter el_chain_copied(const struct el_graph *graph);

#endif
