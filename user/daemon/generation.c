/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/daemon/cluster_maps.h"
#include "user/daemon/generation.h"
#include "bpf/abi/chain_header.h"
#include "bpf/abi/l3_port.h"
#include "user/lib/clock.h"
#include "user/lib/log.h"

/* --- What the mirror asks and tells --- */

/* As in sl_adj; 0: it is no remote port. */
static uint16_t remote(const struct sl_generation *g, uint32_t ifindex)
{
	return *g->cluster ? sl_cluster_voq_plus1(*g->cluster, ifindex) : 0;
}

static bool on_is_port(void *ctx, uint32_t port_ifindex)
{
	struct sl_generation *g = ctx;
	const struct sl_edge_port *port = sl_edge_port_by_ifindex(g->ports, port_ifindex);

	return (port && port->state == SL_PORT_ON) || remote(g, port_ifindex);
}

static void on_queues(void *ctx, uint32_t port_ifindex, struct sl_adj *adj)
{
	const struct sl_generation *g = ctx;
	const struct sl_edge_port *port = sl_edge_port_by_ifindex(g->ports, port_ifindex);

	adj->voq_plus1 = remote(g, port_ifindex);
	adj->remote = adj->voq_plus1 != 0;
	if (*g->cluster && port)
		adj->voq_plus1 = sl_cluster_own_voq_plus1(*g->cluster, port->number);
}

static bool on_is_cut(void *ctx, uint32_t port_ifindex)
{
	const struct sl_generation *g = ctx;

	return *g->cluster && sl_cluster_is_cut(*g->cluster, port_ifindex);
}

static void on_port_set(void *ctx, const struct sl_port *mirrored, const struct sl_vlan_key *vlan)
{
	struct sl_generation *g = ctx;
	struct sl_port numbered = *mirrored, *port = &numbered;
	uint32_t ifindex = vlan ? vlan->port_ifindex : port->ifindex;
	const struct sl_edge_port *entered = sl_edge_port_by_ifindex(g->ports, ifindex);
	char name[IF_NAMESIZE] = "?";
	int err;

	/*
	 * No packet enters at a remote port, and its slot in the table may belong to another port.
	 */
	if (remote(g, ifindex))
		return;
	port->number = entered ? entered->number : 0;
	if_indextoname(port->ifindex, name);
	port->filter = sl_rule_lists_of(*g->lists, name);
	if (strcmp(name, SL_CHAIN_NETDEV) == 0)
		port->flags |= SL_PORT_CHAINED;
	err = sl_datapath_port_set(g->datapath, port, vlan);
	if (!err)
		return;
	sl_error("%s: its packets go to the kernel: interface %u does not fit the table of %u: %s",
		 name, port->ifindex, SL_PORTS_MAX, strerror(-err));
}

static void on_port_clear(void *ctx, uint32_t l3_ifindex, const struct sl_vlan_key *vlan)
{
	struct sl_generation *g = ctx;

	sl_datapath_port_clear(g->datapath, l3_ifindex, vlan);
}

static void on_link_event(void *ctx, uint32_t ifindex, const char *name, bool present, bool up)
{
	struct sl_generation *g = ctx;
	struct sl_edge_port *port = sl_edge_port_by_ifindex(g->ports, ifindex);

	if (port)
		port->up = up;
	if (strcmp(name, SL_CHAIN_NETDEV) == 0) {
		int err = sl_datapath_chain_port(g->datapath, present ? ifindex : 0);

		if (err)
			sl_error("%s: packets of chains are dropped: %s", name, strerror(-err));
	}
	if (present) /* perhaps under another name */
		sl_datapath_port_filter(g->datapath, ifindex, sl_rule_lists_of(*g->lists, name));
	/* While this generation is being filled, it is on no port: activation attaches it. */
	if (g->is_active)
		sl_edge_ports_link_event(g->ports, g->datapath, ifindex, name, present, up);
}

