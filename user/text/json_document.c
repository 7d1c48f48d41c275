/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/text/json_document.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 16

struct scan {
	const char *at, *end;
	size_t line; /* from 0, as libyaml counts */
	char *value; /* owned: room for any value of the text */
	yaml_document_t *document;
};

/* Nodes have numbers from 1 on; 0 says that there is none, for whatever reason. */
static int value_node(struct scan *s, int depth);

static void skip_blanks(struct scan *s)
{
	for (; s->at < s->end && strchr(" \t\r\n", *s->at) && *s->at; s->at++)
		s->line += *s->at == '\n';
}

/* Behind blanks, this character? Then it is taken. */
static bool take(struct scan *s, char c)
{
	skip_blanks(s);
	if (s->at == s->end || *s->at != c)
		return false;
	s->at++;
	return true;
}

static int with_line(struct scan *s, int node, size_t line)
{
	if (node)
		s->document->nodes.start[node - 1].start_mark.line = line;
	return node;
}

static int scalar_node(struct scan *s, const char *value, size_t bytes)
{
	return with_line(s,
			 yaml_document_add_scalar(s->document, NULL, (yaml_char_t *)value,
						  (int)bytes, YAML_ANY_SCALAR_STYLE),
			 s->line);
}

/* The character that stands behind a backslash; 0: none that this reader knows. */
static char unescape(char c)
{
	static const char escapes[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
	const char *at = c ? strchr(escapes, c) : NULL;

	return at ? values[at - escapes] : '\0';
}

/* A string, whose first quotation mark has been taken. */
static int string_node(struct scan *s)
{
	const char *from = s->at;
	size_t n = 0;

	while (s->at < s->end && *s->at >= ' ' && *s->at <= '~' && *s->at != '"' && *s->at != '\\')
		s->at++;
	if (s->at < s->end && *s->at == '"')
		return scalar_node(s, from, (size_t)(s->at++ - from));
	for (s->at = from; s->at < s->end && *s->at >= ' ' && *s->at <= '~'; s->at++) {
		char c = *s->at;

		if (c == '"') {
			s->at++;
			return scalar_node(s, s->value, n);
		}
		if (c == '\\')
			c = ++s->at < s->end ? unescape(*s->at) : '\0';
		if (!c)
			return 0;
		s->value[n++] = c;
	}
	return 0;
}

/* A number, true, false or null, as text. */
static int word_node(struct scan *s)
{
	const char *from = s->at;

	while (s->at < s->end && (isalnum((unsigned char)*s->at) || strchr("+-.", *s->at)) &&
	       *s->at)
		s->at++;
	if (s->at == from ||
	    (!isalnum((unsigned char)*from) &&
	     (*from != '-' || s->at == from + 1 || !isdigit((unsigned char)from[1]))))
		return 0;
	return scalar_node(s, from, (size_t)(s->at - from));
}

static int list_node(struct scan *s, int depth)
{
	int list = with_line(
		s, yaml_document_add_sequence(s->document, NULL, YAML_ANY_SEQUENCE_STYLE), s->line);

	if (!list || take(s, ']'))
		return list;
	do {
		const int item = value_node(s, depth + 1);

		if (!item || !yaml_document_append_sequence_item(s->document, list, item))
			return 0;
	} while (take(s, ','));
	return take(s, ']') ? list : 0;
}

static int map_node(struct scan *s, int depth)
{
	int map = with_line(s, yaml_document_add_mapping(s->document, NULL, YAML_ANY_MAPPING_STYLE),
			    s->line);

	if (!map || take(s, '}'))
		return map;
	do {
		int key, value;

		if (!take(s, '"'))
			return 0;
		key = string_node(s);
		if (!key || !take(s, ':'))
			return 0;
		value = value_node(s, depth + 1);
		if (!value || !yaml_document_append_mapping_pair(s->document, map, key, value))
			return 0;
	} while (take(s, ','));
	return take(s, '}') ? map : 0;
}

static int value_node(struct scan *s, int depth)
{
	if (depth > DEPTH_MAX)
		return 0;
	if (take(s, '"'))
		return string_node(s);
	if (take(s, '{'))
		return map_node(s, depth);
	if (take(s, '['))
		return list_node(s, depth);
	return word_node(s);
}

bool sl_json_document(const char *text, size_t text_bytes, yaml_document_t *out)
{
	struct scan s = { .at = text, .end = text + text_bytes, .document = out };
	bool done = false;

	if (!text_bytes || *text != '{' || !yaml_document_initialize(out, NULL, NULL, NULL, 0, 0))
		return false;
	s.value = malloc(text_bytes);
	if (s.value && value_node(&s, 0)) {
		skip_blanks(&s);
		done = s.at == s.end;
	}
	free(s.value);
	if (!done)
		yaml_document_delete(out);
	return done;
}
