/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A rule of a filter list: what it asks of a packet, and what it does with those that match. A list
 * is an array of rules; the first that matches decides. Auxiliary rules never do: each that matches
 * counts the packet.
 */
#ifndef SL_RULE_H
#define SL_RULE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi/chain_header.h"
#include "bpf/abi/classifier.h"
#include "user/text/prefix.h"

#define SL_RANGES_MAX	   16
#define SL_NETDEV_NAME_MAX 16 /* IFNAMSIZ */

/* Both ends belong to it. */
struct sl_range {
	uint32_t low, high;
};

/* The values that a field may have: ascending, apart from each other. n 0: any, also none at all */
struct sl_ranges {
	uint32_t n; /* 0..SL_RANGES_MAX */
	struct sl_range range[SL_RANGES_MAX];
};

/* What a policer lets pass. rate_Bps 0: there is none. */
struct sl_police {
	uint64_t rate_Bps, burst_bytes;		  /* committed */
	uint64_t excess_burst_bytes;		  /* RFC 2697; not with a peak rate */
	uint64_t peak_rate_Bps, peak_burst_bytes; /* RFC 2698; 0: there is no peak rate */
	uint8_t exceed_dscp_plus1; /* of what is beyond the committed burst or rate */
};

/* What a rule reserves for each flow that matches. rate_Bps 0: nothing. */
struct sl_flow_template {
	uint64_t rate_Bps;
	uint32_t idle_s; /* without a packet, whereupon it ends */
	uint32_t flows_max;
};

struct sl_rule {
	uint8_t family; /* AF_INET, AF_INET6, or 0: both */
	/* TCP flags, those of `flags_mask` must be as in `flags`; 0: any, also no TCP */
	uint8_t flags, flags_mask;
	struct sl_prefix prefix[SL_SIDES];	/* family 0: any address */
	struct sl_ranges field[SL_FIELD_COUNT]; /* that of TCP_FLAGS is not used */
	uint32_t action;			/* SL_RULE_*: what it does, as in the image */
	uint32_t number;			/* of its counter, and of its policer */
	struct sl_police police;
	struct sl_flow_template reserve;
	uint8_t next_hop[16];		 /* with SL_RULE_NEXT_HOP: of the rule's family; or: */
	uint32_t table;			 /* the kernel's table that says the next hop; 0: none */
	char chain[SL_CHAIN_NAME_BYTES]; /* with SL_RULE_CHAIN */
	uint32_t sample;		 /* one in so many of its packets is copied; 0: none */
	char mirror[SL_NETDEV_NAME_MAX]; /* the netdev that sends the copies */
};

/* Number of values of a field, which is also the value of a packet that does not have it. */
uint32_t sl_field_values(enum sl_field field);

/* Does the rule concern packets of AF_INET or AF_INET6 at all? */
bool sl_rule_has_family(const struct sl_rule *rule, uint8_t family);
/* May the field have this value? */
bool sl_rule_allows(const struct sl_rule *rule, enum sl_field field, uint32_t value);
/* Does the rule match the packet, which is of the family? */
bool sl_rule_matches(const struct sl_rule *rule, uint8_t family, const struct sl_flow *flow);

/* An auxiliary rule counts and copies packets, and does not decide them. */
bool sl_rule_is_auxiliary(const struct sl_rule *rule);

/*
 * The first of n rules that matches and decides, or NULL: what a classifier must answer, by looking
 * at one rule after the other.
 */
const struct sl_rule *sl_rules_first(const struct sl_rule *rules, uint32_t n, uint8_t family,
				     const struct sl_flow *flow);

/* Address of a family, 4 or 16 bytes in network order, as struct sl_flow has it. */
void sl_flow_address(uint8_t family, const uint8_t *addr, __u64 out[2]);

#endif
