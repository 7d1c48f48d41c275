/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A line of BIRD's begins with a code of four digits and "-", or with a blank where the code is
 * that of the line before. A specification stands in one line, and its attributes in the next ones
 * behind a tab, longer lists behind two:
 *
 *   flow4 { dst 10.0.0.0/8; proto 17; dport 53 || > 5 && < 10; }  [fs1 12:00:00.000] * (100)
 *   	BGP.ext_community: (generic, 0x80060000, 0x0)
 *
 * Numbers: 53, "> 5", 10..20 for >= 10 && <= 20, and a comma for || between values and ranges.
 * Bitmasks: [!]VALUE/MASK in hexadecimal, where VALUE is 0 or MASK; fragments also by name.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "user/import/flowspec_text.h"

static const struct {
	const char *word;
	enum sl_flowspec_type type;
} words[] = {
	{ "dst", SL_FLOWSPEC_DESTINATION },	{ "src", SL_FLOWSPEC_SOURCE },
	{ "proto", SL_FLOWSPEC_PROTOCOL },	{ "next header", SL_FLOWSPEC_PROTOCOL },
	{ "port", SL_FLOWSPEC_PORT },		{ "dport", SL_FLOWSPEC_DESTINATION_PORT },
	{ "sport", SL_FLOWSPEC_SOURCE_PORT },	{ "icmp type", SL_FLOWSPEC_ICMP_TYPE },
	{ "icmp code", SL_FLOWSPEC_ICMP_CODE }, { "tcp flags", SL_FLOWSPEC_TCP_FLAGS },
	{ "length", SL_FLOWSPEC_LENGTH },	{ "dscp", SL_FLOWSPEC_DSCP },
	{ "fragment", SL_FLOWSPEC_FRAGMENT },	{ "label", SL_FLOWSPEC_FLOW_LABEL },
};

static bool __attribute__((format(printf, 2, 3)))
cannot(struct sl_flowspec *spec, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!*spec->why)
		vsnprintf(spec->why, sizeof(spec->why), format, args);
	va_end(args);
	return false;
}

/* --- Words and numbers; *at moves behind what was read --- */

static void skip_blanks(const char **at)
{
	while (**at == ' ')
		++*at;
}

/* The word, if it is the next, and no longer one begins so. */
static bool take(const char **at, const char *word)
{
	const size_t n = strlen(word);

	skip_blanks(at);
	if (strncmp(*at, word, n) != 0)
		return false;
	if (isalnum((unsigned char)word[n - 1]) &&
	    (isalnum((unsigned char)(*at)[n]) || (*at)[n] == '_'))
		return false;
	*at += n;
	return true;
}

static bool take_number(const char **at, int base, uint32_t *out)
{
	unsigned long long value;
	char *end;

	skip_blanks(at);
	if (!isxdigit((unsigned char)**at))
		return false;
	value = strtoull(*at, &end, base);
	if (value > UINT32_MAX)
		return false;
	*at = end;
	*out = (uint32_t)value;
	return true;
}

/* --- Components --- */

static bool add_term(struct sl_flowspec *spec, struct sl_flowspec_component *c, uint8_t op,
		     uint32_t value)
{
	if (spec->n_terms == SL_FLOWSPEC_TERMS_MAX)
		return cannot(spec, "it has more than %d values", SL_FLOWSPEC_TERMS_MAX);
	if (!c->n)
		c->first = (uint16_t)spec->n_terms;
	c->n++;
	spec->term[spec->n_terms++] = (struct sl_flowspec_term){ op, value };
	return true;
}

static bool read_prefix(struct sl_flowspec *spec, struct sl_flowspec_component *c, const char **at)
{
	char text[SL_PREFIX_STRLEN + 1];
	size_t n;

	skip_blanks(at);
	n = strspn(*at, "0123456789abcdefABCDEF.:/");
	if (n >= sizeof(text))
		return cannot(spec, "a prefix that is none");
	memcpy(text, *at, n);
	text[n] = '\0';
	*at += n;
	if (take(at, "offset") && (!take_number(at, 10, &c->offset) || c->offset > 128))
		return cannot(spec, "a prefix whose offset is no number");
	if (c->offset)
		return cannot(spec, "a prefix with an offset, which rules do not know");
	if (sl_prefix_parse(text, &c->prefix) || c->prefix.family != spec->family)
		return cannot(spec, "a prefix that is none of its family");
	return true;
}

