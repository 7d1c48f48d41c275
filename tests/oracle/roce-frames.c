/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Both sides of tests/oracle/test_roce.py: write our RoCEv2 frames into a capture, or judge the
 * frames of a capture.
 *
 *   roce-frames write FILE.pcap     every payload size of a list, IPv4 and IPv6, and notifications
 *   roce-frames judge FILE.pcap     a line for each frame: verdict, payload bytes, PSN, source QPN
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rdma-bridge/transport/roce.h"

static const struct rb_roce_config config = {
	.pkey = RB_ROCE_PKEY_DEFAULT,
	.dscp = 26,
	.ecn = RB_ECN_ECT0,
	.hop_limit = 64,
	.payload_max_bytes = RB_ROCE_PAYLOAD_MAX_BYTES,
};
static const struct rb_roce_end from[2] = {
	{ { 2, 0, 0, 0, 0, 1 }, { [10] = 0xff, 0xff, 10, 9, 0, 1 }, 0x00abcdef, 0x11111111 },
	{ { 2, 0, 0, 0, 0, 1 }, { 0xfd, 9, [15] = 1 }, 0x00abcdef, 0x11111111 },
};
static const struct rb_roce_end to[2] = {
	{ { 2, 0, 0, 0, 0, 2 }, { [10] = 0xff, 0xff, 10, 9, 0, 2 }, 0x00123456, 0xdeadbeef },
	{ { 2, 0, 0, 0, 0, 2 }, { 0xfd, 9, [15] = 2 }, 0x00123456, 0xdeadbeef },
};

struct pcap_header {
	uint32_t magic;
	uint16_t major, minor;
	uint32_t zone, accuracy, snap_bytes, link_type;
};
struct pcap_record {
	uint32_t s, us, bytes, wire_bytes;
};

static void write_record(FILE *f, const uint8_t *frame, uint32_t bytes)
{
	const struct pcap_record record = { .bytes = bytes, .wire_bytes = bytes };

	fwrite(&record, sizeof(record), 1, f);
	fwrite(frame, bytes, 1, f);
}

static int write_frames(FILE *f)
{
	static const uint32_t sizes[] = { 1,	2,    3,    4,	  5,	6,    7,    8,	  38,
					  50,	96,   255,  256,  1023, 1024, 1025, 1448, 2047,
					  2048, 3436, 3447, 3448, 4093, 4094, 4095, 4096 };
	static uint8_t frame[RB_ROCE_FRAME_MAX_BYTES];
	const struct pcap_header header = { 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1 };
	struct rb_roce_path path;
	uint32_t psn = 0xfffff0;

	fwrite(&header, sizeof(header), 1, f);
	for (int family = 0; family < 2; family++) {
		if (rb_roce_path_init(&path, &config, &from[family], &to[family]))
			return -EINVAL;
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			for (uint32_t b = 0; b < sizes[i]; b++)
				frame[path.header_bytes + b] = (uint8_t)(b * 7 + sizes[i]);
			write_record(f, frame, rb_roce_frame(&path, psn++, frame, sizes[i]));
		}
		write_record(f, frame, rb_roce_cnp(&path, to[family].qpn, frame));
	}
	return ferror(f) ? -EIO : 0;
}

static int judge_frames(FILE *f)
{
	static uint8_t frame[65536];
	struct rb_roce_packet packet;
	struct pcap_header header;
	struct pcap_record record;

	if (fread(&header, sizeof(header), 1, f) != 1 || header.magic != 0xa1b2c3d4)
		return -EINVAL;
	while (fread(&record, sizeof(record), 1, f) == 1) {
		enum rb_roce_verdict verdict;
		int family;

		if (record.bytes > sizeof(frame) || fread(frame, record.bytes, 1, f) != 1)
			return -EINVAL;
		family = record.bytes > 13 && frame[12] == 0x86;
		verdict = rb_roce_parse(&config, &to[family], frame, record.bytes, &packet);
		printf("%s %u %u %u\n", rb_roce_verdict_name(verdict), packet.payload_bytes,
		       packet.psn, packet.src_qpn);
	}
	return 0;
}

int main(int argc, char **argv)
{
	int writing = argc == 3 && strcmp(argv[1], "write") == 0;
	FILE *f;
	int err;

	if (argc != 3 || (!writing && strcmp(argv[1], "judge"))) {
		fprintf(stderr, "usage: roce-frames write|judge FILE.pcap\n");
		return 2;
	}
	f = fopen(argv[2], writing ? "wb" : "rb");
	if (!f) {
		perror(argv[2]);
		return 1;
	}
	err = writing ? write_frames(f) : judge_frames(f);
	if (fclose(f) && !err)
		err = -errno;
	if (err)
		fprintf(stderr, "roce-frames: %s: %s\n", argv[2], strerror(-err));
	return err ? 1 : 0;
}
