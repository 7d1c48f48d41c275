/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The last step where the egress port is another node's: choose the virtual output queue and
 * redirect to its AF_XDP ring, admit the frame or drop it, put the metadata below it, and rewrite
 * it for the next hop. The other node transmits the frame unchanged.
 *
 * Admission comes before the frame costs anything: all queues share the bridge's packet memory, so
 * a queue that is stopped or slow must not fill it.
 */
#ifndef SL_VOQ_BPF_H
#define SL_VOQ_BPF_H

#include "bpf/edge/express.bpf.h"
#include "bpf/edge/maps.bpf.h"
#include "bpf/edge/own_way.bpf.h"
#include "bpf/edge/packet.bpf.h"
#include "bpf/edge/rewrite.bpf.h"
#include "bpf/edge/stats.bpf.h"
#include "bpf/edge/transmit.bpf.h"

#define SL_ECN_MASK    3 /* the two low bits of TOS and traffic class: RFC 3168 5 */
#define SL_ECN_NOT_ECT 0
#define SL_ECN_CE      3
#define SL_RATE_MAX \
	(1ULL << 48) /* units a second; no queue at this rate or above delays anything */
#define SL_US_PER_SECOND 1000000

/* IPv4's TOS or IPv6's traffic class: DSCP and ECN. */
static __always_inline __u8 sl_traffic_class(const struct sl_packet *pkt)
{
	if (pkt->ip4)
		return ((const struct iphdr *)pkt->l3)->tos;
	return sl_ntohs(*(const __be16 *)pkt->l3) >> 4;
}

static __always_inline __u32 sl_class(const struct sl_packet *pkt)
{
	__u32 dscp = sl_traffic_class(pkt) >> 2, *class;

	if (sl_filtered() && pkt->dscp_plus1)
		dscp = pkt->dscp_plus1 - 1;
	if ((sl_filtered() || sl_reserves()) && pkt->class_plus1)
		return (pkt->class_plus1 - 1) & (SL_CLASSES - 1);
	class = bpf_map_lookup_elem(&sl_dscp, &dscp);
	return class ? *class & (SL_CLASSES - 1) : 0;
}

/*
 * backlog / rate > delay, without a division. Exact below 2^32 units a second; above, rate and
 * backlog lose their last 16 bits so that nothing overflows. The backlog stays below 2^44 units.
 */
static __always_inline bool sl_waits_too_long(__u64 backlog, __u64 rate, __u32 delay_us)
{
	__u32 shift = rate >> 32 ? 16 : 0;

	if (rate >= SL_RATE_MAX)
		return false;
	return backlog * SL_US_PER_SECOND >> shift > (rate >> shift) * delay_us;
}

static __always_inline sl_verdict sl_refuse(struct sl_backlog *backlog, __u32 reason)
{
	__sync_fetch_and_add(&backlog->dropped[reason - SL_VOQ_DROP_FIRST], 1);
	return SL_VERDICT_DROP | reason;
}

/*
 * SL_GO_ON, or a drop that is counted in the backlog. *mark: mark the frame CE if it is
 * ECN-capable. Others write both elements meanwhile, so each field is read once.
 */
static __always_inline sl_verdict sl_admit(const volatile struct sl_voq *voq,
					   const volatile struct sl_ring *ring,
					   struct sl_backlog *backlog, bool *mark)
{
	__u64 frames = sl_waiting(&backlog->enqueued.frames, &backlog->dequeued.frames);
	__u64 rate = voq->rate, units = frames;
	__u32 delay_max_us = voq->delay_max_us, ecn_frames = voq->ecn_frames;

	if (!rate)
		return sl_refuse(backlog, SL_DROP_VOQ_STOPPED);
	if (frames >= voq->limit_frames)
		return sl_refuse(backlog, SL_DROP_VOQ_FULL);
	if ((frames >= SL_VOQ_FLOOR && frames >= ring->share_frames) ||
	    sl_waiting(&ring->entered, &ring->taken) >= SL_RING_FRAMES)
		return sl_refuse(backlog, SL_DROP_VOQ_MEMORY);
	if (voq->unit == SL_UNIT_BYTES)
		units = sl_waiting(&backlog->enqueued.bytes, &backlog->dequeued.bytes);
	if (delay_max_us && sl_waits_too_long(units, rate, delay_max_us))
		return sl_refuse(backlog, SL_DROP_VOQ_DELAY);
	*mark = ecn_frames && frames >= ecn_frames;
	return SL_GO_ON;
}

/* The ring that the frame is redirected into; NULL: the bridge has no socket there. */
static __always_inline struct sl_ring *sl_redirect_to_ring(const struct sl_packet *pkt,
							   __u32 worker)
{
	__u32 queue = pkt->ctx->rx_queue_index;
	__u32 key = sl_ring_key(pkt->port_number, queue, worker, sl_config.n_queues,
				sl_config.n_workers);

	if (queue >= sl_config.n_queues || worker >= sl_config.n_workers ||
	    bpf_redirect_map(&sl_xsk, key, 0) != XDP_REDIRECT)
		return NULL;
	return bpf_map_lookup_elem(&sl_ring, &key);
}

/*
 * Write struct sl_frame_meta just below the frame, which does not change, and update pkt's
 * pointers. Returns false if the driver has no room there.
 */
