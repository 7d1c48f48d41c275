// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fnmatch.h>
#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netns-lab/gen/device.h"

static int request(const char *name, unsigned long what, struct ifreq *ifr)
{
	int fd, err = 0;

	if (strlen(name) >= IFNAMSIZ)
		return -ENODEV;
	memcpy(ifr->ifr_name, name, strlen(name) + 1);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, what, ifr) < 0)
		err = -errno;
	close(fd);
	return err;
}

static int ethtool(const char *name, void *data)
{
	struct ifreq ifr = { .ifr_data = data };

	return request(name, SIOCETHTOOL, &ifr);
}

int device_mac(const char *name, uint8_t mac[6])
{
	struct ifreq ifr = { 0 };
	int err = request(name, SIOCGIFHWADDR, &ifr);

	if (!err)
		memcpy(mac, ifr.ifr_hwaddr.sa_data, 6);
	return err;
}

int device_mtu(const char *name, uint32_t *mtu)
{
	struct ifreq ifr = { 0 };
	int err = request(name, SIOCGIFMTU, &ifr);

	if (!err)
		*mtu = ifr.ifr_mtu;
	return err;
}

int device_rx_queues(const char *name, uint32_t *n)
{
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };
	int err = ethtool(name, &channels);

	if (!err)
		*n = channels.rx_count + channels.combined_count;
	return err;
}

int device_address(const char *name, int family, uint8_t addr[16])
{
	struct ifaddrs *all, *a;
	int err = -ENOENT;

	if (getifaddrs(&all) < 0)
		return -errno;
	for (a = all; a; a = a->ifa_next) {
		if (!a->ifa_addr || a->ifa_addr->sa_family != family || strcmp(a->ifa_name, name))
			continue;
		memset(addr, 0, 16);
		if (family == AF_INET) {
			struct sockaddr_in *in = (void *)a->ifa_addr;

			memcpy(addr, &in->sin_addr, 4);
		} else {
			struct sockaddr_in6 *in6 = (void *)a->ifa_addr;

			if (IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr))
				continue;
			memcpy(addr, &in6->sin6_addr, 16);
		}
		err = 0;
		break;
	}
	freeifaddrs(all);
	return err;
}

int device_xdp_xmit(const char *name, uint64_t *taken, uint64_t *refused)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	struct ethtool_gstrings *names = NULL;
	struct ethtool_stats *values = NULL;
	int err = ethtool(name, &info), found = 0;

	if (err)
		return err;
	names = calloc(1, sizeof(*names) + (size_t)info.n_stats * ETH_GSTRING_LEN);
	values = calloc(1, sizeof(*values) + (size_t)info.n_stats * sizeof(values->data[0]));
	if (!names || !values) {
		err = -ENOMEM;
		goto out;
	}
	names->cmd = ETHTOOL_GSTRINGS;
	names->string_set = ETH_SS_STATS;
	names->len = info.n_stats;
	values->cmd = ETHTOOL_GSTATS;
	values->n_stats = info.n_stats;
	err = ethtool(name, names);
	if (!err)
		err = ethtool(name, values);
	if (err)
		goto out;

	*taken = *refused = 0;
	for (uint32_t i = 0; i < info.n_stats; i++) {
		const char *stat = (const char *)names->data + (size_t)i * ETH_GSTRING_LEN;

		if (!fnmatch("tx_queue_*_xdp_xmit", stat, 0)) {
			*taken += values->data[i];
			found = 1;
		} else if (!fnmatch("tx_queue_*_xdp_xmit_errors", stat, 0)) {
			*refused += values->data[i];
		}
	}
	if (!found)
		err = -EOPNOTSUPP;
out:
	free(names);
	free(values);
	return err;
}
