/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/reserve/flow_way.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "user/reserve/flow_words.h"
#include "user/text/prefix.h"

/* The adjacency towards an address, and the id of its next hop; NULL: there is none now. */
static const struct sl_adj *towards(const struct sl_reserves_use *use, uint8_t family,
				    const void *addr, bool any_member, uint32_t *id)
{
	const struct sl_fib_tables *tables = sl_datapath_tables(use->datapath);
	const struct sl_nexthop *nh;

	*id = sl_fib_lookup(use->fib, family, addr);
	nh = &tables->nexthop[*id < tables->n_nexthop ? *id : 0];
	if (nh->kind == SL_NH_GROUP && any_member && nh->ref < tables->n_group) {
		*id = tables->group[nh->ref].bucket[0];
		nh = &tables->nexthop[*id < tables->n_nexthop ? *id : 0];
	}
	return nh->kind == SL_NH_FORWARD && nh->ref < tables->n_adj ? &tables->adj[nh->ref] : NULL;
}

static bool is_group(const struct sl_reserves_use *use, uint32_t id)
{
	const struct sl_fib_tables *tables = sl_datapath_tables(use->datapath);

	return id < tables->n_nexthop && tables->nexthop[id].kind == SL_NH_GROUP;
}

static int refuse(int err, char why[SL_RESERVE_WHY_BYTES], uint8_t family, const void *addr,
		  const char *what)
{
	char text[SL_PREFIX_STRLEN];

	snprintf(why, SL_RESERVE_WHY_BYTES, "%s %s", sl_addr_format(family, addr, text), what);
	return err;
}

static int find_entry(const struct sl_reserves_use *use, const struct sl_reservation *v,
		      struct sl_flow_way *out, char why[SL_RESERVE_WHY_BYTES])
{
	const uint8_t family = sl_flow_family(&v->flow);
	const struct sl_adj *adj;
	uint32_t id;

	adj = towards(use, family, v->flow.source, true, &id);
	/* Nothing may go back to the source, whose neighbour entry the kernel then forgets. */
	if (!adj && !v->netdev[0] && v->l3_ifindex) {
		out->l3_ifindex = v->l3_ifindex;
		out->port_ifindex = v->port_ifindex;
		return 0;
	}
	if (v->netdev[0]) {
		out->l3_ifindex = if_nametoindex(v->netdev);
		out->port_ifindex = adj && adj->l3_ifindex == out->l3_ifindex ? adj->port_ifindex
									      : out->l3_ifindex;
		if (out->l3_ifindex)
			return 0;
		snprintf(why, SL_RESERVE_WHY_BYTES, "\"%s\" is not a netdev here", v->netdev);
		return -ENODEV;
	}
	if (!adj)
		return refuse(-EHOSTUNREACH, why, family, v->flow.source,
			      "has no next hop in the fast path: `sluice explain` says why; `port "
			      "NETDEV` says where the flow enters");
	if (adj->remote)
		return refuse(-ENOTSUP, why, family, v->flow.source,
			      "is behind another node: reserve there, where the flow enters, or "
			      "write `port NETDEV`");
	out->l3_ifindex = adj->l3_ifindex;
	out->port_ifindex = adj->port_ifindex;
	return 0;
}

struct hop_search {
	uint32_t id;
	struct sl_flow_way *way;
};

static int find_gateway(void *arg, const struct sl_nexthop_view *view)
{
	const struct hop_search *search = arg;

	if (view->nexthop_id != search->id || !view->family)
		return 0;
	search->way->hop_family = view->family;
	memcpy(search->way->hop, view->gateway, sizeof(search->way->hop));
	return 1;
}

static int find_hop(const struct sl_reserves_use *use, const struct sl_reservation *v, uint32_t id,
		    struct sl_flow_way *out, char why[SL_RESERVE_WHY_BYTES])
{
	struct hop_search search = { id, out };

	/* Without a gateway, the next hop is the destination itself. */
	out->hop_family = sl_flow_family(&v->flow);
	memcpy(out->hop, v->flow.destination, sizeof(out->hop));
	sl_mirror_each_nexthop(use->mirror, find_gateway, &search);
	if (out->hop_family != sl_flow_family(&v->flow) ||
	    (out->hop_family == AF_INET6 && out->hop[0] == 0xfe && (out->hop[1] & 0xc0) == 0x80))
		return refuse(-ENOTSUP, why, out->hop_family, out->hop,
			      "is no next hop to pin to: it has to be of the flow's family, and "
			      "not link-local");
	return 0;
}

int sl_flow_way(const struct sl_reserves_use *use, const struct sl_reservation *v,
		struct sl_flow_way *out, char why[SL_RESERVE_WHY_BYTES])
{
	const uint8_t family = sl_flow_family(&v->flow);
	/* A flow that is pinned stays with the hop that it has. */
	const void *to = v->pinned && v->hop_family ? (const void *)v->hop : v->flow.destination;
	const struct sl_adj *adj;
	uint32_t id;
	int err;

	*out = (struct sl_flow_way){ 0 };
	err = find_entry(use, v, out, why);
	if (err)
		return err;
	adj = towards(use, family, to, v->pinned, &id);
	if (!adj && is_group(use, id))
		return refuse(-ENOTSUP, why, family, to,
			      "has several next hops: write `pin`, so that the flow takes one");
	if (!adj)
		return refuse(-EHOSTUNREACH, why, family, to,
			      "has no next hop in the fast path: `sluice explain` says why");
	if (!adj->voq_plus1)
		return refuse(-ENOTSUP, why, family, to,
			      "is behind a port without queues: give the port a `rate`");
	out->system_port = sl_sysport_of_index(&use->settings->cluster.table,
					       (adj->voq_plus1 - 1u) / SL_CLASSES);
	if (v->pinned && v->hop_family) {
		out->hop_family = v->hop_family;
		memcpy(out->hop, v->hop, sizeof(out->hop));
		return 0;
	}
	return v->pinned ? find_hop(use, v, id, out, why) : 0;
}
