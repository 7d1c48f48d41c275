/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Flows for which a rate is reserved, at the port where they enter. sl_edge polices each to its
 * rate; what conforms goes by the class that only such flows have.
 */
#ifndef SL_RESERVED_H
#define SL_RESERVED_H

#include <linux/types.h>

#include "bpf/abi/classifier.h"
#include "bpf/abi/flow_key.h"
#include "bpf/abi/voq.h"

/* Of a node that offers reservations: the highest class, which no DSCP leads to there. */
#define SL_RESERVED_CLASS (SL_CLASSES - 1)

/* Flows that enter at a node, at most; and those that leave by one port. */
#define SL_RESERVED_MAX	     1024
#define SL_RESERVED_PORT_MAX 256

/*
 * Map sl_reserved: a flow -> what is reserved for it. Fragments, and IPv6 packets with extension
 * headers, are of no such flow.
 */
struct sl_reserved {
	__u32 number;	  /* of its policer in sl_policer, and of its next hop in sl_rule_hop */
	__u32 l3_ifindex; /* where it must enter */
	__u32 pinned;	  /* 1: it goes to its next hop */
	__u32 pad;	  /* 0 */
};
SL_ASSERT_SIZE(struct sl_reserved, 16);

/*
 * A flow without a reserved rate of which a packet has matched a rule with SL_RULE_RESERVE, as
 * sl_edge tells sluiced once by the ring sl_setups. Map sl_setup_told holds it off from telling
 * again: the flow -> when it was told. sluiced deletes what is older than SL_SETUP_TOLD_NS.
 */
struct sl_flow_setup {
	struct sl_flow_key flow;
	__u32 number;	  /* of the rule */
	__u32 l3_ifindex; /* where it enters */
};
SL_ASSERT_SIZE(struct sl_flow_setup, 48);

#define SL_SETUP_TOLD_MAX   1024
#define SL_SETUP_TOLD_NS    1000000000ULL
#define SL_SETUP_RING_BYTES (128 * 1024) /* all that can have been told, with their headers */

/* Their numbers lie behind those of the rules of lists. */
#define SL_RESERVED_NUMBER(i) (SL_FILTER_COUNTERS + (i))
#define SL_RULE_NUMBERS	      (SL_FILTER_COUNTERS + SL_RESERVED_MAX)

#endif
