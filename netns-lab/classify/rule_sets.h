/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Made-up rule lists with what real ones have in common, in the style of ClassBench (Taylor and
 * Turner 2007), and packets that try them. All of it follows from a seed.
 */
#ifndef LAB_RULE_SETS_H
#define LAB_RULE_SETS_H

#include <stdint.h>

#include "user/classify/rule.h"

enum lab_rule_style {
	LAB_RULES_ACL,	   /* access lists: hosts and nets to services */
	LAB_RULES_FW,	   /* firewalls: many wildcards, ranges of ports */
	LAB_RULES_IPC,	   /* IP chains: a mixture */
	LAB_RULES_HOSTILE, /* made to hurt: random lengths, ranges, and every field */
	LAB_RULES_CROSS,   /* made to hurt: every packet is a candidate in every word */
	LAB_RULES_EXACT,   /* each of one flow, between few hosts */
	LAB_RULE_STYLES
};
const char *lab_rule_style_name(enum lab_rule_style style);

/* Fill n rules of a family; rule i has number i and permits, denies or goes to the kernel. */
void lab_rules_make(enum lab_rule_style style, uint8_t family, uint32_t n, uint64_t seed,
		    struct sl_rule *rules);
/* A packet: one in two lies in a random rule, or just beside it, the others anywhere. */
void lab_rules_flow(const struct sl_rule *rules, uint32_t n, uint8_t family, uint64_t *random,
		    struct sl_flow *flow);

#endif
