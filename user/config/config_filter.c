/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "bpf/abi/reserved.h"
#include "bpf/abi/voq.h"
#include "user/classify/flow_rule.h"
#include "user/classify/rule_text.h"
#include "user/config/config_cluster_schema.h"
#include "user/config/config_filter.h"
#include "user/text/duration.h"

#define NAME_MAX_BYTES 64
#define PORTS_MAX      256

/* Of what a rule reserves for its flows */
#define IDLE_DEFAULT_S 30
#define FLOWS_DEFAULT  64
#define NS_A_SECOND    1000000000ULL

const char *const sl_filter_field_names[SL_FIELD_COUNT] = {
	[SL_FIELD_PROTOCOL] = "protocol",
	[SL_FIELD_TCP_FLAGS] = "tcp_flags",
	[SL_FIELD_ICMP_TYPE] = "icmp_type",
	[SL_FIELD_ICMP_CODE] = "icmp_code",
	[SL_FIELD_DESTINATION_PORT] = "destination_port",
	[SL_FIELD_SOURCE_PORT] = "source_port",
	[SL_FIELD_FRAGMENT] = "fragment",
	[SL_FIELD_DSCP] = "dscp",
	[SL_FIELD_LENGTH] = "length",
	[SL_FIELD_FLOW_LABEL] = "flow_label",
};

const char *const sl_police_key_names[SL_POLICE_KEYS] = {
	[SL_POLICE_RATE] = "police_rate",
	[SL_POLICE_BURST] = "police_burst",
	[SL_POLICE_EXCESS_BURST] = "police_excess_burst",
	[SL_POLICE_PEAK_RATE] = "police_peak_rate",
	[SL_POLICE_PEAK_BURST] = "police_peak_burst",
	[SL_POLICE_EXCEED_DSCP] = "police_exceed_dscp",
};

const char *const sl_reserve_key_names[SL_RESERVE_KEYS] = {
	[SL_RESERVE_RATE] = "reserve_rate",
	[SL_RESERVE_IDLE] = "reserve_idle",
	[SL_RESERVE_FLOWS] = "reserve_flows",
};

static const struct sl_yaml_choice actions[] = {
	{ "permit", SL_FILTER_PERMIT },
	{ "deny", SL_FILTER_DENY },
	{ "kernel", SL_FILTER_KERNEL },
	{ "reject", SL_FILTER_REJECT },
	{ "reset", SL_FILTER_RESET },
	{ "count", SL_FILTER_COUNT },
	{ NULL, 0 },
};

/* Of packets that no rule decides. */
static const struct sl_yaml_choice default_actions[] = {
	{ "permit", SL_FILTER_PERMIT },
	{ "deny", SL_FILTER_DENY },
	{ "kernel", SL_FILTER_KERNEL },
	{ "reject", SL_FILTER_REJECT },
	{ NULL, 0 },
};

static const struct sl_yaml_choice families[] = {
	{ "ipv4", AF_INET },
	{ "ipv6", AF_INET6 },
	{ NULL, 0 },
};

const char *sl_filter_action_name(uint32_t action)
{
	for (const struct sl_yaml_choice *c = actions; c->name; c++)
		if ((uint32_t)c->value == (action & SL_RULE_ACTION_MASK))
			return c->name;
	return "?";
}

/* --- The schema --- */

static bool valid_name(const char *text)
{
	size_t n = strlen(text);

	return n > 0 && n < NAME_MAX_BYTES && !strpbrk(text, " \t\n\"\\");
}

static bool valid_chain(const char *text)
{
	size_t n = strlen(text);

	return n > 0 && n < SL_CHAIN_NAME_BYTES &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") ==
		       n;
}

static bool valid_prefix(const char *text)
{
	struct sl_prefix prefix;

	return !sl_prefix_parse(text, &prefix);
}

static bool valid_field(enum sl_field field, const char *text)
{
	struct sl_ranges ranges;

	return !sl_ranges_parse(field, text, &ranges);
}

#define VALID(name, field)                         \
	static bool valid_##name(const char *text) \
	{                                          \
		return valid_field(field, text);   \
	}
VALID(protocol, SL_FIELD_PROTOCOL)
VALID(port, SL_FIELD_DESTINATION_PORT)
VALID(icmp, SL_FIELD_ICMP_TYPE)
VALID(fragment, SL_FIELD_FRAGMENT)
VALID(dscps, SL_FIELD_DSCP)
VALID(length, SL_FIELD_LENGTH)
VALID(flow_label, SL_FIELD_FLOW_LABEL)

static bool valid_flags(const char *text)
{
	uint8_t flags, mask;

	return !sl_flags_parse(text, &flags, &mask);
}

static bool valid_dscp(const char *text)
{
	uint8_t dscp;

	return !sl_rule_dscp_parse(text, &dscp);
}

static bool valid_burst(const char *text)
{
	uint64_t bytes;

	return !sl_burst_parse(text, &bytes);
}

