/* SPDX-License-Identifier: BSD-2-Clause */
/* rtnl.h: messages built by libmnl, as the kernel lays them out; and every way to cut one short. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <net/if.h>
#include <libmnl/libmnl.h>
#include <linux/fib_rules.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/lwtunnel.h>
#include <linux/neighbour.h>
#include <linux/netconf.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>

#include "bpf/lib/endian.bpf.h"
#include "user/rtnl/rtnl.h"

static uint8_t buffer[8192];
static struct nlmsghdr *nlh;

static void *begin(uint16_t type, size_t head_bytes)
{
	memset(buffer, 0, sizeof(buffer));
	nlh = mnl_nlmsg_put_header(buffer);
	nlh->nlmsg_type = type;
	return mnl_nlmsg_put_extra_header(nlh, head_bytes);
}

static void put_addr(uint16_t type, const char *text)
{
	uint8_t addr[16];
	const int family = strchr(text, ':') ? AF_INET6 : AF_INET;

	assert_int_equal(inet_pton(family, text, addr), 1);
	mnl_attr_put(nlh, type, family == AF_INET ? 4 : 16, addr);
}

static void assert_addr(const uint8_t *addr, const char *text)
{
	uint8_t expected[16] = { 0 };

	assert_int_equal(inet_pton(strchr(text, ':') ? AF_INET6 : AF_INET, text, expected), 1);
	assert_memory_equal(addr, expected, 16);
}

static struct rtmsg *begin_route(uint16_t type, uint8_t family, const char *dst, uint8_t len)
{
	struct rtmsg *head = begin(type, sizeof(*head));

	head->rtm_family = family;
	head->rtm_dst_len = len;
	head->rtm_table = RT_TABLE_MAIN;
	head->rtm_type = RTN_UNICAST;
	head->rtm_protocol = RTPROT_BIRD;
	put_addr(RTA_DST, dst);
	return head;
}

static void put_leg(uint32_t ifindex, uint8_t hops, uint8_t flags, uint16_t attr, const void *data,
		    size_t len)
{
	struct rtnexthop *leg = mnl_nlmsg_get_payload_tail(nlh);
	const uint32_t before = nlh->nlmsg_len;

	nlh->nlmsg_len += sizeof(*leg);
	*leg = (struct rtnexthop){ .rtnh_ifindex = (int)ifindex,
				   .rtnh_hops = hops,
				   .rtnh_flags = flags };
	if (attr)
		mnl_attr_put(nlh, attr, len, data);
	leg->rtnh_len = (uint16_t)(nlh->nlmsg_len - before);
}

/* --- Routes --- */

static void route_with_gateway_is_one_leg(void **state)
{
	static struct sl_rtnl_route r;
	(void)state;

	begin_route(RTM_NEWROUTE, AF_INET, "192.0.2.0", 24)->rtm_flags = RTNH_F_ONLINK;
	nlh->nlmsg_flags = NLM_F_REPLACE;
	mnl_attr_put_u32(nlh, RTA_TABLE, 1000);
	mnl_attr_put_u32(nlh, RTA_PRIORITY, 77);
	mnl_attr_put_u32(nlh, RTA_OIF, 5);
	put_addr(RTA_GATEWAY, "10.0.0.2");
	put_addr(RTA_PREFSRC, "10.0.0.1");
	assert_int_equal(sl_rtnl_parse_route(nlh, &r), 0);
	assert_false(r.removed);
	assert_true(r.replace);
	assert_false(r.append);
	assert_int_equal(r.dst.family, AF_INET);
	assert_int_equal(r.dst.len, 24);
	assert_addr(r.dst.addr, "192.0.2.0");
	assert_int_equal(r.table, 1000);
	assert_int_equal(r.metric, 77);
	assert_int_equal(r.protocol, RTPROT_BIRD);
	assert_int_equal(r.n_legs, 1);
	assert_int_equal(r.leg[0].ifindex, 5);
	assert_int_equal(r.leg[0].weight, 1);
	assert_int_equal(r.leg[0].gateway_family, AF_INET);
	assert_int_equal(r.leg[0].flags, RTNH_F_ONLINK);
	assert_addr(r.leg[0].gateway, "10.0.0.2");
	assert_true(r.has_prefsrc);
	assert_addr(r.prefsrc, "10.0.0.1");
}

