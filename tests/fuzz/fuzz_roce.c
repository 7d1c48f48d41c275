/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as a frame on the fabric. The ICRC check would refuse nearly every input, so each input
 * is tried as it is, and once more with the right ICRC and IPv4 checksum.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "rdma-bridge/transport/roce.h"

static const struct rb_roce_config config = {
	.pkey = 0xffff,
	.ecn = RB_ECN_ECT0,
	.hop_limit = 64,
	.payload_max_bytes = 1024,
};
static const struct rb_roce_end us4 = { .ip = { [10] = 0xff, 0xff, 10, 9, 0, 2 },
					.qpn = 0x222222,
					.qkey = 7 };
static const struct rb_roce_end us6 = { .ip = { 0xfd, [15] = 2 }, .qpn = 0x222222, .qkey = 7 };

static void check(const uint8_t *frame, uint32_t bytes)
{
	const struct rb_roce_end *ends[] = { &us4, &us6 };
	struct rb_roce_packet p;

	for (int i = 0; i < 2; i++)
		if (rb_roce_parse(&config, ends[i], frame, bytes, &p) == RB_ROCE_SEND &&
		    (p.payload < frame || p.payload + p.payload_bytes > frame + bytes ||
		     p.payload_bytes > config.payload_max_bytes))
			abort();
}

static void seal4(uint8_t *frame)
{
	uint32_t bytes = (uint32_t)(frame[16] << 8 | frame[17]), sum = 0, crc;
	uint8_t masked[8 + 65536];
	uint8_t *m = masked + 8;

	frame[24] = frame[25] = 0;
	for (int i = 14; i < 34; i += 2)
		sum += (uint32_t)(frame[i] << 8 | frame[i + 1]);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~((sum & 0xffff) + (sum >> 16));
	frame[24] = (uint8_t)(sum >> 8);
	frame[25] = (uint8_t)sum;
	memset(masked, 0xff, 8);
	memcpy(m, frame + 14, bytes - 4);
	m[1] = m[8] = m[10] = m[11] = m[26] = m[27] = m[32] = 0xff;
	crc = (uint32_t)crc32(0, masked, bytes + 4);
	for (uint32_t i = 0; i < 4; i++)
		frame[14 + bytes - 4 + i] = (uint8_t)(crc >> 8 * i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *frame;

	if (size > RB_ROCE_FRAME_MAX_BYTES)
		return 0;
	check(data, (uint32_t)size);
	if (size < 58 || (size_t)(data[16] << 8 | data[17]) + 14 > size ||
	    (data[16] << 8 | data[17]) < 44)
		return 0;
	frame = malloc(size);
	memcpy(frame, data, size);
	seal4(frame);
	check(frame, (uint32_t)size);
	free(frame);
	return 0;
}
