/* SPDX-License-Identifier: BSD-2-Clause */
#include "netns-lab/lookup/route_batch.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define BATCH_BYTES (64 * 1024)
#define ROUTE_BYTES 256 /* no route message here is longer */

struct route_batch {
	struct mnl_socket *nl; /* owned */
	uint32_t sequence;
	size_t queued_bytes;
	struct nlmsghdr *last; /* of those queued; NULL: none is */
	int error;	       /* the first since the last flush */
	char batch[BATCH_BYTES];
};

int route_batch_open(struct route_batch **out)
{
	struct route_batch *b = calloc(1, sizeof(*b));
	int one = 1, rc;

	if (!b)
		return -ENOMEM;
	b->nl = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC);
	if (!b->nl || mnl_socket_bind(b->nl, 0, MNL_SOCKET_AUTOPID) < 0) {
		rc = -errno;
		route_batch_close(b);
		return rc;
	}
	mnl_socket_setsockopt(b->nl, NETLINK_CAP_ACK, &one, sizeof(one));
	*out = b;
	return 0;
}

void route_batch_close(struct route_batch *b)
{
	if (!b)
		return;
	if (b->nl)
		mnl_socket_close(b->nl);
	free(b);
}

/* Errors of the others come before the acknowledgement of the last. */
static int send_batch(struct route_batch *b)
{
	char reply[BATCH_BYTES];

	if (!b->last)
		return 0;
	b->last->nlmsg_flags |= NLM_F_ACK;
	if (mnl_socket_sendto(b->nl, b->batch, b->queued_bytes) < 0)
		return -errno;
	b->last = NULL;
	b->queued_bytes = 0;
	for (;;) {
		ssize_t n = mnl_socket_recvfrom(b->nl, reply, sizeof(reply));
		int left = (int)n;
		const struct nlmsghdr *nlh = (const struct nlmsghdr *)reply;

		if (n < 0)
			return -errno;
		for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
			const struct nlmsgerr *err = mnl_nlmsg_get_payload(nlh);

			if (nlh->nlmsg_type != NLMSG_ERROR)
				continue;
			if (err->error && !b->error)
				b->error = err->error;
			if (nlh->nlmsg_seq == b->sequence)
				return 0;
		}
	}
}

static struct nlmsghdr *put_route(struct route_batch *b, uint16_t type, uint16_t flags,
				  const struct sl_prefix *prefix)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(b->batch + b->queued_bytes);
	struct rtmsg *rtm;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	nlh->nlmsg_seq = ++b->sequence;
	rtm = mnl_nlmsg_put_extra_header(nlh, sizeof(*rtm));
	rtm->rtm_family = prefix->family;
	rtm->rtm_dst_len = prefix->len;
	rtm->rtm_table = RT_TABLE_MAIN;
	rtm->rtm_type = RTN_UNICAST;
	mnl_attr_put(nlh, RTA_DST, sl_addr_bits(prefix->family) / 8u, prefix->addr);
	return nlh;
}

static int queued(struct route_batch *b, struct nlmsghdr *nlh)
{
	b->last = nlh;
	b->queued_bytes += MNL_ALIGN(nlh->nlmsg_len);
	return b->queued_bytes + ROUTE_BYTES > BATCH_BYTES ? send_batch(b) : 0;
}

int route_batch_set(struct route_batch *b, const struct sl_prefix *prefix,
		    const struct route_via *via)
{
	struct nlmsghdr *nlh = put_route(b, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, prefix);
	struct rtmsg *rtm = mnl_nlmsg_get_payload(nlh);

	rtm->rtm_protocol = RTPROT_STATIC;
	rtm->rtm_flags = RTNH_F_ONLINK;
	mnl_attr_put(nlh, RTA_GATEWAY, sl_addr_bits(prefix->family) / 8u, via->gateway);
	mnl_attr_put_u32(nlh, RTA_OIF, via->ifindex);
	return queued(b, nlh);
}

int route_batch_delete(struct route_batch *b, const struct sl_prefix *prefix)
{
	struct nlmsghdr *nlh = put_route(b, RTM_DELROUTE, 0, prefix);
	struct rtmsg *rtm = mnl_nlmsg_get_payload(nlh);

	rtm->rtm_scope = RT_SCOPE_NOWHERE;
	return queued(b, nlh);
}

int route_batch_flush(struct route_batch *b)
{
	int rc = send_batch(b);

	if (!rc) {
		rc = b->error;
		b->error = 0;
	}
	return rc;
}

int route_batch_lookup(struct route_batch *b, uint8_t family, const uint8_t *addr,
		       uint8_t gateway[16])
{
	struct sl_prefix host = { .family = family, .len = sl_addr_bits(family) };
	char reply[4096];
	const struct nlmsghdr *nlh = (const struct nlmsghdr *)reply;
	const struct nlattr *attr;
	int rc;

	rc = route_batch_flush(b);
	if (rc)
		return rc;
	memcpy(host.addr, addr, host.len / 8u);
	if (mnl_socket_sendto(b->nl, b->batch, put_route(b, RTM_GETROUTE, 0, &host)->nlmsg_len) < 0)
		return -errno;
	if (mnl_socket_recvfrom(b->nl, reply, sizeof(reply)) < 0)
		return -errno;
	if (nlh->nlmsg_type == NLMSG_ERROR)
		return ((const struct nlmsgerr *)mnl_nlmsg_get_payload(nlh))->error;
	mnl_attr_for_each(attr, nlh, sizeof(struct rtmsg)) {
		if (mnl_attr_get_type(attr) == RTA_GATEWAY) {
			memcpy(gateway, mnl_attr_get_payload(attr), host.len / 8u);
			return 0;
		}
	}
	return -EPROTO;
}
