/* SPDX-License-Identifier: BSD-2-Clause */
/* The part `filters:` of the configuration: what is read, and the line that refuses each mistake.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "user/config/config.h"

/* The text of a list "in" with this rule, or with these lines in place of its rules. */
#define RULE(text) "ports: []\nfilters:\n- name: in\n  rules:\n  - {" text "}\n"

static const struct refusal {
	const char *name, *text, *error;
} refusals[] = {
	{ "list_without_rules", "ports: []\nfilters:\n- name: in\n",
	  "f:3: filters[0]: \"rules\" is missing: write \"rules: ...\"" },
	{ "rule_without_action", RULE("protocol: tcp"),
	  "f:5: filters[0].rules[0]: \"action\" is missing: write \"action: ...\"" },
	{ "unknown_action", RULE("action: drop"),
	  "f:5: filters[0].rules[0].action: \"drop\" is not an action: write permit, deny, "
	  "kernel, reject, reset or count" },
	{ "default_that_never_decides",
	  "ports: []\nfilters:\n- {name: a, default: count, rules: []}\n",
	  "f:3: filters[0].default: \"count\" is not an action: write permit, deny, kernel or reject" },
	{ "reset_without_tcp", RULE("action: reset, protocol: 'tcp,udp'"),
	  "f:5: filters[0].rules[0]: \"reset\" ends TCP connections: write protocol: tcp, or action: "
	  "reject" },
	{ "sample_without_mirror", RULE("action: permit, sample: 5"),
	  "f:5: filters[0].rules[0]: \"5\" is a sample without a netdev for it: write mirror, too" },
	{ "mirror_to_no_netdev", RULE("action: permit, mirror: a/b"),
	  "f:5: filters[0].rules[0].mirror: \"a/b\" is not a netdev name: write 1 to 15 characters, as "
	  "`ip link` shows them" },
	{ "class_of_an_auxiliary_rule", RULE("action: count, class: 1"),
	  "f:5: filters[0].rules[0]: \"1\" changes a packet that the fast path does not forward: write "
	  "action: permit" },
	{ "host_bits", RULE("action: deny, source: 10.0.0.1/8"),
	  "f:5: filters[0].rules[0].source: \"10.0.0.1/8\" is not a prefix: write an address, or one "
	  "with /LENGTH and no bits set beyond it" },
	{ "two_families", RULE("action: deny, source: 10.0.0.0/8, destination: '2001:db8::/32'"),
	  "f:5: filters[0].rules[0]: \"2001:db8::/32\" is of the other family than the rest of the "
	  "rule: write addresses of one family" },
	{ "family_and_prefix", RULE("action: deny, family: ipv6, source: 10.0.0.0/8"),
	  "f:5: filters[0].rules[0]: \"10.0.0.0/8\" is of the other family than the rest of the rule: "
	  "write addresses of one family" },
	{ "port_without_protocol", RULE("action: deny, destination_port: 80"),
	  "f:5: filters[0].rules[0]: \"80\" is a destination_port, which needs a protocol that has it: "
	  "write protocol: tcp, udp, sctp, dccp or udplite" },
	{ "port_of_icmp", RULE("action: deny, protocol: 'tcp,icmp', source_port: 80"),
	  "f:5: filters[0].rules[0]: \"80\" is a source_port, which needs a protocol that has it: write "
	  "protocol: tcp, udp, sctp, dccp or udplite" },
	{ "flags_of_udp", RULE("action: deny, protocol: udp, tcp_flags: syn"),
	  "f:5: filters[0].rules[0]: \"syn\" is a tcp_flags, which needs a protocol that has it: write "
	  "protocol: tcp" },
	{ "flow_label_of_ip4", RULE("action: deny, family: ipv4, flow_label: 5"),
	  "f:5: filters[0].rules[0]: \"5\" is a flow label, which IPv4 does not have: write family: "
	  "ipv6" },
	{ "class_of_a_denied_packet", RULE("action: deny, class: 1"),
	  "f:5: filters[0].rules[0]: \"1\" changes a packet that the fast path does not forward: write "
	  "action: permit" },
	{ "next_hop_of_a_denied_packet", RULE("action: deny, next_hop: 10.0.0.1"),
	  "f:5: filters[0].rules[0]: \"10.0.0.1\" is a next hop for packets that the fast path does not "
	  "forward: write action: permit" },
	{ "next_hop_of_another_family",
	  RULE("action: permit, source: 10.0.0.0/8, next_hop: '2001:db8::1'"),
	  "f:5: filters[0].rules[0]: \"2001:db8::1\" is of the other family than the rest of the rule: "
	  "write addresses of one family" },
	{ "table_of_a_denied_packet", RULE("action: deny, table: 77"),
	  "f:5: filters[0].rules[0]: \"77\" is a table for packets that the fast path does not "
	  "forward: write action: permit" },
	{ "table_beside_a_next_hop", RULE("action: permit, table: 77, next_hop: 10.0.0.1"),
	  "f:5: filters[0].rules[0]: \"77\" is a table beside next_hop: write one of them" },
	{ "table_beside_a_chain", RULE("action: permit, table: 77, chain: video"),
	  "f:5: filters[0].rules[0]: \"video\" is a chain, behind which packets are routed anew: "
	  "write no table" },
	{ "table_0", RULE("action: permit, table: 0"),
	  "f:5: filters[0].rules[0].table: \"0\" is not a routing table of the kernel: write its "
	  "number, 1 to 4294967295" },
	{ "table_beyond_32_bits", RULE("action: permit, table: 4294967296"),
	  "f:5: filters[0].rules[0].table: \"4294967296\" is not a routing table of the kernel: "
	  "write its number, 1 to 4294967295" },
	{ "table_by_name", RULE("action: permit, table: main"),
	  "f:5: filters[0].rules[0].table: \"main\" is not a routing table of the kernel: write "
	  "its number, 1 to 4294967295" },
	{ "next_hop_without_its_link", RULE("action: permit, next_hop: 'fe80::1'"),
	  "f:5: filters[0].rules[0].next_hop: \"fe80::1\" is not an address: write the IPv4 or IPv6 "
	  "address of a router, not a link-local one" },
	{ "chain_of_a_denied_packet", RULE("action: deny, chain: video"),
	  "f:5: filters[0].rules[0]: \"video\" is a chain for packets that the fast path does not "
	  "forward: write action: permit" },
	{ "chain_beside_a_next_hop", RULE("action: permit, chain: video, next_hop: 10.0.0.1"),
	  "f:5: filters[0].rules[0]: \"video\" is a chain, behind which packets are routed anew: "
	  "write no next_hop" },
	{ "chain_of_odd_letters", RULE("action: permit, chain: a-b"),
	  "f:5: filters[0].rules[0].chain: \"a-b\" is not the name of a chain of elements: write at "
	  "most 31 letters, digits, _ and ." },
	{ "rate_in_packets", RULE("action: permit, police_rate: 10kpps"),
	  "f:5: filters[0].rules[0].police_rate: \"10kpps\" is not a rate: write bits a second, such "
	  "as 10mbit" },
	{ "burst_too_large", RULE("action: permit, police_rate: 1mbit, police_burst: 4295m"),
	  "f:5: filters[0].rules[0].police_burst: \"4295m\" is not a burst: write bytes, such as 64k, "
	  "up to 4,294 million" },
	{ "burst_without_rate", RULE("action: permit, police_burst: 64k"),
	  "f:5: filters[0].rules[0]: \"64k\" is a police_burst, which needs a rate: write police_rate, "
	  "too" },
	{ "two_ways_to_exceed",
	  RULE("action: permit, police_rate: 1mbit, police_excess_burst: 9k, police_peak_rate: 2mbit"),
	  "f:5: filters[0].rules[0]: \"2mbit\" is a police_peak_rate beside police_excess_burst: write "
	  "one of them" },
	{ "peak_below_rate", RULE("action: permit, police_rate: 2mbit, police_peak_rate: 1mbit"),
	  "f:5: filters[0].rules[0]: \"1mbit\" is a police_peak_rate below police_rate: write a higher "
	  "one" },
	{ "police_what_is_denied", RULE("action: deny, police_rate: 2mbit"),
	  "f:5: filters[0].rules[0]: \"2mbit\" polices packets that the fast path does not forward: "
	  "write action: permit" },
	{ "reserve_without_rate", RULE("action: permit, reserve_idle: 9s"),
	  "f:5: filters[0].rules[0]: \"9s\" is a reserve_idle, which needs a rate: write reserve_rate, "
	  "too" },
	{ "reserve_for_what_is_denied", RULE("action: deny, reserve_rate: 1mbit"),
	  "f:5: filters[0].rules[0]: \"1mbit\" is reserved for packets that the fast path does not "
	  "forward: write action: permit" },
	{ "reserve_with_table", RULE("action: permit, reserve_rate: 1mbit, table: 77"),
	  "f:5: filters[0].rules[0]: \"77\" is a table beside reserve_rate, which goes by the "
	  "routes: write one of them" },
	{ "reserve_with_next_hop", RULE("action: permit, reserve_rate: 1mbit, next_hop: 10.0.0.1"),
	  "f:5: filters[0].rules[0]: \"10.0.0.1\" is a next hop beside reserve_rate, which goes by the "
	  "routes: write one of them" },
	{ "reserve_idle_too_short", RULE("action: permit, reserve_rate: 1mbit, reserve_idle: 1s"),
	  "f:5: filters[0].rules[0].reserve_idle: \"1s\" is not a time: write whole seconds, 2s to "
	  "3600s" },
	{ "reserve_idle_in_parts", RULE("action: permit, reserve_rate: 1mbit, reserve_idle: 2.5s"),
	  "f:5: filters[0].rules[0].reserve_idle: \"2.5s\" is not a time: write whole seconds, 2s to "
	  "3600s" },
	{ "reserve_flows_too_many",
	  RULE("action: permit, reserve_rate: 1mbit, reserve_flows: 1025"),
	  "f:5: filters[0].rules[0].reserve_flows: \"1025\" is not a number of flows: write 1 to "
	  "1024" },
	{ "class_too_large", RULE("action: permit, class: 4"),
	  "f:5: filters[0].rules[0].class: \"4\" is not a traffic class: write 0 to 3" },
	{ "name_of_the_metrics", RULE("action: deny, name: default"),
	  "f:5: filters[0].rules[0]: \"default\" is a name that the metrics use: write another" },
	{ "two_rules_of_one_name",
	  "ports: []\nfilters:\n- name: in\n  rules:\n  - {action: deny, name: a}\n"
	  "  - {action: deny}\n  - {action: permit, name: a}\n",
	  "f:7: filters[0].rules[2]: \"a\" is the name of rule 0, too: write another" },
	{ "two_lists_of_one_name",
	  "ports: []\nfilters:\n- {name: a, rules: []}\n- {name: a, ports: [{name: x}], rules: []}\n",
	  "f:4: filters[1]: \"a\" is the name of two lists: write another" },
	{ "two_lists_for_all_ports",
	  "ports: []\nfilters:\n- {name: a, rules: []}\n"
	  "- {name: b, rules: []}\n",
	  "f:4: filters[1]: \"b\" has no ports, as list \"a\", and only one can be for all other "
	  "ports: write ports" },
	{ "list_for_flows_with_ports",
	  "ports: []\nfilters:\n- {name: a, flows: true, ports: [{name: x}], rules: []}\n",
	  "f:3: filters[0]: \"a\" is for flows, and has ports: write one of them" },
	{ "list_for_flows_maybe", "ports: []\nfilters:\n- {name: a, flows: maybe, rules: []}\n",
	  "f:3: filters[0].flows: \"maybe\" is not a truth value: write true or false" },
	{ "two_rules_of_one_number",
	  "ports: []\nfilters:\n- {name: a/b, rules: [{action: deny, name: c}]}\n"
	  "- name: a\n  flows: true\n  rules:\n  - {action: deny, name: c}\n"
	  "  - {action: deny, name: b/c}\n",
	  "f:8: filters[1].rules[1]: \"b/c\" has the number that exact flows have for rule \"c\" of "
	  "list \"a/b\": write another name" },
	{ "port_in_two_lists",
	  "ports: []\nfilters:\n- {name: a, ports: [{name: x}], rules: []}\n"
	  "- {name: b, ports: [{name: y}, {name: x}], rules: []}\n",
	  "f:4: filters[1]: \"x\" is a port of list \"a\", too: write it once" },
};

