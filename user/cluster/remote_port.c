/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/ethtool.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>

#include "user/lib/log.h"
#include "user/cluster/remote_port.h"

#define IPV6_MTU_MIN 1280 /* RFC 8200 section 5: no IPv6 on a link with less */

/* The alias marks a TAP as ours: other programs make TAPs, too. */
#define ALIAS_PREFIX "sluice: "

/*
 * The owner's kernel resolves neighbours. This kernel therefore asks the daemon (by a message
 * RTM_GETNEIGH) three times, a second apart, and sends no ARP or ND itself. It makes no link-local
 * address, so it neither checks nor announces one.
 */
static const struct {
	const char *directory, *file, *value;
} settings[] = {
	{ "ipv4/neigh", "app_solicit", "3" },
	{ "ipv4/neigh", "ucast_solicit", "0" },
	{ "ipv4/neigh", "mcast_solicit", "0" },
	{ "ipv6/neigh", "app_solicit", "3" },
	{ "ipv6/neigh", "ucast_solicit", "0" },
	{ "ipv6/neigh", "mcast_solicit", "0" },
	{ "ipv4/conf", "ignore_routes_with_linkdown", "1" },
	{ "ipv6/conf", "ignore_routes_with_linkdown", "1" },
	{ "ipv6/conf", "addr_gen_mode", "1" },
	{ "ipv6/conf", "accept_ra", "0" },
};

static void write_settings(const char *name)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		char path[128];
		int fd;

		snprintf(path, sizeof(path), "/proc/sys/net/%s/%s/%s", settings[i].directory, name,
			 settings[i].file);
		fd = open(path, O_WRONLY | O_CLOEXEC);
		if (fd < 0 && errno == ENOENT)
			continue; /* this kernel has no IPv6 */
		if (fd < 0 || write(fd, settings[i].value, 1) != 1)
			sl_warning("%s: cannot write %s to \"%s\": %s", name, settings[i].value,
				   path, strerror(errno));
		if (fd >= 0)
			close(fd);
	}
}

bool sl_remote_port_is_ours(const char *name)
{
	char path[64], alias[sizeof(ALIAS_PREFIX)] = "";
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/sys/class/net/%s/ifalias", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, alias, sizeof(ALIAS_PREFIX) - 1);
	close(fd);
	return n == sizeof(ALIAS_PREFIX) - 1 && memcmp(alias, ALIAS_PREFIX, (size_t)n) == 0;
}

static int create(const char *name)
{
	struct ifreq request = { .ifr_flags = IFF_TAP | IFF_NO_PI };
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	memcpy(request.ifr_name, name, sizeof(request.ifr_name));
	if (ioctl(fd, TUNSETIFF, &request) || ioctl(fd, TUNSETPERSIST, 1))
		err = -errno;
	close(fd);
	return err;
}

static int make(struct sl_remote_port *port, struct sl_rtnl_request *requests)
{
	char alias[64];
	uint32_t ifindex = if_nametoindex(port->name);
	int err;

	if (ifindex && !sl_remote_port_is_ours(port->name))
		return -EEXIST;
	if (!ifindex) {
		err = create(port->name);
		if (err)
			return err;
		ifindex = if_nametoindex(port->name);
		if (!ifindex)
			return -errno;
	}
	write_settings(port->name);
	snprintf(alias, sizeof(alias), ALIAS_PREFIX "port %u of node %u", port->system_port & 0xff,
		 port->system_port >> 8);
	err = sl_rtnl_link_change(requests, ifindex,
				  &(struct sl_link_change){ .alias = alias, .up = true });
	if (!err)
		port->ifindex = ifindex;
	return err;
}

int sl_remote_port_make(struct sl_remote_port *port, struct sl_rtnl_request *requests, bool *made)
{
	int err;

	*made = false;
	if (port->ifindex && if_nametoindex(port->name) == port->ifindex)
		return 0;
	port->ifindex = 0;
	port->mtu_bytes = 0;
	err = make(port, requests);
	*made = !err;
	if (err && !port->refused)
		sl_error("%s: cannot make the remote port: %s", port->name,
			 err == -EEXIST ? "another netdev has this name; rename that one"
					: strerror(-err));
	port->refused = err;
	return err;
}

void sl_remote_port_set(struct sl_remote_port *port, struct sl_rtnl_request *requests,
			const uint8_t mac[6], uint32_t mtu_bytes)
{
	struct sl_link_change change = { .mtu_bytes = mtu_bytes, .mac = mac };
	int err;

	if (!port->ifindex ||
	    (port->mtu_bytes == mtu_bytes && memcmp(port->mac, mac, sizeof(port->mac)) == 0))
		return;
	err = sl_rtnl_link_change(requests, port->ifindex, &change);
	if (err)
		sl_error("%s: cannot set MTU %u and MAC address: %s", port->name, mtu_bytes,
			 strerror(-err));
	else if (mtu_bytes < IPV6_MTU_MIN &&
		 (port->mtu_bytes == 0 || port->mtu_bytes >= IPV6_MTU_MIN))
		sl_warning("%s: MTU %u, by the port or by the fabric's messages; below %u, this "
			   "node's kernel has no IPv6 there",
			   port->name, mtu_bytes, IPV6_MTU_MIN);
	/* IPv6 comes back with the kernel's own settings. */
	if (!err && port->mtu_bytes < IPV6_MTU_MIN && mtu_bytes >= IPV6_MTU_MIN)
		write_settings(port->name);
	port->mtu_bytes = mtu_bytes;
	memcpy(port->mac, mac, sizeof(port->mac));
}
