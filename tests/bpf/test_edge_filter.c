// SPDX-License-Identifier: BSD-2-Clause
/*
 * Rule lists in sl_edge: which fields of a packet a rule sees, what becomes of a packet that a rule
 * decides, and that no kind of packet passes a list that denies it.
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

#include "bpf/abi/chain_header.h"
#include "bpf/abi/classifier.h"
#include "bpf/abi/l3_port.h"
#include "bpf/abi/policer.h"
#include "bpf/abi/reserved.h"
#include "bpf/abi/voq.h"
#include "bpf/lib/endian.bpf.h"
#include "tests/lib/edge_case.h"
#include "user/classify/compile.h"
#include "user/classify/rule_text.h"
#include "user/daemon/lists.h"

#define SLOT 5 /* of the list under test */

static struct edge *world;
static int socket_fd = -1;

/* --- Rules --- */

/* A rule as text: what a case asks for. */
struct ask {
	enum sl_field field;
	const char *values;
	const char *source, *destination;
	const char *flags;
};

#define ASKS(field_, values_)                                   \
	{                                                       \
		.field = SL_FIELD_##field_, .values = (values_) \
	}

static struct sl_rule rule_of(const struct ask *ask, uint32_t action)
{
	struct sl_rule rule = { .action = action, .number = 0 };

	if (ask->values)
		assert_int_equal(sl_ranges_parse(ask->field, ask->values, &rule.field[ask->field]),
				 0);
	if (ask->flags)
		assert_int_equal(sl_flags_parse(ask->flags, &rule.flags, &rule.flags_mask), 0);
	if (ask->source)
		assert_int_equal(sl_prefix_parse(ask->source, &rule.prefix[SL_SIDE_SOURCE]), 0);
	if (ask->destination)
		assert_int_equal(
			sl_prefix_parse(ask->destination, &rule.prefix[SL_SIDE_DESTINATION]), 0);
	return rule;
}

/* Port 1 and its VLANs get a list of this one rule, with this default. */
static void set_list(const struct sl_rule *rule, uint32_t default_action)
{
	const struct sl_list_maps maps = { edge_map_fd(world, "sl_filter_small"),
					   edge_map_fd(world, "sl_filter_large") };
	static const uint8_t families[] = { AF_INET, AF_INET6 };

	for (uint32_t f = 0; f < 2; f++) {
		struct sl_list list;
		struct sl_image image;

		assert_int_equal(sl_compile(rule, rule ? 1 : 0, families[f], default_action,
					    SL_RULE_NONE, &image),
				 0);
		assert_int_equal(sl_list_make(image.bytes, image.n_bytes, &list), 0);
		assert_int_equal(sl_list_put(&maps, SLOT * 2 + f, &list), 0);
		sl_list_close(&list);
		free(image.bytes);
	}
	world->filter = SLOT + 1;
}

/* --- What a rule sees --- */

struct field_case {
	const char *name;
	struct ask ask;
	bool matches;
	struct frame in;
};

#define V4(...)                                                   \
	{                                                         \
		.src = "10.1.7.2", .dst = "10.2.0.2", __VA_ARGS__ \
	}
#define V6(...)                          \
	{                                \
		.ip6 = true, __VA_ARGS__ \
	}
/* the L4 header of an IPv6 packet behind one extension header of 8 bytes */
#define BEHIND(extension, l4)                         \
	.protocol = (extension), .payload_bytes = 48, \
	.patch = { { 40, (l4) }, { 41, 0 }, { 50, 0 }, { 51, 80 } }

