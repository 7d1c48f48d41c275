/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Copies of packets, as sluiced gets them from XDP through the perf ring of sl_copies: this header,
 * and behind it the frame as it entered, or the first SL_COPY_BYTES_MAX bytes of it.
 */
#ifndef SL_COPY_H
#define SL_COPY_H

#include <linux/types.h>

#include "bpf/abi/abi.h"

#define SL_COPY_BYTES_MAX 9216 /* a jumbo frame; a record of a perf ring has at most 64 KiB */

enum sl_copy_kind {
	SL_COPY_MIRROR, /* for the netdev that the rule names */
	SL_COPY_REJECT, /* denied: the sender gets an ICMP error, port unreachable */
	SL_COPY_RESET,	/* denied: the sender gets a TCP reset */
};

struct sl_copy {
	__u32 kind;	   /* enum sl_copy_kind */
	__u32 number;	   /* of the rule */
	__u32 l3_ifindex;  /* the interface that the packet entered by */
	__u32 l3_offset;   /* of the IP header in the frame */
	__u32 frame_bytes; /* of the whole frame */
	__u32 copied_bytes;
};
SL_ASSERT_SIZE(struct sl_copy, 24);

#endif
