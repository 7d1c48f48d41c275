/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages: the bytes that docs/PROTOCOL.md promises, and each reason for which a receiver refuses
 * a message.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "rdma-bridge/queue/pack.h"
#include "rdma-bridge/wire/bytes.h"
#include "rdma-bridge/wire/wire.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

static const struct rb_receiver node2 = { .node = 2 };

/* clang-format off */

/* From node 1 to node 2: two frames, written out by hand from docs/PROTOCOL.md. */
static const uint8_t data_msg[] = {
	/* version, type, length */
	1, 1, 0, 79,
	/* source, destination, stream, count */
	1, 2, 3, 2,
	/* epoch */
	0xca, 0xfe, 0xba, 0xbe,
	/* sequence */
	0, 0, 1, 2,
	/* sent_ns */
	0, 0, 0, 1, 2, 3, 4, 5,
	/* 24: first frame header: length, system port, ingress port, class, flags, age */
	0, 14, 2, 1, 1, 7, 3, 0, 0, 0, 0x10, 0,
	/* 36: second frame header */
	0, 17, 2, 200, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff,
	/* 48: first frame */
	'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n',
	/* 62: second frame */
	'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J', 'K', 'L', 'M', 'N', 'O', 'P', 'Q',
};

static const uint8_t feedback_msg[] = {
	/* header */
	1, 2, 0, 88, 1, 2, 0, 2, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 5,
	/* 24: first record: system port, class, controller, sequence */
	1, 7, 2, 4, 0, 0, 0, 33,
	/* word */
	0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0x80, 0, 0, 4,
	/* wide */
	1, 2, 3, 4, 5, 6, 7, 8,
	/* 56: second record */
	1, 8, 0, 4, 0, 0, 0, 34, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0,
};

static const uint8_t hello_msg[] = {
	/* header */
	1, 3, 0, 40, 1, 2, 0, 1, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 5,
	/* heard epoch, interval, transit */
	0xde, 0xad, 0, 1, 0, 0, 0x27, 0x10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe,
};

static const uint8_t announce_msg[] = {
	/* header */
	1, 4, 0, 27, 1, 2, 0, 1, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 5, 'x', 'y', 'z',
};

/* The controller of port 7 of node 1 is price (3), in bytes; generation 258, T 1 ms. */
static const uint8_t policy_msg[] = {
	/* header */
	1, 5, 0, 88, 1, 2, 0, 1, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 5,
	/* 24: port, controller, unit, generation */
	1, 7, 3, 1, 0, 0, 1, 2,
	/* 32: interval, frame, sources */
	0, 0x0f, 0x42, 0x40, 5, 0xea, 0, 3,
	/* 40: capacity, line */
	0, 0, 0, 0, 0, 0, 0x9c, 0x40, 0, 0, 0, 1, 0, 0, 0, 0,
	/* 56: weights */
	0, 1, 0, 2, 0, 3, 1, 4,
	/* 64: number of parameters, zeros */
	2, 0, 0, 0, 0, 0, 0, 0,
	/* 72: two parameters */
	0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 2, 0, 0, 0, 8,
};

static const uint8_t report_msg[] = {
	/* header */
	1, 6, 0, 56, 1, 2, 0, 2, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 5,
	/* 24: first record: port, class, zero, sequence, waiting, zero */
	2, 1, 3, 0, 0, 0, 0, 33, 0, 0, 1, 0, 0, 0, 0, 0,
	/* 40: second record */
	2, 200, 0, 0, 0, 0, 0, 34, 0, 0, 0, 1, 0, 0, 0, 0,
};

/* clang-format on */

struct records {
	struct rb_msg_header header;
	struct rb_policy policy;
	struct rb_report report[RB_RECORDS_MAX];
	struct rb_frame frame[RB_RECORDS_MAX];
	struct rb_feedback feedback[RB_RECORDS_MAX];
	struct rb_hello hello;
	uint32_t n;
};

/*
 * Judge the whole message as a receiver does. The copy on the heap ends with the message, so that
 * ASan sees a read beyond it.
 */
