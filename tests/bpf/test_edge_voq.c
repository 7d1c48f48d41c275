// SPDX-License-Identifier: BSD-2-Clause
/*
 * The virtual output queues in sl_edge: which queue a frame enters, when it is admitted, marked or
 * dropped, the metadata below it, and every byte of it. And the packets for the fabric's own
 * protocol that an edge port must drop.
 *
 * The kernel does not deliver a frame under test, so a socket that is not bound serves as the
 * bridge's.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/bpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <cmocka.h>

#include "bpf/abi/abi.h"
#include "bpf/abi/fabric_address.h"
#include "bpf/abi/forwarding.h"
#include "bpf/abi/l3_port.h"
#include "bpf/abi/policer.h"
#include "bpf/abi/reasons.h"
#include "bpf/abi/reserved.h"
#include "bpf/abi/virtual_clock.h"
#include "bpf/abi/voq.h"
#include "bpf/lib/endian.bpf.h"
#include "tests/lib/edge_case.h"
#include "user/lib/clock.h"

#define META_BYTES ((uint32_t)sizeof(struct sl_frame_meta))
#define N_WORLDS   2

static struct edge *worlds[N_WORLDS], *world;
static int socket_fd = -1;

/* A queue that admits everything. */
static const struct sl_voq open_voq = {
	.rate = SL_RATE_UNLIMITED,
	.limit_frames = 1000,
	.controller = "fixed",
};

/* --- The world --- */

static void set(const char *map, uint32_t key, const void *value)
{
	assert_int_equal(bpf_map_update_elem(edge_map_fd(world, map), &key, value, BPF_ANY), 0);
}

static void set_voq(uint32_t voq, const struct sl_voq *settings)
{
	set("sl_voq", voq, settings);
}

/* Set how much waits. The counts are far from zero, so only their difference gives it. */
static void set_backlog(uint32_t voq, uint64_t frames, uint64_t bytes)
{
	const struct sl_backlog backlog = {
		.enqueued = { 5000000000 + frames, 7000000000 + bytes },
		.dequeued = { 5000000000, 7000000000 },
	};

	set("sl_backlog", voq, &backlog);
}

/* A socket, behind which all frames are taken at once. */
static void set_socket(uint32_t port, uint32_t queue)
{
	static const struct sl_ring ring = { .taken = 1ULL << 62, .share_frames = UINT32_MAX };
	uint32_t key = sl_ring_key(port, queue, 0, EDGE_QUEUES, 1);

	set("sl_xsk", key, &socket_fd);
	set("sl_ring", key, &ring);
}

static void clear_socket(uint32_t port, uint32_t queue)
{
	uint32_t key = sl_ring_key(port, queue, 0, EDGE_QUEUES, 1);

	assert_int_equal(bpf_map_delete_elem(edge_map_fd(world, "sl_xsk"), &key), 0);
}

static void set_class(uint32_t dscp, uint32_t class)
{
	set("sl_dscp", dscp, &class);
}

/* Every test runs with each of these. */
static const struct variant {
	const char *engine, *program;
	int world;
} variants[] = {
	{ "lpm", "sl_edge", 0 },
	{ "lpm", "sl_edge_frags", 0 },
	{ "fast", "sl_edge", 1 },
	{ "fast", "sl_edge_frags", 1 },
};
#define N_VARIANTS (sizeof(variants) / sizeof(variants[0]))

/* Every queue open and empty, sockets everywhere, DSCP d in class d / 16. */
static int reset(void **state)
{
	const struct variant *variant = *state;

	world = worlds[variant->world];
	world->program = variant->program;
	for (uint32_t voq = 0; voq < EDGE_VOQS; voq++) {
		set_voq(voq, &open_voq);
		set_backlog(voq, 0, 0);
	}
	for (uint32_t port = 1; port <= EDGE_PORTS; port++)
		for (uint32_t queue = 0; queue < EDGE_QUEUES; queue++)
			set_socket(port, queue);
	for (uint32_t dscp = 0; dscp < SL_DSCPS; dscp++)
		set_class(dscp, dscp / 16);
	return 0;
}

static int add_fabric_address(const char *text)
{
	struct sl_fabric_key key = { .word[2] = sl_htonl(0xffff) };
	const uint32_t one = 1;

	if (inet_pton(AF_INET, text, &key.word[3]) != 1 && inet_pton(AF_INET6, text, &key) != 1)
		return -EINVAL;
	return bpf_map_update_elem(edge_map_fd(world, "sl_fabric"), &key, &one, BPF_ANY);
}

static int setup(void **state)
{
	static const enum sl_engine engines[N_WORLDS] = { SL_ENGINE_LPM, SL_ENGINE_FAST };
	int err = edge_enter_namespace();

	(void)state;
	socket_fd = socket(AF_XDP, SOCK_RAW, 0);
	if (socket_fd < 0)
		return -errno;
	for (size_t i = 0; i < N_WORLDS && !err; i++) {
		err = edge_world_cluster(engines[i], &worlds[i]);
		world = worlds[i];
		if (!err)
			err = add_fabric_address("10.9.0.200");
		if (!err)
			err = add_fabric_address("10.2.0.200");
		if (!err)
			err = add_fabric_address("2001:db8:9::200");
	}
	return err;
}

static int teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_WORLDS; i++)
		edge_destroy(worlds[i]);
	close(socket_fd);
	return 0;
}

/* --- One frame --- */

struct result {
	int action;
	uint32_t meta_bytes, len;
	struct sl_frame_meta meta;
	uint8_t frame[FRAME_MAX_BYTES + 64];
};