static const struct field_case field_cases[] = {
	{ "source_inside", { .source = "10.1.0.0/16" }, true, V4() },
	{ "source_outside", { .source = "10.1.8.0/21" }, false, V4() },
	{ "source_host", { .source = "10.1.7.2" }, true, V4() },
	{ "destination_inside", { .destination = "10.0.0.0/8" }, true, V4() },
	{ "destination_beside", { .destination = "10.2.0.3" }, false, V4() },
	{ "ip6_source", { .source = "2001:db8:1::/48" }, true, V6() },
	{ "ip6_source_host", { .source = "2001:db8:1::2" }, true, V6() },
	{ "ip6_source_last_bit", { .source = "2001:db8:1::3" }, false, V6() },
	{ "ip6_destination_beside", { .destination = "2001:db8:3::/48" }, false, V6() },
	{ "ip4_rule_for_ip6", { .source = "0.0.0.0/0" }, false, V6() },
	{ "ip6_rule_for_ip4", { .source = "::/0" }, false, V4() },
	{ "protocol", ASKS(PROTOCOL, "udp"), true, V4() },
	{ "protocol_other", ASKS(PROTOCOL, "tcp,icmp"), false, V4() },
	{ "ip6_protocol", ASKS(PROTOCOL, "udp"), true, V6() },
	{ "destination_port", ASKS(DESTINATION_PORT, "4321"), true, V4() },
	{ "destination_port_below", ASKS(DESTINATION_PORT, "0-4320"), false, V4() },
	{ "destination_port_above", ASKS(DESTINATION_PORT, "4322-65535"), false, V4() },
	{ "source_port", ASKS(SOURCE_PORT, "1-5,1234"), true, V4() },
	{ "source_port_is_not_destination", ASKS(SOURCE_PORT, "4321"), false, V4() },
	{ "ip6_destination_port", ASKS(DESTINATION_PORT, "4321"), true, V6() },
	{ "sctp_port", ASKS(DESTINATION_PORT, "4321"), true, V4(.protocol = 132) },
	{ "gre_has_no_port", ASKS(DESTINATION_PORT, "0-65535"), false, V4(.protocol = 47) },
	{ "port_cut_off", ASKS(DESTINATION_PORT, "0-65535"), false, V4(.payload_bytes = 3) },
	{ "icmp_type", ASKS(ICMP_TYPE, "8"), true, V4(.protocol = 1, .patch = { { 20, 8 } }) },
	{ "icmp_code", ASKS(ICMP_CODE, "3"), true,
	  V4(.protocol = 1, .patch = { { 20, 11 }, { 21, 3 } }) },
	{ "icmp_has_no_port", ASKS(SOURCE_PORT, "0-65535"), false, V4(.protocol = 1) },
	{ "udp_has_no_type", ASKS(ICMP_TYPE, "0-255"), false, V4() },
	{ "ip6_icmp_type", ASKS(ICMP_TYPE, "128"), true,
	  V6(.protocol = 58, .patch = { { 40, 128 } }) },
	{ "syn_alone",
	  { .flags = "syn,!ack" },
	  true,
	  V4(.protocol = 6, .patch = { { 33, 0x02 } }) },
	{ "syn_ack", { .flags = "syn,!ack" }, false, V4(.protocol = 6, .patch = { { 33, 0x12 } }) },
	{ "ack", { .flags = "ack" }, true, V4(.protocol = 6, .patch = { { 33, 0x19 } }) },
	{ "udp_has_no_flags", { .flags = "!syn" }, false, V4() },
	{ "flags_cut_off", { .flags = "!syn" }, false, V4(.protocol = 6, .payload_bytes = 13) },
	{ "dscp", ASKS(DSCP, "ef"), true, V4(.tos = 46 << 2 | 1) },
	{ "dscp_other", ASKS(DSCP, "0-45,47-63"), false, V4(.tos = 46 << 2) },
	{ "ip6_dscp", ASKS(DSCP, "af41"), true, V6(.tos = 34 << 2 | 2) },
	{ "length", ASKS(LENGTH, "46"), true, V4(.padding_bytes = 14) },
	{ "length_other", ASKS(LENGTH, "0-45,47-65535"), false, V4() },
	{ "ip6_length", ASKS(LENGTH, "66"), true, V6() },
	{ "flow_label", ASKS(FLOW_LABEL, "703710"), true, V6(.flow_label = 0xabcde) },
	{ "flow_label_other", ASKS(FLOW_LABEL, "703711"), false, V6(.flow_label = 0xabcde) },
	{ "no_fragment", ASKS(FRAGMENT, "none"), true, V4(.fragment = 0x4000) },
	{ "first_fragment", ASKS(FRAGMENT, "first"), true, V4(.fragment = 0x2000) },
	{ "first_fragment_has_ports", ASKS(DESTINATION_PORT, "4321"), true,
	  V4(.fragment = 0x2000) },
	{ "later_fragment", ASKS(FRAGMENT, "later"), true, V4(.fragment = 0x2001) },
	{ "last_fragment", ASKS(FRAGMENT, "later"), true, V4(.fragment = 0x00b9) },
	{ "later_fragment_has_no_ports", ASKS(DESTINATION_PORT, "0-65535"), false,
	  V4(.fragment = 0x00b9) },
	{ "later_fragment_has_protocol", ASKS(PROTOCOL, "udp"), true, V4(.fragment = 0x00b9) },
	{ "ip6_port_behind_destination_options", ASKS(DESTINATION_PORT, "80"), true,
	  V6(BEHIND(60, 6)) },
	{ "ip6_protocol_behind_routing_header", ASKS(PROTOCOL, "tcp"), true, V6(BEHIND(43, 6)) },
	{ "ip6_extension_is_no_protocol", ASKS(PROTOCOL, "60"), false, V6(BEHIND(60, 6)) },
	{ "ip6_first_fragment", ASKS(FRAGMENT, "first"), true,
	  V6(.protocol = 44, .payload_bytes = 48,
	     .patch = { { 40, 6 }, { 42, 0 }, { 43, 1 }, { 50, 0 }, { 51, 80 } }) },
	{ "ip6_first_fragment_has_ports", ASKS(DESTINATION_PORT, "80"), true,
	  V6(.protocol = 44, .payload_bytes = 48,
	     .patch = { { 40, 6 }, { 42, 0 }, { 43, 1 }, { 50, 0 }, { 51, 80 } }) },
	{ "ip6_fragment_length_byte_is_reserved", ASKS(DESTINATION_PORT, "80"), true,
	  V6(.protocol = 44, .payload_bytes = 48,
	     .patch = { { 40, 6 }, { 41, 200 }, { 42, 0 }, { 43, 1 }, { 50, 0 }, { 51, 80 } }) },
	{ "ip6_later_fragment", ASKS(FRAGMENT, "later"), true,
	  V6(.protocol = 44, .payload_bytes = 48, .patch = { { 40, 6 }, { 42, 0 }, { 43, 8 } }) },
	{ "ip6_later_fragment_has_no_ports", ASKS(DESTINATION_PORT, "0-65535"), false,
	  V6(.protocol = 44, .payload_bytes = 48, .patch = { { 40, 6 }, { 42, 0 }, { 43, 8 } }) },
};

