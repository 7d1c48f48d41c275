/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * sl_fabric runs on the fabric's netdev and redirects RoCEv2 for an address of ours to the bridge:
 * to the AF_XDP socket of the frame's receive queue and, where the bridge has several workers, of
 * the worker whose queue pair the frame names. Every other frame goes to the kernel. The program
 * only sorts: the bridge checks a whole frame before it trusts any of it. While no bridge runs,
 * there is no socket, and the kernel answers RoCEv2 as it answers any closed port.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bpf/fabric/roce_frame.bpf.h"

#define FABRIC_QUEUES_MAX  64
#define FABRIC_ADDRESS_MAX 8

/* Set before loading: worker i has the queue pair first_qpn + i. */
const volatile __u32 workers = 1, first_qpn;

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, FABRIC_QUEUES_MAX); /* times workers */
	__type(key, __u32);			/* receive queue * workers + worker */
	__type(value, __u32);
} fabric_xsk SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FABRIC_ADDRESS_MAX);
	__type(key, struct sl_fabric_key);
	__type(value, __u32); /* 1 */
} fabric_address SEC(".maps");

/* A frame that names no queue pair of ours goes to the first worker, which counts it. */
static __always_inline __u32 worker_of(const struct udphdr *udp, const void *end)
{
	const struct bth *bth = (const void *)(udp + 1);
	__u32 i;

	if (workers == 1 || (const void *)(bth + 1) > end)
		return 0;
	i = (sl_ntohl(bth->qpn) & 0xffffff) - first_qpn;
	return i < workers ? i : 0;
}

SEC("xdp")
int sl_fabric(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct sl_fabric_key to = {};
	struct udphdr *udp = find_udp(data, end, &to);

	if (!udp || (void *)(udp + 1) > end || udp->dest != sl_htons(SL_ROCE_PORT) ||
	    !bpf_map_lookup_elem(&fabric_address, &to))
		return XDP_PASS;
	return bpf_redirect_map(&fabric_xsk, ctx->rx_queue_index * workers + worker_of(udp, end),
				XDP_PASS);
}

char _license[] SEC("license") = "Dual BSD/GPL";
