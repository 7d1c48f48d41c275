/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elements/classes/classes.h"
#include "elements/graph/fast_graph.h"
#include "elements/graph/graph_text.h"
#include "elements/graph/param_text.h"
#include "elements/graph/words.h"
#include "user/text/duration.h"

#define QUANTUM_MAX_NS	   1000000u
#define QUANTUM_DEFAULT_NS 5000u
#define LIMIT_MAX	   65536u
#define LIMIT_DEFAULT	   256u
#define PERCENT_PPB	   (EL_PPB_ALL / 100)

static int number_within(const char *text, uint64_t min, uint64_t max, uint32_t *out)
{
	const struct el_param number = { .kind = EL_PARAM_NUMBER, .min = min, .max = max };
	struct el_value value;
	int err = el_param_parse(&number, text, &value);

	if (!err)
		*out = (uint32_t)value.number;
	return err;
}

/* --- Options of a chain --- */

static int read_percent(struct el_words *w, const char *option, uint32_t *percent)
{
	size_t n = strlen(w->word);

	if (n < 2 || w->word[n - 1] != '%')
		return el_words_refuse(w, "%s \"%s\" is not a part of the processor, as 20%%",
				       option, w->word);
	w->word[n - 1] = '\0';
	if (number_within(w->word, 1, 100, percent))
		return el_words_refuse(w, "%s \"%s%%\" is not 1%% to 100%%", option, w->word);
	return 0;
}

static int read_rate(struct el_words *w, struct el_graph *graph)
{
	uint32_t percent;

	if (read_percent(w, "rate", &percent))
		return -EINVAL;
	graph->grant = (struct el_grant){ EL_GRANT_RATE, percent * PERCENT_PPB };
	return 0;
}

static int read_option(struct el_words *w, struct el_graph *graph)
{
	char option[EL_WORD_BYTES];
	uint64_t ns;

	memcpy(option, w->word, sizeof(option));
	if (strcmp(option, "fast") == 0) {
		graph->fast = true;
		return 0;
	}
	if (strcmp(option, "share") && strcmp(option, "rate") && strcmp(option, "quantum") &&
	    strcmp(option, "limit") && strcmp(option, "ceiling"))
		return el_words_refuse(w,
				       "\"%s\" is not an option of a chain: share, rate, quantum, "
				       "limit, fast or ceiling",
				       option);
	if (el_words_next(w))
		return -EINVAL;
	if (w->kind != EL_WORD)
		return el_words_refuse(w, "%s has no value", option);
	if (strcmp(option, "rate") == 0)
		return read_rate(w, graph);
	if (strcmp(option, "ceiling") == 0)
		return read_percent(w, option, &graph->ceiling_percent);
	if (strcmp(option, "share") == 0) {
		graph->grant.kind = EL_GRANT_SHARE;
		if (number_within(w->word, 1, EL_SHARE_MAX, &graph->grant.value))
			return el_words_refuse(w, "share \"%s\" is not 1 to %u", w->word,
					       EL_SHARE_MAX);
	} else if (strcmp(option, "limit") == 0) {
		if (number_within(w->word, 1, LIMIT_MAX, &graph->limit_packets))
			return el_words_refuse(w, "limit \"%s\" is not 1 to %u", w->word,
					       LIMIT_MAX);
	} else {
		if (sl_duration_parse(w->word, &ns) || ns > QUANTUM_MAX_NS)
			return el_words_refuse(w, "quantum \"%s\" is not a duration of up to 1ms",
					       w->word);
		graph->quantum_ns = (uint32_t)ns;
	}
	return 0;
}

/* --- Elements --- */

static int find_param(const struct el_class *class, const char *name)
{
	for (int i = 0; class->params && class->params[i].name; i++)
		if (strcmp(class->params[i].name, name) == 0)
			return i;
	return -1;
}

static int read_param(struct el_words *w, struct el_instance *instance)
{
	char range[EL_PARAM_RANGE_BYTES], name[EL_WORD_BYTES];
	int i = w->kind == EL_WORD ? find_param(instance->class, w->word) : -1;
	const struct el_param *param;

	if (i < 0)
		return el_words_refuse(w, "\"%s\" is not a parameter of %s", w->word,
				       instance->class->name);
	param = &instance->class->params[i];
	memcpy(name, w->word, sizeof(name));
	if (instance->values[i].given)
		return el_words_refuse(w, "%s is there twice", name);
	if (el_words_expect(w, "="))
		return -EINVAL;
	if (el_words_next_value(w))
		return -EINVAL;
	if (el_param_parse(param, w->word, &instance->values[i]))
		return el_words_refuse(w, "%s: \"%s\" is not %s", name, w->word,
				       el_param_expects(param, range));
	return 0;
}

static int check_params(struct el_words *w, struct el_instance *instance)
{
	const struct el_param *param = instance->class->params;

	for (int i = 0; param && param[i].name; i++) {
		if (instance->values[i].given)
			continue;
		if (param[i].required)
			return el_words_refuse(w, "%s has no %s: %s", instance->class->name,
					       param[i].name, param[i].what);
		instance->values[i].number = param[i].fallback;
	}
	return 0;
}

