/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <string.h>

#include "netns-lab/classify/flow_frame.h"
#include "netns-lab/lookup/routes.h"

#define END_BYTES    8 /* what a packet ends in: */
#define MAGIC	     0x736c7563u
#define HOPS	     64
#define NO_EXTENSION 255

static uint8_t *put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
	return at + 2;
}

static uint8_t *put32(uint8_t *at, uint32_t value)
{
	return put16(put16(at, value >> 16), value & 0xffff);
}

static void put_address(uint8_t *at, uint8_t family, const __u64 address[2])
{
	for (unsigned int i = 0; i < sl_addr_bits(family) / 8u; i++)
		at[i] = (uint8_t)(address[i / 8] >> (56 - i % 8 * 8));
}

static uint32_t checksum(const uint8_t *at, uint32_t bytes)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < bytes; i += 2)
		sum += (uint32_t)at[i] << 8 | at[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	return ~(sum + (sum >> 16)) & 0xffff;
}

static bool has_ports(uint32_t protocol)
{
	return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_SCTP ||
	       protocol == IPPROTO_DCCP || protocol == IPPROTO_UDPLITE;
}

/* The L4 header. No checksum of TCP is right, so nobody merges segments. */
static void put_l4(uint8_t *at, uint32_t bytes, uint32_t protocol, const struct sl_flow *flow)
{
	if (has_ports(protocol)) {
		put16(at, flow->field[SL_FIELD_SOURCE_PORT]);
		put16(at + 2, flow->field[SL_FIELD_DESTINATION_PORT]);
	}
	if (protocol == IPPROTO_TCP) {
		at[12] = 5 << 4;
		at[13] = (uint8_t)flow->field[SL_FIELD_TCP_FLAGS];
	}
	if (protocol == IPPROTO_UDP)
		put16(at + 4, bytes);
	if (protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6) {
		at[0] = (uint8_t)flow->field[SL_FIELD_ICMP_TYPE];
		at[1] = (uint8_t)flow->field[SL_FIELD_ICMP_CODE];
	}
}

static uint32_t within(uint32_t value, uint32_t low, uint32_t high)
{
	return value < low ? low : value > high ? high : value;
}

/* Returns the L4 header's place. */
static uint8_t *put_ip4(uint8_t *ip, const struct sl_flow *flow, uint32_t id, uint32_t len,
			uint32_t options, uint32_t tos_low)
{
	static const uint32_t fragment_fields[] = { [SL_FRAGMENT_NONE] = 0x4000,
						    [SL_FRAGMENT_FIRST] = 0x2000,
						    [SL_FRAGMENT_LATER] = 0x2001 };
	uint32_t header = sizeof(uint32_t) * (5 + options);

	ip[0] = (uint8_t)(0x45 + options);
	ip[1] = (uint8_t)(flow->field[SL_FIELD_DSCP] << 2 | tos_low);
	put16(ip + 2, len);
	put16(ip + 4, id & 0xffff);
	put16(ip + 6, fragment_fields[flow->field[SL_FIELD_FRAGMENT]]);
	ip[8] = HOPS;
	ip[9] = (uint8_t)flow->field[SL_FIELD_PROTOCOL];
	put_address(ip + 12, AF_INET, flow->address[SL_SIDE_SOURCE]);
	put_address(ip + 16, AF_INET, flow->address[SL_SIDE_DESTINATION]);
	memset(ip + 20, 1, header - 20); /* no operation */
	put16(ip + 10, checksum(ip, header));
	return ip + header;
}

