/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * IPv4: what RFC 1812 asks of a router before (5.2.2, 5.3.7) and after (5.3.1) the lookup.
 */
#ifndef SL_IP4_BPF_H
#define SL_IP4_BPF_H

#include "bpf/edge/packet.bpf.h"
#include "bpf/lib/internet_checksum.bpf.h"

#define SL_IP4_FRAGMENT 0x3fff /* more-fragments flag and fragment offset */
#define SL_IP4_OFFSET	0x1fff /* fragment offset */

/* Is the address a.b.c.d in a/8? */
static __always_inline bool sl_ip4_in8(__be32 addr, __u8 a)
{
	return (addr & sl_htonl(0xff000000)) == sl_htonl((__u32)a << 24);
}

static __always_inline bool sl_ip4_link_local(__be32 addr) /* RFC 3927 */
{
	return (addr & sl_htonl(0xffff0000)) == sl_htonl(0xa9fe0000);
}

static __always_inline bool sl_ip4_multicast(__be32 addr)
{
	return (addr & sl_htonl(0xf0000000)) == sl_htonl(0xe0000000);
}

/* 224/4 and 240/4: no unicast address. */
static __always_inline bool sl_ip4_class_d_e(__be32 addr)
{
	return (addr & sl_htonl(0xe0000000)) == sl_htonl(0xe0000000);
}

/* RFC 1812 5.2.2 (2): the 16-bit words of a header with a good checksum add up to all ones. */
static __always_inline bool sl_ip4_checksum_ok(const struct iphdr *ip)
{
	const __u32 *word = (const void *)ip;
	__u64 sum = (__u64)word[0] + word[1] + word[2] + word[3] + word[4];

	return sl_folds_to_ones(sum);
}

/*
 * RFC 1812 4.2.3.1 and 5.3.7: addresses that no packet in transit may carry. Linux forwards 0/8 and
 * 240/4; we follow the RFC, which asks for these checks unless they are switched off.
 */
static __always_inline sl_verdict sl_ip4_special(__be32 src, __be32 dst, __u32 port_flags)
{
	if (sl_ip4_multicast(dst) || dst == sl_htonl(0xffffffff))
		return SL_PUNT(MULTICAST);
	if (!dst && !src)
		return SL_PUNT(MULTICAST); /* the obsolete broadcast address: RFC 1122 3.3.6 */
	if (port_flags & SL_PORT_LOCALNET4 && (sl_ip4_in8(src, 127) || sl_ip4_in8(dst, 127)))
		return SL_PUNT(LOCAL);
	if (sl_ip4_class_d_e(src) || sl_ip4_in8(src, 0) || sl_ip4_in8(src, 127))
		return SL_DROP(IP4_MARTIAN_SOURCE);
	if (sl_ip4_class_d_e(dst) || sl_ip4_in8(dst, 0) || sl_ip4_in8(dst, 127))
		return SL_DROP(IP4_MARTIAN_DEST);
	if (sl_ip4_link_local(src) || sl_ip4_link_local(dst))
		return SL_PUNT(LINK_LOCAL);
	return SL_GO_ON;
}

/*
 * First bytes of the addresses that sl_ip4_special looks at more closely: nearly all packets need
 * two loads in place of a dozen comparisons.
 */
static const __u8 sl_ip4_first_byte_special[256] = {
	[0] = 1, [127] = 1, [169] = 1, [224 ... 255] = 1
};

static __always_inline sl_verdict sl_ip4_addresses(const struct iphdr *ip, __u32 port_flags)
{
	const __u8 *src = (const void *)&ip->saddr, *dst = (const void *)&ip->daddr;

	if (!(sl_ip4_first_byte_special[*src] | sl_ip4_first_byte_special[*dst]))
		return SL_GO_ON;
	return sl_ip4_special(ip->saddr, ip->daddr, port_flags);
}

/* Is the header valid? Fills in its facts. */
static __always_inline sl_verdict sl_ip4_header(struct sl_packet *pkt)
{
	const struct iphdr *ip = pkt->l3;
	__u32 l3_offset = ETH_HLEN + pkt->tags * sizeof(struct sl_tag);
	__u32 frame_bytes = pkt->len_bytes - l3_offset;
	__u32 header_bytes;

	if (sl_unlikely((void *)(ip + 1) > pkt->end)) /* 5.2.2 (1) */
		return sl_missing(pkt, l3_offset + sizeof(*ip), SL_DROP(IP4_TRUNCATED));
	if (ip->version != 4) /* 5.2.2 (3) */
		return SL_DROP(IP4_VERSION);
	header_bytes = ip->ihl * 4;
	if (header_bytes < sizeof(*ip) || header_bytes > frame_bytes) /* 5.2.2 (4) */
		return SL_DROP(IP4_HEADER_LENGTH);
	pkt->ip_len_bytes = sl_ntohs(ip->tot_len);
	if (pkt->ip_len_bytes < header_bytes || pkt->ip_len_bytes > frame_bytes) /* 5.2.2 (5) */
		return SL_DROP(IP4_TOTAL_LENGTH);
	pkt->ttl = ip->ttl;
	/* with options the kernel checks it */
	return header_bytes > sizeof(*ip) || sl_ip4_checksum_ok(ip) ? SL_GO_ON
								    : SL_DROP(IP4_CHECKSUM);
}

static __always_inline sl_verdict sl_ip4_input(struct sl_packet *pkt)
{
	const struct iphdr *ip = pkt->l3;
	sl_verdict verdict;

	if (sl_unlikely(ip->ihl * 4 > sizeof(*ip)))
		return SL_PUNT(IP4_OPTIONS);
	verdict = sl_kernel_decides(pkt, SL_PORT_PUNT4, SL_PORT_XFRM4, SL_PORT_NETFILTER4);
	if (verdict != SL_GO_ON)
		return verdict;
	return sl_ip4_addresses(ip, pkt->port_flags);
}

/*
 * One hop less (RFC 1812 5.3.1), and the checksum that goes with it. RFC 1624, equation 3:
 *
 *   HC' = ~(~HC + ~m + m')     in ones' complement
 *
 * The changed 16-bit word m holds TTL and protocol; m' = m - 0x0100, which never borrows as
 * TTL > 0. So ~m + m' = (0xffff - m) + (m - 0x0100) = 0xfeff whatever m was. Ones' complement
 * sums may be taken in network order (RFC 1071 2 B).
 */
static __always_inline void sl_ip4_decrement_ttl(struct iphdr *ip)
{
	__u32 sum = (__u16) ~(SL_FORCE __u16)ip->check;

	sum += (SL_FORCE __u16)sl_htons(0xfeff);
	ip->check = (SL_FORCE __sum16)(__u16) ~((sum & 0xffff) + (sum >> 16));
	ip->ttl--;
}

#endif