/* Of a number: "true", "false", or what compares, with its value. */
static bool read_number(struct sl_flowspec *spec, struct sl_flowspec_component *c, const char **at,
			uint8_t and_bit)
{
	static const struct {
		const char *word;
		uint8_t op;
	} operators[] = {
		{ "<=", SL_FLOWSPEC_LESS | SL_FLOWSPEC_EQUAL },
		{ ">=", SL_FLOWSPEC_GREATER | SL_FLOWSPEC_EQUAL },
		{ "!=", SL_FLOWSPEC_LESS | SL_FLOWSPEC_GREATER },
		{ "<", SL_FLOWSPEC_LESS },
		{ ">", SL_FLOWSPEC_GREATER },
		{ "=", SL_FLOWSPEC_EQUAL },
		{ "true", SL_FLOWSPEC_LESS | SL_FLOWSPEC_GREATER | SL_FLOWSPEC_EQUAL },
		{ "false", 0 },
	};
	const size_t n = sizeof(operators) / sizeof(operators[0]);
	uint32_t value = 0, high;
	size_t i = 0;

	while (i < n && !take(at, operators[i].word))
		i++;
	if (!take_number(at, 10, &value) &&
	    (i == n || isalpha((unsigned char)*operators[i].word) == 0))
		return cannot(spec, "a value that is no number");
	if (i < n)
		return add_term(spec, c, operators[i].op | and_bit, value);
	if (strncmp(*at, "..", 2) != 0)
		return add_term(spec, c, SL_FLOWSPEC_EQUAL | and_bit, value);
	*at += 2;
	if (!take_number(at, 10, &high))
		return cannot(spec, "a range without its end");
	return add_term(spec, c, SL_FLOWSPEC_GREATER | SL_FLOWSPEC_EQUAL | and_bit, value) &&
	       add_term(spec, c, SL_FLOWSPEC_LESS | SL_FLOWSPEC_EQUAL | SL_FLOWSPEC_AND, high);
}

static bool read_bitmask(struct sl_flowspec *spec, struct sl_flowspec_component *c, const char **at,
			 uint8_t and_bit, bool fragment)
{
	static const struct {
		const char *word;
		uint32_t value;
	} kinds[] = {
		{ "dont_fragment", SL_FLOWSPEC_DONT_FRAGMENT },
		{ "is_fragment", SL_FLOWSPEC_IS_FRAGMENT },
		{ "first_fragment", SL_FLOWSPEC_FIRST },
		{ "last_fragment", SL_FLOWSPEC_LAST },
	};
	bool not ;
	uint32_t value, mask;

	skip_blanks(at);
	not = **at == '!';
	*at += not ;
	for (size_t i = 0; fragment && i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (take(at, kinds[i].word))
			return add_term(spec, c,
					SL_FLOWSPEC_MATCH | (not ? SL_FLOWSPEC_NOT : 0) | and_bit,
					kinds[i].value);
	if (!take_number(at, 16, &value) || **at != '/')
		return cannot(spec, "a bitmask that is none");
	++*at;
	if (!take_number(at, 16, &mask) || (value && value != mask))
		return cannot(spec, "a bitmask that is none");
	/* no bit of it is the opposite of any bit of it */
	if (!value)
		return add_term(spec, c, (not ? 0 : SL_FLOWSPEC_NOT) | and_bit, mask);
	return add_term(spec, c, SL_FLOWSPEC_MATCH | (not ? SL_FLOWSPEC_NOT : 0) | and_bit, mask);
}

static bool read_terms(struct sl_flowspec *spec, struct sl_flowspec_component *c, const char **at,
		       enum sl_flowspec_type type)
{
	const bool mask = type == SL_FLOWSPEC_TCP_FLAGS || type == SL_FLOWSPEC_FRAGMENT;
	uint8_t and_bit = 0;

	for (;;) {
		if (mask ? !read_bitmask(spec, c, at, and_bit, type == SL_FLOWSPEC_FRAGMENT)
			 : !read_number(spec, c, at, and_bit))
			return false;
		and_bit = 0;
		if (take(at, "&&"))
			and_bit = SL_FLOWSPEC_AND;
		else if (!take(at, "||") && !take(at, ","))
			return true;
	}
}

/* "flow4 {" has been read. */
static bool read_components(struct sl_flowspec *spec, const char **at)
{
	const size_t n = sizeof(words) / sizeof(words[0]);

	if (take(at, "}"))
		return cannot(spec, "it asks for nothing");
	while (!take(at, "}")) {
		struct sl_flowspec_component *c;
		size_t i = 0;

		while (i < n && !take(at, words[i].word))
			i++;
		if (i == n)
			return cannot(spec, "a component that is not known");
		c = &spec->component[words[i].type];
		if (c->is_there)
			return cannot(spec, "it has twice \"%s\"", words[i].word);
		c->is_there = true;
		if (words[i].type == SL_FLOWSPEC_FLOW_LABEL && spec->family == AF_INET)
			return cannot(spec, "a flow label, which IPv4 does not have");
		if (words[i].type <= SL_FLOWSPEC_SOURCE ? !read_prefix(spec, c, at)
							: !read_terms(spec, c, at, words[i].type))
			return false;
		if (!take(at, ";"))
			return cannot(spec, "a component that is not known");
	}
	return true;
}

/* --- Actions --- */

static bool add_rate(struct sl_flowspec *spec, bool *has, float *rate, uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	if (*has)
		return cannot(spec, "two rates");
	if (!(value <= 1e30f)) /* not a number either */
		return cannot(spec, "a rate without an end");
	*has = true;
	*rate = value < 0 ? 0 : value; /* 7.1: negative is zero */
	return true;
}

/* An extended community of a type that begins with 0x80: RFC 8955 7, table 2. */
static bool add_action(struct sl_flowspec *spec, uint32_t high, uint32_t low)
{
	struct sl_flowspec_actions *a = &spec->actions;

	switch (high >> 16) {
	case 0x8006:
		return add_rate(spec, &a->has_rate, &a->rate_Bps, low);
	case 0x800c:
		return add_rate(spec, &a->has_rate_pps, &a->rate_pps, low);
	case 0x8007:
		if (low & 3)
			return cannot(spec, "traffic-action %s",
				      low & 1 ? "that goes on with the next ones" : "sample");
		return true;
	case 0x8008:
		if (a->has_redirect || a->has_next_hop)
			return cannot(spec, "two redirects");
		a->has_redirect = true;
		a->as = (uint16_t)high;
		a->number = low;
		return true;
	case 0x8009:
		if (a->dscp_plus1)
			return cannot(spec, "two marks");
		a->dscp_plus1 = (uint8_t)((low & 0x3f) + 1);
		return true;
	default:
		return cannot(spec, "an action 0x%x that is not known", high >> 16);
	}
}

/* Redirect to an IPv4 address: "(unknown 0x10c, 192.0.2.1, 0)". */
static bool add_next_hop(struct sl_flowspec *spec, const char *text, size_t n)
{
	struct sl_flowspec_actions *a = &spec->actions;
	char address[16];
	uint8_t family, bytes[16];

	if (a->has_redirect || a->has_next_hop)
		return cannot(spec, "two redirects");
	if (n >= sizeof(address))
		return cannot(spec, "a redirect to no address");
	memcpy(address, text, n);
	address[n] = '\0';
	if (sl_addr_parse(address, &family, bytes) || family != AF_INET)
		return cannot(spec, "a redirect to no address");
	a->has_next_hop = true;
	memcpy(a->next_hop, bytes, sizeof(a->next_hop));
	return true;
}

/* All communities of a line. Those that are no actions, as route targets, are not for us. */
static void read_communities(struct sl_flowspec *spec, const char *line)
{
	const size_t line_bytes = strcspn(line, "\n");
	const char *at = memchr(line, '(', line_bytes), *const end = line + line_bytes;

	for (; at; at = memchr(at, '(', (size_t)(end - at))) {
		uint32_t high, low;

		at++;
		if (take(&at, "generic,")) {
			if (!take_number(&at, 16, &high) || !take(&at, ",") ||
			    !take_number(&at, 16, &low))
				cannot(spec, "a community that cannot be read");
			else if (high >> 24 >= 0x80 && high >> 24 <= 0x82)
				add_action(spec, high, low);
		} else if (take(&at, "unknown 0x10c,")) {
			skip_blanks(&at);
			add_next_hop(spec, at, strspn(at, "0123456789."));
		}
		if (at > end)
			return;
	}
}

/* --- Lines --- */

/* What stands in the line behind its code. */
static const char *content(const char *line)
{
	size_t digits = 0;

	while (digits < 4 && isdigit((unsigned char)line[digits]))
		digits++;
	if (digits == 4 && line[4] == '-')
		return line + 5;
	return *line == ' ' ? line + 1 : line;
}

static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return *line ? line + 1 : line;
}

