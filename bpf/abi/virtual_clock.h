/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A token bucket in one word that several processors share, XDP and the bridge among them: its
 * virtual clock is the time at which the bucket will be full if nothing is spent (the generic cell
 * rate algorithm, ITU-T I.371 5.4.1.4, as virtual scheduling). A packet of any size may leave while
 * any token is left; its units then take the clock ahead, beyond the burst, too: the bucket owes
 * them. Who spends swaps the word, so no token is spent twice.
 *
 * The clock counts ticks of 2^-10 ns modulo 2^64: 208 days. A clock that is ahead by more than a
 * bucket can owe stands for the most that it can owe. So it does after years without a packet, or
 * when the rate has grown.
 */
#ifndef SL_VIRTUAL_CLOCK_H
#define SL_VIRTUAL_CLOCK_H

#include <linux/types.h>

#define SL_TICKS_PER_NS	    1024ULL
#define SL_TICKS_PER_SECOND (1000000000ULL * SL_TICKS_PER_NS)
/* A longer time than these units take at a rate needs more than 64 bits on the way. */
#define SL_TICKS_UNITS_MAX (1U << 24)

/* The time that so many units take, to the nearest tick; at most SL_TICKS_UNITS_MAX of them. */
static inline __attribute__((always_inline)) __u64 sl_ticks_of(__u32 units, __u64 rate)
{
	return (units * SL_TICKS_PER_SECOND + rate / 2) / rate;
}

/* How far the clock is ahead of now; all but the second and third arguments in ticks. */
static inline __attribute__((always_inline)) __u64 sl_clock_ahead(__u64 clock, __u64 now_ns,
								  __u64 owed_max)
{
	__u64 ahead = clock - now_ns * SL_TICKS_PER_NS;

	if (ahead >> 63)
		return 0; /* it is behind: the bucket is full */
	return ahead < owed_max ? ahead : owed_max;
}

#endif
