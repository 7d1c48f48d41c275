/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Measure what it costs that more VOQs share a receive queue. An injector sends frames to an edge
 * port, sl_edge spreads them over 1, 2 or 16 VOQs, and the ingress side packs them into messages
 * that go nowhere. One thread does everything, and its processor time is the cost. The frames are
 * of 16 kinds each time, to 4 prefixes with next hops of their own in 4 DSCPs; only the VOQs that
 * they lead to differ. Prints JSON; `netns-lab/bench voqs` runs it.
 */
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <linux/if_link.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/abi/abi.h"
#include "bpf/abi/forwarding.h"
#include "bpf/abi/l3_port.h"
#include "bpf/abi/reasons.h"
#include "bpf/abi/voq.h"
#include "rdma-bridge/port/edge.h"
#include "tests/lib/edge_rig.h"
#include "tests/lib/frame.h"
#include "user/lib/clock.h"

#define REMOTE	    990u /* ifindex of the first remote port */
#define NUMBER	    3
#define PORTS	    4 /* remote ports */
#define VOQS	    (PORTS * SL_CLASSES)
#define VOQ_IDS	    ((1 + PORTS) * SL_CLASSES) /* the first port is our own */
#define CHUNK_BYTES 4096
#define CHUNKS	    8192
#define AREA_BYTES  ((size_t)CHUNKS * CHUNK_BYTES)
#define RING	    2048
#define FRAMES	    192 /* injected at once: a veth's ring has 256 places */
#define DEGREE	    32
#define PATIENCE_NS 10000000000ULL
#define MESSAGE_MAX 3448

static struct edge *xdp;
static struct rb_edge *port;
static struct rb_chunks *chunks;
static struct rb_ingress *ingress;
static struct rb_frame_pool pool;
static struct rb_ingress_todo todo;
static struct rb_injector *injector;
static struct rb_inject *source;
/* indexed by spreads(); the samples of a row go to its VOQs in turn */
static struct rb_frame samples[3][VOQS];
static struct sl_voq *settings;
static struct sl_backlog *backlog;
static struct sl_counter counters[RB_COUNT_COUNT];

static void *map_memory(const char *name, size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, edge_map_fd(xdp, name), 0);

	return p == MAP_FAILED ? NULL : p;
}

static int make_routes(void)
{
	/* The first PORTS next hops lead to a port each, the others to the first port. */
	for (uint32_t k = 0; k < 2 * PORTS; k++) {
		const uint32_t n = k < PORTS ? k : 0;
		const struct sl_adj adj = { .port_ifindex = REMOTE + n,
					    .l3_ifindex = REMOTE + n,
					    .mtu_bytes = 3400,
					    .dst_mac = { 2, 0, 0, 0, 0, 0xc0 },
					    .src_mac = { 2, 0, 0, 0, 0, (uint8_t)(0xe0 + k) },
					    .remote = 1,
					    .voq_plus1 = (uint16_t)((1 + n) * SL_CLASSES + 1) };
		char prefix[32];
		uint32_t id;

		snprintf(prefix, sizeof(prefix), "10.%u.0.0/16", 2 + k);
		if (sl_fib_nexthop_create(xdp->fib, &id) ||
		    sl_fib_nexthop_set_adj(xdp->fib, id, &adj) || edge_route(xdp, prefix, id))
			return -EIO;
	}
	for (uint32_t dscp = 0; dscp < SL_DSCPS; dscp++) {
		uint32_t class = dscp / 16;

		bpf_map_update_elem(edge_map_fd(xdp, "sl_dscp"), &dscp, &class, BPF_ANY);
	}
	return 0;
}

