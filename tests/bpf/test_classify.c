/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The classifier of XDP against a linear scan of the same rules: every answer must be equal, for
 * lists of all styles and sizes, of both families.
 *
 *   test_classify [PACKETS]     for each list, instead of those of the gate
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "netns-lab/classify/classify_rig.h"
#include "netns-lab/classify/rule_sets.h"

static struct classify_rig *rig;
static struct sl_rule rules[SL_RULES_MAX];
static uint32_t packets = 3000;

struct list {
	enum lab_rule_style style;
	uint8_t family;
	uint32_t n;
	char name[64];
};

#define DEFAULT_ACTION (SL_FILTER_DENY | 5 << SL_RULE_CLASS_SHIFT)

static void check_flow(const struct list *list, const struct sl_flow *flow)
{
	const struct sl_rule *want = sl_rules_first(rules, list->n, list->family, flow);
	uint32_t number = want ? want->number : SL_RULE_NONE;
	uint32_t action = want ? want->action : DEFAULT_ACTION;

	if (flow->number != number || flow->action != action)
		fail_msg("source %016llx%016llx destination %016llx%016llx: rule %d, action %x; "
			 "a scan finds rule %d, action %x",
			 flow->address[0][0], flow->address[0][1], flow->address[1][0],
			 flow->address[1][1], (int)flow->number, flow->action, (int)number, action);
}

static void list_answers_as_a_scan(void **state)
{
	const struct list *list = *state;
	uint64_t random = 20261125;
	uint32_t matched = 0;

	lab_rules_make(list->style, list->family, list->n, 7 + list->n, rules);
	assert_int_equal(classify_rig_put(rig, 3, rules, list->n, list->family, DEFAULT_ACTION), 0);
	for (uint32_t done = 0; done < packets;) {
		uint32_t n = packets - done < LAB_FLOWS_MAX ? packets - done : LAB_FLOWS_MAX;

		for (uint32_t i = 0; i < n; i++)
			lab_rules_flow(rules, list->n, list->family, &random, &rig->flows[i]);
		assert_int_equal(classify_rig_run(rig, LAB_CLASSIFY_LIST, 3, n, 1, NULL), 0);
		for (uint32_t i = 0; i < n; i++) {
			check_flow(list, &rig->flows[i]);
			matched += rig->flows[i].number != SL_RULE_NONE;
		}
		done += n;
	}
	/* the packets try both ends */
	assert_in_range(matched, packets / 20, list->n ? packets : 0);
}

static int open_rig(void **state)
{
	(void)state;
	return classify_rig_open(LAB_CLASSIFY_OBJECT, &rig);
}

static int close_rig(void **state)
{
	(void)state;
	classify_rig_close(rig);
	return 0;
}

int main(int argc, char **argv)
{
	static const uint32_t sizes[] = { 1, 10, 64, 65, 1000, 4096 };
	static const uint8_t families[] = { AF_INET, AF_INET6 };
	static struct list lists[LAB_RULE_STYLES * 2 * 6];
	static struct CMUnitTest tests[LAB_RULE_STYLES * 2 * 6];
	size_t n = 0;

	if (argc > 1)
		packets = (uint32_t)strtoul(argv[1], NULL, 10);
	for (int style = 0; style < LAB_RULE_STYLES; style++)
		for (size_t f = 0; f < 2; f++)
			for (size_t s = 0; s < 6; s++, n++) {
				lists[n] = (struct list){ style, families[f], sizes[s], "" };
				snprintf(lists[n].name, sizeof(lists[n].name), "%s_ip%c_%u_rules",
					 lab_rule_style_name(style), f ? '6' : '4', sizes[s]);
				tests[n] = (struct CMUnitTest){ .name = lists[n].name,
								.test_func = list_answers_as_a_scan,
								.initial_state = &lists[n] };
			}
	return cmocka_run_group_tests(tests, open_rig, close_rig);
}
