/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libnftables-json(5) describes the input. Each rule of a base chain becomes one rule of a list, or
 * several, where it asks for one of several prefixes. Statements that change no verdict (counter,
 * comments) are left out. Whatever else is not known here is refused: a filter that says less than
 * its model lets packets pass.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "user/import/nft_import.h"

#define PREFIXES_MAX 64 /* that a rule may ask for one of */

struct importer {
	json_t *objects; /* borrowed: the array "nftables" */
	json_t *lists;	 /* owned */
	const char *family, *table, *chain;
	unsigned int refused;
};

/* A rule in the making. */
struct draft {
	json_t *rule;		      /* owned */
	json_t *prefixes[2];	      /* owned arrays of texts, by side; NULL: any */
	const char *verdict, *family; /* NULL: none yet; any */
	char why[160];		      /* not empty: it cannot be said */
};

static const char *const sides[2] = { "source", "destination" };

static bool __attribute__((format(printf, 2, 3))) cannot(struct draft *d, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(d->why, sizeof(d->why), format, args);
	va_end(args);
	return false;
}

static const char *text_at(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* --- Values --- */

/* Append "80" or "80-90", or each of a set, comma between, to out. */
static bool value_text(const json_t *value, char *out, size_t out_bytes)
{
	const json_t *set = json_object_get(value, "set"), *range = json_object_get(value, "range");
	size_t used = strlen(out), i;
	const json_t *each;

	if (json_is_array(set) || (json_is_array(value) && json_array_size(value))) {
		json_array_foreach(json_is_array(set) ? set : value, i, each)
			if (!value_text(each, out, out_bytes))
				return false;
		return true;
	}
	if (used + 32 > out_bytes)
		return false;
	if (used)
		out[used++] = ',', out[used] = '\0';
	if (json_is_integer(value))
		snprintf(out + used, out_bytes - used, "%lld",
			 (long long)json_integer_value(value));
	else if (json_is_string(value) && *json_string_value(value) != '@')
		snprintf(out + used, out_bytes - used, "%.24s", json_string_value(value));
	else if (json_array_size(range) == 2 && json_is_integer(json_array_get(range, 0)) &&
		 json_is_integer(json_array_get(range, 1)))
		snprintf(out + used, out_bytes - used, "%lld-%lld",
			 (long long)json_integer_value(json_array_get(range, 0)),
			 (long long)json_integer_value(json_array_get(range, 1)));
	else
		return false;
	return true;
}

static bool put_value(struct draft *d, const char *key, const json_t *value)
{
	char text[512] = "";

	if (json_object_get(d->rule, key))
		return cannot(d, "it asks twice for %s", key);
	if (!value_text(value, text, sizeof(text)))
		return cannot(d, "what it compares %s with", key);
	json_object_set_new(d->rule, key, json_string(text));
	return true;
}

static bool add_prefix(json_t *prefixes, const json_t *value)
{
	const json_t *prefix = json_object_get(value, "prefix");

	if (json_is_string(value) && *json_string_value(value) != '@')
		return !json_array_append_new(prefixes, json_string(json_string_value(value)));
	if (!json_is_string(json_object_get(prefix, "addr")) ||
	    !json_is_integer(json_object_get(prefix, "len")))
		return false;
	return !json_array_append_new(
		prefixes,
		json_sprintf("%s/%lld", text_at(prefix, "addr"),
			     (long long)json_integer_value(json_object_get(prefix, "len"))));
}

static bool put_prefixes(struct draft *d, int side, const json_t *value)
{
	const json_t *set = json_object_get(value, "set"), *each;
	size_t i;

	if (d->prefixes[side])
		return cannot(d, "it asks twice for the %s", sides[side]);
	d->prefixes[side] = json_array();
	if (!json_is_array(set) && !add_prefix(d->prefixes[side], value))
		return cannot(d, "what it compares the %s with: only addresses and prefixes can be",
			      sides[side]);
	json_array_foreach(set, i, each)
		if (!add_prefix(d->prefixes[side], each))
			return cannot(d, "an element of its set for the %s", sides[side]);
	return true;
}

/* The packet must be of this protocol. */
static bool put_protocol(struct draft *d, const char *protocol)
{
	const char *former = text_at(d->rule, "protocol");

	if (*former && strcmp(former, protocol) != 0)
		return cannot(d, "its protocols contradict each other");
	json_object_set_new(d->rule, "protocol", json_string(protocol));
	return true;
}

static bool put_family(struct draft *d, const char *family)
{
	if (d->family && strcmp(d->family, family) != 0)
		return cannot(d, "its families contradict each other");
	d->family = family;
	return true;
}

/* --- Expressions --- */

/* Names of ICMP types that nft prints in the place of numbers */
static const struct icmp_name {
	const char *name;
	int ip4, ip6; /* -1: none */
} icmp_names[] = {
	{ "echo-request", 8, 128 },
	{ "echo-reply", 0, 129 },
	{ "destination-unreachable", 3, 1 },
	{ "source-quench", 4, -1 },
	{ "redirect", 5, -1 },
	{ "time-exceeded", 11, 3 },
	{ "parameter-problem", 12, 4 },
	{ "packet-too-big", -1, 2 },
	{ "timestamp-request", 13, -1 },
	{ "timestamp-reply", 14, -1 },
	{ "router-advertisement", 9, -1 },
	{ "router-solicitation", 10, -1 },
	{ "nd-router-solicit", -1, 133 },
	{ "nd-router-advert", -1, 134 },
	{ "nd-neighbor-solicit", -1, 135 },
	{ "nd-neighbor-advert", -1, 136 },
	{ "nd-redirect", -1, 137 },
	{ NULL, 0, 0 },
};

static bool put_icmp_type(struct draft *d, const json_t *value, bool ip6)
{
	const json_t *set = json_object_get(value, "set"), *each;
	json_t *all = json_is_array(set) ? json_copy((json_t *)set) : json_pack("[O]", value);
	bool known = true;
	size_t i;

	json_array_foreach(all, i, each) {
		const struct icmp_name *name = icmp_names;

		if (!json_is_string(each))
			continue;
		while (name->name && strcmp(name->name, json_string_value(each)) != 0)
			name++;
		known = known && name->name && (ip6 ? name->ip6 : name->ip4) >= 0;
		if (known)
			json_array_set_new(all, i, json_integer(ip6 ? name->ip6 : name->ip4));
	}
	known = known ? put_value(d, "icmp_type", all) : cannot(d, "its ICMP type");
	json_decref(all);
	return known;
}

static bool put_payload(struct draft *d, const json_t *payload, const json_t *value)
{
	static const char *const with_ports[] = { "tcp", "udp", "sctp", "dccp", "udplite", NULL };
	const char *protocol = text_at(payload, "protocol"), *field = text_at(payload, "field");
	bool ip4 = strcmp(protocol, "ip") == 0, ip6 = strcmp(protocol, "ip6") == 0;
	const char *key = strcmp(field, "dport") == 0	? "destination_port"
			  : strcmp(field, "sport") == 0 ? "source_port"
							: NULL;

	if ((ip4 || ip6) && !put_family(d, ip4 ? "ipv4" : "ipv6"))
		return false;
	if ((ip4 || ip6) && (strcmp(field, "saddr") == 0 || strcmp(field, "daddr") == 0))
		return put_prefixes(d, *field == 'd', value);
	if ((ip4 || ip6) && strcmp(field, "dscp") == 0)
		return put_value(d, "dscp", value);
	if (ip4 && strcmp(field, "length") == 0)
		return put_value(d, "length", value);
	if (ip4 && strcmp(field, "protocol") == 0)
		return put_value(d, "protocol", value);
	if (ip6 && strcmp(field, "flowlabel") == 0)
		return put_value(d, "flow_label", value);
	for (const char *const *known = with_ports; *known && key; known++)
		if (strcmp(protocol, *known) == 0)
			return put_protocol(d, protocol) && put_value(d, key, value);
	if (key && strcmp(protocol, "th") == 0)
		return put_value(d, key, value);
	if (strcmp(protocol, "icmp") == 0 || strcmp(protocol, "icmpv6") == 0) {
		if (!put_protocol(d, protocol))
			return false;
		if (strcmp(field, "type") == 0)
			return put_icmp_type(d, value, protocol[4] == 'v');
		if (strcmp(field, "code") == 0)
			return put_value(d, "icmp_code", value);
	}
	return cannot(d, "%s %s", *protocol ? protocol : "raw payload", field);
}

/* The names of flags in a value as one of bits; false: something else is there. */
static bool flag_bits(const json_t *value, unsigned int *bits)
{
	static const char *const names[] = {
		"fin", "syn", "rst", "psh", "ack", "urg", "ecn", "cwr"
	};
	const json_t *parts = json_object_get(value, "|"), *each;
	size_t i;

	if (json_is_array(value))
		parts = value;
	if (json_is_integer(value) && json_integer_value(value) >= 0 &&
	    json_integer_value(value) < 256) {
		*bits |= (unsigned int)json_integer_value(value);
		return true;
	}
	json_array_foreach(parts, i, each)
		if (!flag_bits(each, bits))
			return false;
	for (i = 0; json_is_string(value) && i < 8; i++)
		if (strcmp(names[i], json_string_value(value)) == 0) {
			*bits |= 1u << i;
			return true;
		}
	return json_is_array(parts);
}

static bool put_flags(struct draft *d, const json_t *mask, const json_t *value)
{
	static const char *const names[] = {
		"fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"
	};
	unsigned int asked = 0, set = 0;
	char text[64] = "";

	if (!flag_bits(mask, &asked) || !flag_bits(value, &set) || !asked || set & ~asked)
		return cannot(d, "its TCP flags");
	for (unsigned int i = 0; i < 8; i++)
		if (asked & 1u << i)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s%s",
				 *text ? "," : "", set & 1u << i ? "" : "!", names[i]);
	json_object_set_new(d->rule, "tcp_flags", json_string(text));
	return put_protocol(d, "tcp");
}

