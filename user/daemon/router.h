/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The router as the daemon runs it: the edge ports of the configuration, the current generation of
 * the fast path, and, in a cluster, cluster control.
 */
#ifndef SL_ROUTER_H
#define SL_ROUTER_H

#include <stdbool.h>
#include <stdint.h>

#include "user/cluster/cluster.h"
#include "user/config/config.h"
#include "user/copies/copies.h"
#include "user/daemon/edge_ports.h"
#include "user/daemon/rule_lists.h"
#include "user/datapath/datapath.h"
#include "user/fib/fib.h"
#include "user/mirror/mirror.h"
#include "user/reserve/reserves.h"

struct sl_router;

/*
 * Build a generation, fill it, attach it to the ports, publish it. settings is owned by the router
 * on success; object_path is borrowed. Failures have been logged. 0 or -errno.
 */
int sl_router_start(struct sl_settings *settings, const char *object_path, struct sl_router **out);
/* End the router. The programs on the ports go on forwarding. NULL is fine. */
void sl_router_stop(struct sl_router *router);
/*
 * Take the fast path off every port and remove the pins and the remote ports. 0 or the first error.
 */
int sl_router_detach_all(struct sl_router *router);

/*
 * Change to other settings, which the router owns on success. Another engine, other sizes of
 * tables, another pin_dir or other system ports need a new generation, which is filled before it
 * replaces the old one. On an error everything is as before.
 */
int sl_router_reload(struct sl_router *router, struct sl_settings *settings);

/*
 * Put these filter lists, checked, in force in place of all others. On success the router owns the
 * items of *filters, and *filters has the former ones, which are the caller's. 0 or -errno; logged;
 * nothing has then changed.
 */
int sl_router_set_filters(struct sl_router *router, struct sl_yaml_list *filters);

/*
 * If sluice-elements has written other own elements, make a generation that has them, and put it in
 * the place of the current one; sl_router_tick looks, too. 0 or -errno; logged; nothing has then
 * changed.
 */
int sl_router_take_elements(struct sl_router *router);

/*
 * Attach or detach by hand, until the next reload or restart. 0; -ENODEV: no such netdev;
 * -EADDRINUSE (attach): it is the cluster's fabric; -ENOENT (detach): it is no port; -ENOSPC: too
 * many ports; else as sl_datapath_attach.
 */
int sl_router_attach(struct sl_router *router, const char *port);
int sl_router_detach(struct sl_router *router, const char *port);

/* Reserve for a flow, or give it up: as sl_reserves_add and sl_reserves_delete. */
int sl_router_reserve(struct sl_router *router, const json_t *request,
		      const struct sl_reservation **out, char why[SL_RESERVE_WHY_BYTES]);
int sl_router_unreserve(struct sl_router *router, const json_t *flow,
			char why[SL_RESERVE_WHY_BYTES]);

/* An epoll-able descriptor of the current generation; it may change in sl_router_reload. */
int sl_router_fd(const struct sl_router *router);
/* Handle what the kernel reports. 0, or -errno: the router cannot go on. */
int sl_router_poll(struct sl_router *router);
/* The same for cluster control. The descriptor is -1 if this node is alone. */
int sl_router_cluster_fd(const struct sl_router *router);
int sl_router_cluster_poll(struct sl_router *router);
/* The same for flows that XDP tells of; -1: it tells of none. */
int sl_router_setups_fd(const struct sl_router *router);
void sl_router_setups_poll(struct sl_router *router);
/*
 * Call it once a second: it tries routes that did not fit again, warns of them, and looks after
 * ports.
 */
void sl_router_tick(struct sl_router *router);

/* For views; borrowed until the router changes. */
const struct sl_settings *sl_router_settings(const struct sl_router *router);
const struct sl_datapath *sl_router_datapath(const struct sl_router *router);
const struct sl_fib *sl_router_fib(const struct sl_router *router);
const struct sl_mirror *sl_router_mirror(const struct sl_router *router);
const struct sl_rule_lists *sl_router_lists(const struct sl_router *router);
const struct sl_reserves *sl_router_reserves(const struct sl_router *router);
/*
 * What a change of the filter lists has put aside, to be freed when nobody waits for an answer: the
 * lists of `gone`, which become the router's, and its own.
 */
void sl_router_put_aside(struct sl_router *router, struct sl_yaml_list *gone);
void sl_router_free_aside(struct sl_router *router);
/* Exact flows, as the last look through all of them found. */
uint32_t sl_router_exact_flows(const struct sl_router *router);
/* Packets of flows for which a rule reserves that XDP could not tell of. */
uint64_t sl_router_setups_missed(const struct sl_router *router);
void sl_router_copies(const struct sl_router *router, struct sl_copy_stats *out);
const struct sl_cluster *sl_router_cluster(const struct sl_router *router); /* or NULL */
uint64_t sl_router_uptime_s(const struct sl_router *router); /* since sl_router_start */
const struct sl_edge_ports *sl_router_ports(const struct sl_router *router);
const struct sl_edge_port *sl_router_find_port(const struct sl_router *router,
					       uint32_t ifindex); /* or NULL */

#endif
