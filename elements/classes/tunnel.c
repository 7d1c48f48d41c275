/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tunnel: puts an IPv4 header before the packet: IP in IP (RFC 2003, for IPv6 RFC 4213), or GRE
 * without key, checksum or number (RFC 2784).
 *
 * DSCP and ECN of the outer header are those of the packet (RFC 2983 uniform, RFC 6040 normal
 * mode). Don't-fragment is that of an IPv4 packet, and set for IPv6. VLAN tags stay in front.
 * Packets that are no IP pass unchanged; one for which the chunk has no room ends.
 */
#include <string.h>

#include "elements/classes/classes.h"
#include "elements/core/ip_rewrite.h"

#define GRE_BYTES     4u
#define DONT_FRAGMENT 0x4000u
#define IP_TOTAL_MAX  65535u
#define PROTOCOL_IPIP 4u
#define PROTOCOL_IPV6 41u
#define PROTOCOL_GRE  47u

struct tunnel {
	bool gre;
	uint8_t ttl;
	uint16_t id; /* of the next packet */
	uint32_t local, remote;
};

enum { MODE, LOCAL, REMOTE, TTL };

static const char *tunnel_init(void *state, const struct el_value *values)
{
	struct tunnel *t = state;

	t->gre = values[MODE].number == 1;
	t->local = el_read32(values[LOCAL].prefix.addr);
	t->remote = el_read32(values[REMOTE].prefix.addr);
	t->ttl = (uint8_t)values[TTL].number;
	return t->local == t->remote ? "local and remote are one address" : NULL;
}

static void write_header(struct tunnel *t, uint8_t *outer, uint8_t tos, uint32_t total,
			 uint16_t fragment, uint8_t protocol)
{
	outer[0] = 4 << 4 | EL_IP4_BYTES / 4;
	outer[1] = tos;
	el_write16(outer + 2, (uint16_t)total);
	el_write16(outer + 4, t->id++);
	el_write16(outer + 6, fragment);
	outer[8] = t->ttl;
	outer[9] = protocol;
	el_write16(outer + 10, 0);
	el_write32(outer + 12, t->local);
	el_write32(outer + 16, t->remote);
	el_write16(outer + 10, el_checksum(outer, EL_IP4_BYTES));
}

static uint8_t inner_protocol(const struct tunnel *t, enum el_ip version)
{
	if (t->gre)
		return PROTOCOL_GRE;
	return version == EL_IP_4 ? PROTOCOL_IPIP : PROTOCOL_IPV6;
}

static int tunnel_process(void *state, struct el_context *ctx, struct el_packet *packet)
{
	struct tunnel *t = state;
	enum el_ip version = el_ip_parse(packet);
	uint32_t extra = EL_IP4_BYTES + (t->gre ? GRE_BYTES : 0), l3 = packet->l3_offset, total;
	const uint8_t *ip = packet->data + l3;
	uint16_t fragment = DONT_FRAGMENT;
	uint8_t *outer, tos;

	if (version == EL_IP_NONE)
		return 0;
	total = version == EL_IP_4 ? el_read16(ip + 2) : el_read16(ip + 4) + EL_IP6_BYTES;
	if (el_packet_headroom(ctx->pool, packet) < extra || total + extra > IP_TOTAL_MAX)
		return EL_DROP;
	tos = el_ip_traffic_class(packet, version);
	if (version == EL_IP_4)
		fragment = el_read16(ip + 6) & DONT_FRAGMENT;
	memmove(packet->data - extra, packet->data, l3);
	packet->data -= extra;
	packet->len_bytes = l3 + extra + total; /* padding would look like payload */
	outer = packet->data + l3;
	write_header(t, outer, tos, total + extra, fragment, inner_protocol(t, version));
	if (t->gre) {
		el_write16(outer + EL_IP4_BYTES, 0);
		el_write16(outer + EL_IP4_BYTES + 2, version == EL_IP_4 ? 0x0800 : 0x86dd);
	}
	el_write16(packet->data + l3 - 2, 0x0800);
	return 0;
}

static const char *const modes[] = { "ipip", "gre", NULL };

static const struct el_param params[] = {
	[MODE] = { "mode", EL_PARAM_CHOICE, true, 0, 0, 0, modes, 0, "ipip or gre" },
	[LOCAL] = { "local", EL_PARAM_ADDRESS4, true, 0, 0, 0, NULL, 0, "address of this end" },
	[REMOTE] = { "remote", EL_PARAM_ADDRESS4, true, 0, 0, 0, NULL, 0, "of the other end" },
	[TTL] = { "ttl", EL_PARAM_NUMBER, false, 1, 255, 64, NULL, 0, "of the outer header" },
	{ 0 },
};

const struct el_class el_tunnel = {
	.name = "Tunnel",
	.version = 1,
	.what = "puts an outer IPv4 header before packets: IP in IP, or GRE",
	.may = EL_MAY_DROP | EL_MAY_WRITE | EL_MAY_RESIZE,
	.input = EL_EITHER,
	.output = EL_EITHER,
	.outputs_required = 1,
	.outputs = 1,
	.drop_name = "no-room",
	.params = params,
	.state_bytes = sizeof(struct tunnel),
	.init = tunnel_init,
	.process = tunnel_process,
};
