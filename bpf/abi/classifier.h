/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A rule list as sl_edge reads it: the image of a classifier, which user/classify/ makes and
 * bpf/lib/classifier_walk.bpf.h walks. Each port and family has at most one list; the first rule
 * of the list that matches decides.
 *
 * The idea is that of bit vectors (Lakshman and Stiliadis 1998) with an aggregate word (Baboescu
 * and Varghese 2001), small fields joined into few by product tables (Gupta and McKeown's recursive
 * flow classification, 1999):
 *
 *   Each field divides its values into classes: values of one class are the same to every rule. A
 *   class has a row, a bit for each rule, set if the rule allows the class. The AND of the rows of
 *   a packet's classes holds the rules that match.
 *
 *   Bits stand in the order of the rules' addresses, so that the few candidates of a packet stand
 *   in few words. A row's sum has a bit for each of its words that is not 0, so only words that
 *   are in all sums are read. Rows of addresses, which are the many, hold only those words.
 *
 * All integers are in host order. A change here raises SL_ABI_VERSION.
 */
#ifndef SL_CLASSIFIER_H
#define SL_CLASSIFIER_H

#include <linux/types.h>

#define SL_RULES_MAX	  4096 /* of a list; 64 words of 64 bits, so a sum is one word */
#define SL_RULE_WORDS_MAX (SL_RULES_MAX / 64)
/* Of those, auxiliary ones: they have a word of their own, the first. */
#define SL_AUXILIARY_MAX 64

/*
 * The fields that a rule can ask for beside addresses: X(enumerator, number of values). A packet
 * that does not have the field (a port, behind a later fragment) has the value SL_FIELD_VALUES,
 * which only rules allow that do not ask for the field.
 */
#define SL_FIELDS(X)               \
	X(PROTOCOL, 256)           \
	X(TCP_FLAGS, 256)          \
	X(ICMP_TYPE, 256)          \
	X(ICMP_CODE, 256)          \
	X(DESTINATION_PORT, 65536) \
	X(SOURCE_PORT, 65536)      \
	X(FRAGMENT, 3)             \
	X(DSCP, 64)                \
	X(LENGTH, 65576)           \
	X(FLOW_LABEL, 1 << 20)

#define SL_ENUM_FIELD(id, values)	 SL_FIELD_##id,
#define SL_ENUM_FIELD_ABSENT(id, values) SL_FIELD_##id##_ABSENT = (values),
enum sl_field { SL_FIELDS(SL_ENUM_FIELD) SL_FIELD_COUNT };
enum sl_field_absent { SL_FIELDS(SL_ENUM_FIELD_ABSENT) };

/* Values of FRAGMENT */
enum sl_fragment { SL_FRAGMENT_NONE, SL_FRAGMENT_FIRST, SL_FRAGMENT_LATER };

enum sl_filter_action {
	SL_FILTER_PERMIT = 0,
	SL_FILTER_DENY = 1,
	SL_FILTER_KERNEL = 2, /* give it to this node's kernel */
	SL_FILTER_REJECT = 3, /* deny it, and tell its sender: ICMP port unreachable */
	SL_FILTER_RESET = 4,  /* deny it, and end its connection: TCP reset */
	SL_FILTER_COUNT = 5,  /* of an auxiliary rule, which never decides */
};

/* What a rule does with the packets that it decides: enum sl_filter_action and what it sets. */
#define SL_RULE_ACTION_MASK 0xffu
#define SL_RULE_CLASS_SHIFT 8	       /* 8 bits: traffic class plus 1; 0: by DSCP */
#define SL_RULE_DSCP_SHIFT  16	       /* 8 bits: DSCP plus 1; 0: as it came */
#define SL_RULE_POLICE	    (1u << 24) /* by the policer of the rule's number (policer.h) */
#define SL_RULE_NEXT_HOP    (1u << 25) /* as sl_rule_hop says under the rule's number */
#define SL_RULE_RESERVE	    (1u << 26) /* a rate for each of its flows (reserved.h) */
#define SL_RULE_CHAIN	    (1u << 27) /* into the chain in sl_rule_chain under the rule's number */