/* A rule that matches drops the packet; one that does not lets it go as if there were none. */
static void field_decides(void **state)
{
	const struct field_case *c = *state;
	const struct sl_rule rule = rule_of(&c->ask, SL_FILTER_DENY);
	struct edge_case check = { .name = c->name, .in = c->in, FORWARD_BY(PLAIN) };

	set_list(&rule, SL_FILTER_PERMIT);
	if (c->matches) {
		check.end = EDGE_DROP;
		check.what = SL_DROP_FILTER;
	}
	edge_check(world, &check);
}

/* --- What passes no list --- */

/* With a list that denies everything: the end of a packet that the step sees, or does not. */
static const struct edge_case denied[] = {
	{ "plain", V4(), DROPS(FILTER) },
	{ "ip6", V6(), DROPS(FILTER) },
	{ "no_route", { .dst = "10.99.0.1" }, DROPS(FILTER) },
	{ "for_this_node", { .dst = "10.23.0.1" }, DROPS(FILTER) },
	{ "expiring_ttl", V4(.ttl = 1), DROPS(FILTER) },
	{ "ip6_expiring_hop_limit", V6(.ttl = 1), DROPS(FILTER) },
	{ "options", V4(.patch = { { 0, 0x46 } }), DROPS(FILTER) },
	{ "ip6_hop_by_hop", V6(BEHIND(0, 6)), DROPS(FILTER) },
	{ "link_local", { .src = "169.254.1.1" }, DROPS(FILTER) },
	{ "ip6_link_local", { .ip6 = true, .src = "fe80::1" }, DROPS(FILTER) },
	{ "multicast_address_in_a_frame_for_us", { .dst = "224.0.0.5" }, DROPS(FILTER) },
	{ "martian", { .src = "127.0.0.1" }, DROPS(FILTER) },
	{ "the_kernel_would_decide", V4(), DROPS(FILTER), .port_flags = SL_PORT_PUNT4 },
	{ "on_a_vlan", { .dst_mac = EDGE_VLAN1_MAC, .tag = { { 0x8100, 100 } } }, DROPS(FILTER) },
	/* nobody judges what is broken: that has its own names */
	{ "bad_checksum", V4(.checksum_error = 1), DROPS(IP4_CHECKSUM) },
	{ "cut_short", V4(.cut_bytes = 30), DROPS(IP4_TRUNCATED) },
	{ "ip6_extensions_cut_short", V6(.protocol = 60, .payload_bytes = 7),
	  DROPS(FILTER_HEADERS) },
	{ "ip6_extension_beyond_the_frame",
	  V6(.protocol = 60, .payload_bytes = 16, .patch = { { 40, 43 }, { 41, 2 } }),
	  DROPS(FILTER_HEADERS) },
	/* not for the list: no packet of another host's, and what keeps the link alive */
	{ "another_mac", V4(.dst_mac = 0x020000000099), PUNTS(ETH_NOT_OURS) },
	{ "multicast_frame", { .dst_mac = 0x01005e000005, .dst = "224.0.0.5" }, PUNTS(MULTICAST) },
	{ "neighbour_discovery",
	  { .ip6 = true, .protocol = 58, .ttl = 255, .patch = { { 40, 135 } } },
	  PUNTS(ND) },
	{ "like_neighbour_discovery_from_afar",
	  { .ip6 = true, .protocol = 58, .ttl = 254, .patch = { { 40, 135 } } },
	  DROPS(FILTER) },
	{ "arp", { .ethertype = 0x0806 }, PUNTS(NOT_IP) },
};

