/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * JSON as a document of libyaml, several times as fast as libyaml reads it: long filter lists come
 * as JSON. JSON is YAML, so what this reader does not take is libyaml's to read, or to refuse.
 */
#ifndef SL_JSON_DOCUMENT_H
#define SL_JSON_DOCUMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <yaml.h>

/*
 * True: the text is a JSON object of printable ASCII, and *out has its nodes, as libyaml would make
 * them, each with its line; yaml_document_delete frees it. False, with nothing in *out: it is
 * anything else, has an escape \u, is nested deeper than 16, or there is not enough memory.
 */
bool sl_json_document(const char *text, size_t text_bytes, yaml_document_t *out);

#endif
