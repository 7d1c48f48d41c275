/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The filter lists of this router: compiled, each with a slot in the fast path's maps and a counter
 * for each rule.
 *
 * A rule that a reload leaves as it was keeps its counter, wherever in its list it stands; and so
 * it does when another daemon finds it, because sl_hits_owner says whose each counter is.
 */
#ifndef SL_RULE_LISTS_H
#define SL_RULE_LISTS_H

#include "bpf/abi/policer.h"
#include "bpf/abi/reasons.h"
#include "user/config/config.h"
#include "user/copies/copies.h"
#include "user/datapath/datapath.h"
#include "user/reserve/reservation.h"

struct sl_rule_lists;

/*
 * Compile the lists of settings, which is borrowed until destroy. `previous` are the lists in
 * force, whose slots and counters those of the same names take over; or NULL: the counters are
 * those that an earlier daemon has pinned. A failure is logged.
 * 0; -ENOMEM; -ENOSPC: a list is too large.
 */
int sl_rule_lists_create(const struct sl_settings *settings, const struct sl_rule_lists *previous,
			 struct sl_rule_lists **out);
void sl_rule_lists_destroy(struct sl_rule_lists *lists); /* NULL is fine */

/*
 * Make the maps of all lists, which is all that can fail, for sl_rule_lists_put. 0 or -errno;
 * logged.
 */
int sl_rule_lists_prepare(struct sl_rule_lists *lists);
/*
 * Put them into the slots of dp: all, or, where dp has those of `previous`, those that differ.
 * Lists of `previous` that are gone leave theirs, if not NULL.
 */
void sl_rule_lists_put(struct sl_rule_lists *lists, struct sl_datapath *dp, bool all);
void sl_rule_lists_remove_gone(const struct sl_rule_lists *lists,
			       const struct sl_rule_lists *previous, struct sl_datapath *dp);
/* Behind these: rules that are gone own no counters any more, which others may get next. */
void sl_rule_lists_forget(const struct sl_rule_lists *lists, const struct sl_datapath *dp);

/*
 * The rules that mirror, an array that the caller frees, and *n of them; *any says whether XDP
 * makes copies at all, which rules that reject need, too. 0 or -ENOMEM.
 */
int sl_rule_lists_targets(const struct sl_rule_lists *lists, struct sl_copy_target **out,
			  uint32_t *n, bool *any);

/* The rules that reserve for their flows, *n of them; borrowed until destroy. */
const struct sl_reserving_rule *sl_rule_lists_reserving(const struct sl_rule_lists *lists,
							uint32_t *n);

/*
 * Once a second: have the kernel resolve the next hops that rules name. XDP gives it no packet of
 * such a rule, from which it would know that it must.
 */
void sl_rule_lists_resolve(struct sl_rule_lists *lists);

/* The list of an L3 interface, as in sl_port: slot + 1, or 0. */
uint8_t sl_rule_lists_of(const struct sl_rule_lists *lists, const char *netdev);
/* The same list as it is written; NULL: the interface has none. */
const struct sl_filter_list_settings *sl_rule_list_for(const struct sl_rule_lists *lists,
						       const char *netdev);

/* --- For views --- */

/* The rule that an exact flow names by this number; NULL: there is none. */
const struct sl_filter_rule_settings *sl_rule_lists_of_flow(const struct sl_rule_lists *lists,
							    uint32_t id);

uint32_t sl_rule_lists_n(const struct sl_rule_lists *lists);
const struct sl_filter_list_settings *sl_rule_list_settings(const struct sl_rule_lists *lists,
							    uint32_t list);
size_t sl_rule_list_bytes(const struct sl_rule_lists *lists, uint32_t list); /* of both images */
/*
 * Frames and bytes that the rule has decided since it is in force, also under earlier daemons; rule
 * n, of a list of n, is its default. 0 or -errno.
 */
int sl_rule_list_hits(const struct sl_rule_lists *lists, const struct sl_datapath *dp,
		      uint32_t list, uint32_t rule, struct sl_counter *out);
/* The policer of a rule that has one. 0 or -errno. */
int sl_rule_list_policer(const struct sl_rule_lists *lists, const struct sl_datapath *dp,
			 uint32_t list, uint32_t rule, struct sl_policer *out);

#endif
