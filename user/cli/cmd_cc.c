/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice cc list|set|trace, and the cells of sluice show cc */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/config/cc_settings.h"
#include "user/cli/cmd.h"
#include "user/text/table.h"

/* --- show cc --- */

void sl_cmd_cc_cells(struct sl_table *table, const json_t *row)
{
	const json_t *rate = json_object_get(row, "rate"), *price = json_object_get(row, "price");
	const json_t *age = json_object_get(row, "age_us"),
		     *signal = json_object_get(row, "signal");

	/* Only JSON shows the totals. */
	if (strcmp(sl_cmd_text(row, "side"), "totals") == 0)
		return;
	sl_table_cell(table, "%s", sl_cmd_text(row, "port"));
	sl_table_cell(table, "%lld", sl_cmd_number(row, "class"));
	sl_table_cell(table, "%s", sl_cmd_text(row, "side"));
	sl_table_cell(table, "%s", sl_cmd_text(row, "controller"));
	sl_table_cell(table, "%lld us", sl_cmd_number(row, "interval_us"));
	if (json_is_integer(rate))
		sl_table_cell(table, "%lld %s/s", sl_cmd_number(row, "rate"),
			      sl_cmd_text(row, "unit"));
	else
		sl_table_cell(table, "%s", "no limit");
	if (json_object_get(row, "waiting"))
		sl_table_cell(table, "%lld", sl_cmd_number(row, "waiting"));
	else
		sl_table_cell(table, "%s", "");
	if (json_is_real(price))
		sl_table_cell(table, "%.4f", json_real_value(price));
	else if (json_is_integer(signal))
		sl_table_cell(table, "%lld", sl_cmd_number(row, "signal"));
	else
		sl_table_cell(table, "%s", "");
	if (json_is_integer(age))
		sl_table_cell(table, "%.1f ms", (double)sl_cmd_number(row, "age_us") / 1000);
	else
		sl_table_cell(table, "%s", "");
}

/* --- cc list --- */

static json_t *parameter_row(const char *name, const char *unit, int64_t value, int64_t min,
			     int64_t max, const char *text)
{
	return json_pack("{s:s, s:s, s:I, s:I, s:I, s:s}", "name", name, "unit", unit, "default",
			 (json_int_t)value, "min", (json_int_t)min, "max", (json_int_t)max, "text",
			 text);
}

static json_t *parameter_rows(const struct cc_ops *ops)
{
	json_t *rows = json_array();

	for (uint32_t i = 0; i < ops->n_params; i++) {
		const struct cc_param *p = &ops->params[i];

		json_array_append_new(
			rows, parameter_row(p->name, p->unit, p->value, p->min, p->max, p->source));
	}
	json_array_append_new(rows, parameter_row("interval_us", "us", SL_CC_INTERVAL_DEFAULT_US,
						  SL_CC_INTERVAL_MIN_US, SL_CC_INTERVAL_MAX_US,
						  "T, the control interval"));
	json_array_append_new(rows, parameter_row("frame_bytes", "bytes", SL_CC_FRAME_DEFAULT_BYTES,
						  60, 65535, "a full-size frame"));
	json_array_append_new(rows, parameter_row("nodeN.weight", "", 1, 1, CC_WEIGHT_MAX,
						  "of what enters at node N"));
	return rows;
}

static int print_parameters(const json_t *rows)
{
	static const char *const headers[] = { "parameter", ">default", ">least",
					       ">most",	    "unit",	"meaning and source" };
	struct sl_table *table = sl_table_create(headers, 6);
	const json_t *row;
	size_t i;
	int err;

	json_array_foreach(rows, i, row) {
		if (!table)
			break;
		sl_table_cell(table, "%s", sl_cmd_text(row, "name"));
		sl_table_cell(table, "%lld", sl_cmd_number(row, "default"));
		sl_table_cell(table, "%lld", sl_cmd_number(row, "min"));
		sl_table_cell(table, "%lld", sl_cmd_number(row, "max"));
		sl_table_cell(table, "%s", sl_cmd_text(row, "unit"));
		sl_table_cell(table, "%s", sl_cmd_text(row, "text"));
	}
	err = table ? sl_table_print(table, stdout) : -ENOMEM;
	sl_table_destroy(table);
	return err ? SL_EXIT_FAILED : SL_EXIT_OK;
}

