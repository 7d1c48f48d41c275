/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include "user/cluster.h"
#include "user/lib/log.h"
#include "user/local_state.h"
#include "user/relay_client.h"
#include "user/remote_port.h"
#include "user/remote_state.h"
#include "user/rtnl.h"
#include "user/rtnl_request.h"
#include "user/rtnl_socket.h"

enum {
	RECONNECT_MS = 250,	/* to a bridge that does not answer */
	EVENT_BUFFER = 8 << 20, /* bytes of netlink events that may wait */
	RELAY_BATCH = 256,	/* messages of the bridge in one poll */
	EVENT_BATCHES = 16,	/* of netlink, in one poll */
	WANTED_MAX = 256,	/* addresses asked for in one poll; the kernel asks again */
	READ_SHARE = 10,	/* reading the own state may take a tenth of the time */
};
#define MS    1000000ULL
#define NEVER UINT64_MAX

struct peer {
	uint8_t node;
	uint8_t family, address[16]; /* on the fabric */
	bool up;
	uint32_t epoch;
	uint64_t down_since_ns;
	struct sl_assembly assembly;
	struct sl_remote_entry *entries; /* owned; what the kernel was given, ascending */
	size_t n_entries;
};

struct wanted {
	uint16_t system_port;
	uint8_t family, addr[16];
};

struct sl_cluster {
	const struct sl_cluster_settings *settings; /* borrowed */
	const struct sl_cluster_ops *ops;	    /* borrowed */
	void *ctx;
	struct sl_relay_client relay;
	struct sl_rtnl_socket *events, *dumps; /* owned */
	struct sl_rtnl_request *requests;      /* owned */
	int epoll_fd, timer_fd;

	struct sl_local_state local;
	uint32_t generation;
	struct sl_remote_port *ports; /* owned */
	uint32_t n_ports;
	struct peer *peers; /* owned */
	uint32_t n_peers;
	struct wanted wanted[WANTED_MAX];
	uint32_t n_wanted;

