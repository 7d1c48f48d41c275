/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/queue/pack.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

int rb_pack_init(struct rb_pack *pack, uint32_t limit_bytes, uint32_t degree)
{
	if (limit_bytes < RB_MSG_OVERHEAD_BYTES + RB_FRAME_MIN_BYTES ||
	    limit_bytes > RB_MSG_MAX_BYTES || degree == 0 || degree > RB_RECORDS_MAX)
		return -EINVAL;
	pack->limit_bytes = limit_bytes;
	pack->degree = degree;
	rb_pack_reset(pack);
	return 0;
}

/* By the difference: the time of a frame that is older than its clock wraps. */
static bool is_later(uint64_t a_ns, uint64_t b_ns)
{
	return (int64_t)(a_ns - b_ns) > 0;
}

void rb_pack_reset(struct rb_pack *pack)
{
	pack->bytes = RB_MSG_HEADER_BYTES;
	pack->count = 0;
}

int rb_pack_add(struct rb_pack *pack, const struct rb_frame *frame)
{
	uint32_t need_bytes = RB_FRAME_HEADER_BYTES + frame->len_bytes;

	if (RB_MSG_HEADER_BYTES + need_bytes > pack->limit_bytes)
		return -EMSGSIZE;
	if (pack->count >= pack->degree || pack->bytes + need_bytes > pack->limit_bytes)
		return -ENOSPC;
	if (pack->count == 0 || is_later(frame->arrival_ns, pack->newest_ns))
		pack->newest_ns = frame->arrival_ns;
	pack->frame[pack->count++] = *frame;
	pack->bytes += need_bytes;
	return 0;
}

uint32_t rb_pack_headers(const struct rb_pack *pack, struct rb_msg_header *header, uint8_t *out)
{
	header->count = (uint8_t)pack->count;
	header->length_bytes = (uint16_t)pack->bytes;
	if (pack->count && is_later(pack->newest_ns, header->sent_ns))
		header->sent_ns = pack->newest_ns;
	rb_msg_header_encode(header, out);
	for (uint32_t i = 0; i < pack->count; i++)
		rb_frame_header_encode(&pack->frame[i], header->sent_ns,
				       out + RB_MSG_HEADER_BYTES + i * RB_FRAME_HEADER_BYTES);
	return RB_MSG_HEADER_BYTES + pack->count * RB_FRAME_HEADER_BYTES;
}

uint32_t rb_pack_gather(const struct rb_pack *pack, const uint8_t *area, const uint8_t *headers,
			uint32_t headers_bytes, struct rb_piece *out)
{
	out[0] = (struct rb_piece){ headers, headers_bytes };
	for (uint32_t i = 0; i < pack->count; i++)
		out[i + 1] =
			(struct rb_piece){ area + pack->frame[i].offset, pack->frame[i].len_bytes };
	return pack->count + 1;
}

uint32_t rb_pack_copy(const struct rb_pack *pack, const uint8_t *area, struct rb_msg_header *header,
		      uint8_t *out)
{
	uint32_t offset = rb_pack_headers(pack, header, out);

	for (uint32_t i = 0; i < pack->count; i++) {
		memcpy(out + offset, area + pack->frame[i].offset, pack->frame[i].len_bytes);
		offset += pack->frame[i].len_bytes;
	}
	return offset;
}
