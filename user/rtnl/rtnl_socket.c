/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <libmnl/libmnl.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>

#include "user/rtnl/rtnl_socket.h"

enum {
	MESSAGES = 64,		   /* of one batch */
	MESSAGE_BYTES = 64 * 1024, /* memory is touched only as far as messages reach */
	QUEUE_BYTES = 32 * 1024,
	ANSWER_TIMEOUT_MS = 10000,
};

struct sl_rtnl_socket {
	struct mnl_socket *nl; /* owned */
	uint32_t seq;
	uint8_t *buffer; /* owned: MESSAGES times MESSAGE_BYTES for events, one for requests */
	uint8_t *queue;	 /* owned: requests without an answer */
	uint32_t queued_bytes;
};

static int open_socket(int netlink_family, uint32_t messages, struct sl_rtnl_socket **out)
{
	struct sl_rtnl_socket *s = calloc(1, sizeof(*s));
	int one = 1, err;

	if (!s)
		return -ENOMEM;
	s->buffer = malloc((size_t)messages * MESSAGE_BYTES);
	s->queue = malloc(QUEUE_BYTES);
	if (!s->buffer || !s->queue) {
		err = -ENOMEM;
		goto out;
	}
	s->nl = mnl_socket_open2(netlink_family, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (!s->nl || mnl_socket_bind(s->nl, 0, MNL_SOCKET_AUTOPID) < 0) {
		err = -errno;
		goto out;
	}
	/*
	 * Every supported kernel accepts this. Without it, the kernel ignores the filters of dumps.
	 */
	mnl_socket_setsockopt(s->nl, NETLINK_GET_STRICT_CHK, &one, sizeof(one));
	mnl_socket_setsockopt(s->nl, NETLINK_CAP_ACK, &one, sizeof(one));
	*out = s;
	return 0;
out:
	sl_rtnl_close(s);
	return err;
}

int sl_rtnl_open(struct sl_rtnl_socket **out)
{
	return open_socket(NETLINK_ROUTE, 1, out);
}

int sl_rtnl_set_buffer(struct sl_rtnl_socket *s, uint32_t bytes)
{
	const int fd = mnl_socket_get_fd(s->nl);
	const int value = (int)bytes;

	if (!setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &value, sizeof(value)) ||
	    !setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &value, sizeof(value)))
		return 0;
	return -errno;
}

static int subscribe(struct sl_rtnl_socket *s, const uint32_t *groups, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (mnl_socket_setsockopt(s->nl, NETLINK_ADD_MEMBERSHIP, (void *)&groups[i],
					  sizeof(groups[i])) < 0)
			return -errno;
	return 0;
}

int sl_rtnl_open_events(const uint32_t *groups, uint32_t n, uint32_t buffer_bytes,
			struct sl_rtnl_socket **out)
{
	struct sl_rtnl_socket *s = NULL;
	int err = open_socket(NETLINK_ROUTE, MESSAGES, &s);

	if (err)
		return err;
	err = sl_rtnl_set_buffer(s, buffer_bytes);
	if (!err)
		err = subscribe(s, groups, n);
	if (err)
		sl_rtnl_close(s);
	else
		*out = s;
	return err;
}

int sl_rtnl_open_other(int netlink_family, const uint32_t *groups, uint32_t n,
		       struct sl_rtnl_socket **out)
{
	struct sl_rtnl_socket *s = NULL;
	int err = open_socket(netlink_family, MESSAGES, &s);

	if (err)
		return err;
	err = subscribe(s, groups, n);
	if (err)
		sl_rtnl_close(s);
	else
		*out = s;
	return err;
}

void sl_rtnl_close(struct sl_rtnl_socket *s)
{
	if (!s)
		return;
	if (s->nl)
		mnl_socket_close(s->nl);
	free(s->buffer);
	free(s->queue);
	free(s);
}

int sl_rtnl_fd(const struct sl_rtnl_socket *s)
{
	return mnl_socket_get_fd(s->nl);
}

/* --- Events --- */

