/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The mirror over a real fib in plain memory, fed with parsed messages. It covers what the kernel
 * of a test machine may be unable to do (VLANs, VRF members), what must be counted (how many
 * prefixes a change touches), and each rule by which a route wins.
 * tests/netns/router/test_mirror_random.py compares with the kernel.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <net/if.h>
#include <libmnl/libmnl.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include "bpf/abi/abi.h"
#include "bpf/abi/forwarding.h"
#include "bpf/abi/l3_port.h"
#include "bpf/abi/reasons.h"
#include "bpf/lib/endian.bpf.h"
#include "tests/lib/deadline.h"
#include "user/mirror/mirror_route.h"
#include "user/mirror/mirror_state.h"
#include "user/mirror/sync/mirror_poll.h"
#include "user/mirror/sync/mirror_settings.h"
#include "user/mirror/sync/mirror_sync.h"

enum { ETH0 = 2, ETH1 = 3, TUN = 9, N_NEXTHOP = 512, N_ADJ = 300, N_GROUP = 16, N_RUNS = 512 };

struct world {
	struct sl_fib_tables tables;
	struct sl_fib *fib;
	struct sl_mirror *m;
	struct sl_port port[16];
	struct sl_vlan_key vlan[16];
	uint32_t told; /* calls of port_set */
	uint32_t cut;  /* port that cannot be reached; 0: none */
	uint32_t also; /* a port beside the two; 0: none */
};

/* --- The world --- */

static bool is_port(void *ctx, uint32_t ifindex)
{
	const struct world *w = ctx;

	return ifindex == ETH0 || ifindex == ETH1 || (w->also && ifindex == w->also);
}

static bool is_cut(void *ctx, uint32_t ifindex)
{
	const struct world *w = ctx;

	return ifindex == w->cut;
}

static void port_set(void *ctx, const struct sl_port *port, const struct sl_vlan_key *vlan)
{
	struct world *w = ctx;

	w->port[port->ifindex] = *port;
	w->vlan[port->ifindex] = *vlan;
	w->told++;
}

static void port_clear(void *ctx, uint32_t ifindex, const struct sl_vlan_key *vlan)
{
	struct world *w = ctx;

	(void)vlan;
	memset(&w->port[ifindex], 0, sizeof(w->port[ifindex]));
}

static void link_event(void *ctx, uint32_t ifindex, const char *name, bool present, bool up)
{
	(void)ctx, (void)ifindex, (void)name, (void)present, (void)up;
}

static const struct sl_mirror_ops ops = {
	.is_port = is_port,
	.is_cut = is_cut,
	.port_set = port_set,
	.port_clear = port_clear,
	.link_event = link_event,
};

static struct sl_rtnl_link ethernet(uint32_t ifindex)
{
	struct sl_rtnl_link l = { .ifindex = ifindex,
				  .flags = IFF_UP | IFF_RUNNING | 1 << 16 /* IFF_LOWER_UP */,
				  .arp_type = ARPHRD_ETHER,
				  .mac = { 2, 0, 0, 0, 0, (uint8_t)ifindex },
				  .mac_bytes = 6,
				  .mtu_bytes = 1500,
				  .has_settings4 = true,
				  .has_settings6 = true,
				  .mtu6_bytes = 1500 };

	snprintf(l.name, sizeof(l.name), "eth%u", ifindex);
	return l;
}

static void link_is(struct world *w, struct sl_rtnl_link l)
{
	sl_link_message(w->m, &l);
	sl_route_walk_changed(w->m, UINT32_MAX);
}

static uint8_t address(const char *text, uint8_t addr[16])
{
	const uint8_t family = strchr(text, ':') ? AF_INET6 : AF_INET;

	memset(addr, 0, 16);
	assert_int_equal(inet_pton(family, text, addr), 1);
	return family;
}

static void neighbour(struct world *w, uint32_t ifindex, const char *text, uint16_t state,
		      uint8_t mac)
{
	struct sl_rtnl_neigh n = { .ifindex = ifindex,
				   .state = state,
				   .mac = { 2, 1, 0, 0, 0, mac },
				   .mac_bytes = 6,
				   .removed = !state };

	n.family = address(text, n.addr);
	sl_neigh_message(w->m, &n);
}

static int open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct sl_fib_tables *t;

	assert_non_null(w);
	t = &w->tables;
	*t = (struct sl_fib_tables){ .engine = SL_ENGINE_FAST,
				     .n_nexthop = N_NEXTHOP,
				     .n_adj = N_ADJ,
				     .n_group = N_GROUP,
				     .n_runs4 = N_RUNS,
				     .n_runs6 = N_RUNS };
	t->nexthop = calloc(t->n_nexthop, sizeof(*t->nexthop));
	t->adj = calloc(t->n_adj, sizeof(*t->adj));
	t->group = calloc(t->n_group, sizeof(*t->group));
	t->root4 = calloc(SL_ROOT_BLOCKS, sizeof(*t->root4));
	t->root6 = calloc(SL_ROOT_BLOCKS, sizeof(*t->root6));
	t->runs4 = calloc(t->n_runs4, sizeof(*t->runs4));
	t->runs6 = calloc(t->n_runs6, sizeof(*t->runs6));
	assert_int_equal(sl_fib_create(t, &w->fib), 0);
	assert_int_equal(sl_mirror_create(w->fib, &ops, w, &w->m), 0);
	link_is(w, ethernet(ETH0));
	link_is(w, ethernet(ETH1));
	neighbour(w, ETH0, "10.0.0.2", NUD_REACHABLE, 2);
	neighbour(w, ETH1, "10.1.0.2", NUD_REACHABLE, 3);
	neighbour(w, ETH0, "fd00::2", NUD_STALE, 4);
	neighbour(w, ETH1, "fd01::2", NUD_PERMANENT, 5);
	*state = w;
	return 0;
}

static int close_world(void **state)
{
	struct world *w = *state;

	sl_mirror_close(w->m);
	sl_fib_destroy(w->fib);
	free(w->tables.nexthop);
	free(w->tables.adj);
	free(w->tables.group);
	free(w->tables.root4);
	free(w->tables.root6);
	free(w->tables.runs4);
	free(w->tables.runs6);
	free(w);
	return 0;
}

/* --- Routes, in words --- */

static struct sl_rtnl_route route(const char *dst)
{
	struct sl_rtnl_route r;
	char text[64];
	char *slash;

	memset(&r, 0, sizeof(r));
	snprintf(text, sizeof(text), "%s", dst);
	slash = strchr(text, '/');
	assert_non_null(slash);
	*slash = 0;
	r.dst.family = address(text, r.dst.addr);
	r.dst.len = (uint8_t)strtoul(slash + 1, NULL, 10);
	r.table = RT_TABLE_MAIN;
	r.type = RTN_UNICAST;
	r.protocol = RTPROT_BIRD;
	return r;
}

static void via(struct sl_rtnl_route *r, const char *gateway, uint32_t ifindex, uint32_t weight)
{
	struct sl_rtnl_leg *leg = &r->leg[r->n_legs++];

	leg->ifindex = ifindex;
	leg->weight = weight;
	if (gateway)
		leg->gateway_family = address(gateway, leg->gateway);
}

static void put(struct world *w, const struct sl_rtnl_route *r)
{
	sl_route_message(w->m, r);
	sl_route_walk_changed(w->m, UINT32_MAX);
}

static void del(struct world *w, struct sl_rtnl_route r)
{
	r.removed = true;
	put(w, &r);
}

static struct sl_rtnl_route add(struct world *w, const char *dst, const char *gateway,
				uint32_t ifindex)
{
	struct sl_rtnl_route r = route(dst);

	via(&r, gateway, ifindex, 1);
	put(w, &r);
	return r;
}

/* --- What XDP would do --- */

static uint32_t lookup(const struct world *w, const char *text)
{
	uint8_t addr[16];
	const uint8_t family = address(text, addr);

	return sl_fib_lookup(w->fib, family, addr);
}

static const struct sl_adj *forward(const struct world *w, uint32_t id)
{
	const struct sl_nexthop *nh = &w->tables.nexthop[id];

	assert_int_equal(nh->kind, SL_NH_FORWARD);
	return &w->tables.adj[nh->ref];
}

static void assert_mac(const struct world *w, const char *text, uint8_t last_byte)
{
	assert_int_equal(forward(w, lookup(w, text))->dst_mac[5], last_byte);
}

