// SPDX-License-Identifier: BSD-2-Clause
/*
 * Tests of sl_edge that a table of single frames cannot hold: the checksum for each value it can
 * have, the mark that an adjacency is in use, the port that a frame really leaves by, and frames
 * without headroom.
 */
#include <linux/bpf.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <cmocka.h>

#include "bpf/abi/abi.h"
#include "bpf/abi/forwarding.h"
#include "bpf/abi/reasons.h"
#include "bpf/abi/voq.h"
#include "bpf/lib/endian.bpf.h"
#include "tests/lib/deadline.h"
#include "tests/lib/edge_case.h"

static struct edge *edge;

static int setup(void **state)
{
	int err = edge_enter_namespace();

	(void)state;
	return err ? err : edge_world(SL_ENGINE_FAST, &edge);
}

static int teardown(void **state)
{
	(void)state;
	edge_destroy(edge);
	return 0;
}

static void assert_forwards(const struct frame *in_frame, enum edge_adj adj)
{
	static uint8_t in[FRAME_MAX_BYTES], out[FRAME_MAX_BYTES], want[FRAME_MAX_BYTES];
	struct frame sent = edge_sent(in_frame, adj);
	uint32_t len = frame_build(in_frame, in), out_len, want_len;

	sent.checksum_error = 0;
	want_len = frame_build(&sent, want);
	assert_int_equal(edge_run(edge, EDGE_PORT(1), in, len, out, &out_len), XDP_REDIRECT);
	assert_int_equal(out_len, want_len);
	assert_memory_equal(out, want, want_len);
}

static void checksum_is_right_for_every_identification(void **state)
{
	(void)state;
	for (uint32_t id = 0; id <= 0xffff; id++)
		assert_forwards(&(struct frame){ .id = id }, EDGE_PLAIN);
}

static void checksum_is_right_for_every_ttl(void **state)
{
	(void)state;
	for (uint32_t ttl = 2; ttl <= 255; ttl++)
		assert_forwards(&(struct frame){ .ttl = ttl, .protocol = ttl }, EDGE_PLAIN);
}

/*
 * In ones' complement 0xffff is zero, as 0x0000 is: RFC 1624 section 3 says what an update gives.
 */
static void checksum_all_ones_is_taken_as_zero(void **state)
{
	uint8_t frame[FRAME_MAX_BYTES];
	uint32_t id = 0;

	(void)state;
	for (; id <= 0xffff; id++) {
		frame_build(&(struct frame){ .id = id }, frame);
		if (!frame[24] && !frame[25])
			break;
	}
	assert_true(id <= 0xffff);
	assert_forwards(&(struct frame){ .id = id, .checksum_error = 0xffff }, EDGE_PLAIN);
}

/* Every adjacency of the world that forwards, in a frame sent for real. */
static const struct {
	const char *dst;
	enum edge_adj adj;
	uint32_t port;
} exits[] = {
	{ "10.2.0.1", EDGE_PLAIN, 2 },	 { "10.4.0.1", EDGE_JUMBO, 3 },
	{ "10.5.0.1", EDGE_TAG1, 4 },	 { "10.6.0.1", EDGE_TAG2, 4 },
	{ "10.7.0.1", EDGE_HAIRPIN, 1 },
};

static int open_capture(uint32_t ifindex)
{
	const struct sockaddr_ll address = {
		.sll_family = AF_PACKET,
		.sll_protocol = sl_htons(ETH_P_ALL),
		.sll_ifindex = (int)ifindex,
	};
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/*
 * The next IPv4 or tagged frame. Skips frames that the namespace itself sends (neighbour
 * discovery).
 */
static ssize_t capture(int fd, uint8_t *frame)
{
	struct pollfd readable = { .fd = fd, .events = POLLIN };
	ssize_t n;

	do {
		assert_int_equal(poll(&readable, 1, DEADLINE_S * 1000), 1);
		n = recv(fd, frame, FRAME_MAX_BYTES, 0);
	} while (n >= 14 && frame[12] == 0x86 && frame[13] == 0xdd);
	return n;
}

static void live_frame_leaves_by_the_port_of_its_adjacency(void **state)
{
	static uint8_t in[FRAME_MAX_BYTES], got[FRAME_MAX_BYTES], want[FRAME_MAX_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(exits) / sizeof(exits[0]); i++) {
		struct frame frame = { .dst = exits[i].dst },
			     sent = edge_sent(&frame, exits[i].adj);
		uint32_t len = frame_build(&frame, in), want_len = frame_build(&sent, want);
		struct xdp_md ctx = { .data_end = len, .ingress_ifindex = EDGE_PORT(1) };
		LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = in, .data_size_in = len,
			    .ctx_in = &ctx, .ctx_size_in = sizeof(ctx), .repeat = 1,
			    .flags = BPF_F_TEST_XDP_LIVE_FRAMES);
		int fd = open_capture(EDGE_PEER(exits[i].port));

		assert_true(fd >= 0);
		assert_int_equal(bpf_prog_test_run_opts(edge_program_fd(edge), &run), 0);
		/*
		 * the kernel takes an outer tag off before it shows a frame: tags were compared
		 * elsewhere
		 */
		if (sent.tag[0].tpid) {
			assert_int_equal(capture(fd, got), want_len - 4);
			assert_memory_equal(got, want, 12);
			assert_memory_equal(got + 12, want + 16, want_len - 16);
		} else {
			assert_int_equal(capture(fd, got), want_len);
			assert_memory_equal(got, want, want_len);
		}
		close(fd);
	}
}

