/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice reserve add|list|ports|delete */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "user/cli/cmd.h"
#include "user/text/quantity.h"
#include "user/text/table.h"

/* Between two looks whether a neighbour has been resolved, or another node has answered. */
#define PAUSE_MS 50

/* --- add, delete --- */

/* The flow's KEY=VALUE words, which come first, as an object. */
static json_t *flow_of(const char *command, int argc, char **argv, int *n)
{
	*n = 0;
	while (*n < argc && strchr(argv[*n], '='))
		++*n;
	return sl_cmd_object(command, *n, argv);
}

static bool read_seconds(const char *text, json_int_t *out)
{
	char *end;

	*out = strtoll(text, &end, 10);
	return isdigit((unsigned char)*text) && !*end;
}

/* `rate R`, `port NETDEV`, `refresh S` and `pin`, into the request. */
static bool read_options(json_t *request, int argc, char **argv)
{
	for (int i = 0; i < argc; i++) {
		const char *value = i + 1 < argc ? argv[i + 1] : NULL;
		json_int_t seconds;

		if (strcmp(argv[i], "pin") == 0) {
			json_object_set_new(request, "pin", json_true());
			continue;
		}
		if (value && (strcmp(argv[i], "rate") == 0 || strcmp(argv[i], "port") == 0)) {
			json_object_set_new(request, argv[i], json_string(value));
		} else if (value && strcmp(argv[i], "refresh") == 0 &&
			   read_seconds(value, &seconds)) {
			json_object_set_new(request, "refresh_s", json_integer(seconds));
		} else {
			fprintf(stderr,
				"sluice: reserve add: \"%s\": write FLOW rate RATE [port NETDEV] "
				"[refresh SECONDS] [pin]\n",
				argv[i]);
			return false;
		}
		i++;
	}
	return true;
}

static void keep_row(void *arg, const json_t *row)
{
	json_t **kept = arg;

	json_decref(*kept);
	*kept = json_incref((json_t *)row);
}

static bool is_settled(const json_t *row)
{
	const char *state = sl_cmd_text(row, "state");

	return strcmp(state, "in-force") == 0 || strcmp(state, "refused") == 0;
}

static int give_up(const struct sl_cmd_options *options, const json_t *request, const json_t *row)
{
	fprintf(stderr, "sluice: reserve add: %s\n", sl_cmd_text(row, "why"));
	sl_cmd_ask(options,
		   json_pack("{s:s, s:s, s:O}", "command", "reserve", "do", "delete", "flow",
			     json_object_get(request, "flow")),
		   NULL, NULL);
	return SL_EXIT_FAILED;
}

/* Each try asks again, until the reservation is in force or refused. */
static int add(const struct sl_cmd_options *options, int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
	json_t *request, *flow, *row = NULL;
	int status, n;

	flow = flow_of("reserve add", argc, argv, &n);
	if (!flow)
		return SL_EXIT_USAGE;
	request = json_pack("{s:s, s:s, s:o}", "command", "reserve", "do", "add", "flow", flow);
	if (!read_options(request, argc - n, argv + n)) {
		json_decref(request);
		return SL_EXIT_USAGE;
	}
	for (uint32_t ms = 0;; ms += PAUSE_MS) {
		status = sl_cmd_ask(options, json_incref(request), keep_row, &row);
		if (status != SL_EXIT_OK || is_settled(row) || ms >= options->patience_ms)
			break;
		nanosleep(&pause, NULL);
	}
	if (status == SL_EXIT_OK && !is_settled(row))
		status = give_up(options, request, row);
	else if (status == SL_EXIT_OK && options->json)
		sl_cmd_dump(row);
	else if (status == SL_EXIT_OK)
		printf("in force: leaves by %s\n", sl_cmd_text(row, "leaves"));
	json_decref(row);
	json_decref(request);
	return status;
}

