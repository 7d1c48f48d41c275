// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* The classifier of the fast path, on many packets' fields in one test run. */
#include "bpf/edge/classify.bpf.h"
#include "bpf/edge/exact_flow.bpf.h"
#include "netns-lab/classify/classify_batch.h"

/* As where lists and flows are configured. */
const volatile struct sl_config sl_config = { .managed = 1, .filters = 1, .exact_flows = 1 };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lab_classify_batch);
} batch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LAB_FLOWS_MAX);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct sl_flow);
} flows SEC(".maps");

static long nothing(__u32 i, void *arg)
{
	struct sl_flow *flow = bpf_map_lookup_elem(&flows, &i);

	(void)arg;
	if (flow)
		flow->number = *(volatile __u32 *)&flow->field[0];
	return 0;
}

static long classify(__u32 i, void *arg)
{
	const struct lab_classify_batch *b = arg;
	struct sl_flow *flow = bpf_map_lookup_elem(&flows, &i);

	if (flow)
		sl_classify(flow, b->slot);
	return 0;
}

static long find_exact(__u32 i, void *arg)
{
	const struct lab_classify_batch *b = arg;
	struct sl_flow *flow = bpf_map_lookup_elem(&flows, &i);

	if (flow)
		flow->sample = sl_exact_flows_there() && sl_exact_flow_find(flow, b->slot, 64);
	return 0;
}

SEC("xdp")
int classify_batch(struct xdp_md *ctx)
{
	__u32 zero = 0;
	struct lab_classify_batch *b = bpf_map_lookup_elem(&batch, &zero);
	struct lab_classify_batch copy;

	(void)ctx;
	if (!b)
		return XDP_ABORTED;
	copy = *b;
	if (copy.mode == LAB_CLASSIFY_LIST)
		bpf_loop(copy.n, classify, &copy, 0);
	else if (copy.mode == LAB_CLASSIFY_FLOWS)
		bpf_loop(copy.n, find_exact, &copy, 0);
	else
		bpf_loop(copy.n, nothing, &copy, 0);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
