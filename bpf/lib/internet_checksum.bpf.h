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

#endif
