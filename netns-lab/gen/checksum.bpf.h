/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The Internet checksum (RFC 1071) over a few words of known number. */
#ifndef LAB_CHECKSUM_BPF_H
#define LAB_CHECKSUM_BPF_H

#include <linux/types.h>
#include <bpf/bpf_helpers.h>

static __always_inline __u32 add16(__u32 sum, const void *bytes, int len)
{
	const __u16 *word = bytes;

#pragma unroll
	for (int i = 0; i < len / 2; i++)
		sum += word[i];
	return sum;
}

/* The value of a checksum field; 0 if the sum includes a correct checksum. */
static __always_inline __u16 fold(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

#endif
