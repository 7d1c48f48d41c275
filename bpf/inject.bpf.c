// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * The live-frames injector: sends frames that the bridge has put into slots. The bridge runs it by
 * BPF_PROG_TEST_RUN, once for each frame; the kernel hands it a page, and transmits the pages that
 * it redirects in batches.
 *
 * The kernel recycles the pages with their old bytes, so the program writes the whole frame each
 * time. The program is attached to a netdev of the bridge that carries no traffic, only because
 * test runs of an attached program start a thousand times sooner. A worker of the bridge runs it on
 * one CPU at a time, so the counters need no atomics.
 */
#include "bpf/lib/kernel_types.bpf.h"
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "bpf/abi/inject.h"

#define ETH_BYTES	 14
#define LOOPBACK_IFINDEX 1 /* where a test run's frames seem to come from */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SL_INJECT_SLOTS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct sl_inject_slot);
} inject_slots SEC(".maps");

/* The bridge's thread, as its PID namespace numbers it: its test runs are ours. Set by the bridge.
 */
__u64 pid_namespace_dev, pid_namespace_ino;
__u32 thread;

__u32 next;    /* frames handed in; modulo SL_INJECT_SLOTS it is the slot of the next one */
__u64 refused; /* frames that no driver took */

SEC("xdp")
int sl_inject(struct xdp_md *ctx)
{
	__u32 i = next & (SL_INJECT_SLOTS - 1), len_bytes;
	struct sl_inject_slot *slot = bpf_map_lookup_elem(&inject_slots, &i);

	if (!slot)
		return XDP_ABORTED;
	next++;
	len_bytes = slot->len_bytes;
	if (len_bytes < ETH_BYTES || len_bytes > SL_INJECT_FRAME_MAX_BYTES)
		goto refuse;
	if (len_bytes != ctx->data_end - ctx->data &&
	    bpf_xdp_adjust_tail(ctx, (int)(len_bytes - (ctx->data_end - ctx->data))))
		goto refuse;
	if (bpf_xdp_store_bytes(ctx, 0, slot->frame, len_bytes))
		goto refuse;
	return bpf_redirect(slot->ifindex, 0);
refuse:
	refused++;
	return XDP_DROP;
}

/* Does this happen inside a test run of ours? */
static __always_inline int is_ours(const struct net_device *from)
{
	struct bpf_pidns_info id;

	return from->ifindex == LOOPBACK_IFINDEX &&
	       bpf_get_ns_current_pid_tgid(pid_namespace_dev, pid_namespace_ino, &id, sizeof(id)) ==
		       0 &&
	       id.pid == thread;
}

/* A batch was handed to a driver. Arguments: from_dev, to_dev, sent, drops, err. */
SEC("tp_btf/xdp_devmap_xmit")
int sl_inject_batch(const __u64 *args)
{
	int drops = args[3];

	if (drops > 0 && is_ours((const void *)args[0]))
		refused += drops;
	return 0;
}

/* The redirect itself was refused: the netdev is down, gone, or takes no redirected frames. */
SEC("tp_btf/xdp_redirect_err")
int sl_inject_refused(const __u64 *args)
{
	if (is_ours((const void *)args[0]))
		refused++;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
