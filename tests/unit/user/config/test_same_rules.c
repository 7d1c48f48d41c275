/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rules that a replaced list has kept: against texts written out, and against a linear scan. Rules
 * have the same identity if and only if they are kept.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/config/same_rules.h"

enum { MANY = 4096 };

/* A list of the settings as they are read from YAML. */
static struct sl_filter_list_settings parse(struct sl_yaml_list *lists, const char *rules)
{
	char error[SL_YAML_ERROR_BYTES], *text;

	assert_true(asprintf(&text, "filters: [{name: a, rules: [%s]}]", rules) > 0);
	if (sl_filters_parse("test", text, strlen(text), lists, error))
		fail_msg("%s", error);
	free(text);
	return *sl_filter_list(lists, 0);
}

static uint64_t *identities(const struct sl_filter_list_settings *list)
{
	uint64_t *out = calloc(list->rules.n + 1, sizeof(*out));

	assert_non_null(out);
	assert_int_equal(sl_rule_identities(list, out), 0);
	return out;
}

/* Does the identity lead from each rule to the one that it has been? */
static void assert_identities(const struct sl_filter_list_settings *list,
			      const struct sl_filter_list_settings *old, const int64_t *same)
{
	uint64_t *new_ids = identities(list), *old_ids = identities(old);

	for (uint32_t i = 0; i < list->rules.n; i++) {
		int64_t found = -1;

		assert_int_not_equal(new_ids[i], 0);
		for (uint32_t j = 0; j < old->rules.n; j++)
			if (new_ids[i] == old_ids[j]) {
				assert_int_equal(found, -1);
				found = j;
			}
		assert_int_equal(found, same[i]);
	}
	free(new_ids);
	free(old_ids);
}

static void assert_same(const char *rules, const char *old_rules, const int64_t *expected)
{
	struct sl_yaml_list lists, old_lists;
	struct sl_filter_list_settings list = parse(&lists, rules);
	struct sl_filter_list_settings old = parse(&old_lists, old_rules);
	int64_t *same = calloc(list.rules.n, sizeof(*same));

	assert_non_null(same);
	assert_int_equal(sl_same_rules(&list, &old, same), 0);
	assert_memory_equal(same, expected, list.rules.n * sizeof(*same));
	assert_identities(&list, &old, same);
	free(same);
	sl_filters_free(&lists);
	sl_filters_free(&old_lists);
}

static void rules_that_move_are_the_same_and_each_is_taken_once(void **state)
{
	(void)state;
	assert_same("{action: deny, protocol: 6}, {action: deny, protocol: 17}",
		    "{action: deny, protocol: 17}, {action: deny, protocol: 6}",
		    (int64_t[]){ 1, 0 });
	assert_same("{action: deny, protocol: 6}, {action: deny, protocol: 6},"
		    " {action: deny, protocol: 6}",
		    "{action: permit, protocol: 6}, {action: deny, protocol: 6},"
		    " {action: deny, protocol: 6}",
		    (int64_t[]){ 1, 2, -1 });
}

