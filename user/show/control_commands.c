/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/daemon/filter_changes.h"
#include "user/daemon/router.h"
#include "user/ipc/reloads.h"
#include "user/show/control_commands.h"
#include "user/show/show.h"
#include "user/text/prefix.h"

/* Put all rows; takes the reference to the array. */
static void put_rows(json_t *rows, struct sl_ctl_answer *answer)
{
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
		sl_ctl_put(answer, json_incref(row));
	json_decref(rows);
}

static void show_counters(const struct sl_router *router,
			  json_t *(*make)(const struct sl_counters *), struct sl_ctl_answer *answer)
{
	struct sl_counters counters;
	int err = sl_router_counters(router, &counters);

	if (err)
		sl_ctl_fail(answer, "cannot read the counters: %s", strerror(-err));
	else
		put_rows(make(&counters), answer);
}

static const char *argument(const json_t *request, const char *name)
{
	return json_string_value(json_object_get(request, name));
}

static void run_status(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	(void)request;
	sl_show_status(ctx, answer);
}

static void run_show(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const char *what = argument(request, "what");

	if (what && strcmp(what, "ports") == 0)
		put_rows(sl_ports_json(ctx), answer);
	else if (what && strcmp(what, "counters") == 0)
		show_counters(ctx, sl_counter_rows, answer);
	else if (what && strcmp(what, "drops") == 0)
		show_counters(ctx, sl_counter_reason_rows, answer);
	else if (what && strcmp(what, "cluster") == 0)
		sl_show_cluster(ctx, answer);
	else if (what && strcmp(what, "system-ports") == 0)
		sl_show_system_ports(ctx, answer);
	else
		sl_ctl_fail(answer, "\"what\" is not one of ports, counters, drops, cluster, "
				    "system-ports");
}

static void run_list(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const char *what = argument(request, "what"), *text = argument(request, "prefix");
	struct sl_prefix within;

	if (what && strcmp(what, "nexthops") == 0)
		sl_show_nexthops(ctx, answer);
	else if (what && strcmp(what, "neighbours") == 0)
		sl_show_neighbours(ctx, answer);
	else if (what && strcmp(what, "filters") == 0)
		sl_show_filters(ctx, argument(request, "list"), answer);
	else if (what && strcmp(what, "filter-lists") == 0)
		sl_show_filter_lists(ctx, argument(request, "list"), answer);
	else if (!what || strcmp(what, "routes") != 0)
		sl_ctl_fail(answer, "\"what\" is not one of routes, nexthops, neighbours, filters, "
				    "filter-lists");
	else if (!text)
		sl_show_routes(ctx, NULL, answer);
	else if (sl_prefix_parse(text, &within))
		sl_ctl_fail(answer,
			    "\"%.64s\" is not a prefix: write an address, or one with /LENGTH "
			    "and no bits set beyond it",
			    text);
	else
		sl_show_routes(ctx, &within, answer);
}

static void run_explain(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const char *text = argument(request, "address");
	uint8_t family, addr[16];

	if (!text || sl_addr_parse(text, &family, addr))
		sl_ctl_fail(answer, "\"%.64s\" is not an IPv4 or IPv6 address", text ? text : "");
	else
		sl_show_explain(ctx, family, addr, json_object_get(request, "packet"), answer);
}

static void port_result(struct sl_ctl_answer *answer, const char *port, int err)
{
	if (err == -ENODEV)
		sl_ctl_fail(answer,
			    "\"%.32s\" is not a netdev here: write one that `ip link` shows", port);
	else if (err == -EADDRINUSE)
		sl_ctl_fail(answer,
			    "%.32s is the fabric of this cluster, which needs it for itself", port);
	else if (err == -ENOENT)
		sl_ctl_fail(answer,
			    "\"%.32s\" is not a port of the fast path: write one that "
			    "`sluice show ports` shows",
			    port);
	else if (err == -EBUSY)
		sl_ctl_fail(answer,
			    "%.32s: another XDP program is attached; if it may go: ip link "
			    "set dev %.32s xdp off",
			    port, port);
	else if (err)
		sl_ctl_fail(answer, "%.32s: %s (the daemon's log says more)", port, strerror(-err));
}

static void run_attach(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const char *port = argument(request, "port");

	port_result(answer, port ? port : "", port ? sl_router_attach(ctx, port) : -ENODEV);
}

static void run_detach(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const char *port = argument(request, "port");

	port_result(answer, port ? port : "", port ? sl_router_detach(ctx, port) : -ENODEV);
}

static int change_filters(struct sl_router *router, const json_t *request, json_t *changed,
			  char error[SL_YAML_ERROR_BYTES])
{
	const char *what = argument(request, "do"), *list = argument(request, "list");
	const char *name = argument(request, "name"), *text = argument(request, "text");
	json_t *rule = json_object_get(request, "rule"), *at = json_object_get(request, "at");

	if (what && name && text && strcmp(what, "replace") == 0)
		return sl_filters_replace(router, name, text, changed, error);
	if (what && list && json_is_object(rule) && strcmp(what, "add") == 0)
		return sl_filters_add(router, list, rule,
				      json_is_integer(at) ? json_integer_value(at) : -1, changed,
				      error);
	if (what && list && strcmp(what, "delete") == 0)
		return sl_filters_delete(router, list, json_string_value(rule), changed, error);
	snprintf(error, SL_YAML_ERROR_BYTES,
		 "\"do\" is not one of replace (with name and text), add (with list and rule) and "
		 "delete (with list)");
	return -EINVAL;
}

static void run_filter(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	char error[SL_YAML_ERROR_BYTES] = "";
	json_t *changed = json_array();

	if (change_filters(ctx, request, changed, error)) {
		sl_ctl_fail(answer, "%s", error);
		json_decref(changed);
	} else {
		put_rows(changed, answer);
	}
}

static void run_reserve(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	sl_show_reserve(ctx, request, answer);
}

/* sluice-elements has written other own elements. */
static void run_elements(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	int err = sl_router_take_elements(ctx);

	(void)request;
	if (err)
		sl_ctl_fail(answer,
			    "sl_edge cannot be loaded with them: %s (sluiced's log says more)",
			    strerror(-err));
}

const struct sl_ctl_command sl_commands[] = {
	{ "status", false, run_status },
	{ "show", false, run_show },
	{ "list", true, run_list },
	{ "explain", true, run_explain },
	{ "attach", false, run_attach },
	{ "detach", false, run_detach },
	{ "filter", false, run_filter },
	{ "reserve", false, run_reserve },
	{ "elements", false, run_elements },
	{ "reload", false, sl_reloads_run_reload },
	{ "configuration", false, sl_reloads_run_configuration },
	{ NULL, false, NULL },
};