static bool valid_rate(const char *text)
{
	uint64_t rate_Bps;

	return !sl_police_rate_parse(text, &rate_Bps);
}

static bool valid_table(const char *text)
{
	uint32_t table;

	return !sl_table_parse(text, &table);
}

static bool valid_sample(const char *text)
{
	uint32_t packets;

	return !sl_sample_parse(text, &packets);
}

/* Whole seconds, 2 to 3,600: XDP may tell of a flow a second after it has ended. */
static bool valid_idle(const char *text)
{
	uint64_t ns;

	return !sl_duration_parse(text, &ns) && ns >= 2 * NS_A_SECOND && ns <= 3600 * NS_A_SECOND &&
	       ns % NS_A_SECOND == 0;
}

static bool read_flows(const char *text, uint32_t *out)
{
	return !sl_sample_parse(text, out) && *out <= SL_RESERVED_MAX;
}

static bool valid_flows(const char *text)
{
	uint32_t flows;

	return read_flows(text, &flows);
}

static bool valid_class(const char *text)
{
	return text[0] >= '0' && text[0] < '0' + SL_CLASSES && !text[1];
}

#define STRING(key, where, valid_, what_)                                                     \
	{                                                                                     \
		.name = (key), .type = SL_YAML_STRING,                                        \
		.offset = offsetof(struct sl_filter_rule_settings, where), .valid = (valid_), \
		.what = (what_)                                                               \
	}
#define PORTS_TEXT  "ports: write numbers and ranges, such as 80,443,8000-8080"
#define RATE_TEXT   "a rate: write bits a second, such as 10mbit"
#define BURST_TEXT  "a burst: write bytes, such as 64k, up to 4,294 million"
#define PREFIX_TEXT "a prefix: write an address, or one with /LENGTH and no bits set beyond it"

static const struct sl_yaml_key rule_keys[] = {
	{ .type = SL_YAML_LINE, .offset = offsetof(struct sl_filter_rule_settings, line) },
	{ .name = "action",
	  .type = SL_YAML_CHOICE,
	  .offset = offsetof(struct sl_filter_rule_settings, action),
	  .required = true,
	  .choices = actions,
	  .what = "an action" },
	{ .name = "family",
	  .type = SL_YAML_CHOICE,
	  .offset = offsetof(struct sl_filter_rule_settings, family),
	  .choices = families,
	  .what = "a family" },
	STRING("name", name, valid_name,
	       "a name: write at most 63 characters without blanks, quotes and backslashes"),
	STRING("source", prefix[SL_SIDE_SOURCE], valid_prefix, PREFIX_TEXT),
	STRING("destination", prefix[SL_SIDE_DESTINATION], valid_prefix, PREFIX_TEXT),
	STRING("protocol", field[SL_FIELD_PROTOCOL], valid_protocol,
	       "protocols: write names or numbers, such as tcp,udp or 47"),
	STRING("source_port", field[SL_FIELD_SOURCE_PORT], valid_port, PORTS_TEXT),
	STRING("destination_port", field[SL_FIELD_DESTINATION_PORT], valid_port, PORTS_TEXT),
	STRING("icmp_type", field[SL_FIELD_ICMP_TYPE], valid_icmp,
	       "ICMP types: write numbers and ranges, such as 3,11"),
	STRING("icmp_code", field[SL_FIELD_ICMP_CODE], valid_icmp,
	       "ICMP codes: write numbers and ranges, such as 0-3"),
	STRING("tcp_flags", field[SL_FIELD_TCP_FLAGS], valid_flags,
	       "TCP flags: write those that are set, and with ! those that are not, such as "
	       "syn,!ack"),
	STRING("dscp", field[SL_FIELD_DSCP], valid_dscps,
	       "DSCPs: write names or numbers, such as ef,af41 or 0-7"),
	STRING("length", field[SL_FIELD_LENGTH], valid_length,
	       "lengths of IP packets: write numbers and ranges, such as 0-128"),
	STRING("fragment", field[SL_FIELD_FRAGMENT], valid_fragment,
	       "kinds of fragments: write none, first or later, or several, such as first,later"),
	STRING("flow_label", field[SL_FIELD_FLOW_LABEL], valid_flow_label,
	       "IPv6 flow labels: write numbers and ranges up to 1048575"),
	STRING("class", class, valid_class, "a traffic class: write 0 to 3"),
	STRING("set_dscp", set_dscp, valid_dscp, "a DSCP: write a name or a number, such as ef"),
	STRING("next_hop", next_hop, sl_valid_host_address,
	       "an address: write the IPv4 or IPv6 address of a router, not a link-local one"),
	STRING("table", table, valid_table,
	       "a routing table of the kernel: write its number, 1 to 4294967295"),
	STRING("chain", chain, valid_chain,
	       "the name of a chain of elements: write at most 31 letters, digits, _ and ."),
	STRING("mirror", mirror, sl_valid_netdev,
	       "a netdev name: write 1 to 15 characters, as `ip link` shows them"),
	STRING("sample", sample, valid_sample,
	       "a number of packets, of which one is mirrored: write 1 to 9999999"),
	STRING("police_rate", police[SL_POLICE_RATE], valid_rate, RATE_TEXT),
	STRING("police_burst", police[SL_POLICE_BURST], valid_burst, BURST_TEXT),
	STRING("police_excess_burst", police[SL_POLICE_EXCESS_BURST], valid_burst, BURST_TEXT),
	STRING("police_peak_rate", police[SL_POLICE_PEAK_RATE], valid_rate, RATE_TEXT),
	STRING("police_peak_burst", police[SL_POLICE_PEAK_BURST], valid_burst, BURST_TEXT),
	STRING("police_exceed_dscp", police[SL_POLICE_EXCEED_DSCP], valid_dscp,
	       "a DSCP: write a name or a number, such as af12"),
	STRING("reserve_rate", reserve[SL_RESERVE_RATE], valid_rate, RATE_TEXT),
	STRING("reserve_idle", reserve[SL_RESERVE_IDLE], valid_idle,
	       "a time: write whole seconds, 2s to 3600s"),
	STRING("reserve_flows", reserve[SL_RESERVE_FLOWS], valid_flows,
	       "a number of flows: write 1 to 1024"),
	{ 0 },
};

