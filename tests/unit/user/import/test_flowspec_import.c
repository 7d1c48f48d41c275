/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flow specifications, as BIRD 2.0.12 printed them, as rules. What the rules match is compared with
 * a reading of each specification term by term, as RFC 8955 4.2 words it, on random packets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "user/config/config_filter.h"
#include "user/import/flowspec_import.h"

static const struct sl_flowspec_redirect redirects[] = { { 65000, 77, 177 } };

static int import(const char *answers, json_t **rules, json_t **refused)
{
	return sl_flowspec_import(answers, redirects, 1, rules, refused);
}

/* The rules without their names, in one line. */
static char *text_of(json_t *rules)
{
	json_t *rule;
	size_t i;

	json_array_foreach(rules, i, rule)
		json_object_del(rule, "name");
	return json_dumps(rules, JSON_COMPACT | JSON_SORT_KEYS);
}

static const struct {
	const char *name, *answer, *rules;
} said[] = {
	{ "discard",
	  "1007-Table ft4:\n flow4 { dst 10.0.0.0/8; proto 17; dport 53 || > 5 && < 10; "
	  "sport 10..20; }  [f4 15:26:11.084] * (200)\n1008-\tType: static univ\n"
	  "1012-\tBGP.ext_community: (generic, 0x80060000, 0x0)\n0000 \n",
	  "[{\"action\":\"deny\",\"destination\":\"10.0.0.0/8\",\"destination_port\":\"6-9,53\","
	  "\"family\":\"ipv4\",\"protocol\":\"17\",\"source_port\":\"10-20\"}]" },
	{ "police_and_mark",
	  "1007-flow4 { src 10.1.0.0/16; }  [f4 15:26:11.084] * (200)\n"
	  "1012-\tBGP.ext_community: (rt, 65000, 1) (generic, 0x8006fde8, 0x47c35000)\n"
	  " \t\t(generic, 0x80090000, 0x2e)\n",
	  /* 0x47c35000 is 100,000 in IEEE 754 */
	  "[{\"action\":\"permit\",\"family\":\"ipv4\",\"police_rate\":\"800000bit\","
	  "\"set_dscp\":\"46\",\"source\":\"10.1.0.0/16\"}]" },
	{ "redirect_to_a_table",
	  "1007-flow6 { dst 2001:db8::/32; next header 58; icmp type 128; dscp 10; label 5; }  [f6] "
	  "* (200)\n1012-\tBGP.ext_community: (generic, 0x8008fde8, 0x4d)\n",
	  "[{\"action\":\"permit\",\"destination\":\"2001:db8::/32\",\"dscp\":\"10\",\"family\":"
	  "\"ipv6\",\"flow_label\":\"5\",\"icmp_type\":\"128\",\"protocol\":\"58\",\"table\":"
	  "\"177\"}]" },
	{ "redirect_to_an_address",
	  "1007-flow4 { proto 6; dport 5; }  [f4] * (200)\n1012-\tBGP.next_hop: 10.0.0.9\n"
	  " \tBGP.ext_community: (unknown 0x10c, 10.0.0.1, 0)\n",
	  "[{\"action\":\"permit\",\"destination_port\":\"5\",\"family\":\"ipv4\",\"next_hop\":"
	  "\"10.0.0.1\",\"protocol\":\"6\"}]" },
	{ "port_of_either_side", "1007-flow4 { port 80,8080; sport >= 1024; }  [f4] * (200)\n",
	  "[{\"action\":\"permit\",\"family\":\"ipv4\",\"protocol\":\"6,17\",\"source_port\":"
	  "\"8080\"},{\"action\":\"permit\",\"destination_port\":\"80,8080\",\"family\":\"ipv4\","
	  "\"protocol\":\"6,17\",\"source_port\":\"1024-65535\"}]" },
	{ "flags", "1007-flow4 { tcp flags 0x2/0x2 && 0x0/0x10 || 0x4/0x4; }  [f4] * (200)\n",
	  "[{\"action\":\"permit\",\"family\":\"ipv4\",\"protocol\":\"6\",\"tcp_flags\":\"syn,!ack\"},"
	  "{\"action\":\"permit\",\"family\":\"ipv4\",\"protocol\":\"6\",\"tcp_flags\":\"rst\"}]" },
	{ "fragments", "1007-flow4 { fragment is_fragment || first_fragment; }  [f4] * (200)\n",
	  "[{\"action\":\"permit\",\"family\":\"ipv4\",\"fragment\":\"first,later\"}]" },
	{ "no_fragment",
	  "1007-flow4 { src 10.1.0.0/16; icmp type 8; icmp code != 0; fragment "
	  "!is_fragment && !first_fragment; }  [f4] * (200)\n",
	  "[{\"action\":\"permit\",\"family\":\"ipv4\",\"fragment\":\"none\",\"icmp_code\":"
	  "\"1-255\",\"icmp_type\":\"8\",\"protocol\":\"1\",\"source\":\"10.1.0.0/16\"}]" },
	{ "rate_that_nothing_reaches",
	  "1007-flow4 { proto 17; }  [f4] * (200)\n"
	  "1012-\tBGP.ext_community: (generic, 0x80060000, 0x7149f2ca)\n",
	  "[{\"action\":\"permit\",\"family\":\"ipv4\",\"protocol\":\"17\"}]" },
	{ "negative_rate_discards",
	  "1007-flow4 { proto 17; }  [f4] * (200)\n"
	  "1012-\tBGP.ext_community: (generic, 0x80060000, 0xc7c35000)\n",
	  "[{\"action\":\"deny\",\"family\":\"ipv4\",\"protocol\":\"17\"}]" },
	{ "another_route_has_its_own_actions",
	  "1007-flow4 { proto 17; }  [f4] * (200)\n"
	  "1012-\tBGP.ext_community: (generic, 0x80060000, 0x0)\n"
	  "1007-flow4 { proto 47; }  [f4] * (200)\n1008-\tType: static univ\n",
	  "[{\"action\":\"deny\",\"family\":\"ipv4\",\"protocol\":\"17\"},{\"action\":\"permit\","
	  "\"family\":\"ipv4\",\"protocol\":\"47\"}]" },
};

