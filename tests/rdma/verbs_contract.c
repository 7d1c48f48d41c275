/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The contract of transports on verbs, and what only they do. Both ends are queue pairs of one
 * device, which carries messages to itself. Runs on a machine with a device, such as one of the
 * lab:
 *
 *   verbs_contract ud|rc NETDEV ADDRESS...     each ADDRESS, IPv4 or IPv6, is a GID of a device of
 *                                              this host, over NETDEV
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rdma-bridge/transport/verbs/verbs.h"
#include "tests/lib/transport_contract.h"
#include "user/lib/clock.h"

#define CHUNK_BYTES 4096
#define CHUNKS	    512
#define DEPTH	    128
#define AREA_BYTES  ((uint64_t)CHUNKS * CHUNK_BYTES + RB_CONTRACT_CONTENT_BYTES)
#define FAULTS	    54		    /* the same number of each kind */
#define DEADLINE_NS 120000000000ULL /* an emulated machine shares its processors with others */

static uint8_t address[16];
static enum rb_verbs_kind kind;
static char *netdev;
static uint64_t patience_ns = 1000000000;
static uint32_t copy_below_bytes;
static uint8_t *area[2];
static struct rb_chunks *chunks[2];

/* Poll both ends, without taking completions: they may exchange datagrams of their own. */
static void let_pass(struct transport_pair *pair)
{
	for (int i = 0; i < 2; i++)
		pair->t[i]->ops->poll(pair->t[i], NULL, 0, sl_now_ns());
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
		.copy_below_bytes = copy_below_bytes,
	};

	memcpy(config.address, address, 16);
	return config;
}

static int open_end(struct transport_pair *pair, int i)
{
	const struct rb_verbs_config config = config_of(i);
	int err = rb_verbs_open(&config, &pair->t[i]);

	if (err)
		print_error("verbs: %s: %s\n", strerror(-err), rb_verbs_problem(err));
	return err;
}

static void close_end(struct transport_pair *pair, int i)
{
	pair->t[i]->ops->close(pair->t[i]);
	rb_chunks_reclaim(chunks[i], RB_OWNER_RECEIVE);
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
		area[i] = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (area[i] == MAP_FAILED ||
		    rb_chunks_create(area[i], 0, CHUNKS, CHUNK_BYTES, &chunks[i]))
			return -1;
		if (open_end(pair, i))
			return -1;
	}
	return 0;
}

/*
 * Messages come from the memory region of the first end, behind its chunks, so they are gathered.
 * The second end sends from elsewhere, so its messages are copied.
 */
static int open_chosen(struct transport_pair *pair)
{
	int err = open_copied(pair);

	pair->content = area[0] + AREA_BYTES - RB_CONTRACT_CONTENT_BYTES;
	return err;
}

/* Gather every message, whatever the size of its pieces. */
static int open_gathered(struct transport_pair *pair)
{
	int err;

	copy_below_bytes = 1;
	err = open_chosen(pair);
	copy_below_bytes = 0;
	return err;
}

