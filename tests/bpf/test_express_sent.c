// SPDX-License-Identifier: BSD-2-Clause
/*
 * When the samples of frames end that sl_fabric redirected: with the batch in which the driver of
 * the port takes them. Messages come in from q4 to p4, where sl_fabric runs, many at a time; their
 * frames leave by p2 to q2.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>

#include "bpf/abi/arrival.h"
#include "bpf/abi/inject.h"
#include "bpf/lib/endian.bpf.h"
#include "rdma-bridge/queue/pack.h"
#include "rdma-bridge/transport/fabric_xdp.h"
#include "rdma-bridge/transport/roce.h"
#include "tests/lib/deadline.h"
#include "tests/lib/edge_rig.h"
#include "user/lib/clock.h"

#define SENDER	      8 /* node ids */
#define RECEIVER      9
#define SYSTEM_PORT   SL_SYSTEM_PORT(RECEIVER, 3)
#define SENDER_EPOCH  0x5e17d001
#define SENDER_QPN    0x456
#define RECEIVER_QPN  0x345
#define QKEY	      0x1234567
#define BATCH_MAX     64
#define BULK_FRAMES   16 /* of the kernel */
#define FRAME_BYTES   100
#define BIG_BYTES     1400
#define MESSAGE_BYTES 1600
#define TOO_SMALL_MTU "1000" /* for BIG_BYTES */

static struct rb_fabric_xdp *fabric;
static struct bpf_object *injector;
static struct sl_inject_slot *slots;
static uint32_t injected, sequence;

/* --- Messages --- */

static void address(uint8_t node, uint8_t out[16])
{
	memset(out, 0, 16);
	out[10] = out[11] = 0xff;
	out[12] = 10;
	out[13] = 9;
	out[15] = node;
}

/* An express message with a frame of so many bytes, protected by its ICRC. */
static uint32_t make_message(uint32_t frame_bytes, uint8_t *out)
{
	const struct rb_roce_config config = { .pkey = 0xffff, .hop_limit = 255 };
	const struct rb_frame frame = { .len_bytes = frame_bytes,
					.system_port = SYSTEM_PORT,
					.ingress_port = SL_SYSTEM_PORT(SENDER, 1) };
	struct rb_msg_header header = { .type = RB_MSG_DATA,
					.source = SENDER,
					.destination = RECEIVER,
					.stream = 1,
					.epoch = SENDER_EPOCH,
					.sequence = ++sequence };
	struct rb_roce_end local = { .mac = { 2, 0, 0, 0, 8, 1 }, .qpn = SENDER_QPN };
	struct rb_roce_end remote = { .mac = { 2, 0, 0, 0, 9, 1 },
				      .qpn = RECEIVER_QPN,
				      .qkey = QKEY };
	static uint8_t bytes[BIG_BYTES];
	struct rb_roce_path path;
	struct rb_pack pack;
	uint32_t n;

	address(SENDER, local.ip);
	address(RECEIVER, remote.ip);
	assert_int_equal(rb_roce_path_init(&path, &config, &local, &remote), 0);
	assert_int_equal(rb_pack_init(&pack, 4096, 1), 0);
	assert_int_equal(rb_pack_add(&pack, &frame), 0);
	n = rb_pack_copy(&pack, bytes, &header, out + path.header_bytes);
	return rb_roce_frame(&path, sequence, out, n);
}

/* Put a message with a frame of so many bytes behind those that deliver() sends next. */
static void put(uint32_t frame_bytes)
{
	struct sl_inject_slot *slot = &slots[injected++ & (SL_INJECT_SLOTS - 1)];

	slot->ifindex = EDGE_PEER(4);
	slot->len_bytes = make_message(frame_bytes, slot->frame);
}

/* --- Samples --- */

static const struct sl_samples *samples(void)
{
	return rb_fabric_xdp_samples(fabric);
}

static const struct sl_sample *sample(uint32_t i)
{
	return &samples()->sample[(samples()->read + i) % SL_SAMPLES];
}

static bool has_ended(uint32_t i)
{
	return __atomic_load_n(&sample(i)->number, __ATOMIC_ACQUIRE) == samples()->read + i + 1;
}

/* Send the n messages that were put, in one batch, and wait until the sample of each has ended. */
static void deliver(uint32_t n)
{
	static const uint8_t any[64];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = any, .data_size_in = sizeof(any),
		    .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .repeat = (int)n, .batch_size = BATCH_MAX);
	const uint64_t deadline_ns = sl_now_ns() + DEADLINE_NS;
	const struct bpf_program *program = bpf_object__find_program_by_name(injector, "sl_inject");

	rb_fabric_xdp_samples(fabric)->read = samples()->made;
	assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(program), &opts), 0);
	for (uint32_t i = 0; i < n; i++)
		while (!has_ended(i))
			if (sl_now_ns() > deadline_ns)
				fail_msg("sample %u of %u did not end", i, n);
	assert_int_equal(samples()->made, samples()->read + n);
}

/* Samples first..end-1 ended with one flush, after `since_ns`. Returns when. */
static uint64_t end_together(uint32_t first, uint32_t end, uint64_t since_ns)
{
	const uint64_t left_ns = sample(first)->left_ns;

	assert_in_range(left_ns, since_ns, sl_now_ns());
	for (uint32_t i = first; i < end; i++) {
		assert_int_equal(sample(i)->left_ns, left_ns);
		assert_in_range(sample(i)->came_ns, 1, left_ns);
	}
	return left_ns;
}