static void flow_specifications_become_rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		json_t *rules, *refused;
		char *text;

		print_message("%s\n", said[i].name);
		assert_int_equal(import(said[i].answer, &rules, &refused), 0);
		assert_int_equal(json_array_size(refused), 0);
		text = text_of(rules);
		assert_string_equal(text, said[i].rules);
		free(text);
		json_decref(rules);
		json_decref(refused);
	}
}

#define FLOW(what)	"1007-flow4 { " what " }  [f4] * (200)\n"
#define WITH(community) FLOW("proto 17;") "1012-\tBGP.ext_community: " community "\n"
#define DID(why)	"flow4 { proto 17; }: " why

static const struct {
	const char *name, *answer, *refused;
} not_said[] = {
	{ "dont_fragment", FLOW("fragment dont_fragment;"),
	  "flow4 { fragment dont_fragment; }: it asks for the flag DF, which rules do not know" },
	{ "last_fragment", FLOW("fragment last_fragment;"),
	  "flow4 { fragment last_fragment; }: it tells the last fragment from others, which rules do "
	  "not" },
	{ "no_packet", FLOW("proto > 5 && < 5;"),
	  "flow4 { proto > 5 && < 5; }: it matches no packet" },
	{ "ports_of_another_protocol", FLOW("proto 47; dport 80;"),
	  "flow4 { proto 47; dport 80; }: it matches no packet" },
	{ "asks_for_nothing", "1007-flow4 { }  [f4] * (200)\n", "flow4 { }: it asks for nothing" },
	{ "cut_short", "1007-flow4 { proto 17; dport 1,30,5 ...}  [f4] * (200)\n",
	  "flow4 { proto 17; dport 1,30,5 ...}: BIRD shows only its beginning" },
	{ "offset", "1007-flow6 { dst ::1/128 offset 64; }  [f6] * (200)\n",
	  "flow6 { dst ::1/128 offset 64; }: a prefix with an offset, which rules do not know" },
	{ "not_valid", "1007-flow4 { proto 17; } unreachable [b1] * (100)\n",
	  DID("no unicast route allows it (RFC 8955 section 6)") },
	{ "rate_of_packets", WITH("(generic, 0x800c0000, 0x47c35000)"),
	  DID("a rate of packets, which rules do not know") },
	{ "two_rates", WITH("(generic, 0x80060000, 0x0) (generic, 0x80060001, 0x47c35000)"),
	  DID("two rates") },
	{ "no_rate", WITH("(generic, 0x80060000, 0x7fc00000)"), DID("a rate without an end") },
	{ "slow", WITH("(generic, 0x80060000, 0x3f000000)"),
	  DID("a rate of less than a byte a second") },
	{ "goes_on", WITH("(generic, 0x80070000, 0x1)"),
	  DID("traffic-action that goes on with the next ones") },
	{ "sample", WITH("(generic, 0x80070000, 0x2)"), DID("traffic-action sample") },
	{ "unknown_target", WITH("(generic, 0x8008fde8, 0x4e)"),
	  DID("a redirect to 65000:78, for which no table is named") },
	{ "unknown_action", WITH("(generic, 0x80420000, 0x4e)"),
	  DID("an action 0x8042 that is not known") },
	{ "police_of_two_rules",
	  FLOW("port 80;") "1012-\tBGP.ext_community: (generic, 0x80060000, 0x47c35000)\n",
	  "flow4 { port 80; }: a rate for what takes 2 rules, with a bucket each" },
	{ "too_many_ranges", FLOW("dport 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31,33;"),
	  "flow4 { dport 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31,33; }: more than 16 ranges of "
	  "destination_port" },
};

