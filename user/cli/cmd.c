/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/ipc/control_client.h"
#include "user/cli/cmd.h"
#include "user/config/config_cluster.h"
#include "user/text/table.h"

/* The daemon that listens at a control socket. */
struct side {
	const char *name, *path;
	uint32_t patience_ms;
};

static int explain_failure(const struct side *side, int err)
{
	switch (err) {
	case -ENOENT:
	case -ECONNREFUSED:
		fprintf(stderr, "sluice: %s is not running: nothing listens at \"%s\"\n",
			side->name, side->path);
		return SL_EXIT_NOT_RUNNING;
	case -EACCES:
		fprintf(stderr, "sluice: you may not use \"%s\": be root, or of its group\n",
			side->path);
		return SL_EXIT_FAILED;
	case -EPROTO:
		fprintf(stderr,
			"sluice: the program at \"%s\" is too busy, or is not a %s of "
			"version " SL_VERSION "\n",
			side->path, side->name);
		return SL_EXIT_FAILED;
	case -ETIMEDOUT:
		fprintf(stderr,
			"sluice: %s does not answer at \"%s\" within %g s: it is starting, stopped or "
			"hung; see its log and `ps`, or wait longer with -w\n",
			side->name, side->path, side->patience_ms / 1000.0);
		return SL_EXIT_FAILED;
	default:
		fprintf(stderr, "sluice: cannot ask at \"%s\": %s\n", side->path, strerror(-err));
		return SL_EXIT_FAILED;
	}
}

static int ask(const struct side *side, json_t *request, void (*row)(void *arg, const json_t *row),
	       void *arg)
{
	struct sl_client *client;
	int err = sl_client_open(side->path, request, side->patience_ms, &client);
	int status = SL_EXIT_OK;
	json_t *got;

	if (err)
		return explain_failure(side, err);
	while ((got = sl_client_row(client))) {
		if (row)
			row(arg, got);
		json_decref(got);
	}
	if (sl_client_error(client)) {
		fprintf(stderr, "sluice: %s\n", sl_client_error(client));
		status = SL_EXIT_FAILED;
	}
	sl_client_close(client);
	return status;
}

int sl_cmd_ask(const struct sl_cmd_options *options, json_t *request,
	       void (*row)(void *arg, const json_t *row), void *arg)
{
	const struct side daemon = { "sluiced", options->socket_path, options->patience_ms };

	return ask(&daemon, request, row, arg);
}

static void take_bridge_path(void *arg, const json_t *row)
{
	char **path = arg;

	free(*path);
	*path = strdup(sl_cmd_text(row, "bridge"));
}

int sl_cmd_ask_bridge(const struct sl_cmd_options *options, json_t *request,
		      void (*row)(void *arg, const json_t *row), void *arg)
{
	struct side bridge = { "sluice-bridge", options->bridge_path, options->patience_ms };
	char *path = NULL;
	int status = SL_EXIT_OK;

	/*
	 * sluiced knows whether there is a bridge, and where. Without sluiced, ask at the usual
	 * place: a bridge runs without it.
	 */
	if (!bridge.path && sl_client_listens(options->socket_path))
		status = sl_cmd_ask(options,
				    json_pack("{s:s, s:s}", "command", "show", "what", "cluster"),
				    take_bridge_path, &path);
	if (status != SL_EXIT_OK) {
		json_decref(request);
		return status;
	}
	if (!bridge.path)
		bridge.path = path ? path : SL_CONFIG_DEFAULT_BRIDGE_CONTROL;
	status = ask(&bridge, request, row, arg);
	free(path);
	return status;
}

int sl_cmd_ask_elements(const struct sl_cmd_options *options, json_t *request,
			void (*row)(void *arg, const json_t *row), void *arg)
{
	const struct side elements = { "sluice-elements", options->elements_path,
				       options->patience_ms };

	return ask(&elements, request, row, arg);
}

/* Write each row as it comes: a full table has too many to hold them in memory. */
static void dump_row(void *arg, const json_t *row)
{
	unsigned int *n = arg;

	fputs((*n)++ ? ",\n  " : "[\n  ", stdout);
	json_dumpf(row, stdout, 0);
}

static void dump_object(void *arg, const json_t *row)
{
	(void)arg;
	sl_cmd_dump(row);
}

/* One of those above. */
typedef int (*ask_fn)(const struct sl_cmd_options *options, json_t *request,
		      void (*row)(void *arg, const json_t *row), void *arg);

static int print_json(ask_fn ask_it, const struct sl_cmd_options *options, json_t *request,
		      bool is_list)
{
	unsigned int n = 0;
	int status;

	if (!is_list)
		return ask_it(options, request, dump_object, NULL);
	status = ask_it(options, request, dump_row, &n);
	/* An answer that ended early stays without "]": nobody shall take it for the whole list. */
	if (status == SL_EXIT_OK)
		puts(n ? "\n]" : "[]");
	else if (n)
		putchar('\n');
	return status;
}