static void run(uint32_t ifindex, uint32_t queue, const uint8_t *in, uint32_t len,
		struct result *out)
{
	static uint8_t raw[FRAME_MAX_BYTES + 64];
	struct xdp_md ctx = { .data_end = len,
			      .ingress_ifindex = ifindex,
			      .rx_queue_index = queue },
		      after = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = in, .data_size_in = len, .data_out = raw,
		    .data_size_out = sizeof(raw), .ctx_in = &ctx, .ctx_size_in = sizeof(ctx),
		    .ctx_out = &after, .ctx_size_out = sizeof(after));

	memset(out, 0, sizeof(*out));
	assert_int_equal(bpf_prog_test_run_opts(edge_program_fd(world), &opts), 0);
	out->action = (int)opts.retval;
	out->meta_bytes = after.data; /* the output begins with the metadata */
	out->len = opts.data_size_out - out->meta_bytes;
	if (out->meta_bytes == META_BYTES)
		memcpy(&out->meta, raw, META_BYTES);
	memcpy(out->frame, raw + out->meta_bytes, out->len);
}

static void read_backlogs(struct sl_backlog *out)
{
	for (uint32_t voq = 0; voq < EDGE_VOQS; voq++)
		assert_int_equal(
			bpf_map_lookup_elem(edge_map_fd(world, "sl_backlog"), &voq, &out[voq]), 0);
}

/* One frame, and its right end. */
struct expected {
	struct frame in;
	enum edge_end end;
	uint32_t what;
	uint32_t class;	  /* of a queued frame */
	bool marked;	  /* it leaves with CE, by us */
	uint32_t ingress; /* ifindex; 0: port 1 */
	uint32_t port;	  /* number of the port it came in by; 0: 1 */
	uint32_t queue;	  /* receive queue */
};

#define QUEUED_FOR(adj) .end = EDGE_QUEUE, .what = EDGE_##adj

static uint32_t voq_of(const struct expected *e)
{
	return (e->what == EDGE_REMOTE ? EDGE_REMOTE_VOQ : EDGE_REMOTE_TAG_VOQ) + e->class;
}

static bool is_of_voq(uint32_t reason)
{
	return reason >= SL_VOQ_DROP_FIRST && reason < SL_VOQ_DROP_FIRST + SL_VOQ_DROPS;
}

/* All frames that a queue drops here are for EDGE_REMOTE, with class DSCP / 16. */
static uint32_t voq_of_dropped(const struct expected *e)
{
	return EDGE_REMOTE_VOQ + (e->in.tos >> 6);
}

static void assert_queued(const struct expected *e, const struct result *got,
			  struct sl_backlog *before)
{
	static uint8_t want[FRAME_MAX_BYTES];
	struct frame sent = edge_sent(&e->in, e->what);
	uint32_t want_len, voq = voq_of(e);

	sent.checksum_error = 0;
	if (e->marked)
		sent.tos |= 3;
	want_len = frame_build(&sent, want);
	assert_int_equal(got->len, want_len);
	assert_memory_equal(got->frame, want, want_len);
	assert_int_equal(got->meta_bytes, META_BYTES);
	assert_int_equal(got->meta.magic, SL_FRAME_META_MAGIC);
	assert_int_equal(got->meta.voq, voq);
	assert_int_equal(got->meta.ingress_port, SL_SYSTEM_PORT(EDGE_NODE, e->port ? e->port : 1));
	before[voq].enqueued.frames++;
	before[voq].enqueued.bytes += want_len;
}

static void check(const struct expected *e)
{
	static const int action[] = { XDP_REDIRECT, XDP_DROP, XDP_PASS, XDP_REDIRECT };
	static uint8_t in[FRAME_MAX_BYTES];
	static struct result got;
	const struct edge_case c = {
		.in = e->in, .end = e->end, .what = e->what, .ingress = e->ingress
	};
	struct sl_backlog backlog[EDGE_VOQS], backlog_after[EDGE_VOQS];
	struct edge_counters before, after, expected;
	uint32_t len = frame_build(&e->in, in);
	uint64_t begin_ns = sl_now_ns();

	read_backlogs(backlog);
	edge_read_counters(world, &before);
	run(e->ingress ? e->ingress : EDGE_PORT(1), e->queue, in, len, &got);
	edge_read_counters(world, &after);
	edge_subtract_counters(&after, &before);
	read_backlogs(backlog_after);

	edge_expect_counters(&c, in, len, &expected);
	if (e->marked)
		expected.stats[SL_STAT_CE] = expected.stats[SL_STAT_VOQ];
	edge_assert_counters(&after, &expected);
	assert_int_equal(got.action, action[e->end]);
	if (e->end == EDGE_QUEUE) {
		assert_queued(e, &got, backlog);
		assert_in_range(got.meta.arrival_ns, begin_ns, sl_now_ns());
		backlog[voq_of(e)].marked += e->marked;
	} else if (e->end != EDGE_FORWARD) {
		if (e->end == EDGE_DROP && is_of_voq(e->what))
			backlog[voq_of_dropped(e)].dropped[e->what - SL_VOQ_DROP_FIRST]++;
		assert_int_equal(got.meta_bytes, 0);
		assert_int_equal(got.len, len);
		assert_memory_equal(got.frame, in, len);
	}
	assert_memory_equal(backlog_after, backlog, sizeof(backlog));
}

/* --- Which queue, and how it leaves --- */

static void every_dscp_enters_the_queue_of_its_class(void **state)
{
	(void)state;
	for (uint32_t dscp = 0; dscp < SL_DSCPS; dscp++)
		for (uint32_t class = 0; class < SL_CLASSES; class ++)
			for (int ip6 = 0; ip6 <= 1; ip6++) {
				set_class(dscp, class);
				check(&(struct expected){
					{ .dst = ip6 ? "2001:db8:9::1" : "10.9.0.1",
					  .src = ip6 ? "2001:db8:1::2" : NULL,
					  .ip6 = ip6,
					  .tos = dscp << 2 },
					QUEUED_FOR(REMOTE),
					.class = class });
			}
}

