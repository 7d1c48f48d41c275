/* SPDX-License-Identifier: BSD-2-Clause */
/* The views of the cluster, for people. */
#include <stdio.h>
#include <string.h>

#include "user/cli/cmd.h"
#include "user/text/quantity.h"
#include "user/text/table.h"

static const char *text_or_dash(const json_t *row, const char *key)
{
	const char *text = sl_cmd_text(row, key);

	return *text ? text : "-";
}

/* "10.0 Gbit", "2.00 Mpps"; "-": no limit. */
static void rate_cell(struct sl_table *table, const json_t *row)
{
	const json_t *rate = json_object_get(row, "rate");
	char text[SL_QUANTITY_BYTES];
	bool frames = strcmp(sl_cmd_text(row, "unit"), "frames") == 0;
	uint64_t per_s = (uint64_t)json_integer_value(rate);

	if (!json_is_integer(rate))
		sl_table_cell(table, "-");
	else if (frames)
		sl_table_cell(table, "%spps", sl_quantity(per_s, text));
	else
		sl_table_cell(table, "%sbit", sl_quantity(8 * per_s, text));
}

/* The sum of these numbers. */
static void sum_cell(struct sl_table *table, const json_t *row, const char *key, const char *other)
{
	char text[SL_QUANTITY_BYTES];

	/* No unit follows: leave out the blank before it. */
	sl_quantity((uint64_t)sl_cmd_number(row, key) +
			    (other ? (uint64_t)sl_cmd_number(row, other) : 0),
		    text);
	sl_table_cell(table, "%.*s", (int)strlen(text) - (text[strlen(text) - 1] == ' '), text);
}

static void quantity_cell(struct sl_table *table, const json_t *row, const char *key)
{
	sum_cell(table, row, key, NULL);
}

static void number_cell(struct sl_table *table, const json_t *row, const char *key)
{
	if (json_is_integer(json_object_get(row, key)))
		sl_table_cell(table, "%lld", sl_cmd_number(row, key));
	else
		sl_table_cell(table, "-");
}

static void duration_cell(struct sl_table *table, const json_t *row, const char *key)
{
	const json_t *ms = json_object_get(row, key);
	char text[SL_QUANTITY_BYTES];

	sl_table_cell(table, "%s",
		      json_is_integer(ms) ? sl_duration((uint64_t)json_integer_value(ms), text)
					  : "-");
}

void sl_cmd_system_port_cells(struct sl_table *table, const json_t *row)
{
	sl_table_cell(table, "%s", sl_cmd_text(row, "port"));
	sl_table_cell(table, "%s", sl_cmd_text(row, "netdev"));
	sl_table_cell(table, "%s", text_or_dash(row, "dev"));
	sl_table_cell(table, "%s", sl_cmd_text(row, "state"));
	sl_table_cell(table, "%s", text_or_dash(row, "mac"));
	number_cell(table, row, "mtu_bytes");
	rate_cell(table, row);
	sl_table_cell(table, "%s", text_or_dash(row, "refused_first"));
}

void sl_cmd_peer_cells(struct sl_table *table, const json_t *row)
{
	sl_table_cell(table, "%lld", sl_cmd_number(row, "node"));
	sl_table_cell(table, "%s", sl_cmd_text(row, "address"));
	sl_table_cell(table, "%s", sl_cmd_text(row, "state"));
	duration_cell(table, row, "since_ms");
	duration_cell(table, row, "heard_ms");
	sl_table_cell(table, "%lld",
		      sl_cmd_number(row, "data_sent") + sl_cmd_number(row, "hellos_sent"));
	number_cell(table, row, "received");
	number_cell(table, row, "lost");
	if (json_is_integer(json_object_get(row, "epoch")))
		sl_table_cell(table, "%08llx", sl_cmd_number(row, "epoch"));
	else
		sl_table_cell(table, "-");
	sl_table_cell(table, "%s", text_or_dash(row, "key"));
}

bool sl_cmd_voq_is_idle(const json_t *row)
{
	const char *name;
	json_t *value;

	json_object_foreach(json_object_get(row, "dropped"), name, value)
		if (json_integer_value(value))
			return false;
	return !sl_cmd_number(row, "enqueued_frames") && !sl_cmd_number(row, "taken_frames") &&
	       !sl_cmd_number(row, "express_frames");
}

