/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice show WHAT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bpf/abi/forwarding.h"
#include "user/ipc/control_client.h"
#include "user/cli/cmd.h"
#include "user/show/counter_rows.h"
#include "user/text/prefix.h"
#include "user/text/table.h"

/* --- Tables --- */

static void port_cells(struct sl_table *table, const json_t *row)
{
	sl_table_cell(table, "%s", sl_cmd_text(row, "port"));
	sl_table_cell(table, "%s", sl_cmd_text(row, "state"));
	sl_table_cell(table, "%s", sl_cmd_text(row, "mode"));
	sl_table_cell(table, "%s", json_is_true(json_object_get(row, "up")) ? "up" : "down");
	sl_table_cell(table, "%s",
		      json_is_true(json_object_get(row, "transmits")) ? "xdp" : "kernel");
	sl_table_cell(table, "%lld", sl_cmd_number(row, "ifindex"));
	sl_table_cell(table, "%lld", sl_cmd_number(row, "mtu_bytes"));
	sl_table_cell(table, "%s", sl_cmd_text(row, "mac"));
	sl_table_cell(table, "%lld", sl_cmd_number(row, "dropped_packets"));
	sl_table_cell(table, "%s",
		      json_is_true(json_object_get(row, "configured")) ? "file" : "hand");
}

static void neighbour_cells(struct sl_table *table, const json_t *row)
{
	sl_table_cell(table, "%s", sl_cmd_text(row, "address"));
	sl_table_cell(table, "%s", sl_cmd_text(row, "dev"));
	sl_table_cell(table, "%s", sl_cmd_text(row, "mac"));
	sl_table_cell(table, "%s", sl_cmd_text(row, "state"));
	sl_table_cell(table, "%s", json_is_true(json_object_get(row, "in_use")) ? "yes" : "no");
}

static void nexthop_cells(struct sl_table *table, const json_t *row)
{
	const json_t *members = json_object_get(row, "members"), *member;
	const char *kind = sl_cmd_text(row, "kind"), *reason = sl_cmd_text(row, "reason");
	size_t i;

	sl_table_cell(table, "%lld", sl_cmd_number(row, "id"));
	sl_table_cell(table, "%s%s%s", kind, *reason ? " " : "", reason);
	sl_table_cell(table, "%s", sl_cmd_text(row, "via"));
	sl_table_cell(table, "%s", sl_cmd_text(row, "dev"));
	sl_table_cell(table, "%s", sl_cmd_text(row, "mac"));
	if (sl_cmd_number(row, "mtu_bytes"))
		sl_table_cell(table, "%lld", sl_cmd_number(row, "mtu_bytes"));
	else
		sl_table_cell(table, "%s", "");
	if (json_object_get(row, "buckets"))
		sl_table_cell(table, "%lld/%d", sl_cmd_number(row, "buckets"), SL_GROUP_BUCKETS);
	else
		sl_table_cell(table, "%s", "");
	sl_table_cell(table, "%lld", sl_cmd_number(row, "routes"));
	json_array_foreach(members, i, member)
		nexthop_cells(table, member);
}

static void route_line(void *arg, const json_t *row)
{
	(void)arg;
	sl_cmd_print_route(row);
}

/* What a rule asks for, in the words of the file, but for the addresses. */
static void rule_text(char *out, size_t out_bytes, const json_t *row)
{
	static const struct {
		const char *key, *before;
	} parts[] = {
		{ "family", "" },
		{ "protocol", "" },
		{ "source_port", "from port " },
		{ "destination_port", "to port " },
		{ "icmp_type", "type " },
		{ "icmp_code", "code " },
		{ "tcp_flags", "flags " },
		{ "dscp", "dscp " },
		{ "length", "length " },
		{ "fragment", "fragment " },
		{ "flow_label", "flow label " },
		{ "class", "=> class " },
		{ "set_dscp", "=> dscp " },
		{ "next_hop", "=> via " },
		{ "table", "=> table " },
		{ "chain", "=> chain " },
		{ "mirror", "=> mirror " },
		{ "sample", "1 in " },
		{ "police_rate", "=> police " },
		{ "reserve_rate", "=> reserve " },
	};
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && used < out_bytes; i++) {
		const char *text = sl_cmd_text(row, parts[i].key);

		/* the addresses show the family */
		if (!*text ||
		    (i == 0 && (*sl_cmd_text(row, "source") || *sl_cmd_text(row, "destination"))))
			continue;
		used += (size_t)snprintf(out + used, out_bytes - used, "%s%s%s", used ? " " : "",
					 parts[i].before, text);
	}
}