static void ip4_is_rewritten_for_its_next_hop(void **state)
{
	(void)state;
	check(&(struct expected){ { .dst = "10.9.0.1" }, QUEUED_FOR(REMOTE) });
	check(&(struct expected){ { .dst = "10.9.0.1", .payload_bytes = 1480 },
				  QUEUED_FOR(REMOTE) });
	check(&(struct expected){ { .dst = "10.9.0.1", .payload_bytes = FRAME_EMPTY },
				  QUEUED_FOR(REMOTE) });
}

static void ip6_is_rewritten_for_its_next_hop(void **state)
{
	(void)state;
	check(&(struct expected){ { .ip6 = true, .dst = "2001:db8:9::1", .flow_label = 0xfffff },
				  QUEUED_FOR(REMOTE) });
}

static void padding_is_removed_and_not_counted_as_backlog(void **state)
{
	(void)state;
	check(&(struct expected){ { .dst = "10.9.0.1", .payload_bytes = 8, .padding_bytes = 18 },
				  QUEUED_FOR(REMOTE) });
}

/* None to one tag, one to none, two to one: the metadata goes where the frame goes. */
static void vlan_tags_change_and_metadata_stays_below_the_frame(void **state)
{
	(void)state;
	check(&(struct expected){ { .dst = "10.10.0.1" }, QUEUED_FOR(REMOTE_TAG) });
	check(&(struct expected){ { .ip6 = true, .dst = "2001:db8:a::1" },
				  QUEUED_FOR(REMOTE_TAG) });
	check(&(struct expected){
		{ .dst = "10.9.0.1", .dst_mac = EDGE_VLAN1_MAC, .tag = { { 0x8100, 100 } } },
		QUEUED_FOR(REMOTE) });
	check(&(struct expected){ { .dst = "10.10.0.1",
				    .dst_mac = EDGE_VLAN2_MAC,
				    .tag = { { 0x88a8, 200 }, { 0x8100, 300 } } },
				  QUEUED_FOR(REMOTE_TAG) });
}

static void metadata_names_the_port_that_the_frame_entered_by(void **state)
{
	(void)state;
	for (uint32_t n = 1; n <= EDGE_PORTS; n++)
		check(&(struct expected){ { .dst = "10.9.0.1", .dst_mac = FRAME_DST_MAC + n - 1 },
					  QUEUED_FOR(REMOTE),
					  .ingress = EDGE_PORT(n),
					  .port = n });
}

static void local_port_is_forwarded_without_metadata(void **state)
{
	(void)state;
	check(&(struct expected){ { .dst = "10.2.0.1" }, FORWARD_BY(PLAIN) });
}

static void egress_checks_come_first(void **state)
{
	(void)state;
	check(&(struct expected){ { .dst = "10.9.0.1", .ttl = 1 }, PUNTS(TTL) });
	check(&(struct expected){ { .dst = "10.9.0.1", .payload_bytes = 1481 }, PUNTS(TOO_BIG) });
}

static void queue_beyond_those_in_use_punts(void **state)
{
	const struct sl_adj adj = {
		.port_ifindex = EDGE_TAP(3),
		.l3_ifindex = EDGE_TAP(3),
		.mtu_bytes = 1500,
		.remote = 1,
		.voq_plus1 = EDGE_VOQS + 1,
	};
	uint32_t id;

	(void)state;
	assert_int_equal(sl_fib_nexthop_create(world->fib, &id), 0);
	assert_int_equal(sl_fib_nexthop_set_adj(world->fib, id, &adj), 0);
	assert_int_equal(edge_route(world, "10.98.0.0/16", id), 0);
	check(&(struct expected){ { .dst = "10.98.0.1" }, PUNTS(OTHER) });
}

/* --- Sockets --- */

static void frame_without_socket_drops(void **state)
{
	(void)state;
	clear_socket(1, 0);
	check(&(struct expected){ { .dst = "10.9.0.1" }, DROPS(NO_BRIDGE) });
	/* the socket is that of all VOQs; another queue, another port: sockets of their own */
	check(&(struct expected){ { .dst = "10.9.0.1", .tos = 0x40 }, DROPS(NO_BRIDGE) });
	check(&(struct expected){ { .dst = "10.9.0.1" }, QUEUED_FOR(REMOTE), .queue = 1 });
	check(&(struct expected){ { .dst = "10.9.0.1", .dst_mac = FRAME_DST_MAC + 1 },
				  QUEUED_FOR(REMOTE),
				  .ingress = EDGE_PORT(2),
				  .port = 2 });
	set_socket(1, 0);
	clear_socket(1, 1);
	check(&(struct expected){ { .dst = "10.9.0.1" }, DROPS(NO_BRIDGE), .queue = 1 });
	check(&(struct expected){ { .dst = "10.9.0.1" }, QUEUED_FOR(REMOTE) });
}

static void port_without_number_drops(void **state)
{
	struct sl_port port = { .ifindex = EDGE_PORT(3), .flags = SL_PORT_FORWARD4 };
	const uint32_t element = EDGE_PORT(3);

	(void)state;
	memcpy(port.mac, "\x02\x00\x00\x00\x00\x0d", sizeof(port.mac));
	set("sl_port", element, &port);
	check(&(struct expected){ { .dst = "10.9.0.1", .dst_mac = FRAME_DST_MAC + 2 },
				  DROPS(NO_BRIDGE),
				  .ingress = EDGE_PORT(3) });
	assert_int_equal(edge_set_port(world, EDGE_PORT(3), FRAME_DST_MAC + 2,
				       SL_PORT_FORWARD4 | SL_PORT_FORWARD6),
			 0);
}

/* --- Admission --- */

struct admission {
	const char *name;
	struct sl_voq voq;
	uint64_t frames, bytes; /* that wait */
	uint32_t drop;		/* enum sl_drop; ADMITTED */
};
#define ADMITTED 0 /* the first reason is about truncated frames */

