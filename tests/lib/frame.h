/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ethernet frames for tests, built from a description. A field that is 0 takes its default, so that
 * a test names only what it is about. Checksums are computed over the finished header, never
 * updated: what a forwarder is expected to send is described and built anew, not derived from what
 * it got.
 */
#ifndef TEST_FRAME_H
#define TEST_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#define FRAME_MAX_BYTES 9300
#define FRAME_TAGS_MAX	3
#define FRAME_PATCHES	6
#define FRAME_EMPTY	(-1) /* payload_bytes: none at all */

#define FRAME_DST_MAC 0x02000000000bULL /* defaults; 48 bits as they are written */
#define FRAME_SRC_MAC 0x0200000000c1ULL

struct frame_tag {
	uint16_t tpid; /* 0: no further tag */
	uint16_t tci;
};

/* Byte `at` of the IP packet becomes `to`, before the checksum is computed. Ends at {0, 0}. */
struct frame_patch {
	uint16_t at;
	uint8_t to;
};

struct frame {
	bool ip6;
	uint64_t dst_mac, src_mac;
	struct frame_tag tag[FRAME_TAGS_MAX];
	uint16_t ethertype;    /* IPv4 or IPv6 */
	const char *src, *dst; /* 10.1.0.2 to 10.2.0.2, or 2001:db8:1::2 to 2001:db8:2::2 */
	uint8_t ttl;	       /* 64 */
	uint8_t tos;	       /* or traffic class */
	uint8_t protocol;      /* UDP; or the first next header */
	uint16_t id;	       /* IPv4 identification */
	uint16_t fragment;     /* IPv4 flags and offset */
	uint32_t flow_label;
	uint16_t sport, dport;	/* the first four bytes of the payload; 1234, 4321 */
	int32_t payload_bytes;	/* behind the 20 or 40 bytes of header; 26, or FRAME_EMPTY */
	uint32_t padding_bytes; /* behind the IP packet */
	struct frame_patch patch[FRAME_PATCHES];
	uint16_t checksum_error; /* added to the right checksum */
	uint32_t cut_bytes;	 /* the frame ends after so many bytes; 0: it is whole */
};

/* Build into `out`, of FRAME_MAX_BYTES. Returns the length. Aborts on an address that is none. */
uint32_t frame_build(const struct frame *frame, uint8_t *out);

/* Where the IP header begins. */
uint32_t frame_l3_offset(const struct frame *frame);

#endif
