// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Tracing programs for `sluice capture` and `sluice sflow`. sl_capture_in and sl_capture_end run
 * before and after an XDP program of sluice's (fentry and fexit), and copy its frames to user
 * space. The XDP program is the one that runs anyway, byte for byte, and while nothing is captured
 * there is nothing here. sl_capture_sent runs in the kernel, before a frame of an AF_XDP socket
 * goes to the driver: that is how the bridge sends.
 *
 * Nothing waits: each processor has a ring of its own, and what does not fit is counted.
 */
#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi/captured.h"
#include "bpf/abi/voq.h"
#include "bpf/lib/classic_filter.bpf.h"
#include "bpf/lib/mapdef.bpf.h"

/* --- The kernel's own types, with the fields read here --- */

#define KERNEL_TYPE __attribute__((preserve_access_index))

struct net {
	__u64 net_cookie;
} KERNEL_TYPE;

typedef struct {
	struct net *net;
} KERNEL_TYPE possible_net_t;

struct net_device {
	__u32 ifindex; /* int in the kernel, never negative */
	possible_net_t nd_net;
} KERNEL_TYPE;

struct xdp_rxq_info {
	struct net_device *dev;
	__u32 queue_index;
} KERNEL_TYPE;

struct xdp_buff {
	void *data;
	void *data_end;
	void *data_meta;
	struct xdp_rxq_info *rxq;
} KERNEL_TYPE;

struct sk_buff {
	struct net_device *dev;
	unsigned int len, data_len;
	unsigned char *data;
} KERNEL_TYPE;

struct bpf_dtab_netdev {
	struct net_device *dev;
} KERNEL_TYPE;

/* What bpf_redirect() and bpf_redirect_map() have left for the driver. */
struct bpf_redirect_info {
	__u64 tgt_index;
	void *tgt_value;
	enum bpf_map_type map_type;
} KERNEL_TYPE;

/* Since 6.11 the running task has it, before that the processor. */
struct bpf_net_context {
	struct bpf_redirect_info ri;
} KERNEL_TYPE;

struct task_struct {
	struct bpf_net_context *bpf_net_context;
} KERNEL_TYPE;

extern const struct bpf_redirect_info bpf_redirect_info __ksym __weak;

/* --- Maps --- */

const volatile struct sl_capture_config sl_capture_config = {};
const volatile struct sl_capture_filter sl_capture_filter = {};

SL_COUNTERS(sl_drops, SL_DROP_COUNT);
SL_COUNTERS(sl_punts, SL_PUNT_COUNT);

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} sl_capture_ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SL_CAPTURE_PORTS_MAX);
	__type(key, __u32);   /* ifindex */
	__type(value, __u32); /* slot, 0..SL_CAPTURE_PORTS_MAX - 1 */
} sl_capture_ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SL_CAPTURE_PORTS_MAX * 2);
	__type(key, __u32); /* SL_CAPTURE_COUNT() */
	__type(value, struct sl_capture_count);
} sl_capture_counts SEC(".maps");

/*
 * Of each processor. No run of an XDP program interrupts another, so what sl_capture_in leaves here
 * is of the frame that sl_capture_end sees.
 */
struct capture_state {
	__u64 number;	/* frames so far */
	__u32 in_slot1; /* slot + 1 of the port where the frame entered; 0: not captured */
	__u32 skip;	/* while sampling: frames until the next sample; 0: not drawn yet */
	__u32 has_seen; /* the two arrays below are filled in */
	/* Of grown(); here, and not in registers, the verifier does not follow them. */
	__u32 found, n_found;
	__u64 drops[SL_DROP_COUNT]; /* the counters as they were after the last frame */
	__u64 punts[SL_PUNT_COUNT];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct capture_state);
} sl_capture_state SEC(".maps");

/*
 * Of each processor: a filter's run, 0 of a frame that an XDP program has. XDP may interrupt what
 * sends for a socket, whose runs are 1.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct sl_filter_run);
} sl_capture_run SEC(".maps");

/* --- Why: the reason is the counter that has grown --- */

/*
 * sl_edge counts each drop and each punt once, as its last act, on this processor. The tracepoints
 * of txdrops.bpf.c count three other reasons. Returns the reason + 1; 0 if none or several have
 * grown, because another program that is not traced counts there too.
 */
static __always_inline __u32 grown(struct capture_state *state, void *counters, __u64 *before,
				   __u32 n, bool drops)
{
	state->found = state->n_found = 0;

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < n; i++) {
		__u32 key = i; /* so that the verifier, which must see the loop end, follows i */
		struct sl_counter *counter = bpf_map_lookup_elem(counters, &key);

		if (!counter || counter->packets == before[i])
			continue;
		before[i] = counter->packets;
		if (drops &&
		    (i == SL_DROP_TX_RING || i == SL_DROP_TX_ERROR || i == SL_DROP_EXPRESS_TX))
			continue;
		state->found = i + 1;
		state->n_found++;
	}
	return state->n_found == 1 ? state->found : 0;
}

/* --- Copies --- */

static __always_inline __u32 *slot_of(__u32 ifindex)
{
	return bpf_map_lookup_elem(&sl_capture_ports, &ifindex);
}

