/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The engine `kernel`: the kernel's own tables, asked by bpf_fib_lookup. It needs no map of ours,
 * follows policy rules and the kernel's ECMP, and answers with a complete adjacency.
 */
#ifndef SL_KERNEL_FIB_BPF_H
#define SL_KERNEL_FIB_BPF_H

#include "bpf/abi/forwarding.h"
#include "bpf/edge/ip4.bpf.h"
#include "bpf/edge/packet.bpf.h"

#define SL_AF_INET  2
#define SL_AF_INET6 10
/* Traffic class and flow label: what the kernel calls flow information. */
#define SL_IP6_FLOWINFO 0x0fffffff

static __always_inline sl_verdict sl_kernel_result(long result)
{
	switch (result) {
	case BPF_FIB_LKUP_RET_SUCCESS:
		return SL_GO_ON;
	case BPF_FIB_LKUP_RET_BLACKHOLE:
		return SL_DROP(BLACKHOLE);
	case BPF_FIB_LKUP_RET_UNREACHABLE:
	case BPF_FIB_LKUP_RET_PROHIBIT:
		return SL_PUNT(UNREACHABLE);
	case BPF_FIB_LKUP_RET_NOT_FWDED: /* no route, or not a unicast one */
		return SL_PUNT(LOCAL);
	case BPF_FIB_LKUP_RET_FWD_DISABLED:
		return SL_PUNT(FORWARDING_OFF);
	case BPF_FIB_LKUP_RET_UNSUPP_LWT:
		return SL_PUNT(ENCAP);
	case BPF_FIB_LKUP_RET_NO_NEIGH:
		return SL_PUNT(NEIGHBOUR);
	case BPF_FIB_LKUP_RET_FRAG_NEEDED:
		return SL_PUNT(TOO_BIG);
	default:
		return SL_PUNT(OTHER);
	}
}

/* The kernel's multipath hash and its rules look at the ports. Not for IPv4 fragments. */
static __always_inline void sl_kernel_ports(const struct sl_packet *pkt, const void *l4,
					    struct bpf_fib_lookup *fib)
{
	const __be16 *port = l4;

	if (fib->l4_protocol != IPPROTO_TCP && fib->l4_protocol != IPPROTO_UDP)
		return;
	if ((void *)(port + 2) > pkt->end)
		return;
	fib->sport = port[0];
	fib->dport = port[1];
}

static __always_inline void sl_kernel_key4(const struct sl_packet *pkt, struct bpf_fib_lookup *fib)
{
	const struct iphdr *ip = pkt->l3;

	fib->family = SL_AF_INET;
	fib->tos = ip->tos;
	fib->l4_protocol = ip->protocol;
	fib->ipv4_src = ip->saddr;
	fib->ipv4_dst = ip->daddr;
	if (!(ip->frag_off & sl_htons(SL_IP4_FRAGMENT)))
		sl_kernel_ports(pkt, ip + 1, fib);
}

static __always_inline void sl_kernel_key6(const struct sl_packet *pkt, struct bpf_fib_lookup *fib)
{
	const struct ipv6hdr *ip = pkt->l3;

	fib->family = SL_AF_INET6;
	fib->flowinfo = *(__be32 *)ip & sl_htonl(SL_IP6_FLOWINFO);
	fib->l4_protocol = ip->nexthdr;
	__builtin_memcpy(fib->ipv6_src, &ip->saddr, sizeof(fib->ipv6_src));
	__builtin_memcpy(fib->ipv6_dst, &ip->daddr, sizeof(fib->ipv6_dst));
	sl_kernel_ports(pkt, ip + 1, fib);
}

/* Fill `adj` as the daemon would, but without tags: the kernel names the VLAN interface itself. */
static __always_inline sl_verdict sl_kernel_route(const struct sl_packet *pkt, struct sl_adj *adj)
{
	struct bpf_fib_lookup fib = {
		.ifindex = pkt->l3_ifindex,
		.tot_len = pkt->ip_len_bytes > 0xffff ? 0xffff : pkt->ip_len_bytes,
	};
	sl_verdict verdict;

	if (pkt->ip4)
		sl_kernel_key4(pkt, &fib);
	else
		sl_kernel_key6(pkt, &fib);
	verdict = sl_kernel_result(bpf_fib_lookup(pkt->ctx, &fib, sizeof(fib), 0));
	if (verdict != SL_GO_ON)
		return verdict;
	adj->port_ifindex = fib.ifindex;
	adj->l3_ifindex = fib.ifindex;
	adj->mtu_bytes = pkt->ip_len_bytes; /* the helper has checked it */
	__builtin_memcpy(adj->dst_mac, fib.dmac, ETH_ALEN);
	__builtin_memcpy(adj->src_mac, fib.smac, ETH_ALEN);
	return SL_GO_ON;
}

/*
 * Returns the interface by which the kernel would send to the packet's IPv4 source, or 0 if it
 * would not. An unresolved neighbour there makes no difference.
 */
static __always_inline __u32 sl_kernel_reverse(const struct sl_packet *pkt)
{
	const struct iphdr *ip = pkt->l3;
	struct bpf_fib_lookup fib = {
		.family = SL_AF_INET,
		.ifindex = pkt->l3_ifindex,
		.tos = ip->tos,
		.ipv4_src = ip->daddr,
		.ipv4_dst = ip->saddr,
	};
	long result = bpf_fib_lookup(pkt->ctx, &fib, sizeof(fib), 0);

	return result == BPF_FIB_LKUP_RET_SUCCESS || result == BPF_FIB_LKUP_RET_NO_NEIGH
		       ? fib.ifindex
		       : 0;
}

#endif
