/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bridge's edge port behind sl_edge: frames enter at p1, lead to ports of another node, and
 * come out of the VOQ rings. The tests check every byte, the ring, the counters on both sides, full
 * rings, and transmission.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/abi/abi.h"
#include "bpf/abi/forwarding.h"
#include "bpf/abi/l3_port.h"
#include "bpf/abi/reasons.h"
#include "bpf/abi/voq.h"
#include "bpf/lib/endian.bpf.h"
#include "rdma-bridge/port/edge.h"
#include "rdma-bridge/port/xsk.h"
#include "tests/lib/deadline.h"
#include "tests/lib/edge_rig.h"
#include "tests/lib/frame.h"
#include "user/lib/clock.h"

#define REMOTE	    990u /* ifindex of the first remote port; no netdev has it */
#define NUMBER	    3	 /* of p1 on its node */
#define PORTS	    2	 /* remote ports: system port indices 1 and 2 */
#define VOQS	    (PORTS * SL_CLASSES)
#define VOQ_IDS	    ((1 + PORTS) * SL_CLASSES) /* index 0 is our own port */
#define CHUNK_BYTES 4096
#define CHUNKS	    2048
#define RING	    64
#define FILL	    256
#define RINGS_BYTES (EDGE_PORTS * EDGE_QUEUES * sizeof(struct sl_ring))

static struct edge *xdp;
static struct rb_edge *port;
static struct rb_injector *injector; /* NULL: AF_XDP transmits */
static struct rb_chunks *chunks;
static uint8_t *area;
static struct sl_voq *voqs;
static struct sl_backlog *backlog;
static struct sl_ring *rings;
/* Frames that have come out of the ring, by VOQ, and that no test has taken. */
static struct rb_frame sorted[VOQS][FILL];
static uint32_t n_sorted[VOQS];
static struct sl_counter counters[RB_COUNT_COUNT];
static int raw_fd = -1;

/*
 * no_pools: fail test runs as the kernel does when all ids of page pools are in use, and count
 * them.
 */
static bool no_pools;
static uint32_t asked_for_pools;

int bpf_prog_test_run_opts(int prog_fd, struct bpf_test_run_opts *opts)
{
	int (*libbpf)(int, struct bpf_test_run_opts *) = dlsym(RTLD_NEXT, __func__);

	asked_for_pools += no_pools;
	return no_pools ? -ENOSPC : libbpf(prog_fd, opts);
}

static void *map_memory(const char *name, size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, edge_map_fd(xdp, name), 0);

	assert_true(p != MAP_FAILED);
	return p;
}

/* The adjacency of remote port n: neighbours 02:..:c0+n, from the remote port's MAC 02:..:e0+n. */
static struct sl_adj adjacency(uint32_t n)
{
	return (struct sl_adj){
		.port_ifindex = REMOTE + n,
		.l3_ifindex = REMOTE + n,
		.mtu_bytes = 3400,
		.dst_mac = { 2, 0, 0, 0, 0, (uint8_t)(0xc0 + n) },
		.src_mac = { 2, 0, 0, 0, 0, (uint8_t)(0xe0 + n) },
		.remote = 1,
		.voq_plus1 = (uint16_t)((1 + n) * SL_CLASSES + 1),
	};
}

/* Past the qdisc, a packet socket's frames take the queue of the CPU they leave from. */
static void enter_by(uint32_t queue)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(queue, &set);
	assert_int_equal(sched_setaffinity(0, sizeof(set), &set), 0);
}