static enum rb_verdict judge(const uint8_t *bytes, uint32_t n_bytes, struct records *out)
{
	uint8_t *msg = malloc(n_bytes ? n_bytes : 1);
	enum rb_verdict verdict;

	assert_non_null(msg);
	memcpy(msg, bytes, n_bytes);
	out->n = 0;
	verdict = rb_msg_header_decode(&node2, msg, n_bytes, &out->header);
	if (verdict == RB_VERDICT_OK && out->header.type == RB_MSG_DATA)
		verdict = rb_unpack_frames(&node2, &out->header, msg, 0, 0, out->frame, &out->n);
	else if (verdict == RB_VERDICT_OK && out->header.type == RB_MSG_FEEDBACK)
		verdict = rb_unpack_feedback(&out->header, msg, out->feedback, &out->n);
	else if (verdict == RB_VERDICT_OK && out->header.type == RB_MSG_HELLO)
		verdict = rb_unpack_hello(&out->header, msg, &out->hello);
	else if (verdict == RB_VERDICT_OK && out->header.type == RB_MSG_POLICY)
		verdict = rb_unpack_policy(&out->header, msg, &out->policy);
	else if (verdict == RB_VERDICT_OK && out->header.type == RB_MSG_REPORT)
		verdict = rb_unpack_reports(&node2, &out->header, msg, out->report, &out->n);
	free(msg);
	return verdict;
}

static void data_message_of_two_frames_decodes_field_by_field(void **state)
{
	static struct rb_frame frames[RB_RECORDS_MAX];
	const uint64_t now_ns = 1ULL << 40;
	struct rb_msg_header h;
	uint32_t n;

	(void)state;
	assert_int_equal(rb_msg_header_decode(&node2, data_msg, sizeof(data_msg), &h),
			 RB_VERDICT_OK);
	assert_int_equal(h.type, RB_MSG_DATA);
	assert_int_equal(h.length_bytes, 79);
	assert_int_equal(h.source, 1);
	assert_int_equal(h.destination, 2);
	assert_int_equal(h.stream, 3);
	assert_int_equal(h.count, 2);
	assert_int_equal(h.epoch, 0xcafebabe);
	assert_int_equal(h.sequence, 0x102);
	assert_true(h.sent_ns == 0x0000000102030405ULL);

	assert_int_equal(rb_unpack_frames(&node2, &h, data_msg, 8192, now_ns, frames, &n),
			 RB_VERDICT_OK);
	assert_int_equal(n, 2);
	assert_true(frames[0].offset == 8192 + 48);
	assert_int_equal(frames[0].len_bytes, 14);
	assert_int_equal(frames[0].system_port, SL_SYSTEM_PORT(2, 1));
	assert_int_equal(frames[0].ingress_port, SL_SYSTEM_PORT(1, 7));
	assert_int_equal(frames[0].class, 3);
	assert_int_equal(frames[0].flags, 0);
	assert_int_equal(frames[0].source, 1);
	assert_true(frames[0].arrival_ns == now_ns - 4096);
	assert_true(frames[1].offset == 8192 + 62);
	assert_int_equal(frames[1].len_bytes, 17);
	assert_int_equal(frames[1].system_port, SL_SYSTEM_PORT(2, 200));
	assert_int_equal(frames[1].ingress_port, 0);
	assert_int_equal(frames[1].flags, RB_FRAME_FROM_KERNEL);
	assert_int_equal(frames[1].source, 1);
	assert_true(frames[1].arrival_ns == now_ns - UINT32_MAX);
}