static void what_rules_cannot_say_is_named_and_has_no_rule(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(not_said) / sizeof(not_said[0]); i++) {
		json_t *rules, *refused;

		print_message("%s\n", not_said[i].name);
		assert_int_equal(import(not_said[i].answer, &rules, &refused), 0);
		assert_int_equal(json_array_size(rules), 0);
		assert_int_equal(json_array_size(refused), 1);
		assert_string_equal(json_string_value(json_array_get(refused, 0)),
				    not_said[i].refused);
		json_decref(rules);
		json_decref(refused);
	}
}

/* --- Order --- */

/* RFC 8955 5.1: the first of each two has precedence. */
static const struct {
	const char *why, *first, *second;
} orders[] = {
	{ "lower_type", "dst 10.0.0.0/8;", "src 10.0.0.0/8;" },
	{ "one_more_component", "dst 10.0.0.0/8; proto 6;", "dst 10.0.0.0/8;" },
	{ "lower_type_of_the_second", "dst 10.0.0.0/8; proto 6;", "dst 10.0.0.0/8; dport 1;" },
	{ "longer_prefix", "dst 10.1.0.0/16;", "dst 10.0.0.0/8;" },
	{ "longer_prefix_of_the_same_bits", "dst 10.0.0.0/16;", "dst 10.0.0.0/8;" },
	{ "lower_address", "dst 10.0.0.0/8;", "dst 11.0.0.0/16;" },
	{ "prefix_before_the_rest", "dst 10.0.0.0/16; dport 9;", "dst 10.0.0.0/8; proto 6;" },
	/* operator bytes: 0x81 is "= end", 0x82 "> end" */
	{ "lower_operator", "proto 9;", "proto > 5;" },
	{ "lower_value", "proto 6;", "proto 17;" },
	/* 0x01 06 81 11 before 0x81 06: a list that goes on has the lower operator */
	{ "longer_list", "proto 6,17;", "proto 6;" },
	/* 0x81 .. before 0x91 .. ..: a value of one byte has the lower operator */
	{ "shorter_value", "dport 255;", "dport 256;" },
	{ "and_after_or", "dport 5 || 7;", "dport > 5 && < 7;" },
	{ "bitmask_not", "tcp flags 0x2/0x2;", "tcp flags !0x2/0x2;" },
};

