/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/document/document_edit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/config/config.h"
#include "user/document/document.h"
#include "user/document/document_diff.h"
#include "user/document/document_place.h"
#include "user/document/document_tree.h"

#define INDENT_MAX 64

struct entry {
	const char *text; /* borrowed, as is all below */
	size_t bytes;
	yaml_document_t *document;
	const yaml_node_t *list, *map; /* of the nodes; of this one */
	size_t index;		       /* of the map in the list */
	const char *added;	       /* the text of a new entry; NULL: none comes */
};

/* --- Where is the entry? --- */

static const yaml_node_t *item(const struct entry *e, size_t i)
{
	return yaml_document_get_node(e->document, e->list->data.sequence.items.start[i]);
}

static size_t items(const struct entry *e)
{
	return (size_t)(e->list->data.sequence.items.top - e->list->data.sequence.items.start);
}

static bool find_entry(struct entry *e, uint32_t node)
{
	const yaml_node_t *key, *value;

	value = sl_document_value(e->document, yaml_document_get_root_node(e->document), "cluster",
				  &key);
	e->list = sl_document_value(e->document, value, "nodes", &key);
	if (!e->list || e->list->type != YAML_SEQUENCE_NODE)
		return false;
	for (e->index = 0; e->index < items(e); e->index++) {
		e->map = item(e, e->index);
		value = sl_document_value(e->document, e->map, "id", &key);
		if (value && value->type == YAML_SCALAR_NODE &&
		    strtoul((const char *)value->data.scalar.value, NULL, 10) == node)
			return true;
	}
	return false;
}

static size_t byte_at(const struct entry *e, const yaml_mark_t *mark)
{
	return sl_document_byte(e->text, e->bytes, mark->index);
}

static bool is_flow(const yaml_node_t *node)
{
	return node->type == YAML_MAPPING_NODE
		       ? node->data.mapping.style == YAML_FLOW_MAPPING_STYLE
		       : node->data.sequence.style == YAML_FLOW_SEQUENCE_STYLE;
}

static size_t line_begin(const struct entry *e, size_t at)
{
	while (at && e->text[at - 1] != '\n')
		at--;
	return at;
}

static size_t line_end(const struct entry *e, size_t at)
{
	while (at < e->bytes && e->text[at] != '\n')
		at++;
	return at < e->bytes ? at + 1 : at;
}

/* Has the line nothing but these characters before that byte? */
static bool only(const struct entry *e, size_t at, const char *characters)
{
	for (size_t i = line_begin(e, at); i < at; i++)
		if (!strchr(characters, e->text[i]))
			return false;
	return true;
}

/* --- The mark --- */

