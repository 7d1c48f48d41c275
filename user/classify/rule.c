/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <sys/socket.h>

#include "user/classify/rule.h"

uint32_t sl_field_values(enum sl_field field)
{
#define VALUES(id, values) values,
	static const uint32_t of[SL_FIELD_COUNT] = { SL_FIELDS(VALUES) };
#undef VALUES

	return of[field];
}

bool sl_rule_has_family(const struct sl_rule *rule, uint8_t family)
{
	if (rule->family && rule->family != family)
		return false;
	for (unsigned int side = 0; side < SL_SIDES; side++)
		if (rule->prefix[side].family && rule->prefix[side].family != family)
			return false;
	return true;
}

bool sl_rule_allows(const struct sl_rule *rule, enum sl_field field, uint32_t value)
{
	const struct sl_ranges *ranges = &rule->field[field];

	if (field == SL_FIELD_TCP_FLAGS)
		return !rule->flags_mask || (value != SL_FIELD_TCP_FLAGS_ABSENT &&
					     (value & rule->flags_mask) == rule->flags);
	for (uint32_t i = 0; i < ranges->n; i++)
		if (value >= ranges->range[i].low && value <= ranges->range[i].high)
			return true;
	return !ranges->n;
}

void sl_flow_address(uint8_t family, const uint8_t *addr, __u64 out[2])
{
	unsigned int bytes = sl_addr_bits(family) / 8;

	out[0] = out[1] = 0;
	for (unsigned int i = 0; i < bytes; i++)
		out[i / 8] |= (__u64)addr[i] << (56 - i % 8 * 8);
}

static bool in_prefix(const struct sl_prefix *prefix, const __u64 address[2])
{
	__u64 want[2];
	unsigned int high = prefix->len > 64 ? 64 : prefix->len, low = prefix->len - high;

	if (!prefix->family)
		return true;
	sl_flow_address(prefix->family, prefix->addr, want);
	return (!high || (want[0] ^ address[0]) >> (64 - high) == 0) &&
	       (!low || (want[1] ^ address[1]) >> (64 - low) == 0);
}

bool sl_rule_matches(const struct sl_rule *rule, uint8_t family, const struct sl_flow *flow)
{
	if (!sl_rule_has_family(rule, family))
		return false;
	for (unsigned int side = 0; side < SL_SIDES; side++)
		if (!in_prefix(&rule->prefix[side], flow->address[side]))
			return false;
	for (enum sl_field field = 0; field < SL_FIELD_COUNT; field++)
		if (!sl_rule_allows(rule, field, flow->field[field]))
			return false;
	return true;
}

bool sl_rule_is_auxiliary(const struct sl_rule *rule)
{
	return (rule->action & SL_RULE_ACTION_MASK) == SL_FILTER_COUNT;
}

const struct sl_rule *sl_rules_first(const struct sl_rule *rules, uint32_t n, uint8_t family,
				     const struct sl_flow *flow)
{
	for (uint32_t i = 0; i < n; i++)
		if (!sl_rule_is_auxiliary(&rules[i]) && sl_rule_matches(&rules[i], family, flow))
			return &rules[i];
	return NULL;
}
