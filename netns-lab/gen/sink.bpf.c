// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Counts the generator's packets, flow by flow, and drops them. sink.c insists on a device with one
 * receive queue: so one CPU at a time runs this, and the counts are exact without atomics.
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

const volatile struct sink_config config;
struct sink_totals totals = { .ttl_min = 255 };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LAB_FLOWS_MAX);
	__type(key, __u32);
	__type(value, struct sink_flow);
} flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SINK_BUCKETS);
	__type(key, __u32);
	__type(value, __u64);
} latency SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* or config.times */
	__type(key, __u32);
	__type(value, struct sink_time);
} times SEC(".maps");

static __always_inline void count_flow(__u32 index, __u32 seq, __u32 frame_bytes)
{
	struct sink_flow *flow = bpf_map_lookup_elem(&flows, &index);
	__u64 behind;

	if (!flow)
		return;
	flow->packets++;
	flow->bytes += frame_bytes;
	if (seq >= flow->next_seq) {
		__u64 step = seq + 1ULL - flow->next_seq;

		flow->window = step < SINK_WINDOW ? flow->window << step | 1 : 1;
		flow->next_seq = seq + 1ULL;
		return;
	}
	behind = flow->next_seq - 1 - seq;
	if (behind >= SINK_WINDOW) {
		flow->late++;
		flow->reordered++;
	} else if (flow->window & 1ULL << behind) {
		flow->duplicates++;
	} else {
		flow->window |= 1ULL << behind;
		flow->reordered++;
	}
}

static __always_inline __u32 log2_of(__u64 value)
{
	__u32 log = 0;

#pragma unroll
	for (int bits = 32; bits; bits /= 2) {
		if (value >> bits) {
			value >>= bits;
			log += bits;
		}
	}
	return log;
}

/*
 * Values below 2^SUB_BITS have a bucket each; above, the SUB_BITS after the leading one choose it.
 */
static __always_inline __u32 bucket_of(__u64 value)
{
	__u32 log;

	if (value < 1 << SINK_SUB_BITS)
		return value;
	log = log2_of(value);
	return ((log - SINK_SUB_BITS) << SINK_SUB_BITS) + (value >> (log - SINK_SUB_BITS));
}

static __always_inline void note_times(__u32 flow, __u32 seq, __u64 sent_ns, __u64 now_ns)
{
	__u32 index = totals.times;
	struct sink_time *time;

	if (index >= config.times)
		return;
	time = bpf_map_lookup_elem(&times, &index);
	if (!time)
		return;
	*time = (struct sink_time){
		.sent_ns = sent_ns, .came_ns = now_ns, .flow = flow, .seq = seq
	};
	totals.times++;
}

static __always_inline void count_latency(__u32 flow, __u32 seq, __u64 sent_ns)
{
	__u64 now_ns = bpf_ktime_get_ns(), latency_ns = now_ns > sent_ns ? now_ns - sent_ns : 0;
	__u32 bucket = bucket_of(latency_ns);
	__u64 *count = bpf_map_lookup_elem(&latency, &bucket);

	if (count)
		*count += 1;
	if (!totals.first_ns)
		totals.first_ns = now_ns;
	totals.last_ns = now_ns;
	if (latency_ns > totals.latency_max_ns)
		totals.latency_max_ns = latency_ns;
	note_times(flow, seq, sent_ns, now_ns);
}

/*
 * Are the bytes from `at` to the end of the frame zeros? The first word of eight bytes also holds
 * what words counted from the end leave over, so the loop, which the kernel verifies step by step
 * at each load, has an eighth as many steps as there are bytes.
 */
static __always_inline int all_zero(void *at, void *data_end)
{
	__u64 dirty = 0, *word = at;

	if ((void *)(word + 1) > data_end) {
		for (int i = 0; i < 7 && at + 1 <= data_end; i++, at++)
			dirty |= *(__u8 *)at;
		return !dirty;
	}
	dirty = *word;
	word = at + ((data_end - at) & 7);
	barrier_var(word); /* the verifier knows the bounds of this pointer, of no other */
	for (int i = 0; i < LAB_FRAME_MAX / 8 && (void *)(word + 1) <= data_end; i++)
		dirty |= *word++;
	return !dirty;
}

/* Once the payload after the stamp is known to be zeros, no sum needs to include it. */
static __always_inline void verify(void *data, void *data_end, struct iphdr *ip4,
				   struct ipv6hdr *ip6, struct udphdr *udp)
{
	struct lab_stamp *stamp = (void *)(udp + 1);
	struct ethhdr *eth = data;
	__u32 sum = 0;

