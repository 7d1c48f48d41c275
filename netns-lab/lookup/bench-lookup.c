/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench-lookup: the cost of one route lookup by engine, family and size of the table, the rate at
 * which tables change, and their memory. Run from the top of the tree, as root.
 *
 * All lookups run in BPF, in a loop over 65,536 addresses made beforehand, each under a random
 * prefix of the table. An empty loop over the same addresses is subtracted. Engines take turns
 * within each run, so that what disturbs the machine disturbs them all; the engine fast is measured
 * twice (A/A), and the difference between its two rows is what this machine calls equal. `kernel`
 * is bpf_fib_lookup (route only, no neighbour) in a network namespace of this process with the same
 * routes.
 */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "netns-lab/lookup/kernel_routes.h"
#include "netns-lab/lookup/lookup_rig.h"
#include "netns-lab/lookup/routes.h"
#include "netns-lab/gen/tool.h"
#include "user/lib/clock.h"

#define SYNTHETIC    1000000
#define RUNS_DEFAULT 7
#define RUNS_MAX     101
#define SAMPLE_NS    20000000 /* a sample of one engine lasts at least this long */
#define UPDATES	     200000

enum row { ROW_EMPTY, ROW_FAST, ROW_FAST_AGAIN, ROW_LPM, ROW_KERNEL, ROW_COUNT };
static const char *const row_name[] = { "empty loop", "fast", "fast (A/A)", "lpm", "kernel" };

struct options {
	uint32_t runs;
	bool json, with_kernel;
	int family; /* AF_UNSPEC: both */
	uint32_t max_routes;
};

struct bench {
	struct options opt;
	uint8_t family;
	struct lookup_rig *fast, *lpm;
	struct kernel_routes *kernel; /* NULL: not measured */
	struct lab_routes routes;
	uint64_t random;
	json_t *rows; /* owned */
};