	/* When each is due next, CLOCK_MONOTONIC; NEVER: not */
	uint64_t read_ns, repeat_ns, connect_ns, refresh_ns, armed_ns;
	uint64_t read_after_ns; /* no reading of the own state before */
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

static struct peer *peer_of(struct sl_cluster *c, uint32_t node)
{
	for (uint32_t i = 0; i < c->n_peers; i++)
		if (c->peers[i].node == node)
			return &c->peers[i];
	return NULL;
}

static struct sl_remote_port *port_by_ifindex(const struct sl_cluster *c, uint32_t ifindex)
{
	for (uint32_t i = 0; i < c->n_ports && ifindex; i++)
		if (c->ports[i].ifindex == ifindex)
			return &c->ports[i];
	return NULL;
}

static struct sl_remote_port *port_by_number(const struct sl_cluster *c, uint16_t system_port)
{
	for (uint32_t i = 0; i < c->n_ports; i++)
		if (c->ports[i].system_port == system_port)
			return &c->ports[i];
	return NULL;
}

uint16_t sl_cluster_voq_plus1(const struct sl_cluster *c, uint32_t ifindex)
{
	const struct sl_remote_port *port = port_by_ifindex(c, ifindex);

	return port ? port->voq_plus1 : 0;
}

int sl_cluster_fd(const struct sl_cluster *c)
{
	return c->epoll_fd;
}

/* --- The bridge ------------------------------------------------------------------------------------- */

static void send_message(struct sl_cluster *c, const struct sl_relay_message *message)
{
	int err = sl_relay_send(&c->relay, message);

	/* The next repetition, or the next connection, brings it. */
	if (err && err != -EAGAIN && err != -ENOTCONN)
		sl_debug("cluster: the bridge does not take a message: %s", strerror(-err));
}

static void send_port(struct sl_cluster *c, const struct sl_remote_port *port)
{
	send_message(c, &(struct sl_relay_message){ .kind = SL_RELAY_PORT,
						    .system_port = port->system_port,
						    .up = port->up && port->ifindex });
}

static void send_part(struct sl_cluster *c, uint8_t node, const struct sl_announce_part *part)
{
	send_message(c, &(struct sl_relay_message){ .kind = SL_RELAY_SEND,
						    .node = node,
						    .part = part->bytes,
						    .part_bytes = part->len_bytes });
}

/* How many parts the records take; sends each as part of that many, unless parts is 0. */
static uint16_t walk_parts(struct sl_cluster *c, uint8_t node, uint16_t parts)
{
	struct sl_announce_header header = { .kind = SL_ANNOUNCE_STATE,
					     .generation = c->generation,
					     .parts = parts ? parts : 1 };
	struct sl_announce_part part;

	sl_announce_begin(&part, &header);
	for (uint32_t i = 0; i < c->local.n; i++) {
		if (sl_announce_add(&part, &c->local.records[i]))
			continue;
		if (header.part + 1 == SL_ANNOUNCE_PARTS_MAX)
			break; /* neighbours come last: those left out are resolved on request */
		if (parts)
			send_part(c, node, &part);
		header.part++;
		if (!parts)
			header.parts = (uint16_t)(header.part + 1);
		sl_announce_begin(&part, &header);
		sl_announce_add(&part, &c->local.records[i]);
	}
	if (parts)
		send_part(c, node, &part);
	return (uint16_t)(header.part + 1);
}

/* node 0: all */
static void announce(struct sl_cluster *c, uint8_t node)
{
	if (c->relay.fd >= 0)
		walk_parts(c, node, walk_parts(c, node, 0));
}

/* --- From a peer's state to the kernel ---------------------------------------------------------------- */

static void own_route(const struct peer *peer, const struct sl_remote_entry *entry,
		      uint32_t ifindex, struct sl_own_route *route)
{
	static const uint8_t none[16];

	*route = (struct sl_own_route){ .prefix = { .family = entry->family, .len = entry->len } };
	memcpy(route->prefix.addr, entry->addr, sizeof(entry->addr));
	if (entry->kind == SL_REMOTE_HOST) {
		route->gateway_family = peer->family;
		memcpy(route->gateway, peer->address, sizeof(peer->address));
		return;
	}
	route->ifindex = ifindex;
	route->has_source = memcmp(entry->source, none, sizeof(none)) != 0;
	memcpy(route->source, entry->source, sizeof(entry->source));
}

static int entry_add(struct sl_cluster *c, const struct peer *peer,
		     const struct sl_remote_entry *entry)
{
	const struct sl_remote_port *port = port_by_number(c, entry->system_port);
	struct sl_own_route route;

	/* IPv6 cannot be sent by an IPv4 gateway. */
	if (entry->kind == SL_REMOTE_HOST && entry->family == AF_INET6 && peer->family == AF_INET)
		return 0;
	if (!port || !port->ifindex)
		return -ENODEV;
	if (entry->kind == SL_REMOTE_NEIGHBOUR)
		return sl_rtnl_neigh_set(c->requests, port->ifindex, entry->family, entry->addr,
					 entry->mac);
	own_route(peer, entry, port->ifindex, &route);
	return sl_rtnl_route_add(c->requests, &route);
}

static int entry_remove(struct sl_cluster *c, const struct peer *peer,
			const struct sl_remote_entry *entry)
{
	const struct sl_remote_port *port = port_by_number(c, entry->system_port);
	struct sl_own_route route;

	if (entry->kind != SL_REMOTE_HOST && (!port || !port->ifindex))
		return 0; /* it went with the netdev */
	if (entry->kind == SL_REMOTE_NEIGHBOUR)
		return sl_rtnl_neigh_delete(c->requests, port->ifindex, entry->family, entry->addr);
	own_route(peer, entry, port ? port->ifindex : 0, &route);
	return sl_rtnl_route_delete(c->requests, &route);
}

static void log_entry(const struct sl_remote_entry *entry, const char *what, int err)
{
	struct sl_prefix prefix = { .family = entry->family,
				    .len = entry->kind == SL_REMOTE_NEIGHBOUR
						   ? sl_addr_bits(entry->family)
						   : entry->len };
	char text[SL_PREFIX_STRLEN], name[IF_NAMESIZE];

	memcpy(prefix.addr, entry->addr, sizeof(entry->addr));
	sl_relay_tap_name(entry->system_port, name);
	sl_warning("%s: cannot %s %s %s: %s", name, what,
		   entry->kind == SL_REMOTE_NEIGHBOUR ? "neighbour" : "route",
		   sl_prefix_format(&prefix, text), strerror(-err));
}

struct applying {
	struct sl_cluster *c;
	struct peer *peer;
};

static void apply(void *ctx, enum sl_remote_change change, const struct sl_remote_entry *was,
		  const struct sl_remote_entry *now)
{
	struct applying *a = ctx;
	int err = 0;

	/* A neighbour is replaced in place; a route is taken out first. */
	if (was && (change == SL_REMOTE_REMOVE || was->kind != SL_REMOTE_NEIGHBOUR))
		err = entry_remove(a->c, a->peer, was);
	if (err && err != -ESRCH && err != -ENOENT && err != -ENODEV)
		log_entry(was, "remove", err);
	err = now ? entry_add(a->c, a->peer, now) : 0;
	if (err)
		log_entry(now, "add", err);
}

/* Take over entries, owned by the peer from now on. */
static void peer_set_entries(struct sl_cluster *c, struct peer *peer,
			     struct sl_remote_entry *entries, size_t n)
{
	struct applying a = { .c = c, .peer = peer };