static void a_rule_that_differs_in_one_key_is_new(void **state)
{
	static const struct {
		const char *rule, *old;
	} cases[] = {
		{ "action: deny", "action: permit" },
		{ "action: permit, family: ipv4", "action: permit, family: ipv6" },
		{ "action: permit, name: x", "action: permit" },
		{ "action: permit, name: x", "action: permit, name: y" },
		{ "action: permit, source: 10.0.0.0/8", "action: permit, destination: 10.0.0.0/8" },
		{ "action: permit, protocol: udp, source_port: 53",
		  "action: permit, protocol: udp, destination_port: 53" },
		{ "action: permit, dscp: 1", "action: permit, set_dscp: 1" },
		{ "action: permit, class: 1", "action: permit, class: 2" },
		{ "action: permit, next_hop: 10.0.0.1", "action: permit, next_hop: 10.0.0.2" },
		{ "action: permit, next_hop: 10.0.0.1", "action: permit, family: ipv4" },
		{ "action: permit, table: 77", "action: permit, table: 78" },
		{ "action: permit, chain: a", "action: permit, chain: b" },
		{ "action: permit, mirror: a", "action: permit, mirror: b" },
		{ "action: permit, mirror: a, sample: 2", "action: permit, mirror: a" },
		{ "action: permit, police_rate: 1mbit", "action: permit, police_rate: 2mbit" },
		{ "action: permit, reserve_rate: 1mbit", "action: permit, reserve_rate: 2mbit" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char rule[128], old[128];

		snprintf(rule, sizeof(rule), "{%s}", cases[i].rule);
		snprintf(old, sizeof(old), "{%s}", cases[i].old);
		assert_same(rule, old, (int64_t[]){ -1 });
		assert_same(old, rule, (int64_t[]){ -1 });
		assert_same(rule, rule, (int64_t[]){ 0 });
	}
}

static void without_an_old_list_all_rules_are_new(void **state)
{
	struct sl_yaml_list lists;
	struct sl_filter_list_settings list = parse(&lists, "{action: deny}, {action: permit}");
	int64_t same[2] = { 0, 0 };

	(void)state;
	assert_int_equal(sl_same_rules(&list, NULL, same), 0);
	assert_int_equal(same[0], -1);
	assert_int_equal(same[1], -1);
	sl_filters_free(&lists);
}

/* Rules of few different texts, so that many are the same: as many find one as a scan finds. */
static void many_rules_find_as_many_partners_as_a_scan(void **state)
{
	struct sl_filter_rule_settings rules[2][MANY] = { 0 };
	char ports[MANY / 4][8], name[] = "a";
	struct sl_filter_list_settings list = { .name = name,
						.rules = { .items = rules[0], .n = MANY } };
	struct sl_filter_list_settings old = { .name = name,
					       .rules = { .items = rules[1], .n = MANY } };
	static int64_t same[MANY];
	uint32_t count[2][MANY / 4] = { 0 }, expected = 0, found = 0, seed = 1;
	static bool taken[MANY];

	(void)state;
	for (uint32_t i = 0; i < MANY / 4; i++)
		snprintf(ports[i], sizeof(ports[i]), "%u", i);
	for (uint32_t l = 0; l < 2; l++)
		for (uint32_t i = 0; i < MANY; i++) {
			uint32_t port;

			seed = seed * 1664525 + 1013904223;
			port = seed >> 22;
			rules[l][i].field[SL_FIELD_DESTINATION_PORT] = ports[port];
			count[l][port]++;
		}
	assert_int_equal(sl_same_rules(&list, &old, same), 0);
	for (uint32_t i = 0; i < MANY; i++) {
		if (same[i] < 0)
			continue;
		found++;
		assert_false(taken[same[i]]);
		taken[same[i]] = true;
		assert_string_equal(rules[0][i].field[SL_FIELD_DESTINATION_PORT],
				    rules[1][same[i]].field[SL_FIELD_DESTINATION_PORT]);
	}
	for (uint32_t i = 0; i < MANY / 4; i++)
		expected += count[0][i] < count[1][i] ? count[0][i] : count[1][i];
	assert_true(expected > MANY / 2);
	assert_int_equal(found, expected);
	assert_identities(&list, &old, same);
	assert_int_equal(sl_same_rules(&old, &old, same), 0);
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(same[i], i);
}

static void lists_and_defaults_have_identities_of_their_own(void **state)
{
	struct sl_yaml_list lists;
	struct sl_filter_list_settings list = parse(&lists, "{action: deny}"), other = list;
	uint64_t *ids = identities(&list), *other_ids;
	char other_name[] = "b";

	(void)state;
	assert_int_not_equal(ids[0], ids[1]);
	other.default_action = SL_FILTER_PERMIT;
	other_ids = identities(&other);
	assert_true(ids[0] == other_ids[0]);
	assert_int_equal(ids[1] == other_ids[1], list.default_action == SL_FILTER_PERMIT);
	free(other_ids);
	other.default_action = SL_FILTER_DENY;
	other_ids = identities(&other);
	assert_int_equal(ids[1] == other_ids[1], list.default_action == SL_FILTER_DENY);
	free(other_ids);
	other = list;
	other.name = other_name;
	other_ids = identities(&other);
	assert_true(ids[0] != other_ids[0] && ids[1] != other_ids[1]);
	free(other_ids);
	free(ids);
	sl_filters_free(&lists);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules_that_move_are_the_same_and_each_is_taken_once),
		cmocka_unit_test(a_rule_that_differs_in_one_key_is_new),
		cmocka_unit_test(without_an_old_list_all_rules_are_new),
		cmocka_unit_test(lists_and_defaults_have_identities_of_their_own),
		cmocka_unit_test(many_rules_find_as_many_partners_as_a_scan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