#define KIB64 (64ULL << 10)
static const struct admission admissions[] = {
	{ "limit_one_below", { SL_RATE_UNLIMITED, .limit_frames = 10 }, 9, 0, ADMITTED },
	{ "limit_reached", { SL_RATE_UNLIMITED, .limit_frames = 10 }, 10, 0, SL_DROP_VOQ_FULL },
	{ "limit_exceeded", { SL_RATE_UNLIMITED, .limit_frames = 10 }, 11, 0, SL_DROP_VOQ_FULL },
	{ "limit_zero", { SL_RATE_UNLIMITED, .limit_frames = 0 }, 0, 0, SL_DROP_VOQ_FULL },
	{ "rate_zero", { 0, .limit_frames = 10 }, 0, 0, SL_DROP_VOQ_STOPPED },
	{ "rate_zero_and_full", { 0, .limit_frames = 10 }, 10, 0, SL_DROP_VOQ_STOPPED },
	{ "rate_zero_any_delay",
	  { 0, .limit_frames = 10, .delay_max_us = 100 },
	  0,
	  0,
	  SL_DROP_VOQ_STOPPED },
	/* 1000 frames a second, 5 ms: five may wait before this one */
	{ "delay_reached", { 1000, .limit_frames = 99, .delay_max_us = 5000 }, 5, 0, ADMITTED },
	{ "delay_exceeded",
	  { 1000, .limit_frames = 99, .delay_max_us = 5000 },
	  6,
	  0,
	  SL_DROP_VOQ_DELAY },
	{ "delay_exceeded_by_1_us",
	  { 1000, .limit_frames = 99, .delay_max_us = 4999 },
	  5,
	  0,
	  SL_DROP_VOQ_DELAY },
	{ "delay_any", { 1, .limit_frames = 99 }, 98, 0, ADMITTED },
	{ "delay_unlimited_rate",
	  { SL_RATE_UNLIMITED, .limit_frames = 99, .delay_max_us = 1 },
	  98,
	  0,
	  ADMITTED },
	{ "delay_frames_do_not_ask_bytes",
	  { 1000, .limit_frames = 99, .delay_max_us = 5000 },
	  5,
	  1000000,
	  ADMITTED },
	/* 1.25 GB a second, 100 us: 125,000 bytes */
	{ "delay_bytes_reached",
	  { 1250000000, SL_UNIT_BYTES, .limit_frames = 999, .delay_max_us = 100 },
	  90,
	  125000,
	  ADMITTED },
	{ "delay_bytes_exceeded",
	  { 1250000000, SL_UNIT_BYTES, .limit_frames = 999, .delay_max_us = 100 },
	  90,
	  125001,
	  SL_DROP_VOQ_DELAY },
	/* 2^32 - 1 bytes a second and 1 s: the last rate that is exact */
	{ "delay_last_exact_rate_reached",
	  { 4294967295, SL_UNIT_BYTES, .limit_frames = 999, .delay_max_us = 1000000 },
	  90,
	  4294967295,
	  ADMITTED },
	{ "delay_last_exact_rate_exceeded",
	  { 4294967295, SL_UNIT_BYTES, .limit_frames = 999, .delay_max_us = 1000000 },
	  90,
	  4294967296,
	  SL_DROP_VOQ_DELAY },
	/* 100 GB a second; 2^32 - 1 us: the product would not fit 64 bits */
	{ "delay_fast_reached",
	  { 1525879 * KIB64, SL_UNIT_BYTES, .limit_frames = 999, .delay_max_us = 1000 },
	  90,
	  1525879 * KIB64 / 1000,
	  ADMITTED },
	{ "delay_fast_exceeded",
	  { 1525879 * KIB64, SL_UNIT_BYTES, .limit_frames = 999, .delay_max_us = 1000 },
	  90,
	  1525879 * KIB64 / 1000 + 1,
	  SL_DROP_VOQ_DELAY },
	{ "delay_longest_and_fast",
	  { 1525879 * KIB64, SL_UNIT_BYTES, .limit_frames = 999, .delay_max_us = UINT32_MAX },
	  90,
	  1ULL << 40,
	  ADMITTED },
	/* 2^33 * 2^31 is 0 in 64 bits */
	{ "delay_product_of_64_bits",
	  { 1ULL << 33, SL_UNIT_BYTES, .limit_frames = 999, .delay_max_us = 1U << 31 },
	  90,
	  1000,
	  ADMITTED },
	{ "delay_fastest_rate",
	  { (1ULL << 48) - 1, SL_UNIT_BYTES, .limit_frames = 999, .delay_max_us = UINT32_MAX },
	  90,
	  1ULL << 40,
	  ADMITTED },
	{ "delay_longest_and_slow",
	  { 1, SL_UNIT_BYTES, .limit_frames = 999, .delay_max_us = UINT32_MAX },
	  90,
	  4294,
	  ADMITTED },
	{ "delay_longest_and_slow_exceeded",
	  { 1, SL_UNIT_BYTES, .limit_frames = 999, .delay_max_us = UINT32_MAX },
	  90,
	  4295,
	  SL_DROP_VOQ_DELAY },
	{ "limit_before_delay",
	  { 1, .limit_frames = 10, .delay_max_us = 1 },
	  10,
	  0,
	  SL_DROP_VOQ_FULL },
	/* more went out than came in: a bridge that counts wrongly does not stop the queue */
	{ "backlog_below_zero",
	  { 1000, .limit_frames = 1, .delay_max_us = 1 },
	  (uint64_t)-3,
	  (uint64_t)-3000,
	  ADMITTED },
};

static void admission_is_exact(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(admissions) / sizeof(admissions[0]); i++) {
		const struct admission *a = &admissions[i];
		struct expected e = { { .dst = "10.9.0.1", .tos = 0x80 },
				      QUEUED_FOR(REMOTE),
				      .class = 2 };

		print_message("# %s\n", a->name);
		if (a->drop != ADMITTED) {
			e.end = EDGE_DROP;
			e.what = a->drop;
		}
		set_voq(EDGE_REMOTE_VOQ + 2, &a->voq);
		set_backlog(EDGE_REMOTE_VOQ + 2, a->frames, a->bytes);
		check(&e);
	}
}

