/* SPDX-License-Identifier: BSD-2-Clause */
/* Where something stands in a configuration's text, by libyaml's marks. */
#ifndef SL_DOCUMENT_PLACE_H
#define SL_DOCUMENT_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <yaml.h>

/* Bytes of a text, from the first one to the one behind the last. */
struct sl_document_place {
	size_t from, to;
};

/* Load a text; on true, the caller deletes the document with yaml_document_delete. */
bool sl_document_load(const char *text, size_t bytes, yaml_document_t *document);
/* The byte at a mark's index, which counts characters. */
size_t sl_document_byte(const char *text, size_t bytes, size_t character);
/* The value of that name in a map, and its key; NULL: there is none, or it is no map. */
const yaml_node_t *sl_document_value(yaml_document_t *document, const yaml_node_t *map,
				     const char *name, const yaml_node_t **key);
/* A new text with other bytes at that place, and a NUL behind; NULL: not enough memory. */
char *sl_document_splice(const char *text, size_t bytes, const struct sl_document_place *place,
			 const char *with, size_t *out_bytes);

#endif
