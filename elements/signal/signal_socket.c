/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "elements/signal/signal_socket.h"
#include "user/lib/clock.h"

#ifndef IPV6_ROUTER_ALERT_ISOLATE
#define IPV6_ROUTER_ALERT_ISOLATE 30 /* linux/in6.h, which netinet/in.h excludes */
#endif

_Static_assert(EL_SIGNAL_TEXT_BYTES == INET6_ADDRSTRLEN, "texts of addresses");

/* What a socket gives. */
enum {
	IPV4,	    /* packets to this host, and those of Router Alert to others */
	IPV6,	    /* messages to this host */
	IPV6_ALERT, /* packets of Router Alert to others */
	KINDS
};

struct el_signal_sockets {
	int ready_fd;	/* owned: of epoll */
	int fds[KINDS]; /* owned, or -1 */
	struct el_signal_fragments fragments;
};

/* Router Alert with the value 0: routers shall examine the packet (RFC 2113 2.1). */
static const uint8_t router_alert4[4] = { IPOPT_RA, 4, 0, 0 };
/* Hop-by-hop options: the kernel sets the next header; Router Alert (RFC 2711 2.1); PadN. */
static const uint8_t router_alert6[8] = {
	0, 0, IP6OPT_ROUTER_ALERT, 2, EL_SIGNAL_ALERT6 >> 8, EL_SIGNAL_ALERT6 & 0xff, IP6OPT_PADN, 0
};

struct sockopt {
	int level, name;
	const void *value;
	socklen_t bytes;
};

/* --- Addresses --- */

static bool is_ipv4(const uint8_t address[16])
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(address, prefix, sizeof(prefix)) == 0;
}

/* The address and port for calls of sockets. Returns its bytes. */
static socklen_t to_sockaddr(const uint8_t address[16], in_port_t port,
			     struct sockaddr_storage *out)
{
	memset(out, 0, sizeof(*out));
	if (is_ipv4(address)) {
		struct sockaddr_in *in = (struct sockaddr_in *)out;

		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		memcpy(&in->sin_addr, address + 12, sizeof(in->sin_addr));
		return sizeof(*in);
	}
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;

	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	memcpy(&in6->sin6_addr, address, sizeof(in6->sin6_addr));
	return sizeof(*in6);
}

int el_signal_address_parse(const char *text, uint8_t out[16])
{
	uint8_t ipv4[4];

	if (inet_pton(AF_INET6, text, out) == 1)
		return 0;
	if (inet_pton(AF_INET, text, ipv4) != 1)
		return -EINVAL;
	el_signal_map4(ipv4, out);
	return 0;
}

const char *el_signal_address_text(const uint8_t address[16], char out[EL_SIGNAL_TEXT_BYTES])
{
	return is_ipv4(address) ? inet_ntop(AF_INET, address + 12, out, EL_SIGNAL_TEXT_BYTES)
				: inet_ntop(AF_INET6, address, out, EL_SIGNAL_TEXT_BYTES);
}

int el_signal_source(const uint8_t destination[16], uint8_t source[16])
{
	struct sockaddr_storage to, own;
	/* The port only makes the address whole: nothing is sent. */
	socklen_t to_bytes = to_sockaddr(destination, 9, &to), own_bytes = sizeof(own);
	int fd = socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = fd < 0 ? -errno : 0;

	if (!err && (connect(fd, (const struct sockaddr *)&to, to_bytes) ||
		     getsockname(fd, (struct sockaddr *)&own, &own_bytes)))
		err = -errno;
	if (fd >= 0)
		close(fd);
	if (err)
		return err;
	if (own.ss_family == AF_INET)
		el_signal_map4((const uint8_t *)&((struct sockaddr_in *)&own)->sin_addr, source);
	else
		memcpy(source, &((struct sockaddr_in6 *)&own)->sin6_addr, 16);
	return 0;
}

/* --- Life --- */

static int make(struct el_signal_sockets **out)
{
	int fd = epoll_create1(EPOLL_CLOEXEC);

	*out = NULL;
	if (fd < 0)
		return -errno;
	*out = calloc(1, sizeof(**out));
	if (!*out) {
		close(fd);
		return -ENOMEM;
	}
	(*out)->ready_fd = fd;
	memset((*out)->fds, -1, sizeof((*out)->fds));
	return 0;
}

void el_signal_close(struct el_signal_sockets *s)
{
	if (!s)
		return;
	for (int kind = 0; kind < KINDS; kind++)
		if (s->fds[kind] >= 0)
			close(s->fds[kind]);
	close(s->ready_fd);
	free(s);
}

int el_signal_fd(const struct el_signal_sockets *s)
{
	return s ? s->ready_fd : -1;
}

