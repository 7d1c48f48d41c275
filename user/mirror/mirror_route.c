/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For each prefix, find the route that the kernel would use, and put it into the fib.
 *
 * The kernel asks table local, then main, then default, and takes the longest prefix of the first
 * that has any. The fib has one longest prefix for all three. Both agree, because
 *
 * - table local wins among the routes of one prefix;
 * - a prefix of main below a shorter one of local is left to the kernel;
 * - so is a prefix of default, which counts only where main has nothing at all.
 *
 * Within a table, the route with the lowest metric wins among those whose path is alive. A prefix
 * without a live route counts as absent. Where the destination alone does not decide, the whole
 * prefix is left to the kernel: TOS, sources, or two equal IPv6 routes, of which the kernel prefers
 * the one by the interface where a packet came in.
 *
 * A route without a gateway reaches the neighbours of its link. Each neighbour that the kernel has
 * resolved gets a host route, if that on-link route is the longest match of its address.
 */
#include <linux/rtnetlink.h>

#include "user/mirror/mirror_route.h"
#include "user/mirror/mirror_state.h"

static struct sl_rib *rib_of(struct sl_mirror *m, uint8_t family)
{
	return family == AF_INET ? &m->rib4 : &m->rib6;
}

static uint8_t len_max(const struct sl_rib *s)
{
	return (uint8_t)(8 * s->addr_bytes);
}

static struct sl_path *path_of(const struct sl_mirror *m, const struct sl_route *r)
{
	return m->path[r->path];
}

/* --- The choice --- */

struct choice {
	uint32_t id;		    /* next hop of the fib; 0: no route */
	const struct sl_path *path; /* of the route; NULL: none, or the kernel decides */
};

static bool shadowed(const struct sl_rib *s, const uint8_t *addr, uint8_t len)
{
	for (uint32_t i = 0; i < s->n_shadow; i++)
		if (s->shadow[i].len <= len &&
		    sl_prefix_covers(s->shadow[i].len, s->shadow[i].addr, addr))
			return true;
	return false;
}

static struct choice choose(const struct sl_mirror *m, const struct sl_rib *s, const uint8_t *addr,
			    uint8_t len, sl_route_ref *winner)
{
	const struct choice kernel = { .id = m->punt_id[SL_PUNT_POLICY] };
	const struct sl_route *best = NULL;
	const struct sl_path *best_path = NULL;
	sl_route_ref ref = sl_rib_first(s, addr, len);

	if (winner)
		*winner = SL_ROUTE_NONE;
	for (; ref != SL_ROUTE_NONE; ref = sl_rib_next(s, ref)) {
		const struct sl_route *r = sl_rib_at(s, ref);
		const struct sl_path *path = path_of(m, r);
		if (sl_path_is_conditional(path))
			return kernel;
		if (!path->live)
			continue;
		if (!best) {
			best = r;
			best_path = path;
			if (winner)
				*winner = ref;
		} else if (s->family == AF_INET6 && r->table == best->table &&
			   r->metric == best->metric && path->id != best_path->id) {
			return kernel;
		}
	}
	if (!best)
		return (struct choice){ 0 };
	if (best->table == RT_TABLE_DEFAULT ||
	    (best->table == RT_TABLE_MAIN && shadowed(s, addr, len)))
		return kernel;
	return (struct choice){ .id = sl_nexthop_id(m, best_path->id), .path = best_path };
}

bool sl_route_wins(const struct sl_mirror *m, const struct sl_rib *s, sl_route_ref ref)
{
	const struct sl_route *r = sl_rib_at(s, ref);
	sl_route_ref winner;

	return choose(m, s, r->addr, r->len, &winner).path && winner == ref;
}

/* --- Hosts: neighbours in order of address --- */

