/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdbool.h>
#include <sys/socket.h>

#include "netns-lab/classify/rule_print.h"

static const char *const flag_names[] = { "fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr" };

static uint32_t dscp_plus1(const struct sl_rule *rule)
{
	return rule->action >> SL_RULE_DSCP_SHIFT & 0xff;
}

static void print_ranges(FILE *out, const struct sl_ranges *ranges)
{
	for (uint32_t i = 0; i < ranges->n; i++) {
		fprintf(out, "%s%u", i ? "," : "", ranges->range[i].low);
		if (ranges->range[i].high > ranges->range[i].low)
			fprintf(out, "-%u", ranges->range[i].high);
	}
}

/* --- sluice --- */

static const char *action_name(uint32_t action)
{
	static const char *const names[] = { [SL_FILTER_PERMIT] = "permit",
					     [SL_FILTER_DENY] = "deny",
					     [SL_FILTER_KERNEL] = "kernel" };

	return names[action & SL_RULE_ACTION_MASK];
}

static void print_field(FILE *out, const struct sl_rule *rule, enum sl_field field)
{
	static const char *const keys[SL_FIELD_COUNT] = {
		[SL_FIELD_PROTOCOL] = "protocol",
		[SL_FIELD_ICMP_TYPE] = "icmp_type",
		[SL_FIELD_ICMP_CODE] = "icmp_code",
		[SL_FIELD_DESTINATION_PORT] = "destination_port",
		[SL_FIELD_SOURCE_PORT] = "source_port",
		[SL_FIELD_FRAGMENT] = "fragment",
		[SL_FIELD_DSCP] = "dscp",
		[SL_FIELD_LENGTH] = "length",
		[SL_FIELD_FLOW_LABEL] = "flow_label",
	};
	static const char *const fragments[] = { [SL_FRAGMENT_NONE] = "none",
						 [SL_FRAGMENT_FIRST] = "first",
						 [SL_FRAGMENT_LATER] = "later" };

	if (!rule->field[field].n)
		return;
	fprintf(out, ", %s: '", keys[field]);
	if (field == SL_FIELD_FRAGMENT)
		fputs(fragments[rule->field[field].range[0].low], out);
	else
		print_ranges(out, &rule->field[field]);
	fputc('\'', out);
}

void lab_rules_print_sluice(FILE *out, const struct sl_rule *rules, uint32_t n, const char *port,
			    uint32_t default_action)
{
	static const char *const keys[SL_SIDES] = {
		[SL_SIDE_SOURCE] = "source", [SL_SIDE_DESTINATION] = "destination"
	};
	char text[SL_PREFIX_STRLEN];

	fprintf(out, "- name: rules\n  ports: [{name: %s}]\n  default: %s\n  rules:\n", port,
		action_name(default_action));
	for (uint32_t i = 0; i < n; i++) {
		const struct sl_rule *rule = &rules[i];
		uint8_t mask = rule->flags_mask;

		fprintf(out, "  - {action: %s", action_name(rule->action));
		for (unsigned int side = 0; side < SL_SIDES; side++)
			if (rule->prefix[side].family)
				fprintf(out, ", %s: '%s'", keys[side],
					sl_prefix_format(&rule->prefix[side], text));
		for (enum sl_field field = 0; field < SL_FIELD_COUNT; field++)
			print_field(out, rule, field);
		if (mask)
			fputs(", tcp_flags: '", out);
		for (unsigned int bit = 0; mask; bit++, mask >>= 1)
			if (mask & 1)
				fprintf(out, "%s%s%s", rule->flags & 1u << bit ? "" : "!",
					flag_names[bit], mask > 1 ? "," : "'");
		if (dscp_plus1(rule))
			fprintf(out, ", set_dscp: '%u'", dscp_plus1(rule) - 1);
		fputs("}\n", out);
	}
}

/* --- nft --- */

