/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice cluster status: etcd's members, the version that is current, and where each node stands.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/document/document.h"
#include "user/ipc/control_client.h"
#include "user/text/table.h"
#include "user/versions/version_request.h"

#define AGENT_PATIENCE_MS 2000

struct status {
	struct sl_version_request *r;
	struct sl_etcd_current current;
	json_t *endpoints, *applied, *present, *nodes; /* owned */
	json_t *agent;				       /* owned; NULL: none runs here */
	bool reached;				       /* etcd answers */
};

/* --- Asking --- */

static json_t *member_row(struct sl_version_request *r, unsigned int i)
{
	json_t *answer = NULL, *row;
	int err = sl_etcd_call_at(r->etcd, i, "/v3/maintenance/status", json_object(), &answer);
	const long long leader = sl_etcd_number(answer, "leader");

	row = json_pack("{s:s, s:b}", "endpoint", sl_etcd_endpoint(r->etcd, i), "answers", !err);
	if (err) {
		json_object_set_new(row, "why", json_string(sl_etcd_why(r->etcd)));
	} else {
		json_object_set_new(row, "etcd", json_string(sl_cmd_text(answer, "version")));
		json_object_set_new(row, "has_leader", json_boolean(leader != 0));
		json_object_set_new(
			row, "leads",
			json_boolean(leader == sl_etcd_number(json_object_get(answer, "header"),
							      "member_id")));
	}
	json_decref(answer);
	return row;
}

/* What the current version's text names, and who is present besides. */
static void list_nodes(struct status *s)
{
	char error[SL_YAML_ERROR_BYTES], *text = NULL;
	size_t bytes;
	const char *id;
	json_t *row;

	if (!sl_etcd_read_version(s->r->etcd, s->r->settings->prefix, s->current.number, &text,
				  &bytes) &&
	    text)
		sl_document_check("", text, bytes, &s->nodes, error);
	free(text);
	if (!s->nodes)
		s->nodes = json_array();
	json_object_foreach(s->present, id, row) {
		bool known = false;
		const json_t *node;
		size_t i;

		json_array_foreach(s->nodes, i, node)
			known = known || json_integer_value(node) == strtoll(id, NULL, 10);
		if (!known)
			json_array_append_new(s->nodes, json_integer(strtoll(id, NULL, 10)));
	}
}

static void ask_agent(struct status *s)
{
	char why[256];
	json_t *rows;

	if (!sl_client_listens(s->r->settings->control))
		return;
	rows = sl_client_ask("sluice-cluster", s->r->settings->control,
			     json_pack("{s:s}", "command", "status"), AGENT_PATIENCE_MS, why,
			     sizeof(why));
	s->agent = json_incref(json_array_get(rows, 0));
	json_decref(rows);
}

static int ask_etcd(struct status *s)
{
	const char *prefix = s->r->settings->prefix;
	int err;

	s->endpoints = json_array();
	for (unsigned int i = 0; sl_etcd_endpoint(s->r->etcd, i); i++)
		json_array_append_new(s->endpoints, member_row(s->r, i));
	err = sl_etcd_read_current(s->r->etcd, prefix, &s->current);
	if (!err)
		err = sl_etcd_read_applied(s->r->etcd, prefix, &s->applied);
	if (!err)
		err = sl_etcd_read_present(s->r->etcd, prefix, &s->present);
	if (!err)
		list_nodes(s);
	s->reached = !err;
	return err;
}

/* --- Printing --- */

static void print_members(const struct status *s)
{
	static const char *const headers[] = { "endpoint", "etcd", "" };
	struct sl_table *table = sl_table_create(headers, 3);
	const json_t *row;
	size_t i;

	json_array_foreach(table ? s->endpoints : NULL, i, row) {
		sl_table_cell(table, "%s", sl_cmd_text(row, "endpoint"));
		sl_table_cell(table, "%s", sl_cmd_text(row, "etcd"));
		if (!json_is_true(json_object_get(row, "answers")))
			sl_table_cell(table, "does not answer: %s", sl_cmd_text(row, "why"));
		else if (!json_is_true(json_object_get(row, "has_leader")))
			sl_table_cell(table, "has no leader");
		else
			sl_table_cell(table, "%s",
				      json_is_true(json_object_get(row, "leads")) ? "leads" : "");
	}
	if (table)
		sl_table_print(table, stdout);
	sl_table_destroy(table);
}

static void print_current(const struct status *s)
{
	const json_t *row;
	size_t i;

	if (!s->current.number) {
		puts("\nNothing has been applied yet: `sluice cluster apply FILE`.");
		return;
	}
	printf("\nVersion %lld is current", s->current.number);
	json_array_foreach(s->applied, i, row)
		if (sl_cmd_number(row, "version") == s->current.number)
			printf(", applied %s by %s", sl_cmd_text(row, "time"),
			       sl_cmd_text(row, "by"));
	puts(".");
}

/* etcd has been restored from a backup if nodes are ahead of it. */
static void print_ahead(const struct status *s)
{
	long long most = 0;
	const json_t *row;
	const char *id;

	json_object_foreach(s->present, id, row)
		if (sl_cmd_number(row, "version") > most)
			most = sl_cmd_number(row, "version");
	if (most > s->current.number)
		printf("Nodes have version %lld in force, which etcd does not know: was it restored "
		       "from a backup?\nThey keep it until `sluice cluster apply FILE` or "
		       "`rollback N` writes a newer one.\n",
		       most);
}

