/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as a captured frame of any link type. No input may make the parser read outside it, and
 * what a router changes must not change the identity: TTL, TOS and checksum of IPv4, traffic class
 * and hop limit of IPv6, bytes behind the packet.
 */
#include <stdlib.h>
#include <string.h>

#include "delay/capture/identity.h"

static const int types[] = { 0, 1, 9, 12, 50, 101, 104, 108, 113, 228, 229, 276 };

static void check_again(const struct sl_link_type *type, uint8_t *frame, uint32_t bytes,
			const struct sl_identity *first, bool no_checksums)
{
	struct sl_identity again;

	if (sl_identify(type, frame, bytes, no_checksums, &again) != SL_IDENTITY_OK ||
	    memcmp(again.id, first->id, sizeof(again.id)) != 0 || again.ip_bytes != first->ip_bytes)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct sl_link_type *type;
	struct sl_identity identity;
	bool no_checksums;
	uint8_t *frame; /* of its very size, so that ASan sees each byte beyond */

	if (size < 1)
		return 0;
	type = sl_link_type_find(types[data[0] % (sizeof(types) / sizeof(types[0]))]);
	no_checksums = data[0] >> 7;
	size--;
	frame = malloc(size + 1);
	if (!type || !frame)
		abort();
	frame[size] = data[0];
	if (size)
		memcpy(frame, data + 1, size);
	frame = realloc(frame, size ? size : 1);
	if (sl_identify(type, frame, (uint32_t)size, no_checksums, &identity) == SL_IDENTITY_OK) {
		const bool raw = type->number == 101;

		if (identity.ip_bytes < 20)
			abort();
		if (raw && frame[0] >> 4 == 4) {
			frame[1] ^= 0xff;
			frame[8] ^= 0xff;
			frame[10] ^= 0xff;
			frame[11] ^= 0xff;
		} else if (raw) {
			frame[0] ^= 0x0f;
			frame[1] ^= 0xf0;
			frame[7] ^= 0xff;
		}
		check_again(type, frame, (uint32_t)size, &identity, no_checksums);
		frame = realloc(frame, size + 4);
		memset(frame + size, 0x5a, 4);
		if (raw && size >= identity.ip_bytes)
			check_again(type, frame, (uint32_t)size + 4, &identity, no_checksums);
	}
	free(frame);
	return 0;
}