static void data_message_of_two_frames_encodes_to_the_same_bytes(void **state)
{
	static struct rb_pack pack;
	struct rb_msg_header h = {
		.type = RB_MSG_DATA,
		.source = 1,
		.destination = 2,
		.stream = 3,
		.epoch = 0xcafebabe,
		.sequence = 0x102,
		.sent_ns = 0x0000000102030405ULL,
	};
	const struct rb_frame one = { .offset = 48,
				      .arrival_ns = h.sent_ns - 4096,
				      .len_bytes = 14,
				      .system_port = SL_SYSTEM_PORT(2, 1),
				      .ingress_port = SL_SYSTEM_PORT(1, 7),
				      .class = 3 };
	const struct rb_frame two = { .offset = 62,
				      .arrival_ns = h.sent_ns - UINT32_MAX,
				      .len_bytes = 17,
				      .system_port = SL_SYSTEM_PORT(2, 200),
				      .flags = RB_FRAME_FROM_KERNEL };
	uint8_t out[sizeof(data_msg)];

	(void)state;
	assert_int_equal(rb_pack_init(&pack, sizeof(data_msg), 2), 0);
	assert_int_equal(rb_pack_add(&pack, &one), 0);
	assert_int_equal(rb_pack_add(&pack, &two), 0);
	assert_int_equal(rb_pack_copy(&pack, data_msg, &h, out), sizeof(data_msg));
	assert_memory_equal(out, data_msg, sizeof(data_msg));
}

/* The bytes have the clock that all nodes share; what the node sees has its own. */
static void a_clock_offset_is_added_on_the_wire_and_subtracted_from_it(void **state)
{
	const struct rb_receiver receiver = { .node = 2, .clock_offset_ns = -1000000000000 };
	const struct rb_frame frame = { .arrival_ns = 4000000000, .len_bytes = 14 };
	struct rb_msg_header got, header = { .type = RB_MSG_DATA,
					     .source = 1,
					     .destination = 2,
					     .epoch = 1,
					     .sent_ns = 4000000123,
					     .clock_offset_ns = 37000000000 };
	static struct rb_pack pack;
	uint8_t area[14] = { 0 }, out[50];

	(void)state;
	assert_int_equal(rb_pack_init(&pack, sizeof(out), 1), 0);
	assert_int_equal(rb_pack_add(&pack, &frame), 0);
	assert_int_equal(rb_pack_copy(&pack, area, &header, out), sizeof(out));
	assert_true(rb_get64(out + 16) == 41000000123);
	assert_int_equal(rb_get32(out + RB_MSG_HEADER_BYTES + 8), 123);
	assert_int_equal(rb_msg_header_decode(&receiver, out, sizeof(out), &got), RB_VERDICT_OK);
	assert_true(got.sent_ns == 1041000000123);
}

/* The caller's clock is that of when its round began. */
static void a_message_is_made_after_its_newest_frame_entered(void **state)
{
	static const struct {
		uint64_t arrival_ns[2], sent_ns;
		uint32_t age_ns[2];
	} cases[] = {
		{ { 900, 1000 }, 1000, { 100, 0 } },
		{ { 1234, 900 }, 1234, { 0, 334 } },
		{ { 1001, 1005 }, 1005, { 4, 0 } },
	};

	(void)state;
	for (size_t i = 0; i < N(cases); i++) {
		struct rb_msg_header header = { .type = RB_MSG_DATA, .sent_ns = 1000 };
		uint8_t headers[RB_PACK_HEADERS_MAX_BYTES];
		static struct rb_pack pack;

		assert_int_equal(rb_pack_init(&pack, 1000, 2), 0);
		for (uint32_t k = 0; k < 2; k++) {
			const struct rb_frame frame = { .arrival_ns = cases[i].arrival_ns[k],
							.len_bytes = 14 };

			assert_int_equal(rb_pack_add(&pack, &frame), 0);
		}
		rb_pack_headers(&pack, &header, headers);
		assert_true(rb_get64(headers + 16) == cases[i].sent_ns);
		for (uint32_t k = 0; k < 2; k++)
			assert_int_equal(rb_get32(headers + 24 + 12 * k + 8), cases[i].age_ns[k]);
	}
}

