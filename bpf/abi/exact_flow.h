/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Exact flows: what sl_edge does with the packets of one flow, whichever rule list their port has.
 * Any program may write the map sl_exact_flow at the pins of sluiced, as `sluice filter flow` does.
 */
#ifndef SL_EXACT_FLOW_H
#define SL_EXACT_FLOW_H

#include <linux/types.h>

#include "bpf/abi/abi.h"
#include "bpf/abi/classifier.h"
#include "bpf/abi/flow_key.h"

#define SL_EXACT_FLOWS_MAX (1u << 20)

/*
 * Map sl_exact_flow: a flow -> what becomes of its packets. A packet is of the flow if a rule with
 * the flow's addresses, protocol and ports would match it: with IPv4 options, IPv6 extension
 * headers and as a first fragment, too.
 */
struct sl_exact_flow {
	/* Without `rule`. SL_RULE_*: what becomes of its packets, with a class and a DSCP */
	__u32 action;
	__u32 idle_s; /* sluiced deletes a flow that had no packet for so long; 0: never */
	__u64 packets;
	__u64 bytes; /* frame bytes, as in struct sl_counter */
	/* With idle_s: CLOCK_MONOTONIC of its last packet, or of when it was put, in units of
	 * 2^SL_EXACT_FLOW_USED_SHIFT ns.
	 */
	__u32 used;
	/* Its packets are treated as those of this rule in sl_flow_rule; 0: as `action` says. */
	__u32 rule;
};
SL_ASSERT_SIZE(struct sl_exact_flow, 32);

#define SL_EXACT_FLOW_USED_SHIFT 30

/*
 * Map sl_flow_rule: a number made of a rule's name -> the rule, for flows that name it, as long as
 * a list of the configuration has it. A flow whose rule is not there lets nothing pass.
 */
#define SL_FLOW_RULE_NAME_BYTES 128
struct sl_flow_rule {
	__u32 action;  /* SL_RULE_* */
	__u32 number;  /* of its counter, policer, next hop and chain */
	__u32 sample;  /* one in so many of its packets is copied (copy.h); 0: none */
	__u32 version; /* 4 or 6: it is for flows of this IP version alone; 0: for all */
	char name[SL_FLOW_RULE_NAME_BYTES]; /* LIST/RULE */
};
SL_ASSERT_SIZE(struct sl_flow_rule, 144);

/*
 * Map sl_exact_puts, one __u64, in memory that programs share with sl_edge: how often somebody has
 * put flows since sluiced found none. While it is 0, sl_edge does not look for flows. A program
 * that puts flows adds 1, atomically, before the first, so that each is in force at once; and again
 * behind the last, since sluiced may have found the map empty in between and set 0.
 */

#endif
