/* SPDX-License-Identifier: BSD-2-Clause */
/* `explain`: what XDP would do with a packet to an address, looked up as XDP does, and why. */
#include <string.h>
#include <sys/socket.h>

#include "user/ipc/counter_texts.h"
#include "user/text/rtnetlink_names.h"
#include "user/text/prefix.h"
#include "user/show/json_values.h"
#include "user/show/nexthop_index.h"
#include "user/show/show.h"

/* The kernel's route for an address: the one with the longest prefix of those installed. */
struct search {
	uint8_t family;
	const uint8_t *addr;
	struct sl_route_view found;
	bool is_found;
};

static int find_route(void *arg, const struct sl_route_view *view)
{
	struct search *search = arg;

	if (view->installed && view->prefix.family == search->family &&
	    sl_addr_match(view->prefix.addr, search->addr, view->prefix.len) &&
	    (!search->is_found || view->prefix.len > search->found.prefix.len)) {
		search->found = *view;
		search->is_found = true;
	}
	return 0;
}

static json_t *route_json(const struct sl_route_view *view, struct sl_nexthop_index *index)
{
	char prefix[SL_PREFIX_STRLEN], protocol[SL_NAME_BYTES], type[SL_NAME_BYTES],
		table[SL_NAME_BYTES];

	return json_pack(
		"{s:s, s:s, s:o, s:s, s:s, s:I}", "prefix", sl_prefix_format(&view->prefix, prefix),
		"type", sl_route_type_name(view->type, type), "nexthops",
		sl_nexthop_legs_json(index, view->nexthop_id), "protocol",
		sl_route_protocol_name(view->protocol, protocol), "table",
		sl_route_table_name(view->table, table), "metric", (json_int_t)view->metric);
}

/*
 * The tables' entry for the address, and the route it comes from. For a neighbour the two differ.
 */
static void set_route(const struct sl_router *router, struct sl_nexthop_index *index,
		      uint8_t family, const uint8_t *addr, json_t *row)
{
	struct search search = { .family = family, .addr = addr };
	char text[SL_PREFIX_STRLEN];
	struct sl_prefix entry;
	uint32_t id;

	if (!sl_fib_match(sl_router_fib(router), family, addr, &entry, &id))
		json_object_set_new(row, "entry", json_string(sl_prefix_format(&entry, text)));
	sl_mirror_each_route(sl_router_mirror(router), find_route, &search);
	if (search.is_found)
		json_object_set_new(row, "route", route_json(&search.found, index));
}

static const char *text_of_reason(const struct sl_nexthop *nh)
{
	if (nh->kind == SL_NH_PUNT && nh->ref < SL_PUNT_COUNT)
		return sl_punt_texts[nh->ref].text;
	if (nh->kind == SL_NH_DROP && nh->ref < SL_DROP_COUNT)
		return sl_drop_texts[nh->ref].text;
	return sl_punt_texts[SL_PUNT_NO_ROUTE].text;
}

/* How frames to a next hop of kind FORWARD leave; NULL: the kernel sends them. */
static const char *text_of_way_out(const struct sl_router *router, const struct sl_nexthop *nh)
{
	const struct sl_fib_tables *tables = sl_datapath_tables(sl_router_datapath(router));
	const struct sl_adj *adj = nh->ref < tables->n_adj ? &tables->adj[nh->ref] : NULL;
	const struct sl_edge_port *port;

	if (!adj)
		return NULL;
	if (adj->remote)
		return "into the virtual output queue of the remote port with new MAC addresses; TTL or "
		       "hop limit falls by one";
	if (adj->voq_plus1)
		return "through the queues of the port, where all that leaves by it shares its rate, with "
		       "new MAC addresses; TTL or hop limit falls by one";
	port = sl_router_find_port(router, adj->port_ifindex);
	if (!port || !port->transmits)
		return NULL;
	return "sent straight to the port with new MAC addresses; TTL or hop limit falls by one";
}

/* Why the kernel gets all packets of a family; NULL: it does not. As sl_kernel_decides in bpf/. */
static const char *why_all_punted(const struct sl_router *router, uint8_t family)
{
	const bool ipv4 = family == AF_INET;
	struct sl_mirror_stats mirror;

	sl_mirror_stats(sl_router_mirror(router), &mirror);
	if (ipv4 ? mirror.netfilter4 : mirror.netfilter6)
		return sl_punt_texts[SL_PUNT_NETFILTER].text;
	if (ipv4 ? mirror.xfrm4 : mirror.xfrm6)
		return sl_punt_texts[SL_PUNT_XFRM].text;
	if (mirror.starved)
		return "sluiced found no memory for all that the kernel knows: the kernel decides";
	if (ipv4 && mirror.use_pmtu)
		return "ip_forward_use_pmtu: the kernel decides by the path MTUs that it has learnt";
	if (ipv4 ? mirror.policy4 : mirror.policy6)
		return sl_punt_texts[SL_PUNT_POLICY].text;
	return NULL;
}

