/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A next-hop object keeps one next-hop id for life, so its change touches no route that names it.
 * Groups name the ids of their members.
 *
 * When an object goes, the kernel removes the routes that name it and takes it out of groups. When
 * a link fails, the kernel removes the objects that go through it. It sends messages about little
 * of this, so the mirror does the same by itself.
 */
#include "user/mirror/mirror_nhobject.h"
#include "user/mirror/mirror_state.h"

static uint32_t object_hash(uint32_t object)
{
	return object * 2654435761u;
}

struct sl_nhobject *sl_nhobject_find(const struct sl_mirror *m, uint32_t object)
{
	struct sl_hnode *node = sl_htable_chain(&m->nhobjects, object_hash(object));

	for (; node; node = node->next) {
		struct sl_nhobject *o = sl_container_of(node, struct sl_nhobject, node);
		if (o->kernel_id == object)
			return o;
	}
	return NULL;
}

static struct sl_nhobject *object_make(struct sl_mirror *m, uint32_t object)
{
	struct sl_nhobject *o = sl_nhobject_find(m, object);

	if (o)
		return o;
	o = sl_mirror_alloc(m, sizeof(*o));
	if (!o)
		return NULL;
	o->kernel_id = object;
	o->live = true;
	if (sl_fib_nexthop_create(m->fib, &o->id))
		m->retry = true;
	else
		sl_fib_nexthop_set_punt(m->fib, o->id, SL_PUNT_NOT_READY);
	sl_htable_add(&m->nhobjects, &o->node, object_hash(object));
	return o;
}

struct sl_nhobject *sl_nhobject_get(struct sl_mirror *m, uint32_t object)
{
	struct sl_nhobject *o = object_make(m, object);

	if (o)
		o->paths++;
	return o;
}

static void object_free_unused(struct sl_mirror *m, struct sl_nhobject *o)
{
	if (o->paths || o->kind != SL_NHOBJECT_UNKNOWN)
		return;
	sl_htable_del(&m->nhobjects, &o->node);
	if (o->id)
		sl_fib_nexthop_destroy(m->fib, o->id);
	free(o);
}

void sl_nhobject_put(struct sl_mirror *m, struct sl_nhobject *o)
{
	o->paths--;
	object_free_unused(m, o);
}

/* --- From object to fib --- */

static int apply_group(struct sl_mirror *m, struct sl_nhobject *o)
{
	struct sl_member member[SL_RTNL_LEGS_MAX];
	uint32_t n = 0;

	for (uint32_t i = 0; i < o->n_members; i++) {
		const struct sl_nhobject *part = sl_nhobject_find(m, o->member[i].object);
		if (!part || part->kind == SL_NHOBJECT_UNKNOWN || part->kind == SL_NHOBJECT_GROUP ||
		    !part->live || !part->id)
			continue;
		member[n++] =
			(struct sl_member){ .nexthop_id = part->id, .weight = o->member[i].weight };
	}
	o->live = n > 0;
	return n > 0 ? sl_fib_nexthop_set_group(m->fib, o->id, member, n)
		     : sl_fib_nexthop_set_punt(m->fib, o->id, SL_PUNT_UNREACHABLE);
}

static void apply(struct sl_mirror *m, struct sl_nhobject *o)
{
	const bool was_live = o->live;
	int err = 0;

	if (!o->id && sl_fib_nexthop_create(m->fib, &o->id)) {
		m->retry = true;
		return;
	}
	o->live = true;
	switch (o->kind) {
	case SL_NHOBJECT_UNKNOWN:
		err = sl_fib_nexthop_set_punt(m->fib, o->id, SL_PUNT_NOT_READY);
		break;
	case SL_NHOBJECT_HOP:
		o->hop->id = o->id;
		sl_hop_apply(m, o->hop);
		o->live = sl_link_up(o->hop->link) && !o->hop->link->cut;
		break;
	case SL_NHOBJECT_GROUP:
		err = apply_group(m, o);
		break;
	case SL_NHOBJECT_BLACKHOLE:
		err = sl_fib_nexthop_set_drop(m->fib, o->id, SL_DROP_BLACKHOLE);
		break;
	case SL_NHOBJECT_ENCAP:
		err = sl_fib_nexthop_set_punt(m->fib, o->id, SL_PUNT_ENCAP);
		break;
	case SL_NHOBJECT_TOO_LARGE:
		err = sl_fib_nexthop_set_punt(m->fib, o->id, SL_PUNT_OVERFLOW);
		break;
	}
	m->retry |= err != 0;
	if (o->live != was_live)
		m->above->nhobject_changed(m, o);
}

