/* SPDX-License-Identifier: BSD-2-Clause */
/* The contract of transports on `mem`, and what only its network does to messages. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rdma-bridge/transport/mem.h"
#include "tests/lib/transport_contract.h"

#define CHUNK_BYTES 4096
#define CHUNKS	    512

static struct rb_mem_network *network;
static struct rb_chunks *chunks[2];
static uint8_t *area[2];
static uint64_t now_ns;

static void let_pass(struct transport_pair *pair)
{
	(void)pair;
	now_ns += 100000;
	rb_mem_network_advance(network, now_ns);
}

static int open_with(struct transport_pair *pair, const struct rb_mem_config *config)
{
	now_ns = 0;
	pair->let_pass = let_pass;
	pair->spread = 1;
	if (rb_mem_network_create(config, &network))
		return -1;
	for (int i = 0; i < 2; i++) {
		const struct rb_endpoint self = {
			.gid = { 0xfd, [15] = (uint8_t)(i + 1) },
			.qpn = 0x100 + (uint32_t)i,
			.qkey = 0x12345678 + (uint32_t)i,
			.message_max_bytes = CHUNK_BYTES,
		};

		area[i] = malloc(CHUNKS * CHUNK_BYTES);
		if (!area[i] || rb_chunks_create(area[i], 0, CHUNKS, CHUNK_BYTES, &chunks[i]) ||
		    rb_mem_open(network, &self, chunks[i], 256, &pair->t[i]))
			return -1;
	}
	return 0;
}

static int open_plain(struct transport_pair *pair)
{
	const struct rb_mem_config config = { .delay_ns = 50000, .in_flight_max = 64 };

	return open_with(pair, &config);
}

static int open_lending(struct transport_pair *pair)
{
	const struct rb_mem_config config = { .delay_ns = 50000,
					      .in_flight_max = 64,
					      .lend = true };

	return open_with(pair, &config);
}

static void close_all(struct transport_pair *pair)
{
	for (int i = 0; i < 2; i++) {
		pair->t[i]->ops->close(pair->t[i]);
		rb_chunks_reclaim(chunks[i], RB_OWNER_RECEIVE);
		rb_chunks_destroy(chunks[i]);
		free(area[i]);
	}
	rb_mem_network_destroy(network);
}

/* --- Impairments --- */

#define SENDS 20000

struct tally {
	uint32_t seen[SENDS]; /* times each message arrived */
	uint32_t received, reordered, marked;
};

/* Send SENDS numbered messages one way, and count what arrives. */
static void run(const struct rb_mem_config *config, struct tally *tally)
{
	struct transport_pair pair;
	struct rb_endpoint to;
	struct rb_path *path;
	int64_t newest = -1;

	memset(tally, 0, sizeof(*tally));
	assert_int_equal(open_with(&pair, config), 0);
	pair.t[1]->ops->endpoint(pair.t[1], &to);
	assert_int_equal(pair.t[0]->ops->path_create(pair.t[0], &to, NULL, &path), 0);
	for (uint32_t sent = 0, idle = 0; idle < 200;) {
		const struct rb_piece piece = { (const uint8_t *)&sent, sizeof(sent) };
		struct rb_completion c[64];
		uint64_t offset;
		uint32_t n;

		while (chunks[1]->count[RB_OWNER_RECEIVE] < 200) {
			offset = rb_chunk_take(chunks[1], RB_OWNER_RECEIVE);
			pair.t[1]->ops->post_receive(pair.t[1], &offset, 1);
		}
		if (sent < SENDS && pair.t[0]->ops->post_send(pair.t[0], path, &piece, 1, 0) == 1)
			sent++;
		else
			idle += sent == SENDS;
		let_pass(&pair);
		n = pair.t[1]->ops->poll(pair.t[1], c, 64, now_ns);
		for (uint32_t i = 0; i < n; i++) {
			uint32_t number;

			memcpy(&number, rb_chunk_data(chunks[1], c[i].offset), sizeof(number));
			assert_in_range(number, 0, SENDS - 1);
			tally->seen[number]++;
			tally->received++;
			tally->marked += c[i].ce;
			tally->reordered += number < newest;
			if (number > newest)
				newest = number;
			rb_chunk_release(chunks[1], c[i].offset, RB_OWNER_MESSAGE);
		}
	}
	close_all(&pair);
}

static struct tally first, second;

static void mem_loses_the_share_it_is_told(void **state)
{
	const struct rb_mem_config config = { .seed = 1, .loss_ppm = 100000, .in_flight_max = 64 };

	(void)state;
	run(&config, &first);
	/* 10 % of 20,000: 5 standard deviations are 212. */
	assert_in_range(first.received, 18000 - 212, 18000 + 212);
	assert_int_equal(first.reordered, 0);
	for (int i = 0; i < SENDS; i++)
		assert_in_range(first.seen[i], 0, 1);
}

static void mem_duplicates_the_share_it_is_told(void **state)
{
	const struct rb_mem_config config = { .seed = 1,
					      .duplicate_ppm = 50000,
					      .in_flight_max = 64 };

	(void)state;
	run(&config, &first);
	assert_in_range(first.received, 21000 - 155, 21000 + 155);
	for (int i = 0; i < SENDS; i++)
		assert_in_range(first.seen[i], 1, 2);
}

static void mem_reorders_and_marks_the_share_it_is_told(void **state)
{
	const struct rb_mem_config config = { .seed = 1,
					      .reorder_ppm = 50000,
					      .mark_ppm = 200000,
					      .reorder_ns = 450000,
					      .in_flight_max = 64 };

	(void)state;
	run(&config, &first);
	assert_int_equal(first.received, SENDS);
	assert_in_range(first.reordered, 900, 1100);
	assert_in_range(first.marked, 4000 - 283, 4000 + 283);
}

static void mem_repeats_itself_for_the_same_seed(void **state)
{
	struct rb_mem_config config = { .seed = 42,
					.loss_ppm = 20000,
					.duplicate_ppm = 20000,
					.reorder_ppm = 20000,
					.mark_ppm = 20000,
					.delay_ns = 300000,
					.reorder_ns = 900000,
					.in_flight_max = 64 };

	(void)state;
	run(&config, &first);
	run(&config, &second);
	assert_memory_equal(&first, &second, sizeof(first));
	config.seed = 43;
	run(&config, &second);
	assert_memory_not_equal(&first, &second, sizeof(first));
}

static void mem_bad_configuration_is_refused(void **state)
{
	struct rb_mem_config config = { .loss_ppm = 1000001, .in_flight_max = 1 };
	struct rb_mem_network *n;

	(void)state;
	assert_int_equal(rb_mem_network_create(&config, &n), -EINVAL);
	config = (struct rb_mem_config){ .in_flight_max = 0 };
	assert_int_equal(rb_mem_network_create(&config, &n), -EINVAL);
	assert_null(n);
	rb_mem_network_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mem_bad_configuration_is_refused),
		cmocka_unit_test(mem_loses_the_share_it_is_told),
		cmocka_unit_test(mem_duplicates_the_share_it_is_told),
		cmocka_unit_test(mem_reorders_and_marks_the_share_it_is_told),
		cmocka_unit_test(mem_repeats_itself_for_the_same_seed),
	};

	return cmocka_run_group_tests_name("mem", tests, NULL, NULL) +
	       transport_contract_run("mem", open_plain, close_all) +
	       transport_contract_run("mem_lending", open_lending, close_all);
}
