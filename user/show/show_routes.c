/* SPDX-License-Identifier: BSD-2-Clause */
/* Routes, next hops and neighbours, as the mirror has them. */
#include <string.h>

#include <linux/neighbour.h>

#include "user/show/json_values.h"
#include "user/show/nexthop_index.h"
#include "user/show/show.h"
#include "user/text/prefix.h"
#include "user/text/rtnetlink_names.h"

struct walk {
	struct sl_nexthop_index *index;
	const struct sl_prefix *within;
	struct sl_ctl_answer *answer;
};

static int put_route(void *arg, const struct sl_route_view *view)
{
	char prefix[SL_PREFIX_STRLEN], protocol[SL_NAME_BYTES], type[SL_NAME_BYTES],
		table[SL_NAME_BYTES];
	const struct walk *walk = arg;
	const struct sl_prefix *within = walk->within;

	if (within && (view->prefix.family != within->family || view->prefix.len < within->len ||
		       !sl_addr_match(view->prefix.addr, within->addr, within->len)))
		return 0;
	return sl_ctl_put(walk->answer,
			  json_pack("{s:s, s:s, s:o, s:s, s:s, s:I, s:I, s:b}", "prefix",
				    sl_prefix_format(&view->prefix, prefix), "type",
				    sl_route_type_name(view->type, type), "nexthops",
				    sl_nexthop_legs_json(walk->index, view->nexthop_id), "protocol",
				    sl_route_protocol_name(view->protocol, protocol), "table",
				    sl_route_table_name(view->table, table), "metric",
				    (json_int_t)view->metric, "nexthop_id",
				    (json_int_t)view->nexthop_id, "installed", view->installed));
}

void sl_show_routes(const struct sl_router *router, const struct sl_prefix *within,
		    struct sl_ctl_answer *answer)
{
	struct sl_nexthop_index *index = sl_nexthop_index_create(router);
	struct walk walk = { index, within, answer };

	if (!index)
		sl_ctl_fail(answer, "not enough memory");
	else
		sl_mirror_each_route(sl_router_mirror(router), put_route, &walk);
	sl_nexthop_index_destroy(index);
}

void sl_show_nexthops(const struct sl_router *router, struct sl_ctl_answer *answer)
{
	struct sl_nexthop_index *index = sl_nexthop_index_create(router);
	uint32_t n = 0, id;

	if (!index)
		sl_ctl_fail(answer, "not enough memory");
	while (index && sl_nexthop_index_next(index, &n, &id))
		if (sl_ctl_put(answer, sl_nexthop_json(index, id)))
			break;
	sl_nexthop_index_destroy(index);
}

static int put_neighbour(void *arg, const struct sl_neighbour_view *view)
{
	static const uint8_t unresolved[6];
	const bool has_mac = memcmp(view->mac, unresolved, sizeof(unresolved)) != 0;
	char state[SL_NAME_BYTES];

	/* As `ip neigh` does, leave out what needs no resolution: multicast, loopback. */
	if (view->state & NUD_NOARP)
		return 0;
	return sl_ctl_put(arg, json_pack("{s:o, s:o, s:o, s:s, s:b}", "address",
					 sl_json_addr(view->family, view->addr), "dev",
					 sl_json_ifname(view->l3_ifindex), "mac",
					 has_mac ? sl_json_mac(view->mac) : json_null(), "state",
					 sl_neighbour_state_name(view->state, state), "in_use",
					 view->in_use));
}

void sl_show_neighbours(const struct sl_router *router, struct sl_ctl_answer *answer)
{
	sl_mirror_each_neighbour(sl_router_mirror(router), put_neighbour, answer);
}
