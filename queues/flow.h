/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flow of an Ethernet frame: the bytes that its hash is made of, and its ECN field.
 *
 * A flow is the addresses, the protocol and, of TCP, UDP, SCTP, DCCP and UDP-Lite, the ports. All
 * fragments of a packet are of one flow, which has no ports. IPv6 packets with extension headers
 * are told apart by addresses and by the first next header; frames that are not IP, by MAC
 * addresses and EtherType. VLAN tags are not part of a flow.
 */
#ifndef QUEUES_FLOW_H
#define QUEUES_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "queues/siphash.h"

#define FQ_FLOW_KEY_BYTES 38 /* IP version, protocol, two IPv6 addresses, two ports */

struct fq_flow {
	uint8_t key[FQ_FLOW_KEY_BYTES];
	uint8_t key_bytes;
	uint8_t ip_version; /* 4 or 6; 0: not IP, or cut off within the header */
	uint8_t ecn;	    /* RFC 3168: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE */
	uint16_t l3_offset; /* of the IP header; valid if ip_version is not 0 */
};

/* frame: `bytes` of a frame from its MAC header on; any content and length. Thread-safe. */
void fq_flow_parse(const uint8_t *frame, uint32_t bytes, struct fq_flow *out);

/*
 * The flow of frames with these values, all in network order: addresses of 4 or 16 bytes, and 4
 * bytes of ports, the source's first. The protocol has ports; version is 4 or 6. Of the flow, only
 * the key has a meaning.
 */
void fq_flow_of(uint8_t version, uint8_t protocol, const void *source, const void *destination,
		const void *ports, struct fq_flow *out);

static inline uint64_t fq_flow_hash(const struct fq_flow *flow, const struct fq_hash_key *key)
{
	return fq_siphash(key, flow->key, flow->key_bytes);
}

/* May a frame of this flow be marked in place of being discarded? */
static inline bool fq_flow_is_ect(const struct fq_flow *flow)
{
	return flow->ecn != 0;
}

/*
 * Set Congestion Experienced in the frame that `flow` was parsed from, whose sender knows ECN, and
 * the IPv4 header's checksum with it.
 */
void fq_flow_mark(uint8_t *frame, const struct fq_flow *flow);

#endif