static void mistake_is_refused(void **state)
{
	const struct refusal *r = *state;
	char error[SL_YAML_ERROR_BYTES];
	struct sl_settings *settings;

	assert_int_equal(sl_settings_parse("f", r->text, strlen(r->text), &settings, error),
			 -EINVAL);
	assert_string_equal(error, r->error);
	assert_null(settings);
}

static void policers_are_read(void **state)
{
	static const char text[] =
		"ports: []\n"
		"filters:\n"
		"- name: in\n"
		"  rules:\n"
		"  - {action: permit, police_rate: 8mbit}\n"
		"  - {action: permit, police_rate: 1kbit, police_burst: 64k, police_excess_burst: 2m,\n"
		"     police_exceed_dscp: af12}\n"
		"  - {action: permit, police_rate: 1mbit, police_peak_rate: 16mbit}\n"
		"  - {action: permit}\n";
	static const struct sl_police want[] = {
		{ .rate_Bps = 1000000, .burst_bytes = 100000 },
		{ .rate_Bps = 125,
		  .burst_bytes = 64000,
		  .excess_burst_bytes = 2000000,
		  .exceed_dscp_plus1 = 13 },
		{ .rate_Bps = 125000,
		  .burst_bytes = 15000,
		  .peak_rate_Bps = 2000000,
		  .peak_burst_bytes = 200000 },
		{ 0 },
	};
	char error[SL_YAML_ERROR_BYTES];
	const struct sl_rule *rules;
	struct sl_settings *s;

	(void)state;
	assert_int_equal(sl_settings_parse("f", text, strlen(text), &s, error), 0);
	rules = sl_filter_list(&s->filters, 0)->parsed;
	for (int i = 0; i < 4; i++) {
		assert_memory_equal(&rules[i].police, &want[i], sizeof(want[i]));
		assert_int_equal(rules[i].action, i < 3 ? SL_RULE_POLICE : 0);
	}
	sl_settings_free(s);
}

