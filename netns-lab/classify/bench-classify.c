/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench-classify: the cost of classifying one packet, by style, family and length of the rule list,
 * the time to compile the list, and its memory. Run from the top of the tree, as root.
 *
 * All packets are classified in BPF, in a loop over fields made beforehand: 64 packets again and
 * again, or 65,536 different ones. Half of them lie in a rule. An empty loop over the same packets
 * is subtracted. Each list is measured twice in each run, in turn with the others (A/A).
 */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "netns-lab/classify/classify_rig.h"
#include "netns-lab/classify/rule_sets.h"
#include "netns-lab/gen/tool.h"

#define RUNS_DEFAULT 7
#define RUNS_MAX     101
#define SAMPLE_NS    10000000 /* a sample lasts at least this long */
#define FEW_PACKETS  64

static const uint32_t sizes[] = { 10, 100, 1000, 4096 };
#define SIZES	 (sizeof(sizes) / sizeof(sizes[0]))
#define ROWS_MAX (LAB_RULE_STYLES * 2 * SIZES)

struct row {
	enum lab_rule_style style;
	uint8_t family;
	uint32_t n, slot;
	size_t image_bytes;
	double compile_ms;
	double few[2][RUNS_MAX], many[2][RUNS_MAX]; /* ns; measured twice in each run */
};

struct bench {
	struct classify_rig *rig;
	struct sl_flow *flows; /* owned; LAB_FLOWS_MAX for each row */
	struct row rows[ROWS_MAX];
	uint32_t n_rows, runs;
};

static struct sl_rule rules[SL_RULES_MAX];

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values, uint32_t n)
{
	qsort(values, n, sizeof(*values), by_value);
	return values[n / 2];
}

static int prepare(struct bench *b, struct row *row)
{
	uint64_t random = 1000 + row->n, start_ns;
	struct sl_image image;
	int err;

	lab_rules_make(row->style, row->family, row->n, row->n + 1, rules);
	start_ns = lab_now_ns();
	err = sl_compile(rules, row->n, row->family, SL_FILTER_PERMIT, SL_RULE_NONE, &image);
	row->compile_ms = (double)(lab_now_ns() - start_ns) / 1e6;
	if (err)
		return err;
	row->image_bytes = image.n_bytes;
	free(image.bytes);
	err = classify_rig_put(b->rig, row->slot, rules, row->n, row->family, SL_FILTER_PERMIT);
	for (uint32_t i = 0; i < LAB_FLOWS_MAX; i++)
		lab_rules_flow(rules, row->n, row->family, &random,
			       &b->flows[(size_t)row->slot * LAB_FLOWS_MAX + i]);
	return err;
}

/* Mean ns a packet of n, less those of an empty loop. */
static int sample(struct bench *b, const struct row *row, uint32_t n, double *ns)
{
	const enum lab_classify_mode modes[] = { LAB_CLASSIFY_NOTHING, LAB_CLASSIFY_LIST };
	double took[2];

	for (int i = 0; i < 2; i++) {
		uint32_t run_ns, repeat = 1;
		int err = classify_rig_run(b->rig, modes[i], row->slot, n, 1, &run_ns);

		if (!err) {
			repeat = SAMPLE_NS / (run_ns + 1) + 1;
			err = classify_rig_run(b->rig, modes[i], row->slot, n, repeat, &run_ns);
		}
		if (err)
			return err;
		took[i] = (double)run_ns / n;
	}
	*ns = took[1] - took[0];
	return 0;
}

static int measure(struct bench *b, uint32_t run)
{
	int err = 0;

	for (uint32_t i = 0; i < b->n_rows && !err; i++) {
		struct row *row = &b->rows[i];

		memcpy(b->rig->flows, b->flows + (size_t)row->slot * LAB_FLOWS_MAX,
		       LAB_FLOWS_MAX * sizeof(*b->flows));
		for (int again = 0; again < 2 && !err; again++) {
			err = sample(b, row, FEW_PACKETS, &row->few[again][run]);
			if (!err)
				err = sample(b, row, LAB_FLOWS_MAX, &row->many[again][run]);
		}
	}
	return err;
}

