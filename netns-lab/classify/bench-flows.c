/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench-flows: the cost of a packet's look at the exact flows, by family and number of flows, the
 * processor time to load them into the kernel, and their memory. Run from the top of the tree, as
 * root.
 *
 * The look is the data path's own, counters included, in a loop over fields made beforehand: 64
 * packets again and again, or 65,536 that are spread over all flows; and as many that are of no
 * flow. An empty loop over the same packets is subtracted. Each is measured twice in each run
 * (A/A).
 */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <bpf/bpf.h>

#include "bpf/abi/exact_flow.h"
#include "bpf/lib/endian.bpf.h"
#include "netns-lab/classify/classify_rig.h"
#include "netns-lab/gen/tool.h"
#include "netns-lab/lookup/routes.h"
#include "user/datapath/exact_flows.h"

#define RUNS_DEFAULT 7
#define RUNS_MAX     101
#define SAMPLE_NS    10000000 /* a sample lasts at least this long */
#define FEW_PACKETS  64
#define BATCH	     4096

enum look { LOOK_FEW, LOOK_MANY, LOOK_NONE, LOOKS };

static const char *const look_names[LOOKS] = { "few_ns", "many_ns", "none_ns" };
static const uint32_t sizes[] = { 0, 1000, 1000000 };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static struct sl_flow_key keys[BATCH];
static struct sl_exact_flow values[BATCH];

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *samples, uint32_t n)
{
	qsort(samples, n, sizeof(*samples), by_value);
	return samples[n / 2];
}

/* The packet of flow i, which has a source of its own, to one destination. */
static void make_packet(uint32_t i, bool ip6, struct sl_flow *flow)
{
	memset(flow, 0, sizeof(*flow));
	if (ip6) {
		flow->address[SL_SIDE_SOURCE][0] = 0x20010db800010000;
		flow->address[SL_SIDE_SOURCE][1] = i;
		flow->address[SL_SIDE_DESTINATION][0] = 0x20010db800020000;
		flow->address[SL_SIDE_DESTINATION][1] = 1;
	} else {
		flow->address[SL_SIDE_SOURCE][0] = (uint64_t)(0x0a000000 + i) << 32;
		flow->address[SL_SIDE_DESTINATION][0] = (uint64_t)0xc0000201 << 32;
	}
	flow->field[SL_FIELD_PROTOCOL] = 17;
	flow->field[SL_FIELD_SOURCE_PORT] = 1024 + i % 60000;
	flow->field[SL_FIELD_DESTINATION_PORT] = 53;
}

static void make_key(uint32_t i, bool ip6, struct sl_flow_key *key)
{
	struct sl_flow flow;

	make_packet(i, ip6, &flow);
	memset(key, 0, sizeof(*key));
	for (uint32_t word = 0; word < 4; word++) {
		uint32_t shift = word % 2 ? 0 : 32;

		key->source[word] =
			sl_htonl((uint32_t)(flow.address[SL_SIDE_SOURCE][word / 2] >> shift));
		key->destination[word] =
			sl_htonl((uint32_t)(flow.address[SL_SIDE_DESTINATION][word / 2] >> shift));
	}
	key->source_port = sl_htons((uint16_t)flow.field[SL_FIELD_SOURCE_PORT]);
	key->destination_port = sl_htons((uint16_t)flow.field[SL_FIELD_DESTINATION_PORT]);
	key->protocol = (uint8_t)flow.field[SL_FIELD_PROTOCOL];
	key->version = ip6 ? 6 : 4;
}

/* Of this process; other work on the machine does not count. */
static uint64_t processor_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* In batches, as the command does. The keys of a batch are made outside of what is measured. */
static int load(const struct classify_rig *rig, uint32_t n, bool ip6, double *ms)
{
	uint64_t took_ns = 0, start_ns;
	int err = 0;

	for (uint32_t done = 0; done < n && !err;) {
		uint32_t count = n - done < BATCH ? n - done : BATCH;

		for (uint32_t i = 0; i < count; i++)
			make_key(done + i, ip6, &keys[i]);
		start_ns = processor_ns();
		err = bpf_map_update_batch(rig->exact_fd, keys, values, &count, NULL);
		took_ns += processor_ns() - start_ns;
		done += count;
	}
	if (n)
		sl_exact_puts_note(rig->exact_puts);
	*ms = (double)took_ns / 1e6;
	return err;
}

static int unload(const struct classify_rig *rig, uint32_t n, bool ip6)
{
	for (uint32_t i = 0; i < n; i++) {
		make_key(i, ip6, &keys[0]);
		if (bpf_map_delete_elem(rig->exact_fd, &keys[0]))
			return -errno;
	}
	*rig->exact_puts = 0;
	return 0;
}

/* What the kernel says that the map takes. */
static long long memory_bytes(const struct classify_rig *rig)
{
	char path[64], line[128];
	long long bytes = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", rig->exact_fd);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "memlock: %lld", &bytes);
	if (file)
		fclose(file);
	return bytes;
}

/* Mean ns a packet of n, less those of an empty loop. */
static int sample(const struct classify_rig *rig, bool ip6, uint32_t n, double *ns)
{
	const enum lab_classify_mode modes[] = { LAB_CLASSIFY_NOTHING, LAB_CLASSIFY_FLOWS };
	double took[2];

	for (int i = 0; i < 2; i++) {
		uint32_t run_ns, repeat = 1;
		int err = classify_rig_run(rig, modes[i], ip6 ? 6 : 4, n, 1, &run_ns);

		if (!err) {
			repeat = SAMPLE_NS / (run_ns + 1) + 1;
			err = classify_rig_run(rig, modes[i], ip6 ? 6 : 4, n, repeat, &run_ns);
		}
		if (err)
			return err;
		took[i] = (double)run_ns / n;
	}
	*ns = took[1] - took[0];
	return 0;
}