/*
 * Where packets of a rule go, in place of their destination: to an address (IPv4: the first word),
 * or, if `table` is not 0, as that routing table of the kernel says.
 */
struct sl_rule_hop {
	__be32 address[4];
	__u32 table;
};

/*
 * Map sl_table_hop: a hop to which such a table has sent a packet -> its next-hop id. XDP puts a
 * hop that is not there with id 0, and sluiced the id, once it has made the next hop.
 */
#define SL_TABLE_HOPS_MAX 1024
/* Flags of bpf_fib_lookup: DIRECT, TBID and SKIP_NEIGH, which headers of Linux 6.1 may lack. */
#define SL_TABLE_LOOKUP (1u << 0 | 1u << 3 | 1u << 2)
struct sl_table_hop_key {
	__be32 address[4]; /* the gateway, or a host on the link; IPv4: the first word */
	__u32 ifindex;	   /* L3 interface that leads to it */
	__u16 family;	   /* of the address, AF_INET or AF_INET6 */
	__u16 mtu_family;  /* of the packet */
};
struct sl_table_hop {
	__u32 id;   /* 0: packets are dropped */
	__u32 used; /* XDP sets it to 1 when it is 0 and a packet goes there; sluiced clears it */
};

/* No rule decided, and no default. */
#define SL_RULE_NONE 0xffffffffu

enum sl_side { SL_SIDE_SOURCE, SL_SIDE_DESTINATION, SL_SIDES };

/* A packet as a classifier sees it, and the answer. */
struct sl_flow {
	/*
	 * Source and destination. The first word has the first 64 bits of an IPv6 address, or an
	 * IPv4 address and 32 zeros; the second the rest of an IPv6 address.
	 */
	__u64 address[SL_SIDES][2];
	__u32 field[SL_FIELD_COUNT]; /* by enum sl_field */
	__u32 action;		     /* answer: of the rule, see SL_RULE_*; or the default */
	__u32 number;		     /* answer: its counter; SL_RULE_NONE: there is no list */
	__u32 sample;		     /* answer: struct sl_class_rule */
	__u32 pad;
	__u64 auxiliary; /* answer: bits of the auxiliary rules that match */
};

/*
 * The image: struct sl_classifier, and behind it a pool of 64-bit words. "u64 at", "u32 at" and
 * "u16 at" are places in the pool, counted in units of that size.
 */
#define SL_CLASS_BLOCK 256u /* values of a block; a field that has no more is not in blocks */
struct sl_class_field {
	__u32 top;     /* u16 at: value >> 8 -> number of a block; of up to 256 values: 0 */
	__u32 values;  /* u16 at: value -> class; or blocks, each by the low 8 bits of the value */
	__u32 classes; /* number of classes */
	__u32 product; /* u16 at: joined class * classes + class -> joined class */
	__u32 group;   /* 0..SL_CLASS_GROUPS-1 */
	__u32 row;     /* row of joined class 0 */
};

/*
 * Addresses: the first bits of the first word choose an entry of the root, which is a class or a
 * sorted list of bounds to search. For IPv6 the class may in turn be a list of bounds of the second
 * word. An entry that is a list has SL_CLASS_LIST set, log2 of its length in bits 24..28 and its
 * place in bits 0..23. A list begins with a bound that no key in it is below, and is filled up with
 * bounds of all ones and the last class.
 */
#define SL_CLASS_LIST	    0x80000000u
#define SL_CLASS_LIST_SHIFT 24
#define SL_CLASS_LIST_LOG2  0x1fu
#define SL_CLASS_LIST_PLACE 0xffffffu
/* Each rule has two bounds at most, and each bound of the second word two of the first. */
#define SL_CLASS_LOG2_MAX 15
struct sl_class_address {
	__u32 root;	   /* u32 at: first bits -> entry */
	__u32 root_shift;  /* first word >> root_shift is the index */
	__u32 bounds;	   /* u64 at: bounds of the first word; each has an entry at its place: */
	__u32 entries;	   /* u32 at: class, or list of bounds of the second word */
	__u32 low_bounds;  /* u64 at: bounds of the second word */
	__u32 low_classes; /* u32 at: their classes */
	__u32 row;	   /* address row of class 0 */
	__u32 pad;
};

