/* SPDX-License-Identifier: BSD-2-Clause */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "user/ipc/announce.h"

/*
 * Header:  version 1, kind 1, records 2, generation 4, part 2, parts 2
 * Record:  type 1, family 1 (4, 6 or 0), system port 2, then by type
 *   PORT       flags 1, zero 1, MAC 6, MTU 4, rate 8
 *   ADDRESS    prefix length 1, flags 1, zero 2, address 4 or 16
 *   NEIGHBOUR  MAC 6, zero 2, address
 *   WANTED     address
 */
#define HEADER_BYTES	 12
#define RECORD_BYTES	 4 /* what all records start with */
#define PORT_BYTES	 (RECORD_BYTES + 20)
#define RECORD_MAX_BYTES (RECORD_BYTES + 24)
#define FLAG_UP		 0x01 /* of PORT */
#define FLAG_PEER	 0x01 /* of ADDRESS */
#define MTU_MIN_BYTES	 68

/* Write at *at and move it on; the caller has checked that there is room. */
static void put(uint8_t **at, const void *value, size_t bytes)
{
	memcpy(*at, value, bytes);
	*at += bytes;
}

static void put8(uint8_t **at, uint8_t value)
{
	put(at, &value, sizeof(value));
}

static void put16(uint8_t **at, uint16_t value)
{
	uint16_t wire = htobe16(value);

	put(at, &wire, sizeof(wire));
}

static void put32(uint8_t **at, uint32_t value)
{
	uint32_t wire = htobe32(value);

	put(at, &wire, sizeof(wire));
}

static void put64(uint8_t **at, uint64_t value)
{
	uint64_t wire = htobe64(value);

	put(at, &wire, sizeof(wire));
}

static void get(const uint8_t **at, void *value, size_t bytes)
{
	memcpy(value, *at, bytes);
	*at += bytes;
}

static uint8_t get8(const uint8_t **at)
{
	return *(*at)++;
}

static uint16_t get16(const uint8_t **at)
{
	uint16_t wire;

	get(at, &wire, sizeof(wire));
	return be16toh(wire);
}

static uint32_t get32(const uint8_t **at)
{
	uint32_t wire;

	get(at, &wire, sizeof(wire));
	return be32toh(wire);
}

static uint64_t get64(const uint8_t **at)
{
	uint64_t wire;

	get(at, &wire, sizeof(wire));
	return be64toh(wire);
}

static size_t addr_bytes(uint8_t family)
{
	return family == AF_INET ? 4 : 16;
}

/* --- Building --- */

void sl_announce_begin(struct sl_announce_part *part, const struct sl_announce_header *header)
{
	uint8_t *at = part->bytes;

	memset(part, 0, sizeof(*part));
	put8(&at, SL_ANNOUNCE_VERSION);
	put8(&at, header->kind);
	put16(&at, 0);
	put32(&at, header->generation);
	put16(&at, header->part);
	put16(&at, header->parts);
	part->len_bytes = HEADER_BYTES;
}

bool sl_announce_add(struct sl_announce_part *part, const struct sl_announce_record *record)
{
	uint8_t encoded[RECORD_MAX_BYTES] = { 0 };
	uint8_t *at = encoded;
	size_t bytes;

	put8(&at, record->type);
	put8(&at, record->type == SL_ANNOUNCE_PORT ? 0 : record->family == AF_INET ? 4 : 6);
	put16(&at, record->system_port);
	switch (record->type) {
	case SL_ANNOUNCE_PORT:
		put8(&at, record->up ? FLAG_UP : 0);
		put8(&at, 0);
		put(&at, record->mac, sizeof(record->mac));
		put32(&at, record->mtu_bytes);
		put64(&at, record->rate_bps);
		break;
	case SL_ANNOUNCE_ADDRESS:
		put8(&at, record->prefix_len);
		put8(&at, record->is_peer ? FLAG_PEER : 0);
		at += 2;
		put(&at, record->addr, addr_bytes(record->family));
		break;
	case SL_ANNOUNCE_NEIGHBOUR:
		put(&at, record->mac, sizeof(record->mac));
		at += 2;
		put(&at, record->addr, addr_bytes(record->family));
		break;
	default:
		put(&at, record->addr, addr_bytes(record->family));
		break;
	}
	bytes = (size_t)(at - encoded);
	if (part->len_bytes + bytes > sizeof(part->bytes))
		return false;
	memcpy(part->bytes + part->len_bytes, encoded, bytes);
	part->len_bytes += bytes;
	part->records++;
	at = part->bytes + 2;
	put16(&at, part->records);
	return true;
}

void sl_announce_set_parts(struct sl_announce_part *part, uint16_t parts)
{
	uint8_t *at = part->bytes + 10;

	put16(&at, parts);
}

/* --- Reading --- */

static bool is_zero(const uint8_t **at, size_t bytes)
{
	uint8_t any = 0;

	while (bytes--)
		any |= get8(at);
	return any == 0;
}