static int make_xdp(void)
{
	const struct sl_config config = { .engine = SL_ENGINE_FAST,
					  .managed = 1,
					  .node_id = 1,
					  .n_voqs = VOQ_IDS,
					  .n_queues = EDGE_QUEUES,
					  .n_workers = 1 };
	struct sl_port l3 = { .ifindex = EDGE_PORT(1),
			      .flags = SL_PORT_FORWARD4,
			      .mac = { 2, 0, 0, 0, 0, 0x0b },
			      .number = NUMBER };
	uint32_t element = EDGE_PORT(1) & (SL_PORTS_MAX - 1);

	if (edge_create(&config, &xdp) ||
	    bpf_map_update_elem(edge_map_fd(xdp, "sl_port"), &element, &l3, BPF_ANY) ||
	    make_routes())
		return -EIO;
	settings = map_memory("sl_voq", VOQ_IDS * sizeof(*settings));
	backlog = map_memory("sl_backlog", VOQ_IDS * sizeof(*backlog));
	if (!settings || !backlog)
		return -ENOMEM;
	for (uint32_t i = 0; i < VOQ_IDS; i++)
		settings[i] = (struct sl_voq){ .rate = SL_RATE_UNLIMITED,
					       .limit_frames = RING,
					       .burst = 16 };
	return bpf_xdp_attach(EDGE_PORT(1), edge_program_fd(xdp), XDP_FLAGS_DRV_MODE, NULL);
}

static int make_port(void)
{
	uint8_t *area = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct rb_edge_config config = {
		.netdev = "p1",
		.system_port = SL_SYSTEM_PORT(1, NUMBER),
		.area_bytes = AREA_BYTES,
		.meta_ports = EDGE_PORTS,
		.meta_queues = EDGE_QUEUES,
		.meta_voqs = VOQ_IDS,
		.rings = map_memory("sl_ring", EDGE_PORTS * EDGE_QUEUES * sizeof(struct sl_ring)),
		.fill_target = RING,
		.xsk_fd = edge_map_fd(xdp, "sl_xsk"),
	};
	uint32_t ids[VOQS];
	int err;

	for (uint32_t i = 0; i < VOQS; i++)
		ids[i] = SL_CLASSES + i;
	if (area == MAP_FAILED || !config.rings)
		return -ENOMEM;
	err = rb_chunks_create(area, 0, CHUNKS, CHUNK_BYTES, &chunks);
	config.chunks = chunks;
	if (!err)
		err = rb_edge_open(&config, &port);
	if (!err)
		err = rb_frame_pool_init(&pool, chunks);
	if (!err)
		err = rb_ingress_open(&todo, &pool, 2, VOQS, MESSAGE_MAX, MESSAGE_MAX, DEGREE,
				      &ingress);
	for (uint32_t i = 0; i < VOQS && !err; i++)
		rb_ingress_set_voq(ingress, i, SL_SYSTEM_PORT(2, 1 + i / SL_CLASSES),
				   i % SL_CLASSES, &settings[ids[i]], &backlog[ids[i]], 0);
	return err;
}

/* The index of the samples that lead to n VOQs. */
static uint32_t spreads(uint32_t n)
{
	return n == 1 ? 0 : n == 2 ? 1 : 2;
}

/* The DSCP of sample i that leads to n VOQs: class is DSCP / 16. */
static uint32_t dscp_of(uint32_t n, uint32_t i)
{
	return n == 1 ? i % 4 : n == 2 ? i % 2 * 16 + i / 2 % 2 : i % 4 * 16;
}

static int make_source(void)
{
	static const uint32_t counts[] = { 1, 2, VOQS };
	int err = rb_injector_open(&injector);

	if (!err)
		err = rb_inject_open(injector, EDGE_PEER(1), rb_edge_tx(port), chunks, &source);
	for (uint32_t k = 0; k < 3; k++) {
		const uint32_t n = counts[k];
		const uint64_t chunk = rb_chunk_take(chunks, RB_OWNER_MESSAGE);

		for (uint32_t i = 0; i < VOQS; i++) {
			struct rb_frame *sample = &samples[spreads(n)][i];
			char to[32];
			const struct frame f = { .dst = to, .tos = (uint8_t)(dscp_of(n, i) << 2) };

			snprintf(to, sizeof(to), "10.%u.0.2",
				 2 + (n == VOQS ? 0 : PORTS) + i / SL_CLASSES);
			sample->offset = chunk + (uint64_t)i * 128;
			sample->len_bytes = frame_build(&f, rb_chunk_data(chunks, sample->offset));
		}
	}
	return err;
}

