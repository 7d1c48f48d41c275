// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The shortest possible XDP router: bpf_fib_lookup, TTL, MAC addresses, redirect. It checks next to
 * nothing. Measurements compare with it, since no XDP forwarder on the kernel's table does less.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <bpf/bpf_helpers.h>

#include "bpf/lib/endian.bpf.h"

#define AF_INET	 2
#define AF_INET6 10

static __always_inline int ask_ip4(struct iphdr *ip, void *data_end, struct bpf_fib_lookup *fib)
{
	if ((void *)(ip + 1) > data_end || ip->ttl <= 1)
		return -1;
	fib->family = AF_INET;
	fib->tos = ip->tos;
	fib->l4_protocol = ip->protocol;
	fib->tot_len = sl_ntohs(ip->tot_len);
	fib->ipv4_src = ip->saddr;
	fib->ipv4_dst = ip->daddr;
	return 0;
}

static __always_inline int ask_ip6(struct ipv6hdr *ip, void *data_end, struct bpf_fib_lookup *fib)
{
	if ((void *)(ip + 1) > data_end || ip->hop_limit <= 1)
		return -1;
	fib->family = AF_INET6;
	fib->l4_protocol = ip->nexthdr;
	fib->tot_len = sl_ntohs(ip->payload_len);
	fib->flowinfo = *(__be32 *)ip & sl_htonl(0x0fffffff);
	__builtin_memcpy(fib->ipv6_src, &ip->saddr, 16);
	__builtin_memcpy(fib->ipv6_dst, &ip->daddr, 16);
	return 0;
}

/* RFC 1624: the checksum grows by what the word with the TTL loses. */
static __always_inline void decrement_ttl(struct iphdr *ip)
{
	__u32 sum = (SL_FORCE __u16)ip->check + (SL_FORCE __u16)sl_htons(0x0100);

	ip->check = (SL_FORCE __sum16)(__u16)(sum + (sum >= 0xffff));
	ip->ttl--;
}

SEC("xdp")
int fib_forward(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *data_end = (void *)(long)ctx->data_end;
	struct bpf_fib_lookup fib = { .ifindex = ctx->ingress_ifindex };
	struct ethhdr *eth = data;
	void *ip = eth + 1;
	int err;

	if (ip > data_end)
		return XDP_PASS;
	if (eth->h_proto == sl_htons(ETH_P_IP))
		err = ask_ip4(ip, data_end, &fib);
	else if (eth->h_proto == sl_htons(ETH_P_IPV6))
		err = ask_ip6(ip, data_end, &fib);
	else
		return XDP_PASS;
	if (err || bpf_fib_lookup(ctx, &fib, sizeof(fib), 0) != BPF_FIB_LKUP_RET_SUCCESS)
		return XDP_PASS;

	if (eth->h_proto == sl_htons(ETH_P_IP))
		decrement_ttl(ip);
	else
		((struct ipv6hdr *)ip)->hop_limit--;
	__builtin_memcpy(eth->h_dest, fib.dmac, ETH_ALEN);
	__builtin_memcpy(eth->h_source, fib.smac, ETH_ALEN);
	return bpf_redirect(fib.ifindex, 0);
}

char _license[] SEC("license") = "Dual BSD/GPL";
