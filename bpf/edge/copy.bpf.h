/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Copies of packets for sluiced, which sends them to a netdev, or answers them. XDP itself can send
 * a packet to one place only, and cannot make a new one beside it.
 */
#ifndef SL_COPY_BPF_H
#define SL_COPY_BPF_H

#include "bpf/abi/copy.h"
#include "bpf/edge/limit.bpf.h"
#include "bpf/edge/maps.bpf.h"
#include "bpf/edge/packet.bpf.h"

/*
 * Copy the frame. If nobody reads the ring, or it is full, there is no copy: the ring counts those.
 * Not inlined, so that the verifier looks at it once.
 */
__attribute__((noinline)) int sl_copy_frame(struct xdp_md *ctx, __u32 kind, __u32 number,
					    __u32 l3_ifindex, __u32 l3_offset)
{
	struct sl_copy copy = {
		.kind = kind, .number = number, .l3_ifindex = l3_ifindex, .l3_offset = l3_offset
	};
	__u64 bytes = bpf_xdp_get_buff_len(ctx);

	copy.frame_bytes = bytes;
	if (bytes > SL_COPY_BYTES_MAX)
		bytes = SL_COPY_BYTES_MAX;
	copy.copied_bytes = bytes;
	return bpf_perf_event_output(ctx, &sl_copies, bytes << 32 | BPF_F_CURRENT_CPU, &copy,
				     sizeof(copy));
}

/* One in `sample` frames of the rule. */
static __always_inline void sl_copy_sample(struct xdp_md *ctx, __u32 number, __u32 sample,
					   __u32 l3_ifindex)
{
	if (sample > 1 && bpf_get_prandom_u32() % sample)
		return;
	sl_copy_frame(ctx, SL_COPY_MIRROR, number, l3_ifindex, 0);
}

/* Have the sender told that its packet was denied, unless there are too many of them. */
static __always_inline void sl_copy_for_answer(const struct sl_packet *pkt, __u32 kind,
					       __u32 number)
{
	if (sl_within_limit(SL_LIMIT_NO_ROUTE))
		sl_copy_frame(pkt->ctx, kind, number, pkt->l3_ifindex,
			      ETH_HLEN + pkt->tags * sizeof(struct sl_tag));
}

#endif
