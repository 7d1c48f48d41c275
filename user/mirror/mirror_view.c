/* SPDX-License-Identifier: BSD-2-Clause */
/* Views of the mirror for people: see mirror.h. */
#include "user/mirror/mirror_route.h"
#include "user/mirror/mirror_state.h"

static int each_route(const struct sl_mirror *m, const struct sl_rib *s,
		      int (*cb)(void *, const struct sl_route_view *), void *arg)
{
	int err = 0;

	for (sl_route_ref ref = 0; ref < s->used && !err; ref++) {
		const struct sl_route *r = sl_rib_at(s, ref);
		struct sl_route_view view = { 0 };
		if (r->path == SL_ROUTE_NONE)
			continue;
		view.prefix.family = s->family;
		view.prefix.len = r->len;
		memcpy(view.prefix.addr, r->addr, s->addr_bytes);
		view.table = r->table;
		view.metric = r->metric;
		view.protocol = r->protocol;
		view.type = m->path[r->path]->key.type;
		view.nexthop_id = sl_nexthop_id(m, m->path[r->path]->id);
		view.installed = sl_route_wins(m, s, ref);
		err = cb(arg, &view);
	}
	return err;
}

int sl_mirror_each_route(const struct sl_mirror *m, int (*cb)(void *, const struct sl_route_view *),
			 void *arg)
{
	int err = each_route(m, &m->rib4, cb, arg);

	return err ? err : each_route(m, &m->rib6, cb, arg);
}

/* How many routes name a next hop: those of each path that has its id. */
static uint64_t routes_by_id(const struct sl_mirror *m, uint32_t id)
{
	uint64_t routes = 0;

	for (uint32_t i = 0; i < m->path_used; i++)
		if (m->path[i] && m->path[i]->id == id)
			routes += m->path[i]->routes;
	return routes;
}

static void view_hop(struct sl_nexthop_view *view, const struct sl_hop *hop)
{
	view->l3_ifindex = hop->link->is.ifindex;
	view->family = hop->key.gateway_family;
	memcpy(view->gateway, hop->key.gateway, sizeof(view->gateway));
}

static int each_nhobject(const struct sl_mirror *m,
			 int (*cb)(void *, const struct sl_nexthop_view *), void *arg)
{
	int err = 0;

	sl_htable_for_each(&m->nhobjects, node, next)
	{
		const struct sl_nhobject *o = sl_container_of(node, struct sl_nhobject, node);
		struct sl_nexthop_view view = { .nexthop_id = o->id };
		if (err)
			return err;
		view.routes = routes_by_id(m, o->id);
		if (o->hop)
			view_hop(&view, o->hop);
		err = cb(arg, &view);
		for (uint32_t i = 0; i < o->n_members && !err; i++) {
			const struct sl_nhobject *part = sl_nhobject_find(m, o->member[i].object);
			if (!part)
				continue;
			view = (struct sl_nexthop_view){ .nexthop_id = part->id,
							 .weight = o->member[i].weight,
							 .group_id = o->id };
			if (part->hop)
				view_hop(&view, part->hop);
			err = cb(arg, &view);
		}
	}
	return err;
}

static int each_group(const struct sl_mirror *m, int (*cb)(void *, const struct sl_nexthop_view *),
		      void *arg)
{
	int err = 0;

	for (uint32_t i = 0; i < m->path_used && !err; i++) {
		const struct sl_path *path = m->path[i];
		struct sl_nexthop_view view = { 0 };
		if (!path || !path->is_group)
			continue;
		view.nexthop_id = path->id;
		view.routes = path->routes;
		err = cb(arg, &view);
		for (uint32_t leg = 0; leg < path->key.n_legs && !err; leg++) {
			view = (struct sl_nexthop_view){ .nexthop_id = path->leg[leg].hop->id,
							 .weight = path->leg[leg].is.weight,
							 .group_id = path->id };
			view_hop(&view, path->leg[leg].hop);
			err = cb(arg, &view);
		}
	}
	return err;
}

int sl_mirror_each_nexthop(const struct sl_mirror *m,
			   int (*cb)(void *, const struct sl_nexthop_view *), void *arg)
{
	int err = 0;

	sl_htable_for_each(&m->hops, node, next)
	{
		const struct sl_hop *hop = sl_container_of(node, struct sl_hop, node);
		struct sl_nexthop_view view = { .nexthop_id = hop->id };
		if (err)
			return err;
		view.routes = routes_by_id(m, hop->id);
		view_hop(&view, hop);
		err = cb(arg, &view);
	}
	if (!err)
		err = each_nhobject(m, cb, arg);
	return err ? err : each_group(m, cb, arg);
}

int sl_mirror_each_neighbour(const struct sl_mirror *m,
			     int (*cb)(void *, const struct sl_neighbour_view *), void *arg)
{
	int err = 0;

	sl_htable_for_each(&m->neighs, node, next)
	{
		const struct sl_neigh *n = sl_container_of(node, struct sl_neigh, node);
		struct sl_neighbour_view view = { .l3_ifindex = n->link->is.ifindex,
						  .family = n->family,
						  .state = n->state,
						  .in_use = n->in_use };
		const struct sl_hop *hop;
		if (err)
			return err;
		/* Routes name it as a gateway: it has more than the hop of its host route. */
		LIST_FOREACH(hop, &n->hops, neigh_entry)
		view.in_use |= hop != n->host || hop->refs > 1;
		memcpy(view.addr, n->addr, sizeof(view.addr));
		memcpy(view.mac, n->mac, sizeof(view.mac));
		err = cb(arg, &view);
	}
	return err;
}
