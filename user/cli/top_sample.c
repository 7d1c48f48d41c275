/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/ipc/control_client.h"
#include "user/config/config_cluster.h"
#include "user/lib/clock.h"
#include "user/cli/top.h"

static const struct {
	const char *name, *command, *what;
	bool of_bridge;
	const char *id[2]; /* members that make the id */
	const char *counters[12];
} lists[SL_TOP_LISTS] = {
	[SL_TOP_PORTS] = { "ports",
			   "show",
			   "ports",
			   false,
			   { "port" },
			   { "rx_packets", "rx_bytes", "rx_dropped", "tx_packets", "tx_bytes",
			     "tx_dropped", "dropped" } },
	[SL_TOP_VOQS] = { "voqs",
			  "voqs",
			  NULL,
			  true,
			  { "port", "class" },
			  { "enqueued_frames", "enqueued_bytes", "dequeued_frames",
			    "dequeued_bytes", "taken_frames", "taken_bytes", "marked_frames",
			    "dropped_frames", "express_frames" } },
	[SL_TOP_EGRESS] = { "egress_queues",
			    "egress-queues",
			    NULL,
			    true,
			    { "port", "class" },
			    { "arrived_frames", "arrived_bytes", "departed_frames",
			      "departed_bytes", "dropped_frames", "dropped_bytes" } },
	[SL_TOP_PEERS] = { "peers",
			   "peers",
			   NULL,
			   true,
			   { "node" },
			   { "data_sent", "data_bytes_sent", "received", "lost" } },
	[SL_TOP_DROPS] = { "drops",
			   "show",
			   "drops",
			   false,
			   { "kind", "name" },
			   { "packets", "bytes" } },
	[SL_TOP_STAGES] = { "stages",
			    "show",
			    "counters",
			    false,
			    { "kind", "name" },
			    { "packets", "bytes" } },
	[SL_TOP_FABRIC] = { "fabric",
			    "fabric",
			    NULL,
			    true,
			    { "transport" },
			    { "sent", "sent_bytes", "received", "received_bytes",
			      "data_messages_sent", "frames_sent", "frames_received", "lost",
			      "duplicate", "no_buffer", "ring_full", "send_failed" } },
};

const char *sl_top_list_name(enum sl_top_list list)
{
	return lists[list].name;
}

/* A daemon that failed to answer once is not asked again in this sample. */
static json_t *ask(const char *name, const char *path, json_t *request, uint32_t patience_ms,
		   char why[SL_TOP_WHY_BYTES])
{
	if (*why) {
		json_decref(request);
		return NULL;
	}
	return sl_client_ask(name, path, request, patience_ms, why, SL_TOP_WHY_BYTES);
}

/* The path of the bridge's control socket, a new string; NULL: there is no bridge to ask. */
static char *find_bridge(const struct sl_cmd_options *options, struct sl_top_sample *out)
{
	char why[SL_TOP_WHY_BYTES] = "";
	json_t *rows = ask("sluiced", options->socket_path,
			   json_pack("{s:s, s:s}", "command", "show", "what", "cluster"),
			   options->patience_ms, why);
	const json_t *row = json_array_get(rows, 0);
	const char *path = options->bridge_path;
	char *copy = NULL;

	out->node = sl_cmd_number(row, "node");
	out->nodes = sl_cmd_number(row, "nodes");
	out->alone = !rows && strstr(why, "is in no cluster");
	if (!out->alone)
		memcpy(out->daemon_why, why, sizeof(why));
	if (!path && row)
		path = sl_cmd_text(row, "bridge");
	if (!path && !out->alone)
		path = SL_CONFIG_DEFAULT_BRIDGE_CONTROL;
	if (path)
		copy = strdup(path);
	json_decref(rows);
	return copy;
}