static int on_netfilter_hooks(void *ctx, char name[SL_FILTER_NAME_BYTES])
{
	const struct sl_generation *g = ctx;

	return sl_netfilter_hooks_look(g->hooks, name);
}

static const struct sl_mirror_ops mirror_ops = {
	.is_port = on_is_port,
	.queues = on_queues,
	.is_cut = on_is_cut,
	.port_set = on_port_set,
	.port_clear = on_port_clear,
	.link_event = on_link_event,
	.netfilter_hooks = on_netfilter_hooks,
};

/* --- Its life --- */

void sl_generation_destroy(struct sl_generation *g)
{
	if (!g)
		return;
	sl_table_hops_destroy(g->table_hops);
	sl_mirror_close(g->mirror);
	sl_fib_destroy(g->fib);
	sl_datapath_close(g->datapath);
	sl_netfilter_hooks_close(g->hooks);
	free(g);
}

/* Say so if the kernel had to forward because no sluiced ran. */
static void tell_of_absence(const struct sl_datapath *dp)
{
	struct sl_heartbeat last;
	uint64_t away_ns;

	if (sl_datapath_heartbeat(dp, &last) || !last.beat_ns || !last.limit_s)
		return;
	away_ns = sl_now_ns() - last.beat_ns;
	if (away_ns > last.limit_s * 1000000000ULL)
		sl_warning(
			"no sluiced ran for %llu s: after %llu s the fast path left every packet "
			"to the kernel",
			(unsigned long long)(away_ns / 1000000000ULL),
			(unsigned long long)last.limit_s);
}

int sl_generation_limit(struct sl_generation *g, const struct sl_settings *settings)
{
	const struct sl_limit_settings *limits = &settings->punt_limits;
	const uint32_t rate_pps[SL_LIMITS] = {
		[SL_LIMIT_TTL] = limits->ttl,	  [SL_LIMIT_NO_ROUTE] = limits->no_route,
		[SL_LIMIT_TCP] = limits->local,	  [SL_LIMIT_UDP] = limits->local,
		[SL_LIMIT_OTHER] = limits->local,
	};
	int err = sl_datapath_limit(g->datapath, rate_pps);

	if (err)
		sl_error("cannot limit what the kernel gets: %s", strerror(-err));
	return err;
}

/* Beside the control socket. False: its path is too long. */
static bool own_elements_path(const struct sl_settings *settings, char path[PATH_MAX])
{
	int n = snprintf(path, PATH_MAX, "%s" SL_ELEMENTS_SUFFIX, settings->control.socket);

	return n > 0 && n < PATH_MAX;
}

uint32_t sl_generation_own_set(const struct sl_settings *settings)
{
	char path[PATH_MAX];

	return own_elements_path(settings, path) ? sl_datapath_own_set_of(path) : 0;
}

int sl_generation_create(const struct sl_settings *settings, const char *object_path,
			 const struct sl_generation *previous, struct sl_edge_ports *ports,
			 struct sl_cluster *const *cluster, struct sl_rule_lists *const *lists,
			 struct sl_generation **out)
{
	const struct sl_table_settings *tables = &settings->tables;
	struct sl_datapath_params params = {
		.object_path = object_path,
		.pin_dir = settings->pin_dir,
		.previous = previous ? previous->datapath : NULL,
		.config = { .engine = settings->engine,
			    .managed = 1,
			    .filters = settings->filters.n > 0,
			    .exact_flows = settings->exact_flows },
		.n_nexthop = tables->nexthops,
		.n_adj = tables->adjacencies,
		.n_group = tables->groups,
		.n_fib4 = tables->ipv4_routes,
		.n_fib6 = tables->ipv6_routes,
	};
	struct sl_generation *g = calloc(1, sizeof(*g));
	char elements_path[PATH_MAX];
	int err = -ENOMEM;

