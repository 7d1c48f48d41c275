/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice show delay, sluice show busy */
#include <stdio.h>

#include "user/cli/cmd.h"
#include "user/text/duration.h"
#include "user/text/quantity.h"
#include "user/text/table.h"

#define INPUTS_SHOWN 4

static void duration_cell(struct sl_table *table, const json_t *row, const char *key)
{
	const json_t *ns = json_object_get(row, key);
	char text[SL_DURATION_BYTES];

	sl_table_cell(table, "%s",
		      json_is_integer(ns) ? sl_duration_ns_text(json_integer_value(ns), text)
					  : "-");
}

static void count_cell(struct sl_table *table, const json_t *row, const char *key)
{
	char text[SL_QUANTITY_BYTES];

	sl_table_cell(table, "%s", sl_quantity((uint64_t)sl_cmd_number(row, key), text));
}

/* --- Where frames waited --- */

bool sl_cmd_delay_is_idle(const json_t *row)
{
	return !sl_cmd_number(row, "measured_frames");
}

void sl_cmd_delay_cells(struct sl_table *table, const json_t *row)
{
	static const char *const keys[] = { "min_ns", "p50_ns", "p99_ns", "p999_ns", "max_ns" };

	sl_table_cell(table, "%s/%lld", sl_cmd_text(row, "port"), sl_cmd_number(row, "class"));
	sl_table_cell(table, "%s", sl_cmd_text(row, "stage"));
	count_cell(table, row, "measured_frames");
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		duration_cell(table, row, keys[i]);
	if (json_is_integer(json_object_get(row, "error_ns")))
		sl_table_cell(table, "%lld", sl_cmd_number(row, "error_ns") / 1000);
	else
		sl_table_cell(table, "-");
}

/* --- Busy periods --- */

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static void print_table(struct sl_table *table)
{
	if (table)
		sl_table_print(table, stdout);
	sl_table_destroy(table);
}

/* The levels that some period exceeded; the first is 0. */
static void print_levels(const json_t *levels, double observed_ns)
{
	static const char *const headers[] = { ">delay above", ">periods", ">for, on average",
					       ">of the time" };
	struct sl_table *table = sl_table_create(headers, 4);
	const json_t *level;
	size_t i;

	json_array_foreach(levels, i, level) {
		const long long periods = sl_cmd_number(level, "periods");
		char text[SL_DURATION_BYTES];

		if (!table || !periods)
			continue;
		duration_cell(table, level, "above_ns");
		count_cell(table, level, "periods");
		sl_table_cell(table, "%s",
			      sl_duration_ns_text(sl_cmd_number(level, "time_ns") / periods, text));
		sl_table_cell(table, "%.3g %%",
			      percent((double)sl_cmd_number(level, "time_ns"), observed_ns));
	}
	print_table(table);
}

/* "n1p1 52 %, n2p2 48 %", the largest shares first */
static void shares_text(const json_t *inputs, double bytes, char *out, size_t out_bytes)
{
	bool shown[64] = { false };
	size_t used = 0;

	out[0] = '\0';
	for (int n = 0; n < INPUTS_SHOWN && used < out_bytes; n++) {
		const json_t *input, *most = NULL;
		size_t i, at = 0;

		json_array_foreach(inputs, i, input) {
			if (i >= sizeof(shown) || shown[i] ||
			    (most && sl_cmd_number(input, "bytes") <= sl_cmd_number(most, "bytes")))
				continue;
			most = input;
			at = i;
		}
		if (!most)
			return;
		shown[at] = true;
		used += (size_t)snprintf(out + used, out_bytes - used, "%s%s %.0f %%",
					 used ? ", " : "", sl_cmd_text(most, "port"),
					 percent((double)sl_cmd_number(most, "bytes"), bytes));
	}
}

static void print_episodes(const json_t *episodes)
{
	static const char *const headers[] = { ">began, ago", ">lasted",   ">longest delay",
					       ">frames",     ">in queue", "from" };
	struct sl_table *table = sl_table_create(headers, 6);
	const json_t *episode;
	size_t i;

	json_array_foreach(episodes, i, episode) {
		char text[SL_QUANTITY_BYTES], shares[256];

		if (!table)
			break;
		sl_table_cell(
			table, "%s",
			sl_duration((uint64_t)sl_cmd_number(episode, "ago_ns") / 1000000, text));
		duration_cell(table, episode, "duration_ns");
		duration_cell(table, episode, "amplitude_ns");
		count_cell(table, episode, "frames");
		sl_table_cell(table, "%.0f %%",
			      percent((double)sl_cmd_number(episode, "queue_sum_ns"),
				      (double)sl_cmd_number(episode, "delay_sum_ns")));
		shares_text(json_object_get(episode, "inputs"),
			    (double)sl_cmd_number(episode, "bytes"), shares, sizeof(shares));
		sl_table_cell(table, "%s", shares);
	}
	print_table(table);
}

void sl_cmd_print_busy(void *arg, const json_t *row)
{
	const json_t *levels = json_object_get(row, "levels"),
		     *episodes = json_object_get(row, "episodes");
	const double observed_ns = (double)sl_cmd_number(row, "observed_ns");
	char text[SL_QUANTITY_BYTES];

	(void)arg;
	if (!sl_cmd_number(json_array_get(levels, 0), "periods"))
		return;
	printf("%s, measured for %s\n", sl_cmd_text(row, "port"),
	       sl_duration((uint64_t)observed_ns / 1000000, text));
	print_levels(levels, observed_ns);
	if (json_array_size(episodes))
		print_episodes(episodes);
}