static void filter_cells(struct sl_table *table, const json_t *row)
{
	const bool is_rule = json_is_integer(json_object_get(row, "rule"));
	const char *from = sl_cmd_text(row, "source"), *to = sl_cmd_text(row, "destination");
	char text[256];

	rule_text(text, sizeof(text), row);
	sl_table_cell(table, "%s", sl_cmd_text(row, "list"));
	if (is_rule)
		sl_table_cell(table, "%lld", sl_cmd_number(row, "rule"));
	else
		sl_table_cell(table, "default");
	sl_table_cell(table, "%s", sl_cmd_text(row, "name"));
	sl_table_cell(table, "%s", sl_cmd_text(row, "action"));
	sl_table_cell(table, "%s", *from || !is_rule ? from : "any");
	sl_table_cell(table, "%s", *to || !is_rule ? to : "any");
	sl_table_cell(table, "%s", text);
	sl_table_cell(table, "%lld", sl_cmd_number(row, "packets"));
	sl_table_cell(table, "%lld", sl_cmd_number(row, "bytes"));
}

/* --- What can be shown --- */

struct view {
	const char *what, *command;
	const char *headers[12];
	void (*cells)(struct sl_table *table, const json_t *row); /* a plain table; or: */
	void (*print)(void *arg, const json_t *row);		  /* each row by itself */
	/* is this a row that only --all shows? NULL: no row is */
	bool (*is_idle)(const json_t *row);
	bool of_bridge; /* ask the bridge, not sluiced */
	bool is_object; /* one row, not a list */
};

static const struct view views[] = {
	{ .what = "ports",
	  .command = "show",
	  .headers = { "port", "state", "mode", "link", "sends", ">ifindex", ">mtu", "mac",
		       ">drops", "by" },
	  .cells = port_cells },
	{ .what = "routes", .command = "list", .print = route_line },
	{ .what = "nexthops",
	  .command = "list",
	  .headers = { ">id", "kind", "via", "dev", "mac", ">mtu", ">share", ">routes" },
	  .cells = nexthop_cells },
	{ .what = "neighbours",
	  .command = "list",
	  .headers = { "address", "dev", "mac", "state", "in use" },
	  .cells = neighbour_cells },
	{ .what = "filters",
	  .command = "list",
	  .headers = { "list", ">rule", "name", "action", "from", "to", "what", ">packets",
		       ">bytes" },
	  .cells = filter_cells },
	{ .what = "counters" },
	{ .what = "drops" },
	{ .what = "system-ports",
	  .command = "show",
	  .headers = { "port", "netdev", "here", "state", "mac", ">mtu", ">rate", "refused" },
	  .cells = sl_cmd_system_port_cells },
	{ .what = "peers",
	  .command = "peers",
	  .headers = { ">node", "address", "state", ">since", ">heard", ">sent", ">received",
		       ">lost", ">epoch", "key" },
	  .cells = sl_cmd_peer_cells,
	  .of_bridge = true },
	{ .what = "voqs",
	  .command = "voqs",
	  .headers = { "queue", "control", ">rate", ">wait", ">in", ">out", ">past", ">mark",
		       ">dropped", "why" },
	  .cells = sl_cmd_voq_cells,
	  .is_idle = sl_cmd_voq_is_idle,
	  .of_bridge = true },
	{ .what = "express",
	  .command = "voqs",
	  .headers = { "queue", ">past the bridge", ">by it", "express", "why" },
	  .cells = sl_cmd_express_cells,
	  .is_idle = sl_cmd_voq_is_idle,
	  .of_bridge = true },
	{ .what = "egress-queues",
	  .command = "egress-queues",
	  .headers = { "queue", "dev", "sched", ">w", ">rate", "flows", ">wait", ">in", ">out",
		       ">drop" },
	  .cells = sl_cmd_egress_queue_cells,
	  .is_idle = sl_cmd_egress_queue_is_idle,
	  .of_bridge = true },
	{ .what = "delay",
	  .command = "delay",
	  .headers = { "queue", "stage", ">frames", ">least", ">median", ">99 %", ">99.9 %",
		       ">longest", ">+- us" },
	  .cells = sl_cmd_delay_cells,
	  .is_idle = sl_cmd_delay_is_idle,
	  .of_bridge = true },
	{ .what = "busy", .command = "busy", .print = sl_cmd_print_busy, .of_bridge = true },
	{ .what = "fabric",
	  .command = "fabric",
	  .print = sl_cmd_print_fabric,
	  .of_bridge = true,
	  .is_object = true },
	{ .what = "cc",
	  .command = "cc",
	  .headers = { "port", ">class", "side", "controller", ">T", ">rate", ">waiting", ">signal",
		       ">age" },
	  .cells = sl_cmd_cc_cells,
	  .of_bridge = true },
};

struct fill {
	const struct view *view;
	bool all;
	struct sl_table *table;
};

