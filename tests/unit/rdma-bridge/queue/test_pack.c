/* SPDX-License-Identifier: BSD-2-Clause */
/* Packing: what fits a message to the byte, and frames that come out as they went in. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rdma-bridge/queue/pack.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

/* Node 2 has ports 1 and 2. */
static const struct rb_receiver receiver = { .node = 2 };

static void pack_limits_out_of_range_are_refused(void **state)
{
	static struct rb_pack pack;

	(void)state;
	assert_int_equal(rb_pack_init(&pack, 49, 1), -EINVAL);
	assert_int_equal(rb_pack_init(&pack, 50, 1), 0);
	assert_int_equal(rb_pack_init(&pack, RB_MSG_MAX_BYTES, RB_RECORDS_MAX), 0);
	assert_int_equal(rb_pack_init(&pack, RB_MSG_MAX_BYTES + 1, 1), -EINVAL);
	assert_int_equal(rb_pack_init(&pack, 4096, 0), -EINVAL);
	assert_int_equal(rb_pack_init(&pack, 4096, RB_RECORDS_MAX + 1), -EINVAL);
}

static void pack_fills_to_the_byte_and_not_beyond(void **state)
{
	/* Message limit, degree, frame length: how many frames must fit. */
	static const uint32_t cases[][4] = {
		{ 4096, 255, 60, 56 },	     { 4096, 255, 64, 53 },   { 4096, 16, 60, 16 },
		{ 4096, 1, 60, 1 },	     { 4096, 255, 1514, 2 },  { 2048, 255, 1514, 1 },
		{ 1550, 255, 1514, 1 },	     { 3436, 255, 3400, 1 },  { 24 + 3 * 72, 255, 60, 3 },
		{ 23 + 3 * 72, 255, 60, 2 }, { 65535, 255, 60, 255 },
	};
	static struct rb_pack pack;

	(void)state;
	for (size_t i = 0; i < N(cases); i++) {
		const struct rb_frame f = { .len_bytes = cases[i][2] };
		uint32_t n = 0;

		assert_int_equal(rb_pack_init(&pack, cases[i][0], cases[i][1]), 0);
		while (rb_pack_add(&pack, &f) == 0)
			n++;
		assert_int_equal(n, cases[i][3]);
		assert_int_equal(pack.count, n);
		assert_int_equal(pack.bytes, 24 + n * (12 + cases[i][2]));
		assert_int_equal(rb_pack_add(&pack, &f), -ENOSPC);
		rb_pack_reset(&pack);
		assert_int_equal(rb_pack_add(&pack, &f), 0);
	}
}

static void pack_refuses_a_frame_that_fits_no_message(void **state)
{
	static struct rb_pack pack;
	struct rb_frame f = { .len_bytes = 1025 - 36 };

	(void)state;
	assert_int_equal(rb_pack_init(&pack, 1024, 255), 0);
	assert_int_equal(rb_pack_add(&pack, &f), -EMSGSIZE);
	f.len_bytes--;
	assert_int_equal(rb_pack_add(&pack, &f), 0);
}

