/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bpf/abi/chain_header.h"
#include "elements/worker/chain_netdevs.h"
#include "user/lib/log.h"
#include "user/rtnl/rtnl_request.h"

#define MTU_BYTES 3400 /* a veth with XDP has pages of 4,096 bytes, less headroom and skb */

/* Write a setting of the router's end. Kernels without that family have none. */
static void set(const char *family, const char *name, const char *value)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "/proc/sys/net/%s/conf/" SL_CHAIN_NETDEV "/%s", family, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return;
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		sl_warning("cannot write \"%s\" to %s: %s", value, path, strerror(errno));
	if (fd >= 0)
		close(fd);
}

static int read_mac(const char *netdev, uint8_t mac[6])
{
	struct ifreq request = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", netdev);
	if (fd < 0 || ioctl(fd, SIOCGIFHWADDR, &request))
		err = -errno;
	else
		memcpy(mac, request.ifr_hwaddr.sa_data, 6);
	if (fd >= 0)
		close(fd);
	return err;
}

static int bring_up(struct sl_rtnl_request *requests, const char *netdev, uint32_t *ifindex,
		    uint8_t mac[6])
{
	const struct sl_link_change change = { .mtu_bytes = MTU_BYTES, .up = true };
	int err;

	*ifindex = if_nametoindex(netdev);
	if (!*ifindex)
		return -errno;
	err = sl_rtnl_link_change(requests, *ifindex, &change);
	return err ? err : read_mac(netdev, mac);
}

int el_chain_netdevs_open(struct el_chain_netdevs *out)
{
	struct sl_rtnl_request *requests;
	int err = sl_rtnl_request_open(&requests);

	*out = (struct el_chain_netdevs){ 0 };
	if (!err)
		err = sl_rtnl_veth_add(requests, SL_CHAIN_NETDEV, SL_CHAIN_WORKER_NETDEV);
	if (err == -EEXIST) /* of a process that has crashed */
		err = 0;
	if (!err) {
		set("ipv4", "accept_local", "1");
		set("ipv4", "rp_filter", "0");
		err = bring_up(requests, SL_CHAIN_WORKER_NETDEV, &out->worker_ifindex,
			       out->worker_mac);
	}
	if (!err)
		err = bring_up(requests, SL_CHAIN_NETDEV, &out->router_ifindex, out->router_mac);
	if (err)
		sl_error("cannot make the netdevs " SL_CHAIN_NETDEV " and " SL_CHAIN_WORKER_NETDEV
			 ": %s%s",
			 strerror(-err), err == -EPERM ? "; that takes CAP_NET_ADMIN" : "");
	sl_rtnl_request_close(requests);
	return err;
}

void el_chain_netdevs_delete(const struct el_chain_netdevs *netdevs)
{
	struct sl_rtnl_request *requests;

	if (!netdevs->router_ifindex || sl_rtnl_request_open(&requests))
		return;
	sl_rtnl_link_delete(requests, netdevs->router_ifindex);
	sl_rtnl_request_close(requests);
}
