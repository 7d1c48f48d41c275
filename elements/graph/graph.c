/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elements/classes/classes.h"
#include "elements/graph/graph.h"

static void graph_add_end(struct el_graph *graph, const char *name, const struct el_class *class)
{
	struct el_instance *end = &graph->instances[graph->n_instances++];

	*end = (struct el_instance){ .class = class };
	snprintf(end->name, sizeof(end->name), "%s", name);
	for (uint32_t i = 0; i < EL_OUTPUTS_MAX; i++)
		end->to[i] = EL_NOWHERE;
}

void el_graph_init(struct el_graph *graph)
{
	memset(graph, 0, sizeof(*graph));
	graph_add_end(graph, "input", &el_input);
	graph_add_end(graph, "output", &el_output);
	graph_add_end(graph, "drop", &el_discard);
}

uint32_t el_graph_find(const struct el_graph *graph, const char *name)
{
	for (uint32_t i = 0; i < graph->n_instances; i++)
		if (strcmp(graph->instances[i].name, name) == 0)
			return i;
	return EL_NOWHERE;
}

/* What a check has found. */
struct finding {
	uint32_t *line;
	char *error;
};

static int __attribute__((format(printf, 3, 4)))
refuse(struct finding *f, uint32_t line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(f->error, EL_ERROR_BYTES, format, args);
	va_end(args);
	*f->line = line;
	return -EINVAL;
}

static int check_outputs(const struct el_graph *graph, struct finding *f)
{
	for (uint32_t i = 0; i < graph->n_instances; i++) {
		const struct el_instance *from = &graph->instances[i];

		for (uint32_t out = 0; out < from->class->outputs_required; out++)
			if (from->to[out] == EL_NOWHERE)
				return refuse(f, from->line ? from->line : graph->line,
					      "%s[%u] leads nowhere: write %s[%u] -> ...",
					      from->name, out, from->name, out);
	}
	return 0;
}

/* How packets come into each instance; an element for either passes them on likewise. */
struct sides {
	bool known[EL_INSTANCES_MAX];
	bool pulled[EL_INSTANCES_MAX];
	uint32_t by[EL_INSTANCES_MAX]; /* the first that leads there */
};

static int check_side(const struct el_graph *graph, struct sides *s, uint32_t at, uint32_t out,
		      struct finding *f)
{
	const struct el_instance *from = &graph->instances[at];
	const struct el_instance *to = &graph->instances[from->to[out]];
	bool pull = from->class->output == EL_PULL ||
		    (from->class->output == EL_EITHER && s->pulled[at]);
	uint32_t target = from->to[out];

	if (pull && to->class->input == EL_PUSH)
		return refuse(
			f, from->to_line[out],
			"%s gives packets only when asked, and %s does not ask: put an Unqueue "
			"between them",
			from->name, to->name);
	if (!pull && to->class->input == EL_PULL)
		return refuse(f, from->to_line[out],
			      "%s asks for packets, and %s does not hold them: put a Queue between "
			      "them",
			      to->name, from->name);
	if (s->known[target] && s->pulled[target] != pull && target >= EL_AT_FIRST)
		return refuse(f, from->to_line[out],
			      "%s pushes packets into %s, which asks for those of %s, or the other "
			      "way round",
			      pull ? graph->instances[s->by[target]].name : from->name, to->name,
			      pull ? from->name : graph->instances[s->by[target]].name);
	s->known[target] = true;
	s->pulled[target] = pull;
	s->by[target] = at;
	return 0;
}

/*
 * Visit instances so that each comes after all that lead to it (Kahn 1962). Those that are not
 * reached lie on a circle, or behind one.
 */
static int check_order(const struct el_graph *graph, struct finding *f)
{
	uint32_t before[EL_INSTANCES_MAX] = { 0 }, ready[EL_INSTANCES_MAX], n = 0;
	struct sides sides = { 0 };

	for (uint32_t i = 0; i < graph->n_instances; i++)
		for (uint32_t out = 0; out < graph->instances[i].class->outputs; out++)
			if (graph->instances[i].to[out] != EL_NOWHERE)
				before[graph->instances[i].to[out]]++;
	for (uint32_t i = 0; i < graph->n_instances; i++) {
		if (before[i])
			continue;
		if (i >= EL_AT_FIRST)
			return refuse(f, graph->instances[i].line, "nothing leads to %s",
				      graph->instances[i].name);
		if (i == EL_AT_INPUT)
			ready[n++] = i;
	}
	for (uint32_t done = 0; done < n; done++) {
		const struct el_instance *from = &graph->instances[ready[done]];

		for (uint32_t out = 0; out < from->class->outputs; out++) {
			if (from->to[out] == EL_NOWHERE)
				continue;
			if (check_side(graph, &sides, ready[done], out, f))
				return -EINVAL;
			if (--before[from->to[out]] == 0)
				ready[n++] = from->to[out];
		}
	}
	for (uint32_t i = 0; i < graph->n_instances; i++)
		if (before[i] && i >= EL_AT_FIRST)
			return refuse(f, graph->instances[i].line,
				      "%s lies on a circle, or behind one",
				      graph->instances[i].name);
	return 0;
}

static int find_stages(struct el_graph *graph, struct finding *f)
{
	graph->n_stages = 0;
	graph->stages[graph->n_stages++] = EL_AT_INPUT;
	for (uint32_t i = EL_AT_FIRST; i < graph->n_instances; i++) {
		struct el_instance *instance = &graph->instances[i];

		if (!instance->class->dequeue)
			continue;
		if (graph->n_stages == EL_GRAPH_STAGES)
			return refuse(f, instance->line, "more than %u elements hold packets",
				      EL_GRAPH_STAGES - 1);
		instance->stage = graph->n_stages;
		graph->stages[graph->n_stages++] = i;
	}
	return 0;
}

static int make_states(struct el_graph *graph, struct finding *f)
{
	for (uint32_t i = 0; i < graph->n_instances; i++) {
		struct el_instance *instance = &graph->instances[i];
		const char *reason;

		if (!instance->class->state_bytes)
			continue;
		instance->state = calloc(1, instance->class->state_bytes);
		if (!instance->state)
			return -ENOMEM;
		if (!instance->class->init)
			continue;
		reason = instance->class->init(instance->state, instance->values);
		if (reason)
			return refuse(f, instance->line, "%s: %s", instance->name, reason);
	}
	return 0;
}

int el_graph_finish(struct el_graph *graph, uint32_t *line, char error[EL_ERROR_BYTES])
{
	struct finding f = { .line = line, .error = error };
	int err = check_outputs(graph, &f);

	if (!err)
		err = check_order(graph, &f);
	if (!err)
		err = find_stages(graph, &f);
	return err ? err : make_states(graph, &f);
}

void el_graph_fini(struct el_graph *graph)
{
	for (uint32_t i = 0; i < graph->n_instances; i++) {
		free(graph->instances[i].state);
		graph->instances[i].state = NULL;
	}
}
