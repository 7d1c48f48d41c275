/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes of a message to structs and back. Offsets are those of docs/PROTOCOL.md. */
#include "rdma-bridge/wire/wire.h"

#include <stdbool.h>
#include <string.h>

#include "rdma-bridge/wire/bytes.h"

#define NAME(id, name, text) name,
static const char *const verdict_names[] = { RB_VERDICTS(NAME) };
#undef NAME

const char *rb_verdict_name(enum rb_verdict verdict)
{
	return verdict_names[verdict];
}

void rb_msg_header_encode(const struct rb_msg_header *header, uint8_t *out)
{
	out[0] = RB_WIRE_VERSION;
	out[1] = header->type;
	rb_put16(out + 2, header->length_bytes);
	out[4] = header->source;
	out[5] = header->destination;
	out[6] = header->stream;
	out[7] = header->count;
	rb_put32(out + 8, header->epoch);
	rb_put32(out + 12, header->sequence);
	rb_put64(out + 16, header->sent_ns + (uint64_t)header->clock_offset_ns);
}

uint32_t rb_frame_age_ns(const struct rb_frame *frame, uint64_t now_ns)
{
	int64_t ns = (int64_t)(now_ns - frame->arrival_ns);

	if (ns < 0)
		return 0;
	return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

void rb_frame_header_encode(const struct rb_frame *frame, uint64_t sent_ns, uint8_t *out)
{
	rb_put16(out, (uint16_t)frame->len_bytes);
	rb_put16(out + 2, frame->system_port);
	rb_put16(out + 4, frame->ingress_port);
	out[6] = frame->class;
	out[7] = frame->flags;
	rb_put32(out + 8, rb_frame_age_ns(frame, sent_ns));
}

void rb_feedback_encode(const struct rb_feedback *record, uint8_t *out)
{
	rb_put16(out, record->system_port);
	out[2] = record->class;
	out[3] = record->controller;
	rb_put32(out + 4, record->sequence);
	for (int i = 0; i < 4; i++)
		rb_put32(out + 8 + 4 * i, record->word[i]);
	rb_put64(out + 24, record->wide);
}

void rb_hello_encode(const struct rb_hello *hello, uint8_t *out)
{
	rb_put32(out, hello->heard_epoch);
	rb_put32(out + 4, hello->interval_us);
	rb_put64(out + 8, (uint64_t)hello->transit_ns);
}

uint32_t rb_policy_encode(const struct rb_policy *policy, uint8_t *out)
{
	rb_put16(out, policy->system_port);
	out[2] = policy->controller;
	out[3] = policy->unit;
	rb_put32(out + 4, policy->generation);
	rb_put32(out + 8, policy->interval_ns);
	rb_put16(out + 12, policy->frame_bytes);
	rb_put16(out + 14, policy->sources);
	rb_put64(out + 16, policy->capacity);
	rb_put64(out + 24, policy->line);
	for (int c = 0; c < SL_CLASSES; c++)
		rb_put16(out + 32 + 2 * c, policy->weight[c]);
	memset(out + 40, 0, 8);
	out[40] = policy->n_params;
	for (uint32_t i = 0; i < policy->n_params; i++)
		rb_put64(out + RB_POLICY_BYTES + 8 * i, policy->param[i]);
	return RB_POLICY_BYTES + 8 * policy->n_params;
}

void rb_report_encode(const struct rb_report *report, uint8_t *out)
{
	memset(out, 0, RB_REPORT_BYTES);
	rb_put16(out, report->system_port);
	out[2] = report->class;
	rb_put32(out + 4, report->sequence);
	rb_put32(out + 8, report->waiting);
}

/* The least bytes that `count` records of a type take. */
static uint32_t records_bytes(uint8_t type, uint32_t count)
{
	switch (type) {
	case RB_MSG_DATA:
		return count * (RB_FRAME_HEADER_BYTES + RB_FRAME_MIN_BYTES);
	case RB_MSG_FEEDBACK:
		return count * RB_FEEDBACK_BYTES;
	case RB_MSG_ANNOUNCE:
		return count; /* a byte at least */
	case RB_MSG_POLICY:
		return count * RB_POLICY_BYTES;
	case RB_MSG_REPORT:
		return count * RB_REPORT_BYTES;
	default:
		return count * RB_HELLO_BYTES;
	}
}

static bool count_fits(const struct rb_msg_header *header)
{
	uint32_t body_bytes = header->length_bytes - RB_MSG_HEADER_BYTES;
	uint32_t need_bytes = records_bytes(header->type, header->count);

	bool single = header->type == RB_MSG_HELLO || header->type == RB_MSG_ANNOUNCE ||
		      header->type == RB_MSG_POLICY;
	bool exact = header->type == RB_MSG_HELLO || header->type == RB_MSG_FEEDBACK ||
		     header->type == RB_MSG_REPORT;

	if (header->count == 0 || (single && header->count != 1))
		return false;
	return exact ? need_bytes == body_bytes : need_bytes <= body_bytes;
}

enum rb_verdict rb_msg_header_decode(const struct rb_receiver *self, const uint8_t *msg,
				     uint32_t bytes, struct rb_msg_header *header)
{
	/* The version comes first: another version may lay out everything else differently. */
	if (bytes == 0)
		return RB_VERDICT_TRUNCATED;
	if (msg[0] != RB_WIRE_VERSION)
		return RB_VERDICT_VERSION;
	if (bytes < RB_MSG_HEADER_BYTES)
		return RB_VERDICT_TRUNCATED;

	*header = (struct rb_msg_header){
		.type = msg[1],
		.length_bytes = rb_get16(msg + 2),
		.source = msg[4],
		.destination = msg[5],
		.stream = msg[6],
		.count = msg[7],
		.epoch = rb_get32(msg + 8),
		.sequence = rb_get32(msg + 12),
		.sent_ns = rb_get64(msg + 16) - (uint64_t)self->clock_offset_ns,
	};
	if (header->type == 0 || header->type >= RB_MSG_TYPE_COUNT)
		return RB_VERDICT_TYPE;
	if (header->length_bytes != bytes)
		return RB_VERDICT_LENGTH;
	if (header->source == 0 || header->source == self->node)
		return RB_VERDICT_SOURCE;
	if (header->destination != self->node)
		return RB_VERDICT_DESTINATION;
	if (header->stream >= RB_STREAMS_MAX)
		return RB_VERDICT_STREAM;
	if (!count_fits(header))
		return RB_VERDICT_RECORD_COUNT;
	return RB_VERDICT_OK;
}

/* May it be a port of ours? Of those that it names, the worker knows which there are. */
static bool names_port(const struct rb_receiver *self, uint16_t system_port)
{
	return system_port >> 8 == self->node && (system_port & 0xff) != 0;
}

static enum rb_verdict judge_frame(const struct rb_receiver *self,
				   const struct rb_msg_header *header, const struct rb_frame *frame)
{
	if (frame->len_bytes < RB_FRAME_MIN_BYTES)
		return RB_VERDICT_FRAME_LENGTH;
	if (!names_port(self, frame->system_port))
		return RB_VERDICT_FRAME_PORT;
	if (frame->ingress_port != 0 && frame->ingress_port >> 8 != header->source)
		return RB_VERDICT_FRAME_INGRESS;
	if (frame->class >= SL_CLASSES)
		return RB_VERDICT_FRAME_CLASS;
	if (frame->flags & ~RB_FRAME_FLAGS)
		return RB_VERDICT_FRAME_FLAGS;
	return RB_VERDICT_OK;
}

enum rb_verdict rb_unpack_frames(const struct rb_receiver *self, const struct rb_msg_header *header,
				 const uint8_t *msg, uint64_t offset, uint64_t now_ns,
				 struct rb_frame *out, uint32_t *n)
{
	uint32_t at = RB_MSG_HEADER_BYTES + header->count * RB_FRAME_HEADER_BYTES;
	const uint8_t *h = msg + RB_MSG_HEADER_BYTES;
	enum rb_verdict verdict;

	*n = 0;
	for (uint32_t i = 0; i < header->count; i++, h += RB_FRAME_HEADER_BYTES) {
		out[i] = (struct rb_frame){
			.offset = offset + at,
			.arrival_ns = now_ns - rb_get32(h + 8),
			.len_bytes = rb_get16(h),
			.waited_ns = rb_get32(h + 8),
			.system_port = rb_get16(h + 2),
			.ingress_port = rb_get16(h + 4),
			.class = h[6],
			.flags = h[7],
			.source = header->source,
		};
		verdict = judge_frame(self, header, &out[i]);
		if (verdict != RB_VERDICT_OK)
			return verdict;
		at += out[i].len_bytes;
		if (at > header->length_bytes)
			return RB_VERDICT_FRAME_LENGTH;
	}
	if (at != header->length_bytes)
		return RB_VERDICT_FRAME_LENGTH;
	*n = header->count;
	return RB_VERDICT_OK;
}

enum rb_verdict rb_unpack_feedback(const struct rb_msg_header *header, const uint8_t *msg,
				   struct rb_feedback *out, uint32_t *n)
{
	const uint8_t *r = msg + RB_MSG_HEADER_BYTES;

	*n = 0;
	for (uint32_t i = 0; i < header->count; i++, r += RB_FEEDBACK_BYTES) {
		out[i] = (struct rb_feedback){
			.system_port = rb_get16(r),
			.class = r[2],
			.controller = r[3],
			.sequence = rb_get32(r + 4),
			.word = { rb_get32(r + 8), rb_get32(r + 12), rb_get32(r + 16),
				  rb_get32(r + 20) },
			.wide = rb_get64(r + 24),
		};
		if (out[i].system_port >> 8 != header->source || out[i].class >= SL_CLASSES)
			return RB_VERDICT_RECORD;
	}
	*n = header->count;
	return RB_VERDICT_OK;
}

static bool all_zero(const uint8_t *bytes, uint32_t n)
{
	while (n > 0 && bytes[n - 1] == 0)
		n--;
	return n == 0;
}

enum rb_verdict rb_unpack_policy(const struct rb_msg_header *header, const uint8_t *msg,
				 struct rb_policy *out)
{
	const uint8_t *r = msg + RB_MSG_HEADER_BYTES;

	*out = (struct rb_policy){
		.system_port = rb_get16(r),
		.controller = r[2],
		.unit = r[3],
		.generation = rb_get32(r + 4),
		.interval_ns = rb_get32(r + 8),
		.frame_bytes = rb_get16(r + 12),
		.sources = rb_get16(r + 14),
		.capacity = rb_get64(r + 16),
		.line = rb_get64(r + 24),
		.n_params = r[40],
	};
	if (out->n_params > RB_POLICY_PARAMS_MAX ||
	    header->length_bytes != RB_MSG_HEADER_BYTES + RB_POLICY_BYTES + 8 * out->n_params)
		return RB_VERDICT_RECORD_COUNT;
	if (out->system_port >> 8 != header->source || out->unit > SL_UNIT_BYTES ||
	    !all_zero(r + 41, 7))
		return RB_VERDICT_RECORD;
	for (int c = 0; c < SL_CLASSES; c++) {
		out->weight[c] = rb_get16(r + 32 + 2 * c);
		if (out->weight[c] == 0)
			return RB_VERDICT_RECORD;
	}
	for (uint32_t i = 0; i < out->n_params; i++)
		out->param[i] = rb_get64(r + RB_POLICY_BYTES + 8 * i);
	return RB_VERDICT_OK;
}

enum rb_verdict rb_unpack_reports(const struct rb_receiver *self,
				  const struct rb_msg_header *header, const uint8_t *msg,
				  struct rb_report *out, uint32_t *n)
{
	const uint8_t *r = msg + RB_MSG_HEADER_BYTES;

	*n = 0;
	for (uint32_t i = 0; i < header->count; i++, r += RB_REPORT_BYTES) {
		out[i] = (struct rb_report){
			.system_port = rb_get16(r),
			.class = r[2],
			.sequence = rb_get32(r + 4),
			.waiting = rb_get32(r + 8),
		};
		if (!names_port(self, out[i].system_port) || out[i].class >= SL_CLASSES ||
		    r[3] != 0 || !all_zero(r + 12, 4))
			return RB_VERDICT_RECORD;
	}
	*n = header->count;
	return RB_VERDICT_OK;
}

void rb_unpack_announce(const struct rb_msg_header *header, const uint8_t *msg,
			const uint8_t **body, uint32_t *body_bytes)
{
	*body = msg + RB_MSG_HEADER_BYTES;
	*body_bytes = header->length_bytes - RB_MSG_HEADER_BYTES;
}

enum rb_verdict rb_unpack_hello(const struct rb_msg_header *header, const uint8_t *msg,
				struct rb_hello *out)
{
	const uint8_t *r = msg + RB_MSG_HEADER_BYTES;

	(void)header;
	*out = (struct rb_hello){ .heard_epoch = rb_get32(r),
				  .interval_us = rb_get32(r + 4),
				  .transit_ns = (int64_t)rb_get64(r + 8) };
	return out->interval_us == 0 ? RB_VERDICT_RECORD : RB_VERDICT_OK;
}
