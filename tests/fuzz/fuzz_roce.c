/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as a frame on the fabric. The ICRC check would refuse nearly every input, so each input
 * is tried as it is, and once more with the right ICRC and IPv4 checksum. The mutator begins with
 * good frames of both families.
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

/*
 * The ICRC of an IP packet of so many bytes, into its last four. It covers eight bytes of ones,
 * then the packet with ones in the fields that routers change (IBA annex A17.3.2): of IPv4, of
 * IPv6, and of both.
 */
static void seal(uint8_t *ip, uint32_t bytes)
{
	static const uint8_t masked4[] = { 1, 8, 10, 11, 26, 27, 32 },
			     masked6[] = { 1, 2, 3, 7, 46, 47, 52 };
	const bool v6 = ip[0] >> 4 == 6;
	uint8_t masked[8 + 65536 + 40];
	uint8_t *m = masked + 8;
	uint32_t crc;

	memset(masked, 0xff, 8);
	memcpy(m, ip, bytes - 4);
	for (size_t i = 0; i < sizeof(masked4); i++)
		m[v6 ? masked6[i] : masked4[i]] = 0xff;
	if (v6)
		m[0] |= 0x0f;
	crc = (uint32_t)crc32(0, masked, bytes + 4);
	for (uint32_t i = 0; i < 4; i++)
		ip[bytes - 4 + i] = (uint8_t)(crc >> 8 * i);
}

static void checksum4(uint8_t *ip)
{
	uint32_t sum = 0;

	ip[10] = ip[11] = 0;
	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)(ip[i] << 8 | ip[i + 1]);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~((sum & 0xffff) + (sum >> 16));
	ip[10] = (uint8_t)(sum >> 8);
	ip[11] = (uint8_t)sum;
}

/* The length of the IP packet in the frame, if it is in the frame and has room for all headers. */
static uint32_t packet_bytes(const uint8_t *frame, size_t size)
{
	const uint8_t *ip = frame + 14;
	uint32_t bytes, least;

	if (size < 14 + 44)
		return 0;
	if (frame[12] == 0x86 && frame[13] == 0xdd) {
		bytes = 40 + (uint32_t)(ip[4] << 8 | ip[5]);
		least = 64;
	} else {
		bytes = (uint32_t)(ip[2] << 8 | ip[3]);
		least = 44;
	}
	return bytes >= least && 14 + (size_t)bytes <= size ? bytes : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t bytes;
	uint8_t *frame;

	if (size > RB_ROCE_FRAME_MAX_BYTES)
		return 0;
	check(data, (uint32_t)size);
	bytes = packet_bytes(data, size);
	if (!bytes)
		return 0;
	frame = malloc(size);
	memcpy(frame, data, size);
	if (frame[14] >> 4 == 4)
		checksum4(frame + 14);
	seal(frame + 14, bytes);
	check(frame, (uint32_t)size);
	free(frame);
	return 0;
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t size_max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned int seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned int seed)
{
	static const struct rb_roce_end them4 = { .ip = { [10] = 0xff, 0xff, 10, 9, 0, 1 },
						  .qpn = 0x111111 };
	static const struct rb_roce_end them6 = { .ip = { 0xfd, [15] = 1 }, .qpn = 0x111111 };
	struct rb_roce_path path;

	if (seed % 8 == 7)
		return seed / 8 % (size + 1); /* cut anywhere */
	if (size > 1 || size_max < 2048)
		return LLVMFuzzerMutate(data, size, size_max);
	memset(data, 0, 2048);
	if (rb_roce_path_init(&path, &config, seed & 1 ? &them4 : &them6, seed & 1 ? &us4 : &us6))
		abort();
	return seed & 2 ? rb_roce_frame(&path, seed, data, 1 + seed / 4 % 1400)
			: rb_roce_cnp(&path, us4.qpn, data);
}
