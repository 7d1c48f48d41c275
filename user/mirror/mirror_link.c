/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Links and addresses: what the kernel says of them, which port their frames leave by, and what
 * else a change of them reaches.
 */
#include <net/if.h>
#include <linux/if_arp.h>
#include <linux/rtnetlink.h>

#include "bpf/lib/endian.bpf.h"
#include "user/mirror/mirror_link.h"
#include "bpf/abi/l3_port.h"
#include "user/mirror/mirror_state.h"
#include "user/rtnl/filters.h"

enum { VLAN_LEVELS = 2 };

static uint32_t link_hash(uint32_t ifindex)
{
	return ifindex * 2654435761u;
}

struct sl_link *sl_link_find(const struct sl_mirror *m, uint32_t ifindex)
{
	struct sl_hnode *node = sl_htable_chain(&m->links, link_hash(ifindex));

	for (; node; node = node->next) {
		struct sl_link *link = sl_container_of(node, struct sl_link, node);
		if (link->is.ifindex == ifindex)
			return link;
	}
	return NULL;
}

struct sl_link *sl_link_get(struct sl_mirror *m, uint32_t ifindex)
{
	struct sl_link *link = sl_link_find(m, ifindex);

	if (!link) {
		link = sl_mirror_alloc(m, sizeof(*link));
		if (!link)
			return NULL;
		link->is.ifindex = ifindex;
		LIST_INIT(&link->hops);
		sl_htable_add(&m->links, &link->node, link_hash(ifindex));
	}
	link->refs++;
	return link;
}

void sl_link_put(struct sl_mirror *m, struct sl_link *link)
{
	if (!link || --link->refs > 0)
		return;
	sl_htable_del(&m->links, &link->node);
	free(link);
}

bool sl_link_up(const struct sl_link *link)
{
	return link->present && link->is.flags & IFF_UP;
}

/* Without carrier the kernel still uses a link, unless a setting says to ignore such routes. */
bool sl_link_alive(const struct sl_mirror *m, const struct sl_link *link, uint8_t family)
{
	bool ignore_linkdown;

	if (!sl_link_up(link) || link->cut)
		return false;
	if (family == AF_INET)
		ignore_linkdown = m->ignore_linkdown4 || link->is.ignore_linkdown4;
	else
		ignore_linkdown = link->is.ignore_linkdown6;
	return link->is.flags & IFF_LOWER_UP || !ignore_linkdown;
}

uint32_t sl_link_mtu(const struct sl_link *link, uint8_t family)
{
	const uint32_t mtu = link->is.mtu_bytes, mtu6 = link->is.mtu6_bytes;

	return family != AF_INET && mtu6 && mtu6 < mtu ? mtu6 : mtu;
}

/*
 * Find the port below a link, or the link itself if that is one, and the VLAN tags that its frames
 * need there.
 */
static void resolve(struct sl_mirror *m, struct sl_link *link)
{
	struct sl_link *at = link;
	__be16 tpid[VLAN_LEVELS] = { 0 }, vid[VLAN_LEVELS] = { 0 };
	uint16_t tags = 0;

	link->on_port = link->cut = false;
	/* From the innermost tag outwards. */
	while (at && at->present && at->is.is_vlan && !m->ops->is_port(m->ctx, at->is.ifindex)) {
		if (tags == VLAN_LEVELS || at->is.parent_elsewhere || at->is.vlan_remaps)
			return;
		tpid[tags] = at->is.vlan_tpid;
		vid[tags++] = sl_htons(at->is.vlan_id);
		at = sl_link_find(m, at->is.parent);
	}
	if (!at || !at->present || at->is.arp_type != ARPHRD_ETHER || link->is.mac_bytes != 6)
		return;
	if (!m->ops->is_port(m->ctx, at->is.ifindex))
		return;
	link->on_port = true;
	link->port_ifindex = at->is.ifindex;
	link->cut = m->ops->is_cut && m->ops->is_cut(m->ctx, at->is.ifindex);
	link->vlan_tags = tags;
	memset(link->vlan_tpid, 0, sizeof(link->vlan_tpid));
	memset(link->vlan_vid, 0, sizeof(link->vlan_vid));
	for (uint16_t i = 0; i < tags; i++) {
		link->vlan_tpid[i] = tpid[tags - 1 - i];
		link->vlan_vid[i] = vid[tags - 1 - i];
	}
}

/* --- What XDP is told --- */

/*
 * fib_multipath_hash_policy and ..._fields: do flows of the same two addresses take the same path?
 */
static bool hashes_addresses(uint32_t policy, uint32_t fields)
{
	enum { ADDRESSES = 0, INNER_ADDRESSES = 2, FIELDS = 3 };
	/* FIB_MULTIPATH_HASH_FIELD_SRC_PORT and _DST_PORT of the kernel's include/net/ip_fib.h */
	const uint32_t ports = 1u << 4 | 1u << 5;

	return policy == ADDRESSES || policy == INNER_ADDRESSES ||
	       (policy == FIELDS && !(fields & ports));
}