static void print_match(FILE *out, const char *what, const struct sl_ranges *ranges)
{
	if (!ranges->n)
		return;
	fprintf(out, " %s { ", what);
	print_ranges(out, ranges);
	fputs(" }", out);
}

static void print_fragment(FILE *out, uint8_t family, uint32_t kind)
{
	static const char *const ip4[] = {
		[SL_FRAGMENT_NONE] = "ip frag-off & 0x3fff == 0",
		[SL_FRAGMENT_FIRST] = "ip frag-off & 0x3fff == 0x2000",
		[SL_FRAGMENT_LATER] = "ip frag-off & 0x1fff != 0",
	};
	static const char *const ip6[] = {
		[SL_FRAGMENT_NONE] = "exthdr frag missing",
		[SL_FRAGMENT_FIRST] = "frag frag-off 0 frag more-fragments 1",
		[SL_FRAGMENT_LATER] = "frag frag-off != 0",
	};

	fprintf(out, " %s", family == AF_INET ? ip4[kind] : ip6[kind]);
}

static void print_nft_rule(FILE *out, const struct sl_rule *rule, uint8_t family)
{
	static const char *const sides[SL_SIDES] = {
		[SL_SIDE_SOURCE] = "saddr", [SL_SIDE_DESTINATION] = "daddr"
	};
	const char *ip = family == AF_INET ? "ip" : "ip6";
	const struct sl_ranges *fragment = &rule->field[SL_FIELD_FRAGMENT];
	char what[16], text[SL_PREFIX_STRLEN];

	fputs("\t\t", out);
	for (unsigned int side = 0; side < SL_SIDES; side++)
		if (rule->prefix[side].len)
			fprintf(out, " %s %s %s", ip, sides[side],
				sl_prefix_format(&rule->prefix[side], text));
	print_match(out, "meta l4proto", &rule->field[SL_FIELD_PROTOCOL]);
	print_match(out, "@th,0,8", &rule->field[SL_FIELD_ICMP_TYPE]);
	print_match(out, "@th,8,8", &rule->field[SL_FIELD_ICMP_CODE]);
	print_match(out, "th sport", &rule->field[SL_FIELD_SOURCE_PORT]);
	print_match(out, "th dport", &rule->field[SL_FIELD_DESTINATION_PORT]);
	if (rule->flags_mask)
		fprintf(out, " tcp flags & 0x%x == 0x%x", rule->flags_mask, rule->flags);
	if (fragment->n)
		print_fragment(out, family, fragment->range[0].low);
	snprintf(what, sizeof(what), "%s dscp", ip);
	print_match(out, what, &rule->field[SL_FIELD_DSCP]);
	print_match(out, "meta length", &rule->field[SL_FIELD_LENGTH]);
	print_match(out, "ip6 flowlabel", &rule->field[SL_FIELD_FLOW_LABEL]);
	if (dscp_plus1(rule))
		fprintf(out, " %s dscp set %u", ip, dscp_plus1(rule) - 1);
	fprintf(out, " %s\n",
		(rule->action & SL_RULE_ACTION_MASK) == SL_FILTER_DENY ? "drop" : "accept");
}

static bool asks_for_l4(const struct sl_rule *rule)
{
	static const enum sl_field l4[] = { SL_FIELD_ICMP_TYPE, SL_FIELD_ICMP_CODE,
					    SL_FIELD_SOURCE_PORT, SL_FIELD_DESTINATION_PORT };
	bool asks = rule->flags_mask;

	for (size_t i = 0; i < sizeof(l4) / sizeof(l4[0]); i++)
		asks = asks || rule->field[l4[i]].n;
	return asks;
}

/*
 * The kernel's quick way to read a port (nft_payload_fast_eval, Linux 6.18) reads one from a later
 * fragment, too, which has none. So such packets get a chain of the rules that ask for no ports.
 */
