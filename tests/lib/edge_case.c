// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <linux/bpf.h>

#include "bpf/lib/endian.bpf.h"
#include "tests/lib/edge_case.h"
#include "bpf/abi/abi.h"
#include "bpf/abi/forwarding.h"
#include "bpf/abi/l3_port.h"
#include "bpf/abi/reasons.h"

static const struct {
	uint32_t port, l3_ifindex, mtu_bytes;
	uint64_t dst_mac, src_mac;
	struct frame_tag tag[2];
	uint16_t voq_plus1;
} adjs[EDGE_ADJS] = {
	[EDGE_PLAIN] = { EDGE_PORT(2), EDGE_PORT(2), 1500, 0x0200000000d0, 0x02000000000c, {}, 0 },
	[EDGE_SMALL] = { EDGE_PORT(2), EDGE_PORT(2), 1280, 0x0200000000d1, 0x02000000000c, {}, 0 },
	[EDGE_JUMBO] = { EDGE_PORT(3), EDGE_PORT(3), 9000, 0x0200000000d2, 0x02000000000d, {}, 0 },
	[EDGE_TAG1] = { EDGE_PORT(4),
			111,
			1500,
			0x0200000000d3,
			0x02000000006f,
			{ { 0x8100, 400 } },
			0 },
	[EDGE_TAG2] = { EDGE_PORT(4),
			112,
			1500,
			0x0200000000d4,
			0x020000000070,
			{ { 0x88a8, 500 }, { 0x8100, 600 } },
			0 },
	[EDGE_HAIRPIN] = { EDGE_PORT(1), EDGE_PORT(1), 1500, 0x0200000000d5, FRAME_DST_MAC, {}, 0 },
	[EDGE_OUTSIDE] = { EDGE_PEER(2),
			   EDGE_PEER(2),
			   1500,
			   0x0200000000d6,
			   0x02000000000f,
			   {},
			   0 },
	[EDGE_BACK] = { EDGE_PORT(1), EDGE_PORT(1), 1500, FRAME_SRC_MAC, FRAME_DST_MAC, {}, 0 },
	[EDGE_REMOTE] = { EDGE_TAP(1),
			  EDGE_TAP(1),
			  1500,
			  0x0200000000d7,
			  0x020000000201,
			  {},
			  EDGE_REMOTE_VOQ + 1 },
	[EDGE_REMOTE_TAG] = { EDGE_TAP(2),
			      113,
			      1500,
			      0x0200000000d8,
			      0x020000000202,
			      { { 0x8100, 700 } },
			      EDGE_REMOTE_TAG_VOQ + 1 },
};

static void mac_bytes(uint64_t mac, uint8_t out[6])
{
	for (int i = 0; i < 6; i++)
		out[i] = mac >> (40 - 8 * i) & 0xff;
}

static struct sl_adj adj_of(enum edge_adj which)
{
	struct sl_adj adj = {
		.port_ifindex = adjs[which].port,
		.l3_ifindex = adjs[which].l3_ifindex,
		.mtu_bytes = adjs[which].mtu_bytes,
		.remote = adjs[which].voq_plus1 != 0,
		.voq_plus1 = adjs[which].voq_plus1,
	};

	mac_bytes(adjs[which].dst_mac, adj.dst_mac);
	mac_bytes(adjs[which].src_mac, adj.src_mac);
	for (int i = 0; i < 2 && adjs[which].tag[i].tpid; i++) {
		adj.vlan_tags = i + 1;
		adj.vlan_tpid[i] = sl_htons(adjs[which].tag[i].tpid);
		adj.vlan_tci[i] = sl_htons(adjs[which].tag[i].tci);
	}
	return adj;
}

struct frame edge_sent(const struct frame *in, enum edge_adj adj)
{
	struct frame out = *in;

