/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The contract of transports on `roce-xdp`, over a veth pair with two queues in a network namespace
 * of the process; and what only this transport does.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>

#include "bpf/lib/endian.bpf.h"
#include "rdma-bridge/port/netdev.h"
#include "rdma-bridge/transport/roce_xdp.h"
#include "rdma-bridge/wire/wire.h"
#include "tests/lib/deadline.h"
#include "tests/lib/transport_contract.h"
#include "user/lib/clock.h"

#define CHUNK_BYTES 4096
#define CHUNKS	    1024
#define RING	    256
#define QUEUES	    2
#define AREA_BYTES  ((uint64_t)CHUNKS * CHUNK_BYTES)

static const char *const netdev[2] = { "f0", "f1" };
static const uint8_t address4[2][16] = { { [10] = 0xff, 0xff, 10, 9, 0, 1 },
					 { [10] = 0xff, 0xff, 10, 9, 0, 2 } };
static const uint8_t address6[2][16] = { { 0xfd, 9, [15] = 1 }, { 0xfd, 9, [15] = 2 } };
static const uint8_t (*address)[16];

static uint8_t *area[2];
static struct rb_chunks *chunks[2];

static void let_pass(struct transport_pair *pair)
{
	(void)pair;
}

static struct rb_roce_xdp_config config_of(int i)
{
	struct rb_roce_xdp_config config = {
		.netdev = netdev[i],
		.qpn = 0x1000 + (uint32_t)i,
		.qkey = 0xfeed0000 + (uint32_t)i,
		.roce = { .pkey = RB_ROCE_PKEY_DEFAULT, .ecn = RB_ECN_ECT0, .hop_limit = 64 },
		.chunks = chunks[i],
		.area_bytes = AREA_BYTES,
		.ring_size = RING,
	};

	memcpy(config.address, address[i], 16);
	return config;
}

static int open_pair(struct transport_pair *pair)
{
	pair->let_pass = let_pass;
	pair->spread = QUEUES;
	for (int i = 0; i < 2; i++) {
		uint64_t end = sl_now_ns() + DEADLINE_NS;
		struct rb_roce_xdp_config config;
		int err;

		area[i] = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (area[i] == MAP_FAILED ||
		    rb_chunks_create(area[i], 0, CHUNKS, CHUNK_BYTES, &chunks[i]))
			return -1;
		config = config_of(i);
		/* A slow machine may keep queues of the former test longer than the open waits. */
		while ((err = rb_roce_xdp_open(&config, &pair->t[i])) == -EBUSY &&
		       sl_now_ns() < end)
			;
		if (err) {
			print_error("roce-xdp on %s: %s\n", netdev[i], strerror(-err));
			return -1;
		}
	}
	return 0;
}

static void close_pair(struct transport_pair *pair)
{
	for (int i = 0; i < 2; i++) {
		pair->t[i]->ops->close(pair->t[i]);
		rb_chunks_reclaim(chunks[i], RB_OWNER_RECEIVE);
		rb_chunks_destroy(chunks[i]);
		munmap(area[i], AREA_BYTES);
	}
}

/* --- What only roce-xdp has --- */

static struct transport_pair pair;
static struct rb_path *path[2];
static int raw_fd = -1;

static int setup(void **state)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_protocol = sl_htons(ETH_P_ALL) };
	int one = 1;

	(void)state;
	if (open_pair(&pair))
		return -1;
	for (int i = 0; i < 2; i++) {
		struct rb_endpoint other;

		pair.t[!i]->ops->endpoint(pair.t[!i], &other);
		if (pair.t[i]->ops->path_create(pair.t[i], &other, NULL, &path[i]))
			return -1;
	}
	to.sll_ifindex = (int)if_nametoindex(netdev[0]);
	raw_fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	/* Past the qdisc, a packet socket's frames take the queue of the CPU they leave from. */
	if (raw_fd < 0 || setsockopt(raw_fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)))
		return -1;
	return bind(raw_fd, (struct sockaddr *)&to, sizeof(to)) ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	close(raw_fd);
	close_pair(&pair);
	return 0;
}