/* All packets, or none, must have been of a flow: what was measured is what the row says. */
static int check_answers(const struct classify_rig *rig, uint32_t n, bool found)
{
	for (uint32_t i = 0; i < n; i++)
		if (rig->flows[i].sample != found)
			return -EPROTO;
	return 0;
}

static int measure(const struct classify_rig *rig, enum look look, uint32_t n_flows, bool ip6,
		   double *ns)
{
	const uint32_t n = look == LOOK_FEW ? FEW_PACKETS : LAB_FLOWS_MAX;
	uint64_t random = 7;
	int err;

	for (uint32_t i = 0; i < n; i++)
		make_packet(look == LOOK_NONE ? 2000000 + i : lab_random_below(&random, n_flows),
			    ip6, &rig->flows[i]);
	err = sample(rig, ip6, n, ns);
	return err ? err : check_answers(rig, n, look != LOOK_NONE);
}

static int bench_size(const struct classify_rig *rig, uint32_t n_flows, bool ip6, uint32_t runs,
		      json_t *rows)
{
	static double ns[LOOKS][2][RUNS_MAX];
	json_t *row = json_pack("{s:i, s:i}", "family", ip6 ? 6 : 4, "flows", (int)n_flows);
	double load_ms;
	int err = load(rig, n_flows, ip6, &load_ms);

	for (uint32_t run = 0; run < runs && !err; run++)
		for (enum look look = n_flows ? LOOK_FEW : LOOK_NONE; look < LOOKS && !err; look++)
			for (int again = 0; again < 2 && !err; again++)
				err = measure(rig, look, n_flows, ip6, &ns[look][again][run]);
	for (enum look look = n_flows ? LOOK_FEW : LOOK_NONE; look < LOOKS && !err; look++)
		json_object_set_new(
			row, look_names[look],
			json_pack("[f, f]", median(ns[look][0], runs), median(ns[look][1], runs)));
	json_object_set_new(row, "load_ms", json_real(load_ms));
	json_object_set_new(row, "memory_bytes", json_integer(memory_bytes(rig)));
	json_array_append_new(rows, row);
	return err ? err : unload(rig, n_flows, ip6);
}

static void print_cell(const json_t *row, enum look look)
{
	const json_t *pair = json_object_get(row, look_names[look]);

	for (size_t i = 0; i < 2; i++)
		if (pair)
			printf(" %8.1f", json_real_value(json_array_get(pair, i)));
		else
			printf(" %8s", "-");
}

static void print_table(const json_t *rows, uint32_t runs)
{
	const json_t *row;
	size_t i;

	printf("ns a packet, medians of %u runs; again: the same measured twice (A/A)\n"
	       "%2s %8s %8s %8s %8s %8s %8s %8s %9s %10s\n",
	       runs, "IP", "flows", "few", "again", "many", "again", "of none", "again", "load ms",
	       "memory MiB");
	json_array_foreach(rows, i, row) {
		printf("%2lld %8lld", json_integer_value(json_object_get(row, "family")),
		       json_integer_value(json_object_get(row, "flows")));
		for (enum look look = 0; look < LOOKS; look++)
			print_cell(row, look);
		printf(" %9.1f %10.1f\n", json_real_value(json_object_get(row, "load_ms")),
		       (double)json_integer_value(json_object_get(row, "memory_bytes")) /
			       (1 << 20));
	}
}

static const char usage[] = "usage: bench-flows [-j] [-n RUNS]\n"
			    "  -n, --runs RUNS   of each number of flows (default 7)\n"
			    "  -j, --json        rows as JSON\n";

int main(int argc, char **argv)
{
	static const struct option options[] = { { "json", no_argument, NULL, 'j' },
						 { "runs", required_argument, NULL, 'n' },
						 { "help", no_argument, NULL, 'h' },
						 { 0 } };
	uint32_t runs = RUNS_DEFAULT;
	struct classify_rig *rig;
	json_t *rows = json_array();
	bool json = false;
	int c, err;

	while ((c = getopt_long(argc, argv, "jn:h", options, NULL)) != -1) {
		if (c == 'j')
			json = true;
		else if (c == 'n' && !lab_parse_u32("runs", optarg, 1, RUNS_MAX, &runs))
			continue;
		else if (c == 'h')
			return printf("%s", usage) < 0;
		else
			return c == 'n' ? 2 : lab_fail(2, "%s", usage);
	}
	if (optind < argc)
		return lab_fail(2, "\"%s\" is no option; %s", argv[optind], usage);
	err = classify_rig_open(LAB_CLASSIFY_OBJECT, &rig);
	if (err)
		return lab_fail(1, "cannot load %s: %s", LAB_CLASSIFY_OBJECT, strerror(-err));
	for (int ip6 = 0; ip6 < 2; ip6++)
		for (size_t i = 0; i < SIZES && !err; i++)
			err = bench_size(rig, sizes[i], ip6, runs, rows);
	classify_rig_close(rig);
	if (!err && json)
		lab_print_json(json_incref(rows));
	else if (!err)
		print_table(rows, runs);
	json_decref(rows);
	return lab_exit_status(err ? lab_fail(1, "cannot measure: %s", strerror(-err)) : 0);
}