static void assert_punt(const struct world *w, const char *text, enum sl_punt reason)
{
	const struct sl_nexthop *nh = &w->tables.nexthop[lookup(w, text)];

	assert_int_equal(nh->kind, SL_NH_PUNT);
	assert_int_equal(nh->ref, reason);
}

static uint64_t prefix_operations(const struct world *w)
{
	struct sl_fib_stats s;

	sl_fib_stats(w->fib, &s);
	return s.inserts + s.replaces + s.deletes;
}

static uint32_t buckets_of(const struct world *w, const char *text, uint8_t last_byte)
{
	const struct sl_nexthop *nh = &w->tables.nexthop[lookup(w, text)];
	uint32_t n = 0;

	assert_int_equal(nh->kind, SL_NH_GROUP);
	for (int i = 0; i < SL_GROUP_BUCKETS; i++)
		n += forward(w, w->tables.group[nh->ref].bucket[i])->dst_mac[5] == last_byte;
	return n;
}

/* --- Hops --- */

static void many_routes_by_one_gateway_share_its_next_hop(void **state)
{
	struct world *w = *state;
	struct sl_fib_stats before, after;
	char dst[32];

	add(w, "172.16.0.0/24", "10.0.0.2", ETH0);
	sl_fib_stats(w->fib, &before);
	for (int i = 1; i < 200; i++) {
		snprintf(dst, sizeof(dst), "172.16.%d.0/24", i);
		add(w, dst, "10.0.0.2", ETH0);
	}
	sl_fib_stats(w->fib, &after);
	assert_int_equal(after.nexthops, before.nexthops);
	assert_int_equal(lookup(w, "172.16.0.1"), lookup(w, "172.16.199.1"));
}

static void a_neighbour_that_changes_touches_no_prefix(void **state)
{
	struct world *w = *state;
	uint64_t before;

	add(w, "172.16.0.0/24", "10.0.0.2", ETH0);
	assert_mac(w, "172.16.0.1", 2);
	before = prefix_operations(w);
	neighbour(w, ETH0, "10.0.0.2", NUD_REACHABLE, 99);
	assert_mac(w, "172.16.0.1", 99);
	neighbour(w, ETH0, "10.0.0.2", NUD_FAILED, 0);
	assert_punt(w, "172.16.0.1", SL_PUNT_NEIGHBOUR);
	neighbour(w, ETH0, "10.0.0.2", 0, 0);
	assert_punt(w, "172.16.0.1", SL_PUNT_NEIGHBOUR);
	neighbour(w, ETH0, "10.0.0.2", NUD_DELAY, 7);
	assert_mac(w, "172.16.0.1", 7);
	assert_int_equal(prefix_operations(w), before);
}

static void each_usable_state_of_a_neighbour_forwards(void **state)
{
	static const uint16_t states[] = { NUD_REACHABLE, NUD_STALE,	 NUD_DELAY,
					   NUD_PROBE,	  NUD_PERMANENT, NUD_NOARP };
	static const uint16_t others[] = { NUD_INCOMPLETE, NUD_FAILED, NUD_NONE + 0x100 };
	struct world *w = *state;

	add(w, "172.16.0.0/24", "10.0.0.2", ETH0);
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		neighbour(w, ETH0, "10.0.0.2", states[i], 2);
		assert_mac(w, "172.16.0.1", 2);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		neighbour(w, ETH0, "10.0.0.2", others[i], 2);
		assert_punt(w, "172.16.0.1", SL_PUNT_NEIGHBOUR);
	}
}

static void mtu_is_the_smaller_of_link_and_route(void **state)
{
	static const struct {
		const char *dst, *gateway;
		uint32_t route_mtu, mtu6, expected;
	} cases[] = {
		{ "172.16.0.0/24", "10.0.0.2", 0, 1500, 1500 },
		{ "172.16.0.0/24", "10.0.0.2", 1400, 1500, 1400 },
		{ "172.16.0.0/24", "10.0.0.2", 9000, 1500, 1500 },
		{ "172.16.0.0/24", "fd00::2", 0, 1300, 1500 },
		{ "2001:db8::/32", "fd00::2", 0, 1300, 1300 },
		{ "2001:db8::/32", "fd00::2", 1280, 1300, 1280 },
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sl_rtnl_route r = route(cases[i].dst);
		struct sl_rtnl_link l = ethernet(ETH0);
		const char *inside = r.dst.family == AF_INET ? "172.16.0.1" : "2001:db8::1";
		l.mtu6_bytes = cases[i].mtu6;
		link_is(w, l);
		r.mtu_bytes = cases[i].route_mtu;
		via(&r, cases[i].gateway, ETH0, 1);
		put(w, &r);
		if (forward(w, lookup(w, inside))->mtu_bytes != cases[i].expected)
			fail_msg("case %zu: %u", i, forward(w, lookup(w, inside))->mtu_bytes);
		del(w, r);
	}
}

static void routes_through_no_port_are_left_to_the_kernel(void **state)
{
	struct world *w = *state;
	struct sl_rtnl_link tun = ethernet(TUN);

	tun.arp_type = ARPHRD_NONE;
	tun.mac_bytes = 0;
	link_is(w, tun);
	add(w, "172.16.0.0/24", NULL, TUN);
	assert_punt(w, "172.16.0.1", SL_PUNT_NOT_A_PORT);
	add(w, "172.17.0.0/24", "10.9.0.1", 77); /* an unknown link is not up */
	assert_int_equal(lookup(w, "172.17.0.1"), 0);
}

/* --- VLANs --- */

static struct sl_rtnl_link vlan(uint32_t ifindex, uint32_t parent, uint16_t id, uint16_t tpid)
{
	struct sl_rtnl_link l = ethernet(ifindex);

	l.is_vlan = true;
	l.parent = parent;
	l.vlan_id = id;
	l.vlan_tpid = sl_htons(tpid);
	return l;
}

static void vlan_in_vlan_writes_the_outer_tag_first(void **state)
{
	struct world *w = *state;
	const struct sl_adj *adj;

	/* The inner one first: its parent is not known yet. */
	link_is(w, vlan(6, 5, 200, ETH_P_8021Q));
	add(w, "172.16.0.0/24", "10.6.0.2", 6);
	assert_punt(w, "172.16.0.1", SL_PUNT_NOT_A_PORT);
	link_is(w, vlan(5, ETH0, 100, ETH_P_8021AD));
	neighbour(w, 6, "10.6.0.2", NUD_REACHABLE, 6);
	adj = forward(w, lookup(w, "172.16.0.1"));
	assert_int_equal(adj->port_ifindex, ETH0);
	assert_int_equal(adj->l3_ifindex, 6);
	assert_int_equal(adj->vlan_tags, 2);
	assert_true(adj->vlan_tpid[0] == sl_htons(ETH_P_8021AD));
	assert_true(adj->vlan_tci[0] == sl_htons(100));
	assert_true(adj->vlan_tpid[1] == sl_htons(ETH_P_8021Q));
	assert_true(adj->vlan_tci[1] == sl_htons(200));
	assert_int_equal(adj->src_mac[5], 6);
	assert_int_equal(w->port[6].ifindex, 6);
	assert_int_equal(w->vlan[6].port_ifindex, ETH0);
	assert_true(w->vlan[6].vid[0] == sl_htons(100));
	assert_true(w->vlan[6].vid[1] == sl_htons(200));
	assert_true(w->vlan[5].vid[1] == 0);
}

static void vlan_that_is_a_port_has_frames_without_its_tag(void **state)
{
	struct world *w = *state;
	struct sl_rtnl_link l = ethernet(ETH0), bond = ethernet(8), member = ethernet(9);
	const struct sl_adj *adj;

	l.partial_checksums = true;
	link_is(w, l);
	w->also = 5;
	link_is(w, vlan(5, ETH0, 100, ETH_P_8021Q));
	link_is(w, vlan(6, 5, 200, ETH_P_8021Q));
	assert_int_equal(w->vlan[5].port_ifindex, 5);
	assert_true(w->vlan[5].vid[0] == 0);
	assert_true(w->port[5].flags & SL_PORT_PARTIAL); /* of the veth below it */
	/* A VLAN on it has one tag there. */
	assert_int_equal(w->vlan[6].port_ifindex, 5);
	assert_true(w->vlan[6].vid[0] == sl_htons(200));
	assert_true(w->vlan[6].vid[1] == 0);
	add(w, "172.16.0.0/24", "10.6.0.2", 5);
	neighbour(w, 5, "10.6.0.2", NUD_REACHABLE, 6);
	adj = forward(w, lookup(w, "172.16.0.1"));
	assert_int_equal(adj->port_ifindex, 5);
	assert_int_equal(adj->vlan_tags, 0);

	/* A bond has what its members have. */
	w->also = 8;
	link_is(w, bond);
	assert_false(w->port[8].flags & SL_PORT_PARTIAL);
	member.master = 8;
	member.partial_checksums = true;
	link_is(w, member);
	assert_true(w->port[8].flags & SL_PORT_PARTIAL);
}

