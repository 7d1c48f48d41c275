// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/* An element of an operator's own that does all that one may: drops, paints, marks, two outputs. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi/own_element.h"

int sl_own_element_X(struct xdp_md *ctx, struct sl_own_packet *packet,
		     const struct sl_own_config *config)
{
	__u8 *l3 = (void *)(long)ctx->data, hops, dscp;

	if (!packet || !config)
		return SL_OWN_DROP;
	l3 += packet->l3_offset & 0xff;
	if ((void *)(l3 + 20) > (void *)(long)ctx->data_end)
		return SL_OWN_DROP;
	hops = l3[packet->ip4 ? 8 : 7];
	dscp = config->word[0];
	if (hops % 8 == 3)
		return SL_OWN_DROP;
	packet->paint = (packet->paint + hops) & 3;
	if (hops & 2 && packet->ip4) {
		l3[1] = dscp << 2 | (l3[1] & 3);
	} else if (hops & 2) {
		l3[0] = 0x60 | dscp >> 2;
		l3[1] = dscp << 6 | (l3[1] & 0x3f);
	}
	return hops & 1;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
