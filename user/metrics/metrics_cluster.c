/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "user/metrics/metrics_cluster.h"
#include "user/metrics/metrics_format.h"

/* The members of a row that become labels, with the labels' names. */
static const struct {
	const char *member, *label;
} labels[SL_METRICS_LISTS][4] = {
	[SL_METRICS_SYSTEM_PORTS] = { { "port", "port" }, { "node", "node" } },
	[SL_METRICS_RESERVE_PORTS] = { { "port", "port" }, { "netdev", "netdev" } },
	[SL_METRICS_VOQS] = { { "port", "port" }, { "node", "node" }, { "class", "class" } },
	[SL_METRICS_EGRESS] = { { "port", "port" }, { "netdev", "netdev" }, { "class", "class" } },
	[SL_METRICS_PEERS] = { { "node", "node" } },
	[SL_METRICS_CC] = { { "side", "side" },
			    { "port", "port" },
			    { "class", "class" },
			    { "controller", "controller" } },
};

enum shape {
	NUMBER,	    /* the member */
	MS,	    /* the member, in milliseconds */
	NS,	    /* the member, in nanoseconds */
	BITS,	    /* the member, in bits: as bytes */
	IS,	    /* 1 if the member is the text `word`, else 0 */
	PER_FRAMES, /* a rate, of rows whose unit is frames */
	PER_BYTES,  /* a rate, of rows whose unit is bytes */
	BY_NAME,    /* the member has a number for each name; the label is `word` */
	PACKETS,    /* as BY_NAME, each with packets and bytes: the packets */
	BYTES,	    /* their bytes */
};

