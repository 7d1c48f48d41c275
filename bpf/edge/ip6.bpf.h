/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * IPv6: what RFC 8200 (header, hop limit) and RFC 4291 (addresses) ask of a router.
 */
#ifndef SL_IP6_BPF_H
#define SL_IP6_BPF_H

#include "bpf/edge/packet.bpf.h"

static __always_inline bool sl_ip6_multicast(const struct in6_addr *addr)
{
	return addr->s6_addr[0] == 0xff;
}

static __always_inline bool sl_ip6_link_local(const struct in6_addr *addr) /* fe80::/10 */
{
	return (addr->s6_addr16[0] & sl_htons(0xffc0)) == sl_htons(0xfe80);
}

/* ::, the unspecified address, and ::1, the loopback address */
static __always_inline bool sl_ip6_unspecified_or_loopback(const struct in6_addr *addr)
{
	return !(addr->s6_addr32[0] | addr->s6_addr32[1] | addr->s6_addr32[2] |
		 (addr->s6_addr32[3] & sl_htonl(~1u)));
}

static __always_inline bool sl_ip6_v4_mapped(const struct in6_addr *addr) /* ::ffff:0:0/96 */
{
	return !(addr->s6_addr32[0] | addr->s6_addr32[1]) &&
	       addr->s6_addr32[2] == sl_htonl(0x0000ffff);
}

/*
 * RFC 4291 2.5.2 and 2.5.3 (:: and ::1 never leave a node), 2.7 (no multicast source), 2.5.6
 * (link-local stays on its link; the kernel answers as RFC 4443 3.1 code 2 asks). A v4-mapped
 * source is not forwardable (RFC 6890 table 20): a host may take it for an IPv4 peer.
 */
static __always_inline sl_verdict sl_ip6_addresses(const struct in6_addr *src,
						   const struct in6_addr *dst)
{
	if (sl_ip6_multicast(src) || sl_ip6_v4_mapped(src))
		return SL_DROP(IP6_MARTIAN_SOURCE);
	if (sl_ip6_multicast(dst))
		return SL_PUNT(MULTICAST);
	if (sl_ip6_unspecified_or_loopback(src))
		return SL_DROP(IP6_MARTIAN_SOURCE);
	if (sl_ip6_unspecified_or_loopback(dst))
		return SL_DROP(IP6_MARTIAN_DEST);
	if (sl_ip6_link_local(src) || sl_ip6_link_local(dst))
		return SL_PUNT(LINK_LOCAL);
	return SL_GO_ON;
}

/*
 * Neighbour discovery (RFC 4861 4) comes with the hop limit that no router has touched. A router
 * may have to answer it for another address, or to hold it back (RFC 4389).
 */
static __always_inline bool sl_ip6_is_nd(const struct sl_packet *pkt, const struct ipv6hdr *ip)
{
	const __u8 *type = (const void *)(ip + 1);

	return ip->nexthdr == IPPROTO_ICMPV6 && ip->hop_limit == 255 &&
	       (const void *)(type + 1) <= pkt->end && *type >= 133 && *type <= 137;
}

/* Is the header valid? Fills in its facts. */
static __always_inline sl_verdict sl_ip6_header(struct sl_packet *pkt)
{
	const struct ipv6hdr *ip = pkt->l3;
	__u32 l3_offset = ETH_HLEN + pkt->tags * sizeof(struct sl_tag);

	if ((void *)(ip + 1) > pkt->end)
		return sl_missing(pkt, l3_offset + sizeof(*ip), SL_DROP(IP6_TRUNCATED));
	if (ip->version != 6)
		return SL_DROP(IP6_VERSION);
	pkt->ttl = ip->hop_limit;
	pkt->ip_len_bytes = sizeof(*ip) + sl_ntohs(ip->payload_len);
	if (ip->nexthdr == IPPROTO_HOPOPTS)
		return SL_GO_ON; /* the kernel checks the rest; jumbograms (RFC 2675) among them */
	return pkt->ip_len_bytes > pkt->len_bytes - l3_offset ? SL_DROP(IP6_PAYLOAD_LENGTH)
							      : SL_GO_ON;
}

static __always_inline sl_verdict sl_ip6_input(struct sl_packet *pkt)
{
	const struct ipv6hdr *ip = pkt->l3;
	sl_verdict verdict;

	if (ip->nexthdr == IPPROTO_HOPOPTS)
		return SL_PUNT(IP6_HOP_BY_HOP);
	verdict = sl_kernel_decides(pkt, SL_PORT_PUNT6, SL_PORT_XFRM6, SL_PORT_NETFILTER6);
	if (verdict != SL_GO_ON)
		return verdict;
	verdict = sl_ip6_addresses(&ip->saddr, &ip->daddr);
	return verdict == SL_GO_ON && sl_ip6_is_nd(pkt, ip) ? SL_PUNT(ND) : verdict;
}

#endif
