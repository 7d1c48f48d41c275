/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Data messages that arrive: judge express messages and redirect their frames to edge ports, or
 * give messages to the bridge, counted and numbered.
 */
#ifndef SL_ARRIVE_BPF_H
#define SL_ARRIVE_BPF_H

#include "bpf/abi/arrival.h"
#include "bpf/abi/fabric_address.h"
#include "bpf/fabric/icrc.bpf.h"
#include "bpf/fabric/message.bpf.h"
#include "bpf/fabric/roce_frame.bpf.h"
#include "bpf/fabric/sample.bpf.h"
#include "bpf/lib/token_bucket.bpf.h"

extern const volatile struct sl_arrival_config arrival;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SL_EXPRESS_NODES); /* times workers */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32); /* node * workers + worker */
	__type(value, struct sl_arrivals);
} fabric_arrivals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SL_ARRIVAL_PORTS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct sl_arrival_port);
} fabric_ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SL_TAKEN_KEYS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32); /* sl_taken_key */
	__type(value, struct sl_passed);
} fabric_taken SEC(".maps");

/* Set to 1 when the driver has no room for metadata: then messages cannot be numbered. */
__u32 without_meta;

/* Set to 1 by the bridge while fabric_sent.bpf.c sees when drivers take frames. */
volatile __u32 flushes_are_traced;

#define SL_ECN_CE_BITS 3

/* What sl_fabric does with an express message. */
enum sl_arrival_verdict {
	SL_ARRIVAL_GOOD,  /* fields, check and number are good */
	SL_ARRIVAL_OTHER, /* not one: the bridge judges it */
	SL_ARRIVAL_BAD,	  /* drop it */
};

/* As rb_seq_judge, with a shorter window. */
static __always_inline bool sl_judge_number(struct sl_arrival_stream *stream, __u32 sequence)
{
	__u32 ahead = sequence - stream->next, behind = stream->next - 1 - sequence;
	bool begins = !stream->span;

	if (ahead >= SL_ARRIVAL_JUMP && ahead < 1u << 31 && sequence == stream->jump)
		begins = true; /* the second one after a jump */
	if (begins || ahead < SL_ARRIVAL_JUMP) {
		__u32 span = stream->span + ahead + 1;

		stream->seen = begins || ahead >= SL_ARRIVAL_WINDOW - 1
				       ? 1
				       : stream->seen << (ahead + 1) | 1;
		stream->span = begins ? 1 : span < SL_ARRIVAL_WINDOW ? span : SL_ARRIVAL_WINDOW;
		stream->lost += begins ? 0 : ahead;
		stream->next = sequence + 1;
		stream->received++;
		return true;
	}
	if (ahead < 1u << 31 || behind >= stream->span) {
		stream->jump = sequence + 1;
		stream->stale++;
		return false;
	}
	if (stream->seen >> (behind & 63) & 1) {
		stream->duplicate++;
		return false;
	}
	stream->seen |= 1ULL << (behind & 63);
	stream->lost--;
	stream->late++;
	stream->received++;
	return true;
}

/* Is the ICRC what the sender says? Not static: the kernel verifies it by itself, once. */
__noinline int sl_icrc_is_good(struct xdp_md *ctx)
{
	__u32 crc = 0;
	const sl_icrc_word *at = sl_icrc(ctx, &crc);

	return at && *at == crc;
}

/* Is the sum of the message's headers, or of all of it, or the ICRC what its sender says? */
static __always_inline bool sl_check_is_good(struct xdp_md *ctx, struct sl_message_headers *headers,
					     void *end, __u32 pseudo_sum, __u32 check)
{
	__u64 sum;

	if (check == SL_EXPRESS_ICRC)
		return sl_icrc_is_good(ctx);
	sum = sl_headers_sum(headers, pseudo_sum);
	if (check == SL_EXPRESS_UDP)
		sum += sl_payload_sum(headers + 1, end);
	return sl_fold(sum) == 0xffff;
}

/*
 * Do the IP and UDP lengths fill the frame, and is it from that address, which is on our link? Sums
 * the pseudo header.
 */
