/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A remote port's TAP, a real one in a network namespace of the process: frames of the kernel come
 * out by class, whole and in order; frames without room wait, or are dropped by name. The test sets
 * the time.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "bpf/lib/endian.bpf.h"
#include "rdma-bridge/port/tap.h"
#include "rdma-bridge/wire/bytes.h"

#define NAME	    "n2p1"
#define CHUNKS	    2048
#define CHUNK_BYTES 4096
#define EF	    46 /* a DSCP, which the maps put into class 3 */
#define LEN_BYTES   100
#define MS	    1000000ULL

static uint64_t now_ns;
static uint8_t *area;
static struct rb_chunks *chunks;
static struct sl_counter counters[RB_COUNT_COUNT];
static struct rb_maps maps;
static struct rb_tap *tap;
static int sender;
static uint32_t sent;

/* In the place of the C library's function: the time that the test sets. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	now->tv_sec = (time_t)(now_ns / 1000000000);
	now->tv_nsec = (long)(now_ns % 1000000000);
	return 0;
}

static int enter_namespace(void **state)
{
	(void)state;
	return unshare(CLONE_NEWNET) ||
	       system("ip tuntap add " NAME " mode tap && ip link set " NAME
		      " addrgenmode none up");
}

static int setup(void **state)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_protocol = sl_htons(ETH_P_IP) };
	int one = 1;

	(void)state;
	now_ns = 1000 * MS;
	sent = 0;
	memset(counters, 0, sizeof(counters));
	memset(&maps, 0, sizeof(maps));
	maps.class_of[EF] = 3;
	area = malloc((size_t)CHUNKS * CHUNK_BYTES);
	assert_non_null(area);
	assert_int_equal(rb_chunks_create(area, 0, CHUNKS, CHUNK_BYTES, &chunks), 0);
	assert_int_equal(rb_tap_open(NAME, &maps, chunks, counters, &tap), 0);
	assert_int_equal(rb_tap_carrier(tap, true), 0);
	to.sll_ifindex = (int)if_nametoindex(NAME);
	sender = socket(AF_PACKET, SOCK_RAW, 0);
	assert_int_equal(setsockopt(sender, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)), 0);
	return bind(sender, (struct sockaddr *)&to, sizeof(to));
}

static int teardown(void **state)
{
	(void)state;
	rb_tap_close(tap);
	close(sender);
	assert_int_equal(chunks->n_free, CHUNKS);
	assert_int_equal(chunks->violations, 0);
	rb_chunks_destroy(chunks);
	free(area);
	return 0;
}

static void build(uint8_t frame[LEN_BYTES], uint32_t number, uint8_t dscp)
{
	memset(frame, (int)number, LEN_BYTES);
	frame[0] = 2;
	rb_put16(frame + 12, ETH_P_IP);
	frame[14] = 0x45;
	frame[15] = (uint8_t)(dscp << 2);
	rb_put32(frame + 20, number);
}

/* Send n frames as the kernel does, with the next numbers. */
static void transmit(uint32_t n, uint8_t dscp)
{
	uint8_t frame[LEN_BYTES];

	for (uint32_t i = 0; i < n; i++) {
		build(frame, sent++, dscp);
		assert_int_equal(send(sender, frame, sizeof(frame), 0), sizeof(frame));
	}
	rb_tap_ready(tap);
}

/* Read ahead as a VOQ of this class does. The frames must be those from `number` on. */
static uint32_t receive(uint32_t class, uint32_t number, uint8_t dscp)
{
	struct rb_input *input = rb_tap_input(tap, class);
	struct rb_frame frames[RB_READ_AHEAD];
	uint32_t n = input->receive(input->context, frames, RB_READ_AHEAD);

	for (uint32_t i = 0; i < n; i++) {
		uint8_t expected[LEN_BYTES];

		build(expected, number + i, dscp);
		assert_int_equal(frames[i].len_bytes, LEN_BYTES);
		assert_int_equal(frames[i].ingress_port, 0);
		assert_memory_equal(rb_chunk_data(chunks, frames[i].offset), expected, LEN_BYTES);
		rb_chunk_release(chunks, frames[i].offset, RB_OWNER_INGRESS);
	}
	return n;
}