static void packets_of_a_veth_may_lack_checksums_also_in_a_vlan(void **state)
{
	struct world *w = *state;
	struct sl_rtnl_link l = ethernet(ETH0);

	link_is(w, vlan(5, ETH0, 100, ETH_P_8021Q));
	assert_false(w->port[ETH0].flags & SL_PORT_PARTIAL);
	assert_false(w->port[5].flags & SL_PORT_PARTIAL);
	l.partial_checksums = true;
	link_is(w, l);
	assert_true(w->port[ETH0].flags & SL_PORT_PARTIAL);
	assert_true(w->port[5].flags & SL_PORT_PARTIAL);
	assert_false(w->port[ETH1].flags & SL_PORT_PARTIAL);
}

static void vlan_that_is_down_is_no_entrance(void **state)
{
	struct world *w = *state;
	struct sl_rtnl_link l = vlan(5, ETH0, 100, ETH_P_8021Q);

	link_is(w, l);
	assert_int_equal(w->port[5].ifindex, 5);
	l.flags &= ~(uint32_t)(IFF_UP | IFF_LOWER_UP | IFF_RUNNING);
	link_is(w, l);
	assert_int_equal(w->port[5].ifindex, 0);
	l.flags |= IFF_UP; /* still without carrier: the kernel takes what comes */
	link_is(w, l);
	assert_int_equal(w->port[5].ifindex, 5);
}

static void vlans_that_xdp_cannot_write_are_left_to_the_kernel(void **state)
{
	struct world *w = *state;
	struct sl_rtnl_link l = vlan(5, ETH0, 100, ETH_P_8021Q);

	link_is(w, l);
	link_is(w, vlan(6, 5, 200, ETH_P_8021Q));
	link_is(w, vlan(7, 6, 300, ETH_P_8021Q)); /* three tags */
	add(w, "172.16.0.0/24", "10.7.0.2", 7);
	neighbour(w, 7, "10.7.0.2", NUD_REACHABLE, 6);
	assert_punt(w, "172.16.0.1", SL_PUNT_NOT_A_PORT);
	add(w, "172.17.0.0/24", "10.5.0.2", 5);
	neighbour(w, 5, "10.5.0.2", NUD_REACHABLE, 8);
	assert_mac(w, "172.17.0.1", 8);
	assert_int_equal(w->port[5].ifindex, 5);
	l.vlan_remaps = true; /* priorities */
	link_is(w, l);
	assert_punt(w, "172.17.0.1", SL_PUNT_NOT_A_PORT);
	assert_int_equal(w->port[5].ifindex, 0);
	assert_int_equal(w->port[6].ifindex, 0);
}

/* --- Ports --- */

static void port_flags_follow_settings_rules_and_masters(void **state)
{
	struct world *w = *state;
	struct sl_rtnl_link l = ethernet(ETH0);
	struct sl_rtnl_netconf all = { .family = AF_INET,
				       .ifindex = -1,
				       .forwarding = -1,
				       .rp_filter = 1,
				       .ignore_linkdown = -1 };
	struct sl_rtnl_rule rule = {
		.family = AF_INET, .priority = 100, .table = 7, .plain = false
	};
	const struct sl_rtnl_rule vrfs = {
		.family = AF_INET, .priority = 1000, .plain = true, .l3mdev = true
	};
	uint32_t told;

	assert_int_equal(w->port[ETH0].flags & SL_PORT_FORWARD4, 0);
	l.forwarding4 = 1;
	link_is(w, l);
	assert_int_equal(w->port[ETH0].flags & (SL_PORT_FORWARD4 | SL_PORT_FORWARD6),
			 SL_PORT_FORWARD4);
	sl_netconf_message(w->m, &all);
	assert_true(w->port[ETH0].flags & SL_PORT_RP_STRICT);
	l.rp_filter = 2; /* the larger one counts */
	link_is(w, l);
	assert_false(w->port[ETH0].flags & SL_PORT_RP_STRICT);
	assert_true(w->port[ETH0].flags & SL_PORT_RP_LOOSE);
	assert_false(w->port[ETH0].flags & SL_PORT_REDIRECT4);
	l.send_redirects = 1;
	link_is(w, l);
	assert_true(w->port[ETH0].flags & SL_PORT_REDIRECT4);
	all = (struct sl_rtnl_netconf){ .family = AF_INET6,
					.ifindex = -1,
					.forwarding = 1,
					.rp_filter = -1,
					.ignore_linkdown = -1 };
	sl_netconf_message(w->m, &all);
	assert_true(w->port[ETH0].flags & SL_PORT_FORWARD6);
	l.disable_ipv6 = 1;
	link_is(w, l);
	assert_false(w->port[ETH0].flags & SL_PORT_FORWARD6);
	told = w->told;
	link_is(w, l);
	assert_int_equal(w->told, told); /* nothing new, nothing told */

	assert_false(w->port[ETH0].flags & SL_PORT_LOCALNET4);
	l.route_localnet = 1;
	link_is(w, l);
	assert_true(w->port[ETH0].flags & SL_PORT_LOCALNET4);
	assert_false(w->port[ETH1].flags & SL_PORT_LOCALNET4);
	for (uint32_t policy = 0; policy <= 3;
	     policy++) { /* addresses, ports, inner addresses, ... */
		w->m->hash_fields4 = w->m->hash_fields6 = 1 << 5; /* the destination port, say */
		w->m->hash_policy4 = policy;
		w->m->hash_policy6 = 3 - policy;
		sl_link_update_all(w->m);
		assert_int_equal(w->port[ETH0].flags & SL_PORT_HASH_L3_4,
				 policy % 2 ? 0 : SL_PORT_HASH_L3_4);
		assert_int_equal(w->port[ETH0].flags & SL_PORT_HASH_L3_6,
				 policy % 2 ? SL_PORT_HASH_L3_6 : 0);
	}
	w->m->hash_policy4 = w->m->hash_policy6 = 3;
	w->m->hash_fields4 = 7; /* the kernel's default: addresses and protocol */
	sl_link_update_all(w->m);
	assert_true(w->port[ETH0].flags & SL_PORT_HASH_L3_4);
	assert_false(w->port[ETH0].flags & SL_PORT_HASH_L3_6);

	w->m->default_rules[0] = 7;
	w->m->default_rules[1] = 3;
	sl_rule_dumped(w->m);
	assert_false(w->port[ETH0].flags & SL_PORT_PUNT4);
	w->m->use_pmtu = 1;
	sl_link_update_all(w->m);
	assert_true(w->port[ETH0].flags & SL_PORT_PUNT4);
	w->m->use_pmtu = 0;
	sl_rule_message(w->m, &vrfs);
	sl_rule_dumped(w->m);
	sl_link_update_all(w->m);
	assert_false(w->port[ETH0].flags & SL_PORT_PUNT4);
	sl_rule_message(w->m, &rule);
	sl_rule_dumped(w->m);
	assert_int_equal(w->port[ETH0].flags & (SL_PORT_PUNT4 | SL_PORT_PUNT6), SL_PORT_PUNT4);
	assert_true(w->port[ETH1].flags & SL_PORT_PUNT4);
	w->m->other_rules[0] = 0;
	w->m->default_rules[1] = 2; /* IPv6's table local is not asked first */
	sl_rule_dumped(w->m);
	assert_int_equal(w->port[ETH1].flags & (SL_PORT_PUNT4 | SL_PORT_PUNT6), SL_PORT_PUNT6);
	w->m->default_rules[1] = 3;
	sl_rule_dumped(w->m);
	l.master = 20; /* a bridge, a bond, a VRF */
	link_is(w, l);
	assert_int_equal(w->port[ETH0].flags & (SL_PORT_PUNT4 | SL_PORT_PUNT6),
			 SL_PORT_PUNT4 | SL_PORT_PUNT6);
	assert_int_equal(w->port[ETH1].flags & (SL_PORT_PUNT4 | SL_PORT_PUNT6), 0);
	l.removed = true;
	link_is(w, l);
	assert_int_equal(w->port[ETH0].ifindex, 0);
}