int sl_rtnl_receive(struct sl_rtnl_socket *s, sl_rtnl_cb cb, void *arg)
{
	struct mmsghdr msg[MESSAGES] = { 0 };
	struct iovec iov[MESSAGES];
	struct sockaddr_nl from[MESSAGES];
	int n, err = 0;

	for (int i = 0; i < MESSAGES; i++) {
		iov[i] = (struct iovec){ s->buffer + (size_t)i * MESSAGE_BYTES, MESSAGE_BYTES };
		msg[i].msg_hdr = (struct msghdr){ .msg_iov = &iov[i],
						  .msg_iovlen = 1,
						  .msg_name = &from[i],
						  .msg_namelen = sizeof(from[i]) };
	}
	do
		n = recvmmsg(mnl_socket_get_fd(s->nl), msg, MESSAGES, MSG_DONTWAIT, NULL);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	for (int i = 0; i < n; i++) {
		const struct nlmsghdr *nlh = iov[i].iov_base;
		int left = (int)msg[i].msg_len;
		if (from[i].nl_pid != 0) /* believe the kernel only */
			continue;
		if (msg[i].msg_hdr.msg_flags & MSG_TRUNC) {
			err = -ENOBUFS;
			continue;
		}
		for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left))
			cb(arg, nlh);
	}
	return err;
}

/* --- Requests --- */

/* Receive one buffer of answers. Waits at most ANSWER_TIMEOUT_MS for it. */
static ssize_t receive_answer(struct sl_rtnl_socket *s)
{
	struct pollfd p = { .fd = mnl_socket_get_fd(s->nl), .events = POLLIN };
	ssize_t n;

	for (;;) {
		n = mnl_socket_recvfrom(s->nl, s->buffer, MESSAGE_BYTES);
		if (n >= 0)
			return n;
		if (errno == EINTR ||
		    errno == ENOBUFS) /* only refusals of queued requests were lost */
			continue;
		if (errno != EAGAIN)
			return -errno;
		if (poll(&p, 1, ANSWER_TIMEOUT_MS) == 0)
			return -ETIMEDOUT;
	}
}

/* Answers to this request, up to its end. */
static int receive_answers(struct sl_rtnl_socket *s, sl_rtnl_cb cb, void *arg)
{
	bool interrupted = false;

	for (;;) {
		const ssize_t got = receive_answer(s);
		const struct nlmsghdr *nlh = (const struct nlmsghdr *)s->buffer;
		int left = (int)got;

		if (got < 0)
			return (int)got;
		for (; mnl_nlmsg_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left)) {
			int err = 0;
			if (nlh->nlmsg_seq != s->seq)
				continue; /* the answer to an earlier, queued request */
			interrupted |= nlh->nlmsg_flags & NLM_F_DUMP_INTR;
			if (nlh->nlmsg_type == NLMSG_ERROR || nlh->nlmsg_type == NLMSG_DONE) {
				if (mnl_nlmsg_get_payload_len(nlh) >= sizeof(err))
					memcpy(&err, mnl_nlmsg_get_payload(nlh), sizeof(err));
				if (err < 0)
					return err;
				return interrupted ? -EINTR : 0;
			}
			if (nlh->nlmsg_type >= NLMSG_MIN_TYPE)
				cb(arg, nlh);
		}
	}
}

static void put_dump_header(struct nlmsghdr *nlh, uint16_t type, uint8_t family, uint32_t ifindex)
{
	switch (type) {
	case RTM_GETROUTE: {
		struct rtmsg *head = mnl_nlmsg_put_extra_header(nlh, sizeof(*head));
		head->rtm_family = family;
		if (ifindex)
			mnl_attr_put_u32(nlh, RTA_OIF, ifindex);
		break;
	}
	case RTM_GETLINK: {
		struct ifinfomsg *head = mnl_nlmsg_put_extra_header(nlh, sizeof(*head));
		head->ifi_family = family;
		break;
	}
	case RTM_GETADDR: {
		struct ifaddrmsg *head = mnl_nlmsg_put_extra_header(nlh, sizeof(*head));
		head->ifa_family = family;
		break;
	}
	case RTM_GETNEIGH: {
		struct ndmsg *head = mnl_nlmsg_put_extra_header(nlh, sizeof(*head));
		head->ndm_family = family;
		break;
	}
	case RTM_GETNEIGHTBL: {
		struct ndtmsg *head = mnl_nlmsg_put_extra_header(nlh, sizeof(*head));
		head->ndtm_family = family;
		break;
	}
	default: { /* rules, next-hop objects, settings: their headers begin with the family */
		uint8_t *head = mnl_nlmsg_put_extra_header(
			nlh, type == RTM_GETRULE ? sizeof(struct rtmsg) : /* as fib_rule_hdr */
				     type == RTM_GETNETCONF ? 1
							    : 8);
		head[0] = family;
	}
	}
}