	sl_remote_diff(peer->entries, peer->n_entries, entries, n, apply, &a);
	free(peer->entries);
	peer->entries = entries;
	peer->n_entries = n;
}

static void port_announced(struct sl_cluster *c, const struct sl_announce_record *record)
{
	struct sl_remote_port *port = port_by_number(c, record->system_port);

	if (!port)
		return;
	sl_remote_port_set(port, c->requests, record->mac, record->mtu_bytes);
	if (port->up == record->up)
		return;
	port->up = record->up;
	send_port(c, port);
}

/* Ports that a generation does not name are absent on their node. */
static void ports_missing(struct sl_cluster *c, const struct peer *peer)
{
	const struct sl_assembly *a = &peer->assembly;

	for (uint32_t i = 0; i < c->n_ports; i++) {
		struct sl_remote_port *port = &c->ports[i];
		bool named = false;

		if (port->system_port >> 8 != peer->node || !port->up)
			continue;
		for (uint32_t r = 0; r < a->n && !named; r++)
			named = a->records[r].type == SL_ANNOUNCE_PORT &&
				a->records[r].system_port == port->system_port;
		if (!named) {
			port->up = false;
			send_port(c, port);
		}
	}
}

/* A generation is complete, or our own addresses have changed. */
static void peer_apply(struct sl_cluster *c, struct peer *peer)
{
	const struct sl_assembly *a = &peer->assembly;
	struct sl_remote_entry *entries;

	if (!a->complete)
		return;
	entries = calloc(2 * (size_t)a->n + 1, sizeof(*entries));
	if (!entries) {
		sl_error("cluster: node %u: not enough memory for its announcement", peer->node);
		return;
	}
	for (uint32_t i = 0; i < a->n; i++)
		if (a->records[i].type == SL_ANNOUNCE_PORT)
			port_announced(c, &a->records[i]);
	ports_missing(c, peer);
	peer_set_entries(c, peer, entries,
			 sl_remote_entries(a->records, a->n, &c->local.sources, entries));
}

/* What the kernel has lost (a port was down, an address went) is given to it again. */
static void peer_ensure(struct sl_cluster *c, struct peer *peer, uint16_t system_port)
{
	for (size_t i = 0; i < peer->n_entries; i++)
		if (!system_port || peer->entries[i].system_port == system_port)
			entry_add(c, peer, &peer->entries[i]);
}

static void peer_expire(struct sl_cluster *c, struct peer *peer)
{
	if (peer->up || !peer->n_entries ||
	    now_ns() - peer->down_since_ns < SL_CLUSTER_EXPIRY_S * 1000 * MS)
		return;
	sl_info("cluster: node %u: its routes and neighbours are removed", peer->node);
	peer_set_entries(c, peer, NULL, 0);
	sl_assembly_reset(&peer->assembly);
}

/* --- Messages of the bridge --------------------------------------------------------------------------- */

static void on_peer(struct sl_cluster *c, const struct sl_relay_message *message)
{
	struct peer *peer = peer_of(c, message->node);

	if (!peer)
		return;
	if (peer->up != message->up)
		sl_info("cluster: node %u is %s", peer->node, message->up ? "up" : "down");
	if (peer->up && !message->up)
		peer->down_since_ns = now_ns();
	if (message->up && peer->epoch != message->epoch) {
		sl_assembly_reset(&peer->assembly);
		peer->epoch = message->epoch;
	}
	peer->up = message->up;
	if (peer->up)
		announce(c, peer->node);
}

static void on_wanted(void *ctx, const struct sl_announce_record *record)
{
	struct sl_cluster *c = ctx;
	const struct sl_local_port *port = sl_local_port_by_number(&c->local, record->system_port);

	if (port && port->ifindex)
		sl_rtnl_neigh_use(c->dumps, port->ifindex, record->family, record->addr);
}

static void on_received(struct sl_cluster *c, const struct sl_relay_message *message)
{
	const uint8_t self = (uint8_t)c->settings->node;
	struct peer *peer = peer_of(c, message->node);
	struct sl_announce_header header;
	int err;

	if (!peer)
		return;
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
		peer_apply(c, peer);
	else if (err < 0)
		sl_debug("cluster: node %u: a senseless announcement: %s", peer->node,
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
			c->peers[i].down_since_ns = now_ns();
		c->peers[i].up = false;
	}
}

static void poll_relay(struct sl_cluster *c)
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

static void connect_relay(struct sl_cluster *c)
{
	struct epoll_event event = { .events = EPOLLIN };

	c->connect_ns = now_ns() + RECONNECT_MS * MS;
	if (sl_relay_connect(&c->relay, c->settings->socket))
		return;
	event.data.fd = c->relay.fd;
	if (epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, c->relay.fd, &event)) {
		sl_relay_disconnect(&c->relay);
		return;
	}
	c->connect_ns = NEVER;
	sl_info("cluster: the bridge answers at \"%s\"", c->settings->socket);
	for (uint32_t i = 0; i < c->n_ports; i++)
		send_port(c, &c->ports[i]);
}

