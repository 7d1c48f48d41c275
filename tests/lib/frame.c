// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/frame.h"

static uint8_t *put16(uint8_t *at, uint16_t value)
{
	at[0] = value >> 8;
	at[1] = value & 0xff;
	return at + 2;
}

static uint8_t *put_mac(uint8_t *at, uint64_t mac)
{
	for (int shift = 40; shift >= 0; shift -= 8)
		*at++ = mac >> shift & 0xff;
	return at;
}

static uint8_t *put_address(uint8_t *at, int family, const char *text)
{
	if (inet_pton(family, text, at) != 1) {
		fprintf(stderr, "frame: \"%s\" is not an address\n", text);
		abort();
	}
	return at + (family == AF_INET ? 4 : 16);
}

static uint32_t payload_bytes(const struct frame *f)
{
	if (f->payload_bytes == FRAME_EMPTY)
		return 0;
	return f->payload_bytes ? (uint32_t)f->payload_bytes : 26;
}

static void put_payload(uint8_t *at, const struct frame *f)
{
	uint32_t n = payload_bytes(f);
	uint8_t ports[4];

	for (uint32_t i = 0; i < n; i++)
		at[i] = (i * 7 + 3) & 0xff;
	put16(ports, f->sport ? f->sport : 1234);
	put16(ports + 2, f->dport ? f->dport : 4321);
	memcpy(at, ports, n < sizeof(ports) ? n : sizeof(ports));
}

static uint8_t *put_ip4(uint8_t *at, const struct frame *f)
{
	*at++ = 0x45;
	*at++ = f->tos;
	at = put16(at, 20 + payload_bytes(f));
	at = put16(at, f->id);
	at = put16(at, f->fragment);
	*at++ = f->ttl ? f->ttl : 64;
	*at++ = f->protocol ? f->protocol : IPPROTO_UDP;
	at = put16(at, 0);
	at = put_address(at, AF_INET, f->src ? f->src : "10.1.0.2");
	return put_address(at, AF_INET, f->dst ? f->dst : "10.2.0.2");
}

static uint8_t *put_ip6(uint8_t *at, const struct frame *f)
{
	*at++ = 0x60 | f->tos >> 4;
	*at++ = (f->tos & 0xf) << 4 | (f->flow_label >> 16 & 0xf);
	at = put16(at, f->flow_label & 0xffff);
	at = put16(at, payload_bytes(f));
	*at++ = f->protocol ? f->protocol : IPPROTO_UDP;
	*at++ = f->ttl ? f->ttl : 64;
	at = put_address(at, AF_INET6, f->src ? f->src : "2001:db8:1::2");
	return put_address(at, AF_INET6, f->dst ? f->dst : "2001:db8:2::2");
}

/* RFC 1071, word by word. */
static void put_checksum(uint8_t *ip, uint32_t room_bytes, uint16_t error)
{
	uint32_t header_bytes = (ip[0] & 0xf) * 4u, sum = 0;

	for (uint32_t i = 0; i + 1 < header_bytes && i + 1 < room_bytes; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	put16(ip + 10, (~sum & 0xffff) + error);
}

uint32_t frame_l3_offset(const struct frame *f)
{
	uint32_t tags = 0;

	while (tags < FRAME_TAGS_MAX && f->tag[tags].tpid)
		tags++;
	return ETH_HLEN + tags * 4;
}

uint32_t frame_build(const struct frame *f, uint8_t *out)
{
	uint32_t l3 = frame_l3_offset(f), len;
	uint8_t *at = out;

	at = put_mac(at, f->dst_mac ? f->dst_mac : FRAME_DST_MAC);
	at = put_mac(at, f->src_mac ? f->src_mac : FRAME_SRC_MAC);
	for (int i = 0; i < FRAME_TAGS_MAX && f->tag[i].tpid; i++) {
		at = put16(at, f->tag[i].tpid);
		at = put16(at, f->tag[i].tci);
	}
	at = put16(at, f->ethertype ? f->ethertype : f->ip6 ? ETH_P_IPV6 : ETH_P_IP);
	at = f->ip6 ? put_ip6(at, f) : put_ip4(at, f);
	put_payload(at, f);
	at += payload_bytes(f);
	memset(at, 0xee, f->padding_bytes);
	len = at - out + f->padding_bytes;
	for (int i = 0; i < FRAME_PATCHES && (f->patch[i].at || f->patch[i].to); i++)
		out[l3 + f->patch[i].at] = f->patch[i].to;
	if (!f->ip6)
		put_checksum(out + l3, len - l3, f->checksum_error);
	return f->cut_bytes && f->cut_bytes < len ? f->cut_bytes : len;
}
