/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The sample of the frames that sl_fabric redirects itself. A frame is recorded when sl_fabric has
 * it, and its record ends when the driver of its port has taken it: the kernel gathers the frames
 * that a CPU redirects to a netdev, and gives them to the driver when it has SL_BULK_FRAMES, or has
 * done with the frames that came at once. fabric_sent.bpf.c sees that. Where it does not run, a
 * record ends with the redirect.
 */
#ifndef SL_SAMPLE_BPF_H
#define SL_SAMPLE_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi/arrival.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* by worker */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct sl_samples);
} fabric_samples SEC(".maps");

#define SL_BULK_FRAMES 16 /* the kernel's DEV_MAP_BULK_SIZE */

/* What a CPU has redirected to a netdev, and has not given to its driver. */
struct sl_bulk {
	__u32 ifindex;
	__u32 worker;  /* of the samples */
	__u32 sampled; /* of the frames */
	__u32 frames;  /* one too many while the kernel makes room for the latest */
	__u64 number[SL_BULK_FRAMES + 1]; /* by frame, in their order: of its sample; 0: none */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SL_BULKS);
	__type(key, __u32); /* ifindex % SL_BULKS */
	__type(value, struct sl_bulk);
} fabric_bulks SEC(".maps");

static __always_inline struct sl_bulk *sl_bulk_of(__u32 ifindex)
{
	__u32 key = ifindex & (SL_BULKS - 1);

	return bpf_map_lookup_elem(&fabric_bulks, &key);
}

/* Give the sample to the bridge, which waits for its number. left_ns 0: the frame did not leave. */
static __always_inline void sl_sample_end(struct sl_sample *sample, __u64 number, __u64 left_ns)
{
	sample->left_ns = left_ns;
	__sync_lock_test_and_set(&sample->number, number);
}

static __always_inline void sl_bulk_end(struct sl_bulk *bulk, __u32 i, __u64 left_ns)
{
	__u64 number = bulk->number[i];
	__u32 worker = bulk->worker;
	struct sl_samples *samples;

	if (!number)
		return;
	bulk->number[i] = 0;
	bulk->sampled--;
	samples = bpf_map_lookup_elem(&fabric_samples, &worker);
	if (samples)
		sl_sample_end(&samples->sample[(number - 1) & (SL_SAMPLES - 1)], number, left_ns);
}

/* The first n frames of a bulk are no longer in it; the driver has taken the first `sent`. */
static __always_inline void sl_bulk_leave(struct sl_bulk *bulk, __u32 n, __u32 sent)
{
	__u64 now_ns;
	__u32 i;

	if (!bulk->sampled)
		return;
	now_ns = bpf_ktime_get_ns();
	for (i = 0; i <= SL_BULK_FRAMES && i < n; i++)
		sl_bulk_end(bulk, i, i < sent ? now_ns : 0);
}

/* The frame will be redirected to that netdev: put it into the bulk. sample NULL: it is none. */
static __always_inline void sl_bulk_put(__u32 ifindex, __u32 worker, struct sl_sample *sample,
					__u64 number)
{
	struct sl_bulk *bulk = sl_bulk_of(ifindex);
	__u32 i;

	if (!bulk)
		return; /* for the verifier: there is one */
	i = bulk->frames;
	/* Another netdev's, or of one whose driver took it before we knew. */
	if (bulk->ifindex != ifindex || i > SL_BULK_FRAMES) {
		sl_bulk_leave(bulk, SL_BULK_FRAMES + 1, 0);
		bulk->ifindex = ifindex;
		i = 0;
	}
	bulk->frames = i + 1;
	if (!sample)
		return;
	bulk->number[i] = number;
	bulk->worker = worker;
	bulk->sampled++;
}

#endif