/* Random frames come out of a gather list and of a copy as they went in, in order. */
static void packed_frames_come_out_as_they_went_in(void **state)
{
	static uint8_t content[RB_RECORDS_MAX][256], gathered[RB_MSG_MAX_BYTES];
	static uint8_t copied[RB_MSG_MAX_BYTES], headers[RB_PACK_HEADERS_MAX_BYTES];
	static struct rb_piece pieces[RB_RECORDS_MAX + 1];
	static struct rb_pack pack;
	static struct rb_frame out[RB_RECORDS_MAX];
	struct rb_msg_header decoded;

	(void)state;
	srandom(1);
	for (int round = 0; round < 300; round++) {
		struct rb_msg_header h = { .type = RB_MSG_DATA,
					   .source = 1,
					   .destination = 2,
					   .sequence = (uint32_t)random() };
		uint32_t limit = 600 + (uint32_t)random() % 8000, n, n_out, bytes = 0;

		assert_int_equal(rb_pack_init(&pack, limit, 1 + (uint32_t)random() % 255), 0);
		for (n = 0; n < RB_RECORDS_MAX; n++) {
			struct rb_frame f = { .offset = n * sizeof(content[0]),
					      .len_bytes = 14 + (uint32_t)random() % 242,
					      .system_port = SL_SYSTEM_PORT(2, 1 + random() % 2),
					      .class = (uint8_t)(random() % SL_CLASSES) };

			for (uint32_t b = 0; b < f.len_bytes; b++)
				content[n][b] = (uint8_t)random();
			if (rb_pack_add(&pack, &f))
				break;
		}
		assert_int_equal(rb_pack_copy(&pack, content[0], &h, copied), pack.bytes);
		assert_in_range(pack.bytes, 38, limit);

		assert_int_equal(rb_pack_gather(&pack, content[0], headers,
						rb_pack_headers(&pack, &h, headers), pieces),
				 n + 1);
		for (uint32_t i = 0; i <= n; i++) {
			memcpy(gathered + bytes, pieces[i].data, pieces[i].len_bytes);
			bytes += pieces[i].len_bytes;
		}
		assert_int_equal(bytes, pack.bytes);
		assert_memory_equal(gathered, copied, bytes);

		assert_int_equal(rb_msg_header_decode(&receiver, copied, bytes, &decoded),
				 RB_VERDICT_OK);
		assert_int_equal(rb_unpack_frames(&receiver, &decoded, copied, 0, 0, out, &n_out),
				 RB_VERDICT_OK);
		assert_int_equal(n_out, n);
		for (uint32_t i = 0; i < n; i++) {
			assert_int_equal(out[i].len_bytes, pack.frame[i].len_bytes);
			assert_int_equal(out[i].system_port, pack.frame[i].system_port);
			assert_int_equal(out[i].class, pack.frame[i].class);
			assert_memory_equal(copied + out[i].offset, content[i], out[i].len_bytes);
		}
	}
}

/* By the sender's clock: when it looked at it, when frames entered, and what the message says. */
static void no_message_is_older_than_its_frames(void **state)
{
	static const struct {
		uint64_t sent_ns, arrival_ns[2], says_ns;
	} cases[] = {
		{ 5000, { 3000, 4000 }, 5000 },
		{ 5000, { 6000, 4000 }, 6000 }, /* it entered after the round had begun */
		{ 5000, { 3000, 7000 }, 7000 },
		{ 500, { (uint64_t)-2000, (uint64_t)-1000 }, 500 }, /* before the clock's zero */
		{ UINT64_MAX, { UINT64_MAX - 9, UINT64_MAX - 8 }, UINT64_MAX },
	};
	static struct rb_pack pack;
	static uint8_t out[RB_PACK_HEADERS_MAX_BYTES];

	(void)state;
	for (size_t i = 0; i < N(cases); i++) {
		struct rb_msg_header h = { .type = RB_MSG_DATA, .sent_ns = cases[i].sent_ns };

		assert_int_equal(rb_pack_init(&pack, 4096, 255), 0);
		for (int k = 0; k < 2; k++) {
			const struct rb_frame f = { .len_bytes = 60,
						    .arrival_ns = cases[i].arrival_ns[k] };

			assert_int_equal(rb_pack_add(&pack, &f), 0);
		}
		rb_pack_headers(&pack, &h, out);
		assert_true(h.sent_ns == cases[i].says_ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pack_limits_out_of_range_are_refused),
		cmocka_unit_test(pack_fills_to_the_byte_and_not_beyond),
		cmocka_unit_test(pack_refuses_a_frame_that_fits_no_message),
		cmocka_unit_test(packed_frames_come_out_as_they_went_in),
		cmocka_unit_test(no_message_is_older_than_its_frames),
	};
	return cmocka_run_group_tests_name("pack", tests, NULL, NULL);
}
