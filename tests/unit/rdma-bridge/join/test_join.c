/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Joining over real TCP: nodes of one process on 127.0.0.1, .2, ... The test makes up the time, so
 * that it tells what happens at once from what happens with the next try.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rdma-bridge/join/join.h"

#define MS    1000000ULL
#define NODES 3
/* Rounds of all nodes: the kernel delivers on loopback at once, but may need its turn. */
#define TURNS	 20000
#define STRANGER 9

struct node {
	struct rb_join *join;
	uint32_t introduced[256]; /* how often, by node id */
	uint32_t epoch[256];	  /* of the last time */
};

static struct node nodes[STRANGER + 1];
static const struct rb_keys key_a = { 1, { { "sixteen bytes or more", 21 } } };
static const struct rb_keys key_b = { 1, { { "sixteen bytes or other", 22 } } };
static struct rb_versions versions; /* that nodes speak which begin */
static uint16_t port;
static uint64_t now_ns;

static void gid_of(uint8_t last, uint8_t gid[16])
{
	const uint8_t mapped[16] = { [10] = 0xff, 0xff, 127, 0, 0, last };

	memcpy(gid, mapped, 16);
}

/* A TCP port that is free, and that no outgoing connection will be given. */
static uint16_t free_port(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	uint16_t candidate = (uint16_t)(10000 + getpid() % 20000);

	do
		any.sin_port = htons(++candidate);
	while (bind(fd, (struct sockaddr *)&any, sizeof(any)));
	close(fd);
	return candidate;
}

static void on_introduced(void *context, const struct rb_introduction *peer, uint32_t key)
{
	struct node *node = context;

	(void)key;
	node->introduced[peer->node]++;
	node->epoch[peer->node] = peer->epoch;
}

/* Node `id`, which claims to be `claimed`, at 127.0.0.`at`; peers are the nodes 1..NODES. */
static void begin_as(uint8_t id, uint8_t claimed, uint8_t at, uint32_t epoch,
		     const struct rb_keys *keys)
{
	struct rb_join_config config = { .port = port,
					 .keys = keys,
					 .self = { .node = claimed,
						   .transport = RB_TRANSPORT_UD,
						   .epoch = epoch,
						   .qpn = 100,
						   .message_max_bytes = 1024,
						   .liveness_ms = 50,
						   .versions = versions },
					 .introduced = on_introduced,
					 .context = &nodes[id] };

	gid_of(at, config.self.gid);
	memset(&nodes[id], 0, sizeof(nodes[id]));
	assert_int_equal(rb_join_open(&config, &nodes[id].join), 0);
	for (uint8_t peer = 1; peer <= NODES; peer++) {
		uint8_t gid[16];

		gid_of(peer, gid);
		if (peer != claimed)
			rb_join_add(nodes[id].join, peer, gid);
	}
}

static void begin(uint8_t id, uint32_t epoch)
{
	begin_as(id, id, id, epoch, &key_a);
}

static void end(uint8_t id)
{
	rb_join_close(nodes[id].join);
	nodes[id].join = NULL;
}

/*
 * Let all nodes run, without time passing, until condition(argument) holds or they had their turns.
 */
static bool run_until(bool (*condition)(int), int argument)
{
	for (int turn = 0; turn < TURNS; turn++) {
		struct pollfd fds[STRANGER + 1];
		nfds_t n = 0;

		if (condition(argument))
			return true;
		for (int i = 0; i <= STRANGER; i++)
			if (nodes[i].join) {
				rb_join_poll(nodes[i].join, now_ns);
				fds[n++] = (struct pollfd){ .fd = rb_join_fd(nodes[i].join),
							    .events = POLLIN };
			}
		poll(fds, n, turn < 100 ? 1 : 0);
	}
	return condition(argument);
}

static bool all_introduced(int argument)
{
	(void)argument;
	for (int i = 1; i <= NODES; i++)
		for (int k = 1; k <= NODES; k++)
			if (i != k && nodes[i].join && nodes[k].join && nodes[i].introduced[k] == 0)
				return false;
	return true;
}

