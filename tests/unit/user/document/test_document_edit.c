/* SPDX-License-Identifier: BSD-2-Clause */
/* The entry of one node changes, wherever and however it stands, and no other byte does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/document/document.h"
#include "user/document/document_edit.h"

#define PORTS "ports: [{number: 1, name: eth1}]"
#define BEGIN \
	"# gr\xc3\xb6\xc3\x9f\x65r\ncluster:\n  node: 1 # me\n  fabric: {device: f}\n  nodes:\n"
#define ENTRY_1 "    - id: 1\n      address: 10.9.0.1\n      " PORTS " # first\n"
#define ENTRY_3 "    - id: 3 # third\n      address: 10.9.0.3\n      " PORTS "\n"
#define DRAINED "    - id: 3 # third\n      drain: true\n      address: 10.9.0.3\n      " PORTS "\n"

static const struct edit {
	const char *name, *plain, *drained, *without; /* of node 3 */
} edits[] = {
	{ "last, block", BEGIN ENTRY_1 "    # rack 2\n" ENTRY_3 "heartbeat_s: 9\n",
	  BEGIN ENTRY_1 "    # rack 2\n" DRAINED "heartbeat_s: 9\n",
	  BEGIN ENTRY_1 "    # rack 2\nheartbeat_s: 9\n" },
	{ "first, block", BEGIN ENTRY_3 "    # rack 1\n" ENTRY_1,
	  BEGIN DRAINED "    # rack 1\n" ENTRY_1, BEGIN "    # rack 1\n" ENTRY_1 },
	{ "last, no newline at the end",
	  BEGIN ENTRY_1 "    - {id: 3, address: 10.9.0.3, " PORTS "}",
	  BEGIN ENTRY_1 "    - {id: 3, drain: true, address: 10.9.0.3, " PORTS "}", BEGIN ENTRY_1 },
	{ "address first", BEGIN "    - address: 10.9.0.3\n      id: 3\n      " PORTS "\n" ENTRY_1,
	  BEGIN "    - drain: true\n      address: 10.9.0.3\n      id: 3\n      " PORTS
		"\n" ENTRY_1,
	  BEGIN ENTRY_1 },
	{ "flow in a flow",
	  "cluster: {node: 1, fabric: {device: f}, nodes: [{id: 3, address: 10.9.0.3, " PORTS
	  "}, {id: 1, address: 10.9.0.1, " PORTS "}]}",
	  "cluster: {node: 1, fabric: {device: f}, nodes: [{id: 3, drain: true, address: 10.9.0.3"
	  ", " PORTS "}, {id: 1, address: 10.9.0.1, " PORTS "}]}",
	  "cluster: {node: 1, fabric: {device: f}, nodes: [{id: 1, address: 10.9.0.1, " PORTS
	  "}]}" },
	{ "JSON, last",
	  "{\"cluster\":{\"node\":1,\"fabric\":{\"device\":\"f\"},\"nodes\":[{\"id\":1,\"address"
	  "\":\"10.9.0.1\","
	  "\"ports\":[{\"number\":1,\"name\":\"eth1\"}]},{\"id\":3,\"address\":\"10.9.0.3\","
	  "\"ports\":[]}]}}",
	  "{\"cluster\":{\"node\":1,\"fabric\":{\"device\":\"f\"},\"nodes\":[{\"id\":1,\"address"
	  "\":\"10.9.0.1\","
	  "\"ports\":[{\"number\":1,\"name\":\"eth1\"}]},{\"id\":3,\"drain\": true, \"address\":"
	  "\"10.9.0.3\",\"ports\":[]}]}}",
	  "{\"cluster\":{\"node\":1,\"fabric\":{\"device\":\"f\"},\"nodes\":[{\"id\":1,\"address"
	  "\":\"10.9.0.1\","
	  "\"ports\":[{\"number\":1,\"name\":\"eth1\"}]}]}}" },
};

static char error[SL_YAML_ERROR_BYTES];

static void assert_edit(const char *name, int err, char *out, size_t out_bytes,
			const char *expected)
{
	if (err)
		fail_msg("%s: %d: %s", name, err, error);
	if (out_bytes != strlen(expected) || strcmp(out, expected) != 0)
		fail_msg("%s:\n%s\ninstead of:\n%s", name, out, expected);
	free(out);
}

