/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packing: many frames into one message for one node (thesis, section 2.3.3). A pack collects
 * frames without touching their bytes, and then makes the message as a gather list (one piece for
 * the headers, one for each frame where it lies) or as one copy. It never splits a frame, and never
 * waits for more frames. Pure. `area` is packet memory, in which the frames lie.
 *
 * All frame headers stand before all frames, so a gather list has one piece more than frames.
 */
#ifndef RB_PACK_H
#define RB_PACK_H

#include <stdint.h>

#include "rdma-bridge/wire/wire.h"

/* A piece of a message in memory. */
struct rb_piece {
	const uint8_t *data; /* borrowed */
	uint32_t len_bytes;
};

/* The most bytes rb_pack_headers writes. */
#define RB_PACK_HEADERS_MAX_BYTES (RB_MSG_HEADER_BYTES + RB_RECORDS_MAX * RB_FRAME_HEADER_BYTES)

struct rb_pack {
	uint32_t limit_bytes; /* most bytes of a message */
	uint32_t degree;      /* most frames in a message: the packing degree */
	uint32_t bytes;	      /* of the message as it stands */
	uint32_t count;	      /* frames in it */
	uint64_t newest_ns;   /* when the last one of them entered; if there is one */
	struct rb_frame frame[RB_RECORDS_MAX];
};

/*
 * limit_bytes  from RB_MSG_OVERHEAD_BYTES + RB_FRAME_MIN_BYTES to RB_MSG_MAX_BYTES
 * degree       1..RB_RECORDS_MAX
 * Returns 0, or -EINVAL for a value out of its range.
 */
int rb_pack_init(struct rb_pack *pack, uint32_t limit_bytes, uint32_t degree);

/* Forget the frames. */
void rb_pack_reset(struct rb_pack *pack);

/*
 * Add a frame. Returns 0, -ENOSPC (the frame fits only an empty message), or -EMSGSIZE (it fits no
 * message of this size).
 */
int rb_pack_add(struct rb_pack *pack, const struct rb_frame *frame);

/*
 * Write the message header and the frame headers. Count and length come from the pack, the other
 * fields from `header`; but no message was made before its frames entered, which some may have done
 * after the caller last looked at its clock, so sent_ns moves on to the newest one. out has room
 * for RB_PACK_HEADERS_MAX_BYTES. Returns the bytes written.
 */
uint32_t rb_pack_headers(const struct rb_pack *pack, struct rb_msg_header *header, uint8_t *out);

/*
 * Make a gather list of the message: `headers` (which rb_pack_headers wrote), then each frame. out
 * has room for count + 1 pieces. Returns the number of pieces written.
 */
uint32_t rb_pack_gather(const struct rb_pack *pack, const uint8_t *area, const uint8_t *headers,
			uint32_t headers_bytes, struct rb_piece *out);

/* Write the whole message. out has room for pack->bytes. Returns pack->bytes. */
uint32_t rb_pack_copy(const struct rb_pack *pack, const uint8_t *area, struct rb_msg_header *header,
		      uint8_t *out);

#endif
