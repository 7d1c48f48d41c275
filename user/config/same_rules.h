/* SPDX-License-Identifier: BSD-2-Clause */
/* Which rules a filter list has kept when it is replaced. */
#ifndef SL_SAME_RULES_H
#define SL_SAME_RULES_H

#include "user/config/config_filter.h"

/*
 * For each rule of `list`, the place of the same rule in `old`, or -1: it is new. Rules are the
 * same if all their keys are written alike. Each rule of `old` is taken at most once, of several
 * the first, so an unchanged list keeps the place of each.
 *
 * old  NULL: no rule is old
 * out  array of list->rules.n entries
 *
 * Takes time in proportion to the rules. Returns 0 or -ENOMEM.
 */
int sl_same_rules(const struct sl_filter_list_settings *list,
		  const struct sl_filter_list_settings *old, int64_t *out);

#endif
