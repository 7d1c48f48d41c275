// SPDX-License-Identifier: BSD-2-Clause
/*
 * VLAN tags through sl_edge: none, one or two in and out, and the tagged frames that the kernel
 * gets. The world that the cases live in is drawn in tests/lib/edge_case.h.
 */
#include <linux/if_ether.h>

#include "bpf/abi/l3_port.h"
#include "tests/lib/edge_case.h"

#define TAG(tci)                 \
	{                        \
		ETH_P_8021Q, tci \
	}
#define S_TAG(tci)                \
	{                         \
		ETH_P_8021AD, tci \
	}

/* Arrive on the VLAN interfaces of port 1. */
#define IN1 .dst_mac = EDGE_VLAN1_MAC, .tag = { TAG(100) }
#define IN2 .dst_mac = EDGE_VLAN2_MAC, .tag = { S_TAG(200), TAG(300) }

static const struct edge_case cases[] = {
	/* --- every change of the number of tags --- */
	{ "vlan_ip4_none_to_one", { .dst = "10.5.0.1" }, FORWARD_BY(TAG1), .tables_only = true },
	{ "vlan_ip4_none_to_two", { .dst = "10.6.0.1" }, FORWARD_BY(TAG2), .tables_only = true },
	{ "vlan_ip4_one_to_none", { IN1, .dst = "10.2.0.1" }, FORWARD_BY(PLAIN) },
	{ "vlan_ip4_one_to_one",
	  { IN1, .dst = "10.5.0.1" },
	  FORWARD_BY(TAG1),
	  .tables_only = true },
	{ "vlan_ip4_one_to_two",
	  { IN1, .dst = "10.6.0.1" },
	  FORWARD_BY(TAG2),
	  .tables_only = true },
	{ "vlan_ip4_two_to_none", { IN2, .dst = "10.2.0.1" }, FORWARD_BY(PLAIN) },
	{ "vlan_ip4_two_to_one",
	  { IN2, .dst = "10.5.0.1" },
	  FORWARD_BY(TAG1),
	  .tables_only = true },
	{ "vlan_ip4_two_to_two",
	  { IN2, .dst = "10.6.0.1" },
	  FORWARD_BY(TAG2),
	  .tables_only = true },
	{ "vlan_ip6_none_to_one",
	  { .ip6 = true, .dst = "2001:db8:5::1" },
	  FORWARD_BY(TAG1),
	  .tables_only = true },
	{ "vlan_ip6_none_to_two",
	  { .ip6 = true, .dst = "2001:db8:6::1" },
	  FORWARD_BY(TAG2),
	  .tables_only = true },
	{ "vlan_ip6_one_to_none", { .ip6 = true, IN1 }, FORWARD_BY(PLAIN) },
	{ "vlan_ip6_one_to_one",
	  { .ip6 = true, IN1, .dst = "2001:db8:5::1" },
	  FORWARD_BY(TAG1),
	  .tables_only = true },
	{ "vlan_ip6_one_to_two",
	  { .ip6 = true, IN1, .dst = "2001:db8:6::1" },
	  FORWARD_BY(TAG2),
	  .tables_only = true },
	{ "vlan_ip6_two_to_none", { .ip6 = true, IN2 }, FORWARD_BY(PLAIN) },
	{ "vlan_ip6_two_to_one",
	  { .ip6 = true, IN2, .dst = "2001:db8:5::1" },
	  FORWARD_BY(TAG1),
	  .tables_only = true },
	{ "vlan_ip6_two_to_two",
	  { .ip6 = true, IN2, .dst = "2001:db8:6::1" },
	  FORWARD_BY(TAG2),
	  .tables_only = true },

	/* --- out of the port where it came in, by another interface of it --- */
	{ "vlan_to_no_vlan_of_the_port_forwards",
	  { IN1, .dst = "10.7.0.1" },
	  FORWARD_BY(HAIRPIN),
	  .port_flags = SL_PORT_FORWARD4 | SL_PORT_REDIRECT4 },
	{ "vlan_ip6_to_no_vlan_of_the_port_forwards",
	  { .ip6 = true, IN2, .dst = "2001:db8:7::1" },
	  FORWARD_BY(HAIRPIN),
	  .port_flags = SL_PORT_FORWARD6 | SL_PORT_REDIRECT6 },

	/* --- priority, MTU, padding --- */
	{ "vlan_priority_of_ingress_is_not_part_of_the_vlan",
	  { .dst_mac = EDGE_VLAN1_MAC, .tag = { TAG(0xe000 | 100) } },
	  FORWARD_BY(PLAIN) },
	{ "vlan_tags_do_not_count_for_mtu",
	  { IN2, .dst = "10.5.0.1", .payload_bytes = 1500 - 20 },
	  FORWARD_BY(TAG1),
	  .tables_only = true },
	{ "vlan_above_mtu_punts",
	  { IN2, .dst = "10.5.0.1", .payload_bytes = 1501 - 20 },
	  PUNTS(TOO_BIG),
	  .tables_only = true },
	{ "vlan_padding_is_removed",
	  { IN1, .dst = "10.6.0.1", .payload_bytes = FRAME_EMPTY, .padding_bytes = 22 },
	  FORWARD_BY(TAG2),
	  .tables_only = true },
	{ "vlan_padding_is_removed_when_tags_go",
	  { IN2, .payload_bytes = FRAME_EMPTY, .padding_bytes = 18 },
	  FORWARD_BY(PLAIN) },

	/* --- VLANs that are not ours, and frames that end in a tag --- */
	{ "vlan_unknown_id_punts", { .tag = { TAG(101) } }, PUNTS(VLAN) },
	{ "vlan_id_0_punts", { .tag = { TAG(0) } }, PUNTS(VLAN) },
	{ "vlan_right_id_other_type_punts",
	  { .dst_mac = EDGE_VLAN1_MAC, .tag = { S_TAG(100) } },
	  PUNTS(VLAN) },
	{ "vlan_only_outer_of_two_punts", { .tag = { S_TAG(200) } }, PUNTS(VLAN) },
	{ "vlan_two_tags_swapped_punts", { .tag = { TAG(300), S_TAG(200) } }, PUNTS(VLAN) },
	{ "vlan_known_outer_unknown_inner_punts",
	  { .tag = { S_TAG(200), TAG(301) } },
	  PUNTS(VLAN) },
	{ "vlan_three_tags_punt", { .tag = { S_TAG(200), TAG(300), TAG(1) } }, PUNTS(VLAN) },
	{ "vlan_on_another_port_punts", { IN1 }, PUNTS(VLAN), .ingress = EDGE_PORT(2) },
	{ "vlan_frame_ends_in_tag_drops",
	  { .tag = { TAG(100) }, .cut_bytes = 17 },
	  DROPS(ETH_TRUNCATED) },
	{ "vlan_frame_ends_in_second_tag_drops",
	  { .tag = { S_TAG(200), TAG(300) }, .cut_bytes = 21 },
	  DROPS(ETH_TRUNCATED) },
	{ "vlan_frame_ends_after_tags_drops", { IN2, .cut_bytes = 22 }, DROPS(IP4_TRUNCATED) },
	{ "vlan_frame_ends_in_header_drops", { IN1, .cut_bytes = 18 + 19 }, DROPS(IP4_TRUNCATED) },
	{ "vlan_total_length_beyond_frame_drops",
	  { IN1, .patch = { { 3, 47 } } },
	  DROPS(IP4_TOTAL_LENGTH) },
	{ "vlan_ip6_payload_length_beyond_frame_drops",
	  { .ip6 = true, IN1, .patch = { { 5, 27 } } },
	  DROPS(IP6_PAYLOAD_LENGTH) },
	{ "vlan_mac_of_the_port_punts", { .tag = { TAG(100) } }, PUNTS(ETH_NOT_OURS) },
	{ "vlan_multicast_punts",
	  { .dst_mac = 0x01005e000005, .tag = { TAG(100) } },
	  PUNTS(MULTICAST) },
	{ "vlan_arp_punts",
	  { .dst_mac = EDGE_VLAN1_MAC, .tag = { TAG(100) }, .ethertype = ETH_P_ARP },
	  PUNTS(NOT_IP) },
};

int main(void)
{
	return edge_run_cases(cases, sizeof(cases) / sizeof(cases[0]));
}
