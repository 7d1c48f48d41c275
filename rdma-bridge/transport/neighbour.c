/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/transport/neighbour.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include "rdma-bridge/transport/roce.h"
#include "user/rtnl/rtnl.h"
#include "user/rtnl/rtnl_socket.h"

struct search {
	uint32_t ifindex;
	uint8_t family;
	uint8_t addr[16];
	uint8_t *mac;
	bool found;
};

static void compare(void *arg, const struct nlmsghdr *nlh)
{
	const uint16_t usable = NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT;
	struct search *s = arg;
	struct sl_rtnl_neigh neigh;

	if (sl_rtnl_parse_neigh(nlh, &neigh) || neigh.ifindex != s->ifindex ||
	    neigh.family != s->family || neigh.mac_bytes != 6 || !(neigh.state & usable) ||
	    memcmp(neigh.addr, s->addr, s->family == AF_INET ? 4 : 16) != 0)
		return;
	memcpy(s->mac, neigh.mac, 6);
	s->found = true;
}

int rb_neighbour_mac(uint32_t ifindex, const uint8_t address[16], uint8_t mac[6])
{
	bool v4 = rb_ip_is_v4(address);
	struct search s = { .ifindex = ifindex, .family = v4 ? AF_INET : AF_INET6, .mac = mac };
	struct sl_rtnl_socket *socket;
	int err = sl_rtnl_open(&socket);

	if (err)
		return err;
	memcpy(s.addr, v4 ? address + 12 : address, v4 ? 4 : 16);
	err = sl_rtnl_dump(socket, RTM_GETNEIGH, s.family, ifindex, compare, &s);
	sl_rtnl_close(socket);
	if (s.found)
		return 0;
	return err && err != -EINTR ? err : -ENOENT;
}