static int setup(void **state)
{
	const struct sl_config config = { .engine = SL_ENGINE_LPM,
					  .managed = 1,
					  .node_id = 1,
					  .n_voqs = VOQ_IDS,
					  .n_queues = EDGE_QUEUES,
					  .n_workers = 1 };
	struct sl_port l3 = { .ifindex = EDGE_PORT(1),
			      .flags = SL_PORT_FORWARD4 | SL_PORT_FORWARD6,
			      .mac = { 2, 0, 0, 0, 0, 0x0b },
			      .number = NUMBER };
	uint32_t element = EDGE_PORT(1) & (SL_PORTS_MAX - 1);
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_ifindex = EDGE_PEER(1) };
	struct rb_edge_config edge = {
		.netdev = "p1",
		.system_port = SL_SYSTEM_PORT(1, NUMBER),
		.area_bytes = (uint64_t)CHUNKS * CHUNK_BYTES,
		.meta_ports = EDGE_PORTS,
		.meta_queues = EDGE_QUEUES,
		.meta_voqs = VOQ_IDS,
		.fill_target = FILL,
		.injector = injector,
	};
	uint64_t end = sl_now_ns() + DEADLINE_NS;
	int err, one = 1;

	(void)state;
	if (edge_create(&config, &xdp) ||
	    bpf_map_update_elem(edge_map_fd(xdp, "sl_port"), &element, &l3, BPF_ANY))
		return -1;
	for (uint32_t n = 0; n < PORTS; n++) {
		static const char *const prefix[][2] = { { "10.2.0.0/16", "2001:db8:2::/48" },
							 { "10.3.0.0/16", "2001:db8:3::/48" } };
		const struct sl_adj adj = adjacency(n);
		uint32_t id;

		if (sl_fib_nexthop_create(xdp->fib, &id) ||
		    sl_fib_nexthop_set_adj(xdp->fib, id, &adj) ||
		    edge_route(xdp, prefix[n][0], id) || edge_route(xdp, prefix[n][1], id))
			return -1;
	}
	for (uint32_t dscp = 0; dscp < SL_DSCPS; dscp++) {
		uint32_t class = dscp / 16;

		bpf_map_update_elem(edge_map_fd(xdp, "sl_dscp"), &dscp, &class, BPF_ANY);
	}
	voqs = map_memory("sl_voq", VOQ_IDS * sizeof(*voqs));
	backlog = map_memory("sl_backlog", VOQ_IDS * sizeof(*backlog));
	for (uint32_t i = 0; i < VOQ_IDS; i++)
		voqs[i] = (struct sl_voq){ .rate = SL_RATE_UNLIMITED, .limit_frames = 1000 };
	area = mmap(NULL, edge.area_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (area == MAP_FAILED || rb_chunks_create(area, 0, CHUNKS, CHUNK_BYTES, &chunks))
		return -1;
	memset(counters, 0, sizeof(counters));
	memset(n_sorted, 0, sizeof(n_sorted));
	edge.chunks = chunks;
	edge.rings = rings = map_memory("sl_ring", RINGS_BYTES);
	edge.xsk_fd = edge_map_fd(xdp, "sl_xsk");
	if (bpf_xdp_attach(EDGE_PORT(1), edge_program_fd(xdp), XDP_FLAGS_DRV_MODE, NULL))
		return -1;
	/* The kernel frees the queues some time after the former test closed them. */
	while ((err = rb_edge_open(&edge, &port)) == -EBUSY && sl_now_ns() < end)
		;
	if (err)
		return -1;
	enter_by(0);
	raw_fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (raw_fd < 0 || setsockopt(raw_fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)))
		return -1;
	return bind(raw_fd, (struct sockaddr *)&to, sizeof(to)) ? -1 : 0;
}

static int teardown(void **state)
{
	(void)state;
	close(raw_fd);
	if (port) {
		rb_edge_shut(port, backlog, counters);
		rb_edge_close(port);
	}
	port = NULL;
	bpf_xdp_detach(EDGE_PORT(1), XDP_FLAGS_DRV_MODE, NULL);
	munmap(voqs, VOQ_IDS * sizeof(*voqs));
	munmap(backlog, VOQ_IDS * sizeof(*backlog));
	munmap(rings, RINGS_BYTES);
	edge_destroy(xdp);
	if (chunks->violations || chunks->n_free != CHUNKS) {
		print_error("%u of %d chunks free, %llu violations\n", chunks->n_free, CHUNKS,
			    (unsigned long long)chunks->violations);
		return -1;
	}
	rb_chunks_destroy(chunks);
	munmap(area, (size_t)CHUNKS * CHUNK_BYTES);
	return 0;
}

static void put(const struct frame *frame)
{
	uint8_t bytes[FRAME_MAX_BYTES];
	uint32_t n = frame_build(frame, bytes);

	assert_int_equal(send(raw_fd, bytes, n, 0), n);
}

/* Wait until XDP has seen `frames` frames since the test began. */
static struct edge_counters seen(uint64_t frames)
{
	uint64_t end = sl_now_ns() + DEADLINE_NS;
	struct edge_counters c;

	for (edge_read_counters(xdp, &c); c.stats[SL_STAT_RX].packets < frames;
	     edge_read_counters(xdp, &c))
		assert_true(sl_now_ns() < end);
	assert_int_equal(c.stats[SL_STAT_RX].packets, frames);
	return c;
}

