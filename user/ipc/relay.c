/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/ipc/relay.h"

/*
 * version 1, kind 1, node 1, flags 1, then by kind
 *   SEND, RECEIVED  the part
 *   PORT            system port 2
 *   FLOW            system port 2, weight 2, flow 40
 *   PEER            epoch 4, MTU 4
 */
#define FLAG_UP	  0x01
#define FLAG_GONE 0x02

#define FLOW_BYTES (2 + 2 + sizeof(struct sl_flow_key))
#define WEIGHT_MAX 1024

#define MTU_MIN_BYTES 68 /* of IPv4: RFC 791 */

static bool has_part(uint8_t kind)
{
	return kind == SL_RELAY_SEND || kind == SL_RELAY_RECEIVED;
}

static bool valid(const struct sl_relay_message *m)
{
	switch (m->kind) {
	case SL_RELAY_SEND:
		return true;
	case SL_RELAY_PORT:
		return m->system_port >> 8 && m->system_port & 0xff && !(m->up && m->gone);
	case SL_RELAY_FLOW:
		return m->system_port >> 8 && m->system_port & 0xff && m->weight <= WEIGHT_MAX &&
		       m->gone == !m->weight && (m->flow.version == 4 || m->flow.version == 6);
	case SL_RELAY_PEER:
		return m->node && m->up == (m->epoch != 0) &&
		       (m->up ? m->mtu_bytes >= MTU_MIN_BYTES : !m->mtu_bytes);
	default:
		return m->node;
	}
}

size_t sl_relay_encode(const struct sl_relay_message *m, uint8_t bytes[SL_RELAY_MAX_BYTES])
{
	size_t len = SL_RELAY_HEADER_BYTES;

	if (m->kind < SL_RELAY_SEND || m->kind > SL_RELAY_FLOW || !valid(m))
		return 0;
	bytes[0] = SL_RELAY_VERSION;
	bytes[1] = m->kind;
	bytes[2] = m->kind == SL_RELAY_PORT || m->kind == SL_RELAY_FLOW ? 0 : m->node;
	bytes[3] = 0;
	if (has_part(m->kind)) {
		if (!m->part_bytes || m->part_bytes > SL_ANNOUNCE_PART_BYTES)
			return 0;
		memcpy(bytes + len, m->part, m->part_bytes);
		return len + m->part_bytes;
	}
	bytes[3] = (uint8_t)((m->up ? FLAG_UP : 0) | (m->gone ? FLAG_GONE : 0));
	if (m->kind == SL_RELAY_PORT) {
		memcpy(bytes + len, &m->system_port, sizeof(m->system_port));
		return len + sizeof(m->system_port);
	}
	if (m->kind == SL_RELAY_FLOW) {
		memcpy(bytes + len, &m->system_port, 2);
		memcpy(bytes + len + 2, &m->weight, 2);
		memcpy(bytes + len + 4, &m->flow, sizeof(m->flow));
		return len + FLOW_BYTES;
	}
	memcpy(bytes + len, &m->epoch, sizeof(m->epoch));
	memcpy(bytes + len + sizeof(m->epoch), &m->mtu_bytes, sizeof(m->mtu_bytes));
	return len + sizeof(m->epoch) + sizeof(m->mtu_bytes);
}

int sl_relay_parse(const uint8_t *bytes, size_t len_bytes, struct sl_relay_message *m)
{
	const uint8_t *body = bytes + SL_RELAY_HEADER_BYTES;
	uint8_t flags;
	size_t body_bytes;

	memset(m, 0, sizeof(*m));
	if (len_bytes < SL_RELAY_HEADER_BYTES)
		return -EMSGSIZE;
	body_bytes = len_bytes - SL_RELAY_HEADER_BYTES;
	if (bytes[0] != SL_RELAY_VERSION)
		return -EPROTO;
	m->kind = bytes[1];
	m->node = bytes[2];
	flags = bytes[3];
	m->up = flags & FLAG_UP;
	m->gone = flags & FLAG_GONE;
	switch (m->kind) {
	case SL_RELAY_SEND:
	case SL_RELAY_RECEIVED:
		if (!body_bytes || body_bytes > SL_ANNOUNCE_PART_BYTES)
			return -EMSGSIZE;
		m->part = body;
		m->part_bytes = body_bytes;
		return !flags && valid(m) ? 0 : -EINVAL;
	case SL_RELAY_PORT:
		if (body_bytes != sizeof(m->system_port))
			return -EMSGSIZE;
		memcpy(&m->system_port, body, sizeof(m->system_port));
		return !(flags & ~(FLAG_UP | FLAG_GONE)) && !m->node && valid(m) ? 0 : -EINVAL;
	case SL_RELAY_FLOW:
		if (body_bytes != FLOW_BYTES)
			return -EMSGSIZE;
		memcpy(&m->system_port, body, 2);
		memcpy(&m->weight, body + 2, 2);
		memcpy(&m->flow, body + 4, sizeof(m->flow));
		return !(flags & ~FLAG_GONE) && !m->node && valid(m) ? 0 : -EINVAL;
	case SL_RELAY_PEER:
		if (body_bytes != sizeof(m->epoch) + sizeof(m->mtu_bytes))
			return -EMSGSIZE;
		memcpy(&m->epoch, body, sizeof(m->epoch));
		memcpy(&m->mtu_bytes, body + sizeof(m->epoch), sizeof(m->mtu_bytes));
		return !(flags & ~FLAG_UP) && valid(m) ? 0 : -EINVAL;
	default:
		return -EPROTO;
	}
}

void sl_relay_tap_name(uint16_t system_port, char name[IF_NAMESIZE])
{
	snprintf(name, IF_NAMESIZE, "n%up%u", system_port >> 8, system_port & 0xff);
}