static void nobody_is_wanted(void)
{
	for (int i = 1; i <= NODES; i++)
		for (int k = 1; k <= NODES && nodes[i].join; k++)
			if (i != k)
				rb_join_want(nodes[i].join, (uint8_t)k, false);
}

static struct rb_join_stats stats_of(int id)
{
	struct rb_join_stats stats;

	rb_join_stats(nodes[id].join, &stats);
	return stats;
}

static int setup(void **state)
{
	(void)state;
	port = free_port();
	now_ns = 1000 * MS;
	versions = rb_exchange_versions;
	for (uint8_t id = 1; id <= NODES; id++)
		begin(id, 100U + id);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (uint8_t id = 0; id <= STRANGER; id++)
		end(id);
	return 0;
}

static void all_nodes_are_introduced_at_once_whoever_begins(void **state)
{
	(void)state;
	assert_true(run_until(all_introduced, 0));
	for (int i = 1; i <= NODES; i++)
		for (int k = 1; k <= NODES; k++)
			if (i != k)
				assert_int_equal(nodes[i].epoch[k], 100 + k);
}

static bool never(int argument)
{
	return argument < 0;
}

/* A knock that crosses an exchange of the same two nodes leads to no other one. */
static void nodes_that_start_together_are_introduced_once(void **state)
{
	(void)state;
	assert_true(run_until(all_introduced, 0));
	nobody_is_wanted();
	for (int i = 0; i < 5; i++) {
		run_until(never, 0);
		now_ns += RB_JOIN_KNOCK_NS;
	}
	for (int i = 1; i <= NODES; i++)
		for (int k = 1; k <= NODES; k++)
			assert_int_equal(nodes[i].introduced[k], i != k);
}

static bool knows_new_epoch(int id)
{
	for (int k = 1; k <= NODES; k++)
		if (k != id && (nodes[k].epoch[id] != 777 || nodes[id].introduced[k] == 0))
			return false;
	return true;
}

/* The others want nobody, and the time for another try does not come: the knock alone does it. */
static void restarted_node_is_introduced_at_once_to_peers_that_did_not_miss_it(void **state)
{
	(void)state;
	assert_true(run_until(all_introduced, 0));
	now_ns += RB_JOIN_KNOCK_NS;
	for (uint8_t id = 1; id <= NODES; id++) {
		nobody_is_wanted();
		end(id);
		begin(id, 777);
		assert_true(run_until(knows_new_epoch, id));
		now_ns += RB_JOIN_KNOCK_NS;
	}
}

/*
 * A call answers a knock: the peer is called again only if it is wanted. One call more may be due,
 * because the peer's knock crossed ours.
 */
static void answered_knock_causes_no_further_call(void **state)
{
	(void)state;
	assert_true(run_until(all_introduced, 0));
	nobody_is_wanted();
	end(3);
	now_ns += RB_JOIN_KNOCK_NS;
	begin(3, 777);
	assert_true(run_until(knows_new_epoch, 3));
	nobody_is_wanted();
	end(2);
	end(3); /* nobody would answer a call */
	for (int i = 0; i < 5; i++) {
		now_ns += RB_JOIN_RETRY_NS;
		rb_join_poll(nodes[1].join, now_ns);
		rb_join_poll(nodes[1].join, now_ns);
	}
	assert_in_range(stats_of(1).unreachable, 0, 1);
}

/* 0.2 s at first, then a sixteenth of the time since it went, 5 s at most. */
static void peer_that_stays_away_is_called_ever_less_often_and_found_when_it_returns(void **state)
{
	const uint64_t step_ns = 50000000;
	uint64_t before;

	(void)state;
	assert_true(run_until(all_introduced, 0));
	end(3);
	before = stats_of(1).unreachable;
	for (int i = 0; i < 200 * 20; i++) {
		now_ns += step_ns;
		rb_join_poll(nodes[1].join, now_ns);
	}
	/* 16 in the first 3.2 s, log(25) / log(17/16) = 53 until 80 s, 24 in 120 s */
	assert_in_range(stats_of(1).unreachable - before, 80, 100);
	begin(3, 777);
	assert_true(run_until(knows_new_epoch, 3));
}