static bool is_flags(const json_t *expression)
{
	const json_t *payload = json_object_get(expression, "payload");

	return strcmp(text_at(payload, "protocol"), "tcp") == 0 &&
	       strcmp(text_at(payload, "field"), "flags") == 0;
}

static bool put_match(struct draft *d, const json_t *match)
{
	const char *op = text_at(match, "op");
	const json_t *left = json_object_get(match, "left"),
		     *right = json_object_get(match, "right");
	const json_t *payload = json_object_get(left, "payload"),
		     *meta = json_object_get(left, "meta");
	const json_t *masked = json_object_get(left, "&");
	const char *key = text_at(meta, "key");

	if (is_flags(left) && strcmp(op, "in") == 0 && json_is_string(right))
		return put_flags(d, right, right);
	if (strcmp(op, "==") != 0 && strcmp(op, "in") != 0)
		return cannot(d, "the comparison \"%s\"", op);
	if (json_array_size(masked) == 2 && is_flags(json_array_get(masked, 0)))
		return put_flags(d, json_array_get(masked, 1), right);
	if (is_flags(left))
		return cannot(d, "all of the TCP flags at once");
	if (payload)
		return put_payload(d, payload, right);
	if (meta && strcmp(key, "l4proto") == 0) {
		if (*text_at(d->rule, "protocol") && json_is_string(right))
			return put_protocol(d, json_string_value(right));
		return put_value(d, "protocol", right);
	}
	if (meta && strcmp(key, "nfproto") == 0 && json_is_string(right))
		return put_family(d, json_string_value(right));
	if (meta && strcmp(key, "length") == 0)
		return put_value(d, "length", right);
	if (meta)
		return cannot(d, "meta %s", key);
	if (json_object_get(left, "ct"))
		return cannot(d, "ct: sluice looks at single packets, and knows no connections");
	return cannot(d, "what it compares");
}