/* --- Events of the kernel ----------------------------------------------------------------------------- */

static void want(struct sl_cluster *c, uint16_t system_port, uint8_t family, const uint8_t addr[16])
{
	struct wanted *w = &c->wanted[c->n_wanted];

	if (c->n_wanted == WANTED_MAX)
		return;
	*w = (struct wanted){ .system_port = system_port, .family = family };
	memcpy(w->addr, addr, sizeof(w->addr));
	c->n_wanted++;
}

/* One node after the other, as many as fit a part. */
static void send_wanted(struct sl_cluster *c)
{
	const struct sl_announce_header header = { .kind = SL_ANNOUNCE_RESOLVE, .parts = 1 };
	struct sl_announce_part part;

	for (uint32_t p = 0; p < c->n_peers && c->n_wanted; p++) {
		const uint8_t node = c->peers[p].node;

		sl_announce_begin(&part, &header);
		for (uint32_t i = 0; i < c->n_wanted; i++) {
			const struct wanted *w = &c->wanted[i];
			struct sl_announce_record record = { .type = SL_ANNOUNCE_WANTED,
							     .system_port = w->system_port,
							     .family = w->family };

			if (w->system_port >> 8 != node)
				continue;
			memcpy(record.addr, w->addr, sizeof(w->addr));
			if (sl_announce_add(&part, &record))
				continue;
			send_part(c, node, &part);
			sl_announce_begin(&part, &header);
			sl_announce_add(&part, &record);
		}
		if (part.records && c->peers[p].up)
			send_part(c, node, &part);
	}
	c->n_wanted = 0;
}