static uint32_t take(uint32_t voq, struct rb_frame *out, uint32_t max)
{
	struct rb_frame in[RING];
	uint32_t n;

	while ((n = rb_edge_receive(port, 0, backlog, counters, in, RING)) > 0)
		for (uint32_t i = 0; i < n; i++) {
			uint32_t k = in[i].voq - SL_CLASSES;

			assert_in_range(k, 0, VOQS - 1);
			assert_in_range(n_sorted[k], 0, FILL - 1);
			sorted[k][n_sorted[k]++] = in[i];
		}
	n = n_sorted[voq] < max ? n_sorted[voq] : max;
	memcpy(out, sorted[voq], n * sizeof(*out));
	n_sorted[voq] -= n;
	memmove(sorted[voq], sorted[voq] + n, n_sorted[voq] * sizeof(*out));
	return n;
}

static void release(const struct rb_frame *frames, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		rb_chunk_release(chunks, frames[i].offset, RB_OWNER_INGRESS);
}

/* Send the frame. XDP must redirect this frame, as the next hop should see it. */
static void put_and_expect(uint32_t voq, const struct frame *in, uint32_t remote)
{
	struct frame want = *in;
	struct rb_frame got;
	uint8_t bytes[FRAME_MAX_BYTES];
	uint64_t begin_ns = sl_now_ns();
	uint32_t n;

	put(in);
	want.dst_mac = 0x0200000000c0ULL + remote;
	want.src_mac = 0x0200000000e0ULL + remote;
	want.ttl = in->ttl ? in->ttl - 1 : 63;
	want.padding_bytes = 0;
	n = frame_build(&want, bytes);
	while (take(voq, &got, 1) == 0)
		assert_true(sl_now_ns() < begin_ns + DEADLINE_NS);
	assert_int_equal(got.len_bytes, n);
	assert_memory_equal(rb_chunk_data(chunks, got.offset), bytes, n);
	assert_int_equal(got.ingress_port, SL_SYSTEM_PORT(1, NUMBER));
	assert_in_range(got.arrival_ns, begin_ns, sl_now_ns());
	release(&got, 1);
}

static void frame_for_a_remote_port_comes_out_of_the_ring_of_its_port_and_class(void **state)
{
	uint64_t sent = 0;

	(void)state;
	for (uint32_t remote = 0; remote < PORTS; remote++)
		for (uint32_t class = 0; class < SL_CLASSES; class ++)
			for (int ip6 = 0; ip6 < 2; ip6++) {
				static const char *const to[][2] = {
					{ "10.2.0.2", "2001:db8:2::2" },
					{ "10.3.0.2", "2001:db8:3::2" },
				};
				const struct frame f = { .ip6 = ip6,
							 .dst = to[remote][ip6],
							 .tos = (uint8_t)(class * 64 + 1),
							 .ttl = (uint8_t)(10 + class) };

				put_and_expect(remote * SL_CLASSES + class, &f, remote);
				sent++;
			}
	assert_int_equal(seen(sent).stats[SL_STAT_VOQ].packets, sent);
	assert_int_equal(seen(sent).stats[SL_STAT_FORWARD].packets, 0);
	for (uint32_t i = 0; i < VOQS; i++)
		assert_int_equal(backlog[SL_CLASSES + i].enqueued.frames, 2);
	assert_int_equal(backlog[0].enqueued.frames, 0);
	assert_int_equal(rb_edge_strangers(port), 0);
}

static void frames_of_every_size_come_out_whole(void **state)
{
	uint64_t bytes = 0;

	(void)state;
	for (int32_t payload = 4; payload <= 3380; payload += payload < 60 ? 1 : 83) {
		const struct frame f = { .payload_bytes = payload,
					 .padding_bytes =
						 payload < 26 ? 26u - (uint32_t)payload : 0 };

		put_and_expect(0, &f, 0);
		bytes += 34 + (uint64_t)payload;
		rb_edge_refill(port);
	}
	assert_int_equal(backlog[SL_CLASSES].enqueued.bytes, bytes);
}

static void voq_at_its_frame_limit_drops_and_admits_again_when_drained(void **state)
{
	const struct frame f = { 0 };
	struct rb_frame got[RING];
	struct edge_counters c;

	(void)state;
	voqs[SL_CLASSES].limit_frames = 5;
	for (int i = 0; i < 8; i++)
		put(&f);
	c = seen(8);
	assert_int_equal(c.drops[SL_DROP_VOQ_FULL].packets, 3);
	assert_int_equal(c.stats[SL_STAT_VOQ].packets, 5);
	assert_int_equal(take(0, got, RING), 5);
	release(got, 5);
	backlog[SL_CLASSES].dequeued.frames += 5;
	put(&f);
	assert_int_equal(seen(9).stats[SL_STAT_VOQ].packets, 6);
	assert_int_equal(take(0, got, RING), 1);
	release(got, 1);
}

