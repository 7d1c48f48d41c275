/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The contract of transports on verbs, and what only they have. Both ends are queue pairs of one device, which carries
 * messages to itself. Runs where there is a device (a machine of the lab):
 *
 *   verbs_contract ud|rc ADDRESS...     each a GID of a device of this host, as IPv4 or IPv6 address
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "rdma-bridge/verbs.h"
#include "tests/lib/transport_contract.h"

#define CHUNK_BYTES 4096
#define CHUNKS	    512
#define DEPTH	    128
#define AREA_BYTES  ((uint64_t)CHUNKS * CHUNK_BYTES + RB_CONTRACT_CONTENT_BYTES)
#define DEADLINE_NS 20000000000ULL /* an emulated machine shares its processors with others */

static uint8_t address[16];
static enum rb_verbs_kind kind;
static uint64_t patience_ns = 1000000000;
static uint8_t *area[2];
static struct rb_chunks *chunks[2];

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

/* What is no message is between the two ends, and they have to be asked. */
static void let_pass(struct transport_pair *pair)
{
	for (int i = 0; i < 2; i++)
		pair->t[i]->ops->poll(pair->t[i], NULL, 0, now_ns());
}

static bool settled(struct transport_pair *pair)
{
	struct rb_verbs_info info[2];

	for (int i = 0; i < 2; i++)
		rb_verbs_info(pair->t[i], &info[i]);
	return info[0].connected == 1 && info[1].connected == 1;
}

static struct rb_verbs_config config_of(int i)
{
	struct rb_verbs_config config = {
		.kind = kind,
		.qkey = 0x1eed0000 + (uint32_t)i,
		.traffic_class = 2,
		.hop_limit = 64,
		.chunks = chunks[i],
		.area_bytes = AREA_BYTES,
		.receive_depth = DEPTH,
		.send_depth = DEPTH,
		.patience_ns = patience_ns,
	};

	memcpy(config.address, address, 16);
	return config;
}

static int open_copied(struct transport_pair *pair)
{
	pair->let_pass = let_pass;
	pair->spread = 1;
	pair->silent_no_buffer = kind == RB_VERBS_UD;
	if (kind == RB_VERBS_RC) {
		pair->reliable = true;
		pair->settled = settled;
	}
	for (int i = 0; i < 2; i++) {
		struct rb_verbs_config config;
		int err;

		area[i] = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (area[i] == MAP_FAILED ||
		    rb_chunks_create(area[i], 0, CHUNKS, CHUNK_BYTES, &chunks[i]))
			return -1;
		config = config_of(i);
		err = rb_verbs_open(&config, &pair->t[i]);
		if (err) {
			print_error("verbs: %s: %s\n", strerror(-err), rb_verbs_problem(err));
			return -1;
		}
	}
	return 0;
}

/* Messages come from the region of the first end, behind its chunks; the second one's copies show the other way. */
static int open_gathered(struct transport_pair *pair)
{
	int err = open_copied(pair);

	pair->content = area[0] + AREA_BYTES - RB_CONTRACT_CONTENT_BYTES;
	return err;
}

static void close_pair(struct transport_pair *pair)
{
	for (int i = 0; i < 2; i++) {
		pair->t[i]->ops->close(pair->t[i]);
		rb_chunks_reclaim(chunks[i], RB_OWNER_RECEIVE);
		if (chunks[i]->n_free != chunks[i]->n)
			print_error("%u chunks have not come back\n",
				    chunks[i]->n - chunks[i]->n_free);
		rb_chunks_destroy(chunks[i]);
		munmap(area[i], AREA_BYTES);
	}
}

/* --- What only verbs has --- */

static struct transport_pair pair;
static struct rb_path *path[2];
static int context[2];
static uint8_t *content;

static int setup(void **state)
{
	(void)state;
	memset(&pair, 0, sizeof(pair));
	if (open_gathered(&pair))
		return -1;
	content = pair.content;
	for (uint32_t i = 0; i < RB_CONTRACT_CONTENT_BYTES; i++)
		content[i] = (uint8_t)(i * 7 + i / 253);
	for (int i = 0; i < 2; i++) {
		struct rb_endpoint other;

		pair.t[!i]->ops->endpoint(pair.t[!i], &other);
		if (pair.t[i]->ops->path_create(pair.t[i], &other, &context[i], &path[i]))
			return -1;
	}
	return 0;
}