static const struct {
	enum sl_metrics_list list;
	const char *name, *member;
	enum shape shape;
	const char *word, *help;
} families[] = {
#define VOQ    SL_METRICS_VOQS
#define QUEUE  SL_METRICS_EGRESS
#define PEER   SL_METRICS_PEERS
#define FABRIC SL_METRICS_FABRIC
#define BRIDGE SL_METRICS_BRIDGE
#define CC     SL_METRICS_CC
	{ SL_METRICS_SYSTEM_PORTS, "system_port_up", "state", IS, "up",
	  "1: the port is up and can be reached." },
	{ SL_METRICS_SYSTEM_PORTS, "system_port_refused_routes", "refused", BY_NAME, "reason",
	  "Routes and neighbours that its node announces and this node refuses, by reason." },
	{ SL_METRICS_RESERVE_PORTS, "reserve_limit_bytes_per_second", "limit_bps", BITS, NULL,
	  "What flows may reserve of the port." },
	{ SL_METRICS_RESERVE_PORTS, "reserve_reserved_bytes_per_second", "reserved_bps", BITS, NULL,
	  "What they have reserved." },
	{ SL_METRICS_RESERVE_PORTS, "reserve_flows", "flows", NUMBER, NULL, "Flows that have." },
	{ VOQ, "voq_enqueued_frames_total", "enqueued_frames", NUMBER, NULL,
	  "Frames from XDP for a virtual output queue." },
	{ VOQ, "voq_enqueued_bytes_total", "enqueued_bytes", NUMBER, NULL, "Their bytes." },
	{ VOQ, "voq_taken_frames_total", "taken_frames", NUMBER, NULL,
	  "Frames that the bridge took for it, those of the kernel included." },
	{ VOQ, "voq_taken_bytes_total", "taken_bytes", NUMBER, NULL, "Their bytes." },
	{ VOQ, "voq_express_frames_total", "express_frames", NUMBER, NULL,
	  "Frames that XDP sent to the other node at once." },
	{ VOQ, "voq_express", "express", IS, "yes",
	  "1: XDP sends its frames to the other node at once now." },
	{ VOQ, "voq_express_bytes_total", "express_bytes", NUMBER, NULL, "Their bytes." },
	{ VOQ, "voq_marked_frames_total", "marked_frames", NUMBER, NULL,
	  "Frames marked as having experienced congestion." },
	{ VOQ, "voq_dropped_frames_total", "dropped", BY_NAME, "reason",
	  "Frames dropped where they entered, by reason." },
	{ VOQ, "voq_waiting_frames", "waiting_frames", NUMBER, NULL, "Frames that wait now." },
	{ VOQ, "voq_waiting_bytes", "waiting_bytes", NUMBER, NULL, "Their bytes." },
	{ VOQ, "voq_limit_frames", "limit_frames", NUMBER, NULL, "Frames that may wait." },
	{ VOQ, "voq_rate_frames_per_second", "rate", PER_FRAMES, NULL,
	  "The queue's rate, where it is one of frames." },
	{ VOQ, "voq_rate_bytes_per_second", "rate", PER_BYTES, NULL,
	  "The queue's rate, where it is one of bytes." },
	{ QUEUE, "egress_queue_arrived_frames_total", "arrived_frames", NUMBER, NULL,
	  "Frames that came for a port of this node." },
	{ QUEUE, "egress_queue_arrived_bytes_total", "arrived_bytes", NUMBER, NULL,
	  "Their bytes." },
	{ QUEUE, "egress_queue_departed_frames_total", "departed_frames", NUMBER, NULL,
	  "Of those, the ones handed to the port." },
	{ QUEUE, "egress_queue_departed_bytes_total", "departed_bytes", NUMBER, NULL,
	  "Their bytes." },
	{ QUEUE, "egress_queue_express_frames_total", "express_frames", NUMBER, NULL,
	  "Frames of other nodes that XDP gave to the port at once." },
	{ QUEUE, "egress_queue_express_bytes_total", "express_bytes", NUMBER, NULL,
	  "Their bytes." },
	{ QUEUE, "egress_queue_dropped_frames_total", "dropped_frames", NUMBER, NULL,
	  "Of those, the ones that found the queue full." },
	{ QUEUE, "egress_queue_dropped_bytes_total", "dropped_bytes", NUMBER, NULL,
	  "Their bytes." },
	{ QUEUE, "egress_queue_waiting_frames", "waiting_frames", NUMBER, NULL,
	  "Frames that wait now." },
	{ QUEUE, "egress_queue_waiting_bytes", "waiting_bytes", NUMBER, NULL, "Their bytes." },
	{ QUEUE, "egress_queue_limit_frames", "limit_frames", NUMBER, NULL,
	  "Frames that may wait." },
	{ QUEUE, "egress_queue_flow_queues_in_use", "flow_queues_in_use", NUMBER, NULL,
	  "Flow queues that have frames, where the queue has flow queues." },
	{ QUEUE, "egress_queue_marked_frames_total", "marked_frames", NUMBER, NULL,
	  "Frames that its discard policy marked as having experienced congestion." },
	{ QUEUE, "egress_queue_policy_dropped_frames_total", "policy_dropped", BY_NAME, "reason",
	  "Frames that its discard policy dropped, by reason." },
	{ PEER, "peer_up", "state", IS, "up", "1: the peer's bridge and ours hear each other." },
	{ PEER, "peer_silence_seconds", "heard_ms", MS, NULL, "Since the peer was last heard." },
	{ PEER, "peer_ups_total", "ups", NUMBER, NULL, "Times that the peer came up." },
	{ PEER, "peer_downs_total", "downs", NUMBER, NULL, "Times that the peer went down." },
	{ PEER, "peer_sent_messages_total", "data_sent", NUMBER, NULL,
	  "Messages with frames sent to the peer." },
	{ PEER, "peer_sent_bytes_total", "data_bytes_sent", NUMBER, NULL, "Their bytes." },
	{ PEER, "peer_sent_hellos_total", "hellos_sent", NUMBER, NULL, "Hellos sent to the peer." },
	{ PEER, "peer_refused_messages_total", "send_refused", NUMBER, NULL,
	  "Messages that the transport did not take." },
	{ PEER, "peer_received_messages_total", "received", NUMBER, NULL,
	  "Messages of the peer, of all types." },
	{ PEER, "peer_lost_messages_total", "lost", NUMBER, NULL,
	  "Gaps in their sequence numbers." },
	{ PEER, "peer_late_messages_total", "late", NUMBER, NULL,
	  "Messages that came after younger ones." },
	{ PEER, "peer_duplicate_messages_total", "duplicate", NUMBER, NULL,
	  "Messages that came twice; dropped." },
	{ PEER, "peer_stale_messages_total", "stale", NUMBER, NULL,
	  "Messages too old to tell whether they came before; dropped." },
	{ PEER, "peer_clock_synchronized", "clock", IS, "synchronized",
	  "1: delays between the peer and this node are taken from their clocks, which agree." },
	{ PEER, "peer_clock_disagrees", "clock", IS, "disagrees",
	  "1: clock_error_us is set, and the clocks of the peer and this node differ by more." },
	{ PEER, "peer_delay_error_seconds", "delay_error_ns", NS, NULL,
	  "By how much delays between the peer and this node may be wrong." },
	{ FABRIC, "fabric_sent_messages_total", "sent", NUMBER, NULL, "Messages sent." },
	{ FABRIC, "fabric_sent_bytes_total", "sent_bytes", NUMBER, NULL, "Their bytes." },
	{ FABRIC, "fabric_received_messages_total", "received", NUMBER, NULL,
	  "Messages received." },
	{ FABRIC, "fabric_received_bytes_total", "received_bytes", NUMBER, NULL, "Their bytes." },
	{ FABRIC, "fabric_checked_messages_total", "messages", BY_NAME, "verdict",
	  "Messages received, by what was found in them." },
	{ FABRIC, "fabric_refusals_total", "refused", BY_NAME, "reason",
	  "Bridges that this one refused, by reason." },
	{ FABRIC, "fabric_refusals_received_total", "refused_us", BY_NAME, "reason",
	  "Bridges that refused this one, by reason." },
	{ FABRIC, "fabric_no_buffer_total", "no_buffer", NUMBER, NULL,
	  "Messages received for which there was no memory." },
	{ FABRIC, "fabric_ring_full_total", "ring_full", NUMBER, NULL,
	  "Messages received for which the ring had no room." },
	{ FABRIC, "fabric_send_failures_total", "send_failed", NUMBER, NULL,
	  "Messages that could not be sent." },
	{ FABRIC, "fabric_marked_messages_total", "marked", NUMBER, NULL,
	  "Messages received that the network had marked." },
	{ FABRIC, "fabric_stalls_total", "stalls", NUMBER, NULL,
	  "Times that this bridge got no processor for long." },
	{ FABRIC, "bridge_chunks", "chunks", NUMBER, NULL, "Packet memory, in pieces." },
	{ FABRIC, "bridge_chunks_free", "chunks_free", NUMBER, NULL,
	  "Of those, the ones in no use." },
	{ BRIDGE, "bridge_frames_total", "frames", PACKETS, "counter",
	  "What became of frames in the bridge." },
	{ BRIDGE, "bridge_bytes_total", "frames", BYTES, "counter", "Their bytes." },
	{ CC, "controller_signal", "signal", NUMBER, NULL,
	  "The number of the latest feedback of a queue, in the controller's own unit." },
	{ CC, "controller_price", "price", NUMBER, NULL, "The price of a queue." },
	{ CC, "controller_rate_frames_per_second", "rate", PER_FRAMES, NULL,
	  "Egress: what the queue may send; ingress: what this node may send to it." },
	{ CC, "controller_rate_bytes_per_second", "rate", PER_BYTES, NULL,
	  "The same, where it is counted in bytes." },
	{ CC, "controller_sources", "sources", NUMBER, NULL, "Nodes that send to the queue." },
	{ CC, "controller_weight", "weight", NUMBER, NULL, "This node's weight there." },
	{ SL_METRICS_CC_TOTALS, "controller_intervals_total", "intervals", NUMBER, NULL,
	  "Control intervals." },
	{ SL_METRICS_CC_TOTALS, "controller_late_total", "late", NUMBER, NULL,
	  "Of those, the ones that came late." },
	{ SL_METRICS_CC_TOTALS, "controller_feedback_sent_total", "feedback_sent", NUMBER, NULL,
	  "Feedback records sent." },
	{ SL_METRICS_CC_TOTALS, "controller_feedback_received_total", "feedback_received", NUMBER,
	  NULL, "Feedback records received and used." },
	{ SL_METRICS_CC_TOTALS, "controller_feedback_stale_total", "feedback_stale", NUMBER, NULL,
	  "Feedback records older than the last." },
};