static void route_via_ipv6_keeps_the_family_of_its_gateway(void **state)
{
	static struct sl_rtnl_route r;
	uint8_t via[18] = { AF_INET6 };
	(void)state;

	inet_pton(AF_INET6, "fe80::1", via + 2);
	begin_route(RTM_DELROUTE, AF_INET, "198.51.100.0", 24);
	mnl_attr_put_u32(nlh, RTA_OIF, 3);
	mnl_attr_put(nlh, RTA_VIA, sizeof(via), via);
	assert_int_equal(sl_rtnl_parse_route(nlh, &r), 0);
	assert_true(r.removed);
	assert_int_equal(r.leg[0].gateway_family, AF_INET6);
	assert_addr(r.leg[0].gateway, "fe80::1");
}

static void multipath_route_has_weights_flags_and_encapsulations(void **state)
{
	static struct sl_rtnl_route r;
	const uint8_t gateway[4] = { 10, 0, 0, 2 };
	const uint16_t mpls = LWTUNNEL_ENCAP_MPLS;
	struct nlattr *nest;
	(void)state;

	begin_route(RTM_NEWROUTE, AF_INET, "203.0.113.0", 24);
	nest = mnl_attr_nest_start(nlh, RTA_MULTIPATH);
	put_leg(3, 2, RTNH_F_DEAD, RTA_GATEWAY, gateway, 4);
	put_leg(4, 0, 0, 0, NULL, 0);
	put_leg(5, 255, 0, RTA_ENCAP_TYPE, &mpls, 2);
	mnl_attr_nest_end(nlh, nest);
	assert_int_equal(sl_rtnl_parse_route(nlh, &r), 0);
	assert_int_equal(r.n_legs, 3);
	assert_int_equal(r.leg[0].weight, 3);
	assert_int_equal(r.leg[0].flags, RTNH_F_DEAD);
	assert_int_equal(r.leg[1].ifindex, 4);
	assert_int_equal(r.leg[1].gateway_family, 0);
	assert_int_equal(r.leg[2].weight, 256);
	assert_false(r.leg[1].encap);
	assert_true(r.leg[2].encap);
}

static void more_legs_than_a_group_has_buckets_set_too_many_legs(void **state)
{
	static struct sl_rtnl_route r;
	struct nlattr *nest;
	(void)state;

	begin_route(RTM_NEWROUTE, AF_INET, "203.0.113.0", 24);
	nest = mnl_attr_nest_start(nlh, RTA_MULTIPATH);
	for (uint32_t i = 0; i <= SL_RTNL_LEGS_MAX; i++)
		put_leg(3 + i, 0, 0, 0, NULL, 0);
	mnl_attr_nest_end(nlh, nest);
	assert_int_equal(sl_rtnl_parse_route(nlh, &r), 0);
	assert_int_equal(r.n_legs, SL_RTNL_LEGS_MAX);
	assert_true(r.too_many_legs);
}

static void route_metrics_distinguish_routes(void **state)
{
	static struct sl_rtnl_route r;
	struct nlattr *nest;
	uint32_t plain;
	(void)state;

	begin_route(RTM_NEWROUTE, AF_INET6, "2001:db8::", 32);
	assert_int_equal(sl_rtnl_parse_route(nlh, &r), 0);
	plain = r.other;
	begin_route(RTM_NEWROUTE, AF_INET6, "2001:db8::", 32);
	nest = mnl_attr_nest_start(nlh, RTA_METRICS);
	mnl_attr_put_u32(nlh, RTAX_MTU, 1400);
	mnl_attr_nest_end(nlh, nest);
	assert_int_equal(sl_rtnl_parse_route(nlh, &r), 0);
	assert_int_equal(r.mtu_bytes, 1400);
	assert_int_not_equal(r.other, plain);
}

struct refusal {
	const char *name;
	uint8_t family, len;
	const char *dst;
	uint16_t attr;
	uint32_t attr_bytes;
	int expected;
};

