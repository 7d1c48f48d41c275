/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>

#include "user/text/quantity.h"

const char *sl_quantity(uint64_t value, char text[SL_QUANTITY_BYTES])
{
	uint64_t unit = 1000; /* of the prefix */

	if (value < 1000) {
		snprintf(text, SL_QUANTITY_BYTES, "%" PRIu64 " ", value);
		return text;
	}
	for (const char *prefix = "kMGTPE"; *prefix; prefix++, unit *= 1000) {
		uint64_t step = unit / 100; /* of the last digit */

		for (int i = 0; i < 3; i++, step *= 10) {
			uint64_t steps = value / step + (value % step >= step / 2);

			if (steps >= 1000)
				continue;
			snprintf(text, SL_QUANTITY_BYTES, "%.*f %c", 2 - i,
				 (double)(steps * step) / (double)unit, *prefix);
			return text;
		}
	}
	return text; /* not reached: 2^64 is 18.4 E */
}

const char *sl_duration(uint64_t ms, char text[SL_QUANTITY_BYTES])
{
	const uint64_t s = ms / 1000;

	if (ms < 1000)
		snprintf(text, SL_QUANTITY_BYTES, "%" PRIu64 " ms", ms);
	else if (s < 60)
		snprintf(text, SL_QUANTITY_BYTES, "%" PRIu64 ".%" PRIu64 " s", s, ms / 100 % 10);
	else if (s < 3600)
		snprintf(text, SL_QUANTITY_BYTES, "%" PRIu64 ":%02" PRIu64 " min", s / 60, s % 60);
	else if (s < 86400)
		snprintf(text, SL_QUANTITY_BYTES, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64 " h",
			 s / 3600, s / 60 % 60, s % 60);
	else
		snprintf(text, SL_QUANTITY_BYTES, "%" PRIu64 " d %" PRIu64 " h", s / 86400,
			 s / 3600 % 24);
	return text;
}
