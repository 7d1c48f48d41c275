// SPDX-License-Identifier: BSD-2-Clause
/*
 * Frames of more than one buffer through sl_edge_frags. The world that the cases live in is drawn
 * in tests/lib/edge_case.h; EDGE_JUMBO has an MTU of 9000.
 */
#include <linux/if_ether.h>

#include "tests/lib/edge_case.h"

#define TO_JUMBO4 .dst = "10.4.0.1"
#define TO_JUMBO6 .ip6 = true, .dst = "2001:db8:4::1"

static const struct edge_case cases[] = {
	{ "jumbo_ip4_at_mtu_forwards",
	  { TO_JUMBO4, .payload_bytes = 9000 - 20 },
	  FORWARD_BY(JUMBO),
	  .jumbo = true },
	{ "jumbo_ip4_above_mtu_punts",
	  { TO_JUMBO4, .payload_bytes = 9001 - 20 },
	  PUNTS(TOO_BIG),
	  .jumbo = true },
	{ "jumbo_ip4_to_small_port_punts",
	  { .payload_bytes = 8000 },
	  PUNTS(TOO_BIG),
	  .jumbo = true },
	{ "jumbo_ip4_trailer_is_removed",
	  { TO_JUMBO4, .payload_bytes = 8000, .padding_bytes = 300 },
	  FORWARD_BY(JUMBO),
	  .jumbo = true },
	{ "jumbo_ip4_trailer_of_whole_buffers_is_removed",
	  { .payload_bytes = 100, .padding_bytes = 8800 },
	  FORWARD_BY(PLAIN),
	  .jumbo = true },
	{ "jumbo_ip4_total_length_beyond_frame_drops",
	  { TO_JUMBO4, .payload_bytes = 8000, .cut_bytes = 8033 },
	  DROPS(IP4_TOTAL_LENGTH),
	  .jumbo = true },
	{ "jumbo_ip4_checksum_drops",
	  { TO_JUMBO4, .payload_bytes = 8000, .checksum_error = 1 },
	  DROPS(IP4_CHECKSUM),
	  .jumbo = true },
	{ "jumbo_ip4_tag_is_removed",
	  { TO_JUMBO4, .dst_mac = EDGE_VLAN1_MAC, .tag = { { ETH_P_8021Q, 100 } },
	    .payload_bytes = 8000 },
	  FORWARD_BY(JUMBO),
	  .jumbo = true },
	{ "jumbo_ip6_at_mtu_forwards",
	  { TO_JUMBO6, .payload_bytes = 9000 - 40 },
	  FORWARD_BY(JUMBO),
	  .jumbo = true },
	{ "jumbo_ip6_above_mtu_punts",
	  { TO_JUMBO6, .payload_bytes = 9001 - 40 },
	  PUNTS(TOO_BIG),
	  .jumbo = true },
	{ "jumbo_ip6_payload_length_beyond_frame_drops",
	  { TO_JUMBO6, .payload_bytes = 8000, .cut_bytes = 8053 },
	  DROPS(IP6_PAYLOAD_LENGTH),
	  .jumbo = true },
	{ "jumbo_ip6_tags_are_written",
	  { .ip6 = true, .dst = "2001:db8:6::1", .payload_bytes = 1400, .padding_bytes = 6000 },
	  FORWARD_BY(TAG2),
	  .tables_only = true,
	  .jumbo = true },
};

int main(void)
{
	return edge_run_cases(cases, sizeof(cases) / sizeof(cases[0]));
}
