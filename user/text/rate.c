/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/text/rate.h"

#define LARGEST 1000000000000000ULL

static const struct {
	const char *name;
	uint64_t factor;
	bool frames;
} units[] = {
	{ "bit", 1, false },	       { "kbit", 1000, false }, { "mbit", 1000000, false },
	{ "gbit", 1000000000, false }, { "pps", 1, true },	{ "kpps", 1000, true },
	{ "mpps", 1000000, true },
};

int sl_rate_parse(const char *text, struct sl_rate *out)
{
	unsigned long long number;
	uint64_t per_s;
	char *unit;

	if (!isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	number = strtoull(text, &unit, 10);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(unit, units[i].name) != 0)
			continue;
		if (errno || number > LARGEST / units[i].factor)
			return -ERANGE;
		per_s = number * units[i].factor / (units[i].frames ? 1 : 8);
		if (!per_s)
			return -ERANGE;
		*out = (struct sl_rate){ .per_s = per_s, .frames = units[i].frames };
		return 0;
	}
	return -EINVAL;
}
