/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "user/text/duration.h"

#define LARGEST_NS (1000 * 3600 * 1000000000ULL)

static const struct {
	const char *name;
	uint64_t ns;
} units[] = {
	{ "ns", 1 },
	{ "us", 1000 },
	{ "ms", 1000000 },
	{ "s", 1000000000ULL },
	{ "min", 60000000000ULL },
	{ "h", 3600000000000ULL },
};

int sl_duration_parse(const char *text, uint64_t *out_ns)
{
	uint64_t whole = 0, fraction = 0, scale = 1, ns;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	for (; isdigit((unsigned char)*text); text++) {
		if (whole > LARGEST_NS)
			return -ERANGE;
		whole = 10 * whole + (uint64_t)(*text - '0');
	}
	if (*text == '.') {
		if (!isdigit((unsigned char)*++text))
			return -EINVAL;
		for (; isdigit((unsigned char)*text); text++) {
			if (scale == 1000000000)
				return -EINVAL;
			fraction = 10 * fraction + (uint64_t)(*text - '0');
			scale *= 10;
		}
	}
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(text, units[i].name) != 0)
			continue;
		if (whole > LARGEST_NS / units[i].ns)
			return -ERANGE;
		ns = whole * units[i].ns +
		     (uint64_t)((unsigned __int128)fraction * units[i].ns / scale);
		if (ns > LARGEST_NS)
			return -ERANGE;
		*out_ns = ns;
		return 0;
	}
	return -EINVAL;
}

const char *sl_duration_ns_text(int64_t value_ns, char text[SL_DURATION_BYTES])
{
	static const char *const names[] = { "us", "ms", "s" };
	const double size = value_ns < 0 ? -(double)value_ns : (double)value_ns;
	double value = (double)value_ns, left = size;
	int unit = -1, digits;

	if (size < 999.5) {
		snprintf(text, SL_DURATION_BYTES, "%" PRId64 " ns", value_ns);
		return text;
	}
	while (left >= 999.5 && unit < 2) {
		left /= 1000;
		value /= 1000;
		unit++;
	}
	digits = left < 9.995 ? 2 : left < 99.95 ? 1 : 0;
	snprintf(text, SL_DURATION_BYTES, "%.*f %s", digits, value, names[unit]);
	return text;
}