static void read_soon(struct sl_cluster *c)
{
	uint64_t due = now_ns() + SL_CLUSTER_COALESCE_MS * MS;

	if (due < c->read_after_ns)
		due = c->read_after_ns;
	if (due < c->read_ns)
		c->read_ns = due;
}

static void event_link(struct sl_cluster *c, const struct nlmsghdr *nlh)
{
	struct sl_remote_port *port;
	struct sl_rtnl_link link;

	if (sl_rtnl_parse_link(nlh, &link))
		return;
	port = port_by_ifindex(c, link.ifindex);
	if (!port) {
		read_soon(c);
		return;
	}
	if (link.removed)
		c->refresh_ns = 0; /* made again */
	else if (link.flags & IFF_UP && peer_of(c, port->system_port >> 8))
		peer_ensure(c, peer_of(c, port->system_port >> 8), port->system_port);
}

static void event_neigh(struct sl_cluster *c, const struct nlmsghdr *nlh)
{
	const struct sl_remote_port *port;
	struct sl_rtnl_neigh neigh;

	if (sl_rtnl_parse_neigh(nlh, &neigh))
		return;
	port = port_by_ifindex(c, neigh.ifindex);
	if (port && nlh->nlmsg_type == RTM_GETNEIGH)
		want(c, port->system_port, neigh.family, neigh.addr);
	else if (sl_local_port_by_ifindex(&c->local, neigh.ifindex))
		read_soon(c);
}

static void on_event(void *ctx, const struct nlmsghdr *nlh)
{
	struct sl_cluster *c = ctx;

	switch (nlh->nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		event_link(c, nlh);
		break;
	case RTM_NEWADDR:
	case RTM_DELADDR:
		read_soon(c);
		break;
	case RTM_NEWNEIGH:
	case RTM_DELNEIGH:
	case RTM_GETNEIGH:
		event_neigh(c, nlh);
		break;
	}
}

static int poll_events(struct sl_cluster *c)
{
	int err = 0;

	for (int i = 0; i < EVENT_BATCHES && !err; i++) {
		err = sl_rtnl_receive(c->events, on_event, c);
		if (err == -ENOBUFS) { /* whatever it was */
			read_soon(c);
			c->refresh_ns = 0;
			err = 0;
		}
	}
	return err == -EAGAIN ? 0 : err;
}

/* --- What is due --------------------------------------------------------------------------------------- */

static void read_local(struct sl_cluster *c)
{
	const struct sl_remote_sources before = c->local.sources;
	const uint64_t begin_ns = now_ns();
	int changed = sl_local_read(&c->local, c->dumps);
	uint64_t end_ns = now_ns();

	c->read_ns = NEVER;
	c->read_after_ns = end_ns + READ_SHARE * (end_ns - begin_ns);
	if (changed < 0) {
		if (changed != -EINTR)
			sl_warning("cluster: cannot read this node's state: %s",
				   strerror(-changed));
		c->read_ns = c->read_after_ns;
	}
	if (changed <= 0)
		return;
	c->generation++;
	c->repeat_ns = 0;
	if (memcmp(&before, &c->local.sources, sizeof(before)) != 0)
		for (uint32_t i = 0; i < c->n_peers; i++)
			peer_apply(c, &c->peers[i]);
}

static int make_ports(struct sl_cluster *c)
{
	bool any = false;
	int first = 0;

	for (uint32_t i = 0; i < c->n_ports; i++) {
		struct sl_remote_port *port = &c->ports[i];
		bool made;
		int err = sl_remote_port_make(port, c->requests, &made);

		first = first ? first : err;
		if (!made)
			continue;
		any = true;
		send_port(c, port);
		for (uint32_t p = 0; p < c->n_peers; p++) {
			struct peer *peer = &c->peers[p];

			for (uint32_t r = 0; peer->assembly.complete && r < peer->assembly.n; r++)
				if (peer->assembly.records[r].type == SL_ANNOUNCE_PORT &&
				    peer->assembly.records[r].system_port == port->system_port)
					port_announced(c, &peer->assembly.records[r]);
		}
	}
	if (any)
		c->ops->ports_changed(c->ctx);
	return first;
}

