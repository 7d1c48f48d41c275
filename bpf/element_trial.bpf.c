// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sl_own_trial_run: an own element, linked in in slot 0, on one packet, before sl_edge has it.
 * sluice-elements runs it on packets of its own, and attaches it nowhere.
 */
#include "bpf/edge/own_element.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct sl_own_trial);
} sl_own_trial SEC(".maps");

SEC("xdp")
int sl_own_trial_run(struct xdp_md *ctx)
{
	__u32 zero = 0;
	struct sl_own_trial *trial = bpf_map_lookup_elem(&sl_own_trial, &zero);

	if (!trial)
		return XDP_ABORTED;
	trial->output = sl_own_element_0(ctx, &trial->packet, &trial->config);
	return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