	out.dst_mac = adjs[adj].dst_mac;
	out.src_mac = adjs[adj].src_mac;
	memset(out.tag, 0, sizeof(out.tag));
	memcpy(out.tag, adjs[adj].tag, sizeof(adjs[adj].tag));
	out.ttl = (in->ttl ? in->ttl : 64) - 1;
	out.padding_bytes = 0;
	return out;
}

static int route_both(const struct edge *edge, int x, uint32_t id)
{
	char prefix[64];
	int err;

	snprintf(prefix, sizeof(prefix), "10.%d.0.0/16", x);
	err = edge_route(edge, prefix, id);
	if (err)
		return err;
	snprintf(prefix, sizeof(prefix), "2001:db8:%x::/48", x);
	return edge_route(edge, prefix, id);
}

/* The x of 10.x/16 that goes there. */
static const int adj_x[EDGE_ADJS] = { 2, 3, 4, 5, 6, 7, 8, 1, 9, 10 };

static int add_adjs(const struct edge *edge, uint32_t id[EDGE_ADJS])
{
	int err = 0;

	for (int which = 0; which < EDGE_ADJS && !err; which++) {
		struct sl_adj adj = adj_of(which);

		err = sl_fib_nexthop_create(edge->fib, &id[which]);
		if (!err)
			err = sl_fib_nexthop_set_adj(edge->fib, id[which], &adj);
		if (!err)
			err = route_both(edge, adj_x[which], id[which]);
	}
	if (!err)
		err = edge_route(edge, "10.2.9.9/32", id[EDGE_JUMBO]);
	return err ? err : edge_route(edge, "2001:db8:2:9::9/128", id[EDGE_JUMBO]);
}

static int add_ends(const struct edge *edge)
{
	static const struct {
		int x;
		bool drop;
		uint32_t reason;
	} ends[] = {
		{ 20, true, SL_DROP_BLACKHOLE },
		{ 21, false, SL_PUNT_UNREACHABLE },
		{ 22, false, SL_PUNT_NEIGHBOUR },
		{ 23, false, SL_PUNT_LOCAL },
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]) && !err; i++) {
		uint32_t id;

		err = sl_fib_nexthop_create(edge->fib, &id);
		if (!err)
			err = ends[i].drop ? sl_fib_nexthop_set_drop(edge->fib, id, ends[i].reason)
					   : sl_fib_nexthop_set_punt(edge->fib, id, ends[i].reason);
		if (!err)
			err = route_both(edge, ends[i].x, id);
	}
	return err;
}

static int add_group(const struct edge *edge, int x, const uint32_t *ids, uint32_t n)
{
	struct sl_member members[2] = { { ids[0], 1 }, { ids[n - 1], 1 } };
	uint32_t id;
	int err = sl_fib_nexthop_create(edge->fib, &id);

	if (!err)
		err = sl_fib_nexthop_set_group(edge->fib, id, members, n);
	return err ? err : route_both(edge, x, id);
}

static int add_ports(const struct edge *edge)
{
	const uint16_t tpid1 = 0x8100, vid1 = 100;
	const uint16_t tpid2[] = { 0x88a8, 0x8100 }, vid2[] = { 200, 300 };
	const uint32_t both = SL_PORT_FORWARD4 | SL_PORT_FORWARD6;
	int err = 0;

	for (uint32_t n = 1; n <= EDGE_PORTS && !err; n++) {
		err = edge_set_tx(edge, EDGE_PORT(n));
		if (!err)
			err = edge_set_port(edge, EDGE_PORT(n), FRAME_DST_MAC + n - 1, both);
	}
	if (!err)
		err = edge_set_port(edge, EDGE_VLAN1, EDGE_VLAN1_MAC, both);
	if (!err)
		err = edge_set_port(edge, EDGE_VLAN2, EDGE_VLAN2_MAC, both);
	if (!err)
		err = edge_set_vlan(edge, EDGE_PORT(1), 1, &tpid1, &vid1, EDGE_VLAN1);
	return err ? err : edge_set_vlan(edge, EDGE_PORT(1), 2, tpid2, vid2, EDGE_VLAN2);
}