static void queue_fills_to_its_limit_and_takes_more_when_one_leaves(void **state)
{
	const struct sl_voq voq = { .rate = SL_RATE_UNLIMITED, .limit_frames = 3 };
	const struct expected in = { { .dst = "10.9.0.1" }, QUEUED_FOR(REMOTE) };
	const struct expected full = { { .dst = "10.9.0.1" }, DROPS(VOQ_FULL) };
	struct sl_backlog backlog;
	const uint32_t id = EDGE_REMOTE_VOQ;

	(void)state;
	set_voq(id, &voq);
	for (int i = 0; i < 3; i++)
		check(&in);
	check(&full);
	/* other queues go on */
	check(&(struct expected){
		{ .dst = "10.9.0.1", .tos = 0xc0 }, QUEUED_FOR(REMOTE), .class = 3 });
	assert_int_equal(bpf_map_lookup_elem(edge_map_fd(world, "sl_backlog"), &id, &backlog), 0);
	backlog.dequeued.frames++;
	set("sl_backlog", id, &backlog);
	check(&in);
	check(&full);
}

/* --- Marking --- */

static void check_mark(uint8_t tos, bool ip6, uint16_t id, bool marked)
{
	check(&(struct expected){
		{ .dst = ip6 ? "2001:db8:9::1" : "10.9.0.1", .ip6 = ip6, .tos = tos, .id = id },
		QUEUED_FOR(REMOTE),
		.class = tos >> 6,
		.marked = marked });
}

static void ecn_capable_frames_are_marked_for_every_tos(void **state)
{
	struct sl_voq voq = open_voq;

	(void)state;
	voq.ecn_frames = 5;
	for (uint32_t class = 0; class < SL_CLASSES; class ++)
		set_voq(EDGE_REMOTE_VOQ + class, &voq);
	for (uint32_t tos = 0; tos < 256; tos++) {
		bool capable = (tos & 3) == 1 || (tos & 3) == 2;

		for (uint32_t class = 0; class < SL_CLASSES; class ++)
			set_backlog(EDGE_REMOTE_VOQ + class, 5, 0);
		check_mark(tos, false, 0, capable);
		check_mark(tos, true, 0, capable);
	}
}

static void marking_begins_at_its_threshold(void **state)
{
	struct sl_voq voq = open_voq;

	(void)state;
	voq.ecn_frames = 5;
	set_voq(EDGE_REMOTE_VOQ, &voq);
	set_backlog(EDGE_REMOTE_VOQ, 4, 0);
	check_mark(2, false, 0, false);
	check_mark(2, false, 0, true); /* five wait now */
	check_mark(2, false, 0, true);
	voq.ecn_frames = 0;
	set_voq(EDGE_REMOTE_VOQ, &voq);
	check_mark(2, false, 0, false);
}

/* Every value that the checksum can have, with the mark and the TTL changed at once. */
static void checksum_of_marked_frames_is_right_for_every_identification(void **state)
{
	static uint8_t in[FRAME_MAX_BYTES], want[FRAME_MAX_BYTES];
	static struct result got;
	struct sl_voq voq = open_voq;

	(void)state;
	voq.ecn_frames = 1;
	voq.limit_frames = UINT32_MAX;
	set_voq(EDGE_REMOTE_VOQ, &voq);
	set_backlog(EDGE_REMOTE_VOQ, 1, 0);
	for (uint32_t id = 0; id <= 0xffff; id++) {
		struct frame frame = { .dst = "10.9.0.1", .tos = 1 + (id & 1), .id = id };
		struct frame sent = edge_sent(&frame, EDGE_REMOTE);
		uint32_t len = frame_build(&frame, in), want_len;

		sent.tos = 3;
		want_len = frame_build(&sent, want);
		run(EDGE_PORT(1), 0, in, len, &got);
		assert_int_equal(got.action, XDP_REDIRECT);
		assert_int_equal(got.len, want_len);
		assert_memory_equal(got.frame, want, want_len);
	}
}

/* --- An own port, past the bridge --- */

#define OWN_VOQ EDGE_REMOTE_VOQ

/* A port that may send for ever: 2^40 bytes a second, with a full bucket. */
static const struct sl_own_port open_port = {
	.until_ns = UINT64_MAX, .rate = 1ULL << 40, .burst = 1000, .unit = SL_UNIT_BYTES
};

static void add_own_port(void)
{
	const struct sl_adj adj = {
		.port_ifindex = EDGE_PORT(2),
		.l3_ifindex = EDGE_PORT(2),
		.mtu_bytes = 1500,
		.voq_plus1 = OWN_VOQ + 1,
	};
	uint32_t id;

	assert_int_equal(sl_fib_nexthop_create(world->fib, &id), 0);
	assert_int_equal(sl_fib_nexthop_set_adj(world->fib, id, &adj), 0);
	assert_int_equal(edge_route(world, "10.97.0.0/16", id), 0);
}

/* Its VOQs, of which each has so many frames. The bridge is there: sl_xsk has its socket. */
static void set_own_port(const struct sl_own_port *own, const uint64_t waiting[SL_CLASSES])
{
	for (uint32_t c = 0; c < SL_CLASSES; c++) {
		struct sl_backlog backlog = {
			.enqueued = { 5000000000 + waiting[c], 7000000000 },
			.dequeued = { 5000000000, 7000000000 },
			.system_port = SL_SYSTEM_PORT(EDGE_NODE, 2),
		};

		if (c == 0)
			backlog.own = *own;
		set("sl_backlog", OWN_VOQ + c, &backlog);
	}
}