static bool unit_is(const json_t *row, const char *unit)
{
	return strcmp(sl_metrics_member(row, "unit"), unit) == 0;
}

static void put_labels(FILE *f, enum sl_metrics_list list, const json_t *row, const char *name,
		       const char *value)
{
	const char *before = "{";

	for (int i = 0; i < 4 && labels[list][i].member; i++) {
		const json_t *member = json_object_get(row, labels[list][i].member);

		fprintf(f, "%s%s=\"", before, labels[list][i].label);
		if (json_is_integer(member))
			fprintf(f, "%lld", (long long)json_integer_value(member));
		else
			sl_metrics_put_label(f, sl_metrics_member(row, labels[list][i].member));
		fputs("\"", f);
		before = ",";
	}
	if (name) {
		fprintf(f, "%s%s=\"", before, name);
		sl_metrics_put_label(f, value);
		fputs("\"", f);
		before = ",";
	}
	if (*before == ',')
		fputs("}", f);
}

static void put_value(FILE *f, const json_t *value)
{
	if (json_is_integer(value))
		fprintf(f, " %lld\n", (long long)json_integer_value(value));
	else
		fprintf(f, " %.17g\n", json_real_value(value));
}

static void put_row(FILE *f, size_t family, const json_t *row)
{
	const char *name = families[family].name, *word = families[family].word;
	const enum sl_metrics_list list = families[family].list;
	const enum shape shape = families[family].shape;
	json_t *member = json_object_get(row, families[family].member), *value;
	const char *key;

	switch (shape) {
	case NUMBER:
	case MS:
	case NS:
	case BITS:
		if (!json_is_number(member))
			return;
		break;
	case IS:
		break;
	case PER_FRAMES:
	case PER_BYTES:
		if (!member || !unit_is(row, shape == PER_BYTES ? "bytes" : "frames"))
			return;
		break;
	case BY_NAME:
	case PACKETS:
	case BYTES:
		json_object_foreach(member, key, value) {
			if (shape != BY_NAME)
				value = json_object_get(value,
							shape == BYTES ? "bytes" : "packets");
			fprintf(f, "sluice_%s", name);
			put_labels(f, list, row, word, key);
			put_value(f, value);
		}
		return;
	}
	fprintf(f, "sluice_%s", name);
	put_labels(f, list, row, NULL, NULL);
	if (shape == IS)
		fprintf(f, " %d\n",
			strcmp(sl_metrics_member(row, families[family].member), word) == 0);
	else if (shape == MS)
		fprintf(f, " %.3f\n", json_number_value(member) / 1000);
	else if (shape == NS)
		fprintf(f, " %.9f\n", json_number_value(member) / 1e9);
	else if (shape == BITS)
		fprintf(f, " %lld\n", (long long)json_integer_value(member) / 8);
	else if (json_is_null(member))
		fputs(" +Inf\n", f);
	else
		put_value(f, member);
}

