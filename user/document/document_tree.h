/* SPDX-License-Identifier: BSD-2-Clause */
/* A configuration's text as a tree of JSON, for comparing: each value is the text that it has. */
#ifndef SL_DOCUMENT_TREE_H
#define SL_DOCUMENT_TREE_H

#include <jansson.h>
#include <stddef.h>

/*
 * A new reference; NULL: it is no YAML or JSON, is nested deeper than 16, or not enough memory. Of
 * a text that the daemons' reader takes, it is only the last.
 */
json_t *sl_document_tree(const char *text, size_t bytes);

#endif