/* --- Host routes --- */

static void neighbours_on_link_become_host_routes(void **state)
{
	struct world *w = *state;
	struct sl_rtnl_route more_specific;

	assert_int_equal(lookup(w, "10.0.0.2"), 0);
	add(w, "10.0.0.0/24", NULL, ETH0);
	assert_mac(w, "10.0.0.2", 2);
	assert_punt(w, "10.0.0.3", SL_PUNT_NEIGHBOUR);
	/* On another link it is not the neighbour that the route leads to. */
	neighbour(w, ETH1, "10.0.0.3", NUD_REACHABLE, 33);
	assert_punt(w, "10.0.0.3", SL_PUNT_NEIGHBOUR);
	neighbour(w, ETH0, "10.0.0.3", NUD_REACHABLE, 3);
	assert_mac(w, "10.0.0.3", 3);
	neighbour(w, ETH0, "10.0.0.3", NUD_FAILED, 3);
	assert_punt(w, "10.0.0.3", SL_PUNT_NEIGHBOUR);
	/* A longer route takes its addresses away, and gives them back. */
	more_specific = add(w, "10.0.0.0/30", "10.1.0.2", ETH1);
	assert_mac(w, "10.0.0.2", 3);
	assert_int_equal(lookup(w, "10.0.0.2"), lookup(w, "10.0.0.1"));
	del(w, more_specific);
	assert_mac(w, "10.0.0.2", 2);
	/* A host route of the kernel's own stays above. */
	more_specific = add(w, "10.0.0.2/32", "10.1.0.2", ETH1);
	assert_mac(w, "10.0.0.2", 3);
	del(w, more_specific);
	assert_mac(w, "10.0.0.2", 2);
	neighbour(w, ETH0, "10.0.0.2", 0, 0);
	assert_punt(w, "10.0.0.2", SL_PUNT_NEIGHBOUR);
}

static void an_on_link_host_route_leads_to_its_neighbour(void **state)
{
	struct world *w = *state;
	struct sl_rtnl_route r = add(w, "fd00::2/128", NULL, ETH0);

	assert_mac(w, "fd00::2", 4);
	neighbour(w, ETH0, "fd00::2", NUD_FAILED, 0);
	assert_punt(w, "fd00::2", SL_PUNT_NEIGHBOUR);
	neighbour(w, ETH0, "fd00::2", NUD_REACHABLE, 44);
	assert_mac(w, "fd00::2", 44);
	del(w, r);
	assert_int_equal(lookup(w, "fd00::2"), 0);
}

/* --- Which route wins --- */

static void lowest_metric_wins_and_the_next_takes_over(void **state)
{
	struct world *w = *state;
	struct sl_rtnl_route second = route("172.16.0.0/24"), first = route("172.16.0.0/24");

	second.metric = 20;
	via(&second, "10.1.0.2", ETH1, 1);
	put(w, &second);
	assert_mac(w, "172.16.0.1", 3);
	first.metric = 10;
	via(&first, "10.0.0.2", ETH0, 1);
	put(w, &first);
	assert_mac(w, "172.16.0.1", 2);
	del(w, first);
	assert_mac(w, "172.16.0.1", 3);
	del(w, second);
	assert_int_equal(lookup(w, "172.16.0.1"), 0);
}

/* In whatever bits they differ, and whichever route comes first. */
static void metrics_are_compared_in_all_their_bits(void **state)
{
	static const uint32_t lower[] = { 1, 255, 65535, 65536, 0x00ffffff, 0x7fffffff };
	static const uint32_t higher[] = { 256, 65536, 65536, 65537, 0x01000000, 0x80000000 };
	static const char *const dst[] = { "172.16.0.0/24", "2001:db8:8::/48" };
	static const char *const inside[] = { "172.16.0.1", "2001:db8:8::1" };
	static const char *const gateway[][2] = { { "10.0.0.2", "10.1.0.2" },
						  { "fd00::2", "fd01::2" } };
	static const uint8_t mac_of_eth0[] = { 2, 4 };
	struct world *w = *state;

	for (size_t i = 0; i < 4 * sizeof(lower) / sizeof(lower[0]); i++) {
		const bool ip6 = i & 1, lower_first = i & 2;
		struct sl_rtnl_route best = route(dst[ip6]), other = route(dst[ip6]);

		best.metric = lower[i / 4];
		other.metric = higher[i / 4];
		via(&best, gateway[ip6][0], ETH0, 1);
		via(&other, gateway[ip6][1], ETH1, 1);
		put(w, lower_first ? &best : &other);
		put(w, lower_first ? &other : &best);
		assert_mac(w, inside[ip6], mac_of_eth0[ip6]);
		del(w, best);
		del(w, other);
	}
}

static void a_route_without_a_live_leg_is_as_good_as_absent(void **state)
{
	struct world *w = *state;
	struct sl_rtnl_link l = ethernet(ETH0);
	struct sl_rtnl_netconf ignore = { .family = AF_INET,
					  .ifindex = ETH0,
					  .forwarding = -1,
					  .rp_filter = -1,
					  .ignore_linkdown = 1 };

	add(w, "172.16.0.0/16", "10.1.0.2", ETH1);
	add(w, "172.16.0.0/24", "10.0.0.2", ETH0);
	assert_mac(w, "172.16.0.1", 2);
	l.flags = IFF_UP; /* no carrier: used all the same */
	link_is(w, l);
	assert_mac(w, "172.16.0.1", 2);
	sl_netconf_message(w->m, &ignore);
	sl_route_walk_changed(w->m, UINT32_MAX);
	assert_mac(w, "172.16.0.1", 3);
	l = ethernet(ETH0);
	link_is(w, l);
	assert_mac(w, "172.16.0.1", 2);
	l.flags = 0;
	link_is(w, l);
	assert_mac(w, "172.16.0.1", 3);
}

static void cut_is(struct world *w, uint32_t ifindex)
{
	w->cut = ifindex;
	sl_mirror_ports_changed(w->m);
}

static void routes_leave_a_cut_port_at_once_however_many_they_are(void **state)
{
	enum { MANY = 20000, STEP = 100 };
	struct world *w = *state;
	struct sl_rtnl_route both = route("192.0.2.0/24"), second = route("172.16.1.0/24");
	uint64_t before;
	char dst[32];

	for (int i = 0; i < MANY; i++) {
		snprintf(dst, sizeof(dst), "172.%d.%d.0/24", 16 + i / 256, i % 256);
		add(w, dst, "10.0.0.2", ETH0);
	}
	via(&both, "10.0.0.2", ETH0, 1);
	via(&both, "10.1.0.2", ETH1, 1);
	put(w, &both);
	via(&second, "10.1.0.2", ETH1, 1);
	second.metric = 9;
	put(w, &second);
	add(w, "172.94.0.0/16", "10.1.0.2", ETH1);
	add(w, "10.0.0.0/24", NULL, ETH0);
	assert_mac(w, "172.16.1.1", 2);
	assert_mac(w, "10.0.0.2", 2);
	assert_int_equal(buckets_of(w, "192.0.2.1", 2), 64);

	before = prefix_operations(w);
	cut_is(w, ETH0);
	assert_int_equal(buckets_of(w, "192.0.2.1", 3), 128);
	for (int i = 0; i < MANY; i++) {
		snprintf(dst, sizeof(dst), "172.%d.%d.1", 16 + i / 256, i % 256);
		assert_punt(w, dst, SL_PUNT_UNREACHABLE);
	}
	assert_punt(w, "10.0.0.2", SL_PUNT_UNREACHABLE);
	assert_int_equal(prefix_operations(w), before);

	/* The prefixes follow step by step. Routes that change meanwhile follow, too. */
	for (int steps = 0; sl_route_walk_pending(w->m); steps++) {
		before = prefix_operations(w);
		sl_route_walk_changed(w->m, STEP);
		assert_in_range(prefix_operations(w) - before, 0, STEP);
		snprintf(dst, sizeof(dst), "198.18.%d.0/24", steps);
		if (steps < 200) {
			struct sl_rtnl_route more = route(dst);

			via(&more, "10.0.0.2", ETH0, 1);
			sl_route_message(w->m, &more);
		}
		assert_true(steps <= 2 * MANY / STEP);
	}
	assert_mac(w, "172.16.1.1", 3);
	assert_mac(w, "172.94.31.1", 3);
	assert_int_equal(lookup(w, "172.20.1.1"), 0);
	assert_int_equal(lookup(w, "198.18.199.1"), 0);

	/* Halfway through the walk the port comes back, is cut again, and the table grows. */
	cut_is(w, 0);
	assert_int_equal(buckets_of(w, "192.0.2.1", 2), 64);
	sl_route_walk_changed(w->m, MANY / 2);
	cut_is(w, ETH0);
	sl_route_walk_changed(w->m, 1);
	for (int i = 0; i < 200; i++) {
		struct sl_rtnl_route more;

		snprintf(dst, sizeof(dst), "198.19.%d.0/24", i);
		more = route(dst);
		via(&more, "10.0.0.2", ETH0, 1);
		sl_route_message(w->m, &more);
	}
	sl_route_walk_changed(w->m, UINT32_MAX);
	assert_false(sl_route_walk_pending(w->m));
	for (int i = 256; i < MANY - 32; i++) {
		snprintf(dst, sizeof(dst), "172.%d.%d.1", 16 + i / 256, i % 256);
		assert_int_equal(lookup(w, dst), 0);
	}

	cut_is(w, ETH1);
	assert_int_equal(buckets_of(w, "192.0.2.1", 2), 128);
	sl_route_walk_changed(w->m, UINT32_MAX);
	for (int i = 0; i < MANY; i++) {
		snprintf(dst, sizeof(dst), "172.%d.%d.1", 16 + i / 256, i % 256);
		assert_mac(w, dst, 2);
	}
	assert_mac(w, "198.19.199.1", 2);
	assert_int_equal(lookup(w, "172.94.200.1"), 0);
}