static __always_inline void count(__u32 slot, __u32 direction, bool lost)
{
	__u32 key = SL_CAPTURE_COUNT(slot, direction);
	struct sl_capture_count *counted = bpf_map_lookup_elem(&sl_capture_counts, &key);

	if (!counted)
		return;
	counted->seen++;
	counted->lost += lost;
}

/* Frames that the filter leaves out. */
static __always_inline void count_left(__u32 slot, __u32 direction)
{
	__u32 key = SL_CAPTURE_COUNT(slot, direction);
	struct sl_capture_count *counted = bpf_map_lookup_elem(&sl_capture_counts, &key);

	if (counted)
		counted->left++;
}

struct filter_context {
	struct sl_filter_run *run;
};

static long filter_step(__u32 i, void *context)
{
	const struct filter_context *c = context;

	(void)i;
	return !sl_filter_step(c->run, &sl_capture_filter);
}

/* What the filter says of a frame, of which linear_bytes are at `data`. key: in sl_capture_run. */
static __always_inline __u32 filter_frame(__u32 key, const void *data, __u32 linear_bytes,
					  __u32 frame_bytes)
{
	struct filter_context context;

	context.run = bpf_map_lookup_elem(&sl_capture_run, &key);
	if (!context.run)
		return SL_FILTER_UNDECIDED;
	if (linear_bytes > SL_FILTER_HEAD)
		linear_bytes = SL_FILTER_HEAD;
	__builtin_memset(context.run, 0, offsetof(struct sl_filter_run, head));
	if (bpf_probe_read_kernel(context.run->head, linear_bytes, data))
		return SL_FILTER_UNDECIDED;
	context.run->frame_bytes = frame_bytes;
	context.run->head_bytes = linear_bytes;
	bpf_loop(SL_FILTER_INSNS_MAX, filter_step, &context, 0);
	return context.run->verdict;
}

/* Whether the frame may pass the filter; *chosen: it does. */
static __always_inline bool may_pass(struct xdp_buff *xdp, __u8 *chosen)
{
	__u32 verdict;

	*chosen = 0;
	if (!sl_capture_filter.n)
		return true;
	verdict = filter_frame(0, xdp->data, (__u32)(xdp->data_end - xdp->data),
			       (__u32)bpf_xdp_get_buff_len((void *)xdp));
	*chosen = verdict == SL_FILTER_CHOOSES;
	return verdict != SL_FILTER_REJECTS;
}

static __always_inline long put_frame(struct xdp_buff *xdp, struct sl_captured *record, bool bytes)
{
	__u32 snap_bytes = sl_capture_config.snap_bytes;

	record->frame_bytes = bpf_xdp_get_buff_len((void *)xdp);
	if (bytes)
		record->copied_bytes =
			record->frame_bytes < snap_bytes ? record->frame_bytes : snap_bytes;
	return bpf_xdp_output(xdp, &sl_capture_ring,
			      (__u64)record->copied_bytes << 32 | BPF_F_CURRENT_CPU, record,
			      sizeof(*record));
}

static __always_inline void describe(const struct xdp_buff *xdp, const struct capture_state *state,
				     __u8 stage, struct sl_captured *record)
{
	record->time_ns = bpf_ktime_get_ns();
	record->number = state->number;
	record->ifindex = xdp->rxq->dev->ifindex;
	record->queue = xdp->rxq->queue_index;
	record->stage = stage;
	record->fabric = sl_capture_config.fabric;
}

static __always_inline struct capture_state *state_of_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&sl_capture_state, &zero);
}

/*
 * Whether the frame that enters is a sample. The distance to the next one is drawn from
 * 1..2 * sampling - 1, all alike, so that its mean is `sampling` and no rhythm of the traffic hides
 * from it.
 */
static __always_inline bool is_sample(struct capture_state *state, __u32 slot)
{
	__u32 key = SL_CAPTURE_COUNT(slot, 0);
	struct sl_capture_count *counted = bpf_map_lookup_elem(&sl_capture_counts, &key);

	if (!counted)
		return false;
	counted->pool++;
	if (!state->skip)
		state->skip = 1 + bpf_get_prandom_u32() % (2 * sl_capture_config.sampling - 1);
	return --state->skip == 0;
}

SEC("fentry")
int sl_capture_in(__u64 *args)
{
	struct xdp_buff *xdp = (void *)args[0];
	struct capture_state *state = state_of_cpu();
	struct sl_captured record = {};
	__u32 *slot;

	if (!state)
		return 0;
	state->number++;
	slot = slot_of(xdp->rxq->dev->ifindex);
	if (slot && sl_capture_config.sampling && !is_sample(state, *slot))
		slot = NULL;
	if (slot && !may_pass(xdp, &record.chosen)) {
		count_left(*slot, 0);
		slot = NULL;
	}
	state->in_slot1 = slot ? *slot + 1 : 0;
	if (!slot) {
		state->has_seen = 0; /* this frame may count, and nobody looks */
		return 0;
	}
	if (!state->has_seen && !sl_capture_config.fabric) {
		grown(state, &sl_drops, state->drops, SL_DROP_COUNT, true);
		grown(state, &sl_punts, state->punts, SL_PUNT_COUNT, false);
		state->has_seen = 1;
	}
	describe(xdp, state, SL_CAPTURE_IN, &record);
	count(*slot, 0, put_frame(xdp, &record, true) != 0);
	return 0;
}