static void all_keys_are_read(void **state)
{
	static const char text[] =
		"ports: []\n"
		"filters:\n"
		"- name: from-outside\n"
		"  ports: [{name: eth1}, {name: eth1.100}]\n"
		"  default: deny\n"
		"  rules:\n"
		"  - {action: deny, name: spoofed, source: 192.0.2.0/24}\n"
		"  - {action: permit, destination: '2001:db8::5', protocol: 'tcp,udp',\n"
		"     destination_port: '80,443', source_port: 1024-65535}\n"
		"  - {action: permit, protocol: tcp, tcp_flags: 'ack,!syn', dscp: ef, length: 40-100,\n"
		"     fragment: none, class: 3, set_dscp: cs6}\n"
		"  - {action: kernel, family: ipv6, protocol: icmpv6, icmp_type: '1-4', icmp_code: 0,\n"
		"     flow_label: 7}\n"
		"  - {action: reset, protocol: tcp, mirror: eth9}\n"
		"  - {action: count, mirror: eth9, sample: 1000}\n"
		"  - {action: reject}\n"
		"  - {action: permit, protocol: udp, next_hop: 192.0.2.1}\n"
		"  - {action: permit, family: ipv6, next_hop: '2001:db8::1'}\n"
		"  - {action: permit, reserve_rate: 1mbit}\n"
		"  - {action: permit, reserve_rate: 2mbit, reserve_idle: 2min, reserve_flows: 1024}\n"
		"  - {action: permit, chain: video_2}\n";
	char error[SL_YAML_ERROR_BYTES];
	const struct sl_filter_list_settings *list;
	const struct sl_rule *rule;
	struct sl_settings *s;

	(void)state;
	assert_int_equal(sl_settings_parse("f", text, strlen(text), &s, error), 0);
	assert_int_equal(s->filters.n, 1);
	list = sl_filter_list(&s->filters, 0);
	assert_string_equal(list->name, "from-outside");
	assert_int_equal(list->default_action, SL_FILTER_DENY);
	assert_int_equal(list->ports.n, 2);
	assert_string_equal(sl_filter_port_name(list, 1), "eth1.100");
	assert_int_equal(list->rules.n, 12);
	rule = list->parsed;
	assert_int_equal(rule[11].action, SL_FILTER_PERMIT | SL_RULE_CHAIN);
	assert_string_equal(rule[11].chain, "video_2");
	assert_int_equal(rule[9].action, SL_FILTER_PERMIT | SL_RULE_RESERVE);
	assert_int_equal(rule[9].reserve.rate_Bps, 125000);
	assert_int_equal(rule[9].reserve.idle_s, 30);
	assert_int_equal(rule[9].reserve.flows_max, 64);
	assert_int_equal(rule[10].reserve.rate_Bps, 250000);
	assert_int_equal(rule[10].reserve.idle_s, 120);
	assert_int_equal(rule[10].reserve.flows_max, 1024);
	assert_int_equal(rule[7].action, SL_FILTER_PERMIT | SL_RULE_NEXT_HOP);
	assert_int_equal(rule[7].family, AF_INET);
	assert_memory_equal(rule[7].next_hop, ((uint8_t[16]){ 192, 0, 2, 1 }), 16);
	assert_int_equal(rule[8].family, AF_INET6);
	assert_memory_equal(rule[8].next_hop, ((uint8_t[16]){ 0x20, 1, 0xd, 0xb8, [15] = 1 }), 16);
	assert_int_equal(rule[0].family, AF_INET);
	assert_int_equal(rule[0].prefix[SL_SIDE_SOURCE].len, 24);
	assert_int_equal(rule[0].action, SL_FILTER_DENY);
	assert_int_equal(rule[1].family, AF_INET6);
	assert_int_equal(rule[1].prefix[SL_SIDE_DESTINATION].len, 128);
	assert_int_equal(rule[1].field[SL_FIELD_PROTOCOL].n, 2);
	assert_int_equal(rule[1].field[SL_FIELD_DESTINATION_PORT].range[1].low, 443);
	assert_int_equal(rule[1].field[SL_FIELD_SOURCE_PORT].range[0].high, 65535);
	assert_int_equal(rule[2].family, 0);
	assert_int_equal(rule[2].flags, 0x10);
	assert_int_equal(rule[2].flags_mask, 0x12);
	assert_int_equal(rule[2].field[SL_FIELD_DSCP].range[0].low, 46);
	assert_int_equal(rule[2].field[SL_FIELD_LENGTH].range[0].low, 40);
	assert_int_equal(rule[2].field[SL_FIELD_FRAGMENT].n, 1);
	assert_int_equal(rule[2].action,
			 SL_FILTER_PERMIT | 4 << SL_RULE_CLASS_SHIFT | 49 << SL_RULE_DSCP_SHIFT);
	assert_int_equal(rule[3].action, SL_FILTER_KERNEL);
	assert_int_equal(rule[3].field[SL_FIELD_ICMP_TYPE].range[0].high, 4);
	assert_int_equal(rule[3].field[SL_FIELD_ICMP_CODE].n, 1);
	assert_int_equal(rule[3].field[SL_FIELD_FLOW_LABEL].range[0].low, 7);
	assert_int_equal(rule[3].sample, 0);
	assert_int_equal(rule[4].action, SL_FILTER_RESET);
	assert_string_equal(rule[4].mirror, "eth9");
	assert_int_equal(rule[4].sample, 1);
	assert_true(sl_rule_is_auxiliary(&rule[5]));
	assert_int_equal(rule[5].sample, 1000);
	assert_int_equal(rule[6].action, SL_FILTER_REJECT);
	sl_settings_free(s);
}

