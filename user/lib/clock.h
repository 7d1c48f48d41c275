/* SPDX-License-Identifier: BSD-2-Clause */
/* Clocks in nanoseconds. Inline: the bridge reads its clock in each round of its loop. */
#ifndef SL_CLOCK_H
#define SL_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t sl_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

/* How much CLOCK_TAI is ahead of CLOCK_MONOTONIC; or what is passed, if reading both took long and
 * the result does not contradict it. */
int64_t sl_tai_offset_ns(int64_t former_ns);

/* Of the monotonic clock. */
static inline uint64_t sl_now_ns(void)
{
	return sl_clock_ns(CLOCK_MONOTONIC);
}

#endif
