/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The next-hop id of a path: with one leg, that of its hop; with several legs, that of a group of
 * its own, of the legs that are alive; with a next-hop object, the object's. All other paths share,
 * for each reason, one id that punts or drops.
 */
#include <linux/rtnetlink.h>

#include "user/mirror/mirror_path.h"
#include "user/mirror/mirror_state.h"

/* --- Drafts --- */

/* A path that may not exist yet, made from a message. */
struct draft {
	struct sl_path_key key;
	struct sl_rtnl_leg leg[SL_RTNL_LEGS_MAX];
	bool dead[SL_RTNL_LEGS_MAX];
};

static int compare_legs(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct sl_rtnl_leg));
}

static void draft_legs(struct draft *d, const struct sl_rtnl_route *route)
{
	const uint32_t n = route->n_legs;

	/* Sort the legs, for their order means nothing here: equal sets shall be equal paths. */
	memcpy(d->leg, route->leg, n * sizeof(d->leg[0]));
	for (uint32_t i = 0; i < n; i++) {
		d->leg[i].pad = !!(d->leg[i].flags & RTNH_F_DEAD);
		/* the other flags are state, this one makes it another leg */
		d->leg[i].flags &= RTNH_F_ONLINK;
	}
	if (n > 1)
		qsort(d->leg, n, sizeof(d->leg[0]), compare_legs);
	for (uint32_t i = 0; i < n; i++) {
		d->dead[i] = d->leg[i].pad;
		d->leg[i].pad = 0;
	}
	d->key.n_legs = n;
}

static void draft_route(struct draft *d, const struct sl_rtnl_route *route)
{
	memset(&d->key, 0, sizeof(d->key));
	d->key.family = route->dst.family;
	/*
	 * For a route that names an object, the kernel says the object's type, which may change
	 * later.
	 */
	d->key.type = route->object ? RTN_UNICAST : route->type;
	d->key.scope = route->scope;
	d->key.tos = route->tos;
	d->key.src_len = route->src_len;
	d->key.from_ra = route->from_ra;
	d->key.expires = route->expires;
	d->key.mtu_bytes = route->mtu_bytes;
	d->key.other = route->other;
	d->key.object = route->object;
	d->key.has_prefsrc = route->has_prefsrc;
	d->key.too_many_legs = route->too_many_legs;
	memcpy(d->key.prefsrc, route->prefsrc, sizeof(d->key.prefsrc));
	memcpy(d->key.src, route->src, sizeof(d->key.src));
	if (!route->object)
		draft_legs(d, route);
}

static uint32_t draft_hash(const struct draft *d)
{
	return sl_hash(d->leg, d->key.n_legs * sizeof(d->leg[0]),
		       sl_hash(&d->key, sizeof(d->key), 0));
}

static struct sl_path *draft_find(const struct sl_mirror *m, const struct draft *d, uint32_t hash)
{
	struct sl_hnode *node = sl_htable_chain(&m->paths, hash);

	for (; node; node = node->next) {
		struct sl_path *path = sl_container_of(node, struct sl_path, node);
		uint32_t i = 0;
		if (node->hash != hash || memcmp(&path->key, &d->key, sizeof(d->key)) != 0)
			continue;
		while (i < d->key.n_legs && !compare_legs(&path->leg[i].is, &d->leg[i]))
			i++;
		if (i == d->key.n_legs)
			return path;
	}
	return NULL;
}

/* --- What a path comes to --- */

static bool has_hops(const struct sl_path_key *key)
{
	return key->type == RTN_UNICAST && !key->object;
}

static bool encapsulates(const struct sl_path *path)
{
	for (uint32_t i = 0; i < path->key.n_legs; i++)
		if (path->leg[i].is.encap)
			return true;
	return false;
}

bool sl_path_is_conditional(const struct sl_path *path)
{
	return path->key.tos || path->key.src_len;
}