static int want_used(void *ctx, const struct sl_neighbour_view *view)
{
	struct sl_cluster *c = ctx;
	const struct sl_remote_port *port =
		view->in_use ? port_by_ifindex(c, view->l3_ifindex) : NULL;

	if (!port)
		return 0;
	if (c->n_wanted == WANTED_MAX)
		send_wanted(c);
	want(c, port->system_port, view->family, view->addr);
	return 0;
}

static void refresh(struct sl_cluster *c)
{
	const struct sl_mirror *mirror = c->ops->mirror(c->ctx);

	c->refresh_ns = now_ns() + SL_CLUSTER_REFRESH_S * 1000 * MS;
	make_ports(c);
	for (uint32_t i = 0; i < c->n_peers; i++) {
		peer_ensure(c, &c->peers[i], 0);
		peer_expire(c, &c->peers[i]);
	}
	if (mirror)
		sl_mirror_each_neighbour(mirror, want_used, c);
	read_soon(c);
}

static void do_due(struct sl_cluster *c)
{
	const uint64_t now = now_ns();

	if (now >= c->connect_ns)
		connect_relay(c);
	if (now >= c->refresh_ns)
		refresh(c);
	if (now >= c->read_ns)
		read_local(c);
	send_wanted(c);
	if (now >= c->repeat_ns) {
		announce(c, 0);
		c->repeat_ns = now + SL_CLUSTER_REPEAT_MS * MS;
	}
}

static int arm(struct sl_cluster *c)
{
	const uint64_t due[] = { c->read_ns, c->repeat_ns, c->connect_ns, c->refresh_ns };
	struct itimerspec spec = { 0 };
	uint64_t first = NEVER;

	for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++)
		first = due[i] < first ? due[i] : first;
	if (first == c->armed_ns)
		return 0;
	c->armed_ns = first;
	first = first ? first : 1; /* 0 would disarm it */
	spec.it_value.tv_sec = (time_t)(first / 1000000000ULL);
	spec.it_value.tv_nsec = (long)(first % 1000000000ULL);
	return timerfd_settime(c->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL) ? -errno : 0;
}

int sl_cluster_poll(struct sl_cluster *c)
{
	uint64_t expirations;
	int err;

	if (read(c->timer_fd, &expirations, sizeof(expirations)) == sizeof(expirations))
		c->armed_ns = NEVER;
	poll_relay(c);
	err = poll_events(c);
	if (err)
		return err;
	do_due(c);
	return arm(c);
}

/* --- Opening -------------------------------------------------------------------------------------------- */

static int make_lists(struct sl_cluster *c)
{
	const struct sl_cluster_settings *s = c->settings;
	const struct sl_cluster_node *self = sl_cluster_find_node(s, s->node);
	const uint32_t n_local = self->ports.n, n_remote = s->table.n - n_local;

	c->local.ports = calloc(n_local + 1, sizeof(*c->local.ports));
	c->ports = calloc(n_remote + 1, sizeof(*c->ports));
	c->peers = calloc(s->nodes.n, sizeof(*c->peers));
	if (!c->local.ports || !c->ports || !c->peers)
		return -ENOMEM;
	for (uint32_t i = 0; i < n_local; i++) {
		const struct sl_cluster_port *from = sl_cluster_port(self, i);
		struct sl_local_port *port = &c->local.ports[c->local.n_ports++];

		port->system_port = SL_SYSTEM_PORT(s->node, (uint16_t)from->number);
		memcpy(port->name, from->name, strlen(from->name));
		port->rate_bps = from->rate.frames ? 0 : from->rate.per_s * 8;
	}
	for (uint32_t i = 0; i < s->table.n; i++) {
		struct sl_remote_port *port = &c->ports[c->n_ports];

		if (s->table.port[i] >> 8 == (int)s->node)
			continue;
		port->system_port = s->table.port[i];
		port->voq_plus1 = (uint16_t)(sl_sysport_voq(i) + 1);
		sl_relay_tap_name(port->system_port, port->name);
		c->n_ports++;
	}
	for (uint32_t i = 0; i < s->nodes.n; i++) {
		const struct sl_cluster_node *node = sl_cluster_node(s, i);
		struct peer *peer = &c->peers[c->n_peers];

		if (node->id == s->node)
			continue;
		peer->node = (uint8_t)node->id;
		peer->down_since_ns = now_ns();
		sl_addr_parse(node->address, &peer->family, peer->address);
		c->n_peers++;
	}
	return 0;
}

