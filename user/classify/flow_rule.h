/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of rules that exact flows may name: LIST/RULE, and the number that sl_edge knows. */
#ifndef SL_FLOW_RULE_H
#define SL_FLOW_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi/exact_flow.h"

/* The key of map sl_flow_rule for such a name; never 0. Names that differ may have the same. */
uint32_t sl_flow_rule_id(const char *name);

/* LIST/RULE, of names that a configuration may have: below 64 bytes each. */
void sl_flow_rule_name(const char *list, const char *rule, char out[SL_FLOW_RULE_NAME_BYTES]);

#endif
