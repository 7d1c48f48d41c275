/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packing: many frames into one message for one node (thesis, section 2.3.3). Frames are collected
 * without touching them; the message is then made either as a gather list (headers here, frames
 * where they lie) or as one copy. Whole frames only, never split; nothing here waits for more
 * frames.
 *
 * All frame headers stand before all frames, so a gather list needs one entry more than frames.
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
	uint32_t degree;      /* most frames of a message: the packing degree */
	uint32_t bytes;	      /* of the message as it stands */
	uint32_t count;	      /* frames in it */
	struct rb_frame frame[RB_RECORDS_MAX];
};

/*
 * limit_bytes  from RB_MSG_OVERHEAD_BYTES + RB_FRAME_MIN_BYTES to RB_MSG_MAX_BYTES
 * degree       1..RB_RECORDS_MAX
 * Returns 0, or -EINVAL for a value out of its range.
 */
int rb_pack_init(struct rb_pack *pack, uint32_t limit_bytes, uint32_t degree);

/* Forget the frames; what they point at belongs to the caller again. */
void rb_pack_reset(struct rb_pack *pack);

/*
 * Add a frame: its bytes stay where they are, borrowed until rb_pack_reset. Returns 0, -ENOSPC
 * (does not fit this message; it will fit the next one), or -EMSGSIZE (fits no message of this
 * size: the caller drops it).
 */
int rb_pack_add(struct rb_pack *pack, const struct rb_frame *frame);

/*
 * Write the message header and the frame headers; count and length are taken from the pack, the
 * rest of `header` from the caller. out has room for RB_PACK_HEADERS_MAX_BYTES. Returns the bytes
 * written.
 */
uint32_t rb_pack_headers(const struct rb_pack *pack, struct rb_msg_header *header, uint8_t *out);

/*
 * The message as a gather list: `headers` (what rb_pack_headers wrote) and then each frame.
 * out has room for count + 1 pieces. Returns the pieces written.
 */
uint32_t rb_pack_gather(const struct rb_pack *pack, const uint8_t *headers, uint32_t headers_bytes,
			struct rb_piece *out);

/* The message as one copy; out has room for pack->bytes. Returns the bytes written, pack->bytes. */
uint32_t rb_pack_copy(const struct rb_pack *pack, struct rb_msg_header *header, uint8_t *out);

#endif
