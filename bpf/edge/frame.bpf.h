/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * How long is the frame? A call of a helper, which costs as much as the lookup of a route, counts
 * the bytes of all its buffers. Most frames have one buffer, and the kernel's own xdp_buff says so
 * (Linux 6.2); on an older kernel each frame pays for the call.
 */
#ifndef SL_FRAME_BPF_H
#define SL_FRAME_BPF_H

#include <stdbool.h>
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

#endif