static void post(int i, uint32_t n)
{
	while (n-- > 0) {
		uint64_t offset = rb_chunk_take(chunks[i], RB_OWNER_RECEIVE);

		assert_int_equal(pair.t[i]->ops->post_receive(pair.t[i], &offset, 1), 1);
	}
}

/* Poll t[i] until it has judged `frames` frames, drop the messages, and return the verdicts. */
static struct rb_roce_xdp_info verdicts_after(int i, uint64_t frames)
{
	uint64_t end = sl_now_ns() + DEADLINE_NS, sum;
	struct rb_completion c;
	struct rb_roce_xdp_info info;

	do {
		if (pair.t[i]->ops->poll(pair.t[i], &c, 1, sl_now_ns()) == 1)
			rb_chunk_release(chunks[i], c.offset, RB_OWNER_MESSAGE);
		rb_roce_xdp_info(pair.t[i], &info);
		sum = 0;
		for (int v = 0; v < RB_ROCE_VERDICT_COUNT; v++)
			sum += info.verdicts[v];
		assert_true(sum >= frames || sl_now_ns() < end);
	} while (sum < frames);
	assert_int_equal(sum, frames);
	return info;
}

/*
 * Make a frame for t[1] as t[0] does. The caller changes it and sends it by a packet socket.
 */
static uint32_t make(const struct rb_roce_config *roce, uint32_t payload_bytes, uint8_t *frame)
{
	struct rb_endpoint a, b;
	struct rb_roce_end from = { .qpn = 0x1000 }, to = { 0 };
	struct rb_roce_path wire;

	pair.t[0]->ops->endpoint(pair.t[0], &a);
	pair.t[1]->ops->endpoint(pair.t[1], &b);
	memcpy(from.ip, a.gid, 16);
	memcpy(from.mac, a.mac, 6);
	memcpy(to.ip, b.gid, 16);
	memcpy(to.mac, b.mac, 6);
	to.qpn = b.qpn;
	to.qkey = b.qkey;
	assert_int_equal(rb_roce_path_init(&wire, roce, &from, &to), 0);
	memset(frame + wire.header_bytes, 0xab, payload_bytes);
	return rb_roce_frame(&wire, 1, frame, payload_bytes);
}

static void put(const uint8_t *frame, uint32_t bytes)
{
	assert_int_equal(send(raw_fd, frame, bytes, 0), bytes);
}

static const struct rb_roce_config plain = { .pkey = RB_ROCE_PKEY_DEFAULT,
					     .ecn = RB_ECN_ECT0,
					     .hop_limit = 64 };

static void bad_frames_are_counted_by_name_and_their_chunks_used_again(void **state)
{
	uint8_t frame[RB_ROCE_FRAME_MAX_BYTES];
	struct rb_roce_xdp_info info;
	uint32_t n = make(&plain, 100, frame);

	(void)state;
	post(1, 8);
	for (int round = 0; round < 10; round++) {
		frame[n - 1] ^= 1;
		put(frame, n);
		frame[n - 1] ^= 1;
		put(frame, n - 5);
		verdicts_after(1, 2 * (uint64_t)round + 2);
	}
	put(frame, n);
	info = verdicts_after(1, 21);
	assert_int_equal(info.verdicts[RB_ROCE_ICRC], 10);
	assert_int_equal(info.verdicts[RB_ROCE_IP_LENGTH], 10);
	assert_int_equal(info.verdicts[RB_ROCE_SEND], 1);
	assert_int_equal(chunks[1]->count[RB_OWNER_RECEIVE], 7);
	assert_int_equal(chunks[1]->violations, 0);
}

/* Send eight messages with two bad frames before each, poll once; returns how many messages came.
 */
