/* SPDX-License-Identifier: BSD-2-Clause */
/* `status`: is the router well, and what does it hold? */
#include <stdio.h>
#include <unistd.h>

#include "user/show/show.h"

/* The process's own memory. The tables are mapped into it, too, but are memory of the maps. */
static uint64_t process_bytes(void)
{
	unsigned long long total = 0, resident = 0, shared = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (!f)
		return 0;
	if (fscanf(f, "%llu %llu %llu", &total, &resident, &shared) != 3)
		resident = shared = 0;
	fclose(f);
	return (resident - shared) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static json_t *tables_json(const struct sl_router *router)
{
	const struct sl_fib_tables *t = sl_datapath_tables(sl_router_datapath(router));
	struct sl_fib_stats s;
	json_t *row;

	sl_fib_stats(sl_router_fib(router), &s);
	row = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "ipv4_prefixes",
			json_integer(s.prefixes4), "ipv6_prefixes", json_integer(s.prefixes6),
			"ipv4_overflow", json_integer(s.overflow4), "ipv6_overflow",
			json_integer(s.overflow6), "inserts", json_integer(s.inserts), "replaces",
			json_integer(s.replaces), "deletes", json_integer(s.deletes), "map_bytes",
			json_integer(s.table_bytes));
	json_object_set_new(row, "nexthops",
			    json_pack("{s:i, s:i}", "used", s.nexthops, "size", t->n_nexthop));
	json_object_set_new(row, "adjacencies",
			    json_pack("{s:i, s:i}", "used", s.adjs, "size", t->n_adj));
	json_object_set_new(row, "groups",
			    json_pack("{s:i, s:i}", "used", s.groups, "size", t->n_group));
	if (t->engine == SL_ENGINE_FAST) {
		json_object_set_new(row, "ipv4_pages",
				    json_pack("{s:i, s:i}", "used", s.pages4, "size", t->n_runs4));
		json_object_set_new(row, "ipv6_pages",
				    json_pack("{s:i, s:i}", "used", s.pages6, "size", t->n_runs6));
	}
	return row;
}

/* One of the filters that leave a family to the kernel. */
static void add_filters(json_t *mirror, const char *kind, bool ipv4, bool ipv6, const char *name)
{
	json_object_set_new(mirror, kind,
			    json_pack("{s:b, s:b, s:s?}", "ipv4", ipv4, "ipv6", ipv6, "example",
				      ipv4 || ipv6 ? name : NULL));
}

static json_t *mirror_json(const struct sl_router *router)
{
	struct sl_mirror_stats s;
	json_t *json;

	sl_mirror_stats(sl_router_mirror(router), &s);
	json = json_pack(
		"{s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b}",
		"synced", s.synced, "links", json_integer(s.links), "addresses",
		json_integer(s.addresses), "neighbours", json_integer(s.neighbours),
		"nexthop_objects", json_integer(s.nexthop_objects), "rules", json_integer(s.rules),
		"ipv4_routes", json_integer(s.routes4), "ipv6_routes", json_integer(s.routes6),
		"events", json_integer(s.events), "overruns", json_integer(s.overruns), "resyncs",
		json_integer(s.resyncs), "resync_changes", json_integer(s.resync_changes),
		"parse_errors", json_integer(s.parse_errors), "neighbour_probes",
		json_integer(s.neighbour_probes), "ipv4_policy", s.policy4, "ipv6_policy",
		s.policy6);
	json_object_set_new(json, "starved", json_boolean(s.starved));
	json_object_set_new(json, "ipv4_use_pmtu", json_boolean(s.use_pmtu));
	add_filters(json, "xfrm", s.xfrm4, s.xfrm6, s.xfrm);
	add_filters(json, "netfilter", s.netfilter4, s.netfilter6, s.netfilter);
	return json;
}

static json_t *ports_json(const struct sl_router *router)
{
	json_t *rows = json_array();

	for (uint32_t i = 0; i < sl_router_ports(router)->n; i++) {
		const struct sl_edge_port *port = &sl_router_ports(router)->port[i];

		json_array_append_new(rows, json_pack("{s:s, s:s, s:s}", "port", port->name,
						      "state", sl_port_state_name(port->state),
						      "mode", sl_xdp_mode_name(port->mode)));
	}
	return rows;
}