static void adjacency_is_marked_used_when_a_frame_leaves_by_it(void **state)
{
	const struct sl_adj adj = {
		.port_ifindex = EDGE_PORT(2),
		.l3_ifindex = EDGE_PORT(2),
		.mtu_bytes = 100,
	};
	uint8_t in[FRAME_MAX_BYTES], out[FRAME_MAX_BYTES];
	uint32_t id, len, out_len;

	(void)state;
	assert_int_equal(sl_fib_nexthop_create(edge->fib, &id), 0);
	assert_int_equal(sl_fib_nexthop_set_adj(edge->fib, id, &adj), 0);
	assert_int_equal(edge_route(edge, "10.99.0.0/16", id), 0);
	assert_false(sl_fib_nexthop_used(edge->fib, id));

	len = frame_build(&(struct frame){ .dst = "10.99.0.1", .payload_bytes = 100 }, in);
	assert_int_equal(edge_run(edge, EDGE_PORT(1), in, len, out, &out_len), XDP_PASS);
	assert_false(sl_fib_nexthop_used(edge->fib, id));

	len = frame_build(&(struct frame){ .dst = "10.99.0.1" }, in);
	assert_int_equal(edge_run(edge, EDGE_PORT(1), in, len, out, &out_len), XDP_REDIRECT);
	assert_true(sl_fib_nexthop_used(edge->fib, id));
	assert_false(sl_fib_nexthop_used(edge->fib, id));
	assert_int_equal(edge_run(edge, EDGE_PORT(1), in, len, out, &out_len), XDP_REDIRECT);
	assert_true(sl_fib_nexthop_used(edge->fib, id));
}

/*
 * A program that uses up the headroom before it calls sl_edge: it moves the frame's start back by
 * HEADROOM_TAKEN bytes, the frame's LEN bytes with it, and cuts the tail.
 */
#define LEN	       60
#define HEADROOM_TAKEN 216 /* of 256; the kernel keeps 40 for itself */
#define CALL(helper)                                                 \
	{                                                            \
		.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_##helper \
	}
#define MOV(to, from)                                                               \
	{                                                                           \
		.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = to, .src_reg = from \
	}
#define SET(to, value)                                                           \
	{                                                                        \
		.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = to, .imm = value \
	}
#define ADD(to, value)                                                           \
	{                                                                        \
		.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = to, .imm = value \
	}

static int load_headroom_taker(int programs_fd)
{
	const struct bpf_insn code[] = {
		MOV(BPF_REG_6, BPF_REG_1),
		SET(BPF_REG_2, -HEADROOM_TAKEN),
		CALL(xdp_adjust_head),
		MOV(BPF_REG_1, BPF_REG_6),
		SET(BPF_REG_2, HEADROOM_TAKEN),
		MOV(BPF_REG_3, BPF_REG_10),
		ADD(BPF_REG_3, -64),
		SET(BPF_REG_4, LEN),
		CALL(xdp_load_bytes),
		MOV(BPF_REG_1, BPF_REG_6),
		SET(BPF_REG_2, 0),
		MOV(BPF_REG_3, BPF_REG_10),
		ADD(BPF_REG_3, -64),
		SET(BPF_REG_4, LEN),
		CALL(xdp_store_bytes),
		MOV(BPF_REG_1, BPF_REG_6),
		SET(BPF_REG_2, -HEADROOM_TAKEN),
		CALL(xdp_adjust_tail),
		MOV(BPF_REG_1, BPF_REG_6),
		{ .code = BPF_LD | BPF_DW | BPF_IMM,
		  .dst_reg = BPF_REG_2,
		  .src_reg = BPF_PSEUDO_MAP_FD,
		  .imm = programs_fd },
		{ .imm = 0 },
		SET(BPF_REG_3, 0),
		CALL(tail_call),
		SET(BPF_REG_0, XDP_ABORTED),
		{ .code = BPF_JMP | BPF_EXIT },
	};
	/* programs that call each other must have the same value */
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_XDP);

	return bpf_prog_load(BPF_PROG_TYPE_XDP, "take_headroom", "GPL", code,
			     sizeof(code) / sizeof(code[0]), &opts);
}

