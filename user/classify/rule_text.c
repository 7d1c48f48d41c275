/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi/policer.h"
#include "user/classify/rule_text.h"
#include "user/text/rate.h"

struct word {
	const char *name; /* NULL ends a table */
	uint32_t value;
};

/* IANA's protocol numbers that people filter by */
static const struct word protocols[] = {
	{ "icmp", 1 },	 { "igmp", 2 },	   { "ipip", 4 },   { "tcp", 6 },	{ "udp", 17 },
	{ "dccp", 33 },	 { "ipv6", 41 },   { "rsvp", 46 },  { "gre", 47 },	{ "esp", 50 },
	{ "ah", 51 },	 { "icmpv6", 58 }, { "eigrp", 88 }, { "ospf", 89 },	{ "pim", 103 },
	{ "vrrp", 112 }, { "l2tp", 115 },  { "sctp", 132 }, { "udplite", 136 }, { NULL, 0 },
};

/* RFC 2474, 2597, 3246, 5865, 8622 */
static const struct word dscps[] = {
	{ "cs0", 0 },	{ "cs1", 8 },	{ "cs2", 16 },	{ "cs3", 24 },	{ "cs4", 32 },
	{ "cs5", 40 },	{ "cs6", 48 },	{ "cs7", 56 },	{ "af11", 10 }, { "af12", 12 },
	{ "af13", 14 }, { "af21", 18 }, { "af22", 20 }, { "af23", 22 }, { "af31", 26 },
	{ "af32", 28 }, { "af33", 30 }, { "af41", 34 }, { "af42", 36 }, { "af43", 38 },
	{ "ef", 46 },	{ "va", 44 },	{ "le", 1 },	{ NULL, 0 },
};

static const struct word fragments[] = {
	{ "none", SL_FRAGMENT_NONE },
	{ "first", SL_FRAGMENT_FIRST },
	{ "later", SL_FRAGMENT_LATER },
	{ NULL, 0 },
};

static const struct word flag_bits[] = {
	{ "fin", 0x01 }, { "syn", 0x02 }, { "rst", 0x04 }, { "psh", 0x08 }, { "ack", 0x10 },
	{ "urg", 0x20 }, { "ece", 0x40 }, { "cwr", 0x80 }, { NULL, 0 },
};

static const struct word *words_of(enum sl_field field)
{
	switch (field) {
	case SL_FIELD_PROTOCOL:
		return protocols;
	case SL_FIELD_DSCP:
		return dscps;
	case SL_FIELD_FRAGMENT:
		return fragments;
	default:
		return NULL;
	}
}

/* The value of the n characters at text: a name of the table, which may be NULL. */
static bool find_word(const struct word *words, const char *text, size_t n, uint32_t *value)
{
	for (; words && words->name; words++) {
		if (strlen(words->name) == n && !strncmp(words->name, text, n)) {
			*value = words->value;
			return true;
		}
	}
	return false;
}

/* A number of at most 7 digits. */
static bool find_number(const char *text, size_t n, uint32_t *value)
{
	uint32_t number = 0;

	if (n == 0 || n > 7)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!isdigit((unsigned char)text[i]))
			return false;
		number = number * 10 + (uint32_t)(text[i] - '0');
	}
	*value = number;
	return true;
}

/* "VALUE" or "LOW-HIGH", n characters. Fragments have names alone. */
static bool read_range(enum sl_field field, const char *text, size_t n, struct sl_range *out)
{
	const char *dash = memchr(text, '-', n);
	size_t low = dash ? (size_t)(dash - text) : n;

	if (find_word(words_of(field), text, n, &out->low)) {
		out->high = out->low;
		return true;
	}
	if (field == SL_FIELD_FRAGMENT || !find_number(text, low, &out->low))
		return false;
	out->high = out->low;
	if (dash && !find_number(dash + 1, n - low - 1, &out->high))
		return false;
	return out->low <= out->high && out->high < sl_field_values(field);
}

