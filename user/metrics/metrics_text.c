/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names follow Prometheus' own advice: the program's prefix, base units, `_total` for a value that
 * only rises.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/metrics/metrics_format.h"
#include "user/metrics/metrics_text.h"

static const char counter[] = "counter", gauge[] = "gauge";

/* The families that come from the status. */
static const struct {
	const char *name, *type, *label; /* label NULL: one number */
	const char *help;
} families[] = {
	{ "uptime_seconds", gauge, NULL, "Since sluiced was started." },
	{ "process_bytes", gauge, NULL, "Memory of sluiced without the maps." },
	{ "map_bytes", gauge, NULL, "Memory of the tables." },
	{ "prefixes", gauge, "family", "Prefixes that the tables should hold." },
	{ "prefixes_overflowed", gauge, "family", "Of those, the ones that do not fit." },
	{ "prefix_changes_total", counter, "change", "Changes made in the tables." },
	{ "table_entries", gauge, "table", "Elements in use." },
	{ "table_size", gauge, "table", "Elements that fit." },
	{ "mirror_synced", gauge, NULL, "1: the kernel's tables have been read completely." },
	{ "mirror_policy", gauge, "family", "1: policy rules leave each packet to the kernel." },
	{ "mirror_xfrm", gauge, "family", "1: IPsec policies leave each packet to the kernel." },
	{ "mirror_netfilter", gauge, "family",
	  "1: netfilter's rules leave each packet to the kernel." },
	{ "mirror_starved", gauge, NULL,
	  "1: no memory for all of the kernel's tables, so each packet is left to it." },
	{ "mirror_entries", gauge, "kind", "What the mirror knows of the kernel." },
	{ "mirror_events_total", counter, NULL, "Messages of the kernel." },
	{ "mirror_overruns_total", counter, NULL, "Times that messages were lost." },
	{ "mirror_resyncs_total", counter, NULL,
	  "Full dumps of the kernel's tables because of that." },
	{ "mirror_resync_changes_total", counter, NULL, "Differences that those dumps found." },
	{ "mirror_parse_errors_total", counter, NULL, "Messages that made no sense." },
	{ "neighbour_probes_total", counter, NULL, "Requests to resolve or keep a neighbour." },
	{ "filter_copies_total", counter, "result",
	  "Copies of packets that rules mirror, sample or reject." },
	{ "flow_setups_total", counter, "result",
	  "Flows for which rules reserve; missed: packets of such flows." },
	{ "exact_flows", gauge, NULL, "Exact flows, as the last look through all of them found." },
	{ "exact_flows_limit", gauge, NULL, "Exact flows that fit." },
	{ "exact_flow_packets_total", counter, NULL, "Packets that exact flows decided." },
	{ "exact_flow_bytes_total", counter, NULL, "Bytes of their frames." },
};

