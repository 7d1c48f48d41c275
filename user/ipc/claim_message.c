/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/ipc/claim_message.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

/*
 * Header:  as that of announce.c: version 1, kind 1, records 2, zero 4, part 0 2, parts 1 2
 * Record:  type 1, IP version 1, system port 2, protocol 1, verdict 1, zero 2, source port 2,
 *          destination port 2, zero 4, rate 8, limit 8, reserved 8, source 16, destination 16
 */
#define HEADER_BYTES 12
#define RECORD_BYTES 72
#define RECORD_TYPE  5 /* beside enum sl_announce_type */
#define AT_ZEROS     12
#define AT_RATE	     16
#define AT_ADDRESSES 40

static void put16(uint8_t *at, uint16_t value)
{
	value = htobe16(value);
	memcpy(at, &value, sizeof(value));
}

static void put64(uint8_t *at, uint64_t value)
{
	value = htobe64(value);
	memcpy(at, &value, sizeof(value));
}

static uint16_t get16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return be16toh(value);
}

static uint64_t get64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return be64toh(value);
}

void sl_claim_begin(struct sl_announce_part *part, enum sl_claim_kind kind)
{
	memset(part, 0, sizeof(*part));
	part->bytes[0] = SL_ANNOUNCE_VERSION;
	part->bytes[1] = (uint8_t)kind;
	put16(part->bytes + 10, 1);
	part->len_bytes = HEADER_BYTES;
}

bool sl_claim_add(struct sl_announce_part *part, const struct sl_claim_record *record)
{
	uint8_t *at = part->bytes + part->len_bytes;

	if (part->len_bytes + RECORD_BYTES > sizeof(part->bytes))
		return false;
	at[0] = RECORD_TYPE;
	at[1] = record->flow.version;
	put16(at + 2, record->system_port);
	at[4] = record->flow.protocol;
	at[5] = record->verdict;
	memcpy(at + 8, &record->flow.source_port, 2);
	memcpy(at + 10, &record->flow.destination_port, 2);
	put64(at + AT_RATE, record->rate_Bps);
	put64(at + AT_RATE + 8, record->limit_Bps);
	put64(at + AT_RATE + 16, record->reserved_Bps);
	memcpy(at + AT_ADDRESSES, record->flow.source, 16);
	memcpy(at + AT_ADDRESSES + 16, record->flow.destination, 16);
	part->len_bytes += RECORD_BYTES;
	part->records++;
	put16(part->bytes + 2, part->records);
	return true;
}

bool sl_claim_is(const uint8_t *bytes, size_t len_bytes)
{
	return len_bytes >= HEADER_BYTES && bytes[0] == SL_ANNOUNCE_VERSION &&
	       (bytes[1] == SL_CLAIM_ASK || bytes[1] == SL_CLAIM_ANSWER);
}

static bool is_zero(const uint8_t *at, size_t bytes)
{
	uint8_t any = 0;

	while (bytes--)
		any |= *at++;
	return any == 0;
}

/* An IPv4 address has its four bytes first, and zeros. */
static bool address_is_valid(const uint8_t *at, uint8_t version)
{
	return version == 6 || is_zero(at + 4, 12);
}

static int read_record(const uint8_t *at, enum sl_claim_kind kind, struct sl_claim_record *record)
{
	const bool answer = kind == SL_CLAIM_ANSWER;

	*record = (struct sl_claim_record){ .flow = { .version = at[1], .protocol = at[4] },
					    .system_port = get16(at + 2),
					    .verdict = at[5],
					    .rate_Bps = get64(at + AT_RATE),
					    .limit_Bps = get64(at + AT_RATE + 8),
					    .reserved_Bps = get64(at + AT_RATE + 16) };
	if (at[0] != RECORD_TYPE)
		return -EPROTO;
	memcpy(&record->flow.source_port, at + 8, 2);
	memcpy(&record->flow.destination_port, at + 10, 2);
	memcpy(record->flow.source, at + AT_ADDRESSES, 16);
	memcpy(record->flow.destination, at + AT_ADDRESSES + 16, 16);
	return (at[1] == 4 || at[1] == 6) && record->system_port & 0xff && is_zero(at + 6, 2) &&
			       is_zero(at + AT_ZEROS, 4) &&
			       address_is_valid(at + AT_ADDRESSES, at[1]) &&
			       address_is_valid(at + AT_ADDRESSES + 16, at[1]) &&
			       answer == (record->verdict != SL_CLAIM_NONE) &&
			       record->verdict < SL_CLAIM_VERDICTS
		       ? 0
		       : -EINVAL;
}

int sl_claim_parse(const uint8_t *bytes, size_t len_bytes, uint8_t source_node, uint8_t self_node,
		   enum sl_claim_kind *kind,
		   void (*each)(void *ctx, enum sl_claim_kind kind,
				const struct sl_claim_record *record),
		   void *ctx)
{
	uint8_t port_node;
	uint16_t records;
	int err;

	if (!sl_claim_is(bytes, len_bytes))
		return -EPROTO;
	*kind = bytes[1];
	port_node = *kind == SL_CLAIM_ASK ? self_node : source_node;
	records = get16(bytes + 2);
	if (len_bytes > SL_ANNOUNCE_PART_BYTES ||
	    len_bytes != HEADER_BYTES + (size_t)records * RECORD_BYTES)
		return -EMSGSIZE;
	if (!is_zero(bytes + 4, 6) || get16(bytes + 10) != 1)
		return -EINVAL;
	for (int deliver = 0; deliver < 2; deliver++)
		for (uint16_t i = 0; i < records; i++) {
			struct sl_claim_record record;

			err = read_record(bytes + HEADER_BYTES + i * RECORD_BYTES, *kind, &record);
			if (!err && record.system_port >> 8 != port_node)
				err = -EINVAL;
			if (err)
				return err;
			if (deliver && each)
				each(ctx, *kind, &record);
		}
	return 0;
}
