/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A slot holds one frame to be sent. The bridge writes slots, then runs the live-frames injector
 * once for each.
 */
#ifndef SL_INJECT_H
#define SL_INJECT_H

#include <linux/types.h>

#define SL_INJECT_SLOTS		  1024 /* a power of two */
#define SL_INJECT_FRAME_MAX_BYTES 3398 /* what a page of a test run holds */
/*
 * Room for the frame. With the fields before it a slot is 55 cache lines: an odd number, so that
 * the slots' first lines spread over the whole cache.
 */
#define SL_INJECT_ROOM_BYTES 3512

struct sl_inject_slot {
	__u32 ifindex;	 /* of the netdev that sends it */
	__u32 len_bytes; /* 14..SL_INJECT_FRAME_MAX_BYTES */
	__u8 frame[SL_INJECT_ROOM_BYTES];
};

_Static_assert(sizeof(struct sl_inject_slot) == 55 * 64, "slots have no gaps");

#endif
