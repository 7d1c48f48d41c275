/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "user/copies/answer_socket.h"

/* Nothing that arrives is for these sockets: they only send. */
static int open_raw(int family, int protocol, int *out)
{
	static const int least = 0;
	struct icmp6_filter none;

	*out = socket(family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
	if (*out < 0)
		return -errno;
	setsockopt(*out, SOL_SOCKET, SO_RCVBUF, &least, sizeof(least));
	if (protocol == IPPROTO_ICMPV6) {
		ICMP6_FILTER_SETBLOCKALL(&none);
		setsockopt(*out, IPPROTO_ICMPV6, ICMP6_FILTER, &none, sizeof(none));
	}
	return 0;
}

/* As the kernel sends ICMP: without the flag that forbids fragments. */
static int allow_fragments(int fd)
{
	const int dont = IP_PMTUDISC_DONT;

	return setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &dont, sizeof(dont)) ? -errno : 0;
}

int sl_answer_socket_open(struct sl_answer_socket *out)
{
	int err;

	*out = (struct sl_answer_socket){ -1, -1, -1, -1 };
	err = open_raw(AF_INET, IPPROTO_ICMP, &out->icmp4_fd);
	if (!err)
		err = allow_fragments(out->icmp4_fd);
	if (!err)
		err = open_raw(AF_INET6, IPPROTO_ICMPV6, &out->icmp6_fd);
	/* IPPROTO_RAW: the bytes begin with the IP header */
	if (!err)
		err = open_raw(AF_INET, IPPROTO_RAW, &out->ip4_fd);
	if (!err)
		err = open_raw(AF_INET6, IPPROTO_RAW, &out->ip6_fd);
	if (err)
		sl_answer_socket_close(out);
	return err;
}

void sl_answer_socket_close(struct sl_answer_socket *s)
{
	int *const all[] = { &s->icmp4_fd, &s->icmp6_fd, &s->ip4_fd, &s->ip6_fd };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (*all[i] >= 0)
			close(*all[i]);
		*all[i] = -1;
	}
}

static int send_to(int fd, const struct sl_reject *answer, const void *to, socklen_t to_bytes)
{
	struct iovec bytes = { .iov_base = (void *)(uintptr_t)answer->bytes,
			       .iov_len = answer->n_bytes };
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr message = { .msg_name = (void *)(uintptr_t)to,
				  .msg_namelen = to_bytes,
				  .msg_iov = &bytes,
				  .msg_iovlen = 1 };

	if (answer->family == AF_INET && !answer->is_reset) {
		int tos = answer->tos;

		message.msg_control = control.room;
		message.msg_controllen = sizeof(control.room);
		control.head = (struct cmsghdr){ .cmsg_level = IPPROTO_IP,
						 .cmsg_type = IP_TOS,
						 .cmsg_len = CMSG_LEN(sizeof(tos)) };
		memcpy(CMSG_DATA(&control.head), &tos, sizeof(tos));
	}
	return sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int sl_answer_socket_send(const struct sl_answer_socket *s, const struct sl_reject *answer,
			  uint32_t l3_ifindex)
{
	if (answer->family == AF_INET) {
		struct sockaddr_in to = { .sin_family = AF_INET };

		memcpy(&to.sin_addr, answer->to, 4);
		return send_to(answer->is_reset ? s->ip4_fd : s->icmp4_fd, answer, &to, sizeof(to));
	}
	struct sockaddr_in6 to = { .sin6_family = AF_INET6 };

	memcpy(&to.sin6_addr, answer->to, 16);
	if (IN6_IS_ADDR_LINKLOCAL(&to.sin6_addr))
		to.sin6_scope_id = l3_ifindex;
	return send_to(answer->is_reset ? s->ip6_fd : s->icmp6_fd, answer, &to, sizeof(to));
}
