/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bridge's end of user/ipc/relay.h: sluiced's announcements, and the remote ports that it made.
 */
#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rdma-bridge/bridge.h"
#include "user/lib/log.h"
#include "user/lib/unix_address.h"
#include "user/ipc/relay.h"

#define MESSAGES_PER_POLL 64

static void watch(struct rb_bridge *b, int fd, void *what)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = what };

	epoll_ctl(b->control_fd, EPOLL_CTL_ADD, fd, &event);
}

/* The directory of a path, if its parent is there; bind(2) will say if it is not. */
static void make_directory(const char *path)
{
	char *copy = strdup(path);

	if (copy)
		mkdir(dirname(copy), 0755);
	free(copy);
}

int rb_relay_open(struct rb_bridge *b)
{
	const char *path = b->settings->cluster.socket;
	struct sockaddr_un address;
	socklen_t len;
	int err = sl_unix_address(path, &address, &len);

	if (err)
		return err;
	b->relay_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (b->relay_fd < 0)
		return -errno;
	make_directory(path);
	/* No other bridge has it: it would have the fabric, too. */
	unlink(path);
	/* Whoever may connect steers remote ports: root alone. */
	if (fchmod(b->relay_fd, 0600) || bind(b->relay_fd, (struct sockaddr *)&address, len) ||
	    listen(b->relay_fd, 4)) {
		err = -errno;
		sl_error("cannot listen at \"%s\": %s", path, strerror(-err));
		return err;
	}
	watch(b, b->relay_fd, NULL);
	return 0;
}

static void drop_client(struct rb_bridge *b)
{
	if (b->client_fd >= 0)
		close(b->client_fd);
	b->client_fd = -1;
}

/* Tell the client; false if it was not told. */
static bool tell(struct rb_bridge *b, const struct sl_relay_message *message)
{
	uint8_t bytes[SL_RELAY_MAX_BYTES];
	size_t n = sl_relay_encode(message, bytes);

	return b->client_fd >= 0 && n > 0 &&
	       send(b->client_fd, bytes, n, MSG_NOSIGNAL) == (ssize_t)n;
}

/* --- Remote ports ------------------------------------------------------------------------- */

static void set_carrier(struct rb_bridge *b, struct rb_bridge_remote *remote)
{
	bool reachable = rb_bridge_peer_state(b, (uint8_t)(remote->system_port >> 8)) == RB_PEER_UP;
	int err;

	if (!remote->tap)
		return;
	err = rb_tap_carrier(remote->tap, remote->up && reachable);
	if (err)
		sl_warning("remote port n%up%u: cannot set the carrier: %s",
			   remote->system_port >> 8, remote->system_port & 0xff, strerror(-err));
}

static struct rb_ingress *ingress_of(struct rb_bridge *b, const struct rb_bridge_remote *remote)
{
	return rb_bridge_lane(b, remote->system_port)
		->worker->peer[remote->system_port >> 8]
		->ingress;
}

static void open_tap(struct rb_bridge *b, struct rb_bridge_remote *remote)
{
	const struct rb_lane *lane = rb_bridge_lane(b, remote->system_port);
	char name[IF_NAMESIZE];
	int err;

	sl_relay_tap_name(remote->system_port, name);
	err = rb_tap_open(name, &b->maps, lane->chunks, lane->worker->counters, &remote->tap);
	if (err) {
		sl_warning("remote port %s: cannot open its TAP: %s", name, strerror(-err));
		return;
	}
	for (uint32_t c = 0; c < SL_CLASSES; c++)
		rb_ingress_add_input(ingress_of(b, remote), remote->first_voq + c,
				     rb_tap_input(remote->tap, c));
	watch(b, rb_tap_fd(remote->tap), remote->tap);
}

static void close_tap(struct rb_bridge *b, struct rb_bridge_remote *remote)
{
	if (!remote->tap)
		return;
	for (uint32_t c = 0; c < SL_CLASSES; c++)
		rb_ingress_remove_input(ingress_of(b, remote), remote->first_voq + c,
					rb_tap_input(remote->tap, c));
	rb_tap_close(remote->tap);
	remote->tap = NULL;
}

static void on_port(struct rb_bridge *b, const struct sl_relay_message *message)
{
	for (uint32_t i = 0; i < b->n_remotes; i++) {
		struct rb_bridge_remote *remote = &b->remotes[i];

		if (remote->system_port != message->system_port)
			continue;
		remote->up = message->up;
		if (message->gone || !remote->tap) {
			rb_bridge_halt(b);
			if (message->gone)
				close_tap(b, remote);
			else
				open_tap(b, remote);
			rb_bridge_release(b);
		}
		set_carrier(b, remote);
	}
}