/* Put n frames for the VOQ of this class of the first remote port. */
static void put_class(uint32_t class, uint32_t n)
{
	const struct frame f = { .tos = (uint8_t)(class * 64) };

	for (uint32_t i = 0; i < n; i++)
		put(&f);
}

static uint64_t waiting(uint32_t voq)
{
	const struct sl_backlog *b = &backlog[SL_CLASSES + voq];

	return b->enqueued.frames - b->dequeued.frames;
}

/* FILL chunks, then frames that the kernel has none for, then chunks again. */
static void frames_that_never_came_leave_their_own_backlog_with_the_next_frame(void **state)
{
	struct rb_frame got[FILL];

	(void)state;
	put_class(1, FILL);
	put_class(2, 7);
	put_class(3, 5);
	assert_int_equal(seen(FILL + 12).stats[SL_STAT_VOQ].packets, FILL + 12);
	assert_int_equal(take(1, got, FILL), FILL);
	/* No later frame has come, so nothing is known of the 12. */
	assert_int_equal(waiting(2), 7);
	assert_int_equal(waiting(3), 5);
	rb_edge_refill(port);
	put_class(1, 1);
	seen(FILL + 13);
	release(got, FILL);
	assert_int_equal(take(1, got, FILL), 1);
	release(got, 1);
	assert_int_equal(counters[RB_COUNT_DROP_VOQ_RING].packets, 12);
	for (uint32_t voq = 2; voq < 4; voq++) {
		const struct sl_backlog *b = &backlog[SL_CLASSES + voq];

		assert_int_equal(waiting(voq), 0);
		assert_int_equal(b->missed, voq == 2 ? 7 : 5);
		assert_int_equal(b->enqueued.bytes, b->dequeued.bytes);
	}
	assert_int_equal(waiting(1), FILL + 1);
}

static void last_frames_that_never_came_leave_the_backlog_by_the_count_of_the_socket(void **state)
{
	struct rb_frame got[FILL];

	(void)state;
	put_class(1, FILL);
	put_class(2, 7);
	seen(FILL + 7);
	rb_edge_settle(port, 0, backlog, counters, 1);
	assert_int_equal(waiting(2), 7); /* frames wait in the ring */
	assert_int_equal(take(1, got, FILL), FILL);
	release(got, FILL);
	rb_edge_settle(port, 0, backlog, counters, 1);
	assert_int_equal(waiting(2), 0);
	assert_int_equal(backlog[SL_CLASSES + 2].missed, 7);
	assert_int_equal(counters[RB_COUNT_DROP_VOQ_RING].packets, 7);
	/* Once. */
	rb_edge_settle(port, 0, backlog, counters, 1);
	assert_int_equal(counters[RB_COUNT_DROP_VOQ_RING].packets, 7);
	assert_int_equal(rings[sl_ring_key(NUMBER, 0, 0, EDGE_QUEUES, 1)].taken, FILL + 7);
}

static void voq_beyond_its_share_of_free_memory_is_refused_and_others_are_not(void **state)
{
	struct rb_frame got[FILL];
	struct edge_counters c;

	(void)state;
	rings[sl_ring_key(NUMBER, 0, 0, EDGE_QUEUES, 1)].share_frames = 20;
	put_class(1, 30);
	c = seen(30);
	assert_int_equal(c.stats[SL_STAT_VOQ].packets, 20);
	assert_int_equal(c.drops[SL_DROP_VOQ_MEMORY].packets, 10);
	/* With nothing free, a VOQ has its floor. */
	rings[sl_ring_key(NUMBER, 0, 0, EDGE_QUEUES, 1)].share_frames = 0;
	put_class(2, 30);
	c = seen(60);
	assert_int_equal(c.stats[SL_STAT_VOQ].packets, 20 + SL_VOQ_FLOOR);
	assert_int_equal(c.drops[SL_DROP_VOQ_MEMORY].packets, 10 + 30 - SL_VOQ_FLOOR);
	assert_int_equal(take(1, got, FILL), 20);
	release(got, 20);
	assert_int_equal(take(2, got, FILL), SL_VOQ_FLOOR);
	release(got, SL_VOQ_FLOOR);
}