/* Clocks of two processors may differ: a frame may seem to arrive after its message was made. */
static void an_age_is_at_least_0_and_at_most_what_its_field_holds(void **state)
{
	static const struct {
		uint64_t arrival_ns, sent_ns;
		uint32_t age_ns;
	} cases[] = {
		{ 1000, 1000, 0 },
		{ 1001, 1000, 0 },
		{ 1000, 1234, 234 },
		{ 1000, 1000 + (uint64_t)UINT32_MAX - 1, UINT32_MAX - 1 },
		{ 1000, 1000 + (uint64_t)UINT32_MAX, UINT32_MAX },
		{ 1000, 1000 + ((uint64_t)1 << 32), UINT32_MAX },
	};

	(void)state;
	for (size_t i = 0; i < N(cases); i++) {
		const struct rb_frame frame = { .arrival_ns = cases[i].arrival_ns };
		uint8_t out[RB_FRAME_HEADER_BYTES];

		rb_frame_header_encode(&frame, cases[i].sent_ns, out);
		assert_int_equal(rb_get32(out + 8), cases[i].age_ns);
	}
}

static void feedback_decodes_and_encodes_to_the_same_bytes(void **state)
{
	static struct records r;
	uint8_t out[sizeof(feedback_msg)];

	(void)state;
	assert_int_equal(judge(feedback_msg, sizeof(feedback_msg), &r), RB_VERDICT_OK);
	assert_int_equal(r.n, 2);
	assert_int_equal(r.feedback[0].system_port, SL_SYSTEM_PORT(1, 7));
	assert_int_equal(r.feedback[0].class, 2);
	assert_int_equal(r.feedback[0].controller, 4);
	assert_int_equal(r.feedback[0].sequence, 33);
	assert_int_equal(r.feedback[0].word[0], 1);
	assert_true(r.feedback[0].word[3] == 0x80000004);
	assert_true(r.feedback[0].wide == 0x0102030405060708ULL);
	assert_int_equal(r.feedback[1].system_port, SL_SYSTEM_PORT(1, 8));

	rb_msg_header_encode(&r.header, out);
	for (uint32_t i = 0; i < r.n; i++)
		rb_feedback_encode(&r.feedback[i],
				   out + RB_MSG_HEADER_BYTES + i * RB_FEEDBACK_BYTES);
	assert_memory_equal(out, feedback_msg, sizeof(out));
}

static void hello_decodes_and_encodes_to_the_same_bytes(void **state)
{
	static struct records r;
	uint8_t out[sizeof(hello_msg)];

	(void)state;
	assert_int_equal(judge(hello_msg, sizeof(hello_msg), &r), RB_VERDICT_OK);
	assert_true(r.hello.heard_epoch == 0xdead0001);
	assert_int_equal(r.hello.interval_us, 10000);
	assert_true(r.hello.transit_ns == -2);
	rb_msg_header_encode(&r.header, out);
	rb_hello_encode(&r.hello, out + RB_MSG_HEADER_BYTES);
	assert_memory_equal(out, hello_msg, sizeof(out));
}

static void policy_decodes_and_encodes_to_the_same_bytes(void **state)
{
	static struct records r;
	uint8_t out[sizeof(policy_msg)];

	(void)state;
	assert_int_equal(judge(policy_msg, sizeof(policy_msg), &r), RB_VERDICT_OK);
	assert_int_equal(r.policy.system_port, SL_SYSTEM_PORT(1, 7));
	assert_int_equal(r.policy.controller, 3);
	assert_int_equal(r.policy.unit, SL_UNIT_BYTES);
	assert_int_equal(r.policy.generation, 258);
	assert_int_equal(r.policy.interval_ns, 1000000);
	assert_int_equal(r.policy.frame_bytes, 1514);
	assert_int_equal(r.policy.sources, 3);
	assert_int_equal(r.policy.capacity, 40000);
	assert_true(r.policy.line == 1ULL << 32);
	assert_int_equal(r.policy.weight[0], 1);
	assert_int_equal(r.policy.weight[3], 260);
	assert_int_equal(r.policy.n_params, 2);
	assert_true(r.policy.param[0] == 7 && r.policy.param[1] == (2ULL << 32 | 8));

	rb_msg_header_encode(&r.header, out);
	assert_int_equal(rb_policy_encode(&r.policy, out + RB_MSG_HEADER_BYTES), 64);
	assert_memory_equal(out, policy_msg, sizeof(out));
}

