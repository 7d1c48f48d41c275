/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames of chains: header, tags and checksums, against sums over plain bytes. */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "elements/worker/chain_frame.h"

#define AREA_BYTES 2048u

static uint8_t area[AREA_BYTES];
static struct el_packet packets[1];
static struct el_pool pool;

/* One's complement sum by RFC 1071, in 16-bit words of network order; to check, not to compute. */
static uint32_t sum_of(const uint8_t *bytes, uint32_t n, uint32_t sum)
{
	for (uint32_t i = 0; i < n; i++)
		sum += (uint32_t)bytes[i] << (i & 1 ? 0 : 8);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

/* UDP over IPv4 of n payload bytes, with its checksum left to the device, behind so many tags. */
static struct el_packet *make(uint32_t tags, uint32_t n, bool partial, uint8_t protocol)
{
	struct el_packet *packet;
	uint8_t pseudo[12], *at;
	uint32_t l4_bytes = (protocol == 6 ? 20 : 8) + n, field = protocol == 6 ? 16 : 6, sum;

	el_pool_init(&pool, area, packets, 1, AREA_BYTES, 64);
	packet = el_pool_take(&pool);
	at = packet->data;
	memset(at, 0, AREA_BYTES - 64);
	at[12] = 0x88;
	at[13] = 0xb5;
	at[14] = partial;
	memcpy(at + 16, "video", 5);
	at += sizeof(struct sl_chain_header);
	memcpy(at, "\1\2\3\4\5\6\7\10\11\12\13\14", 12);
	at += 12;
	for (uint32_t i = 0; i < tags; i++, at += 4)
		memcpy(at, "\x81\x00\x00\x07", 4);
	memcpy(at, "\x08\x00", 2);
	at += 2;
	at[0] = 0x45;
	at[2] = (uint8_t)((20 + l4_bytes) >> 8);
	at[3] = (uint8_t)(20 + l4_bytes);
	at[8] = 64;
	at[9] = protocol;
	memcpy(at + 12, "\x0a\x00\x00\x01\x0a\x00\x00\x02", 8);
	memcpy(pseudo, at + 12, 8);
	pseudo[8] = 0;
	pseudo[9] = protocol;
	pseudo[10] = (uint8_t)(l4_bytes >> 8);
	pseudo[11] = (uint8_t)l4_bytes;
	at += 20;
	for (uint32_t i = 0; i < n; i++)
		at[l4_bytes - n + i] = (uint8_t)(i * 37 + n);
	at[1] = 9;
	sum = sum_of(pseudo, sizeof(pseudo), 0);
	at[field] = (uint8_t)(sum >> 8);
	at[field + 1] = (uint8_t)sum;
	packet->len_bytes = (uint32_t)(at - packet->data) + l4_bytes;
	return packet;
}

/* Does the transport's checksum hold? */
static bool holds(const struct el_packet *packet, uint8_t protocol)
{
	const uint8_t *ip = packet->data + 14;
	uint32_t l4_bytes = packet->len_bytes - 34;
	uint8_t pseudo[4] = { 0, protocol, (uint8_t)(l4_bytes >> 8), (uint8_t)l4_bytes };

	return sum_of(ip + 20, l4_bytes, sum_of(pseudo, 4, sum_of(ip + 12, 8, 0))) == 0xffff;
}

static void header_and_tags_go_and_the_checksum_is_completed(void **state)
{
	static const uint8_t protocols[] = { 6, 17 };

	(void)state;
	for (uint32_t tags = 0; tags < 3; tags++)
		for (uint32_t n = 0; n < 300; n++)
			for (int p = 0; p < 2; p++) {
				struct el_packet *packet = make(tags, n, true, protocols[p]);
				char name[SL_CHAIN_NAME_BYTES];

				assert_int_equal(el_chain_frame_open(packet, name), 0);
				assert_string_equal(name, "video");
				assert_int_equal(packet->len_bytes,
						 34 + (protocols[p] == 6 ? 20 : 8) + n);
				assert_memory_equal(packet->data,
						    "\1\2\3\4\5\6\7\10\11\12\13\14\x08\x00", 14);
				assert_true(holds(packet, protocols[p]));
			}
}

static void whole_checksums_stay(void **state)
{
	struct el_packet *packet = make(0, 50, false, 17);
	char name[SL_CHAIN_NAME_BYTES];
	uint8_t before[2];

	(void)state;
	memcpy(before, packet->data + sizeof(struct sl_chain_header) + 40, 2);
	assert_int_equal(el_chain_frame_open(packet, name), 0);
	assert_memory_equal(packet->data + 40, before, 2);
	assert_false(holds(packet, 17));
	/* marked as perhaps partial, but not the sum of the pseudo-header */
	packet = make(0, 50, true, 17);
	packet->data[sizeof(struct sl_chain_header) + 40] ^= 1;
	memcpy(before, packet->data + sizeof(struct sl_chain_header) + 40, 2);
	assert_int_equal(el_chain_frame_open(packet, name), 0);
	assert_memory_equal(packet->data + 40, before, 2);
}

static void other_frames_are_refused(void **state)
{
	char name[SL_CHAIN_NAME_BYTES];
	struct el_packet *packet;

	(void)state;
	for (uint32_t len = 0; len < sizeof(struct sl_chain_header) + 34; len++) {
		packet = make(0, 50, true, 17);
		packet->len_bytes = len;
		assert_int_equal(el_chain_frame_open(packet, name), -EPROTO);
	}
	packet = make(0, 50, true, 17);
	packet->data[13] = 0;
	assert_int_equal(el_chain_frame_open(packet, name), -EPROTO);
	packet = make(0, 50, true, 17);
	memset(packet->data + 16, 'x', SL_CHAIN_NAME_BYTES);
	assert_int_equal(el_chain_frame_open(packet, name), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(header_and_tags_go_and_the_checksum_is_completed),
		cmocka_unit_test(whole_checksums_stay),
		cmocka_unit_test(other_frames_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
