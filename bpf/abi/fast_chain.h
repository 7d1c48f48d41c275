/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Chains of elements that sl_edge runs itself. sluice-elements writes them, from the same text as
 * its own graphs: element i here is instance i there.
 */
#ifndef SL_FAST_CHAIN_H
#define SL_FAST_CHAIN_H

#include <linux/types.h>

#include "bpf/abi/abi.h"
#include "bpf/abi/chain_header.h"
#include "bpf/abi/own_element.h"

#define SL_FAST_ELEMENTS_MAX 16u /* of a chain, with its three ends; a power of two */
#define SL_FAST_CHAINS_MAX   64u
#define SL_FAST_INPUT	     0u /* the element where packets enter */
#define SL_FAST_NOWHERE	     0xffu

/*
 * Of so many packets of a chain on a processor, one is timed, and its time counts for all of them.
 * A prime, so as not to keep time with flows that take turns.
 */
#define SL_FAST_TIMED_EVERY 61u
/* A longer time is not the chain's: an interrupt took it, or the machine below a virtual one. */
#define SL_FAST_TIMED_MAX_NS 5000u
/* Processor time that a chain with a ceiling saves up at most, on each processor. */
#define SL_FAST_SAVED_MAX_NS 1000000ULL

enum sl_fast_kind {
	SL_FAST_PASS,	/* goes on by output 0 */
	SL_FAST_OUTPUT, /* leaves the chain, and is routed */
	SL_FAST_DROP,
	SL_FAST_PAINT,	  /* gets the colour in `argument` */
	SL_FAST_CLASSIFY, /* output 0 if all values are within their ranges, else 1 */
	SL_FAST_DSCP,	  /* gets the DSCP in `argument` */
	SL_FAST_SAMPLE,	  /* each `one_in`-th by output 0, the others by 1 */
	SL_FAST_OWN,	  /* as the function in slot `argument` says, of an operator's own */
};

/* What CLASSIFY looks at. A packet that has no such value has UINT32_MAX. */
enum sl_fast_field {
	SL_FAST_BY_PAINT,
	SL_FAST_BY_PROTOCOL,	/* of IPv6: the first next header */
	SL_FAST_BY_SOURCE_PORT, /* of IPv6: without extension headers only */
	SL_FAST_BY_DESTINATION_PORT,
	SL_FAST_BY_DSCP,
	SL_FAST_BY_LENGTH, /* of the IP packet */
	SL_FAST_FIELDS
};

struct sl_fast_range {
	__u32 low, high; /* both belong to it */
};

struct sl_fast_element {
	__u8 kind; /* enum sl_fast_kind */
	__u8 argument;
	__u8 to[2]; /* where its outputs lead, or SL_FAST_NOWHERE: the packet is dropped here */
	union {
		__u32 one_in; /* SAMPLE */
		__u32 writes; /* OWN: 1: it may change what CLASSIFY looks at */
	};
	union {
		struct sl_fast_range range[SL_FAST_FIELDS]; /* any: 0 to UINT32_MAX */
		struct sl_own_config own;
	};
};
SL_ASSERT_SIZE(struct sl_fast_element, 56);

/* Map sl_fast_chain: id of a chain, as in struct sl_rule_chain -> the chain. */
struct sl_fast_chain {
	struct sl_rule_chain of; /* first: sl_edge compares words */
	__u32 first_count;	 /* of its elements in sl_fast_count */
	__u32 classifies;	 /* 1: an element looks at fields of the packet */
	/* 1 to 100: of each processor's time, the most that the chain may use; 0: any */
	__u32 ceiling_percent;
	__u32 own_set; /* the sl_own_set that it was made for; 0: none of its elements is OWN */
	struct sl_fast_element element[SL_FAST_ELEMENTS_MAX];
};
SL_ASSERT_SIZE(struct sl_fast_chain, 952);

/*
 * Map sl_fast_count, for each processor: what each element of each chain has seen. At the input,
 * those beyond the ceiling count as dropped, and not as packets.
 */
struct sl_fast_count {
	__u64 packets, bytes;		      /* frames that came */
	__u64 dropped_packets, dropped_bytes; /* of those */
	__u32 seen; /* SAMPLE: packets since the latest by output 0; input: since one was timed */
	__u32 in_debt; /* input: 1: drop what comes before paid_ns */
	/*
	 * Input: processor time of the chain; and when the ceiling will have paid for it, a virtual
	 * clock as in virtual_clock.h, but in nanoseconds of bpf_ktime_get_ns.
	 */
	__u64 cpu_ns, paid_ns;
};
SL_ASSERT_SIZE(struct sl_fast_count, 56);

#endif
