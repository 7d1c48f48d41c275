/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What differs between two configurations, key by key. Their order does not count, nor do comments,
 * nor whether they are YAML or JSON; nor does `cluster.node`, which is each node's own.
 *
 * Items of lists are told apart by what names them: nodes[3].ports[1] is port number 1 of the node
 * with id 3. Items without a name (rules of filters) are those between the first and the last
 * that differ.
 */
#ifndef SL_DOCUMENT_DIFF_H
#define SL_DOCUMENT_DIFF_H

#include <jansson.h>

/*
 * An array of {"key": "cluster.nodes[3].ports[1].rate", "from": ..., "to": ...}, a new reference;
 * what is missing on one side has no such member. The trees are of sl_document_tree, and borrowed.
 * NULL: not enough memory.
 */
json_t *sl_document_diff(const json_t *from, const json_t *to);

#endif