/* May frames that enter at a port come from a veth or a TAP, below it or among its members? */
static bool may_lack_checksums(const struct sl_mirror *m, const struct sl_link *port)
{
	const struct sl_link *at = port;

	for (int level = 0; at && level <= VLAN_LEVELS; level++) {
		if (at->is.partial_checksums)
			return true;
		at = at->is.is_vlan && !at->is.parent_elsewhere ? sl_link_find(m, at->is.parent)
								: NULL;
	}
	sl_htable_for_each(&m->links, node, next)
	{
		const struct sl_link *member = sl_container_of(node, struct sl_link, node);

		if (member->is.master == port->is.ifindex && member->is.partial_checksums)
			return true;
	}
	return false;
}

static uint32_t port_flags(const struct sl_mirror *m, const struct sl_link *link)
{
	const struct sl_rtnl_link *is = &link->is;
	/*
	 * The kernel joins the interface's setting with that of "all": it takes the larger
	 * rp_filter (IN_DEV_RPFILTER), and sends redirects if either says so (IN_DEV_TX_REDIRECTS).
	 */
	const uint32_t rp_filter = is->rp_filter > m->rp_filter ? is->rp_filter : m->rp_filter;
	const struct sl_link *port = sl_link_find(m, link->port_ifindex);
	uint32_t flags = SL_PORT_REDIRECT6; /* IPv6 has no setting for it */

	if (is->forwarding4)
		flags |= SL_PORT_FORWARD4;
	if (m->forwarding6 && !is->disable_ipv6)
		flags |= SL_PORT_FORWARD6;
	if (rp_filter == 1)
		flags |= SL_PORT_RP_STRICT;
	else if (rp_filter)
		flags |= SL_PORT_RP_LOOSE;
	if (m->send_redirects || is->send_redirects)
		flags |= SL_PORT_REDIRECT4;
	if (m->route_localnet || is->route_localnet)
		flags |= SL_PORT_LOCALNET4;
	if (hashes_addresses(m->hash_policy4, m->hash_fields4))
		flags |= SL_PORT_HASH_L3_4;
	if (hashes_addresses(m->hash_policy6, m->hash_fields6))
		flags |= SL_PORT_HASH_L3_6;
	/*
	 * The tables mirrored here do not route packets that enter at a member of a bridge, a bond
	 * or a VRF. Nor do they hold the path MTUs that the kernel has learnt.
	 */
	if (m->stats.policy4 || is->master || m->use_pmtu || m->stats.starved)
		flags |= SL_PORT_PUNT4;
	if (m->stats.policy6 || is->master || m->stats.starved)
		flags |= SL_PORT_PUNT6;
	if (port && may_lack_checksums(m, port))
		flags |= port->is.generic_xdp ? SL_PORT_NOTED : SL_PORT_PARTIAL;
	if (m->xfrm & SL_FILTER_IP4)
		flags |= SL_PORT_XFRM4;
	if (m->xfrm & SL_FILTER_IP6)
		flags |= SL_PORT_XFRM6;
	if (m->netfilter & SL_FILTER_IP4)
		flags |= SL_PORT_NETFILTER4;
	if (m->netfilter & SL_FILTER_IP6)
		flags |= SL_PORT_NETFILTER6;
	return flags;
}

/* Does XDP take packets that enter here? The frames of a VLAN that is down are the kernel's. */
static bool is_entrance(const struct sl_link *link)
{
	return link->on_port && (!link->vlan_tags || sl_link_up(link));
}

static void tell(struct sl_mirror *m, struct sl_link *link)
{
	const bool entrance = is_entrance(link);
	struct sl_port port = { .ifindex = link->is.ifindex };
	struct sl_vlan_key vlan = { .port_ifindex = link->port_ifindex };

	if (entrance) {
		port.flags = port_flags(m, link);
		memcpy(port.mac, link->is.mac, sizeof(port.mac));
		memcpy(vlan.tpid, link->vlan_tpid, sizeof(vlan.tpid));
		memcpy(vlan.vid, link->vlan_vid, sizeof(vlan.vid));
	}
	if (link->told && (!entrance || memcmp(&vlan, &link->vlan, sizeof(vlan)))) {
		m->ops->port_clear(m->ctx, port.ifindex, &link->vlan);
		link->told = false;
	}
	if (!entrance || (link->told && !memcmp(&port, &link->port, sizeof(port))))
		return;
	link->told = true;
	link->port = port;
	link->vlan = vlan;
	m->ops->port_set(m->ctx, &port, &vlan);
}