static void routes_that_make_no_sense_are_refused(void **state)
{
	static const struct refusal cases[] = {
		{ "IPv4 prefix of 33 bits", AF_INET, 33, "10.0.0.0", 0, 0, -EPROTO },
		{ "IPv6 prefix of 129 bits", AF_INET6, 129, "2001:db8::", 0, 0, -EPROTO },
		{ "host bits", AF_INET, 24, "10.0.0.1", 0, 0, -EPROTO },
		{ "host bits within a byte", AF_INET, 22, "10.0.1.0", 0, 0, -EPROTO },
		{ "gateway of 5 bytes", AF_INET, 24, "10.0.0.0", RTA_GATEWAY, 5, -EPROTO },
		{ "IPv4 gateway of an IPv6 route", AF_INET6, 32, "2001:db8::", RTA_GATEWAY, 4,
		  -EPROTO },
		{ "via without a family", AF_INET, 24, "10.0.0.0", RTA_VIA, 1, -EPROTO },
		{ "metric of 2 bytes", AF_INET, 24, "10.0.0.0", RTA_PRIORITY, 2, -EPROTO },
		{ "multipath without legs", AF_INET, 24, "10.0.0.0", RTA_MULTIPATH, 0, -EPROTO },
		{ "leg longer than all", AF_INET, 24, "10.0.0.0", RTA_MULTIPATH, 7, -EPROTO },
		{ "address of another family", AF_INET, 24, "2001:db8::", 0, 0, -EPROTO },
		{ "MPLS", 28, 20, "10.0.0.0", 0, 0, -ENOTSUP },
	};
	static struct sl_rtnl_route r;
	static const uint8_t zeros[16];
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin_route(RTM_NEWROUTE, cases[i].family, cases[i].dst, cases[i].len);
		if (cases[i].attr)
			mnl_attr_put(nlh, cases[i].attr, cases[i].attr_bytes, zeros);
		if (sl_rtnl_parse_route(nlh, &r) != cases[i].expected)
			fail_msg("%s", cases[i].name);
	}
	begin_route(RTM_NEWROUTE, AF_INET6, "2001:db8::", 32)->rtm_flags = RTM_F_CLONED;
	assert_int_equal(sl_rtnl_parse_route(nlh, &r), -ENOTSUP);
}

/* --- Links, neighbours, objects, rules, settings --- */

static void begin_vlan(void)
{
	static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 9 };
	struct ifinfomsg *head = begin(RTM_NEWLINK, sizeof(*head));
	struct nlattr *info, *data;

	head->ifi_index = 7;
	head->ifi_type = ARPHRD_ETHER;
	head->ifi_flags = IFF_UP;
	mnl_attr_put_strz(nlh, IFLA_IFNAME, "eth0.5");
	mnl_attr_put_u32(nlh, IFLA_MTU, 1496);
	mnl_attr_put_u32(nlh, IFLA_LINK, 3);
	mnl_attr_put(nlh, IFLA_ADDRESS, 6, mac);
	info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	mnl_attr_put_strz(nlh, IFLA_INFO_KIND, "vlan");
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	mnl_attr_put_u16(nlh, IFLA_VLAN_ID, 5);
	mnl_attr_put_u16(nlh, IFLA_VLAN_PROTOCOL, htons(ETH_P_8021AD));
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, info);
}

static void vlan_link_has_parent_and_tag(void **state)
{
	struct sl_rtnl_link l;
	(void)state;

	begin_vlan();
	assert_int_equal(sl_rtnl_parse_link(nlh, &l), 0);
	assert_int_equal(l.ifindex, 7);
	assert_string_equal(l.name, "eth0.5");
	assert_true(l.is_vlan);
	assert_int_equal(l.parent, 3);
	assert_int_equal(l.vlan_id, 5);
	assert_true(l.vlan_tpid == sl_htons(ETH_P_8021AD));
	assert_int_equal(l.mtu_bytes, 1496);
	assert_int_equal(l.mac_bytes, 6);
	assert_int_equal(l.mac[5], 9);
	assert_false(l.parent_elsewhere);
	mnl_attr_put_u32(nlh, IFLA_LINK_NETNSID, 0);
	assert_int_equal(sl_rtnl_parse_link(nlh, &l), 0);
	assert_true(l.parent_elsewhere);
}

static void link_of_a_bridge_port_is_not_followed(void **state)
{
	struct sl_rtnl_link l;
	struct ifinfomsg *head = begin(RTM_DELLINK, sizeof(*head));
	(void)state;

	head->ifi_family = AF_BRIDGE;
	head->ifi_index = 7;
	assert_int_equal(sl_rtnl_parse_link(nlh, &l), -ENOTSUP);
}