static void list_that_denies_all(void **state)
{
	set_list(NULL, SL_FILTER_DENY);
	edge_check(world, *state);
}

/* A chain of nine extension headers, one more than the step reads, and the chain of eight. */
static void extension_headers_beyond_the_limit_are_dropped(void **state)
{
	static uint8_t frame[FRAME_MAX_BYTES], out[FRAME_MAX_BYTES];
	const struct frame description = { .ip6 = true, .protocol = 60, .payload_bytes = 120 };
	const struct ask ask = ASKS(DESTINATION_PORT, "80");
	const struct sl_rule rule = rule_of(&ask, SL_FILTER_DENY);
	uint32_t out_len;

	(void)state;
	set_list(&rule, SL_FILTER_PERMIT);
	assert_int_equal(edge_set_port(world, EDGE_PORT(1), FRAME_DST_MAC,
				       SL_PORT_FORWARD4 | SL_PORT_FORWARD6),
			 0);
	for (uint32_t n = 8; n <= 9; n++) {
		uint32_t len = frame_build(&description, frame);
		uint8_t *header = frame + 14 + 40;
		struct edge_counters before, after;

		for (uint32_t i = 0; i < n; i++, header += 8) {
			memset(header, 0, 8);
			header[0] = i + 1 == n ? 6 : 60;
		}
		header[2] = 0;
		header[3] = 80;
		edge_read_counters(world, &before);
		assert_int_equal(edge_run(world, EDGE_PORT(1), frame, len, out, &out_len),
				 XDP_DROP);
		edge_read_counters(world, &after);
		edge_subtract_counters(&after, &before);
		assert_int_equal(after.drops[SL_DROP_FILTER].packets, n == 8);
		assert_int_equal(after.drops[SL_DROP_FILTER_HEADERS].packets, n == 9);
	}
}

/* --- What a rule does --- */

static uint64_t hits(uint32_t number)
{
	struct sl_counter per_cpu[256];
	uint64_t sum = 0;

	assert_int_equal(
		bpf_map_lookup_elem(edge_map_fd(world, "sl_filter_hits"), &number, per_cpu), 0);
	for (long i = 0; i < sysconf(_SC_NPROCESSORS_CONF); i++)
		sum += per_cpu[i].packets;
	return sum;
}

static void rule_gives_the_packet_to_the_kernel(void **state)
{
	const struct edge_case c = { .in = V4(), PUNTS(FILTER) };
	const struct ask ask = ASKS(PROTOCOL, "udp");
	const struct sl_rule rule = rule_of(&ask, SL_FILTER_KERNEL);
	uint64_t before = hits(0);

	(void)state;
	set_list(&rule, SL_FILTER_DENY);
	edge_check(world, &c);
	assert_int_equal(hits(0), before + 1);
}

/* The frame leaves with this DSCP, whatever it had, and its ECN bits as they were. */
static void rule_sets_the_dscp(void **state)
{
	static uint8_t in[FRAME_MAX_BYTES], out[FRAME_MAX_BYTES], want[FRAME_MAX_BYTES];
	static const uint8_t dscps[] = { 0, 1, 46, 63 };

	(void)state;
	for (int ip6 = 0; ip6 < 2; ip6++)
		for (size_t i = 0; i < sizeof(dscps); i++)
			for (uint32_t tos = 0; tos < 256; tos += 5) {
				const struct ask ask = ASKS(PROTOCOL, "udp");
				struct sl_rule rule =
					rule_of(&ask, (dscps[i] + 1u) << SL_RULE_DSCP_SHIFT);
				struct frame frame = { .ip6 = ip6,
						       .tos = (uint8_t)tos,
						       .flow_label = 0xfffff };
				struct frame sent = edge_sent(&frame, EDGE_PLAIN);
				uint32_t len = frame_build(&frame, in), out_len, want_len;

				if (tos == 0)
					set_list(&rule, SL_FILTER_DENY);
				assert_int_equal(edge_set_port(world, EDGE_PORT(1), FRAME_DST_MAC,
							       SL_PORT_FORWARD4 | SL_PORT_FORWARD6),
						 0);
				sent.tos = (uint8_t)(dscps[i] << 2 | (tos & 3));
				want_len = frame_build(&sent, want);
				assert_int_equal(
					edge_run(world, EDGE_PORT(1), in, len, out, &out_len),
					XDP_REDIRECT);
				assert_int_equal(out_len, want_len);
				assert_memory_equal(out, want, want_len);
			}
}