/* Bytes of a record of this type and this family on the wire; 0: there is no such record. */
static size_t record_bytes(uint8_t type, uint8_t wire_family)
{
	size_t addr = wire_family == 4 ? 4 : 16;

	if (type == SL_ANNOUNCE_PORT)
		return wire_family == 0 ? PORT_BYTES : 0;
	if (wire_family != 4 && wire_family != 6)
		return 0;
	switch (type) {
	case SL_ANNOUNCE_ADDRESS:
		return RECORD_BYTES + 4 + addr;
	case SL_ANNOUNCE_NEIGHBOUR:
		return RECORD_BYTES + 8 + addr;
	case SL_ANNOUNCE_WANTED:
		return RECORD_BYTES + addr;
	default:
		return 0;
	}
}

static bool mac_is_unicast(const uint8_t mac[6])
{
	static const uint8_t zero[6];

	return !(mac[0] & 1) && memcmp(mac, zero, sizeof(zero)) != 0;
}

/* Read a record; the caller has checked that all its record_bytes are there. */
static int read_record(const uint8_t **at, struct sl_announce_record *record)
{
	uint8_t flags;

	memset(record, 0, sizeof(*record));
	record->type = get8(at);
	record->family = get8(at) == 4 ? AF_INET : AF_INET6;
	record->system_port = get16(at);
	if (!(record->system_port >> 8) || !(record->system_port & 0xff))
		return -EINVAL;
	switch (record->type) {
	case SL_ANNOUNCE_PORT:
		record->family = 0;
		flags = get8(at);
		if (flags & ~FLAG_UP || !is_zero(at, 1))
			return -EINVAL;
		record->up = flags & FLAG_UP;
		get(at, record->mac, sizeof(record->mac));
		record->mtu_bytes = get32(at);
		record->rate_bps = get64(at);
		return mac_is_unicast(record->mac) && record->mtu_bytes >= MTU_MIN_BYTES &&
				       record->mtu_bytes <= UINT16_MAX
			       ? 0
			       : -EINVAL;
	case SL_ANNOUNCE_ADDRESS:
		record->prefix_len = get8(at);
		flags = get8(at);
		if (flags & ~FLAG_PEER || !is_zero(at, 2) ||
		    record->prefix_len > addr_bytes(record->family) * 8)
			return -EINVAL;
		record->is_peer = flags & FLAG_PEER;
		break;
	case SL_ANNOUNCE_NEIGHBOUR:
		get(at, record->mac, sizeof(record->mac));
		if (!is_zero(at, 2) || !mac_is_unicast(record->mac))
			return -EINVAL;
		break;
	default:
		break;
	}
	get(at, record->addr, addr_bytes(record->family));
	return 0;
}

static int read_header(const uint8_t *bytes, size_t len_bytes, struct sl_announce_header *header,
		       uint16_t *records)
{
	const uint8_t *at = bytes;

	if (len_bytes < HEADER_BYTES || len_bytes > SL_ANNOUNCE_PART_BYTES)
		return -EMSGSIZE;
	if (get8(&at) != SL_ANNOUNCE_VERSION)
		return -EPROTO;
	header->kind = get8(&at);
	*records = get16(&at);
	header->generation = get32(&at);
	header->part = get16(&at);
	header->parts = get16(&at);
	if (header->kind != SL_ANNOUNCE_STATE && header->kind != SL_ANNOUNCE_RESOLVE)
		return -EPROTO;
	if (header->part >= header->parts || header->parts > SL_ANNOUNCE_PARTS_MAX)
		return -EINVAL;
	if (header->kind == SL_ANNOUNCE_RESOLVE && (header->parts != 1 || header->generation))
		return -EINVAL;
	return 0;
}

/* Go over the records once: check them and, if `each` is given, deliver them. */
static int walk(const uint8_t *at, const uint8_t *end, uint16_t records, uint8_t kind,
		uint8_t port_node, void (*each)(void *, const struct sl_announce_record *),
		void *ctx)
{
	struct sl_announce_record record;
	size_t bytes;
	int err;

	while (records--) {
		if (end - at < RECORD_BYTES)
			return -EMSGSIZE;
		bytes = record_bytes(at[0], at[1]);
		if (!bytes || (at[0] == SL_ANNOUNCE_WANTED) != (kind == SL_ANNOUNCE_RESOLVE))
			return -EPROTO;
		if ((size_t)(end - at) < bytes)
			return -EMSGSIZE;
		err = read_record(&at, &record);
		if (err)
			return err;
		if (record.system_port >> 8 != port_node)
			return -EINVAL;
		if (each)
			each(ctx, &record);
	}
	return at == end ? 0 : -EMSGSIZE;
}

int sl_announce_parse(const uint8_t *bytes, size_t len_bytes, uint8_t source_node,
		      uint8_t self_node, struct sl_announce_header *header,
		      void (*each)(void *ctx, const struct sl_announce_record *record), void *ctx)
{
	const uint8_t *end = bytes + len_bytes;
	uint16_t records;
	uint8_t port_node;
	int err = read_header(bytes, len_bytes, header, &records);

	if (err)
		return err;
	port_node = header->kind == SL_ANNOUNCE_STATE ? source_node : self_node;
	err = walk(bytes + HEADER_BYTES, end, records, header->kind, port_node, NULL, NULL);
	if (err)
		return err;
	return walk(bytes + HEADER_BYTES, end, records, header->kind, port_node, each, ctx);
}
