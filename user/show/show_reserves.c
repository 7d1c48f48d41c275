/* SPDX-License-Identifier: BSD-2-Clause */
/* `reserve`: the reserved flows that enter here, and what is reserved of the ports here. */
#include <stdio.h>
#include <string.h>

#include "user/ipc/relay.h"
#include "user/reserve/flow_words.h"
#include "user/show/show.h"

static json_t *port_name(uint16_t system_port)
{
	char name[IF_NAMESIZE];

	if (!system_port)
		return json_null();
	sl_relay_tap_name(system_port, name);
	return json_string(name);
}

static json_t *netdev_name(const struct sl_reservation *v)
{
	char name[IF_NAMESIZE];

	if (v->l3_ifindex && if_indextoname(v->l3_ifindex, name))
		return json_string(name);
	return v->netdev[0] ? json_string(v->netdev) : json_null();
}

/* Of the rule that reserves for it, LIST/RULE. */
static json_t *rule_name(const struct sl_router *router, const struct sl_reservation *v)
{
	uint32_t n;
	const struct sl_reserving_rule *rules =
		sl_rule_lists_reserving(sl_router_lists(router), &n);

	for (uint32_t i = 0; i < n; i++)
		if (rules[i].number + 1 == v->rule_plus1)
			return json_string(rules[i].name);
	return json_null();
}

static json_t *reservation_row(const struct sl_router *router, const struct sl_reservation *v)
{
	json_t *row = sl_flow_json(&v->flow);
	char why[SL_RESERVE_WHY_BYTES];
	struct sl_policer policer;

	if (!row)
		return NULL;
	json_object_update_new(
		row,
		json_pack("{s:o, s:o, s:I, s:s, s:s, s:b, s:o, s:n}", "enters", netdev_name(v),
			  "leaves", port_name(v->claim.system_port), "rate_bps",
			  (json_int_t)(8 * v->rate_Bps), "state", sl_reserve_state_name(v->state),
			  "why", sl_reservation_why(v, why), "pinned", v->pinned, "refresh_s",
			  v->refresh_s ? json_integer(v->refresh_s) : json_null(), "node"));
	json_object_set_new(row, "rule", rule_name(router, v));
	if (v->state == SL_RESERVE_IN_FORCE &&
	    !sl_reservation_policer(v, sl_router_datapath(router), &policer))
		json_object_update_new(
			row, json_pack("{s:I, s:I, s:I, s:I}", "packets",
				       (json_int_t)policer.packets[SL_COLOUR_GREEN], "bytes",
				       (json_int_t)policer.bytes[SL_COLOUR_GREEN], "excess_packets",
				       (json_int_t)policer.packets[SL_COLOUR_RED], "excess_bytes",
				       (json_int_t)policer.bytes[SL_COLOUR_RED]));
	return row;
}

/* A claim of another node to a port here. */
static json_t *claim_row(const struct sl_claim *claim)
{
	json_t *row = sl_flow_json(&claim->flow);

	json_object_update_new(row, json_pack("{s:n, s:o, s:I, s:s, s:s, s:b, s:n, s:i}", "enters",
					      "leaves", port_name(claim->system_port), "rate_bps",
					      (json_int_t)(8 * claim->rate_Bps), "state",
					      "in-force", "why", "", "pinned", false, "refresh_s",
					      "node", claim->node));
	json_object_set_new(row, "rule", json_null());
	return row;
}

json_t *sl_reserves_json(const struct sl_router *router)
{
	const struct sl_reserves *reserves = sl_router_reserves(router);
	const struct sl_ledger *ledger = sl_reserves_ledger(reserves);
	json_t *rows = json_array();

	for (uint32_t i = 0; i < sl_reserves_n(reserves); i++)
		json_array_append_new(rows, reservation_row(router, sl_reservation(reserves, i)));
	for (uint32_t i = 0; i < ledger->n; i++)
		if (ledger->claims[i].node != sl_router_settings(router)->cluster.node)
			json_array_append_new(rows, claim_row(&ledger->claims[i]));
	return rows;
}

json_t *sl_reserve_ports_json(const struct sl_router *router)
{
	const struct sl_cluster_settings *cluster = &sl_router_settings(router)->cluster;
	const struct sl_cluster_node *self = sl_cluster_find_node(cluster, cluster->node);
	const struct sl_ledger *ledger = sl_reserves_ledger(sl_router_reserves(router));
	json_t *rows = json_array();

	for (uint32_t i = 0; self && i < self->ports.n; i++) {
		const struct sl_cluster_port *port = sl_cluster_port(self, i);
		const uint16_t system_port = SL_SYSTEM_PORT(self->id, (uint16_t)port->number);
		const uint64_t limit_Bps = sl_cluster_reservable_Bps(cluster, port);
		uint32_t n;
		const uint64_t reserved_Bps = sl_ledger_reserved_Bps(ledger, system_port, &n);

		if (limit_Bps)
			json_array_append_new(
				rows,
				json_pack("{s:o, s:s, s:I, s:I, s:i}", "port",
					  port_name(system_port), "netdev", port->name, "limit_bps",
					  (json_int_t)(8 * limit_Bps), "reserved_bps",
					  (json_int_t)(8 * reserved_Bps), "flows", (int)n));
	}
	return rows;
}

static void put_rows(json_t *rows, struct sl_ctl_answer *answer)
{
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
		sl_ctl_put(answer, json_incref(row));
	json_decref(rows);
}

void sl_show_reserve(struct sl_router *router, const json_t *request, struct sl_ctl_answer *answer)
{
	const char *what = json_string_value(json_object_get(request, "do"));
	const struct sl_reservation *v = NULL;
	char why[SL_RESERVE_WHY_BYTES] = "";

	if (what && strcmp(what, "list") == 0) {
		put_rows(sl_reserves_json(router), answer);
	} else if (what && strcmp(what, "ports") == 0) {
		put_rows(sl_reserve_ports_json(router), answer);
	} else if (what && strcmp(what, "add") == 0) {
		if (sl_router_reserve(router, request, &v, why))
			sl_ctl_fail(answer, "%s", why);
		else
			sl_ctl_put(answer, reservation_row(router, v));
	} else if (what && strcmp(what, "delete") == 0) {
		if (sl_router_unreserve(router, json_object_get(request, "flow"), why))
			sl_ctl_fail(answer, "%s", why);
	} else {
		sl_ctl_fail(answer, "\"do\" is not one of list, ports, add and delete");
	}
}
