/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Packets without a TCP or UDP checksum. A sender on a veth or behind a TAP leaves the checksum to
 * its device, which marks the packet as CHECKSUM_PARTIAL: the field holds the sum of the
 * pseudo-header alone. XDP does not see the mark, and a redirected frame loses it, so we complete
 * such a checksum here. A complete checksum that looks alike, one in 65,536, stays what it is.
 *
 * Only the outermost header is seen: inside a tunnel a checksum stays partial.
 */
#ifndef SL_L4_CHECKSUM_BPF_H
#define SL_L4_CHECKSUM_BPF_H

#include <linux/tcp.h>
#include <linux/udp.h>

#include "bpf/edge/ip4.bpf.h"
#include "bpf/edge/packet.bpf.h"

#define SL_SCTP_CRC_OFFSET 8 /* ports, verification tag */

#define SL_SUM_BYTES	 512 /* what bpf_csum_diff adds up at once */
#define SL_SUM_MAX_BYTES (32 * SL_SUM_BYTES)

struct sl_sum_buffer {
	__u32 word[SL_SUM_BYTES / 4 + 1]; /* the verifier wants room for rounding up */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sl_sum_buffer);
} sl_sum SEC(".maps");

/*
 * The folded sum of these bytes of the frame, in however many buffers they are; -1: there are too
 * many. Not inlined, so that it is verified only once.
 */
__attribute__((noinline)) int sl_sum_bytes(struct xdp_md *ctx, __u32 offset, __u32 bytes)
{
	__u32 zero = 0, i, words;
	struct sl_sum_buffer *buffer = bpf_map_lookup_elem(&sl_sum, &zero);
	__s64 sum = 0;

	if (!buffer)
		return -1;
	for (i = 0; i < SL_SUM_MAX_BYTES / SL_SUM_BYTES && bytes > SL_SUM_BYTES; i++) {
		if (bpf_xdp_load_bytes(ctx, offset, buffer, SL_SUM_BYTES))
			return -1;
		sum = bpf_csum_diff(NULL, 0, (void *)buffer, SL_SUM_BYTES, (SL_FORCE __wsum)sum);
		offset += SL_SUM_BYTES;
		bytes -= SL_SUM_BYTES;
	}
	if (bytes > SL_SUM_BYTES)
		return -1;
	/* For the verifier of Linux 6.1: 1 to SL_SUM_BYTES. */
	bytes = ((bytes - 1) & (SL_SUM_BYTES - 1)) + 1;
	buffer->word[bytes / 4] = 0;
	if (bpf_xdp_load_bytes(ctx, offset, buffer, bytes))
		return -1;
	words = (bytes + 3) & (2 * SL_SUM_BYTES - 4);
	sum = bpf_csum_diff(NULL, 0, (void *)buffer, words, (SL_FORCE __wsum)sum);
	return sl_fold((__u32)sum);
}

/* The sum of the pseudo-header (RFC 9293 3.1, RFC 8200 8.1). */
static __always_inline __u64 sl_sum_pseudo(const struct sl_packet *pkt, __u8 protocol, __u32 bytes)
{
	__u64 sum = (SL_FORCE __u32)sl_htonl(bytes) + (__u64)(SL_FORCE __u32)sl_htonl(protocol);
	__u32 i;

	if (pkt->ip4) {
		const struct iphdr *ip = pkt->l3;

		sum += (__u64)(SL_FORCE __u32)ip->saddr + (SL_FORCE __u32)ip->daddr;
	} else {
		const __u32 *word = (const void *)&((struct ipv6hdr *)pkt->l3)->saddr;

		for (i = 0; i < 8; i++)
			sum += word[i];
	}
	return sum;
}

static __always_inline __u8 sl_l4_protocol(const struct sl_packet *pkt)
{
	return pkt->ip4 ? ((struct iphdr *)pkt->l3)->protocol
			: ((struct ipv6hdr *)pkt->l3)->nexthdr;
}

/* Is the CRC of the SCTP packet 0? Not inlined, so that it is verified only once. */
__attribute__((noinline)) int sl_crc_is_zero(struct xdp_md *ctx, __u32 l3_offset)
{
	const void *l3 = (void *)(long)ctx->data + (l3_offset & 0xff);
	const void *end = (void *)(long)ctx->data_end;
	const struct iphdr *ip4 = l3;
	const struct ipv6hdr *ip6 = l3;
	const __be32 *crc;

	if ((const void *)(ip4 + 1) > end)
		return false;
	if (ip4->version == 4) {
		if (ip4->frag_off & sl_htons(SL_IP4_FRAGMENT))
			return false;
		crc = (const void *)(ip4 + 1) + SL_SCTP_CRC_OFFSET;
	} else {
		crc = (const void *)(ip6 + 1) + SL_SCTP_CRC_OFFSET;
	}
	return (const void *)(crc + 1) <= end && !*crc;
}

/*
 * SCTP's is a CRC (RFC 9260 6.8), which a program cannot compute at a sensible cost. A sender that
 * leaves it to its device writes 0. Packets of other protocols do not pay for the call.
 */
static __always_inline bool sl_lacks_crc(const struct sl_packet *pkt)
{
	return sl_l4_protocol(pkt) == IPPROTO_SCTP && sl_crc_is_zero(pkt->ctx, pkt->l3 - pkt->l2);
}

/* Once the frame can no longer go to the kernel, which would add to what we complete. */
static __always_inline void sl_complete_checksum(const struct sl_packet *pkt)
{
	__u32 header_bytes = pkt->ip4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
	__u32 bytes = pkt->ip_len_bytes - header_bytes;
	__u8 protocol = sl_l4_protocol(pkt);
	void *l4 = pkt->l3 + header_bytes;
	__u16 *check;
	int sum;

	if (pkt->ip4 && ((struct iphdr *)pkt->l3)->frag_off & sl_htons(SL_IP4_FRAGMENT))
		return;
	if (protocol == IPPROTO_TCP)
		check = l4 + __builtin_offsetof(struct tcphdr, check);
	else if (protocol == IPPROTO_UDP)
		check = l4 + __builtin_offsetof(struct udphdr, check);
	else
		return;
	/* Folded, a sum is never 0; and it is *check if, with the complement, it folds to ones. */
	if ((void *)(check + 1) > pkt->end || !*check ||
	    !sl_folds_to_ones(sl_sum_pseudo(pkt, protocol, bytes) + (__u16) ~*check))
		return;
	sum = sl_sum_bytes(pkt->ctx, pkt->l3 - pkt->l2 + header_bytes, bytes);
	if (sum < 0)
		return;
	/* A UDP checksum of 0 would mean that there is none (RFC 768). */
	*check = (__u16)~sum ? (__u16)~sum : 0xffff;
}

#endif