/* What the kernel forwards has the DSCP, too: here a packet with options. */
static void rule_sets_the_dscp_of_what_the_kernel_gets(void **state)
{
	static uint8_t in[FRAME_MAX_BYTES], out[FRAME_MAX_BYTES], want[FRAME_MAX_BYTES];
	struct frame frame = V4(.tos = 3, .patch = { { 0, 0x46 }, { 20, 1 } });
	const struct ask ask = ASKS(PROTOCOL, "udp");
	const struct sl_rule rule = rule_of(&ask, (46u + 1) << SL_RULE_DSCP_SHIFT);
	uint32_t len = frame_build(&frame, in), out_len;

	(void)state;
	set_list(&rule, SL_FILTER_DENY);
	assert_int_equal(edge_set_port(world, EDGE_PORT(1), FRAME_DST_MAC,
				       SL_PORT_FORWARD4 | SL_PORT_FORWARD6),
			 0);
	frame.tos = 46 << 2 | 3;
	frame_build(&frame, want);
	assert_int_equal(edge_run(world, EDGE_PORT(1), in, len, out, &out_len), XDP_PASS);
	assert_int_equal(out_len, len);
	assert_memory_equal(out, want, len);
}

/*
 * A packet goes where the rule's next hop leads, but one for this node. Where that leads nowhere,
 * or does not take the packet, the kernel must not have it: it would route by the destination. It
 * does answer an expired TTL. A rule without its address lets nothing pass.
 */
static void rule_names_the_next_hop(void **state)
{
	static const struct {
		const char *hop;
		struct edge_case check;
	} cases[] = {
		{ "10.4.0.1", { "to_another_port", V4(), FORWARD_BY(JUMBO) } },
		{ "10.2.9.9", { "of_a_host_route", V4(), FORWARD_BY(JUMBO) } },
		{ "10.5.0.1", { "by_a_vlan", V4(), FORWARD_BY(TAG1) } },
		{ "10.24.0.1", { "by_a_group", { .dst = "10.4.0.2" }, FORWARD_BY(PLAIN) } },
		{ "10.4.0.1",
		  { "destination_without_route", { .dst = "10.99.0.1" }, FORWARD_BY(JUMBO) } },
		{ "10.4.0.1",
		  { "destination_in_a_blackhole", { .dst = "10.20.0.1" }, FORWARD_BY(JUMBO) } },
		{ "10.4.0.1", { "for_this_node", { .dst = "10.23.0.1" }, PUNTS(LOCAL) } },
		{ "10.4.0.1", { "expiring_ttl", V4(.ttl = 1), PUNTS(TTL) } },
		{ "10.99.0.1", { "without_route", V4(), DROPS(NEXT_HOP) } },
		{ "10.20.0.1", { "in_a_blackhole", V4(), DROPS(BLACKHOLE) } },
		{ "10.21.0.1", { "unreachable", V4(), DROPS(NEXT_HOP) } },
		{ "10.22.0.1", { "not_resolved", V4(), DROPS(NEXT_HOP) } },
		{ "10.7.0.1", { "back", V4(), DROPS(NEXT_HOP), .port_flags = SL_PORT_REDIRECT4 } },
		{ "10.3.0.1", { "too_big", V4(.payload_bytes = 1300), DROPS(NEXT_HOP) } },
		{ "2001:db8:4::1", { "ip6_to_another_port", V6(), FORWARD_BY(JUMBO) } },
		{ "2001:db8:4::1",
		  { "ip6_for_this_node", V6(.dst = "2001:db8:17::1"), PUNTS(LOCAL) } },
		{ "2001:db8:99::1", { "ip6_without_route", V6(), DROPS(NEXT_HOP) } },
		{ NULL, { "without_its_address", V4(), DROPS(NEXT_HOP) } },
	};
	const int hops = edge_map_fd(world, "sl_rule_hop");
	const struct sl_rule rule = { .action = SL_RULE_NEXT_HOP }, plain = { .action = 0 };
	const struct edge_case after = { "after_it", V4(), FORWARD_BY(PLAIN) };
	const uint32_t number = 0;

	(void)state;
	set_list(&rule, SL_FILTER_DENY);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sl_rule_hop hop = { .table = 0 };
		uint8_t family;

		bpf_map_delete_elem(hops, &number);
		if (cases[i].hop) {
			assert_int_equal(
				sl_addr_parse(cases[i].hop, &family, (uint8_t *)hop.address), 0);
			assert_int_equal(bpf_map_update_elem(hops, &number, &hop, BPF_ANY), 0);
		}
		print_message("%s\n", cases[i].check.name);
		edge_check(world, &cases[i].check);
	}
	/* The next packet, of a rule without one, goes by its destination. */
	set_list(&plain, SL_FILTER_DENY);
	edge_check(world, &after);
}

/* The flows that XDP has told of and sluiced has not taken out. */
static uint32_t told(struct sl_flow_key *last)
{
	const int fd = edge_map_fd(world, "sl_setup_told");
	struct sl_flow_key *before = NULL;
	uint32_t n = 0;

	while (!bpf_map_get_next_key(fd, before, last)) {
		before = last;
		n++;
	}
	return n;
}

