/* SPDX-License-Identifier: BSD-2-Clause */
/* `explain` of a packet: which rules of its port's filter list match, and why. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <bpf/bpf.h>

#include "bpf/abi/exact_flow.h"
#include "bpf/abi/voq.h"
#include "bpf/lib/endian.bpf.h"
#include "user/classify/left_packet.h"
#include "user/classify/rule_text.h"
#include "user/ipc/relay.h"
#include "user/show/show.h"

static const char *text_of(const json_t *packet, const char *key)
{
	return json_string_value(json_object_get(packet, key));
}

/* One value of a field, as rules write it. */
static bool read_field(enum sl_field field, const char *text, uint32_t *out)
{
	struct sl_ranges ranges;
	uint8_t flags, mask;

	if (field == SL_FIELD_TCP_FLAGS) {
		*out = 0;
		if (sl_flags_parse(text, &flags, &mask) || flags != mask)
			return false;
		*out = flags;
		return true;
	}
	if (sl_ranges_parse(field, text, &ranges) || ranges.n != 1 ||
	    ranges.range[0].low != ranges.range[0].high)
		return false;
	*out = ranges.range[0].low;
	return true;
}

/* A field that a packet of this protocol has although nobody wrote it is 0. */
static uint32_t value_unwritten(enum sl_field field, uint8_t family, uint32_t protocol)
{
	switch (field) {
	case SL_FIELD_TCP_FLAGS:
		return protocol == 6 ? 0 : SL_FIELD_TCP_FLAGS_ABSENT;
	case SL_FIELD_FLOW_LABEL:
		return family == AF_INET6 ? 0 : SL_FIELD_FLOW_LABEL_ABSENT;
	case SL_FIELD_ICMP_TYPE:
	case SL_FIELD_ICMP_CODE:
	case SL_FIELD_SOURCE_PORT:
	case SL_FIELD_DESTINATION_PORT:
		return sl_field_values(field);
	default:
		return 0;
	}
}

static bool read_packet(uint8_t family, const uint8_t addr[16], const json_t *packet,
			struct sl_flow *flow, char why[256])
{
	const char *source = text_of(packet, "source");
	uint8_t source_family = family, source_addr[16] = { 0 };

	memset(flow, 0, sizeof(*flow));
	if (source && sl_addr_parse(source, &source_family, source_addr)) {
		snprintf(why, 256, "source: \"%.64s\" is not an IPv4 or IPv6 address", source);
		return false;
	}
	if (source_family != family) {
		snprintf(why, 256, "source: \"%.64s\" is of the other family than the destination",
			 source);
		return false;
	}
	sl_flow_address(family, source_addr, flow->address[SL_SIDE_SOURCE]);
	sl_flow_address(family, addr, flow->address[SL_SIDE_DESTINATION]);
	for (enum sl_field field = 0; field < SL_FIELD_COUNT; field++) {
		const char *text = text_of(packet, sl_filter_field_names[field]);

		if (text && !read_field(field, text, &flow->field[field])) {
			snprintf(why, 256, "%s: \"%.64s\" is not one value",
				 sl_filter_field_names[field], text);
			return false;
		}
		/* the protocol is the first field */
		if (!text)
			flow->field[field] =
				value_unwritten(field, family, flow->field[SL_FIELD_PROTOCOL]);
	}
	return true;
}

static bool matches_side(const struct sl_rule *rule, unsigned int side, uint8_t family,
			 const struct sl_flow *flow)
{
	struct sl_rule alone = { .family = rule->family };

	alone.prefix[side] = rule->prefix[side];
	return sl_rule_matches(&alone, family, flow);
}

/* What the rule asks for, each with whether the packet has it: "not " before what it lacks. */
static json_t *conditions(const struct sl_filter_rule_settings *settings,
			  const struct sl_rule *rule, uint8_t family, const struct sl_flow *flow)
{
	static const char *const sides[SL_SIDES] = {
		[SL_SIDE_SOURCE] = "source", [SL_SIDE_DESTINATION] = "destination"
	};
	json_t *all = json_array();

	if (settings->family)
		json_array_append_new(
			all, json_sprintf("%sfamily %s", rule->family == family ? "" : "not ",
					  settings->family == AF_INET ? "ipv4" : "ipv6"));
	for (unsigned int side = 0; side < SL_SIDES; side++)
		if (settings->prefix[side])
			json_array_append_new(
				all,
				json_sprintf("%s%s %s",
					     matches_side(rule, side, family, flow) ? "" : "not ",
					     sides[side], settings->prefix[side]));
	for (enum sl_field field = 0; field < SL_FIELD_COUNT; field++)
		if (settings->field[field])
			json_array_append_new(
				all,
				json_sprintf("%s%s %s",
					     sl_rule_allows(rule, field, flow->field[field])
						     ? ""
						     : "not ",
					     sl_filter_field_names[field], settings->field[field]));
	return all;
}

