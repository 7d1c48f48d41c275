/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * For voq: the express way to another node, past the bridge. A frame takes it while nothing waits
 * for its VOQ, nothing of it is under way by the bridge, and its bucket has a token. The frame
 * becomes a data message of one frame, as the bridge makes it, in a stream of this CPU.
 */
#ifndef SL_EXPRESS_BPF_H
#define SL_EXPRESS_BPF_H

#include "bpf/abi/express.h"
#include "bpf/edge/maps.bpf.h"
#include "bpf/edge/packet.bpf.h"
#include "bpf/edge/stats.bpf.h"
#include "bpf/fabric/icrc.bpf.h"
#include "bpf/fabric/message.bpf.h"
#include "bpf/lib/token_bucket.bpf.h"

/* How many have entered and not left. Reads `dequeued` first: the result is never too small. */
static __always_inline __u64 sl_waiting(const volatile __u64 *enqueued,
					const volatile __u64 *dequeued)
{
	__u64 left = *dequeued;
	__s64 waiting = *enqueued - left;

	return waiting > 0 ? waiting : 0;
}

/* Bytes that fill the message up to a multiple of 4 (InfiniBand 9.2.1, the pad count). */
static __always_inline __u32 sl_express_pad_bytes(__u32 len_bytes)
{
	return -(__u32)(sizeof(struct sl_message) + len_bytes) & 3;
}

/*
 * Put the padding and the place of the ICRC, all zeros, behind the IP packet, and update pkt's
 * pointers. False if the driver has no room; then the frame is as it was.
 */
static __always_inline bool sl_express_trailer(struct sl_packet *pkt, __u32 len_bytes)
{
	__u32 l3_offset = ETH_HLEN + pkt->tags * sizeof(struct sl_tag);
	__u32 packet_bytes = l3_offset + pkt->ip_len_bytes;
	__u32 trailer_bytes = sl_express_pad_bytes(len_bytes) + SL_ROCE_ICRC_BYTES;
	__u32 padding_bytes = pkt->len_bytes - packet_bytes;
	int more = trailer_bytes - padding_bytes;
	const __u64 zeros = 0;
	bool room = !bpf_xdp_adjust_tail(pkt->ctx, more);

	/* The kernel zeroes only what it adds. */
	if (room && padding_bytes && trailer_bytes <= sizeof(zeros))
		bpf_xdp_store_bytes(pkt->ctx, packet_bytes, (void *)&zeros, trailer_bytes);
	pkt->l2 = (void *)(long)pkt->ctx->data;
	pkt->l3 = pkt->l2 + l3_offset;
	pkt->end = (void *)(long)pkt->ctx->data_end;
	pkt->has_trailer = room;
	return room;
}

/* Functions of their own: their variables would be too much for the stack of sl_edge. */
static __noinline bool sl_voq_has_token(const volatile struct sl_voq *voq,
					const struct sl_backlog *backlog, __u64 now_ns)
{
	return sl_bucket_is_ready(&backlog->clock, voq->rate, voq->burst, now_ns);
}

static __noinline void sl_voq_spend(const volatile struct sl_voq *voq, struct sl_backlog *backlog,
				    __u32 len_bytes, __u64 now_ns)
{
	sl_bucket_spend(&backlog->clock, voq->rate, voq->unit == SL_UNIT_BYTES ? len_bytes : 1,
			now_ns);
}

/*
 * The path by which the frame leaves at once, with its trailer in place; or NULL: the bridge
 * carries it. Others write the elements meanwhile, so each field is read once, in this order: the
 * bridge marks the path busy before it takes a frame out of the backlog.
 */
static __always_inline struct sl_express_path *sl_express_way(struct sl_packet *pkt,
							      const volatile struct sl_voq *voq,
							      struct sl_backlog *backlog,
							      __u32 len_bytes)
{
	__u32 ip_bytes = pkt->ip4 ? sizeof(struct iphdr) : sizeof(struct ipv6hdr);
	__u32 key = *(const volatile __u16 *)&backlog->path_plus1;
	__u64 now_ns = pkt->arrival_ns;
	volatile struct sl_express_path *path;

	if (!sl_has_express() || !key)
		return NULL;
	key--;
	path = bpf_map_lookup_elem(&sl_express, &key);
	if (!path || !voq->limit_frames || len_bytes > path->frame_max_bytes ||
	    sl_waiting(&backlog->enqueued.frames, &backlog->dequeued.frames) || path->busy ||
	    pkt->end - pkt->l2 != pkt->len_bytes || pkt->port_flags & SL_PORT_NOTED)
		return NULL;
	if (now_ns >= path->until_ns ||
	    (voq->rate != SL_RATE_UNLIMITED && !sl_voq_has_token(voq, backlog, now_ns)) ||
	    !sl_express_trailer(pkt, len_bytes))
		return NULL;
	if (voq->rate != SL_RATE_UNLIMITED)
		sl_voq_spend(voq, backlog, len_bytes, now_ns);
	if (pkt->l3 + ip_bytes > pkt->end)
		return NULL; /* for the verifier: earlier steps have seen the headers */
	return (struct sl_express_path *)path;
}

/* The checksum of an IPv4 header without options (RFC 791) whose other fields sum up to `sum`. */
static __always_inline __sum16 sl_ip4_checksum(__u32 sum, __be16 total_length)
{
	return (SL_FORCE __sum16)(__u16)~sl_fold((__u64)sum + (SL_FORCE __u16)total_length);
}

/*
 * Put the headers before the frame. `header_bytes` is a constant to the compiler. Returns where the
 * UDP header is, or NULL if the driver has no room.
 */
