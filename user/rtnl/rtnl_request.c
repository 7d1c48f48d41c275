/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>

#include "user/rtnl/rtnl.h"
#include "user/rtnl/rtnl_request.h"

#define REQUEST_BYTES 1024

struct sl_rtnl_request {
	struct mnl_socket *nl; /* owned */
	uint32_t seq;
	uint8_t buffer[REQUEST_BYTES];
	uint8_t answer[8192];
};

int sl_rtnl_request_open(struct sl_rtnl_request **out)
{
	struct sl_rtnl_request *r = calloc(1, sizeof(*r));
	int one = 1, err;

	*out = NULL;
	if (!r)
		return -ENOMEM;
	r->nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!r->nl || mnl_socket_bind(r->nl, 0, MNL_SOCKET_AUTOPID) < 0) {
		err = -errno;
		sl_rtnl_request_close(r);
		return err;
	}
	mnl_socket_setsockopt(r->nl, NETLINK_CAP_ACK, &one, sizeof(one));
	*out = r;
	return 0;
}

void sl_rtnl_request_close(struct sl_rtnl_request *r)
{
	if (!r)
		return;
	if (r->nl)
		mnl_socket_close(r->nl);
	free(r);
}

static struct nlmsghdr *begin(struct sl_rtnl_request *r, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(r->buffer);

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	nlh->nlmsg_seq = ++r->seq;
	return nlh;
}