static void reports_decode_and_encode_to_the_same_bytes(void **state)
{
	static struct records r;
	uint8_t out[sizeof(report_msg)];

	(void)state;
	assert_int_equal(judge(report_msg, sizeof(report_msg), &r), RB_VERDICT_OK);
	assert_int_equal(r.n, 2);
	assert_int_equal(r.report[0].system_port, SL_SYSTEM_PORT(2, 1));
	assert_int_equal(r.report[0].class, 3);
	assert_int_equal(r.report[0].sequence, 33);
	assert_int_equal(r.report[0].waiting, 256);
	assert_int_equal(r.report[1].system_port, SL_SYSTEM_PORT(2, 200));
	assert_int_equal(r.report[1].waiting, 1);

	rb_msg_header_encode(&r.header, out);
	for (uint32_t i = 0; i < r.n; i++)
		rb_report_encode(&r.report[i], out + RB_MSG_HEADER_BYTES + i * RB_REPORT_BYTES);
	assert_memory_equal(out, report_msg, sizeof(out));
}

static void announcement_body_is_the_daemons(void **state)
{
	static struct records r;
	const uint8_t *body;
	uint32_t bytes;

	(void)state;
	assert_int_equal(judge(announce_msg, sizeof(announce_msg), &r), RB_VERDICT_OK);
	rb_unpack_announce(&r.header, announce_msg, &body, &bytes);
	assert_int_equal(bytes, 3);
	assert_memory_equal(body, "xyz", 3);
}

static void announcement_without_a_body_is_refused(void **state)
{
	static struct records r;
	uint8_t msg[RB_MSG_HEADER_BYTES];

	(void)state;
	memcpy(msg, announce_msg, sizeof(msg));
	msg[3] = sizeof(msg);
	assert_int_equal(judge(msg, sizeof(msg), &r), RB_VERDICT_RECORD_COUNT);
}

/* A good message with one byte changed, and the verdict on it. */
struct refusal {
	const char *name;
	const uint8_t *msg;
	uint32_t bytes;
	uint32_t at;
	uint8_t value;
	enum rb_verdict verdict;
};
#define DATA	 data_msg, sizeof(data_msg)
#define FEEDBACK feedback_msg, sizeof(feedback_msg)
#define HELLO	 hello_msg, sizeof(hello_msg)
#define ANNOUNCE announce_msg, sizeof(announce_msg)
#define POLICY	 policy_msg, sizeof(policy_msg)
#define REPORT	 report_msg, sizeof(report_msg)

