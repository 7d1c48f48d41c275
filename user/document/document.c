/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/document/document.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "user/config/config.h"
#include "user/document/document_place.h"

/* --- Where is the value? --- */

/* The value must stand behind its key: an alias has that of another place. */
static bool find_in(yaml_document_t *document, const char *text, size_t bytes,
		    struct sl_document_place *out)
{
	const yaml_node_t *key = NULL, *value;

	value = sl_document_value(document, yaml_document_get_root_node(document), "cluster", &key);
	value = sl_document_value(document, value, "node", &key);
	if (!value || value->type != YAML_SCALAR_NODE ||
	    value->start_mark.index < key->end_mark.index)
		return false;
	out->from = sl_document_byte(text, bytes, value->start_mark.index);
	out->to = sl_document_byte(text, bytes, value->end_mark.index);
	return out->from < out->to && out->to <= bytes;
}

static bool find_node(const char *text, size_t bytes, struct sl_document_place *out)
{
	yaml_document_t document;
	bool found;

	if (!sl_document_load(text, bytes, &document))
		return false;
	found = find_in(&document, text, bytes, out);
	yaml_document_delete(&document);
	return found;
}

/* --- Texts of nodes --- */

static int read_as(const char *name, const char *text, size_t bytes, struct sl_settings **out,
		   char error[SL_YAML_ERROR_BYTES])
{
	int err = sl_settings_parse(name, text, bytes, out, error);

	if (err || sl_cluster_has_fabric(&(*out)->cluster))
		return err;
	sl_settings_free(*out);
	*out = NULL;
	snprintf(error, SL_YAML_ERROR_BYTES,
		 "%.200s:1: there is no `cluster:`: a node alone keeps its configuration in its "
		 "file",
		 name);
	return -EINVAL;
}

static int for_node(const char *name, const char *text, size_t bytes,
		    const struct sl_document_place *place, uint32_t node, char **out,
		    size_t *out_bytes, char error[SL_YAML_ERROR_BYTES])
{
	struct sl_settings *settings = NULL;
	char number[12];
	int err;

	snprintf(number, sizeof(number), "%u", node);
	*out = sl_document_splice(text, bytes, place, number, out_bytes);
	if (!*out)
		return -ENOMEM;
	err = read_as(name, *out, *out_bytes, &settings, error);
	/* So that a text with two meanings is found out: YAML has many forms. */
	if (!err && settings->cluster.node != node) {
		snprintf(error, SL_YAML_ERROR_BYTES,
			 "%.200s:%u: cluster.node: another node's id does not fit in its place: "
			 "write \"node: NUMBER\"",
			 name, settings->cluster.line);
		err = -EINVAL;
	}
	sl_settings_free(settings);
	if (err) {
		free(*out);
		*out = NULL;
	}
	return err;
}

/* Read a text as it is, and find the place of the id in it. */
static int open_text(const char *name, const char *text, size_t bytes, struct sl_settings **out,
		     struct sl_document_place *place, char error[SL_YAML_ERROR_BYTES])
{
	int err = read_as(name, text, bytes, out, error);

	if (err || find_node(text, bytes, place))
		return err;
	snprintf(error, SL_YAML_ERROR_BYTES,
		 "%.200s:%u: cluster.node: is not in its own place: write \"node: NUMBER\"", name,
		 (*out)->cluster.line);
	sl_settings_free(*out);
	*out = NULL;
	return -EINVAL;
}

int sl_document_for_node(const char *name, const char *text, size_t bytes, uint32_t node,
			 char **out, size_t *out_bytes, char error[SL_YAML_ERROR_BYTES])
{
	struct sl_settings *settings = NULL;
	struct sl_document_place place;
	int err = open_text(name, text, bytes, &settings, &place, error);

	*out = NULL;
	if (!err)
		err = for_node(name, text, bytes, &place, node, out, out_bytes, error);
	sl_settings_free(settings);
	return err;
}

int sl_document_check(const char *name, const char *text, size_t bytes, json_t **nodes,
		      char error[SL_YAML_ERROR_BYTES])
{
	struct sl_settings *settings = NULL;
	struct sl_document_place place;
	int err = open_text(name, text, bytes, &settings, &place, error);

	*nodes = json_array();
	for (uint32_t i = 0; !err && i < settings->cluster.nodes.n; i++) {
		const uint32_t id = sl_cluster_node(&settings->cluster, i)->id;
		size_t n;
		char *own;

		err = for_node(name, text, bytes, &place, id, &own, &n, error);
		free(own);
		json_array_append_new(*nodes, json_integer(id));
	}
	sl_settings_free(settings);
	if (err) {
		json_decref(*nodes);
		*nodes = NULL;
	}
	return err;
}