static const struct sl_yaml_key port_keys[] = {
	{ .type = SL_YAML_LINE, .offset = offsetof(struct sl_filter_port_settings, line) },
	{ .name = "name",
	  .type = SL_YAML_STRING,
	  .offset = offsetof(struct sl_filter_port_settings, name),
	  .required = true,
	  .valid = sl_valid_netdev,
	  .what = "a netdev name: write 1 to 15 characters, as `ip link` shows them, such as "
		  "eth1 or eth1.100" },
	{ 0 },
};

const struct sl_yaml_key sl_filter_list_keys[] = {
	{ .type = SL_YAML_LINE, .offset = offsetof(struct sl_filter_list_settings, line) },
	{ .name = "name",
	  .type = SL_YAML_STRING,
	  .offset = offsetof(struct sl_filter_list_settings, name),
	  .required = true,
	  .valid = valid_name,
	  .what = "a name: write at most 63 characters without blanks, quotes and backslashes" },
	{ .name = "ports",
	  .type = SL_YAML_LIST,
	  .offset = offsetof(struct sl_filter_list_settings, ports),
	  .keys = port_keys,
	  .item_bytes = sizeof(struct sl_filter_port_settings),
	  .items_max = PORTS_MAX },
	{ .name = "flows",
	  .type = SL_YAML_BOOL,
	  .offset = offsetof(struct sl_filter_list_settings, for_flows),
	  .what = "a truth value" },
	{ .name = "default",
	  .type = SL_YAML_CHOICE,
	  .offset = offsetof(struct sl_filter_list_settings, default_action),
	  .choices = default_actions,
	  .what = "an action" },
	{ .name = "rules",
	  .type = SL_YAML_LIST,
	  .offset = offsetof(struct sl_filter_list_settings, rules),
	  .required = true,
	  .keys = rule_keys,
	  .item_bytes = sizeof(struct sl_filter_rule_settings),
	  .items_max = SL_RULES_MAX },
	{ 0 },
};

/* --- Lists --- */

const struct sl_filter_list_settings *sl_filter_list(const struct sl_yaml_list *lists, uint32_t i)
{
	return &((const struct sl_filter_list_settings *)lists->items)[i];
}

const struct sl_filter_rule_settings *sl_filter_rule(const struct sl_filter_list_settings *list,
						     uint32_t i)
{
	return &((const struct sl_filter_rule_settings *)list->rules.items)[i];
}

const char *sl_filter_port_name(const struct sl_filter_list_settings *list, uint32_t i)
{
	return ((const struct sl_filter_port_settings *)list->ports.items)[i].name;
}

const char *sl_filter_origin_name(enum sl_filter_origin origin)
{
	static const char *const names[] = { [SL_ORIGIN_FILE] = "file",
					     [SL_ORIGIN_CHANGED] = "changed",
					     [SL_ORIGIN_COMMAND] = "command" };

	return names[origin];
}

const struct sl_filter_list_settings *sl_filters_find(const struct sl_yaml_list *lists,
						      const char *name)
{
	for (uint32_t i = 0; i < lists->n; i++)
		if (!strcmp(sl_filter_list(lists, i)->name, name))
			return sl_filter_list(lists, i);
	return NULL;
}

/* --- Lists alone --- */

static const struct sl_yaml_key filters_keys[] = {
	{ .name = "filters",
	  .type = SL_YAML_LIST,
	  .required = true,
	  .keys = sl_filter_list_keys,
	  .item_bytes = sizeof(struct sl_filter_list_settings),
	  .items_max = SL_FILTER_LISTS },
	{ 0 },
};

int sl_filters_parse(const char *file_name, const char *text, size_t text_bytes,
		     struct sl_yaml_list *out, char error[SL_YAML_ERROR_BYTES])
{
	*out = (struct sl_yaml_list){ 0 };
	return sl_yaml_parse(file_name, text, text_bytes, filters_keys, out, error);
}

