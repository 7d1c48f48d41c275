/* SPDX-License-Identifier: BSD-2-Clause */
/* A cluster's text becomes that of a node by one number, wherever that stands; what differs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/document/document.h"
#include "user/document/document_diff.h"
#include "user/document/document_tree.h"

#define NODES                                                                    \
	"nodes: [{id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}, " \
	"{id: 200, address: 10.9.0.2, ports: [{number: 1, name: eth1}]}]"
#define JSON_NODES                                                                        \
	"\"nodes\": [{\"id\": 1, \"address\": \"10.9.0.1\", \"ports\": [{\"number\": 1, " \
	"\"name\": \"eth1\"}]}, {\"id\": 200, \"address\": \"10.9.0.2\", \"ports\": "     \
	"[{\"number\": 1, \"name\": \"eth1\"}]}]"

/* Before and behind the id of node 1 */
static const struct form {
	const char *name, *before, *behind;
	const char *id; /* as it is written */
} forms[] = {
	{ "plain", "cluster:\n  node: ", "\n  fabric: {device: f}\n  " NODES "\n", "1" },
	{ "comment", "cluster:\n  node: ", "   # me\r\n  fabric: {device: f}\r\n  " NODES, "1" },
	{ "at the end", "cluster:\n  fabric: {device: f}\n  " NODES "\n  node: ", "", "1" },
	{ "quoted", "cluster:\n  node: ", "\n  fabric: {device: f}\n  " NODES "\n", "\"1\"" },
	{ "single quotes", "cluster:\n  node: ", "\n  fabric: {device: f}\n  " NODES, "'1'" },
	{ "behind two-byte characters", "# gr\xc3\xb6\xc3\x9f\x65r\ncluster:\n  node: ",
	  " # \xe2\x82\xac\n  fabric: {device: f}\n  " NODES "\n", "1" },
	{ "behind a byte order mark", "\xef\xbb\xbf# \xf0\x9f\x98\x80\ncluster:\n  node: ",
	  "\n  fabric: {device: f}\n  " NODES "\n", "1" },
	{ "flow", "{heartbeat_s: 7, cluster: {fabric: {device: f}, node: ", ", " NODES "}}", "1" },
	{ "JSON", "{\"cluster\": {\"node\":",
	  ", \"fabric\": {\"device\": \"f\"}, " JSON_NODES "}}\n", "1" },
	{ "JSON on one line with the id last",
	  "{\"cluster\":{\"fabric\":{\"device\":\"f\"}," JSON_NODES ",\"node\":", "}}", "1" },
	{ "a document's begin and end", "%YAML 1.1\n---\ncluster:\n  node: ",
	  "\n  fabric: {device: f}\n  " NODES "\n...\n", "1" },
};

static char *text_of(const struct form *form, const char *id)
{
	char *text;

	assert_true(asprintf(&text, "%s%s%s", form->before, id, form->behind) > 0);
	return text;
}

static void a_node_differs_from_another_by_its_number_alone(void **state)
{
	char error[SL_YAML_ERROR_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		char *text = text_of(&forms[i], forms[i].id), *expected = text_of(&forms[i], "200");
		char *out, *nodes_text;
		json_t *nodes;
		size_t n;

		if (sl_document_for_node("f", text, strlen(text), 200, &out, &n, error))
			fail_msg("%s: %s", forms[i].name, error);
		if (n != strlen(expected) || strcmp(out, expected) != 0)
			fail_msg("%s: %s", forms[i].name, out);
		free(out);
		if (sl_document_check("f", text, strlen(text), &nodes, error))
			fail_msg("%s: %s", forms[i].name, error);
		nodes_text = json_dumps(nodes, JSON_COMPACT);
		assert_string_equal(nodes_text, "[1,200]");
		free(nodes_text);
		json_decref(nodes);
		free(text);
		free(expected);
	}
}

static void a_node_that_is_not_there_is_refused(void **state)
{
	char error[SL_YAML_ERROR_BYTES], *text = text_of(&forms[0], "1"), *out;
	size_t n;

	(void)state;
	assert_int_equal(sl_document_for_node("f", text, strlen(text), 3, &out, &n, error),
			 -EINVAL);
	assert_null(out);
	assert_string_equal(error, "f:2: cluster.node: \"3\" is not among cluster.nodes: write the "
				   "id of this node, and its entry there");
	free(text);
}

static void assert_diff(const char *from, const char *to, const char *expected)
{
	json_t *a = sl_document_tree(from, strlen(from)), *b = sl_document_tree(to, strlen(to));
	json_t *rows = sl_document_diff(a, b);
	char *text = json_dumps(rows, JSON_COMPACT);

	assert_string_equal(text, expected);
	free(text);
	json_decref(rows);
	json_decref(a);
	json_decref(b);
}

static void a_difference_names_its_keys(void **state)
{
	(void)state;
	assert_diff("a: 1\nb: {c: 2}\n", "{\"b\": {\"c\": \"2\"}, \"a\": 1}", "[]");
	assert_diff("cluster: {node: 1}", "cluster: {node: 2}", "[]");
	assert_diff("a: 1", "a: 2", "[{\"key\":\"a\",\"from\":\"1\",\"to\":\"2\"}]");
	assert_diff("a: {b: 1}", "a: {c: 1}",
		    "[{\"key\":\"a.b\",\"from\":\"1\"},{\"key\":\"a.c\",\"to\":\"1\"}]");
	/* Nodes have ids, ports numbers, filters names: their order does not count. */
	assert_diff("n: [{id: 1, p: [{number: 1, r: x}, {number: 2}]}, {id: 2}]",
		    "n: [{id: 2}, {id: 1, p: [{number: 2}, {number: 1, r: y}]}]",
		    "[{\"key\":\"n[1].p[1].r\",\"from\":\"x\",\"to\":\"y\"}]");
	assert_diff("f: [{name: a, rules: [{k: 1}, {k: 2}, {k: 3}]}]",
		    "f: [{name: a, rules: [{k: 1}, {k: 9}, {k: 2}, {k: 3}]}]",
		    "[{\"key\":\"f[a].rules[1]\",\"to\":{\"k\":\"9\"}}]");
	/* Two of one name are told apart by their places. */
	assert_diff("f: [{name: a, k: 1}, {name: a, k: 2}]",
		    "f: [{name: a, k: 1}, {name: a, k: 3}]",
		    "[{\"key\":\"f[1].k\",\"from\":\"2\",\"to\":\"3\"}]");
	assert_diff("a: [1, 2]", "a: {b: 1}",
		    "[{\"key\":\"a\",\"from\":[\"1\",\"2\"],\"to\":{\"b\":\"1\"}}]");
}

static void a_tree_that_is_too_deep_or_none_at_all_is_refused(void **state)
{
	static const char *const texts[] = { "a: [", "[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]",
					     "a: &x [*x]", "", "\xff" };

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_null(sl_document_tree(texts[i], strlen(texts[i])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_node_differs_from_another_by_its_number_alone),
		cmocka_unit_test(a_node_that_is_not_there_is_refused),
		cmocka_unit_test(a_difference_names_its_keys),
		cmocka_unit_test(a_tree_that_is_too_deep_or_none_at_all_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