static void the_first_rule_is_that_of_rfc_8955(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		char first[128], second[128];
		const char *at_first = first, *at_second = second;
		static struct sl_flowspec a, b;

		print_message("%s\n", orders[i].why);
		snprintf(first, sizeof(first), FLOW("%s"), orders[i].first);
		snprintf(second, sizeof(second), FLOW("%s"), orders[i].second);
		assert_true(sl_flowspec_next(&at_first, &a));
		assert_true(sl_flowspec_next(&at_second, &b));
		assert_true(sl_flowspec_compare(&a, &b) < 0);
		assert_true(sl_flowspec_compare(&b, &a) > 0);
		assert_int_equal(sl_flowspec_compare(&a, &a), 0);
	}
}

static void rules_stand_in_the_order_of_their_precedence(void **state)
{
	json_t *rules, *refused;

	(void)state;
	assert_int_equal(import(FLOW("src 10.0.0.0/8;") FLOW("dst 10.0.0.0/8;")
					FLOW("dst 10.2.0.0/16;") FLOW("dst 10.1.0.0/16; proto 6;")
						FLOW("dst 10.1.0.0/16;"),
				&rules, &refused),
			 0);
	static const char *const want[] = { "10.1.0.0/16", "10.1.0.0/16", "10.2.0.0/16",
					    "10.0.0.0/8" };
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(
			json_string_value(json_object_get(json_array_get(rules, i), "destination")),
			want[i]);
	assert_non_null(json_object_get(json_array_get(rules, 0), "protocol"));
	assert_null(json_object_get(json_array_get(rules, 1), "protocol"));
	assert_non_null(json_object_get(json_array_get(rules, 4), "source"));
	json_decref(rules);
	json_decref(refused);
}

/* --- What rules match --- */

struct packet {
	uint32_t protocol, source_port, destination_port, type, code, flags, length, dscp, kind;
	bool df;
};

/* One term of a number, as RFC 8955 4.2.1.1 has it. */
static bool number_is(const struct sl_flowspec_term *t, uint32_t value)
{
	return (t->op & SL_FLOWSPEC_LESS && value < t->value) ||
	       (t->op & SL_FLOWSPEC_GREATER && value > t->value) ||
	       (t->op & SL_FLOWSPEC_EQUAL && value == t->value);
}

/* One term of a bitmask, 4.2.1.2. */
static bool bits_are(const struct sl_flowspec_term *t, uint32_t value)
{
	const bool is =
		t->op & SL_FLOWSPEC_MATCH ? (value & t->value) == t->value : (value & t->value) > 0;

	return t->op & SL_FLOWSPEC_NOT ? !is : is;
}

/* Terms from left to right, "and" before "or". */
static bool component_is(const struct sl_flowspec *spec, enum sl_flowspec_type type, uint32_t value)
{
	const struct sl_flowspec_component *c = &spec->component[type];
	bool any = false, all = false;

	for (uint32_t i = 0; i < c->n; i++) {
		const struct sl_flowspec_term *t = &spec->term[c->first + i];
		const bool is = type == SL_FLOWSPEC_TCP_FLAGS || type == SL_FLOWSPEC_FRAGMENT
					? bits_are(t, value)
					: number_is(t, value);

		if (t->op & SL_FLOWSPEC_AND) {
			all = all && is;
		} else {
			any = any || all;
			all = is;
		}
	}
	return any || all;
}

