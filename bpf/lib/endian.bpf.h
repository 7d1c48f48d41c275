/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Host order to network order and back, with types that sparse can check. libbpf's bpf_htons and
 * the like return plain integers, so sparse would not see a value in the wrong order.
 */
#ifndef SL_ENDIAN_BPF_H
#define SL_ENDIAN_BPF_H

#include <linux/types.h>

#ifdef __CHECKER__
#define SL_FORCE __attribute__((force))
#else
#define SL_FORCE
#endif

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define SL_SWAP16(x) __builtin_bswap16(x)
#define SL_SWAP32(x) __builtin_bswap32(x)
#define SL_SWAP64(x) __builtin_bswap64(x)
#else
#define SL_SWAP16(x) (x)
#define SL_SWAP32(x) (x)
#define SL_SWAP64(x) (x)
#endif

static inline __attribute__((always_inline)) __be16 sl_htons(__u16 x)
{
	return (SL_FORCE __be16)SL_SWAP16(x);
}

static inline __attribute__((always_inline)) __be32 sl_htonl(__u32 x)
{
	return (SL_FORCE __be32)SL_SWAP32(x);
}

static inline __attribute__((always_inline)) __u16 sl_ntohs(__be16 x)
{
	return SL_SWAP16((SL_FORCE __u16)x);
}

static inline __attribute__((always_inline)) __u32 sl_ntohl(__be32 x)
{
	return SL_SWAP32((SL_FORCE __u32)x);
}

static inline __attribute__((always_inline)) __be64 sl_htonll(__u64 x)
{
	return (SL_FORCE __be64)SL_SWAP64(x);
}

static inline __attribute__((always_inline)) __u64 sl_ntohll(__be64 x)
{
	return SL_SWAP64((SL_FORCE __u64)x);
}

#endif
