/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flow specifications (RFC 8955, RFC 8956) as BIRD 2 shows them: the answer to `show route table T
 * all primary`. Pure: no kernel, no sockets.
 */
#ifndef SL_FLOWSPEC_TEXT_H
#define SL_FLOWSPEC_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/text/prefix.h"

/* Types of components, RFC 8955 4.2.2 and RFC 8956 3. */
enum sl_flowspec_type {
	SL_FLOWSPEC_DESTINATION = 1,
	SL_FLOWSPEC_SOURCE = 2,
	SL_FLOWSPEC_PROTOCOL = 3,
	SL_FLOWSPEC_PORT = 4,
	SL_FLOWSPEC_DESTINATION_PORT = 5,
	SL_FLOWSPEC_SOURCE_PORT = 6,
	SL_FLOWSPEC_ICMP_TYPE = 7,
	SL_FLOWSPEC_ICMP_CODE = 8,
	SL_FLOWSPEC_TCP_FLAGS = 9,
	SL_FLOWSPEC_LENGTH = 10,
	SL_FLOWSPEC_DSCP = 11,
	SL_FLOWSPEC_FRAGMENT = 12,
	SL_FLOWSPEC_FLOW_LABEL = 13,
	SL_FLOWSPEC_TYPES
};

/* Bits of an operator, RFC 8955 4.2.1.1 and 4.2.1.2, but for the length and the end. */
#define SL_FLOWSPEC_AND	    0x40 /* with the term before; else that or this */
#define SL_FLOWSPEC_LESS    0x04
#define SL_FLOWSPEC_GREATER 0x02
#define SL_FLOWSPEC_EQUAL   0x01
#define SL_FLOWSPEC_NOT	    0x02 /* of a bitmask */
#define SL_FLOWSPEC_MATCH   0x01 /* of a bitmask: all bits of the value; else any of them */

/* Of TCP_FLAGS and FRAGMENT the value is a bitmask. */
struct sl_flowspec_term {
	uint8_t op; /* SL_FLOWSPEC_* */
	uint32_t value;
};

/* Values of FRAGMENT */
#define SL_FLOWSPEC_DONT_FRAGMENT 1u
#define SL_FLOWSPEC_IS_FRAGMENT	  2u /* not the first */
#define SL_FLOWSPEC_FIRST	  4u
#define SL_FLOWSPEC_LAST	  8u

/* BIRD cuts a specification after some 500 characters, which have room for fewer terms. */
#define SL_FLOWSPEC_TERMS_MAX 250
struct sl_flowspec_component {
	bool is_there;
	struct sl_prefix prefix; /* of DESTINATION and SOURCE */
	uint32_t offset;	 /* of an IPv6 prefix: leading bits that may have any value */
	uint16_t first, n;	 /* of the others: its terms */
};

/* What the extended communities of a route ask for, RFC 8955 7. */
struct sl_flowspec_actions {
	bool has_rate;	    /* traffic-rate-bytes */
	float rate_Bps;	    /* 0: discard */
	bool has_rate_pps;  /* traffic-rate-packets */
	float rate_pps;	    /* 0: discard */
	uint8_t dscp_plus1; /* traffic-marking; 0: none */
	bool has_redirect;  /* rt-redirect of a two-octet AS */
	uint16_t as;	    /* its route target, AS:NUMBER */
	uint32_t number;
	bool has_next_hop; /* redirect to an IPv4 address */
	uint8_t next_hop[4];
};

struct sl_flowspec {
	uint8_t family;	  /* AF_INET or AF_INET6 */
	const char *text; /* borrowed from the answer; text_bytes of it are the specification */
	size_t text_bytes;
	struct sl_flowspec_component component[SL_FLOWSPEC_TYPES]; /* by type */
	struct sl_flowspec_term term[SL_FLOWSPEC_TERMS_MAX];
	uint32_t n_terms;
	struct sl_flowspec_actions actions;
	char why[96]; /* not empty: what of it cannot be read, or asks for what rules cannot do */
};

/*
 * Read the next specification of the answer at *at, which ends with a byte 0, and move *at behind
 * it. Returns false when there is no more. *out is whole in any case; its `why` says what it lacks.
 */
bool sl_flowspec_next(const char **at, struct sl_flowspec *out);

#endif
