/* SPDX-License-Identifier: BSD-2-Clause */
/* Which flows have a queue of their own, against a plain list of them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "queues/reserved_flows.h"
#include "tests/lib/frame.h"

#define FLOWS 400 /* more than there are queues */

static const struct fq_hash_key hash_key = { 3, 4 };

static void on_drop(void *context, const struct fq_frame *frame, uint32_t queue,
		    enum fq_reason reason)
{
	(void)context;
	(void)frame;
	(void)queue;
	(void)reason;
}

static struct fq_port *port_create(void)
{
	const struct fq_shape shape = { .queues = 1024,
					.reserved = FQ_RESERVED_MAX,
					.limit_bytes = 1000000,
					.limit_frames = 1000,
					.frame_max_bytes = 1522,
					.rate_Bps = 1000000 };
	struct fq_config config;

	assert_int_equal(fq_config_init(&config, "longest", &shape), 0);
	assert_int_equal(fq_config_prepare(&config, NULL), 0);
	return fq_port_init(malloc(fq_port_size(&config)), &config, on_drop, NULL);
}

static struct fq_flow flow_of(uint32_t i)
{
	const uint8_t source[4] = { 10, 1, 0, 2 }, destination[4] = { 10, 2, 0, 2 };
	struct fq_flow flow;
	const uint8_t ports[4] = { (uint8_t)(i >> 8), (uint8_t)i, 0, 9 };

	fq_flow_of(4, 17, source, destination, ports, &flow);
	return flow;
}

/* As the bridge parses it from a frame. */
static void flow_of_values_is_that_of_their_frames(void **state)
{
	static const struct frame frames[] = { { .sport = 700 }, { .ip6 = true, .sport = 700 } };
	const uint8_t source[] = { 0x20, 1, 0xd, 0xb8, 0, 1, [15] = 2 };
	const uint8_t destination[] = { 0x20, 1, 0xd, 0xb8, 0, 2, [15] = 2 };
	const uint8_t source4[] = { 10, 1, 0, 2 }, destination4[] = { 10, 2, 0, 2 };
	const uint8_t ports[] = { 700 >> 8, 700 & 0xff, 4321 >> 8, 4321 & 0xff };

	(void)state;
	for (int i = 0; i < 2; i++) {
		uint8_t bytes[FRAME_MAX_BYTES];
		struct fq_flow parsed, made;

		fq_flow_parse(bytes, frame_build(&frames[i], bytes), &parsed);
		fq_flow_of(i ? 6 : 4, 17, i ? source : source4, i ? destination : destination4,
			   ports, &made);
		assert_int_equal(made.key_bytes, parsed.key_bytes);
		assert_memory_equal(made.key, parsed.key, parsed.key_bytes);
	}
}

static void random_flows_have_queues_as_in_a_plain_list(void **state)
{
	struct fq_reserved *reserved = calloc(1, sizeof(*reserved));
	struct fq_port *port = port_create();
	uint32_t queue_of[FLOWS], n = 0, random = 12345;

	(void)state;
	for (uint32_t i = 0; i < FLOWS; i++)
		queue_of[i] = FQ_NONE;
	for (int step = 0; step < 40000; step++) {
		const uint32_t i = (random = random * 1664525 + 1013904223) >> 16 & 0xffff;
		const struct fq_flow flow = flow_of(i % FLOWS);
		const uint64_t hash = fq_flow_hash(&flow, &hash_key);
		uint32_t *queue = &queue_of[i % FLOWS];

		if (step / 4000 % 2 ? i % 3 == 0 : i % 3) {
			const int err = fq_reserved_put(reserved, port, &flow, hash, 1 + i % 1024);

			assert_int_equal(err,
					 *queue == FQ_NONE && n == FQ_RESERVED_MAX ? -ENOSPC : 0);
			n += !err && *queue == FQ_NONE;
			*queue = fq_reserved_find(reserved, &flow, hash);
			if (!err)
				assert_int_equal(port->queue[*queue].weight, 1 + i % 1024);
		} else {
			assert_int_equal(fq_reserved_remove(reserved, &flow, hash),
					 *queue == FQ_NONE ? -ENOENT : 0);
			n -= *queue != FQ_NONE;
			*queue = FQ_NONE;
		}
		assert_int_equal(reserved->n, n);
		for (uint32_t j = 0; j < FLOWS; j += 7) {
			const struct fq_flow other = flow_of(j);

			assert_int_equal(
				fq_reserved_find(reserved, &other, fq_flow_hash(&other, &hash_key)),
				queue_of[j]);
		}
		for (uint32_t j = 0; j < FLOWS; j++)
			if (j != i % FLOWS && queue_of[j] != FQ_NONE)
				assert_int_not_equal(queue_of[j], *queue);
	}
	free(port);
	free(reserved);
}

static void queue_that_still_has_frames_is_given_last(void **state)
{
	const struct fq_flow first = flow_of(1), second = flow_of(2);
	struct fq_reserved *reserved = calloc(1, sizeof(*reserved));
	struct fq_port *port = port_create();

	(void)state;
	assert_int_equal(fq_reserved_put(reserved, port, &first, 1, 1), 0);
	assert_int_equal(fq_reserved_find(reserved, &first, 1), 0);
	fq_enqueue(port, 0, &(struct fq_frame){ .len_bytes = 100 }, 0);
	assert_int_equal(fq_reserved_remove(reserved, &first, 1), 0);
	assert_int_equal(fq_reserved_put(reserved, port, &second, 2, 1), 0);
	assert_int_equal(fq_reserved_find(reserved, &second, 2), 1);
	assert_int_equal(fq_reserved_put(reserved, port, &second, 2, 0), -EINVAL);
	free(port);
	free(reserved);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flow_of_values_is_that_of_their_frames),
		cmocka_unit_test(random_flows_have_queues_as_in_a_plain_list),
		cmocka_unit_test(queue_that_still_has_frames_is_given_last),
	};
	return cmocka_run_group_tests_name("reserved", tests, NULL, NULL);
}