static void ring_that_nobody_reads_refuses_instead_of_losing(void **state)
{
	const uint32_t key = sl_ring_key(NUMBER, 0, 0, EDGE_QUEUES, 1);
	struct rb_frame got[FILL];
	struct edge_counters c;

	(void)state;
	/* As if the bridge were so far behind. */
	rings[key].taken -= SL_RING_FRAMES - 3;
	put_class(1, 10);
	c = seen(10);
	assert_int_equal(c.stats[SL_STAT_VOQ].packets, 3);
	assert_int_equal(c.drops[SL_DROP_VOQ_MEMORY].packets, 7);
	assert_int_equal(take(1, got, FILL), 3);
	release(got, 3);
	put_class(1, 1);
	assert_int_equal(seen(11).stats[SL_STAT_VOQ].packets, 4);
	assert_int_equal(take(1, got, FILL), 1);
	release(got, 1);
}

/*
 * The other VOQs could hold more frames than the fill ring has chunks. Their frames, which nobody
 * drains, must cost the drained VOQ nothing.
 */
static void voqs_that_nobody_drains_cost_the_others_nothing(void **state)
{
	enum { ROUNDS = 200, LIMIT = 60 };
	struct rb_frame got[RING];
	struct edge_counters c;
	uint32_t out = 0;

	(void)state;
	for (uint32_t voq = 1; voq < VOQS; voq++)
		voqs[SL_CLASSES + voq].limit_frames = LIMIT;
	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t voq = 0; voq < VOQS; voq++) {
			const struct frame f = { .dst = voq < SL_CLASSES ? "10.2.0.2" : "10.3.0.2",
						 .tos = (uint8_t)(voq % SL_CLASSES * 64) };

			put(&f);
		}
		c = seen((round + 1) * VOQS);
		assert_int_equal(take(0, got, RING), 1);
		release(got, 1);
		out++;
		backlog[SL_CLASSES].dequeued.frames++;
		rb_edge_refill(port);
	}
	rb_edge_settle(port, 0, backlog, counters, 1);
	assert_int_equal(out, ROUNDS);
	assert_int_equal(counters[RB_COUNT_DROP_VOQ_RING].packets, 0);
	assert_int_equal(c.drops[SL_DROP_VOQ_FULL].packets, (VOQS - 1) * (ROUNDS - LIMIT));
	for (uint32_t voq = 1; voq < VOQS; voq++) {
		assert_int_equal(take(voq, got, RING), LIMIT);
		release(got, LIMIT);
	}
}

static void each_receive_queue_has_rings_of_its_own(void **state)
{
	struct rb_frame got[RING];
	const struct frame f = { 0 };

	(void)state;
	assert_int_equal(rb_edge_queues(port), EDGE_QUEUES);
	for (uint32_t queue = 0; queue < EDGE_QUEUES; queue++) {
		enter_by(queue);
		for (uint32_t i = 0; i < 5 + queue; i++)
			put(&f);
		seen(queue == 0 ? 5 : 11);
		assert_int_equal(take(0, got, RING), 5 + queue);
		release(got, 5 + queue);
	}
	assert_int_equal(backlog[SL_CLASSES].enqueued.frames, 11);
}

static void port_that_the_maps_have_no_place_for_is_refused(void **state)
{
	struct rb_edge_config config = { .netdev = "p2",
					 .system_port = SL_SYSTEM_PORT(1, EDGE_PORTS + 1),
					 .chunks = chunks,
					 .meta_ports = EDGE_PORTS,
					 .meta_queues = EDGE_QUEUES,
					 .meta_voqs = VOQ_IDS };
	struct rb_edge *edge;

	(void)state;
	assert_int_equal(rb_edge_open(&config, &edge), -EINVAL);
	config.system_port = SL_SYSTEM_PORT(1, 2);
	config.netdev = "nosuch0";
	assert_int_equal(rb_edge_open(&config, &edge), -ENODEV);
	assert_null(edge);
}

static void without_a_bridge_the_frame_is_dropped_by_name(void **state)
{
	const struct frame f = { 0 };

	(void)state;
	put(&f);
	assert_int_equal(seen(1).stats[SL_STAT_VOQ].packets, 1);
	rb_edge_shut(port, backlog, counters);
	rb_edge_close(port);
	port = NULL;
	put(&f);
	assert_int_equal(seen(2).drops[SL_DROP_NO_BRIDGE].packets, 1);
	assert_int_equal(counters[RB_COUNT_DROP_VOQ_RING].packets, 1);
	assert_int_equal(backlog[SL_CLASSES].enqueued.frames, backlog[SL_CLASSES].dequeued.frames);
}