static int add_tables(const struct edge *edge)
{
	uint32_t id[EDGE_ADJS], both[2];
	int err = add_adjs(edge, id);

	if (!err)
		err = add_ends(edge);
	if (err)
		return err;
	both[0] = id[EDGE_PLAIN];
	both[1] = id[EDGE_BACK];
	err = add_group(edge, 24, both, 1);
	return err ? err : add_group(edge, 25, both, 2);
}

static int make_world(const struct sl_config *config, struct edge **out)
{
	struct edge *edge;
	int err = edge_create(config, &edge);

	if (!err)
		err = add_ports(edge);
	if (!err)
		err = config->engine == SL_ENGINE_KERNEL ? edge_kernel_routes() : add_tables(edge);
	if (err) {
		edge_destroy(edge);
		edge = NULL;
	}
	*out = edge;
	return err;
}

int edge_world(enum sl_engine engine, struct edge **out)
{
	const struct sl_config config = { .engine = engine, .managed = 1, .hash_seed = 0x5eed };

	return make_world(&config, out);
}

/* Node EDGE_NODE of a cluster. */
static struct sl_config cluster_config(enum sl_engine engine)
{
	return (struct sl_config){
		.engine = engine,
		.managed = 1,
		.hash_seed = 0x5eed,
		.node_id = EDGE_NODE,
		.n_voqs = EDGE_VOQS,
		.n_queues = EDGE_QUEUES,
		.n_workers = 1,
	};
}

int edge_world_cluster(enum sl_engine engine, struct edge **out)
{
	struct sl_config config = cluster_config(engine);

	config.reserves = 1;
	return make_world(&config, out);
}

int edge_world_express(enum sl_engine engine, struct edge **out)
{
	struct sl_config config = cluster_config(engine);

	config.express = 1;
	return make_world(&config, out);
}

int edge_world_filters(enum sl_engine engine, struct edge **out)
{
	struct sl_config config = cluster_config(engine);

	config.filters = 1;
	config.reserves = 1;
	return make_world(&config, out);
}

int edge_world_flows(enum sl_engine engine, bool filters, struct edge **out)
{
	const struct sl_config config = { .engine = engine,
					  .managed = 1,
					  .hash_seed = 0x5eed,
					  .filters = filters,
					  .exact_flows = 1024 };

	return make_world(&config, out);
}

/* --- The same world in the kernel's own tables --- */

static int write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");
	int err = !file || fputs(text, file) < 0;

	if (file)
		err |= fclose(file);
	return err ? -EIO : 0;
}

static void kernel_adj(FILE *ip, int which, int x)
{
	static const char *const device[EDGE_ADJS] = {
		[EDGE_PLAIN] = "p2", [EDGE_SMALL] = "p2",   [EDGE_JUMBO] = "p3",
		[EDGE_BACK] = "p1",  [EDGE_HAIRPIN] = "p1", [EDGE_OUTSIDE] = "q2",
	};
	const char *dev = device[which];

	if (!dev)
		return;
	fprintf(ip, "neigh replace 169.254.0.%d lladdr 02:00:00:00:00:%02x dev %s nud permanent\n",
		which + 1, (unsigned int)(adjs[which].dst_mac & 0xff), dev);
	fprintf(ip, "neigh replace fe80::%d lladdr 02:00:00:00:00:%02x dev %s nud permanent\n",
		which + 1, (unsigned int)(adjs[which].dst_mac & 0xff), dev);
	fprintf(ip, "route add 10.%d.0.0/16 via 169.254.0.%d dev %s onlink mtu lock %u\n", x,
		which + 1, dev, adjs[which].mtu_bytes);
	fprintf(ip, "route add 2001:db8:%x::/48 via fe80::%d dev %s onlink mtu lock %u\n", x,
		which + 1, dev, adjs[which].mtu_bytes);
}