void lab_rules_print_nft(FILE *out, const struct sl_rule *rules, uint32_t n, uint8_t family,
			 uint32_t default_action)
{
	fprintf(out, "table %s rules {\n\tchain later {\n", family == AF_INET ? "ip" : "ip6");
	for (uint32_t i = 0; i < n; i++)
		if (!asks_for_l4(&rules[i]))
			print_nft_rule(out, &rules[i], family);
	fprintf(out,
		"\t}\n\tchain forward {\n"
		"\t\ttype filter hook forward priority 0; policy %s;\n\t\t",
		default_action == SL_FILTER_DENY ? "drop" : "accept");
	print_fragment(out, family, SL_FRAGMENT_LATER);
	fputs(" goto later\n", out);
	for (uint32_t i = 0; i < n; i++)
		print_nft_rule(out, &rules[i], family);
	fputs("\t}\n}\n", out);
}

/* --- Exact flows --- */

/* The five values of a flow, with these texts between them. */
static void print_flow(FILE *out, const struct sl_rule *rule, const char *const before[5])
{
	static const enum sl_field fields[] = { SL_FIELD_PROTOCOL, SL_FIELD_SOURCE_PORT,
						SL_FIELD_DESTINATION_PORT };
	char text[SL_PREFIX_STRLEN];

	for (unsigned int side = 0; side < SL_SIDES; side++) {
		sl_addr_format(rule->prefix[side].family, rule->prefix[side].addr, text);
		fprintf(out, "%s%s", before[side], text);
	}
	for (unsigned int i = 0; i < 3; i++)
		fprintf(out, "%s%u", before[SL_SIDES + i], rule->field[fields[i]].range[0].low);
}

void lab_rules_print_flows(FILE *out, const struct sl_rule *rules, uint32_t n)
{
	static const char *const keys[] = { "source=", " destination=", " protocol=",
					    " source_port=", " destination_port=" };

	for (uint32_t i = 0; i < n; i++) {
		print_flow(out, &rules[i], keys);
		fprintf(out, " action=%s", action_name(rules[i].action));
		if (dscp_plus1(&rules[i]))
			fprintf(out, " set_dscp=%u", dscp_plus1(&rules[i]) - 1);
		fputc('\n', out);
	}
}

void lab_rules_print_nft_map(FILE *out, const struct sl_rule *rules, uint32_t n, uint8_t family)
{
	static const char *const dots[] = { "\t\t\t", " . ", " . ", " . ", " . " };
	const char *ip = family == AF_INET ? "ip" : "ip6";
	const char *addr = family == AF_INET ? "ipv4_addr" : "ipv6_addr";

	fprintf(out, "table %s rules {\n", ip);
	for (uint32_t dscp = 0; dscp < 64; dscp++)
		fprintf(out, "\tchain dscp%u { %s dscp set %u accept; }\n", dscp, ip, dscp);
	fprintf(out,
		"\tmap flows {\n\t\ttype %s . %s . inet_proto . inet_service . inet_service : "
		"verdict\n\t\telements = {\n",
		addr, addr);
	for (uint32_t i = 0; i < n; i++) {
		print_flow(out, &rules[i], dots);
		if (dscp_plus1(&rules[i]))
			fprintf(out, " : goto dscp%u,\n", dscp_plus1(&rules[i]) - 1);
		else
			fprintf(out, " : %s,\n",
				(rules[i].action & SL_RULE_ACTION_MASK) == SL_FILTER_DENY
					? "drop"
					: "accept");
	}
	fputs("\t\t}\n\t}\n\tchain forward {\n"
	      "\t\ttype filter hook forward priority 0; policy accept;\n\t\t",
	      out);
	/* see lab_rules_print_nft */
	print_fragment(out, family, SL_FRAGMENT_LATER);
	fprintf(out,
		" accept\n\t\t%s saddr . %s daddr . meta l4proto . th sport . th dport vmap "
		"@flows\n\t}\n}\n",
		ip, ip);
}
