/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel resolves neighbours, but it does not see the packets that XDP forwards. So the mirror
 * sends it NTF_USE, which does for an entry what a packet would do, in three cases:
 *
 * - A route needs a gateway: the kernel resolves it before the first packet. While the gateway does
 *   not answer, the mirror asks more and more rarely.
 * - XDP used an entry in the last period: the kernel's garbage collection then leaves it alone.
 * - Such an entry is stale: the kernel then verifies it (delay, probe, reachable). It stays usable
 *   all the time.
 */
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>

#include "user/mirror/mirror_neigh.h"
#include "user/mirror/mirror_state.h"
#include "user/rtnl/rtnl_socket.h"

enum { FIRST_DELAY_S = 1, LAST_DELAY_S = 60 };
#define NS_PER_S 1000000000ULL

static uint32_t neigh_hash(uint32_t ifindex, const uint8_t addr[16])
{
	return sl_hash(addr, 16, ifindex);
}

struct sl_neigh *sl_neigh_find(const struct sl_mirror *m, uint32_t ifindex, uint8_t family,
			       const uint8_t *addr)
{
	const uint32_t hash = neigh_hash(ifindex, addr);
	struct sl_hnode *node = sl_htable_chain(&m->neighs, hash);

	for (; node; node = node->next) {
		struct sl_neigh *n = sl_container_of(node, struct sl_neigh, node);
		if (node->hash == hash && n->link->is.ifindex == ifindex && n->family == family &&
		    !memcmp(n->addr, addr, 16))
			return n;
	}
	return NULL;
}

struct sl_neigh *sl_neigh_get(struct sl_mirror *m, struct sl_link *link, uint8_t family,
			      const uint8_t *addr)
{
	const uint32_t ifindex = link->is.ifindex;
	struct sl_neigh *n = sl_neigh_find(m, ifindex, family, addr);

	if (n)
		return n;
	n = sl_mirror_alloc(m, sizeof(*n));
	if (!n)
		return NULL;
	n->link = sl_link_get(m, ifindex);
	n->family = family;
	memcpy(n->addr, addr, sizeof(n->addr));
	LIST_INIT(&n->hops);
	sl_htable_add(&m->neighs, &n->node, neigh_hash(ifindex, addr));
	return n;
}

void sl_neigh_put(struct sl_mirror *m, struct sl_neigh *n)
{
	sl_neigh_want(m, n);
	if (n->present || !LIST_EMPTY(&n->hops))
		return;
	sl_htable_del(&m->neighs, &n->node);
	sl_link_put(m, n->link);
	free(n);
}

bool sl_neigh_usable(const struct sl_neigh *n)
{
	const uint16_t usable =
		NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_PERMANENT | NUD_NOARP;

	return n->present && n->has_mac && n->state & usable;
}

/* --- Asking the kernel --- */

static void ask(struct sl_mirror *m, const struct sl_neigh *n)
{
	if (n->managed)
		return;
	sl_rtnl_neigh_use(m->requests, n->link->is.ifindex, n->family, n->addr, n->flags);
	m->stats.neighbour_probes++;
}

void sl_neigh_ask_soon(struct sl_mirror *m, struct sl_neigh *n)
{
	if (!n->wanted)
		return;
	n->probe_delay_s = FIRST_DELAY_S;
	n->probe_at_ns = m->probe_due_ns = 0;
}

void sl_neigh_want(struct sl_mirror *m, struct sl_neigh *n)
{
	const bool want = !sl_neigh_usable(n) && !LIST_EMPTY(&n->hops);

	if (want == n->wanted)
		return;
	n->wanted = want;
	if (!want) {
		LIST_REMOVE(n, wanted_entry);
		return;
	}
	LIST_INSERT_HEAD(&m->wanted, n, wanted_entry);
	sl_neigh_ask_soon(m, n);
}

