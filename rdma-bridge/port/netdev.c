/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/port/netdev.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>

static int ask(int fd, const char *name, unsigned long what, struct ifreq *request)
{
	size_t len = strnlen(name, IFNAMSIZ);

	memset(request->ifr_name, 0, IFNAMSIZ);
	memcpy(request->ifr_name, name, len < IFNAMSIZ ? len : IFNAMSIZ - 1);
	return ioctl(fd, what, request) ? -errno : 0;
}

/* Read the line of an attribute in sysfs, without its end. False: there is none. */
static bool read_attribute(const char *name, const char *attribute, char *out, int size)
{
	char path[64];
	FILE *file;
	bool found;

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", name, attribute);
	file = fopen(path, "re");
	found = file && fgets(out, size, file);
	if (file)
		fclose(file);
	if (found)
		out[strcspn(out, "\n")] = '\0';
	return found;
}

/* A sysfs that was mounted in another network namespace may have a netdev of the same name. */
static bool sysfs_knows(const char *name, const struct rb_netdev *netdev)
{
	const uint8_t *mac = netdev->mac;
	char text[32], expected[32];

	snprintf(expected, sizeof(expected), "%u", netdev->ifindex);
	if (!read_attribute(name, "ifindex", text, sizeof(text)) || strcmp(text, expected) != 0)
		return false;
	snprintf(expected, sizeof(expected), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1],
		 mac[2], mac[3], mac[4], mac[5]);
	return read_attribute(name, "address", text, sizeof(text)) && strcmp(text, expected) == 0;
}

bool rb_netdev_has_queue(const char *name, const struct rb_netdev *netdev, uint32_t queue)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/class/net/%s/queues/rx-%u", name, queue);
	return access(path, F_OK) == 0 && sysfs_knows(name, netdev);
}

/* The number of receive queues. A driver that has no channels has one queue, unless sysfs does. */
static uint32_t queues_of(int fd, const char *name, const struct rb_netdev *netdev)
{
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };
	struct ifreq request = { .ifr_data = (void *)&channels };
	uint32_t n = 0;

	if (!ask(fd, name, SIOCETHTOOL, &request))
		n = channels.combined_count + channels.rx_count;
	while (rb_netdev_has_queue(name, netdev, n))
		n++;
	return n ? n : 1;
}

/* What the driver says is the speed of the link, in bytes a second; 0: it does not know. */
static uint64_t speed_of(int fd, const char *name)
{
	struct ethtool_cmd settings = { .cmd = ETHTOOL_GSET };
	struct ifreq request = { .ifr_data = (void *)&settings };
	uint32_t mbps;

	if (ask(fd, name, SIOCETHTOOL, &request))
		return 0;
	mbps = ethtool_cmd_speed(&settings);
	return mbps == (uint32_t)SPEED_UNKNOWN ? 0 : mbps * UINT64_C(125000);
}

bool rb_netdev_keeps_order(const char *name)
{
	struct ethtool_drvinfo driver = { .cmd = ETHTOOL_GDRVINFO };
	struct ethtool_value tso = { .cmd = ETHTOOL_GTSO };
	struct ifreq ask_driver = { .ifr_data = (void *)&driver };
	struct ifreq ask_tso = { .ifr_data = (void *)&tso };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool overtakes;

	if (fd < 0)
		return true;
	overtakes = !ask(fd, name, SIOCETHTOOL, &ask_driver) &&
		    strncmp(driver.driver, "veth", sizeof(driver.driver)) == 0 &&
		    !ask(fd, name, SIOCETHTOOL, &ask_tso) && tso.data;
	close(fd);
	return !overtakes;
}

static int look(int fd, const char *name, struct rb_netdev *out)
{
	struct ifreq request = { 0 };
	int err;

	memset(out, 0, sizeof(*out));
	err = ask(fd, name, SIOCGIFINDEX, &request);
	if (err)
		return err;
	out->ifindex = (uint32_t)request.ifr_ifindex;
	err = ask(fd, name, SIOCGIFMTU, &request);
	if (err)
		return err;
	out->mtu_bytes = (uint32_t)request.ifr_mtu;
	err = ask(fd, name, SIOCGIFHWADDR, &request);
	if (err)
		return err;
	memcpy(out->mac, request.ifr_hwaddr.sa_data, sizeof(out->mac));
	err = ask(fd, name, SIOCGIFFLAGS, &request);
	if (err)
		return err;
	out->up = request.ifr_flags & IFF_UP;
	return 0;
}

static int query(const char *name, struct rb_netdev *out, bool whole)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	err = look(fd, name, out);
	if (!err && whole) {
		out->queues = queues_of(fd, name, out);
		out->speed_Bps = speed_of(fd, name);
	}
	close(fd);
	return err;
}

int rb_netdev_look(const char *name, struct rb_netdev *out)
{
	return query(name, out, false);
}

int rb_netdev_query(const char *name, struct rb_netdev *out)
{
	return query(name, out, true);
}