/* The position of the first host at or after an address and ifindex. */
static uint32_t host_position(const struct sl_rib *s, const uint8_t *addr, uint32_t ifindex)
{
	uint32_t low = 0, high = s->n_host;

	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		const struct sl_neigh *n = s->host[middle];
		int order = memcmp(n->addr, addr, s->addr_bytes);
		if (!order)
			order = n->link->is.ifindex < ifindex ? -1 : 1;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool host_list(struct sl_mirror *m, struct sl_rib *s, struct sl_neigh *n)
{
	if (s->n_host == s->host_room) {
		const uint32_t room = s->host_room ? 2 * s->host_room : 64;
		struct sl_neigh **grown =
			sl_mirror_grow(m, s->host, room * sizeof(struct sl_neigh *));
		if (!grown)
			return false;
		s->host = grown;
		s->host_room = room;
	}
	const uint32_t at = host_position(s, n->addr, n->link->is.ifindex);
	memmove(s->host + at + 1, s->host + at, (s->n_host - at) * sizeof(struct sl_neigh *));
	s->host[at] = n;
	s->n_host++;
	return true;
}

static void host_unlist(struct sl_rib *s, const struct sl_neigh *n)
{
	const uint32_t at = host_position(s, n->addr, n->link->is.ifindex);

	s->n_host--;
	memmove(s->host + at, s->host + at + 1, (s->n_host - at) * sizeof(struct sl_neigh *));
}

/* The route an address would take if no neighbour had a host route. */
static struct choice choose_longest(const struct sl_mirror *m, const struct sl_rib *s,
				    const uint8_t *addr)
{
	for (int len = len_max(s); len >= 0; len--) {
		uint8_t prefix[16] = { 0 };
		if (!s->with_len[len])
			continue;
		memcpy(prefix, addr, (size_t)len / 8);
		if (len % 8)
			prefix[len / 8] = addr[len / 8] & (uint8_t)(0xff00 >> len % 8);
		const struct choice c = choose(m, s, prefix, (uint8_t)len, NULL);
		if (c.id)
			return c;
	}
	return (struct choice){ 0 };
}

/* --- Into the fib --- */

static void install(struct sl_mirror *m, const struct sl_rib *s, const uint8_t *addr, uint8_t len,
		    uint32_t id)
{
	struct sl_prefix prefix = { .family = s->family, .len = len };

	memcpy(prefix.addr, addr, s->addr_bytes);
	if (id && sl_fib_insert(m->fib, &prefix, id) == -ENOMEM)
		sl_mirror_starve(m);
	if (!id)
		sl_fib_delete(m->fib, &prefix);
}

/* The neighbour that a host address leads to, or NULL. */
static struct sl_neigh *host_choose(struct sl_mirror *m, const struct sl_rib *s,
				    const uint8_t *addr, const struct sl_path **route)
{
	const struct choice c = choose_longest(m, s, addr);
	uint8_t whole[16] = { 0 };
	struct sl_neigh *n;
	uint32_t ifindex;

	*route = c.path;
	if (!c.path)
		return NULL;
	ifindex = sl_path_glean(c.path);
	if (!ifindex)
		return NULL;
	memcpy(whole, addr, s->addr_bytes);
	n = sl_neigh_find(m, ifindex, s->family, whole);
	return n && n->listed ? n : NULL;
}

/* Install the prefix of one address: the host route of a neighbour, or else the winning route. */
static void host_update(struct sl_mirror *m, struct sl_rib *s, const uint8_t *addr)
{
	const uint8_t len = len_max(s);
	const struct sl_path *route;
	struct sl_neigh *n = host_choose(m, s, addr, &route);
	struct sl_hop *old = NULL, *hop = NULL;

	if (n) {
		struct sl_hop_key key = { .ifindex = n->link->is.ifindex,
					  .mtu_family = s->family,
					  .gateway_family = s->family,
					  .mtu_bytes = sl_path_mtu(route) };
		memcpy(key.gateway, n->addr, sizeof(key.gateway));
		hop = sl_hop_get(m, &key);
	}
	if (hop) {
		old = n->host;
		n->host = hop;
		install(m, s, addr, len, sl_nexthop_id(m, hop->id));
		sl_hop_put(m, old);
	} else {
		install(m, s, addr, len, choose(m, s, addr, len, NULL).id);
	}
	/* Neighbours of the same address on other links have no host route. */
	for (uint32_t i = host_position(s, addr, 0);
	     i < s->n_host && !memcmp(s->host[i]->addr, addr, s->addr_bytes); i++) {
		if (s->host[i] == n || !s->host[i]->host)
			continue;
		old = s->host[i]->host;
		s->host[i]->host = NULL;
		sl_hop_put(m, old);
	}
}

static bool hosts_at(const struct sl_rib *s, const uint8_t *addr, uint32_t at)
{
	return at < s->n_host && !memcmp(s->host[at]->addr, addr, s->addr_bytes);
}

/* A route of this prefix, or its path, has changed: install it and the host routes below it. */
static void prefix_update(struct sl_mirror *m, struct sl_rib *s, const uint8_t *addr, uint8_t len)
{
	uint32_t at = s->n_host ? host_position(s, addr, 0) : 0;

	if (len == len_max(s) && hosts_at(s, addr, at)) {
		host_update(m, s, addr);
		return;
	}
	install(m, s, addr, len, choose(m, s, addr, len, NULL).id);
	while (at < s->n_host && sl_prefix_covers(len, addr, s->host[at]->addr)) {
		uint8_t host[16];
		memcpy(host, s->host[at]->addr, sizeof(host));
		host_update(m, s, host);
		while (hosts_at(s, host, at))
			at++;
	}
}

void sl_route_host_changed(struct sl_mirror *m, struct sl_neigh *n)
{
	struct sl_rib *s = rib_of(m, n->family);
	const bool multicast = n->family == AF_INET ? n->addr[0] >= 224 : n->addr[0] == 0xff;
	const bool list = sl_neigh_usable(n) && !multicast;

	if (list && !n->listed)
		n->listed = host_list(m, s, n);
	else if (!list && n->listed) {
		host_unlist(s, n);
		n->listed = false;
	}
	if (!n->listed && !n->host)
		return;
	host_update(m, s, n->addr);
	if (!n->listed && n->host) {
		struct sl_hop *old = n->host;
		n->host = NULL;
		sl_hop_put(m, old);
	}
}

/* --- Table local hides what is below its prefixes --- */

static void update_below(struct sl_mirror *m, struct sl_rib *s, const struct sl_prefix *p)
{
	for (sl_route_ref ref = 0; ref < s->used; ref++) {
		const struct sl_route *r = sl_rib_at(s, ref);
		uint8_t addr[16];
		if (r->path == SL_ROUTE_NONE || r->len < p->len ||
		    !sl_prefix_covers(p->len, p->addr, r->addr))
			continue;
		memcpy(addr, r->addr, s->addr_bytes);
		prefix_update(m, s, addr, r->len);
	}
}

static bool has_local(const struct sl_rib *s, const uint8_t *addr, uint8_t len)
{
	sl_route_ref ref = sl_rib_first(s, addr, len);

	for (; ref != SL_ROUTE_NONE; ref = sl_rib_next(s, ref))
		if (sl_rib_at(s, ref)->table == RT_TABLE_LOCAL)
			return true;
	return false;
}

static void shadow_update(struct sl_mirror *m, struct sl_rib *s, const uint8_t *addr, uint8_t len)
{
	struct sl_prefix p = { .family = s->family, .len = len };
	uint32_t at = 0;

	if (len == len_max(s))
		return;
	memcpy(p.addr, addr, s->addr_bytes);
	while (at < s->n_shadow && memcmp(&s->shadow[at], &p, sizeof(p)) != 0)
		at++;
	if (has_local(s, addr, len) == (at < s->n_shadow))
		return;
	if (at < s->n_shadow) {
		s->shadow[at] = s->shadow[--s->n_shadow];
	} else {
		struct sl_prefix *grown =
			sl_mirror_grow(m, s->shadow, (s->n_shadow + 1) * sizeof(p));
		if (!grown)
			return;
		s->shadow = grown;
		s->shadow[s->n_shadow++] = p;
	}
	update_below(m, s, &p);
}

/* --- Changes --- */

static void count(struct sl_mirror *m, const struct sl_rib *s, int by)
{
	uint64_t *routes = s->family == AF_INET ? &m->stats.routes4 : &m->stats.routes6;

	*routes = (uint64_t)((int64_t)*routes + by);
	m->changes++;
}

static void route_changed(struct sl_mirror *m, struct sl_rib *s, const uint8_t *addr, uint8_t len,
			  uint8_t table)
{
	if (table == RT_TABLE_LOCAL)
		shadow_update(m, s, addr, len);
	prefix_update(m, s, addr, len);
}

static void route_remove(struct sl_mirror *m, struct sl_rib *s, sl_route_ref ref)
{
	const struct sl_route *r = sl_rib_at(s, ref);
	struct sl_path *path = path_of(m, r);
	const uint8_t len = r->len, table = r->table;
	uint8_t addr[16] = { 0 };

	memcpy(addr, r->addr, s->addr_bytes);
	sl_rib_del(s, ref);
	count(m, s, -1);
	route_changed(m, s, addr, len, table);
	path->routes--;
	sl_path_put(m, path); /* after the fib has let go of its id */
}

static void route_set(struct sl_mirror *m, struct sl_rib *s, sl_route_ref ref, struct sl_path *path,
		      const struct sl_rtnl_route *msg)
{
	struct sl_route *r = sl_rib_at(s, ref);
	struct sl_path *old = path_of(m, r);

	r->path = path->index;
	r->protocol = msg->protocol;
	r->seen = true;
	path->routes++;
	m->changes++;
	route_changed(m, s, msg->dst.addr, msg->dst.len, r->table);
	old->routes--;
	sl_path_put(m, old);
}

static void route_insert(struct sl_mirror *m, struct sl_rib *s, sl_route_ref after,
			 struct sl_path *path, const struct sl_rtnl_route *msg)
{
	sl_route_ref ref = sl_rib_add(s, msg->dst.addr, msg->dst.len, after);
	struct sl_route *r;

	if (ref == SL_ROUTE_NONE) {
		sl_mirror_starve(m);
		sl_path_put(m, path);
		return;
	}
	r = sl_rib_at(s, ref);
	r->path = path->index;
	r->metric = msg->metric;
	r->table = (uint8_t)msg->table;
	r->protocol = msg->protocol;
	r->seen = true;
	path->routes++;
	count(m, s, 1);
	route_changed(m, s, msg->dst.addr, msg->dst.len, r->table);
}

/* Does the kernel give both the same place among the routes of a prefix? */
static bool same_place(const struct sl_mirror *m, const struct sl_route *r,
		       const struct sl_rtnl_route *msg)
{
	const struct sl_path *path = path_of(m, r);

	return r->table == msg->table && r->metric == msg->metric && path->key.tos == msg->tos &&
	       path->key.src_len == msg->src_len &&
	       !memcmp(path->key.src, msg->src, sizeof(msg->src));
}

/* Where a route stands, or would, among those of its prefix. */
struct place {
	sl_route_ref before;	  /* the last one of an earlier place */
	sl_route_ref first, last; /* of the same place */
	sl_route_ref same;	  /* the route itself */
	sl_route_ref target;	  /* the one that it replaces */
	bool unlisted;		  /* this dump, of one link, does not list all of that place */
};

static struct place find_place(const struct sl_mirror *m, const struct sl_rib *s,
			       const struct sl_path *path, const struct sl_rtnl_route *msg)
{
	struct place p = { SL_ROUTE_NONE, SL_ROUTE_NONE, SL_ROUTE_NONE,
			   SL_ROUTE_NONE, SL_ROUTE_NONE, false };
	const bool ecmp6 = sl_path_is_ecmp6(path), replace = msg->replace && !m->dumping;

	for (sl_route_ref ref = sl_rib_first(s, msg->dst.addr, msg->dst.len); ref != SL_ROUTE_NONE;
	     ref = sl_rib_next(s, ref)) {
		const struct sl_route *r = sl_rib_at(s, ref);
		if (r->table > msg->table || (r->table == msg->table && r->metric < msg->metric))
			p.before = ref;
		if (!same_place(m, r, msg))
			continue;
		if (p.first == SL_ROUTE_NONE)
			p.first = ref;
		p.last = ref;
		p.unlisted |= m->dumping_of && !sl_path_uses(path_of(m, r), m->dumping_of);
		if (r->path == path->index && r->protocol == msg->protocol)
			p.same = ref;
		/* IPv6 has one multipath route for each metric, and its message names all legs. */
		const bool takes_over = ecmp6 || (replace && !sl_path_is_gone(m, path_of(m, r))) ||
					(m->dumping_all && !r->seen);
		if (p.target == SL_ROUTE_NONE && takes_over &&
		    sl_path_is_ecmp6(path_of(m, r)) == ecmp6)
			p.target = ref;
	}
	if (p.target == SL_ROUTE_NONE && replace)
		p.target = p.first;
	return p;
}

/*
 * The route is known already. The kernel sends no message if nothing changes. So either it says the
 * same twice (an event from before a dump, a next-hop object that changed), or it had removed the
 * route without a message, and the route has another place now.
 */
static void route_again(struct sl_mirror *m, struct sl_rib *s, const struct place *p,
			struct sl_path *path, const struct sl_rtnl_route *msg)
{
	const bool at_end = s->family == AF_INET6 || msg->append || m->dumping;
	const bool replace = msg->replace && !m->dumping;

	sl_rib_at(s, p->same)->seen = true;
	if (msg->table == RT_TABLE_LOCAL)
		shadow_update(m, s, msg->dst.addr, msg->dst.len); /* there was no room for it */
	if (p->first == p->last || (m->dumping && !m->dumping_all) || (replace && path->nhobject))
		return;
	if (replace && s->family == AF_INET6 && p->target == p->same) {
		m->todo.routes6 = m->todo.any = true; /* it may have replaced the other one */
	} else if (replace && p->target != p->same) {
		route_set(m, s, p->target, path, msg);
		route_remove(m, s, p->same);
	} else if (!replace && p->same != (at_end ? p->last : p->first)) {
		sl_rib_move(s, p->same, at_end ? p->last : p->before);
		prefix_update(m, s, msg->dst.addr, msg->dst.len);
	}
}

/*
 * A dump of one link does not show whether a new route has replaced one of another link or stands
 * beside it. The route's event does, and is on its way, since the kernel adds no route without a
 * message. So leave the route to its event.
 */
static void route_add(struct sl_mirror *m, struct sl_rib *s, const struct sl_rtnl_route *msg)
{
	const bool at_end = s->family == AF_INET6 || msg->append || m->dumping;
	struct sl_path *path = sl_path_get(m, msg);
	struct place p;

	if (!path)
		return;
	p = find_place(m, s, path, msg);
	if (p.same != SL_ROUTE_NONE)
		route_again(m, s, &p, path, msg);
	else if (p.target != SL_ROUTE_NONE)
		route_set(m, s, p.target, path, msg);
	else if (p.unlisted)
		sl_path_put(m, path);
	else
		route_insert(m, s, at_end && p.last != SL_ROUTE_NONE ? p.last : p.before, path,
			     msg);
}

/* Does this removal of an IPv6 route mean the path? The kernel compares no more than this. */
static bool is_meant6(const struct sl_path *path, const struct sl_rtnl_route *msg)
{
	if (path->key.object != msg->object)
		return false;
	if (msg->object)
		return true;
	if (path->key.type != msg->type)
		return false;
	if (!msg->n_legs || !path->key.n_legs)
		return true;
	return path->key.n_legs == msg->n_legs && path->leg[0].is.ifindex == msg->leg[0].ifindex &&
	       path->leg[0].is.gateway_family == msg->leg[0].gateway_family &&
	       !memcmp(path->leg[0].is.gateway, msg->leg[0].gateway, 16);
}

static void route_del6(struct sl_mirror *m, struct sl_rib *s, const struct sl_rtnl_route *msg)
{
	const bool has_gateway = msg->n_legs == 1 && msg->leg[0].gateway_family;

	for (sl_route_ref ref = sl_rib_first(s, msg->dst.addr, msg->dst.len); ref != SL_ROUTE_NONE;
	     ref = sl_rib_next(s, ref)) {
		const struct sl_route *r = sl_rib_at(s, ref);
		struct sl_path *path = path_of(m, r);
		if (!same_place(m, r, msg))
			continue;
		if (sl_path_is_ecmp6(path) && !msg->object) {
			struct sl_path *rest = NULL;
			if (msg->n_legs > 1) {
				route_remove(m, s, ref);
				return;
			}
			if (!has_gateway)
				continue;
			rest = sl_path_get_without(m, path, &msg->leg[0]);
			if (rest == path)
				continue;
			if (rest)
				route_set(m, s, ref, rest, msg);
			else
				route_remove(m, s, ref);
			return;
		}
		if (is_meant6(path, msg)) {
			route_remove(m, s, ref);
			return;
		}
	}
}

static void route_del(struct sl_mirror *m, struct sl_rib *s, const struct sl_rtnl_route *msg)
{
	const struct sl_path *path = sl_path_find(m, msg);

	for (sl_route_ref ref = sl_rib_first(s, msg->dst.addr, msg->dst.len);
	     path && ref != SL_ROUTE_NONE; ref = sl_rib_next(s, ref)) {
		const struct sl_route *r = sl_rib_at(s, ref);
		if (r->path == path->index && r->table == msg->table && r->metric == msg->metric &&
		    r->protocol == msg->protocol) {
			route_remove(m, s, ref);
			return;
		}
	}
	if (s->family == AF_INET6)
		route_del6(m, s, msg);
}

void sl_route_message(struct sl_mirror *m, const struct sl_rtnl_route *msg)
{
	struct sl_rib *s = rib_of(m, msg->dst.family);

	if (msg->table != RT_TABLE_LOCAL && msg->table != RT_TABLE_MAIN &&
	    msg->table != RT_TABLE_DEFAULT)
		return;
	if (!msg->removed) {
		route_add(m, s, msg);
		return;
	}
	if (s->family == AF_INET6)
		m->removed_route6 = true;
	route_del(m, s, msg);
}

/* --- Dumps, next-hop objects, and the walk over changed paths --- */

void sl_route_clear_seen(struct sl_rib *s)
{
	for (sl_route_ref ref = 0; ref < s->used; ref++)
		sl_rib_at(s, ref)->seen = false;
}

void sl_route_sweep(struct sl_mirror *m, struct sl_rib *s, uint32_t through_ifindex)
{
	for (sl_route_ref ref = 0; ref < s->used; ref++) {
		const struct sl_route *r = sl_rib_at(s, ref);
		if (r->path == SL_ROUTE_NONE || r->seen ||
		    (through_ifindex && !sl_path_uses(path_of(m, r), through_ifindex)))
			continue;
		route_remove(m, s, ref);
	}
}

static void remove_nhobject(struct sl_mirror *m, struct sl_rib *s, const struct sl_nhobject *object)
{
	for (sl_route_ref ref = 0; ref < s->used; ref++) {
		const struct sl_route *r = sl_rib_at(s, ref);
		if (r->path != SL_ROUTE_NONE && path_of(m, r)->nhobject == object)
			route_remove(m, s, ref);
	}
}

void sl_route_remove_nhobject(struct sl_mirror *m, const struct sl_nhobject *object)
{
	remove_nhobject(m, &m->rib4, object);
	remove_nhobject(m, &m->rib6, object);
}

/* Returns what is left of `most`. */
static uint32_t walk(struct sl_mirror *m, struct sl_rib *s, uint32_t most)
{
	for (; s->walk_left && most; s->walk_left--) {
		const sl_route_ref ref = s->walk_at;
		const struct sl_route *r = sl_rib_at(s, ref);
		uint8_t addr[16];

		s->walk_at = ref + 1 < s->used ? ref + 1 : 0;
		if (r->path == SL_ROUTE_NONE || !path_of(m, r)->changed)
			continue;
		memcpy(addr, r->addr, s->addr_bytes);
		prefix_update(m, s, addr, r->len);
		most--;
	}
	return most;
}

void sl_route_again(struct sl_mirror *m)
{
	sl_htable_for_each(&m->neighs, node, next)
		sl_route_host_changed(m, sl_container_of(node, struct sl_neigh, node));
	for (uint32_t i = 0; i < m->path_used; i++)
		if (m->path[i])
			m->path[i]->changed = m->paths_changed = true;
	sl_route_walk_changed(m, UINT32_MAX);
}

bool sl_route_walk_pending(const struct sl_mirror *m)
{
	return m->paths_changed || m->rib4.walk_left || m->rib6.walk_left;
}

void sl_route_walk_changed(struct sl_mirror *m, uint32_t most)
{
	if (!sl_route_walk_pending(m))
		return;
	if (m->paths_changed) { /* once round from here, which covers earlier changes, too */
		m->rib4.walk_left = m->rib4.used;
		m->rib6.walk_left = m->rib6.used;
	}
	m->paths_changed = false;
	walk(m, &m->rib6, walk(m, &m->rib4, most));
	for (uint32_t i = 0; !sl_route_walk_pending(m) && i < m->path_used; i++)
		if (m->path[i])
			m->path[i]->changed = false;
}