/* Where each sample stands in the status: names joined by dots. */
static const struct {
	const char *family, *value, *path; /* value of the family's label */
} samples[] = {
	{ "uptime_seconds", NULL, "uptime_s" },
	{ "process_bytes", NULL, "process_bytes" },
	{ "map_bytes", NULL, "tables.map_bytes" },
	{ "prefixes", "ipv4", "tables.ipv4_prefixes" },
	{ "prefixes", "ipv6", "tables.ipv6_prefixes" },
	{ "prefixes_overflowed", "ipv4", "tables.ipv4_overflow" },
	{ "prefixes_overflowed", "ipv6", "tables.ipv6_overflow" },
	{ "prefix_changes_total", "insert", "tables.inserts" },
	{ "prefix_changes_total", "replace", "tables.replaces" },
	{ "prefix_changes_total", "delete", "tables.deletes" },
	{ "table_entries", "nexthops", "tables.nexthops.used" },
	{ "table_entries", "adjacencies", "tables.adjacencies.used" },
	{ "table_entries", "groups", "tables.groups.used" },
	{ "table_entries", "ipv4_pages", "tables.ipv4_pages.used" },
	{ "table_entries", "ipv6_pages", "tables.ipv6_pages.used" },
	{ "table_size", "nexthops", "tables.nexthops.size" },
	{ "table_size", "adjacencies", "tables.adjacencies.size" },
	{ "table_size", "groups", "tables.groups.size" },
	{ "table_size", "ipv4_pages", "tables.ipv4_pages.size" },
	{ "table_size", "ipv6_pages", "tables.ipv6_pages.size" },
	{ "mirror_synced", NULL, "mirror.synced" },
	{ "mirror_policy", "ipv4", "mirror.ipv4_policy" },
	{ "mirror_policy", "ipv6", "mirror.ipv6_policy" },
	{ "mirror_xfrm", "ipv4", "mirror.xfrm.ipv4" },
	{ "mirror_xfrm", "ipv6", "mirror.xfrm.ipv6" },
	{ "mirror_netfilter", "ipv4", "mirror.netfilter.ipv4" },
	{ "mirror_netfilter", "ipv6", "mirror.netfilter.ipv6" },
	{ "mirror_starved", NULL, "mirror.starved" },
	{ "mirror_entries", "ipv4_routes", "mirror.ipv4_routes" },
	{ "mirror_entries", "ipv6_routes", "mirror.ipv6_routes" },
	{ "mirror_entries", "links", "mirror.links" },
	{ "mirror_entries", "addresses", "mirror.addresses" },
	{ "mirror_entries", "neighbours", "mirror.neighbours" },
	{ "mirror_entries", "nexthop_objects", "mirror.nexthop_objects" },
	{ "mirror_entries", "rules", "mirror.rules" },
	{ "mirror_events_total", NULL, "mirror.events" },
	{ "mirror_overruns_total", NULL, "mirror.overruns" },
	{ "mirror_resyncs_total", NULL, "mirror.resyncs" },
	{ "mirror_resync_changes_total", NULL, "mirror.resync_changes" },
	{ "mirror_parse_errors_total", NULL, "mirror.parse_errors" },
	{ "neighbour_probes_total", NULL, "mirror.neighbour_probes" },
	{ "filter_copies_total", "mirrored", "filter_copies.mirrored" },
	{ "filter_copies_total", "failed", "filter_copies.failed" },
	{ "filter_copies_total", "answered", "filter_copies.answered" },
	{ "filter_copies_total", "unanswered", "filter_copies.unanswered" },
	{ "filter_copies_total", "lost", "filter_copies.lost" },
	{ "flow_setups_total", "told", "flow_setups.told" },
	{ "flow_setups_total", "set_up", "flow_setups.set_up" },
	{ "flow_setups_total", "refused", "flow_setups.refused" },
	{ "flow_setups_total", "ended", "flow_setups.ended" },
	{ "flow_setups_total", "missed", "flow_setups.missed" },
	{ "exact_flows", NULL, "exact_flows.flows" },
	{ "exact_flows_limit", NULL, "exact_flows.limit" },
	{ "exact_flow_packets_total", NULL, "exact_flows.packets" },
	{ "exact_flow_bytes_total", NULL, "exact_flows.bytes" },
};

static void put_name(FILE *f, const char *name, const char *label, const char *value)
{
	fprintf(f, "sluice_%s", name);
	if (!label)
		return;
	fprintf(f, "{%s=\"", label);
	sl_metrics_put_label(f, value);
	fputs("\"}", f);
}

static long long number(const json_t *value)
{
	return json_is_true(value) ? 1 : json_integer_value(value);
}

static const json_t *find(const json_t *status, const char *path)
{
	char copy[64], *name, *rest;

	snprintf(copy, sizeof(copy), "%s", path);
	for (name = strtok_r(copy, ".", &rest); name; name = strtok_r(NULL, ".", &rest))
		status = json_object_get(status, name);
	return status;
}

static void put_family(FILE *f, const json_t *status, size_t family)
{
	const char *name = families[family].name;

	sl_metrics_put_head(f, name, families[family].type, families[family].help);
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		const json_t *value = find(status, samples[i].path);

		if (!value || strcmp(samples[i].family, name) != 0)
			continue;
		put_name(f, name, families[family].label, samples[i].value);
		fprintf(f, " %lld\n", number(value));
	}
}

