/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/text/listen_address.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/text/prefix.h"

static int parse_port(const char *text, in_port_t *out)
{
	unsigned long port;
	char *end;

	if (*text < '0' || *text > '9' || strlen(text) > 5)
		return -EINVAL;
	port = strtoul(text, &end, 10);
	if (*end || port < 1 || port > UINT16_MAX)
		return -EINVAL;
	*out = htons((uint16_t)port);
	return 0;
}

int sl_listen_address_parse(const char *text, struct sockaddr_storage *out)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;
	const bool brackets = colon && len > 2 && text[0] == '[' && colon[-1] == ']';
	char address[SL_PREFIX_STRLEN] = "";
	uint8_t family = AF_INET, bytes[16];
	in_port_t port;

	if (parse_port(colon ? colon + 1 : text, &port) || len >= sizeof(address))
		return -EINVAL;
	memcpy(address, text + brackets, len - 2 * brackets);
	if (colon && sl_addr_parse(address, &family, bytes))
		return -EINVAL;
	if ((family == AF_INET6) != brackets)
		return -EINVAL;
	memset(out, 0, sizeof(*out));
	if (brackets) {
		in6.sin6_port = port;
		memcpy(&in6.sin6_addr, bytes, sizeof(in6.sin6_addr));
		memcpy(out, &in6, sizeof(in6));
		return sizeof(in6);
	}
	in.sin_port = port;
	if (colon)
		memcpy(&in.sin_addr, bytes, sizeof(in.sin_addr));
	memcpy(out, &in, sizeof(in));
	return sizeof(in);
}

bool sl_listen_is_local(const char *text)
{
	struct sockaddr_storage where;
	struct sockaddr_in6 in6;
	struct sockaddr_in in;

	if (sl_listen_address_parse(text, &where) < 0)
		return false;
	memcpy(&in, &where, sizeof(in));
	memcpy(&in6, &where, sizeof(in6));
	return where.ss_family == AF_INET ? ntohl(in.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET
					  : IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr);
}

int sl_listen_open(const char *text, int backlog)
{
	struct sockaddr_storage where;
	const int one = 1, len = sl_listen_address_parse(text, &where);
	int fd, err;

	if (len < 0)
		return len;
	fd = socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (const struct sockaddr *)&where, (socklen_t)len) || listen(fd, backlog)) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}