static int teardown(void **state)
{
	bool violated = chunks[0]->violations || chunks[1]->violations;

	(void)state;
	close_pair(&pair);
	return violated ? -1 : 0;
}

static void post(int i, uint32_t n)
{
	while (n-- > 0) {
		uint64_t offset = rb_chunk_take(chunks[i], RB_OWNER_RECEIVE);

		assert_int_equal(pair.t[i]->ops->post_receive(pair.t[i], &offset, 1), 1);
	}
}

/* Send so many bytes of content from end 0; how many messages have been lent and not given back. */
static uint32_t lent;

static bool send_one(uint32_t bytes)
{
	const struct rb_piece pieces[] = { { content, bytes / 2 },
					   { content + bytes / 2, bytes - bytes / 2 } };
	int err = pair.t[0]->ops->post_send(pair.t[0], path[0], pieces, 2, bytes);

	lent += err == 0;
	pair.t[0]->ops->flush(pair.t[0]);
	return err >= 0;
}

static bool poll_sender(void)
{
	struct rb_completion c;

	if (pair.t[0]->ops->poll(pair.t[0], &c, 1, now_ns()) == 0)
		return false;
	assert_int_equal(c.kind, RB_SENT);
	assert_true(lent > 0);
	lent--;
	return true;
}

/* The message that send_one sent, unless it does not come before the deadline. */
static bool receive_one(uint32_t bytes, uint64_t deadline_ns)
{
	struct rb_completion c;

	for (uint64_t end = now_ns() + deadline_ns; now_ns() < end;) {
		poll_sender();
		if (pair.t[1]->ops->poll(pair.t[1], &c, 1, now_ns()) == 0)
			continue;
		assert_int_equal(c.kind, RB_RECEIVED);
		assert_in_range(c.len_bytes, 1, bytes);
		assert_memory_equal(rb_chunk_data(chunks[1], c.offset), content, c.len_bytes);
		assert_ptr_equal(c.context, &context[1]);
		rb_chunk_release(chunks[1], c.offset, RB_OWNER_MESSAGE);
		/* Shorter: one of before, that had to wait. */
		if (c.len_bytes == bytes)
			return true;
	}
	return false;
}

static void large_message_leaves_without_a_copy_and_a_small_one_is_copied(void **state)
{
	struct rb_transport_stats stats;
	struct rb_verbs_info info;

	(void)state;
	lent = 0;
	post(1, 4);
	rb_verbs_info(pair.t[0], &info);
	assert_true(info.region_address == (uintptr_t)area[0]);
	assert_true(info.region_bytes == AREA_BYTES);
	assert_true(send_one(1500));
	assert_int_equal(lent, 1);
	assert_true(receive_one(1500, DEADLINE_NS));
	while (lent)
		poll_sender();
	pair.t[0]->ops->stats(pair.t[0], &stats);
	assert_int_equal(stats.bytes_copied, 0);
	assert_true(send_one(100));
	assert_int_equal(lent, 0);
	assert_true(receive_one(100, DEADLINE_NS));
	assert_true(send_one(300));
	assert_int_equal(lent, 0);
	assert_true(receive_one(300, DEADLINE_NS));
	pair.t[0]->ops->stats(pair.t[0], &stats);
	assert_int_equal(stats.bytes_copied, 400);
	assert_int_equal(stats.sent_bytes, 1900);
}