	totals.bad_payload += !all_zero(stamp + 1, data_end);
	if (ip4) {
		sum = add16(0, ip4, sizeof(*ip4));
	} else if (ip6) {
		sum = add16((SL_FORCE __u16)sl_htons(IPPROTO_UDP) + (SL_FORCE __u16)udp->len,
			    &ip6->saddr, 32);
		sum = add16(sum, udp, sizeof(*udp) + sizeof(*stamp));
	}
	totals.bad_checksum += fold(sum) != 0;
	for (int i = 0; i < 6; i++) {
		if (eth->h_dest[i] != config.mac[i]) {
			totals.wrong_mac++;
			break;
		}
	}
}

/* Turn the packet round: what was its source becomes its destination. No checksum changes. */
static __always_inline void turn_round(struct ethhdr *eth, struct iphdr *ip4, struct ipv6hdr *ip6)
{
	__u8 mac[ETH_ALEN];

	__builtin_memcpy(mac, eth->h_dest, ETH_ALEN);
	__builtin_memcpy(eth->h_dest, eth->h_source, ETH_ALEN);
	__builtin_memcpy(eth->h_source, mac, ETH_ALEN);
	if (ip4) {
		__be32 source = ip4->saddr;

		ip4->saddr = ip4->daddr;
		ip4->daddr = source;
	} else if (ip6) {
		struct in6_addr source = ip6->saddr;

		ip6->saddr = ip6->daddr;
		ip6->daddr = source;
	}
}

static __always_inline int is_tag(__be16 ethertype)
{
	return ethertype == sl_htons(ETH_P_8021Q) || ethertype == sl_htons(ETH_P_8021AD);
}

/* 1 if the packet is the generator's and was counted. */
static __always_inline int count_packet(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *data_end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct ipv6hdr *ip6 = NULL;
	struct iphdr *ip4 = NULL;
	struct lab_stamp *stamp;
	struct udphdr *udp;
	__be16 ethertype;
	int tagged = 0;
	__u64 time_ns;
	void *at;
	__u8 ttl;

	if ((void *)(eth + 1) > data_end)
		return 0;
	ethertype = eth->h_proto;
	at = eth + 1;
#pragma unroll
	for (int i = 0; i < LAB_TAGS_MAX; i++) {
		if (!is_tag(ethertype) || at + 4 > data_end)
			break;
		ethertype = *(__be16 *)(at + 2);
		at += 4;
		tagged = 1;
	}
	if (ethertype == sl_htons(ETH_P_IP)) {
		ip4 = at;
		if ((void *)(ip4 + 1) > data_end || ip4->ihl != 5 || ip4->protocol != IPPROTO_UDP)
			return 0;
		ttl = ip4->ttl;
		udp = (void *)(ip4 + 1);
	} else if (ethertype == sl_htons(ETH_P_IPV6)) {
		ip6 = at;
		if ((void *)(ip6 + 1) > data_end || ip6->nexthdr != IPPROTO_UDP)
			return 0;
		ttl = ip6->hop_limit;
		udp = (void *)(ip6 + 1);
	} else {
		return 0;
	}
	stamp = (void *)(udp + 1);
	if ((void *)(stamp + 1) > data_end || udp->dest != sl_htons(LAB_UDP_PORT) ||
	    *(__be32 *)&stamp->magic != sl_htonl(LAB_MAGIC))
		return 0;

	totals.packets++;
	totals.bytes += data_end - data;
	totals.tagged += tagged;
	totals.off_core += bpf_get_smp_processor_id() != config.core;
	if (ttl < totals.ttl_min)
		totals.ttl_min = ttl;
	if (ttl > totals.ttl_max)
		totals.ttl_max = ttl;
	/* The casts: packed members would be read byte by byte. */
	count_flow(sl_ntohs(*(__be16 *)&stamp->flow), sl_ntohl(*(__be32 *)&stamp->seq),
		   data_end - data);
	time_ns = sl_ntohll(*(__be64 *)&stamp->time_ns);
	if (time_ns)
		count_latency(sl_ntohs(*(__be16 *)&stamp->flow), sl_ntohl(*(__be32 *)&stamp->seq),
			      time_ns);
	if (config.verify)
		verify(data, data_end, ip4, ip6, udp);
	if (config.echo)
		turn_round(eth, ip4, ip6);
	return 1;
}

SEC("xdp")
int lab_sink(struct xdp_md *ctx)
{
	/* XDP_TX would not wake a peer that has no XDP program. */
	if (count_packet(ctx))
		return config.echo ? bpf_redirect(ctx->ingress_ifindex, 0) : XDP_DROP;
	totals.foreign++;
	return config.pass_foreign ? XDP_PASS : XDP_DROP;
}

char _license[] SEC("license") = "Dual BSD/GPL";