/* Put and flush all the frames, and reap all of them. */
static void transmit(struct rb_tx *tx, const struct rb_frame *frames, uint32_t n_frames)
{
	uint64_t offsets[64], end = sl_now_ns() + DEADLINE_NS;
	uint32_t sent = 0, back = 0;

	while (back < n_frames) {
		uint32_t n;

		assert_true(sl_now_ns() < end);
		sent += tx->ops->put(tx, frames + sent, n_frames - sent);
		tx->ops->flush(tx);
		n = tx->ops->reap(tx, offsets, 64);
		for (uint32_t i = 0; i < n; i++)
			rb_chunk_release(chunks, offsets[i], RB_OWNER_MESSAGE);
		back += n;
	}
	assert_int_equal(chunks->count[RB_OWNER_MESSAGE], 0);
}

/*
 * Make frames for transmit. Frame i has first_bytes + i * step bytes with a value of its own. A
 * chunk holds several frames at odd offsets, as messages do.
 */
static void make_frames(struct rb_frame *frames, uint32_t n, uint32_t first_bytes, uint32_t step)
{
	uint32_t room_bytes = (first_bytes + n * step) | 1, per_chunk = CHUNK_BYTES / room_bytes;
	uint64_t chunk = 0;

	for (uint32_t i = 0; i < n; i++) {
		uint8_t *data;

		if (i % per_chunk == 0) {
			chunk = rb_chunk_take(chunks, RB_OWNER_MESSAGE);
			rb_chunk_set_uses(chunks, chunk, RB_OWNER_MESSAGE,
					  (uint16_t)(n - i < per_chunk ? n - i : per_chunk));
		}
		frames[i] = (struct rb_frame){ .offset = chunk + i % per_chunk * room_bytes,
					       .len_bytes = first_bytes + i * step };
		data = rb_chunk_data(chunks, frames[i].offset);
		memset(data, (int)i, frames[i].len_bytes);
		memset(data, 0xff, 6);
		data[12] = 0x88;
		data[13] = 0xb5;
	}
}

static int listen_behind(void)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET,
				  .sll_ifindex = EDGE_PEER(1),
				  .sll_protocol = sl_htons(0x88b5) /* local experiments */ };
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(0x88b5));
	int room_bytes = 1 << 24; /* an injected frame takes a page */

	assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&to, sizeof(to)) == 0);
	assert_int_equal(
		setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room_bytes, sizeof(room_bytes)), 0);
	return fd;
}

/* Expect the frames of make_frames: in order, once each, every byte as it was. */
static void expect_frames(int fd, uint32_t n_frames, uint32_t first_bytes, uint32_t step)
{
	static const uint8_t broadcast[6] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };
	uint64_t end = sl_now_ns() + DEADLINE_NS;
	uint8_t buffer[CHUNK_BYTES];

	for (uint32_t i = 0; i < n_frames;) {
		ssize_t n = recv(fd, buffer, sizeof(buffer), 0);

		if (n < 0) {
			assert_true(sl_now_ns() < end);
			continue;
		}
		assert_int_equal(n, first_bytes + i * step);
		assert_memory_equal(buffer, broadcast, 6);
		for (ssize_t k = 6; k < n; k++)
			if (k != 12 && k != 13)
				assert_int_equal(buffer[k], (uint8_t)i);
		i++;
	}
	assert_true(recv(fd, buffer, sizeof(buffer), 0) < 0);
}

static void transmit_sends_out_of_any_chunk_and_gives_each_back_once(void **state)
{
	enum { FRAMES = 100 };
	struct rb_frame frames[FRAMES];
	int fd = listen_behind();

	(void)state;
	make_frames(frames, FRAMES, 60, 1);
	transmit(rb_edge_tx(port), frames, FRAMES);
	expect_frames(fd, FRAMES, 60, 1);
	close(fd);
}

static void port_that_closes_gives_back_every_frame_under_way(void **state)
{
	enum { FRAMES = 10 };
	struct rb_frame frames[FRAMES];
	struct rb_tx *tx = rb_edge_tx(port);
	uint64_t offsets[64];
	uint32_t n;

	(void)state;
	make_frames(frames, FRAMES, 60, 1); /* all in one chunk */
	assert_int_equal(tx->ops->put(tx, frames, FRAMES), FRAMES);
	rb_edge_shut(port, backlog, counters);
	n = tx->ops->reap(tx, offsets, 64);
	assert_int_equal(n, FRAMES);
	for (uint32_t i = 0; i < n; i++)
		rb_chunk_release(chunks, offsets[i], RB_OWNER_MESSAGE);
	assert_int_equal(tx->ops->reap(tx, offsets, 64), 0);
	assert_int_equal(chunks->count[RB_OWNER_MESSAGE], 0);
	rb_edge_close(port);
	port = NULL;
}

