/* SPDX-License-Identifier: BSD-2-Clause */
/* `show ports`: the edge ports of this node, with what their drivers and XDP counted. */
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "user/show/json_values.h"
#include "user/show/show.h"

/*
 * The counters of a netdev's driver. /proc/net/dev has 64 bits, and the netdevs of this network
 * namespace.
 */
static void put_statistics(json_t *row, const char *name)
{
	unsigned long long n[16];
	FILE *file = fopen("/proc/self/net/dev", "re");
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		const char *at = line + strspn(line, " ");
		size_t len = strlen(name);

		if (strncmp(at, name, len) != 0 || at[len] != ':' ||
		    sscanf(at + len + 1,
			   "%llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu "
			   "%llu",
			   &n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &n[6], &n[7], &n[8], &n[9],
			   &n[10], &n[11], &n[12], &n[13], &n[14], &n[15]) != 16)
			continue;
		json_object_update_new(
			row, json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "rx_packets",
				       (json_int_t)n[1], "rx_bytes", (json_int_t)n[0], "rx_dropped",
				       (json_int_t)(n[2] + n[3]), "tx_packets", (json_int_t)n[9],
				       "tx_bytes", (json_int_t)n[8], "tx_dropped",
				       (json_int_t)(n[10] + n[11])));
		break;
	}
	if (file)
		fclose(file);
}

/* Is the netdev set up, and has it a carrier? */
static bool has_link(int fd, const char *name)
{
	struct ifreq flags = { 0 };

	memcpy(flags.ifr_name, name, sizeof(flags.ifr_name));
	return !ioctl(fd, SIOCGIFFLAGS, &flags) && flags.ifr_flags & IFF_UP &&
	       flags.ifr_flags & IFF_RUNNING;
}

/* What the fast path has dropped of what entered by the netdev. */
static void put_drops(json_t *row, const struct sl_router *router, uint32_t ifindex)
{
	const int fd = sl_datapath_map_fd(sl_router_datapath(router), "sl_port_drops");
	struct sl_counter dropped;

	if (!sl_port_drops_read(fd, ifindex, &dropped))
		json_object_update_new(row, json_pack("{s:I, s:I}", "dropped_packets",
						      (json_int_t)dropped.packets, "dropped_bytes",
						      (json_int_t)dropped.bytes));
}

static json_t *port_row(const struct sl_router *router, const struct sl_edge_port *port, int fd)
{
	struct ifreq mac = { 0 }, mtu = { 0 };
	json_t *row = json_pack(
		"{s:s, s:i, s:s, s:s, s:b, s:b, s:b}", "port", port->name, "ifindex",
		(int)port->ifindex, "state", sl_port_state_name(port->state), "mode",
		sl_xdp_mode_name(port->mode), "up", port->ifindex && has_link(fd, port->name),
		"transmits", port->transmits, "configured", port->configured);

	if (!row || !port->ifindex)
		return row;
	memcpy(mac.ifr_name, port->name, sizeof(mac.ifr_name));
	memcpy(mtu.ifr_name, port->name, sizeof(mtu.ifr_name));
	if (!ioctl(fd, SIOCGIFHWADDR, &mac))
		json_object_set_new(row, "mac",
				    sl_json_mac((const uint8_t *)mac.ifr_hwaddr.sa_data));
	if (!ioctl(fd, SIOCGIFMTU, &mtu))
		json_object_set_new(row, "mtu_bytes", json_integer(mtu.ifr_mtu));
	put_statistics(row, port->name);
	put_drops(row, router, port->ifindex);
	return row;
}

json_t *sl_ports_json(const struct sl_router *router)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	json_t *rows = json_array();

	for (uint32_t i = 0; i < sl_router_ports(router)->n; i++)
		json_array_append_new(rows,
				      port_row(router, &sl_router_ports(router)->port[i], fd));
	if (fd >= 0)
		close(fd);
	return rows;
}