static void put_build(FILE *f, const json_t *status)
{
	sl_metrics_put_head(f, "build_info", gauge,
			    "1; the labels say which version and engine run.");
	fprintf(f, "sluice_build_info{version=\"%s\",engine=\"%s\"} 1\n",
		sl_metrics_member(status, "version"), sl_metrics_member(status, "engine"));
}

static void put_port_flag(FILE *f, const json_t *ports, const char *name, const char *key,
			  const char *help)
{
	const json_t *row;
	size_t i;

	sl_metrics_put_head(f, name, gauge, help);
	json_array_foreach(ports, i, row) {
		put_name(f, name, "port", sl_metrics_member(row, "port"));
		fprintf(f, " %lld\n", number(json_object_get(row, key)));
	}
}

static const char *const units[] = { "packets", "bytes" };
#define UNITS (sizeof(units) / sizeof(units[0]))

/* A port that is not there now has none. */
static void put_port_drops(FILE *f, const json_t *ports, const char *unit)
{
	const json_t *row, *value;
	char name[64], key[32];
	size_t i;

	snprintf(name, sizeof(name), "port_dropped_%s_total", unit);
	snprintf(key, sizeof(key), "dropped_%s", unit);
	sl_metrics_put_head(f, name, counter,
			    "Frames that entered by the port and that the fast path dropped.");
	json_array_foreach(ports, i, row) {
		value = json_object_get(row, key);
		if (!value)
			continue;
		put_name(f, name, "port", sl_metrics_member(row, "port"));
		fprintf(f, " %lld\n", number(value));
	}
}

static void put_ports(FILE *f, const json_t *ports)
{
	const json_t *row;
	size_t i;

	sl_metrics_put_head(f, "port_info", gauge,
			    "1; the labels say the port's state and the mode of XDP.");
	json_array_foreach(ports, i, row) {
		fputs("sluice_port_info{port=\"", f);
		sl_metrics_put_label(f, sl_metrics_member(row, "port"));
		fprintf(f, "\",state=\"%s\",mode=\"%s\"} 1\n", sl_metrics_member(row, "state"),
			sl_metrics_member(row, "mode"));
	}
	put_port_flag(f, ports, "port_up", "up", "1: the netdev is set up and has a carrier.");
	put_port_flag(f, ports, "port_sends", "transmits",
		      "1: the driver takes redirected frames.");
	for (size_t u = 0; u < UNITS; u++)
		put_port_drops(f, ports, units[u]);
}

static void put_counters(FILE *f, const json_t *rows, const char *kind, const char *label,
			 const char *help)
{
	const json_t *row;
	size_t i;

	for (size_t u = 0; u < UNITS; u++) {
		char name[64];

		snprintf(name, sizeof(name), "%s_%s_total", kind, units[u]);
		sl_metrics_put_head(f, name, counter, help);
		json_array_foreach(rows, i, row) {
			if (strcmp(sl_metrics_member(row, "kind"), kind) != 0)
				continue;
			put_name(f, name, label, sl_metrics_member(row, "name"));
			fprintf(f, " %lld\n", number(json_object_get(row, units[u])));
		}
	}
}

static void put_filter_name(FILE *f, const char *name, const char *list, const char *rule)
{
	fprintf(f, "sluice_%s{list=\"", name);
	sl_metrics_put_label(f, list);
	fputs("\",rule=\"", f);
	sl_metrics_put_label(f, rule);
	fputc('"', f);
}

static void put_filter(FILE *f, const char *name, const char *list, const char *rule,
		       long long value)
{
	put_filter_name(f, name, list, rule);
	fprintf(f, "} %lld\n", value);
}