/* The verdict in a word, and the sentence that explains it. */
static void set_verdict(const struct sl_router *router, json_t *row, uint8_t family,
			const struct sl_nexthop *nh)
{
	static const char *const words[] = {
		[SL_NH_NONE] = "kernel", [SL_NH_FORWARD] = "forward", [SL_NH_GROUP] = "forward",
		[SL_NH_PUNT] = "kernel", [SL_NH_DROP] = "drop",
	};
	const char *word = words[nh->kind], *why = why_all_punted(router, family);

	if (why) {
		word = "kernel";
	} else if (sl_router_settings(router)->engine == SL_ENGINE_KERNEL) {
		word = "ask";
		why = "engine kernel: each packet asks the kernel's own table, which should say what follows";
	} else if (nh->kind == SL_NH_FORWARD) {
		why = text_of_way_out(router, nh);
		if (!why) {
			word = "kernel";
			why = "the egress port takes no redirected frames now: the kernel sends them";
		}
	} else if (nh->kind == SL_NH_GROUP) {
		why = "a hash of each flow chooses one of the members";
	} else {
		why = text_of_reason(nh);
	}
	json_object_set_new(row, "verdict", json_string(word));
	json_object_set_new(row, "why", json_string(why));
}

/* What becomes of a packet that a rule sends to `hop`, as sl_rule_hop_end in bpf/ has it. */
static void set_hop_verdict(const struct sl_router *router, json_t *row, uint8_t family,
			    const struct sl_nexthop *nh)
{
	set_verdict(router, row, family, nh);
	if (nh->kind != SL_NH_NONE && nh->kind != SL_NH_PUNT)
		return;
	json_object_set_new(row, "verdict", json_string("drop"));
	json_object_set_new(row, "why", json_string(sl_drop_texts[SL_DROP_NEXT_HOP].text));
}

/* A table of the kernel decides, which is asked for each packet; the row shows the way without. */
static void set_table_verdict(json_t *row, const char *table)
{
	json_object_set_new(row, "verdict", json_string("ask"));
	json_object_set_new(
		row, "why",
		json_sprintf("each packet asks the kernel's table %s (ip route show table "
			     "%s); without a route there it goes as follows",
			     table, table));
}

void sl_show_explain(const struct sl_router *router, uint8_t family, const uint8_t addr[16],
		     const json_t *packet, struct sl_ctl_answer *answer)
{
	const struct sl_fib_tables *tables = sl_datapath_tables(sl_router_datapath(router));
	struct sl_nexthop_index *index = sl_nexthop_index_create(router);
	uint32_t id = sl_fib_lookup(sl_router_fib(router), family, addr);
	struct sl_nexthop nh = tables->nexthop[id < tables->n_nexthop ? id : 0];
	json_t *row, *filter = NULL;
	uint8_t hop_family, hop[16] = { 0 };
	const char *by_rule, *by_table;
	char no_filter[256];

	if (packet)
		filter = sl_filter_explain_json(router, family, addr, packet, no_filter);
	if (!index || (packet && !filter)) {
		sl_ctl_fail(answer, "%s", index ? no_filter : "not enough memory");
		sl_nexthop_index_destroy(index);
		return;
	}
	if (nh.kind >= SL_NH_COUNT)
		nh.kind = SL_NH_NONE;
	row = json_pack("{s:o, s:s}", "address", sl_json_addr(family, addr), "engine",
			sl_engine_name(sl_router_settings(router)->engine));
	by_rule = json_string_value(json_object_get(filter, "next_hop"));
	by_table = json_string_value(json_object_get(filter, "table"));
	/* What is for this node itself stays here. */
	if (by_rule && !(nh.kind == SL_NH_PUNT && nh.ref == SL_PUNT_LOCAL) &&
	    !sl_addr_parse(by_rule, &hop_family, hop)) {
		addr = hop;
		id = sl_fib_lookup(sl_router_fib(router), family, addr);
		nh = tables->nexthop[id < tables->n_nexthop ? id : 0];
		set_hop_verdict(router, row, family, &nh);
	} else {
		set_verdict(router, row, family, &nh);
		if (by_table && !(nh.kind == SL_NH_PUNT && nh.ref == SL_PUNT_LOCAL))
			set_table_verdict(row, by_table);
	}
	set_route(router, index, family, addr, row);
	json_object_set_new(row, "nexthop", sl_nexthop_json(index, id));
	if (filter)
		json_object_set_new(row, "filter", filter);
	sl_ctl_put(answer, row);
	sl_nexthop_index_destroy(index);
}