/* Run a frame without headroom through the program of `world`: the action, and the counters. */
static uint32_t run_without_headroom(const struct edge *world, const struct frame *frame,
				     struct edge_counters *counted)
{
	const uint32_t zero = 0;
	int sl_edge = edge_program_fd(world);
	uint8_t in[FRAME_MAX_BYTES], out[FRAME_MAX_BYTES];
	int programs = bpf_map_create(BPF_MAP_TYPE_PROG_ARRAY, "programs", 4, 4, 1, NULL);
	uint32_t len = frame_build(frame, in);
	struct xdp_md ctx = { .data_end = len, .ingress_ifindex = EDGE_PORT(1) };
	struct edge_counters before;
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = in, .data_size_in = len, .data_out = out,
		    .data_size_out = sizeof(out), .ctx_in = &ctx, .ctx_size_in = sizeof(ctx));
	int taker = load_headroom_taker(programs);

	assert_true(taker >= 0);
	assert_int_equal(len, LEN);
	assert_int_equal(bpf_map_update_elem(programs, &zero, &sl_edge, 0), 0);
	edge_read_counters(world, &before);
	assert_int_equal(bpf_prog_test_run_opts(taker, &run), 0);
	edge_read_counters(world, counted);
	edge_subtract_counters(counted, &before);
	if (run.retval == XDP_PASS) /* as it came */
		assert_memory_equal(out, in, LEN);
	close(taker);
	close(programs);
	return run.retval;
}

static void tag_without_headroom_drops(void **state)
{
	const struct frame frame = { .dst = "10.5.0.1" };
	struct edge_counters counted;

	(void)state;
	assert_int_equal(run_without_headroom(edge, &frame, &counted), XDP_DROP);
	assert_int_equal(counted.drops[SL_DROP_REWRITE].packets, 1);
	assert_int_equal(counted.drops[SL_DROP_REWRITE].bytes, LEN);
	assert_int_equal(counted.stats[SL_STAT_RX].packets, 1);
	assert_int_equal(counted.stats[SL_STAT_FORWARD].packets, 0);
}

static void metadata_without_headroom_punts_the_packet_as_it_came(void **state)
{
	const struct sl_voq voq = { .rate = SL_RATE_UNLIMITED, .limit_frames = 9, .ecn_frames = 1 };
	const struct sl_backlog waits = { .enqueued = { 1, 60 } };
	const uint32_t id = EDGE_REMOTE_VOQ, key = sl_ring_key(1, 0, 0, EDGE_QUEUES, 1);
	const struct frame frame = { .dst = "10.9.0.1", .tos = 1 };
	int fd = socket(AF_XDP, SOCK_RAW, 0);
	struct edge_counters counted;
	struct sl_backlog after;
	struct edge *cluster;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(edge_world_cluster(SL_ENGINE_FAST, &cluster), 0);
	assert_int_equal(bpf_map_update_elem(edge_map_fd(cluster, "sl_xsk"), &key, &fd, 0), 0);
	assert_int_equal(bpf_map_update_elem(edge_map_fd(cluster, "sl_voq"), &id, &voq, 0), 0);
	assert_int_equal(bpf_map_update_elem(edge_map_fd(cluster, "sl_backlog"), &id, &waits, 0),
			 0);
	assert_int_equal(run_without_headroom(cluster, &frame, &counted), XDP_PASS);
	assert_int_equal(bpf_map_lookup_elem(edge_map_fd(cluster, "sl_backlog"), &id, &after), 0);
	edge_destroy(cluster);
	close(fd);
	assert_int_equal(counted.punts[SL_PUNT_NO_META].packets, 1);
	assert_int_equal(counted.punts[SL_PUNT_NO_META].bytes, LEN);
	assert_int_equal(counted.stats[SL_STAT_VOQ].packets, 0);
	assert_int_equal(counted.stats[SL_STAT_CE].packets, 0);
	assert_memory_equal(&after, &waits, sizeof(after));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checksum_is_right_for_every_identification),
		cmocka_unit_test(checksum_is_right_for_every_ttl),
		cmocka_unit_test(checksum_all_ones_is_taken_as_zero),
		cmocka_unit_test(live_frame_leaves_by_the_port_of_its_adjacency),
		cmocka_unit_test(adjacency_is_marked_used_when_a_frame_leaves_by_it),
		cmocka_unit_test(tag_without_headroom_drops),
		cmocka_unit_test(metadata_without_headroom_punts_the_packet_as_it_came),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