/* 8 calls begin in one poll at most; of peers that are away, 50 in a second, each in its turn. */
static void peers_that_are_away_share_fifty_calls_a_second(void **state)
{
	const uint64_t step_ns = MS;
	uint64_t before, most = 0;

	(void)state;
	assert_true(run_until(all_introduced, 0));
	for (int node = NODES + 1; node <= 253; node++) {
		uint8_t gid[16];

		gid_of((uint8_t)node, gid);
		rb_join_add(nodes[1].join, (uint8_t)node, gid);
	}
	for (int i = 0; i < 1000; i++) { /* each is called once at its start, and not reached */
		before = stats_of(1).unreachable;
		now_ns += step_ns;
		rb_join_poll(nodes[1].join, now_ns);
		if (stats_of(1).unreachable - before > most)
			most = stats_of(1).unreachable - before;
	}
	assert_in_range(most, 1, 2 * RB_JOIN_BEGIN_MAX);
	before = stats_of(1).unreachable;
	for (int i = 0; i < 10000; i++) {
		now_ns += step_ns;
		rb_join_poll(nodes[1].join, now_ns);
	}
	assert_in_range(stats_of(1).unreachable - before, 450, 501);
	nodes[1].introduced[253] = 0;
	begin_as(STRANGER, 253, 253, 777, &key_a);
	for (uint8_t node = 1; node <= NODES; node++)
		rb_join_want(nodes[STRANGER].join, node, false); /* it waits for its turn */
	for (int i = 0; i < 5100 && nodes[1].introduced[253] == 0; i++) {
		now_ns += step_ns;
		rb_join_poll(nodes[1].join, now_ns);
		rb_join_poll(nodes[STRANGER].join, now_ns);
	}
	assert_int_equal(nodes[1].introduced[253], 1);
	end(STRANGER);
}

static bool has_knocks(int n)
{
	return stats_of(1).knocks >= (uint64_t)n;
}

static void knocks_cause_no_more_calls_than_one_in_the_interval(void **state)
{
	uint64_t before;

	(void)state;
	assert_true(run_until(all_introduced, 0));
	nobody_is_wanted();
	end(2);
	end(3);
	now_ns += RB_JOIN_KNOCK_NS;
	before = stats_of(1).introduced;
	for (int i = 1; i <= 5; i++) { /* each life ends before the call back */
		int knocks = (int)stats_of(1).knocks + 1;

		begin(3, 800);
		assert_true(run_until(has_knocks, knocks));
		end(3);
	}
	assert_true(stats_of(1).introduced + stats_of(1).unreachable +
			    stats_of(1).refused[RB_REFUSAL_CLOSED] - before <=
		    2);
}

/* Connect to node 1 from 127.0.0.`from`, say these bytes, return the descriptor. */
static int call_node_1(uint8_t from, const void *bytes, size_t n)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(0x7f000000u | from) };
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(0x7f000001u) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(send(fd, bytes, n, 0), n);
	return fd;
}

static bool speaks_no_version_of_3(int id)
{
	return rb_join_refusal(nodes[id].join, 3) == RB_REFUSAL_VERSION;
}

static bool knows_334(int id)
{
	return nodes[id].epoch[3] == 334;
}

/* Nodes that are more than one release apart: both name the other, and the others go on. */
static void node_without_a_version_in_common_is_refused_by_name_until_it_is_upgraded(void **state)
{
	(void)state;
	assert_true(run_until(all_introduced, 0));
	end(3);
	versions = (struct rb_versions){ 6, 7 };
	begin(3, 333);
	versions = rb_exchange_versions;
	assert_true(run_until(speaks_no_version_of_3, 1));
	assert_true(run_until(speaks_no_version_of_3, 2));
	assert_int_equal(rb_join_refusal(nodes[3].join, 1), RB_REFUSAL_VERSION);
	assert_int_equal(rb_join_refusal(nodes[1].join, 2), RB_REFUSAL_NONE);
	assert_true(nodes[1].epoch[3] != 333);
	end(3);
	now_ns += RB_JOIN_RETRY_NS;
	begin(3, 334);
	assert_true(run_until(all_introduced, 0));
	assert_true(run_until(knows_334, 1));
	assert_int_equal(rb_join_refusal(nodes[1].join, 3), RB_REFUSAL_NONE);
}