static bool specification_is(const struct sl_flowspec *spec, const struct packet *p)
{
	static const uint32_t kinds[] = { 0, SL_FLOWSPEC_FIRST, SL_FLOWSPEC_IS_FRAGMENT };
	const bool later = p->kind == SL_FRAGMENT_LATER;
	const bool ports = !later && (p->protocol == 6 || p->protocol == 17);
	const struct {
		enum sl_flowspec_type type;
		bool has;
		uint32_t value;
	} asked[] = {
		{ SL_FLOWSPEC_PROTOCOL, true, p->protocol },
		{ SL_FLOWSPEC_DESTINATION_PORT, ports, p->destination_port },
		{ SL_FLOWSPEC_SOURCE_PORT, ports, p->source_port },
		{ SL_FLOWSPEC_ICMP_TYPE, !later && p->protocol == 1, p->type },
		{ SL_FLOWSPEC_ICMP_CODE, !later && p->protocol == 1, p->code },
		{ SL_FLOWSPEC_TCP_FLAGS, !later && p->protocol == 6, p->flags },
		{ SL_FLOWSPEC_LENGTH, true, p->length },
		{ SL_FLOWSPEC_DSCP, true, p->dscp },
		{ SL_FLOWSPEC_FRAGMENT, true,
		  kinds[p->kind] | (p->df ? SL_FLOWSPEC_DONT_FRAGMENT : 0) },
	};

	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
		if (spec->component[asked[i].type].is_there &&
		    (!asked[i].has || !component_is(spec, asked[i].type, asked[i].value)))
			return false;
	return !spec->component[SL_FLOWSPEC_PORT].is_there ||
	       (ports && (component_is(spec, SL_FLOWSPEC_PORT, p->source_port) ||
			  component_is(spec, SL_FLOWSPEC_PORT, p->destination_port)));
}

static uint64_t seed;
static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(seed >> 33) % below;
}

#define ANSWER_BYTES 1024
static void __attribute__((format(printf, 2, 3))) append(char *answer, const char *format, ...)
{
	const size_t used = strlen(answer);
	va_list args;

	va_start(args, format);
	vsnprintf(answer + used, ANSWER_BYTES - used, format, args);
	va_end(args);
}

/* A small number near those that packets have, so that terms tell packets apart. */
static void put_number(char *answer, uint32_t max)
{
	static const char *const operators[] = { "", "> ", "< ", ">= ", "<= ", "!= " };

	if (draw(5) == 0) {
		const uint32_t low = draw(max + 1);

		append(answer, "%u..%u", low, low + draw(max + 1 - low));
		return;
	}
	append(answer, "%s%u", operators[draw(6)], draw(max + 1));
}

static void put_bits(char *answer, bool fragment)
{
	static const char *const kinds[] = { "is_fragment", "first_fragment" };
	const uint32_t mask = 1 + draw(31);

	if (fragment)
		append(answer, "%s%s", draw(2) ? "!" : "", kinds[draw(2)]);
	else
		append(answer, "%s0x%x/0x%x", draw(2) ? "!" : "", draw(2) ? mask : 0, mask);
}

static void random_specification(char *answer)
{
	static const struct {
		const char *word;
		uint32_t max;
	} parts[] = {
		{ "proto", 18 },    { "port", 8 },	{ "dport", 8 },	    { "sport", 8 },
		{ "icmp type", 4 }, { "icmp code", 4 }, { "tcp flags", 0 }, { "length", 8 },
		{ "dscp", 63 },	    { "fragment", 1 },
	};

	*answer = '\0';
	append(answer, "1007-flow4 { ");
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (draw(4))
			continue;
		append(answer, "%s ", parts[i].word);
		for (uint32_t n = 1 + draw(3); n > 0; n--) {
			if (parts[i].max > 1)
				put_number(answer, parts[i].max);
			else
				put_bits(answer, parts[i].max);
			if (n > 1)
				append(answer, "%s", draw(2) ? " && " : " || ");
		}
		append(answer, "; ");
	}
	append(answer, "}  [f4] * (200)\n");
}

static struct packet random_packet(void)
{
	static const uint32_t protocols[] = { 1, 6, 17, 2 };

	return (struct packet){ protocols[draw(4)], draw(9), draw(9),  draw(5), draw(5),
				draw(32),	    draw(9), draw(64), draw(3), draw(2) };
}

/* The packet as the classifier sees it: what it does not have is absent. */
static struct sl_flow flow_of(const struct packet *p)
{
	struct sl_flow flow = { .field = { [SL_FIELD_PROTOCOL] = p->protocol } };
	const bool later = p->kind == SL_FRAGMENT_LATER;