static void neighbour_has_state_and_mac(void **state)
{
	static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 1 };
	struct sl_rtnl_neigh n;
	struct ndmsg *head = begin(RTM_NEWNEIGH, sizeof(*head));
	(void)state;

	head->ndm_family = AF_INET6;
	head->ndm_ifindex = 4;
	head->ndm_state = NUD_STALE;
	put_addr(NDA_DST, "fe80::2");
	mnl_attr_put(nlh, NDA_LLADDR, 6, mac);
	assert_int_equal(sl_rtnl_parse_neigh(nlh, &n), 0);
	assert_int_equal(n.ifindex, 4);
	assert_int_equal(n.state, NUD_STALE);
	assert_addr(n.addr, "fe80::2");
	assert_memory_equal(n.mac, mac, 6);
	assert_false(n.managed);
	mnl_attr_put_u32(nlh, NDA_FLAGS_EXT, NTF_EXT_MANAGED);
	assert_int_equal(sl_rtnl_parse_neigh(nlh, &n), 0);
	assert_true(n.managed);
	head->ndm_flags = NTF_PROXY;
	assert_int_equal(sl_rtnl_parse_neigh(nlh, &n), -ENOTSUP);
	head->ndm_flags = 0;
	head->ndm_family = AF_BRIDGE;
	assert_int_equal(sl_rtnl_parse_neigh(nlh, &n), -ENOTSUP);
}

static void address_is_the_local_one_of_a_pair(void **state)
{
	struct sl_rtnl_addr a;
	struct ifaddrmsg *head = begin(RTM_DELADDR, sizeof(*head));
	(void)state;

	head->ifa_family = AF_INET;
	head->ifa_prefixlen = 32;
	head->ifa_index = 4;
	put_addr(IFA_ADDRESS, "10.0.0.2");
	put_addr(IFA_LOCAL, "10.0.0.1");
	assert_int_equal(sl_rtnl_parse_addr(nlh, &a), 0);
	assert_true(a.removed);
	assert_addr(a.local, "10.0.0.1");
	assert_true(a.has_peer);
	assert_addr(a.peer, "10.0.0.2");
	assert_false(a.no_prefix_route);
}

static void address_alone_has_no_peer_and_may_have_no_route(void **state)
{
	struct sl_rtnl_addr a;
	struct ifaddrmsg *head = begin(RTM_NEWADDR, sizeof(*head));
	(void)state;

	head->ifa_family = AF_INET;
	head->ifa_prefixlen = 24;
	head->ifa_index = 4;
	put_addr(IFA_ADDRESS, "10.0.0.1"); /* the kernel gives both */
	put_addr(IFA_LOCAL, "10.0.0.1");
	mnl_attr_put_u32(nlh, IFA_FLAGS, IFA_F_NOPREFIXROUTE);
	assert_int_equal(sl_rtnl_parse_addr(nlh, &a), 0);
	assert_addr(a.local, "10.0.0.1");
	assert_false(a.has_peer);
	assert_true(a.no_prefix_route);
}

static void group_object_has_members_with_16_bit_weights(void **state)
{
	static struct sl_rtnl_nexthop n;
	const uint8_t group[16] = { 1, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, 0xff, 1, 0, 0 };
	struct nhmsg *head = begin(RTM_NEWNEXTHOP, sizeof(*head));
	(void)state;

	head->nh_family = AF_UNSPEC;
	mnl_attr_put_u32(nlh, NHA_ID, 9);
	mnl_attr_put(nlh, NHA_GROUP, sizeof(group), group);
	assert_int_equal(sl_rtnl_parse_nexthop(nlh, &n), 0);
	assert_int_equal(n.id, 9);
	assert_true(n.group);
	assert_int_equal(n.n_members, 2);
	assert_int_equal(n.member[0].object, 1);
	assert_int_equal(n.member[0].weight, 5);
	assert_int_equal(n.member[1].weight, 512);
	mnl_attr_put(nlh, NHA_GROUP, 7, group);
	assert_int_equal(sl_rtnl_parse_nexthop(nlh, &n), -EPROTO);
}

static void rule_with_any_condition_is_not_plain(void **state)
{
	static const struct {
		const char *name;
		uint16_t attr;
		uint32_t value;
		bool plain;
	} cases[] = {
		{ "priority", FRA_PRIORITY, 32766, true },
		{ "protocol", FRA_PROTOCOL, 2, true },
		{ "nothing suppressed", FRA_SUPPRESS_PREFIXLEN, UINT32_MAX, true },
		{ "default routes suppressed", FRA_SUPPRESS_PREFIXLEN, 0, false },
		{ "VRFs", FRA_L3MDEV, 1, true },
		{ "mark", FRA_FWMARK, 1, false },
		{ "an attribute of tomorrow", 60, 1, false },
	};
	struct sl_rtnl_rule r;
	(void)state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fib_rule_hdr *head = begin(RTM_NEWRULE, sizeof(*head));
		head->family = AF_INET;
		head->table = RT_TABLE_MAIN;
		head->action = FR_ACT_TO_TBL;
		mnl_attr_put_u32(nlh, cases[i].attr, cases[i].value);
		assert_int_equal(sl_rtnl_parse_rule(nlh, &r), 0);
		assert_int_equal(r.table, RT_TABLE_MAIN);
		if (r.plain != cases[i].plain || r.l3mdev != (cases[i].attr == FRA_L3MDEV))
			fail_msg("%s", cases[i].name);
	}
}

