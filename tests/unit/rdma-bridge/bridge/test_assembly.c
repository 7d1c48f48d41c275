/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of a bridge, with the relay's real socket and a TAP that the test makes up: sluiced hears
 * that the bridge is gone before the first remote port loses its carrier.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rdma-bridge/bridge/assembly.h"
#include "rdma-bridge/bridge/lane.h"
#include "rdma-bridge/bridge/lane_threads.h"
#include "rdma-bridge/bridge/remote_ports.h"
#include "rdma-bridge/ipc/relay_server.h"
#include "rdma-bridge/port/tap.h"
#include "rdma-bridge/transport/mem.h"
#include "user/lib/unix_address.h"

#define CHUNKS	    64
#define CHUNK_BYTES 4096
#define PEER	    2
#define REMOTE	    SL_SYSTEM_PORT(PEER, 1)

struct rb_tap {
	struct rb_input input[SL_CLASSES];
};

static struct rb_tap tap;
static int sluiced; /* its end of the relay */
static int taps_closed;
static ssize_t heard; /* recv by sluiced when the TAP closed: 0 says that the bridge is gone */

/* In the place of port/tap.c. */
int rb_tap_open(const char *name, const struct rb_maps *maps, struct rb_chunks *chunks,
		struct sl_counter *counters, struct rb_tap **out)
{
	(void)name, (void)maps, (void)chunks, (void)counters;
	*out = &tap;
	return 0;
}

void rb_tap_close(struct rb_tap *closed)
{
	uint8_t byte;

	assert_ptr_equal(closed, &tap);
	taps_closed++;
	heard = recv(sluiced, &byte, sizeof(byte), MSG_DONTWAIT);
}

int rb_tap_fd(const struct rb_tap *opened)
{
	(void)opened;
	return -1;
}

struct rb_input *rb_tap_input(struct rb_tap *opened, uint32_t class)
{
	return &opened->input[class];
}

void rb_tap_ready(struct rb_tap *opened)
{
	(void)opened;
}

int rb_tap_carrier(struct rb_tap *opened, bool on)
{
	(void)opened, (void)on;
	return 0;
}

static void on_connected(void *context)
{
	(void)context;
}

static const struct rb_relay_ops relay_ops = { .connected = on_connected };

static void open_lane(struct rb_bridge *b, struct rb_mem_network *network)
{
	const struct rb_endpoint self = { .gid = { 1 },
					  .qpn = 17,
					  .message_max_bytes = CHUNK_BYTES };
	struct rb_worker_config config = {
		.node = 1,
		.epoch = 1,
		.dead_after_ns = 50000000,
		.hello_interval_ns = 10000000,
		.degree = 1,
		.receive_target = 8,
	};
	struct rb_lane *lane;

	assert_int_equal(rb_lane_threads_create(b), 0);
	assert_int_equal(rb_lanes_open(b, 1), 0);
	lane = &b->lanes[0];
	b->area_bytes = CHUNKS * CHUNK_BYTES;
	b->area = mmap(NULL, b->area_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	assert_ptr_not_equal(b->area, MAP_FAILED);
	assert_int_equal(rb_chunks_create(b->area, 0, CHUNKS, CHUNK_BYTES, &lane->chunks), 0);
	assert_int_equal(rb_mem_open(network, &self, lane->chunks, 16, &lane->transport), 0);
	config.transport = lane->transport;
	assert_int_equal(rb_worker_create(&config, &lane->worker), 0);
	assert_int_equal(
		rb_worker_add_peer(lane->worker, PEER, SL_CLASSES, RB_BRIDGE_FRAME_MAX_BYTES), 0);
}

static void connect_sluiced(struct rb_bridge *b, const char *path)
{
	struct sockaddr_un address;
	socklen_t len;

	b->sockets_fd = epoll_create1(EPOLL_CLOEXEC);
	assert_int_equal(rb_relay_open(path, b->sockets_fd, &relay_ops, b, &b->relay), 0);
	sluiced = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(sl_unix_address(path, &address, &len), 0);
	assert_int_equal(connect(sluiced, (struct sockaddr *)&address, len), 0);
	rb_relay_accept(b->relay);
}

static void sluiced_hears_of_the_end_before_a_remote_port_closes(void **state)
{
	const struct rb_mem_config shape = { .in_flight_max = 16 };
	char directory[] = "/tmp/sluice-assembly-XXXXXX", path[64];
	struct rb_bridge *b = calloc(1, sizeof(*b));
	struct rb_mem_network *network;

	(void)state;
	assert_non_null(b);
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/relay", directory);
	b->maps.xsk_fd = b->maps.dscp_fd = -1;
	assert_int_equal(rb_mem_network_create(&shape, &network), 0);
	open_lane(b, network);
	connect_sluiced(b, path);
	b->remotes = calloc(1, sizeof(*b->remotes));
	assert_non_null(b->remotes);
	b->remotes[b->n_remotes++].system_port = REMOTE;
	rb_bridge_remote_port_changed(b, REMOTE, true, false);
	assert_ptr_equal(b->remotes[0].tap, &tap);

	rb_bridge_close(b);

	assert_int_equal(taps_closed, 1);
	assert_int_equal(heard, 0);
	close(sluiced);
	rb_mem_network_destroy(network);
	assert_int_equal(rmdir(directory), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sluiced_hears_of_the_end_before_a_remote_port_closes),
	};
	return cmocka_run_group_tests_name("assembly", tests, NULL, NULL);
}
