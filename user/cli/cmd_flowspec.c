/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice filter flowspec: BIRD's flow specifications as a filter list, once or kept in step */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "user/cli/cmd.h"
#include "user/classify/rule_text.h"
#include "user/import/bird_client.h"
#include "user/import/flowspec_import.h"
#include "user/text/duration.h"

#define TABLES_MAX    8
#define REDIRECTS_MAX 256
#define NS_A_SECOND   1000000000ULL

struct flowspec {
	const char *list;
	const char *table[TABLES_MAX + 1]; /* NULL behind the last */
	uint32_t n_tables;
	const char *socket;
	json_t *ports; /* owned: as the list has them */
	struct sl_flowspec_redirect redirect[REDIRECTS_MAX];
	uint32_t n_redirects;
	uint64_t every_ns;	      /* 0: print the list once */
	char said[SL_BIRD_WHY_BYTES]; /* why BIRD could not be asked the last time; or empty */
};

static int usage(const char *what, const char *right)
{
	fprintf(stderr, "sluice: filter flowspec: \"%s\" is not %s\n", what, right);
	return SL_EXIT_USAGE;
}

/* "AS:NUMBER=TABLE" */
static bool read_redirect(struct flowspec *f, const char *text)
{
	struct sl_flowspec_redirect *redirect = &f->redirect[f->n_redirects];
	unsigned int as;
	int n = 0;

	if (f->n_redirects == REDIRECTS_MAX || strspn(text, "0123456789:=") != strlen(text) ||
	    sscanf(text, "%5u:%10" SCNu32 "=%n", &as, &redirect->number, &n) != 2 || !n ||
	    as > 0xffff || sl_table_parse(text + n, &redirect->table))
		return false;
	redirect->as = (uint16_t)as;
	f->n_redirects++;
	return true;
}

static void read_ports(struct flowspec *f, const char *text)
{
	for (size_t n; *text; text += n + !!text[n]) {
		n = strcspn(text, ",");
		json_array_append_new(f->ports, json_pack("{s:s%}", "name", text, n));
	}
}

static int read_option(struct flowspec *f, const char *text)
{
	const char *value = strchr(text, '=') + 1;

	if (strncmp(text, "socket=", 7) == 0 && *value)
		f->socket = value;
	else if (strncmp(text, "ports=", 6) == 0)
		read_ports(f, value);
	else if (strncmp(text, "every=", 6) == 0) {
		if (sl_duration_parse(value, &f->every_ns) || f->every_ns < NS_A_SECOND / 10)
			return usage(text, "a time: write 100ms or more, such as every=1s");
	} else if (strncmp(text, "redirect=", 9) == 0) {
		if (!read_redirect(f, value))
			return usage(text, "a route target and a table: write such as "
					   "redirect=65000:77=77");
	} else {
		return usage(text,
			     "known: write socket=PATH, ports=PORT,..., redirect=AS:NUMBER=TABLE "
			     "or every=TIME");
	}
	return SL_EXIT_OK;
}

static int read_arguments(struct flowspec *f, int argc, char **argv)
{
	int status = SL_EXIT_OK;

	f->socket = SL_BIRD_SOCKET;
	for (int i = 0; i < argc && status == SL_EXIT_OK; i++) {
		if (strchr(argv[i], '='))
			status = read_option(f, argv[i]);
		else if (!f->list)
			f->list = argv[i];
		else if (f->n_tables < TABLES_MAX)
			f->table[f->n_tables++] = argv[i];
		else
			status = usage(argv[i], "one of at most 8 tables");
	}
	if (status == SL_EXIT_OK && !f->n_tables) {
		fprintf(stderr,
			"sluice: filter flowspec: write a list, and tables of BIRD: `filter "
			"flowspec LIST TABLE... [socket=PATH] [ports=PORT,...] "
			"[redirect=AS:NUMBER=TABLE]... [every=TIME]`\n");
		status = SL_EXIT_USAGE;
	}
	return status;
}

