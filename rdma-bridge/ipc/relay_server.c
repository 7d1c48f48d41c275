/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/ipc/relay_server.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/ipc/relay.h"
#include "user/lib/log.h"
#include "user/lib/unix_address.h"

#define MESSAGES_PER_SERVE 64

struct rb_relay {
	const char *path;		/* borrowed */
	const struct rb_relay_ops *ops; /* borrowed */
	void *context;			/* of the ops */
	int epoll_fd;			/* borrowed */
	int listen_fd;
	int client_fd; /* the one that is served, or -1 */
};

static void watch(const struct rb_relay *relay, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = NULL };

	epoll_ctl(relay->epoll_fd, EPOLL_CTL_ADD, fd, &event);
}

/* The directory of a path, if its parent is there; bind(2) will say if it is not. */
static void make_directory(const char *path)
{
	char *copy = strdup(path);

	if (copy)
		mkdir(dirname(copy), 0755);
	free(copy);
}

static int listen_at(struct rb_relay *relay)
{
	struct sockaddr_un address;
	socklen_t len;
	int err = sl_unix_address(relay->path, &address, &len);

	if (!err && sl_unix_is_taken(relay->path))
		err = -EADDRINUSE;
	if (err) {
		sl_error("cannot listen at \"%s\": %s", relay->path, strerror(-err));
		return err;
	}
	relay->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (relay->listen_fd < 0)
		return -errno;
	make_directory(relay->path);
	unlink(relay->path);
	/* A client steers remote ports, so only root may connect. */
	if (fchmod(relay->listen_fd, 0600) ||
	    bind(relay->listen_fd, (struct sockaddr *)&address, len) ||
	    listen(relay->listen_fd, 4)) {
		err = -errno;
		sl_error("cannot listen at \"%s\": %s", relay->path, strerror(-err));
		return err;
	}
	watch(relay, relay->listen_fd);
	return 0;
}

int rb_relay_open(const char *path, int epoll_fd, const struct rb_relay_ops *ops, void *context,
		  struct rb_relay **out)
{
	struct rb_relay *relay = calloc(1, sizeof(*relay));
	int err;

	*out = NULL;
	if (!relay)
		return -ENOMEM;
	*relay = (struct rb_relay){ .path = path,
				    .ops = ops,
				    .context = context,
				    .epoll_fd = epoll_fd,
				    .listen_fd = -1,
				    .client_fd = -1 };
	err = listen_at(relay);
	if (err)
		rb_relay_close(relay);
	else
		*out = relay;
	return err;
}

static void drop_client(struct rb_relay *relay)
{
	if (relay->client_fd >= 0)
		close(relay->client_fd);
	relay->client_fd = -1;
}

void rb_relay_close(struct rb_relay *relay)
{
	if (!relay)
		return;
	drop_client(relay);
	if (relay->listen_fd >= 0) {
		unlink(relay->path);
		close(relay->listen_fd);
	}
	free(relay);
}

/* True if sluiced was told, or nobody is connected. */
static bool tell(struct rb_relay *relay, const struct sl_relay_message *message)
{
	uint8_t bytes[SL_RELAY_MAX_BYTES];
	size_t n = sl_relay_encode(message, bytes);

	return relay->client_fd < 0 ||
	       (n > 0 && send(relay->client_fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n);
}

void rb_relay_tell_announced(struct rb_relay *relay, uint8_t node, const uint8_t *bytes,
			     uint32_t n_bytes)
{
	const struct sl_relay_message message = {
		.kind = SL_RELAY_RECEIVED, .node = node, .part = bytes, .part_bytes = n_bytes
	};

	tell(relay, &message);
}

void rb_relay_tell_peer(struct rb_relay *relay, uint8_t node, bool up, uint32_t epoch,
			uint32_t mtu_bytes)
{
	const struct sl_relay_message message = { .kind = SL_RELAY_PEER,
						  .node = node,
						  .up = up,
						  .epoch = up ? epoch : 0,
						  .mtu_bytes = up ? mtu_bytes : 0 };

	if (tell(relay, &message))
		return;
	sl_warning("sluiced does not read its messages; closing its connection");
	drop_client(relay);
}

void rb_relay_accept(struct rb_relay *relay)
{
	int fd = accept4(relay->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return;
	drop_client(relay);
	relay->client_fd = fd;
	watch(relay, fd);
	relay->ops->connected(relay->context);
}

/* 0, or why the message makes no sense. */
static int handle(struct rb_relay *relay, const uint8_t *bytes, size_t n, uint64_t now_ns)
{
	struct sl_relay_message message;
	int err = sl_relay_parse(bytes, n, &message);

	if (err)
		return err;
	if (message.kind == SL_RELAY_SEND)
		relay->ops->announce(relay->context, message.node, message.part,
				     (uint32_t)message.part_bytes, now_ns);
	else if (message.kind == SL_RELAY_PORT)
		relay->ops->port(relay->context, message.system_port, message.up, message.gone);
	else if (message.kind == SL_RELAY_FLOW)
		relay->ops->flow(relay->context, message.system_port, &message.flow,
				 message.weight);
	else
		return -EPROTO;
	return 0;
}

void rb_relay_serve(struct rb_relay *relay, uint64_t now_ns)
{
	uint8_t bytes[SL_RELAY_MAX_BYTES + 1];

	for (int i = 0; i < MESSAGES_PER_SERVE && relay->client_fd >= 0; i++) {
		ssize_t n = recv(relay->client_fd, bytes, sizeof(bytes), 0);
		int err;

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			drop_client(relay);
			return;
		}
		err = handle(relay, bytes, (size_t)n, now_ns);
		if (err) {
			sl_warning(
				"a message of sluiced makes no sense (%s); closing its connection",
				strerror(-err));
			drop_client(relay);
		}
	}
}
