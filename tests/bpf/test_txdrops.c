// SPDX-License-Identifier: BSD-2-Clause
/*
 * txdrops.bpf.o counts frames that sl_edge redirected and that never left. The tests lose real
 * frames: sl_edge runs on p1, frames come in from q1, and each test blocks the way out through p2
 * to q2 in its own way.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>

#include "bpf/lib/endian.bpf.h"
#include "tests/lib/deadline.h"
#include "tests/lib/edge_case.h"
#include "user/lib/clock.h"

static struct edge *edge;

/* --- The tracer --- */

struct tracer {
	struct bpf_object *object;
	struct bpf_link *links[2];
};

static void tracer_destroy(struct tracer *t)
{
	for (int i = 0; i < 2; i++)
		bpf_link__destroy(t->links[i]);
	bpf_object__close(t->object);
}

static void tracer_create(struct tracer *t, uint64_t netns_cookie)
{
	const struct sl_txdrops_config config = { .netns_cookie = netns_cookie };
	struct bpf_program *program;
	struct bpf_map *map;
	int n = 0;

	memset(t, 0, sizeof(*t));
	t->object = bpf_object__open_file("build/txdrops.bpf.o", NULL);
	assert_int_equal(libbpf_get_error(t->object), 0);
	bpf_object__for_each_map(map, t->object) {
		bpf_map__set_pin_path(map, NULL);
		if (strstr(bpf_map__name(map), ".rodata"))
			assert_int_equal(bpf_map__set_initial_value(map, &config, sizeof(config)),
					 0);
	}
	map = bpf_object__find_map_by_name(t->object, "sl_drops");
	assert_int_equal(bpf_map__reuse_fd(map, edge_map_fd(edge, "sl_drops")), 0);
	assert_int_equal(bpf_object__load(t->object), 0);
	bpf_object__for_each_program(program, t->object) {
		t->links[n] = bpf_program__attach(program);
		assert_int_equal(libbpf_get_error(t->links[n]), 0);
		n++;
	}
	assert_int_equal(n, 2);
}

static uint64_t netns_cookie(void)
{
	uint64_t cookie = 0;
	socklen_t len = sizeof(cookie);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &len), 0);
	close(fd);
	return cookie;
}

/* --- Frames --- */

static void sh(const char *command)
{
	if (system(command))
		fail_msg("%s", command);
}

static void send_from(uint32_t ifindex, const uint8_t *frame, uint32_t len)
{
	const struct sockaddr_ll to = {
		.sll_family = AF_PACKET,
		.sll_protocol = sl_htons(ETH_P_ALL),
		.sll_ifindex = (int)ifindex,
	};
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	assert_true(fd >= 0);
	assert_int_equal(sendto(fd, frame, len, 0, (const struct sockaddr *)&to, sizeof(to)), len);
	close(fd);
}

static uint64_t drops_of(const struct edge_counters *counters)
{
	return counters->drops[SL_DROP_TX_RING].packets + counters->drops[SL_DROP_TX_ERROR].packets;
}

/*
 * Send one packet of `bytes` to 10.2.0.2, and return by how much the counters grew, once sl_edge
 * has forwarded it and counted `drops` transmit drops, or after the deadline.
 */
static void send_one(uint32_t bytes, uint32_t drops, struct edge_counters *change)
{
	uint8_t frame[FRAME_MAX_BYTES];
	uint32_t len = frame_build(&(struct frame){ .payload_bytes = (int32_t)bytes - 20 }, frame);
	uint64_t deadline_ns = sl_now_ns() + DEADLINE_NS, looked_ns;
	struct edge_counters before;

	edge_read_counters(edge, &before);
	send_from(EDGE_PEER(1), frame, len);
	do {
		looked_ns = sl_now_ns();
		edge_read_counters(edge, change);
		edge_subtract_counters(change, &before);
	} while ((!change->stats[SL_STAT_FORWARD].packets || drops_of(change) < drops) &&
		 looked_ns < deadline_ns);
	assert_int_equal(change->stats[SL_STAT_FORWARD].packets, 1);
}

/* --- Tests --- */

static int setup(void **state)
{
	int err = edge_enter_namespace();

	(void)state;
	/* nothing but our own frames enters */
	if (!err && system("for d in p1 q1 p2 q2; do "
			   "echo 1 >/proc/sys/net/ipv6/conf/$d/disable_ipv6 || exit; done"))
		err = -EIO;
	if (!err)
		err = edge_world(SL_ENGINE_FAST, &edge);
	if (err)
		return err;
	edge->program = "sl_edge_frags";
	return bpf_xdp_attach(EDGE_PORT(1), edge_program_fd(edge), XDP_FLAGS_DRV_MODE, NULL);
}