static void carrier_that_goes_and_comes_back_dumps_no_route_again(void **state)
{
	struct world *w = *state;
	struct sl_rtnl_link l = ethernet(ETH0);
	struct sl_rtnl_route r = route("172.17.0.0/24");

	l.ignore_linkdown4 = true;
	link_is(w, l);
	add(w, "172.16.0.0/24", "10.0.0.2", ETH0);
	memset(&w->m->todo, 0, sizeof(w->m->todo));
	l.flags = IFF_UP;
	link_is(w, l);
	assert_int_equal(lookup(w, "172.16.0.1"), 0);
	l.flags = ethernet(ETH0).flags;
	link_is(w, l);
	assert_mac(w, "172.16.0.1", 2);
	assert_int_equal(w->m->todo.routes_of, 0);
	assert_true(w->m->todo.nhobjects);

	/* But it does if the kernel called a leg dead meanwhile. */
	l.flags = IFF_UP;
	link_is(w, l);
	via(&r, "10.0.0.2", ETH0, 1);
	r.leg[0].flags = RTNH_F_DEAD | RTNH_F_LINKDOWN;
	put(w, &r);
	l.flags = ethernet(ETH0).flags;
	link_is(w, l);
	assert_int_equal(w->m->todo.routes_of, ETH0);
}

/*
 * The link lost its carrier for a moment, without an event; routes that came meanwhile have dead
 * legs. The event at the end shows no change, but the mirror must dump the routes again.
 */
static void a_carrier_lost_for_a_moment_leaves_no_leg_dead(void **state)
{
	struct world *w = *state;
	struct sl_rtnl_link l = ethernet(ETH0);
	struct sl_rtnl_route r = route("172.16.0.0/24");

	l.ignore_linkdown4 = true;
	link_is(w, l);
	add(w, "172.16.0.0/16", "10.1.0.2", ETH1);
	via(&r, "10.0.0.2", ETH0, 1);
	r.leg[0].flags = RTNH_F_DEAD | RTNH_F_LINKDOWN;
	put(w, &r);
	assert_mac(w, "172.16.0.1", 3);
	memset(&w->m->todo, 0, sizeof(w->m->todo));
	link_is(w, l);
	assert_true(w->m->todo.any);
	assert_int_equal(w->m->todo.routes_of, ETH0);

	r.leg[0].flags = 0; /* as the dump shows it */
	put(w, &r);
	assert_mac(w, "172.16.0.1", 2);
	memset(&w->m->todo, 0, sizeof(w->m->todo));
	link_is(w, l);
	assert_false(w->m->todo.any);
}

static void each_type_of_route_drops_or_punts_for_its_reason(void **state)
{
	static const struct {
		uint8_t type;
		enum sl_nexthop_kind kind;
		uint32_t ref;
	} cases[] = {
		{ RTN_BLACKHOLE, SL_NH_DROP, SL_DROP_BLACKHOLE },
		{ RTN_UNREACHABLE, SL_NH_PUNT, SL_PUNT_UNREACHABLE },
		{ RTN_PROHIBIT, SL_NH_PUNT, SL_PUNT_UNREACHABLE },
		{ RTN_THROW, SL_NH_PUNT, SL_PUNT_UNREACHABLE },
		{ RTN_LOCAL, SL_NH_PUNT, SL_PUNT_LOCAL },
		{ RTN_ANYCAST, SL_NH_PUNT, SL_PUNT_LOCAL },
		{ RTN_BROADCAST, SL_NH_PUNT, SL_PUNT_MULTICAST },
		{ RTN_MULTICAST, SL_NH_PUNT, SL_PUNT_MULTICAST },
		{ RTN_XRESOLVE, SL_NH_PUNT, SL_PUNT_POLICY },
	};
	struct world *w = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sl_rtnl_route r = route("172.16.0.0/24");
		r.type = cases[i].type;
		put(w, &r);
		const struct sl_nexthop *nh = &w->tables.nexthop[lookup(w, "172.16.0.1")];
		if (nh->kind != cases[i].kind || nh->ref != cases[i].ref)
			fail_msg("type %u: kind %u ref %u", cases[i].type, nh->kind, nh->ref);
		del(w, r);
	}
}

/* Where the destination alone does not decide, the kernel gets that prefix, and no other. */
static void routes_that_the_destination_does_not_decide_are_left_to_the_kernel(void **state)
{
	enum what { TOS, SOURCE, EXPIRES, TWO_EQUAL, IN_DEFAULT, BELOW_LOCAL, CASES };
	struct world *w = *state;

	for (int what = 0; what < CASES; what++) {
		const bool v6 = what == SOURCE || what == EXPIRES || what == TWO_EQUAL;
		const char *inside = v6 ? "2001:db8:0:1::1" : "172.16.1.1";
		struct sl_rtnl_route wide = add(w, v6 ? "2001:db8::/32" : "172.16.0.0/16",
						v6 ? "fd00::2" : "10.0.0.2", ETH0);
		struct sl_rtnl_route plain = add(w, v6 ? "2001:db8:0:1::/64" : "172.16.1.0/24",
						 v6 ? "fd01::2" : "10.1.0.2", ETH1);
		struct sl_rtnl_route odd = plain;
		if (what == TOS)
			odd.tos = 4;
		if (what == SOURCE)
			odd.src_len = 48;
		if (what == EXPIRES) {
			del(w, plain);
			odd.expires = true;
		}
		if (what == TWO_EQUAL)
			odd.leg[0].gateway_family = 0; /* on link beside a gateway */
		if (what == IN_DEFAULT) {
			del(w, plain);
			odd.table = RT_TABLE_DEFAULT;
		}
		if (what == BELOW_LOCAL) {
			odd = route("172.16.0.0/17");
			odd.table = RT_TABLE_LOCAL;
			odd.type = RTN_LOCAL;
		}
		odd.append = true;
		put(w, &odd);
		const struct sl_nexthop *nh = &w->tables.nexthop[lookup(w, inside)];
		if (nh->kind != SL_NH_PUNT || nh->ref != SL_PUNT_POLICY)
			fail_msg("case %d: kind %u ref %u", what, nh->kind, nh->ref);
		assert_mac(w, v6 ? "2001:db8:0:2::1" : "172.16.200.1", v6 ? 4 : 2);
		del(w, odd);
		if (what != EXPIRES && what != IN_DEFAULT)
			assert_mac(w, inside, v6 ? 5 : 3);
		del(w, plain);
		del(w, wide);
		assert_int_equal(lookup(w, inside), 0);
	}
}

