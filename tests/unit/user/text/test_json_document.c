/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON as a document: the same nodes, values and lines as libyaml makes of the same text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "user/text/json_document.h"

static void assert_same_node(yaml_document_t *a, yaml_document_t *b, int node_a, int node_b)
{
	const yaml_node_t *x = yaml_document_get_node(a, node_a);
	const yaml_node_t *y = yaml_document_get_node(b, node_b);

	assert_non_null(x);
	assert_non_null(y);
	assert_int_equal(x->type, y->type);
	assert_int_equal(x->start_mark.line, y->start_mark.line);
	if (x->type == YAML_SCALAR_NODE) {
		assert_int_equal(x->data.scalar.length, y->data.scalar.length);
		assert_memory_equal(x->data.scalar.value, y->data.scalar.value,
				    x->data.scalar.length + 1);
	} else if (x->type == YAML_SEQUENCE_NODE) {
		const long n = x->data.sequence.items.top - x->data.sequence.items.start;

		assert_int_equal(n, y->data.sequence.items.top - y->data.sequence.items.start);
		for (long i = 0; i < n; i++)
			assert_same_node(a, b, x->data.sequence.items.start[i],
					 y->data.sequence.items.start[i]);
	} else {
		const long n = x->data.mapping.pairs.top - x->data.mapping.pairs.start;

		assert_int_equal(n, y->data.mapping.pairs.top - y->data.mapping.pairs.start);
		for (long i = 0; i < n; i++) {
			assert_same_node(a, b, x->data.mapping.pairs.start[i].key,
					 y->data.mapping.pairs.start[i].key);
			assert_same_node(a, b, x->data.mapping.pairs.start[i].value,
					 y->data.mapping.pairs.start[i].value);
		}
	}
}

/* Read a text both ways, from a buffer of exactly its bytes. */
static bool reads_as_libyaml_does(const char *text)
{
	const size_t n = strlen(text);
	char *exact = malloc(n ? n : 1);
	yaml_document_t ours, theirs;
	yaml_parser_t parser;
	bool reads;

	memcpy(exact, text, n);
	reads = sl_json_document(exact, n, &ours);
	free(exact);
	if (!reads)
		return false;
	assert_int_equal(yaml_parser_initialize(&parser), 1);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, n);
	assert_int_equal(yaml_parser_load(&parser, &theirs), 1);
	assert_same_node(&ours, &theirs, 1, 1);
	yaml_document_delete(&ours);
	yaml_document_delete(&theirs);
	yaml_parser_delete(&parser);
	return true;
}

static void documents_are_those_of_libyaml(void **state)
{
	static const char *const texts[] = {
		"{}",
		"{ }\n",
		"{\"a\": 1}",
		"{\"a\": \"\", \"b\": [], \"c\": {}}\r\n",
		"{\"a\":\n[1, -2.5e+3, true, null,\n \"x: y\", {\"b\": \"# no comment\"}],\n\"c\":\"d\"}",
		"{\"q\": \"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}",
		"{\"\": [[[[[[]]]]]], \"' &*!|>%@`\": \"' &*!|>%@`{[,]}:\"}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (!reads_as_libyaml_does(texts[i]))
			fail_msg("not read: %s", texts[i]);
	}
}

static void what_is_no_plain_json_is_left_to_libyaml(void **state)
{
	static const char *const texts[] = {
		"",
		" {}",
		"[]",
		"a: b",
		"{",
		"{\"a\"}",
		"{\"a\": 1,}",
		"{\"a\": [1,]}",
		"{\"a\": 1 \"b\": 2}",
		"{a: 1}",
		"{\"a\": 'b'}",
		"{\"a\": +1}",
		"{\"a\": -}",
		"{\"a\": }",
		"{\"a\": \"b}",
		"{\"a\": \"b\\",
		"{\"a\": \"\\u0041\"}",
		"{\"a\": \"\\x41\"}",
		"{\"a\": \"two\nlines\"}",
		"{\"a\": \"\xc3\xa9\"}",
		"{\"a\": \"\x7f\"}",
		"{} # comment",
		"{} {}",
		"{\"a\": 1} x",
		"{\"a\": [[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (reads_as_libyaml_does(texts[i]))
			fail_msg("read: %s", texts[i]);
}

static uint32_t dice(uint32_t *random, uint32_t sides)
{
	*random = *random * 1664525 + 1013904223;
	return (*random >> 16) % sides;
}

static void random_value(FILE *f, uint32_t *random, int depth)
{
	static const char *const scalars[] = { "1",	  "-17",     "0.5",   "true",
					       "false",	  "null",    "\"\"",  "\"10.0.0.0/8\"",
					       "\"a b\"", "\"\\t\"", "\"-\"", "\"\\\\\\\"\"" };
	static const char *const blanks[] = { "", " ", "\n", "\r\n ", "\t", " \n\n" };
	const uint32_t kind = depth > 6 ? 0 : dice(random, 4);

	if (kind < 2) {
		fputs(scalars[dice(random, sizeof(scalars) / sizeof(scalars[0]))], f);
		return;
	}
	fputs(kind == 2 ? "[" : "{", f);
	for (uint32_t i = 0, n = dice(random, 5); i < n; i++) {
		fputs(i ? "," : "", f);
		fputs(blanks[dice(random, 6)], f);
		if (kind == 3)
			fprintf(f, "\"k%u\":%s", i, depth == 0 ? " " : blanks[dice(random, 3)]);
		random_value(f, random, depth + 1);
		fputs(blanks[dice(random, 6)], f);
	}
	fputs(kind == 2 ? "]" : "}", f);
}

static void random_documents_are_those_of_libyaml(void **state)
{
	uint32_t random = 7, read = 0;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		char *text = NULL;
		size_t bytes;
		FILE *f = open_memstream(&text, &bytes);

		fputs("{\"first\": ", f);
		random_value(f, &random, 1);
		fputs("}", f);
		assert_int_equal(fclose(f), 0);
		read += reads_as_libyaml_does(text);
		free(text);
	}
	assert_int_equal(read, 3000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(documents_are_those_of_libyaml),
		cmocka_unit_test(what_is_no_plain_json_is_left_to_libyaml),
		cmocka_unit_test(random_documents_are_those_of_libyaml),
	};
	return cmocka_run_group_tests_name("json_document", tests, NULL, NULL);
}
