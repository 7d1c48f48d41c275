/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/flows/flow_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi/voq.h"
#include "user/classify/rule_text.h"
#include "user/config/config_filter.h"

#define BLANKS " \t\r\n"

static const uint32_t actions[] = { SL_FILTER_PERMIT, SL_FILTER_DENY, SL_FILTER_KERNEL };

static int refuse(char why[SL_FLOW_WHY_BYTES], const char *key, const char *text, const char *what)
{
	snprintf(why, SL_FLOW_WHY_BYTES, "%s: \"%.48s\" is not %s", key, text, what);
	return -EINVAL;
}

/* --- Read --- */

static int read_action(const char *text, struct sl_flow_line *out, char why[SL_FLOW_WHY_BYTES])
{
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (strcmp(text, sl_filter_action_name(actions[i])) == 0) {
			out->flow.action |= actions[i];
			return 0;
		}
	return refuse(why, "action", text, "permit, deny or kernel");
}

static int read_class(const char *text, struct sl_flow_line *out, char why[SL_FLOW_WHY_BYTES])
{
	if (text[0] < '0' || text[0] >= '0' + SL_CLASSES || text[1])
		return refuse(why, "class", text, "a traffic class: write 0 to 3");
	out->flow.action |= (uint32_t)(text[0] - '0' + 1) << SL_RULE_CLASS_SHIFT;
	return 0;
}

static int read_dscp(const char *text, struct sl_flow_line *out, char why[SL_FLOW_WHY_BYTES])
{
	uint8_t dscp;

	if (sl_rule_dscp_parse(text, &dscp))
		return refuse(why, "set_dscp", text, "a DSCP: write 0 to 63, or a name such as ef");
	out->flow.action |= (dscp + 1u) << SL_RULE_DSCP_SHIFT;
	return 0;
}

static int read_idle(const char *text, struct sl_flow_line *out, char why[SL_FLOW_WHY_BYTES])
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || value < 1 || value > SL_FLOW_IDLE_MAX_S)
		return refuse(why, "idle", text, "a time in seconds: write 1 to 86400");
	out->flow.idle_s = (uint32_t)value;
	return 0;
}

static const struct {
	const char *key;
	int (*read)(const char *text, struct sl_flow_line *out, char why[SL_FLOW_WHY_BYTES]);
} keys[] = {
	{ "action", read_action },
	{ "class", read_class },
	{ "set_dscp", read_dscp },
	{ "idle", read_idle },
};

int sl_flow_line_read(const json_t *words, struct sl_flow_line *out, char why[SL_FLOW_WHY_BYTES])
{
	json_t *flow = json_copy((json_t *)words);
	int err = 0;

	*out = (struct sl_flow_line){ 0 };
	if (!json_object_get(words, "action")) {
		snprintf(why, SL_FLOW_WHY_BYTES,
			 "a flow needs an action: write action=permit, deny or kernel");
		err = -EINVAL;
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]) && !err; i++) {
		const char *text = json_string_value(json_object_get(words, keys[i].key));

		if (text)
			err = keys[i].read(text, out, why);
		json_object_del(flow, keys[i].key);
	}
	if (!err)
		err = sl_flow_read(flow, &out->key, why);
	if (!err && out->flow.action & SL_RULE_ACTION_MASK &&
	    out->flow.action & ~SL_RULE_ACTION_MASK) {
		snprintf(why, SL_FLOW_WHY_BYTES,
			 "class and set_dscp are for packets that are permitted: write "
			 "action=permit, or leave them out");
		err = -EINVAL;
	}
	json_decref(flow);
	return err;
}

int sl_flow_line_parse(char *line, struct sl_flow_line *out, char why[SL_FLOW_WHY_BYTES])
{
	json_t *words = json_object();
	char *rest, *word;
	int err = 0;

	line[strcspn(line, "#")] = '\0';
	for (word = strtok_r(line, BLANKS, &rest); word && !err;
	     word = strtok_r(NULL, BLANKS, &rest)) {
		char *equals = strchr(word, '=');

		if (equals)
			*equals = '\0';
		if (!equals || json_object_get(words, word) ||
		    json_object_set_new(words, word, json_string(equals + 1))) {
			snprintf(why, SL_FLOW_WHY_BYTES,
				 "\"%.48s\" is not KEY=VALUE, or a key that came before", word);
			err = -EINVAL;
		}
	}
	if (!err && json_object_size(words))
		err = sl_flow_line_read(words, out, why) ?: 1;
	json_decref(words);
	return err;
}

/* --- Write --- */

json_t *sl_flow_line_json(const struct sl_flow_line *line)
{
	const uint32_t class_plus1 = line->flow.action >> SL_RULE_CLASS_SHIFT & 0xff;
	const uint32_t dscp_plus1 = line->flow.action >> SL_RULE_DSCP_SHIFT & 0xff;
	json_t *row = sl_flow_json(&line->key);

	json_object_set_new(row, "action", json_string(sl_filter_action_name(line->flow.action)));
	if (class_plus1)
		json_object_set_new(row, "class", json_integer(class_plus1 - 1));
	if (dscp_plus1)
		json_object_set_new(row, "set_dscp", json_integer(dscp_plus1 - 1));
	if (line->flow.idle_s)
		json_object_set_new(row, "idle_s", json_integer(line->flow.idle_s));
	json_object_set_new(row, "packets", json_integer((json_int_t)line->flow.packets));
	json_object_set_new(row, "bytes", json_integer((json_int_t)line->flow.bytes));
	return row;
}

void sl_flow_line_write(FILE *file, const struct sl_flow_line *line)
{
	const uint32_t class_plus1 = line->flow.action >> SL_RULE_CLASS_SHIFT & 0xff;
	const uint32_t dscp_plus1 = line->flow.action >> SL_RULE_DSCP_SHIFT & 0xff;
	json_t *flow = sl_flow_json(&line->key), *value;
	const char *key;

	json_object_foreach(flow, key, value)
		fprintf(file, "%s=%s ", key, json_string_value(value));
	json_decref(flow);
	fprintf(file, "action=%s", sl_filter_action_name(line->flow.action));
	if (class_plus1)
		fprintf(file, " class=%u", class_plus1 - 1);
	if (dscp_plus1)
		fprintf(file, " set_dscp=%u", dscp_plus1 - 1);
	if (line->flow.idle_s)
		fprintf(file, " idle=%u", line->flow.idle_s);
	fprintf(file, " # packets=%" PRIu64 " bytes=%" PRIu64 "\n", (uint64_t)line->flow.packets,
		(uint64_t)line->flow.bytes);
}
