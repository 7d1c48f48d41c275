/* SPDX-License-Identifier: BSD-2-Clause */
/* elements-sim: run the paper's experiments on the simulated processor, and compare. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "elements/sim/experiments.h"

static const char usage_text[] =
	"usage: elements-sim [-j] [EXPERIMENT...]\n"
	"\n"
	"Runs experiments of the paper on composable routing elements, on a simulated processor under\n"
	"the scheduler of elements/sched, and prints the paper's figure beside ours. Without a name all\n"
	"run: x1 x4 x5 x6 x8 x9. The others need a running system; see\n"
	"docs/ELEMENTS.md. x1 measures this machine; the others give the same figures everywhere.\n"
	"\n"
	"  -j, --json       as JSON\n"
	"  -h, --help       this text\n"
	"  -V, --version    version\n"
	"\n"
	"Exit status: 0: all shapes are those accepted; 1: one is not; 2: wrong use.\n";

static void print_text(const char *name, const struct el_finding *f)
{
	printf("%s  %s\n    paper     %s\n    ours      %s\n    accepted  %s: %s\n", name, f->what,
	       f->paper, f->ours, f->accepted, f->holds ? "holds" : "does NOT hold");
}

static int add_json(json_t *all, const char *name, const struct el_finding *f)
{
	return json_array_append_new(all,
				     json_pack("{s:s, s:s, s:s, s:s, s:s, s:b}", "experiment", name,
					       "what", f->what, "paper", f->paper, "ours", f->ours,
					       "accepted", f->accepted, "holds", f->holds));
}

static const struct el_experiment *find(const char *name)
{
	const struct el_experiment *e = el_experiments;

	while (e->name && strcmp(e->name, name) != 0)
		e++;
	return e->name ? e : NULL;
}

static bool wanted(const char *name, char **names, int n)
{
	for (int i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return n == 0;
}

/* Returns the exit status. */
static int run(char **names, int n, json_t *all)
{
	int status = 0;

	for (const struct el_experiment *e = el_experiments; e->name; e++) {
		struct el_finding finding = { 0 };
		int err;

		if (!wanted(e->name, names, n))
			continue;
		err = e->run(&finding);
		if (err) {
			fprintf(stderr, "elements-sim: %s: %s\n", e->name, strerror(-err));
			return 1;
		}
		if (!finding.holds)
			status = 1;
		if (!all) {
			print_text(e->name, &finding);
		} else if (add_json(all, e->name, &finding)) {
			fputs("elements-sim: not enough memory\n", stderr);
			return 1;
		}
	}
	return status;
}

/* The exit status after printing: 1 if standard output did not take all of it. */
static int printed(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	fputs("elements-sim: standard output did not take all of it: is its disk full?\n", stderr);
	return 1;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "json", no_argument, NULL, 'j' },
						 { "help", no_argument, NULL, 'h' },
						 { "version", no_argument, NULL, 'V' },
						 { NULL, 0, NULL, 0 } };
	json_t *all = NULL;
	int c, status;

	while ((c = getopt_long(argc, argv, "jhV", options, NULL)) != -1) {
		switch (c) {
		case 'j':
			all = all ? all : json_array();
			break;
		case 'h':
			fputs(usage_text, stdout);
			return printed(0);
		case 'V':
			puts("elements-sim " SL_VERSION);
			return printed(0);
		default:
			fputs(usage_text, stderr);
			return 2;
		}
	}
	for (int i = optind; i < argc; i++)
		if (!find(argv[i])) {
			fprintf(stderr,
				"elements-sim: %s: no such experiment: x1, x4, x5, x6, x8 or x9 is wanted\n",
				argv[i]);
			return 2;
		}
	status = run(argv + optind, argc - optind, all);
	if (all) {
		json_dumpf(all, stdout, JSON_INDENT(2));
		putchar('\n');
	}
	json_decref(all);
	return printed(status);
}