static int teardown(void **state)
{
	(void)state;
	edge_destroy(edge);
	return 0;
}

static void assert_drops(const struct edge_counters *change, uint32_t ring, uint32_t error)
{
	assert_int_equal(change->drops[SL_DROP_TX_RING].packets, ring);
	assert_int_equal(change->drops[SL_DROP_TX_ERROR].packets, error);
}

static void txdrops_frame_that_leaves_is_not_counted(void **state)
{
	struct edge_counters change;
	struct tracer tracer;

	(void)state;
	tracer_create(&tracer, netns_cookie());
	send_one(1400, 0, &change);
	assert_drops(&change, 0, 0);
	tracer_destroy(&tracer);
}

static void txdrops_driver_takes_fewer_counts_tx_ring(void **state)
{
	struct edge_counters change;
	struct tracer tracer;

	(void)state;
	tracer_create(&tracer, netns_cookie());
	sh("ip link set q2 mtu 1000"); /* veth takes no frame that its peer could not receive */
	send_one(1400, 1, &change);
	sh("ip link set q2 mtu 9000");
	assert_drops(&change, 1, 0);
	tracer_destroy(&tracer);
}

static void txdrops_device_without_ndo_xdp_xmit_counts_tx_error(void **state)
{
	struct edge_counters change;
	struct tracer tracer;

	(void)state;
	tracer_create(&tracer, netns_cookie());
	sh("ethtool -K q2 gro off");
	send_one(100, 1, &change);
	sh("ethtool -K q2 gro on");
	assert_drops(&change, 0, 1);
	tracer_destroy(&tracer);
}

static void txdrops_device_down_counts_tx_error(void **state)
{
	struct edge_counters change;
	struct tracer tracer;

	(void)state;
	tracer_create(&tracer, netns_cookie());
	sh("ip link set p2 down");
	send_one(100, 1, &change);
	sh("ip link set p2 up");
	assert_drops(&change, 0, 1);
	tracer_destroy(&tracer);
}

/* The redirect finds p2 up, and then p2's driver takes none of the batch. */
static void txdrops_driver_that_fails_counts_tx_error(void **state)
{
	struct edge_counters change;
	struct tracer tracer;

	(void)state;
	tracer_create(&tracer, netns_cookie());
	sh("ip link set q2 down");
	send_one(100, 1, &change);
	sh("ip link set q2 up");
	assert_drops(&change, 0, 1);
	tracer_destroy(&tracer);
}

static void txdrops_of_another_namespace_are_not_counted(void **state)
{
	struct edge_counters change;
	struct tracer tracer;

	(void)state;
	tracer_create(&tracer, netns_cookie() + 1);
	sh("ip link set p2 down");
	send_one(100, 0, &change);
	sh("ip link set p2 up");
	assert_drops(&change, 0, 0);
	tracer_destroy(&tracer);
}

/* Another program, which is not ours, redirects from p3 to p2. */
static void txdrops_of_another_program_are_not_counted(void **state)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_1, .imm = EDGE_PORT(2) },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = 0 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_redirect },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .prog_flags = BPF_F_XDP_HAS_FRAGS);
	int other = bpf_prog_load(BPF_PROG_TYPE_XDP, "other", "GPL", code, 4, &opts);
	uint8_t frame[FRAME_MAX_BYTES];
	uint32_t len = frame_build(&(struct frame){ .id = 1 }, frame);
	struct edge_counters before, change;
	struct tracer tracer;

	(void)state;
	assert_true(other >= 0);
	assert_int_equal(bpf_xdp_attach(EDGE_PORT(3), other, XDP_FLAGS_DRV_MODE, NULL), 0);
	tracer_create(&tracer, netns_cookie());
	sh("ip link set p2 down");
	edge_read_counters(edge, &before);
	send_from(EDGE_PEER(3), frame, len);
	/* our frame takes the same way behind it: once it counts, the other frame is through */
	send_one(100, 1, &change);
	edge_read_counters(edge, &change);
	edge_subtract_counters(&change, &before);
	sh("ip link set p2 up");
	assert_drops(&change, 0, 1);
	tracer_destroy(&tracer);
	close(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(txdrops_frame_that_leaves_is_not_counted),
		cmocka_unit_test(txdrops_driver_takes_fewer_counts_tx_ring),
		cmocka_unit_test(txdrops_device_without_ndo_xdp_xmit_counts_tx_error),
		cmocka_unit_test(txdrops_device_down_counts_tx_error),
		cmocka_unit_test(txdrops_driver_that_fails_counts_tx_error),
		cmocka_unit_test(txdrops_of_another_namespace_are_not_counted),
		cmocka_unit_test(txdrops_of_another_program_are_not_counted),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
