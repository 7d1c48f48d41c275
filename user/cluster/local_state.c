/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include "user/lib/log.h"
#include "user/cluster/local_state.h"
#include "user/rtnl/rtnl.h"

#define VLANS_MAX 64 /* checked for the warning; there is none for more */

/* One reading of the kernel. It replaces the state if it is complete and differs. */
struct reading {
	struct sl_local_state *local;
	struct sl_announce_record *records; /* owned */
	uint32_t n, room;
	struct sl_remote_here here; /* owned */
	uint32_t fabric_ifindex;
	uint32_t vlans[VLANS_MAX], n_vlans; /* VLAN netdevs on any link */
	uint32_t parents[VLANS_MAX];
	int err;
};

static void add(struct reading *r, const struct sl_announce_record *record)
{
	if (r->n == r->room) {
		uint32_t room = r->room ? 2 * r->room : 64;
		struct sl_announce_record *records = realloc(r->records, room * sizeof(*records));

		if (!records) {
			r->err = -ENOMEM;
			return;
		}
		r->records = records;
		r->room = room;
	}
	r->records[r->n++] = *record;
}

struct sl_local_port *sl_local_port_by_ifindex(const struct sl_local_state *local, uint32_t ifindex)
{
	for (uint32_t i = 0; i < local->n_ports && ifindex; i++)
		if (local->ports[i].ifindex == ifindex)
			return &local->ports[i];
	return NULL;
}

const struct sl_local_port *sl_local_port_by_number(const struct sl_local_state *local,
						    uint16_t system_port)
{
	for (uint32_t i = 0; i < local->n_ports; i++)
		if (local->ports[i].system_port == system_port)
			return &local->ports[i];
	return NULL;
}

bool sl_local_neighbour_is_fixed(const struct sl_local_state *local,
				 const struct sl_announce_record *of)
{
	for (uint32_t i = 0; i < local->n; i++) {
		const struct sl_announce_record *record = &local->records[i];

		if (record->type == SL_ANNOUNCE_NEIGHBOUR &&
		    record->system_port == of->system_port && record->family == of->family &&
		    memcmp(record->addr, of->addr, sizeof(of->addr)) == 0)
			return record->is_fixed;
	}
	return false;
}

static bool unicast_mac(const uint8_t mac[6], uint8_t mac_bytes)
{
	static const uint8_t zero[6];

	return mac_bytes == 6 && !(mac[0] & 1) && memcmp(mac, zero, sizeof(zero)) != 0;
}

static void on_link(void *ctx, const struct nlmsghdr *nlh)
{
	struct reading *r = ctx;
	struct sl_rtnl_link link;

	if (sl_rtnl_parse_link(nlh, &link))
		return;
	if (link.is_vlan && !link.parent_elsewhere && r->n_vlans < VLANS_MAX) {
		r->vlans[r->n_vlans] = link.ifindex;
		r->parents[r->n_vlans++] = link.parent;
	}
	if (strcmp(link.name, r->local->fabric) == 0)
		r->fabric_ifindex = link.ifindex;
	for (uint32_t i = 0; i < r->local->n_ports; i++) {
		struct sl_local_port *port = &r->local->ports[i];
		struct sl_announce_record record = { .type = SL_ANNOUNCE_PORT,
						     .system_port = port->system_port };

		if (strcmp(port->name, link.name) != 0)
			continue;
		port->ifindex = link.ifindex;
		if (!unicast_mac(link.mac, link.mac_bytes))
			return;
		record.up = link.flags & IFF_UP && link.flags & IFF_RUNNING;
		port->up = record.up;
		record.mtu_bytes = link.mtu_bytes > UINT16_MAX ? UINT16_MAX : link.mtu_bytes;
		record.rate_bps = port->rate_bps;
		memcpy(record.mac, link.mac, sizeof(record.mac));
		if (link.mtu_bytes >= 68)
			add(r, &record);
	}
}

/*
 * Addresses of a VLAN netdev that lies on a port, and is none, are not announced. Warn once for
 * each.
 */
