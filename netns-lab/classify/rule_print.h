/* SPDX-License-Identifier: BSD-2-Clause */
/* A rule list as text: for sluice's configuration, and for nft, which must mean the same. */
#ifndef LAB_RULE_PRINT_H
#define LAB_RULE_PRINT_H

#include <stdio.h>

#include "user/classify/rule.h"

/* An item of the configuration's `filters`, for the port, with permit or deny as its default. */
void lab_rules_print_sluice(FILE *out, const struct sl_rule *rules, uint32_t n, const char *port,
			    uint32_t default_action);
/*
 * A table `rules` of the family, whose chain is at the hook that forwarded packets pass. A packet
 * for the kernel is accepted, since that kernel would forward it.
 */
void lab_rules_print_nft(FILE *out, const struct sl_rule *rules, uint32_t n, uint8_t family,
			 uint32_t default_action);

/*
 * The same of rules of the style `exact`: lines for `sluice filter flow load`, and a table that has
 * them as one map of verdicts, and accepts all else.
 */
void lab_rules_print_flows(FILE *out, const struct sl_rule *rules, uint32_t n);
void lab_rules_print_nft_map(FILE *out, const struct sl_rule *rules, uint32_t n, uint8_t family);

#endif