/* --- What became of it --- */

static __always_inline const struct bpf_redirect_info *redirect_info(void)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();

	if (bpf_core_field_exists(task->bpf_net_context))
		return &task->bpf_net_context->ri;
	return &bpf_redirect_info ? bpf_this_cpu_ptr(&bpf_redirect_info) : NULL;
}

static __always_inline void read_redirect(struct sl_captured *record)
{
	const struct bpf_redirect_info *info = redirect_info();
	struct bpf_dtab_netdev *to;
	__u32 map_type;

	if (!info)
		return;
	map_type = BPF_CORE_READ(info, map_type);
	if (map_type == BPF_MAP_TYPE_XSKMAP) {
		record->outcome = SL_OUTCOME_QUEUED;
		return;
	}
	record->outcome = SL_OUTCOME_FORWARD;
	if (map_type == BPF_MAP_TYPE_UNSPEC) {
		record->to_ifindex = BPF_CORE_READ(info, tgt_index);
		return;
	}
	to = BPF_CORE_READ(info, tgt_value);
	record->to_ifindex = BPF_CORE_READ(to, dev, ifindex);
}

/* The queue that a frame is in, by the metadata that sl_edge puts below it. */
static __always_inline __u32 voq_plus1(const struct xdp_buff *xdp)
{
	struct sl_frame_meta meta;
	void *at = xdp->data_meta;

	if (xdp->data - at < (long)sizeof(meta) || bpf_probe_read_kernel(&meta, sizeof(meta), at) ||
	    meta.magic != SL_FRAME_META_MAGIC)
		return 0;
	return meta.voq + 1;
}

SEC("fexit")
int sl_capture_end(__u64 *args)
{
	struct xdp_buff *xdp = (void *)args[0];
	struct capture_state *state = state_of_cpu();
	struct sl_captured record = {};
	__u32 action = args[1], *out = NULL;
	bool edge = !sl_capture_config.fabric;
	long err;

	if (!state || (sl_capture_config.sampling && !state->in_slot1))
		return 0;
	if (action == XDP_REDIRECT) {
		read_redirect(&record);
		if (record.to_ifindex && !sl_capture_config.sampling)
			out = slot_of(record.to_ifindex);
	} else if (!state->in_slot1) {
		return 0;
	} else if (action == XDP_PASS) {
		record.outcome = SL_OUTCOME_KERNEL;
		if (edge)
			record.reason = grown(state, &sl_punts, state->punts, SL_PUNT_COUNT, false);
	} else if (action == XDP_DROP) {
		record.outcome = SL_OUTCOME_DROPPED;
		if (edge)
			record.reason = grown(state, &sl_drops, state->drops, SL_DROP_COUNT, true);
	}
	/* A frame that passed as it entered is followed to where it leaves. */
	if (out && !may_pass(xdp, &record.chosen) && !state->in_slot1) {
		count_left(*out, 1);
		out = NULL;
	}
	if (!state->in_slot1 && !out)
		return 0;
	if (edge && record.outcome == SL_OUTCOME_QUEUED)
		record.voq_plus1 = voq_plus1(xdp);
	describe(xdp, state, SL_CAPTURE_END, &record);
	err = put_frame(xdp, &record, out != NULL);
	if (out)
		count(*out, 1, err != 0);
	return 0;
}

/* Arguments: the frame, the transmit queue. It has its Ethernet header, and is not sent yet. */
SEC("fentry/__dev_direct_xmit")
int sl_capture_sent(__u64 *args)
{
	struct sk_buff *skb = (void *)args[0];
	struct net_device *dev = skb->dev;
	struct sl_captured record = {};
	__u32 bytes = skb->len, verdict = SL_FILTER_UNDECIDED, *slot;

	if (dev->nd_net.net->net_cookie != sl_capture_config.netns_cookie)
		return 0;
	slot = slot_of(dev->ifindex);
	if (!slot)
		return 0;
	if (sl_capture_filter.n) {
		verdict = filter_frame(1, skb->data, bytes - skb->data_len, bytes);
		record.chosen = verdict == SL_FILTER_CHOOSES;
	}
	if (verdict == SL_FILTER_REJECTS) {
		count_left(*slot, 1);
		return 0;
	}
	record.time_ns = bpf_ktime_get_ns();
	record.ifindex = dev->ifindex;
	record.stage = SL_CAPTURE_SENT;
	record.frame_bytes = bytes;
	record.copied_bytes =
		bytes < sl_capture_config.snap_bytes ? bytes : sl_capture_config.snap_bytes;
	count(*slot, 1,
	      bpf_skb_output(skb, &sl_capture_ring,
			     (__u64)record.copied_bytes << 32 | BPF_F_CURRENT_CPU, &record,
			     sizeof(record)) != 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
