/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "user/cluster/cluster_kernel.h"
#include "user/cluster/cluster_receive.h"
#include "user/cluster/cluster_send.h"
#include "user/cluster/cluster_view.h"
#include "user/lib/clock.h"
#include "user/lib/log.h"

enum {
	RECONNECT_MS = 50, /* to a bridge that does not answer */
	RELAY_BATCH = 256, /* messages of the bridge in one poll */
};

/*
 * These ports have been cut off. Tell the fast path first: the kernel may make us wait for a lock.
 * Ports that were cut off before are not among them: if many nodes go, that would be their number
 * squared.
 */
static void cut(struct sl_cluster *c, const struct sl_remote_port *ports, uint32_t n)
{
	c->ops->cuts_changed(c->ctx);
	for (uint32_t i = 0; i < n; i++)
		if (ports[i].ifindex)
			sl_rtnl_link_sync(c->dumps, ports[i].ifindex);
}

static void on_peer(struct sl_cluster *c, const struct sl_relay_message *message)
{
	struct sl_peer *peer = sl_cluster_peer(c, message->node);
	struct sl_remote_port *ports;
	bool was_silent;
	uint32_t n;

	if (!peer)
		return;
	if (peer->up != message->up)
		sl_event("peer",
			 SL_LOG_FIELDS({ "node", NULL, peer->node },
				       { "state", message->up ? "up" : "down", 0 }),
			 "cluster: node %u is %s", peer->node, message->up ? "up" : "down");
	if (peer->up && !message->up)
		peer->down_since_ns = sl_now_ns();
	/* What the peer announces is applied anew: within a second, if it is the same life. */
	if (message->up &&
	    (peer->epoch != message->epoch || peer->mtu_bytes != message->mtu_bytes)) {
		sl_assembly_reset(&peer->assembly);
		peer->epoch = message->epoch;
		peer->mtu_bytes = message->mtu_bytes;
	}
	was_silent = peer->silent;
	peer->up = message->up;
	peer->silent = !message->up;
	/* A bridge that has just heard of the node knows none of its ports. */
	ports = sl_cluster_ports_of(c, peer->node, &n);
	for (uint32_t i = 0; i < n; i++)
		sl_cluster_send_port(c, &ports[i]);
	if (peer->up)
		sl_cluster_announce(c, peer->node);
	if (peer->silent && !was_silent)
		cut(c, ports, n);
	else if (!peer->silent && was_silent)
		c->ops->cuts_changed(c->ctx);
}

static void on_wanted(void *ctx, const struct sl_announce_record *record)
{
	struct sl_cluster *c = ctx;
	const struct sl_local_port *port = sl_local_port_by_number(&c->local, record->system_port);

	/*
	 * If we asked the kernel to resolve a permanent neighbour, it would turn it into one that
	 * can fail; and it would forget of one that another program keeps who does.
	 */
	if (port && port->ifindex && !sl_local_neighbour_is_fixed(&c->local, record))
		sl_rtnl_neigh_use(c->dumps, port->ifindex, record->family, record->addr, 0);
}

struct claims {
	struct sl_cluster *c;
	uint8_t node;
};

static void on_claim(void *ctx, enum sl_claim_kind kind, const struct sl_claim_record *record)
{
	const struct claims *claims = ctx;

	claims->c->ops->claim(claims->c->ctx, claims->node, kind, record);
}

static int receive_claims(struct sl_cluster *c, const struct sl_relay_message *message)
{
	struct claims claims = { c, message->node };
	enum sl_claim_kind kind;

	return sl_claim_parse(message->part, message->part_bytes, message->node,
			      (uint8_t)c->settings->node, &kind, on_claim, &claims);
}

static void on_received(struct sl_cluster *c, const struct sl_relay_message *message)
{
	const uint8_t self = (uint8_t)c->settings->node;
	struct sl_peer *peer = sl_cluster_peer(c, message->node);
	struct sl_announce_header header;
	int err;

	if (!peer)
		return;
	if (sl_claim_is(message->part, message->part_bytes)) {
		err = receive_claims(c, message);
		if (err)
			sl_debug("cluster: node %u: its claims are refused: %s", peer->node,
				 strerror(-err));
		return;
	}
	err = sl_announce_parse(message->part, message->part_bytes, peer->node, self, &header,
				on_wanted, c);
	if (!err && header.kind == SL_ANNOUNCE_RESOLVE) {
		sl_rtnl_flush(c->dumps);
		return;
	}
	if (!err)
		err = sl_assembly_input(&peer->assembly, message->part, message->part_bytes,
					peer->node, self);
	if (err > 0)
		sl_peer_apply(c, peer);
	else if (err < 0)
		sl_debug("cluster: node %u: its announcement is refused: %s", peer->node,
			 strerror(-err));
}

static void disconnected(struct sl_cluster *c, int err)
{
	sl_warning("cluster: the bridge at \"%s\" is gone: %s", c->settings->socket,
		   strerror(-err));
	sl_relay_disconnect(&c->relay);
	c->connect_ns = 0;
	for (uint32_t i = 0; i < c->n_peers; i++) {
		if (c->peers[i].up)
			c->peers[i].down_since_ns = sl_now_ns();
		c->peers[i].up = false;
		c->peers[i].silent = true;
	}
	cut(c, c->ports, c->n_ports);
}

void sl_cluster_poll_relay(struct sl_cluster *c)
{
	struct sl_relay_message message;
	int err = 0;

	for (int i = 0; i < RELAY_BATCH && c->relay.fd >= 0; i++) {
		err = sl_relay_receive(&c->relay, &message);
		if (err == -EAGAIN)
			return;
		if (err == -EPROTO || err == -EMSGSIZE || err == -EINVAL)
			continue;
		if (err)
			disconnected(c, err);
		else if (message.kind == SL_RELAY_PEER)
			on_peer(c, &message);
		else if (message.kind == SL_RELAY_RECEIVED)
			on_received(c, &message);
	}
}

void sl_cluster_connect(struct sl_cluster *c)
{
	struct epoll_event event = { .events = EPOLLIN };

	c->connect_ns = sl_now_ns() + RECONNECT_MS * SL_NS_PER_MS;
	if (sl_relay_connect(&c->relay, c->settings->socket))
		return;
	event.data.fd = c->relay.fd;
	if (epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, c->relay.fd, &event)) {
		sl_relay_disconnect(&c->relay);
		return;
	}
	c->connect_ns = SL_NEVER;
	sl_info("cluster: the bridge answers at \"%s\"", c->settings->socket);
	for (uint32_t i = 0; i < c->n_ports; i++)
		sl_cluster_send_port(c, &c->ports[i]);
	c->ops->bridge_connected(c->ctx);
}
