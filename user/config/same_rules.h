/* SPDX-License-Identifier: BSD-2-Clause */
/* Which rules a filter list has kept when it is replaced, or when another daemon reads it. */
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

/*
 * What tells each rule of a list, and last its default, from all others of all lists, today and for
 * the next daemon: a hash of the list's name and of the rule's keys, and its turn among rules that
 * are the same. Never 0.
 *
 * out  array of list->rules.n + 1 entries
 *
 * Returns 0 or -ENOMEM.
 */
int sl_rule_identities(const struct sl_filter_list_settings *list, uint64_t *out);

#endif
