/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/flows/flow_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi/voq.h"
#include "user/classify/flow_rule.h"
#include "user/classify/rule_text.h"
#include "user/config/config_filter.h"

#define BLANKS " \t\r\n"

#define TCP 6

static const uint32_t actions[] = { SL_FILTER_PERMIT, SL_FILTER_DENY, SL_FILTER_KERNEL,
				    SL_FILTER_REJECT, SL_FILTER_RESET };

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
	return refuse(why, "action", text, "permit, deny, kernel, reject or reset");
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

/* LIST/RULE; or, as it is written for a rule that is gone, the number: 0x and eight digits. */
static int read_as(const char *text, struct sl_flow_line *out, char why[SL_FLOW_WHY_BYTES])
{
	const char *slash = strchr(text, '/');
	uint32_t id;
	int end = 0;

	if (sscanf(text, "0x%8" SCNx32 "%n", &id, &end) == 1 && end == 10 && !text[end] && id) {
		out->flow.rule = id;
		return 0;
	}
	if (!slash || slash == text || !slash[1] || strlen(text) >= sizeof(out->as))
		return refuse(why, "as", text, "a rule: write LIST/RULE, the names of both");
	out->flow.rule = sl_flow_rule_id(text);
	snprintf(out->as, sizeof(out->as), "%s", text);
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
	{ "action", read_action }, { "as", read_as },	  { "class", read_class },
	{ "set_dscp", read_dscp }, { "idle", read_idle },
};

/* A flow says itself what becomes of its packets, or names a rule that does. */
static int check_keys(const json_t *words, char why[SL_FLOW_WHY_BYTES])
{
	const bool as = json_object_get(words, "as");

	if (!as && !json_object_get(words, "action"))
		snprintf(why, SL_FLOW_WHY_BYTES,
			 "a flow needs an action: write action=permit, deny, kernel, reject or "
			 "reset, or as=LIST/RULE");
	else if (as && (json_object_get(words, "action") || json_object_get(words, "class") ||
			json_object_get(words, "set_dscp")))
		snprintf(why, SL_FLOW_WHY_BYTES,
			 "as takes action, class and set_dscp from its rule: write as alone, or "
			 "leave it out");
	else
		return 0;
	return -EINVAL;
}

int sl_flow_line_read(const json_t *words, struct sl_flow_line *out, char why[SL_FLOW_WHY_BYTES])
{
	json_t *flow = json_copy((json_t *)words);
	int err;

	*out = (struct sl_flow_line){ 0 };
	err = check_keys(words, why);
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
	if (!err && (out->flow.action & SL_RULE_ACTION_MASK) == SL_FILTER_RESET &&
	    out->key.protocol != TCP) {
		snprintf(why, SL_FLOW_WHY_BYTES,
			 "reset ends TCP connections: write protocol=tcp, or action=reject");
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

	for (word = strtok_r(line, BLANKS, &rest); word && *word != '#' && !err;
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

static const char *as_text(const struct sl_flow_line *line, char text[SL_FLOW_RULE_NAME_BYTES])
{
	if (*line->as)
		return line->as;
	snprintf(text, SL_FLOW_RULE_NAME_BYTES, "0x%08" PRIx32, (uint32_t)line->flow.rule);
	return text;
}

json_t *sl_flow_line_json(const struct sl_flow_line *line)
{
	char text[SL_FLOW_RULE_NAME_BYTES];
	const uint32_t class_plus1 = line->flow.action >> SL_RULE_CLASS_SHIFT & 0xff;
	const uint32_t dscp_plus1 = line->flow.action >> SL_RULE_DSCP_SHIFT & 0xff;
	json_t *row = sl_flow_json(&line->key);

	if (line->flow.rule)
		json_object_set_new(row, "as", json_string(as_text(line, text)));
	else
		json_object_set_new(row, "action",
				    json_string(sl_filter_action_name(line->flow.action)));
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
	char text[SL_FLOW_RULE_NAME_BYTES];
	const char *key;

	json_object_foreach(flow, key, value)
		fprintf(file, "%s=%s ", key, json_string_value(value));
	json_decref(flow);
	if (line->flow.rule)
		fprintf(file, "as=%s", as_text(line, text));
	else
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
