/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes of the filter lists in force. Each is made whole, in one step, or not at all, and a
 * refusal is one line in error: 0; -EINVAL, -ENOENT, -ENOMEM, -ENOSPC, or another -errno.
 */
#ifndef SL_FILTER_CHANGES_H
#define SL_FILTER_CHANGES_H

#include <jansson.h>

#include "user/daemon/router.h"

/*
 * Put the lists of a text, as sl_filters_parse reads it, in the place of those of the same names,
 * or beside them; name is quoted in errors. The rows of what changed are appended to changed, each
 * with the name and the number of rules of a list.
 */
int sl_filters_replace(struct sl_router *router, const char *name, const char *text,
		       json_t *changed, char error[SL_YAML_ERROR_BYTES]);
/* Put a rule, an object as in the file, before rule `at` of a list; -1: at the end. */
int sl_filters_add(struct sl_router *router, const char *list, json_t *rule, json_int_t at,
		   json_t *changed, char error[SL_YAML_ERROR_BYTES]);
/* Delete a rule, by its number or name, or, where rule is NULL, the list. */
int sl_filters_delete(struct sl_router *router, const char *list, const char *rule, json_t *changed,
		      char error[SL_YAML_ERROR_BYTES]);

#endif
