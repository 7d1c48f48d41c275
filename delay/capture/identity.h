/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What makes a captured packet known again on another link of the router: a fingerprint of source,
 * destination and identification of its IP header and of the 24 bytes behind that header. What a
 * router rewrites (link layer, TTL, TOS, header checksum) and padding stay out.
 */
#ifndef SL_IDENTITY_H
#define SL_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

#define SL_IDENTITY_DATA_BYTES 24 /* bytes behind the IP header that tell packets apart */

/* A link type that we read, by libpcap's number */
struct sl_link_type {
	int number;
	const char *name;
	uint32_t frame_bytes;	 /* of a frame: what lies before and behind the IP packet */
	uint32_t overhead_bytes; /* on the wire, per packet: that, preamble and gap */
	uint32_t least_bytes;	 /* the link pads shorter IP packets to this */
};
/* NULL: we do not read this type. */
const struct sl_link_type *sl_link_type_find(int number);
/* Types that we read, as a list for a message. */
extern const char sl_link_type_names[];

enum sl_identity_verdict {
	SL_IDENTITY_OK,
	SL_IDENTITY_NOT_IP, /* ARP, LLDP and the like */
	SL_IDENTITY_SHORT,  /* the capture cut it before its identity */
	SL_IDENTITY_BROKEN, /* an IP header that contradicts itself */
};

struct sl_identity {
	uint64_t id[2]; /* the fingerprint: equal for one packet; for others with chance 2^-128 */
	uint16_t ip_bytes; /* IP total length */
	uint8_t vlan_tags;
	bool slow; /* has IP options (or hop-by-hop options): a router's slow path */
};

/*
 * Identify a captured frame. data     borrowed; `captured` bytes of it are there
 * no_checksums  the checksums of TCP, UDP, ICMP stay out, too: a sender may have left them to its
 *               device, so that they differ before and behind it
 * *out is written with SL_IDENTITY_OK only.
 */
enum sl_identity_verdict sl_identify(const struct sl_link_type *type, const uint8_t *data,
				     uint32_t captured, bool no_checksums, struct sl_identity *out);

#endif