static void on_foreign_address(struct reading *r, const struct sl_rtnl_addr *addr)
{
	const struct sl_local_port *port = NULL;
	struct sl_local_state *local = r->local;
	char name[IF_NAMESIZE] = "?";

	for (uint32_t i = 0; i < r->n_vlans && !port; i++)
		if (r->vlans[i] == addr->ifindex)
			port = sl_local_port_by_ifindex(local, r->parents[i]);
	for (uint32_t i = 0; i < local->n_told; i++)
		if (local->told[i] == addr->ifindex)
			return;
	if (!port || local->n_told == SL_LOCAL_TOLD_MAX)
		return;
	local->told[local->n_told++] = addr->ifindex;
	sl_warning(
		"cluster: %s is a VLAN of port %s: its addresses and neighbours are not announced to the "
		"other nodes; make it a port of its own, or give them a route to it by way of this node's "
		"fabric address",
		if_indextoname(addr->ifindex, name) ? name : "?", port->name);
}

/* Has the kernel made a route of the address's own prefix? */
static bool connects(const struct sl_rtnl_addr *addr)
{
	return !addr->no_prefix_route && !(addr->has_peer && addr->family == AF_INET);
}

/* Has the kernel made a route to the peer? That of IPv6 leads to the peer alone. */
static bool connects_peer(const struct sl_rtnl_addr *addr)
{
	return addr->has_peer && (addr->family == AF_INET6 || !addr->no_prefix_route);
}

static uint8_t peer_len(const struct sl_rtnl_addr *addr)
{
	return addr->family == AF_INET ? addr->len : sl_addr_bits(addr->family);
}

static void add_here(struct reading *r, const uint8_t addr[16], uint8_t family, uint8_t len,
		     bool fabric)
{
	struct sl_prefix prefix = { .family = family, .len = len };

	memcpy(prefix.addr, addr, sizeof(prefix.addr));
	sl_addr_mask(prefix.addr, len);
	if (sl_remote_here_add(&r->here, &prefix, fabric))
		r->err = -ENOMEM;
}

/* Every address of this node counts, on whichever netdev it is. */
static void note_address(struct reading *r, const struct sl_rtnl_addr *addr)
{
	const bool fabric = addr->ifindex == r->fabric_ifindex;

	add_here(r, addr->local, addr->family,
		 connects(addr) ? addr->len : sl_addr_bits(addr->family), fabric);
	if (connects_peer(addr))
		add_here(r, addr->peer, addr->family, peer_len(addr), fabric);
}

static void on_addr(void *ctx, const struct nlmsghdr *nlh)
{
	struct reading *r = ctx;
	struct sl_rtnl_addr addr;
	const struct sl_local_port *port;
	struct sl_announce_record record = { .type = SL_ANNOUNCE_ADDRESS };

	if (sl_rtnl_parse_addr(nlh, &addr))
		return;
	note_address(r, &addr);
	port = sl_local_port_by_ifindex(r->local, addr.ifindex);
	if (!port) {
		on_foreign_address(r, &addr);
		return;
	}
	record.system_port = port->system_port;
	record.family = addr.family;
	record.prefix_len = connects(&addr) ? addr.len : sl_addr_bits(addr.family);
	memcpy(record.addr, addr.local, sizeof(record.addr));
	add(r, &record);
	if (!connects_peer(&addr))
		return;
	record.is_peer = true;
	record.prefix_len = peer_len(&addr);
	memcpy(record.addr, addr.peer, sizeof(record.addr));
	add(r, &record);
}

static void set_pending(const struct sl_local_state *local, const struct sl_local_port *port,
			const struct sl_rtnl_neigh *neigh)
{
	for (uint32_t i = 0; i < local->n_held; i++) {
		const struct sl_announce_record *record = &local->held[i].record;

		if (record->system_port == port->system_port && record->family == neigh->family &&
		    memcmp(record->addr, neigh->addr, sizeof(neigh->addr)) == 0)
			local->held[i].pending = true;
	}
}

