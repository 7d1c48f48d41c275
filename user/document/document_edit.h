/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes of one node's entry in the configuration of a cluster. All else stays as it was written,
 * to the byte, with its comments.
 */
#ifndef SL_DOCUMENT_EDIT_H
#define SL_DOCUMENT_EDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/text/yaml.h"

/*
 * All but the last make a new text, with a NUL behind: *out_bytes of it. They judge it by its
 * difference from the former one, so a text in a form that they do not know is refused, and never
 * damaged. 0; -ENOENT: there is no node of that id; -EALREADY: see below; -EINVAL; -ENOMEM. But for
 * that, a line in error says why; it quotes `name` where the text is wrong.
 */

/* `drain: true` in the entry, or none. -EALREADY: so it is. */
int sl_document_set_drain(const char *name, const char *text, size_t bytes, uint32_t node,
			  bool drain, char **out, size_t *out_bytes,
			  char error[SL_YAML_ERROR_BYTES]);
/*
 * The text without the entry, as that of another node where it is that node's own. Comments above
 * the entry stay. -EALREADY: it is the only node.
 */
int sl_document_remove_node(const char *name, const char *text, size_t bytes, uint32_t node,
			    char **out, size_t *out_bytes, char error[SL_YAML_ERROR_BYTES]);
/*
 * The text with an entry more, behind the others. entry is the text of a map, in lines or within
 * braces, which says `id: NODE`. -EEXIST: there is a node of that id.
 */
int sl_document_add_node(const char *name, const char *text, size_t bytes, uint32_t node,
			 const char *entry, char **out, size_t *out_bytes,
			 char error[SL_YAML_ERROR_BYTES]);
/* Has the node that mark? Of a text that is read already. -ENOENT, -EINVAL with a line. */
int sl_document_is_drained(const char *name, const char *text, size_t bytes, uint32_t node,
			   bool *drained, char error[SL_YAML_ERROR_BYTES]);

#endif