/* Send FRAMES frames, to n VOQs in turn. */
static void inject(uint32_t n)
{
	struct rb_tx *tx = rb_inject_tx(source);
	struct rb_frame frames[FRAMES];
	uint64_t offsets[FRAMES];

	for (uint32_t i = 0; i < FRAMES; i++)
		frames[i] = samples[spreads(n)][i % VOQS];
	tx->ops->put(tx, frames, FRAMES);
	tx->ops->flush(tx);
	tx->ops->reap(tx, offsets, FRAMES);
}

static uint32_t drain(void)
{
	struct rb_frame in[64];
	uint32_t frames = 0, n;

	while ((n = rb_edge_receive(port, 0, backlog, counters, in, 64)) > 0)
		for (uint32_t i = 0; i < n; i++)
			rb_ingress_put(ingress, in[i].voq - SL_CLASSES, &in[i]);
	while (rb_ingress_fill(ingress, 0, sl_clock_ns(CLOCK_MONOTONIC), chunks, counters)) {
		for (uint32_t i = 0; i < ingress->pack.count; i++)
			rb_chunk_release(chunks, ingress->pack.frame[i].offset, RB_OWNER_INGRESS);
		frames += ingress->pack.count;
		rb_ingress_sent(ingress, counters);
	}
	rb_edge_refill(port);
	rb_edge_share(port, 0);
	return frames;
}

/*
 * Drain every injected frame. On a busy processor the kernel leaves receiving to a thread, which
 * has its turn here; a frame that has not come by then is lost. Adds to cpu_ns the time that
 * draining took, but not the time spent looking for frames that had not come yet.
 */
static uint32_t drain_all(uint32_t frames, uint64_t *cpu_ns)
{
	uint64_t deadline_ns = sl_clock_ns(CLOCK_MONOTONIC) + PATIENCE_NS;
	uint32_t got = 0;

	do {
		uint64_t from_ns = sl_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		uint32_t n = drain();

		if (n > 0)
			*cpu_ns += sl_clock_ns(CLOCK_THREAD_CPUTIME_ID) - from_ns;
		else
			sched_yield();
		got += n;
	} while (got < frames && sl_clock_ns(CLOCK_MONOTONIC) < deadline_ns);
	return got;
}

static uint64_t enqueued(uint32_t voq)
{
	return backlog[SL_CLASSES + voq].enqueued.frames;
}

/* Measure n VOQs for `rounds` rounds, and print a line of JSON. */
static void measure(uint32_t n, bool again, uint32_t rounds)
{
	uint64_t inject_ns = 0, drain_ns = 0, got = 0, before[VOQS];
	uint32_t used = 0;

	for (uint32_t i = 0; i < VOQS; i++)
		before[i] = enqueued(i);

	for (uint32_t i = 0; i < rounds; i++) {
		uint64_t from_ns = sl_clock_ns(CLOCK_THREAD_CPUTIME_ID);

		inject(n);
		inject_ns += sl_clock_ns(CLOCK_THREAD_CPUTIME_ID) - from_ns;
		got += drain_all(FRAMES, &drain_ns);
	}
	for (uint32_t i = 0; i < VOQS; i++)
		used += enqueued(i) > before[i];
	printf("{\"voqs\": %u, \"again\": %s, \"sent\": %u, \"received\": %llu, \"cpu_ns\": %llu, \"drain_ns\": %llu}\n",
	       used, again ? "true" : "false", rounds * FRAMES, (unsigned long long)got,
	       (unsigned long long)(inject_ns + drain_ns), (unsigned long long)drain_ns);
}

int main(int argc, char **argv)
{
	static const uint32_t counts[] = { 1, 2, 16, 1 }; /* 1 again: the A/A run */
	uint32_t runs = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 5,
		 rounds = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1000;

	if (edge_enter_namespace() ||
	    system("ip link set p1 mtu 3500 && ip link set q1 mtu 3500 && "
		   "ethtool -K q1 gro on") ||
	    make_xdp() || make_port() || make_source()) {
		fprintf(stderr, "bench-voq: cannot set up: %s\n", strerror(errno));
		return EXIT_FAILURE;
	}
	for (uint32_t run = 0; run < runs; run++)
		for (uint32_t i = 0; i < 4; i++)
			measure(counts[(run + i) % 4], (run + i) % 4 == 3, rounds);
	return EXIT_SUCCESS;
}
