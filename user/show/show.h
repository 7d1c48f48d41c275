/* SPDX-License-Identifier: BSD-2-Clause */
/* The rows that `sluice` shows, as JSON: what each command of the control socket answers. */
#ifndef SL_SHOW_H
#define SL_SHOW_H

#include <jansson.h>

#include "user/show/counter_rows.h"
#include "user/ipc/control_socket.h"
#include "user/fib/fib.h"
#include "user/mirror/mirror.h"
#include "user/daemon/router.h"

/* The commands; their ctx is the struct sl_router. */
extern const struct sl_ctl_command sl_commands[];

/* One object: is it well? Also the ports, as a short list. */
void sl_show_status(const struct sl_router *router, struct sl_ctl_answer *answer);
void sl_show_ports(const struct sl_router *router, struct sl_ctl_answer *answer);
/* The same, for other readers: an object, and an array of the rows. NULL: not enough memory. */
json_t *sl_status_json(const struct sl_router *router);
json_t *sl_ports_json(const struct sl_router *router);
/*
 * What this node's cluster is, one object; every edge port of every node. Fail if the node is
 * alone.
 */
void sl_show_cluster(const struct sl_router *router, struct sl_ctl_answer *answer);
void sl_show_system_ports(const struct sl_router *router, struct sl_ctl_answer *answer);
json_t *sl_system_ports_json(
	const struct sl_router *router); /* an array; NULL: alone, or no memory */
/* Routes within a prefix; NULL: all. */
void sl_show_routes(const struct sl_router *router, const struct sl_prefix *within,
		    struct sl_ctl_answer *answer);
void sl_show_nexthops(const struct sl_router *router, struct sl_ctl_answer *answer);
void sl_show_neighbours(const struct sl_router *router, struct sl_ctl_answer *answer);
/* One object: what XDP would do with a packet to this address, and why. */
void sl_show_explain(const struct sl_router *router, uint8_t family, const uint8_t addr[16],
		     struct sl_ctl_answer *answer);

/* What XDP counted, from the router's maps. 0 or -errno. */
int sl_router_counters(const struct sl_router *router, struct sl_counters *out);

/* Text of an address, a MAC, the name of an interface; NULL reference if it does not exist. */
json_t *sl_json_addr(uint8_t family, const uint8_t *addr);
json_t *sl_json_mac(const uint8_t mac[6]);
json_t *sl_json_ifname(uint32_t ifindex);

/*
 * Next hops by id, to resolve many routes with one walk over the mirror's. Borrowed from a
 * snapshot: valid as long as the router does not change.
 */
struct sl_nexthop_index;
struct sl_nexthop_index *sl_nexthop_index_create(const struct sl_router *router); /* or NULL */
void sl_nexthop_index_destroy(struct sl_nexthop_index *index);
/* One next hop: kind, and what hangs on it. With the shares of its members if it is a group. */
json_t *sl_nexthop_json(struct sl_nexthop_index *index, uint32_t id);
/*
 * "via", "dev" and "weight" of each leg of a route, as an array; empty for local, blackhole and
 * such.
 */
json_t *sl_nexthop_legs_json(struct sl_nexthop_index *index, uint32_t id);

#endif