static void frames_come_out_by_class_whole_and_in_order(void **state)
{
	(void)state;
	transmit(3, 0);
	transmit(2, EF);
	assert_int_equal(receive(0, 0, 0), 3);
	assert_int_equal(receive(3, 3, EF), 2);
	/* A new class in the maps holds from now on. */
	maps.class_of[EF] = 1;
	transmit(1, EF);
	assert_int_equal(receive(3, 0, EF), 0);
	assert_int_equal(receive(1, 5, EF), 1);
}

static void frame_that_is_not_unicast_is_dropped_by_name(void **state)
{
	uint8_t frame[LEN_BYTES];

	(void)state;
	build(frame, 0, 0);
	frame[0] = 1;
	assert_int_equal(send(sender, frame, sizeof(frame), 0), sizeof(frame));
	transmit(1, 0);
	assert_int_equal(receive(0, 0, 0), 1);
	assert_int_equal(counters[RB_COUNT_DROP_NOT_UNICAST].packets, 1);
	assert_int_equal(counters[RB_COUNT_DROP_NOT_UNICAST].bytes, LEN_BYTES);
}

/* The kernel sends such frames where somebody raised the MTU of the TAP. */
static void frame_larger_than_a_chunk_is_dropped_as_too_big_and_none_is_cut(void **state)
{
	enum { ROOM = CHUNK_BYTES - 256 };
	static uint8_t frame[2 * CHUNK_BYTES];
	struct rb_input *input = rb_tap_input(tap, 0);
	struct rb_frame out[RB_READ_AHEAD];
	static const uint32_t lengths[] = { ROOM + 1, sizeof(frame), ROOM };

	(void)state;
	assert_int_equal(system("ip link set " NAME " mtu 9000"), 0);
	build(frame, 0, 0);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		assert_int_equal(send(sender, frame, lengths[i], 0), lengths[i]);
	rb_tap_ready(tap);
	assert_int_equal(input->receive(input->context, out, RB_READ_AHEAD), 1);
	assert_int_equal(out[0].len_bytes, ROOM);
	rb_chunk_release(chunks, out[0].offset, RB_OWNER_INGRESS);
	assert_int_equal(counters[RB_COUNT_DROP_TOO_BIG].packets, 2);
	assert_int_equal(counters[RB_COUNT_INGRESS].packets, 2);
}

/* 400 frames a second: the VOQ asks for 32 frames every 80 ms. */
static void class_that_drains_slowly_loses_nothing(void **state)
{
	uint32_t got = 0;

	(void)state;
	transmit(400, 0);
	for (int i = 0; i < 100 && got < 400; i++) {
		got += receive(0, got, 0);
		/* The other classes ask all the time. */
		for (int k = 0; k < 8; k++) {
			assert_int_equal(receive(3, 0, EF), 0);
			now_ns += 10 * MS;
		}
	}
	assert_int_equal(got, 400);
	assert_int_equal(counters[RB_COUNT_DROP_KERNEL_FULL].packets, 0);
}

static void full_class_that_stands_still_drops_and_lets_others_pass(void **state)
{
	(void)state;
	transmit(RB_TAP_WAITING + 5, 0);
	transmit(1, EF);
	now_ns += RB_TAP_PATIENCE_NS - 1;
	assert_int_equal(receive(3, 0, EF), 0);
	now_ns += RB_TAP_PATIENCE_NS;
	assert_int_equal(receive(3, RB_TAP_WAITING + 5, EF), 1);
	assert_int_equal(counters[RB_COUNT_DROP_KERNEL_FULL].packets, 5);
	assert_int_equal(receive(0, 0, 0), RB_READ_AHEAD);
}

static void tap_leaves_the_reserve_of_chunks_and_the_kernel_waits(void **state)
{
	uint64_t taken[CHUNKS - RB_TAP_RESERVE - 3];

	(void)state;
	for (uint32_t i = 0; i < CHUNKS - RB_TAP_RESERVE - 3; i++)
		taken[i] = rb_chunk_take(chunks, RB_OWNER_FILL);
	transmit(5, 0);
	transmit(5, EF);
	assert_int_equal(receive(3, 0, EF), 0);
	assert_int_equal(chunks->n_free, RB_TAP_RESERVE);
	assert_int_equal(receive(0, 0, 0), 3);
	assert_int_equal(receive(0, 3, 0), 2);
	for (uint32_t i = 0; i < CHUNKS - RB_TAP_RESERVE - 3; i++)
		rb_chunk_release(chunks, taken[i], RB_OWNER_FILL);
	assert_int_equal(receive(3, 5, EF), 5);
	assert_int_equal(counters[RB_COUNT_DROP_KERNEL_FULL].packets, 0);
}