static void port_that_is_withdrawn_keeps_its_frames_until_the_sockets_are_closed(void **state)
{
	enum { FRAMES = 10 };
	const struct frame f = { 0 };
	struct rb_frame frames[FRAMES];
	struct rb_frame in[FRAMES];
	struct rb_tx *tx = rb_edge_tx(port);
	uint64_t offsets[64], end = sl_now_ns() + DEADLINE_NS;
	uint32_t n;

	(void)state;
	put(&f);
	make_frames(frames, FRAMES, 60, 1);
	assert_int_equal(tx->ops->put(tx, frames, FRAMES), FRAMES);
	rb_edge_withdraw(port);
	assert_int_equal(tx->ops->room(tx), 0);
	assert_int_equal(tx->ops->put(tx, frames, 1), 0);
	assert_int_equal(tx->ops->flush(tx), 0);
	assert_int_equal(rb_edge_receive(port, 0, backlog, counters, in, FRAMES), 0);
	for (n = 0; n == 0; n = tx->ops->reap(tx, offsets, 64))
		assert_true(sl_now_ns() < end);
	assert_true(rb_edge_is_withdrawn(port));
	assert_int_equal(n, FRAMES);
	assert_int_equal(tx->ops->put(tx, frames, 1), 0);
	for (uint32_t i = 0; i < n; i++)
		rb_chunk_release(chunks, offsets[i], RB_OWNER_MESSAGE);
	rb_edge_shut(port, backlog, counters);
	assert_int_equal(counters[RB_COUNT_DROP_VOQ_RING].packets, 1);
	assert_int_equal(backlog[SL_CLASSES].enqueued.frames, backlog[SL_CLASSES].dequeued.frames);
	assert_int_equal(chunks->count[RB_OWNER_MESSAGE], 0);
	assert_int_equal(chunks->count[RB_OWNER_FILL], 0);
	rb_edge_close(port);
	port = NULL;
}

/* As the port does for a zero-copy device, which may write into its chunks until then. */
static void the_kernel_lets_go_of_a_closed_queue(void **state)
{
	(void)state;
	assert_int_equal(rb_xsk_wait_closed(EDGE_PORT(1), 0, 20000000), -EBUSY);
	rb_edge_shut(port, backlog, counters);
	rb_edge_close(port);
	port = NULL;
	for (uint32_t queue = 0; queue < EDGE_QUEUES; queue++)
		assert_int_equal(rb_xsk_wait_closed(EDGE_PORT(1), queue, DEADLINE_NS), 0);
	assert_int_equal(rb_xsk_wait_closed(0x7fffffff, 0, DEADLINE_NS), -ENODEV);
}

static void transmit_goes_on_when_its_ring_has_been_filled_many_times(void **state)
{
	enum { FRAMES = 4000 };
	struct rb_tx *tx = rb_edge_tx(port);
	uint64_t offsets[64], end = sl_now_ns() + DEADLINE_NS;
	uint32_t sent = 0, back = 0;

	(void)state;
	while (back < FRAMES) {
		struct rb_frame frame = { .len_bytes = 60 };
		uint32_t n;

		assert_true(sl_now_ns() < end);
		if (sent < FRAMES && tx->ops->room(tx) > 0) {
			uint8_t *data;

			frame.offset = rb_chunk_take(chunks, RB_OWNER_MESSAGE) + 256 + sent % 100;
			data = memset(rb_chunk_data(chunks, frame.offset), 0, 60);
			data[12] = 0x88;
			data[13] = 0xb5;
			assert_int_equal(tx->ops->put(tx, &frame, 1), 1);
			sent++;
		}
		tx->ops->flush(tx);
		n = tx->ops->reap(tx, offsets, 64);
		for (uint32_t i = 0; i < n; i++)
			rb_chunk_release(chunks, offsets[i], RB_OWNER_MESSAGE);
		back += n;
	}
	assert_int_equal(chunks->count[RB_OWNER_MESSAGE], 0);
	assert_int_equal(chunks->violations, 0);
}