/* The list as BIRD has it now, {"filters": [...]}, and what rules cannot say. 0 or an exit status.
 */
static int fetch(struct flowspec *f, json_t **lists, json_t **refused)
{
	char why[SL_BIRD_WHY_BYTES], *answers;
	json_t *rules;
	int err;

	err = sl_bird_routes(f->socket, f->table, &answers, why);
	if (err && strcmp(why, f->said) != 0)
		fprintf(stderr, "sluice: cannot ask BIRD at \"%s\": %s\n", f->socket, why);
	memcpy(f->said, why, sizeof(why));
	if (err)
		return SL_EXIT_FAILED;
	err = sl_flowspec_import(answers, f->redirect, f->n_redirects, &rules, refused);
	free(answers);
	if (err) {
		fprintf(stderr, "sluice: filter flowspec: %s\n",
			err == -EINVAL ? "the tables are more than the 4096 rules of a list"
				       : strerror(-err));
		return SL_EXIT_FAILED;
	}
	*lists = json_pack("{s:[{s:s, s:O, s:s, s:o}]}", "filters", "name", f->list, "ports",
			   f->ports, "default", "permit", "rules", rules);
	return SL_EXIT_OK;
}

static void tell_refused(const json_t *refused, const json_t *before)
{
	const json_t *each;
	size_t i;

	if (before && json_equal(refused, before))
		return;
	json_array_foreach(refused, i, each)
		fprintf(stderr, "sluice: not installed: %s\n", json_string_value(each));
}

static int put(const struct sl_cmd_options *options, const json_t *lists)
{
	char *text = json_dumps(lists, JSON_COMPACT);
	json_t *request = json_pack("{s:s, s:s, s:s, s:s}", "command", "filter", "do", "replace",
				    "name", "flowspec", "text", text ? text : "");

	free(text);
	return sl_cmd_ask(options, request, NULL, NULL);
}

/* What was not put in force is tried again the next time. */
static void __attribute__((noreturn))
keep_in_step(const struct sl_cmd_options *options, struct flowspec *f)
{
	const struct timespec pause = { .tv_sec = (time_t)(f->every_ns / NS_A_SECOND),
					.tv_nsec = (long)(f->every_ns % NS_A_SECOND) };
	json_t *in_force = NULL, *told = NULL;

	for (;; nanosleep(&pause, NULL)) {
		json_t *lists, *refused;

		if (fetch(f, &lists, &refused) != SL_EXIT_OK)
			continue;
		tell_refused(refused, told);
		json_decref(told);
		told = refused;
		if (in_force && json_equal(lists, in_force)) {
			json_decref(lists);
			continue;
		}
		json_decref(in_force);
		in_force = NULL;
		if (put(options, lists) != SL_EXIT_OK) {
			json_decref(lists);
			continue;
		}
		in_force = lists;
		printf("%s: %zu rules in force, %zu flow specifications not installed\n", f->list,
		       json_array_size(json_object_get(
			       json_array_get(json_object_get(lists, "filters"), 0), "rules")),
		       json_array_size(refused));
		fflush(stdout);
	}
}

int sl_cmd_flowspec(const struct sl_cmd_options *options, int argc, char **argv)
{
	struct flowspec *f = calloc(1, sizeof(*f));
	json_t *lists, *refused;
	int status = SL_EXIT_FAILED;

	if (!f)
		return status;
	f->ports = json_array();
	status = read_arguments(f, argc, argv);
	if (status == SL_EXIT_OK && f->every_ns)
		keep_in_step(options, f);
	if (status == SL_EXIT_OK)
		status = fetch(f, &lists, &refused);
	if (status == SL_EXIT_OK) {
		tell_refused(refused, NULL);
		sl_cmd_dump(lists);
		json_decref(lists);
		json_decref(refused);
	}
	json_decref(f->ports);
	free(f);
	return status;
}