static const uint8_t knock_of_3[12] = { 'S', 'L', 'X', '1', 6, RB_EXCHANGE_NEWEST, 0, 12, 3 };

static bool refuses_address(int n)
{
	return stats_of(1).refused[RB_REFUSAL_ADDRESS] >= (uint64_t)n;
}

static void node_id_from_a_foreign_address_is_refused_and_not_called(void **state)
{
	int fd;

	(void)state;
	assert_true(run_until(all_introduced, 0));
	fd = call_node_1(77, knock_of_3, sizeof(knock_of_3));
	assert_true(run_until(refuses_address, 1));
	assert_int_equal(stats_of(1).knocks, 2); /* of nodes 2 and 3 */
	close(fd);
}

static bool stranger_refused(int why)
{
	return stats_of(STRANGER).refused_us[why] > 0 && stats_of(3).refused[why] > 0;
}

/* Two nodes believe that they are node 1. The second one has an address of its own. */
static void second_node_of_one_id_is_refused_by_address(void **state)
{
	(void)state;
	assert_true(run_until(all_introduced, 0));
	begin_as(STRANGER, 1, 77, 999, &key_a);
	assert_true(run_until(stranger_refused, RB_REFUSAL_ADDRESS));
	assert_int_equal(nodes[3].epoch[1], 101);
}

static bool keys_differ(int id)
{
	return nodes[1].introduced[2] > 0 && nodes[2].introduced[1] > 0 &&
	       stats_of(1).refused[RB_REFUSAL_KEY] + stats_of(1).refused_us[RB_REFUSAL_KEY] > 0 &&
	       stats_of(id).refused[RB_REFUSAL_KEY] + stats_of(id).refused_us[RB_REFUSAL_KEY] > 0;
}

static void another_key_is_refused_and_the_rest_go_on(void **state)
{
	(void)state;
	end(3);
	begin_as(3, 3, 3, 333, &key_b);
	assert_true(run_until(keys_differ, 3));
	assert_int_equal(nodes[1].introduced[3], 0);
	assert_int_equal(nodes[3].introduced[1], 0);
}

static bool overflowed(int n)
{
	return stats_of(1).overflow >= (uint64_t)n;
}

static bool gave_up(int n)
{
	return stats_of(1).unreachable >= (uint64_t)n;
}

/*
 * 200 other nodes are at an address where SYNs get no answer: the listener there has as many
 * connections waiting as it may.
 */