static int family_number(const struct bench *b)
{
	return b->family == AF_INET ? 4 : 6;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* --- Lookups --- */

static void make_addresses(struct bench *b, uint32_t n_routes)
{
	for (uint32_t i = 0; i < LAB_LOOKUPS_MAX; i++) {
		const struct sl_prefix *p =
			&b->routes.prefix[lab_random_below(&b->random, n_routes)];
		uint8_t addr[16];

		lab_routes_address(p, &b->random, addr);
		memcpy(b->fast->lookups[i].addr, addr, 16);
		memcpy(b->lpm->lookups[i].addr, addr, 16);
	}
}

static struct lookup_rig *rig_of(const struct bench *b, enum row row)
{
	return row == ROW_LPM ? b->lpm : b->fast;
}

static enum lab_lookup_mode mode_of(const struct bench *b, enum row row)
{
	bool ip4 = b->family == AF_INET;

	if (row == ROW_EMPTY)
		return LAB_LOOKUP_NOTHING;
	if (row == ROW_KERNEL)
		return ip4 ? LAB_LOOKUP_KERNEL4 : LAB_LOOKUP_KERNEL6;
	return ip4 ? LAB_LOOKUP_TABLE4 : LAB_LOOKUP_TABLE6;
}

/*
 * Mean ns per address of one sample, which has as many passes as make it long enough. As many
 * uncounted passes come first, so that each engine finds the caches as it leaves them itself.
 */
static int sample(struct bench *b, enum row row, uint32_t *repeat, double *ns)
{
	uint32_t run_ns;
	int rc = lookup_rig_run(rig_of(b, row), mode_of(b, row), LAB_LOOKUPS_MAX, *repeat, NULL);

	if (!rc)
		rc = lookup_rig_run(rig_of(b, row), mode_of(b, row), LAB_LOOKUPS_MAX, *repeat,
				    &run_ns);
	if (rc)
		return rc;
	*ns = (double)run_ns / LAB_LOOKUPS_MAX;
	if (run_ns)
		*repeat = SAMPLE_NS / run_ns + 1;
	return 0;
}

/* Both tables must give the same answers, and the kernel must find every route. */
static int check_answers(struct bench *b)
{
	uint32_t differ = 0, lost = 0;
	int rc = lookup_rig_run(b->fast, mode_of(b, ROW_FAST), LAB_LOOKUPS_MAX, 1, NULL);

	if (!rc)
		rc = lookup_rig_run(b->lpm, mode_of(b, ROW_LPM), LAB_LOOKUPS_MAX, 1, NULL);
	for (uint32_t i = 0; !rc && i < LAB_LOOKUPS_MAX; i++)
		differ += b->fast->lookups[i].answer != b->lpm->lookups[i].answer;
	if (!rc && b->kernel)
		rc = lookup_rig_run(b->fast, mode_of(b, ROW_KERNEL), LAB_LOOKUPS_MAX, 1, NULL);
	for (uint32_t i = 0; !rc && b->kernel && i < LAB_LOOKUPS_MAX; i++)
		lost += b->fast->lookups[i].answer != 0;
	if (differ || lost)
		fprintf(stderr, "bench-lookup: %u answers differ, %u not found by the kernel\n",
			differ, lost);
	return rc ? rc : differ || lost ? -EPROTO : 0;
}

static double median_of(const double *ns, unsigned int runs)
{
	double sorted[RUNS_MAX];

	memcpy(sorted, ns, runs * sizeof(*ns));
	qsort(sorted, runs, sizeof(*sorted), by_value);
	return sorted[runs / 2];
}

/*
 * `ns` of each run, including the empty loop, whose cost is `base`; `fast` is the median of the
 * engine fast without the loop.
 */
static void report_row(struct bench *b, uint32_t n_routes, enum row row, double *ns, double base,
		       double fast)
{
	unsigned int runs = b->opt.runs;

	if (row == ROW_EMPTY)
		base = 0;
	for (unsigned int r = 0; r < runs; r++)
		ns[r] -= base;
	qsort(ns, runs, sizeof(*ns), by_value);
	json_array_append_new(b->rows,
			      json_pack("{s:s, s:i, s:i, s:s, s:f, s:f, s:f}", "what", "lookup",
					"family", family_number(b), "routes", (int)n_routes,
					"engine", row_name[row], "median_ns", ns[runs / 2],
					"min_ns", ns[0], "max_ns", ns[runs - 1]));
	if (b->opt.json)
		return;
	printf("  %-12s %8.1f %8.1f .. %-8.1f", row_name[row], ns[runs / 2], ns[0], ns[runs - 1]);
	if (row != ROW_EMPTY)
		printf(" %6.2f", ns[runs / 2] / fast);
	printf("\n");
}

static int measure_lookups(struct bench *b, uint32_t n_routes)
{
	static double ns[ROW_COUNT][RUNS_MAX];
	uint32_t repeat[ROW_COUNT];
	double base, fast;
	int rc;

	make_addresses(b, n_routes);
	rc = check_answers(b);
	for (int row = 0; row < ROW_COUNT; row++)
		repeat[row] = 1;
	/* The first turn warms up and finds the repeats; the second overwrites it. */
	for (unsigned int r = 0; !rc && r <= b->opt.runs; r++)
		for (int row = 0; !rc && row < ROW_COUNT; row++)
			if (row != ROW_KERNEL || b->kernel)
				rc = sample(b, row, &repeat[row], &ns[row][r ? r - 1 : 0]);
	if (rc)
		return rc;
	base = median_of(ns[ROW_EMPTY], b->opt.runs);
	fast = median_of(ns[ROW_FAST], b->opt.runs) - base;
	if (!b->opt.json)
		printf("\nIPv%d, %u routes\n  ns/lookup      median      min .. max       / fast\n",
		       family_number(b), n_routes);
	for (int row = 0; row < ROW_COUNT; row++)
		if (row != ROW_KERNEL || b->kernel)
			report_row(b, n_routes, row, ns[row], base, fast);
	return 0;
}

/* --- Changes --- */

/* Delete a random route and put it back with another next hop, over and over. */
static int measure_updates(struct bench *b, struct lookup_rig *rig, enum row row, uint32_t n_routes)
{
	uint64_t begin_ns = sl_now_ns(), random = UPDATES; /* the same changes for each engine */
	struct sl_fib_stats stats;
	double per_second;
	int rc = 0;

	sl_fib_go_live(rig->fib);
	for (uint32_t i = 0; !rc && i < UPDATES / 2; i++) {
		const struct sl_prefix *p = &b->routes.prefix[lab_random_below(&random, n_routes)];

		rc = sl_fib_delete(rig->fib, p);
		if (!rc)
			rc = lookup_rig_insert(rig, p, i % LAB_NEXTHOPS);
	}
	if (rc)
		return rc;
	per_second = UPDATES * 1e9 / (double)(sl_now_ns() - begin_ns);
	sl_fib_stats(rig->fib, &stats);
	json_array_append_new(b->rows,
			      json_pack("{s:s, s:i, s:i, s:s, s:f, s:I, s:I, s:i}", "what",
					"updates", "family", family_number(b), "routes",
					(int)n_routes, "engine", row_name[row], "per_second",
					per_second, "table_bytes", (json_int_t)stats.table_bytes,
					"process_bytes", (json_int_t)stats.process_bytes, "pages",
					(int)(stats.pages4 + stats.pages6)));
	if (!b->opt.json)
		printf("  %-12s %8.0f deletes and inserts a second; %u pages; process %.1f MB\n",
		       row_name[row], per_second, stats.pages4 + stats.pages6,
		       (double)stats.process_bytes / 1e6);
	return 0;
}

/* --- Tables --- */

static int load(struct bench *b, uint32_t from, uint32_t to)
{
	int rc = 0;

	fprintf(stderr, "bench-lookup: IPv%d: %u routes\n", family_number(b), to);
	for (uint32_t i = from; !rc && i < to; i++) {
		const struct sl_prefix *p = &b->routes.prefix[i];
		uint32_t nexthop = lab_routes_hash(p, LAB_NEXTHOPS);

		rc = lookup_rig_insert(b->fast, p, nexthop);
		if (!rc)
			rc = lookup_rig_insert(b->lpm, p, nexthop);
		if (!rc && b->kernel)
			rc = kernel_routes_set(b->kernel, p, nexthop);
	}
	if (!rc && b->kernel)
		rc = kernel_routes_flush(b->kernel);
	return rc;
}

static int run_sizes(struct bench *b, uint32_t n_full)
{
	const uint32_t sizes[] = { 1, 1000, 100000, n_full, SYNTHETIC };
	uint32_t loaded = 0;
	int rc = 0;

	for (size_t i = 0; !rc && i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		if (sizes[i] > b->opt.max_routes)
			break;
		rc = load(b, loaded, sizes[i]);
		loaded = sizes[i];
		if (!rc)
			rc = measure_lookups(b, loaded);
		if (!rc && loaded == n_full)
			rc = measure_updates(b, b->fast, ROW_FAST, loaded);
		if (!rc && loaded == n_full)
			rc = measure_updates(b, b->lpm, ROW_LPM, loaded);
	}
	return rc;
}

static int run_family(struct bench *b, uint8_t family)
{
	uint32_t n_full;
	int rc;

	b->family = family;
	b->random = 0x9e3779b97f4a7c15ULL;
	rc = lab_routes_read(family == AF_INET ? LAB_ROUTES_V4 : LAB_ROUTES_V6, &b->routes);
	if (rc)
		return rc;
	n_full = b->routes.n;
	lab_routes_shuffle(&b->routes, &b->random);
	rc = lab_routes_grow(&b->routes, SYNTHETIC, &b->random);
	if (!rc)
		rc = lookup_rig_open(LAB_LOOKUP_OBJECT, SL_ENGINE_FAST, &b->fast);
	if (!rc)
		rc = lookup_rig_open(LAB_LOOKUP_OBJECT, SL_ENGINE_LPM, &b->lpm);
	if (!rc)
		rc = run_sizes(b, n_full);
	lookup_rig_close(b->fast);
	lookup_rig_close(b->lpm);
	b->fast = b->lpm = NULL;
	lab_routes_free(&b->routes);
	return rc;
}

/* --- Command line --- */

static const char usage[] =
	"usage: build/lab/bench-lookup [-4 | -6] [-j] [-k] [-m ROUTES] [-r RUNS]\n"
	"  -4, -6     one family alone\n"
	"  -j         JSON on standard output\n"
	"  -k         leave out the kernel's own lookup, and the loading of its table\n"
	"  -m ROUTES  leave out larger tables\n"
	"  -r RUNS    interleaved runs (default 7, at least 5)\n";

static int parse_number(const char *text, uint32_t low, uint32_t high, uint32_t *out)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || end == text || *end || text[0] == '-' || value < low || value > high)
		return -EINVAL;
	*out = (uint32_t)value;
	return 0;
}