/* A row, and one more row for each reason to drop after the first. */
void sl_cmd_voq_cells(struct sl_table *table, const json_t *row)
{
	json_t *dropped = json_object_get(row, "dropped");
	const char *reason;
	json_t *value;
	int n = 0;

	sl_table_cell(table, "%s/%lld", sl_cmd_text(row, "port"), sl_cmd_number(row, "class"));
	sl_table_cell(table, "%s", sl_cmd_text(row, "controller"));
	rate_cell(table, row);
	quantity_cell(table, row, "waiting_frames");
	quantity_cell(table, row, "enqueued_frames");
	quantity_cell(table, row, "taken_frames");
	quantity_cell(table, row, "express_frames");
	quantity_cell(table, row, "marked_frames");
	json_object_foreach(dropped, reason, value) {
		if (!json_integer_value(value))
			continue;
		for (int column = 0; n && column < 8; column++)
			sl_table_cell(table, "%s", "");
		quantity_cell(table, dropped, reason);
		sl_table_cell(table, "%s", reason);
		n++;
	}
	if (!n) {
		sl_table_cell(table, "0");
		sl_table_cell(table, "%s", "");
	}
}

void sl_cmd_express_cells(struct sl_table *table, const json_t *row)
{
	sl_table_cell(table, "%s/%lld", sl_cmd_text(row, "port"), sl_cmd_number(row, "class"));
	quantity_cell(table, row, "express_frames");
	quantity_cell(table, row, "taken_frames");
	sl_table_cell(table, "%s", sl_cmd_text(row, "express"));
	sl_table_cell(table, "%s", sl_cmd_text(row, "express_why"));
}

bool sl_cmd_egress_queue_is_idle(const json_t *row)
{
	return !sl_cmd_number(row, "arrived_frames") && !sl_cmd_number(row, "express_frames");
}

void sl_cmd_egress_queue_cells(struct sl_table *table, const json_t *row)
{
	sl_table_cell(table, "%s/%lld", sl_cmd_text(row, "port"), sl_cmd_number(row, "class"));
	sl_table_cell(table, "%s%s", sl_cmd_text(row, "netdev"),
		      json_is_true(json_object_get(row, "open")) ? "" : " (closed)");
	sl_table_cell(table, "%s", sl_cmd_text(row, "scheduler"));
	number_cell(table, row, "weight");
	rate_cell(table, row);
	if (*sl_cmd_text(row, "policy"))
		sl_table_cell(table, "%s %lld", sl_cmd_text(row, "policy"),
			      sl_cmd_number(row, "flow_queues_in_use"));
	else
		sl_table_cell(table, "-");
	quantity_cell(table, row, "waiting_frames");
	/* What went past the queue came and left, too. */
	sum_cell(table, row, "arrived_frames", "express_frames");
	sum_cell(table, row, "departed_frames", "express_frames");
	quantity_cell(table, row, "dropped_frames");
}

/* --- The fabric --- */

/* Print a line for each member that is not zero and tells of trouble. */
static void print_nonzero(const char *heading, const json_t *names)
{
	const char *name;
	json_t *value;
	int n = 0;

	json_object_foreach((json_t *)names, name, value) {
		if (json_integer_value(value) == 0 || strcmp(name, "ok") == 0 ||
		    strcmp(name, "send") == 0 || strcmp(name, "cnp") == 0 ||
		    strcmp(name, "success") == 0)
			continue;
		printf("%-11s%s %lld\n", n++ ? "" : heading, name,
		       (long long)json_integer_value(value));
	}
}

static void print_packing(const json_t *row)
{
	const json_t *classes = json_object_get(row, "packing"), *class;
	const double mean = json_real_value(json_object_get(row, "packing_mean"));
	const double total = (double)sl_cmd_number(row, "data_messages_sent");
	size_t i;

	printf("%-11s%.2f frames a message on average, at most %lld\n", "packing", mean,
	       sl_cmd_number(row, "packing_limit"));
	json_array_foreach(classes, i, class) {
		long long messages = sl_cmd_number(class, "messages");
		const double share = total > 0 ? (double)messages / total : 0;
		char range[16];

		if (!messages)
			continue;
		if (sl_cmd_number(class, "least") == sl_cmd_number(class, "most"))
			snprintf(range, sizeof(range), "%lld", sl_cmd_number(class, "least"));
		else
			snprintf(range, sizeof(range), "%lld-%lld", sl_cmd_number(class, "least"),
				 sl_cmd_number(class, "most"));
		printf("%11s%7s  %5.1f %%  %.*s\n", "", range, 100 * share, (int)(share * 40 + 0.5),
		       "########################################");
	}
}

