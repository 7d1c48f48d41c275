/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sluice cluster upgrade: bring nodes to another release, one after the other. Each is drained, and
 * the operator's command runs once it is at rest; when its agent says that the daemons run the
 * release, have the configuration in force, know as many routes as before, and reach the other
 * nodes, its traffic comes back. What is done is to be seen in etcd alone, so the command can be
 * run again after whatever ended it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "user/document/document.h"
#include "user/versions/await_agents.h"
#include "user/versions/node_marks.h"

#define NODES_MAX     255
#define COMMAND_BYTES 4096
#define ROUTES_PART   100 /* a node has its routes back when at most one of so many is missing */

struct upgrade {
	struct sl_version_request *r; /* borrowed */
	uint32_t node[NODES_MAX];
	uint32_t n, done;	    /* done: so many of them, from the first */
	bool member[NODES_MAX + 1]; /* by id: in the version that was current when a turn began */
	json_t *upgraded, *skipped; /* owned: ids */
};

/* The node whose turn it is. */
struct turn {
	const struct upgrade *u;
	uint32_t node;
	long long version; /* of the configuration, that has its mark, or no mark any more */
	bool drained, by_us,
		resumed;  /* by_us: this command has drained it; resumed: an earlier one */
	long long routes; /* that it knew when it was at rest */
	const char *why;  /* of the failure */
};

/* --- What the agents say --- */

static const json_t *says(const json_t *present, uint32_t node)
{
	char id[16];

	snprintf(id, sizeof(id), "%u", node);
	return json_object_get(present, id);
}

static bool runs(const json_t *row, const char *release)
{
	const json_t *its = json_object_get(row, "release");

	return strcmp(sl_cmd_text(its, "sluiced"), release) == 0 &&
	       strcmp(sl_cmd_text(its, "bridge"), release) == 0;
}

/* A node without an agent may be off. One that has left may have an agent, and reaches nobody. */
static bool counts(const struct upgrade *u, const json_t *present, long long node)
{
	return node > 0 && node <= NODES_MAX && u->member[node] && says(present, (uint32_t)node);
}

/*
 * Do the bridges reach each other: those of other pairs than the node's, or those of the node's
 * pairs?
 */
static bool reach(const struct turn *t, json_t *present, bool its, char words[SL_AWAIT_WORDS])
{
	const json_t *row, *other;
	const char *id;
	size_t i;

	json_object_foreach(present, id, row) {
		json_array_foreach(json_object_get(json_object_get(row, "release"), "away"), i,
				   other) {
			const long long from = strtoll(id, NULL, 10);
			const long long to = sl_cmd_number(other, "node");
			const char *why = sl_cmd_text(other, "why");

			if (!counts(t->u, present, from) || !counts(t->u, present, to) ||
			    (from == t->node || to == t->node) != its)
				continue;
			snprintf(words, SL_AWAIT_WORDS, "node %lld does not reach node %lld%s%s%s",
				 from, to, *why ? " (" : "", why, *why ? ")" : "");
			return false;
		}
	}
	return true;
}

static bool others_reach(void *arg, json_t *present, char words[SL_AWAIT_WORDS])
{
	const struct turn *t = arg;

	if (!says(present, t->node)) {
		snprintf(words, SL_AWAIT_WORDS, "no agent is present, which would tell");
		return false;
	}
	return reach(t, present, false, words);
}

static bool is_at_rest(void *arg, json_t *present, char words[SL_AWAIT_WORDS])
{
	struct turn *t = arg;
	const json_t *row = says(present, t->node);
	const enum sl_rest rest = sl_version_rest(row, t->version, words);

	if (rest == SL_AT_REST)
		t->routes = sl_cmd_number(json_object_get(row, "drain"), "routes");
	/* A former command may have ended it, and nothing but this one brings it back. */
	return rest == SL_AT_REST || (rest == SL_ABSENT && t->resumed);
}

static bool is_upgraded(void *arg, json_t *present, char words[SL_AWAIT_WORDS])
{
	const struct turn *t = arg;
	const json_t *row = says(present, t->node), *its = json_object_get(row, "release");
	const long long routes = sl_cmd_number(json_object_get(row, "drain"), "routes");
	const char *to = t->u->r->to;
	bool done, refused;

	sl_version_stand(row, t->version, words, SL_AWAIT_WORDS, &done, &refused);
	if (!row || (!done && sl_cmd_number(row, "version") <= t->version))
		return false;
	if (!runs(row, to)) {
		const char *daemon = sl_cmd_text(its, "sluiced");
		const char *bridge = sl_cmd_text(its, "bridge");

		snprintf(words, SL_AWAIT_WORDS, "sluiced is %s, sluice-bridge %s, and not %s",
			 *daemon ? daemon : "away", *bridge ? bridge : "away", to);
		return false;
	}
	if (routes < t->routes - t->routes / ROUTES_PART) {
		snprintf(words, SL_AWAIT_WORDS, "it knows %lld routes, %lld before", routes,
			 t->routes);
		return false;
	}
	if (json_is_null(json_object_get(its, "away"))) {
		snprintf(words, SL_AWAIT_WORDS, "its bridge does not say which nodes it reaches");
		return false;
	}
	return reach(t, present, true, words);
}