/* Add the members that the views need and the answers do not have. */
static void complete(enum sl_top_list list, json_t *row)
{
	const json_t *first = json_object_get(row, lists[list].id[0]);
	const json_t *second = lists[list].id[1] ? json_object_get(row, lists[list].id[1]) : NULL;
	long long dropped = 0;
	const char *reason;
	json_t *value;

	if (!second && json_is_integer(first))
		json_object_set_new(row, "id", json_sprintf("%lld", json_integer_value(first)));
	else if (!second)
		json_object_set_new(row, "id", json_sprintf("%s", json_string_value(first)));
	else if (json_is_integer(second))
		json_object_set_new(row, "id",
				    json_sprintf("%s/%lld", json_string_value(first),
						 json_integer_value(second)));
	else
		json_object_set_new(
			row, "id",
			json_sprintf("%s %s", json_string_value(first), json_string_value(second)));
	/* The health of a port with the fast path on it is that of its link. */
	if (list == SL_TOP_PORTS && strcmp(sl_cmd_text(row, "state"), "on") == 0)
		json_object_set_new(
			row, "health",
			json_string(json_is_true(json_object_get(row, "up")) ? "up" : "down"));
	else if (list == SL_TOP_PORTS)
		json_object_set(row, "health", json_object_get(row, "state"));
	if (list == SL_TOP_PORTS && json_object_get(row, "rx_packets"))
		json_object_set_new(row, "dropped",
				    json_integer(sl_cmd_number(row, "rx_dropped") +
						 sl_cmd_number(row, "tx_dropped") +
						 sl_cmd_number(row, "dropped_packets")));
	if (list != SL_TOP_VOQS)
		return;
	json_object_foreach(json_object_get(row, "dropped"), reason, value)
		dropped += json_integer_value(value);
	json_object_set_new(row, "dropped_frames", json_integer(dropped));
}

void sl_top_ask(const struct sl_cmd_options *options, struct sl_top_sample *out)
{
	char *bridge;

	memset(out, 0, sizeof(*out));
	bridge = find_bridge(options, out);
	for (int i = 0; i < SL_TOP_LISTS; i++) {
		json_t *request = json_pack("{s:s, s:s*}", "command", lists[i].command, "what",
					    lists[i].what);
		json_t *row;
		size_t n;

		out->time_ns[i] = sl_now_ns();
		if (!lists[i].of_bridge)
			out->rows[i] = ask("sluiced", options->socket_path, request,
					   options->patience_ms, out->daemon_why);
		else if (bridge)
			out->rows[i] = ask("sluice-bridge", bridge, request, options->patience_ms,
					   out->bridge_why);
		else
			json_decref(request);
		json_array_foreach(out->rows[i], n, row)
			complete((enum sl_top_list)i, row);
	}
	free(bridge);
}

void sl_top_free(struct sl_top_sample *sample)
{
	for (int i = 0; i < SL_TOP_LISTS; i++)
		json_decref(sample->rows[i]);
	memset(sample, 0, sizeof(*sample));
}

const json_t *sl_top_row(const json_t *rows, const char *id)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
		if (strcmp(sl_cmd_text(row, "id"), id) == 0)
			return row;
	return NULL;
}

/* A counter below its earlier value has started over from 0; its rate is not known. */
static void rate(json_t *row, const json_t *before, const char *counter, double seconds)
{
	const json_t *now = json_object_get(row, counter), *then = json_object_get(before, counter);
	json_t *value = NULL;
	char name[64];

	if (!now)
		return;
	snprintf(name, sizeof(name), "%s_per_s", counter);
	if (json_is_integer(then) && seconds > 0 &&
	    json_integer_value(now) >= json_integer_value(then))
		value = json_real((double)(json_integer_value(now) - json_integer_value(then)) /
				  seconds);
	json_object_set_new(row, name, value ? value : json_null());
}

void sl_top_rates(struct sl_top_sample *now, const struct sl_top_sample *before)
{
	for (int i = 0; i < SL_TOP_LISTS; i++) {
		double seconds = before ? (double)(now->time_ns[i] - before->time_ns[i]) / 1e9 : 0;
		json_t *row;
		size_t n;

		json_array_foreach(now->rows[i], n, row) {
			const json_t *old =
				before ? sl_top_row(before->rows[i], sl_cmd_text(row, "id")) : NULL;

			for (const char *const *c = lists[i].counters;
			     c < lists[i].counters + 12 && *c; c++)
				rate(row, old, *c, seconds);
		}
	}
}

json_t *sl_top_json(const struct sl_top_sample *sample, double interval_s)
{
	json_t *out = json_pack("{s:f, s:o, s:o}", "interval_s", interval_s, "sluiced",
				*sample->daemon_why ? json_string(sample->daemon_why) : json_true(),
				"bridge",
				sample->alone	      ? json_null()
				: *sample->bridge_why ? json_string(sample->bridge_why)
						      : json_true());

	for (int i = 0; i < SL_TOP_LISTS; i++)
		json_object_set(out, lists[i].name,
				sample->rows[i] ? sample->rows[i] : json_null());
	return out;
}