	for (enum sl_field field = SL_FIELD_TCP_FLAGS; field < SL_FIELD_COUNT; field++)
		flow.field[field] = sl_field_values(field);
	flow.field[SL_FIELD_LENGTH] = p->length;
	flow.field[SL_FIELD_DSCP] = p->dscp;
	flow.field[SL_FIELD_FRAGMENT] = p->kind;
	if (!later && (p->protocol == 6 || p->protocol == 17)) {
		flow.field[SL_FIELD_SOURCE_PORT] = p->source_port;
		flow.field[SL_FIELD_DESTINATION_PORT] = p->destination_port;
	}
	if (!later && p->protocol == 6)
		flow.field[SL_FIELD_TCP_FLAGS] = p->flags;
	if (!later && p->protocol == 1) {
		flow.field[SL_FIELD_ICMP_TYPE] = p->type;
		flow.field[SL_FIELD_ICMP_CODE] = p->code;
	}
	return flow;
}

static void rules_match_what_the_terms_say(void **state)
{
	static struct sl_flowspec spec;
	uint32_t compared = 0, matched = 0, impossible = 0;

	(void)state;
	for (seed = 1; compared < 100000 && impossible < 20000;) {
		char answer[ANSWER_BYTES], error[SL_YAML_ERROR_BYTES];
		const char *at = answer;
		struct sl_yaml_list lists;
		json_t *rules, *refused, *root;
		char *text;

		random_specification(answer);
		if (!strchr(answer, ';'))
			continue; /* it asks for nothing */
		assert_true(sl_flowspec_next(&at, &spec));
		assert_string_equal(spec.why, "");
		assert_int_equal(import(answer, &rules, &refused), 0);
		if (json_array_size(refused)) {
			/* Only these two reasons can come. */
			text = json_dumps(refused, 0);
			assert_true(strstr(text, "matches no packet") ||
				    strstr(text, "more than 16"));
			for (uint32_t i = 0; i < 50 && strstr(text, "matches no packet"); i++) {
				struct packet p = random_packet();

				if (specification_is(&spec, &p))
					fail_msg("%s: %s: protocol %u ports %u %u flags %u kind %u",
						 answer, text, p.protocol, p.source_port,
						 p.destination_port, p.flags, p.kind);
			}
			free(text);
			json_decref(rules);
			json_decref(refused);
			impossible++;
			continue;
		}
		root = json_pack("{s:[{s:s, s:O}]}", "filters", "name", "f", "rules", rules);
		text = json_dumps(root, 0);
		if (sl_filters_parse("t", text, strlen(text), &lists, error) ||
		    sl_filters_settings_check(&lists, "t", error))
			fail_msg("%s: %s", answer, error);
		for (uint32_t i = 0; i < 100; i++, compared++) {
			const struct sl_filter_list_settings *list = sl_filter_list(&lists, 0);
			struct packet p = random_packet();
			const struct sl_flow flow = flow_of(&p);
			const bool want = specification_is(&spec, &p);

			matched += want;
			if (!!sl_rules_first(list->parsed, list->rules.n, AF_INET, &flow) != want)
				fail_msg("%s: %s: protocol %u ports %u %u flags %u kind %u", answer,
					 text, p.protocol, p.source_port, p.destination_port,
					 p.flags, p.kind);
		}
		sl_filters_free(&lists);
		free(text);
		json_decref(root);
		json_decref(rules);
		json_decref(refused);
	}
	print_message("%u packets, %u of them matched; %u specifications that match none\n",
		      compared, matched, impossible);
	assert_true(matched > compared / 20 && compared >= 100000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flow_specifications_become_rules),
		cmocka_unit_test(what_rules_cannot_say_is_named_and_has_no_rule),
		cmocka_unit_test(the_first_rule_is_that_of_rfc_8955),
		cmocka_unit_test(rules_stand_in_the_order_of_their_precedence),
		cmocka_unit_test(rules_match_what_the_terms_say),
	};

	return cmocka_run_group_tests_name("flowspec_import", tests, NULL, NULL);
}