static __always_inline struct sl_message_headers *sl_express_headers(
	struct sl_packet *pkt, const struct sl_express_path *path, __u32 header_bytes)
{
	const __u32 ip_udp_bytes = header_bytes - sizeof(struct sl_bth) - sizeof(struct sl_deth);
	struct sl_message_headers *headers;
	__u32 udp_bytes, ip_len_bytes;

	if (bpf_xdp_adjust_head(pkt->ctx, -(int)(header_bytes + sizeof(struct sl_message))))
		return NULL;
	pkt->l2 = (void *)(long)pkt->ctx->data;
	pkt->end = (void *)(long)pkt->ctx->data_end;
	headers = pkt->l2 + ip_udp_bytes - sizeof(struct udphdr);
	if ((void *)(headers + 1) > pkt->end)
		return NULL;
	__builtin_memcpy(pkt->l2, path->header, header_bytes);
	ip_len_bytes = pkt->end - pkt->l2 - ETH_HLEN;
	if (header_bytes == SL_EXPRESS_HEADER4_BYTES) {
		struct iphdr *ip = pkt->l2 + ETH_HLEN;

		ip->tot_len = sl_htons(ip_len_bytes);
		ip->check = sl_ip4_checksum(path->ip_sum, ip->tot_len);
		udp_bytes = ip_len_bytes - sizeof(*ip);
	} else {
		struct ipv6hdr *ip = pkt->l2 + ETH_HLEN;

		udp_bytes = ip_len_bytes - sizeof(*ip);
		ip->payload_len = sl_htons(udp_bytes);
	}
	headers->udp.len = sl_htons(udp_bytes);
	return headers;
}

/* Put the ICRC at the end of the message. Not static: the kernel verifies it by itself, once. */
__noinline int sl_icrc_put(struct xdp_md *ctx)
{
	__u32 crc;
	sl_icrc_word *at = sl_icrc(ctx, &crc);

	if (!at)
		return 0; /* for the verifier: the message is whole */
	*at = crc;
	return 1;
}

static __always_inline void sl_express_check(struct xdp_md *ctx, struct sl_message_headers *headers,
					     const struct sl_express_path *path)
{
	void *end = (void *)(long)ctx->data_end;
	__u64 sum;

	headers->udp.check = 0;
	sum = sl_headers_sum(headers, path->pseudo_sum);
	if (path->check == SL_EXPRESS_UDP)
		sum += sl_payload_sum(headers + 1, end);
	headers->udp.check = (SL_FORCE __sum16)(__u16)~sl_fold(sum);
	/* 0 says that there is no checksum; the other 0 of the one's complement does not. */
	if (!headers->udp.check)
		headers->udp.check = (SL_FORCE __sum16)0xffff;
	if (path->check == SL_EXPRESS_ICRC) {
		headers->udp.check = 0;
		sl_icrc_put(ctx);
	}
}

/*
 * The frame, which is ready for its next hop, becomes a message of path's next number. A frame that
 * the fabric's driver refuses afterwards counts in TX_RING or TX_ERROR, and is a number that the
 * receiver misses.
 */
static __always_inline sl_verdict sl_express_send(struct sl_packet *pkt,
						  struct sl_express_path *path,
						  struct sl_backlog *backlog, __u32 voq,
						  __u32 len_bytes)
{
	__u32 stream = 1 + (bpf_get_smp_processor_id() & (SL_EXPRESS_STREAMS - 1));
	struct sl_message_headers *headers;
	struct sl_message *message;
	__u32 sequence;
	__u64 now_ns;

	if (path->header_bytes == SL_EXPRESS_HEADER4_BYTES)
		headers = sl_express_headers(pkt, path, SL_EXPRESS_HEADER4_BYTES);
	else
		headers = sl_express_headers(pkt, path, SL_EXPRESS_HEADER6_BYTES);
	if (!headers || (void *)(headers + 1) > pkt->end)
		return SL_DROP(REWRITE);
	sequence = __sync_fetch_and_add(&path->stream[stream].sequence, 1);
	headers->bth.flags |= sl_express_pad_bytes(len_bytes) << 4;
	headers->bth.psn = sl_htonl(sequence & 0xffffff);
	message = &headers->message;
	message->version = SL_MESSAGE_VERSION;
	message->type = SL_MESSAGE_DATA;
	message->length = sl_htons(sizeof(*message) + len_bytes);
	message->source = sl_config.node_id;
	message->destination = path->node;
	message->stream = stream;
	message->count = 1;
	message->epoch = sl_htonl(path->epoch);
	message->sequence = sl_htonl(sequence);
	now_ns = pkt->arrival_ns + path->clock_offset_ns;
	message->sent_ns[0] = sl_htonl(now_ns >> 32);
	message->sent_ns[1] = sl_htonl(now_ns);
	message->frame_length = sl_htons(len_bytes);
	message->system_port = sl_htons(backlog->system_port);
	message->ingress_port = sl_htons(SL_SYSTEM_PORT(sl_config.node_id, pkt->port_number));
	message->class = voq % SL_CLASSES;
	message->flags = 0;
	message->age_ns = 0;
	sl_express_check(pkt->ctx, headers, path);
	if (bpf_redirect(path->ifindex, 0) != XDP_REDIRECT)
		return SL_DROP(TX_ERROR);
	if (!path->used)
		path->used = 1;
	__sync_fetch_and_add(&backlog->express.frames, 1);
	__sync_fetch_and_add(&backlog->express.bytes, len_bytes);
	sl_count(&sl_stats, SL_STAT_EXPRESS, 1, pkt->len_bytes);
	return SL_QUEUED;
}

#endif
