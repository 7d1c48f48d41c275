// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sl_chain_input, on the netdev of sluice-elements: frames that sl_edge has sent into a chain go to
 * its AF_XDP socket. Whatever else the other end sends, such as neighbour discovery, ends here.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <bpf/bpf_helpers.h>
#include "bpf/abi/chain_header.h"
#include "bpf/lib/endian.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} sl_chain_xsk SEC(".maps");

SEC("xdp")
int sl_chain_input(struct xdp_md *ctx)
{
	const struct ethhdr *eth = (void *)(long)ctx->data;

	if ((const void *)(eth + 1) > (void *)(long)ctx->data_end ||
	    eth->h_proto != sl_htons(SL_CHAIN_ETHERTYPE))
		return XDP_DROP;
	return bpf_redirect_map(&sl_chain_xsk, ctx->rx_queue_index, XDP_DROP);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
