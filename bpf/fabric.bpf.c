/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sl_fabric runs on the fabric's netdev and redirects RoCEv2 for our address to the bridge:
 * to the AF_XDP socket of the frame's receive queue and, where the bridge has several workers, of
 * the worker whose queue pair the frame names. Every other frame goes to the kernel. The bridge
 * checks a whole frame before it trusts any of it. Express messages are checked here, and while
 * nothing of their sender is in the bridge, their frames go to their edge ports at once. While no
 * bridge runs, there is no socket, and the kernel answers RoCEv2 as it answers any closed port.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bpf/fabric/arrive.bpf.h"
#include "bpf/fabric/message.bpf.h"
#include "bpf/fabric/roce_frame.bpf.h"

#define FABRIC_QUEUES_MAX 64

/* Set before loading: worker i has the queue pair first_qpn + i. */
const volatile __u32 workers = 1, first_qpn;
const volatile struct sl_arrival_config arrival = {};

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, FABRIC_QUEUES_MAX); /* times workers */
	__type(key, __u32);			/* receive queue * workers + worker */
	__type(value, __u32);
} fabric_xsk SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sl_fabric_key); /* own address */
} fabric_address SEC(".maps");

static __always_inline bool is_ours(const struct sl_fabric_key *to)
{
	__u32 zero = 0;
	const struct sl_fabric_key *own = bpf_map_lookup_elem(&fabric_address, &zero);

	return own && to->word[3] == own->word[3] && to->word[2] == own->word[2] &&
	       to->word[1] == own->word[1] && to->word[0] == own->word[0];
}

/* A frame that names no queue pair of ours goes to the first worker, which counts it. */
static __always_inline __u32 worker_of(const struct udphdr *udp, const void *end)
{
	const struct sl_bth *bth = (const void *)(udp + 1);
	__u32 i;

	if (workers == 1 || (const void *)(bth + 1) > end)
		return 0;
	i = (sl_ntohl(bth->qpn) & 0xffffff) - first_qpn;
	return i < workers ? i : 0;
}

static __always_inline int to_bridge(const struct xdp_md *ctx, __u32 worker)
{
	return bpf_redirect_map(&fabric_xsk, ctx->rx_queue_index * workers + worker, XDP_PASS);
}

/* A data message, which `headers` begin. */
static __always_inline int arrive(struct xdp_md *ctx, struct sl_message_headers *headers,
				  __u32 worker)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 key = headers->message.source * workers + worker, number, taken_key;
	__u32 headers_bytes = (void *)(headers + 1) - data;
	__u32 frame_bytes = sl_ntohs(headers->message.frame_length);
	__u32 pad_bytes = headers->bth.flags >> 4 & 3;
	__u8 node = headers->message.source;
	__u32 ifindex;
	enum sl_arrival_verdict verdict;
	struct sl_arrivals *from = bpf_map_lookup_elem(&fabric_arrivals, &key);
	struct sl_arrival_port *port;
	struct sl_passed *taken;
	struct sl_sample *sample;
	__u64 sample_number = 0;
	bool ce = false;
	int action;

	if (!from)
		return XDP_DROP; /* for the verifier: there is one for each node and worker */
	verdict = sl_judge(ctx, data, end, headers, from, first_qpn + worker, &ce);
	if (verdict == SL_ARRIVAL_BAD)
		return XDP_DROP;
	if (verdict == SL_ARRIVAL_GOOD && !ce) {
		number = sl_ntohs(headers->message.system_port) & 0xff;
		taken_key = sl_taken_key(number, headers->message.class, node);
		port = bpf_map_lookup_elem(&fabric_ports, &number);
		taken = bpf_map_lookup_elem(&fabric_taken, &taken_key);
		if (port && taken && sl_may_take(from, port, frame_bytes)) {
			sample = sl_sample_begin(ctx, &headers->message, port, headers_bytes,
						 frame_bytes, &sample_number);
			ifindex = *(const volatile __u32 *)&port->ifindex;
			action = sl_take(ctx, port, taken, ifindex, headers_bytes,
					 pad_bytes + SL_ROCE_ICRC_BYTES, frame_bytes);
			if (sample)
				sample->came_ns = bpf_ktime_get_ns();
			if (arrival.sample && flushes_are_traced && action == XDP_REDIRECT)
				sl_bulk_put(ifindex, port->worker, sample, sample_number);
			else if (sample)
				sl_sample_end(sample, sample_number, sample->came_ns);
			return action;
		}
	}
	action = to_bridge(ctx, worker);
	if (action == XDP_REDIRECT)
		sl_hand_over(ctx, from, node, verdict == SL_ARRIVAL_GOOD);
	return action;
}

SEC("xdp")
int sl_fabric(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct sl_message_headers *headers;
	struct sl_fabric_key to = {};
	struct udphdr *udp = find_udp(data, end, &to);
	__u32 worker;
	int action;

	if (!udp || (void *)(udp + 1) > end || udp->dest != sl_htons(SL_ROCE_PORT) || !is_ours(&to))
		return XDP_PASS;
	worker = worker_of(udp, end);
	headers = (void *)udp;
	if (arrival.express && (void *)(headers + 1) <= end &&
	    headers->bth.opcode == SL_ROCE_UD_SEND_ONLY &&
	    headers->message.version == SL_MESSAGE_VERSION &&
	    headers->message.type == SL_MESSAGE_DATA)
		return arrive(ctx, headers, worker);
	action = to_bridge(ctx, worker);
	if (arrival.express && action == XDP_REDIRECT)
		sl_hand_over(ctx, NULL, 0, false);
	return action;
}

char _license[] SEC("license") = "Dual BSD/GPL";
