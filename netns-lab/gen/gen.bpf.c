// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Makes one packet from whatever frame the kernel hands it, and sends it. Run by BPF_PROG_TEST_RUN
 * with live frames. The kernel recycles the pages, and they keep what the last program on their way
 * wrote (MACs, TTL, tags, and behind the frame what a tunnel's trailer is), so every header byte is
 * written anew, and a mix of sizes has its payload zeroed.
 *
 * It is also attached to `lo`, only because test runs of an attached program start sooner. Real
 * frames of lo have all-zero MAC addresses; they pass.
 *
 * A generator runs on one CPU at a time, so its state needs no atomics.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <bpf/bpf_helpers.h>

#include "bpf/lib/endian.bpf.h"
#include "netns-lab/gen/checksum.bpf.h"
#include "netns-lab/gen/traffic.h"

const volatile struct gen_config config;
struct gen_headers headers;
struct gen_size sizes[GEN_SIZES_MAX];

__u64 packets, bytes;	/* made */
__u32 flow, dest, size; /* of the next packet */
__u32 seq;
__u32 until_stamp;
__u64 start_ns; /* CLOCK_MONOTONIC */
/* Since the start, in 1/1024 ns: when the next packet is due; what the clock said last. */
__u64 next_fp, now_fp;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gen_dest);
} dests SEC(".maps");

static __always_inline void write_udp(struct udphdr *udp, const struct gen_size *s)
{
	udp->source = sl_htons(1024 + (config.first_flow + flow) % (65536 - 1024));
	udp->dest = sl_htons(LAB_UDP_PORT);
	udp->len = sl_htons(s->udp_len);
	udp->check = 0;
}

static __always_inline void write_stamp(struct lab_stamp *stamp)
{
	__u64 now_ns = 0;

	if (until_stamp == 0) {
		until_stamp = config.stamp_every;
		now_ns = bpf_ktime_get_ns();
	}
	until_stamp--;
	/* The casts: packed members would be written byte by byte. */
	*(__be32 *)&stamp->magic = sl_htonl(LAB_MAGIC);
	*(__be16 *)&stamp->flow = sl_htons(config.first_flow + flow);
	*(__be32 *)&stamp->seq = sl_htonl(seq);
	*(__be64 *)&stamp->time_ns = sl_htonll(now_ns);
}

static __always_inline int write_ip4(void *at, void *data_end, const struct gen_size *s,
				     const struct gen_dest *to)
{
	struct iphdr *ip = at;
	struct udphdr *udp = (void *)(ip + 1);
	struct lab_stamp *stamp = (void *)(udp + 1);

	if ((void *)(stamp + 1) > data_end)
		return -1;
	ip->version = 4;
	ip->ihl = 5;
	ip->tos = headers.dscp_ecn;
	ip->tot_len = sl_htons(s->ip_len);
	ip->id = 0;
	ip->frag_off = sl_htons(0x4000); /* DF: no id is needed (RFC 6864) */
	ip->ttl = headers.ttl;
	ip->protocol = IPPROTO_UDP;
	ip->saddr = headers.src[0];
	ip->daddr = to->addr[0];
	ip->check = (SL_FORCE __sum16)fold(add16(s->sum, &to->addr[0], 4));
	write_udp(udp, s);
	write_stamp(stamp);
	return 0;
}

static __always_inline int write_ip6(void *at, void *data_end, const struct gen_size *s,
				     const struct gen_dest *to)
{
	struct ipv6hdr *ip = at;
	struct udphdr *udp = (void *)(ip + 1);
	struct lab_stamp *stamp = (void *)(udp + 1);
	__u32 sum;

	if ((void *)(stamp + 1) > data_end)
		return -1;
	*(__be32 *)ip = sl_htonl(6u << 28 | (__u32)headers.dscp_ecn << 20);
	ip->payload_len = sl_htons(s->ip_len);
	ip->nexthdr = IPPROTO_UDP;
	ip->hop_limit = headers.ttl;
	__builtin_memcpy(&ip->saddr, headers.src, 16);
	__builtin_memcpy(&ip->daddr, to->addr, 16);
	write_udp(udp, s);
	write_stamp(stamp);
	sum = add16(s->sum, to->addr, 16);
	sum = add16(sum, udp, sizeof(*udp) + sizeof(*stamp));
	sum = fold(sum);
	udp->check = (SL_FORCE __sum16)(sum ? sum : 0xffff); /* RFC 8200 section 8.1 */
	return 0;
}

static __always_inline void advance(void)
{
	if (++size >= config.n_sizes)
		size = 0;
	if (++dest >= config.n_dests)
		dest = 0;
	if (++flow >= config.n_flows) {
		flow = 0;
		seq++;
	}
}

/* Reads the clock only if the next packet was not due when it was read last. */
static __always_inline int is_due(void)
{
	if (config.count && packets >= config.count)
		return 0;
	if (!config.interval_fp)
		return 1;
	if (next_fp > now_fp) {
		now_fp = (bpf_ktime_get_ns() - start_ns) << 10;
		if (next_fp > now_fp)
			return 0;
	}
	next_fp += config.interval_fp;
	return 1;
}

SEC("xdp")
int lab_gen(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *data_end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct gen_size *s = &sizes[0];
	struct gen_dest *to;
	__be16 *ethertype;
	int err;

	if ((void *)(eth + 1) > data_end)
		return XDP_PASS;
	if (!(*(__u32 *)eth->h_dest | *(__u16 *)(eth->h_dest + 4)))
		return XDP_PASS;
	if (!is_due())
		return XDP_DROP; /* the kernel calls again at once */

	if (config.n_sizes > 1) {
		if (size >= GEN_SIZES_MAX)
			return XDP_ABORTED;
		s = &sizes[size];
		/* The kernel zeroes what it adds. */
		if (bpf_xdp_adjust_tail(ctx, ETH_HLEN - (int)(data_end - data)) ||
		    bpf_xdp_adjust_tail(ctx, (int)s->frame_bytes - ETH_HLEN))
			return XDP_ABORTED;
		data = (void *)(long)ctx->data;
		data_end = (void *)(long)ctx->data_end;
	}
	to = bpf_map_lookup_elem(&dests, &dest);
	ethertype = data + 12 + 4 * config.n_tags;
	if (!to || (void *)(ethertype + 1) > data_end)
		return XDP_ABORTED;

	__builtin_memcpy(data, headers.eth, 12);
	if (config.n_tags >= 1)
		__builtin_memcpy(data + 12, headers.tags, 4);
	if (config.n_tags == 2)
		__builtin_memcpy(data + 16, headers.tags + 4, 4);
	*ethertype = headers.ethertype;

	if (config.is_ip6)
		err = write_ip6(ethertype + 1, data_end, s, to);
	else
		err = write_ip4(ethertype + 1, data_end, s, to);
	if (err)
		return XDP_ABORTED;

	packets++;
	bytes += s->frame_bytes;
	advance();
	return bpf_redirect(config.out_ifindex, 0);
}

char _license[] SEC("license") = "Dual BSD/GPL";