int sl_rtnl_dump(struct sl_rtnl_socket *s, uint16_t type, uint8_t family, uint32_t ifindex,
		 sl_rtnl_cb cb, void *arg)
{
	uint8_t buffer[256];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buffer);

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	nlh->nlmsg_seq = ++s->seq;
	put_dump_header(nlh, type, family, ifindex);
	if (mnl_socket_sendto(s->nl, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	return receive_answers(s, cb, arg);
}

int sl_rtnl_ask(struct sl_rtnl_socket *s, uint16_t type, uint16_t flags, const void *header,
		uint32_t header_bytes, sl_rtnl_cb cb, void *arg)
{
	uint8_t buffer[256];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buffer);

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	nlh->nlmsg_seq = ++s->seq;
	memcpy(mnl_nlmsg_put_extra_header(nlh, header_bytes), header, header_bytes);
	if (mnl_socket_sendto(s->nl, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	return receive_answers(s, cb, arg);
}

static void ignore(void *arg, const struct nlmsghdr *nlh)
{
	(void)arg;
	(void)nlh;
}

void sl_rtnl_link_sync(struct sl_rtnl_socket *s, uint32_t ifindex)
{
	uint8_t buffer[256];
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buffer);
	struct ifinfomsg *head;

	nlh->nlmsg_type = RTM_GETLINK;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	nlh->nlmsg_seq = ++s->seq;
	head = mnl_nlmsg_put_extra_header(nlh, sizeof(*head));
	head->ifi_family = AF_UNSPEC;
	head->ifi_index = (int)ifindex;
	if (mnl_socket_sendto(s->nl, nlh, nlh->nlmsg_len) >= 0)
		receive_answers(s, ignore, NULL);
}

void sl_rtnl_barrier(struct sl_rtnl_socket *s)
{
	/* The kernel answers any question about one link under that lock. */
	sl_rtnl_link_sync(s, 1);
}

/* --- Neighbours --- */

void sl_rtnl_flush(struct sl_rtnl_socket *s)
{
	if (!s->queued_bytes)
		return;
	mnl_socket_sendto(s->nl, s->queue, s->queued_bytes);
	s->queued_bytes = 0;
	/* Discard refusals (the link went down meanwhile), which would fill the socket. */
	while (recv(mnl_socket_get_fd(s->nl), s->buffer, MESSAGE_BYTES, MSG_DONTWAIT) >= 0)
		;
}

void sl_rtnl_neigh_use(struct sl_rtnl_socket *s, uint32_t ifindex, uint8_t family,
		       const uint8_t *addr, uint8_t flags)
{
	const uint16_t addr_bytes = family == AF_INET ? 4 : 16;
	struct nlmsghdr *nlh;
	struct ndmsg *head;

	if (s->queued_bytes + 128 > QUEUE_BYTES)
		sl_rtnl_flush(s);
	nlh = mnl_nlmsg_put_header(s->queue + s->queued_bytes);
	nlh->nlmsg_type = RTM_NEWNEIGH;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_REPLACE;
	nlh->nlmsg_seq = ++s->seq;
	head = mnl_nlmsg_put_extra_header(nlh, sizeof(*head));
	head->ndm_family = family;
	head->ndm_ifindex = (int)ifindex;
	head->ndm_state = NUD_NONE;
	head->ndm_flags = NTF_USE | (flags & NTF_EXT_LEARNED);
	mnl_attr_put(nlh, NDA_DST, addr_bytes, addr);
	s->queued_bytes += MNL_ALIGN(nlh->nlmsg_len);
}