/* The reason to leave its packets to the kernel, or SL_PUNT_COUNT. */
static enum sl_punt punt_reason(const struct sl_path *path)
{
	const struct sl_path_key *key = &path->key;

	switch (key->type) {
	case RTN_UNICAST:
		break;
	case RTN_BLACKHOLE:
		return SL_PUNT_COUNT;
	case RTN_LOCAL:
	case RTN_ANYCAST:
		return SL_PUNT_LOCAL;
	case RTN_BROADCAST:
	case RTN_MULTICAST:
		return SL_PUNT_MULTICAST;
	case RTN_UNREACHABLE:
	case RTN_PROHIBIT:
	case RTN_THROW:
		return SL_PUNT_UNREACHABLE;
	default:
		return SL_PUNT_POLICY;
	}
	if (encapsulates(path))
		return SL_PUNT_ENCAP;
	if (key->too_many_legs)
		return SL_PUNT_OVERFLOW;
	/*
	 * The kernel stops using an expired route at once, but reports it later. An object's id is
	 * shared, so it cannot carry the MTU of one route.
	 */
	if (key->expires || (key->object && sl_path_mtu(path)) || (!key->object && !key->n_legs))
		return SL_PUNT_POLICY;
	return SL_PUNT_COUNT;
}

static bool leg_alive(const struct sl_mirror *m, const struct sl_path *path, uint32_t i)
{
	return !path->leg[i].dead && sl_link_alive(m, path->leg[i].hop->link, path->key.family);
}

static void apply_group(struct sl_mirror *m, struct sl_path *path)
{
	struct sl_member member[SL_RTNL_LEGS_MAX];
	uint32_t n = 0, at;
	bool same = !path->failed;
	int err;

	for (uint32_t i = 0; i < path->key.n_legs; i++) {
		const bool use = leg_alive(m, path, i) && path->leg[i].hop->id;
		same &= use == path->leg[i].used;
		path->leg[i].used = use;
		if (!use)
			continue;
		/* A route may name the same gateway twice. */
		for (at = 0; at < n && member[at].nexthop_id != path->leg[i].hop->id; at++)
			;
		if (at == n)
			member[n++] = (struct sl_member){ .nexthop_id = path->leg[i].hop->id };
		member[at].weight += path->leg[i].is.weight;
	}
	path->live = n > 0;
	if (same || !path->id)
		return;
	if (n > 0)
		err = sl_fib_nexthop_set_group(m->fib, path->id, member, n);
	else
		err = sl_fib_nexthop_set_punt(m->fib, path->id, SL_PUNT_UNREACHABLE);
	path->failed = err != 0;
	m->retry |= path->failed;
}

static void apply(struct sl_mirror *m, struct sl_path *path)
{
	const bool was_live = path->live;
	const uint32_t was_id = path->id;
	const enum sl_punt reason = punt_reason(path);

	path->live = true;
	if (reason != SL_PUNT_COUNT) {
		path->id = m->punt_id[reason];
	} else if (path->key.type == RTN_BLACKHOLE) {
		path->id = m->blackhole_id;
	} else if (path->nhobject) {
		path->id = path->nhobject->id;
		path->live = path->nhobject->live;
	} else if (path->is_group) {
		apply_group(m, path);
	} else {
		path->id = path->leg[0].hop->id;
		path->live = leg_alive(m, path, 0);
	}
	if (path->live != was_live || path->id != was_id)
		path->changed = m->paths_changed = true;
}

void sl_path_update_all(struct sl_mirror *m)
{
	sl_htable_for_each(&m->paths, node, next)
		apply(m, sl_container_of(node, struct sl_path, node));
}

void sl_path_retry(struct sl_mirror *m)
{
	sl_htable_for_each(&m->paths, node, next)
	{
		struct sl_path *path = sl_container_of(node, struct sl_path, node);
		if (path->is_group && !path->id) {
			if (sl_fib_nexthop_create(m->fib, &path->id))
				m->retry = true;
			path->failed = path->changed = m->paths_changed = true;
		}
		apply(m, path);
	}
}