static int compare_ranges(const void *a, const void *b)
{
	const struct sl_range *x = a, *y = b;

	return x->low < y->low ? -1 : x->low > y->low;
}

/* Bring n ranges in order, and join those that overlap or touch. Returns how many are left. */
static uint32_t join_ranges(struct sl_range *range, uint32_t n)
{
	uint32_t last = 0;

	qsort(range, n, sizeof(*range), compare_ranges);
	for (uint32_t i = 1; i < n; i++) {
		if (range[i].low > range[last].high + 1)
			range[++last] = range[i];
		else if (range[i].high > range[last].high)
			range[last].high = range[i].high;
	}
	return last + 1;
}

int sl_ranges_parse(enum sl_field field, const char *text, struct sl_ranges *out)
{
	struct sl_ranges ranges = { 0 };
	size_t n;

	for (;; text += n + 1) {
		n = strcspn(text, ",");
		if (ranges.n == SL_RANGES_MAX)
			return -E2BIG;
		if (!read_range(field, text, n, &ranges.range[ranges.n++]))
			return -EINVAL;
		if (!text[n])
			break;
	}
	ranges.n = join_ranges(ranges.range, ranges.n);
	*out = ranges;
	return 0;
}

int sl_flags_parse(const char *text, uint8_t *flags, uint8_t *mask)
{
	uint8_t set = 0, asked = 0;
	size_t n;

	for (;; text += n + 1) {
		bool clear = *text == '!';
		uint32_t bit;

		text += clear;
		n = strcspn(text, ",");
		if (!find_word(flag_bits, text, n, &bit) || asked & bit)
			return -EINVAL;
		asked |= (uint8_t)bit;
		if (!clear)
			set |= (uint8_t)bit;
		if (!text[n])
			break;
	}
	*flags = set;
	*mask = asked;
	return 0;
}

int sl_rule_dscp_parse(const char *text, uint8_t *out)
{
	struct sl_ranges ranges;

	if (sl_ranges_parse(SL_FIELD_DSCP, text, &ranges) || ranges.n != 1 ||
	    ranges.range[0].low != ranges.range[0].high)
		return -EINVAL;
	*out = (uint8_t)ranges.range[0].low;
	return 0;
}

int sl_sample_parse(const char *text, uint32_t *out)
{
	return find_number(text, strlen(text), out) && *out ? 0 : -EINVAL;
}

int sl_table_parse(const char *text, uint32_t *out)
{
	const size_t n = strspn(text, "0123456789");
	uint64_t number;

	if (n == 0 || n > 10 || text[n])
		return -EINVAL;
	number = strtoull(text, NULL, 10);
	if (number == 0 || number > UINT32_MAX)
		return -EINVAL;
	*out = (uint32_t)number;
	return 0;
}

int sl_burst_parse(const char *text, uint64_t *out_bytes)
{
	size_t digits = strspn(text, "0123456789");
	uint64_t bytes = strtoull(text, NULL, 10), unit = 1;

	if (text[digits] == 'k')
		unit = 1000;
	else if (text[digits] == 'm')
		unit = 1000000;
	if (!digits || digits > 10 || (text[digits] && (unit == 1 || text[digits + 1])))
		return -EINVAL;
	if (!bytes || bytes > SL_POLICER_BURST_MAX / unit)
		return -EINVAL;
	*out_bytes = bytes * unit;
	return 0;
}

int sl_police_rate_parse(const char *text, uint64_t *out_Bps)
{
	struct sl_rate rate;

	if (sl_rate_parse(text, &rate) || rate.frames)
		return -EINVAL;
	*out_Bps = rate.per_s;
	return 0;
}

uint64_t sl_burst_default(uint64_t rate_Bps)
{
	uint64_t bytes = rate_Bps / 10;

	if (bytes < 15000)
		return 15000;
	return bytes < SL_POLICER_BURST_MAX ? bytes : SL_POLICER_BURST_MAX;
}