static void fill_row(void *arg, const json_t *row)
{
	const struct fill *fill = arg;

	if (fill->all || !fill->view->is_idle || !fill->view->is_idle(row))
		fill->view->cells(fill->table, row);
}

static int show_table(const struct sl_cmd_options *options, const struct view *view,
		      json_t *request)
{
	int (*ask)(const struct sl_cmd_options *, json_t *, void (*)(void *, const json_t *),
		   void *) = view->of_bridge ? sl_cmd_ask_bridge : sl_cmd_ask;
	struct fill fill = { .view = view, .all = options->all };
	unsigned int n = 0;
	int status;

	while (view->headers[n])
		n++;
	fill.table = sl_table_create(view->headers, n);
	if (!fill.table) {
		json_decref(request);
		return SL_EXIT_FAILED;
	}
	status = ask(options, request, fill_row, &fill);
	if (status == SL_EXIT_OK && sl_table_print(fill.table, stdout))
		status = SL_EXIT_FAILED;
	sl_table_destroy(fill.table);
	return status;
}

static void append_row(void *arg, const json_t *row)
{
	json_array_append(arg, (json_t *)row);
}

static int read_pins(const struct sl_cmd_options *options, bool reasons, json_t *rows)
{
	struct sl_counters counters;
	int err = sl_counters_read_pinned(options->pin_dir, &counters);
	json_t *read;

	if (err) {
		fprintf(stderr, "sluice: sluiced is not running, and no counters at \"%s\": %s\n",
			options->pin_dir, err == -ENOENT ? "nothing is pinned" : strerror(-err));
		return SL_EXIT_NOT_RUNNING;
	}
	read = reasons ? sl_counter_reason_rows(&counters) : sl_counter_rows(&counters);
	json_array_extend(rows, read);
	json_decref(read);
	return SL_EXIT_OK;
}

/* The counters outlive the daemon: while none runs, read them from their pins. */
static int show_counters(const struct sl_cmd_options *options, const char *what)
{
	bool reasons = strcmp(what, "drops") == 0;
	json_t *rows = json_array();
	int status;

	if (sl_client_listens(options->socket_path))
		status = sl_cmd_ask(options,
				    json_pack("{s:s, s:s}", "command", "show", "what", what),
				    append_row, rows);
	else
		status = read_pins(options, reasons, rows);
	if (status == SL_EXIT_OK && options->json)
		sl_cmd_dump(rows);
	else if (status == SL_EXIT_OK)
		status = sl_cmd_print_counters(rows, reasons && !options->all);
	json_decref(rows);
	return status;
}

int sl_cmd_show_filters(const struct sl_cmd_options *options, const char *name)
{
	json_t *request =
		json_pack("{s:s, s:s, s:s*}", "command", "list", "what", "filters", "list", name);
	const struct view *view = views;

	if (options->json)
		return sl_cmd_print_json(options, request, true);
	while (view->cells != filter_cells)
		view++;
	return show_table(options, view, request);
}

int sl_cmd_show(const struct sl_cmd_options *options, int argc, char **argv)
{
	const struct view *view = NULL;
	struct sl_prefix prefix;
	json_t *request;

	for (size_t i = 0; argc > 0 && i < sizeof(views) / sizeof(views[0]); i++)
		if (strcmp(views[i].what, argv[0]) == 0)
			view = &views[i];
	if (!view || (argc > 1 && strcmp(view->what, "routes") != 0) || argc > 2) {
		fprintf(stderr,
			"sluice: show %s: write ports, routes [PREFIX], nexthops, neighbours, "
			"filters, counters, drops, system-ports, peers, voqs, express, egress-queues, "
			"delay, busy, fabric or cc\n",
			argc > 0 ? argv[0] : "what?");
		return SL_EXIT_USAGE;
	}
	if (argc == 2 && sl_prefix_parse(argv[1], &prefix)) {
		fprintf(stderr,
			"sluice: \"%s\" is not a prefix: write an address, or one with /LENGTH "
			"and no bits set beyond it\n",
			argv[1]);
		return SL_EXIT_USAGE;
	}
	if (strcmp(view->what, "counters") == 0 || strcmp(view->what, "drops") == 0)
		return show_counters(options, view->what);
	request = json_pack("{s:s, s:s, s:s*}", "command", view->command, "what", view->what,
			    "prefix", argc == 2 ? argv[1] : NULL);
	if (options->json && view->of_bridge)
		return sl_cmd_print_bridge_json(options, request, !view->is_object);
	if (options->json)
		return sl_cmd_print_json(options, request, !view->is_object);
	if (view->cells)
		return show_table(options, view, request);
	return (view->of_bridge ? sl_cmd_ask_bridge : sl_cmd_ask)(options, request, view->print,
								  NULL);
}
