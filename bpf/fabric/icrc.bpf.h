/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The ICRC of RoCEv2 packets (docs/PROTOCOL.md, section 2), by slicing-by-eight (Kounavis and Berry
 * 2005). The kernel verifies these functions once, however often they are called.
 */
#ifndef SL_ICRC_BPF_H
#define SL_ICRC_BPF_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi/crc.h"
#include "bpf/fabric/message.bpf.h"

/* Filled before the program is loaded, if it needs it. */
const volatile struct sl_crc_table sl_crc_table = {};

/* The state after the eight bytes of ones that stand for a header which RoCEv2 does not have. */
#define SL_ICRC_BEGIN 0xdebb20e3u

typedef __u32 __attribute__((may_alias, aligned(2))) sl_icrc_word;

#define SL_CRC_BYTE(n, word, shift) sl_crc_table.after[n][(word) >> (shift)&0xff]

/* The bytes of memory, the first one as the least significant. */
static __always_inline __u32 sl_little_endian(__u32 word)
{
	return __builtin_bswap32((SL_FORCE __u32)sl_htonl(word));
}

static __always_inline __u32 sl_crc_word(__u32 crc, __u32 word)
{
	word = sl_little_endian(word) ^ crc;
	return SL_CRC_BYTE(3, word, 0) ^ SL_CRC_BYTE(2, word, 8) ^ SL_CRC_BYTE(1, word, 16) ^
	       SL_CRC_BYTE(0, word, 24);
}

static __always_inline __u32 sl_crc_two_words(__u32 crc, __u32 word, __u32 next)
{
	word = sl_little_endian(word) ^ crc;
	next = sl_little_endian(next);
	return SL_CRC_BYTE(7, word, 0) ^ SL_CRC_BYTE(6, word, 8) ^ SL_CRC_BYTE(5, word, 16) ^
	       SL_CRC_BYTE(4, word, 24) ^ SL_CRC_BYTE(3, next, 0) ^ SL_CRC_BYTE(2, next, 8) ^
	       SL_CRC_BYTE(1, next, 16) ^ SL_CRC_BYTE(0, next, 24);
}

/* The IP header; ones replace what routers change. */
static __always_inline __u32 sl_icrc_ip(const sl_icrc_word *ip, bool v4)
{
	__u32 crc = SL_ICRC_BEGIN, i;

	if (v4) {
		crc = sl_crc_word(crc, ip[0] | (SL_FORCE __u32)sl_htonl(0x00ff0000));
		crc = sl_crc_word(crc, ip[1]);
		crc = sl_crc_word(crc, ip[2] | (SL_FORCE __u32)sl_htonl(0xff00ffff));
		crc = sl_crc_word(crc, ip[3]);
		return sl_crc_word(crc, ip[4]);
	}
	crc = sl_crc_word(crc, ip[0] | (SL_FORCE __u32)sl_htonl(0x0fffffff));
	crc = sl_crc_word(crc, ip[1] | (SL_FORCE __u32)sl_htonl(0x000000ff));
#pragma unroll
	for (i = 2; i < sizeof(struct ipv6hdr) / 4; i++)
		crc = sl_crc_word(crc, ip[i]);
	return crc;
}

/* UDP and BTH; likewise. */
static __always_inline __u32 sl_icrc_udp_bth(__u32 crc, const sl_icrc_word *udp)
{
	crc = sl_crc_word(crc, udp[0]);
	crc = sl_crc_word(crc, udp[1] | (SL_FORCE __u32)sl_htonl(0x0000ffff));
	crc = sl_crc_word(crc, udp[2]);
	crc = sl_crc_word(crc, udp[3] | (SL_FORCE __u32)sl_htonl(0xff000000));
	return sl_crc_word(crc, udp[4]);
}

#define SL_ICRC_BLOCK_BYTES 64
#define SL_ICRC_BLOCKS_MAX  127 /* more than the largest message has */

/* The blocks of a message; the functions that bpf_loop calls know no more. */
struct sl_icrc_blocks {
	void *begin, *end;
	__u32 crc;
};

static long sl_icrc_block(__u32 i, void *context)
{
	struct sl_icrc_blocks *blocks = context;
	const sl_icrc_word *word = blocks->begin + (i & SL_ICRC_BLOCKS_MAX) * SL_ICRC_BLOCK_BYTES;
	__u32 crc = blocks->crc, k;

	if ((void *)word + SL_ICRC_BLOCK_BYTES > blocks->end)
		return 1; /* for the verifier */
#pragma unroll
	for (k = 0; k < SL_ICRC_BLOCK_BYTES / 4; k += 2)
		crc = sl_crc_two_words(crc, word[k], word[k + 1]);
	blocks->crc = crc;
	return 0;
}

/*
 * The ICRC of the frame, whose last four bytes it is: untagged, IP without options, a multiple of
 * four bytes from there on. Returns where it stands, NULL if the frame is another one.
 */
static __always_inline sl_icrc_word *sl_icrc(struct xdp_md *ctx, __u32 *out)
{
	void *end = (void *)(long)ctx->data_end, *at;
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct sl_icrc_blocks blocks = { .end = end };
	__u32 n, i;

	if ((void *)(eth + 1) > end)
		return NULL;
	at = eth + 1;
	if (eth->h_proto == sl_htons(ETH_P_IP)) {
		if (at + sizeof(struct iphdr) > end)
			return NULL;
		blocks.crc = sl_icrc_ip(at, true);
		at += sizeof(struct iphdr);
	} else {
		if (at + sizeof(struct ipv6hdr) > end)
			return NULL;
		blocks.crc = sl_icrc_ip(at, false);
		at += sizeof(struct ipv6hdr);
	}
	if (at + sizeof(struct udphdr) + sizeof(struct sl_bth) > end)
		return NULL;
	blocks.crc = sl_icrc_udp_bth(blocks.crc, at);
	at += sizeof(struct udphdr) + sizeof(struct sl_bth);
	if (at + SL_ROCE_ICRC_BYTES > end)
		return NULL;
	blocks.begin = at;
	n = ((__u32)(end - at) - SL_ROCE_ICRC_BYTES) / SL_ICRC_BLOCK_BYTES & SL_ICRC_BLOCKS_MAX;
	bpf_loop(n, sl_icrc_block, &blocks, 0);
	at += n * SL_ICRC_BLOCK_BYTES;
	for (i = 0; i < SL_ICRC_BLOCK_BYTES / 8 && at + 8 + SL_ROCE_ICRC_BYTES <= end; i++) {
		const sl_icrc_word *word = at;

		blocks.crc = sl_crc_two_words(blocks.crc, word[0], word[1]);
		at += 8;
	}
	if (at + 4 + SL_ROCE_ICRC_BYTES <= end) {
		blocks.crc = sl_crc_word(blocks.crc, *(sl_icrc_word *)at);
		at += 4;
	}
	if (at + SL_ROCE_ICRC_BYTES > end)
		return NULL;
	*out = sl_little_endian(~blocks.crc);
	return at;
}

#endif