int edge_kernel_routes(void)
{
	FILE *ip;

	if (write_text("/proc/sys/net/ipv4/ip_forward", "1") ||
	    write_text("/proc/sys/net/ipv6/conf/all/forwarding", "1"))
		return -EIO;
	ip = popen("ip -batch -", "w");
	if (!ip)
		return -errno;
	/*
	 * stand in for VLAN interfaces: what matters is that lookups can name them as the ingress
	 */
	fprintf(ip,
		"link set lo up\n"
		"link add v1 index %u type veth peer name v2 index %u\n"
		"link set v1 up\nlink set v2 up\n",
		EDGE_VLAN1, EDGE_VLAN2);
	for (int which = 0; which < EDGE_ADJS; which++)
		kernel_adj(ip, which, adj_x[which]);
	kernel_adj(ip, EDGE_PLAIN, 24);
	fprintf(ip, "route add 10.2.9.9/32 via 169.254.0.%d dev p3 onlink\n", EDGE_JUMBO + 1);
	fprintf(ip, "route add 2001:db8:2:9::9/128 via fe80::%d dev p3 onlink\n", EDGE_JUMBO + 1);
	fputs("route add blackhole 10.20.0.0/16\n"
	      "route add blackhole 2001:db8:14::/48\n"
	      "route add unreachable 10.21.0.0/16\n"
	      "route add unreachable 2001:db8:15::/48\n"
	      "route add 10.22.0.0/16 via 169.254.0.99 dev p2 onlink\n"
	      "route add 2001:db8:16::/48 via fe80::99 dev p2 onlink\n"
	      "addr add 10.23.0.1/32 dev lo\n"
	      "addr add 2001:db8:17::1/128 dev lo nodad\n",
	      ip);
	return pclose(ip) ? -EINVAL : 0;
}

/* --- Running cases --- */

/* One case with one engine and one program. */
struct run {
	char name[128];
	struct edge_case c;
	struct edge *world; /* borrowed from edge_run_cases */
	const char *program;
};

static void count(struct sl_counter *counter, uint32_t bytes)
{
	counter->packets++;
	counter->bytes += bytes;
}

void edge_expect_counters(const struct edge_case *c, const uint8_t *frame, uint32_t len,
			  struct edge_counters *out)
{
	/* the ethertype behind the tags, of which sl_edge reads two */
	uint32_t tags_end = frame_l3_offset(&c->in), l3 = tags_end < 22 ? tags_end : 22;
	uint16_t ethertype = len >= l3 ? frame[l3 - 2] << 8 | frame[l3 - 1] : 0;

	memset(out, 0, sizeof(*out));
	count(&out->stats[SL_STAT_RX], len);
	if (ethertype == 0x0800)
		count(&out->stats[SL_STAT_RX_IP4], len);
	if (ethertype == 0x86dd)
		count(&out->stats[SL_STAT_RX_IP6], len);
	if (c->end == EDGE_FORWARD)
		count(&out->stats[SL_STAT_FORWARD], len);
	else if (c->end == EDGE_QUEUE)
		count(&out->stats[SL_STAT_VOQ], len);
	else if (c->end == EDGE_DROP) {
		count(&out->drops[c->what], len);
		count(&out->port_drops[c->ingress ? c->ingress : EDGE_PORT(1)], len);
	} else
		count(&out->punts[c->what], len);
}

/* In the order of struct edge_counters. */
#define COUNTER_NAME(id, name, text) name,
static const char *const counter_names[] = { SL_STATS(COUNTER_NAME) SL_DROP_REASONS(COUNTER_NAME)
						     SL_PUNT_REASONS(COUNTER_NAME) };
#define N_NAMED (sizeof(counter_names) / sizeof(counter_names[0])) /* those of ports follow */

void edge_assert_counters(const struct edge_counters *got, const struct edge_counters *want)
{
	const struct sl_counter *g = (const void *)got, *w = (const void *)want;

	for (uint32_t i = 0; i < sizeof(*got) / sizeof(*g); i++)
		if (g[i].packets != w[i].packets || g[i].bytes != w[i].bytes)
			fail_msg("counter %s: %llu packets, %llu bytes; expected %llu, %llu",
				 i < N_NAMED ? counter_names[i] : "of drops by port", g[i].packets,
				 g[i].bytes, w[i].packets, w[i].bytes);
}