static void update(struct sl_mirror *m, struct sl_link *link)
{
	const bool was_up = link->was_up;

	resolve(m, link);
	link->was_up = sl_link_up(link) && link->is.flags & IFF_LOWER_UP && !link->cut;
	tell(m, link);
	m->above->link_changed(m, link, link->was_up && !was_up);
}

void sl_link_update_all(struct sl_mirror *m)
{
	sl_htable_for_each(&m->links, node, next)
		update(m, sl_container_of(node, struct sl_link, node));
}

/* --- Messages --- */

static bool is_below(const struct sl_mirror *m, uint32_t ifindex, const struct sl_link *link)
{
	for (int level = 0; link && level < VLAN_LEVELS; level++) {
		if (!link->present || !link->is.is_vlan)
			return false;
		if (link->is.parent == ifindex)
			return true;
		link = sl_link_find(m, link->is.parent);
	}
	return false;
}

/*
 * When a link goes or comes, the kernel drops or revives the legs of routes through it, and sends
 * no message about them.
 */
static void routes_may_differ(struct sl_mirror *m, const struct sl_link *link)
{
	if (LIST_EMPTY(&link->hops))
		return;
	if (m->todo.routes_of && m->todo.routes_of != link->is.ifindex)
		m->todo.routes4 = m->todo.routes6 = true;
	m->todo.routes_of = link->is.ifindex;
	m->todo.nhobjects = true;
	m->todo.any = true;
}

/*
 * The kernel keeps the routes. But a message that came while there was no carrier called legs dead
 * that the kernel only ignored, so dump those routes again. Next-hop objects go with the carrier.
 */
static void carrier_changed(struct sl_mirror *m, const struct sl_link *link)
{
	if (m->above->any_leg_dead(m, link->is.ifindex))
		routes_may_differ(m, link);
	m->todo.nhobjects = m->todo.any = true;
}

static void link_changed(struct sl_mirror *m, struct sl_link *link)
{
	update(m, link);
	if (!sl_link_up(link) || !(link->is.flags & (IFF_RUNNING | IFF_LOWER_UP)))
		m->above->link_lost(m, link);
	sl_htable_for_each(&m->links, node, next)
	{
		struct sl_link *other = sl_container_of(node, struct sl_link, node);
		if (is_below(m, link->is.ifindex, other) ||
		    (link->is.master && other->is.ifindex == link->is.master))
			update(m, other);
	}
	m->above->links_changed(m);
}

static void link_vanished(struct sl_mirror *m, struct sl_link *link)
{
	const uint32_t ifindex = link->is.ifindex;

	link->refs++; /* the callbacks still see it */
	if (link->told)
		m->ops->port_clear(m->ctx, ifindex, &link->vlan);
	link->told = false;
	m->ops->link_event(m->ctx, ifindex, link->is.name, false, false);
	routes_may_differ(m, link);
	memset(&link->is, 0, sizeof(link->is));
	link->is.ifindex = ifindex;
	link->present = false;
	m->stats.links--;
	m->changes++;
	link_changed(m, link);
	sl_link_put(m, link); /* the reference of its presence */
	sl_link_put(m, link);
}

void sl_link_message(struct sl_mirror *m, const struct sl_rtnl_link *msg)
{
	struct sl_link *link;

	if (msg->removed) {
		link = sl_link_find(m, msg->ifindex);
		if (link && link->present)
			link_vanished(m, link);
		return;
	}
	link = sl_link_get(m, msg->ifindex);
	if (!link)
		return;
	const struct sl_rtnl_link old = link->is;
	const bool was_present = link->present;
	link->seen = true;
	link->is = *msg;
	link->present = true;
	if (was_present)
		sl_link_put(m, link);
	else
		m->stats.links++;
	/* The event of one setting may leave out the others: keep those. */
	if (was_present && !msg->has_settings4) {
		link->is.forwarding4 = old.forwarding4;
		link->is.rp_filter = old.rp_filter;
		link->is.send_redirects = old.send_redirects;
		link->is.route_localnet = old.route_localnet;
		link->is.ignore_linkdown4 = old.ignore_linkdown4;
	}
	if (was_present && !msg->has_settings6) {
		link->is.ignore_linkdown6 = old.ignore_linkdown6;
		link->is.disable_ipv6 = old.disable_ipv6;
		link->is.mtu6_bytes = old.mtu6_bytes;
	}
	link->is.has_settings4 = link->is.has_settings6 = true;
	m->ops->link_event(m->ctx, msg->ifindex, link->is.name, true, sl_link_up(link));
	/*
	 * Carrier may go and come back with one event, at the end. Its flags are those that we
	 * know, but routes that came in between had dead legs. The same holds when a dump, which is
	 * ahead of the events, has reported the carrier before them.
	 */
	if (!m->dumping && link->is.flags & IFF_LOWER_UP && m->above->any_leg_dead(m, msg->ifindex))
		routes_may_differ(m, link);
	if (was_present && !memcmp(&old, &link->is, sizeof(old)))
		return;
	m->changes++;
	/* The kernel makes this message before IPv6 takes over the link's MTU: dump it again. */
	if (was_present && old.mtu_bytes != link->is.mtu_bytes && !m->dumping)
		m->todo.links = m->todo.any = true;
	if ((old.flags ^ link->is.flags) & IFF_UP ||
	    old.ignore_linkdown4 != link->is.ignore_linkdown4 ||
	    old.ignore_linkdown6 != link->is.ignore_linkdown6)
		routes_may_differ(m, link);
	else if ((old.flags ^ link->is.flags) & (IFF_RUNNING | IFF_LOWER_UP))
		carrier_changed(m, link);
	link_changed(m, link);
}

