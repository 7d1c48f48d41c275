// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The table lookups of the fast path, many in one test run. It has the fast path's maps,
 * configuration and program name, so that the daemon's own loader can load it; only a run does
 * something else.
 */
#include "bpf/edge/fib.bpf.h"
#include "netns-lab/lookup/lookup_batch.h"

const volatile struct sl_config sl_config = {};
const volatile __u32 sl_own_set = 0; /* the loader sets it, too */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lab_batch);
} batch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LAB_LOOKUPS_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct lab_lookup);
} lookups SEC(".maps");

#define LO_IFINDEX	      1
#define FIB_LOOKUP_SKIP_NEIGH (1u << 2) /* since Linux 6.3: the route alone, as our tables */

struct loop {
	struct xdp_md *ctx;
	__u32 flags;
};

static long nothing(__u32 i, void *arg)
{
	struct lab_lookup *l = bpf_map_lookup_elem(&lookups, &i);

	(void)arg;
	if (l)
		l->answer = *(volatile __u32 *)l->addr;
	return 0;
}

static long table4(__u32 i, void *arg)
{
	struct lab_lookup *l = bpf_map_lookup_elem(&lookups, &i);

	(void)arg;
	if (l)
		l->answer = sl_fib4_lookup(*(__be32 *)l->addr);
	return 0;
}

static long table6(__u32 i, void *arg)
{
	struct lab_lookup *l = bpf_map_lookup_elem(&lookups, &i);

	(void)arg;
	if (l)
		l->answer = sl_fib6_lookup((const struct in6_addr *)l->addr);
	return 0;
}

static long kernel4(__u32 i, void *arg)
{
	struct lab_lookup *l = bpf_map_lookup_elem(&lookups, &i);
	struct bpf_fib_lookup fib = { .family = 2, .ifindex = LO_IFINDEX, .tot_len = 60 };
	struct loop *loop = arg;

	if (!l)
		return 0;
	fib.ipv4_dst = *(__be32 *)l->addr;
	l->answer = (__u32)bpf_fib_lookup(loop->ctx, &fib, sizeof(fib), loop->flags);
	return 0;
}

static long kernel6(__u32 i, void *arg)
{
	struct lab_lookup *l = bpf_map_lookup_elem(&lookups, &i);
	struct bpf_fib_lookup fib = { .family = 10, .ifindex = LO_IFINDEX, .tot_len = 60 };
	struct loop *loop = arg;

	if (!l)
		return 0;
	__builtin_memcpy(fib.ipv6_dst, l->addr, sizeof(fib.ipv6_dst));
	l->answer = (__u32)bpf_fib_lookup(loop->ctx, &fib, sizeof(fib), loop->flags);
	return 0;
}

SEC("xdp.frags")
int sl_edge_frags(struct xdp_md *ctx)
{
	struct loop loop = { .ctx = ctx, .flags = FIB_LOOKUP_SKIP_NEIGH };
	__u32 zero = 0;
	struct lab_batch *b = bpf_map_lookup_elem(&batch, &zero);

	if (!b)
		return XDP_ABORTED;
	switch (b->mode) {
	case LAB_LOOKUP_NOTHING:
		bpf_loop(b->n, nothing, &loop, 0);
		break;
	case LAB_LOOKUP_TABLE4:
		bpf_loop(b->n, table4, &loop, 0);
		break;
	case LAB_LOOKUP_TABLE6:
		bpf_loop(b->n, table6, &loop, 0);
		break;
	case LAB_LOOKUP_KERNEL4:
		bpf_loop(b->n, kernel4, &loop, 0);
		break;
	case LAB_LOOKUP_KERNEL6:
		bpf_loop(b->n, kernel6, &loop, 0);
		break;
	default:
		return XDP_ABORTED;
	}
	return XDP_PASS;
}

/* The daemon's loader asks for it. */
SEC("tc")
int sl_beat(struct __sk_buff *skb)
{
	(void)skb;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