static bool put_mangle(struct draft *d, const json_t *mangle)
{
	const json_t *payload = json_object_get(json_object_get(mangle, "key"), "payload");
	const char *protocol = text_at(payload, "protocol");

	if (strcmp(text_at(payload, "field"), "dscp") != 0)
		return cannot(d, "it changes something else than a DSCP");
	return put_family(d, strcmp(protocol, "ip") == 0 ? "ipv4" : "ipv6") &&
	       put_value(d, "set_dscp", json_object_get(mangle, "value"));
}

/* `reject` alone is an ICMP error, port unreachable. */
static bool put_reject(struct draft *d, const json_t *reject)
{
	const char *type = text_at(reject, "type"), *why = text_at(reject, "expr");

	if (strcmp(type, "tcp reset") == 0)
		d->verdict = "reset";
	else if (!*why || strcmp(why, "port-unreachable") == 0)
		d->verdict = "reject";
	else
		return cannot(d, "the statement \"reject with %s\"", why);
	return true;
}

static bool put_statement(struct draft *d, const json_t *statement)
{
	const char *key = json_object_iter_key(json_object_iter((json_t *)statement));
	const json_t *value = json_object_get(statement, key ? key : "");

	if (!key || strcmp(key, "counter") == 0)
		return true;
	if (d->verdict)
		return cannot(d, "a statement behind its verdict");
	if (strcmp(key, "match") == 0)
		return put_match(d, value);
	if (strcmp(key, "mangle") == 0)
		return put_mangle(d, value);
	if (strcmp(key, "accept") == 0 || strcmp(key, "drop") == 0) {
		d->verdict = *key == 'a' ? "permit" : "deny";
		return true;
	}
	if (strcmp(key, "reject") == 0)
		return put_reject(d, value);
	return cannot(d, "the statement \"%s\"", key);
}