/* Does a frame of 60 bytes and this class leave past the bridge? If not, it waits for it. */
static bool leaves_at_once(uint32_t class)
{
	struct frame f = { .dst = "10.97.0.1", .tos = class << 6, .payload_bytes = 26 };
	static uint8_t in[FRAME_MAX_BYTES];
	struct sl_backlog before[EDGE_VOQS], after[EDGE_VOQS];
	const uint32_t voq = OWN_VOQ + class, len = frame_build(&f, in);
	static struct result got;
	bool at_once;

	read_backlogs(before);
	run(EDGE_PORT(1), 0, in, len, &got);
	read_backlogs(after);
	assert_int_equal(len, 60);
	assert_int_equal(got.action, XDP_REDIRECT);
	at_once = got.meta_bytes == 0;
	assert_int_equal(after[voq].express.frames - before[voq].express.frames, at_once);
	assert_int_equal(after[voq].express.bytes - before[voq].express.bytes, at_once ? 60 : 0);
	assert_int_equal(after[voq].enqueued.frames - before[voq].enqueued.frames, !at_once);
	return at_once;
}

static void a_shaped_port_lets_frames_past_the_bridge(void **state)
{
	const uint64_t none[SL_CLASSES] = { 0 };

	(void)state;
	add_own_port();
	set_own_port(&open_port, none);
	for (uint32_t class = 0; class < SL_CLASSES; class ++)
		assert_true(leaves_at_once(class));
	set_own_port(&open_port, (const uint64_t[SL_CLASSES]){ 0, 1, 0, 0 });
	assert_true(leaves_at_once(0)); /* the bridge says so if another class is to go first */
	assert_false(leaves_at_once(1));
}

static void a_frame_for_an_own_port_goes_by_the_bridge_where_it_must(void **state)
{
	const uint64_t none[SL_CLASSES] = { 0 };
	struct sl_own_port own = open_port;

	(void)state;
	add_own_port();
	own.until_ns = 0;
	set_own_port(&own, none);
	assert_false(leaves_at_once(0));
	own.until_ns = sl_now_ns();
	set_own_port(&own, none);
	assert_false(leaves_at_once(0));
	own = open_port;
	own.busy = 1;
	set_own_port(&own, none);
	assert_false(leaves_at_once(0));
	assert_false(leaves_at_once(3));
	own = open_port;
	own.rate = 0;
	set_own_port(&own, none);
	assert_false(leaves_at_once(0));
}

/* A controller has given the VOQ a bucket of its own: 100 bytes, one a second. */
static void a_voq_of_an_own_port_sends_what_its_bucket_holds(void **state)
{
	const uint64_t none[SL_CLASSES] = { 0 };
	struct sl_voq voq = open_voq;
	const uint32_t id = OWN_VOQ;
	struct sl_backlog after;

	(void)state;
	add_own_port();
	voq.rate = 1;
	voq.burst = 100;
	voq.unit = SL_UNIT_BYTES;
	set_voq(OWN_VOQ, &voq);
	set_own_port(&open_port, none);
	assert_true(leaves_at_once(0));
	assert_true(leaves_at_once(0)); /* 40 were left: now it owes 20 */
	assert_false(leaves_at_once(0));
	assert_true(leaves_at_once(1));
	assert_int_equal(bpf_map_lookup_elem(edge_map_fd(world, "sl_backlog"), &id, &after), 0);
	assert_in_range(after.clock, (sl_now_ns() + 19000000000) * SL_TICKS_PER_NS,
			(sl_now_ns() + 120000000000) * SL_TICKS_PER_NS);
}

/* A bucket of 100 units that fills at one a second. All classes spend from it. */
static void an_own_port_sends_what_its_bucket_holds(void **state)
{
	const uint64_t none[SL_CLASSES] = { 0 };
	struct sl_own_port own = open_port;
	struct sl_backlog before;
	const uint32_t voq = OWN_VOQ;

	(void)state;
	add_own_port();
	own.rate = 1;
	own.burst = 100;
	set_own_port(&own, none);
	assert_true(leaves_at_once(0));
	assert_true(leaves_at_once(1)); /* 40 were left: now it owes 20 */
	assert_false(leaves_at_once(0));
	own.unit = SL_UNIT_FRAMES;
	set_own_port(&own, none);
	/* The last one leaves by the part of a token that has come meanwhile, and the bucket owes.
	 */
	for (uint32_t i = 0; i < 101; i++)
		assert_true(leaves_at_once(i % SL_CLASSES));
	assert_int_equal(bpf_map_lookup_elem(edge_map_fd(world, "sl_backlog"), &voq, &before), 0);
	assert_in_range(before.own.clock, (sl_now_ns() + 90000000000) * SL_TICKS_PER_NS,
			(sl_now_ns() + 101000000000) * SL_TICKS_PER_NS);
	assert_false(leaves_at_once(2));
}

/* --- The fabric's own protocol --- */

