/* SPDX-License-Identifier: BSD-2-Clause */
#include "queues/flow.h"

#include <string.h>

#define MAC_BYTES     12 /* both addresses */
#define VLAN_TAGS_MAX 2
#define TYPE_IPV4     0x0800
#define TYPE_IPV6     0x86dd
#define TYPE_CUSTOMER 0x8100
#define TYPE_SERVICE  0x88a8
#define IPV4_BYTES    20
#define IPV6_BYTES    40
#define ECN_CE	      3

static uint16_t load16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static void add(struct fq_flow *flow, const uint8_t *data, uint32_t bytes)
{
	memcpy(flow->key + flow->key_bytes, data, bytes);
	flow->key_bytes = (uint8_t)(flow->key_bytes + bytes);
}

/* Do the first four bytes behind the IP header name two ports? */
static bool has_ports(uint8_t protocol)
{
	switch (protocol) {
	case 6:	  /* TCP */
	case 17:  /* UDP */
	case 33:  /* DCCP */
	case 132: /* SCTP */
	case 136: /* UDP-Lite */
		return true;
	default:
		return false;
	}
}

static bool parse_ipv4(const uint8_t *ip, uint32_t bytes, struct fq_flow *flow)
{
	uint32_t header_bytes;
	bool is_fragment;

	if (bytes < IPV4_BYTES || ip[0] >> 4 != 4)
		return false;
	header_bytes = (ip[0] & 15) * 4u;
	is_fragment = load16(ip + 6) & 0x3fff; /* more fragments, or an offset */
	flow->ip_version = 4;
	flow->ecn = ip[1] & 3;
	add(flow, &flow->ip_version, 1);
	add(flow, ip + 9, 1);
	add(flow, ip + 12, 8);
	if (has_ports(ip[9]) && !is_fragment && header_bytes >= IPV4_BYTES &&
	    bytes >= header_bytes + 4)
		add(flow, ip + header_bytes, 4);
	return true;
}

static bool parse_ipv6(const uint8_t *ip, uint32_t bytes, struct fq_flow *flow)
{
	if (bytes < IPV6_BYTES || ip[0] >> 4 != 6)
		return false;
	flow->ip_version = 6;
	flow->ecn = ip[1] >> 4 & 3;
	add(flow, &flow->ip_version, 1);
	add(flow, ip + 6, 1);
	add(flow, ip + 8, 32);
	if (has_ports(ip[6]) && bytes >= IPV6_BYTES + 4)
		add(flow, ip + IPV6_BYTES, 4);
	return true;
}

void fq_flow_parse(const uint8_t *frame, uint32_t bytes, struct fq_flow *out)
{
	uint32_t at = MAC_BYTES;
	uint16_t type;

	memset(out, 0, sizeof(*out));
	if (bytes < MAC_BYTES + 2)
		return;
	type = load16(frame + at);
	for (int tags = 0; tags < VLAN_TAGS_MAX && bytes >= at + 6; tags++) {
		if (type != TYPE_CUSTOMER && type != TYPE_SERVICE)
			break;
		at += 4;
		type = load16(frame + at);
	}
	at += 2;
	out->l3_offset = (uint16_t)at;
	if (type == TYPE_IPV4 && parse_ipv4(frame + at, bytes - at, out))
		return;
	if (type == TYPE_IPV6 && parse_ipv6(frame + at, bytes - at, out))
		return;
	add(out, &out->ip_version, 1);
	add(out, frame, MAC_BYTES);
	add(out, frame + at - 2, 2);
}

void fq_flow_of(uint8_t version, uint8_t protocol, const void *source, const void *destination,
		const void *ports, struct fq_flow *out)
{
	const uint32_t address_bytes = version == 4 ? 4 : 16;

	memset(out, 0, sizeof(*out));
	out->ip_version = version;
	add(out, &out->ip_version, 1);
	add(out, &protocol, 1);
	add(out, source, address_bytes);
	add(out, destination, address_bytes);
	add(out, ports, 4);
}

void fq_flow_mark(uint8_t *frame, const struct fq_flow *flow)
{
	uint8_t *ip = frame + flow->l3_offset;

	if (flow->ip_version == 6)
		ip[1] |= ECN_CE << 4;
	if (flow->ip_version == 4) {
		/* RFC 1624, equation 3: HC' = ~(~HC + ~m + m'), where m' - m is what ECN grew by.
		 */
		uint32_t sum = (uint16_t)~load16(ip + 10) + (uint32_t)(ECN_CE - (ip[1] & 3));

		sum = (sum & 0xffff) + (sum >> 16);
		ip[1] |= ECN_CE;
		ip[10] = (uint8_t)(~sum >> 8);
		ip[11] = (uint8_t)~sum;
	}
}
