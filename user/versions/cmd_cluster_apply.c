/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sluice cluster apply, sluice cluster rollback, and versions that are the first one, or the
 * current one with a change: write a version, and see the nodes take it.
 */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "user/lib/clock.h"
#include "user/versions/version_request.h"

#define LOOK_NS	  200000000L /* between two looks at what the nodes say */
#define CHANGES_N 20	     /* lines of a difference that are shown */

struct change {
	struct sl_version_request *r;
	struct sl_etcd_current current;
	struct sl_version_text former, text;
	long long number, rollback_to;	    /* rollback_to: 0 is none */
	const struct sl_version_edit *edit; /* borrowed; NULL: none */
	json_t *nodes, *differs;	    /* owned */
	unsigned int attempt;		    /* of edit */
	bool again;			    /* another version came in between, and it may */
};

/* --- What is written beside the text --- */

static json_t *applied_json(const struct change *c)
{
	const struct passwd *user = getpwuid(getuid());
	const char *sudo = getenv("SUDO_USER");
	const time_t now = time(NULL);
	char when[32], host[128] = "", by[256];
	uint64_t mark = 0;
	json_t *row, *who; /* who: NULL if it is no UTF-8 */
	struct tm utc;

	gmtime_r(&now, &utc);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &utc);
	gethostname(host, sizeof(host) - 1);
	snprintf(by, sizeof(by), "%s@%s", sudo ? sudo : user ? user->pw_name : "?", host);
	who = json_string(by);
	/* Tells this attempt from all others. */
	if (getrandom(&mark, sizeof(mark), 0) != sizeof(mark))
		mark = sl_now_ns();
	row = json_pack("{s:s, s:o, s:I, s:I, s:I}", "time", when, "by",
			who ? who : json_string("?"), "from", (json_int_t)c->current.number,
			"bytes", (json_int_t)c->text.bytes, "mark", (json_int_t)(mark >> 1));
	if (row && c->rollback_to)
		json_object_set_new(row, "rollback", json_integer(c->rollback_to));
	if (row && c->edit)
		json_object_set_new(row, c->edit->word, json_integer(c->edit->node));
	return row;
}

/* --- Which number? --- */

/*
 * One above all that has been: also above what nodes have in force, which is more than etcd knows
 * of where it was restored from a backup. Nodes take no lower number.
 */
static int choose_number(struct change *c)
{
	const char *prefix = c->r->settings->prefix;
	json_t *applied = NULL, *present = NULL;
	const json_t *row;
	const char *id;
	size_t i;
	int err;

	c->number = c->current.number;
	err = sl_etcd_read_applied(c->r->etcd, prefix, &applied);
	if (!err)
		err = sl_etcd_read_present(c->r->etcd, prefix, &present);
	json_array_foreach(applied, i, row)
		if (sl_cmd_number(row, "version") > c->number)
			c->number = sl_cmd_number(row, "version");
	json_object_foreach(present, id, row)
		if (sl_cmd_number(row, "version") > c->number)
			c->number = sl_cmd_number(row, "version");
	c->number++;
	json_decref(applied);
	json_decref(present);
	return err ? sl_version_failed(c->r, err) : SL_EXIT_OK;
}

/* --- What do the nodes say? --- */

/* Print what is new since the last look. True: each node that is there has answered. */
static bool look(const struct change *c, const json_t *present, json_t *said, bool last,
		 unsigned int *in_force, unsigned int *waiting, unsigned int *refusals)
{
	const json_t *node;
	char id[16], words[600];
	size_t i;

	*in_force = *waiting = *refusals = 0;
	json_array_foreach(c->nodes, i, node) {
		const json_t *its;
		bool done, refused, later, is_new;

		snprintf(id, sizeof(id), "%lld", json_integer_value(node));
		its = json_object_get(present, id);
		sl_version_stand(its, c->number, words, sizeof(words), &done, &refused);
		/* Somebody has written another one meanwhile: this one it will never have. */
		later = sl_cmd_number(its, "version") > c->number;
		if (later)
			snprintf(words, sizeof(words), "has version %lld by now, a later one",
				 sl_cmd_number(its, "version"));
		*in_force += done;
		*refusals += refused;
		*waiting += its && !done && !refused && !later;
		is_new = strcmp(sl_cmd_text(said, id), words) != 0;
		json_object_set_new(said, id, json_string(words));
		if (is_new && !c->r->json && (done || refused || later || last)) {
			printf("node %s: %s\n", id, words);
			fflush(stdout);
		}
	}
	return !*waiting;
}

static int conclude(const struct change *c, const json_t *present, unsigned int in_force,
		    unsigned int waiting, unsigned int refusals)
{
	const size_t n = json_array_size(c->nodes);

	sl_version_say(c->r,
		       json_pack("{s:I, s:I, s:O, s:O, s:O, s:i}", "version", (json_int_t)c->number,
				 "from", (json_int_t)c->current.number, "changes", c->differs,
				 "nodes", c->nodes, "present", present, "in_force", (int)in_force));
	if (!c->r->json)
		printf("%u of %zu nodes have version %lld in force\n", in_force, n, c->number);
	return waiting || refusals ? SL_EXIT_FAILED : SL_EXIT_OK;
}