/* A histogram of how many frames each message held that was sent. */
static void put_packing(FILE *f, const json_t *fabric)
{
	static const char name[] = "fabric_message_frames";
	const json_t *classes = json_object_get(fabric, "packing"), *class;
	long long messages = 0;
	size_t i;

	if (!classes)
		return;
	sl_metrics_put_head(f, name, "histogram", "Frames in each message sent.");
	json_array_foreach(classes, i, class) {
		messages += json_integer_value(json_object_get(class, "messages"));
		fprintf(f, "sluice_%s_bucket{le=\"%lld\"} %lld\n", name,
			(long long)json_integer_value(json_object_get(class, "most")), messages);
	}
	fprintf(f, "sluice_%s_bucket{le=\"+Inf\"} %lld\n", name, messages);
	fprintf(f, "sluice_%s_sum %lld\nsluice_%s_count %lld\n", name,
		(long long)json_integer_value(json_object_get(fabric, "frames_sent")), name,
		messages);
}

/* Histograms of where frames waited, of the queues that had any. */
static void put_delay(FILE *f, const json_t *rows)
{
	static const char name[] = "egress_queue_delay_seconds";
	const json_t *row, *bucket;
	size_t i, k;

	if (!rows)
		return;
	sl_metrics_put_head(f, name, "histogram",
			    "Where frames waited that left by a port, of a sample of them.");
	json_array_foreach(rows, i, row) {
		const char *port = json_string_value(json_object_get(row, "port"));
		const char *stage = json_string_value(json_object_get(row, "stage"));
		const long long class = json_integer_value(json_object_get(row, "class"));
		const long long n = json_integer_value(json_object_get(row, "measured_frames"));

		if (!n)
			continue;
		json_array_foreach(json_object_get(row, "buckets"), k, bucket)
			fprintf(f,
				"sluice_%s_bucket{port=\"%s\",class=\"%lld\",stage=\"%s\",le=\"%.11g\"} "
				"%lld\n",
				name, port, class, stage,
				(double)json_integer_value(json_object_get(bucket, "below_ns")) /
					1e9,
				(long long)json_integer_value(json_object_get(bucket, "frames")));
		fprintf(f,
			"sluice_%s_bucket{port=\"%s\",class=\"%lld\",stage=\"%s\",le=\"+Inf\"} %lld\n",
			name, port, class, stage, n);
		fprintf(f, "sluice_%s_sum{port=\"%s\",class=\"%lld\",stage=\"%s\"} %.9f\n", name,
			port, class, stage,
			(double)json_integer_value(json_object_get(row, "sum_ns")) / 1e9);
		fprintf(f, "sluice_%s_count{port=\"%s\",class=\"%lld\",stage=\"%s\"} %lld\n", name,
			port, class, stage, n);
	}
}