static __always_inline bool sl_judge_ip(void *data, void *end, const struct udphdr *udp,
					const struct sl_arrivals *from, __u32 *pseudo_sum, bool *ce)
{
	struct ethhdr *eth = data;
	__u64 sum = (SL_FORCE __u16)sl_htons(IPPROTO_UDP);
	__u32 i;

	if ((void *)(eth + 1) > end)
		return false;
	if (eth->h_proto == sl_htons(ETH_P_IP)) {
		struct iphdr *ip = (void *)(eth + 1);
		const __u32 *word = (const void *)ip;

		if ((void *)(ip + 1) > end || ip->version != 4 || ip->ttl != SL_FABRIC_HOP_LIMIT ||
		    ip->saddr != from->ip[3] || sl_htonl(0xffff) != from->ip[2] ||
		    sl_fold((__u64)word[0] + word[1] + word[2] + word[3] + word[4]) != 0xffff ||
		    end - (void *)ip != sl_ntohs(ip->tot_len) ||
		    sl_ntohs(udp->len) != sl_ntohs(ip->tot_len) - sizeof(*ip))
			return false;
		*ce = (ip->tos & SL_ECN_CE_BITS) == SL_ECN_CE_BITS;
		sum += (__u64)(SL_FORCE __u32)ip->saddr + (SL_FORCE __u32)ip->daddr;
	} else {
		struct ipv6hdr *ip = (void *)(eth + 1);

		if ((void *)(ip + 1) > end || ip->version != 6 ||
		    ip->hop_limit != SL_FABRIC_HOP_LIMIT || udp->len != ip->payload_len ||
		    end - (void *)(ip + 1) != sl_ntohs(ip->payload_len))
			return false;
		*ce = (ip->flow_lbl[0] >> 4 & SL_ECN_CE_BITS) == SL_ECN_CE_BITS;
		for (i = 0; i < 4; i++) {
			if (ip->saddr.in6_u.u6_addr32[i] != from->ip[i])
				return false;
			sum += (SL_FORCE __u32)ip->saddr.in6_u.u6_addr32[i];
			sum += (SL_FORCE __u32)ip->daddr.in6_u.u6_addr32[i];
		}
	}
	sum = (sum & 0xffffffff) + (sum >> 32);
	*pseudo_sum = (sum & 0xffffffff) + (sum >> 32);
	return true;
}

/* Every field, as the bridge judges them (rb_roce_parse, rb_msg_header_decode, rb_unpack_frames) */
static __always_inline bool sl_judge_fields(const struct sl_message_headers *headers,
					    const struct sl_arrivals *from, __u32 qpn)
{
	const struct sl_message *m = &headers->message;
	__u32 length = sl_ntohs(m->length), pad = headers->bth.flags >> 4 & 3;

	return headers->bth.pkey == sl_htons(0xffff) && !(headers->bth.flags & 0x0f) &&
	       (headers->bth.qpn & sl_htonl(0xffffff)) == sl_htonl(qpn) &&
	       headers->deth.qkey == arrival.qkey &&
	       (headers->deth.source_qpn & sl_htonl(0xffffff)) == from->qpn &&
	       length + pad + SL_ROCE_ICRC_BYTES ==
		       sl_ntohs(headers->udp.len) - (sizeof(*headers) - sizeof(*m)) &&
	       sl_ntohs(m->frame_length) == length - sizeof(*m) &&
	       sl_ntohs(m->frame_length) >= ETH_HLEN && m->destination == arrival.node &&
	       m->source != arrival.node && m->count == 1 && m->epoch == from->epoch &&
	       sl_ntohs(m->system_port) >> 8 == arrival.node && m->class < SL_CLASSES &&
	       sl_ntohs(m->ingress_port) >> 8 == m->source && !m->flags;
}

static __always_inline enum sl_arrival_verdict sl_judge(struct xdp_md *ctx, void *data, void *end,
							struct sl_message_headers *headers,
							struct sl_arrivals *from, __u32 qpn,
							bool *ce)
{
	__u32 check = from->check, stream = headers->message.stream, pseudo_sum = 0;

	if (!stream || stream >= SL_STREAMS_MAX || !check ||
	    (check == SL_EXPRESS_ICRC) != !headers->udp.check ||
	    !sl_judge_ip(data, end, &headers->udp, from, &pseudo_sum, ce))
		return SL_ARRIVAL_OTHER;
	if (!sl_check_is_good(ctx, headers, end, pseudo_sum, check)) {
		__sync_fetch_and_add(&from->damaged, 1);
		return SL_ARRIVAL_BAD;
	}
	if (!sl_judge_fields(headers, from, qpn))
		return SL_ARRIVAL_OTHER;
	return sl_judge_number(&from->stream[stream & (SL_STREAMS_MAX - 1)],
			       sl_ntohl(headers->message.sequence))
		       ? SL_ARRIVAL_GOOD
		       : SL_ARRIVAL_BAD;
}