static int parse_options(int argc, char **argv, struct options *opt)
{
	int option, rc = 0;

	*opt = (struct options){
		.runs = RUNS_DEFAULT,
		.family = AF_UNSPEC,
		.with_kernel = true,
		.max_routes = UINT32_MAX,
	};
	while (!rc && (option = getopt(argc, argv, "46jkm:r:")) != -1) {
		switch (option) {
		case '4':
			opt->family = AF_INET;
			break;
		case '6':
			opt->family = AF_INET6;
			break;
		case 'j':
			opt->json = true;
			break;
		case 'k':
			opt->with_kernel = false;
			break;
		case 'm':
			rc = parse_number(optarg, 1, UINT32_MAX, &opt->max_routes);
			break;
		case 'r':
			rc = parse_number(optarg, 5, RUNS_MAX, &opt->runs);
			break;
		default:
			rc = -EINVAL;
		}
	}
	return optind < argc ? -EINVAL : rc;
}

static void print_machine(const struct options *opt)
{
	struct utsname name;

	if (opt->json || uname(&name))
		return;
	printf("bench-lookup: Linux %s, %ld CPUs, %s; %u interleaved runs over %u addresses;\n"
	       "the empty loop is subtracted from the other rows\n",
	       name.release, sysconf(_SC_NPROCESSORS_ONLN), name.machine, opt->runs,
	       LAB_LOOKUPS_MAX);
}

int main(int argc, char **argv)
{
	struct bench b = { 0 };
	int rc = 0;

	if (parse_options(argc, argv, &b.opt)) {
		fputs(usage, stderr);
		return 2;
	}
	print_machine(&b.opt);
	b.rows = json_array();
	if (b.opt.with_kernel)
		rc = kernel_routes_open(&b.kernel);
	if (!rc && b.opt.family != AF_INET6)
		rc = run_family(&b, AF_INET);
	if (!rc && b.opt.family != AF_INET)
		rc = run_family(&b, AF_INET6);
	kernel_routes_close(b.kernel);
	if (rc)
		fprintf(stderr, "bench-lookup: %s\n", strerror(-rc));
	else if (b.opt.json)
		json_dumpf(b.rows, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(5));
	json_decref(b.rows);
	return lab_exit_status(rc ? 1 : 0);
}