void sl_filter_list_free(struct sl_filter_list_settings *list)
{
	free(list->parsed);
	list->parsed = NULL;
	sl_yaml_free(sl_filter_list_keys, list);
}

void sl_filters_free(struct sl_yaml_list *lists)
{
	sl_filters_settings_free(lists);
	sl_yaml_free(filters_keys, lists);
}

static void set_text(json_t *object, const char *key, const char *value)
{
	if (value)
		json_object_set_new(object, key, json_string(value));
}

static json_t *rule_json(const struct sl_filter_rule_settings *rule)
{
	json_t *object = json_object();

	for (const struct sl_yaml_key *key = rule_keys; key->name || key->type == SL_YAML_LINE;
	     key++) {
		const char *field = (const char *)rule + key->offset;

		if (key->type == SL_YAML_STRING)
			set_text(object, key->name, *(char *const *)(const void *)field);
		for (const struct sl_yaml_choice *c = key->choices;
		     key->type == SL_YAML_CHOICE && c->name; c++)
			if (c->value == *(const int *)(const void *)field)
				set_text(object, key->name, c->name);
	}
	return object;
}

json_t *sl_filter_list_json(const struct sl_filter_list_settings *list)
{
	json_t *rules = json_array(), *ports = json_array(), *object;

	for (uint32_t i = 0; i < list->ports.n; i++)
		json_array_append_new(ports,
				      json_pack("{s:s}", "name", sl_filter_port_name(list, i)));
	for (uint32_t i = 0; i < list->rules.n; i++)
		json_array_append_new(rules, rule_json(sl_filter_rule(list, i)));
	object = json_pack("{s:s, s:o, s:s, s:o}", "name", list->name, "ports", ports, "default",
			   sl_filter_action_name((uint32_t)list->default_action), "rules", rules);
	if (list->for_flows)
		json_object_set_new(object, "flows", json_true());
	return object;
}

/* A text that stands in the file by itself is printable, but may have what JSON escapes. */
static void write_text(FILE *f, const char *before, const char *text)
{
	fputs_unlocked(before, f);
	putc_unlocked('"', f);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putc_unlocked('\\', f);
		if ((unsigned char)*text < ' ')
			fprintf(f, "\\u%04x", (unsigned int)(unsigned char)*text);
		else
			putc_unlocked(*text, f);
	}
	putc_unlocked('"', f);
}

static void write_key(FILE *f, bool *any, const char *key, const char *value)
{
	if (!value)
		return;
	write_text(f, *any ? ", " : "{", key);
	write_text(f, ": ", value);
	*any = true;
}

static void write_rule(FILE *f, const struct sl_filter_rule_settings *rule)
{
	bool any = false;

	for (const struct sl_yaml_key *key = rule_keys; key->name || key->type == SL_YAML_LINE;
	     key++) {
		const char *field = (const char *)rule + key->offset;

		if (key->type == SL_YAML_STRING)
			write_key(f, &any, key->name, *(char *const *)(const void *)field);
		for (const struct sl_yaml_choice *c = key->choices;
		     key->type == SL_YAML_CHOICE && c->name; c++)
			if (c->value == *(const int *)(const void *)field)
				write_key(f, &any, key->name, c->name);
	}
	putc_unlocked('}', f);
}

void sl_filter_list_write(FILE *f, const struct sl_filter_list_settings *list)
{
	write_text(f, "{\"name\": ", list->name);
	write_text(f, ", \"default\": ", sl_filter_action_name((uint32_t)list->default_action));
	if (list->for_flows)
		fputs(", \"flows\": true", f);
	fputs(", \"ports\": [", f);
	for (uint32_t i = 0; i < list->ports.n; i++) {
		write_text(f, i ? ", {\"name\": " : "{\"name\": ", sl_filter_port_name(list, i));
		putc_unlocked('}', f);
	}
	fputs("], \"rules\": [", f);
	for (uint32_t i = 0; i < list->rules.n; i++) {
		fputs_unlocked(i ? ",\n  " : "\n  ", f);
		write_rule(f, sl_filter_rule(list, i));
	}
	fputs("]}", f);
}

void sl_filters_settings_free(struct sl_yaml_list *lists)
{
	for (uint32_t i = 0; i < lists->n; i++) {
		struct sl_filter_list_settings *list =
			&((struct sl_filter_list_settings *)lists->items)[i];

		free(list->parsed);
		list->parsed = NULL;
	}
}

/* --- Checks --- */

struct checker {
	const char *file_name;
	char *error;
	char path[64];
};

static int __attribute__((format(printf, 4, 5)))
refuse(struct checker *c, uint32_t line, const char *value, const char *format, ...)
{
	char message[256];
	va_list args;

	va_start(args, format);
	vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	sl_yaml_error(c->error, c->file_name, line, c->path, value, "%s", message);
	return -EINVAL;
}