void sl_link_clear_seen(struct sl_mirror *m)
{
	sl_htable_for_each(&m->links, node, next) sl_container_of(node, struct sl_link, node)
		->seen = false;
}

void sl_link_sweep(struct sl_mirror *m)
{
	sl_htable_for_each(&m->links, node, next)
	{
		struct sl_link *link = sl_container_of(node, struct sl_link, node);
		if (link->present && !link->seen)
			link_vanished(m, link);
	}
}

/* --- Addresses --- */

static uint32_t address_hash(const struct sl_rtnl_addr *a)
{
	return sl_hash(a->local, sizeof(a->local), a->ifindex ^ (uint32_t)a->len << 24);
}

static struct sl_address *address_find(const struct sl_mirror *m, const struct sl_rtnl_addr *a)
{
	struct sl_hnode *node = sl_htable_chain(&m->addresses, address_hash(a));

	for (; node; node = node->next) {
		struct sl_address *address = sl_container_of(node, struct sl_address, node);
		if (address->link->is.ifindex == a->ifindex && address->family == a->family &&
		    address->len == a->len && !memcmp(address->addr, a->local, 16))
			return address;
	}
	return NULL;
}

/*
 * With disable_ipv6 the kernel takes all IPv6 addresses off a link, the one of the link's own scope
 * among them, and gives that back; it sends no message of the setting itself.
 */
static void settings_may_differ(struct sl_mirror *m, const struct sl_address *address)
{
	const bool link_local = address->addr[0] == 0xfe && (address->addr[1] & 0xc0) == 0x80;

	if (address->family == AF_INET6 && link_local && !m->dumping)
		m->todo.links = m->todo.any = true;
}

static void address_remove(struct sl_mirror *m, struct sl_address *address)
{
	settings_may_differ(m, address);
	sl_htable_del(&m->addresses, &address->node);
	m->changes++;
	m->stats.addresses--;
	if (address->family == AF_INET) {
		if (!m->dumping)
			m->todo.lost_sources = m->todo.any = true;
		if (--address->link->addresses4 == 0) /* IPv4 is off there */
			routes_may_differ(m, address->link);
	}
	sl_link_put(m, address->link);
	free(address);
}

void sl_address_message(struct sl_mirror *m, const struct sl_rtnl_addr *msg)
{
	struct sl_address *address = address_find(m, msg);

	if (msg->removed) {
		if (address)
			address_remove(m, address);
		return;
	}
	if (address) {
		address->seen = true;
		return;
	}
	address = sl_mirror_alloc(m, sizeof(*address));
	if (!address)
		return;
	address->link = sl_link_get(m, msg->ifindex);
	if (!address->link) {
		free(address);
		return;
	}
	address->family = msg->family;
	address->len = msg->len;
	address->seen = true;
	memcpy(address->addr, msg->local, sizeof(address->addr));
	sl_htable_add(&m->addresses, &address->node, address_hash(msg));
	m->changes++;
	m->stats.addresses++;
	settings_may_differ(m, address);
	if (msg->family == AF_INET && address->link->addresses4++ == 0)
		routes_may_differ(m, address->link);
}

bool sl_address_exists(const struct sl_mirror *m, uint8_t family, const uint8_t addr[16])
{
	sl_htable_for_each(&m->addresses, node, next)
	{
		const struct sl_address *address = sl_container_of(node, struct sl_address, node);
		if (address->family == family && !memcmp(address->addr, addr, 16))
			return true;
	}
	return false;
}

void sl_address_clear_seen(struct sl_mirror *m)
{
	sl_htable_for_each(&m->addresses, node, next) sl_container_of(node, struct sl_address, node)
		->seen = false;
}

void sl_address_sweep(struct sl_mirror *m)
{
	sl_htable_for_each(&m->addresses, node, next)
	{
		struct sl_address *address = sl_container_of(node, struct sl_address, node);
		if (!address->seen)
			address_remove(m, address);
	}
}
