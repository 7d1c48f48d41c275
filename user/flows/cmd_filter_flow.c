/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sluice filter flow add|delete|list|load|flush|count
 *
 * The command changes the pinned map itself: a million flows do not go through sluiced's one
 * thread, and any other program may do the same.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "user/cli/cmd.h"
#include "user/datapath/exact_flows.h"
#include "user/flows/flow_line.h"
#include "user/flows/pinned_flows.h"
#include "user/lib/clock.h"

/* A reload with another number of flows makes a new map. It is rare that two come in a row. */
#define TRIES 3

/* Flows to put, or to delete. */
struct flows {
	struct sl_flow_key *key;    /* owned */
	struct sl_exact_flow *flow; /* owned, one for each key */
	uint32_t n, room;
};

static void free_flows(struct flows *all)
{
	free(all->key);
	free(all->flow);
}

static int append(struct flows *all, const struct sl_flow_line *line)
{
	if (all->n == all->room) {
		const uint32_t room = all->room ? 2 * all->room : 1024;
		struct sl_flow_key *key = realloc(all->key, room * sizeof(*key));
		struct sl_exact_flow *flow;

		if (!key)
			return -ENOMEM;
		all->key = key;
		flow = realloc(all->flow, room * sizeof(*flow));
		if (!flow)
			return -ENOMEM;
		all->flow = flow;
		all->room = room;
	}
	all->key[all->n] = line->key;
	all->flow[all->n++] = line->flow;
	return 0;
}

/* --- The map --- */

static int open_map(const struct sl_cmd_options *options, struct sl_pinned_flows *out)
{
	char why[SL_PINNED_WHY_BYTES];
	int err = sl_pinned_flows_open(options->pin_dir, out, why);

	if (!err)
		return SL_EXIT_OK;
	fprintf(stderr, "sluice: filter flow: %s\n", why);
	return err == -ENOENT ? SL_EXIT_NOT_RUNNING : SL_EXIT_FAILED;
}

static void print_progress(uint32_t done, uint32_t n)
{
	if (isatty(STDERR_FILENO) && n > SL_EXACT_FLOWS_BATCH)
		fprintf(stderr, "\r%u of %u flows%s", done, n, done == n ? "\n" : "");
}

/* Put all; *done of them are in force. 0 or -errno. */
static int put(const struct sl_pinned_flows *map, struct flows *all, uint32_t *done)
{
	const uint32_t used = sl_exact_flow_used(sl_now_ns());
	int err = 0;

	sl_exact_puts_note(map->puts);
	for (uint32_t i = 0; i < all->n; i++)
		all->flow[i].used = all->flow[i].idle_s ? used : 0;
	for (*done = 0; *done < all->n && !err;) {
		const uint32_t left = all->n - *done;
		uint32_t n = left < SL_EXACT_FLOWS_BATCH ? left : SL_EXACT_FLOWS_BATCH;

		err = bpf_map_update_batch(map->fd, all->key + *done, all->flow + *done, &n, NULL);
		*done += n;
		print_progress(*done, all->n);
	}
	sl_exact_puts_note(map->puts);
	return err;
}

static int put_failed(const struct sl_pinned_flows *map, uint32_t done, uint32_t n, int err)
{
	if (err == -E2BIG)
		fprintf(stderr,
			"sluice: filter flow: %u of %u flows are in force, and the map is full: it "
			"has room for %u; delete some, or write a larger exact_flows\n",
			done, n, map->limit);
	else
		fprintf(stderr, "sluice: filter flow: %u of %u flows are in force: %s\n", done, n,
			strerror(-err));
	return SL_EXIT_FAILED;
}

/* Put them into the map that is pinned when it is done: a reload may exchange it meanwhile. */
static int put_all(const struct sl_cmd_options *options, struct flows *all)
{
	uint32_t id = 0;

	for (int try = 0; try < TRIES; try++) {
		struct sl_pinned_flows map;
		uint32_t done;
		int err, status = open_map(options, &map);

		if (status != SL_EXIT_OK)
			return status;
		if (map.id == id) {
			sl_pinned_flows_close(&map);
			return SL_EXIT_OK;
		}
		id = map.id;
		err = put(&map, all, &done);
		if (err)
			status = put_failed(&map, done, all->n, err);
		sl_pinned_flows_close(&map);
		if (status != SL_EXIT_OK)
			return status;
	}
	return SL_EXIT_OK;
}