/*
 * A rule that reserves has XDP tell of the flow of its packets, once; but not of packets without
 * ports, of fragments, or of those behind an extension header. The packets go as without it.
 */
static void rule_tells_of_the_flow(void **state)
{
	static const struct {
		bool tells;
		struct edge_case check;
	} cases[] = {
		{ true, { "udp", V4(), FORWARD_BY(PLAIN) } },
		{ true, { "tcp", V4(.protocol = IPPROTO_TCP), FORWARD_BY(PLAIN) } },
		{ true, { "sctp", V4(.protocol = IPPROTO_SCTP), FORWARD_BY(PLAIN) } },
		{ false, { "icmp", V4(.protocol = IPPROTO_ICMP), FORWARD_BY(PLAIN) } },
		{ false, { "gre", V4(.protocol = IPPROTO_GRE), FORWARD_BY(PLAIN) } },
		{ false, { "first_fragment", V4(.fragment = 0x2000), FORWARD_BY(PLAIN) } },
		{ false, { "later_fragment", V4(.fragment = 0x0001), FORWARD_BY(PLAIN) } },
		{ false, { "without_ports", V4(.payload_bytes = FRAME_EMPTY), FORWARD_BY(PLAIN) } },
		{ true, { "ip6", V6(), FORWARD_BY(PLAIN) } },
		{ false,
		  { "ip6_behind_a_header", V6(BEHIND(IPPROTO_DSTOPTS, IPPROTO_UDP)),
		    FORWARD_BY(PLAIN) } },
	};
	const struct sl_rule rule = { .action = SL_RULE_RESERVE }, plain = { .action = 0 };
	const struct edge_case after = { "of_another_rule", V4(), FORWARD_BY(PLAIN) };
	const int fd = edge_map_fd(world, "sl_setup_told");
	struct sl_flow_key flow;

	(void)state;
	set_list(&rule, SL_FILTER_DENY);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct frame *in = &cases[i].check.in;
		struct sl_flow_key want = { .source_port = sl_htons(1234),
					    .destination_port = sl_htons(4321),
					    .protocol = in->protocol ? in->protocol : IPPROTO_UDP,
					    .version = in->ip6 ? 6 : 4 };

		print_message("%s\n", cases[i].check.name);
		edge_check(world, &cases[i].check);
		edge_check(world, &cases[i].check);
		assert_int_equal(told(&flow), cases[i].tells);
		if (!cases[i].tells)
			continue;
		inet_pton(in->ip6 ? AF_INET6 : AF_INET, in->ip6 ? "2001:db8:1::2" : "10.1.7.2",
			  want.source);
		inet_pton(in->ip6 ? AF_INET6 : AF_INET, in->ip6 ? "2001:db8:2::2" : "10.2.0.2",
			  want.destination);
		assert_memory_equal(&flow, &want, sizeof(want));
		assert_int_equal(bpf_map_delete_elem(fd, &flow), 0);
	}
	set_list(&plain, SL_FILTER_DENY);
	edge_check(world, &after);
	assert_int_equal(told(&flow), 0);
}

/* The frame goes on as it came, behind a header with the chain's name; it counts as forwarded. */
static void enters_chain(const struct edge_case *c, const struct sl_rule_chain *chain)
{
	static uint8_t in[FRAME_MAX_BYTES], out[FRAME_MAX_BYTES];
	uint32_t len = frame_build(&c->in, in), out_len;
	struct edge_counters before, after, want;
	struct sl_chain_header header;

	edge_read_counters(world, &before);
	assert_int_equal(edge_run(world, EDGE_PORT(1), in, len, out, &out_len), XDP_REDIRECT);
	edge_read_counters(world, &after);
	edge_subtract_counters(&after, &before);
	edge_expect_counters(c, in, len, &want);
	edge_assert_counters(&after, &want);
	assert_int_equal(out_len, len + sizeof(header));
	memcpy(&header, out, sizeof(header));
	assert_int_equal(out[12] << 8 | out[13], SL_CHAIN_ETHERTYPE);
	assert_memory_equal(header.name, chain->name, sizeof(header.name));
	assert_memory_equal(out + sizeof(header), in, len);
}

/* Without a name or a netdev, or too large for it, the packet is a drop, never forwarded as it is.
 */