static void print_direction(const char *heading, const json_t *row, const char *messages,
			    const char *frames, const char *bytes)
{
	char text[SL_QUANTITY_BYTES];

	printf("%-11s%lld messages, %lld frames, %sB\n", heading, sl_cmd_number(row, messages),
	       sl_cmd_number(row, frames), sl_quantity((uint64_t)sl_cmd_number(row, bytes), text));
}

static void print_verbs(const json_t *row)
{
	printf("%-11s%s on %s (%s): path MTU %lld, %lld queue pairs, %lld gather entries, %s polling\n",
	       "transport", sl_cmd_text(row, "transport"), sl_cmd_text(row, "rdma_device"),
	       sl_cmd_text(row, "device"), sl_cmd_number(row, "path_mtu_bytes"),
	       sl_cmd_number(row, "queue_pairs"), sl_cmd_number(row, "gather_max"),
	       sl_cmd_text(row, "poll"));
	printf("%-11s%lld bytes at 0x%llx; packet memory is at 0x%llx; %lld bytes copied to send\n",
	       "region", sl_cmd_number(row, "region_bytes"),
	       (unsigned long long)sl_cmd_number(row, "region_address"),
	       (unsigned long long)sl_cmd_number(row, "memory_address"),
	       sl_cmd_number(row, "bytes_copied"));
}

void sl_cmd_print_fabric(void *arg, const json_t *row)
{
	/* Duplicate and stale messages are among the refused ones, further down. */
	static const char *const losses[] = { "lost",	   "late",	  "no_buffer",
					      "ring_full", "send_failed", "unreachable",
					      "overflow",  "recoveries",  "not_expected" };
	const char *until = sl_cmd_text(row, "express_delay_until");
	const long long queues = sl_cmd_number(row, "queues");
	char memory[SL_QUANTITY_BYTES];
	json_t *bad = json_object();

	(void)arg;
	if (strcmp(sl_cmd_text(row, "transport"), "none") == 0)
		printf("%-11snone: a router alone; %s polling\n", "transport",
		       sl_cmd_text(row, "poll"));
	else if (json_object_get(row, "rdma_device"))
		print_verbs(row);
	else
		printf("%-11s%s on %s: %lld queue%s, %s XDP, %s, %s polling\n", "transport",
		       sl_cmd_text(row, "transport"), sl_cmd_text(row, "device"), queues,
		       queues == 1 ? "" : "s",
		       json_is_true(json_object_get(row, "native_xdp")) ? "native" : "generic",
		       json_is_true(json_object_get(row, "zero_copy")) ? "zero-copy" : "copy mode",
		       sl_cmd_text(row, "poll"));
	if (*sl_cmd_text(row, "address"))
		printf("%-11snode %lld, %s, MTU %lld: messages up to %lld bytes\n", "here",
		       sl_cmd_number(row, "node"), sl_cmd_text(row, "address"),
		       sl_cmd_number(row, "mtu_bytes"), sl_cmd_number(row, "message_max_bytes"));
	printf("%-11s%sB: %lld chunks, %lld free\n", "memory",
	       sl_quantity((uint64_t)sl_cmd_number(row, "memory_bytes"), memory),
	       sl_cmd_number(row, "chunks"), sl_cmd_number(row, "chunks_free"));
	print_direction("sent", row, "sent", "frames_sent", "sent_bytes");
	print_direction("received", row, "received", "frames_received", "received_bytes");
	if (sl_cmd_number(row, "express_frames_received"))
		printf("%-11s%lld frames, which XDP took past the bridge%s%s\n", "",
		       sl_cmd_number(row, "express_frames_received"),
		       *until ? "; delay until the " : "", until);
	print_packing(row);
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		if (json_object_get(row, losses[i]))
			json_object_set(bad, losses[i], json_object_get(row, losses[i]));
	print_nonzero("trouble", bad);
	print_nonzero("frames", json_object_get(row, "frames"));
	print_nonzero("completed", json_object_get(row, "completions"));
	print_nonzero("messages", json_object_get(row, "messages"));
	print_nonzero("we refused", json_object_get(row, "refused"));
	print_nonzero("refused us", json_object_get(row, "refused_us"));
	json_decref(bad);
}