static void settings_missing_from_a_message_are_minus_one(void **state)
{
	struct sl_rtnl_netconf c;
	struct netconfmsg *head = begin(RTM_NEWNETCONF, sizeof(*head));
	(void)state;

	head->ncm_family = AF_INET;
	mnl_attr_put_u32(nlh, NETCONFA_IFINDEX, (uint32_t)NETCONFA_IFINDEX_ALL);
	mnl_attr_put_u32(nlh, NETCONFA_RP_FILTER, 2);
	assert_int_equal(sl_rtnl_parse_netconf(nlh, &c), 0);
	assert_int_equal(c.ifindex, NETCONFA_IFINDEX_ALL);
	assert_int_equal(c.rp_filter, 2);
	assert_int_equal(c.forwarding, -1);
}

/* --- Cut short --- */

/*
 * Each message, cut at each length, in memory that ends there: the parser refuses or understands
 * it, and never reads beyond its end.
 */
static void no_message_is_read_beyond_its_end(void **state)
{
	static struct sl_rtnl_route route;
	static struct sl_rtnl_nexthop nexthop;
	struct sl_rtnl_link link;
	uint32_t refused = 0;
	(void)state;

	for (int kind = 0; kind < 3; kind++) {
		const uint8_t gateway[4] = { 10, 0, 0, 2 };
		if (kind == 0) {
			begin_vlan();
		} else if (kind == 1) {
			struct nlattr *nest;
			begin_route(RTM_NEWROUTE, AF_INET, "203.0.113.0", 24);
			nest = mnl_attr_nest_start(nlh, RTA_MULTIPATH);
			put_leg(3, 2, 0, RTA_GATEWAY, gateway, 4);
			put_leg(4, 2, 0, RTA_GATEWAY, gateway, 4);
			mnl_attr_nest_end(nlh, nest);
		} else {
			struct nhmsg *head = begin(RTM_NEWNEXTHOP, sizeof(*head));
			head->nh_family = AF_INET;
			mnl_attr_put_u32(nlh, NHA_ID, 9);
			mnl_attr_put(nlh, NHA_GATEWAY, 4, gateway);
		}
		for (uint32_t len = NLMSG_HDRLEN; len < nlh->nlmsg_len; len++) {
			struct nlmsghdr *cut = malloc(len);
			assert_non_null(cut);
			memcpy(cut, nlh, len);
			cut->nlmsg_len = len;
			const int err = kind == 0   ? sl_rtnl_parse_link(cut, &link)
					: kind == 1 ? sl_rtnl_parse_route(cut, &route)
						    : sl_rtnl_parse_nexthop(cut, &nexthop);
			assert_true(err == 0 || err == -EPROTO);
			refused += err != 0;
			free(cut);
		}
	}
	assert_true(refused > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(route_with_gateway_is_one_leg),
		cmocka_unit_test(route_via_ipv6_keeps_the_family_of_its_gateway),
		cmocka_unit_test(multipath_route_has_weights_flags_and_encapsulations),
		cmocka_unit_test(more_legs_than_a_group_has_buckets_set_too_many_legs),
		cmocka_unit_test(route_metrics_distinguish_routes),
		cmocka_unit_test(routes_that_make_no_sense_are_refused),
		cmocka_unit_test(vlan_link_has_parent_and_tag),
		cmocka_unit_test(link_of_a_bridge_port_is_not_followed),
		cmocka_unit_test(neighbour_has_state_and_mac),
		cmocka_unit_test(address_is_the_local_one_of_a_pair),
		cmocka_unit_test(address_alone_has_no_peer_and_may_have_no_route),
		cmocka_unit_test(group_object_has_members_with_16_bit_weights),
		cmocka_unit_test(rule_with_any_condition_is_not_plain),
		cmocka_unit_test(settings_missing_from_a_message_are_minus_one),
		cmocka_unit_test(no_message_is_read_beyond_its_end),
	};
	return cmocka_run_group_tests_name("rtnl", tests, NULL, NULL);
}