static void a_mark_comes_and_goes_and_nothing_else_changes(void **state)
{
	size_t n;
	char *out;
	int err;

	(void)state;
	for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
		const struct edit *e = &edits[i];
		bool drained;

		err = sl_document_set_drain("f", e->plain, strlen(e->plain), 3, true, &out, &n,
					    error);
		assert_edit(e->name, err, out, n, e->drained);
		assert_int_equal(sl_document_is_drained("f", e->drained, strlen(e->drained), 3,
							&drained, error),
				 0);
		assert_true(drained);
		err = sl_document_set_drain("f", e->drained, strlen(e->drained), 3, false, &out, &n,
					    error);
		assert_edit(e->name, err, out, n, e->plain);
	}
}

static void an_entry_goes_and_nothing_else_changes(void **state)
{
	json_t *nodes;
	size_t n;
	char *out;
	int err;

	(void)state;
	for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++) {
		const struct edit *e = &edits[i];

		err = sl_document_remove_node("f", e->drained, strlen(e->drained), 3, &out, &n,
					      error);
		assert_edit(e->name, err, out, n, e->without);
		assert_int_equal(
			sl_document_check("f", e->without, strlen(e->without), &nodes, error), 0);
		json_decref(nodes);
	}
}

static void the_text_of_a_node_that_goes_becomes_that_of_another(void **state)
{
	static const char text[] = BEGIN ENTRY_1 ENTRY_3;
	static const char expected[] =
		"# gr\xc3\xb6\xc3\x9f\x65r\ncluster:\n  node: 3 # me\n  fabric: {device: f}\n "
		" nodes:\n" ENTRY_3;
	size_t n;
	char *out;
	int err = sl_document_remove_node("f", text, strlen(text), 1, &out, &n, error);

	(void)state;
	assert_edit("node 1", err, out, n, expected);
}

static void a_mark_that_says_false_is_turned(void **state)
{
	static const char no[] =
		BEGIN ENTRY_1 "    - {id: 3, address: 10.9.0.3, " PORTS ", drain: false}\n";
	static const char yes[] =
		BEGIN ENTRY_1 "    - {id: 3, address: 10.9.0.3, " PORTS ", drain: true}\n";
	size_t n;
	char *out;
	int err;

	(void)state;
	err = sl_document_set_drain("f", no, strlen(no), 3, true, &out, &n, error);
	assert_edit("turned on", err, out, n, yes);
	err = sl_document_set_drain("f", yes, strlen(yes), 3, false, &out, &n, error);
	assert_edit("turned off", err, out, n, no);
}

static void what_cannot_be_is_refused_with_a_line(void **state)
{
	static const char two[] = BEGIN ENTRY_1 DRAINED, one[] = BEGIN ENTRY_1;
	/* The mark is an alias of what stands elsewhere. */
	static const char alias[] =
		BEGIN "    - {id: 1, drain: &yes true, address: 10.9.0.1, " PORTS "}\n"
		      "    - {id: 3, address: 10.9.0.3, " PORTS ", drain: *yes}\n";
	char *out;
	size_t n;

	(void)state;
	assert_int_equal(sl_document_set_drain("f", two, strlen(two), 7, true, &out, &n, error),
			 -ENOENT);
	assert_string_equal(error, "\"7\" is none of the 2 nodes of f: write the id of one");
	assert_int_equal(sl_document_set_drain("f", two, strlen(two), 3, true, &out, &n, error),
			 -EALREADY);
	assert_string_equal(error, "node 3 is already drained in f");
	assert_int_equal(sl_document_set_drain("f", two, strlen(two), 1, false, &out, &n, error),
			 -EALREADY);
	assert_string_equal(error, "node 1 is not drained in f");
	assert_int_equal(sl_document_remove_node("f", one, strlen(one), 1, &out, &n, error),
			 -EALREADY);
	assert_string_equal(error, "node 1 is the only one of f");
	assert_int_equal(
		sl_document_set_drain("f", alias, strlen(alias), 3, false, &out, &n, error),
		-EINVAL);
	assert_null(out);
	assert_string_equal(error,
			    "f: the entry of node 3 has a form that this command cannot change: "
			    "change it yourself, and `sluice cluster apply FILE`");
}

#define NEW_3	    "{id: 3, address: 10.9.0.3, " PORTS "}"
#define FLOW(nodes) "cluster: {node: 1, fabric: {device: f}, nodes: [" nodes "]}"
#define FLOW_1	    "{id: 1, address: 10.9.0.1, " PORTS "}"