/* Recycled pages keep old bytes, so long and short frames alternate. */
static void injector_sends_many_and_few_whole_and_in_order(void **state)
{
	enum { FRAMES = 200 };
	struct rb_frame frames[FRAMES];
	struct rb_tx *tx = rb_edge_tx(port);
	int fd = listen_behind();

	(void)state;
	assert_string_equal(tx->ops->name, "inject");
	/* Without NAPI a veth takes no redirected frames. */
	assert_int_equal(system("ethtool -K q1 gro on"), 0);
	for (uint32_t round = 0; round < 4; round++) {
		uint32_t n = round % 2 ? FRAMES : RB_INJECT_FEW / 2;
		uint32_t first_bytes = round == 1 ? 3398 - FRAMES : 60;

		make_frames(frames, n, first_bytes, 1);
		transmit(tx, frames, n);
		expect_frames(fd, n, first_bytes, 1);
	}
	assert_int_equal(tx->refused, 0);
	close(fd);
}

static void injector_counts_refused_and_too_long_frames(void **state)
{
	enum { FRAMES = 100 };
	struct rb_frame frames[FRAMES];
	struct rb_tx *tx = rb_edge_tx(port);

	(void)state;
	assert_true(rb_injector_counts(injector));
	assert_int_equal(system("ethtool -K q1 gro off"), 0);
	make_frames(frames, FRAMES, 60, 1);
	transmit(tx, frames, FRAMES);
	assert_int_equal(tx->refused, FRAMES);

	/* One frame too long for the kernel's pages among good ones. */
	assert_int_equal(system("ethtool -K q1 gro on"), 0);
	make_frames(frames, FRAMES, 60, 1);
	frames[50].len_bytes = 3399;
	transmit(tx, frames, FRAMES);
	assert_int_equal(tx->refused, FRAMES + 1);
}

static void injector_without_page_pools_sends_by_af_xdp_whole_and_in_order(void **state)
{
	enum { FRAMES = 200 };
	struct rb_frame frames[FRAMES];
	struct rb_tx *tx = rb_edge_tx(port);
	uint64_t begin_ns = sl_now_ns();
	int fd = listen_behind();

	(void)state;
	assert_int_equal(system("ethtool -K q1 gro on"), 0);
	for (uint32_t round = 0; round < 4; round++) {
		no_pools = round == 1 || round == 2;
		make_frames(frames, FRAMES, 60, 1);
		transmit(tx, frames, FRAMES);
		expect_frames(fd, FRAMES, 60, 1);
	}
	/* It asked for a pool once, and once more for each second that passed. */
	assert_in_range(asked_for_pools, 1, 1 + (sl_now_ns() - begin_ns) / 1000000000);
	assert_int_equal(tx->refused, 0);
	close(fd);
}

static int setup_inject(void **state)
{
	return rb_injector_open(&injector) || setup(state) ? -1 : 0;
}

static int teardown_inject(void **state)
{
	int err = teardown(state);

	rb_injector_close(injector);
	injector = NULL;
	return err;
}

#define T(f)	    cmocka_unit_test_setup_teardown(f, setup, teardown)
#define T_INJECT(f) cmocka_unit_test_setup_teardown(f, setup_inject, teardown_inject)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(frame_for_a_remote_port_comes_out_of_the_ring_of_its_port_and_class),
		T(frames_of_every_size_come_out_whole),
		T(voq_at_its_frame_limit_drops_and_admits_again_when_drained),
		T(frames_that_never_came_leave_their_own_backlog_with_the_next_frame),
		T(last_frames_that_never_came_leave_the_backlog_by_the_count_of_the_socket),
		T(voq_beyond_its_share_of_free_memory_is_refused_and_others_are_not),
		T(ring_that_nobody_reads_refuses_instead_of_losing),
		T(voqs_that_nobody_drains_cost_the_others_nothing),
		T(each_receive_queue_has_rings_of_its_own),
		T(port_that_the_maps_have_no_place_for_is_refused),
		T(without_a_bridge_the_frame_is_dropped_by_name),
		T(transmit_sends_out_of_any_chunk_and_gives_each_back_once),
		T(port_that_closes_gives_back_every_frame_under_way),
		T(port_that_is_withdrawn_keeps_its_frames_until_the_sockets_are_closed),
		T(the_kernel_lets_go_of_a_closed_queue),
		T(transmit_goes_on_when_its_ring_has_been_filled_many_times),
		T_INJECT(injector_sends_many_and_few_whole_and_in_order),
		T_INJECT(injector_counts_refused_and_too_long_frames),
		T_INJECT(injector_without_page_pools_sends_by_af_xdp_whole_and_in_order),
	};

	if (edge_enter_namespace() ||
	    system("ip link set p1 mtu 3500 && ip link set q1 mtu 3500 && "
		   "sysctl -qw net.ipv6.conf.all.disable_ipv6=1"))
		return 1;
	return cmocka_run_group_tests_name("voq", tests, NULL, NULL);
}