static int print_put(const struct sl_cmd_options *options, uint32_t n)
{
	if (options->json)
		printf("{\"put\": %u}\n", n);
	else
		printf("%u flow%s in force\n", n, n == 1 ? "" : "s");
	return SL_EXIT_OK;
}

/* --- add, load --- */

static int add(const struct sl_cmd_options *options, int argc, char **argv)
{
	json_t *words = sl_cmd_object("filter flow add", argc, argv);
	char why[SL_FLOW_WHY_BYTES];
	struct sl_flow_line line;
	struct sl_pinned_flows map;
	struct flows one = { .key = &line.key, .flow = &line.flow, .n = 1 };
	int status = SL_EXIT_USAGE;

	if (!words)
		return status;
	if (sl_flow_line_read(words, &line, why))
		fprintf(stderr, "sluice: filter flow add: %s\n", why);
	else
		status = open_map(options, &map);
	json_decref(words);
	if (status != SL_EXIT_OK)
		return status;
	if (sl_pinned_flows_check(&map, &line, why)) {
		fprintf(stderr, "sluice: filter flow add: %s\n", why);
		status = SL_EXIT_FAILED;
	}
	sl_pinned_flows_close(&map);
	if (status == SL_EXIT_OK)
		status = put_all(options, &one);
	return status == SL_EXIT_OK ? print_put(options, 1) : status;
}

/* Read all lines, and refuse the file for the first that is wrong. */
static int read_file(const struct sl_pinned_flows *map, FILE *file, const char *name,
		     struct flows *all)
{
	char *line = NULL, why[SL_FLOW_WHY_BYTES] = "";
	struct sl_flow_line flow;
	unsigned long number = 0;
	size_t room = 0;
	int result = 0;

	while (result >= 0 && getline(&line, &room, file) >= 0) {
		number++;
		result = sl_flow_line_parse(line, &flow, why);
		if (result > 0 && sl_pinned_flows_check(map, &flow, why))
			result = -EINVAL;
		if (result > 0 && append(all, &flow)) {
			snprintf(why, sizeof(why), "not enough memory");
			result = -ENOMEM;
		}
	}
	if (result < 0)
		fprintf(stderr, "sluice: %s:%lu: %s; no flow of the file has been put\n", name,
			number, why);
	else if (ferror(file))
		fprintf(stderr, "sluice: cannot read \"%s\": %s\n", name, strerror(errno));
	free(line);
	return result < 0 || ferror(file) ? SL_EXIT_FAILED : SL_EXIT_OK;
}

static int load(const struct sl_cmd_options *options, const char *path)
{
	const bool is_stdin = strcmp(path, "-") == 0;
	FILE *file = is_stdin ? stdin : fopen(path, "re");
	struct sl_pinned_flows map;
	struct flows all = { 0 };
	int status;

	if (!file) {
		fprintf(stderr, "sluice: cannot read \"%s\": %s\n", path, strerror(errno));
		return SL_EXIT_FAILED;
	}
	status = open_map(options, &map);
	if (status == SL_EXIT_OK) {
		status = read_file(&map, file, is_stdin ? "standard input" : path, &all);
		sl_pinned_flows_close(&map);
	}
	if (!is_stdin)
		fclose(file);
	if (status == SL_EXIT_OK)
		status = put_all(options, &all);
	if (status == SL_EXIT_OK)
		status = print_put(options, all.n);
	free_flows(&all);
	return status;
}

/* --- delete, flush --- */

static int delete (const struct sl_cmd_options *options, int argc, char **argv)
{
	json_t *words = sl_cmd_object("filter flow delete", argc, argv);
	char why[SL_FLOW_WHY_BYTES];
	struct sl_pinned_flows map;
	struct sl_flow_key key;
	int status = SL_EXIT_USAGE;

	if (!words)
		return status;
	if (sl_flow_read(words, &key, why))
		fprintf(stderr, "sluice: filter flow delete: %s\n", why);
	else
		status = open_map(options, &map);
	json_decref(words);
	if (status != SL_EXIT_OK)
		return status;
	if (bpf_map_delete_elem(map.fd, &key)) {
		fprintf(stderr, "sluice: filter flow delete: %s\n",
			errno == ENOENT ? "there is no such flow" : strerror(errno));
		status = SL_EXIT_FAILED;
	} else if (options->json) {
		puts("{\"deleted\": 1}");
	} else {
		puts("1 flow deleted");
	}
	sl_pinned_flows_close(&map);
	return status;
}

