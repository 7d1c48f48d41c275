/* SPDX-License-Identifier: BSD-2-Clause */
/* Exact flows as lines: there and back, and every refusal. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bpf/lib/endian.bpf.h"
#include "user/classify/flow_rule.h"
#include "user/flows/flow_line.h"

#define V4 "source=10.0.1.2 destination=10.0.2.2 protocol=udp source_port=1024 destination_port=9"
#define V6 \
	"source=fd00:1::2 destination=fd00:2::2 protocol=tcp source_port=0 destination_port=65535"

static int parse(const char *text, struct sl_flow_line *out, char why[SL_FLOW_WHY_BYTES])
{
	char *line = strdup(text);
	int result;

	assert_non_null(line);
	*why = '\0';
	result = sl_flow_line_parse(line, out, why);
	free(line);
	return result;
}

/* --- Read --- */

static void line_says_each_value_of_a_flow(void **state)
{
	struct sl_flow_line line;
	char why[SL_FLOW_WHY_BYTES];

	(void)state;
	assert_int_equal(parse("  " V4 "\taction=permit class=2 set_dscp=ef idle=86400 # words=1\n",
			       &line, why),
			 1);
	assert_int_equal(line.key.version, 4);
	assert_int_equal(line.key.protocol, 17);
	assert_int_equal(sl_ntohl(line.key.source[0]), 0x0a000102);
	assert_int_equal(sl_ntohl(line.key.destination[0]), 0x0a000202);
	assert_int_equal(sl_ntohs(line.key.source_port), 1024);
	assert_int_equal(sl_ntohs(line.key.destination_port), 9);
	assert_int_equal(line.flow.action,
			 SL_FILTER_PERMIT | 3u << SL_RULE_CLASS_SHIFT | 47u << SL_RULE_DSCP_SHIFT);
	assert_int_equal(line.flow.idle_s, 86400);
	assert_int_equal(line.flow.rule, 0);
	assert_int_equal(line.flow.packets, 0);
	assert_int_equal(line.flow.used, 0);
}

static void each_action_has_its_word(void **state)
{
	static const struct {
		const char *text;
		uint32_t action;
	} cases[] = {
		{ V4 " action=permit", SL_FILTER_PERMIT },
		{ V4 " action=deny", SL_FILTER_DENY },
		{ V4 " action=kernel", SL_FILTER_KERNEL },
		{ V4 " action=reject", SL_FILTER_REJECT },
		{ V6 " action=reset", SL_FILTER_RESET },
	};
	struct sl_flow_line line;
	char why[SL_FLOW_WHY_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse(cases[i].text, &line, why), 1);
		assert_int_equal(line.flow.action, cases[i].action);
	}
}

static void flow_that_names_a_rule_has_its_number(void **state)
{
	struct sl_flow_line line;
	char why[SL_FLOW_WHY_BYTES];

	(void)state;
	assert_int_equal(parse(V4 " as=in/a#b/c idle=5", &line, why), 1);
	assert_string_equal(line.as, "in/a#b/c");
	assert_int_equal(line.flow.rule, sl_flow_rule_id("in/a#b/c"));
	assert_int_equal(line.flow.action, 0);
	assert_int_equal(line.flow.idle_s, 5);
	assert_int_equal(parse(V4 " as=0x00c0ffee", &line, why), 1);
	assert_string_equal(line.as, "");
	assert_int_equal(line.flow.rule, 0xc0ffee);
}

/* The test vectors of draft-eastlake-fnv for 32 bits. */
static void number_of_a_rule_is_fnv_1a(void **state)
{
	(void)state;
	assert_int_equal(sl_flow_rule_id(""), 0x811c9dc5);
	assert_int_equal(sl_flow_rule_id("a"), 0xe40c292c);
	assert_int_equal(sl_flow_rule_id("foobar"), 0xbf9cf968);
}

