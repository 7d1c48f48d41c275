/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a component asks for becomes the set of the values that it allows, and the set a text of
 * ranges. A specification is one rule, but for three kinds: one that asks for a port of either side
 * is two, and one whose TCP flags are joined by "or" is one for each kind of flags. These share no
 * token bucket, so such a specification must not police.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "bpf/abi/classifier.h"
#include "user/import/flowspec_import.h"

#define PARTS_MAX  64 /* of a set while it is made */
#define RANGES_MAX 16 /* of a field of a rule: SL_RANGES_MAX */
#define CUBES_MAX  16 /* kinds of TCP flags */

/* --- Which comes first --- */

/* The bytes of a component's terms in an NLRI: RFC 8955 4.2.1. */
static size_t encode(const struct sl_flowspec *spec, const struct sl_flowspec_component *c,
		     uint8_t *out)
{
	size_t n = 0;

	for (uint16_t i = 0; i < c->n; i++) {
		const struct sl_flowspec_term *term = &spec->term[c->first + i];
		const unsigned int log2 = term->value > 0xffff ? 2 : term->value > 0xff;

		out[n++] = (uint8_t)(term->op | log2 << 4 | (i + 1 == c->n ? 0x80 : 0));
		for (int byte = (1 << log2) - 1; byte >= 0; byte--)
			out[n++] = (uint8_t)(term->value >> 8 * byte);
	}
	return n;
}

static int compare_prefixes(const struct sl_prefix *a, const struct sl_prefix *b)
{
	const unsigned int common = a->len < b->len ? a->len : b->len;

	for (unsigned int bit = 0; bit < common; bit++) {
		const int x = a->addr[bit / 8] >> (7 - bit % 8) & 1;
		const int y = b->addr[bit / 8] >> (7 - bit % 8) & 1;

		if (x != y)
			return x - y;
	}
	return b->len - a->len;
}

static int compare_terms(const struct sl_flowspec *a, const struct sl_flowspec *b,
			 enum sl_flowspec_type type)
{
	uint8_t x[5 * SL_FLOWSPEC_TERMS_MAX], y[5 * SL_FLOWSPEC_TERMS_MAX];
	const size_t n = encode(a, &a->component[type], x), m = encode(b, &b->component[type], y);
	const int order = memcmp(x, y, n < m ? n : m);

	if (order)
		return order;
	return n > m ? -1 : n < m;
}

int sl_flowspec_compare(const struct sl_flowspec *a, const struct sl_flowspec *b)
{
	for (enum sl_flowspec_type type = SL_FLOWSPEC_DESTINATION; type < SL_FLOWSPEC_TYPES;
	     type++) {
		const struct sl_flowspec_component *x = &a->component[type];
		const struct sl_flowspec_component *y = &b->component[type];
		int order;

		if (x->is_there != y->is_there)
			return x->is_there ? -1 : 1;
		if (!x->is_there)
			continue;
		order = type <= SL_FLOWSPEC_SOURCE ? compare_prefixes(&x->prefix, &y->prefix)
						   : compare_terms(a, b, type);
		if (order)
			return order;
	}
	return 0;
}

/* --- Sets of values --- */

struct set {
	uint32_t n;
	struct {
		uint32_t low, high;
	} part[PARTS_MAX]; /* ascending, apart from each other */
};

/* What one specification becomes. */
struct draft {
	const struct sl_flowspec *spec;
	char why[96]; /* not empty: no rule can say it */
	bool asks[SL_FIELD_COUNT];
	struct set field[SL_FIELD_COUNT]; /* where it asks */
	bool asks_port;
	struct set port; /* of either side */
	/* With asks_port: the sides at which it can have such a port, and which ones there. */
	uint32_t n_sides;
	struct side {
		enum sl_field field;
		struct set set;
	} side[2];
	uint32_t n_cubes;
	struct {
		uint8_t flags, mask;
	} cube[CUBES_MAX];
};

static bool __attribute__((format(printf, 2, 3))) cannot(struct draft *d, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!*d->why)
		vsnprintf(d->why, sizeof(d->why), format, args);
	va_end(args);
	return false;
}

static bool add_part(struct draft *d, struct set *set, uint32_t low, uint32_t high)
{
	if (low > high)
		return true;
	if (set->n == PARTS_MAX)
		return cannot(d, "more than %d ranges of a field", PARTS_MAX);
	set->part[set->n].low = low;
	set->part[set->n++].high = high;
	return true;
}

