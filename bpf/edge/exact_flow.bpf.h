/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The exact flow that a packet is of: it decides in place of the port's rule list. */
#ifndef SL_EXACT_FLOW_BPF_H
#define SL_EXACT_FLOW_BPF_H

#include "bpf/abi/exact_flow.h"
#include "bpf/edge/maps.bpf.h"
#include "bpf/edge/packet.bpf.h"
#include "bpf/edge/stats.bpf.h"

/* Are there flows? If not, an empty table would cost as much as one of many. */
static __always_inline bool sl_exact_flows_there(void)
{
	__u32 zero = 0;
	const __u64 *puts = bpf_map_lookup_elem(&sl_exact_puts, &zero);

	return puts && *puts;
}

/* The half of an address as the map's key has it. */
static __always_inline void sl_exact_flow_half(__be32 out[2], __u64 half)
{
	out[0] = sl_htonl(half >> 32);
	out[1] = sl_htonl(half & 0xffffffff);
}

/* The answer is that of the rule that the flow names, for which the packet counts, too. */
static __always_inline void sl_exact_flow_as(struct sl_flow *flow, __u32 id, __u32 version,
					     __u32 frame_bytes)
{
	const struct sl_flow_rule *rule =
		sl_filtered() ? bpf_map_lookup_elem(&sl_flow_rule, &id) : NULL;

	flow->action = SL_FILTER_DENY;
	if (!rule || (rule->version && rule->version != version))
		return;
	flow->action = rule->action;
	flow->number = rule->number;
	flow->sample = rule->sample;
	sl_count(&sl_filter_hits, flow->number, 1, frame_bytes);
}

/*
 * Whether the packet is of an exact flow, with the answer in flow, as a rule list gives it. The
 * frame counts for the flow. Not inlined, so that the verifier looks at it once.
 */
__attribute__((noinline)) int sl_exact_flow_find(struct sl_flow *flow, __u32 version,
						 __u32 frame_bytes)
{
	struct sl_flow_key key = {};
	struct sl_exact_flow *found;
	__u32 used;

	if (!flow || flow->field[SL_FIELD_SOURCE_PORT] >= SL_FIELD_SOURCE_PORT_ABSENT)
		return 0;
	sl_exact_flow_half(&key.source[0], flow->address[SL_SIDE_SOURCE][0]);
	sl_exact_flow_half(&key.source[2], flow->address[SL_SIDE_SOURCE][1]);
	sl_exact_flow_half(&key.destination[0], flow->address[SL_SIDE_DESTINATION][0]);
	sl_exact_flow_half(&key.destination[2], flow->address[SL_SIDE_DESTINATION][1]);
	key.source_port = sl_htons(flow->field[SL_FIELD_SOURCE_PORT]);
	key.destination_port = sl_htons(flow->field[SL_FIELD_DESTINATION_PORT]);
	key.protocol = flow->field[SL_FIELD_PROTOCOL];
	key.version = version;
	found = bpf_map_lookup_elem(&sl_exact_flow, &key);
	if (!found)
		return 0;
	__sync_fetch_and_add(&found->packets, 1);
	__sync_fetch_and_add(&found->bytes, frame_bytes);
	if (found->idle_s) {
		used = bpf_ktime_get_coarse_ns() >> SL_EXACT_FLOW_USED_SHIFT;
		if (found->used != used)
			found->used = used;
	}
	sl_count(&sl_exact_hits, 0, 1, frame_bytes);
	flow->action = found->action;
	flow->number = SL_RULE_NONE;
	flow->sample = 0;
	flow->auxiliary = 0;
	if (found->rule)
		sl_exact_flow_as(flow, found->rule, version, frame_bytes);
	return 1;
}

#endif
