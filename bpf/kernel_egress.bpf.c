// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * sl_kernel_egress, on the way out of a port that has queues (clsact, egress): what this node's
 * kernel sends or forwards by the port goes to a TAP of the bridge, and from there into the port's
 * queues, as what enters by other ports does. What the bridge sends does not come by here: AF_XDP
 * and redirects of XDP go to the driver.
 *
 * The kernel still sends by itself what is not unicast IP (ARP, LACP, routing protocols' multicast:
 * this node speaks for itself on its link), frames larger than the bridge's chunks, and everything
 * while no bridge gives a sign of life.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define HEADERS_MAX_BYTES 154 /* Ethernet, two tags, and the longest headers of IPv6 with TCP */

/* Set by the bridge. */
__u32 tap_ifindex;
__u32 frame_max_bytes;
volatile __u64 alive_until_ns; /* CLOCK_MONOTONIC */

__u64 taken; /* packets given to the TAP; a large one becomes several frames */

SEC("tc")
int sl_kernel_egress(struct __sk_buff *skb)
{
	__u8 first;

	if (skb->protocol != bpf_htons(ETH_P_IP) && skb->protocol != bpf_htons(ETH_P_IPV6) &&
	    skb->protocol != bpf_htons(ETH_P_8021Q) && skb->protocol != bpf_htons(ETH_P_8021AD))
		return TC_ACT_UNSPEC;
	if (bpf_skb_load_bytes(skb, 0, &first, sizeof(first)) || first & 1)
		return TC_ACT_UNSPEC;
	/* The kernel cuts large packets into frames of gso_size behind copies of the headers. */
	if ((skb->gso_size ? skb->gso_size + HEADERS_MAX_BYTES : skb->len) > frame_max_bytes)
		return TC_ACT_UNSPEC;
	if (bpf_ktime_get_ns() > alive_until_ns)
		return TC_ACT_UNSPEC;
	__sync_fetch_and_add(&taken, 1);
	return (int)bpf_redirect(tap_ifindex, 0);
}

char sl_license[] SEC("license") = "Dual BSD/GPL";