static void end_without_time(uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++)
		assert_int_equal(sample(i)->left_ns, 0);
}

/* --- Tests --- */

static void sh(const char *command)
{
	if (system(command))
		fail_msg("%s", command);
}

static void frames_of_a_flush_end_together(void **state)
{
	const uint64_t begin_ns = sl_now_ns();

	(void)state;
	assert_int_equal(rb_fabric_xdp_sent_error(fabric), 0);
	for (uint32_t i = 0; i < 5; i++)
		put(FRAME_BYTES);
	deliver(5);
	end_together(0, 5, begin_ns);
}

/* The frame that finds the bulk full belongs to the next one. */
static void a_full_bulk_ends_before_the_rest(void **state)
{
	const uint32_t counts[] = { BULK_FRAMES, BULK_FRAMES + 1, 3 * BULK_FRAMES,
				    3 * BULK_FRAMES + 5 };

	(void)state;
	for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
		uint64_t since_ns = sl_now_ns();

		for (uint32_t i = 0; i < counts[k]; i++)
			put(FRAME_BYTES);
		deliver(counts[k]);
		for (uint32_t i = 0; i < counts[k]; i += BULK_FRAMES) {
			const uint32_t end =
				i + BULK_FRAMES < counts[k] ? i + BULK_FRAMES : counts[k];

			since_ns = end_together(i, end, since_ns) + 1;
		}
	}
}

static void frames_that_the_driver_does_not_take_have_no_time(void **state)
{
	const uint64_t begin_ns = sl_now_ns();

	(void)state;
	sh("ip link set q2 mtu " TOO_SMALL_MTU); /* veth takes none that its peer could not receive
						  */
	for (uint32_t i = 0; i < 5; i++)
		put(i == 2 ? BIG_BYTES : FRAME_BYTES);
	deliver(5);
	end_together(0, 2, begin_ns);
	end_without_time(2, 5);
	sh("ip link set q2 mtu 9000 && ip link set q2 down");
	put(FRAME_BYTES);
	deliver(1); /* the driver takes none of the batch */
	end_without_time(0, 1);
	sh("ip link set q2 up");
	frames_of_a_flush_end_together(NULL);
}

static void a_frame_whose_redirect_is_refused_has_no_time(void **state)
{
	(void)state;
	sh("ip link set p2 down");
	for (uint32_t i = 0; i < BULK_FRAMES + 2; i++)
		put(FRAME_BYTES);
	deliver(BULK_FRAMES + 2);
	end_without_time(0, BULK_FRAMES + 2);
	sh("ip link set p2 up");
	frames_of_a_flush_end_together(NULL);
	a_full_bulk_ends_before_the_rest(NULL);
}

static int load_injector(void)
{
	struct bpf_program *program;
	struct bpf_map *map;

	injector = bpf_object__open_file("build/inject.bpf.o", NULL);
	if (!injector)
		return -1;
	bpf_object__for_each_program(program, injector)
		bpf_program__set_autoload(program,
					  strcmp(bpf_program__name(program), "sl_inject") == 0);
	if (bpf_object__load(injector))
		return -1;
	map = bpf_object__find_map_by_name(injector, "inject_slots");
	slots = mmap(NULL, SL_INJECT_SLOTS * sizeof(*slots), PROT_READ | PROT_WRITE, MAP_SHARED,
		     bpf_map__fd(map), 0);
	return slots == MAP_FAILED ? -1 : 0;
}

static int setup(void **state)
{
	uint8_t self[16];
	const struct rb_fabric_xdp_config config = { .ifindex = EDGE_PORT(4),
						     .address = self,
						     .queues = EDGE_QUEUES,
						     .workers = 1,
						     .first_qpn = RECEIVER_QPN,
						     .express = true,
						     .node = RECEIVER,
						     .qkey = QKEY,
						     .sample = 1 };
	struct sl_arrivals *from;
	struct sl_arrival_port *port;

	(void)state;
	address(RECEIVER, self);
	if (edge_enter_namespace())
		return -1;
	sh("ip link set q4 mtu 1600 && ip link set p4 mtu 1600"); /* for XDP in one buffer */
	if (rb_fabric_xdp_open(&config, &fabric) || load_injector())
		return -1;
	from = &rb_fabric_xdp_arrivals(fabric)[SENDER];
	address(SENDER, (uint8_t *)from->ip);
	from->epoch = sl_htonl(SENDER_EPOCH);
	from->qpn = sl_htonl(SENDER_QPN);
	from->check = SL_EXPRESS_ICRC;
	port = &rb_fabric_xdp_ports(fabric)[SYSTEM_PORT & 0xff];
	port->ifindex = EDGE_PORT(2);
	port->rate = SL_RATE_UNLIMITED;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	rb_fabric_xdp_close(fabric);
	bpf_object__close(injector);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_of_a_flush_end_together),
		cmocka_unit_test(a_full_bulk_ends_before_the_rest),
		cmocka_unit_test(frames_that_the_driver_does_not_take_have_no_time),
		cmocka_unit_test(a_frame_whose_redirect_is_refused_has_no_time),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
