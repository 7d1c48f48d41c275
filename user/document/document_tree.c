/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/document/document_tree.h"

#include <yaml.h>

#define DEPTH_MAX 16

static json_t *tree_of(yaml_document_t *document, const yaml_node_t *node, int depth);

static json_t *map_of(yaml_document_t *document, const yaml_node_t *node, int depth)
{
	json_t *map = json_object();

	for (yaml_node_pair_t *pair = node->data.mapping.pairs.start;
	     map && pair < node->data.mapping.pairs.top; pair++) {
		const yaml_node_t *key = yaml_document_get_node(document, pair->key);

		if (key->type != YAML_SCALAR_NODE ||
		    json_object_set_new(map, (const char *)key->data.scalar.value,
					tree_of(document,
						yaml_document_get_node(document, pair->value),
						depth))) {
			json_decref(map);
			map = NULL;
		}
	}
	return map;
}

static json_t *list_of(yaml_document_t *document, const yaml_node_t *node, int depth)
{
	json_t *list = json_array();

	for (yaml_node_item_t *item = node->data.sequence.items.start;
	     list && item < node->data.sequence.items.top; item++)
		if (json_array_append_new(
			    list,
			    tree_of(document, yaml_document_get_node(document, *item), depth))) {
			json_decref(list);
			list = NULL;
		}
	return list;
}

static json_t *tree_of(yaml_document_t *document, const yaml_node_t *node, int depth)
{
	if (!node || depth == DEPTH_MAX)
		return NULL;
	if (node->type == YAML_MAPPING_NODE)
		return map_of(document, node, depth + 1);
	if (node->type == YAML_SEQUENCE_NODE)
		return list_of(document, node, depth + 1);
	return json_stringn((const char *)node->data.scalar.value, node->data.scalar.length);
}

json_t *sl_document_tree(const char *text, size_t bytes)
{
	yaml_document_t document;
	yaml_parser_t parser;
	json_t *tree = NULL;

	if (!yaml_parser_initialize(&parser))
		return NULL;
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, bytes);
	if (yaml_parser_load(&parser, &document)) {
		tree = tree_of(&document, yaml_document_get_root_node(&document), 0);
		yaml_document_delete(&document);
	}
	yaml_parser_delete(&parser);
	return tree;
}
