/* SPDX-License-Identifier: BSD-2-Clause */
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <stdio.h>

#include "user/text/rtnetlink_names.h"

struct name {
	uint32_t number;
	const char *text;
};

static const char *find(const struct name *names, size_t n, uint32_t number, char *buf)
{
	for (size_t i = 0; i < n; i++)
		if (names[i].number == number)
			return names[i].text;
	snprintf(buf, SL_NAME_BYTES, "%u", number);
	return buf;
}
#define FIND(names, number, buf) find(names, sizeof(names) / sizeof(names[0]), number, buf)

const char *sl_route_protocol_name(uint8_t protocol, char buf[SL_NAME_BYTES])
{
	static const struct name names[] = {
		{ RTPROT_UNSPEC, "unspec" },
		{ RTPROT_REDIRECT, "redirect" },
		{ RTPROT_KERNEL, "kernel" },
		{ RTPROT_BOOT, "boot" },
		{ RTPROT_STATIC, "static" },
		{ RTPROT_GATED, "gated" },
		{ RTPROT_RA, "ra" },
		{ RTPROT_MRT, "mrt" },
		{ RTPROT_ZEBRA, "zebra" },
		{ RTPROT_BIRD, "bird" },
		{ RTPROT_DNROUTED, "dnrouted" },
		{ RTPROT_XORP, "xorp" },
		{ RTPROT_NTK, "ntk" },
		{ RTPROT_DHCP, "dhcp" },
		{ RTPROT_MROUTED, "mrouted" },
		{ RTPROT_KEEPALIVED, "keepalived" },
		{ RTPROT_BABEL, "babel" },
		{ RTPROT_OPENR, "openr" },
		{ RTPROT_BGP, "bgp" },
		{ RTPROT_ISIS, "isis" },
		{ RTPROT_OSPF, "ospf" },
		{ RTPROT_RIP, "rip" },
		{ RTPROT_EIGRP, "eigrp" },
	};

	return FIND(names, protocol, buf);
}

const char *sl_route_type_name(uint8_t type, char buf[SL_NAME_BYTES])
{
	static const struct name names[] = {
		{ RTN_UNSPEC, "none" },
		{ RTN_UNICAST, "unicast" },
		{ RTN_LOCAL, "local" },
		{ RTN_BROADCAST, "broadcast" },
		{ RTN_ANYCAST, "anycast" },
		{ RTN_MULTICAST, "multicast" },
		{ RTN_BLACKHOLE, "blackhole" },
		{ RTN_UNREACHABLE, "unreachable" },
		{ RTN_PROHIBIT, "prohibit" },
		{ RTN_THROW, "throw" },
		{ RTN_NAT, "nat" },
		{ RTN_XRESOLVE, "xresolve" },
	};

	return FIND(names, type, buf);
}

const char *sl_route_table_name(uint32_t table, char buf[SL_NAME_BYTES])
{
	static const struct name names[] = {
		{ RT_TABLE_DEFAULT, "default" },
		{ RT_TABLE_MAIN, "main" },
		{ RT_TABLE_LOCAL, "local" },
	};

	return FIND(names, table, buf);
}

const char *sl_neighbour_state_name(uint16_t state, char buf[SL_NAME_BYTES])
{
	static const struct name names[] = {
		{ NUD_NONE, "NONE" },		{ NUD_INCOMPLETE, "INCOMPLETE" },
		{ NUD_REACHABLE, "REACHABLE" }, { NUD_STALE, "STALE" },
		{ NUD_DELAY, "DELAY" },		{ NUD_PROBE, "PROBE" },
		{ NUD_FAILED, "FAILED" },	{ NUD_NOARP, "NOARP" },
		{ NUD_PERMANENT, "PERMANENT" },
	};

	return FIND(names, state, buf);
}
