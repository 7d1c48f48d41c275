/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/client.h"
#include "user/cmd.h"
#include "user/lib/table.h"

static int explain_failure(const char *socket_path, int err)
{
	switch (err) {
	case -ENOENT:
	case -ECONNREFUSED:
		fprintf(stderr, "sluice: sluiced is not running: nothing listens at \"%s\"\n",
			socket_path);
		return SL_EXIT_NOT_RUNNING;
	case -EACCES:
		fprintf(stderr, "sluice: \"%s\" is not yours to use: be root, or of its group\n",
			socket_path);
		return SL_EXIT_FAILED;
	case -EPROTO:
		fprintf(stderr,
			"sluice: what answers at \"%s\" is too busy, or not a sluiced of "
			"version " SL_VERSION "\n",
			socket_path);
		return SL_EXIT_FAILED;
	default:
		fprintf(stderr, "sluice: cannot ask at \"%s\": %s\n", socket_path, strerror(-err));
		return SL_EXIT_FAILED;
	}
}

bool sl_cmd_daemon_runs(const struct sl_cmd_options *options)
{
	struct sl_client *client;
	int err = sl_client_open(options->socket_path, json_pack("{s:s}", "command", "status"),
				 &client);

	sl_client_close(client);
	return err != -ENOENT && err != -ECONNREFUSED;
}

int sl_cmd_ask(const struct sl_cmd_options *options, json_t *request,
	       void (*row)(void *arg, const json_t *row), void *arg)
{
	struct sl_client *client;
	int err = sl_client_open(options->socket_path, request, &client);
	int status = SL_EXIT_OK;
	json_t *got;

	if (err)
		return explain_failure(options->socket_path, err);
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

/* Rows are written as they come: a full table has more of them than one would like to hold. */
static void dump_row(void *arg, const json_t *row)
{
	unsigned int *n = arg;

	fputs((*n)++ ? ",\n  " : "\n  ", stdout);
	json_dumpf(row, stdout, 0);
}

static void dump_object(void *arg, const json_t *row)
{
	(void)arg;
	sl_cmd_dump(row);
}

int sl_cmd_print_json(const struct sl_cmd_options *options, json_t *request, bool is_list)
{
	unsigned int n = 0;
	int status;

	if (!is_list)
		return sl_cmd_ask(options, request, dump_object, NULL);
	fputs("[", stdout);
	status = sl_cmd_ask(options, request, dump_row, &n);
	puts(n ? "\n]" : "]");
	return status;
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