/* "0.2.0", or "0.2.0/0.1.0" where sluiced and the bridge differ; and "4-5" */
static void release_cells(struct sl_table *table, const json_t *release)
{
	const char *daemon = sl_cmd_text(release, "sluiced");
	const char *bridge = sl_cmd_text(release, "bridge");
	const json_t *protocol = json_object_get(release, "protocol");

	if (strcmp(daemon, bridge) != 0)
		sl_table_cell(table, "%s/%s", *daemon ? daemon : "-", *bridge ? bridge : "-");
	else
		sl_table_cell(table, "%s", *daemon ? daemon : "-");
	if (json_is_array(protocol))
		sl_table_cell(table, "%lld-%lld", json_integer_value(json_array_get(protocol, 0)),
			      json_integer_value(json_array_get(protocol, 1)));
	else
		sl_table_cell(table, "-");
}

static void print_nodes(const struct status *s)
{
	static const char *const headers[] = { ">node", ">version", "release", "protocol", "" };
	struct sl_table *table = sl_table_create(headers, 5);
	const json_t *node;
	size_t i;

	json_array_foreach(table ? s->nodes : NULL, i, node) {
		char id[16], words[600], traffic[600], away[600];
		const json_t *row;
		bool done, refused;

		snprintf(id, sizeof(id), "%lld", json_integer_value(node));
		row = json_object_get(s->present, id);
		sl_version_stand(row, s->current.number, words, sizeof(words), &done, &refused);
		sl_table_cell(table, "%s", id);
		if (sl_cmd_number(row, "version"))
			sl_table_cell(table, "%lld", sl_cmd_number(row, "version"));
		else
			sl_table_cell(table, "-");
		release_cells(table, json_object_get(row, "release"));
		sl_version_traffic(row, traffic, sizeof(traffic));
		sl_version_away(row, away, sizeof(away));
		sl_table_cell(table, "%s%s%s%s%s%s%s", done ? "in force" : words,
			      *traffic ? "; " : "", traffic, *away ? "; " : "", away,
			      *sl_cmd_text(row, "note") ? "; " : "", sl_cmd_text(row, "note"));
	}
	if (table)
		sl_table_print(table, stdout);
	sl_table_destroy(table);
}

/* The nodes by what they run, if that is not the same on all: {"0.2.0": [1, 2], "0.1.0": [3]} */
static void print_releases(const struct status *s)
{
	json_t *by = json_object();
	const json_t *row, *node;
	const char *id, *release, *comma = "Nodes run different releases: ";
	size_t i;

	json_object_foreach(s->present, id, row) {
		const json_t *its = json_object_get(row, "release");
		const char *both[] = { sl_cmd_text(its, "sluiced"), sl_cmd_text(its, "bridge") };

		for (int k = 0; k < 2; k++) {
			if (!*both[k] || (k && strcmp(both[0], both[1]) == 0))
				continue;
			if (!json_object_get(by, both[k]))
				json_object_set_new(by, both[k], json_array());
			json_array_append_new(json_object_get(by, both[k]),
					      json_integer(strtoll(id, NULL, 10)));
		}
	}
	if (json_object_size(by) > 1) {
		json_object_foreach(by, release, row) {
			printf("%s%s on", comma, release);
			json_array_foreach(row, i, node)
				printf(" %lld", json_integer_value(node));
			comma = ", ";
		}
		puts(".\n`sluice cluster upgrade` brings them to one, node by node.");
	}
	json_decref(by);
}

static void print_agent(const struct status *s)
{
	const json_t *etcd = json_object_get(s->agent, "etcd");

	if (!s->agent)
		return;
	printf("\nThis node, %lld: version %lld", sl_cmd_number(s->agent, "node"),
	       sl_cmd_number(s->agent, "version"));
	if (json_is_true(json_object_get(etcd, "reached")))
		printf("; its agent hears etcd at %s.\n", sl_cmd_text(etcd, "endpoint"));
	else
		printf("; its agent has not heard etcd for %lld s: %s.\n",
		       sl_cmd_number(etcd, "away_s"), sl_cmd_text(etcd, "why"));
}

static void print_json(const struct status *s)
{
	json_t *row =
		json_pack("{s:O, s:o, s:O?, s:O?, s:O?}", "endpoints", s->endpoints, "version",
			  s->reached ? json_integer(s->current.number) : json_null(), "nodes",
			  s->nodes, "present", s->present, "agent", s->agent);

	sl_cmd_dump(row);
	json_decref(row);
}

int sl_version_status(struct sl_version_request *r)
{
	struct status s = { .r = r };
	int status = sl_version_open(r), err;

	if (status != SL_EXIT_OK)
		return status;
	ask_agent(&s);
	err = ask_etcd(&s);
	if (r->json) {
		print_json(&s);
	} else {
		print_members(&s);
		if (s.reached) {
			print_current(&s);
			print_ahead(&s);
			print_nodes(&s);
			print_releases(&s);
		}
		print_agent(&s);
		fflush(stdout);
	}
	if (err)
		status = sl_version_failed(r, err);
	json_decref(s.endpoints);
	json_decref(s.applied);
	json_decref(s.present);
	json_decref(s.nodes);
	json_decref(s.agent);
	return status;
}
