/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "bpf/lib/endian.bpf.h"
#include "user/datapath/counters.h"
#include "user/ipc/counter_texts.h"
#include "user/show/json_values.h"
#include "user/show/nexthop_index.h"

/* Names of interfaces asked for lately: each leg of each route has one, and it takes a system call.
 */
#define NAMES_CACHED 64
struct cached_name {
	uint32_t ifindex;
	json_t *name; /* owned */
};

struct sl_nexthop_index {
	const struct sl_router *router;
	struct cached_name names[NAMES_CACHED];
	struct sl_nexthop_view *views; /* owned, as the mirror lists them */
	uint32_t n, size;
	uint32_t *alone;  /* owned: id -> 1 + element of views, unless it is a member; 0: none */
	uint32_t *member; /* owned: group id -> 1 + first element that is one of its members */
	uint32_t *next;	  /* owned: element -> 1 + next member of the same group */
};

static int collect(void *arg, const struct sl_nexthop_view *view)
{
	struct sl_nexthop_index *index = arg;

	if (index->n == index->size) {
		uint32_t size = index->size ? 2 * index->size : 256;
		struct sl_nexthop_view *views = realloc(index->views, size * sizeof(*views));

		if (!views)
			return -1;
		index->views = views;
		index->size = size;
	}
	index->views[index->n++] = *view;
	return 0;
}

struct sl_nexthop_index *sl_nexthop_index_create(const struct sl_router *router)
{
	const struct sl_fib_tables *tables = sl_datapath_tables(sl_router_datapath(router));
	struct sl_nexthop_index *index = calloc(1, sizeof(*index));

	if (!index)
		return NULL;
	index->router = router;
	if (sl_mirror_each_nexthop(sl_router_mirror(router), collect, index))
		goto out;
	index->alone = calloc(tables->n_nexthop, sizeof(*index->alone));
	index->member = calloc(tables->n_nexthop, sizeof(*index->member));
	index->next = calloc(index->n + 1, sizeof(*index->next));
	if (!index->alone || !index->member || !index->next)
		goto out;
	for (uint32_t i = index->n; i-- > 0;) {
		const struct sl_nexthop_view *view = &index->views[i];

		if (view->nexthop_id >= tables->n_nexthop || view->group_id >= tables->n_nexthop)
			continue;
		if (!view->group_id) {
			index->alone[view->nexthop_id] = i + 1;
			continue;
		}
		index->next[i] = index->member[view->group_id];
		index->member[view->group_id] = i + 1;
	}
	return index;
out:
	sl_nexthop_index_destroy(index);
	return NULL;
}

void sl_nexthop_index_destroy(struct sl_nexthop_index *index)
{
	if (!index)
		return;
	for (uint32_t i = 0; i < NAMES_CACHED; i++)
		json_decref(index->names[i].name);
	free(index->views);
	free(index->alone);
	free(index->member);
	free(index->next);
	free(index);
}

static json_t *cached_ifname(struct sl_nexthop_index *index, uint32_t ifindex)
{
	struct cached_name *cached = &index->names[ifindex % NAMES_CACHED];

	if (!cached->name || cached->ifindex != ifindex) {
		json_decref(cached->name);
		cached->ifindex = ifindex;
		cached->name = sl_json_ifname(ifindex);
	}
	return json_incref(cached->name);
}

static json_t *leg_json(struct sl_nexthop_index *index, const struct sl_nexthop_view *view,
			bool weighted)
{
	json_t *leg = json_object();

	if (view->family)
		json_object_set_new(leg, "via", sl_json_addr(view->family, view->gateway));
	json_object_set_new(leg, "dev", cached_ifname(index, view->l3_ifindex));
	if (weighted)
		json_object_set_new(leg, "weight", json_integer(view->weight));
	return leg;
}

json_t *sl_nexthop_legs_json(struct sl_nexthop_index *index, uint32_t id)
{
	json_t *legs = json_array();
	uint32_t i = index->member[id];

	if (!i && index->alone[id] && index->views[index->alone[id] - 1].l3_ifindex)
		json_array_append_new(legs,
				      leg_json(index, &index->views[index->alone[id] - 1], false));
	for (; i; i = index->next[i - 1])
		json_array_append_new(legs, leg_json(index, &index->views[i - 1], true));
	return legs;
}