static __always_inline bool sl_put_meta(struct sl_packet *pkt, __u32 voq)
{
	__u32 l3_offset = ETH_HLEN + pkt->tags * sizeof(struct sl_tag);
	__u32 ip_bytes = pkt->ip4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
	struct sl_frame_meta *meta;

	if (bpf_xdp_adjust_meta(pkt->ctx, -(int)sizeof(*meta)))
		return false;
	meta = (void *)(long)pkt->ctx->data_meta;
	pkt->l2 = (void *)(long)pkt->ctx->data;
	pkt->l3 = pkt->l2 + l3_offset;
	pkt->end = (void *)(long)pkt->ctx->data_end;
	if ((void *)(meta + 1) > pkt->l2 || pkt->l3 + ip_bytes > pkt->end)
		return false; /* for the verifier: earlier steps have seen the headers */
	meta->arrival_ns = pkt->arrival_ns;
	meta->voq = voq;
	meta->ingress_port = SL_SYSTEM_PORT(sl_config.node_id, pkt->port_number);
	meta->magic = SL_FRAME_META_MAGIC;
	meta->pad = 0;
	return true;
}

/*
 * The last thing that happens to the frame: from here on the bridge expects this number. The
 * metadata moved with the frame when tags were put before it.
 */
static __always_inline bool sl_number(const struct sl_packet *pkt, struct sl_ring *ring, __u32 voq,
				      __u32 len_bytes)
{
	struct sl_frame_meta *meta = (void *)(long)pkt->ctx->data_meta;
	__u32 number;

	if ((void *)(meta + 1) > (void *)(long)pkt->ctx->data)
		return false;
	number = __sync_fetch_and_add(&ring->entered, 1);
	ring->frame[number & (SL_RING_FRAMES - 1)] = voq | len_bytes << 16;
	meta->number = number;
	return true;
}

/*
 * Congestion experienced (RFC 3168 5), for a packet that is ECN-capable. The checksum follows by
 * RFC 1624, equation 3: the first 16-bit word grows by 1 or 2, and nothing carries out of its low
 * byte. Returns whether it has marked the packet.
 */
static __always_inline bool sl_mark_ce(const struct sl_packet *pkt)
{
	__u8 ecn = sl_traffic_class(pkt) & SL_ECN_MASK;

	if (ecn == SL_ECN_NOT_ECT || ecn == SL_ECN_CE)
		return false;
	if (pkt->ip4) {
		struct iphdr *ip = pkt->l3;
		__u32 sum = (__u16) ~(SL_FORCE __u16)ip->check;

		sum += (SL_FORCE __u16)sl_htons(SL_ECN_CE - ecn);
		ip->check = (SL_FORCE __sum16)(__u16) ~((sum & 0xffff) + (sum >> 16));
		ip->tos |= SL_ECN_CE;
	} else {
		((struct ipv6hdr *)pkt->l3)->flow_lbl[0] |= SL_ECN_CE << 4;
	}
	return true;
}

/*
 * May the frame wait in queues of this node's own ports? Not if it is too large for them, or if no
 * bridge serves them, maybe because its configuration is another one: then it leaves at once.
 */
static __always_inline struct sl_ring *sl_own_ring(const struct sl_packet *pkt,
						   const struct sl_backlog *backlog)
{
	if (!*(const volatile __u16 *)&backlog->system_port ||
	    pkt->len_bytes + SL_TAGS_MAX * sizeof(struct sl_tag) > SL_QUEUED_MAX_BYTES)
		return NULL;
	return sl_redirect_to_ring(pkt, *(const volatile __u32 *)&backlog->worker);
}

static __always_inline sl_verdict sl_enqueue(struct sl_packet *pkt, struct sl_adj *adj)
{
	__u32 id = adj->voq_plus1 - 1 + sl_class(pkt);
	struct sl_voq *voq = bpf_map_lookup_elem(&sl_voq, &id);
	struct sl_backlog *backlog = bpf_map_lookup_elem(&sl_backlog, &id);
	__u32 len_bytes = ETH_HLEN + adj->vlan_tags * sizeof(struct sl_tag) + pkt->ip_len_bytes;
	struct sl_express_path *express;
	struct sl_ring *ring;
	sl_verdict verdict;
	bool mark;

	if (!voq || !backlog)
		return SL_PUNT(OTHER); /* user space writes no such VOQ */
	if (!adj->remote) {
		ring = sl_own_way(id, len_bytes, pkt->arrival_ns) ? NULL
								  : sl_own_ring(pkt, backlog);
		if (!ring)
			return sl_transmit(pkt, adj);
	} else {
		express = sl_express_way(pkt, voq, backlog, len_bytes);
		if (express) {
			verdict = sl_rewrite(pkt, adj, SL_PORT_PARTIAL);
			return verdict == SL_GO_ON
				       ? sl_express_send(pkt, express, backlog, id, len_bytes)
				       : verdict;
		}
		ring = sl_redirect_to_ring(pkt, *(volatile __u32 *)&backlog->worker);
		if (!ring)
			return sl_refuse(backlog, SL_DROP_NO_BRIDGE);
	}
	verdict = sl_admit(voq, ring, backlog, &mark);
	if (verdict != SL_GO_ON)
		return verdict;
	if (!sl_put_meta(pkt, id))
		return SL_PUNT(NO_META);
	mark = mark && sl_mark_ce(pkt);
	verdict = sl_rewrite(pkt, adj, SL_PORT_PARTIAL | SL_PORT_NOTED);
	if (verdict != SL_GO_ON)
		return verdict;
	__sync_fetch_and_add(&backlog->enqueued.frames, 1);
	__sync_fetch_and_add(&backlog->enqueued.bytes, len_bytes);
	if (!sl_number(pkt, ring, id, len_bytes))
		return SL_DROP(REWRITE); /* for the verifier: the metadata is there */
	if (!mark)
		return SL_QUEUED;
	__sync_fetch_and_add(&backlog->marked, 1);
	sl_count(&sl_stats, SL_STAT_CE, 1, pkt->len_bytes);
	return SL_QUEUED;
}

#endif