static void on_neigh(void *ctx, const struct nlmsghdr *nlh)
{
	const uint16_t usable = NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT;
	struct reading *r = ctx;
	struct sl_rtnl_neigh neigh;
	const struct sl_local_port *port;
	struct sl_announce_record record = { .type = SL_ANNOUNCE_NEIGHBOUR };

	if (sl_rtnl_parse_neigh(nlh, &neigh))
		return;
	port = sl_local_port_by_ifindex(r->local, neigh.ifindex);
	if (port && neigh.state & NUD_INCOMPLETE)
		set_pending(r->local, port, &neigh);
	if (!port || !(neigh.state & usable) || neigh.flags & NTF_PROXY ||
	    !unicast_mac(neigh.mac, neigh.mac_bytes))
		return;
	record.system_port = port->system_port;
	record.family = neigh.family;
	memcpy(record.mac, neigh.mac, sizeof(record.mac));
	memcpy(record.addr, neigh.addr, sizeof(record.addr));
	record.is_fixed =
		neigh.state & NUD_PERMANENT || neigh.flags & NTF_EXT_LEARNED || neigh.managed;
	add(r, &record);
}

/*
 * Orders by every field, so that the same records come in the same order each time: first ports,
 * then addresses, then neighbours.
 */
static int compare(const void *va, const void *vb)
{
	const struct sl_announce_record *a = va, *b = vb;
	int order = memcmp(a->addr, b->addr, sizeof(a->addr));

	if (a->type != b->type)
		return a->type - b->type;
	if (a->system_port != b->system_port)
		return a->system_port - b->system_port;
	if (a->family != b->family)
		return a->family - b->family;
	if (order)
		return order;
	if (a->prefix_len != b->prefix_len)
		return a->prefix_len - b->prefix_len;
	if (a->is_peer != b->is_peer)
		return a->is_peer - b->is_peer;
	if (a->up != b->up)
		return a->up - b->up;
	if (a->mtu_bytes != b->mtu_bytes)
		return a->mtu_bytes < b->mtu_bytes ? -1 : 1;
	if (a->rate_bps != b->rate_bps)
		return a->rate_bps < b->rate_bps ? -1 : 1;
	if (a->is_fixed != b->is_fixed)
		return a->is_fixed - b->is_fixed;
	return memcmp(a->mac, b->mac, sizeof(a->mac));
}

/* --- Neighbours of ports that were down --- */

/* Orders as compare(), but only by the fields that say whose address it is. */
static int compare_key(const void *va, const void *vb)
{
	const struct sl_announce_record *a = va, *b = vb;

	if (a->type != b->type)
		return a->type - b->type;
	if (a->system_port != b->system_port)
		return a->system_port - b->system_port;
	if (a->family != b->family)
		return a->family - b->family;
	return memcmp(a->addr, b->addr, sizeof(a->addr));
}

static const struct sl_held_neighbour *held_find(const struct sl_local_state *local,
						 const struct sl_announce_record *record)
{
	for (uint32_t i = 0; i < local->n_held; i++)
		if (!compare_key(&local->held[i].record, record))
			return &local->held[i];
	return NULL;
}

/* Shall an announced neighbour that the kernel no longer has stay announced? */
static bool is_to_hold(const struct sl_local_state *local, struct sl_held_neighbour *h)
{
	const struct sl_local_port *port = sl_local_port_by_number(local, h->record.system_port);
	const struct sl_held_neighbour *before;

	if (!port || !port->ifindex || (port->up && !port->fell && !local->n_held))
		return false;
	before = held_find(local, &h->record);
	h->asked = port->up;
	return !port->up || port->fell || (before && (!before->asked || before->pending));
}

static void ask(const struct sl_local_state *local, const struct sl_held_neighbour *h,
		struct sl_rtnl_socket *requests)
{
	const struct sl_announce_record *record = &h->record;
	const struct sl_held_neighbour *before = held_find(local, record);

	if (h->asked && (!before || !before->asked))
		sl_rtnl_neigh_use(requests,
				  sl_local_port_by_number(local, record->system_port)->ifindex,
				  record->family, record->addr, 0);
}