/* etcd has gone since it took the version. */
static int not_known(const struct change *c, int err)
{
	sl_version_say(c->r, json_pack("{s:I, s:I, s:O, s:O, s:n}", "version",
				       (json_int_t)c->number, "from", (json_int_t)c->current.number,
				       "changes", c->differs, "nodes", c->nodes, "in_force"));
	fprintf(stderr,
		"sluice: cluster: version %lld is written, but which nodes have it in force is not "
		"known\n",
		c->number);
	return sl_version_failed(c->r, err);
}

static int await_nodes(const struct change *c)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	const uint64_t end_ns = sl_now_ns() + (uint64_t)(c->r->wait_s * 1e9);
	unsigned int in_force = 0, waiting = 0, refusals = 0;
	json_t *said = json_object(), *present = NULL;
	bool over = false;
	int err = 0, status;

	while (!over) {
		json_decref(present);
		err = sl_etcd_read_present(c->r->etcd, c->r->settings->prefix, &present);
		over = sl_now_ns() >= end_ns || (err && err != -EHOSTUNREACH);
		if (!err && look(c, present, said, over, &in_force, &waiting, &refusals))
			over = true;
		if (!over)
			nanosleep(&pause, NULL);
	}
	if (!err)
		look(c, present, said, true, &in_force, &waiting, &refusals);
	status = err ? not_known(c, err) : conclude(c, present, in_force, waiting, refusals);
	json_decref(said);
	json_decref(present);
	return status;
}

/* --- One change --- */

static void print_change(const struct change *c)
{
	const size_t n = json_array_size(c->differs);

	if (c->r->json)
		return;
	if (!c->former.text)
		printf("version %lld is written, the first one\n", c->number);
	else
		printf("version %lld is written; it differs from version %lld in %zu key%s\n",
		       c->number, c->current.number, n, n == 1 ? "" : "s");
	for (size_t i = 0; c->former.text && i < n && i < CHANGES_N; i++)
		sl_version_print_change(json_array_get(c->differs, i), "  ");
	if (c->former.text && n > CHANGES_N)
		printf("  and %zu more: see `sluice cluster diff %lld %lld`\n", n - CHANGES_N,
		       c->current.number, c->number);
	fflush(stdout);
}

static int refuse_stale(const struct change *c, long long now)
{
	fprintf(stderr,
		"sluice: cluster: version %lld has come since version %lld, so nothing is written: "
		"see `sluice cluster diff %lld %lld`, and apply again\n",
		now, c->current.number, c->current.number, now);
	return SL_EXIT_FAILED;
}

/* Something else is there than was read: another version, or no token any more. */
static int judge_stale(struct change *c)
{
	const struct sl_version_request *r = c->r;
	struct sl_etcd_current now;
	int err = sl_etcd_read_current(r->etcd, r->settings->prefix, &now);

	if (err)
		return sl_version_failed(r, err);
	if (now.revision == c->current.revision) {
		fputs("sluice: cluster: the token has been used, or has expired, just now, so "
		      "nothing is written\n",
		      stderr);
		return SL_EXIT_FAILED;
	}
	c->again = c->edit && c->attempt < c->edit->again;
	return c->again ? SL_EXIT_FAILED : refuse_stale(c, now.number);
}

static int write_it(struct change *c)
{
	const struct sl_version_request *r = c->r;
	json_t *applied = applied_json(c);
	int err = applied ? -EHOSTUNREACH : -ENOMEM;

	/* An answer may get lost when a member dies: the second attempt finds the first one. */
	for (int i = 0; err == -EHOSTUNREACH && i < 2; i++)
		err = sl_etcd_write_version(r->etcd, r->settings->prefix, &c->current, c->number,
					    c->text.text, c->text.bytes, applied,
					    c->edit ? c->edit->token : NULL);
	json_decref(applied);
	if (err == -ESTALE)
		return judge_stale(c);
	return err ? sl_version_failed(r, err) : SL_EXIT_OK;
}

/* The former text, unless nothing has been applied; a number without a text is an empty one. */
static int read_former(struct change *c)
{
	int err = sl_etcd_read_current(c->r->etcd, c->r->settings->prefix, &c->current);

	if (!err && c->current.number)
		err = sl_etcd_read_version(c->r->etcd, c->r->settings->prefix, c->current.number,
					   &c->former.text, &c->former.bytes);
	return err ? sl_version_failed(c->r, err) : SL_EXIT_OK;
}

static int nothing_differs(const struct change *c)
{
	sl_version_say(c->r, json_pack("{s:I, s:I, s:[]}", "version", (json_int_t)c->current.number,
				       "from", (json_int_t)c->current.number, "changes"));
	if (!c->r->json)
		printf("nothing differs from version %lld\n", c->current.number);
	return SL_EXIT_OK;
}