/* The queues that lead to the port, and the node of a remote one. */
static void set_queues(const struct sl_router *router, json_t *row, const struct sl_adj *adj)
{
	const struct sl_cluster *cluster = sl_router_cluster(router);
	json_t *voqs = json_array();
	struct sl_remote_view view;

	for (int i = 0; i < SL_CLASSES; i++)
		json_array_append_new(
			voqs, json_pack("{s:i, s:i}", "class", i, "voq", adj->voq_plus1 - 1 + i));
	json_object_set_new(row, "voqs", voqs);
	if (!adj->remote || !cluster || !sl_cluster_remote(cluster, adj->voq_plus1, &view))
		return;
	json_object_set_new(row, "node", json_integer(view.system_port >> 8));
	json_object_set_new(row, "node_address", json_string(view.address));
	json_object_set_new(row, "peer", json_string(view.peer));
}

static void set_adjacency(const struct sl_router *router, json_t *row, const struct sl_adj *adj)
{
	json_t *tags = json_array();

	json_object_set_new(row, "port", sl_json_ifname(adj->port_ifindex));
	json_object_set_new(row, "mac", sl_json_mac(adj->dst_mac));
	json_object_set_new(row, "source_mac", sl_json_mac(adj->src_mac));
	json_object_set_new(row, "mtu_bytes", json_integer(adj->mtu_bytes));
	for (int i = 0; i < adj->vlan_tags && i < 2; i++)
		json_array_append_new(tags, json_integer(sl_ntohs(adj->vlan_tci[i]) & 0xfff));
	if (adj->vlan_tags)
		json_object_set_new(row, "vlans", tags);
	else
		json_decref(tags);
	if (adj->voq_plus1)
		set_queues(router, row, adj);
}

/* How many of a group's buckets lead to each member. */
static json_t *members_json(struct sl_nexthop_index *index, uint32_t group_id,
			    const struct sl_group *group)
{
	json_t *members = json_array();

	for (uint32_t i = index->member[group_id]; i; i = index->next[i - 1]) {
		const struct sl_nexthop_view *view = &index->views[i - 1];
		json_t *member = sl_nexthop_json(index, view->nexthop_id);
		int buckets = 0;

		for (int b = 0; b < SL_GROUP_BUCKETS; b++)
			buckets += group->bucket[b] == view->nexthop_id;
		json_object_update_new(member, leg_json(index, view, true));
		json_object_set_new(member, "buckets", json_integer(buckets));
		json_array_append_new(members, member);
	}
	return members;
}

json_t *sl_nexthop_json(struct sl_nexthop_index *index, uint32_t id)
{
	static const char *const kinds[] = { "none", "forward", "group", "punt", "drop" };
	const struct sl_fib_tables *tables = sl_datapath_tables(sl_router_datapath(index->router));
	json_t *row = json_object();
	struct sl_nexthop nh = { 0 };

	if (id < tables->n_nexthop)
		nh = tables->nexthop[id];
	if (nh.kind >= SL_NH_COUNT)
		nh.kind = SL_NH_NONE;
	json_object_set_new(row, "id", json_integer(id));
	json_object_set_new(row, "kind", json_string(kinds[nh.kind]));
	if (id < tables->n_nexthop && index->alone[id]) {
		const struct sl_nexthop_view *view = &index->views[index->alone[id] - 1];
		json_t *leg = leg_json(index, view, false);

		if (view->l3_ifindex)
			json_object_update(row, leg);
		json_decref(leg);
		json_object_set_new(row, "routes", json_integer((json_int_t)view->routes));
	}
	if (nh.kind == SL_NH_FORWARD && nh.ref < tables->n_adj)
		set_adjacency(index->router, row, &tables->adj[nh.ref]);
	else if (nh.kind == SL_NH_GROUP && nh.ref < tables->n_group)
		json_object_set_new(row, "members",
				    members_json(index, id, &tables->group[nh.ref]));
	else if (nh.kind == SL_NH_PUNT && nh.ref < SL_PUNT_COUNT)
		json_object_set_new(row, "reason", json_string(sl_punt_texts[nh.ref].name));
	else if (nh.kind == SL_NH_DROP && nh.ref < SL_DROP_COUNT)
		json_object_set_new(row, "reason", json_string(sl_drop_texts[nh.ref].name));
	else if (nh.kind == SL_NH_NONE)
		json_object_set_new(row, "reason",
				    json_string(sl_punt_texts[SL_PUNT_NO_ROUTE].name));
	return row;
}

bool sl_nexthop_index_next(const struct sl_nexthop_index *index, uint32_t *n, uint32_t *id)
{
	while (*n < index->n) {
		const struct sl_nexthop_view *view = &index->views[(*n)++];

		if (view->group_id)
			continue;
		*id = view->nexthop_id;
		return true;
	}
	return false;
}
