/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "elements/core/ip_rewrite.h"
#include "elements/worker/chain_frame.h"

#define ETHERTYPE_AT 12u
#define ETH_BYTES    14u

enum { PROTOCOL_TCP = 6, PROTOCOL_UDP = 17 };

static void untag(struct el_packet *packet)
{
	uint32_t tags_bytes = packet->l3_offset - ETH_BYTES;

	memmove(packet->data + tags_bytes, packet->data, ETHERTYPE_AT);
	packet->data += tags_bytes;
	packet->len_bytes -= tags_bytes;
	packet->l3_offset = ETH_BYTES;
}

/* Where the transport header begins, and how long it is with what follows; 0: it has none. */
static uint32_t find_transport(const struct el_packet *packet, enum el_ip version,
			       uint32_t *n_bytes, uint8_t *protocol)
{
	const uint8_t *ip = packet->data + packet->l3_offset;
	uint32_t header = EL_IP6_BYTES;

	if (version == EL_IP_4) {
		header = (ip[0] & 15u) * 4;
		*n_bytes = el_read16(ip + 2) - header;
		*protocol = ip[9];
		if (el_read16(ip + 6) & 0x3fff) /* a fragment */
			return 0;
	} else {
		*n_bytes = el_read16(ip + 4);
		*protocol = ip[6];
	}
	return packet->l3_offset + header;
}

/* The folded sum of the pseudo-header (RFC 9293 3.1, RFC 8200 8.1). */
static uint16_t sum_pseudo(const uint8_t *ip, enum el_ip version, uint32_t n_bytes,
			   uint8_t protocol)
{
	uint8_t pseudo[40] = { 0 };
	uint32_t addresses = version == EL_IP_4 ? 8 : 32;

	memcpy(pseudo, ip + (version == EL_IP_4 ? 12 : 8), addresses);
	el_write32(pseudo + addresses, n_bytes);
	pseudo[addresses + 7] = protocol;
	return (uint16_t)~el_checksum(pseudo, addresses + 8);
}

/*
 * A sender on a veth or behind a TAP leaves the checksum to its device: the field holds the sum of
 * the pseudo-header alone (bpf/edge/l4_checksum.bpf.h).
 */
static void complete_checksum(struct el_packet *packet, enum el_ip version)
{
	uint32_t n_bytes, field, at;
	uint8_t protocol, *l4;
	uint16_t sum;

	at = find_transport(packet, version, &n_bytes, &protocol);
	field = protocol == PROTOCOL_TCP ? 16 : 6;
	if (!at || (protocol != PROTOCOL_TCP && protocol != PROTOCOL_UDP) || n_bytes < field + 2)
		return;
	l4 = packet->data + at;
	sum = el_read16(l4 + field);
	if (!sum || sum != sum_pseudo(packet->data + packet->l3_offset, version, n_bytes, protocol))
		return;
	sum = el_checksum(l4, n_bytes);
	/* a UDP checksum of 0 would mean that there is none (RFC 768) */
	el_write16(l4 + field, sum ? sum : 0xffff);
}

int el_chain_frame_open(struct el_packet *packet, char name[SL_CHAIN_NAME_BYTES])
{
	struct sl_chain_header header;
	enum el_ip version;

	if (packet->len_bytes < sizeof(header) + ETH_BYTES)
		return -EPROTO;
	memcpy(&header, packet->data, sizeof(header));
	if (el_read16(packet->data + ETHERTYPE_AT) != SL_CHAIN_ETHERTYPE ||
	    header.name[SL_CHAIN_NAME_BYTES - 1])
		return -EPROTO;
	memcpy(name, header.name, SL_CHAIN_NAME_BYTES);
	packet->data += sizeof(header);
	packet->len_bytes -= sizeof(header);
	version = el_ip_parse(packet);
	if (version == EL_IP_NONE)
		return -EPROTO;
	if (packet->l3_offset > ETH_BYTES)
		untag(packet);
	if (header.partial)
		complete_checksum(packet, version);
	return 0;
}

void el_chain_frame_address(struct el_packet *packet, const uint8_t to[6], const uint8_t from[6])
{
	memcpy(packet->data, to, 6);
	memcpy(packet->data + 6, from, 6);
}