/* The word is a class: make an instance of it, and read its parameters and the word behind. */
static int read_class(struct el_words *w, struct el_graph *graph, const char *name, uint32_t *at)
{
	const struct el_class *class = el_class_find(w->more, w->word);
	struct el_instance *instance;

	if (!class)
		return el_words_refuse(w, "\"%s\" is not a class of elements", w->word);
	if (graph->n_instances == EL_INSTANCES_MAX)
		return el_words_refuse(w, "more than %u elements in a chain",
				       EL_INSTANCES_MAX - EL_AT_FIRST);
	*at = graph->n_instances++;
	instance = &graph->instances[*at];
	*instance = (struct el_instance){ .class = class, .line = w->line };
	for (uint32_t out = 0; out < EL_OUTPUTS_MAX; out++)
		instance->to[out] = EL_NOWHERE;
	if (name)
		snprintf(instance->name, sizeof(instance->name), "%s", name);
	else
		snprintf(instance->name, sizeof(instance->name), "%s@%u", class->name,
			 *at - EL_AT_FIRST + 1);
	if (el_words_next(w))
		return -EINVAL;
	if (el_words_is(w, "(")) {
		do {
			if (el_words_next(w))
				return -EINVAL;
			if (el_words_is(w, ")"))
				break;
			if (read_param(w, instance) || el_words_next(w))
				return -EINVAL;
		} while (el_words_is(w, ","));
		if (!el_words_is(w, ")"))
			return el_words_refuse(w, "\"%s\" where , or ) should be", w->word);
		if (el_words_next(w))
			return -EINVAL;
	}
	return check_params(w, instance);
}

/* `name :: Class(...)`; the word is `::`. */
static int read_declaration(struct el_words *w, struct el_graph *graph, const char *name)
{
	uint32_t at = el_graph_find(graph, name);

	if (at != EL_NOWHERE && at < EL_AT_FIRST)
		return el_words_refuse(w, "\"%s\" is an end of every chain", name);
	if (at != EL_NOWHERE)
		return el_words_refuse(w, "%s is there already, on line %u", name,
				       graph->instances[at].line);
	if (strlen(name) >= EL_NAME_BYTES)
		return el_words_refuse(w, "\"%s\" has more than %u characters", name,
				       EL_NAME_BYTES - 1);
	if (el_words_next(w))
		return -EINVAL;
	if (w->kind != EL_WORD)
		return el_words_refuse(w, "\"%s\" where a class should be", w->word);
	return read_class(w, graph, name, &at);
}

/* An element in a path, by its name or as a class; then the word behind it is read. */
static int read_node(struct el_words *w, struct el_graph *graph, uint32_t *at)
{
	if (w->kind != EL_WORD)
		return el_words_refuse(w, "\"%s\" where an element should be", w->word);
	if (isupper((unsigned char)w->word[0]))
		return read_class(w, graph, NULL, at);
	*at = el_graph_find(graph, w->word);
	if (*at == EL_NOWHERE)
		return el_words_refuse(w, "no element is called \"%s\"", w->word);
	return el_words_next(w);
}

static int join(struct el_words *w, struct el_graph *graph, uint32_t from, uint32_t out,
		uint32_t to)
{
	struct el_instance *instance = &graph->instances[from];

	if (out >= instance->class->outputs)
		return el_words_refuse(w, "%s has no output %u", instance->name, out);
	if (instance->to[out] != EL_NOWHERE)
		return el_words_refuse(w, "%s[%u] leads to %s already, on line %u", instance->name,
				       out, graph->instances[instance->to[out]].name,
				       instance->to_line[out]);
	if (to == EL_AT_INPUT)
		return el_words_refuse(w, "nothing may lead to input");
	instance->to[out] = to;
	instance->to_line[out] = w->line;
	return 0;
}

/* An output in brackets, if there is one; then the word behind it is read. */
static int read_output(struct el_words *w, uint32_t *out)
{
	*out = 0;
	if (!el_words_is(w, "["))
		return 0;
	if (el_words_next(w))
		return -EINVAL;
	if (number_within(w->word, 0, EL_OUTPUTS_MAX - 1, out))
		return el_words_refuse(w, "\"%s\" is not an output: 0 to %u", w->word,
				       EL_OUTPUTS_MAX - 1);
	if (el_words_expect(w, "]"))
		return -EINVAL;
	return el_words_next(w);
}

/* The rest of a path, whose first element has been read. */
static int read_path(struct el_words *w, struct el_graph *graph, uint32_t from)
{
	uint32_t out, to;

	do {
		if (read_output(w, &out))
			return -EINVAL;
		if (!el_words_is(w, "->"))
			return el_words_refuse(w, "\"%s\" where -> should be", w->word);
		if (el_words_next(w) || read_node(w, graph, &to) || join(w, graph, from, out, to))
			return -EINVAL;
		from = to;
	} while (!el_words_is(w, ";"));
	return 0;
}