static int compare_parts(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Bring the parts in order, and join those that overlap or touch. */
static void tidy(struct set *set)
{
	uint32_t n = 0;

	qsort(set->part, set->n, sizeof(set->part[0]), compare_parts);
	for (uint32_t i = 0; i < set->n; i++) {
		if (n && set->part[i].low <= set->part[n - 1].high + 1) {
			if (set->part[i].high > set->part[n - 1].high)
				set->part[n - 1].high = set->part[i].high;
		} else {
			set->part[n++] = set->part[i];
		}
	}
	set->n = n;
}

static bool intersect(struct draft *d, struct set *set, const struct set *with)
{
	struct set both = { 0 };

	for (uint32_t i = 0; i < set->n; i++)
		for (uint32_t j = 0; j < with->n; j++) {
			const uint32_t low = set->part[i].low > with->part[j].low
						     ? set->part[i].low
						     : with->part[j].low;
			const uint32_t high = set->part[i].high < with->part[j].high
						      ? set->part[i].high
						      : with->part[j].high;

			if (!add_part(d, &both, low, high))
				return false;
		}
	tidy(&both);
	*set = both;
	return true;
}

/* The values 0..max that a term allows. */
static bool set_of_term(struct draft *d, const struct sl_flowspec_term *term, uint32_t max,
			struct set *out)
{
	const uint32_t value = term->value;

	out->n = 0;
	if (term->op & SL_FLOWSPEC_LESS && value > 0 &&
	    !add_part(d, out, 0, value - 1 < max ? value - 1 : max))
		return false;
	if (term->op & SL_FLOWSPEC_EQUAL && value <= max && !add_part(d, out, value, value))
		return false;
	if (term->op & SL_FLOWSPEC_GREATER && value < max && !add_part(d, out, value + 1, max))
		return false;
	tidy(out);
	return true;
}

/* AND binds more than OR: RFC 8955 4.2.1.1. */
static bool set_of(struct draft *d, const struct sl_flowspec_component *c, uint32_t max,
		   struct set *out)
{
	struct set group, term;

	out->n = 0;
	for (uint16_t i = 0; i < c->n;) {
		group = (struct set){ .n = 1, .part = { { 0, max } } };
		do {
			if (!set_of_term(d, &d->spec->term[c->first + i], max, &term) ||
			    !intersect(d, &group, &term))
				return false;
			i++;
		} while (i < c->n && d->spec->term[c->first + i].op & SL_FLOWSPEC_AND);
		for (uint32_t j = 0; j < group.n; j++)
			if (!add_part(d, out, group.part[j].low, group.part[j].high))
				return false;
		tidy(out);
	}
	return true;
}

/* Ask for a field, beside what is asked of it already. */
static bool ask(struct draft *d, enum sl_field field, const struct set *set)
{
	if (d->asks[field])
		return intersect(d, &d->field[field], set);
	d->asks[field] = true;
	d->field[field] = *set;
	return true;
}

/* A component that only packets of these one or two protocols have. */
static bool needs(struct draft *d, uint32_t first, uint32_t second)
{
	struct set protocols = { .n = 2, .part = { { first, first }, { second, second } } };

	tidy(&protocols);
	return ask(d, SL_FIELD_PROTOCOL, &protocols);
}

/* --- TCP flags and fragments --- */

/* Does the term allow these bits? RFC 8955 4.2.1.2. */
static bool allows(const struct sl_flowspec_term *term, uint32_t bits)
{
	const bool match = term->op & SL_FLOWSPEC_MATCH ? (bits & term->value) == term->value
							: (bits & term->value) != 0;

	return match != !!(term->op & SL_FLOWSPEC_NOT);
}

static bool allows_all(const struct sl_flowspec *spec, const struct sl_flowspec_component *c,
		       uint32_t bits)
{
	bool group = true;

	for (uint16_t i = 0; i < c->n; i++) {
		const struct sl_flowspec_term *term = &spec->term[c->first + i];

		if (!(term->op & SL_FLOWSPEC_AND) && i > 0) {
			if (group)
				return true;
			group = true;
		}
		group = group && allows(term, bits);
	}
	return group && c->n;
}

/*
 * Flags that are set and not set, as few kinds as it takes: each of the 256 values that is allowed
 * and in no kind yet makes one, of which every flag is dropped that makes no difference, but for
 * the last: a rule without flags would match later fragments, too, which have none.
 */
static bool take_flags(struct draft *d, const struct sl_flowspec_component *c)
{
	bool allowed[256], seen[256] = { false };

	for (uint16_t i = 0; i < c->n; i++)
		if (d->spec->term[c->first + i].value > 0xff)
			return cannot(d, "TCP flags beyond the eight that rules know");
	for (uint32_t bits = 0; bits < 256; bits++)
		allowed[bits] = allows_all(d->spec, c, bits);
	for (uint32_t bits = 0; bits < 256; bits++) {
		uint32_t mask = 0xff;

		if (!allowed[bits] || seen[bits])
			continue;
		for (uint32_t flag = 1; flag < 256; flag <<= 1) {
			bool same = mask != flag;

			for (uint32_t other = 0; other < 256 && same; other++)
				same = ((other ^ bits) & mask & ~flag) || allowed[other];
			if (same)
				mask &= ~flag;
		}
		if (d->n_cubes == CUBES_MAX)
			return cannot(d, "more than %d kinds of TCP flags", CUBES_MAX);
		d->cube[d->n_cubes].flags = (uint8_t)(bits & mask);
		d->cube[d->n_cubes++].mask = (uint8_t)mask;
		for (uint32_t other = 0; other < 256; other++)
			seen[other] |= ((other ^ bits) & mask) == 0;
	}
	if (!d->n_cubes)
		return cannot(d, "it matches no packet");
	return needs(d, 6, 6);
}

/* The kinds of packets that rules know, each with and without the flag DF where it can have it. */
static bool take_fragment(struct draft *d, const struct sl_flowspec_component *c)
{
	static const struct {
		enum sl_fragment kind;
		uint32_t bits;
	} packets[] = {
		{ SL_FRAGMENT_NONE, 0 },
		{ SL_FRAGMENT_FIRST, SL_FLOWSPEC_FIRST },
		{ SL_FRAGMENT_LATER, SL_FLOWSPEC_IS_FRAGMENT },
		{ SL_FRAGMENT_LATER, SL_FLOWSPEC_IS_FRAGMENT | SL_FLOWSPEC_LAST },
	};
	int want[3] = { -1, -1, -1 };
	struct set set = { 0 };

	for (size_t i = 0; i < sizeof(packets) / sizeof(packets[0]); i++) {
		const uint32_t bits = packets[i].bits, df = bits | SL_FLOWSPEC_DONT_FRAGMENT;
		const bool is = allows_all(d->spec, c, bits);

		if (d->spec->family == AF_INET && is != allows_all(d->spec, c, df))
			return cannot(d, "it asks for the flag DF, which rules do not know");
		if (want[packets[i].kind] >= 0 && want[packets[i].kind] != is)
			return cannot(d, "it tells the last fragment from others, which rules do "
					 "not");
		want[packets[i].kind] = is;
	}
	for (uint32_t kind = SL_FRAGMENT_NONE; kind <= SL_FRAGMENT_LATER; kind++)
		if (want[kind] && !add_part(d, &set, kind, kind))
			return false;
	tidy(&set);
	return ask(d, SL_FIELD_FRAGMENT, &set);
}

/* --- From a specification to a draft --- */

static bool take_component(struct draft *d, enum sl_flowspec_type type)
{
	static const struct {
		enum sl_field field;
		uint32_t max;
	} numbers[SL_FLOWSPEC_TYPES] = {
		[SL_FLOWSPEC_PROTOCOL] = { SL_FIELD_PROTOCOL, 255 },
		[SL_FLOWSPEC_PORT] = { SL_FIELD_COUNT, 65535 },
		[SL_FLOWSPEC_DESTINATION_PORT] = { SL_FIELD_DESTINATION_PORT, 65535 },
		[SL_FLOWSPEC_SOURCE_PORT] = { SL_FIELD_SOURCE_PORT, 65535 },
		[SL_FLOWSPEC_ICMP_TYPE] = { SL_FIELD_ICMP_TYPE, 255 },
		[SL_FLOWSPEC_ICMP_CODE] = { SL_FIELD_ICMP_CODE, 255 },
		[SL_FLOWSPEC_LENGTH] = { SL_FIELD_LENGTH, SL_FIELD_LENGTH_ABSENT - 1 },
		[SL_FLOWSPEC_DSCP] = { SL_FIELD_DSCP, 63 },
		[SL_FLOWSPEC_FLOW_LABEL] = { SL_FIELD_FLOW_LABEL, SL_FIELD_FLOW_LABEL_ABSENT - 1 },
	};
	const struct sl_flowspec_component *c = &d->spec->component[type];
	const uint32_t icmp = d->spec->family == AF_INET ? 1 : 58;
	struct set set;

	switch (type) {
	case SL_FLOWSPEC_DESTINATION:
	case SL_FLOWSPEC_SOURCE:
		return true;
	case SL_FLOWSPEC_TCP_FLAGS:
		return take_flags(d, c);
	case SL_FLOWSPEC_FRAGMENT:
		return take_fragment(d, c);
	case SL_FLOWSPEC_PORT:
		d->asks_port = true;
		return set_of(d, c, 65535, &d->port) && needs(d, 6, 17);
	default:
		if (!set_of(d, c, numbers[type].max, &set) || !ask(d, numbers[type].field, &set))
			return false;
	}
	if (type == SL_FLOWSPEC_DESTINATION_PORT || type == SL_FLOWSPEC_SOURCE_PORT)
		return needs(d, 6, 17);
	if (type == SL_FLOWSPEC_ICMP_TYPE || type == SL_FLOWSPEC_ICMP_CODE)
		return needs(d, icmp, icmp);
	return true;
}

static bool take_sides(struct draft *d)
{
	static const enum sl_field fields[] = { SL_FIELD_SOURCE_PORT, SL_FIELD_DESTINATION_PORT };

	for (size_t i = 0; i < 2 && d->asks_port; i++) {
		struct side *side = &d->side[d->n_sides];

		side->field = fields[i];
		side->set = d->port;
		if (d->asks[fields[i]] && !intersect(d, &side->set, &d->field[fields[i]]))
			return false;
		d->n_sides += side->set.n > 0;
	}
	return !d->asks_port || d->n_sides || cannot(d, "it matches no packet");
}

static bool make_draft(struct draft *d, const struct sl_flowspec *spec)
{
	memset(d, 0, sizeof(*d));
	d->spec = spec;
	if (*spec->why)
		return cannot(d, "%s", spec->why);
	for (enum sl_flowspec_type type = SL_FLOWSPEC_DESTINATION; type < SL_FLOWSPEC_TYPES; type++)
		if (spec->component[type].is_there && !take_component(d, type))
			return false;
	return take_sides(d);
}

/* --- From a draft to rules --- */

/* To the end of a text that has room for it. */
static void __attribute__((format(printf, 3, 4)))
append(char *text, size_t bytes, const char *format, ...)
{
	const size_t used = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + used, bytes - used, format, args);
	va_end(args);
}

