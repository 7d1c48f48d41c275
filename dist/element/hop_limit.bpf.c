/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * HopLimit in the fast path: what `hop_limit_process` does, as a function that sluiced links with
 * its XDP program. Its trial runs both on the same packets.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi/own_element.h"

#define IP4_BYTES 20
#define TTL_AT	  8

int sl_own_element_X(struct xdp_md *ctx, struct sl_own_packet *packet,
		     const struct sl_own_config *config)
{
	const __u8 *ip = (void *)(long)ctx->data;

	if (!packet || !config) /* for the verifier */
		return SL_OWN_DROP;
	ip += packet->l3_offset & 0xff;
	if (!packet->ip4 || (void *)(ip + IP4_BYTES) > (void *)(long)ctx->data_end)
		return 1;
	return ip[TTL_AT] >= config->word[0] ? 0 : 1;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