/* A sample for each port and level of delay, in seconds: a member of the level by `unit`. */
static void put_levels(FILE *f, const json_t *rows, const char *name, const char *help,
		       const char *member, double unit)
{
	const json_t *row, *level;
	size_t i, k;

	sl_metrics_put_head(f, name, "counter", help);
	json_array_foreach(rows, i, row)
		json_array_foreach(json_object_get(row, "levels"), k, level)
			fprintf(f, "sluice_%s{port=\"%s\",above=\"%.11g\"} %.16g\n", name,
				json_string_value(json_object_get(row, "port")),
				(double)json_integer_value(json_object_get(level, "above_ns")) /
					1e9,
				(double)json_integer_value(json_object_get(level, member)) / unit);
}

static void put_busy(FILE *f, const json_t *rows)
{
	if (!rows)
		return;
	put_levels(f, rows, "busy_periods_total",
		   "Busy periods of a port that are over, by the delay that they exceeded.",
		   "periods", 1);
	put_levels(f, rows, "busy_seconds_total",
		   "Time that their delay was above it, by the triangle estimate.", "time_ns", 1e9);
}

void sl_metrics_put_cluster(FILE *f, const struct sl_metrics_cluster *cluster)
{
	const json_t *row;
	size_t i, k;

	sl_metrics_put_head(f, "bridge_up", "gauge",
			    "1: the bridge answers, and the metrics below are its.");
	fprintf(f, "sluice_bridge_up %d\n", cluster->rows[BRIDGE] != NULL);
	for (i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		const json_t *rows = cluster->rows[families[i].list];
		const char *total = strstr(families[i].name, "_total");

		if (!rows)
			continue;
		sl_metrics_put_head(f, families[i].name, total ? "counter" : "gauge",
				    families[i].help);
		json_array_foreach(rows, k, row)
			put_row(f, i, row);
	}
	put_packing(f, json_array_get(cluster->rows[FABRIC], 0));
	put_delay(f, cluster->rows[SL_METRICS_DELAY]);
	put_busy(f, cluster->rows[SL_METRICS_BUSY]);
}