static void set_flags(const struct edge *world, const struct edge_case *c)
{
	uint32_t flags = c->port_flags ? c->port_flags : SL_PORT_FORWARD4 | SL_PORT_FORWARD6;

	if (c->no_flags)
		flags = 0;
	assert_int_equal(edge_set_port(world, EDGE_PORT(1), FRAME_DST_MAC, flags), 0);
	assert_int_equal(edge_set_port(world, EDGE_VLAN1, EDGE_VLAN1_MAC, flags), 0);
	assert_int_equal(edge_set_port(world, EDGE_VLAN2, EDGE_VLAN2_MAC, flags), 0);
}

void edge_check(struct edge *world, const struct edge_case *c)
{
	static const int action[] = { XDP_REDIRECT, XDP_DROP, XDP_PASS };
	static uint8_t in[FRAME_MAX_BYTES], out[FRAME_MAX_BYTES], want[FRAME_MAX_BYTES];
	struct edge_counters before, after, expected;
	uint32_t len = frame_build(&c->in, in), out_len = 0, want_len;
	int got;

	set_flags(world, c);
	edge_read_counters(world, &before);
	got = edge_run(world, c->ingress ? c->ingress : EDGE_PORT(1), in, len, out, &out_len);
	edge_read_counters(world, &after);
	edge_subtract_counters(&after, &before);

	edge_expect_counters(c, in, len, &expected);
	edge_assert_counters(&after, &expected);
	assert_int_equal(got, action[c->end]);
	if (c->end == EDGE_FORWARD) {
		struct frame sent = edge_sent(&c->in, c->what);

		want_len = frame_build(&sent, want);
	} else {
		memcpy(want, in, len);
		want_len = len;
	}
	assert_int_equal(out_len, want_len);
	assert_memory_equal(out, want, want_len);
}

static void run_case(void **state)
{
	struct run *run = *state;

	run->world->program = run->program;
	edge_check(run->world, &run->c);
}

int edge_run_cases(const struct edge_case *cases, size_t n)
{
	static const struct {
		enum sl_engine engine;
		const char *name;
	} engines[] = { { SL_ENGINE_LPM, "lpm" },
			{ SL_ENGINE_FAST, "fast" },
			{ SL_ENGINE_KERNEL, "kernel" } };
	struct edge *worlds[3] = { NULL };
	struct CMUnitTest *tests = calloc(6 * n, sizeof(*tests));
	struct run *runs = calloc(6 * n, sizeof(*runs)), *run = runs;
	int failed = 1;

	if (!tests || !runs || edge_enter_namespace())
		goto out;
	for (size_t w = 0; w < 3; w++) {
		if (edge_world(engines[w].engine, &worlds[w]))
			goto out;
		for (size_t i = 0; i < 2 * n; i++) {
			bool frags = i >= n, kernel = engines[w].engine == SL_ENGINE_KERNEL;
			const struct edge_case *c = &cases[i % n];

			if ((c->jumbo && !frags) || (c->tables_only && kernel))
				continue;
			run->c = *c;
			if (kernel && c->kernel_what)
				run->c.what = c->kernel_what;
			run->world = worlds[w];
			run->program = frags ? "sl_edge_frags" : "sl_edge";
			snprintf(run->name, sizeof(run->name), "%s/%s/%s", engines[w].name,
				 run->program, c->name);
			tests[run - runs] = (struct CMUnitTest){
				.name = run->name,
				.test_func = run_case,
				.initial_state = run,
			};
			run++;
		}
	}
	failed = _cmocka_run_group_tests("sl_edge", tests, run - runs, NULL, NULL);
out:
	for (size_t w = 0; w < 3; w++)
		edge_destroy(worlds[w]);
	free(runs);
	free(tests);
	return failed;
}
