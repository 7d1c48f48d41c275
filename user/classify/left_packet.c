/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/classify/left_packet.h"

#define ALL_DSCPS (~0ULL) /* a bit for each */
_Static_assert(SL_DSCPS == 64, "a word has a bit for each DSCP");

/* With which DSCPs does the rule match the packet, whose others fields are those of flow? */
static uint64_t matching(const struct sl_rule *rule, uint8_t family, const struct sl_flow *flow)
{
	const struct sl_ranges *ranges = &rule->field[SL_FIELD_DSCP];
	struct sl_flow one = *flow;
	uint64_t bits = 0;

	if (ranges->n)
		one.field[SL_FIELD_DSCP] = ranges->range[0].low;
	if (!sl_rule_matches(rule, family, &one))
		return 0;
	for (uint32_t dscp = 0; dscp < SL_DSCPS; dscp++)
		if (sl_rule_allows(rule, SL_FIELD_DSCP, dscp))
			bits |= 1ULL << dscp;
	return bits;
}

/* Of those, which leave as `left`? */
static uint64_t leaving(const struct sl_rule *rule, uint64_t bits, uint32_t left)
{
	const uint32_t set_plus1 = rule->action >> SL_RULE_DSCP_SHIFT & 0xff;

	if ((rule->action & SL_RULE_ACTION_MASK) != SL_FILTER_PERMIT)
		return 0;
	if (rule->action & SL_RULE_CHAIN || left + 1 == set_plus1 ||
	    left + 1 == rule->police.exceed_dscp_plus1)
		return bits;
	return set_plus1 ? 0 : bits & 1ULL << left;
}

static void put(struct sl_left_packet *out, uint32_t rule, uint64_t bits, uint32_t left)
{
	if (!bits)
		return;
	out->by[out->n].rule = rule;
	out->by[out->n++].dscp =
		(uint8_t)(bits & 1ULL << left ? left : (uint32_t)__builtin_ctzll(bits));
}

void sl_left_packet_find(const struct sl_rule *rules, uint32_t n, bool default_permits,
			 uint8_t family, const struct sl_flow *flow, struct sl_left_packet *out)
{
	const uint32_t left = flow->field[SL_FIELD_DSCP] % SL_DSCPS;
	uint64_t undecided = ALL_DSCPS;

	out->n = 0;
	for (uint32_t i = 0; i < n && undecided; i++) {
		uint64_t bits;

		if (sl_rule_is_auxiliary(&rules[i]))
			continue;
		bits = matching(&rules[i], family, flow) & undecided;
		put(out, i, leaving(&rules[i], bits, left), left);
		undecided &= ~bits;
	}
	if (default_permits)
		put(out, n, undecided & 1ULL << left, left);
}
