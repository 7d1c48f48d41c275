/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "elements/core/ip_rewrite.h"

#define ETHERTYPE_AT 12u
#define TAG_BYTES    4u
#define TAGS_MAX     2u
#define IP4_LATER    0x1fffu /* fragment offset */

enum { PROTOCOL_TCP = 6, PROTOCOL_UDP = 17, PROTOCOL_DCCP = 33, PROTOCOL_UDPLITE = 136 };

uint16_t el_read16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

uint32_t el_read32(const uint8_t *at)
{
	return (uint32_t)el_read16(at) << 16 | el_read16(at + 2);
}

void el_write16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

void el_write32(uint8_t *at, uint32_t value)
{
	el_write16(at, (uint16_t)(value >> 16));
	el_write16(at + 2, (uint16_t)value);
}

static uint16_t fold(uint64_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

uint16_t el_checksum(const uint8_t *bytes, uint32_t n)
{
	uint64_t sum = 0;
	uint32_t i;

	for (i = 0; i + 1 < n; i += 2)
		sum += el_read16(bytes + i);
	if (n & 1)
		sum += (uint32_t)bytes[n - 1] << 8;
	return (uint16_t)~fold(sum);
}

uint16_t el_checksum_replace(uint16_t checksum, uint16_t old, uint16_t new)
{
	return (uint16_t)~fold((uint32_t)(uint16_t)~checksum + (uint16_t)~old + new);
}

static bool is_tag(uint16_t ethertype)
{
	return ethertype == 0x8100 || ethertype == 0x88a8;
}

static enum el_ip parse4(const uint8_t *ip, uint32_t n)
{
	uint32_t header = (ip[0] & 15u) * 4, total = el_read16(ip + 2);

	return ip[0] >> 4 == 4 && header >= EL_IP4_BYTES && header <= total && total <= n
		       ? EL_IP_4
		       : EL_IP_NONE;
}

static enum el_ip parse6(const uint8_t *ip, uint32_t n)
{
	return ip[0] >> 4 == 6 && EL_IP6_BYTES + el_read16(ip + 4) <= n ? EL_IP_6 : EL_IP_NONE;
}

enum el_ip el_ip_parse(struct el_packet *packet)
{
	uint32_t at = ETHERTYPE_AT, tags = 0;
	uint16_t type;

	packet->l3_offset = 0;
	if (packet->len_bytes < at + 2)
		return EL_IP_NONE;
	type = el_read16(packet->data + at);
	while (is_tag(type) && tags < TAGS_MAX) {
		at += TAG_BYTES;
		tags++;
		if (packet->len_bytes < at + 2)
			return EL_IP_NONE;
		type = el_read16(packet->data + at);
	}
	at += 2;
	packet->l3_offset = at;
	if (type == 0x0800 && packet->len_bytes >= at + EL_IP4_BYTES)
		return parse4(packet->data + at, packet->len_bytes - at);
	if (type == 0x86dd && packet->len_bytes >= at + EL_IP6_BYTES)
		return parse6(packet->data + at, packet->len_bytes - at);
	return EL_IP_NONE;
}

static void replace16(uint8_t *checksum, uint8_t *at, uint16_t value)
{
	el_write16(checksum, el_checksum_replace(el_read16(checksum), el_read16(at), value));
	el_write16(at, value);
}

void el_ip_set_dscp(struct el_packet *packet, enum el_ip version, uint8_t dscp)
{
	uint8_t *ip = packet->data + packet->l3_offset;

	if (version == EL_IP_4)
		replace16(ip + 10, ip, (uint16_t)(ip[0] << 8 | dscp << 2 | (ip[1] & 3)));
	else
		el_write16(ip, (uint16_t)((el_read16(ip) & 0xf03f) | dscp << 6));
}

uint8_t el_ip_traffic_class(const struct el_packet *packet, enum el_ip version)
{
	const uint8_t *ip = packet->data + packet->l3_offset;

	return version == EL_IP_4 ? ip[1] : (uint8_t)(el_read16(ip) >> 4);
}

uint32_t el_ip4_transport(const struct el_packet *packet, uint32_t need, uint8_t *protocol)
{
	const uint8_t *ip = packet->data + packet->l3_offset;
	uint32_t header = (ip[0] & 15u) * 4;

	*protocol = ip[9];
	if (el_read16(ip + 6) & IP4_LATER || el_read16(ip + 2) < header + need)
		return 0;
	return packet->l3_offset + header;
}

/* Where the transport's checksum over the addresses lies in the frame; 0: it has none. */
static uint32_t transport_checksum(const struct el_packet *packet)
{
	uint8_t protocol;
	uint32_t at;

	if (el_ip4_transport(packet, 18, &protocol) && protocol == PROTOCOL_TCP)
		return el_ip4_transport(packet, 18, &protocol) + 16;
	at = el_ip4_transport(packet, 8, &protocol);
	if (!at)
		return 0;
	if (protocol == PROTOCOL_UDP)
		return el_read16(packet->data + at + 6) ? at + 6 : 0;
	return protocol == PROTOCOL_UDPLITE || protocol == PROTOCOL_DCCP ? at + 6 : 0;
}

void el_ip4_set_address(struct el_packet *packet, bool source, uint32_t address)
{
	uint8_t *ip = packet->data + packet->l3_offset, *at = ip + (source ? 12 : 16);
	uint32_t l4 = transport_checksum(packet);

	for (int half = 0; half < 2; half++) {
		uint16_t value = (uint16_t)(address >> (half ? 0 : 16));
		uint8_t *word = at + half * 2;

		if (l4) {
			uint8_t *sum = packet->data + l4;

			el_write16(sum,
				   el_checksum_replace(el_read16(sum), el_read16(word), value));
		}
		replace16(ip + 10, word, value);
	}
	/* RFC 768, RFC 3828: a checksum that comes out as 0 is sent as all ones */
	if (l4 && (ip[9] == PROTOCOL_UDP || ip[9] == PROTOCOL_UDPLITE) &&
	    !el_read16(packet->data + l4))
		el_write16(packet->data + l4, 0xffff);
}
