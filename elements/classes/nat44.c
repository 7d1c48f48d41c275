/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nat44: maps the IPv4 addresses of one prefix to those of another of the same length, the bits
 * beyond the prefix unchanged, without state (the address part of RFC 6296's idea, for IPv4).
 * Checksums of IP, TCP, UDP, UDP-Lite and DCCP follow by RFC 1624.
 *
 * An ICMP error carries the header of the packet that it is about, as it was behind the map: its
 * opposite address is mapped back (RFC 5508 4.2), and ICMP's checksum follows. The checksum of
 * what the error carries behind that header stays; its receiver cannot check it.
 */
#include "elements/classes/classes.h"
#include "elements/core/ip_rewrite.h"

#define PROTOCOL_ICMP	  1
#define ICMP_HEADER_BYTES 8u

struct nat44 {
	bool source; /* maps sources; otherwise destinations */
	uint32_t from, to, mask;
};

enum { SIDE, FROM, TO };

static uint32_t address(const struct el_value *value)
{
	return el_read32(value->prefix.addr);
}

static const char *nat44_init(void *state, const struct el_value *values)
{
	struct nat44 *n = state;
	uint8_t len = values[FROM].prefix.len;

	if (values[TO].prefix.len != len)
		return "from and to are prefixes of different lengths";
	n->source = values[SIDE].number == 0;
	n->from = address(&values[FROM]);
	n->to = address(&values[TO]);
	n->mask = len ? UINT32_MAX << (32 - len) : 0;
	return NULL;
}

static bool is_icmp_error(uint8_t type)
{
	/* unreachable, source quench, redirect, time exceeded, parameter problem: RFC 792 */
	return type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
}

/* The header that an ICMP error carries: its opposite side. A checksum that covers both. */
static void map_carried(const struct nat44 *n, struct el_packet *packet)
{
	uint8_t protocol, *icmp, *inner, *at;
	uint32_t l4 = el_ip4_transport(packet, ICMP_HEADER_BYTES + EL_IP4_BYTES, &protocol);
	uint16_t sum, inner_sum;
	uint32_t value;

	if (!l4 || protocol != PROTOCOL_ICMP)
		return;
	icmp = packet->data + l4;
	inner = icmp + ICMP_HEADER_BYTES;
	if (!is_icmp_error(icmp[0]) || inner[0] >> 4 != 4)
		return;
	at = inner + (n->source ? 16 : 12);
	value = el_read32(at);
	if ((value & n->mask) != n->from)
		return;
	value = n->to | (value & ~n->mask);
	sum = el_read16(icmp + 2);
	inner_sum = el_read16(inner + 10);
	for (int half = 0; half < 2; half++) {
		uint16_t word = (uint16_t)(value >> (half ? 0 : 16)),
			 old = el_read16(at + half * 2);
		uint16_t before = inner_sum;

		inner_sum = el_checksum_replace(inner_sum, old, word);
		sum = el_checksum_replace(sum, old, word);
		sum = el_checksum_replace(sum, before, inner_sum);
		el_write16(at + half * 2, word);
	}
	el_write16(inner + 10, inner_sum);
	el_write16(icmp + 2, sum);
}

static int nat44_process(void *state, struct el_context *ctx, struct el_packet *packet)
{
	const struct nat44 *n = state;
	uint32_t now;

	(void)ctx;
	if (el_ip_parse(packet) != EL_IP_4)
		return 0;
	map_carried(n, packet);
	now = el_read32(packet->data + packet->l3_offset + (n->source ? 12 : 16));
	if ((now & n->mask) == n->from)
		el_ip4_set_address(packet, n->source, n->to | (now & ~n->mask));
	return 0;
}

static const char *const sides[] = { "source", "destination", NULL };

static const struct el_param params[] = {
	[SIDE] = { "side", EL_PARAM_CHOICE, true, 0, 0, 0, sides, 0, "source or destination" },
	[FROM] = { "from", EL_PARAM_PREFIX4, true, 0, 0, 0, NULL, 0, "addresses to map" },
	[TO] = { "to", EL_PARAM_PREFIX4, true, 0, 0, 0, NULL, 0, "prefix of the same length" },
	{ 0 },
};

const struct el_class el_nat44 = {
	.name = "Nat44",
	.version = 1,
	.what = "maps IPv4 addresses of a prefix one to one, without state",
	.may = EL_MAY_WRITE,
	.input = EL_EITHER,
	.output = EL_EITHER,
	.outputs_required = 1,
	.outputs = 1,
	.params = params,
	.state_bytes = sizeof(struct nat44),
	.init = nat44_init,
	.process = nat44_process,
};