static void line_without_a_flow_is_none(void **state)
{
	static const char *const lines[] = { "", "\n", "   \t", "# a comment", "#x=y", " # x=y" };
	struct sl_flow_line line;
	char why[SL_FLOW_WHY_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_int_equal(parse(lines[i], &line, why), 0);
}

static void wrong_line_is_refused_by_its_word(void **state)
{
	static const char needs[] = "a flow needs an action: write action=permit, deny, kernel, "
				    "reject or reset, or as=LIST/RULE";
	static const char alone[] = "as takes action, class and set_dscp from its rule: write as "
				    "alone, or leave it out";
	static const char permitted[] = "class and set_dscp are for packets that are permitted: "
					"write action=permit, or leave them out";
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ V4, needs },
		{ V4 " class=1", needs },
		{ V4 " # action=deny", needs },
		{ V4 " action=drop",
		  "action: \"drop\" is not permit, deny, kernel, reject or reset" },
		{ V4 " action=count",
		  "action: \"count\" is not permit, deny, kernel, reject or reset" },
		{ V4 " action=reset",
		  "reset ends TCP connections: write protocol=tcp, or action=reject" },
		{ V4 " action=deny class=1", permitted },
		{ V4 " action=reject set_dscp=ef", permitted },
		{ V4 " action=permit class=4",
		  "class: \"4\" is not a traffic class: write 0 to 3" },
		{ V4 " action=permit class=", "class: \"\" is not a traffic class: write 0 to 3" },
		{ V4 " action=permit set_dscp=64",
		  "set_dscp: \"64\" is not a DSCP: write 0 to 63, or a name such as ef" },
		{ V4 " action=permit idle=0",
		  "idle: \"0\" is not a time in seconds: write 1 to 86400" },
		{ V4 " action=permit idle=86401",
		  "idle: \"86401\" is not a time in seconds: write 1 to 86400" },
		{ V4 " action=permit idle=-1",
		  "idle: \"-1\" is not a time in seconds: write 1 to 86400" },
		{ V4 " action=permit idle=5s",
		  "idle: \"5s\" is not a time in seconds: write 1 to 86400" },
		{ V4 " as=slow", "as: \"slow\" is not a rule: write LIST/RULE, the names of both" },
		{ V4 " as=/slow",
		  "as: \"/slow\" is not a rule: write LIST/RULE, the names of both" },
		{ V4 " as=in/", "as: \"in/\" is not a rule: write LIST/RULE, the names of both" },
		{ V4 " as=0x00000000",
		  "as: \"0x00000000\" is not a rule: write LIST/RULE, the names of both" },
		{ V4 " as=0xc0ffee",
		  "as: \"0xc0ffee\" is not a rule: write LIST/RULE, the names of both" },
		{ V4 " as=in/slow action=permit", alone },
		{ V4 " as=in/slow class=1", alone },
		{ V4 " as=in/slow set_dscp=1", alone },
		{ V4 " action=deny action=deny",
		  "\"action\" is not KEY=VALUE, or a key that came before" },
		{ V4 " action", "\"action\" is not KEY=VALUE, or a key that came before" },
		{ V4 " action=deny colour=red",
		  "a flow has source, destination, protocol, source_port and destination_port, and "
		  "nothing else" },
		{ "source=10.0.0.300 action=deny",
		  "a flow needs destination: write source, destination, protocol, source_port and "
		  "destination_port" },
	};
	struct sl_flow_line line;
	char why[SL_FLOW_WHY_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse(cases[i].text, &line, why), -EINVAL);
		assert_string_equal(why, cases[i].why);
	}
}

/* --- Write --- */

static char *written(const struct sl_flow_line *line)
{
	char *text = NULL;
	size_t size;
	FILE *file = open_memstream(&text, &size);

	assert_non_null(file);
	sl_flow_line_write(file, line);
	fclose(file);
	return text;
}

static void line_comes_back_as_it_was_written(void **state)
{
	static const char *const lines[] = {
		V4 " action=deny",	   V4 " action=permit class=0 set_dscp=0 idle=60",
		V6 " action=reset idle=1", V6 " as=in/slow idle=60",
		V4 " as=0x00c0ffee",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char why[SL_FLOW_WHY_BYTES], expected[256], *text;
		struct sl_flow_line line, again;

		assert_int_equal(parse(lines[i], &line, why), 1);
		line.flow.packets = 7;
		line.flow.bytes = 5000000000;
		text = written(&line);
		snprintf(expected, sizeof(expected), "%s # packets=7 bytes=5000000000\n", lines[i]);
		assert_string_equal(text, expected);
		assert_int_equal(parse(text, &again, why), 1);
		again.flow.packets = 7;
		again.flow.bytes = 5000000000;
		assert_memory_equal(&again.key, &line.key, sizeof(line.key));
		assert_memory_equal(&again.flow, &line.flow, sizeof(line.flow));
		free(text);
	}
}

static void object_has_what_the_line_says(void **state)
{
	static const struct {
		const char *line, *object;
	} cases[] = {
		{ V4 " action=permit class=3 set_dscp=10 idle=60",
		  "{\"source\": \"10.0.1.2\", \"destination\": \"10.0.2.2\", \"protocol\": \"udp\", "
		  "\"source_port\": \"1024\", \"destination_port\": \"9\", \"action\": \"permit\", "
		  "\"class\": 3, \"set_dscp\": 10, \"idle_s\": 60, \"packets\": 0, \"bytes\": 0}" },
		{ V4 " as=in/slow",
		  "{\"source\": \"10.0.1.2\", \"destination\": \"10.0.2.2\", \"protocol\": \"udp\", "
		  "\"source_port\": \"1024\", \"destination_port\": \"9\", \"as\": \"in/slow\", "
		  "\"packets\": 0, \"bytes\": 0}" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *object, *expected = json_loads(cases[i].object, 0, NULL);
		char why[SL_FLOW_WHY_BYTES];
		struct sl_flow_line line;

		assert_int_equal(parse(cases[i].line, &line, why), 1);
		object = sl_flow_line_json(&line);
		assert_true(json_equal(object, expected));
		json_decref(object);
		json_decref(expected);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_says_each_value_of_a_flow),
		cmocka_unit_test(each_action_has_its_word),
		cmocka_unit_test(flow_that_names_a_rule_has_its_number),
		cmocka_unit_test(number_of_a_rule_is_fnv_1a),
		cmocka_unit_test(line_without_a_flow_is_none),
		cmocka_unit_test(wrong_line_is_refused_by_its_word),
		cmocka_unit_test(line_comes_back_as_it_was_written),
		cmocka_unit_test(object_has_what_the_line_says),
	};
	return cmocka_run_group_tests_name("flow_line", tests, NULL, NULL);
}