static void rule_sends_into_a_chain(void **state)
{
	const struct edge_case ip4 = { "ip4", V4(), FORWARD_BY(PLAIN) },
			       ip6 = { "ip6", V6(), FORWARD_BY(PLAIN) },
			       away = { "away", V4(), DROPS(CHAIN) },
			       large = { "large", V4(.payload_bytes = 2967), DROPS(CHAIN) },
			       fits = { "fits", V4(.payload_bytes = 2966), FORWARD_BY(PLAIN) };
	const int chains = edge_map_fd(world, "sl_rule_chain");
	const int netdev = edge_map_fd(world, "sl_chain_tx");
	const struct sl_rule rule = { .action = SL_RULE_CHAIN };
	const struct bpf_devmap_val device = { .ifindex = EDGE_PORT(2) };
	const struct sl_rule_chain none = { 0 };
	struct sl_rule_chain chain = { .name = "video" };
	const uint32_t zero = 0;

	(void)state;
	chain.id = sl_chain_id(chain.name);
	set_list(&rule, SL_FILTER_DENY);
	edge_check(world, &away);
	assert_int_equal(bpf_map_update_elem(chains, &zero, &chain, BPF_ANY), 0);
	edge_check(world, &away);
	assert_int_equal(bpf_map_update_elem(netdev, &zero, &device, BPF_ANY), 0);
	enters_chain(&ip4, &chain);
	enters_chain(&ip6, &chain);
	enters_chain(&fits, &chain);
	edge_check(world, &large);
	assert_int_equal(bpf_map_update_elem(chains, &zero, &none, BPF_ANY), 0);
	edge_check(world, &away);
	bpf_map_delete_elem(netdev, &zero);
}

static struct sl_policer policer(void)
{
	struct sl_policer p;
	uint32_t number = 0;

	assert_int_equal(bpf_map_lookup_elem(edge_map_fd(world, "sl_policer"), &number, &p), 0);
	return p;
}

static void forwards_with_tos(const struct frame *frame, uint8_t tos)
{
	static uint8_t in[FRAME_MAX_BYTES], out[FRAME_MAX_BYTES], want[FRAME_MAX_BYTES];
	struct frame sent = edge_sent(frame, EDGE_PLAIN);
	uint32_t len = frame_build(frame, in), want_len, out_len;

	sent.tos = tos;
	want_len = frame_build(&sent, want);
	assert_int_equal(edge_run(world, EDGE_PORT(1), in, len, out, &out_len), XDP_REDIRECT);
	assert_int_equal(out_len, want_len);
	assert_memory_equal(out, want, want_len);
}

/*
 * Buckets for two packets each, of 46 bytes, which nothing fills: two packets go on as they came,
 * two with another DSCP, and the rest are drops. Without its policer the rule lets nothing pass.
 */
static void rule_polices(void **state)
{
	static const struct frame in = V4();
	const struct edge_case passes = { .name = "conforms", .in = in, FORWARD_BY(PLAIN) };
	const struct edge_case violates = { .name = "violates", .in = in, DROPS(POLICED) };
	const struct ask ask = ASKS(PROTOCOL, "udp");
	const struct sl_rule rule = rule_of(&ask, SL_RULE_POLICE);
	const uint64_t two = 2 * 46 * SL_POLICER_SCALE;
	const struct sl_policer full = { .exceed_dscp_plus1 = 12 + 1,
					 .rate_Bps = { 1 },
					 .burst = { two, two },
					 .full_ns = { UINT64_MAX },
					 .tokens = { two, two },
					 .filled_ns = UINT64_MAX };
	const uint32_t number = 0;
	struct sl_policer after;

	(void)state;
	set_list(&rule, SL_FILTER_DENY);
	edge_check(world, &violates);
	assert_int_equal(
		bpf_map_update_elem(edge_map_fd(world, "sl_policer"), &number, &full, BPF_ANY), 0);
	edge_check(world, &passes);
	edge_check(world, &passes);
	forwards_with_tos(&in, 12 << 2);
	forwards_with_tos(&in, 12 << 2);
	edge_check(world, &violates);
	after = policer();
	for (int colour = 0; colour < SL_COLOURS; colour++) {
		assert_int_equal(after.packets[colour], colour == SL_COLOUR_RED ? 1 : 2);
		assert_int_equal(after.bytes[colour], 46 * after.packets[colour]);
	}
}

static void open_voqs(void)
{
	const struct sl_voq voq = { .rate = SL_RATE_UNLIMITED, .limit_frames = 1000 };
	uint32_t ring = sl_ring_key(1, 0, 0, EDGE_QUEUES, 1);

	for (uint32_t id = 0; id < EDGE_VOQS; id++)
		assert_int_equal(
			bpf_map_update_elem(edge_map_fd(world, "sl_voq"), &id, &voq, BPF_ANY), 0);
	assert_int_equal(
		bpf_map_update_elem(edge_map_fd(world, "sl_xsk"), &ring, &socket_fd, BPF_ANY), 0);
}

