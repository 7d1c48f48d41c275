/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libyaml composes the document, in which every node knows its line. The reader then walks the
 * document and the schema together, never deeper than the schema, whatever the file contains.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "user/text/json_document.h"
#include "user/text/yaml.h"

#define PATH_BYTES   128
#define QUOTED_BYTES 64

struct reader {
	const char *file_name;
	yaml_document_t document;
	char *error; /* SL_YAML_ERROR_BYTES */
};

/* Quote a value: printable, in one line, cut if it is long. */
static void quote(char out[QUOTED_BYTES], const char *text)
{
	size_t n = 0;

	for (; text[n] && n < QUOTED_BYTES - 1; n++)
		out[n] = isprint((unsigned char)text[n]) ? text[n] : '?';
	out[n] = '\0';
	if (text[n])
		memcpy(out + n - 3, "...", 3);
}

static void __attribute__((format(printf, 6, 0)))
write_error(char *error, const char *file_name, uint32_t line, const char *path, const char *value,
	    const char *format, va_list args)
{
	char quoted[QUOTED_BYTES];
	int n;

	quote(quoted, value);
	n = snprintf(error, SL_YAML_ERROR_BYTES, "%.200s:%u: %s%s\"%s\" ", file_name, line, path,
		     *path ? ": " : "", quoted);
	vsnprintf(error + n, SL_YAML_ERROR_BYTES - (size_t)n, format, args);
}

void sl_yaml_error(char error[SL_YAML_ERROR_BYTES], const char *file_name, uint32_t line,
		   const char *path, const char *value, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_error(error, file_name, line, path, value, format, args);
	va_end(args);
}

static uint32_t line_of(const yaml_node_t *node)
{
	return (uint32_t)node->start_mark.line + 1;
}

static const char *text_of(const yaml_node_t *node)
{
	switch (node->type) {
	case YAML_SCALAR_NODE:
		return (const char *)node->data.scalar.value;
	case YAML_SEQUENCE_NODE:
		return "[...]";
	default:
		return "{...}";
	}
}

static int __attribute__((format(printf, 4, 5)))
refuse(struct reader *r, const yaml_node_t *node, const char *path, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_error(r->error, r->file_name, line_of(node), path, text_of(node), format, args);
	va_end(args);
	return -EINVAL;
}

static bool is_key(const struct sl_yaml_key *key)
{
	return key->type != SL_YAML_LINE;
}

static bool is_end(const struct sl_yaml_key *key)
{
	return !key->name && is_key(key);
}

/* "a, b or c" from the names of a table of keys or of choices. */
static void list_names(char *out, size_t out_bytes, const struct sl_yaml_key *keys,
		       const struct sl_yaml_choice *choices)
{
	const char *names[64];
	size_t n = 0, used = 0;

	for (; keys && !is_end(keys); keys++)
		if (is_key(keys) && n < 64)
			names[n++] = keys->name;
	for (; choices && choices->name && n < 64; choices++)
		names[n++] = choices->name;
	out[0] = '\0';
	for (size_t i = 0; i < n && used < out_bytes; i++) {
		const char *between = i == 0 ? "" : i + 1 == n ? " or " : ", ";

		used += (size_t)snprintf(out + used, out_bytes - used, "%s%s", between, names[i]);
	}
}

static int read_number(struct reader *r, const yaml_node_t *node, const struct sl_yaml_key *key,
		       const char *path, uint32_t *out)
{
	const char *text = text_of(node);
	int base = key->type == SL_YAML_OCTAL ? 8 : 10;
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, base);
	if (!isdigit((unsigned char)text[0]) || *end || errno || value < key->min ||
	    value > key->max) {
		if (base == 8)
			return refuse(r, node, path, "is not %s: write \"%04o\" to \"%04o\"",
				      key->what, key->min, key->max);
		return refuse(r, node, path, "is not %s: write a number from %u to %u", key->what,
			      key->min, key->max);
	}
	*out = (uint32_t)value;
	return 0;
}

static int read_choice(struct reader *r, const yaml_node_t *node, const struct sl_yaml_key *key,
		       const char *path, int *out)
{
	char names[256];

	for (const struct sl_yaml_choice *c = key->choices; c->name; c++) {
		if (strcmp(c->name, text_of(node)) == 0) {
			*out = c->value;
			return 0;
		}
	}
	list_names(names, sizeof(names), NULL, key->choices);
	return refuse(r, node, path, "is not %s: write %s", key->what, names);
}