static void report(struct bench *b, bool json)
{
	json_t *out = json_array();

	if (!json)
		printf("ns a packet, medians of %u runs; again: the same measured twice (A/A)\n"
		       "%-8s %3s %6s %9s %9s %9s %9s %10s %12s\n",
		       b->runs, "list", "IP", "rules", "few", "again", "many", "again",
		       "compile ms", "memory KiB");
	for (uint32_t i = 0; i < b->n_rows; i++) {
		struct row *row = &b->rows[i];
		double few = median(row->few[0], b->runs), few2 = median(row->few[1], b->runs);
		double many = median(row->many[0], b->runs), many2 = median(row->many[1], b->runs);
		int version = row->family == AF_INET ? 4 : 6;

		if (!json)
			printf("%-8s %3d %6u %9.1f %9.1f %9.1f %9.1f %10.1f %12zu\n",
			       lab_rule_style_name(row->style), version, row->n, few, few2, many,
			       many2, row->compile_ms, row->image_bytes / 1024);
		json_array_append_new(
			out, json_pack("{s:s, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:I}", "list",
				       lab_rule_style_name(row->style), "family", version, "rules",
				       (int)row->n, "few_ns", few, "few_again_ns", few2, "many_ns",
				       many, "many_again_ns", many2, "compile_ms", row->compile_ms,
				       "memory_bytes", (json_int_t)row->image_bytes));
	}
	if (json)
		lab_print_json(out);
	else
		json_decref(out);
}

static const char usage[] = "usage: bench-classify [-j] [-n RUNS]\n"
			    "  -n, --runs RUNS   of each list (default 7)\n"
			    "  -j, --json        rows as JSON\n";

int main(int argc, char **argv)
{
	static const struct option options[] = { { "json", no_argument, NULL, 'j' },
						 { "runs", required_argument, NULL, 'n' },
						 { "help", no_argument, NULL, 'h' },
						 { 0 } };
	static struct bench b = { .runs = RUNS_DEFAULT };
	bool json = false;
	int c, err;

	while ((c = getopt_long(argc, argv, "jn:h", options, NULL)) != -1) {
		if (c == 'j')
			json = true;
		else if (c == 'n' && !lab_parse_u32("runs", optarg, 1, RUNS_MAX, &b.runs))
			continue;
		else if (c == 'h')
			return printf("%s", usage) < 0;
		else
			return c == 'n' ? 2 : lab_fail(2, "%s", usage);
	}
	if (optind < argc)
		return lab_fail(2, "\"%s\" is no option; %s", argv[optind], usage);
	err = classify_rig_open(LAB_CLASSIFY_OBJECT, &b.rig);
	if (err)
		return lab_fail(1, "cannot load %s: %s", LAB_CLASSIFY_OBJECT, strerror(-err));
	b.flows = calloc((size_t)ROWS_MAX * LAB_FLOWS_MAX, sizeof(*b.flows));
	err = b.flows ? 0 : -ENOMEM;
	for (int style = 0; style < LAB_RULE_STYLES; style++)
		for (int ip6 = 0; ip6 < 2; ip6++)
			for (size_t i = 0; i < SIZES && !err; i++, b.n_rows++) {
				struct row *row = &b.rows[b.n_rows];

				row->style = style;
				row->family = ip6 ? AF_INET6 : AF_INET;
				row->n = sizes[i];
				row->slot = b.n_rows;
				err = prepare(&b, row);
			}
	for (uint32_t run = 0; run < b.runs && !err; run++)
		err = measure(&b, run);
	if (!err)
		report(&b, json);
	classify_rig_close(b.rig);
	free(b.flows);
	return lab_exit_status(err ? lab_fail(1, "cannot measure: %s", strerror(-err)) : 0);
}
