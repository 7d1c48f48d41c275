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
	__u32 action; /* SL_RULE_*: permit, deny or kernel, with a class and a DSCP */
	__u32 idle_s; /* sluiced deletes a flow that had no packet for so long; 0: never */
	__u64 packets;
	__u64 bytes; /* frame bytes, as in struct sl_counter */
	/* With idle_s: CLOCK_MONOTONIC of its last packet, or of when it was put, in units of
	 * 2^SL_EXACT_FLOW_USED_SHIFT ns.
	 */
	__u32 used;
	__u32 pad; /* 0 */
};
SL_ASSERT_SIZE(struct sl_exact_flow, 32);

#define SL_EXACT_FLOW_USED_SHIFT 30

/*
 * Map sl_exact_puts, one __u64, in memory that programs share with sl_edge: how often somebody has
 * put flows since sluiced found none. While it is 0, sl_edge does not look for flows. A program
 * that puts flows adds 1, atomically, before the first, so that each is in force at once; and again
 * behind the last, since sluiced may have found the map empty in between and set 0.
 */

#endif