	*out = NULL;
	if (!g)
		goto out;
	if (own_elements_path(settings, elements_path))
		params.elements_path = elements_path;
	g->ports = ports;
	g->cluster = cluster;
	g->lists = lists;
	sl_cluster_size_maps(&settings->cluster, &params);
	err = sl_datapath_open(&params, &g->datapath);
	if (err)
		goto out;
	if (!previous)
		tell_of_absence(g->datapath);
	err = sl_datapath_beat(g->datapath, settings->heartbeat_s);
	if (err) {
		sl_error("cannot give the fast path a sign of life: %s", strerror(-err));
		goto out;
	}
	err = sl_generation_limit(g, settings);
	if (err)
		goto out;
	err = sl_cluster_fill_maps(&settings->cluster, g->datapath);
	if (err) {
		sl_error("cannot set up the fast path for the cluster: %s", strerror(-err));
		goto out;
	}
	sl_rule_lists_put(*lists, g->datapath, true);
	for (uint32_t i = 0; i < ports->n; i++)
		if (ports->port[i].state == SL_PORT_ON)
			sl_edge_port_open(ports, g->datapath, &ports->port[i]);
	err = sl_fib_create(sl_datapath_tables(g->datapath), &g->fib);
	if (err) {
		sl_error("cannot set up the tables: %s", strerror(-err));
		goto out;
	}
	sl_netfilter_hooks_open(object_path, &g->hooks);
	err = sl_mirror_open(g->fib, &mirror_ops, g, &g->mirror);
	if (err)
		sl_error("cannot follow the kernel's routes: %s", strerror(-err));
	else
		err = sl_table_hops_create(sl_datapath_map_fd(g->datapath, "sl_table_hop"),
					   g->mirror, &g->table_hops);
	if (!err)
		sl_mirror_ignore_netfilter(g->mirror, settings->netfilter == SL_NETFILTER_IGNORE);
out:
	if (err)
		sl_generation_destroy(g);
	else
		*out = g;
	return err;
}

void sl_generation_bind_lists(struct sl_generation *g)
{
	struct if_nameindex *all = if_nameindex();

	for (struct if_nameindex *i = all; i && i->if_index; i++)
		sl_datapath_port_filter(g->datapath, i->if_index,
					sl_rule_lists_of(*g->lists, i->if_name));
	if_freenameindex(all);
}

static void take_flows(struct sl_generation *g)
{
	const int err = sl_datapath_take_flows(g->datapath);

	if (err)
		sl_error("exact flows are lost that were in force: %s", strerror(-err));
}

int sl_generation_take_elements(struct sl_generation *g, const struct sl_settings *settings)
{
	struct sl_edge_ports *ports = g->ports;
	char path[PATH_MAX];
	int err = own_elements_path(settings, path) ? sl_datapath_take_elements(g->datapath, path)
						    : -ENAMETOOLONG;

	if (err)
		return err;
	for (uint32_t i = 0; i < ports->n; i++)
		if (ports->port[i].state == SL_PORT_ON)
			sl_edge_port_attach(ports, g->datapath, &ports->port[i]);
	sl_datapath_publish(g->datapath); /* if not, it runs all the same */
	return 0;
}

int sl_generation_activate(struct sl_generation *g)
{
	struct sl_edge_ports *ports = g->ports;
	int err;

	g->is_active = true;
	take_flows(g);
	sl_fib_go_live(g->fib);
	ports->changed = false;
	for (uint32_t i = 0; i < ports->n; i++) {
		struct sl_edge_port *port = &ports->port[i];
		uint32_t ifindex = port->ifindex ? 0 : if_nametoindex(port->name);

		if (port->state == SL_PORT_ON)
			sl_edge_port_attach(ports, g->datapath, port);
		else if (ifindex) /* it came while the tables were filled */
			sl_edge_port_appeared(ports, g->datapath, port, ifindex, port->up);
	}
	err = sl_datapath_publish(g->datapath);
	take_flows(g);
	return err;
}