/* The values of the field that have ports or types at all; NULL: the rule may ask for any. */
static bool protocols_are(const struct sl_rule *rule, const uint32_t *allowed, size_t n)
{
	const struct sl_ranges *ranges = &rule->field[SL_FIELD_PROTOCOL];

	for (uint32_t i = 0; i < ranges->n; i++)
		for (uint32_t value = ranges->range[i].low; value <= ranges->range[i].high;
		     value++) {
			bool found = false;

			for (size_t j = 0; j < n && !found; j++)
				found = allowed[j] == value;
			if (!found)
				return false;
		}
	return ranges->n > 0;
}

static int check_protocol(struct checker *c, const struct sl_filter_rule_settings *s,
			  const struct sl_rule *rule)
{
	static const uint32_t with_ports[] = { 6, 17, 33, 132, 136 }, icmp[] = { 1, 58 };
	static const uint32_t tcp[] = { 6 };
	static const struct {
		enum sl_field field;
		const uint32_t *protocols;
		size_t n;
		const char *cure;
	} needs[] = {
		{ SL_FIELD_SOURCE_PORT, with_ports, 5, "tcp, udp, sctp, dccp or udplite" },
		{ SL_FIELD_DESTINATION_PORT, with_ports, 5, "tcp, udp, sctp, dccp or udplite" },
		{ SL_FIELD_ICMP_TYPE, icmp, 2, "icmp or icmpv6" },
		{ SL_FIELD_ICMP_CODE, icmp, 2, "icmp or icmpv6" },
		{ SL_FIELD_TCP_FLAGS, tcp, 1, "tcp" },
	};

	if (s->action == SL_FILTER_RESET && !protocols_are(rule, tcp, 1))
		return refuse(c, s->line, "reset",
			      "ends TCP connections: write protocol: tcp, or action: reject");
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
		if (s->field[needs[i].field] &&
		    !protocols_are(rule, needs[i].protocols, needs[i].n))
			return refuse(
				c, s->line, s->field[needs[i].field],
				"is a %s, which needs a protocol that has it: write protocol: %s",
				sl_filter_field_names[needs[i].field], needs[i].cure);
	return 0;
}

/* The keys of a policer that need another, and those that exclude each other. */
static int check_police(struct checker *c, const struct sl_filter_rule_settings *s)
{
	static const struct {
		enum sl_police_key key, needs;
	} needs[] = {
		{ SL_POLICE_BURST, SL_POLICE_RATE },
		{ SL_POLICE_EXCESS_BURST, SL_POLICE_RATE },
		{ SL_POLICE_PEAK_RATE, SL_POLICE_RATE },
		{ SL_POLICE_PEAK_BURST, SL_POLICE_PEAK_RATE },
		{ SL_POLICE_EXCEED_DSCP, SL_POLICE_RATE },
	};

	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
		if (s->police[needs[i].key] && !s->police[needs[i].needs])
			return refuse(c, s->line, s->police[needs[i].key],
				      "is a %s, which needs a rate: write %s, too",
				      sl_police_key_names[needs[i].key],
				      sl_police_key_names[needs[i].needs]);
	if (s->police[SL_POLICE_EXCESS_BURST] && s->police[SL_POLICE_PEAK_RATE])
		return refuse(
			c, s->line, s->police[SL_POLICE_PEAK_RATE],
			"is a police_peak_rate beside police_excess_burst: write one of them");
	if (s->police[SL_POLICE_RATE] && s->action != SL_FILTER_PERMIT)
		return refuse(c, s->line, s->police[SL_POLICE_RATE],
			      "polices packets that the fast path does not forward: write action: "
			      "permit");
	return 0;
}

static void parse_police(const struct sl_filter_rule_settings *s, struct sl_rule *rule)
{
	struct sl_police *police = &rule->police;
	uint8_t dscp;

	if (!s->police[SL_POLICE_RATE])
		return;
	rule->action |= SL_RULE_POLICE;
	sl_police_rate_parse(s->police[SL_POLICE_RATE], &police->rate_Bps);
	police->burst_bytes = sl_burst_default(police->rate_Bps);
	if (s->police[SL_POLICE_BURST])
		sl_burst_parse(s->police[SL_POLICE_BURST], &police->burst_bytes);
	if (s->police[SL_POLICE_EXCESS_BURST])
		sl_burst_parse(s->police[SL_POLICE_EXCESS_BURST], &police->excess_burst_bytes);
	if (s->police[SL_POLICE_PEAK_RATE]) {
		sl_police_rate_parse(s->police[SL_POLICE_PEAK_RATE], &police->peak_rate_Bps);
		police->peak_burst_bytes = sl_burst_default(police->peak_rate_Bps);
	}
	if (s->police[SL_POLICE_PEAK_BURST])
		sl_burst_parse(s->police[SL_POLICE_PEAK_BURST], &police->peak_burst_bytes);
	if (s->police[SL_POLICE_EXCEED_DSCP] &&
	    !sl_rule_dscp_parse(s->police[SL_POLICE_EXCEED_DSCP], &dscp))
		police->exceed_dscp_plus1 = (uint8_t)(dscp + 1);
}

