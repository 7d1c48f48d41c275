/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The configuration of a whole cluster: the text of a configuration file of one of its nodes. That
 * of another node differs in the value of `cluster.node` alone, and is the same to the byte else.
 */
#ifndef SL_DOCUMENT_H
#define SL_DOCUMENT_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "user/text/yaml.h"

/*
 * The text for a node, new, with a NUL behind: bytes of it. 0; -EINVAL: a node of that id cannot
 * have it, with one line in error, which quotes `name` and the line; -ENOMEM.
 */
int sl_document_for_node(const char *name, const char *text, size_t bytes, uint32_t node,
			 char **out, size_t *out_bytes, char error[SL_YAML_ERROR_BYTES]);

/*
 * Check a text as all of its nodes would: by the daemons' reader. *nodes has their ids, a new
 * reference. 0; -EINVAL with one line in error; -ENOMEM.
 */
int sl_document_check(const char *name, const char *text, size_t bytes, json_t **nodes,
		      char error[SL_YAML_ERROR_BYTES]);

#endif
