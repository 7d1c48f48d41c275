/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include "user/cluster/cluster_kernel.h"
#include "user/cluster/cluster_send.h"
#include "user/lib/log.h"
#include "user/rtnl/rtnl.h"

static void own_route(const struct sl_peer *peer, const struct sl_remote_entry *entry,
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

static int entry_add(struct sl_cluster *c, const struct sl_peer *peer,
		     const struct sl_remote_entry *entry)
{
	const struct sl_remote_port *port = sl_cluster_port_by_number(c, entry->system_port);
	struct sl_own_route route;

	/* An IPv6 route cannot have an IPv4 gateway. */
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

static int entry_remove(struct sl_cluster *c, const struct sl_peer *peer,
			const struct sl_remote_entry *entry)
{
	const struct sl_remote_port *port = sl_cluster_port_by_number(c, entry->system_port);
	struct sl_own_route route;

	if (entry->kind != SL_REMOTE_HOST && (!port || !port->ifindex))
		return 0; /* it vanished with the netdev */
	if (entry->kind == SL_REMOTE_NEIGHBOUR)
		return sl_rtnl_neigh_delete(c->requests, port->ifindex, entry->family, entry->addr);
	own_route(peer, entry, port ? port->ifindex : 0, &route);
	return sl_rtnl_route_delete(c->requests, &route, SL_RTMETRIC);
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
	struct sl_peer *peer;
};

static void apply(void *ctx, enum sl_remote_change change, const struct sl_remote_entry *was,
		  const struct sl_remote_entry *now)
{
	struct applying *a = ctx;
	int err = 0;

	/* The kernel replaces a neighbour in place; a route has to be removed first. */
	if (was && (change == SL_REMOTE_REMOVE || was->kind != SL_REMOTE_NEIGHBOUR))
		err = entry_remove(a->c, a->peer, was);
	if (err && err != -ESRCH && err != -ENOENT && err != -ENODEV)
		log_entry(was, "remove", err);
	err = now ? entry_add(a->c, a->peer, now) : 0;
	if (err)
		log_entry(now, "add", err);
}

/* Stop on the way to the target: the entries are what the kernel has now. */
static void settle(struct sl_cluster *c, struct sl_peer *peer)
{
	struct applying a = { .c = c, .peer = peer };
	const size_t rest = peer->n_entries - peer->at.old;
	struct sl_remote_entry *merged = NULL;

	if (!peer->changing)
		return;
	if (rest)
		merged = realloc(peer->target, (peer->at.new + rest) * sizeof(*merged));
	if (rest && !merged) /* without memory, go the whole way */
		sl_remote_diff(peer->entries, peer->n_entries, peer->target, peer->n_target,
			       &peer->at, SIZE_MAX, apply, &a);
	else if (rest)
		memcpy(&merged[peer->at.new], &peer->entries[peer->at.old], rest * sizeof(*merged));
	free(peer->entries);
	peer->entries = merged ? merged : peer->target;
	peer->n_entries = merged ? peer->at.new + rest : peer->at.new;
	peer->target = NULL;
	peer->changing = false;
	peer->ensure_at = 0;
}

/* Lead the kernel to these entries for the peer, which owns the array from now on. */
static void peer_set_target(struct sl_cluster *c, struct sl_peer *peer,
			    struct sl_remote_entry *entries, size_t n)
{
	settle(c, peer);
	peer->target = entries;
	peer->n_target = n;
	peer->at = (struct sl_remote_cursor){ 0 };
	peer->changing = true;
}

/* Larger packets than the fabric carries are the kernel's to answer, not the bridge's to drop. */
static uint32_t mtu_of(const struct sl_peer *peer, const struct sl_announce_record *record)
{
	return peer->mtu_bytes && peer->mtu_bytes < record->mtu_bytes ? peer->mtu_bytes
								      : record->mtu_bytes;
}

static void port_announced(struct sl_cluster *c, const struct sl_peer *peer,
			   const struct sl_announce_record *record)
{
	struct sl_remote_port *port = sl_cluster_port_by_number(c, record->system_port);

	if (!port)
		return;
	sl_remote_port_set(port, c->requests, record->mac, mtu_of(peer, record));
	if (port->known && port->up == record->up)
		return;
	port->known = true;
	port->up = record->up;
	sl_cluster_send_port(c, port);
}

/* A port that the generation does not name is absent on its node. */
static void ports_missing(struct sl_cluster *c, const struct sl_peer *peer)
{
	const struct sl_assembly *a = &peer->assembly;
	struct sl_remote_port *port;
	uint32_t n;

	for (port = sl_cluster_ports_of(c, peer->node, &n); n; n--, port++) {
		bool named = false;

		if (port->known && !port->up)
			continue;
		for (uint32_t r = 0; r < a->n && !named; r++)
			named = a->records[r].type == SL_ANNOUNCE_PORT &&
				a->records[r].system_port == port->system_port;
		if (!named) {
			port->known = true;
			port->up = false;
			sl_cluster_send_port(c, port);
		}
	}
}

/* Count what is refused at its port. */
static void refuse(void *ctx, const struct sl_remote_entry *entry, enum sl_remote_refusal why)
{
	struct sl_remote_port *port = sl_cluster_port_by_number(ctx, entry->system_port);

	if (!port)
		return;
	if (!port->n_refused++) {
		port->refused_why = why;
		port->refused_prefix = (struct sl_prefix){ .family = entry->family };
		port->refused_prefix.len = entry->kind == SL_REMOTE_NEIGHBOUR
						   ? sl_addr_bits(entry->family)
						   : entry->len;
		memcpy(port->refused_prefix.addr, entry->addr, sizeof(entry->addr));
	}
	port->refused_by[why]++;
}

static void log_refused(const struct sl_remote_port *port, uint32_t before)
{
	char text[SL_PREFIX_STRLEN];

	if (port->n_refused && port->n_refused != before)
		sl_warning("%s: node %u announces %s, which is refused: it %s (%s); %u refused",
			   port->name, port->system_port >> 8,
			   sl_prefix_format(&port->refused_prefix, text),
			   sl_remote_refusal_text(port->refused_why),
			   sl_remote_refusal_name(port->refused_why), port->n_refused);
}

void sl_peer_apply(struct sl_cluster *c, struct sl_peer *peer)
{
	const struct sl_assembly *a = &peer->assembly;
	uint32_t before[256] = { 0 };
	struct sl_remote_entry *entries;
	struct sl_remote_port *ports;
	uint32_t n_ports;
	size_t n;

	if (!a->complete || !c->local.here_changes)
		return;
	entries = calloc(2 * (size_t)a->n + 1, sizeof(*entries));
	if (!entries) {
		sl_error("cluster: node %u: not enough memory for its announcement", peer->node);
		return;
	}
	ports = sl_cluster_ports_of(c, peer->node, &n_ports);
	for (uint32_t i = 0; i < n_ports; i++) {
		struct sl_remote_port *port = &ports[i];

		before[port->system_port & 0xff] = port->n_refused;
		port->n_refused = 0;
		memset(port->refused_by, 0, sizeof(port->refused_by));
	}
	n = sl_remote_entries(a->records, a->n, &c->local.here, entries, refuse, c);
	for (uint32_t i = 0; i < n_ports; i++)
		log_refused(&ports[i], before[ports[i].system_port & 0xff]);
	peer_set_target(c, peer, entries, n);
	peer->ports_due = true;
	sl_peer_work(c, peer);
}

/* A later generation that has begun announces the ports when it is complete. */
static void announce_ports(struct sl_cluster *c, struct sl_peer *peer)
{
	const struct sl_assembly *a = &peer->assembly;

	if (!peer->ports_due || !a->complete)
		return;
	peer->ports_due = false;
	for (uint32_t i = 0; i < a->n; i++)
		if (a->records[i].type == SL_ANNOUNCE_PORT)
			port_announced(c, peer, &a->records[i]);
	ports_missing(c, peer);
}

static void ensure_some(struct sl_cluster *c, struct sl_peer *peer)
{
	for (size_t i = 0; i < SL_PEER_STEP && peer->ensure_at < peer->n_entries; i++)
		entry_add(c, peer, &peer->entries[peer->ensure_at++]);
	if (peer->ensure_at < peer->n_entries)
		return;
	peer->ensuring = peer->ensure_again;
	peer->ensure_again = false;
	peer->ensure_at = 0;
}

bool sl_peer_work(struct sl_cluster *c, struct sl_peer *peer)
{
	struct applying a = { .c = c, .peer = peer };

	if (peer->changing) {
		if (sl_remote_diff(peer->entries, peer->n_entries, peer->target, peer->n_target,
				   &peer->at, SL_PEER_STEP, apply, &a))
			return true;
		settle(c, peer);
		/*
		 * Routes first, then the carrier: a program that waits for the carrier finds the
		 * routes there.
		 */
		announce_ports(c, peer);
	} else if (peer->ensuring) {
		ensure_some(c, peer);
	}
	return peer->ensuring;
}

void sl_peer_ensure(struct sl_cluster *c, struct sl_peer *peer)
{
	(void)c;
	peer->ensure_again = peer->ensuring;
	peer->ensuring = peer->ensuring || peer->n_entries || peer->changing;
}

/* The ports that were up go down, and stay so until the peer is back and has announced them. */
void sl_peer_forget(struct sl_cluster *c, struct sl_peer *peer)
{
	struct sl_remote_port *port;
	uint32_t n;

	peer_set_target(c, peer, NULL, 0);
	peer->ports_due = false;
	sl_assembly_reset(&peer->assembly);
	for (port = sl_cluster_ports_of(c, peer->node, &n); n; n--, port++) {
		if (!port->up)
			continue;
		port->up = false;
		sl_cluster_send_port(c, port);
	}
}

/* --- Remote ports --- */

int sl_cluster_make_ports(struct sl_cluster *c)
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
		for (uint32_t p = 0; p < c->n_peers; p++) {
			struct sl_peer *peer = &c->peers[p];

			for (uint32_t r = 0; peer->assembly.complete && r < peer->assembly.n; r++)
				if (peer->assembly.records[r].type == SL_ANNOUNCE_PORT &&
				    peer->assembly.records[r].system_port == port->system_port)
					port_announced(c, peer, &peer->assembly.records[r]);
		}
		sl_cluster_send_port(c, port);
	}
	if (any)
		c->ops->ports_changed(c->ctx);
	return first;
}