/* --- Rules --- */

/* Append the rule to the list, once for each pair of prefixes. */
static void put_rule(const struct draft *d, json_t *rules)
{
	size_t n[2];

	for (int side = 0; side < 2; side++)
		n[side] = d->prefixes[side] ? json_array_size(d->prefixes[side]) : 1;
	for (size_t i = 0; i < n[0] * n[1]; i++) {
		const size_t at[2] = { i / n[1], i % n[1] };
		json_t *rule = json_copy(d->rule);

		json_object_set_new(rule, "action", json_string(d->verdict));
		for (int side = 0; side < 2; side++)
			if (d->prefixes[side])
				json_object_set(rule, sides[side],
						json_array_get(d->prefixes[side], at[side]));
		if (!d->prefixes[0] && !d->prefixes[1] && d->family)
			json_object_set_new(rule, "family", json_string(d->family));
		json_array_append_new(rules, rule);
	}
}

static bool check(struct draft *d)
{
	size_t n = 1;

	for (int side = 0; side < 2; side++)
		n *= d->prefixes[side] ? json_array_size(d->prefixes[side]) : 1;
	if (!d->verdict)
		return cannot(d, "it has no verdict of accept or drop");
	if (n > PREFIXES_MAX)
		return cannot(d, "it asks for %zu pairs of prefixes, and %d are the most", n,
			      PREFIXES_MAX);
	if (*text_at(d->rule, "set_dscp") && strcmp(d->verdict, "permit") != 0)
		json_object_del(d->rule, "set_dscp");
	return true;
}