static int read_scalar(struct reader *r, const yaml_node_t *node, const struct sl_yaml_key *key,
		       const char *path, char *field)
{
	static const struct sl_yaml_choice booleans[] = { { "true", 1 },
							  { "false", 0 },
							  { NULL, 0 } };
	struct sl_yaml_key boolean = *key;
	const char *text = text_of(node);
	char *copy;
	int value, err;

	if (node->type != YAML_SCALAR_NODE)
		return refuse(r, node, path, "is not one value: write it after \"%s: \"",
			      key->name);
	switch (key->type) {
	case SL_YAML_UINT:
	case SL_YAML_OCTAL:
		return read_number(r, node, key, path, (uint32_t *)(void *)field);
	case SL_YAML_CHOICE:
		return read_choice(r, node, key, path, (int *)(void *)field);
	case SL_YAML_BOOL:
		boolean.choices = booleans;
		err = read_choice(r, node, &boolean, path, &value);
		if (!err)
			*(bool *)field = value;
		return err;
	default:
		break;
	}
	/* A NUL inside the value would hide the rest of it from every later reader. */
	if (strlen(text) != node->data.scalar.length || !key->valid(text))
		return refuse(r, node, path, "is not %s", key->what);
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	free(*(char **)(void *)field);
	*(char **)(void *)field = copy;
	return 0;
}

static int read_map(struct reader *r, const yaml_node_t *node, const struct sl_yaml_key *keys,
		    const char *path, char *out);

static int read_list(struct reader *r, const yaml_node_t *node, const struct sl_yaml_key *key,
		     const char *path, struct sl_yaml_list *list)
{
	char item_path[PATH_BYTES];
	yaml_node_item_t *item = node->data.sequence.items.start;
	size_t n;
	int err = 0;

	if (node->type != YAML_SEQUENCE_NODE)
		return refuse(r, node, path,
			      "is not a list: write one item a line, each after \"- \"");
	n = (size_t)(node->data.sequence.items.top - item);
	if (n > key->items_max)
		return refuse(r, node, path, "has %zu items: write at most %u", n, key->items_max);
	list->items = calloc(n ? n : 1, key->item_bytes);
	if (!list->items)
		return -ENOMEM;
	for (size_t i = 0; i < n && !err; i++) {
		snprintf(item_path, sizeof(item_path), "%.*s[%zu]", PATH_BYTES - 24, path, i);
		list->n++;
		err = read_map(r, yaml_document_get_node(&r->document, item[i]), key->keys,
			       item_path, (char *)list->items + i * key->item_bytes);
	}
	return err;
}

static const struct sl_yaml_key *find_key(const struct sl_yaml_key *keys, const char *name)
{
	for (; !is_end(keys); keys++)
		if (is_key(keys) && strcmp(keys->name, name) == 0)
			return keys;
	return NULL;
}

static int read_pair(struct reader *r, const yaml_node_t *name, const yaml_node_t *value,
		     const struct sl_yaml_key *keys, const char *path, char *out)
{
	const struct sl_yaml_key *key =
		name->type == YAML_SCALAR_NODE ? find_key(keys, text_of(name)) : NULL;
	char key_path[PATH_BYTES], names[256];
	char *field;

	if (!key) {
		list_names(names, sizeof(names), keys, NULL);
		return refuse(r, name, path, "is not a key here: write %s", names);
	}
	field = out + key->offset;
	snprintf(key_path, sizeof(key_path), "%s%s%s", path, *path ? "." : "", key->name);
	switch (key->type) {
	case SL_YAML_MAP:
		return read_map(r, value, key->keys, key_path, field);
	case SL_YAML_LIST:
		return read_list(r, value, key, key_path, (struct sl_yaml_list *)(void *)field);
	default:
		return read_scalar(r, value, key, key_path, field);
	}
}

static bool same_text(const yaml_node_t *a, const yaml_node_t *b)
{
	return a->type == YAML_SCALAR_NODE && b->type == YAML_SCALAR_NODE &&
	       strcmp(text_of(a), text_of(b)) == 0;
}

static int read_map(struct reader *r, const yaml_node_t *node, const struct sl_yaml_key *keys,
		    const char *path, char *out)
{
	yaml_node_pair_t *pairs = node->data.mapping.pairs.start;
	char names[256];
	size_t n;
	int err;

	if (node->type != YAML_MAPPING_NODE) {
		list_names(names, sizeof(names), keys, NULL);
		return refuse(r, node, path, "is not a set of keys: write \"key: value\" with %s",
			      names);
	}
	n = (size_t)(node->data.mapping.pairs.top - pairs);
	for (size_t i = 0; i < n; i++) {
		const yaml_node_t *name = yaml_document_get_node(&r->document, pairs[i].key);

		/* The schema knows all keys before this one, and each came once: they are few. */
		for (size_t j = 0; j < i; j++)
			if (same_text(name, yaml_document_get_node(&r->document, pairs[j].key)))
				return refuse(r, name, path, "is given twice: write it once");
		err = read_pair(r, name, yaml_document_get_node(&r->document, pairs[i].value), keys,
				path, out);
		if (err)
			return err;
	}
	for (const struct sl_yaml_key *key = keys; !is_end(key); key++) {
		bool found = false;

		if (key->type == SL_YAML_LINE)
			*(uint32_t *)(void *)(out + key->offset) = line_of(node);
		if (!is_key(key) || !key->required)
			continue;
		for (size_t i = 0; i < n && !found; i++)
			found = strcmp(text_of(yaml_document_get_node(&r->document, pairs[i].key)),
				       key->name) == 0;
		if (!found) {
			sl_yaml_error(r->error, r->file_name, line_of(node), path, key->name,
				      "is missing: write \"%s: ...\"", key->name);
			return -EINVAL;
		}
	}
	return 0;
}