/* What the rule reserves for each of its flows. */
static int parse_reserve(struct checker *c, const struct sl_filter_rule_settings *s,
			 struct sl_rule *rule)
{
	struct sl_flow_template *reserve = &rule->reserve;
	uint64_t idle_ns;

	for (enum sl_reserve_key key = SL_RESERVE_IDLE; key < SL_RESERVE_KEYS; key++)
		if (s->reserve[key] && !s->reserve[SL_RESERVE_RATE])
			return refuse(c, s->line, s->reserve[key],
				      "is a %s, which needs a rate: write reserve_rate, too",
				      sl_reserve_key_names[key]);
	if (!s->reserve[SL_RESERVE_RATE])
		return 0;
	if (s->action != SL_FILTER_PERMIT)
		return refuse(c, s->line, s->reserve[SL_RESERVE_RATE],
			      "is reserved for packets that the fast path does not forward: write "
			      "action: permit");
	if (s->next_hop || s->table)
		return refuse(c, s->line, s->next_hop ? s->next_hop : s->table,
			      "is a %s beside reserve_rate, which goes by the routes: write one of "
			      "them",
			      s->next_hop ? "next hop" : "table");
	rule->action |= SL_RULE_RESERVE;
	sl_police_rate_parse(s->reserve[SL_RESERVE_RATE], &reserve->rate_Bps);
	reserve->idle_s = IDLE_DEFAULT_S;
	reserve->flows_max = FLOWS_DEFAULT;
	if (s->reserve[SL_RESERVE_IDLE] &&
	    !sl_duration_parse(s->reserve[SL_RESERVE_IDLE], &idle_ns))
		reserve->idle_s = (uint32_t)(idle_ns / NS_A_SECOND);
	if (s->reserve[SL_RESERVE_FLOWS])
		read_flows(s->reserve[SL_RESERVE_FLOWS], &reserve->flows_max);
	return 0;
}

static int parse_next_hop(struct checker *c, const struct sl_filter_rule_settings *s,
			  struct sl_rule *rule)
{
	uint8_t family = 0;

	sl_addr_parse(s->next_hop, &family, rule->next_hop);
	if (rule->family && rule->family != family)
		return refuse(
			c, s->line, s->next_hop,
			"is of the other family than the rest of the rule: write addresses of "
			"one family");
	if (s->action != SL_FILTER_PERMIT)
		return refuse(
			c, s->line, s->next_hop,
			"is a next hop for packets that the fast path does not forward: write "
			"action: permit");
	rule->family = family;
	rule->action |= SL_RULE_NEXT_HOP;
	return 0;
}

static int parse_table(struct checker *c, const struct sl_filter_rule_settings *s,
		       struct sl_rule *rule)
{
	if (s->next_hop)
		return refuse(c, s->line, s->table,
			      "is a table beside next_hop: write one of them");
	if (s->action != SL_FILTER_PERMIT)
		return refuse(c, s->line, s->table,
			      "is a table for packets that the fast path does not forward: write "
			      "action: permit");
	sl_table_parse(s->table, &rule->table);
	rule->action |= SL_RULE_NEXT_HOP;
	return 0;
}

static int parse_chain(struct checker *c, const struct sl_filter_rule_settings *s,
		       struct sl_rule *rule)
{
	if (s->action != SL_FILTER_PERMIT)
		return refuse(c, s->line, s->chain,
			      "is a chain for packets that the fast path does not forward: write "
			      "action: permit");
	if (s->next_hop || s->table || s->class || s->reserve[SL_RESERVE_RATE])
		return refuse(c, s->line, s->chain,
			      "is a chain, behind which packets are routed anew: write no %s",
			      s->next_hop ? "next_hop"
			      : s->table  ? "table"
			      : s->class  ? "class"
					  : "reserve_rate");
	snprintf(rule->chain, sizeof(rule->chain), "%s", s->chain);
	rule->action |= SL_RULE_CHAIN;
	return 0;
}

/* The schema has judged each text by itself. */
static int parse_rule(struct checker *c, const struct sl_filter_rule_settings *s,
		      struct sl_rule *rule)
{
	uint8_t dscp;