static uint32_t messages_of_one_poll(uint8_t *frame, uint32_t n)
{
	struct rb_completion c[8];
	uint32_t got;

	for (int i = 0; i < 24; i++) {
		frame[n - 1] ^= i % 3 < 2;
		put(frame, n);
		frame[n - 1] ^= i % 3 < 2;
	}
	got = pair.t[1]->ops->poll(pair.t[1], c, 8, sl_now_ns());
	for (uint32_t i = 0; i < got; i++)
		rb_chunk_release(chunks[1], c[i].offset, RB_OWNER_MESSAGE);
	return got;
}

static void bad_frames_do_not_hold_up_the_messages_behind_them(void **state)
{
	uint8_t frame[RB_ROCE_FRAME_MAX_BYTES];
	uint32_t n = make(&plain, 100, frame), most = 0, got;

	(void)state;
	post(1, 56); /* a queue has half of them */
	/* The kernel may not have delivered all of them yet, but not time after time. */
	for (uint64_t round = 1; round <= 20 && most < 8; round++) {
		post(1, 8);
		got = messages_of_one_poll(frame, n);
		most = got > most ? got : most;
		verdicts_after(1, 24 * round);
	}
	assert_int_equal(most, 8);
	assert_int_equal(chunks[1]->violations, 0);
}

static void frames_for_the_kernel_are_left_to_it(void **state)
{
	uint8_t frame[RB_ROCE_FRAME_MAX_BYTES];
	struct rb_roce_xdp_info info;
	struct rb_transport_stats stats;
	uint32_t n = make(&plain, 100, frame);

	(void)state;
	post(1, 8);
	frame[33] ^= 4; /* another destination address */
	put(frame, n);
	frame[33] ^= 4;
	frame[37] ^= 1; /* UDP port 4790 */
	put(frame, n);
	frame[37] ^= 1;
	frame[20] = 0x20; /* a fragment */
	put(frame, n);
	frame[20] = 0x40;
	frame[12] = 0x08; /* ARP */
	frame[13] = 0x06;
	put(frame, n);
	frame[13] = 0x00;
	put(frame, 20); /* too short to be anything */
	put(frame, n);
	info = verdicts_after(1, 1);
	assert_int_equal(info.verdicts[RB_ROCE_SEND], 1);
	pair.t[1]->ops->stats(pair.t[1], &stats);
	assert_int_equal(stats.no_buffer + stats.ring_full, 0);
	assert_int_equal(chunks[1]->count[RB_OWNER_RECEIVE], 7);
}

static void congestion_mark_is_reported_and_answered_once_per_interval(void **state)
{
	struct rb_roce_config marked = plain;
	uint8_t frame[RB_ROCE_FRAME_MAX_BYTES];
	struct rb_transport_stats stats;
	struct rb_completion c = { 0 };
	uint64_t end = sl_now_ns() + DEADLINE_NS;
	uint32_t n;

	(void)state;
	post(0, 4);
	post(1, 4);
	n = make(&marked, 100, frame);
	frame[15] |= RB_ECN_CE;
	/* The IPv4 checksum covers the mark: one's complement, so take off what was added. */
	frame[25] = (uint8_t)(frame[25] - 1);
	put(frame, n);
	put(frame, n);
	for (int got = 0; got < 2;) {
		assert_true(sl_now_ns() < end);
		/* The time does not change, so both marks are in one interval. */
		if (pair.t[1]->ops->poll(pair.t[1], &c, 1, 1000000000ULL) == 1) {
			assert_true(c.ce);
			rb_chunk_release(chunks[1], c.offset, RB_OWNER_MESSAGE);
			got++;
		}
	}
	pair.t[1]->ops->flush(pair.t[1]);
	pair.t[1]->ops->stats(pair.t[1], &stats);
	assert_int_equal(stats.marked, 2);
	assert_int_equal(stats.cnp_sent, 1);
	assert_int_equal(verdicts_after(0, 1).verdicts[RB_ROCE_CNP], 1);
	pair.t[0]->ops->stats(pair.t[0], &stats);
	assert_int_equal(stats.cnp_received, 1);
	assert_int_equal(stats.received, 0);
}