static void routes_that_encapsulate_are_left_to_the_kernel(void **state)
{
	struct world *w = *state;
	struct sl_rtnl_route r = route("172.16.0.0/24");

	via(&r, "10.0.0.2", ETH0, 1);
	via(&r, "10.1.0.2", ETH1, 1);
	r.leg[1].encap = true;
	put(w, &r);
	assert_punt(w, "172.16.0.1", SL_PUNT_ENCAP);
	del(w, r);
	assert_int_equal(lookup(w, "172.16.0.1"), 0);
}

/* --- The order of equals, as events tell it --- */

static void ipv4_append_prepend_and_replace_stand_in_the_kernels_order(void **state)
{
	struct world *w = *state;
	struct sl_rtnl_route a = add(w, "172.16.0.0/24", "10.0.0.2", ETH0),
			     b = route("172.16.0.0/24"), c = b;

	via(&b, "10.1.0.2", ETH1, 1);
	b.append = true;
	put(w, &b);
	assert_mac(w, "172.16.0.1", 2); /* a, b */
	c.type = RTN_BLACKHOLE;
	c.replace = true;
	put(w, &c); /* c, b */
	assert_int_equal(w->tables.nexthop[lookup(w, "172.16.0.1")].kind, SL_NH_DROP);
	assert_int_equal(w->m->stats.routes4, 2);
	a.append = false;
	put(w, &a); /* a, c, b */
	assert_mac(w, "172.16.0.1", 2);
	del(w, a);
	del(w, c);
	assert_mac(w, "172.16.0.1", 3);
	del(w, b);
	assert_int_equal(w->m->stats.routes4, 0);
}

static void ipv6_multipath_comes_whole_and_goes_leg_by_leg(void **state)
{
	struct world *w = *state;
	struct sl_rtnl_route r = add(w, "2001:db8::/32", "fd00::2", ETH0), leg = r;

	assert_mac(w, "2001:db8::1", 4);
	/* After `append` of a second leg the event names both. */
	via(&r, "fd01::2", ETH1, 1);
	r.append = true;
	put(w, &r);
	assert_int_equal(w->m->stats.routes6, 1);
	assert_int_equal(buckets_of(w, "2001:db8::1", 4), SL_GROUP_BUCKETS / 2);
	del(w, leg);
	assert_mac(w, "2001:db8::1", 5);
	del(w, leg); /* the same event again */
	assert_mac(w, "2001:db8::1", 5);
	leg = route("2001:db8::/32");
	via(&leg, "fd01::2", ETH1, 1);
	del(w, leg);
	assert_int_equal(lookup(w, "2001:db8::1"), 0);
	assert_int_equal(w->m->stats.routes6, 0);
}

/* --- Multipath and objects --- */

static void weights_are_shares_and_a_dead_leg_gives_its_own_away(void **state)
{
	struct world *w = *state;
	struct sl_rtnl_link l = ethernet(ETH1);
	struct sl_rtnl_route r = route("172.16.0.0/24");
	uint64_t before;

	via(&r, "10.0.0.2", ETH0, 3);
	via(&r, "10.1.0.2", ETH1, 1);
	put(w, &r);
	assert_int_equal(buckets_of(w, "172.16.0.1", 2), 96);
	assert_int_equal(buckets_of(w, "172.16.0.1", 3), 32);
	before = prefix_operations(w);
	l.flags = 0;
	link_is(w, l);
	assert_int_equal(buckets_of(w, "172.16.0.1", 2), 128);
	link_is(w, ethernet(ETH1));
	assert_int_equal(buckets_of(w, "172.16.0.1", 3), 32);
	r.leg[0].flags = RTNH_F_DEAD; /* the kernel says so although the link is up */
	put(w, &r);
	assert_int_equal(buckets_of(w, "172.16.0.1", 3), 128);
	assert_int_equal(prefix_operations(w), before);
	assert_int_equal(w->m->stats.routes4, 1);
}

static void object(struct world *w, uint32_t id, const char *gateway, uint32_t ifindex)
{
	struct sl_rtnl_nexthop n;

	memset(&n, 0, sizeof(n));
	n.id = id;
	n.leg.ifindex = ifindex;
	n.leg.weight = 1;
	if (gateway)
		n.family = n.leg.gateway_family = address(gateway, n.leg.gateway);
	else
		n.blackhole = true;
	sl_nhobject_message(w->m, &n);
	sl_route_walk_changed(w->m, UINT32_MAX);
}

static void an_object_that_changes_touches_no_prefix(void **state)
{
	struct world *w = *state;
	struct sl_rtnl_nexthop gone;
	uint64_t before;
	char dst[32];

	for (int i = 0; i < 100; i++) {
		struct sl_rtnl_route r;
		snprintf(dst, sizeof(dst), "172.16.%d.0/24", i);
		r = route(dst);
		r.object = 7;
		put(w, &r);
	}
	assert_punt(w, "172.16.0.1", SL_PUNT_NOT_READY); /* its message is still to come */
	before = prefix_operations(w);
	object(w, 7, "10.0.0.2", ETH0);
	assert_mac(w, "172.16.99.1", 2);
	object(w, 7, "fd01::2", ETH1);
	assert_mac(w, "172.16.99.1", 5);
	object(w, 7, NULL, 0);
	assert_int_equal(w->tables.nexthop[lookup(w, "172.16.0.1")].kind, SL_NH_DROP);
	assert_int_equal(prefix_operations(w), before);
	/* With the object the kernel removes its routes, without a message. */
	memset(&gone, 0, sizeof(gone));
	gone.id = 7;
	gone.removed = true;
	sl_nhobject_message(w->m, &gone);
	assert_int_equal(lookup(w, "172.16.0.1"), 0);
	assert_int_equal(w->m->stats.routes4, 0);
}

static void a_group_object_follows_weights_loses_failed_members_and_goes_with_the_last(void **state)
{
	struct world *w = *state;
	struct sl_rtnl_link l = ethernet(ETH0);
	struct sl_rtnl_nexthop group;
	struct sl_rtnl_route r = route("172.16.0.0/24");

	object(w, 1, "10.0.0.2", ETH0);
	object(w, 2, "10.1.0.2", ETH1);
	memset(&group, 0, sizeof(group));
	group.id = 10;
	group.group = true;
	group.n_members = 2;
	group.member[0] = (struct sl_rtnl_member){ 1, 1 };
	group.member[1] = (struct sl_rtnl_member){ 2, 1 };
	sl_nhobject_message(w->m, &group);
	r.object = 10;
	put(w, &r);
	assert_int_equal(buckets_of(w, "172.16.0.1", 2), 64);
	group.member[1].weight = 3;
	sl_nhobject_message(w->m, &group);
	assert_int_equal(buckets_of(w, "172.16.0.1", 2), 32);
	l.flags = 0; /* the kernel removes the objects of the link */
	link_is(w, l);
	assert_int_equal(buckets_of(w, "172.16.0.1", 3), 128);
	assert_int_equal(w->m->stats.nexthop_objects, 2);
	l = ethernet(ETH1);
	l.flags = 0;
	link_is(w, l);
	assert_int_equal(w->m->stats.nexthop_objects, 0);
	assert_int_equal(w->m->stats.routes4, 0);
	assert_int_equal(lookup(w, "172.16.0.1"), 0);
}

/* --- Memory that runs out --- */

static struct {
	bool armed;
	uint32_t left; /* allocations until one fails */
	uint32_t failed;
} memory;

static bool fails(void)
{
	if (!memory.armed || memory.left-- > 0)
		return false;
	memory.armed = false;
	memory.failed++;
	return true;
}

/* Linked in place of the functions of libc: see tests/build.mk. */
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
	return fails() ? NULL : __real_realloc(p, size);
}

/* A kernel that answers nothing for longer than any time-out. */
static bool kernel_is_silent;
ssize_t __real_mnl_socket_recvfrom(const struct mnl_socket *nl, void *buffer, size_t bytes);
ssize_t __wrap_mnl_socket_recvfrom(const struct mnl_socket *nl, void *buffer, size_t bytes);
int __real_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms);

ssize_t __wrap_mnl_socket_recvfrom(const struct mnl_socket *nl, void *buffer, size_t bytes)
{
	if (!kernel_is_silent)
		return __real_mnl_socket_recvfrom(nl, buffer, bytes);
	errno = EAGAIN;
	return -1;
}