static bool put_set(struct draft *d, json_t *rule, const char *key, enum sl_field field,
		    const struct set *set)
{
	static const char *const fragments[] = { "none", "first", "later" };
	char text[32 * RANGES_MAX] = "";

	if (set->n == 0)
		return cannot(d, "it matches no packet");
	if (set->n > RANGES_MAX)
		return cannot(d, "more than %d ranges of %s", RANGES_MAX, key);
	for (uint32_t i = 0; i < set->n; i++) {
		const uint32_t low = set->part[i].low, high = set->part[i].high;

		if (field == SL_FIELD_FRAGMENT)
			for (uint32_t kind = low; kind <= high; kind++)
				append(text, sizeof(text), "%s%s", *text ? "," : "",
				       fragments[kind]);
		else if (low == high)
			append(text, sizeof(text), "%s%" PRIu32, i ? "," : "", low);
		else
			append(text, sizeof(text), "%s%" PRIu32 "-%" PRIu32, i ? "," : "", low,
			       high);
	}
	json_object_set_new(rule, key, json_string(text));
	return true;
}

static bool put_fields(struct draft *d, json_t *rule)
{
	static const struct {
		enum sl_field field;
		const char *key;
	} keys[] = {
		{ SL_FIELD_PROTOCOL, "protocol" },
		{ SL_FIELD_ICMP_TYPE, "icmp_type" },
		{ SL_FIELD_ICMP_CODE, "icmp_code" },
		{ SL_FIELD_LENGTH, "length" },
		{ SL_FIELD_DSCP, "dscp" },
		{ SL_FIELD_FRAGMENT, "fragment" },
		{ SL_FIELD_FLOW_LABEL, "flow_label" },
	};
	static const char *const sides[] = {
		[SL_FLOWSPEC_DESTINATION] = "destination", [SL_FLOWSPEC_SOURCE] = "source"
	};
	char prefix[SL_PREFIX_STRLEN];

	for (enum sl_flowspec_type side = SL_FLOWSPEC_DESTINATION; side <= SL_FLOWSPEC_SOURCE;
	     side++)
		if (d->spec->component[side].is_there)
			json_object_set_new(rule, sides[side],
					    json_string(sl_prefix_format(
						    &d->spec->component[side].prefix, prefix)));
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (d->asks[keys[i].field] &&
		    !put_set(d, rule, keys[i].key, keys[i].field, &d->field[keys[i].field]))
			return false;
	return true;
}

