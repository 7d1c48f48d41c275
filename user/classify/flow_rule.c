/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The number is a hash of the name, by FNV-1a (draft-eastlake-fnv), so that a flow keeps its rule
 * when sluiced starts anew, and no table of names has to be kept.
 */
#include "user/classify/flow_rule.h"

#include <stdio.h>

#define FNV_OFFSET 2166136261u
#define FNV_PRIME  16777619u

uint32_t sl_flow_rule_id(const char *name)
{
	uint32_t hash = FNV_OFFSET;

	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * FNV_PRIME;
	return hash ? hash : 1;
}

void sl_flow_rule_name(const char *list, const char *rule, char out[SL_FLOW_RULE_NAME_BYTES])
{
	snprintf(out, SL_FLOW_RULE_NAME_BYTES, "%s/%s", list, rule);
}
