/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which rules may have decided a packet that left: those, and only those, by which a packet leaves
 * so that enters with some DSCP.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>

#include "user/classify/left_packet.h"

#define DSCP(low, high)                            \
	{                                          \
		.n = 1, .range = { { low, high } } \
	}
#define ASKS(low, high) .field = { [SL_FIELD_DSCP] = DSCP(low, high) }
#define SETS(dscp)	((dscp) + 1u) << SL_RULE_DSCP_SHIFT
#define OTHER_PROTOCOL	.field = { [SL_FIELD_PROTOCOL] = DSCP(6, 6) }
#define UDP		17
#define RULES_MAX	4
#define BY(rule_, dscp_)     \
	{                    \
		rule_, dscp_ \
	}

static const struct left_case {
	const char *name;
	uint32_t n;
	struct sl_rule rule[RULES_MAX];
	bool default_denies;
	uint8_t left;
	uint32_t n_by;
	struct {
		uint32_t rule;
		uint8_t dscp;
	} by[RULES_MAX];
} cases[] = {
	{ "no_rule_leaves_the_default", 0, {}, false, 34, 1, { BY(0, 34) } },
	{ "a_rule_that_asks_for_no_dscp", 1, { {} }, false, 34, 1, { BY(0, 34) } },
	{ "a_rule_that_sets_it", 1, { { .action = SETS(34) } }, false, 34, 1, { BY(0, 34) } },
	{ "what_a_rule_sets_to_another_did_not_meet_it",
	  2,
	  { { .action = SETS(34), ASKS(0, 10) }, {} },
	  false,
	  5,
	  0,
	  {} },
	{ "a_rule_that_asks_for_the_dscp_that_it_sets_away",
	  2,
	  { { .action = SETS(46), ASKS(0, 0) }, { .action = SL_FILTER_DENY, ASKS(46, 46) } },
	  false,
	  46,
	  1,
	  { BY(0, 0) } },
	{ "either_of_two",
	  2,
	  { { .action = SETS(46), ASKS(8, 9) }, { ASKS(46, 46) } },
	  false,
	  46,
	  2,
	  { BY(0, 8), BY(1, 46) } },
	{ "a_rule_or_the_default",
	  1,
	  { { .action = SETS(46), ASKS(8, 9) } },
	  false,
	  46,
	  2,
	  { BY(0, 8), BY(1, 46) } },
	{ "a_default_that_denies_is_none",
	  1,
	  { { .action = SETS(46), ASKS(8, 9) } },
	  true,
	  46,
	  1,
	  { BY(0, 8) } },
	{ "what_an_earlier_rule_decides_meets_no_later_one",
	  3,
	  { { ASKS(0, 45) }, { .action = SETS(46), ASKS(40, 46) }, { .action = SETS(46) } },
	  false,
	  46,
	  2,
	  { BY(1, 46), BY(2, 47) } },
	{ "rules_of_other_packets_and_auxiliary_ones_decide_nothing",
	  3,
	  { { .action = SETS(46), OTHER_PROTOCOL }, { .action = SL_FILTER_COUNT }, {} },
	  false,
	  46,
	  1,
	  { BY(2, 46) } },
	{ "a_policer_marks_the_excess",
	  1,
	  { { .action = SL_RULE_POLICE, .police = { .exceed_dscp_plus1 = 9 }, ASKS(20, 21) } },
	  true,
	  8,
	  1,
	  { BY(0, 20) } },
	{ "a_chain_may_set_any",
	  1,
	  { { .action = SL_RULE_CHAIN, ASKS(20, 21) } },
	  true,
	  8,
	  1,
	  { BY(0, 20) } },
	{ "what_goes_to_the_kernel_leaves_by_it",
	  1,
	  { { .action = SL_FILTER_KERNEL } },
	  false,
	  8,
	  0,
	  {} },
};

static void the_rules_are_found(void **state)
{
	const struct left_case *c = *state;
	const struct sl_flow flow = {
		.field = { [SL_FIELD_PROTOCOL] = UDP, [SL_FIELD_DSCP] = c->left }
	};
	struct sl_left_packet found = { .n = 77 };

	sl_left_packet_find(c->rule, c->n, !c->default_denies, AF_INET, &flow, &found);
	assert_int_equal(found.n, c->n_by);
	for (uint32_t i = 0; i < found.n; i++) {
		assert_int_equal(found.by[i].rule, c->by[i].rule);
		assert_int_equal(found.by[i].dscp, c->by[i].dscp);
	}
}

int main(void)
{
	static struct CMUnitTest tests[sizeof(cases) / sizeof(cases[0])];
	const size_t n = sizeof(cases) / sizeof(cases[0]);

	for (size_t i = 0; i < n; i++)
		tests[i] = (struct CMUnitTest){ .name = cases[i].name,
						.test_func = the_rules_are_found,
						.initial_state = (void *)&cases[i] };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