static void tick_wanted(struct sl_mirror *m, uint64_t now_ns)
{
	struct sl_neigh *n;

	m->probe_due_ns = UINT64_MAX;
	LIST_FOREACH(n, &m->wanted, wanted_entry)
	{
		if (n->probe_at_ns <= now_ns) {
			if (sl_link_up(n->link) && n->link->on_port)
				ask(m, n);
			n->probe_at_ns = now_ns + n->probe_delay_s * NS_PER_S;
			n->probe_delay_s = n->probe_delay_s * 2 < LAST_DELAY_S
						   ? n->probe_delay_s * 2
						   : LAST_DELAY_S;
		}
		if (n->probe_at_ns < m->probe_due_ns)
			m->probe_due_ns = n->probe_at_ns;
	}
}

static void tick_used(struct sl_mirror *m)
{
	sl_htable_for_each(&m->neighs, node, next)
	{
		struct sl_neigh *n = sl_container_of(node, struct sl_neigh, node);
		n->in_use = m->above->neigh_used(m, n);
		if (n->in_use && sl_neigh_usable(n) && !(n->state & (NUD_PERMANENT | NUD_NOARP)))
			ask(m, n);
	}
}

/* A third of the time after which the kernel would doubt or forget an unused entry. */
static uint64_t period_ns(const struct sl_mirror *m)
{
	const uint64_t longest_ms = 10000, shortest_ms = 100;
	uint64_t ms = m->neigh_patience_ms / 3;

	if (ms > longest_ms)
		ms = longest_ms;
	if (ms < shortest_ms)
		ms = shortest_ms;
	return ms * 1000000;
}

void sl_neigh_tick(struct sl_mirror *m, uint64_t now_ns)
{
	if (now_ns >= m->probe_due_ns)
		tick_wanted(m, now_ns);
	if (now_ns >= m->period_due_ns) {
		tick_used(m);
		m->period_due_ns = now_ns + period_ns(m);
	}
	sl_rtnl_flush(m->requests);
}

/* --- Messages --- */

static void vanished(struct sl_mirror *m, struct sl_neigh *n)
{
	n->has_mac = n->in_use = n->managed = false;
	n->state = NUD_NONE;
	n->flags = 0;
	m->above->neigh_changed(m, n); /* still present, or this might free it */
	n->present = false;
	m->stats.neighbours--;
	m->changes++;
	sl_neigh_put(m, n);
}

void sl_neigh_message(struct sl_mirror *m, const struct sl_rtnl_neigh *msg)
{
	struct sl_neigh *n;
	struct sl_link *link;

	if (msg->removed) {
		n = sl_neigh_find(m, msg->ifindex, msg->family, msg->addr);
		if (n && n->present)
			vanished(m, n);
		return;
	}
	link = sl_link_get(m, msg->ifindex);
	if (!link)
		return;
	n = sl_neigh_get(m, link, msg->family, msg->addr);
	sl_link_put(m, link);
	if (!n)
		return;
	const bool was_usable = sl_neigh_usable(n), has_mac = msg->mac_bytes == 6;
	const bool same_mac = n->has_mac == has_mac && !memcmp(n->mac, msg->mac, sizeof(n->mac));
	if (!n->present) {
		m->stats.neighbours++;
		m->changes++;
	}
	n->present = true;
	n->seen = true;
	n->state = msg->state;
	n->flags = msg->flags;
	n->managed = msg->managed;
	n->has_mac = has_mac;
	memcpy(n->mac, msg->mac, sizeof(n->mac));
	if (was_usable != sl_neigh_usable(n) || (was_usable && !same_mac)) {
		m->changes++;
		m->above->neigh_changed(m, n);
	}
	sl_neigh_want(m, n);
	if (n->state & NUD_STALE && n->in_use) {
		ask(m, n);
		m->probe_due_ns = 0; /* sent before the next wait */
	}
}

void sl_neigh_clear_seen(struct sl_mirror *m)
{
	sl_htable_for_each(&m->neighs, node, next) sl_container_of(node, struct sl_neigh, node)
		->seen = false;
}

void sl_neigh_sweep(struct sl_mirror *m)
{
	sl_htable_for_each(&m->neighs, node, next)
	{
		struct sl_neigh *n = sl_container_of(node, struct sl_neigh, node);
		if (n->present && !n->seen)
			vanished(m, n);
	}
}