static int await(struct turn *t, bool (*is_so)(void *, json_t *, char *), bool *so)
{
	const struct sl_await await = { .node = t->node, .is_so = is_so, .arg = t };
	char words[SL_AWAIT_WORDS];
	int status = sl_version_await(t->u->r, &await, so, words);

	if (status == SL_EXIT_OK && !*so)
		fprintf(stderr, "sluice: cluster: node %u: not within %g s: %s\n", t->node,
			t->u->r->timeout_s, words);
	return status;
}

static int must(struct turn *t, bool (*is_so)(void *, json_t *, char *))
{
	bool so;
	int status = await(t, is_so, &so);

	return status == SL_EXIT_OK && !so ? SL_EXIT_FAILED : status;
}

/* --- The operator's commands --- */

/* %n: the node's id; %v: the release; %%: %. */
static int expand(const struct turn *t, const char *command, char out[COMMAND_BYTES])
{
	size_t n = 0;

	for (const char *at = command; *at && n < COMMAND_BYTES; at++) {
		if (at[0] == '%' && at[1] == 'n')
			n += (size_t)snprintf(out + n, COMMAND_BYTES - n, "%u", t->node);
		else if (at[0] == '%' && at[1] == 'v')
			n += (size_t)snprintf(out + n, COMMAND_BYTES - n, "%s", t->u->r->to);
		else
			out[n++] = *at;
		if (at[0] == '%' && at[1] && strchr("nv%", at[1]))
			at++;
	}
	if (n >= COMMAND_BYTES) {
		fputs("sluice: cluster: upgrade: the command is too long\n", stderr);
		return SL_EXIT_USAGE;
	}
	out[n] = '\0';
	return SL_EXIT_OK;
}

/* Run it as a shell does. With JSON, what it says goes where messages go. */
static int run(struct turn *t, const char *command)
{
	char line[COMMAND_BYTES];
	int status = expand(t, command, line), ended = 0;
	pid_t pid;

	if (status != SL_EXIT_OK)
		return status;
	if (!t->u->r->json)
		printf("node %u: %s\n", t->node, line);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (t->u->r->json)
			dup2(STDERR_FILENO, STDOUT_FILENO);
		execl("/bin/sh", "sh", "-c", line, (char *)NULL);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &ended, 0) < 0 && errno == EINTR)
		;
	if (pid > 0 && WIFEXITED(ended) && WEXITSTATUS(ended) == 0)
		return SL_EXIT_OK;
	if (pid < 0)
		fprintf(stderr, "sluice: cluster: node %u: cannot run the command: %s\n", t->node,
			strerror(errno));
	else
		fprintf(stderr, "sluice: cluster: node %u: the command ended with %s %d: %s\n",
			t->node, WIFEXITED(ended) ? "status" : "signal",
			WIFEXITED(ended) ? WEXITSTATUS(ended) : WTERMSIG(ended), line);
	return SL_EXIT_FAILED;
}

static int tell_routing(struct turn *t)
{
	return t->u->r->routing ? run(t, t->u->r->routing) : SL_EXIT_OK;
}

/* --- One node --- */

/* Was it this command that drained it, and has nobody taken that back? */
static int read_origin(struct turn *t)
{
	static const char *const words[] = { "drain", "undrain", "upgrade" };
	const struct sl_version_request *r = t->u->r;
	json_t *applied = NULL;
	const json_t *row;
	size_t i;
	int err = sl_etcd_read_applied(r->etcd, r->settings->prefix, &applied);

	json_array_foreach(applied, i, row)
		for (size_t k = 0; k < sizeof(words) / sizeof(words[0]); k++)
			if (sl_cmd_number(row, words[k]) == t->node)
				t->by_us = t->drained && strcmp(words[k], "upgrade") == 0;
	json_decref(applied);
	return err ? sl_version_failed(r, err) : SL_EXIT_OK;
}

/* The nodes of the current version, in their order: *nodes, a new reference. */
static int read_members(struct upgrade *u, json_t **nodes)
{
	struct sl_version_request *r = u->r;
	struct sl_version_text text = { 0 };
	struct sl_etcd_current current;
	const json_t *node;
	size_t i;
	int err = sl_etcd_read_current(r->etcd, r->settings->prefix, &current), status;

	*nodes = NULL;
	if (err)
		return sl_version_failed(r, err);
	status = sl_version_read(r, current.number, &text);
	if (status == SL_EXIT_OK)
		status = sl_version_check(text.name, text.text, text.bytes, nodes);
	free(text.text);
	memset(u->member, 0, sizeof(u->member));
	json_array_foreach(*nodes, i, node)
		u->member[json_integer_value(node)] = true; /* checked: 1 to NODES_MAX */
	return status;
}