static void close_pair(struct transport_pair *pair)
{
	for (int i = 0; i < 2; i++) {
		close_end(pair, i);
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

static int make_path(int i)
{
	struct rb_endpoint other;

	pair.t[!i]->ops->endpoint(pair.t[!i], &other);
	return pair.t[i]->ops->path_create(pair.t[i], &other, &context[i], &path[i]);
}

static int setup(void **state)
{
	(void)state;
	memset(&pair, 0, sizeof(pair));
	if (open_chosen(&pair))
		return -1;
	content = pair.content;
	for (uint32_t i = 0; i < RB_CONTRACT_CONTENT_BYTES; i++)
		content[i] = (uint8_t)(i * 7 + i / 253);
	return make_path(0) || make_path(1) ? -1 : 0;
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

static uint32_t lent; /* messages of end 0 that the device has not given back */

static bool send_pieces(const struct rb_piece *pieces, uint32_t n, uint32_t bytes)
{
	int err = pair.t[0]->ops->post_send(pair.t[0], path[0], pieces, n, bytes);

	lent += err == 0;
	pair.t[0]->ops->flush(pair.t[0]);
	return err >= 0;
}

static bool send_one(uint32_t bytes)
{
	const struct rb_piece pieces[] = { { content, bytes / 2 },
					   { content + bytes / 2, bytes - bytes / 2 } };

	return send_pieces(pieces, 2, bytes);
}

static bool poll_sender(void)
{
	struct rb_completion c;

	if (pair.t[0]->ops->poll(pair.t[0], &c, 1, sl_now_ns()) == 0)
		return false;
	assert_int_equal(c.kind, RB_SENT);
	assert_true(lent > 0);
	lent--;
	return true;
}

/* Receive the message of send_one. False if it does not come before the deadline. */
static bool receive_one(uint32_t bytes, uint64_t deadline_ns)
{
	struct rb_completion c;

	for (uint64_t end = sl_now_ns() + deadline_ns; sl_now_ns() < end;) {
		poll_sender();
		if (pair.t[1]->ops->poll(pair.t[1], &c, 1, sl_now_ns()) == 0)
			continue;
		assert_int_equal(c.kind, RB_RECEIVED);
		assert_in_range(c.len_bytes, 1, bytes);
		assert_memory_equal(rb_chunk_data(chunks[1], c.offset), content, c.len_bytes);
		assert_ptr_equal(c.context, &context[1]);
		rb_chunk_release(chunks[1], c.offset, RB_OWNER_MESSAGE);
		/* Shorter: an earlier message, which had to wait. */
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

/* Copying saves an entry for each piece but the first. */
static void many_small_pieces_are_copied_and_few_large_ones_are_gathered(void **state)
{
	enum { BELOW = RB_VERBS_COPY_BELOW };
	static const struct {
		const char *name;
		uint32_t pieces, bytes; /* pieces of bytes each */
		bool copied;
	} cases[] = {
		{ "headers and 31 frames of 64 bytes", 32, 64, true },
		{ "headers and 31 frames of 126 bytes", 32, 126, true },
		{ "three pieces of 1,340 bytes", 3, 1340, false },
		{ "one piece, where copying spares nothing", 1, BELOW - 100, false },
		{ "two pieces, a byte each below the limit", 2, BELOW / 2 - 1, true },
		{ "two pieces at the limit", 2, BELOW / 2, false },
		{ "eight pieces, a byte each below the limit", 8, BELOW * 7 / 8 - 1, true },
		{ "eight pieces at the limit", 8, BELOW * 7 / 8, false },
	};
	struct rb_transport_stats stats;
	struct rb_piece pieces[32];
	uint64_t copied = 0;

	(void)state;
	post(1, 16);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint32_t n = cases[i].pieces, bytes = cases[i].bytes;

		lent = 0;
		for (uint32_t k = 0; k < n; k++)
			pieces[k] = (struct rb_piece){ content + k * bytes, bytes };
		assert_true(send_pieces(pieces, n, n * bytes));
		pair.t[0]->ops->stats(pair.t[0], &stats);
		if (cases[i].copied)
			copied += n * bytes;
		if (stats.bytes_copied != copied || lent == cases[i].copied)
			fail_msg("%s: not %s", cases[i].name,
				 cases[i].copied ? "copied" : "gathered");
		assert_true(receive_one(n * bytes, DEADLINE_NS));
		while (lent)
			poll_sender();
	}
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
		/* A message sent while it is broken may be lost; the next one must not be. */
		for (uint64_t end = sl_now_ns() + DEADLINE_NS;;) {
			assert_true(sl_now_ns() < end);
			sent += send_one(bytes);
			if (receive_one(bytes, 20000000))
				break;
			if (chunks[1]->count[RB_OWNER_RECEIVE] < 50)
				post(1, 50);
		}
	}
	for (uint64_t end = sl_now_ns() + DEADLINE_NS; lent && sl_now_ns() < end;)
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

/* --- Faults of every kind --- */

static void tell_netdev(unsigned long request, struct ifreq *r)
{
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_true(fd >= 0);
	strncpy(r->ifr_name, netdev, sizeof(r->ifr_name) - 1);
	assert_int_equal(ioctl(fd, request, r), 0);
	close(fd);
}

static void set_up(bool up)
{
	struct ifreq r = { 0 };

	tell_netdev(SIOCGIFFLAGS, &r);
	r.ifr_flags = (short)(up ? r.ifr_flags | IFF_UP : r.ifr_flags & ~IFF_UP);
	tell_netdev(SIOCSIFFLAGS, &r);
}

static int change_mtu(int mtu_bytes)
{
	struct ifreq r = { 0 };
	int before;

	tell_netdev(SIOCGIFMTU, &r);
	before = r.ifr_mtu;
	r.ifr_mtu = mtu_bytes;
	tell_netdev(SIOCSIFMTU, &r);
	return before;
}

static pid_t begin(const char *const argv[])
{
	pid_t pid;

	assert_int_equal(
		posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)(uintptr_t)argv, environ),
		0);
	return pid;
}

static void finish(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

/* End i begins a new life, and the other end learns of it as from the start-up exchange. */
static void begin_anew(int i)
{
	close_end(&pair, i);
	pair.t[!i]->ops->path_destroy(pair.t[!i], path[!i]);
	assert_int_equal(open_end(&pair, i), 0);
	assert_int_equal(make_path(i), 0);
	assert_int_equal(make_path(!i), 0);
}

static void queue_pair_fails(uint32_t bytes)
{
	assert_int_equal(rb_verbs_break(pair.t[bytes & 1]), 0);
}

static void netdev_goes_down(uint32_t bytes)
{
	set_up(false);
	for (int i = 0; i < 4; i++)
		send_one(bytes);
	poll_sender();
	set_up(true);
}

static void peer_is_killed(uint32_t bytes)
{
	close_end(&pair, 1);
	for (int i = 0; i < 4; i++)
		send_one(bytes);
	poll_sender();
	pair.t[0]->ops->path_destroy(pair.t[0], path[0]);
	assert_int_equal(open_end(&pair, 1), 0);
	assert_int_equal(make_path(0), 0);
	assert_int_equal(make_path(1), 0);
}

/* Send more messages than there are chunks: on a connection they wait, else they are lost. */
static void receiver_is_exhausted(uint32_t bytes)
{
	uint32_t n = chunks[1]->count[RB_OWNER_RECEIVE] + 8;

	for (uint32_t i = 0; i < n; i++) {
		send_one(bytes);
		poll_sender();
	}
}

static void mtu_is_another(uint32_t bytes)
{
	const struct rb_piece piece = { content, 1500 };
	int mtu_bytes = change_mtu(1500);
	struct rb_endpoint end;

	(void)bytes;
	begin_anew(1);
	pair.t[1]->ops->endpoint(pair.t[1], &end);
	if (kind == RB_VERBS_UD) {
		assert_int_equal(end.message_max_bytes, 1024);
		assert_int_equal(pair.t[0]->ops->post_send(pair.t[0], path[0], &piece, 1, 0),
				 -EMSGSIZE);
	}
	post(1, 50);
	for (uint64_t end_ns = sl_now_ns() + DEADLINE_NS;;) {
		assert_true(sl_now_ns() < end_ns);
		send_one(1024);
		if (receive_one(1024, 20000000))
			break;
	}
	change_mtu(mtu_bytes);
	begin_anew(1);
}

static void device_is_removed(uint32_t bytes)
{
	struct rb_verbs_info info;
	const char *delete[] = { "rdma", "link", "delete", info.device, NULL };
	const char *add[] = { "rdma", "link",	"add",	info.device, "type",
			      "rxe",  "netdev", netdev, NULL };
	pid_t pid;

	(void)bytes;
	rb_verbs_info(pair.t[0], &info);
	assert_false(rb_verbs_is_lost(pair.t[0]));
	pid = begin(delete);
	for (uint64_t end = sl_now_ns() + DEADLINE_NS;
	     !rb_verbs_is_lost(pair.t[0]) || !rb_verbs_is_lost(pair.t[1]);)
		assert_true(sl_now_ns() < end);
	assert_int_equal(rb_verbs_find(address), -ENODEV);
	for (int i = 0; i < 2; i++)
		close_end(&pair, i);
	lent = 0;
	finish(pid); /* the kernel made the removal wait for us */
	finish(begin(add));
	assert_int_equal(rb_verbs_find(address), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(open_end(&pair, i), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(make_path(i), 0);
}

/* Messages sent during a fault may be lost. After the first that arrives, none may be. */
static void faults_of_every_kind_end_with_their_cause(void **state)
{
	static void (*const faults[])(uint32_t bytes) = {
		queue_pair_fails,      netdev_goes_down, peer_is_killed,
		receiver_is_exhausted, mtu_is_another,	 device_is_removed,
	};
	static const char *const names[] = {
		"queue pair fails",	 "netdev goes down", "peer is killed",
		"receiver is exhausted", "MTU is another",   "device is removed",
	};

	(void)state;
	lent = 0;
	for (uint32_t round = 0; round < FAULTS; round++) {
		uint32_t fault = round % (sizeof(faults) / sizeof(faults[0]));
		uint32_t bytes = 600 + 4 * round;

		if (chunks[1]->count[RB_OWNER_RECEIVE] < 50)
			post(1, 50);
		faults[fault](bytes);
		for (uint64_t end = sl_now_ns() + DEADLINE_NS;;) {
			if (sl_now_ns() > end)
				fail_msg("round %u: %s: no message comes any more", round,
					 names[fault]);
			if (chunks[1]->count[RB_OWNER_RECEIVE] < 50)
				post(1, 50);
			send_one(bytes + 1);
			if (receive_one(bytes + 1, 20000000))
				break;
		}
		while (receive_one(bytes + 1, 100000000))
			continue; /* an earlier message that was on the way */
		if (chunks[1]->count[RB_OWNER_RECEIVE] < 50)
			post(1, 50);
		for (uint32_t i = 0; i < 5; i++) {
			assert_true(send_one(bytes + 2));
			if (!receive_one(bytes + 2, DEADLINE_NS))
				fail_msg("round %u: %s: a message is lost after recovery", round,
					 names[fault]);
		}
	}
}

static void unusable_device_is_refused(void **state)
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
		OWN(many_small_pieces_are_copied_and_few_large_ones_are_gathered),
		OWN(queue_pair_in_error_recovers_and_loses_only_what_was_under_way),
		OWN(faults_of_every_kind_end_with_their_cause),
		OWN(unusable_device_is_refused),
		OWN(queue_key_with_bit_31_and_another_family_are_refused),
	};
	int failed = 0;

	if (argc < 4 || (strcmp(argv[1], "ud") && strcmp(argv[1], "rc"))) {
		fprintf(stderr, "usage: verbs_contract ud|rc NETDEV ADDRESS...\n");
		return 2;
	}
	kind = strcmp(argv[1], "rc") ? RB_VERBS_UD : RB_VERBS_RC;
	netdev = argv[2];
	for (int i = 3; i < argc; i++) {
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
		patience_ns = 200000000; /* how long until an end gives up a dead one */
		failed += cmocka_run_group_tests_name("verbs", own, NULL, NULL);
	}
	return failed;
}
