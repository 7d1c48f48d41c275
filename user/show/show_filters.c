/* SPDX-License-Identifier: BSD-2-Clause */
/* `show filters`: the rules of the filter lists, with what each has decided. */
#include <string.h>
#include <sys/socket.h>

#include "user/show/show.h"

static void set_text(json_t *row, const char *key, const char *value)
{
	if (value)
		json_object_set_new(row, key, json_string(value));
}

static void set_rule(json_t *row, const struct sl_filter_rule_settings *rule)
{
	if (rule->family)
		set_text(row, "family", rule->family == AF_INET ? "ipv4" : "ipv6");
	set_text(row, "name", rule->name);
	set_text(row, "source", rule->prefix[SL_SIDE_SOURCE]);
	set_text(row, "destination", rule->prefix[SL_SIDE_DESTINATION]);
	for (enum sl_field field = 0; field < SL_FIELD_COUNT; field++)
		set_text(row, sl_filter_field_names[field], rule->field[field]);
	set_text(row, "class", rule->class);
	set_text(row, "set_dscp", rule->set_dscp);
	set_text(row, "next_hop", rule->next_hop);
	set_text(row, "table", rule->table);
	set_text(row, "chain", rule->chain);
	set_text(row, "mirror", rule->mirror);
	set_text(row, "sample", rule->sample);
	for (enum sl_police_key key = 0; key < SL_POLICE_KEYS; key++)
		set_text(row, sl_police_key_names[key], rule->police[key]);
	for (enum sl_reserve_key key = 0; key < SL_RESERVE_KEYS; key++)
		set_text(row, sl_reserve_key_names[key], rule->reserve[key]);
}

/* What the policer of a rule has seen, by colour. */
static void set_policer(json_t *row, const struct sl_router *router, uint32_t list, uint32_t rule)
{
	static const char *const colours[SL_COLOURS] = { [SL_COLOUR_GREEN] = "conformed",
							 [SL_COLOUR_YELLOW] = "exceeded",
							 [SL_COLOUR_RED] = "violated" };
	struct sl_policer policer;
	json_t *all = json_object();

	if (!sl_rule_list_policer(sl_router_lists(router), sl_router_datapath(router), list, rule,
				  &policer))
		for (unsigned int i = 0; i < SL_COLOURS; i++)
			json_object_set_new(all, colours[i],
					    json_pack("{s:I, s:I}", "packets",
						      (json_int_t)policer.packets[i], "bytes",
						      (json_int_t)policer.bytes[i]));
	json_object_set_new(row, "policer", all);
}

static void set_ports(json_t *row, const struct sl_filter_list_settings *list)
{
	json_t *ports = json_array();

	for (uint32_t i = 0; i < list->ports.n; i++)
		json_array_append_new(ports, json_string(sl_filter_port_name(list, i)));
	json_object_set_new(row, "ports", ports);
	if (list->for_flows)
		json_object_set_new(row, "flows", json_true());
}

/* Rule n, of a list of n, is its default, and has no number. NULL: not enough memory. */
static json_t *rule_row(const struct sl_router *router, uint32_t list, uint32_t rule)
{
	const struct sl_rule_lists *lists = sl_router_lists(router);
	const struct sl_filter_list_settings *settings = sl_rule_list_settings(lists, list);
	bool is_rule = rule < settings->rules.n;
	int action = is_rule ? sl_filter_rule(settings, rule)->action : settings->default_action;
	json_t *row = json_pack("{s:s, s:o, s:s}", "list", settings->name, "rule",
				is_rule ? json_integer(rule) : json_null(), "action",
				sl_filter_action_name((uint32_t)action));
	struct sl_counter hits;

	if (!row)
		return NULL;
	set_text(row, "origin", sl_filter_origin_name(settings->origin));
	if (is_rule)
		set_rule(row, sl_filter_rule(settings, rule));
	else
		set_ports(row, settings);
	if (is_rule && sl_filter_rule(settings, rule)->police[SL_POLICE_RATE])
		set_policer(row, router, list, rule);
	if (!sl_rule_list_hits(lists, sl_router_datapath(router), list, rule, &hits)) {
		json_object_set_new(row, "packets", json_integer((json_int_t)hits.packets));
		json_object_set_new(row, "bytes", json_integer((json_int_t)hits.bytes));
	}
	return row;
}

/* Is there a list of this name? NULL: any. If not, the answer says so. */
static bool has_list(const struct sl_router *router, const char *name, struct sl_ctl_answer *answer)
{
	if (!name || sl_filters_find(&sl_router_settings(router)->filters, name))
		return true;
	sl_ctl_fail(answer,
		    "\"%.64s\" is not a filter list: write one that `sluice filter list` shows",
		    name);
	return false;
}

void sl_show_filters(const struct sl_router *router, const char *name, struct sl_ctl_answer *answer)
{
	const struct sl_rule_lists *lists = sl_router_lists(router);

	if (!has_list(router, name, answer))
		return;
	for (uint32_t i = 0; i < sl_rule_lists_n(lists); i++) {
		const struct sl_filter_list_settings *list = sl_rule_list_settings(lists, i);

		if (name && strcmp(name, list->name) != 0)
			continue;
		for (uint32_t j = 0; j <= list->rules.n; j++)
			sl_ctl_put(answer, rule_row(router, i, j));
	}
}

void sl_show_filter_lists(const struct sl_router *router, const char *name,
			  struct sl_ctl_answer *answer)
{
	const struct sl_yaml_list *lists = &sl_router_settings(router)->filters;

	if (!has_list(router, name, answer))
		return;
	for (uint32_t i = 0; i < lists->n; i++)
		if (!name || !strcmp(name, sl_filter_list(lists, i)->name))
			sl_ctl_put(answer, sl_filter_list_json(sl_filter_list(lists, i)));
}

json_t *sl_filters_json(const struct sl_router *router)
{
	const struct sl_rule_lists *lists = sl_router_lists(router);
	json_t *rows = json_array();

	for (uint32_t i = 0; i < sl_rule_lists_n(lists); i++)
		for (uint32_t j = 0; j <= sl_rule_list_settings(lists, i)->rules.n; j++)
			json_array_append_new(rows, rule_row(router, i, j));
	return rows;
}
