/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as a message: no input may crash a decoder. Frames that are accepted must lie inside
 * the message, and frames, policies and reports must encode to the same bytes again.
 */
#include <stdlib.h>
#include <string.h>

#include "rdma-bridge/queue/pack.h"
#include "rdma-bridge/wire/wire.h"

static const struct rb_receiver self = { .node = 2 };

static void check_data(const struct rb_msg_header *h, const uint8_t *msg, uint32_t bytes)
{
	static struct rb_frame frame[RB_RECORDS_MAX];
	static struct rb_pack pack;
	static uint8_t again[RB_MSG_MAX_BYTES];
	struct rb_msg_header header = *h;
	uint32_t n;

	if (rb_unpack_frames(&self, h, msg, 0, h->sent_ns, frame, &n) != RB_VERDICT_OK) {
		if (n)
			abort();
		return;
	}
	if (rb_pack_init(&pack, bytes, n))
		abort();
	for (uint32_t i = 0; i < n; i++)
		if (frame[i].offset + frame[i].len_bytes > bytes || rb_pack_add(&pack, &frame[i]))
			abort();
	if (rb_pack_copy(&pack, msg, &header, again) != bytes || memcmp(again, msg, bytes))
		abort();
}

static void check_policy(const struct rb_msg_header *h, const uint8_t *msg)
{
	uint8_t again[RB_POLICY_BYTES + 8 * RB_POLICY_PARAMS_MAX];
	struct rb_policy policy;

	if (rb_unpack_policy(h, msg, &policy) == RB_VERDICT_OK &&
	    (rb_policy_encode(&policy, again) != h->length_bytes - RB_MSG_HEADER_BYTES ||
	     memcmp(again, msg + RB_MSG_HEADER_BYTES, h->length_bytes - RB_MSG_HEADER_BYTES)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct rb_feedback feedback[RB_RECORDS_MAX];
	static struct rb_report reports[RB_RECORDS_MAX];
	struct rb_msg_header h;
	struct rb_hello hello;
	const uint8_t *body;
	uint32_t n;

	if (size > RB_MSG_MAX_BYTES ||
	    rb_msg_header_decode(&self, data, (uint32_t)size, &h) != RB_VERDICT_OK)
		return 0;
	switch (h.type) {
	case RB_MSG_DATA:
		check_data(&h, data, (uint32_t)size);
		break;
	case RB_MSG_FEEDBACK:
		rb_unpack_feedback(&h, data, feedback, &n);
		break;
	case RB_MSG_HELLO:
		rb_unpack_hello(&h, data, &hello);
		break;
	case RB_MSG_ANNOUNCE:
		rb_unpack_announce(&h, data, &body, &n);
		if (body < data || body + n != data + size || n == 0)
			abort();
		break;
	case RB_MSG_POLICY:
		check_policy(&h, data);
		break;
	case RB_MSG_REPORT:
		rb_unpack_reports(&self, &h, data, reports, &n);
		for (uint32_t i = 0; i < n; i++) {
			uint8_t again[RB_REPORT_BYTES];

			rb_report_encode(&reports[i], again);
			if (memcmp(again, data + RB_MSG_HEADER_BYTES + i * RB_REPORT_BYTES,
				   RB_REPORT_BYTES))
				abort();
		}
		break;
	default:
		abort();
	}
	return 0;
}

/* A message of this type that decodes. */
static size_t write_message(uint8_t *msg, uint8_t type)
{
	const struct rb_frame frame = {
		.len_bytes = 20, .system_port = 0x201, .ingress_port = 0x101, .class = 1
	};
	const struct rb_feedback feedback = { .system_port = 0x101, .class = 2, .sequence = 3 };
	const struct rb_hello hello = { .heard_epoch = 4, .interval_us = 5 };
	const struct rb_policy policy = { .system_port = 0x101,
					  .weight = { 1, 1, 1, 1 },
					  .n_params = 2 };
	const struct rb_report report = { .system_port = 0x201, .class = 3, .waiting = 6 };
	struct rb_msg_header h = {
		.type = type, .source = 1, .destination = 2, .count = 1, .epoch = 7
	};
	uint8_t *body = msg + RB_MSG_HEADER_BYTES;
	uint32_t n = RB_MSG_HEADER_BYTES;

	memset(msg, 0, 128);
	switch (type) {
	case RB_MSG_DATA:
		h.count = 2;
		rb_frame_header_encode(&frame, 9, body);
		rb_frame_header_encode(&frame, 9, body + RB_FRAME_HEADER_BYTES);
		n += 2 * (RB_FRAME_HEADER_BYTES + frame.len_bytes);
		break;
	case RB_MSG_FEEDBACK:
		rb_feedback_encode(&feedback, body);
		n += RB_FEEDBACK_BYTES;
		break;
	case RB_MSG_HELLO:
		rb_hello_encode(&hello, body);
		n += RB_HELLO_BYTES;
		break;
	case RB_MSG_POLICY:
		n += rb_policy_encode(&policy, body);
		break;
	case RB_MSG_REPORT:
		rb_report_encode(&report, body);
		n += RB_REPORT_BYTES;
		break;
	default:
		n += 8;
	}
	h.length_bytes = (uint16_t)n;
	rb_msg_header_encode(&h, msg);
	return n;
}

static void fit_count(uint8_t *msg, size_t size)
{
	const size_t body_bytes = size - RB_MSG_HEADER_BYTES;
	size_t n = 1;

	if (msg[1] == RB_MSG_FEEDBACK)
		n = body_bytes / RB_FEEDBACK_BYTES;
	else if (msg[1] == RB_MSG_REPORT)
		n = body_bytes / RB_REPORT_BYTES;
	else if (msg[1] == RB_MSG_POLICY && body_bytes >= RB_POLICY_BYTES)
		msg[RB_MSG_HEADER_BYTES + 40] = (uint8_t)((body_bytes - RB_POLICY_BYTES) / 8);
	if (msg[1] != RB_MSG_DATA)
		msg[7] = (uint8_t)n;
}

/*
 * Most changes of a message break its header, and nothing reads the records. So most inputs get a
 * header that fits: our version, node and length.
 */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t size_max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned int seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned int seed)
{
	if (size < RB_MSG_HEADER_BYTES && size_max >= 128)
		return write_message(data, (uint8_t)(1 + seed % (RB_MSG_TYPE_COUNT - 1)));
	size = LLVMFuzzerMutate(data, size, size_max);
	if (size < RB_MSG_HEADER_BYTES || size > RB_MSG_MAX_BYTES || seed % 8 == 0)
		return size;
	if (seed % 8 == 1) /* of any length, up to that of many records */
		while (size + 8 <= size_max && size / 8 < seed / 8 % 128) {
			memset(data + size, data[size / 2], 8);
			size += 8;
		}
	data[0] = RB_WIRE_VERSION;
	data[2] = (uint8_t)(size >> 8);
	data[3] = (uint8_t)size;
	data[4] = 1;
	data[5] = self.node;
	data[6] %= RB_STREAMS_MAX;
	/* Of two inputs, one has as many records as its length allows. */
	if (seed % 16 >= 8)
		fit_count(data, size);
	return size;
}
