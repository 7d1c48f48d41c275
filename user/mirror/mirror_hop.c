/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The link and the neighbour of a hop decide whether it is an adjacency, or why the kernel gets its
 * packets.
 */
#include "user/mirror/mirror_hop.h"
#include "user/mirror/mirror_state.h"

uint32_t sl_nexthop_id(const struct sl_mirror *m, uint32_t id)
{
	return id ? id : m->punt_id[SL_PUNT_OVERFLOW];
}

/*
 * Does the kernel avoid this hop although the link is up? It then uses other routes. The mirror
 * needs a while to install those if they are many, and leaves the packets to the kernel until then.
 * (The kernel uses a next-hop object without carrier until it has removed the object.)
 */
static bool is_dead(const struct sl_mirror *m, const struct sl_hop *hop)
{
	const struct sl_link *link = hop->link;

	if (hop->is_private)
		return link->cut;
	return sl_link_up(link) && !sl_link_alive(m, link, hop->key.mtu_family);
}

static bool adjacent(const struct sl_mirror *m, const struct sl_hop *hop, struct sl_adj *adj,
		     enum sl_punt *punt)
{
	const struct sl_link *link = hop->link;
	const struct sl_neigh *n = hop->neigh;
	uint32_t mtu_bytes;

	if (!link->present || !link->on_port) {
		*punt = SL_PUNT_NOT_A_PORT;
		return false;
	}
	if (is_dead(m, hop)) {
		*punt = SL_PUNT_UNREACHABLE;
		return false;
	}
	if (!sl_link_up(link) || !n || !sl_neigh_usable(n)) {
		*punt = SL_PUNT_NEIGHBOUR;
		return false;
	}
	mtu_bytes = sl_link_mtu(link, hop->key.mtu_family);
	if (hop->key.mtu_bytes && hop->key.mtu_bytes < mtu_bytes)
		mtu_bytes = hop->key.mtu_bytes;
	*adj = (struct sl_adj){ .port_ifindex = link->port_ifindex,
				.l3_ifindex = link->is.ifindex,
				.mtu_bytes = mtu_bytes,
				.vlan_tags = link->vlan_tags };
	memcpy(adj->dst_mac, n->mac, sizeof(adj->dst_mac));
	memcpy(adj->src_mac, link->is.mac, sizeof(adj->src_mac));
	memcpy(adj->vlan_tpid, link->vlan_tpid, sizeof(adj->vlan_tpid));
	memcpy(adj->vlan_tci, link->vlan_vid, sizeof(adj->vlan_tci));
	if (m->ops->queues)
		m->ops->queues(m->ctx, link->port_ifindex, adj);
	return true;
}

void sl_hop_apply(struct sl_mirror *m, struct sl_hop *hop)
{
	enum sl_punt punt = SL_PUNT_OTHER;
	struct sl_adj adj;
	int err;

	if (!hop->id)
		return;
	if (adjacent(m, hop, &adj, &punt)) {
		if (hop->state == SL_HOP_ADJ && !memcmp(&adj, &hop->adj, sizeof(adj)))
			return;
		err = sl_fib_nexthop_set_adj(m->fib, hop->id, &adj);
		hop->adj = adj;
		hop->state = SL_HOP_ADJ;
	} else {
		if (hop->state == SL_HOP_PUNT && hop->punt == punt)
			return;
		err = sl_fib_nexthop_set_punt(m->fib, hop->id, punt);
		hop->punt = punt;
		hop->state = SL_HOP_PUNT;
	}
	if (err) {
		hop->state = SL_HOP_FAILED;
		m->retry = true;
	}
}

void sl_hop_link_changed(struct sl_mirror *m, struct sl_link *link, bool came_up)
{
	struct sl_hop *hop;

	LIST_FOREACH(hop, &link->hops, link_entry)
	{
		sl_hop_apply(m, hop);
		if (came_up && hop->neigh)
			sl_neigh_ask_soon(m, hop->neigh);
	}
}

void sl_hop_neigh_changed(struct sl_mirror *m, struct sl_neigh *n)
{
	struct sl_hop *hop;

	LIST_FOREACH(hop, &n->hops, neigh_entry)
	sl_hop_apply(m, hop);
}

/* Asks of all hops, since each question clears a mark. */
bool sl_hop_neigh_used(struct sl_mirror *m, struct sl_neigh *n)
{
	struct sl_hop *hop;
	bool used = false;

	LIST_FOREACH(hop, &n->hops, neigh_entry)
	if (hop->state == SL_HOP_ADJ && sl_fib_nexthop_used(m->fib, hop->id))
		used = true;
	return used;
}

static uint32_t key_hash(const struct sl_hop_key *key)
{
	return sl_hash(key, sizeof(*key), 0);
}

struct sl_hop *sl_hop_create(struct sl_mirror *m, const struct sl_hop_key *key, uint32_t id)
{
	struct sl_hop *hop = sl_mirror_alloc(m, sizeof(*hop));

	if (!hop)
		return NULL;
	hop->key = *key;
	hop->refs = 1;
	hop->id = id;
	hop->is_private = true;
	hop->link = sl_link_get(m, key->ifindex);
	if (!hop->link)
		goto out;
	if (key->gateway_family) {
		hop->neigh = sl_neigh_get(m, hop->link, key->gateway_family, key->gateway);
		if (!hop->neigh)
			goto out;
		LIST_INSERT_HEAD(&hop->neigh->hops, hop, neigh_entry);
		sl_neigh_want(m, hop->neigh);
	}
	LIST_INSERT_HEAD(&hop->link->hops, hop, link_entry);
	sl_hop_apply(m, hop);
	return hop;
out:
	sl_link_put(m, hop->link);
	free(hop);
	return NULL;
}

struct sl_hop *sl_hop_get(struct sl_mirror *m, const struct sl_hop_key *key)
{
	const uint32_t hash = key_hash(key);
	struct sl_hnode *node = sl_htable_chain(&m->hops, hash);
	struct sl_hop *hop;
	uint32_t id = 0;

	for (; node; node = node->next) {
		hop = sl_container_of(node, struct sl_hop, node);
		if (node->hash == hash && !memcmp(&hop->key, key, sizeof(*key))) {
			hop->refs++;
			return hop;
		}
	}
	if (sl_fib_nexthop_create(m->fib, &id))
		m->retry = true;
	hop = sl_hop_create(m, key, id);
	if (!hop) {
		if (id)
			sl_fib_nexthop_destroy(m->fib, id);
		return NULL;
	}
	hop->is_private = false;
	sl_htable_add(&m->hops, &hop->node, hash);
	return hop;
}

void sl_hop_put(struct sl_mirror *m, struct sl_hop *hop)
{
	if (!hop || --hop->refs > 0)
		return;
	LIST_REMOVE(hop, link_entry);
	if (hop->neigh) {
		LIST_REMOVE(hop, neigh_entry);
		sl_neigh_put(m, hop->neigh);
	}
	if (!hop->is_private) {
		sl_htable_del(&m->hops, &hop->node);
		if (hop->id)
			sl_fib_nexthop_destroy(m->fib, hop->id);
	}
	sl_link_put(m, hop->link);
	free(hop);
}

void sl_hop_retry(struct sl_mirror *m)
{
	sl_htable_for_each(&m->hops, node, next)
	{
		struct sl_hop *hop = sl_container_of(node, struct sl_hop, node);
		if (!hop->id && sl_fib_nexthop_create(m->fib, &hop->id)) {
			m->retry = true;
			continue;
		}
		if (hop->state == SL_HOP_NEW || hop->state == SL_HOP_FAILED)
			sl_hop_apply(m, hop);
	}
}