void sl_path_nhobject_changed(struct sl_mirror *m, const struct sl_nhobject *object)
{
	sl_htable_for_each(&m->paths, node, next)
	{
		struct sl_path *path = sl_container_of(node, struct sl_path, node);
		if (path->nhobject != object)
			continue;
		apply(m, path);
		path->changed = m->paths_changed = true;
	}
}

/* --- Life --- */

static int index_take(struct sl_mirror *m, struct sl_path *path)
{
	uint32_t i = m->path_free;

	while (i < m->path_used && m->path[i])
		i++;
	if (i == m->path_room) {
		const uint32_t room = m->path_room ? 2 * m->path_room : 64;
		struct sl_path **grown =
			sl_mirror_grow(m, m->path, room * sizeof(struct sl_path *));
		if (!grown)
			return -ENOMEM;
		m->path = grown;
		m->path_room = room;
	}
	if (i == m->path_used)
		m->path_used++;
	m->path[i] = path;
	m->path_free = i + 1;
	path->index = i;
	return 0;
}

static void path_free(struct sl_mirror *m, struct sl_path *path)
{
	/* The group goes before the hops that it names. */
	if (path->is_group && path->id)
		sl_fib_nexthop_destroy(m->fib, path->id);
	for (uint32_t i = 0; i < path->key.n_legs; i++)
		sl_hop_put(m, path->leg[i].hop);
	if (path->nhobject)
		sl_nhobject_put(m, path->nhobject);
	free(path);
}

static struct sl_path *path_create(struct sl_mirror *m, const struct draft *d)
{
	const uint32_t n = d->key.n_legs;
	const bool others_changed = m->paths_changed;
	struct sl_path *path = sl_mirror_alloc(m, sizeof(*path) + n * sizeof(path->leg[0]));

	if (!path)
		return NULL;
	path->key = d->key;
	for (uint32_t i = 0; i < n; i++) {
		const struct sl_rtnl_leg *leg = &d->leg[i];
		struct sl_hop_key key = { .ifindex = leg->ifindex,
					  .mtu_family = d->key.family,
					  .gateway_family = leg->gateway_family,
					  .mtu_bytes = sl_path_mtu(path) };
		path->leg[i].is = *leg;
		path->leg[i].dead = d->dead[i];
		if (!has_hops(&d->key))
			continue;
		memcpy(key.gateway, leg->gateway, sizeof(key.gateway));
		path->leg[i].hop = sl_hop_get(m, &key);
		if (!path->leg[i].hop)
			goto out;
	}
	if (d->key.object) {
		path->nhobject = sl_nhobject_get(m, d->key.object);
		if (!path->nhobject)
			goto out;
	}
	path->is_group = has_hops(&d->key) && n > 1 && punt_reason(path) == SL_PUNT_COUNT;
	if (path->is_group) {
		path->failed = true; /* nothing was set yet */
		if (sl_fib_nexthop_create(m->fib, &path->id))
			m->retry = true;
	}
	if (index_take(m, path))
		goto out;
	apply(m, path);
	path->changed = false; /* nothing depends on it yet */
	m->paths_changed = others_changed;
	return path;
out:
	path_free(m, path);
	return NULL;
}

static struct sl_path *draft_get(struct sl_mirror *m, const struct draft *d)
{
	const uint32_t hash = draft_hash(d);
	struct sl_path *path = draft_find(m, d, hash);

	if (!path) {
		path = path_create(m, d);
		if (path)
			sl_htable_add(&m->paths, &path->node, hash);
	}
	return path;
}

struct sl_path *sl_path_find(const struct sl_mirror *m, const struct sl_rtnl_route *route)
{
	struct draft d;

	draft_route(&d, route);
	return draft_find(m, &d, draft_hash(&d));
}