static void roce_for_a_fabric_address_drops(void **state)
{
	static const struct frame frames[] = {
		{ .dst = "10.9.0.200", .dport = SL_ROCE_PORT },
		{ .dst = "10.2.0.200", .dport = SL_ROCE_PORT }, /* would leave by a local port */
		{ .ip6 = true, .dst = "2001:db8:9::200", .dport = SL_ROCE_PORT },
		/* fragments: the first, and one without ports */
		{ .dst = "10.9.0.200", .dport = 1, .fragment = 0x2000 },
		{ .dst = "10.9.0.200", .dport = 1, .fragment = 0x0010 },
		/* options, and extension headers */
		{ .dst = "10.9.0.200", .dport = 1, .patch = { { 0, 0x46 } } },
		{ .ip6 = true, .dst = "2001:db8:9::200", .protocol = IPPROTO_FRAGMENT },
		{ .ip6 = true,
		  .dst = "2001:db8:9::200",
		  .protocol = IPPROTO_HOPOPTS,
		  .patch = { { 6, 0 } } },
		{ .ip6 = true, .dst = "2001:db8:9::200", .protocol = IPPROTO_ROUTING },
		{ .ip6 = true, .dst = "2001:db8:9::200", .protocol = IPPROTO_DSTOPTS },
		{ .ip6 = true, .dst = "2001:db8:9::200", .protocol = IPPROTO_AH },
		/* a frame that ends before the ports */
		{ .dst = "10.9.0.200", .payload_bytes = 7 },
		/*
		 * what the kernel would be given: TTL, broadcast, a VLAN unknown to the fast path
		 */
		{ .dst = "10.9.0.200", .dport = SL_ROCE_PORT, .ttl = 1 },
		{ .dst = "10.9.0.200", .dport = SL_ROCE_PORT, .dst_mac = 0xffffffffffff },
		{ .dst = "10.9.0.200", .dport = SL_ROCE_PORT, .tag = { { 0x8100, 999 } } },
		{ .dst = "10.9.0.200",
		  .dport = SL_ROCE_PORT,
		  .dst_mac = EDGE_VLAN1_MAC,
		  .tag = { { 0x8100, 100 } } },
		/* priority tags, which the kernel takes off */
		{ .dst = "10.9.0.200", .dport = SL_ROCE_PORT, .tag = { { 0x8100, 0 } } },
		{ .dst = "10.9.0.200",
		  .dport = SL_ROCE_PORT,
		  .tag = { { 0x88a8, 0 }, { 0x8100, 0 } } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		print_message("# frame %zu\n", i);
		check(&(struct expected){ frames[i], DROPS(FABRIC_SPOOF) });
	}
	/* The program looks behind two tags; the kernel would take off this third one. */
	check(&(struct expected){ { .dst = "10.9.0.200",
				    .dport = SL_ROCE_PORT,
				    .tag = { { 0x8100, 0 }, { 0x8100, 0 }, { 0x8100, 0 } } },
				  DROPS(TAGS) });
}

static void other_packets_for_a_fabric_address_are_forwarded(void **state)
{
	(void)state;
	check(&(struct expected){ { .dst = "10.9.0.200", .dport = SL_ROCE_PORT - 1 },
				  QUEUED_FOR(REMOTE) });
	check(&(struct expected){
		{ .dst = "10.9.0.200", .dport = SL_ROCE_PORT, .protocol = IPPROTO_TCP },
		QUEUED_FOR(REMOTE) });
	check(&(struct expected){ { .dst = "10.9.0.200", .sport = SL_ROCE_PORT, .dport = 53 },
				  QUEUED_FOR(REMOTE) });
	check(&(struct expected){
		{ .ip6 = true, .dst = "2001:db8:9::200", .protocol = IPPROTO_ICMPV6 },
		QUEUED_FOR(REMOTE) });
}

static void roce_for_another_address_is_forwarded(void **state)
{
	(void)state;
	check(&(struct expected){ { .dst = "10.9.0.201", .dport = SL_ROCE_PORT },
				  QUEUED_FOR(REMOTE) });
	check(&(struct expected){ { .dst = "10.2.0.1", .dport = SL_ROCE_PORT },
				  FORWARD_BY(PLAIN) });
	check(&(struct expected){
		{ .ip6 = true, .dst = "2001:db8:9::201", .protocol = IPPROTO_FRAGMENT },
		QUEUED_FOR(REMOTE) });
}

/* --- Flows with a reserved rate --- */

#define RESERVED_NUMBER SL_RESERVED_NUMBER(5)
#define HOUR_NS		(3600 * 1000000000ULL)

/* The flow of a frame whose fields are all those that frame.h gives by itself. */
static struct sl_flow_key default_flow(bool ip6)
{
	struct sl_flow_key key = { .source_port = sl_htons(1234),
				   .destination_port = sl_htons(4321),
				   .protocol = IPPROTO_UDP,
				   .version = ip6 ? 6 : 4 };
	const int family = ip6 ? AF_INET6 : AF_INET;

	assert_int_equal(inet_pton(family, ip6 ? "2001:db8:1::2" : "10.1.0.2", key.source), 1);
	assert_int_equal(inet_pton(family, ip6 ? "2001:db8:9::1" : "10.9.0.1", key.destination), 1);
	return key;
}

/* Say of port 1 whether flows that enter there have anything reserved. */
static void set_reserves(bool reserves)
{
	const uint32_t flags = SL_PORT_FORWARD4 | SL_PORT_FORWARD6;

	assert_int_equal(edge_set_port(world, EDGE_PORT(1), FRAME_DST_MAC,
				       reserves ? flags | SL_PORT_RESERVES : flags),
			 0);
}

/* Reserve for a flow that enters at `ifindex`: `bytes` at once, and nothing after that. */
static void reserve(const struct sl_flow_key *key, uint32_t ifindex, uint64_t bytes)
{
	const struct sl_reserved entry = { .number = RESERVED_NUMBER, .l3_ifindex = ifindex };
	const struct sl_policer policer = { .rate_Bps = { 1 },
					    .burst = { bytes * SL_POLICER_SCALE },
					    .full_ns = { HOUR_NS },
					    .tokens = { bytes * SL_POLICER_SCALE },
					    .filled_ns = sl_now_ns() };

	set("sl_policer", RESERVED_NUMBER, &policer);
	set_reserves(true);
	assert_int_equal(
		bpf_map_update_elem(edge_map_fd(world, "sl_reserved"), key, &entry, BPF_ANY), 0);
}

static void unreserve(const struct sl_flow_key *key)
{
	set_reserves(false);
	assert_int_equal(bpf_map_delete_elem(edge_map_fd(world, "sl_reserved"), key), 0);
}

/* This frame, whose DSCP is of class 1, is of the flow: it enters the queue of class 3; or not. */
static void check_reserved(struct frame in, bool is_of_flow)
{
	in.tos = 16 << 2;
	if (!in.dst)
		in.dst = in.ip6 ? "2001:db8:9::1" : "10.9.0.1";
	if (!in.src && in.ip6)
		in.src = "2001:db8:1::2";
	check(&(struct expected){ in, QUEUED_FOR(REMOTE),
				  .class = is_of_flow ? SL_RESERVED_CLASS : 1 });
}

static void reserved_flow_enters_the_queue_of_its_class_and_no_other_flow_does(void **state)
{
	(void)state;
	for (int ip6 = 0; ip6 <= 1; ip6++) {
		const struct sl_flow_key key = default_flow(ip6);

		reserve(&key, EDGE_PORT(1), 1000000);
		check_reserved((struct frame){ .ip6 = ip6 }, true);
		check_reserved((struct frame){ .ip6 = ip6, .sport = 1235 }, false);
		check_reserved((struct frame){ .ip6 = ip6, .dport = 4322 }, false);
		check_reserved((struct frame){ .ip6 = ip6, .protocol = IPPROTO_TCP }, false);
		check_reserved(
			(struct frame){ .ip6 = ip6, .src = ip6 ? "2001:db8:1::3" : "10.1.0.3" },
			false);
		check_reserved(
			(struct frame){ .ip6 = ip6, .dst = ip6 ? "2001:db8:9::2" : "10.9.0.2" },
			false);
		check_reserved((struct frame){ .ip6 = ip6, .payload_bytes = FRAME_EMPTY }, false);
		check_reserved((struct frame){ .ip6 = ip6, .tag = { { 0 } } }, true);
		unreserve(&key);
		check_reserved((struct frame){ .ip6 = ip6 }, false);
	}
}

static void fragments_are_of_no_reserved_flow(void **state)
{
	const struct sl_flow_key key = default_flow(false);

	(void)state;
	reserve(&key, EDGE_PORT(1), 1000000);
	check_reserved((struct frame){ .fragment = 0x2000 }, false);
	check_reserved((struct frame){ .fragment = 0x0001 }, false);
	check_reserved((struct frame){ .fragment = 0x4000 }, true); /* do not fragment */
	unreserve(&key);
}

static void flow_that_enters_elsewhere_has_nothing_reserved(void **state)
{
	const struct sl_flow_key key = default_flow(false);

	(void)state;
	reserve(&key, EDGE_PORT(2), 1000000);
	check_reserved((struct frame){ 0 }, false);
	unreserve(&key);
}

static void port_without_reserved_flows_looks_for_none(void **state)
{
	const struct sl_flow_key key = default_flow(false);

	(void)state;
	reserve(&key, EDGE_PORT(1), 1000000);
	check_reserved((struct frame){ 0 }, true);
	set_reserves(false);
	check_reserved((struct frame){ 0 }, false);
	unreserve(&key);
}

/* A frame of 26 bytes of payload has 60; the policer counts its Ethernet header, too. */
static void what_exceeds_the_rate_goes_by_its_dscp(void **state)
{
	const struct sl_flow_key key = default_flow(false);
	struct sl_policer policer;
	const uint32_t number = RESERVED_NUMBER;

	(void)state;
	reserve(&key, EDGE_PORT(1), 3 * 60 + 59);
	for (int i = 0; i < 3; i++)
		check_reserved((struct frame){ 0 }, true);
	for (int i = 0; i < 3; i++)
		check_reserved((struct frame){ 0 }, false);
	assert_int_equal(bpf_map_lookup_elem(edge_map_fd(world, "sl_policer"), &number, &policer),
			 0);
	assert_int_equal(policer.packets[SL_COLOUR_GREEN], 3);
	assert_int_equal(policer.bytes[SL_COLOUR_GREEN], 3 * 60);
	assert_int_equal(policer.packets[SL_COLOUR_RED], 3);
	unreserve(&key);
}

#define TEST(name)                             \
	{                                      \
#name, name, reset, NULL, NULL \
	}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(every_dscp_enters_the_queue_of_its_class),
		TEST(ip4_is_rewritten_for_its_next_hop),
		TEST(ip6_is_rewritten_for_its_next_hop),
		TEST(padding_is_removed_and_not_counted_as_backlog),
		TEST(vlan_tags_change_and_metadata_stays_below_the_frame),
		TEST(metadata_names_the_port_that_the_frame_entered_by),
		TEST(local_port_is_forwarded_without_metadata),
		TEST(egress_checks_come_first),
		TEST(queue_beyond_those_in_use_punts),
		TEST(a_shaped_port_lets_frames_past_the_bridge),
		TEST(a_frame_for_an_own_port_goes_by_the_bridge_where_it_must),
		TEST(a_voq_of_an_own_port_sends_what_its_bucket_holds),
		TEST(an_own_port_sends_what_its_bucket_holds),
		TEST(frame_without_socket_drops),
		TEST(port_without_number_drops),
		TEST(admission_is_exact),
		TEST(queue_fills_to_its_limit_and_takes_more_when_one_leaves),
		TEST(ecn_capable_frames_are_marked_for_every_tos),
		TEST(marking_begins_at_its_threshold),
		TEST(checksum_of_marked_frames_is_right_for_every_identification),
		TEST(roce_for_a_fabric_address_drops),
		TEST(other_packets_for_a_fabric_address_are_forwarded),
		TEST(roce_for_another_address_is_forwarded),
		TEST(reserved_flow_enters_the_queue_of_its_class_and_no_other_flow_does),
		TEST(fragments_are_of_no_reserved_flow),
		TEST(flow_that_enters_elsewhere_has_nothing_reserved),
		TEST(port_without_reserved_flows_looks_for_none),
		TEST(what_exceeds_the_rate_goes_by_its_dscp),
	};
	enum { N = sizeof(tests) / sizeof(tests[0]) };
	static struct CMUnitTest all[N_VARIANTS * N];
	static char names[N_VARIANTS * N][128];

	for (size_t i = 0; i < N_VARIANTS * N; i++) {
		const struct variant *v = &variants[i / N];

		snprintf(names[i], sizeof(names[i]), "%s/%s/%s", v->engine, v->program,
			 tests[i % N].name);
		all[i] = tests[i % N];
		all[i].name = names[i];
		all[i].initial_state = (void *)v;
	}
	return cmocka_run_group_tests(all, setup, teardown);
}
