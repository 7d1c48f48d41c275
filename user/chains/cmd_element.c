/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice element list|show|install|remove|signal|signals, and sluice flow. */
#include <stdio.h>
#include <string.h>

#include "user/chains/element_install.h"
#include "user/chains/element_signal.h"
#include "user/cli/cmd.h"
#include "user/text/duration.h"
#include "user/text/table.h"

/* Words of an array, with commas between. */
static void words_cell(struct sl_table *table, const json_t *array)
{
	char text[256] = "";
	size_t at = 0, i;
	json_t *item;

	json_array_foreach(array, i, item) {
		const char *word =
			json_is_object(item) ? sl_cmd_text(item, "name") : json_string_value(item);

		if (at < sizeof(text))
			at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", i ? "," : "",
					       word ? word : "-");
	}
	sl_table_cell(table, "%s", *text ? text : "-");
}

static void number_cell(struct sl_table *table, const json_t *row, const char *key)
{
	if (json_is_integer(json_object_get(row, key)))
		sl_table_cell(table, "%lld", sl_cmd_number(row, key));
	else
		sl_table_cell(table, "-");
}

static void time_cell(struct sl_table *table, const json_t *row, const char *key)
{
	char text[SL_DURATION_BYTES];

	sl_table_cell(table, "%s", sl_duration_ns_text(sl_cmd_number(row, key), text));
}

static void class_cells(void *arg, const json_t *row)
{
	struct sl_table *table = arg;

	sl_table_cell(table, "%s", sl_cmd_text(row, "class"));
	number_cell(table, row, "version");
	number_cell(table, row, "outputs");
	words_cell(table, json_object_get(row, "may"));
	words_cell(table, json_object_get(row, "parameters"));
	sl_table_cell(table,
		      json_is_true(json_object_get(row, "fast")) ? "worker, fast" : "worker");
	if (json_is_string(json_object_get(row, "fault")))
		sl_table_cell(table, "quarantine");
	else if (json_is_string(json_object_get(row, "key")))
		sl_table_cell(table, "%s", sl_cmd_text(row, "key"));
	else
		sl_table_cell(table, "built in");
	sl_table_cell(table, "%s", sl_cmd_text(row, "what"));
}

static void element_cells(void *arg, const json_t *row)
{
	struct sl_table *table = arg;
	const char *drop = sl_cmd_text(row, "drop");

	sl_table_cell(table, "%s", sl_cmd_text(row, "chain"));
	sl_table_cell(table, "%s", sl_cmd_text(row, "element"));
	sl_table_cell(table, "%s", sl_cmd_text(row, "class"));
	words_cell(table, json_object_get(row, "outputs"));
	number_cell(table, row, "packets");
	number_cell(table, row, "bytes");
	number_cell(table, row, "waiting");
	number_cell(table, row, "copied");
	number_cell(table, row, "dropped");
	sl_table_cell(table, "%s", *drop ? drop : "-");
}

static void flow_cells(void *arg, const json_t *row)
{
	struct sl_table *table = arg;

	sl_table_cell(table, "%s", sl_cmd_text(row, "flow"));
	if (json_is_integer(json_object_get(row, "rate_percent")))
		sl_table_cell(table, "%lld%%", sl_cmd_number(row, "rate_percent"));
	else if (json_is_integer(json_object_get(row, "ceiling_percent")))
		sl_table_cell(table, "fast %lld%%", sl_cmd_number(row, "ceiling_percent"));
	else if (json_is_true(json_object_get(row, "fast")))
		sl_table_cell(table, "fast");
	else
		number_cell(table, row, "share");
	time_cell(table, row, "cpu_ns");
	number_cell(table, row, "slices");
	time_cell(table, row, "longest_slice_ns");
	number_cell(table, row, "preemptions");
	number_cell(table, row, "sleeps");
	number_cell(table, row, "entered");
	number_cell(table, row, "refused");
	number_cell(table, row, "copied");
	number_cell(table, row, "left");
	number_cell(table, row, "dropped");
	number_cell(table, row, "waiting");
}

static void signal_cells(void *arg, const json_t *row)
{
	struct sl_table *table = arg;
	const char *key = sl_cmd_text(row, "key");

	sl_table_cell(table, "%s", *key ? key : "-");
	sl_table_cell(table, "%s", sl_cmd_text(row, "outcome"));
	number_cell(table, row, "signals");
}

static int show(const struct sl_cmd_options *options, json_t *request, const char *const *headers,
		void (*cells)(void *, const json_t *))
{
	if (options->json)
		return sl_cmd_print_elements_json(options, request);
	return sl_cmd_print_rows(options, request, sl_cmd_ask_elements, headers, cells);
}

int sl_cmd_element(const struct sl_cmd_options *options, int argc, char **argv)
{
	static const char *const classes[] = { "class", ">version",   ">outputs",
					       "may",	"parameters", "runs in",
					       "from",	"what",	      NULL };
	static const char *const elements[] = { "chain",    "element",	"class",  "outputs",
						">packets", ">bytes",	">waits", ">copied",
						">dropped", "drops as", NULL };
	static const char *const signals[] = { "key", "outcome", ">signals", NULL };
	const char *what = argc ? argv[0] : "";

	if (strcmp(what, "list") == 0 && argc == 1)
		return show(options, json_pack("{s:s}", "command", "classes"), classes,
			    class_cells);
	if (strcmp(what, "show") == 0 && argc <= 2)
		return show(options,
			    json_pack("{s:s, s:s*}", "command", "elements", "chain",
				      argc == 2 ? argv[1] : NULL),
			    elements, element_cells);
	if (strcmp(what, "install") == 0 && argc == 2)
		return sl_element_install(options, argv[1]);
	if (strcmp(what, "remove") == 0 && argc == 2)
		return sl_element_remove(options, argv[1]);
	if (strcmp(what, "signals") == 0 && argc == 1)
		return show(options, json_pack("{s:s}", "command", "signals"), signals,
			    signal_cells);
	if (strcmp(what, "signal") == 0)
		return sl_element_signal(options, argc - 1, argv + 1);
	fprintf(stderr, "sluice: element: write `list`, `show [CHAIN]`, `install FILE|URL`, "
			"`remove CLASS`, `signals` or `signal ADDRESS ...`\n");
	return SL_EXIT_USAGE;
}

int sl_cmd_flow(const struct sl_cmd_options *options, int argc, char **argv)
{
	static const char *const flows[] = { "flow",	 ">share",     ">time",	  ">slices",
					     ">longest", ">preempted", ">sleeps", ">entered",
					     ">refused", ">copied",    ">left",	  ">dropped",
					     ">waits",	 NULL };

	if (argc == 0)
		return show(options, json_pack("{s:s}", "command", "flows"), flows, flow_cells);
	fprintf(stderr, "sluice: flow: \"%s\" is too much: write nothing behind it\n", argv[0]);
	return SL_EXIT_USAGE;
}
