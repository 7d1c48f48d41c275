/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The Internet checksum (RFC 1071). */
#ifndef SL_INTERNET_CHECKSUM_BPF_H
#define SL_INTERNET_CHECKSUM_BPF_H

#include <linux/types.h>

/* Fold a sum of words, in the order of memory, to 16 bits. */
static inline __attribute__((always_inline)) __u16 sl_fold(__u64 sum)
{
	sum = (sum & 0xffffffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

/*
 * Does sl_fold(sum) == 0xffff? A sum above 0 folds to 0xffff if it is a multiple of 65,535. Such a
 * multiple, times the inverse of 65,535 modulo 2^64, is the quotient; all other numbers become
 * larger ones (Granlund and Montgomery 1994, section 9).
 */
static inline __attribute__((always_inline)) _Bool sl_folds_to_ones(__u64 sum)
{
	return sum && sum * 0xfffefffefffeffffULL <= ~0ULL / 0xffff;
}

#endif
