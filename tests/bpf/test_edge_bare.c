// SPDX-License-Identifier: BSD-2-Clause
/*
 * sl_edge in bare mode, as `ip link set ... xdp obj` loads it: no daemon, no port table, the
 * kernel's routes. The world that the cases live in is drawn in tests/lib/edge_case.h; here q4 has
 * GRO off, so that p4 does not take redirected frames.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/lib/edge_case.h"

static struct edge *edge;

static int setup(void **state)
{
	const struct sl_config bare = { 0 };
	int err = edge_enter_namespace();

	(void)state;
	if (!err)
		err = edge_kernel_routes();
	if (!err && system("ethtool -K q4 gro off && ip route add 10.90.0.0/16 via 169.254.0.90 "
			   "dev p4 onlink && ip neigh add 169.254.0.90 lladdr 02:00:00:00:00:90 "
			   "dev p4 nud permanent"))
		err = -EINVAL;
	return err ? err : edge_create(&bare, &edge);
}

static int teardown(void **state)
{
	(void)state;
	edge_destroy(edge);
	return 0;
}

static const struct edge_case cases[] = {
	{ "bare_ip4_forwards", {}, FORWARD_BY(PLAIN) },
	{ "bare_ip6_forwards", { .ip6 = true }, FORWARD_BY(PLAIN) },
	{ "bare_ip4_padding_is_removed", { .padding_bytes = 9 }, FORWARD_BY(PLAIN) },
	{ "bare_other_station_punts", { .dst_mac = 0x0200000000ee }, PUNTS(ETH_NOT_OURS) },
	{ "bare_mac_of_another_port_punts", { .dst_mac = 0x02000000000c }, PUNTS(ETH_NOT_OURS) },
	{ "bare_last_byte_of_mac_counts", { .dst_mac = 0x02000000000a }, PUNTS(ETH_NOT_OURS) },
	{ "bare_multicast_punts", { .dst_mac = 0x333300000001, .ip6 = true }, PUNTS(MULTICAST) },
	{ "bare_vlan_punts", { .tag = { { ETH_P_8021Q, 100 } } }, PUNTS(VLAN) },
	{ "bare_ttl_1_punts", { .ttl = 1 }, PUNTS(TTL) },
	{ "bare_local_punts", { .dst = "10.23.0.1" }, PUNTS(LOCAL) },
	{ "bare_too_big_punts", { .dst = "10.3.0.1", .payload_bytes = 1281 - 20 }, PUNTS(TOO_BIG) },
	{ "bare_hairpin_punts", { .dst = "10.7.0.1" }, PUNTS(REDIRECT) },
	{ "bare_blackhole_drops", { .dst = "10.20.0.1" }, DROPS(BLACKHOLE) },
	{ "bare_egress_that_takes_no_redirects_punts", { .dst = "10.90.0.1" }, PUNTS(NOT_A_PORT) },
};

/* One test per case: cmocka's functions take nothing but their state. */
static void check(void **state)
{
	edge_check(edge, *state);
}

static void bare_egress_takes_redirects_from_the_moment_it_can(void **state)
{
	struct edge_case c = { "", { .dst = "10.90.0.1" }, PUNTS(NOT_A_PORT) };
	uint8_t in[FRAME_MAX_BYTES], out[FRAME_MAX_BYTES];
	uint32_t len = frame_build(&c.in, in), out_len;

	(void)state;
	edge_check(edge, &c);
	assert_int_equal(system("ethtool -K q4 gro on"), 0);
	assert_int_equal(edge_run(edge, EDGE_PORT(1), in, len, out, &out_len), XDP_REDIRECT);
	assert_int_equal(system("ethtool -K q4 gro off"), 0);
	edge_check(edge, &c);
}

#define N_CASES (sizeof(cases) / sizeof(cases[0]))

int main(void)
{
	struct CMUnitTest tests[N_CASES + 1] = {
		[N_CASES] = cmocka_unit_test(bare_egress_takes_redirects_from_the_moment_it_can),
	};

	for (size_t i = 0; i < N_CASES; i++)
		tests[i] = (struct CMUnitTest){
			.name = cases[i].name,
			.test_func = check,
			.initial_state = (void *)&cases[i],
		};
	return cmocka_run_group_tests(tests, setup, teardown);
}
