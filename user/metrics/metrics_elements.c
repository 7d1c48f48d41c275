/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "user/metrics/metrics_elements.h"
#include "user/metrics/metrics_format.h"

#define LABELS_MAX 4

/* The members of a row that become labels, with the labels' names. */
static const struct {
	const char *member, *label;
} labels[SL_METRICS_ELEMENTS_LISTS][LABELS_MAX] = {
	[SL_METRICS_FLOWS] = { { "flow", "flow" } },
	[SL_METRICS_ELEMENT] = { { "chain", "chain" },
				 { "element", "element" },
				 { "class", "class" },
				 { "drop", "reason" } },
	[SL_METRICS_CLASSES] = { { "class", "class" }, { "key", "key" } },
	[SL_METRICS_SIGNALS] = { { "key", "key" }, { "outcome", "outcome" } },
};

enum shape {
	NUMBER,	 /* the member */
	SECONDS, /* the member, in nanoseconds */
	RATIO,	 /* the member, in hundredths */
	REASONS, /* the row has a member for each name in `reasons` */
	DROPS,	 /* the member, with its reason, of elements that may drop */
	PACKAGE, /* 1, with its version, of classes that were installed */
	IS_SET	 /* 1 if the member is a text, else 0, of the same */
};

static const struct {
	enum sl_metrics_elements_list list;
	const char *name, *member;
	enum shape shape;
	const char *help;
} families[] = {
#define WORKER	SL_METRICS_WORKER
#define FLOW	SL_METRICS_FLOWS
#define ELEMENT SL_METRICS_ELEMENT
#define CLASS	SL_METRICS_CLASSES
#define SIGNAL	SL_METRICS_SIGNALS
	{ WORKER, "elements_uptime_seconds", "up_ns", SECONDS,
	  "Since sluice-elements was started." },
	{ WORKER, "elements_idle_seconds_total", "idle_ns", SECONDS,
	  "Of that time, what it slept." },
	{ WORKER, "elements_received_packets_total", "received", NUMBER,
	  "Packets that came for chains." },
	{ WORKER, "elements_sent_packets_total", "sent", NUMBER,
	  "Packets given back to the router." },
	{ WORKER, "elements_dropped_packets_total", NULL, REASONS,
	  "Packets that ended outside of chains, by reason." },
	{ FLOW, "element_flow_share", "share", NUMBER,
	  "Its share of processor time, relative to the shares of others." },
	{ FLOW, "element_flow_rate_ratio", "rate_percent", RATIO,
	  "The part of the processor that it is guaranteed." },
	{ FLOW, "element_flow_ceiling_ratio", "ceiling_percent", RATIO,
	  "The most of each processor that a fast chain may use." },
	{ FLOW, "element_flow_weight", "weight", NUMBER, "The weight that follows from them." },
	{ FLOW, "element_flow_cpu_seconds_total", "cpu_ns", SECONDS,
	  "Processor time that it has used." },
	{ FLOW, "element_flow_slices_total", "slices", NUMBER, "Its turns." },
	{ FLOW, "element_flow_longest_slice_seconds", "longest_slice_ns", SECONDS,
	  "The longest of them." },
	{ FLOW, "element_flow_preemptions_total", "preemptions", NUMBER,
	  "Turns that another flow took over." },
	{ FLOW, "element_flow_sleeps_total", "sleeps", NUMBER,
	  "Times that it had nothing left to do." },
	{ FLOW, "element_flow_wakeups_total", "wakeups", NUMBER, "Times that a packet woke it." },
	{ FLOW, "element_flow_entered_packets_total", "entered", NUMBER,
	  "Packets that a chain took." },
	{ FLOW, "element_flow_fast_packets_total", "fast_packets", NUMBER,
	  "Of those, the ones that did not leave the fast path." },
	{ FLOW, "element_flow_refused_packets_total", "refused", NUMBER,
	  "Packets for which its input had no room." },
	{ FLOW, "element_flow_copied_packets_total", "copied", NUMBER,
	  "Packets that its elements made." },
	{ FLOW, "element_flow_left_packets_total", "left", NUMBER, "Packets that left it." },
	{ FLOW, "element_flow_dropped_packets_total", "dropped", NUMBER,
	  "Packets that its elements dropped." },
	{ FLOW, "element_flow_waiting_packets", "waiting", NUMBER, "Packets that wait in it now." },
	{ FLOW, "element_flow_limit_packets", "limit", NUMBER,
	  "Packets that may wait at its input." },
	{ ELEMENT, "element_packets_total", "packets", NUMBER, "Packets that came to it." },
	{ ELEMENT, "element_bytes_total", "bytes", NUMBER, "Their bytes." },
	{ ELEMENT, "element_dropped_packets_total", "dropped", DROPS,
	  "Of those, the ones that it dropped." },
	{ ELEMENT, "element_copied_packets_total", "copied", NUMBER, "Packets that it made." },
	{ ELEMENT, "element_not_copied_packets_total", "not_copied", NUMBER,
	  "Copies for which it had no room." },
	{ ELEMENT, "element_waiting_packets", "waiting", NUMBER, "Packets that wait in it now." },
	{ CLASS, "element_package_info", "key", PACKAGE,
	  "1; the labels say which elements are installed, and whose key has signed them." },
	{ CLASS, "element_package_quarantined", "fault", IS_SET,
	  "1: it crashed or did not end, and is not run until it is replaced." },
	{ SIGNAL, "element_signals_total", "signals", NUMBER,
	  "Signals, by key and outcome; those of no key have none." },
};