/* For each flow. 0, or an error of the kernel. */
static int for_each(const struct sl_pinned_flows *map,
		    void (*each)(void *arg, const struct sl_pinned_flows *map,
				 const struct sl_flow_line *line),
		    void *arg)
{
	struct sl_exact_flow_batch *batch = malloc(sizeof(*batch));
	struct sl_exact_flow_place place = { 0 };
	int err = batch ? 0 : -ENOMEM;

	do {
		if (!err)
			err = sl_exact_flows_next(map->fd, &place, batch);
		for (uint32_t i = 0; !err && i < batch->n; i++) {
			struct sl_flow_line line = { batch->key[i], batch->flow[i], "" };

			sl_pinned_flows_name(map, &line);
			each(arg, map, &line);
		}
	} while (!err && place.is_inside);
	free(batch);
	if (err)
		fprintf(stderr, "sluice: filter flow: %s\n", strerror(-err));
	return err;
}

static int with_each(const struct sl_cmd_options *options,
		     void (*each)(void *arg, const struct sl_pinned_flows *map,
				  const struct sl_flow_line *line),
		     void *arg, uint32_t *limit)
{
	struct sl_pinned_flows map;
	int status = open_map(options, &map);

	if (status != SL_EXIT_OK)
		return status;
	*limit = map.limit;
	if (for_each(&map, each, arg))
		status = SL_EXIT_FAILED;
	sl_pinned_flows_close(&map);
	return status;
}

static void delete_one(void *arg, const struct sl_pinned_flows *map,
		       const struct sl_flow_line *line)
{
	uint32_t *n = arg;

	*n += !bpf_map_delete_elem(map->fd, &line->key);
}

static int flush(const struct sl_cmd_options *options)
{
	uint32_t n = 0, limit;
	int status = with_each(options, delete_one, &n, &limit);

	if (status != SL_EXIT_OK)
		return status;
	printf(options->json ? "{\"deleted\": %u}\n" : "%u flows deleted\n", n);
	return status;
}

/* --- list, count --- */

static void print_line(void *arg, const struct sl_pinned_flows *map,
		       const struct sl_flow_line *line)
{
	(void)arg;
	(void)map;
	sl_flow_line_write(stdout, line);
}

static void print_object(void *arg, const struct sl_pinned_flows *map,
			 const struct sl_flow_line *line)
{
	json_t *row = sl_flow_line_json(line);
	uint32_t *n = arg;

	(void)map;
	fputs((*n)++ ? ",\n  " : "[\n  ", stdout);
	json_dumpf(row, stdout, 0);
	json_decref(row);
}

static int list(const struct sl_cmd_options *options)
{
	uint32_t n = 0, limit;
	int status = with_each(options, options->json ? print_object : print_line, &n, &limit);

	/* An answer that ended early stays without "]": nobody shall take it for the whole list. */
	if (options->json && status == SL_EXIT_OK)
		puts(n ? "\n]" : "[]");
	return status;
}

static void add_up(void *arg, const struct sl_pinned_flows *map, const struct sl_flow_line *line)
{
	uint32_t *n = arg;

	(void)map;
	(void)line;
	++*n;
}

static int count(const struct sl_cmd_options *options)
{
	uint32_t n = 0, limit;
	int status = with_each(options, add_up, &n, &limit);

	if (status == SL_EXIT_OK)
		printf(options->json ? "{\"flows\": %u, \"limit\": %u}\n" : "%u of %u flows\n", n,
		       limit);
	return status;
}

int sl_cmd_filter_flow(const struct sl_cmd_options *options, int argc, char **argv)
{
	const char *what = argc ? argv[0] : "";

	if (strcmp(what, "add") == 0 && argc > 1)
		return add(options, argc - 1, argv + 1);
	if (strcmp(what, "delete") == 0 && argc > 1)
		return delete (options, argc - 1, argv + 1);
	if (strcmp(what, "load") == 0 && argc == 2)
		return load(options, argv[1]);
	if (strcmp(what, "list") == 0 && argc == 1)
		return list(options);
	if (strcmp(what, "count") == 0 && argc == 1)
		return count(options);
	if (strcmp(what, "flush") == 0 && argc == 1)
		return flush(options);
	fprintf(stderr, "sluice: filter flow: write `add FLOW action=ACTION [class=N] "
			"[set_dscp=DSCP] [idle=SECONDS]`, `add FLOW as=LIST/RULE [idle=SECONDS]`, "
			"`delete FLOW`, `load FILE`, `list`, "
			"`count` or `flush`, where FLOW is source=ADDRESS destination=ADDRESS "
			"protocol=PROTOCOL source_port=N destination_port=N\n");
	return SL_EXIT_USAGE;
}