/* The text of a list, which outlives the daemon, says what its JSON says: jansson is the judge. */
static void list_is_written_as_its_json(void **state)
{
	static const char text[] =
		"filters:\n"
		"- name: a\n"
		"  ports: [{name: 'q\"\\é'}, {name: \"\\x01x\"}]\n"
		"  default: reject\n"
		"  rules:\n"
		"  - {action: permit, name: x, family: ipv6, source: '2001:db8::/32', protocol: 'tcp,udp',\n"
		"     source_port: 1, mirror: 'm\"\\', sample: 7, police_rate: 1mbit, reserve_rate: 2mbit}\n"
		"  - {action: count}\n"
		"- {name: empty, rules: []}\n";
	char error[SL_YAML_ERROR_BYTES];
	struct sl_yaml_list lists;

	(void)state;
	assert_int_equal(sl_filters_parse("f", text, strlen(text), &lists, error), 0);
	for (uint32_t i = 0; i < lists.n; i++) {
		json_t *want = sl_filter_list_json(sl_filter_list(&lists, i)), *got;
		char *written = NULL;
		size_t bytes;
		FILE *f = open_memstream(&written, &bytes);

		sl_filter_list_write(f, sl_filter_list(&lists, i));
		assert_int_equal(fclose(f), 0);
		got = json_loads(written, 0, NULL);
		assert_non_null(got);
		assert_true(json_equal(got, want));
		json_decref(got);
		json_decref(want);
		free(written);
	}
	sl_filters_free(&lists);
}

#define N_REFUSALS (sizeof(refusals) / sizeof(refusals[0]))

int main(void)
{
	static struct CMUnitTest tests[N_REFUSALS + 3];
	size_t n = 0;

	for (; n < N_REFUSALS; n++)
		tests[n] = (struct CMUnitTest){ .name = refusals[n].name,
						.test_func = mistake_is_refused,
						.initial_state = (void *)&refusals[n] };
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(all_keys_are_read);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(policers_are_read);
	tests[n++] = (struct CMUnitTest)cmocka_unit_test(list_is_written_as_its_json);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
