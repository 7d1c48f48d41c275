/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/document/document_place.h"

#include <stdlib.h>
#include <string.h>

bool sl_document_load(const char *text, size_t bytes, yaml_document_t *document)
{
	yaml_parser_t parser;
	bool loaded;

	if (!yaml_parser_initialize(&parser))
		return false;
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, bytes);
	loaded = yaml_parser_load(&parser, document);
	yaml_parser_delete(&parser);
	return loaded;
}

size_t sl_document_byte(const char *text, size_t bytes, size_t character)
{
	size_t i = 0;

	if (bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		i = 3;
	for (; i < bytes; i++) {
		if (((unsigned char)text[i] & 0xc0) == 0x80)
			continue;
		if (character-- == 0)
			break;
	}
	return i;
}

const yaml_node_t *sl_document_value(yaml_document_t *document, const yaml_node_t *map,
				     const char *name, const yaml_node_t **key)
{
	if (!map || map->type != YAML_MAPPING_NODE)
		return NULL;
	for (yaml_node_pair_t *pair = map->data.mapping.pairs.start;
	     pair < map->data.mapping.pairs.top; pair++) {
		*key = yaml_document_get_node(document, pair->key);
		if ((*key)->type == YAML_SCALAR_NODE &&
		    strcmp((const char *)(*key)->data.scalar.value, name) == 0)
			return yaml_document_get_node(document, pair->value);
	}
	return NULL;
}

char *sl_document_splice(const char *text, size_t bytes, const struct sl_document_place *place,
			 const char *with, size_t *out_bytes)
{
	const size_t n = strlen(with);
	char *out = malloc(bytes + n + 1);

	if (!out)
		return NULL;
	memcpy(out, text, place->from);
	memcpy(out + place->from, with, n);
	memcpy(out + place->from + n, text + place->to, bytes - place->to);
	*out_bytes = place->from + n + bytes - place->to;
	out[*out_bytes] = '\0';
	return out;
}