/* In which queue of EDGE_REMOTE does a frame of this TOS wait, with a rule of this action? */
static uint32_t class_with(uint32_t action, uint8_t tos)
{
	static uint8_t in[FRAME_MAX_BYTES], out[FRAME_MAX_BYTES];
	const struct ask ask = ASKS(PROTOCOL, "udp");
	const struct sl_rule rule = rule_of(&ask, action);
	const struct frame frame = { .dst = "10.9.0.1", .tos = tos };
	uint32_t len = frame_build(&frame, in), out_len, class = SL_CLASSES;

	set_list(&rule, SL_FILTER_DENY);
	assert_int_equal(edge_set_port(world, EDGE_PORT(1), FRAME_DST_MAC, SL_PORT_FORWARD4), 0);
	for (uint32_t i = 0; i < SL_CLASSES; i++) {
		const struct sl_backlog none = { 0 };
		uint32_t id = EDGE_REMOTE_VOQ + i;

		assert_int_equal(
			bpf_map_update_elem(edge_map_fd(world, "sl_backlog"), &id, &none, BPF_ANY),
			0);
	}
	assert_int_equal(edge_run(world, EDGE_PORT(1), in, len, out, &out_len), XDP_REDIRECT);
	for (uint32_t i = 0; i < SL_CLASSES; i++) {
		struct sl_backlog backlog;
		uint32_t id = EDGE_REMOTE_VOQ + i;

		assert_int_equal(
			bpf_map_lookup_elem(edge_map_fd(world, "sl_backlog"), &id, &backlog), 0);
		if (backlog.enqueued.frames == 1)
			class = i;
	}
	return class;
}

static void rule_sets_the_class(void **state)
{
	(void)state;
	open_voqs();
	for (uint32_t dscp = 0; dscp < SL_DSCPS; dscp++) {
		uint32_t class = dscp / 16;

		assert_int_equal(
			bpf_map_update_elem(edge_map_fd(world, "sl_dscp"), &dscp, &class, BPF_ANY),
			0);
	}
	assert_int_equal(class_with(SL_FILTER_PERMIT, 46 << 2), 2);
	for (uint32_t class = 0; class < SL_CLASSES; class ++)
		assert_int_equal(class_with((class + 1) << SL_RULE_CLASS_SHIFT, 46 << 2), class);
	/* the class follows the DSCP that the packet leaves with, unless the rule sets both */
	assert_int_equal(class_with((63u + 1) << SL_RULE_DSCP_SHIFT, 0), 3);
	assert_int_equal(class_with((63u + 1) << SL_RULE_DSCP_SHIFT | 2 << SL_RULE_CLASS_SHIFT, 0),
			 1);
}

static void port_without_a_list_is_not_judged(void **state)
{
	const struct edge_case c = { .in = V4(), FORWARD_BY(PLAIN) };

	(void)state;
	set_list(NULL, SL_FILTER_DENY);
	world->filter = 0;
	edge_check(world, &c);
	world->filter = SLOT + 2; /* a slot that is empty */
	edge_check(world, &c);
}

/* --- Running --- */

static int setup(void **state)
{
	int err = edge_enter_namespace();

	(void)state;
	socket_fd = socket(AF_XDP, SOCK_RAW, 0);
	return socket_fd < 0 ? -errno : err ? err : edge_world_filters(SL_ENGINE_LPM, &world);
}

static int teardown(void **state)
{
	(void)state;
	edge_destroy(world);
	close(socket_fd);
	return 0;
}

#define N_FIELDS (sizeof(field_cases) / sizeof(field_cases[0]))
#define N_DENIED (sizeof(denied) / sizeof(denied[0]))

int main(void)
{
	static const struct CMUnitTest others[] = {
		cmocka_unit_test(extension_headers_beyond_the_limit_are_dropped),
		cmocka_unit_test(rule_gives_the_packet_to_the_kernel),
		cmocka_unit_test(rule_sets_the_dscp),
		cmocka_unit_test(rule_sets_the_dscp_of_what_the_kernel_gets),
		cmocka_unit_test(rule_names_the_next_hop),
		cmocka_unit_test(rule_sends_into_a_chain),
		cmocka_unit_test(rule_tells_of_the_flow),
		cmocka_unit_test(rule_polices),
		cmocka_unit_test(rule_sets_the_class),
		cmocka_unit_test(port_without_a_list_is_not_judged),
	};
	static struct CMUnitTest tests[N_FIELDS + N_DENIED + sizeof(others) / sizeof(others[0])];
	size_t n = 0;

	for (size_t i = 0; i < N_FIELDS; i++)
		tests[n++] = (struct CMUnitTest){ .name = field_cases[i].name,
						  .test_func = field_decides,
						  .initial_state = (void *)&field_cases[i] };
	for (size_t i = 0; i < N_DENIED; i++)
		tests[n++] = (struct CMUnitTest){ .name = denied[i].name,
						  .test_func = list_that_denies_all,
						  .initial_state = (void *)&denied[i] };
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		tests[n++] = others[i];
	return cmocka_run_group_tests(tests, setup, teardown);
}