/* ingress = sent + drops, as frame_counters.h has it. */
static void frames_waiting_at_close_count_as_ingress_and_as_dropped(void **state)
{
	(void)state;
	transmit(RB_READ_AHEAD + 3, 0);
	transmit(2, EF);
	assert_int_equal(receive(0, 0, 0), RB_READ_AHEAD);
	rb_tap_close(tap);
	tap = NULL;
	assert_int_equal(counters[RB_COUNT_INGRESS].packets, 5);
	assert_int_equal(counters[RB_COUNT_INGRESS].bytes, 5 * LEN_BYTES);
	assert_int_equal(counters[RB_COUNT_DROP_PEER_DOWN].packets, 5);
	assert_int_equal(counters[RB_COUNT_DROP_PEER_DOWN].bytes, 5 * LEN_BYTES);
}

/* A TAP of the bridge's own takes tagged frames, and the kernel sends nothing by itself. */
static void made_tap_goes_with_the_bridge_and_takes_frames_with_tags(void **state)
{
	static const uint16_t tags[] = { 0, 1, 2, 3 };
	struct sockaddr_ll to = { .sll_family = AF_PACKET };
	struct rb_frame out[RB_READ_AHEAD];
	struct rb_input *input;
	struct rb_tap *made;
	uint8_t frame[LEN_BYTES + 12], plain[LEN_BYTES];

	(void)state;
	assert_int_equal(rb_tap_create(NAME, &maps, chunks, counters, &made), -EBUSY);
	assert_null(made);
	assert_int_equal(rb_tap_create("made0", &maps, chunks, counters, &made), 0);
	to.sll_ifindex = (int)if_nametoindex("made0");
	assert_true(to.sll_ifindex > 0);
	assert_int_equal(bind(sender, (struct sockaddr *)&to, sizeof(to)), 0);
	input = rb_tap_input(made, 3);
	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
		const uint32_t bytes = 4u * tags[i];

		build(plain, 7, EF);
		memcpy(frame, plain, 12);
		for (uint32_t tag = 0; tag < tags[i]; tag++) {
			rb_put16(frame + 12 + 4 * tag, tag ? ETH_P_8021Q : ETH_P_8021AD);
			rb_put16(frame + 14 + 4 * tag, (uint16_t)(5 + tag));
		}
		memcpy(frame + 12 + bytes, plain + 12, LEN_BYTES - 12);
		assert_int_equal(send(sender, frame, LEN_BYTES + bytes, 0), LEN_BYTES + bytes);
		rb_tap_ready(made);
		assert_int_equal(input->receive(input->context, out, RB_READ_AHEAD), tags[i] < 3);
		if (tags[i] == 3) /* none but two can be forwarded */
			break;
		assert_int_equal(out[0].len_bytes, LEN_BYTES + bytes);
		assert_memory_equal(rb_chunk_data(chunks, out[0].offset), frame, LEN_BYTES + bytes);
		rb_chunk_release(chunks, out[0].offset, RB_OWNER_INGRESS);
	}
	/* The three tags, and nothing of the kernel's own. */
	assert_int_equal(counters[RB_COUNT_DROP_NOT_UNICAST].packets, 1);
	rb_tap_close(made);
	assert_int_equal(if_nametoindex("made0"), 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(frames_come_out_by_class_whole_and_in_order),
		T(frame_that_is_not_unicast_is_dropped_by_name),
		T(frame_larger_than_a_chunk_is_dropped_as_too_big_and_none_is_cut),
		T(class_that_drains_slowly_loses_nothing),
		T(full_class_that_stands_still_drops_and_lets_others_pass),
		T(tap_leaves_the_reserve_of_chunks_and_the_kernel_waits),
		T(made_tap_goes_with_the_bridge_and_takes_frames_with_tags),
		T(frames_waiting_at_close_count_as_ingress_and_as_dropped),
	};
	return cmocka_run_group_tests_name("tap", tests, enter_namespace, NULL);
}
