// SPDX-License-Identifier: BSD-2-Clause
/*
 * The hops of the kernel's tables: made when XDP asks for one, kept while packets go there, and
 * ended after a minute without; first the map forgets the hop, and the mirror a second later.
 */
#include <errno.h>
#include <net/if.h>

#include <linux/if_arp.h>
#include <linux/neighbour.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include <bpf/bpf.h>
#include <cmocka.h>

#include "bpf/abi/classifier.h"
#include "bpf/abi/forwarding.h"
#include "user/datapath/datapath.h"
#include "user/mirror/mirror_route.h"
#include "user/mirror/mirror_state.h"
#include "user/mirror/sync/mirror_poll.h"
#include "user/tables/kernel_lookup.h"
#include "user/tables/table_hops.h"

#define ETH0	2
#define SECONDS 1000000000ULL

static struct world {
	struct sl_datapath *dp;
	struct sl_fib *fib;
	struct sl_mirror *m;
	struct sl_table_hops *hops;
	int fd;
} world;

static bool is_port(void *ctx, uint32_t ifindex)
{
	(void)ctx;
	return ifindex == ETH0;
}

static void port_set(void *ctx, const struct sl_port *port, const struct sl_vlan_key *vlan)
{
	(void)ctx, (void)port, (void)vlan;
}

static void port_clear(void *ctx, uint32_t ifindex, const struct sl_vlan_key *vlan)
{
	(void)ctx, (void)ifindex, (void)vlan;
}

static void link_event(void *ctx, uint32_t ifindex, const char *name, bool present, bool up)
{
	(void)ctx, (void)ifindex, (void)name, (void)present, (void)up;
}

static const struct sl_mirror_ops ops = {
	.is_port = is_port,
	.port_set = port_set,
	.port_clear = port_clear,
	.link_event = link_event,
};

/* The host 10.0.0.N or fe80::N, N at most 255. */
static struct sl_table_hop_key host(uint8_t family, uint8_t n)
{
	struct sl_table_hop_key key = { .ifindex = ETH0, .family = family, .mtu_family = family };
	uint8_t *address = (uint8_t *)key.address;

	address[0] = family == AF_INET ? 10 : 0xfe;
	if (family == AF_INET6)
		address[1] = 0x80;
	address[family == AF_INET ? 3 : 15] = n;
	return key;
}

static void neighbour(struct sl_table_hop_key key, uint16_t state)
{
	struct sl_rtnl_neigh n = { .ifindex = ETH0,
				   .family = (uint8_t)key.family,
				   .state = state,
				   .mac = { 2, 1, 0, 0, 0, ((const uint8_t *)key.address)[15] },
				   .mac_bytes = 6 };

	memcpy(n.addr, key.address, sizeof(n.addr));
	sl_neigh_message(world.m, &n);
}

static int open_world(void **state)
{
	const struct sl_datapath_params params = {
		.object_path = "build/sluice.bpf.o",
		.config = { .engine = SL_ENGINE_FAST, .managed = 1, .filters = 1 },
		.n_fib4 = 16,
		.n_fib6 = 16,
	};
	struct sl_rtnl_link link = { .ifindex = ETH0,
				     .flags = IFF_UP | IFF_RUNNING | 1 << 16 /* IFF_LOWER_UP */,
				     .arp_type = ARPHRD_ETHER,
				     .mac = { 2 },
				     .mac_bytes = 6,
				     .mtu_bytes = 1500,
				     .has_settings4 = true,
				     .has_settings6 = true,
				     .mtu6_bytes = 1400,
				     .name = "eth0" };

	(void)state;
	assert_int_equal(sl_datapath_open(&params, &world.dp), 0);
	world.fd = sl_datapath_map_fd(world.dp, "sl_table_hop");
	assert_int_equal(sl_fib_create(sl_datapath_tables(world.dp), &world.fib), 0);
	assert_int_equal(sl_mirror_create(world.fib, &ops, NULL, &world.m), 0);
	assert_int_equal(sl_table_hops_create(world.fd, world.m, &world.hops), 0);
	sl_link_message(world.m, &link);
	return 0;
}

static int close_world(void **state)
{
	(void)state;
	sl_table_hops_destroy(world.hops);
	sl_mirror_close(world.m);
	sl_fib_destroy(world.fib);
	sl_datapath_close(world.dp);
	return 0;
}

/* As XDP does: name the hop, or say that a packet went there. */
static void packet_to(struct sl_table_hop_key key)
{
	struct sl_table_hop value = { 0 };

	if (!bpf_map_lookup_elem(world.fd, &key, &value))
		value.used = 1;
	assert_int_equal(bpf_map_update_elem(world.fd, &key, &value, BPF_ANY), 0);
}

static bool known(struct sl_table_hop_key key)
{
	struct sl_table_hop value;

	return !bpf_map_lookup_elem(world.fd, &key, &value);
}

