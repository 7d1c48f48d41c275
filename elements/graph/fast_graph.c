/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "elements/graph/fast_graph.h"

_Static_assert(EL_AT_INPUT == SL_FAST_INPUT, "packets enter at the same place");

static int fast_element(const struct el_graph *graph, const struct el_instance *at,
			struct sl_fast_element *out, char error[EL_ERROR_BYTES])
{
	*out = (struct sl_fast_element){ .to = { SL_FAST_NOWHERE, SL_FAST_NOWHERE } };
	if (!at->class->fast || !at->class->fast(at->values, out)) {
		snprintf(error, EL_ERROR_BYTES,
			 "chain %s is fast, and %s, a %s%s, needs the worker", graph->name,
			 at->name, at->class->name, at->class->fast ? " with such values" : "");
		return -EINVAL;
	}
	for (uint32_t i = 0; i < at->class->outputs; i++)
		if (at->to[i] != EL_NOWHERE)
			out->to[i] = (uint8_t)at->to[i];
	if (out->kind == SL_FAST_OWN)
		out->writes = !!(at->class->may & EL_MAY_WRITE);
	return 0;
}

int el_fast_graph(const struct el_graph *graph, uint32_t first_count, struct sl_fast_chain *out,
		  uint32_t *line, char error[EL_ERROR_BYTES])
{
	*out = (struct sl_fast_chain){ .first_count = first_count,
				       .ceiling_percent = graph->ceiling_percent };
	memcpy(out->of.name, graph->name, strlen(graph->name));
	out->of.id = sl_chain_id(out->of.name);
	*line = graph->line;
	if (graph->n_instances > SL_FAST_ELEMENTS_MAX) {
		snprintf(error, EL_ERROR_BYTES, "chain %s is fast, and has more than %u elements",
			 graph->name, SL_FAST_ELEMENTS_MAX - EL_AT_FIRST);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < graph->n_instances; i++) {
		if (i >= EL_AT_FIRST)
			*line = graph->instances[i].line;
		if (fast_element(graph, &graph->instances[i], &out->element[i], error))
			return -EINVAL;
		out->classifies |= out->element[i].kind == SL_FAST_CLASSIFY;
	}
	/* Nobody asks for the values that it might change. */
	for (uint32_t i = 0; i < graph->n_instances; i++)
		if (out->element[i].kind == SL_FAST_OWN)
			out->element[i].writes &= out->classifies;
	return 0;
}