static int delete (const struct sl_cmd_options *options, int argc, char **argv)
{
	int n;
	json_t *flow = flow_of("reserve delete", argc, argv, &n);

	if (!flow)
		return SL_EXIT_USAGE;
	if (n < argc) {
		fprintf(stderr, "sluice: reserve delete: \"%s\" is not KEY=VALUE\n", argv[n]);
		json_decref(flow);
		return SL_EXIT_USAGE;
	}
	return sl_cmd_ask(
		options,
		json_pack("{s:s, s:s, s:o}", "command", "reserve", "do", "delete", "flow", flow),
		NULL, NULL);
}

/* --- list, ports --- */

static void bit_cell(struct sl_table *table, const json_t *row, const char *key)
{
	char text[SL_QUANTITY_BYTES];

	sl_table_cell(table, "%sbit", sl_quantity((uint64_t)sl_cmd_number(row, key), text));
}

static void end_cell(struct sl_table *table, const json_t *row, const char *address,
		     const char *port)
{
	const char *text = sl_cmd_text(row, address);

	sl_table_cell(table, strchr(text, ':') ? "[%s]:%s" : "%s:%s", text, sl_cmd_text(row, port));
}

static void flow_cells(void *arg, const json_t *row)
{
	struct sl_table *table = arg;
	const char *leaves = sl_cmd_text(row, "leaves");

	end_cell(table, row, "source", "source_port");
	end_cell(table, row, "destination", "destination_port");
	sl_table_cell(table, "%s", sl_cmd_text(row, "protocol"));
	bit_cell(table, row, "rate_bps");
	if (json_is_integer(json_object_get(row, "node")))
		sl_table_cell(table, "node %lld", sl_cmd_number(row, "node"));
	else
		sl_table_cell(table, "%s", sl_cmd_text(row, "enters"));
	sl_table_cell(table, "%s", *leaves ? leaves : "-");
	sl_table_cell(table, "%s", *sl_cmd_text(row, "rule") ? sl_cmd_text(row, "rule") : "-");
	sl_table_cell(table, "%s%s", sl_cmd_text(row, "state"),
		      json_is_true(json_object_get(row, "pinned")) ? ", pinned" : "");
	sl_table_cell(table, "%lld", sl_cmd_number(row, "packets"));
	sl_table_cell(table, "%lld", sl_cmd_number(row, "excess_packets"));
}

static void port_cells(void *arg, const json_t *row)
{
	struct sl_table *table = arg;

	sl_table_cell(table, "%s", sl_cmd_text(row, "port"));
	sl_table_cell(table, "%s", sl_cmd_text(row, "netdev"));
	bit_cell(table, row, "limit_bps");
	bit_cell(table, row, "reserved_bps");
	sl_table_cell(table, "%lld", sl_cmd_number(row, "flows"));
}

static int show(const struct sl_cmd_options *options, const char *what, const char *const *headers,
		void (*cells)(void *, const json_t *))
{
	json_t *request = json_pack("{s:s, s:s}", "command", "reserve", "do", what);
	if (options->json)
		return sl_cmd_print_json(options, request, true);
	return sl_cmd_print_rows(options, request, sl_cmd_ask, headers, cells);
}

int sl_cmd_reserve(const struct sl_cmd_options *options, int argc, char **argv)
{
	static const char *const flows[] = { "source",	"destination", "protocol", "rate",
					     "enters",	"leaves",      "rule",	   "state",
					     "packets", "excess",      NULL };
	static const char *const ports[] = { "port", "netdev", "limit", "reserved", "flows", NULL };
	const char *what = argc ? argv[0] : "";

	if (strcmp(what, "list") == 0 && argc == 1)
		return show(options, "list", flows, flow_cells);
	if (strcmp(what, "ports") == 0 && argc == 1)
		return show(options, "ports", ports, port_cells);
	if (strcmp(what, "add") == 0 && argc > 1)
		return add(options, argc - 1, argv + 1);
	if (strcmp(what, "delete") == 0 && argc > 1)
		return delete (options, argc - 1, argv + 1);
	fprintf(stderr, "sluice: reserve: write `list`, `ports`, `add FLOW rate RATE [port NETDEV] "
			"[refresh SECONDS] [pin]` or `delete FLOW`, where FLOW is source=ADDRESS "
			"destination=ADDRESS protocol=PROTOCOL source_port=N destination_port=N\n");
	return SL_EXIT_USAGE;
}