static json_t *rule_row(const struct sl_filter_list_settings *list, uint32_t i, bool matches,
			uint8_t family, const struct sl_flow *flow)
{
	const struct sl_filter_rule_settings *rule = sl_filter_rule(list, i);
	json_t *row = json_pack("{s:i, s:s, s:b, s:o}", "rule", (int)i, "action",
				sl_filter_action_name((uint32_t)rule->action), "matches", matches,
				"because", conditions(rule, &list->parsed[i], family, flow));

	if (rule->name)
		json_object_set_new(row, "name", json_string(rule->name));
	return row;
}

/* An address of struct sl_flow in a key of the map. */
static void key_address(const __u64 address[2], __be32 out[4])
{
	for (uint32_t i = 0; i < 4; i++)
		out[i] = sl_htonl((uint32_t)(address[i / 2] >> (i % 2 ? 0 : 32)));
}

/* Is the packet of an exact flow, in *found? */
static bool find_exact_flow(const struct sl_router *router, uint8_t family,
			    const struct sl_flow *flow, struct sl_exact_flow *found)
{
	const struct sl_datapath *dp = sl_router_datapath(router);
	struct sl_flow_key key = {
		.source_port = sl_htons((uint16_t)flow->field[SL_FIELD_SOURCE_PORT]),
		.destination_port = sl_htons((uint16_t)flow->field[SL_FIELD_DESTINATION_PORT]),
		.protocol = (uint8_t)flow->field[SL_FIELD_PROTOCOL],
		.version = family == AF_INET ? 4 : 6,
	};

	if (!sl_datapath_config(dp)->exact_flows ||
	    flow->field[SL_FIELD_SOURCE_PORT] >= SL_FIELD_SOURCE_PORT_ABSENT ||
	    flow->field[SL_FIELD_DESTINATION_PORT] >= SL_FIELD_DESTINATION_PORT_ABSENT)
		return false;
	key_address(flow->address[SL_SIDE_SOURCE], key.source);
	key_address(flow->address[SL_SIDE_DESTINATION], key.destination);
	return !bpf_map_lookup_elem(sl_datapath_map_fd(dp, "sl_exact_flow"), &key, found);
}

/* What an exact flow does with a packet. */
struct flow_says {
	const char *action;
	char as[SL_FLOW_RULE_NAME_BYTES]; /* the rule that it names, or "" */
	const struct sl_filter_rule_settings *sets;
	struct sl_filter_rule_settings own; /* of a flow without a rule; into the texts below */
	char class[2], dscp[4];
};

static void read_own(const struct sl_exact_flow *flow, struct flow_says *out)
{
	const uint32_t class_plus1 = flow->action >> SL_RULE_CLASS_SHIFT & 0xff;
	const uint32_t dscp_plus1 = flow->action >> SL_RULE_DSCP_SHIFT & 0xff;

	if (class_plus1) {
		snprintf(out->class, sizeof(out->class), "%u", (class_plus1 - 1) % SL_CLASSES);
		out->own.class = out->class;
	}
	if (dscp_plus1) {
		snprintf(out->dscp, sizeof(out->dscp), "%u", (dscp_plus1 - 1) % SL_DSCPS);
		out->own.set_dscp = out->dscp;
	}
	out->sets = &out->own;
	out->action = sl_filter_action_name(flow->action);
}

static void read_flow(const struct sl_router *router, uint8_t family,
		      const struct sl_exact_flow *flow, struct flow_says *out)
{
	const struct sl_filter_rule_settings *sets;
	struct sl_flow_rule rule;

	*out = (struct flow_says){ .sets = &out->own };
	if (!flow->rule) {
		read_own(flow, out);
		return;
	}
	snprintf(out->as, sizeof(out->as), "0x%08x", flow->rule);
	out->action = sl_filter_action_name(SL_FILTER_DENY);
	if (bpf_map_lookup_elem(sl_datapath_map_fd(sl_router_datapath(router), "sl_flow_rule"),
				&flow->rule, &rule))
		return;
	snprintf(out->as, sizeof(out->as), "%s", rule.name);
	sets = sl_rule_lists_of_flow(sl_router_lists(router), flow->rule);
	if (!sets || (rule.version && rule.version != (family == AF_INET ? 4 : 6)))
		return;
	out->sets = sets;
	out->action = sl_filter_action_name(rule.action);
}

