// SPDX-License-Identifier: BSD-2-Clause
/*
 * IPv4 through sl_edge: what RFC 1812 and its kin ask of a router, one frame per rule. The
 * world that the cases live in is drawn in tests/lib/edge_case.h.
 */
#include <linux/if_ether.h>
#include <netinet/in.h>

#include "tests/lib/edge_case.h"

#define BOTH (SL_PORT_FORWARD4 | SL_PORT_FORWARD6)

/* Offsets in the IPv4 header, for patches. */
enum { VERSION_IHL = 0, TOTAL_LENGTH = 2, TTL = 8, OPTIONS = 20 };

static const struct edge_case cases[] = {
	/* --- plain transit --- */
	{ "ip4_plain_forwards", {}, FORWARD_BY(PLAIN) },
	{ "ip4_ttl_2_leaves_with_1", { .ttl = 2 }, FORWARD_BY(PLAIN) },
	{ "ip4_ttl_255_leaves_with_254", { .ttl = 255 }, FORWARD_BY(PLAIN) },
	{ "ip4_tos_and_id_are_kept", { .tos = 0xb9, .id = 0xbeef }, FORWARD_BY(PLAIN) },
	{ "ip4_tcp_forwards", { .protocol = IPPROTO_TCP }, FORWARD_BY(PLAIN) },
	{ "ip4_unknown_protocol_forwards", { .protocol = 253 }, FORWARD_BY(PLAIN) },
	{ "ip4_header_only_forwards", { .payload_bytes = FRAME_EMPTY }, FORWARD_BY(PLAIN) },
	{ "ip4_first_fragment_forwards", { .fragment = 0x2000 }, FORWARD_BY(PLAIN) },
	{ "ip4_later_fragment_forwards", { .fragment = 0x00b9 }, FORWARD_BY(PLAIN) },
	{ "ip4_dont_fragment_forwards", { .fragment = 0x4000 }, FORWARD_BY(PLAIN) },
	{ "ip4_last_address_of_prefix_forwards", { .dst = "10.2.255.255" }, FORWARD_BY(PLAIN) },
	{ "ip4_host_route_beats_prefix", { .dst = "10.2.9.9" }, FORWARD_BY(JUMBO) },
	{ "ip4_beside_host_route_takes_prefix", { .dst = "10.2.9.8" }, FORWARD_BY(PLAIN) },
	{ "ip4_group_of_one_forwards", { .dst = "10.24.0.1" }, FORWARD_BY(PLAIN) },
	{ "ip4_test_net_source_forwards", { .src = "192.0.2.1" }, FORWARD_BY(PLAIN) },
	{ "ip4_private_source_forwards", { .src = "192.168.1.1" }, FORWARD_BY(PLAIN) },

	/* --- bytes behind the packet --- */
	{ "ip4_padding_is_removed",
	  { .payload_bytes = FRAME_EMPTY, .padding_bytes = 26 },
	  FORWARD_BY(PLAIN) },
	{ "ip4_trailer_of_long_frame_is_removed", { .padding_bytes = 200 }, FORWARD_BY(PLAIN) },

	/* --- RFC 1812 5.2.2: header validation --- */
	{ "ip4_frame_ends_in_header_drops", { .cut_bytes = 14 + 19 }, DROPS(IP4_TRUNCATED) },
	{ "ip4_frame_without_header_drops", { .cut_bytes = 14 }, DROPS(IP4_TRUNCATED) },
	{ "ip4_version_5_drops", { .patch = { { VERSION_IHL, 0x55 } } }, DROPS(IP4_VERSION) },
	{ "ip4_version_6_drops", { .patch = { { VERSION_IHL, 0x65 } } }, DROPS(IP4_VERSION) },
	{ "ip4_ihl_4_drops", { .patch = { { VERSION_IHL, 0x44 } } }, DROPS(IP4_HEADER_LENGTH) },
	{ "ip4_ihl_beyond_frame_drops",
	  { .payload_bytes = FRAME_EMPTY, .patch = { { VERSION_IHL, 0x46 } } },
	  DROPS(IP4_HEADER_LENGTH) },
	{ "ip4_total_length_19_drops",
	  { .patch = { { TOTAL_LENGTH + 1, 19 } } },
	  DROPS(IP4_TOTAL_LENGTH) },
	{ "ip4_total_length_below_options_drops",
	  { .patch = { { VERSION_IHL, 0x47 }, { TOTAL_LENGTH + 1, 24 } } },
	  DROPS(IP4_TOTAL_LENGTH) },
	{ "ip4_total_length_beyond_frame_drops",
	  { .patch = { { TOTAL_LENGTH + 1, 47 } } },
	  DROPS(IP4_TOTAL_LENGTH) },
	{ "ip4_checksum_off_by_one_drops", { .checksum_error = 1 }, DROPS(IP4_CHECKSUM) },
	{ "ip4_checksum_high_byte_wrong_drops", { .checksum_error = 0x0100 }, DROPS(IP4_CHECKSUM) },

	/* --- RFC 1812 5.3.7 and 4.2.2.11: addresses that are not forwarded --- */
	{ "ip4_source_this_network_drops", { .src = "0.1.2.3" }, DROPS(IP4_MARTIAN_SOURCE) },
	{ "ip4_source_zero_drops", { .src = "0.0.0.0" }, DROPS(IP4_MARTIAN_SOURCE) },
	{ "ip4_source_loopback_drops", { .src = "127.0.0.1" }, DROPS(IP4_MARTIAN_SOURCE) },
	{ "ip4_source_multicast_drops", { .src = "224.0.0.1" }, DROPS(IP4_MARTIAN_SOURCE) },
	{ "ip4_source_multicast_end_drops",
	  { .src = "239.255.255.255" },
	  DROPS(IP4_MARTIAN_SOURCE) },
	{ "ip4_source_class_e_drops", { .src = "240.0.0.1" }, DROPS(IP4_MARTIAN_SOURCE) },
	{ "ip4_source_broadcast_drops", { .src = "255.255.255.255" }, DROPS(IP4_MARTIAN_SOURCE) },
	{ "ip4_source_below_loopback_forwards", { .src = "126.255.255.255" }, FORWARD_BY(PLAIN) },
	{ "ip4_source_above_loopback_forwards", { .src = "128.0.0.0" }, FORWARD_BY(PLAIN) },
	{ "ip4_source_below_multicast_forwards", { .src = "223.255.255.255" }, FORWARD_BY(PLAIN) },
	{ "ip4_dest_this_network_drops", { .dst = "0.1.2.3" }, DROPS(IP4_MARTIAN_DEST) },
	{ "ip4_dest_zero_drops", { .dst = "0.0.0.0" }, DROPS(IP4_MARTIAN_DEST) },
	{ "ip4_dest_loopback_drops", { .dst = "127.1.2.3" }, DROPS(IP4_MARTIAN_DEST) },
	{ "ip4_dest_class_e_drops", { .dst = "240.0.0.1" }, DROPS(IP4_MARTIAN_DEST) },
	{ "ip4_dest_below_broadcast_drops", { .dst = "255.255.255.254" }, DROPS(IP4_MARTIAN_DEST) },
	{ "ip4_dest_broadcast_punts", { .dst = "255.255.255.255" }, PUNTS(MULTICAST) },
	{ "ip4_old_broadcast_punts", { .src = "0.0.0.0", .dst = "0.0.0.0" }, PUNTS(MULTICAST) },
	{ "ip4_dest_multicast_punts", { .dst = "224.0.0.5" }, PUNTS(MULTICAST) },
	{ "ip4_source_link_local_punts", { .src = "169.254.1.1" }, PUNTS(LINK_LOCAL) },
	{ "ip4_dest_link_local_punts", { .dst = "169.254.1.1" }, PUNTS(LINK_LOCAL) },
	{ "ip4_source_beside_link_local_forwards", { .src = "169.253.1.1" }, FORWARD_BY(PLAIN) },

	/* --- exceptions that the kernel answers --- */
	{ "ip4_options_punts",
	  { .patch = { { VERSION_IHL, 0x46 }, { OPTIONS, 1 }, { OPTIONS + 1, 1 } } },
	  PUNTS(IP4_OPTIONS) },
	{ "ip4_ttl_1_punts", { .ttl = 1 }, PUNTS(TTL) },
	{ "ip4_ttl_0_punts", { .patch = { { TTL, 0 } } }, PUNTS(TTL) },
	{ "ip4_no_route_punts", { .dst = "192.0.2.1" }, PUNTS(NO_ROUTE) },
	{ "ip4_blackhole_drops", { .dst = "10.20.0.1" }, DROPS(BLACKHOLE) },
	{ "ip4_blackhole_ttl_1_drops", { .dst = "10.20.0.1", .ttl = 1 }, DROPS(BLACKHOLE) },
	{ "ip4_unreachable_punts", { .dst = "10.21.0.1" }, PUNTS(UNREACHABLE) },
	{ "ip4_unresolved_neighbour_punts", { .dst = "10.22.0.1" }, PUNTS(NEIGHBOUR) },
	{ "ip4_local_punts", { .dst = "10.23.0.1" }, PUNTS(LOCAL) },
	{ "ip4_local_ttl_1_punts_as_local", { .dst = "10.23.0.1", .ttl = 1 }, PUNTS(LOCAL) },
	{ "ip4_egress_not_a_port_punts_untouched", { .dst = "10.8.0.1" }, PUNTS(NOT_A_PORT) },
	{ "ip4_at_egress_mtu_forwards",
	  { .dst = "10.3.0.1", .payload_bytes = 1280 - 20 },
	  FORWARD_BY(SMALL) },
	{ "ip4_above_egress_mtu_punts",
	  { .dst = "10.3.0.1", .payload_bytes = 1281 - 20 },
	  PUNTS(TOO_BIG) },
	{ "ip4_padding_does_not_count_for_mtu",
	  { .dst = "10.3.0.1", .payload_bytes = 1280 - 20, .padding_bytes = 40 },
	  FORWARD_BY(SMALL) },

	/* --- what the ingress interface says --- */
	{ "ip4_forwarding_off_punts", {}, PUNTS(FORWARDING_OFF), .port_flags = SL_PORT_FORWARD6 },
	{ "ip4_policy_punts", {}, PUNTS(POLICY), .port_flags = BOTH | SL_PORT_PUNT4 },
	{ "ip4_policy_of_ip6_forwards", {}, FORWARD_BY(PLAIN), .port_flags = BOTH | SL_PORT_PUNT6 },
	{ "ip4_hairpin_forwards", { .dst = "10.7.0.1" }, FORWARD_BY(HAIRPIN) },
	{ "ip4_hairpin_with_redirects_punts",
	  { .dst = "10.7.0.1" },
	  PUNTS(REDIRECT),
	  .port_flags = BOTH | SL_PORT_REDIRECT4 },
	{ "ip4_hairpin_with_redirects_of_ip6_forwards",
	  { .dst = "10.7.0.1" },
	  FORWARD_BY(HAIRPIN),
	  .port_flags = BOTH | SL_PORT_REDIRECT6 },
	{ "ip4_rp_strict_source_here_forwards",
	  {},
	  FORWARD_BY(PLAIN),
	  .port_flags = BOTH | SL_PORT_RP_STRICT },
	{ "ip4_rp_strict_source_elsewhere_punts",
	  { .src = "10.2.0.7" },
	  PUNTS(RP_FILTER),
	  .port_flags = BOTH | SL_PORT_RP_STRICT },
	{ "ip4_rp_strict_source_without_route_punts",
	  { .src = "192.0.2.1" },
	  PUNTS(RP_FILTER),
	  .port_flags = BOTH | SL_PORT_RP_STRICT },
	{ "ip4_rp_strict_source_by_any_member_forwards",
	  { .src = "10.25.0.1" },
	  FORWARD_BY(PLAIN),
	  .port_flags = BOTH | SL_PORT_RP_STRICT },
	{ "ip4_rp_strict_source_by_no_member_punts",
	  { .src = "10.24.0.1" },
	  PUNTS(RP_FILTER),
	  .port_flags = BOTH | SL_PORT_RP_STRICT },
	{ "ip4_rp_loose_source_elsewhere_forwards",
	  { .src = "10.2.0.7" },
	  FORWARD_BY(PLAIN),
	  .port_flags = BOTH | SL_PORT_RP_LOOSE },
	{ "ip4_rp_loose_source_by_group_forwards",
	  { .src = "10.24.0.1" },
	  FORWARD_BY(PLAIN),
	  .port_flags = BOTH | SL_PORT_RP_LOOSE },
	{ "ip4_rp_loose_source_without_route_punts",
	  { .src = "192.0.2.1" },
	  PUNTS(RP_FILTER),
	  .port_flags = BOTH | SL_PORT_RP_LOOSE },
	{ "ip4_rp_loose_source_blackholed_punts",
	  { .src = "10.20.0.1" },
	  PUNTS(RP_FILTER),
	  .port_flags = BOTH | SL_PORT_RP_LOOSE },
	{ "ip4_unknown_ingress_interface_punts", {}, PUNTS(NOT_READY), .ingress = 1 },

	/* --- the link layer --- */
	{ "eth_other_station_drops", { .dst_mac = 0x0200000000ee }, DROPS(ETH_NOT_OURS) },
	{ "eth_broadcast_punts", { .dst_mac = 0xffffffffffff }, PUNTS(MULTICAST) },
	{ "eth_multicast_punts", { .dst_mac = 0x01005e000001 }, PUNTS(MULTICAST) },
	{ "eth_arp_punts", { .ethertype = ETH_P_ARP }, PUNTS(NOT_IP) },
	{ "eth_arp_broadcast_punts",
	  { .ethertype = ETH_P_ARP, .dst_mac = 0xffffffffffff },
	  PUNTS(NOT_IP) },
	{ "eth_mpls_punts", { .ethertype = ETH_P_MPLS_UC }, PUNTS(NOT_IP) },
	{ "eth_length_field_punts", { .ethertype = 46 }, PUNTS(NOT_IP) },
};

int main(void)
{
	return edge_run_cases(cases, sizeof(cases) / sizeof(cases[0]));
}
