/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/ipc/counter_texts.h"
#include "user/show/counter_rows.h"

static void append_counter(json_t *rows, const char *kind, const struct sl_counter_text *text,
			   const struct sl_counter *counter)
{
	json_array_append_new(rows,
			      json_pack("{s:s, s:s, s:I, s:I, s:s}", "kind", kind, "name",
					text->name, "packets", (json_int_t)counter->packets,
					"bytes", (json_int_t)counter->bytes, "text", text->text));
}

json_t *sl_counter_rows(const struct sl_counters *counters)
{
	static const struct sl_counter_text drops = {
		"drops", "dropped, for a reason that `show drops` tells"
	};
	static const struct sl_counter_text punts = { "punts", "given to this node's kernel" };
	static const struct sl_counter_text unsent = {
		"unsent", "of those forwarded, not taken by the egress driver"
	};
	const struct sl_counter dropped = sl_counters_dropped(counters);
	const struct sl_counter punted = sl_counters_punted(counters);
	const struct sl_counter lost = sl_counters_unsent(counters);
	json_t *rows = json_array();

	for (int i = 0; i < SL_STAT_COUNT; i++)
		append_counter(rows, "stage", &sl_stat_texts[i], &counters->stats[i]);
	append_counter(rows, "sum", &drops, &dropped);
	append_counter(rows, "sum", &punts, &punted);
	append_counter(rows, "sum", &unsent, &lost);
	return rows;
}

json_t *sl_counter_reason_rows(const struct sl_counters *counters)
{
	json_t *rows = json_array();

	for (int i = 0; i < SL_DROP_COUNT; i++)
		append_counter(rows, "drop", &sl_drop_texts[i], &counters->drops[i]);
	for (int i = 0; i < SL_PUNT_COUNT; i++)
		append_counter(rows, "punt", &sl_punt_texts[i], &counters->punts[i]);
	return rows;
}