/* side: of which the rule asks for a port of either side; NULL: of none */
static bool put_port(struct draft *d, json_t *rule, enum sl_field field, const char *key,
		     const struct side *side)
{
	if (side && side->field == field)
		return put_set(d, rule, key, field, &side->set);
	return !d->asks[field] || put_set(d, rule, key, field, &d->field[field]);
}

static void put_flags(json_t *rule, uint8_t flags, uint8_t mask)
{
	static const char *const names[] = {
		"fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"
	};
	char text[64] = "";

	for (unsigned int i = 0; i < 8; i++)
		if (mask & 1 << i)
			append(text, sizeof(text), "%s%s%s", *text ? "," : "",
			       flags & 1 << i ? "" : "!", names[i]);
	if (mask)
		json_object_set_new(rule, "tcp_flags", json_string(text));
}

static bool put_redirect(struct draft *d, json_t *rule,
			 const struct sl_flowspec_redirect *redirects, uint32_t n)
{
	const struct sl_flowspec_actions *a = &d->spec->actions;
	char address[SL_PREFIX_STRLEN];
	uint32_t i = 0;

	if (a->has_next_hop && d->spec->family != AF_INET)
		return cannot(d, "a redirect to an address of the other family");
	if (a->has_next_hop)
		json_object_set_new(rule, "next_hop",
				    json_string(sl_addr_format(AF_INET, a->next_hop, address)));
	if (!a->has_redirect)
		return true;
	while (i < n && (redirects[i].as != a->as || redirects[i].number != a->number))
		i++;
	if (i == n)
		return cannot(d, "a redirect to %u:%" PRIu32 ", for which no table is named", a->as,
			      a->number);
	json_object_set_new(rule, "table", json_sprintf("%" PRIu32, redirects[i].table));
	return true;
}