static void adopt(struct sl_cluster *c, struct peer *peer, const struct sl_remote_entry *entry)
{
	struct sl_remote_entry *entries =
		realloc(peer->entries, (peer->n_entries + 1) * sizeof(*entries));

	(void)c;
	if (!entries)
		return;
	entries[peer->n_entries++] = *entry;
	peer->entries = entries;
}

/* A route of an earlier life: whose is it? Nobody's is removed. */
static void adopt_route(void *ctx, const struct nlmsghdr *nlh)
{
	struct sl_cluster *c = ctx;
	struct sl_rtnl_route *route = malloc(sizeof(*route));
	struct sl_remote_entry entry = { 0 };
	const struct sl_remote_port *port;
	struct peer *peer = NULL;

	if (!route || sl_rtnl_parse_route(nlh, route) || route->protocol != SL_RTPROT ||
	    route->n_legs != 1)
		goto out;
	entry.family = route->dst.family;
	entry.len = route->dst.len;
	memcpy(entry.addr, route->dst.addr, sizeof(entry.addr));
	port = port_by_ifindex(c, route->leg[0].ifindex);
	if (port) {
		entry.kind = SL_REMOTE_PREFIX;
		entry.system_port = port->system_port;
		if (route->has_prefsrc)
			memcpy(entry.source, route->prefsrc, sizeof(entry.source));
		peer = peer_of(c, port->system_port >> 8);
	}
	if (peer) {
		adopt(c, peer, &entry);
	} else {
		/* A host route over the fabric does not say of which port it is: it is made anew. */
		struct sl_own_route own = { .prefix = route->dst,
					    .gateway_family = route->leg[0].gateway_family };

		memcpy(own.gateway, route->leg[0].gateway, sizeof(own.gateway));
		own.ifindex = route->leg[0].ifindex;
		sl_rtnl_route_delete(c->requests, &own);
	}
out:
	free(route);
}

static void adopt_neigh(void *ctx, const struct nlmsghdr *nlh)
{
	struct sl_cluster *c = ctx;
	struct sl_remote_entry entry = { .kind = SL_REMOTE_NEIGHBOUR };
	const struct sl_remote_port *port;
	struct sl_rtnl_neigh neigh;
	struct peer *peer;

	if (sl_rtnl_parse_neigh(nlh, &neigh) || !(neigh.flags & NTF_EXT_LEARNED))
		return;
	port = port_by_ifindex(c, neigh.ifindex);
	peer = port ? peer_of(c, port->system_port >> 8) : NULL;
	if (!peer)
		return;
	entry.family = neigh.family;
	entry.system_port = port->system_port;
	memcpy(entry.addr, neigh.addr, sizeof(entry.addr));
	memcpy(entry.mac, neigh.mac, sizeof(entry.mac));
	adopt(c, peer, &entry);
}

/* Remote ports of an earlier configuration. */
static void remove_stale_port(void *ctx, const struct nlmsghdr *nlh)
{
	struct sl_cluster *c = ctx;
	struct sl_rtnl_link link;

	if (sl_rtnl_parse_link(nlh, &link) || port_by_ifindex(c, link.ifindex) ||
	    !sl_remote_port_is_ours(link.name))
		return;
	sl_info("%s: not configured any more: removed", link.name);
	sl_rtnl_link_delete(c->requests, link.ifindex);
}

static int compare_entries(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct sl_remote_entry));
}