/* Add a raw socket with up to two options. 0 or -errno. */
static int add(struct el_signal_sockets *s, int kind, const struct sockopt options[2])
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = kind };
	int fd = socket(kind == IPV4 ? AF_INET : AF_INET6, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
			kind == IPV6_ALERT ? IPPROTO_RAW : EL_SIGNAL_PROTOCOL);

	if (fd < 0)
		return -errno;
	s->fds[kind] = fd;
	for (int i = 0; i < 2 && options[i].bytes; i++)
		if (setsockopt(fd, options[i].level, options[i].name, options[i].value,
			       options[i].bytes))
			return -errno;
	return epoll_ctl(s->ready_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

int el_signal_listen(struct el_signal_sockets **out)
{
	static const int on = 1, alert = EL_SIGNAL_ALERT6;
	/* Without ISOLATE such a socket takes the packets of all network namespaces. */
	static const struct sockopt options[KINDS][2] = {
		[IPV4] = { { IPPROTO_IP, IP_ROUTER_ALERT, &on, sizeof(on) } },
		[IPV6] = { { IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on) } },
		[IPV6_ALERT] = { { IPPROTO_IPV6, IPV6_ROUTER_ALERT_ISOLATE, &on, sizeof(on) },
				 { IPPROTO_IPV6, IPV6_ROUTER_ALERT, &alert, sizeof(alert) } },
	};
	int err = make(out);

	for (int kind = 0; !err && kind < KINDS; kind++) {
		err = add(*out, kind, options[kind]);
		if (err == -EAFNOSUPPORT && kind != IPV4) /* a kernel without IPv6 */
			err = 0;
	}
	if (err) {
		el_signal_close(*out);
		*out = NULL;
	}
	return err;
}

int el_signal_dial(const uint8_t source[16], struct el_signal_sockets **out)
{
	static const struct sockopt options4[2] = {
		{ IPPROTO_IP, IP_OPTIONS, router_alert4, sizeof(router_alert4) },
	};
	static const struct sockopt options6[2] = {
		{ IPPROTO_IPV6, IPV6_HOPOPTS, router_alert6, sizeof(router_alert6) },
	};
	const int kind = is_ipv4(source) ? IPV4 : IPV6;
	struct sockaddr_storage from;
	const socklen_t bytes = to_sockaddr(source, 0, &from);
	int err = make(out);

	if (!err)
		err = add(*out, kind, kind == IPV4 ? options4 : options6);
	if (!err && bind((*out)->fds[kind], (const struct sockaddr *)&from, bytes))
		err = -errno;
	if (err) {
		el_signal_close(*out);
		*out = NULL;
	}
	return err;
}

/* --- Messages --- */

int el_signal_send(const struct el_signal_sockets *s, const uint8_t to[16], const uint8_t *message,
		   size_t n)
{
	struct sockaddr_storage address;
	const socklen_t bytes = to_sockaddr(to, 0, &address);
	ssize_t sent = sendto(s->fds[is_ipv4(to) ? IPV4 : IPV6], message, n, 0,
			      (const struct sockaddr *)&address, bytes);

	return sent < 0 ? -errno : 0;
}

/* What this host alone gets of IPv6 has no header; the kernel tells the addresses beside it. */
static int receive_message6(int fd, uint8_t *buffer, struct el_signal_packet *out)
{
	union {
		struct cmsghdr header;
		uint8_t bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	} control;
	struct sockaddr_in6 from;
	struct iovec data = { buffer, EL_SIGNAL_PACKET_BYTES };
	struct msghdr message = { .msg_name = &from,
				  .msg_namelen = sizeof(from),
				  .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(fd, &message, 0);

	if (n < 0)
		return -errno;
	*out = (struct el_signal_packet){ .message = buffer, .n = (size_t)n };
	memcpy(out->way.source, &from.sin6_addr, sizeof(out->way.source));
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c))
		if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO)
			memcpy(out->way.destination, CMSG_DATA(c), sizeof(out->way.destination));
	return 0;
}

int el_signal_receive(struct el_signal_sockets *s, uint8_t *buffer, struct el_signal_packet *out)
{
	struct epoll_event ready;
	int found = epoll_wait(s->ready_fd, &ready, 1, 0);
	ssize_t n;

	if (found <= 0)
		return found ? -errno : -EAGAIN;
	if (ready.data.fd == IPV6)
		return receive_message6(s->fds[IPV6], buffer, out);
	n = recv(s->fds[ready.data.fd], buffer, EL_SIGNAL_PACKET_BYTES, 0);
	if (n < 0)
		return -errno;
	el_signal_packet_read(buffer, (size_t)n, out);
	switch (el_signal_fragments_take(&s->fragments, out, sl_now_ns())) {
	case EL_SIGNAL_WAITS:
		return -EAGAIN;
	case EL_SIGNAL_GIVEN_UP:
		out->n = 0;
		return 0;
	default:
		return 0;
	}
}
