/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/lib/clock.h"

#define TRIES_MAX 3
#define NEAR_NS	  1000 /* three readings take a tenth of that where nothing interrupts them */

int64_t sl_tai_offset_ns(int64_t former_ns)
{
	for (int i = 0; i < TRIES_MAX; i++) {
		const uint64_t before_ns = sl_now_ns(), tai_ns = sl_clock_ns(CLOCK_TAI);
		const uint64_t took_ns = sl_now_ns() - before_ns;
		const int64_t half_ns = (int64_t)(took_ns / 2);
		const int64_t offset_ns = (int64_t)(tai_ns - before_ns) - half_ns;

		/* Also where a clock takes longer to read: the former offset cannot be right. */
		if (took_ns < NEAR_NS || offset_ns - former_ns > half_ns ||
		    former_ns - offset_ns > half_ns)
			return offset_ns;
	}
	return former_ns;
}