/* Drained or not: as it says how it stands, and which release it runs. */
static int begin(struct upgrade *u, struct turn *t, bool *has_it)
{
	struct sl_version_request *r = t->u->r;
	json_t *present = NULL, *nodes = NULL;
	int status = sl_version_read_mark(r, t->node, &t->version, &t->drained), err;

	if (status == SL_EXIT_OK)
		status = read_members(u, &nodes);
	json_decref(nodes);
	if (status == SL_EXIT_OK)
		status = read_origin(t);
	if (status != SL_EXIT_OK)
		return status;
	err = sl_etcd_read_present(r->etcd, r->settings->prefix, &present);
	*has_it = !err && runs(says(present, t->node), r->to);
	json_decref(present);
	return err ? sl_version_failed(r, err) : SL_EXIT_OK;
}

static int mark(struct turn *t, bool drain)
{
	int status = sl_version_mark(t->u->r, t->node, drain ? "upgrade" : "undrain", drain);

	if (status == SL_EXIT_OK)
		status = sl_version_read_mark(t->u->r, t->node, &t->version, &t->drained);
	t->by_us = drain;
	return status == SL_EXIT_OK ? tell_routing(t) : status;
}

static int exchange(struct turn *t)
{
	bool at_rest;
	int status = await(t, is_at_rest, &at_rest);

	if (status == SL_EXIT_OK && !at_rest && !t->u->r->force)
		status = SL_EXIT_FAILED;
	return status == SL_EXIT_OK ? run(t, t->u->r->command) : status;
}

static int upgrade(struct upgrade *u, uint32_t node)
{
	struct turn t = { .u = u, .node = node };
	bool has_it = false, drained_before;
	int status = begin(u, &t, &has_it);

	if (status != SL_EXIT_OK)
		return status;
	drained_before = t.drained && !t.by_us;
	t.resumed = t.by_us;
	if (has_it && !t.by_us) {
		if (!u->r->json)
			printf("node %u runs %s already\n", node, u->r->to);
		json_array_append_new(u->skipped, json_integer(node));
		return SL_EXIT_OK;
	}
	if (!t.by_us)
		status = must(&t, others_reach);
	if (status == SL_EXIT_OK && !t.drained)
		status = mark(&t, true);
	else if (status == SL_EXIT_OK && !has_it)
		status = tell_routing(&t);
	if (status == SL_EXIT_OK && !has_it)
		status = exchange(&t);
	if (status == SL_EXIT_OK)
		status = must(&t, is_upgraded);
	if (status == SL_EXIT_OK && !drained_before)
		status = mark(&t, false);
	if (status != SL_EXIT_OK)
		return status;
	if (!u->r->json)
		printf("node %u runs %s%s\n", node, u->r->to,
		       drained_before ? ", and is drained as it was before" : "");
	json_array_append_new(u->upgraded, json_integer(node));
	return SL_EXIT_OK;
}

/* --- All --- */

static int all_nodes(struct upgrade *u)
{
	json_t *nodes;
	const json_t *node;
	size_t i;
	int status = read_members(u, &nodes);

	json_array_foreach(nodes, i, node)
		if (u->n < NODES_MAX)
			u->node[u->n++] = (uint32_t)json_integer_value(node);
	json_decref(nodes);
	return status;
}

static int named_nodes(struct upgrade *u)
{
	for (int i = 0; i < u->r->argc; i++) {
		int status = sl_version_node(u->r->argv[i], &u->node[u->n]);

		if (status != SL_EXIT_OK)
			return status;
		u->n++;
	}
	return SL_EXIT_OK;
}

static void conclude(struct upgrade *u, int status)
{
	json_t *left = json_array();

	for (uint32_t i = u->done; i < u->n; i++)
		json_array_append_new(left, json_integer(u->node[i]));
	if (status != SL_EXIT_OK && status != SL_EXIT_USAGE) {
		fputs("sluice: cluster: upgrade: left:", stderr);
		for (uint32_t i = u->done; i < u->n; i++)
			fprintf(stderr, " %u", u->node[i]);
		fputs("; the same command goes on with them\n", stderr);
	}
	/* The versions that it wrote on the way are no part of the answer. */
	json_decref(u->r->answer);
	u->r->answer = NULL;
	sl_version_say(u->r, json_pack("{s:s, s:O, s:O, s:o}", "to", u->r->to, "upgraded",
				       u->upgraded, "skipped", u->skipped, "left", left));
}

int sl_version_upgrade(struct sl_version_request *r)
{
	struct upgrade u = { .r = r, .upgraded = json_array(), .skipped = json_array() };
	int status = named_nodes(&u);

	if (status == SL_EXIT_OK)
		status = sl_version_open(r);
	if (status == SL_EXIT_OK && r->all)
		status = all_nodes(&u);
	while (status == SL_EXIT_OK && u.done < u.n) {
		status = upgrade(&u, u.node[u.done]);
		u.done += status == SL_EXIT_OK;
	}
	if (r->etcd)
		conclude(&u, status);
	json_decref(u.upgraded);
	json_decref(u.skipped);
	return status;
}