static const struct refusal refusals[] = {
	{ "version 0", DATA, 0, 0, RB_VERDICT_VERSION },
	{ "version 2", DATA, 0, 2, RB_VERDICT_VERSION },
	{ "type 0", DATA, 1, 0, RB_VERDICT_TYPE },
	{ "type beyond the last", DATA, 1, RB_MSG_TYPE_COUNT, RB_VERDICT_TYPE },
	{ "length one less than arrived", DATA, 3, 78, RB_VERDICT_LENGTH },
	{ "length one more than arrived", DATA, 3, 80, RB_VERDICT_LENGTH },
	{ "length far beyond", DATA, 2, 0xff, RB_VERDICT_LENGTH },
	{ "from node 0", DATA, 4, 0, RB_VERDICT_SOURCE },
	{ "from ourselves", DATA, 4, 2, RB_VERDICT_SOURCE },
	{ "for node 3", DATA, 5, 3, RB_VERDICT_DESTINATION },
	{ "for node 0", DATA, 5, 0, RB_VERDICT_DESTINATION },
	{ "stream that no sender has", DATA, 6, RB_STREAMS_MAX, RB_VERDICT_STREAM },
	{ "no frame", DATA, 7, 0, RB_VERDICT_RECORD_COUNT },
	{ "count one too low", DATA, 7, 1, RB_VERDICT_FRAME_LENGTH },
	{ "more headers than bytes", DATA, 7, 3, RB_VERDICT_RECORD_COUNT },
	{ "most records", DATA, 7, 255, RB_VERDICT_RECORD_COUNT },
	{ "frame shorter than Ethernet", DATA, 25, 13, RB_VERDICT_FRAME_LENGTH },
	{ "frame of no bytes", DATA, 25, 0, RB_VERDICT_FRAME_LENGTH },
	{ "first frame too long by one", DATA, 25, 15, RB_VERDICT_FRAME_LENGTH },
	{ "first frame of 65294 bytes", DATA, 24, 0xff, RB_VERDICT_FRAME_LENGTH },
	{ "last frame too long by one", DATA, 37, 18, RB_VERDICT_FRAME_LENGTH },
	{ "last frame too short by one", DATA, 37, 16, RB_VERDICT_FRAME_LENGTH },
	{ "port of another node", DATA, 26, 1, RB_VERDICT_FRAME_PORT },
	{ "port 0", DATA, 27, 0, RB_VERDICT_FRAME_PORT },
	{ "last frame's port 0", DATA, 39, 0, RB_VERDICT_FRAME_PORT },
	{ "entered at a third node", DATA, 28, 3, RB_VERDICT_FRAME_INGRESS },
	{ "entered at ourselves", DATA, 28, 2, RB_VERDICT_FRAME_INGRESS },
	{ "class 4", DATA, 30, SL_CLASSES, RB_VERDICT_FRAME_CLASS },
	{ "last frame's class 255", DATA, 42, 255, RB_VERDICT_FRAME_CLASS },
	{ "unknown flag", DATA, 31, 0x02, RB_VERDICT_FRAME_FLAGS },
	{ "all flags", DATA, 43, 0xff, RB_VERDICT_FRAME_FLAGS },
	{ "data read as feedback", DATA, 1, RB_MSG_FEEDBACK, RB_VERDICT_RECORD_COUNT },
	{ "feedback, count too low", FEEDBACK, 7, 1, RB_VERDICT_RECORD_COUNT },
	{ "feedback, count too high", FEEDBACK, 7, 3, RB_VERDICT_RECORD_COUNT },
	{ "feedback for our own port", FEEDBACK, 24, 2, RB_VERDICT_RECORD },
	{ "feedback for a third node's port", FEEDBACK, 56, 3, RB_VERDICT_RECORD },
	{ "feedback, class 4", FEEDBACK, 58, 4, RB_VERDICT_RECORD },
	{ "feedback read as data", FEEDBACK, 1, RB_MSG_DATA, RB_VERDICT_FRAME_FLAGS },
	{ "hello without record", HELLO, 7, 0, RB_VERDICT_RECORD_COUNT },
	{ "announcement without record", ANNOUNCE, 7, 0, RB_VERDICT_RECORD_COUNT },
	{ "announcement with two records", ANNOUNCE, 7, 2, RB_VERDICT_RECORD_COUNT },
	{ "policy without record", POLICY, 7, 0, RB_VERDICT_RECORD_COUNT },
	{ "policy with two records", POLICY, 7, 2, RB_VERDICT_RECORD_COUNT },
	{ "policy of our own port", POLICY, 24, 2, RB_VERDICT_RECORD },
	{ "policy, unit 2", POLICY, 27, 2, RB_VERDICT_RECORD },
	{ "policy, weight 0", POLICY, 59, 0, RB_VERDICT_RECORD },
	{ "policy, one parameter too few", POLICY, 64, 3, RB_VERDICT_RECORD_COUNT },
	{ "policy, one parameter too many", POLICY, 64, 1, RB_VERDICT_RECORD_COUNT },
	{ "policy, 33 parameters", POLICY, 64, 33, RB_VERDICT_RECORD_COUNT },
	{ "policy, padding", POLICY, 71, 1, RB_VERDICT_RECORD },
	{ "report, count too low", REPORT, 7, 1, RB_VERDICT_RECORD_COUNT },
	{ "report of the sender's port", REPORT, 24, 1, RB_VERDICT_RECORD },
	{ "report of port 0", REPORT, 41, 0, RB_VERDICT_RECORD },
	{ "report, class 4", REPORT, 26, 4, RB_VERDICT_RECORD },
	{ "report, first padding", REPORT, 43, 1, RB_VERDICT_RECORD },
	{ "report, last padding", REPORT, 39, 1, RB_VERDICT_RECORD },
	{ "hello with two records", HELLO, 7, 2, RB_VERDICT_RECORD_COUNT },
};