/* The netdev of a port of this node: itself, or what the cluster calls n1p1. */
static const char *netdev_of(const struct sl_router *router, const char *port)
{
	const struct sl_cluster_settings *cluster = &sl_router_settings(router)->cluster;
	const struct sl_cluster_node *self = sl_cluster_find_node(cluster, cluster->node);
	char name[IF_NAMESIZE];

	for (uint32_t i = 0; self && i < self->ports.n; i++) {
		const struct sl_cluster_port *own = sl_cluster_port(self, i);

		sl_relay_tap_name(SL_SYSTEM_PORT(self->id, (uint16_t)own->number), name);
		if (strcmp(port, name) == 0)
			return own->name;
	}
	return port;
}

/*
 * The packet is known as it left: make it one that has entered so that it left so. If several rules
 * may have decided it, by the DSCP that it entered with, return them; or none, if the list as it is
 * now lets no such packet out. NULL: it is one rule, or the default.
 */
static json_t *enter(const struct sl_filter_list_settings *list, uint8_t family,
		     struct sl_flow *flow)
{
	struct sl_left_packet found;
	json_t *all;

	sl_left_packet_find(list->parsed, list->rules.n, list->default_action == SL_FILTER_PERMIT,
			    family, flow, &found);
	if (found.n)
		flow->field[SL_FIELD_DSCP] = found.by[0].dscp;
	if (found.n == 1)
		return NULL;
	all = json_array();
	for (uint32_t i = 0; i < found.n; i++) {
		const uint32_t rule = found.by[i].rule;
		const bool is_default = rule == list->rules.n;

		json_array_append_new(
			all, json_pack("{s:o, s:s?}", "rule",
				       is_default ? json_null() : json_integer(rule), "name",
				       is_default ? NULL : sl_filter_rule(list, rule)->name));
	}
	return all;
}

json_t *sl_filter_explain_json(const struct sl_router *router, uint8_t family,
			       const uint8_t addr[16], const json_t *packet, char why[256])
{
	const char *port = text_of(packet, "port");
	bool all = json_is_true(json_object_get(packet, "all"));
	const struct sl_filter_list_settings *list;
	json_t *answer, *rules, *decides = NULL, *one_of = NULL;
	const struct sl_filter_rule_settings none = { 0 }, *sets = &none;
	struct sl_exact_flow found;
	struct flow_says says;
	struct sl_flow flow;
	bool is_exact;

	if (!port) {
		snprintf(why, 256, "write the port that the packet enters by: port=NETDEV");
		return NULL;
	}
	if (!read_packet(family, addr, packet, &flow, why))
		return NULL;
	is_exact = find_exact_flow(router, family, &flow, &found);
	if (is_exact) {
		read_flow(router, family, &found, &says);
		sets = says.sets;
	}
	port = netdev_of(router, port);
	list = sl_rule_list_for(sl_router_lists(router), port);
	rules = json_array();
	if (list && !is_exact && json_is_true(json_object_get(packet, "left")))
		one_of = enter(list, family, &flow);
	for (uint32_t i = 0; list && !one_of && i < list->rules.n; i++) {
		bool matches = sl_rule_matches(&list->parsed[i], family, &flow);

		if (!matches && !all)
			continue;
		json_array_append_new(rules, rule_row(list, i, matches, family, &flow));
		if (matches && !is_exact && !decides && !sl_rule_is_auxiliary(&list->parsed[i])) {
			decides = json_array_get(rules, json_array_size(rules) - 1);
			sets = sl_filter_rule(list, i);
		}
	}
	answer = json_pack(
		"{s:b, s:s?, s:s, s:s?, s:O?, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:s, s:O, s:O*}",
		"exact_flow", is_exact, "as", is_exact && *says.as ? says.as : NULL, "port", port,
		"list", list ? list->name : NULL, "rule",
		decides ? json_object_get(decides, "rule") : NULL, "name", sets->name, "class",
		sets->class, "set_dscp", sets->set_dscp, "next_hop", sets->next_hop, "table",
		sets->table, "chain", sets->chain, "action",
		one_of	   ? "permit"
		: is_exact ? says.action
		: decides  ? json_string_value(json_object_get(decides, "action"))
		: list	   ? sl_filter_action_name((uint32_t)list->default_action)
			   : "permit",
		"rules", rules, "one_of", one_of);
	json_decref(rules);
	json_decref(one_of);
	if (!answer)
		snprintf(why, 256, "not enough memory");
	return answer;
}