static void queue_pair_in_error_recovers_and_loses_only_what_was_under_way(void **state)
{
	struct rb_endpoint before[2], after;
	struct rb_transport_stats stats;
	struct rb_verbs_info info;
	uint64_t sent = 0;

	(void)state;
	lent = 0;
	for (int i = 0; i < 2; i++)
		pair.t[i]->ops->endpoint(pair.t[i], &before[i]);
	post(1, 100);
	post(0, 10);
	for (int round = 0; round < 50; round++) {
		uint32_t bytes = 600 + (uint32_t)round;

		assert_int_equal(rb_verbs_break(pair.t[round & 1]), 0);
		/* What is sent while it is broken may be lost; what follows must not be. */
		for (uint64_t end = now_ns() + DEADLINE_NS;;) {
			assert_true(now_ns() < end);
			sent += send_one(bytes);
			if (receive_one(bytes, 20000000))
				break;
			if (chunks[1]->count[RB_OWNER_RECEIVE] < 50)
				post(1, 50);
		}
	}
	for (uint64_t end = now_ns() + DEADLINE_NS; lent && now_ns() < end;)
		poll_sender();
	assert_int_equal(lent, 0);
	for (int i = 0; i < 2; i++) {
		pair.t[i]->ops->endpoint(pair.t[i], &after);
		assert_memory_equal(&after, &before[i], sizeof(after));
		rb_verbs_info(pair.t[i], &info);
		assert_true(info.recoveries >= 25);
		assert_true(info.statuses[0] > 0);
	}
	pair.t[0]->ops->stats(pair.t[0], &stats);
	assert_int_equal(stats.sent, sent);
}

static void device_that_cannot_be_is_refused(void **state)
{
	struct rb_verbs_config config = config_of(0);
	struct rb_transport *t;

	(void)state;
	config.address[15] ^= 0x55;
	assert_int_equal(rb_verbs_open(&config, &t), -ENODEV);
	assert_null(t);
	config = config_of(0);
	config.qkey |= 1U << 31;
	assert_int_equal(rb_verbs_open(&config, &t), -EINVAL);
	config = config_of(0);
	config.hop_limit = 0;
	assert_int_equal(rb_verbs_open(&config, &t), -EINVAL);
	assert_null(t);
}

static void queue_key_with_bit_31_and_another_family_are_refused(void **state)
{
	struct rb_endpoint bad;
	struct rb_path *p;

	(void)state;
	pair.t[1]->ops->endpoint(pair.t[1], &bad);
	bad.qpn ^= 2;
	bad.qkey |= 1U << 31;
	assert_int_equal(pair.t[0]->ops->path_create(pair.t[0], &bad, NULL, &p), -EINVAL);
	bad.qkey &= ~(1U << 31);
	memset(bad.gid, 0, 12);
	if (address[0])
		bad.gid[10] = bad.gid[11] = 0xff;
	else
		bad.gid[0] = 0xfd;
	assert_int_equal(pair.t[0]->ops->path_create(pair.t[0], &bad, NULL, &p), -EINVAL);
	assert_null(p);
}

int main(int argc, char **argv)
{
#define OWN(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest own[] = {
		OWN(large_message_leaves_without_a_copy_and_a_small_one_is_copied),
		OWN(queue_pair_in_error_recovers_and_loses_only_what_was_under_way),
		OWN(device_that_cannot_be_is_refused),
		OWN(queue_key_with_bit_31_and_another_family_are_refused),
	};
	int failed = 0;

	if (argc < 3 || (strcmp(argv[1], "ud") && strcmp(argv[1], "rc"))) {
		fprintf(stderr, "usage: verbs_contract ud|rc ADDRESS...\n");
		return 2;
	}
	kind = strcmp(argv[1], "rc") ? RB_VERBS_UD : RB_VERBS_RC;
	for (int i = 2; i < argc; i++) {
		memset(address, 0, sizeof(address));
		address[10] = address[11] = 0xff;
		if (inet_pton(AF_INET, argv[i], address + 12) != 1 &&
		    inet_pton(AF_INET6, argv[i], address) != 1) {
			fprintf(stderr, "%s: no address\n", argv[i]);
			return 2;
		}
		patience_ns = 1000000000;
		failed += transport_contract_run("verbs_copied", open_copied, close_pair);
		failed += transport_contract_run("verbs_gathered", open_gathered, close_pair);
		patience_ns = 200000000; /* a dead end is given up after so long */
		failed += cmocka_run_group_tests_name("verbs", own, NULL, NULL);
	}
	return failed;
}