static char *add_mark(const struct entry *e, size_t *out_bytes)
{
	const yaml_node_t *key, *value = sl_document_value(e->document, e->map, "drain", &key);
	struct sl_document_place place;
	char with[INDENT_MAX + 32];

	if (value) {
		place.from = byte_at(e, &value->start_mark);
		place.to = byte_at(e, &value->end_mark);
		return sl_document_splice(e->text, e->bytes, &place, "true", out_bytes);
	}
	/* Each entry has an address: before that. */
	value = sl_document_value(e->document, e->map, "address", &key);
	if (!value || (!is_flow(e->map) && key->start_mark.column > INDENT_MAX))
		return NULL;
	if (!is_flow(e->map))
		snprintf(with, sizeof(with), "drain: true\n%*s", (int)key->start_mark.column, "");
	else if (key->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		snprintf(with, sizeof(with), "drain: true, ");
	else
		snprintf(with, sizeof(with), "\"drain\": true, ");
	place.from = place.to = byte_at(e, &key->start_mark);
	return sl_document_splice(e->text, e->bytes, &place, with, out_bytes);
}

/* Where the next key of the entry begins; 0: this is the last one. */
static size_t next_key(const struct entry *e, const yaml_node_t *key)
{
	for (yaml_node_pair_t *pair = e->map->data.mapping.pairs.start;
	     pair + 1 < e->map->data.mapping.pairs.top; pair++)
		if (yaml_document_get_node(e->document, pair->key) == key)
			return byte_at(
				e, &yaml_document_get_node(e->document, pair[1].key)->start_mark);
	return 0;
}

static char *remove_mark(const struct entry *e, size_t *out_bytes)
{
	const yaml_node_t *key, *value = sl_document_value(e->document, e->map, "drain", &key);
	struct sl_document_place place;
	const char *with = "";

	if (!value)
		return NULL;
	place.from = byte_at(e, &key->start_mark);
	place.to = next_key(e, key);
	if (!is_flow(e->map) && only(e, place.from, " ")) {
		place.from = line_begin(e, place.from);
		place.to = line_end(e, byte_at(e, &value->end_mark));
	} else if (!place.to) {
		place.from = byte_at(e, &value->start_mark);
		place.to = byte_at(e, &value->end_mark);
		with = "false";
	}
	return sl_document_splice(e->text, e->bytes, &place, with, out_bytes);
}

/* --- The whole entry --- */

/* libyaml has a block end where the next token begins, behind comments; its last value tells. */
static size_t content_end(const struct entry *e, const yaml_node_t *node)
{
	const yaml_node_t *last = NULL;

	while (node->type != YAML_SCALAR_NODE && !is_flow(node)) {
		if (node->type == YAML_MAPPING_NODE) {
			if (node->data.mapping.pairs.top == node->data.mapping.pairs.start)
				break;
			last = yaml_document_get_node(e->document,
						      node->data.mapping.pairs.top[-1].value);
		} else {
			if (node->data.sequence.items.top == node->data.sequence.items.start)
				break;
			last = yaml_document_get_node(e->document,
						      node->data.sequence.items.top[-1]);
		}
		/* An alias stands elsewhere. */
		if (last->start_mark.index < node->start_mark.index)
			break;
		node = last;
	}
	return byte_at(e, &node->end_mark);
}

static char *remove_entry(const struct entry *e, size_t *out_bytes)
{
	const size_t begin = byte_at(e, &e->map->start_mark), n = items(e);
	struct sl_document_place place;

	if (!is_flow(e->list)) {
		if (!only(e, begin, " -"))
			return NULL;
		place.from = line_begin(e, begin);
		place.to = line_end(e, content_end(e, e->map));
	} else if (e->index + 1 < n) {
		place.from = begin;
		place.to = byte_at(e, &item(e, e->index + 1)->start_mark);
	} else {
		place.from = byte_at(e, &item(e, e->index - 1)->end_mark);
		place.to = byte_at(e, &e->map->end_mark);
	}
	/* A text of aliases has its items in another order. */
	if (place.from > place.to)
		return NULL;
	return sl_document_splice(e->text, e->bytes, &place, "", out_bytes);
}

/* A new entry as an item of a list of lines: each line indented, the first one with a dash. */
static char *as_lines(const char *entry, int indent, bool newline)
{
	char *out = NULL;
	size_t n;
	FILE *f = open_memstream(&out, &n);

	if (!f)
		return NULL;
	if (newline)
		fputc('\n', f);
	for (const char *line = entry; *line;) {
		const int bytes = (int)strcspn(line, "\n");

		if (bytes || line == entry)
			fprintf(f, "%*s%s%.*s", indent, "", line == entry ? "- " : "  ", bytes,
				line);
		fputc('\n', f);
		line += bytes + (line[bytes] == '\n');
	}
	if (!fclose(f))
		return out;
	free(out);
	return NULL;
}

/* The same as an item within brackets; NULL: it is not within braces itself. */
static char *as_flow(const char *entry)
{
	size_t n = strlen(entry);
	char *out;

	while (n && strchr(" \n", entry[n - 1]))
		n--;
	if (entry[0] != '{' || asprintf(&out, ", %.*s", (int)n, entry) < 0)
		return NULL;
	return out;
}

static char *add_entry(const struct entry *e, size_t *out_bytes)
{
	const yaml_node_t *last = item(e, items(e) - 1);
	struct sl_document_place place;
	char *with, *out;

	if (is_flow(e->list)) {
		place.from = byte_at(e, &last->end_mark);
		with = as_flow(e->added);
	} else {
		place.from = line_end(e, content_end(e, last));
		with = e->list->start_mark.column > INDENT_MAX
			       ? NULL
			       : as_lines(e->added, (int)e->list->start_mark.column,
					  place.from && e->text[place.from - 1] != '\n');
	}
	place.to = place.from;
	out = with ? sl_document_splice(e->text, e->bytes, &place, with, out_bytes) : NULL;
	free(with);
	return out;
}

/* --- Is it what was wanted? --- */

/* Does one text differ from another in that key, and in no other? */
static bool differs_in(const char *from, size_t from_bytes, const char *to, size_t to_bytes,
		       const char *key)
{
	json_t *a = sl_document_tree(from, from_bytes), *b = sl_document_tree(to, to_bytes);
	json_t *rows = a && b ? sl_document_diff(a, b) : NULL;
	const char *found = json_string_value(json_object_get(json_array_get(rows, 0), "key"));
	const bool one = json_array_size(rows) == 1 && found && strcmp(found, key) == 0;

	json_decref(rows);
	json_decref(a);
	json_decref(b);
	return one;
}

static int edit(const char *name, const char *text, size_t bytes, uint32_t node,
		char *(*change)(const struct entry *e, size_t *out_bytes), const char *key,
		const char *added, char **out, size_t *out_bytes, char error[SL_YAML_ERROR_BYTES])
{
	struct entry e = { .text = text, .bytes = bytes, .added = added };
	yaml_document_t document;
	char path[64];

	*out = NULL;
	if (!sl_document_load(text, bytes, &document))
		return -ENOMEM; /* it has been read before */
	e.document = &document;
	if (find_entry(&e, node) != !!added && e.list && items(&e))
		*out = change(&e, out_bytes);
	yaml_document_delete(&document);
	snprintf(path, sizeof(path), "cluster.nodes[%u]%s", node, key);
	if (*out && differs_in(text, bytes, *out, *out_bytes, path))
		return 0;
	free(*out);
	*out = NULL;
	snprintf(error, SL_YAML_ERROR_BYTES,
		 "%.200s: the %s of node %u has a form that this command cannot %s: change it "
		 "yourself, and `sluice cluster apply FILE`",
		 name, added ? "new entry" : "entry", node, added ? "add" : "change");
	return -EINVAL;
}

/* Read a text that has this node. */
static int read_node(const char *name, const char *text, size_t bytes, uint32_t node,
		     struct sl_settings **out, char error[SL_YAML_ERROR_BYTES])
{
	int err = sl_settings_parse(name, text, bytes, out, error);

	if (err)
		return err;
	if (sl_cluster_find_node(&(*out)->cluster, node))
		return 0;
	snprintf(error, SL_YAML_ERROR_BYTES,
		 "\"%u\" is none of the %u nodes of %.200s: write the "
		 "id of one",
		 node, (*out)->cluster.nodes.n, name);
	sl_settings_free(*out);
	*out = NULL;
	return -ENOENT;
}

int sl_document_is_drained(const char *name, const char *text, size_t bytes, uint32_t node,
			   bool *drained, char error[SL_YAML_ERROR_BYTES])
{
	struct sl_settings *settings;
	int err = read_node(name, text, bytes, node, &settings, error);

	if (err)
		return err;
	*drained = sl_cluster_find_node(&settings->cluster, node)->drain;
	sl_settings_free(settings);
	return 0;
}

int sl_document_set_drain(const char *name, const char *text, size_t bytes, uint32_t node,
			  bool drain, char **out, size_t *out_bytes,
			  char error[SL_YAML_ERROR_BYTES])
{
	bool was;
	int err = sl_document_is_drained(name, text, bytes, node, &was, error);

	*out = NULL;
	if (err)
		return err;
	if (was == drain) {
		snprintf(error, SL_YAML_ERROR_BYTES, "node %u is %sdrained in %.200s", node,
			 drain ? "already " : "not ", name);
		return -EALREADY;
	}
	return edit(name, text, bytes, node, drain ? add_mark : remove_mark, ".drain", NULL, out,
		    out_bytes, error);
}

int sl_document_remove_node(const char *name, const char *text, size_t bytes, uint32_t node,
			    char **out, size_t *out_bytes, char error[SL_YAML_ERROR_BYTES])
{
	struct sl_settings *settings;
	uint32_t other = 0;
	size_t other_bytes;
	char *of_other;
	int err = read_node(name, text, bytes, node, &settings, error);

	*out = NULL;
	if (err)
		return err;
	for (uint32_t i = 0; i < settings->cluster.nodes.n && !other; i++)
		if (sl_cluster_node(&settings->cluster, i)->id != node)
			other = sl_cluster_node(&settings->cluster, i)->id;
	if (settings->cluster.node != node)
		other = settings->cluster.node;
	sl_settings_free(settings);
	if (!other) {
		snprintf(error, SL_YAML_ERROR_BYTES, "node %u is the only one of %.200s", node,
			 name);
		return -EALREADY;
	}
	err = sl_document_for_node(name, text, bytes, other, &of_other, &other_bytes, error);
	if (!err)
		err = edit(name, of_other, other_bytes, node, remove_entry, "", NULL, out,
			   out_bytes, error);
	free(of_other);
	return err;
}

int sl_document_add_node(const char *name, const char *text, size_t bytes, uint32_t node,
			 const char *entry, char **out, size_t *out_bytes,
			 char error[SL_YAML_ERROR_BYTES])
{
	struct sl_settings *settings;
	bool there;
	int err = sl_settings_parse(name, text, bytes, &settings, error);

	*out = NULL;
	if (err)
		return err;
	there = sl_cluster_find_node(&settings->cluster, node);
	sl_settings_free(settings);
	if (there) {
		snprintf(error, SL_YAML_ERROR_BYTES, "node %u is in %.200s already", node, name);
		return -EEXIST;
	}
	return edit(name, text, bytes, node, add_entry, "", entry, out, out_bytes, error);
}