static void take_rule(struct importer *im, const json_t *rule, json_t *rules)
{
	static const struct {
		const char *nft, *ours;
	} families[] = { { "ip", "ipv4" }, { "ip6", "ipv6" } };
	struct draft d = { .rule = json_object() };
	const json_t *statement;
	size_t i;
	bool can = true;

	for (i = 0; i < 2; i++)
		if (strcmp(im->family, families[i].nft) == 0)
			d.family = families[i].ours;
	json_array_foreach(json_object_get(rule, "expr"), i, statement)
		can = can && put_statement(&d, statement);
	if (can && check(&d)) {
		put_rule(&d, rules);
	} else {
		fprintf(stderr, "sluice: rule %lld of chain %s of table %s %s cannot be said: %s\n",
			(long long)json_integer_value(json_object_get(rule, "handle")), im->chain,
			im->family, im->table, d.why);
		im->refused++;
	}
	json_decref(d.rule);
	json_decref(d.prefixes[0]);
	json_decref(d.prefixes[1]);
}

static bool is_of_chain(const struct importer *im, const json_t *rule)
{
	return strcmp(text_at(rule, "family"), im->family) == 0 &&
	       strcmp(text_at(rule, "table"), im->table) == 0 &&
	       strcmp(text_at(rule, "chain"), im->chain) == 0;
}

/* "eth1" or ["eth1", "eth2"] as the ports of a list */
static json_t *ports_of(const json_t *dev)
{
	json_t *ports = json_array();
	const json_t *each;
	size_t i;

	if (json_is_string(dev))
		json_array_append_new(ports, json_pack("{s:O}", "name", dev));
	json_array_foreach(dev, i, each)
		json_array_append_new(ports, json_pack("{s:O}", "name", each));
	return ports;
}

static void take_chain(struct importer *im, const json_t *chain)
{
	json_t *rules = json_array();
	const json_t *object, *rule;
	bool judges = true;
	const char *hook;
	size_t i;

	im->family = text_at(chain, "family");
	im->table = text_at(chain, "table");
	im->chain = text_at(chain, "name");
	hook = text_at(chain, "hook");
	if (strcmp(hook, "ingress") != 0 && strcmp(hook, "prerouting") != 0 &&
	    strcmp(hook, "forward") != 0)
		judges = false;
	json_array_foreach(im->objects, i, object) {
		rule = json_object_get(object, "rule");
		if (!rule || !is_of_chain(im, rule))
			continue;
		if (judges) {
			take_rule(im, rule, rules);
			continue;
		}
		im->refused++;
		fprintf(stderr,
			"sluice: rule %lld of chain %s of table %s %s cannot be said: a list judges what "
			"enters, as chains at ingress, prerouting and forward do, not %s\n",
			(long long)json_integer_value(json_object_get(rule, "handle")), im->chain,
			im->family, im->table, *hook ? hook : "chains that others jump to");
	}
	if (judges && (json_array_size(rules) || strcmp(text_at(chain, "policy"), "drop") == 0))
		json_array_append_new(
			im->lists,
			json_pack("{s:o, s:o, s:s, s:O}", "name",
				  json_sprintf("%s-%s-%s", im->family, im->table, im->chain),
				  "ports", ports_of(json_object_get(chain, "dev")), "default",
				  strcmp(text_at(chain, "policy"), "drop") ? "permit" : "deny",
				  "rules", rules));
	json_decref(rules);
}

int sl_nft_import(const char *name, const char *text, json_t **out)
{
	json_error_t why;
	json_t *root = json_loads(text, 0, &why);
	struct importer im = { .objects = json_object_get(root, "nftables") };
	const json_t *object, *chain;
	size_t i;

	*out = NULL;
	if (!json_is_array(im.objects)) {
		fprintf(stderr, "sluice: %s is not what `nft -j list ruleset` prints: %s\n", name,
			root ? "it has no array \"nftables\"" : why.text);
		json_decref(root);
		return -EINVAL;
	}
	im.lists = json_array();
	json_array_foreach(im.objects, i, object) {
		chain = json_object_get(object, "chain");
		if (chain)
			take_chain(&im, chain);
	}
	json_decref(root);
	if (im.refused) {
		fprintf(stderr, "sluice: %u rules cannot be said, so nothing is printed\n",
			im.refused);
		json_decref(im.lists);
		return -EINVAL;
	}
	*out = json_pack("{s:o}", "filters", im.lists);
	return *out ? 0 : -ENOMEM;
}
