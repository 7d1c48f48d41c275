/* SPDX-License-Identifier: BSD-2-Clause */
#include "netns-lab/kernel_routes.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define BATCH_BYTES (64 * 1024)
#define ROUTE_BYTES 256 /* no route message here is longer */

struct kernel_routes {
	struct mnl_socket *nl; /* owned */
	uint32_t ifindex;      /* of the link that all routes use */
	uint32_t sequence;
	size_t queued_bytes;
	uint32_t queued;
	int error; /* the first since the last flush */
	char batch[BATCH_BYTES];
};

static const char setup[] = "set -e\n"
			    "ip link set lo up\n"
			    "ip link add sl_oracle type veth peer name sl_oracle_peer\n"
			    "ip link set sl_oracle up\n"
			    "ip link set sl_oracle_peer up\n"
			    "ip addr add 10.254.255.1/16 dev sl_oracle\n"
			    "echo 1 >/proc/sys/net/ipv4/ip_forward\n"
			    "echo 1 >/proc/sys/net/ipv6/conf/all/forwarding\n";

int kernel_routes_open(struct kernel_routes **out)
{
	struct kernel_routes *k = calloc(1, sizeof(*k));
	int rc = 0;

	if (!k)
		return -ENOMEM;
	if (unshare(CLONE_NEWNET))
		rc = -errno;
	else if (system(setup))
		rc = -EIO;
	if (rc)
		goto out;
	k->ifindex = if_nametoindex("sl_oracle");
	k->nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!k->nl || mnl_socket_bind(k->nl, 0, MNL_SOCKET_AUTOPID) < 0)
		rc = -errno;
out:
	if (rc)
		kernel_routes_close(k);
	else
		*out = k;
	return rc;
}

void kernel_routes_close(struct kernel_routes *k)
{
	if (!k)
		return;
	if (k->nl)
		mnl_socket_close(k->nl);
	free(k);
}

/* Each batch ends in a message that is acknowledged; errors of the others come before that. */
static int flush_batch(struct kernel_routes *k)
{
	char reply[BATCH_BYTES];

	if (!k->queued)
		return 0;
	if (mnl_socket_sendto(k->nl, k->batch, k->queued_bytes) < 0)
		return -errno;
	k->queued = 0;
	k->queued_bytes = 0;
	for (;;) {
		ssize_t n = mnl_socket_recvfrom(k->nl, reply, sizeof(reply));
		int left = (int)n;
		const struct nlmsghdr *nlh = (const struct nlmsghdr *)reply;

		if (n < 0)
			return -errno;
		for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
			const struct nlmsgerr *err = mnl_nlmsg_get_payload(nlh);

			if (nlh->nlmsg_type != NLMSG_ERROR)
				continue;
			if (err->error && !k->error)
				k->error = err->error;
			if (nlh->nlmsg_seq == k->sequence)
				return 0;
		}
	}
}

static struct nlmsghdr *queue(struct kernel_routes *k, uint16_t type, uint16_t flags,
			      const struct sl_prefix *prefix)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(k->batch + k->queued_bytes);
	struct rtmsg *rtm;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	nlh->nlmsg_seq = ++k->sequence;
	rtm = mnl_nlmsg_put_extra_header(nlh, sizeof(*rtm));
	rtm->rtm_family = prefix->family;
	rtm->rtm_dst_len = prefix->len;
	rtm->rtm_table = RT_TABLE_MAIN;
	rtm->rtm_protocol = RTPROT_STATIC;
	rtm->rtm_type = RTN_UNICAST;
	mnl_attr_put(nlh, RTA_DST, sl_addr_bits(prefix->family) / 8u, prefix->addr);
	return nlh;
}

static int queued(struct kernel_routes *k, struct nlmsghdr *nlh)
{
	bool full = k->queued_bytes + nlh->nlmsg_len + ROUTE_BYTES > BATCH_BYTES;

	k->queued++;
	k->queued_bytes += MNL_ALIGN(nlh->nlmsg_len);
	if (!full)
		return 0;
	nlh->nlmsg_flags |= NLM_F_ACK;
	return flush_batch(k);
}

int kernel_routes_set(struct kernel_routes *k, const struct sl_prefix *prefix, uint32_t nexthop)
{
	struct nlmsghdr *nlh = queue(k, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, prefix);
	struct rtmsg *rtm = mnl_nlmsg_get_payload(nlh);
	uint8_t gateway4[4] = { 10, 254, 0, (uint8_t)(nexthop + 1) };
	uint8_t gateway6[16] = { 0xfe, 0x80, [15] = (uint8_t)(nexthop + 1) };

	rtm->rtm_flags = RTNH_F_ONLINK;
	if (prefix->family == AF_INET)
		mnl_attr_put(nlh, RTA_GATEWAY, sizeof(gateway4), gateway4);
	else
		mnl_attr_put(nlh, RTA_GATEWAY, sizeof(gateway6), gateway6);
	mnl_attr_put_u32(nlh, RTA_OIF, k->ifindex);
	return queued(k, nlh);
}

int kernel_routes_delete(struct kernel_routes *k, const struct sl_prefix *prefix)
{
	struct nlmsghdr *nlh = queue(k, RTM_DELROUTE, 0, prefix);
	struct rtmsg *rtm = mnl_nlmsg_get_payload(nlh);

	rtm->rtm_scope = RT_SCOPE_NOWHERE;
	return queued(k, nlh);
}

int kernel_routes_flush(struct kernel_routes *k)
{
	int rc;

	if (k->queued) {
		/* The last message of the batch is the one with the present sequence number. */
		struct nlmsghdr *nlh = (struct nlmsghdr *)k->batch;

		while (nlh->nlmsg_seq != k->sequence)
			nlh = (struct nlmsghdr *)((char *)nlh + MNL_ALIGN(nlh->nlmsg_len));
		nlh->nlmsg_flags |= NLM_F_ACK;
	}
	rc = flush_batch(k);
	if (!rc) {
		rc = k->error;
		k->error = 0;
	}
	return rc;
}

int kernel_routes_get(struct kernel_routes *k, uint8_t family, const uint8_t *addr,
		      uint32_t *nexthop)
{
	struct sl_prefix host = { .family = family, .len = sl_addr_bits(family) };
	char reply[4096];
	const struct nlmsghdr *nlh = (const struct nlmsghdr *)reply;
	const struct nlattr *attr;
	int rc;

	rc = kernel_routes_flush(k);
	if (rc)
		return rc;
	memcpy(host.addr, addr, host.len / 8u);
	if (mnl_socket_sendto(k->nl, k->batch, queue(k, RTM_GETROUTE, 0, &host)->nlmsg_len) < 0)
		return -errno;
	if (mnl_socket_recvfrom(k->nl, reply, sizeof(reply)) < 0)
		return -errno;
	if (nlh->nlmsg_type == NLMSG_ERROR)
		return ((const struct nlmsgerr *)mnl_nlmsg_get_payload(nlh))->error;
	mnl_attr_for_each(attr, nlh, sizeof(struct rtmsg)) {
		if (mnl_attr_get_type(attr) == RTA_GATEWAY) {
			const uint8_t *gateway = mnl_attr_get_payload(attr);

			*nexthop = gateway[host.len / 8u - 1] - 1u;
			return 0;
		}
	}
	return -EPROTO;
}