static bool names(const struct sl_nhobject *group, uint32_t object)
{
	for (uint32_t i = 0; i < group->n_members; i++)
		if (group->member[i].object == object)
			return true;
	return false;
}

static void apply_with_groups(struct sl_mirror *m, struct sl_nhobject *o)
{
	apply(m, o);
	sl_htable_for_each(&m->nhobjects, node, next)
	{
		struct sl_nhobject *group = sl_container_of(node, struct sl_nhobject, node);
		if (group->kind == SL_NHOBJECT_GROUP && names(group, o->kernel_id))
			apply(m, group);
	}
}

/* Members first, then the groups that depend on them. */
void sl_nhobject_update_all(struct sl_mirror *m)
{
	for (int groups = 0; groups <= 1; groups++)
		sl_htable_for_each(&m->nhobjects, node, next)
		{
			struct sl_nhobject *o = sl_container_of(node, struct sl_nhobject, node);
			if ((o->kind == SL_NHOBJECT_GROUP) == groups)
				apply(m, o);
		}
}

/* --- Messages --- */

static void forget(struct sl_mirror *m, struct sl_nhobject *o)
{
	sl_hop_put(m, o->hop);
	free(o->member);
	o->hop = NULL;
	o->member = NULL;
	o->n_members = 0;
	o->kind = SL_NHOBJECT_UNKNOWN;
}

/* Take a member out of the groups that name it. */
static void leave_groups(struct sl_mirror *m, uint32_t object)
{
	sl_htable_for_each(&m->nhobjects, node, next)
	{
		struct sl_nhobject *group = sl_container_of(node, struct sl_nhobject, node);
		uint32_t n = 0;
		if (group->kind != SL_NHOBJECT_GROUP || !names(group, object))
			continue;
		for (uint32_t i = 0; i < group->n_members; i++)
			if (group->member[i].object != object)
				group->member[n++] = group->member[i];
		group->n_members = n;
		apply(m, group);
	}
}

static struct sl_nhobject *empty_group(const struct sl_mirror *m)
{
	sl_htable_for_each(&m->nhobjects, node, next)
	{
		struct sl_nhobject *o = sl_container_of(node, struct sl_nhobject, node);
		if (o->kind == SL_NHOBJECT_GROUP && !o->n_members)
			return o;
	}
	return NULL;
}

/*
 * As the kernel does: groups lose the object, groups that are empty then go too, and the routes
 * that name any of them go with it.
 */
static void object_removed(struct sl_mirror *m, struct sl_nhobject *o)
{
	const uint32_t object = o->kernel_id;
	struct sl_nhobject *empty;

	forget(m, o);
	m->stats.nexthop_objects--;
	m->changes++;
	o->paths++; /* keeps it until its routes are gone */
	apply(m, o);
	leave_groups(m, object);
	while ((empty = empty_group(m)))
		object_removed(m, empty);
	if (o->paths > 1)
		m->above->nhobject_removed(m, o);
	sl_nhobject_put(m, o);
}

void sl_nhobject_link_lost(struct sl_mirror *m, struct sl_link *link)
{
	struct sl_nhobject *gone;

	do { /* begin again after each, which may have removed groups, too */
		gone = NULL;
		sl_htable_for_each(&m->nhobjects, node, next)
		{
			struct sl_nhobject *o = sl_container_of(node, struct sl_nhobject, node);
			if (o->kind == SL_NHOBJECT_HOP && o->hop->link == link)
				gone = o;
		}
		if (gone)
			object_removed(m, gone);
	} while (gone);
}