/* Add the held neighbours to the records, which are sorted, and are sorted again at the end. */
static void hold(struct reading *r, struct sl_rtnl_socket *requests)
{
	struct sl_local_state *local = r->local;
	struct sl_held_neighbour *held = NULL;
	const uint32_t n_read = r->n;
	uint32_t n = 0;

	for (uint32_t i = 0; i < local->n && !r->err; i++) {
		struct sl_held_neighbour h = { .record = local->records[i] };
		struct sl_held_neighbour *grown;

		if (h.record.type != SL_ANNOUNCE_NEIGHBOUR || !is_to_hold(local, &h) ||
		    bsearch(&h.record, r->records, n_read, sizeof(*r->records), compare_key))
			continue;
		h.record.is_fixed = false;
		grown = realloc(held, (n + 1) * sizeof(*held));
		if (!grown) {
			r->err = -ENOMEM;
			break;
		}
		held = grown;
		held[n++] = h;
	}
	for (uint32_t i = 0; i < n && !r->err; i++) {
		ask(local, &held[i], requests);
		add(r, &held[i].record);
	}
	if (r->err) {
		free(held);
		return;
	}
	sl_rtnl_flush(requests);
	free(local->held);
	local->held = held;
	local->n_held = n;
	for (uint32_t i = 0; i < local->n_ports; i++)
		local->ports[i].fell = false;
	if (n)
		qsort(r->records, r->n, sizeof(*r->records), compare);
}

static bool same_records(const struct reading *r, const struct sl_local_state *local)
{
	if (r->n != local->n)
		return false;
	for (uint32_t i = 0; i < r->n; i++)
		if (compare(&r->records[i], &local->records[i]) != 0)
			return false;
	return true;
}

static bool link_local6(const uint8_t addr[16])
{
	return addr[0] == 0xfe && (addr[1] & 0xc0) == 0x80;
}

/* The records are ordered by type, then port. */
static struct sl_remote_sources sources_of(const struct reading *r)
{
	static const uint8_t none[16];
	struct sl_remote_sources sources = { 0 };

	for (uint32_t i = 0; i < r->n; i++) {
		const struct sl_announce_record *record = &r->records[i];
		uint8_t *source = record->family == AF_INET ? sources.addr4 : sources.addr6;

		if (record->type == SL_ANNOUNCE_ADDRESS && !record->is_peer &&
		    !memcmp(source, none, sizeof(none)) &&
		    !(record->family == AF_INET6 && link_local6(record->addr)))
			memcpy(source, record->addr, sizeof(none));
	}
	return sources;
}

int sl_local_read(struct sl_local_state *local, struct sl_rtnl_socket *requests)
{
	struct reading r = { .local = local };
	bool same_here;
	int err;

	for (uint32_t i = 0; i < local->n_ports; i++)
		local->ports[i].ifindex = 0;
	for (uint32_t i = 0; i < local->n_held; i++)
		local->held[i].pending = false;
	for (uint32_t i = 0; i < local->n_nodes; i++)
		add_here(&r, local->nodes[i].addr, local->nodes[i].family, local->nodes[i].len,
			 true);
	err = sl_rtnl_dump(requests, RTM_GETLINK, AF_UNSPEC, 0, on_link, &r);
	if (!err)
		err = sl_rtnl_dump(requests, RTM_GETADDR, AF_UNSPEC, 0, on_addr, &r);
	if (!err)
		err = sl_rtnl_dump(requests, RTM_GETNEIGH, AF_UNSPEC, 0, on_neigh, &r);
	if (!err)
		err = r.err;
	if (err)
		goto out;
	if (r.n)
		qsort(r.records, r.n, sizeof(*r.records), compare);
	hold(&r, requests);
	err = r.err;
	if (err)
		goto out;
	r.here.sources = sources_of(&r);
	sl_remote_here_sort(&r.here);
	same_here = local->here_changes && sl_remote_here_same(&r.here, &local->here);
	if (same_here && same_records(&r, local))
		goto out;
	free(local->records);
	local->records = r.records;
	local->n = r.n;
	sl_remote_here_free(&local->here);
	local->here = r.here;
	local->here_changes += !same_here;
	return 1;
out:
	free(r.records);
	sl_remote_here_free(&r.here);
	return err;
}

void sl_local_free(struct sl_local_state *local)
{
	free(local->ports);
	free(local->records);
	free(local->held);
	free(local->nodes);
	sl_remote_here_free(&local->here);
	memset(local, 0, sizeof(*local));
}
