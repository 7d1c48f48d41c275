/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* What the steps of sl_edge share: the facts about the packet so far, and the verdict. */
#ifndef SL_PACKET_BPF_H
#define SL_PACKET_BPF_H

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include "bpf/lib/endian.bpf.h"
#include "bpf/abi/abi.h"
#include "bpf/abi/l3_port.h"
#include "bpf/abi/reasons.h"

extern const volatile struct sl_config sl_config;

/*
 * A step returns SL_GO_ON, or says how the packet ends: SL_DROP(reason), SL_PUNT(reason), or
 * SL_QUEUED if it was redirected into a VOQ, SL_CHAINED into a chain of elements. SL_GO_ON from the
 * last step means that the frame was handed to an egress port.
 */
typedef __u32 sl_verdict;
#define SL_GO_ON	0u
#define SL_VERDICT_DROP 0x100u
#define SL_VERDICT_PUNT 0x200u
#define SL_QUEUED	0x400u
#define SL_CHAINED	0x800u
#define SL_DROP(reason) (SL_VERDICT_DROP | SL_DROP_##reason)
#define SL_PUNT(reason) (SL_VERDICT_PUNT | SL_PUNT_##reason)

/* What few packets do: the compiler puts it behind the rest. */
#define sl_unlikely(condition) __builtin_expect(!!(condition), 0)

#define SL_TAGS_MAX 2

/* One 802.1Q or 802.1ad tag, as it stands between the source MAC and the ethertype. */
struct sl_tag {
	__be16 tpid;
	__be16 tci;
};

struct sl_packet {
	struct xdp_md *ctx;
	/*
	 * CLOCK_MONOTONIC, read before anything else: where the frame's delay begins, and the time
	 * for buckets. Reading the clock costs as much as a step, so later steps read this. 0
	 * outside clusters.
	 */
	__u64 arrival_ns;
	void *l2; /* Ethernet header; ETH_HLEN bytes are there */
	void *l3; /* IP header; once validated its 20 or 40 bytes are there */
	void *end;
	__u32 len_bytes; /* the frame as received, fragments and padding included */
	__u32 port_ifindex;
	__u32 l3_ifindex; /* the port, or the VLAN interface that owns the tags */
	__u32 tags;	  /* in the frame: 0..SL_TAGS_MAX */
	__be16 ethertype; /* behind the tags */
	bool ip4; /* a constant to the compiler: each family has its own copy of the steps */
	__u32 port_flags;   /* SL_PORT_* of the L3 interface; managed mode only */
	__u32 port_number;  /* of the port in the cluster; 0: none */
	__u32 ip_len_bytes; /* header and payload; what follows in the frame is padding */
	__u32 ttl;	    /* TTL or hop limit as received */
	__u32 filter; /* rule list of the L3 interface plus 1; behind sl_filter: not 0, if a rule
		       * may have judged the packet */
	__u32 class_plus1; /* class that a rule or a reservation has set, plus 1; 0: by DSCP */
	__u32 reserve_rule_plus1; /* number of the rule that reserves for its flow, plus 1; 0: none
				   */
	__u32 dscp_plus1;	  /* DSCP that a rule has set, plus 1; 0: as it came */
	/* What follows the IP packet in the frame is not what came, but what we have put there. */
	bool has_trailer;
};

static __always_inline bool sl_managed(void)
{
	return sl_config.managed;
}

/* Is this node part of a cluster? If not, the verifier removes all code for other nodes. */
static __always_inline bool sl_clustered(void)
{
	return sl_config.managed && sl_config.n_voqs;
}

/* May frames for other nodes take the express way? If not, the verifier removes the code for it. */
static __always_inline bool sl_has_express(void)
{
	return sl_clustered() && sl_config.express;
}

/* May ports have rule lists? If not, the verifier removes the code for them. */
static __always_inline bool sl_filtered(void)
{
	return sl_config.managed && sl_config.filters;
}

/* May there be exact flows? If not, the verifier removes the code for them. */
static __always_inline bool sl_has_exact_flows(void)
{
	return sl_config.managed && sl_config.exact_flows;
}

/* May flows have reserved rates? If not, the verifier removes the code for them. */
static __always_inline bool sl_reserves(void)
{
	return sl_config.managed && sl_config.reserves;
}

/* May a rule or a reserved flow name the next hop? */
static __always_inline bool sl_names_hops(void)
{
	return sl_config.managed && sl_config.filters | sl_config.reserves;
}

/* Where the IP header lies in the frame, and of which family it is: for functions not inlined. */
#define SL_L3_OFFSET_MASK 0xffu
#define SL_L3_IP6	  0x100u
static __always_inline __u32 sl_l3_place(const struct sl_packet *pkt)
{
	return (ETH_HLEN + pkt->tags * sizeof(struct sl_tag)) | (pkt->ip4 ? 0 : SL_L3_IP6);
}

/* Does the kernel take all packets of the family that enter here? The flags are the family's. */
static __always_inline sl_verdict sl_kernel_decides(const struct sl_packet *pkt, __u32 policy,
						    __u32 xfrm, __u32 netfilter)
{
	if (!sl_managed() || !(pkt->port_flags & (policy | xfrm | netfilter)))
		return SL_GO_ON;
	if (pkt->port_flags & netfilter)
		return SL_PUNT(NETFILTER);
	return pkt->port_flags & xfrm ? SL_PUNT(XFRM) : SL_PUNT(POLICY);
}

/*
 * The verdict where the program cannot read the first `need_bytes` of the frame. It is `drop` if
 * the frame is shorter. Else the headers reach into a second buffer, which no sane sender causes,
 * and the kernel gets the packet.
 */
static __always_inline sl_verdict sl_missing(const struct sl_packet *pkt, __u32 need_bytes,
					     sl_verdict drop)
{
	return pkt->len_bytes < need_bytes ? drop : SL_PUNT(OTHER);
}

#endif
