/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The headers of a data message of one frame, behind those of RoCE (docs/PROTOCOL.md, section 1),
 * and the sum that protects an express message. User space has the same in wire/ and
 * transport/roce; tests hold both to the same bytes.
 */
#ifndef SL_MESSAGE_BPF_H
#define SL_MESSAGE_BPF_H

#include <linux/bpf.h>
#include <linux/udp.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>

#include "bpf/lib/internet_checksum.bpf.h"
#include "bpf/lib/endian.bpf.h"

#define SL_MESSAGE_VERSION   1
#define SL_MESSAGE_DATA	     1
#define SL_ROCE_UD_SEND_ONLY 0x64
#define SL_ROCE_ICRC_BYTES   4

/* The base transport header of RoCE. */
struct sl_bth {
	__u8 opcode, flags; /* flags: bits 4 and 5 are the pad count */
	__be16 pkey;
	__be32 qpn; /* low 24 bits */
	__be32 psn; /* low 24 bits */
};

struct sl_deth {
	__be32 qkey;
	__be32 source_qpn; /* low 24 bits */
};

struct sl_message {
	__u8 version, type;
	__be16 length; /* of the message, this header included */
	__u8 source, destination, stream, count;
	__be32 epoch;
	__be32 sequence;
	__be32 sent_ns[2]; /* high half first */
	/* the record of the only frame */
	__be16 frame_length;
	__be16 system_port;
	__be16 ingress_port;
	__u8 class, flags;
	__be32 age_ns;
};
_Static_assert(sizeof(struct sl_message) == 36, "header and record");

/* What stands between the IP header and the frame. */
struct sl_message_headers {
	struct udphdr udp;
	struct sl_bth bth;
	struct sl_deth deth;
	struct sl_message message;
};
_Static_assert(sizeof(struct sl_message_headers) == 64, "a sum of 16 words");

/* The sum of the headers and, without length, of the pseudo header before them. */
static __always_inline __u64 sl_headers_sum(const struct sl_message_headers *headers,
					    __u32 pseudo_sum)
{
	typedef __u32 __attribute__((may_alias)) word;
	const word *words = (const void *)headers;
	__u64 sum = pseudo_sum + (__u64)(SL_FORCE __u16)headers->udp.len;
	__u32 i;

#pragma unroll
	for (i = 0; i < sizeof(*headers) / sizeof(__u32); i++)
		sum += words[i];
	return sum;
}

#define SL_SUM_PIECE_BYTES 512 /* older kernels sum no more at once */
#define SL_SUM_PIECES	   7
#define SL_ADD_PIECE(bytes)                                                      \
	if (at + (bytes) <= end) {                                               \
		sum = bpf_csum_diff(NULL, 0, at, (bytes), (SL_FORCE __wsum)sum); \
		at += (bytes);                                                   \
	}

/*
 * The sum of what lies from `at` to `end`: a multiple of 4 bytes, below 4 KiB. The kernel sums
 * pieces of constant size.
 */
static __always_inline __u32 sl_payload_sum(void *at, void *end)
{
	__u32 i, sum = 0;

	for (i = 0; i < SL_SUM_PIECES && at + SL_SUM_PIECE_BYTES <= end; i++) {
		sum = bpf_csum_diff(NULL, 0, at, SL_SUM_PIECE_BYTES, (SL_FORCE __wsum)sum);
		at += SL_SUM_PIECE_BYTES;
	}
	SL_ADD_PIECE(256);
	SL_ADD_PIECE(128);
	SL_ADD_PIECE(64);
	SL_ADD_PIECE(32);
	SL_ADD_PIECE(16);
	SL_ADD_PIECE(8);
	SL_ADD_PIECE(4);
	return sum;
}

#endif