static const struct {
	const char *name, *text, *entry, *expected;
} added[] = {
	{ "braces, behind lines", BEGIN ENTRY_1 "    # rack 2\nheartbeat_s: 9\n", NEW_3 "\n",
	  BEGIN ENTRY_1 "    - " NEW_3 "\n    # rack 2\nheartbeat_s: 9\n" },
	{ "lines, behind lines", BEGIN ENTRY_1,
	  "# third\nid: 3\naddress: 10.9.0.3\n\nports:\n  - {number: 1, name: eth1}",
	  BEGIN ENTRY_1 "    - # third\n      id: 3\n      address: 10.9.0.3\n\n      ports:\n"
			"        - {number: 1, name: eth1}\n" },
	{ "no newline at the end", BEGIN "    - " FLOW_1, NEW_3,
	  BEGIN "    - " FLOW_1 "\n    - " NEW_3 "\n" },
	{ "a list that is not indented",
	  "cluster:\n  node: 1\n  fabric: {device: f}\n  nodes:\n  - " FLOW_1 "\n", NEW_3 "\n",
	  "cluster:\n  node: 1\n  fabric: {device: f}\n  nodes:\n  - " FLOW_1 "\n  - " NEW_3 "\n" },
	{ "braces, within brackets", FLOW(FLOW_1), NEW_3 "\n", FLOW(FLOW_1 ", " NEW_3) },
	{ "JSON",
	  "{\"cluster\":{\"node\":1,\"fabric\":{\"device\":\"f\"},\"nodes\":[{\"id\":1,\"address"
	  "\":\"10.9.0.1\",\"ports\":[]}]}}",
	  "{\"id\": 3, \"address\": \"10.9.0.3\", \"ports\": []}",
	  "{\"cluster\":{\"node\":1,\"fabric\":{\"device\":\"f\"},\"nodes\":[{\"id\":1,\"address"
	  "\":\"10.9.0.1\",\"ports\":[]}, {\"id\": 3, \"address\": \"10.9.0.3\", \"ports\": []}]}}" },
};

static void an_entry_comes_and_nothing_else_changes(void **state)
{
	size_t n;
	char *out;
	int err;

	(void)state;
	for (size_t i = 0; i < sizeof(added) / sizeof(added[0]); i++) {
		err = sl_document_add_node("f", added[i].text, strlen(added[i].text), 3,
					   added[i].entry, &out, &n, error);
		assert_edit(added[i].name, err, out, n, added[i].expected);
	}
}

static void an_entry_that_does_not_fit_is_refused_with_a_line(void **state)
{
	static const struct {
		const char *name, *text, *entry;
	} refused[] = {
		{ "another node's", BEGIN ENTRY_1, "{id: 4, address: 10.9.0.4, " PORTS "}" },
		{ "two", BEGIN ENTRY_1, NEW_3 "\n    - {id: 4, address: 10.9.0.4, " PORTS "}" },
		{ "more than an entry", BEGIN ENTRY_1, "id: 3\naddress: 10.9.0.3\n" PORTS "\n}" },
		{ "lines within brackets", FLOW(FLOW_1), "id: 3\naddress: 10.9.0.3\n" PORTS },
		{ "a word", BEGIN ENTRY_1, "three" },
	};
	static const char two[] = BEGIN ENTRY_1 ENTRY_3;
	char *out;
	size_t n;

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		if (sl_document_add_node("f", refused[i].text, strlen(refused[i].text), 3,
					 refused[i].entry, &out, &n, error) != -EINVAL)
			fail_msg("%s: taken:\n%s", refused[i].name, out);
		assert_null(out);
		assert_string_equal(
			error, "f: the new entry of node 3 has a form that this command cannot "
			       "add: change it yourself, and `sluice cluster apply FILE`");
	}
	assert_int_equal(sl_document_add_node("f", two, strlen(two), 3, NEW_3, &out, &n, error),
			 -EEXIST);
	assert_string_equal(error, "node 3 is in f already");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mark_comes_and_goes_and_nothing_else_changes),
		cmocka_unit_test(an_entry_goes_and_nothing_else_changes),
		cmocka_unit_test(the_text_of_a_node_that_goes_becomes_that_of_another),
		cmocka_unit_test(a_mark_that_says_false_is_turned),
		cmocka_unit_test(what_cannot_be_is_refused_with_a_line),
		cmocka_unit_test(an_entry_comes_and_nothing_else_changes),
		cmocka_unit_test(an_entry_that_does_not_fit_is_refused_with_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