static void both_receive_queues_deliver(void **state)
{
	struct rb_roce_xdp_info info;
	struct rb_endpoint other;
	struct rb_completion c;
	int got = 0;

	(void)state;
	pair.t[1]->ops->endpoint(pair.t[1], &other);
	rb_roce_xdp_info(pair.t[1], &info);
	assert_int_equal(info.queues, QUEUES);
	assert_true(info.native_xdp);
	assert_false(info.zero_copy);
	/* Each queue has 20 chunks, so all 40 messages arrive only if both queues deliver. */
	post(1, 40);
	for (int cpu = 0; cpu < 2; cpu++) {
		uint8_t frame[RB_ROCE_FRAME_MAX_BYTES];
		uint32_t n = make(&plain, 64, frame);
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		sched_setaffinity(0, sizeof(set), &set);
		for (int i = 0; i < 20; i++)
			put(frame, n);
	}
	for (uint64_t end = sl_now_ns() + DEADLINE_NS; got < 40;) {
		assert_true(sl_now_ns() < end);
		if (pair.t[1]->ops->poll(pair.t[1], &c, 1, sl_now_ns()) == 1) {
			rb_chunk_release(chunks[1], c.offset, RB_OWNER_MESSAGE);
			got++;
		}
	}
	assert_int_equal(chunks[1]->count[RB_OWNER_RECEIVE], 0);
}

static void second_owner_of_the_netdev_is_refused(void **state)
{
	struct rb_roce_xdp_config config = config_of(0);
	struct rb_transport *t;

	(void)state;
	assert_int_equal(rb_roce_xdp_open(&config, &t), -EBUSY);
	assert_null(t);
}

static void unusable_netdev_is_refused(void **state)
{
	struct rb_roce_xdp_config config = config_of(0);
	struct rb_transport *t;

	(void)state;
	config.netdev = "nosuch0";
	assert_int_equal(rb_roce_xdp_open(&config, &t), -ENODEV);
	config.netdev = netdev[0];
	config.qpn = 1;
	assert_int_equal(rb_roce_xdp_open(&config, &t), -EINVAL);
	config.qpn = 0x1000000;
	assert_int_equal(rb_roce_xdp_open(&config, &t), -EINVAL);
	assert_null(t);
}

static void message_size_follows_the_mtu(void **state)
{
	struct rb_endpoint e;

	(void)state;
	pair.t[0]->ops->endpoint(pair.t[0], &e);
	/*
	 * 3500 less IPv4, UDP, BTH, DETH and ICRC: room for a frame of 3400 bytes and its headers.
	 */
	assert_int_equal(e.message_max_bytes, 3448);
	assert_true(e.message_max_bytes >= 3400 + RB_MSG_OVERHEAD_BYTES);
}

int main(void)
{
	static const char create[] =
		"ip link set lo up && "
		"ip link add f0 mtu 3500 numrxqueues 2 numtxqueues 2 type veth "
		"peer name f1 mtu 3500 numrxqueues 2 numtxqueues 2 && "
		"ip link set f0 up && ip link set f1 up";
#define OWN(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest own[] = {
		OWN(bad_frames_are_counted_by_name_and_their_chunks_used_again),
		OWN(bad_frames_do_not_hold_up_the_messages_behind_them),
		OWN(frames_for_the_kernel_are_left_to_it),
		OWN(congestion_mark_is_reported_and_answered_once_per_interval),
		OWN(both_receive_queues_deliver),
		OWN(second_owner_of_the_netdev_is_refused),
		OWN(unusable_netdev_is_refused),
		OWN(message_size_follows_the_mtu),
	};
	int failed;

	if (unshare(CLONE_NEWNET) || system(create)) {
		perror("a network namespace with a veth pair");
		return 1;
	}
	address = address6;
	failed = transport_contract_run("roce_xdp_ipv6", open_pair, close_pair);
	address = address4;
	failed += transport_contract_run("roce_xdp_ipv4", open_pair, close_pair);
	failed += cmocka_run_group_tests_name("roce_xdp", own, NULL, NULL);
	return failed;
}