/* --- Announcements ------------------------------------------------------------------------ */

static void on_send(struct rb_bridge *b, const struct sl_relay_message *message, uint64_t now_ns)
{
	struct rb_worker *worker = b->lanes[0].worker;

	/* What does not go now is repeated by sluiced within a second. */
	for (uint32_t i = 0; i < worker->n_nodes; i++) {
		uint8_t node = worker->nodes[i];

		if ((message->node == 0 || message->node == node) &&
		    rb_worker_peer_state(worker, node) == RB_PEER_UP)
			rb_worker_announce(worker, node, message->part,
					   (uint32_t)message->part_bytes, now_ns);
	}
}

void rb_relay_received(struct rb_bridge *b, uint8_t node, const uint8_t *part, uint32_t part_bytes)
{
	const struct sl_relay_message message = {
		.kind = SL_RELAY_RECEIVED, .node = node, .part = part, .part_bytes = part_bytes
	};

	if (b->client_fd >= 0 && !tell(b, &message))
		b->relay_dropped++;
}

static void tell_peer(struct rb_bridge *b, uint8_t node)
{
	bool up = rb_bridge_peer_state(b, node) == RB_PEER_UP;
	const struct sl_relay_message message = {
		.kind = SL_RELAY_PEER,
		.node = node,
		.up = up,
		.epoch = up ? b->lanes[0].worker->peers.peer[node].epoch : 0,
	};

	if (b->client_fd >= 0 && !tell(b, &message)) {
		sl_warning("sluiced does not read what it is told; closing its connection");
		drop_client(b);
	}
}

void rb_relay_peer(struct rb_bridge *b, uint8_t node)
{
	for (uint32_t i = 0; i < b->n_remotes; i++)
		if (b->remotes[i].system_port >> 8 == node)
			set_carrier(b, &b->remotes[i]);
	tell_peer(b, node);
}

/* --- The socket --------------------------------------------------------------------------- */

static void accept_client(struct rb_bridge *b)
{
	int fd = accept4(b->relay_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return;
	drop_client(b);
	b->client_fd = fd;
	watch(b, fd, NULL);
	for (uint32_t i = 0; i < b->lanes[0].worker->n_nodes; i++)
		tell_peer(b, b->lanes[0].worker->nodes[i]);
}

static void serve_client(struct rb_bridge *b, uint64_t now_ns)
{
	uint8_t bytes[SL_RELAY_MAX_BYTES + 1];

	for (int i = 0; i < MESSAGES_PER_POLL && b->client_fd >= 0; i++) {
		struct sl_relay_message message;
		ssize_t n = recv(b->client_fd, bytes, sizeof(bytes), 0);
		int err;

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0) {
			drop_client(b);
			return;
		}
		err = sl_relay_parse(bytes, (size_t)n, &message);
		if (!err && message.kind == SL_RELAY_SEND) {
			on_send(b, &message, now_ns);
		} else if (!err && message.kind == SL_RELAY_PORT) {
			on_port(b, &message);
		} else {
			sl_warning(
				"a message of sluiced makes no sense (%s); closing its connection",
				strerror(err ? -err : EPROTO));
			drop_client(b);
		}
	}
}

void rb_relay_poll(struct rb_bridge *b, uint64_t now_ns)
{
	struct epoll_event events[32];
	int n = epoll_wait(b->control_fd, events, 32, 0);

	/* TAPs say by their event that they can be read; the rest is looked at anyway. */
	for (int i = 0; i < n; i++)
		for (uint32_t r = 0; events[i].data.ptr && r < b->n_remotes; r++)
			if (b->remotes[r].tap == events[i].data.ptr) {
				rb_tap_ready(b->remotes[r].tap);
				rb_bridge_wake(b, b->remotes[r].system_port);
			}
	if (n > 0)
		accept_client(b);
	serve_client(b, now_ns);
}

void rb_relay_close(struct rb_bridge *b)
{
	drop_client(b);
	for (uint32_t i = 0; i < b->n_remotes; i++)
		close_tap(b, &b->remotes[i]);
	if (b->relay_fd < 0)
		return;
	unlink(b->settings->cluster.socket);
	close(b->relay_fd);
	b->relay_fd = -1;
}