/* Copy the line that the parser could not read, to quote it. */
static void copy_line(char *out, size_t out_bytes, const char *text, size_t text_bytes, size_t line)
{
	const char *p = text, *end = text + text_bytes;
	size_t n = 0;

	for (; line && p < end; p++)
		line -= *p == '\n';
	while (p < end && isspace((unsigned char)*p) && *p != '\n')
		p++;
	while (p + n < end && p[n] != '\n' && n + 1 < out_bytes)
		n++;
	memcpy(out, p, n);
	out[n] = '\0';
}

static int refuse_syntax(const struct reader *r, const yaml_parser_t *parser, const char *text,
			 size_t text_bytes)
{
	size_t line = parser->problem_mark.line;
	char quoted[QUOTED_BYTES + 1];

	if (parser->error == YAML_READER_ERROR) {
		line = 0;
		for (size_t i = 0; i < parser->problem_offset && i < text_bytes; i++)
			line += text[i] == '\n';
	}
	copy_line(quoted, sizeof(quoted), text, text_bytes, line);
	sl_yaml_error(r->error, r->file_name, (uint32_t)line + 1, "", quoted,
		      "is not YAML (%s): write \"key: value\", indented by spaces",
		      parser->problem ? parser->problem : "it cannot be read");
	return -EINVAL;
}

int sl_yaml_parse(const char *file_name, const char *text, size_t text_bytes,
		  const struct sl_yaml_key *keys, void *out, char error[SL_YAML_ERROR_BYTES])
{
	struct reader r = { .file_name = file_name, .error = error };
	yaml_document_t rest;
	yaml_parser_t parser;
	yaml_node_t *root;
	char names[256];
	int err;

	error[0] = '\0';
	if (sl_json_document(text, text_bytes, &r.document)) {
		err = read_map(&r, yaml_document_get_root_node(&r.document), keys, "", out);
		yaml_document_delete(&r.document);
		return err;
	}
	if (!yaml_parser_initialize(&parser))
		return -ENOMEM;
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, text_bytes);
	if (!yaml_parser_load(&parser, &r.document)) {
		err = parser.error == YAML_MEMORY_ERROR
			      ? -ENOMEM
			      : refuse_syntax(&r, &parser, text, text_bytes);
		yaml_parser_delete(&parser);
		return err;
	}
	root = yaml_document_get_root_node(&r.document);
	if (!root) {
		list_names(names, sizeof(names), keys, NULL);
		sl_yaml_error(error, file_name, 1, "", "",
			      "is all there is: write \"key: value\" with %s", names);
		err = -EINVAL;
		goto out;
	}
	err = read_map(&r, root, keys, "", out);
	if (err)
		goto out;
	if (!yaml_parser_load(&parser, &rest)) {
		err = refuse_syntax(&r, &parser, text, text_bytes);
		goto out;
	}
	if (yaml_document_get_root_node(&rest))
		err = refuse(&r, yaml_document_get_root_node(&rest), "",
			     "is a second document: write one");
	yaml_document_delete(&rest);
out:
	yaml_document_delete(&r.document);
	yaml_parser_delete(&parser);
	return err;
}

void sl_yaml_free(const struct sl_yaml_key *keys, void *out)
{
	for (; !is_end(keys); keys++) {
		char *field = (char *)out + keys->offset;
		struct sl_yaml_list *list;

		switch (keys->type) {
		case SL_YAML_STRING:
			free(*(char **)(void *)field);
			*(char **)(void *)field = NULL;
			break;
		case SL_YAML_MAP:
			sl_yaml_free(keys->keys, field);
			break;
		case SL_YAML_LIST:
			list = (struct sl_yaml_list *)(void *)field;
			for (uint32_t i = 0; i < list->n; i++)
				sl_yaml_free(keys->keys,
					     (char *)list->items + i * keys->item_bytes);
			free(list->items);
			*list = (struct sl_yaml_list){ 0 };
			break;
		default:
			break;
		}
	}
}