static uint8_t *put_ip6(uint8_t *ip, const struct sl_flow *flow, uint32_t id, uint32_t len,
			uint8_t extension, uint32_t tos_low)
{
	uint8_t *next = ip + 6, *at = ip + sizeof(uint32_t) * 10;

	put32(ip, 6u << 28 | flow->field[SL_FIELD_DSCP] << 22 | tos_low << 20 |
			  flow->field[SL_FIELD_FLOW_LABEL]);
	put16(ip + 4, len - 40);
	ip[7] = HOPS;
	put_address(ip + 8, AF_INET6, flow->address[SL_SIDE_SOURCE]);
	put_address(ip + 24, AF_INET6, flow->address[SL_SIDE_DESTINATION]);
	if (extension != NO_EXTENSION) {
		*next = extension;
		next = at;
		memcpy(at + 2, (const uint8_t[]){ 1, 4, 0, 0, 0, 0 }, 6); /* PadN */
		at += 8;
	}
	if (flow->field[SL_FIELD_FRAGMENT] != SL_FRAGMENT_NONE) {
		*next = IPPROTO_FRAGMENT;
		next = at;
		put16(at + 2, (flow->field[SL_FIELD_FRAGMENT] == SL_FRAGMENT_LATER ? 8u : 0u) | 1u);
		put32(at + 4, id);
		at += 8;
	}
	*next = (uint8_t)flow->field[SL_FIELD_PROTOCOL];
	return at;
}

/*
 * Routers differ in what they do with addresses that no packet should have (RFC 1812 5.3.7), and
 * no chain at the hook `forward` sees a packet to a link-local one.
 */
static void make_forwardable(uint8_t family, __u64 address[2])
{
	uint8_t first = (uint8_t)(address[0] >> 56);

	if (first == 0 || (family == AF_INET ? first == 127 || first >= 224 : first >= 0xfe))
		address[0] = (address[0] & ~0ULL >> 8) | (__u64)((first & 63) + 1) << 56;
}

/* Make fields that no packet of the family has ones that it has. */
static void make_valid(struct sl_flow *flow, uint8_t family)
{
	static const uint8_t extensions[] = { 0, 43, 44, 51, 60, 135, 139, 140 };

	for (enum sl_field field = 0; field < SL_FIELD_COUNT; field++)
		if (flow->field[field] >= sl_field_values(field))
			flow->field[field] = 0;
	for (size_t i = 0; family == AF_INET6 && i < sizeof(extensions); i++)
		if (flow->field[SL_FIELD_PROTOCOL] == extensions[i])
			flow->field[SL_FIELD_PROTOCOL] = IPPROTO_RAW - 2; /* for experiments */
	for (unsigned int side = 0; side < SL_SIDES; side++)
		make_forwardable(family, flow->address[side]);
}

uint32_t lab_flow_frame(const struct sl_flow *wanted, uint8_t family, const uint8_t macs[12],
			uint32_t id, uint64_t *random, uint8_t frame[LAB_FLOW_FRAME_MAX])
{
	static const uint8_t extensions[] = { IPPROTO_HOPOPTS, IPPROTO_DSTOPTS };
	uint32_t odd = lab_random_below(random, 32), tos_low = lab_random_below(random, 4), len;
	struct sl_flow flow = *wanted;
	uint8_t *l4, *end;

	make_valid(&flow, family);
	memset(frame, 0, LAB_FLOW_FRAME_MAX);
	memcpy(frame, macs, 12);
	put16(frame + 12, family == AF_INET ? ETHERTYPE_IP : ETHERTYPE_IPV6);
	len = within(flow.field[SL_FIELD_LENGTH], family == AF_INET ? 48 : 84, 1500);
	if (family == AF_INET && odd == 0)
		len = within(len, 52, 1500);
	if (family == AF_INET)
		l4 = put_ip4(frame + ETH_HLEN, &flow, id, len, odd == 0, tos_low);
	else
		l4 = put_ip6(frame + ETH_HLEN, &flow, id, len,
			     odd < 2 ? extensions[odd] : NO_EXTENSION, tos_low);
	end = frame + ETH_HLEN + len;
	if (flow.field[SL_FIELD_FRAGMENT] != SL_FRAGMENT_LATER)
		put_l4(l4, (uint32_t)(end - l4), flow.field[SL_FIELD_PROTOCOL], &flow);
	put32(put32(end - END_BYTES, MAGIC), id);
	return ETH_HLEN + len;
}

bool lab_flow_frame_id(const uint8_t *frame, uint32_t len, uint32_t *id)
{
	uint32_t end[2];

	if (len < ETH_HLEN + END_BYTES)
		return false;
	memcpy(end, frame + len - END_BYTES, sizeof(end));
	*id = ntohl(end[1]);
	return ntohl(end[0]) == MAGIC;
}