/* n_rules: that the specification becomes */
static bool put_actions(struct draft *d, json_t *rule, const struct sl_flowspec_redirect *redirects,
			uint32_t n_redirects, uint32_t n_rules)
{
	const struct sl_flowspec_actions *a = &d->spec->actions;

	if ((a->has_rate && a->rate_Bps == 0) || (a->has_rate_pps && a->rate_pps == 0)) {
		json_object_set_new(rule, "action", json_string("deny"));
		return true;
	}
	json_object_set_new(rule, "action", json_string("permit"));
	if (a->has_rate_pps)
		return cannot(d, "a rate of packets, which rules do not know");
	if (a->has_rate && a->rate_Bps < 1)
		return cannot(d, "a rate of less than a byte a second");
	if (a->has_rate && n_rules > 1)
		return cannot(d, "a rate for what takes %u rules, with a bucket each", n_rules);
	/* beyond that a rule cannot say it, and no port has it */
	if (a->has_rate && a->rate_Bps < 1e14f)
		json_object_set_new(
			rule, "police_rate",
			json_sprintf("%" PRIu64 "bit", (uint64_t)((double)a->rate_Bps * 8)));
	if (a->dscp_plus1)
		json_object_set_new(rule, "set_dscp", json_sprintf("%d", a->dscp_plus1 - 1));
	return put_redirect(d, rule, redirects, n_redirects);
}

