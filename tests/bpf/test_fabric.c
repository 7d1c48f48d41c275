// SPDX-License-Identifier: BSD-2-Clause
/* sl_fabric: which frames of the fabric's netdev go to the bridge, and to which of its workers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>
#include <linux/bpf.h>

#include "rdma-bridge/transport/roce.h"
#include "user/datapath/bpf_object.h"

#define WORKERS	  3
#define FIRST_QPN 0x345
#define BTH4	  42 /* where the base transport header begins in a frame over IPv4 */
#define NOBODY	  (-1)

static struct bpf_object *object;
static int program_fd, sockets_fd, socket_fd;

static int map_fd(const char *name)
{
	return bpf_object__find_map_fd_by_name(object, name);
}

static void address(uint8_t last, uint8_t out[16])
{
	const uint8_t v4[16] = { [10] = 0xff, 0xff, 10, 0, 0, last };

	memcpy(out, v4, 16);
}

static int setup(void **state)
{
	const uint32_t workers = WORKERS, first_qpn = FIRST_QPN, first = 0;
	uint8_t self[16];

	(void)state;
	object = bpf_object__open_file("build/fabric.bpf.o", NULL);
	assert_int_equal(libbpf_get_error(object), 0);
	assert_int_equal(sl_bpf_object_set_rodata(object, "workers", &workers, sizeof(workers)), 0);
	assert_int_equal(
		sl_bpf_object_set_rodata(object, "first_qpn", &first_qpn, sizeof(first_qpn)), 0);
	if (bpf_object__load(object))
		return -1;
	program_fd = bpf_program__fd(bpf_object__find_program_by_name(object, "sl_fabric"));
	sockets_fd = map_fd("fabric_xsk");
	socket_fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	address(1, self);
	return socket_fd < 0 ||
	       bpf_map_update_elem(map_fd("fabric_address"), &first, self, BPF_ANY) != 0;
}

static int teardown(void **state)
{
	(void)state;
	close(socket_fd);
	bpf_object__close(object);
	return 0;
}

/* A message of another node for a queue pair at 10.0.0.`last`. Returns its bytes. */
static uint32_t make_frame(uint8_t last, uint32_t qpn, uint8_t *out)
{
	const struct rb_roce_config config = { .pkey = 0xffff, .hop_limit = 64 };
	struct rb_roce_end local = { .qpn = 0x99 }, remote = { .qpn = qpn };
	struct rb_roce_path path;

	address(2, local.ip);
	address(last, remote.ip);
	assert_int_equal(rb_roce_path_init(&path, &config, &local, &remote), 0);
	memset(out + path.header_bytes, 0, 64);
	return rb_roce_frame(&path, 1, out, 64);
}

/* The worker that gets the frame, by trying with the socket of one worker at a time. */
static int worker_of(const uint8_t *frame, uint32_t len)
{
	int found = NOBODY;

	for (uint32_t w = 0; w < WORKERS; w++) {
		LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame, .data_size_in = len);

		assert_int_equal(bpf_map_update_elem(sockets_fd, &w, &socket_fd, BPF_ANY), 0);
		assert_int_equal(bpf_prog_test_run_opts(program_fd, &run), 0);
		assert_int_equal(bpf_map_delete_elem(sockets_fd, &w), 0);
		if (run.retval == XDP_PASS)
			continue;
		assert_int_equal(run.retval, XDP_REDIRECT);
		assert_int_equal(found, NOBODY);
		found = (int)w;
	}
	return found;
}

static void frame_goes_to_the_worker_of_its_queue_pair(void **state)
{
	static const struct {
		uint32_t qpn;
		uint8_t reserved; /* FECN, BECN and what else stands before the number */
		int worker;
	} cases[] = {
		{ FIRST_QPN, 0, 0 },	    { FIRST_QPN + 1, 0, 1 },
		{ FIRST_QPN + 2, 0, 2 },    { FIRST_QPN + 2, 0x40, 2 },
		{ FIRST_QPN + 1, 0xff, 1 }, { FIRST_QPN + WORKERS, 0, 0 },
		{ FIRST_QPN - 1, 0, 0 },    { FIRST_QPN + 0x10001, 0, 0 },
	};
	uint8_t frame[256];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t len = make_frame(1, cases[i].qpn, frame);
		int got;

		frame[BTH4 + 4] = cases[i].reserved;
		got = worker_of(frame, len);
		if (got != cases[i].worker)
			fail_msg("queue pair %#x, reserved %#x: worker %d, not %d", cases[i].qpn,
				 cases[i].reserved, got, cases[i].worker);
	}
}

static void frames_that_are_not_for_the_bridge_go_to_the_kernel(void **state)
{
	uint8_t frame[256];
	uint32_t len = make_frame(3, FIRST_QPN, frame);

	(void)state;
	assert_int_equal(worker_of(frame, len), NOBODY); /* another address */
	len = make_frame(1, FIRST_QPN, frame);
	frame[37] ^= 1; /* another UDP port */
	assert_int_equal(worker_of(frame, len), NOBODY);
	len = make_frame(1, FIRST_QPN, frame);
	frame[21] = 1; /* a fragment */
	assert_int_equal(worker_of(frame, len), NOBODY);
	len = make_frame(1, FIRST_QPN + 1, frame);
	assert_int_equal(worker_of(frame, len), 1);
	assert_int_equal(worker_of(frame, BTH4 + 7), 0); /* ends in the number */
	assert_int_equal(worker_of(frame, BTH4 - 1), NOBODY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frame_goes_to_the_worker_of_its_queue_pair),
		cmocka_unit_test(frames_that_are_not_for_the_bridge_go_to_the_kernel),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
