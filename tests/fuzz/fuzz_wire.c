/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as a message: no input may crash a decoder. Frames that are accepted must lie inside
 * the message, and frames, policies and reports must encode to the same bytes again.
 */
#include <stdlib.h>
#include <string.h>

#include "rdma-bridge/queue/pack.h"
#include "rdma-bridge/wire/wire.h"

static const struct rb_receiver self = { .node = 2, .ports = { ~1ULL, ~0ULL, ~0ULL, ~0ULL } };

static void check_data(const struct rb_msg_header *h, const uint8_t *msg, uint32_t bytes)
{
	static struct rb_frame frame[RB_RECORDS_MAX];
	static struct rb_pack pack;
	static uint8_t again[RB_MSG_MAX_BYTES];
	struct rb_msg_header header = *h;
	uint32_t n;

	if (rb_unpack_frames(&self, h, msg, frame, &n) != RB_VERDICT_OK) {
		if (n)
			abort();
		return;
	}
	if (rb_pack_init(&pack, bytes, n))
		abort();
	for (uint32_t i = 0; i < n; i++)
		if (frame[i].data < msg || frame[i].data + frame[i].len_bytes > msg + bytes ||
		    rb_pack_add(&pack, &frame[i]))
			abort();
	if (rb_pack_copy(&pack, &header, again) != bytes || memcmp(again, msg, bytes))
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
