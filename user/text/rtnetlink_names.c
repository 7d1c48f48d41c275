/* SPDX-License-Identifier: BSD-2-Clause */
#include <glob.h>
#include <limits.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

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

/* By number; empty: this system has no name of its own. */
static char protocol_names[256][SL_NAME_BYTES];

static void read_protocols(const char *path)
{
	FILE *f = fopen(path, "re");
	char line[256], name[SL_NAME_BYTES];
	int number;

	if (!f)
		return;
	/* The format has the width of a name less its end. */
	while (fgets(line, sizeof(line), f))
		if (line[0] != '#' && sscanf(line, "%i %15s", &number, name) == 2 && number >= 0 &&
		    number < 256)
			memcpy(protocol_names[number], name, sizeof(name));
	fclose(f);
}

void sl_route_protocol_names_read(const char *directory)
{
	char path[PATH_MAX];
	glob_t files;

	snprintf(path, sizeof(path), "%s/rt_protos", directory);
	read_protocols(path);
	snprintf(path, sizeof(path), "%s/rt_protos.d/*.conf", directory);
	if (glob(path, 0, NULL, &files))
		return;
	for (size_t i = 0; i < files.gl_pathc; i++)
		read_protocols(files.gl_pathv[i]);
	globfree(&files);
}

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

	if (protocol_names[protocol][0])
		return protocol_names[protocol];
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
