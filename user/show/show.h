/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The views of sluiced, as JSON. A function that takes an answer puts its rows there. A function
 * that returns JSON is for other readers too: it returns a new reference, or NULL if there is not
 * enough memory. Each function is in the file show_*.c that its name says.
 */
#ifndef SL_SHOW_H
#define SL_SHOW_H

#include <jansson.h>
#include <stdint.h>

#include "user/daemon/router.h"
#include "user/ipc/control_socket.h"
#include "user/show/counter_rows.h"
#include "user/text/prefix.h"

/* One object: is the router well, and what does it hold? */
void sl_show_status(const struct sl_router *router, struct sl_ctl_answer *answer);
json_t *sl_status_json(const struct sl_router *router);

/* An array: the edge ports of this node. */
json_t *sl_ports_json(const struct sl_router *router);

/* An array: the rules of the filter lists, and each list's default, with what they decided. */
void sl_show_filters(const struct sl_router *router, const char *name,
		     struct sl_ctl_answer *answer); /* name: of one list; NULL: all */
/* An object for each list, as it could stand in the file. */
void sl_show_filter_lists(const struct sl_router *router, const char *name,
			  struct sl_ctl_answer *answer);
json_t *sl_filters_json(const struct sl_router *router);

/* The command `reserve`: list, ports, add, delete. */
void sl_show_reserve(struct sl_router *router, const json_t *request, struct sl_ctl_answer *answer);
/* Arrays: the reserved flows that enter or leave here, and the ports that offer reservations. */
json_t *sl_reserves_json(const struct sl_router *router);
json_t *sl_reserve_ports_json(const struct sl_router *router);

/* The counters of XDP, from the maps of the current generation. 0 or -errno. */
int sl_router_counters(const struct sl_router *router, struct sl_counters *out);

/* One object: what this node's cluster is. Fails if the node is alone. */
void sl_show_cluster(const struct sl_router *router, struct sl_ctl_answer *answer);
/* Every edge port of every node. Fails if the node is alone; the array is NULL then, too. */
void sl_show_system_ports(const struct sl_router *router, struct sl_ctl_answer *answer);
json_t *sl_system_ports_json(const struct sl_router *router);

/* Routes within a prefix; NULL: all. */
void sl_show_routes(const struct sl_router *router, const struct sl_prefix *within,
		    struct sl_ctl_answer *answer);
void sl_show_nexthops(const struct sl_router *router, struct sl_ctl_answer *answer);
void sl_show_neighbours(const struct sl_router *router, struct sl_ctl_answer *answer);

/* One object: what XDP would do with a packet to this address, and why. */
void sl_show_explain(const struct sl_router *router, uint8_t family, const uint8_t addr[16],
		     const json_t *packet, struct sl_ctl_answer *answer);
/*
 * What the filter list of the port that `packet` names does with a packet to this address, whose
 * other fields are in `packet` as texts, and which of its rules match. With the field "all" also
 * those that do not. With "left" true, the packet is known as it left: then "one_of" has the rules
 * that may have decided it, unless it is one, or the default. A new reference, or NULL with the
 * reason in why.
 */
json_t *sl_filter_explain_json(const struct sl_router *router, uint8_t family,
			       const uint8_t addr[16], const json_t *packet, char why[256]);

#endif