struct sl_path *sl_path_get(struct sl_mirror *m, const struct sl_rtnl_route *route)
{
	struct sl_path *path;
	bool differ = false;
	struct draft d;

	draft_route(&d, route);
	path = draft_get(m, &d);
	if (!path)
		return NULL;
	for (uint32_t i = 0; i < path->key.n_legs; i++) {
		differ |= path->leg[i].dead != d.dead[i];
		path->leg[i].dead = d.dead[i];
	}
	if (differ)
		apply(m, path);
	return path;
}

struct sl_path *sl_path_get_without(struct sl_mirror *m, const struct sl_path *path,
				    const struct sl_rtnl_leg *leg)
{
	struct draft d;
	uint32_t n = 0;

	d.key = path->key;
	for (uint32_t i = 0; i < path->key.n_legs; i++) {
		const struct sl_rtnl_leg *is = &path->leg[i].is;
		if (is->ifindex == leg->ifindex && is->gateway_family == leg->gateway_family &&
		    !memcmp(is->gateway, leg->gateway, sizeof(leg->gateway)))
			continue;
		d.leg[n] = *is;
		d.dead[n++] = path->leg[i].dead;
	}
	d.key.n_legs = n;
	return n ? draft_get(m, &d) : NULL;
}

void sl_path_put(struct sl_mirror *m, struct sl_path *path)
{
	if (path->routes)
		return;
	m->path[path->index] = NULL;
	if (path->index < m->path_free)
		m->path_free = path->index;
	sl_htable_del(&m->paths, &path->node);
	path_free(m, path);
}

bool sl_path_is_gone(const struct sl_mirror *m, const struct sl_path *path)
{
	bool gone = has_hops(&path->key) && path->key.n_legs;

	if (path->key.family == AF_INET && path->key.has_prefsrc &&
	    !sl_address_exists(m, AF_INET, path->key.prefsrc))
		return true;
	for (uint32_t i = 0; i < path->key.n_legs && gone; i++) {
		const struct sl_link *link = path->leg[i].hop->link;
		gone = !sl_link_up(link) || (path->key.family == AF_INET && !link->addresses4);
	}
	return gone;
}

/* --- Questions --- */

/*
 * Locked or not, Linux applies a route's MTU to forwarded packets of both families; to those of
 * IPv6 when it sends them (ip6_finish_output).
 */
uint32_t sl_path_mtu(const struct sl_path *path)
{
	return path->key.mtu_bytes;
}

uint32_t sl_path_glean(const struct sl_path *path)
{
	const struct sl_hop *hop = NULL;

	if (punt_reason(path) != SL_PUNT_COUNT || path->key.type != RTN_UNICAST)
		return 0;
	if (path->nhobject)
		hop = path->nhobject->hop;
	else if (path->key.n_legs == 1)
		hop = path->leg[0].hop;
	return hop && !hop->key.gateway_family ? hop->key.ifindex : 0;
}

bool sl_path_uses(const struct sl_path *path, uint32_t ifindex)
{
	for (uint32_t i = 0; i < path->key.n_legs; i++)
		if (path->leg[i].is.ifindex == ifindex)
			return true;
	return false;
}

bool sl_path_any_dead(const struct sl_mirror *m, uint32_t ifindex)
{
	for (uint32_t i = 0; i < m->path_used; i++)
		for (uint32_t l = 0; m->path[i] && l < m->path[i]->key.n_legs; l++)
			if (m->path[i]->leg[l].dead && m->path[i]->leg[l].is.ifindex == ifindex)
				return true;
	return false;
}

bool sl_path_is_ecmp6(const struct sl_path *path)
{
	const struct sl_path_key *key = &path->key;

	if (key->family != AF_INET6 || !has_hops(key) || key->from_ra || !key->n_legs)
		return false;
	for (uint32_t i = 0; i < key->n_legs; i++)
		if (!path->leg[i].is.gateway_family)
			return false;
	return true;
}