int __wrap_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	return kernel_is_silent ? 0 : __real_poll(fds, n, timeout_ms);
}

static void a_kernel_that_does_not_answer_is_asked_again(void **state)
{
	struct world *w = *state;
	uint64_t resyncs;

	sl_mirror_close(w->m);
	assert_int_equal(sl_mirror_open(w->fib, &ops, w, &w->m), 0);
	assert_int_equal(sl_mirror_poll(w->m), 0); /* what is due first of all */
	w->m->todo.any = w->m->todo.everything = true;
	resyncs = w->m->stats.resyncs;
	kernel_is_silent = true;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(sl_mirror_poll(w->m), 0);
		assert_true(w->m->todo.any);
		assert_true(w->m->todo.everything);
	}
	kernel_is_silent = false;
	assert_true(w->m->stats.resyncs > resyncs);
	assert_int_equal(sl_mirror_poll(w->m), 0);
	assert_false(w->m->todo.any);
}

/* All kinds of state: a dump says the same again. */
static void feed(struct world *w, bool dump)
{
	struct sl_rtnl_addr own = { .ifindex = TUN, .family = AF_INET, .len = 24 };
	struct sl_rtnl_nexthop group = { .id = 10, .group = true, .n_members = 2 };
	struct sl_rtnl_route r;
	char text[32];

	w->m->dumping = w->m->dumping_all = dump;
	neighbour(w, ETH0, "10.0.0.7", NUD_REACHABLE, 7);
	neighbour(w, ETH1, "fd01::8", NUD_REACHABLE, 8);
	for (uint8_t i = 0; i < 70; i++) { /* more than the first room for hosts */
		snprintf(text, sizeof(text), "10.0.0.%u", 100 + i);
		neighbour(w, ETH0, text, NUD_REACHABLE, 100 + i);
	}
	address("10.9.0.1", own.local);
	sl_address_message(w->m, &own);
	object(w, 1, "10.0.0.2", ETH0);
	object(w, 2, "10.1.0.2", ETH1);
	group.member[0] = (struct sl_rtnl_member){ 1, 1 };
	group.member[1] = (struct sl_rtnl_member){ 2, 1 };
	sl_nhobject_message(w->m, &group);
	r = route("172.16.0.0/12"); /* where packets go if a longer prefix is missing */
	via(&r, "10.1.0.2", ETH1, 1);
	put(w, &r);
	r = route("10.0.0.0/24");
	via(&r, NULL, ETH0, 1);
	put(w, &r);
	r = route("127.64.0.0/16");
	r.table = RT_TABLE_LOCAL;
	r.type = RTN_LOCAL;
	via(&r, NULL, TUN, 1);
	put(w, &r);
	r = route("127.64.1.0/24"); /* local hides it */
	via(&r, "10.0.0.2", ETH0, 1);
	put(w, &r);
	r = route("172.20.0.0/16");
	r.object = 10;
	put(w, &r);
	r = route("172.21.0.0/16");
	via(&r, "10.0.0.2", ETH0, 1);
	via(&r, "10.1.0.2", ETH1, 1);
	put(w, &r);
	for (int i = 0; i < 40; i++) {
		snprintf(text, sizeof(text), "2001:db8:%x::/48", i);
		r = route(text);
		via(&r, i % 2 ? "fd00::2" : "fd01::8", i % 2 ? ETH0 : ETH1, 1);
		put(w, &r);
	}
	w->m->dumping = w->m->dumping_all = false;
}

/* What becomes of packets to a few addresses, in numbers that any two worlds can compare. */
static uint32_t fates(const struct world *w)
{
	static const char *const to[] = { "10.0.0.2",	    "10.0.0.7",	     "10.0.0.100",
					  "10.0.0.164",	    "10.0.0.169",    "127.64.0.1",
					  "127.64.1.1",	    "172.20.0.1",    "172.21.0.1",
					  "172.22.0.1",	    "2001:db8::1",   "2001:db8:1::1",
					  "2001:db8:26::1", "2001:db8:27::1" };
	uint32_t hash = 0;

	for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++) {
		const struct sl_nexthop *nh = &w->tables.nexthop[lookup(w, to[i])];
		uint32_t fate[2] = { nh->kind, nh->ref };
		if (nh->kind == SL_NH_FORWARD)
			fate[1] = forward(w, lookup(w, to[i]))->dst_mac[5];
		else if (nh->kind == SL_NH_GROUP)
			fate[1] = buckets_of(w, to[i], 2);
		hash = sl_hash(fate, sizeof(fate), hash);
	}
	return hash;
}

/*
 * Each allocation fails once. Either no packet goes another way for it, or the kernel gets all of
 * them until another dump has found room.
 */
static void without_memory_the_kernel_forwards_until_there_is_some(void **state)
{
	struct world *w = *state;
	uint32_t whole, starved = 0, number;

	feed(w, false);
	whole = fates(w);
	assert_false(w->m->stats.starved);
	for (number = 0;; number++) {
		void *other;
		struct world *small;
		open_world(&other);
		small = other;
		memory.armed = true;
		memory.left = number;
		memory.failed = 0;
		feed(small, false);
		memory.armed = false;
		if (small->m->stats.starved) {
			sl_link_update_all(small->m);
			assert_int_equal(small->port[ETH0].flags & (SL_PORT_PUNT4 | SL_PORT_PUNT6),
					 SL_PORT_PUNT4 | SL_PORT_PUNT6);
			starved++;
		} else if (fates(small) != whole) {
			fail_msg("allocation %u was missed", number);
		}
		feed(small, true);
		sl_route_again(small->m);
		if (fates(small) != whole)
			fail_msg("after allocation %u failed, a dump did not repair it", number);
		close_world(&other);
		if (!memory.failed)
			break;
	}
	assert_true(starved > 50);
}

/* --- Resync, overflow --- */

static void a_dump_after_lost_events_changes_only_what_differs(void **state)
{
	struct world *w = *state;
	struct sl_rtnl_route kept[50], changed, added, r;
	uint64_t before;
	char dst[32];

	for (int i = 0; i < 50; i++) {
		snprintf(dst, sizeof(dst), "172.16.%d.0/24", i);
		kept[i] = add(w, dst, "10.0.0.2", ETH0);
	}
	r = add(w, "172.17.0.0/24", "10.0.0.2", ETH0); /* will be gone */
	changed = add(w, "172.18.0.0/24", "10.0.0.2", ETH0);
	changed.n_legs = 0;
	via(&changed, "10.1.0.2", ETH1, 1);
	added = route("172.19.0.0/24");
	via(&added, "10.1.0.2", ETH1, 1);
	before = prefix_operations(w);
	sl_route_clear_seen(&w->m->rib4);
	w->m->dumping = w->m->dumping_all = true;
	for (int i = 0; i < 50; i++)
		put(w, &kept[i]);
	put(w, &changed);
	put(w, &added);
	w->m->dumping = w->m->dumping_all = false;
	assert_mac(w, "172.17.0.1", 2); /* no route goes before the dump is complete */
	sl_route_sweep(w->m, &w->m->rib4, 0);
	assert_int_equal(prefix_operations(w), before + 3);
	assert_int_equal(lookup(w, "172.17.0.1"), 0);
	assert_mac(w, "172.18.0.1", 3);
	assert_mac(w, "172.19.0.1", 3);
	assert_int_equal(w->m->stats.routes4, 52);
	(void)r;
}

/* The event that follows shows no change, so only the dump can cause it. */
static void a_dump_of_links_that_shows_a_change_has_the_routes_dumped_again(void **state)
{
	struct world *w = *state;
	struct sl_rtnl_link l = ethernet(ETH0);

	add(w, "172.16.0.0/24", "10.0.0.2", ETH0);
	l.flags = 0;
	link_is(w, l);
	memset(&w->m->todo, 0, sizeof(w->m->todo));
	w->m->dumping = w->m->dumping_all = true;
	link_is(w, ethernet(ETH0));
	w->m->dumping = w->m->dumping_all = false;
	assert_true(w->m->todo.any);
	assert_int_equal(w->m->todo.routes_of, ETH0);
}

/*
 * A link's carrier comes back, and a routing daemon replaces unreachable routes by routes through
 * that link. The mirror dumps the link's routes before it reads the messages of these changes.
 */
