/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How long is the frame, and may a tag lie beside it? The kernel answers both by a call, which
 * costs as much as the lookup of a route. Most frames have one buffer, or came from XDP, which
 * keeps no tag beside a frame, and the kernel's own structures say so (Linux 6.2); on an older
 * kernel each frame pays for the calls.
 */
#ifndef SL_FRAME_BPF_H
#define SL_FRAME_BPF_H

#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include "bpf/lib/kernel_types.bpf.h"

static __always_inline bool sl_frame_has_one_buffer(struct xdp_md *ctx)
{
	struct xdp_buff *xdp;

	if (!bpf_cast_to_kern_ctx || !bpf_core_field_exists(struct xdp_buff, flags))
		return false;
	xdp = bpf_cast_to_kern_ctx(ctx);
	return !(xdp->flags & bpf_core_enum_value(enum xdp_buff_flags, XDP_FLAGS_HAS_FRAGS));
}

/* frags: the driver may hand over frames in several buffers */
static __always_inline __u32 sl_frame_bytes(struct xdp_md *ctx, bool frags)
{
	if (frags && !sl_frame_has_one_buffer(ctx))
		return bpf_xdp_get_buff_len(ctx);
	return ctx->data_end - ctx->data;
}

/* The daemon sets it in a program that it binds to a veth. */
extern const volatile __u32 sl_bound_to_veth;

/*
 * Only a veth tells. Its type is not that of the cast: the type may be in the BTF of a module,
 * which the kernel does not look into.
 */
static __always_inline bool sl_frame_is_from_xdp(struct xdp_md *ctx)
{
	const void *xdp;

	if (!sl_bound_to_veth || !bpf_cast_to_kern_ctx || !bpf_rdonly_cast ||
	    !bpf_core_field_exists(struct veth_xdp_buff, skb))
		return false;
	xdp = bpf_cast_to_kern_ctx(ctx);
	return !SL_AS(hlist_head, xdp + bpf_core_field_offset(struct veth_xdp_buff, skb))->first;
}

#endif