void sl_cluster_delete_ports(struct sl_cluster *c)
{
	for (uint32_t i = 0; i < c->n_ports; i++) {
		struct sl_remote_port *port = &c->ports[i];

		if (!port->ifindex)
			continue;
		sl_cluster_send_gone(c, port);
		sl_rtnl_link_delete(c->requests, port->ifindex);
		port->ifindex = 0;
	}
}

/* --- What an earlier life left --- */

static void adopt(struct sl_peer *peer, const struct sl_remote_entry *entry)
{
	struct sl_remote_entry *entries =
		realloc(peer->entries, (peer->n_entries + 1) * sizeof(*entries));

	if (!entries)
		return;
	entries[peer->n_entries++] = *entry;
	peer->entries = entries;
}

static bool leads_to_remote_port(const struct sl_rtnl_route *route)
{
	char name[IF_NAMESIZE];

	return if_indextoname(route->leg[0].ifindex, name) && sl_remote_port_is_ours(name);
}

/*
 * A route of an earlier life goes to the peer whose port it leads to. If the configuration does not
 * name that port, the route goes with the port. A route that leads to no remote port is removed,
 * and so is one of another metric than ours, which an older version has made: it would go before
 * the operator's.
 */
static void adopt_route(void *ctx, const struct nlmsghdr *nlh)
{
	struct sl_cluster *c = ctx;
	struct sl_rtnl_route *route = malloc(sizeof(*route));
	struct sl_remote_entry entry = { 0 };
	const struct sl_remote_port *port;
	struct sl_peer *peer = NULL;

	if (!route || sl_rtnl_parse_route(nlh, route) || route->protocol != SL_RTPROT ||
	    route->n_legs != 1)
		goto out;
	entry.family = route->dst.family;
	entry.len = route->dst.len;
	memcpy(entry.addr, route->dst.addr, sizeof(entry.addr));
	port = sl_cluster_port_by_ifindex(c, route->leg[0].ifindex);
	if (port) {
		entry.kind = SL_REMOTE_PREFIX;
		entry.system_port = port->system_port;
		if (route->has_prefsrc)
			memcpy(entry.source, route->prefsrc, sizeof(entry.source));
		peer = sl_cluster_peer(c, port->system_port >> 8);
	}
	if (peer && route->metric == SL_RTMETRIC) {
		adopt(peer, &entry);
	} else if (peer || !leads_to_remote_port(route)) {
		/*
		 * A host route over the fabric does not say to which port it belongs: it will be
		 * made again.
		 */
		struct sl_own_route own = { .prefix = route->dst,
					    .gateway_family = route->leg[0].gateway_family };

		memcpy(own.gateway, route->leg[0].gateway, sizeof(own.gateway));
		own.ifindex = route->leg[0].ifindex;
		sl_rtnl_route_delete(c->requests, &own, route->metric);
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
	struct sl_peer *peer;

	if (sl_rtnl_parse_neigh(nlh, &neigh) || !(neigh.flags & NTF_EXT_LEARNED))
		return;
	port = sl_cluster_port_by_ifindex(c, neigh.ifindex);
	peer = port ? sl_cluster_peer(c, port->system_port >> 8) : NULL;
	if (!peer)
		return;
	entry.family = neigh.family;
	entry.system_port = port->system_port;
	memcpy(entry.addr, neigh.addr, sizeof(entry.addr));
	memcpy(entry.mac, neigh.mac, sizeof(entry.mac));
	adopt(peer, &entry);
}

static int compare_entries(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct sl_remote_entry));
}

int sl_cluster_adopt(struct sl_cluster *c)
{
	int err = sl_rtnl_dump(c->dumps, RTM_GETROUTE, AF_INET, 0, adopt_route, c);

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

/* Remove a remote port that only another configuration names. */
static void remove_stale_port(void *ctx, const struct nlmsghdr *nlh)
{
	struct sl_cluster *c = ctx;
	struct sl_rtnl_link link;

	if (sl_rtnl_parse_link(nlh, &link) || sl_cluster_port_by_ifindex(c, link.ifindex) ||
	    !sl_remote_port_is_ours(link.name))
		return;
	sl_info("%s: not configured any more: removed", link.name);
	sl_rtnl_link_delete(c->requests, link.ifindex);
}

void sl_cluster_delete_stale_ports(struct sl_cluster *c)
{
	int err = sl_rtnl_dump(c->dumps, RTM_GETLINK, AF_UNSPEC, 0, remove_stale_port, c);

	if (err && err != -EINTR)
		sl_warning("cluster: cannot remove the ports that are not configured any more: %s",
			   strerror(-err));
}
