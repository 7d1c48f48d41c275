/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the settings mean for a worker. The end of a bridge, with the relay's real socket and a TAP
 * that the test makes up: sluiced hears that the bridge is gone before the first remote port loses
 * its carrier.
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

#include "rdma-bridge/assembly/assembly.h"
#include "rdma-bridge/bridge/lane.h"
#include "rdma-bridge/bridge/lane_threads.h"
#include "rdma-bridge/bridge/remote_ports.h"
#include "rdma-bridge/ipc/relay_server.h"
#include "rdma-bridge/port/tap.h"
#include "rdma-bridge/transport/mem.h"
#include "user/lib/unix_address.h"

#define MS	    1000000ULL
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
static int carrier = -1; /* as the TAP was told last */
static ssize_t heard;	 /* recv by sluiced when the TAP closed: 0 says that the bridge is gone */

/* In the place of port/tap.c. */
int rb_tap_open(const char *name, const struct rb_maps *maps, struct rb_chunks *chunks,
		struct sl_counter *counters, struct rb_tap **out)
{
	(void)name, (void)maps, (void)chunks, (void)counters;
	*out = &tap;
	return 0;
}

int rb_tap_create(const char *name, const struct rb_maps *maps, struct rb_chunks *chunks,
		  struct sl_counter *counters, struct rb_tap **out)
{
	return rb_tap_open(name, maps, chunks, counters, out);
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
	(void)opened;
	carrier = on;
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
	assert_int_equal(rb_worker_add_peer(lane->worker, PEER, SL_CLASSES, SL_QUEUED_MAX_BYTES),
			 0);
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

/* In all orders of the two: the owner announces the port, and its node is heard. */
static void remote_port_has_carrier_while_it_and_its_node_are_up(void **state)
{
	static struct rb_worker worker;
	struct rb_bridge_remote remote = { .system_port = REMOTE, .tap = &tap };
	struct rb_lane lane = { .worker = &worker };
	struct rb_bridge b = { .lanes = &lane, .n_lanes = 1, .remotes = &remote, .n_remotes = 1 };

	(void)state;
	assert_int_equal(rb_lane_threads_create(&b), 0);
	for (int i = 0; i < 8; i++) {
		const bool port_up = i & 1, peer_up = i & 2, port_last = i & 4;

		worker.peers.peer[PEER].state = peer_up ? RB_PEER_UP : RB_PEER_ONE_WAY;
		if (!port_last)
			rb_bridge_remote_port_changed(&b, REMOTE, port_up, false);
		rb_bridge_set_carriers(&b, PEER);
		if (port_last)
			rb_bridge_remote_port_changed(&b, REMOTE, port_up, false);
		assert_int_equal(carrier, port_up && peer_up);
	}
	rb_lane_threads_destroy(&b);
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

static void worker_has_the_times_and_sizes_of_the_settings(void **state)
{
	struct sl_settings settings = { 0 };
	struct rb_transport transport = { 0 };
	const struct rb_bridge b = { .settings = &settings, .epoch = 77 };
	const struct rb_lane lane = { .transport = &transport };
	struct rb_worker_config config;

	(void)state;
	settings.cluster.node = 3;
	settings.cluster.liveness_ms = 40;
	settings.cluster.bridge.pack_delay_us = 7;
	settings.cluster.bridge.packing = 5;
	config = rb_bridge_worker_config(&b, &lane);
	assert_int_equal(config.node, 3);
	assert_int_equal(config.epoch, 77);
	assert_int_equal(config.dead_after_ns, 40000000);
	assert_int_equal(config.hello_interval_ns, 8000000); /* five in that time */
	assert_int_equal(config.pack_delay_ns, 7000);
	assert_int_equal(config.degree, 5);
	assert_ptr_equal(config.transport, &transport);
}

/* What the configuration says goes before the driver, which goes before 10 Gb/s. */
static void worker_knows_the_speed_of_the_fabric_and_its_place_among_the_lanes(void **state)
{
	struct sl_settings settings = { 0 };
	struct rb_rates_urgency urgency[3];
	struct rb_bridge b = { .settings = &settings, .urgency = urgency, .n_lanes = 3 };
	const struct rb_lane lane = { .index = 2 };
	struct rb_worker_config config;

	(void)state;
	config = rb_bridge_worker_config(&b, &lane);
	assert_int_equal(config.fabric_Bps, 1250000000);
	assert_ptr_equal(config.urgency, urgency);
	assert_int_equal(config.worker, 2);
	assert_int_equal(config.n_workers, 3);
	b.fabric.speed_Bps = 12500000000;
	config = rb_bridge_worker_config(&b, &lane);
	assert_int_equal(config.fabric_Bps, 12500000000);
	settings.cluster.fabric_rate.per_s = 3125000000;
	config = rb_bridge_worker_config(&b, &lane);
	assert_int_equal(config.fabric_Bps, 3125000000);
}

/* By a configuration that leaves liveness_ms out. Time here is what we say it is. */
static void silent_peer_is_down_after_50_ms_by_default(void **state)
{
	static const char text[] =
		"cluster:\n"
		"  node: 1\n"
		"  key_file: /k\n"
		"  fabric: {device: fab0, transport: roce-xdp}\n"
		"  nodes:\n"
		"    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n"
		"    - {id: 2, address: 10.9.0.2, ports: [{number: 1, name: eth1}]}\n";
	const struct rb_msg_header header = { .source = PEER, .epoch = 222 };
	const struct rb_hello hello = { .heard_epoch = 77 };
	const struct rb_lane lane = { 0 };
	struct rb_bridge b = { .epoch = 77 };
	struct rb_worker_config config;
	struct sl_settings *settings;
	char error[SL_YAML_ERROR_BYTES];
	struct rb_peers peers;
	uint64_t now_ns;

	(void)state;
	assert_int_equal(sl_settings_parse("f", text, sizeof(text) - 1, &settings, error), 0);
	b.settings = settings;
	config = rb_bridge_worker_config(&b, &lane);
	assert_int_equal(config.hello_interval_ns, 10 * MS);
	assert_int_equal(rb_peers_init(&peers, config.node, config.epoch, config.dead_after_ns), 0);
	assert_int_equal(rb_peers_add(&peers, PEER), 0);
	assert_int_equal(rb_peers_introduce(&peers, PEER, header.epoch), 0);
	assert_int_equal(rb_peers_judge(&peers, &header, 1 * MS), RB_VERDICT_OK);
	rb_peers_hello(&peers, PEER, &hello, 1 * MS);
	for (now_ns = 1 * MS; now_ns <= 51 * MS; now_ns += MS) {
		rb_peers_run(&peers, now_ns);
		rb_peers_tick(&peers, PEER, now_ns);
		assert_int_equal(peers.peer[PEER].state, RB_PEER_UP);
	}
	rb_peers_run(&peers, now_ns);
	assert_true(rb_peers_tick(&peers, PEER, now_ns));
	assert_int_equal(peers.peer[PEER].state, RB_PEER_DOWN);
	sl_settings_free(settings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(worker_has_the_times_and_sizes_of_the_settings),
		cmocka_unit_test(
			worker_knows_the_speed_of_the_fabric_and_its_place_among_the_lanes),
		cmocka_unit_test(silent_peer_is_down_after_50_ms_by_default),
		cmocka_unit_test(remote_port_has_carrier_while_it_and_its_node_are_up),
		cmocka_unit_test(sluiced_hears_of_the_end_before_a_remote_port_closes),
	};
	return cmocka_run_group_tests_name("assembly", tests, NULL, NULL);
}