static json_t *packets_json(const struct sl_router *router)
{
	struct sl_counters c;

	if (sl_router_counters(router, &c))
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "rx",
			 json_integer(c.stats[SL_STAT_RX].packets), "forward",
			 json_integer(c.stats[SL_STAT_FORWARD].packets), "voq",
			 json_integer(c.stats[SL_STAT_VOQ].packets), "drops",
			 json_integer(sl_counters_dropped(&c).packets), "punts",
			 json_integer(sl_counters_punted(&c).packets), "unsent",
			 json_integer(sl_counters_unsent(&c).packets));
}

/* By reason of the punt: packets a second on each processor, or 0, any number. */
static json_t *limits_json(const struct sl_limit_settings *limits)
{
	return json_pack("{s:o, s:o, s:o}", "ttl", json_integer(limits->ttl), "no-route",
			 json_integer(limits->no_route), "local", json_integer(limits->local));
}

/* Of packets that rules mirror, sample or reject: what became of the copies. */
static json_t *copies_json(const struct sl_router *router)
{
	struct sl_copy_stats s;

	sl_router_copies(router, &s);
	return json_pack(
		"{s:o, s:o, s:o, s:o, s:o}", "mirrored", json_integer((json_int_t)s.mirrored),
		"failed", json_integer((json_int_t)s.failed), "answered",
		json_integer((json_int_t)s.answered), "unanswered",
		json_integer((json_int_t)s.unanswered), "lost", json_integer((json_int_t)s.lost));
}

/* Of flows for which rules reserve: what became of them. */
static json_t *setups_json(const struct sl_router *router)
{
	const struct sl_setup_counts *s = sl_reserves_setups(sl_router_reserves(router));

	return json_pack("{s:o, s:o, s:o, s:o, s:o}", "told", json_integer((json_int_t)s->told),
			 "set_up", json_integer((json_int_t)s->set_up), "refused",
			 json_integer((json_int_t)s->refused), "ended",
			 json_integer((json_int_t)s->ended), "missed",
			 json_integer((json_int_t)sl_router_setups_missed(router)));
}

/* Exact flows: how many there are and fit, and what they have decided. */
static json_t *exact_flows_json(const struct sl_router *router)
{
	const struct sl_datapath *dp = sl_router_datapath(router);
	const uint32_t limit = sl_datapath_config(dp)->exact_flows;
	struct sl_counter hits = { 0 };

	if (limit && sl_counter_read(sl_datapath_map_fd(dp, "sl_exact_hits"), 0, &hits))
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o}", "flows",
			 json_integer(limit ? sl_router_exact_flows(router) : 0), "limit",
			 json_integer(limit), "packets", json_integer((json_int_t)hits.packets),
			 "bytes", json_integer((json_int_t)hits.bytes));
}

/* The process that carries frames to other nodes and through queues; null: nothing needs one. */
static json_t *bridge_json(const struct sl_router *router)
{
	const struct sl_cluster *cluster = sl_router_cluster(router);
	const struct sl_cluster_settings *settings = &sl_router_settings(router)->cluster;

	if (!cluster)
		return json_null();
	return json_pack("{s:b, s:b, s:s}", "running", sl_cluster_has_bridge(cluster), "fabric",
			 sl_cluster_has_fabric(settings), "control", settings->bridge.control);
}

json_t *sl_status_json(const struct sl_router *router)
{
	const struct sl_settings *settings = sl_router_settings(router);
	const struct sl_datapath *dp = sl_router_datapath(router);

	return json_pack(
		"{s:b, s:i, s:s, s:i, s:o, s:s, s:s, s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
		"s:o, s:o, s:o}",
		"running", 1, "heartbeat_s", (int)settings->heartbeat_s, "version", SL_VERSION,
		"pid", (int)getpid(), "uptime_s", json_integer(sl_router_uptime_s(router)),
		"engine", sl_engine_name(settings->engine), "config", settings->file_name,
		"pin_dir", settings->pin_dir, "frags", sl_datapath_frags(dp), "process_bytes",
		json_integer(process_bytes()), "ports", ports_json(router), "packets",
		packets_json(router), "mirror", mirror_json(router), "tables", tables_json(router),
		"punt_limits", limits_json(&settings->punt_limits), "filter_copies",
		copies_json(router), "flow_setups", setups_json(router), "exact_flows",
		exact_flows_json(router), "bridge", bridge_json(router));
}

void sl_show_status(const struct sl_router *router, struct sl_ctl_answer *answer)
{
	sl_ctl_put(answer, sl_status_json(router));
}