/* A statement, of which one word has been read, up to its semicolon. */
static int read_statement(struct el_words *w, struct el_graph *graph)
{
	char name[EL_WORD_BYTES];
	uint32_t from;
	bool named;

	if (w->kind != EL_WORD)
		return el_words_refuse(w, "\"%s\" where a statement should be", w->word);
	named = !isupper((unsigned char)w->word[0]);
	memcpy(name, w->word, sizeof(name));
	if (named) {
		if (el_words_next(w))
			return -EINVAL;
		if (el_words_is(w, "::")) {
			if (read_declaration(w, graph, name))
				return -EINVAL;
			if (!el_words_is(w, ";"))
				return el_words_refuse(w, "\"%s\" where ; should be", w->word);
			return 0;
		}
		from = el_graph_find(graph, name);
		if (from == EL_NOWHERE)
			return el_words_refuse(w, "no element is called \"%s\"", name);
	} else if (read_class(w, graph, NULL, &from)) {
		return -EINVAL;
	}
	return read_path(w, graph, from);
}

/* --- Chains --- */

static int read_chain(struct el_words *w, const struct el_chains *chains, struct el_graph *graph)
{
	char reason[EL_ERROR_BYTES];
	struct sl_fast_chain fast;
	uint32_t line, others = 0; /* options that go with no fast chain */
	int err;

	el_graph_init(graph);
	graph->grant = (struct el_grant){ EL_GRANT_SHARE, 1 };
	graph->quantum_ns = QUANTUM_DEFAULT_NS;
	graph->limit_packets = LIMIT_DEFAULT;
	if (w->kind != EL_WORD || strcmp(w->word, "chain"))
		return el_words_refuse(w, "\"%s\" where \"chain\" should be", w->word);
	if (el_words_next(w))
		return -EINVAL;
	if (w->kind != EL_WORD || strlen(w->word) >= EL_NAME_BYTES)
		return el_words_refuse(w,
				       "\"%s\" is not the name of a chain, of 1 to %u characters",
				       w->word, EL_NAME_BYTES - 1);
	if (el_chains_find(chains, w->word))
		return el_words_refuse(w, "chain %s is there already, on line %u", w->word,
				       el_chains_find(chains, w->word)->line);
	snprintf(graph->name, sizeof(graph->name), "%s", w->word);
	graph->line = w->line;
	while (!(err = el_words_next(w)) && w->kind == EL_WORD) {
		others += strcmp(w->word, "fast") && strcmp(w->word, "ceiling");
		if (read_option(w, graph))
			return -EINVAL;
	}
	if (err)
		return err;
	if (graph->ceiling_percent && !graph->fast)
		return el_words_refuse(w, "chain %s has a ceiling, and is not fast", graph->name);
	if (graph->fast && others)
		return el_words_refuse(w,
				       "chain %s is fast, and uses no time of the worker: "
				       "leave out its options but ceiling",
				       graph->name);
	if (!el_words_is(w, "{"))
		return el_words_refuse(w, "\"%s\" where { should be", w->word);
	while (!(err = el_words_next(w)) && !el_words_is(w, "}"))
		if (read_statement(w, graph))
			return -EINVAL;
	if (err)
		return err;
	err = el_graph_finish(graph, &line, reason);
	if (!err && graph->fast)
		err = el_fast_graph(graph, 0, &fast, &line, reason);
	if (err == -EINVAL) {
		w->line = line;
		el_words_refuse(w, "%s", reason);
	}
	return err;
}

int el_chains_parse(const char *file_name, const char *text, size_t text_bytes,
		    const struct el_class *const *more, struct el_chains *out,
		    char error[EL_ERROR_BYTES])
{
	struct el_words w = { .more = more,
			      .file = file_name,
			      .at = text,
			      .end = text + text_bytes,
			      .line = 1,
			      .error = error };
	int err;

	*out = (struct el_chains){ 0 };
	error[0] = '\0';
	if (text_bytes > EL_TEXT_MAX_BYTES)
		return el_words_refuse(&w, "longer than %u bytes", EL_TEXT_MAX_BYTES);
	while (!(err = el_words_next(&w)) && w.kind != EL_WORDS_END) {
		struct el_graph *grown;

		if (out->n == EL_CHAINS_MAX) {
			err = el_words_refuse(&w, "more than %u chains", EL_CHAINS_MAX);
			break;
		}
		grown = realloc(out->chains, (out->n + 1) * sizeof(*grown));
		if (!grown) {
			err = -ENOMEM;
			break;
		}
		out->chains = grown;
		err = read_chain(&w, out, &grown[out->n]);
		out->n++;
		if (err)
			break;
	}
	if (err)
		el_chains_free(out);
	return err;
}

void el_chains_free(struct el_chains *chains)
{
	for (uint32_t i = 0; i < chains->n; i++)
		el_graph_fini(&chains->chains[i]);
	free(chains->chains);
	*chains = (struct el_chains){ 0 };
}

struct el_graph *el_chains_find(const struct el_chains *chains, const char *name)
{
	for (uint32_t i = 0; i < chains->n; i++)
		if (strcmp(chains->chains[i].name, name) == 0)
			return &chains->chains[i];
	return NULL;
}