static void nodes_that_cannot_be_reached_keep_no_other_waiting(void **state)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 249) };
	int fds[3] = { socket(AF_INET, SOCK_STREAM, 0) };
	uint8_t gid[16];

	(void)state;
	assert_int_equal(bind(fds[0], (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(listen(fds[0], 0), 0);
	for (int i = 1; i < 3; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		connect(fds[i], (struct sockaddr *)&to, sizeof(to));
	}
	assert_true(run_until(all_introduced, 0));
	nobody_is_wanted();
	end(2);
	gid_of(250, gid);
	for (int node = 20; node < 220; node++)
		rb_join_add(nodes[1].join, (uint8_t)node, gid);
	for (int i = 0; i < 200 / RB_JOIN_BEGIN_MAX; i++)
		rb_join_poll(nodes[1].join, now_ns); /* calls them */
	now_ns += RB_JOIN_RETRY_NS;
	nodes[1].introduced[2] = 0;
	begin(2, 777);
	assert_true(run_until(all_introduced, 0));
	assert_int_equal(stats_of(1).unreachable, 0);
	now_ns += RB_JOIN_CONNECT_NS;
	assert_true(run_until(gave_up, 200));
	for (int i = 0; i < 3; i++)
		close(fds[i]);
}

#define HELD 40 /* connections */

/*
 * Strangers hold connections open from 20 addresses that are no peer's: 16 connections stay. From
 * each peer's address 3 stay.
 */
static void strangers_that_hold_connections_open_keep_no_peer_out(void **state)
{
	int fds[NODES][HELD], expected = HELD - 16;

	(void)state;
	for (uint8_t id = 2; id <= NODES; id++)
		end(id);
	for (int i = 0; i < HELD; i++)
		fds[0][i] = call_node_1((uint8_t)(77 + i % 20), "", 0);
	assert_true(run_until(overflowed, expected));
	for (uint8_t id = 2; id <= NODES; id++) {
		for (int i = 0; i < HELD; i++)
			fds[id - 1][i] = call_node_1(id, "", 0);
		expected += HELD - 3;
		assert_true(run_until(overflowed, expected));
	}
	assert_int_equal(stats_of(1).overflow, expected);
	for (uint8_t id = 2; id <= NODES; id++)
		begin(id, 100U + id);
	now_ns += RB_JOIN_RETRY_NS;
	assert_true(run_until(all_introduced, 0));
	for (int k = 0; k < NODES; k++)
		for (int i = 0; i < HELD; i++)
			close(fds[k][i]);
}

/* 250 nodes hold a call open, and two more call: the listener turns none of them away. */
static void calls_of_all_peers_at_once_have_room(void **state)
{
	int fds[254];

	(void)state;
	for (int node = NODES + 1; node <= 253; node++) {
		uint8_t gid[16];

		gid_of((uint8_t)node, gid);
		rb_join_add(nodes[1].join, (uint8_t)node, gid);
		rb_join_want(nodes[1].join, (uint8_t)node, false);
		fds[node] = call_node_1((uint8_t)node, "", 0);
	}
	assert_true(run_until(all_introduced, 0)); /* so node 1 has accepted those before */
	assert_int_equal(stats_of(1).overflow, 0);
	for (int node = NODES + 1; node <= 253; node++)
		close(fds[node]);
}

static bool node_1_gave_up(int n)
{
	return stats_of(1).refused[RB_REFUSAL_CLOSED] >= (uint64_t)n;
}

static void silent_connection_is_closed_when_patience_ends(void **state)
{
	char byte;
	int fd;

	(void)state;
	assert_true(run_until(all_introduced, 0));
	nobody_is_wanted();
	fd = call_node_1(3, knock_of_3, 5);
	run_until(node_1_gave_up, 1);
	assert_false(node_1_gave_up(1));
	now_ns += RB_JOIN_PATIENCE_NS;
	assert_true(run_until(node_1_gave_up, 1));
	assert_int_equal(recv(fd, &byte, 1, 0), 0);
	close(fd);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(all_nodes_are_introduced_at_once_whoever_begins),
		T(nodes_that_start_together_are_introduced_once),
		T(restarted_node_is_introduced_at_once_to_peers_that_did_not_miss_it),
		T(answered_knock_causes_no_further_call),
		T(peer_that_stays_away_is_called_ever_less_often_and_found_when_it_returns),
		T(peers_that_are_away_share_fifty_calls_a_second),
		T(knocks_cause_no_more_calls_than_one_in_the_interval),
		T(node_without_a_version_in_common_is_refused_by_name_until_it_is_upgraded),
		T(node_id_from_a_foreign_address_is_refused_and_not_called),
		T(second_node_of_one_id_is_refused_by_address),
		T(another_key_is_refused_and_the_rest_go_on),
		T(nodes_that_cannot_be_reached_keep_no_other_waiting),
		T(strangers_that_hold_connections_open_keep_no_peer_out),
		T(calls_of_all_peers_at_once_have_room),
		T(silent_connection_is_closed_when_patience_ends),
	};
	return cmocka_run_group_tests_name("join", tests, NULL, NULL);
}
