/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * For voq: the way out of an own port that is shaped, past the bridge (struct sl_own_port).
 */
#ifndef SL_OWN_WAY_BPF_H
#define SL_OWN_WAY_BPF_H

#include "bpf/edge/express.bpf.h"
#include "bpf/edge/maps.bpf.h"
#include "bpf/lib/token_bucket.bpf.h"

/*
 * May a frame of VOQ `id` leave at once? Takes its tokens. Others write the elements meanwhile, so
 * each field is read once, in this order. Not static: the kernel verifies it by itself, once.
 */
__noinline int sl_own_way(__u32 id, __u32 len_bytes, __u64 now_ns)
{
	__u32 first = id - id % SL_CLASSES;
	const volatile struct sl_voq *voq = bpf_map_lookup_elem(&sl_voq, &id);
	struct sl_backlog *backlog = bpf_map_lookup_elem(&sl_backlog, &id);
	struct sl_backlog *port = bpf_map_lookup_elem(&sl_backlog, &first);
	const volatile struct sl_own_port *own;
	__u64 until_ns, rate;

	if (!voq || !backlog || !port)
		return 0;
	own = &port->own;
	until_ns = own->until_ns;
	if (!until_ns || !voq->limit_frames ||
	    sl_waiting(&backlog->enqueued.frames, &backlog->dequeued.frames) || own->busy)
		return 0;
	rate = own->rate;
	if (now_ns >= until_ns || !sl_bucket_is_ready(&own->clock, rate, own->burst, now_ns) ||
	    (voq->rate != SL_RATE_UNLIMITED && !sl_voq_has_token(voq, backlog, now_ns)))
		return 0;
	if (voq->rate != SL_RATE_UNLIMITED)
		sl_voq_spend(voq, backlog, len_bytes, now_ns);
	sl_bucket_spend(&port->own.clock, rate, own->unit == SL_UNIT_BYTES ? len_bytes : 1, now_ns);
	__sync_fetch_and_add(&backlog->express.frames, 1);
	__sync_fetch_and_add(&backlog->express.bytes, len_bytes);
	return 1;
}

#endif