int sl_cmd_print_json(const struct sl_cmd_options *options, json_t *request, bool is_list)
{
	return print_json(sl_cmd_ask, options, request, is_list);
}

int sl_cmd_print_bridge_json(const struct sl_cmd_options *options, json_t *request, bool is_list)
{
	return print_json(sl_cmd_ask_bridge, options, request, is_list);
}

int sl_cmd_print_elements_json(const struct sl_cmd_options *options, json_t *request)
{
	return print_json(sl_cmd_ask_elements, options, request, true);
}

void sl_cmd_dump(const json_t *value)
{
	json_dumpf(value, stdout, JSON_INDENT(2));
	putchar('\n');
}

const char *sl_cmd_text(const json_t *row, const char *key)
{
	const char *text = json_string_value(json_object_get(row, key));

	return text ? text : "";
}

long long sl_cmd_number(const json_t *row, const char *key)
{
	return json_integer_value(json_object_get(row, key));
}

static void print_leg(const json_t *leg)
{
	const char *via = sl_cmd_text(leg, "via"), *dev = sl_cmd_text(leg, "dev");

	if (*via)
		printf(" via %s", via);
	if (*dev)
		printf(" dev %s", dev);
}

void sl_cmd_print_route(const json_t *route)
{
	const json_t *legs = json_object_get(route, "nexthops"), *leg;
	const char *type = sl_cmd_text(route, "type"), *table = sl_cmd_text(route, "table");
	long long metric = sl_cmd_number(route, "metric");
	size_t n = json_array_size(legs), i;

	if (*type && strcmp(type, "unicast") != 0)
		printf("%s ", type);
	fputs(sl_cmd_text(route, "prefix"), stdout);
	if (n == 1)
		print_leg(json_array_get(legs, 0));
	if (*table && strcmp(table, "main") != 0)
		printf(" table %s", table);
	if (*sl_cmd_text(route, "protocol"))
		printf(" proto %s", sl_cmd_text(route, "protocol"));
	if (metric)
		printf(" metric %lld", metric);
	if (json_is_false(json_object_get(route, "installed")))
		fputs(" (not installed)", stdout);
	putchar('\n');
	json_array_foreach(n > 1 ? legs : NULL, i, leg) {
		fputs("\tnexthop", stdout);
		print_leg(leg);
		printf(" weight %lld\n", sl_cmd_number(leg, "weight"));
	}
}

int sl_cmd_print_counters(const json_t *rows, bool nonzero)
{
	static const char *const headers[] = { "counter", ">packets", ">bytes", "meaning" };
	struct sl_table *table = sl_table_create(headers, 4);
	const json_t *row;
	size_t i;
	int err;

	json_array_foreach(rows, i, row) {
		const char *kind = sl_cmd_text(row, "kind");
		bool reason = strcmp(kind, "drop") == 0 || strcmp(kind, "punt") == 0;

		if (!table || (nonzero && !sl_cmd_number(row, "packets")))
			continue;
		sl_table_cell(table, "%s%s%s", reason ? kind : "", reason ? " " : "",
			      sl_cmd_text(row, "name"));
		sl_table_cell(table, "%lld", sl_cmd_number(row, "packets"));
		sl_table_cell(table, "%lld", sl_cmd_number(row, "bytes"));
		sl_table_cell(table, "%s", sl_cmd_text(row, "text"));
	}
	err = table ? sl_table_print(table, stdout) : -ENOMEM;
	sl_table_destroy(table);
	return err ? SL_EXIT_FAILED : SL_EXIT_OK;
}

int sl_cmd_other_option(int option, const char *usage, const char *command)
{
	if (option == 'h') {
		fputs(usage, stdout);
		return SL_EXIT_OK;
	}
	fprintf(stderr, "Try 'sluice %s --help'.\n", command);
	return SL_EXIT_USAGE;
}

char *sl_cmd_join(int argc, char **argv)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *memory = argc ? open_memstream(&text, &bytes) : NULL;

	for (int i = 0; memory && i < argc; i++)
		fprintf(memory, "%s%s", i ? " " : "", argv[i]);
	if (memory)
		fclose(memory);
	return text;
}

int sl_cmd_print_rows(const struct sl_cmd_options *options, json_t *request,
		      int (*ask_rows)(const struct sl_cmd_options *, json_t *,
				      void (*)(void *, const json_t *), void *),
		      const char *const *headers, void (*cells)(void *, const json_t *))
{
	struct sl_table *table;
	unsigned int n = 0;
	int status;

	while (headers[n])
		n++;
	table = sl_table_create(headers, n);
	if (!table) {
		json_decref(request);
		return SL_EXIT_FAILED;
	}
	status = ask_rows(options, request, cells, table);
	if (status == SL_EXIT_OK && sl_table_print(table, stdout))
		status = SL_EXIT_FAILED;
	sl_table_destroy(table);
	return status;
}