static void a_route_that_replaced_another_stands_alone_after_a_dump_of_its_link(void **state)
{
	struct world *w = *state;
	const char *const prefix[2] = { "172.16.0.0/24", "2001:db8:8::/48" };
	const char *const gateway[2] = { "10.0.0.2", "fd00::2" };
	const char *const inside[2] = { "172.16.0.1", "2001:db8:8::1" };

	neighbour(w, ETH0, "fd00::2", NUD_REACHABLE, 2);
	for (int i = 0; i < 2; i++) {
		struct sl_rtnl_route none = route(prefix[i]), found = route(prefix[i]);
		struct sl_rib *rib = i ? &w->m->rib6 : &w->m->rib4;
		const uint64_t *routes = i ? &w->m->stats.routes6 : &w->m->stats.routes4;
		uint64_t before = *routes;

		none.type = RTN_UNREACHABLE;
		put(w, &none);
		via(&found, gateway[i], ETH0, 1);
		sl_route_clear_seen(rib);
		w->m->dumping = true;
		w->m->dumping_of = ETH0;
		put(w, &found);
		w->m->dumping = false;
		w->m->dumping_of = 0;
		sl_route_sweep(w->m, rib, ETH0);
		found.replace = true;
		put(w, &found);
		assert_int_equal(*routes, before + 1);
		assert_mac(w, inside[i], 2);
	}
}

/* A dump of everything may list both: the prefix was unreachable when it began. */
static void two_ipv6_routes_that_may_be_one_replaced_are_dumped_again(void **state)
{
	struct world *w = *state;
	struct sl_rtnl_route none = route("2001:db8:8::/48"), found = none;

	none.type = RTN_UNREACHABLE;
	via(&found, "fd00::2", ETH0, 1);
	w->m->dumping = w->m->dumping_all = true;
	put(w, &none);
	put(w, &found);
	w->m->dumping = w->m->dumping_all = false;
	memset(&w->m->todo, 0, sizeof(w->m->todo));
	put(w, &found); /* an event older than the dump: it replaced nothing */
	assert_false(w->m->todo.any);
	found.replace = true;
	put(w, &found);
	assert_true(w->m->todo.any && w->m->todo.routes6);
}

static uint64_t clock_ns = 1;

static int test_wait(void)
{
	return -ENOSYS;
}

static uint64_t test_clock(void)
{
	return clock_ns;
}

static void without_room_for_next_hops_the_kernel_forwards_until_there_is_some(void **state)
{
	struct world *w = *state;
	static struct sl_rtnl_route r[N_NEXTHOP];
	char dst[32], gateway[32];

	sl_fib_set_clock(w->fib, test_clock, test_wait);
	for (int i = 0; i < N_NEXTHOP; i++) {
		snprintf(dst, sizeof(dst), "172.%d.%d.0/24", 16 + i / 256, i % 256);
		snprintf(gateway, sizeof(gateway), "10.0.%d.%d", 1 + i / 250, 1 + i % 250);
		neighbour(w, ETH0, gateway, NUD_REACHABLE, 9);
		r[i] = add(w, dst, gateway, ETH0);
	}
	assert_mac(w, "172.16.0.1", 9);
	assert_punt(w, "172.17.144.1", SL_PUNT_OVERFLOW); /* it has an id, but no adjacency */
	assert_punt(w, "172.17.255.1", SL_PUNT_OVERFLOW); /* nor that */
	assert_true(w->m->retry);
	for (int i = 0; i < N_NEXTHOP / 2; i++)
		del(w, r[i]);
	assert_punt(w, "172.17.255.1", SL_PUNT_OVERFLOW);
	clock_ns += 2 * SL_GRACE_NS;
	sl_hop_retry(w->m);
	sl_path_retry(w->m);
	sl_route_walk_changed(w->m, UINT32_MAX);
	assert_mac(w, "172.17.144.1", 9);
	assert_mac(w, "172.17.255.1", 9);
}

/*
 * A poll rewrites a part of the prefixes, and the timer makes the mirror readable for the rest.
 * This mirror also reads the kernel of the machine, which does not matter to addresses for
 * benchmarks.
 */
static void long_work_goes_on_by_the_timer_until_it_is_done(void **state)
{
	enum { MANY = 6144 };
	struct pollfd readable = { .events = POLLIN };
	struct world *w = *state;
	int polls = 0;
	char dst[32];

	sl_mirror_close(w->m);
	assert_int_equal(sl_mirror_open(w->fib, &ops, w, &w->m), 0);
	assert_int_equal(sl_mirror_poll(w->m), 0); /* what is due first of all */
	link_is(w, ethernet(ETH1));
	neighbour(w, ETH1, "10.1.0.2", NUD_PERMANENT, 3);
	for (int i = 0; i < MANY; i++) {
		snprintf(dst, sizeof(dst), "198.18.%d.%d/28", i / 16, i % 16 * 16);
		if (i >= 256 * 16)
			snprintf(dst, sizeof(dst), "198.19.%d.%d/28", i / 16 - 256, i % 16 * 16);
		add(w, dst, "10.1.0.2", ETH1);
	}
	assert_mac(w, "198.18.0.1", 3);
	assert_mac(w, "198.19.127.241", 3);
	cut_is(w, ETH1);
	readable.fd = sl_mirror_fd(w->m);
	for (; sl_route_walk_pending(w->m); polls++) {
		assert_int_equal(poll(&readable, 1, DEADLINE_S * 1000), 1);
		sl_mirror_poll(w->m);
	}
	assert_in_range(polls, 2, MANY);
	assert_int_not_equal(w->tables.nexthop[lookup(w, "198.18.0.1")].kind, SL_NH_FORWARD);
	assert_int_not_equal(w->tables.nexthop[lookup(w, "198.19.127.241")].kind, SL_NH_FORWARD);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(many_routes_by_one_gateway_share_its_next_hop),
		TEST(a_neighbour_that_changes_touches_no_prefix),
		TEST(each_usable_state_of_a_neighbour_forwards),
		TEST(mtu_is_the_smaller_of_link_and_route),
		TEST(routes_through_no_port_are_left_to_the_kernel),
		TEST(vlan_in_vlan_writes_the_outer_tag_first),
		TEST(vlan_that_is_a_port_has_frames_without_its_tag),
		TEST(packets_of_a_veth_may_lack_checksums_also_in_a_vlan),
		TEST(vlan_that_is_down_is_no_entrance),
		TEST(vlans_that_xdp_cannot_write_are_left_to_the_kernel),
		TEST(port_flags_follow_settings_rules_and_masters),
		TEST(neighbours_on_link_become_host_routes),
		TEST(an_on_link_host_route_leads_to_its_neighbour),
		TEST(lowest_metric_wins_and_the_next_takes_over),
		TEST(metrics_are_compared_in_all_their_bits),
		TEST(a_route_without_a_live_leg_is_as_good_as_absent),
		TEST(a_carrier_lost_for_a_moment_leaves_no_leg_dead),
		TEST(routes_leave_a_cut_port_at_once_however_many_they_are),
		TEST(carrier_that_goes_and_comes_back_dumps_no_route_again),
		TEST(each_type_of_route_drops_or_punts_for_its_reason),
		TEST(routes_that_the_destination_does_not_decide_are_left_to_the_kernel),
		TEST(routes_that_encapsulate_are_left_to_the_kernel),
		TEST(ipv4_append_prepend_and_replace_stand_in_the_kernels_order),
		TEST(ipv6_multipath_comes_whole_and_goes_leg_by_leg),
		TEST(weights_are_shares_and_a_dead_leg_gives_its_own_away),
		TEST(an_object_that_changes_touches_no_prefix),
		TEST(a_group_object_follows_weights_loses_failed_members_and_goes_with_the_last),
		TEST(a_dump_after_lost_events_changes_only_what_differs),
		TEST(a_route_that_replaced_another_stands_alone_after_a_dump_of_its_link),
		TEST(two_ipv6_routes_that_may_be_one_replaced_are_dumped_again),
		TEST(a_dump_of_links_that_shows_a_change_has_the_routes_dumped_again),
		TEST(long_work_goes_on_by_the_timer_until_it_is_done),
		TEST(a_kernel_that_does_not_answer_is_asked_again),
		TEST(without_memory_the_kernel_forwards_until_there_is_some),
		TEST(without_room_for_next_hops_the_kernel_forwards_until_there_is_some),
	};
	return cmocka_run_group_tests_name("mirror", tests, NULL, NULL);
}