static void bad_field_is_refused_under_its_name(void **state)
{
	static struct records r;
	uint8_t msg[128];

	(void)state;
	for (size_t i = 0; i < N(refusals); i++) {
		const struct refusal *c = &refusals[i];
		enum rb_verdict verdict;

		memcpy(msg, c->msg, c->bytes);
		msg[c->at] = c->value;
		verdict = judge(msg, c->bytes, &r);
		if (verdict != c->verdict)
			print_error("%s: %s, not %s\n", c->name, rb_verdict_name(verdict),
				    rb_verdict_name(c->verdict));
		assert_int_equal(verdict, c->verdict);
		assert_int_equal(r.n, 0);
	}
}

static void hello_with_interval_0_is_refused(void **state)
{
	static struct records r;
	uint8_t msg[sizeof(hello_msg)];

	(void)state;
	memcpy(msg, hello_msg, sizeof(msg));
	memset(msg + 28, 0, 4);
	assert_int_equal(judge(msg, sizeof(msg), &r), RB_VERDICT_RECORD);
}

static void message_cut_anywhere_is_refused(void **state)
{
	static const struct {
		const uint8_t *msg;
		uint32_t bytes;
	} whole[] = { { DATA }, { FEEDBACK }, { HELLO }, { ANNOUNCE } };
	static struct records r;

	(void)state;
	for (size_t i = 0; i < N(whole); i++)
		for (uint32_t bytes = 0; bytes < whole[i].bytes; bytes++)
			assert_int_equal(judge(whole[i].msg, bytes, &r),
					 bytes < RB_MSG_HEADER_BYTES ? RB_VERDICT_TRUNCATED
								     : RB_VERDICT_LENGTH);
}

static void message_cut_with_its_length_corrected_is_refused(void **state)
{
	static struct records r;
	uint8_t msg[sizeof(data_msg)];

	(void)state;
	for (uint32_t bytes = RB_MSG_HEADER_BYTES; bytes < sizeof(data_msg); bytes++) {
		memcpy(msg, data_msg, bytes);
		msg[3] = (uint8_t)bytes;
		assert_int_not_equal(judge(msg, bytes, &r), RB_VERDICT_OK);
	}
}

static void bytes_beyond_the_length_are_refused(void **state)
{
	static struct records r;
	uint8_t msg[sizeof(data_msg) + 1] = { 0 };

	(void)state;
	memcpy(msg, data_msg, sizeof(data_msg));
	assert_int_equal(judge(msg, sizeof(msg), &r), RB_VERDICT_LENGTH);
	msg[3]++;
	assert_int_equal(judge(msg, sizeof(msg), &r), RB_VERDICT_FRAME_LENGTH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(data_message_of_two_frames_decodes_field_by_field),
		cmocka_unit_test(data_message_of_two_frames_encodes_to_the_same_bytes),
		cmocka_unit_test(a_clock_offset_is_added_on_the_wire_and_subtracted_from_it),
		cmocka_unit_test(a_message_is_made_after_its_newest_frame_entered),
		cmocka_unit_test(an_age_is_at_least_0_and_at_most_what_its_field_holds),
		cmocka_unit_test(feedback_decodes_and_encodes_to_the_same_bytes),
		cmocka_unit_test(hello_decodes_and_encodes_to_the_same_bytes),
		cmocka_unit_test(policy_decodes_and_encodes_to_the_same_bytes),
		cmocka_unit_test(reports_decode_and_encode_to_the_same_bytes),
		cmocka_unit_test(announcement_body_is_the_daemons),
		cmocka_unit_test(announcement_without_a_body_is_refused),
		cmocka_unit_test(bad_field_is_refused_under_its_name),
		cmocka_unit_test(hello_with_interval_0_is_refused),
		cmocka_unit_test(message_cut_anywhere_is_refused),
		cmocka_unit_test(message_cut_with_its_length_corrected_is_refused),
		cmocka_unit_test(bytes_beyond_the_length_are_refused),
	};
	return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