/* By name; the rules of a list that have none are one sum. Each list ends in its default. */
static void put_filters(FILE *f, const json_t *rows)
{
	const json_t *row;
	size_t i;

	for (size_t u = 0; u < UNITS && json_array_size(rows); u++) {
		long long unnamed = 0;
		char name[64];

		snprintf(name, sizeof(name), "filter_%s_total", units[u]);
		sl_metrics_put_head(f, name, counter,
				    "What the rules of filter lists have decided.");
		json_array_foreach(rows, i, row) {
			const char *list = sl_metrics_member(row, "list");
			const char *rule = sl_metrics_member(row, "name");
			long long value = number(json_object_get(row, units[u]));

			if (json_is_null(json_object_get(row, "rule"))) {
				put_filter(f, name, list, "unnamed", unnamed);
				put_filter(f, name, list, "default", value);
				unnamed = 0;
			} else if (*rule) {
				put_filter(f, name, list, rule, value);
			} else {
				unnamed += value;
			}
		}
	}
}

/* The words of `show filters` for the colours of RFC 2697 and 2698. */
static const char *const police_results[] = { "conformed", "exceeded", "violated" };
#define POLICE_RESULTS (sizeof(police_results) / sizeof(police_results[0]))

static void put_policer(FILE *f, const char *name, const char *list, const char *rule,
			const long long values[POLICE_RESULTS])
{
	for (size_t r = 0; r < POLICE_RESULTS; r++) {
		put_filter_name(f, name, list, rule);
		fprintf(f, ",result=\"%s\"} %lld\n", police_results[r], values[r]);
	}
}

static bool any_polices(const json_t *rows)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
		if (json_object_get(row, "policer"))
			return true;
	return false;
}

/* Of the rules that police; named as those of put_filters(). */
static void put_policers(FILE *f, const json_t *rows)
{
	const json_t *row;
	size_t i;

	for (size_t u = 0; u < UNITS && any_polices(rows); u++) {
		long long unnamed[POLICE_RESULTS] = { 0 };
		bool has_unnamed = false;
		char name[64];

		snprintf(name, sizeof(name), "filter_policed_%s_total", units[u]);
		sl_metrics_put_head(f, name, counter,
				    "What the policers of rules of filter lists have seen.");
		json_array_foreach(rows, i, row) {
			const json_t *policer = json_object_get(row, "policer");
			const char *list = sl_metrics_member(row, "list");
			const char *rule = sl_metrics_member(row, "name");
			long long values[POLICE_RESULTS];

			if (json_is_null(json_object_get(row, "rule")) && has_unnamed) {
				put_policer(f, name, list, "unnamed", unnamed);
				memset(unnamed, 0, sizeof(unnamed));
				has_unnamed = false;
			}
			for (size_t r = 0; policer && r < POLICE_RESULTS; r++) {
				values[r] = number(json_object_get(
					json_object_get(policer, police_results[r]), units[u]));
				unnamed[r] += *rule ? 0 : values[r];
			}
			if (policer && *rule)
				put_policer(f, name, list, rule, values);
			has_unnamed |= policer && !*rule;
		}
	}
}

char *sl_metrics_text(const json_t *status, const json_t *ports, const json_t *counters,
		      const json_t *reasons, const json_t *filters,
		      const struct sl_metrics_elements *elements,
		      const struct sl_metrics_cluster *cluster, const json_t *agent)
{
	char *out = NULL;
	size_t bytes;
	FILE *f = open_memstream(&out, &bytes);
	bool failed;

	if (!f)
		return NULL;
	put_build(f, status);
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		put_family(f, status, i);
	put_ports(f, ports);
	put_counters(f, counters, "stage", "stage", "Frames at a stage of the fast path.");
	put_counters(f, reasons, "drop", "reason", "Frames dropped, by reason.");
	put_counters(f, reasons, "punt", "reason", "Frames given to the kernel, by reason.");
	put_filters(f, filters);
	put_policers(f, filters);
	sl_metrics_put_elements(f, elements);
	if (cluster)
		sl_metrics_put_cluster(f, cluster);
	sl_metrics_put_agent(f, agent);
	failed = ferror(f);
	if (fclose(f) || failed) {
		free(out);
		return NULL;
	}
	return out;
}
