/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A graph of elements, through which the packets of one flow go: instances of classes, and where
 * their outputs lead. graph_text.h reads graphs; el_graph_finish checks one and makes it run.
 *
 * A stage is where a chain begins: stage 0 at `input`, the others at the elements that hold
 * packets, in the order of the text. chain.h runs them.
 */
#ifndef EL_GRAPH_H
#define EL_GRAPH_H

#include "elements/core/element.h"
#include "elements/sched/cpu_share.h"

#define EL_NAME_BYTES	 32 /* with its NUL */
#define EL_INSTANCES_MAX 64u
#define EL_GRAPH_STAGES	 16u /* EL_STAGES_MAX of the scheduler */
#define EL_NOWHERE	 UINT32_MAX

/* Instances that every graph has, before those of its text. */
enum { EL_AT_INPUT, EL_AT_OUTPUT, EL_AT_DROP, EL_AT_FIRST };

struct el_counter {
	uint64_t packets, bytes;
};

struct el_instance {
	const struct el_class *class;
	char name[EL_NAME_BYTES];
	uint32_t line;		     /* of the text */
	uint32_t to[EL_OUTPUTS_MAX]; /* instance, or EL_NOWHERE */
	uint32_t to_line[EL_OUTPUTS_MAX];
	uint32_t stage; /* that begins here; 0: none, but for `input` */
	struct el_value values[EL_PARAMS_MAX];
	void *state; /* owned */
	struct el_counter in, dropped, copied;
	uint64_t not_copied; /* packets */
};

struct el_graph {
	char name[EL_NAME_BYTES];
	uint32_t line;
	struct el_grant grant; /* of processor time */
	uint32_t quantum_ns;
	uint32_t limit_packets;	  /* that wait at the input */
	bool fast;		  /* sl_edge runs it; the worker only while that cannot */
	uint32_t ceiling_percent; /* fast: of each processor, the most that it may use; 0: any */
	uint32_t n_instances;
	struct el_instance instances[EL_INSTANCES_MAX];
	uint32_t n_stages;
	uint32_t stages[EL_GRAPH_STAGES]; /* instance where each begins */
	/* packets: those that came, those without a place at the input, those that left */
	struct el_counter entered, refused, left;
	/* those that wait at the input: owned; first, last, number */
	struct el_packet *first, *last;
	uint32_t n_waiting;
};

#define EL_ERROR_BYTES 256

/* A graph that has only its ends. */
void el_graph_init(struct el_graph *graph);

/* The instance of that name, or EL_NOWHERE. */
uint32_t el_graph_find(const struct el_graph *graph, const char *name);

/*
 * Check how the instances are joined, and give each its state. 0; -ENOMEM; -EINVAL with *line and a
 * reason in error. The caller calls el_graph_fini in every case.
 */
int el_graph_finish(struct el_graph *graph, uint32_t *line, char error[EL_ERROR_BYTES]);

/* Release all states. Packets that wait are forgotten: take them out before (el_chain_drain). */
void el_graph_fini(struct el_graph *graph);

#endif