/* The kernel answers a request before sendto returns: receiving never waits long. */
static int exchange(struct sl_rtnl_request *r, const struct nlmsghdr *nlh,
		    int (*on_answer)(const struct nlmsghdr *answer, void *out), void *out)
{
	ssize_t n;

	if (mnl_socket_sendto(r->nl, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	for (;;) {
		const struct nlmsghdr *answer = (const struct nlmsghdr *)r->answer;
		struct nlmsgerr error;

		n = mnl_socket_recvfrom(r->nl, r->answer, sizeof(r->answer));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (!mnl_nlmsg_ok(answer, (int)n) || answer->nlmsg_seq != r->seq)
			continue;
		if (answer->nlmsg_type != NLMSG_ERROR && on_answer && on_answer(answer, out))
			return -EPROTO;
		if (answer->nlmsg_type != NLMSG_ERROR ||
		    mnl_nlmsg_get_payload_len(answer) < sizeof(error))
			continue;
		memcpy(&error, mnl_nlmsg_get_payload(answer), sizeof(error));
		return error.error;
	}
}

static int finish(struct sl_rtnl_request *r, const struct nlmsghdr *nlh)
{
	return exchange(r, nlh, NULL, NULL);
}

static uint16_t addr_bytes(uint8_t family)
{
	return family == AF_INET ? 4 : 16;
}

/* --- Links --- */

int sl_rtnl_link_change(struct sl_rtnl_request *r, uint32_t ifindex,
			const struct sl_link_change *change)
{
	struct nlmsghdr *nlh = begin(r, RTM_NEWLINK, 0);
	struct ifinfomsg *head = mnl_nlmsg_put_extra_header(nlh, sizeof(*head));

	head->ifi_index = (int)ifindex;
	if (change->up)
		head->ifi_flags = head->ifi_change = IFF_UP;
	if (change->mac)
		mnl_attr_put(nlh, IFLA_ADDRESS, 6, change->mac);
	if (change->mtu_bytes)
		mnl_attr_put_u32(nlh, IFLA_MTU, change->mtu_bytes);
	if (change->alias)
		mnl_attr_put_str(nlh, IFLA_IFALIAS, change->alias);
	return finish(r, nlh);
}

int sl_rtnl_veth_add(struct sl_rtnl_request *r, const char *name, const char *peer)
{
	struct nlmsghdr *nlh = begin(r, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
	struct nlattr *info, *data, *other;

	mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
	mnl_attr_put_str(nlh, IFLA_IFNAME, name);
	info = mnl_attr_nest_start(nlh, IFLA_LINKINFO);
	mnl_attr_put_str(nlh, IFLA_INFO_KIND, "veth");
	data = mnl_attr_nest_start(nlh, IFLA_INFO_DATA);
	other = mnl_attr_nest_start(nlh, VETH_INFO_PEER);
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct ifinfomsg));
	mnl_attr_put_str(nlh, IFLA_IFNAME, peer);
	mnl_attr_nest_end(nlh, other);
	mnl_attr_nest_end(nlh, data);
	mnl_attr_nest_end(nlh, info);
	return finish(r, nlh);
}

int sl_rtnl_link_delete(struct sl_rtnl_request *r, uint32_t ifindex)
{
	struct nlmsghdr *nlh = begin(r, RTM_DELLINK, 0);
	struct ifinfomsg *head = mnl_nlmsg_put_extra_header(nlh, sizeof(*head));

	head->ifi_index = (int)ifindex;
	return finish(r, nlh);
}

/* --- Routes --- */

static int route(struct sl_rtnl_request *r, uint16_t type, uint16_t flags,
		 const struct sl_own_route *route, uint32_t metric)
{
	const uint8_t family = route->prefix.family;
	struct nlmsghdr *nlh = begin(r, type, flags);
	struct rtmsg *head = mnl_nlmsg_put_extra_header(nlh, sizeof(*head));

	head->rtm_family = family;
	head->rtm_dst_len = route->prefix.len;
	head->rtm_table = RT_TABLE_MAIN;
	head->rtm_protocol = SL_RTPROT;
	head->rtm_type = RTN_UNICAST;
	head->rtm_scope =
		route->gateway_family || family == AF_INET6 ? RT_SCOPE_UNIVERSE : RT_SCOPE_LINK;
	mnl_attr_put(nlh, RTA_DST, addr_bytes(family), route->prefix.addr);
	if (route->ifindex)
		mnl_attr_put_u32(nlh, RTA_OIF, route->ifindex);
	mnl_attr_put_u32(nlh, RTA_PRIORITY, metric);
	if (route->gateway_family == family) {
		mnl_attr_put(nlh, RTA_GATEWAY, addr_bytes(family), route->gateway);
	} else if (route->gateway_family) {
		uint8_t via[18] = { 0 };
		uint16_t via_family = route->gateway_family;

		memcpy(via, &via_family, sizeof(via_family));
		memcpy(via + 2, route->gateway, 16);
		mnl_attr_put(nlh, RTA_VIA, (size_t)2 + addr_bytes(route->gateway_family), via);
	}
	if (route->has_source && type == RTM_NEWROUTE)
		mnl_attr_put(nlh, RTA_PREFSRC, addr_bytes(family), route->source);
	return finish(r, nlh);
}

int sl_rtnl_route_add(struct sl_rtnl_request *r, const struct sl_own_route *own)
{
	return route(r, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, own, SL_RTMETRIC);
}

int sl_rtnl_route_delete(struct sl_rtnl_request *r, const struct sl_own_route *own, uint32_t metric)
{
	return route(r, RTM_DELROUTE, 0, own, metric);
}

/* --- Neighbours --- */

static struct nlmsghdr *neigh(struct sl_rtnl_request *r, uint16_t type, uint16_t flags,
			      uint32_t ifindex, uint8_t family, const uint8_t *addr)
{
	struct nlmsghdr *nlh = begin(r, type, flags);
	struct ndmsg *head = mnl_nlmsg_put_extra_header(nlh, sizeof(*head));

	head->ndm_family = family;
	head->ndm_ifindex = (int)ifindex;
	head->ndm_state = NUD_PERMANENT;
	head->ndm_flags = NTF_EXT_LEARNED;
	mnl_attr_put(nlh, NDA_DST, addr_bytes(family), addr);
	return nlh;
}

int sl_rtnl_neigh_set(struct sl_rtnl_request *r, uint32_t ifindex, uint8_t family,
		      const uint8_t *addr, const uint8_t mac[6])
{
	struct nlmsghdr *nlh =
		neigh(r, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, ifindex, family, addr);

	mnl_attr_put(nlh, NDA_LLADDR, 6, mac);
	return finish(r, nlh);
}

int sl_rtnl_neigh_delete(struct sl_rtnl_request *r, uint32_t ifindex, uint8_t family,
			 const uint8_t *addr)
{
	return finish(r, neigh(r, RTM_DELNEIGH, 0, ifindex, family, addr));
}

static int parse_route(const struct nlmsghdr *answer, void *out)
{
	return sl_rtnl_parse_route(answer, out);
}

int sl_rtnl_neigh_resolve(struct sl_rtnl_request *r, uint8_t family, const uint8_t *addr)
{
	struct nlmsghdr *nlh = begin(r, RTM_GETROUTE, 0);
	struct rtmsg *head = mnl_nlmsg_put_extra_header(nlh, sizeof(*head));
	struct sl_rtnl_route route = { 0 };
	struct ndmsg *use;
	int err;

	head->rtm_family = family;
	head->rtm_dst_len = (uint8_t)(8 * addr_bytes(family));
	head->rtm_flags = RTM_F_FIB_MATCH;
	mnl_attr_put(nlh, RTA_DST, addr_bytes(family), addr);
	err = exchange(r, nlh, parse_route, &route);
	if (err)
		return err;
	if (route.type != RTN_UNICAST || route.n_legs == 0)
		return -EHOSTUNREACH;
	if (route.leg[0].gateway_family) {
		family = route.leg[0].gateway_family;
		addr = route.leg[0].gateway;
	}
	nlh = neigh(r, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, route.leg[0].ifindex, family,
		    addr);
	use = mnl_nlmsg_get_payload(nlh);
	use->ndm_state = NUD_NONE;
	use->ndm_flags = NTF_USE;
	return finish(r, nlh);
}