static const struct {
	const char *member, *reason;
} reasons[] = {
	{ "drop_ring", "ring" },	 { "drop_malformed", "malformed" },
	{ "drop_no_chain", "no-chain" }, { "drop_output_full", "output-full" },
	{ "drop_closed", "closed" },
};

static void put_label(FILE *f, char *before, const char *label, const char *value)
{
	fprintf(f, "%c%s=\"", *before, label);
	sl_metrics_put_label(f, value);
	fputc('"', f);
	*before = ',';
}

/* The family's name, with the labels of the row and one more, unless it is NULL. */
static void put_name(FILE *f, size_t family, const json_t *row, const char *label,
		     const char *value)
{
	const enum sl_metrics_elements_list list = families[family].list;
	char before = '{';

	fprintf(f, "sluice_%s", families[family].name);
	for (int i = 0; i < LABELS_MAX && labels[list][i].member; i++)
		if (families[family].shape == DROPS || strcmp(labels[list][i].label, "reason") != 0)
			put_label(f, &before, labels[list][i].label,
				  sl_metrics_member(row, labels[list][i].member));
	if (label)
		put_label(f, &before, label, value);
	if (before == ',')
		fputc('}', f);
}

static void put_reasons(FILE *f, size_t family, const json_t *row)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		put_name(f, family, row, "reason", reasons[i].reason);
		fprintf(f, " %lld\n",
			(long long)json_integer_value(json_object_get(row, reasons[i].member)));
	}
}

static void put_row(FILE *f, size_t family, const json_t *row)
{
	const json_t *member = json_object_get(row, families[family].member);
	const enum shape shape = families[family].shape;
	const bool installed = json_is_string(json_object_get(row, "key"));
	const long long number = (long long)json_integer_value(member);
	char version[24] = "";

	if (shape == REASONS) {
		put_reasons(f, family, row);
		return;
	}
	if (shape == PACKAGE || shape == IS_SET ? !installed : !json_is_integer(member))
		return;
	if (shape == DROPS && !json_is_string(json_object_get(row, "drop")))
		return;
	if (shape == PACKAGE)
		snprintf(version, sizeof(version), "%lld",
			 (long long)json_integer_value(json_object_get(row, "version")));
	put_name(f, family, row, shape == PACKAGE ? "version" : NULL, version);
	switch (shape) {
	case SECONDS:
		fprintf(f, " %lld.%09lld\n", number / 1000000000, number % 1000000000);
		break;
	case RATIO:
		fprintf(f, " %.2f\n", (double)number / 100);
		break;
	case PACKAGE:
		fputs(" 1\n", f);
		break;
	case IS_SET:
		fprintf(f, " %d\n", json_is_string(member));
		break;
	default:
		fprintf(f, " %lld\n", number);
	}
}

void sl_metrics_put_elements(FILE *f, const struct sl_metrics_elements *elements)
{
	const bool up = elements->rows[WORKER];
	const json_t *row;
	size_t k;

	if (!up && !elements->wanted)
		return;
	sl_metrics_put_head(f, "elements_up", "gauge",
			    "1: sluice-elements answers, and the metrics below are its.");
	fprintf(f, "sluice_elements_up %d\n", up);
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		const json_t *rows = elements->rows[families[i].list];

		if (!json_array_size(rows))
			continue;
		sl_metrics_put_head(f, families[i].name,
				    strstr(families[i].name, "_total") ? "counter" : "gauge",
				    families[i].help);
		json_array_foreach(rows, k, row)
			put_row(f, i, row);
	}
}