/*
 * Is the edge port free, with a token in its bucket, and nothing of this sender in the bridge?
 * Takes the frame's tokens.
 */
static __always_inline bool sl_may_take(const struct sl_arrivals *from,
					struct sl_arrival_port *port, __u32 frame_bytes)
{
	__u64 left = *(const volatile __u64 *)&from->left, now_ns;
	__u64 rate = *(const volatile __u64 *)&port->rate;

	if (!*(const volatile __u32 *)&port->ifindex || *(const volatile __u32 *)&port->busy ||
	    *(const volatile __u64 *)&from->handed != left || *(volatile __u32 *)&without_meta)
		return false;
	if (rate == SL_RATE_UNLIMITED)
		return true;
	now_ns = bpf_ktime_get_ns();
	if (!sl_bucket_is_ready(&port->clock, rate, port->burst, now_ns))
		return false;
	sl_bucket_spend(&port->clock, rate, port->unit == SL_UNIT_BYTES ? frame_bytes : 1, now_ns);
	return true;
}

/*
 * Record the frame behind the message if it is its turn, all but when it leaves: then *number is
 * the sample's, for sl_sample_end. NULL: it is not recorded.
 */
static __always_inline struct sl_sample *sl_sample_begin(struct xdp_md *ctx,
							 const struct sl_message *message,
							 struct sl_arrival_port *port,
							 __u32 headers_bytes, __u32 frame_bytes,
							 __u64 *number)
{
	__u32 worker = port->worker;
	__u32 head_bytes = frame_bytes < SL_SAMPLE_HEAD ? frame_bytes : SL_SAMPLE_HEAD;
	struct sl_samples *samples;
	struct sl_sample *sample;

	if (!arrival.sample || port->until-- > 0)
		return NULL;
	asm volatile("" : "+r"(head_bytes)); /* for the verifier: it has not seen the lower bound */
	if (!head_bytes)
		return NULL;
	port->until = bpf_get_prandom_u32() % (2 * arrival.sample - 1);
	samples = bpf_map_lookup_elem(&fabric_samples, &worker);
	if (!samples || samples->made - *(volatile __u64 *)&samples->read >= SL_SAMPLES)
		return NULL;
	*number = __sync_fetch_and_add(&samples->made, 1) + 1;
	sample = &samples->sample[(*number - 1) & (SL_SAMPLES - 1)];
	sample->sent_ns =
		(__u64)sl_ntohl(message->sent_ns[0]) << 32 | sl_ntohl(message->sent_ns[1]);
	sample->system_port = sl_ntohs(message->system_port);
	sample->ingress_port = sl_ntohs(message->ingress_port);
	sample->len_bytes = frame_bytes;
	sample->class = message->class;
	sample->source = message->source;
	bpf_xdp_load_bytes(ctx, headers_bytes, sample->head, head_bytes);
	return sample;
}

/* Cut the message off its frame, and redirect the frame to that netdev. */
static __always_inline int sl_take(struct xdp_md *ctx, struct sl_arrival_port *port,
				   struct sl_passed *taken, __u32 ifindex, __u32 headers_bytes,
				   __u32 trailer_bytes, __u32 frame_bytes)
{
	if (bpf_xdp_adjust_tail(ctx, -(int)trailer_bytes) ||
	    bpf_xdp_adjust_head(ctx, headers_bytes))
		return XDP_ABORTED;
	__sync_fetch_and_add(&taken->frames, 1);
	__sync_fetch_and_add(&taken->bytes, frame_bytes);
	if (!port->used)
		port->used = 1;
	return bpf_redirect(ifindex, 0);
}

/*
 * Number a data message, which has been redirected to the bridge. Other messages have no number,
 * and are said to be of node 0.
 */
static __always_inline void sl_hand_over(struct xdp_md *ctx, struct sl_arrivals *from, __u8 node,
					 bool judged)
{
	struct sl_arrival_meta *meta;

	if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(*meta))) {
		without_meta = 1;
		return;
	}
	meta = (void *)(long)ctx->data_meta;
	if ((void *)(meta + 1) > (void *)(long)ctx->data)
		return; /* for the verifier: the room is there */
	meta->number = from ? __sync_fetch_and_add(&from->handed, 1) : 0;
	meta->magic = SL_ARRIVAL_META_MAGIC;
	meta->node = node;
	meta->judged = judged;
	meta->pad = 0;
	meta->came_ns = from ? 0 : bpf_ktime_get_ns();
}

#endif