/* A name that stays while others come and go, so that counters do: FNV-1a of the text. */
static json_t *name_of(const struct sl_flowspec *spec, uint32_t part)
{
	uint64_t hash = 14695981039346656037ULL;

	for (size_t i = 0; i < spec->text_bytes; i++)
		hash = (hash ^ (uint8_t)spec->text[i]) * 1099511628211ULL;
	if (!part)
		return json_sprintf("flow%c-%016" PRIx64, spec->text[4], hash);
	return json_sprintf("flow%c-%016" PRIx64 "-%u", spec->text[4], hash, part);
}

/* Append the rules of a draft, or, where one cannot be made, none. */
static bool put_rules(struct draft *d, const struct sl_flowspec_redirect *redirects,
		      uint32_t n_redirects, json_t *rules)
{
	const uint32_t n_cubes = d->n_cubes ? d->n_cubes : 1, n_sides = d->n_sides ? d->n_sides : 1;
	json_t *made = json_array();
	bool good = made;

	for (uint32_t i = 0; i < n_cubes * n_sides && good; i++) {
		const struct side *side = d->n_sides ? &d->side[i / n_cubes] : NULL;
		json_t *rule = json_object();

		json_array_append_new(made, rule);
		json_object_set_new(rule, "name", name_of(d->spec, i));
		json_object_set_new(rule, "family",
				    json_string(d->spec->family == AF_INET ? "ipv4" : "ipv6"));
		good = put_fields(d, rule) &&
		       put_port(d, rule, SL_FIELD_SOURCE_PORT, "source_port", side) &&
		       put_port(d, rule, SL_FIELD_DESTINATION_PORT, "destination_port", side) &&
		       put_actions(d, rule, redirects, n_redirects, n_cubes * n_sides);
		if (good && d->n_cubes)
			put_flags(rule, d->cube[i % n_cubes].flags, d->cube[i % n_cubes].mask);
	}
	if (good)
		json_array_extend(rules, made);
	json_decref(made);
	return good;
}

static int compare(const void *a, const void *b)
{
	return sl_flowspec_compare(*(const struct sl_flowspec *const *)a,
				   *(const struct sl_flowspec *const *)b);
}

/* All specifications; *out is an array of owned ones, that the caller frees. */
static int read_all(const char *answers, struct sl_flowspec ***out, uint32_t *n)
{
	struct sl_flowspec *spec = malloc(sizeof(*spec));
	uint32_t room = 0;

	*out = NULL;
	*n = 0;
	while (spec && sl_flowspec_next(&answers, spec)) {
		if (*n == room) {
			struct sl_flowspec **larger;

			room = room ? room * 2 : 64;
			larger = realloc(*out, room * sizeof(struct sl_flowspec *));
			if (!larger)
				break;
			*out = larger;
		}
		(*out)[(*n)++] = spec;
		spec = malloc(sizeof(*spec));
	}
	if (!spec || *answers) {
		free(spec);
		return -ENOMEM;
	}
	free(spec);
	return 0;
}

static void refuse(json_t *refused, const struct draft *d)
{
	json_t *text = json_sprintf("%.*s: %s", (int)d->spec->text_bytes, d->spec->text, d->why);

	if (!text)
		text = json_string("a flow specification that is not text in UTF-8");
	json_array_append_new(refused, text);
}

int sl_flowspec_import(const char *answers, const struct sl_flowspec_redirect *redirects,
		       uint32_t n_redirects, json_t **rules, json_t **refused)
{
	struct draft *draft = malloc(sizeof(*draft));
	struct sl_flowspec **spec;
	uint32_t n;
	int err = read_all(answers, &spec, &n);

	*rules = json_array();
	*refused = json_array();
	if (!draft || !*rules || !*refused)
		err = -ENOMEM;
	if (!err && n)
		qsort(spec, n, sizeof(struct sl_flowspec *), compare);
	for (uint32_t i = 0; i < n && !err; i++)
		if (!make_draft(draft, spec[i]) ||
		    !put_rules(draft, redirects, n_redirects, *rules))
			refuse(*refused, draft);
	if (!err && json_array_size(*rules) > SL_RULES_MAX)
		err = -EINVAL;
	for (uint32_t i = 0; i < n; i++)
		free(spec[i]);
	free(spec);
	free(draft);
	if (err) {
		json_decref(*rules);
		json_decref(*refused);
		*rules = *refused = NULL;
	}
	return err;
}
