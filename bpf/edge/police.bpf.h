/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* The policer of a rule: may its packet go on, and with which DSCP? */
#ifndef SL_POLICE_BPF_H
#define SL_POLICE_BPF_H

#include "bpf/edge/maps.bpf.h"
#include "bpf/edge/packet.bpf.h"
#include "bpf/lib/policer_colour.bpf.h"

/*
 * The colour, and, from bit 8 on, the DSCP that the packet gets for it, plus 1. Without its policer
 * a rule lets nothing pass. Not inlined, so that the verifier looks at it once.
 */
__attribute__((noinline)) int sl_police_number(__u32 number, __u32 bytes)
{
	struct sl_policer *policer = bpf_map_lookup_elem(&sl_policer, &number);
	__u64 now_ns = bpf_ktime_get_ns();
	__u32 colour;

	if (!policer)
		return SL_COLOUR_RED;
	bpf_spin_lock(&policer->lock);
	colour = sl_policer_colour(policer, now_ns, bytes);
	bpf_spin_unlock(&policer->lock);
	return colour | (colour == SL_COLOUR_YELLOW ? policer->exceed_dscp_plus1 << 8 : 0);
}

/* May the packet go on? The bytes are those of its IP packet, as the RFCs count. */
static __always_inline bool sl_police(struct sl_packet *pkt, __u32 number)
{
	__u32 answer = sl_police_number(number, pkt->ip_len_bytes);

	if (answer >> 8)
		pkt->dscp_plus1 = answer >> 8 & 0xff;
	return (answer & 0xff) != SL_COLOUR_RED;
}

#endif
