/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* Bits set in a word: BPF has no instruction for it. */
#ifndef SL_BITS_BPF_H
#define SL_BITS_BPF_H

#include <linux/types.h>

static inline __attribute__((always_inline)) __u32 sl_count_bits32(__u32 x)
{
	x -= x >> 1 & 0x55555555;
	x = (x & 0x33333333) + (x >> 2 & 0x33333333);
	return ((x + (x >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

static inline __attribute__((always_inline)) __u32 sl_count_bits64(__u64 x)
{
	x -= x >> 1 & 0x5555555555555555ULL;
	x = (x & 0x3333333333333333ULL) + (x >> 2 & 0x3333333333333333ULL);
	return ((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fULL) * 0x0101010101010101ULL >> 56;
}

#endif