static bool same_text(const struct change *c)
{
	return c->former.text && c->former.bytes == c->text.bytes &&
	       memcmp(c->former.text, c->text.text, c->text.bytes) == 0;
}

/* Write the text, which has been checked. */
static int change(struct change *c)
{
	int status = SL_EXIT_OK;
	json_t *present = NULL;
	const json_t *row;
	const char *id;
	bool older = true;

	if (c->r->based_on >= 0 && c->r->based_on != c->current.number) {
		fprintf(stderr,
			"sluice: cluster: --based-on: version %lld is current, not %lld, so "
			"nothing is written: see `sluice cluster diff %lld %lld`\n",
			c->current.number, c->r->based_on, c->r->based_on, c->current.number);
		return SL_EXIT_FAILED;
	}
	/* Where nodes have a higher number than etcd, the same text takes one they believe. */
	if (same_text(c) && !sl_etcd_read_present(c->r->etcd, c->r->settings->prefix, &present)) {
		json_object_foreach(present, id, row)
			if (sl_cmd_number(row, "version") > c->current.number)
				older = false;
		json_decref(present);
		if (older)
			return nothing_differs(c);
	}
	status = choose_number(c);
	if (status == SL_EXIT_OK)
		status = sl_version_compare(&c->former, &c->text, &c->differs);
	if (status == SL_EXIT_OK)
		status = write_it(c);
	if (status == SL_EXIT_OK && c->edit && c->edit->written)
		status = c->edit->written(c->edit);
	if (status != SL_EXIT_OK)
		return status;
	print_change(c);
	return await_nodes(c);
}

static int check(struct change *c)
{
	return sl_version_check(c->text.name, c->text.text, c->text.bytes, &c->nodes);
}

static void release(struct change *c)
{
	free(c->former.text);
	free(c->text.text);
	json_decref(c->nodes);
	json_decref(c->differs);
}

int sl_version_apply(struct sl_version_request *r)
{
	struct change c = { .r = r };
	int status = sl_version_read_file(r->argv[0], &c.text);

	if (status == SL_EXIT_OK)
		status = check(&c);
	if (status == SL_EXIT_OK)
		status = sl_version_open(r);
	if (status == SL_EXIT_OK)
		status = read_former(&c);
	if (status == SL_EXIT_OK)
		status = change(&c);
	release(&c);
	return status;
}

int sl_version_rollback(struct sl_version_request *r)
{
	struct change c = { .r = r };
	int status = sl_version_open(r);

	if (status == SL_EXIT_OK)
		status = read_former(&c);
	c.rollback_to = c.current.number - 1;
	if (status == SL_EXIT_OK && r->argc)
		sl_version_number(r->argv[0], &c.rollback_to);
	if (status == SL_EXIT_OK && c.rollback_to < 1) {
		fputs("sluice: cluster: there is no version to go back to\n", stderr);
		status = SL_EXIT_FAILED;
	}
	if (status == SL_EXIT_OK)
		status = sl_version_read(r, c.rollback_to, &c.text);
	if (status == SL_EXIT_OK)
		status = check(&c);
	if (status == SL_EXIT_OK)
		status = change(&c);
	release(&c);
	return status;
}

int sl_version_create(struct sl_version_request *r, const char *name, const char *text,
		      size_t bytes)
{
	struct change c = { .r = r, .text.bytes = bytes };
	int status = SL_EXIT_FAILED;

	snprintf(c.text.name, sizeof(c.text.name), "%s", name);
	c.text.text = strdup(text);
	r->based_on = 0;
	if (c.text.text)
		status = check(&c);
	if (status == SL_EXIT_OK)
		status = read_former(&c);
	if (status == SL_EXIT_OK)
		status = change(&c);
	release(&c);
	return status;
}

static int edit_once(struct change *c)
{
	char error[SL_YAML_ERROR_BYTES] = "";
	int status = read_former(c), err;

	if (status == SL_EXIT_OK && !c->former.text) {
		fputs("sluice: cluster: nothing has been applied yet\n", stderr);
		status = SL_EXIT_FAILED;
	}
	if (status != SL_EXIT_OK)
		return status;
	snprintf(c->former.name, sizeof(c->former.name), "version %lld", c->current.number);
	snprintf(c->text.name, sizeof(c->text.name), "version %lld, changed", c->current.number);
	err = c->edit->change(c->edit, &c->former, &c->text.text, &c->text.bytes, error);
	status = sl_version_edit_failed(err, error);
	if (status == SL_EXIT_OK)
		status = check(c);
	if (status == SL_EXIT_OK && c->edit->prepare)
		status = c->edit->prepare(c->edit, &c->text);
	return status == SL_EXIT_OK ? change(c) : status;
}

int sl_version_edit(struct sl_version_request *r, const struct sl_version_edit *edit)
{
	unsigned int attempt = 0;
	bool again;
	int status;

	do {
		struct change c = { .r = r, .edit = edit, .attempt = attempt++ };

		status = edit_once(&c);
		again = c.again;
		release(&c);
	} while (again);
	return status;
}