static int list(const struct sl_cmd_options *options, const char *name)
{
	json_t *all = json_array();
	int status = SL_EXIT_OK;

	if (name && !cc_lookup(name)) {
		fprintf(stderr, "sluice: \"%s\" is not a controller: write one of %s\n", name,
			sl_cc_names());
		json_decref(all);
		return SL_EXIT_USAGE;
	}
	for (const struct cc_ops *const *ops = cc_algorithms; *ops; ops++) {
		json_t *rows;

		if (name && strcmp((*ops)->name, name) != 0)
			continue;
		rows = parameter_rows(*ops);
		if (!options->json) {
			printf("%s%s\n", json_array_size(all) ? "\n" : "", (*ops)->name);
			status = print_parameters(rows);
		}
		json_array_append_new(all, json_pack("{s:s, s:o}", "controller", (*ops)->name,
						     "parameters", rows));
	}
	if (options->json)
		sl_cmd_dump(all);
	json_decref(all);
	return status;
}

/* --- cc set --- */

static int set(const struct sl_cmd_options *options, int argc, char **argv)
{
	json_t *words = json_array();
	int status;

	for (int i = 2; i < argc; i++)
		json_array_append_new(words, json_string(argv[i]));
	status = sl_cmd_ask_bridge(options,
				   json_pack("{s:s, s:s, s:s, s:o}", "command", "cc-set", "port",
					     argv[0], "controller", argv[1], "words", words),
				   NULL, NULL);
	if (options->json)
		puts(status == SL_EXIT_OK ? "{\"ok\": true}" : "{\"ok\": false}");
	else if (status == SL_EXIT_OK)
		printf("%s: %s\n", argv[0], argv[1]);
	return status;
}

/* --- cc trace --- */

/* Print the names of the columns, once, and only when there is an answer. */
static void trace_header(bool *shown)
{
	if (!*shown)
		puts("end_ns,elapsed_ns,rate,waiting,arrived,departed,dropped,signal,share,"
		     "from1,from2,from3,from4,from5,from6,from7,from8");
	*shown = true;
}

static void trace_line(void *header_shown, const json_t *row)
{
	const json_t *from = json_object_get(row, "from"), *n;
	size_t i;

	trace_header(header_shown);
	printf("%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld,%lld", sl_cmd_number(row, "end_ns"),
	       sl_cmd_number(row, "elapsed_ns"), sl_cmd_number(row, "rate"),
	       sl_cmd_number(row, "waiting"), sl_cmd_number(row, "arrived"),
	       sl_cmd_number(row, "departed"), sl_cmd_number(row, "dropped"),
	       sl_cmd_number(row, "signal"), sl_cmd_number(row, "share"));
	json_array_foreach(from, i, n)
		printf(",%lld", (long long)json_integer_value(n));
	putchar('\n');
}

/* Read a whole number from 0 to max. 0 or -EINVAL. */
static int read_number(const char *text, long long max, long long *out)
{
	char *end;

	errno = 0;
	*out = strtoll(text, &end, 10);
	return errno || end == text || *end || *out < 0 || *out > max ? -EINVAL : 0;
}

/* A line of CSV for each interval that the bridge has kept, or JSON. */
static int trace(const struct sl_cmd_options *options, int argc, char **argv)
{
	long long class = 0, after_ns = 0;
	bool header_shown = false;
	json_t *request;
	int status;

	if (argc > 1 && read_number(argv[1], SL_CLASSES - 1, &class)) {
		fprintf(stderr, "sluice: cc trace: \"%s\" is not a class: write 0 to %d\n", argv[1],
			SL_CLASSES - 1);
		return SL_EXIT_USAGE;
	}
	if (argc > 2 && read_number(argv[2], LLONG_MAX, &after_ns)) {
		fprintf(stderr, "sluice: cc trace: \"%s\" is not a time: write nanoseconds\n",
			argv[2]);
		return SL_EXIT_USAGE;
	}
	request = json_pack("{s:s, s:s, s:I, s:I}", "command", "cc-trace", "port", argv[0], "class",
			    (json_int_t) class, "after_ns", (json_int_t)after_ns);
	if (options->json)
		return sl_cmd_print_bridge_json(options, request, true);
	status = sl_cmd_ask_bridge(options, request, trace_line, &header_shown);
	if (status == SL_EXIT_OK)
		trace_header(&header_shown);
	return status;
}

int sl_cmd_cc(const struct sl_cmd_options *options, int argc, char **argv)
{
	if (argc >= 1 && argc <= 2 && strcmp(argv[0], "list") == 0)
		return list(options, argc == 2 ? argv[1] : NULL);
	if (argc >= 3 && strcmp(argv[0], "set") == 0)
		return set(options, argc - 1, argv + 1);
	if (argc >= 2 && argc <= 4 && strcmp(argv[0], "trace") == 0)
		return trace(options, argc - 1, argv + 1);
	fprintf(stderr, "sluice: cc: write `list [CONTROLLER]`, `set PORT CONTROLLER "
			"[NAME=VALUE]...` or `trace PORT [CLASS [AFTER_NS]]`\n");
	return SL_EXIT_USAGE;
}