/* Where a packet goes that the table sends to the hop. */
static struct sl_nexthop leads_to(struct sl_table_hop_key key)
{
	const struct sl_fib_tables *tables = sl_datapath_tables(world.dp);
	struct sl_table_hop value = { 0 };

	assert_int_equal(bpf_map_lookup_elem(world.fd, &key, &value), 0);
	return tables->nexthop[value.id];
}

static void a_hop_leads_to_its_neighbour_once_that_is_resolved(void **state)
{
	const struct sl_table_hop_key four = host(AF_INET, 9), six = host(AF_INET6, 7);
	const struct sl_fib_tables *tables = sl_datapath_tables(world.dp);
	const struct sl_adj *adj;

	(void)state;
	packet_to(four);
	packet_to(six);
	assert_int_equal(leads_to(four).kind, SL_NH_NONE);
	sl_table_hops_tick(world.hops, SECONDS);
	assert_int_equal(leads_to(four).kind, SL_NH_PUNT);
	assert_int_equal(leads_to(four).ref, SL_PUNT_NEIGHBOUR);
	neighbour(four, NUD_REACHABLE);
	neighbour(six, NUD_STALE);
	assert_int_equal(leads_to(four).kind, SL_NH_FORWARD);
	assert_int_equal(leads_to(six).kind, SL_NH_FORWARD);
	adj = &tables->adj[leads_to(six).ref];
	assert_int_equal(adj->l3_ifindex, ETH0);
	assert_int_equal(adj->mtu_bytes, 1400);
	assert_int_equal(adj->dst_mac[5], 7);
	assert_int_equal(tables->adj[leads_to(four).ref].mtu_bytes, 1500);
	neighbour(four, NUD_FAILED);
	assert_int_equal(leads_to(four).kind, SL_NH_PUNT);
}

static void a_hop_ends_a_minute_after_its_last_packet(void **state)
{
	const struct sl_table_hop_key busy = host(AF_INET, 1), idle = host(AF_INET, 2);
	const uint64_t hops = world.m->hops.n;

	(void)state;
	packet_to(busy);
	packet_to(idle);
	sl_table_hops_tick(world.hops, SECONDS);
	sl_table_hops_tick(world.hops, 2 * SECONDS); /* the packets that made them count */
	assert_int_equal(world.m->hops.n, hops + 2);
	for (uint64_t s = 3; s <= 62; s++) {
		packet_to(busy);
		sl_table_hops_tick(world.hops, s * SECONDS);
		assert_true(known(idle));
	}
	packet_to(busy);
	sl_table_hops_tick(world.hops, 63 * SECONDS);
	assert_true(known(busy));
	assert_false(known(idle));
	/* A packet in work may still have its id. */
	assert_int_equal(world.m->hops.n, hops + 2);
	sl_table_hops_tick(world.hops, 64 * SECONDS);
	assert_int_equal(world.m->hops.n, hops + 2);
	/* A packet in that second makes it anew. */
	packet_to(idle);
	sl_table_hops_tick(world.hops, 65 * SECONDS);
	assert_int_equal(world.m->hops.n, hops + 2);
	assert_int_equal(leads_to(idle).kind, SL_NH_PUNT);
}

static void the_map_bounds_the_hops(void **state)
{
	struct sl_table_hop value = { 0 };
	struct sl_table_hop_key key;
	uint32_t n = 0;

	(void)state;
	for (uint32_t i = 0; i < SL_TABLE_HOPS_MAX + 10; i++) {
		key = host(AF_INET, (uint8_t)i);
		((uint8_t *)key.address)[2] = (uint8_t)(i >> 8);
		n += !bpf_map_update_elem(world.fd, &key, &value, BPF_NOEXIST);
	}
	assert_int_equal(n, SL_TABLE_HOPS_MAX);
	sl_table_hops_tick(world.hops, SECONDS);
	key = host(AF_INET, 0);
	assert_int_equal(leads_to(key).kind, SL_NH_PUNT);
	sl_table_hops_tick(world.hops, 2 * SECONDS);
	sl_table_hops_tick(world.hops, 100 * SECONDS);
	assert_false(known(key));
	packet_to(key);
	sl_table_hops_tick(world.hops, 102 * SECONDS); /* which frees room */
	sl_table_hops_tick(world.hops, 103 * SECONDS);
	assert_int_equal(leads_to(key).kind, SL_NH_PUNT);
}

static void the_kernel_tells_flags_that_it_does_not_know(void **state)
{
	(void)state;
	assert_true(sl_kernel_looks_up(0));
	assert_true(sl_kernel_looks_up(SL_TABLE_LOOKUP));
	assert_false(sl_kernel_looks_up(SL_TABLE_LOOKUP | 1u << 30));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_hop_leads_to_its_neighbour_once_that_is_resolved),
		TEST(a_hop_ends_a_minute_after_its_last_packet),
		TEST(the_map_bounds_the_hops),
		cmocka_unit_test(the_kernel_tells_flags_that_it_does_not_know),
	};

	return cmocka_run_group_tests_name("table_hops", tests, NULL, NULL);
}