/* Of a row of an address: its words that are not 0 stand one after the other. */
struct sl_class_address_row {
	__u64 sum;
	__u64 first; /* u64 at */
};

struct sl_class_rule {
	__u32 order;  /* in the list, from 0: the lowest that matches decides */
	__u32 number; /* of its counter in sl_filter_hits */
	__u32 action; /* SL_RULE_* */
	__u32 sample; /* one in so many of its packets is copied (copy.h); 0: none */
};

/* The auxiliary rules that a packet has matched: each counts it, and may copy it. */
struct sl_auxiliary {
	__u32 n;
	__u32 pad;
	struct {
		__u32 number, sample; /* as in struct sl_class_rule */
	} rule[SL_AUXILIARY_MAX];
};

#define SL_CLASS_GROUPS SL_FIELD_COUNT

struct sl_classifier {
	__u32 asked;	/* fields that some rule asks for, bit by enum sl_field */
	__u32 joined;	/* of those: its class joins that of the field before, by the product */
	__u32 n_groups; /* of joined fields; 0..SL_CLASS_GROUPS */
	__u32 words;	/* of a row */
	struct sl_class_field field[SL_FIELD_COUNT];
	struct sl_class_address address[SL_SIDES];
	__u32 sums;	      /* u64 at: row -> its sum */
	__u32 rows;	      /* u64 at: row * words + word */
	__u32 address_rows;   /* u64 at: struct sl_class_address_row */
	__u32 rules;	      /* u32 at: bit -> struct sl_class_rule */
	__u32 default_action; /* where no rule matches: SL_RULE_* */
	__u32 default_number; /* the counter of such packets */
	__u32 auxiliary;      /* number of auxiliary rules, which have word 0; 0: none has it */
	__u32 zero;	      /* 0; the verifier does not know it */
};
_Static_assert(sizeof(struct sl_classifier) % sizeof(__u64) == 0, "the pool follows, aligned");

/* Images come in two sizes, a map each, so that a short list is cheap. Powers of two. */
#define SL_CLASSIFIER_SMALL_WORDS (1u << 16) /* 512 KiB */
#define SL_CLASSIFIER_LARGE_WORDS (1u << 21) /* 16 MiB */
struct sl_classifier_small {
	struct sl_classifier c;
	__u64 pool[SL_CLASSIFIER_SMALL_WORDS];
};
struct sl_classifier_large {
	struct sl_classifier c;
	__u64 pool[SL_CLASSIFIER_LARGE_WORDS];
};

/* Lists: those that ports have at the same time. sl_port has list + 1. */
#define SL_FILTER_LISTS 64
#define SL_LIST_IP4	0
#define SL_LIST_IP6	1
#define SL_FILTER_SLOTS (2 * SL_FILTER_LISTS) /* list * 2 + SL_LIST_IP4 or _IP6 */
/* Rules of all lists together; and counters, of which old and new rules need their own meanwhile.
 */
#define SL_FILTER_RULES_MAX (4 * SL_RULES_MAX)
#define SL_FILTER_COUNTERS  (2 * (SL_FILTER_RULES_MAX + SL_FILTER_LISTS))

/* Whose a counter of rules is, so that the next daemon finds it: sl_hits_owner, by its number. */
struct sl_hits_owner {
	__u64 identity;	      /* of the rule, by its list and its keys; 0: nobody's */
	__u64 packets, bytes; /* what it held before it was that rule's */
};
_Static_assert(sizeof(struct sl_hits_owner) == 24, "layout that the next daemon reads");

#endif
