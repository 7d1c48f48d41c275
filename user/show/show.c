/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of commands, and the short answers. */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "user/text/prefix.h"
#include "user/show/show.h"

json_t *sl_json_addr(uint8_t family, const uint8_t *addr)
{
	char text[SL_PREFIX_STRLEN];

	return family ? json_string(sl_addr_format(family, addr, text)) : json_null();
}

json_t *sl_json_mac(const uint8_t mac[6])
{
	return json_sprintf("%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4],
			    mac[5]);
}

json_t *sl_json_ifname(uint32_t ifindex)
{
	char name[IF_NAMESIZE];

	if (!ifindex)
		return json_null();
	return if_indextoname(ifindex, name) ? json_string(name) : json_sprintf("if%u", ifindex);
}

/* --- Ports --- */

/*
 * What the kernel's driver counted of a netdev: /proc/net/dev has it in 64 bits, for this network
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

static json_t *port_row(const struct sl_edge_port *port, int fd)
{
	struct ifreq mac = { 0 }, mtu = { 0 };
	json_t *row =
		json_pack("{s:s, s:i, s:s, s:s, s:b, s:b, s:b}", "port", port->name, "ifindex",
			  (int)port->ifindex, "state", sl_port_state_name(port->state), "mode",
			  sl_xdp_mode_name(port->mode), "up", port->up, "transmits",
			  port->transmits, "configured", port->configured);

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
	return row;
}

json_t *sl_ports_json(const struct sl_router *router)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	json_t *rows = json_array();

	for (uint32_t i = 0; i < sl_router_ports(router)->n; i++)
		json_array_append_new(rows, port_row(&sl_router_ports(router)->port[i], fd));
	if (fd >= 0)
		close(fd);
	return rows;
}

/* Takes the reference to the rows. */
static void put_rows(json_t *rows, struct sl_ctl_answer *answer)
{
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
		sl_ctl_put(answer, json_incref(row));
	json_decref(rows);
}

void sl_show_ports(const struct sl_router *router, struct sl_ctl_answer *answer)
{
	put_rows(sl_ports_json(router), answer);
}

/* --- Counters --- */

int sl_router_counters(const struct sl_router *router, struct sl_counters *out)
{
	const struct sl_datapath *dp = sl_router_datapath(router);

	return sl_counters_read(sl_datapath_map_fd(dp, "sl_stats"),
				sl_datapath_map_fd(dp, "sl_drops"),
				sl_datapath_map_fd(dp, "sl_punts"), out);
}

static void show_counters(const struct sl_router *router,
			  json_t *(*make)(const struct sl_counters *), struct sl_ctl_answer *answer)
{
	struct sl_counters counters;
	int err = sl_router_counters(router, &counters);

	if (err)
		sl_ctl_fail(answer, "cannot read the counters: %s", strerror(-err));
	else
		put_rows(make(&counters), answer);
}

/* --- Commands --- */

static const char *argument(const json_t *request, const char *name)
{
	return json_string_value(json_object_get(request, name));
}

static void run_status(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	(void)request;
	sl_show_status(ctx, answer);
}

static void run_show(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const char *what = argument(request, "what");

	if (what && strcmp(what, "ports") == 0)
		sl_show_ports(ctx, answer);
	else if (what && strcmp(what, "counters") == 0)
		show_counters(ctx, sl_counter_rows, answer);
	else if (what && strcmp(what, "drops") == 0)
		show_counters(ctx, sl_counter_reason_rows, answer);
	else if (what && strcmp(what, "cluster") == 0)
		sl_show_cluster(ctx, answer);
	else if (what && strcmp(what, "system-ports") == 0)
		sl_show_system_ports(ctx, answer);
	else
		sl_ctl_fail(answer, "\"what\" is not one of ports, counters, drops, cluster, "
				    "system-ports");
}

static void run_list(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const char *what = argument(request, "what"), *text = argument(request, "prefix");
	struct sl_prefix within;

	if (what && strcmp(what, "nexthops") == 0)
		sl_show_nexthops(ctx, answer);
	else if (what && strcmp(what, "neighbours") == 0)
		sl_show_neighbours(ctx, answer);
	else if (!what || strcmp(what, "routes") != 0)
		sl_ctl_fail(answer, "\"what\" is not one of routes, nexthops, neighbours");
	else if (!text)
		sl_show_routes(ctx, NULL, answer);
	else if (sl_prefix_parse(text, &within))
		sl_ctl_fail(answer,
			    "\"%.64s\" is not a prefix: write an address, or one with /LENGTH "
			    "and no bits set beyond it",
			    text);
	else
		sl_show_routes(ctx, &within, answer);
}

static void run_explain(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const char *text = argument(request, "address");
	uint8_t family, addr[16];

	if (!text || sl_addr_parse(text, &family, addr))
		sl_ctl_fail(answer, "\"%.64s\" is not an IPv4 or IPv6 address", text ? text : "");
	else
		sl_show_explain(ctx, family, addr, answer);
}

static void port_result(struct sl_ctl_answer *answer, const char *port, int err)
{
	if (err == -ENODEV)
		sl_ctl_fail(answer,
			    "\"%.32s\" is not a netdev here: write one that `ip link` shows", port);
	else if (err == -EADDRINUSE)
		sl_ctl_fail(answer,
			    "%.32s is the fabric of this cluster, which needs it for itself", port);
	else if (err == -ENOENT)
		sl_ctl_fail(answer,
			    "\"%.32s\" is not a port of the fast path: write one that "
			    "`sluice show ports` shows",
			    port);
	else if (err == -EBUSY)
		sl_ctl_fail(answer,
			    "%.32s: another XDP program is attached; if it may go: ip link "
			    "set dev %.32s xdp off",
			    port, port);
	else if (err)
		sl_ctl_fail(answer, "%.32s: %s (the daemon's log says more)", port, strerror(-err));
}

static void run_attach(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const char *port = argument(request, "port");

	port_result(answer, port ? port : "", port ? sl_router_attach(ctx, port) : -ENODEV);
}

static void run_detach(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const char *port = argument(request, "port");

	port_result(answer, port ? port : "", port ? sl_router_detach(ctx, port) : -ENODEV);
}

const struct sl_ctl_command sl_commands[] = {
	{ "status", false, run_status }, { "show", false, run_show },
	{ "list", true, run_list },	 { "explain", true, run_explain },
	{ "attach", false, run_attach }, { "detach", false, run_detach },
	{ NULL, false, NULL },
};