	rule->family = (uint8_t)s->family;
	for (unsigned int side = 0; side < SL_SIDES; side++) {
		if (!s->prefix[side])
			continue;
		sl_prefix_parse(s->prefix[side], &rule->prefix[side]);
		if (rule->family && rule->family != rule->prefix[side].family)
			return refuse(c, s->line, s->prefix[side],
				      "is of the other family than the rest of the rule: write "
				      "addresses of one family");
		rule->family = rule->prefix[side].family;
	}
	for (enum sl_field field = 0; field < SL_FIELD_COUNT; field++)
		if (s->field[field] && field != SL_FIELD_TCP_FLAGS)
			sl_ranges_parse(field, s->field[field], &rule->field[field]);
	if (s->field[SL_FIELD_TCP_FLAGS])
		sl_flags_parse(s->field[SL_FIELD_TCP_FLAGS], &rule->flags, &rule->flags_mask);
	if (s->field[SL_FIELD_FLOW_LABEL] && rule->family == AF_INET)
		return refuse(c, s->line, s->field[SL_FIELD_FLOW_LABEL],
			      "is a flow label, which IPv4 does not have: write family: ipv6");
	rule->action = (uint32_t)s->action;
	if (s->class)
		rule->action |= (uint32_t)(s->class[0] - '0' + 1) << SL_RULE_CLASS_SHIFT;
	if (s->set_dscp && !sl_rule_dscp_parse(s->set_dscp, &dscp))
		rule->action |= (dscp + 1u) << SL_RULE_DSCP_SHIFT;
	if (s->next_hop && parse_next_hop(c, s, rule))
		return -EINVAL;
	if (s->table && parse_table(c, s, rule))
		return -EINVAL;
	if (s->chain && parse_chain(c, s, rule))
		return -EINVAL;
	if ((s->class || s->set_dscp) && s->action != SL_FILTER_PERMIT)
		return refuse(c, s->line, s->class ? s->class : s->set_dscp,
			      "changes a packet that the fast path does not forward: write action: "
			      "permit");
	if (s->mirror) {
		snprintf(rule->mirror, sizeof(rule->mirror), "%s", s->mirror);
		rule->sample = 1;
	}
	if (s->sample && !s->mirror)
		return refuse(c, s->line, s->sample,
			      "is a sample without a netdev for it: write mirror, too");
	if (s->sample)
		sl_sample_parse(s->sample, &rule->sample);
	parse_police(s, rule);
	if (rule->police.peak_rate_Bps && rule->police.peak_rate_Bps < rule->police.rate_Bps)
		return refuse(c, s->line, s->police[SL_POLICE_PEAK_RATE],
			      "is a police_peak_rate below police_rate: write a higher one");
	if (check_police(c, s) || parse_reserve(c, s, rule))
		return -EINVAL;
	return check_protocol(c, s, rule);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void keep(void *name)
{
	(void)name; /* its rule owns it */
}

/* The first rule of the list that has this name; there is one. */
static uint32_t rule_of_name(const struct sl_filter_list_settings *list, const char *name)
{
	uint32_t i = 0;

	while (!sl_filter_rule(list, i)->name || strcmp(sl_filter_rule(list, i)->name, name) != 0)
		i++;
	return i;
}

/*
 * Views and metrics tell rules of a list apart by name; "default" and "unnamed" are theirs. *names
 * is a tree (tsearch) of the names of the rules before.
 */
static int check_name(struct checker *c, const struct sl_filter_list_settings *list, uint32_t j,
		      void **names)
{
	const struct sl_filter_rule_settings *rule = sl_filter_rule(list, j);
	char **found;

	if (!rule->name)
		return 0;
	if (!strcmp(rule->name, "default") || !strcmp(rule->name, "unnamed"))
		return refuse(c, rule->line, rule->name,
			      "is a name that the metrics use: write another");
	found = tsearch(rule->name, names, compare_names);
	if (!found)
		return -ENOMEM;
	if (*found != rule->name)
		return refuse(c, rule->line, rule->name,
			      "is the name of rule %u, too: write another",
			      rule_of_name(list, rule->name));
	return 0;
}

static int check_numbers(struct checker *c, uint32_t i, const struct sl_filter_list_settings *list)
{
	uint32_t auxiliary = 0;

	for (uint32_t j = 0; j < list->rules.n; j++)
		auxiliary += sl_rule_is_auxiliary(&list->parsed[j]);
	snprintf(c->path, sizeof(c->path), "filters[%u].rules", i);
	if (auxiliary > SL_AUXILIARY_MAX)
		return refuse(c, list->line, list->name,
			      "has %u rules with action: count: write at most %u", auxiliary,
			      SL_AUXILIARY_MAX);
	if (auxiliary && list->rules.n - auxiliary > SL_RULES_MAX - SL_AUXILIARY_MAX)
		return refuse(c, list->line, list->name,
			      "has %u rules beside those with action: count: write at most %u",
			      list->rules.n - auxiliary, SL_RULES_MAX - SL_AUXILIARY_MAX);
	return 0;
}

static int check_rules(struct checker *c, uint32_t i, struct sl_filter_list_settings *list)
{
	void *names = NULL;
	int err = 0;

	if (list->parsed) /* it has been checked before */
		return 0;
	list->parsed = calloc(list->rules.n + 1, sizeof(*list->parsed));
	if (!list->parsed)
		return -ENOMEM;
	for (uint32_t j = 0; j < list->rules.n && !err; j++) {
		snprintf(c->path, sizeof(c->path), "filters[%u].rules[%u]", i, j);
		err = check_name(c, list, j, &names);
		if (!err)
			err = parse_rule(c, sl_filter_rule(list, j), &list->parsed[j]);
	}
	tdestroy(names, keep);
	if (!err)
		err = check_numbers(c, i, list);
	if (err) {
		free(list->parsed);
		list->parsed = NULL;
	}
	return err;
}

/* Does list `other` have a port of this name? */
static bool has_port(const struct sl_filter_list_settings *other, const char *name)
{
	for (uint32_t i = 0; i < other->ports.n; i++)
		if (!strcmp(sl_filter_port_name(other, i), name))
			return true;
	return false;
}

/* Of all ports that no other list names? */
static bool is_for_the_rest(const struct sl_filter_list_settings *list)
{
	return !list->ports.n && !list->for_flows;
}

static int check_ports(struct checker *c, const struct sl_yaml_list *lists, uint32_t i)
{
	const struct sl_filter_list_settings *list = sl_filter_list(lists, i);

	snprintf(c->path, sizeof(c->path), "filters[%u]", i);
	if (list->for_flows && list->ports.n)
		return refuse(c, list->line, list->name,
			      "is for flows, and has ports: write one of them");
	for (uint32_t j = 0; j < i; j++) {
		const struct sl_filter_list_settings *other = sl_filter_list(lists, j);

		if (!strcmp(other->name, list->name))
			return refuse(c, list->line, list->name,
				      "is the name of two lists: write another");
		if (is_for_the_rest(list) && is_for_the_rest(other))
			return refuse(c, list->line, list->name,
				      "has no ports, as list \"%s\", and only one can be for all "
				      "other ports: write ports",
				      other->name);
		for (uint32_t k = 0; k < list->ports.n; k++)
			if (has_port(other, sl_filter_port_name(list, k)))
				return refuse(c, list->line, sl_filter_port_name(list, k),
					      "is a port of list \"%s\", too: write it once",
					      other->name);
	}
	return 0;
}

/* A rule by the number that exact flows have for its name. */
struct flow_rule {
	uint32_t id;
	uint32_t list, rule;
};

static int compare_flow_rules(const void *a, const void *b)
{
	const struct flow_rule *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->list != y->list ? (x->list < y->list ? -1 : 1) : x->rule < y->rule ? -1 : 1;
}

/* No two of the n have the same number. */
static int check_flow_rules(struct checker *c, const struct sl_yaml_list *lists,
			    struct flow_rule *all, uint32_t n)
{
	qsort(all, n, sizeof(*all), compare_flow_rules);
	for (uint32_t i = 1; i < n; i++) {
		const struct flow_rule *first = &all[i - 1], *second = &all[i];
		const struct sl_filter_rule_settings *rule =
			sl_filter_rule(sl_filter_list(lists, second->list), second->rule);
		const struct sl_filter_list_settings *other = sl_filter_list(lists, first->list);

		if (first->id != second->id)
			continue;
		snprintf(c->path, sizeof(c->path), "filters[%u].rules[%u]", second->list,
			 second->rule);
		return refuse(
			c, rule->line, rule->name,
			"has the number that exact flows have for rule \"%s\" of list \"%s\": "
			"write another name",
			sl_filter_rule(other, first->rule)->name, other->name);
	}
	return 0;
}

static int check_flow_rule_names(struct checker *c, const struct sl_yaml_list *lists,
				 uint32_t n_rules)
{
	struct flow_rule *all = calloc(n_rules + 1, sizeof(*all));
	char name[SL_FLOW_RULE_NAME_BYTES];
	uint32_t n = 0;
	int err;

	if (!all)
		return -ENOMEM;
	for (uint32_t i = 0; i < lists->n; i++) {
		const struct sl_filter_list_settings *list = sl_filter_list(lists, i);

		for (uint32_t j = 0; j < list->rules.n; j++) {
			if (!sl_filter_rule(list, j)->name)
				continue;
			sl_flow_rule_name(list->name, sl_filter_rule(list, j)->name, name);
			all[n++] = (struct flow_rule){ sl_flow_rule_id(name), i, j };
		}
	}
	err = check_flow_rules(c, lists, all, n);
	free(all);
	return err;
}

int sl_filters_settings_check(struct sl_yaml_list *lists, const char *file_name,
			      char error[SL_YAML_ERROR_BYTES])
{
	struct checker c = { .file_name = file_name, .error = error };
	uint32_t n_rules = 0;
	int err = 0;

	for (uint32_t i = 0; i < lists->n && !err; i++) {
		struct sl_filter_list_settings *list =
			&((struct sl_filter_list_settings *)lists->items)[i];

		err = check_ports(&c, lists, i);
		if (!err)
			err = check_rules(&c, i, list);
		n_rules += list->rules.n;
		if (!err && n_rules > SL_FILTER_RULES_MAX) {
			snprintf(c.path, sizeof(c.path), "filters[%u].rules", i);
			err = refuse(&c, list->line, list->name,
				     "brings the rules of all lists to %u: write at most %u",
				     n_rules, SL_FILTER_RULES_MAX);
		}
	}
	if (!err)
		err = check_flow_rule_names(&c, lists, n_rules);
	return err;
}