static bool starts(const char *line, const char *with)
{
	return strncmp(line, with, strlen(with)) == 0;
}

static void read_specification(struct sl_flowspec *spec, const char *line)
{
	const char *at = line + strlen("flow4 {"), *bracket = strchr(line, '[');
	const size_t line_bytes = strcspn(line, "\n");
	const char *close = memchr(line, '}', line_bytes);

	spec->family = line[4] == '6' ? AF_INET6 : AF_INET;
	spec->text = line;
	spec->text_bytes = close ? (size_t)(close + 1 - line) : line_bytes;
	/* It ends with "...}", or without that. */
	if (!close || memmem(line, line_bytes, "...", 3)) {
		cannot(spec, "BIRD shows only its beginning");
		return;
	}
	if (!read_components(spec, &at))
		return;
	if (take(&at, "unreachable") && (!bracket || at < bracket))
		cannot(spec, "no unicast route allows it (RFC 8955 section 6)");
}

bool sl_flowspec_next(const char **at, struct sl_flowspec *out)
{
	bool found = false, communities = false;

	memset(out, 0, sizeof(*out));
	for (; **at; *at = next_line(*at)) {
		const char *line = content(*at);

		if (starts(line, "flow4 {") || starts(line, "flow6 {")) {
			if (found)
				return true;
			found = true;
			read_specification(out, line);
		} else if (starts(line, "\tBGP.ext_community:")) {
			communities = true;
		} else if (!starts(line, "\t\t")) {
			communities = false;
		}
		if (found && communities)
			read_communities(out, line);
	}
	return found;
}