static int learn(struct sl_mirror *m, struct sl_nhobject *o, const struct sl_rtnl_nexthop *msg)
{
	struct sl_hop_key key = { .ifindex = msg->leg.ifindex,
				  .mtu_family = msg->family == AF_INET ? AF_INET : 0,
				  .gateway_family = msg->leg.gateway_family };

	memcpy(key.gateway, msg->leg.gateway, sizeof(key.gateway));
	if (msg->blackhole) {
		o->kind = SL_NHOBJECT_BLACKHOLE;
	} else if (msg->leg.encap) {
		o->kind = SL_NHOBJECT_ENCAP;
	} else if (msg->too_many_members) {
		o->kind = SL_NHOBJECT_TOO_LARGE;
	} else if (msg->group) {
		o->member = sl_mirror_alloc(m, msg->n_members * sizeof(*o->member));
		if (!o->member)
			return -ENOMEM;
		memcpy(o->member, msg->member, msg->n_members * sizeof(*o->member));
		o->n_members = msg->n_members;
		o->kind = SL_NHOBJECT_GROUP;
	} else {
		o->hop = sl_hop_create(m, &key, o->id);
		if (!o->hop)
			return -ENOMEM;
		o->kind = SL_NHOBJECT_HOP;
	}
	return 0;
}

static bool is_same(const struct sl_nhobject *o, const struct sl_rtnl_nexthop *msg)
{
	if (msg->blackhole)
		return o->kind == SL_NHOBJECT_BLACKHOLE;
	if (msg->leg.encap)
		return o->kind == SL_NHOBJECT_ENCAP;
	if (msg->too_many_members)
		return o->kind == SL_NHOBJECT_TOO_LARGE;
	if (msg->group)
		return o->kind == SL_NHOBJECT_GROUP && o->n_members == msg->n_members &&
		       !memcmp(o->member, msg->member, msg->n_members * sizeof(*o->member));
	return o->kind == SL_NHOBJECT_HOP && o->hop->key.ifindex == msg->leg.ifindex &&
	       o->hop->key.gateway_family == msg->leg.gateway_family &&
	       !memcmp(o->hop->key.gateway, msg->leg.gateway, sizeof(msg->leg.gateway));
}

static uint32_t glean(const struct sl_hop *hop)
{
	return hop && !hop->key.gateway_family ? hop->key.ifindex : 0;
}

void sl_nhobject_message(struct sl_mirror *m, const struct sl_rtnl_nexthop *msg)
{
	struct sl_nhobject *o;
	struct sl_hop *old_hop;

	if (msg->fdb)
		return;
	o = msg->removed ? sl_nhobject_find(m, msg->id) : object_make(m, msg->id);
	if (!o)
		return;
	if (msg->removed) {
		if (o->kind != SL_NHOBJECT_UNKNOWN)
			object_removed(m, o);
		return;
	}
	o->seen = true;
	if (is_same(o, msg))
		return;
	m->changes++;
	if (o->kind == SL_NHOBJECT_UNKNOWN)
		m->stats.nexthop_objects++;
	/*
	 * Release the old hop last: the new one may have the same neighbour, which must not go in
	 * between.
	 */
	old_hop = o->hop;
	o->hop = NULL;
	forget(m, o);
	if (learn(m, o, msg)) {
		m->stats.nexthop_objects--;
		m->retry = true;
	}
	apply_with_groups(m, o);
	if (glean(o->hop) != glean(old_hop)) /* host routes depend on it */
		m->above->nhobject_changed(m, o);
	sl_hop_put(m, old_hop);
}

void sl_nhobject_clear_seen(struct sl_mirror *m)
{
	sl_htable_for_each(&m->nhobjects, node, next)
		sl_container_of(node, struct sl_nhobject, node)
			->seen = false;
}

void sl_nhobject_sweep(struct sl_mirror *m)
{
	struct sl_nhobject *gone;

	/* Removing one may free others: begin again after each. */
	do {
		gone = NULL;
		sl_htable_for_each(&m->nhobjects, node, next)
		{
			struct sl_nhobject *o = sl_container_of(node, struct sl_nhobject, node);
			if (o->kind != SL_NHOBJECT_UNKNOWN && !o->seen)
				gone = o;
		}
		if (gone)
			object_removed(m, gone);
	} while (gone);
}