static int adopt_all(struct sl_cluster *c)
{
	int err = sl_rtnl_dump(c->dumps, RTM_GETLINK, AF_UNSPEC, 0, remove_stale_port, c);

	if (!err || err == -EINTR)
		err = sl_rtnl_dump(c->dumps, RTM_GETROUTE, AF_INET, 0, adopt_route, c);
	if (!err || err == -EINTR)
		err = sl_rtnl_dump(c->dumps, RTM_GETROUTE, AF_INET6, 0, adopt_route, c);
	if (!err || err == -EINTR || err == -EOPNOTSUPP)
		err = sl_rtnl_dump(c->dumps, RTM_GETNEIGH, AF_UNSPEC, 0, adopt_neigh, c);
	for (uint32_t i = 0; i < c->n_peers; i++)
		if (c->peers[i].n_entries)
			qsort(c->peers[i].entries, c->peers[i].n_entries,
			      sizeof(struct sl_remote_entry), compare_entries);
	return err == -EINTR ? 0 : err;
}

static int watch(const struct sl_cluster *c, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int open_sockets(struct sl_cluster *c)
{
	static const uint32_t groups[] = { RTNLGRP_LINK, RTNLGRP_NEIGH, RTNLGRP_IPV4_IFADDR,
					   RTNLGRP_IPV6_IFADDR };
	int err;

	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	c->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (c->epoll_fd < 0 || c->timer_fd < 0)
		return -errno;
	err = sl_rtnl_open_events(groups, sizeof(groups) / sizeof(groups[0]), EVENT_BUFFER,
				  &c->events);
	if (!err)
		err = sl_rtnl_open(&c->dumps);
	if (!err)
		err = sl_rtnl_request_open(&c->requests);
	if (!err)
		err = watch(c, c->timer_fd);
	return err ? err : watch(c, sl_rtnl_fd(c->events));
}

/* Rises by less than one a millisecond, so a new life begins above what the former has reached. */
static uint32_t first_generation(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint32_t)((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000);
}

int sl_cluster_open(const struct sl_cluster_settings *settings, const struct sl_cluster_ops *ops,
		    void *ctx, struct sl_cluster **out)
{
	struct sl_cluster *c = calloc(1, sizeof(*c));
	int err = -ENOMEM;

	*out = NULL;
	if (!c)
		return err;
	c->settings = settings;
	c->ops = ops;
	c->ctx = ctx;
	c->relay.fd = c->epoll_fd = c->timer_fd = -1;
	c->armed_ns = NEVER;
	c->generation = first_generation();
	c->refresh_ns = now_ns() + SL_CLUSTER_REFRESH_S * 1000 * MS;
	err = make_lists(c);
	if (!err)
		err = open_sockets(c);
	if (!err) {
		make_ports(c); /* one that cannot be made has been logged, and is tried again */
		err = adopt_all(c);
	}
	if (!err)
		err = arm(c);
	if (err) {
		sl_error("cluster: cannot start: %s", strerror(-err));
		sl_cluster_close(c);
	} else {
		*out = c;
	}
	return err;
}

void sl_cluster_close(struct sl_cluster *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->n_peers; i++) {
		sl_assembly_reset(&c->peers[i].assembly);
		free(c->peers[i].entries);
	}
	free(c->peers);
	free(c->ports);
	sl_local_free(&c->local);
	sl_relay_disconnect(&c->relay);
	sl_rtnl_request_close(c->requests);
	sl_rtnl_close(c->dumps);
	sl_rtnl_close(c->events);
	if (c->timer_fd >= 0)
		close(c->timer_fd);
	if (c->epoll_fd >= 0)
		close(c->epoll_fd);
	free(c);
}

void sl_cluster_remove_all(struct sl_cluster *c)
{
	for (uint32_t i = 0; i < c->n_peers; i++)
		peer_set_entries(c, &c->peers[i], NULL, 0);
	for (uint32_t i = 0; i < c->n_ports; i++) {
		struct sl_remote_port *port = &c->ports[i];

		if (!port->ifindex)
			continue;
		send_message(c, &(struct sl_relay_message){ .kind = SL_RELAY_PORT,
							    .system_port = port->system_port,
							    .gone = true });
		sl_rtnl_link_delete(c->requests, port->ifindex);
		port->ifindex = 0;
	}
}
