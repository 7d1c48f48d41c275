/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bpf/abi/arrival.h"
#include "user/daemon/cluster_maps.h"
#include "user/daemon/command_lists.h"
#include "user/daemon/generation.h"
#include "user/daemon/router.h"
#include "user/datapath/pins.h"
#include "user/lib/clock.h"
#include "user/lib/log.h"
#include "user/reserve/setup_ring.h"

struct sl_router {
	struct sl_settings *settings;  /* owned */
	const char *object_path;       /* borrowed */
	struct sl_generation *current; /* owned */
	struct sl_cluster *cluster;    /* owned; NULL: this node is alone */
	struct sl_rule_lists *lists;   /* owned */
	struct sl_copies *copies;      /* owned */
	struct sl_reserves *reserves;  /* owned */
	struct sl_setup_ring *setups;  /* owned; NULL: this node reserves nothing */
	/* Owned: filter lists that are not in force any more. */
	struct sl_rule_lists *lists_aside;
	struct sl_yaml_list filters_aside;
	struct sl_edge_ports ports;
	bool overflow_warned;
	uint32_t refused_set; /* of own elements that could not be loaded; 0: none */
	time_t started_s;     /* CLOCK_MONOTONIC */
};

static void tell_mirror(struct sl_router *r)
{
	if (r->ports.changed)
		sl_mirror_ports_changed(r->current->mirror);
	r->ports.changed = false;
}

/* What reserved flows need of the router; false: it has no fast path yet. */
static bool reserves_use(const struct sl_router *r, struct sl_reserves_use *out)
{
	if (!r->current || !r->settings)
		return false;
	*out = (struct sl_reserves_use){ .settings = r->settings,
					 .datapath = r->current->datapath,
					 .fib = r->current->fib,
					 .mirror = r->current->mirror,
					 .cluster = r->cluster };
	out->rules = sl_rule_lists_reserving(r->lists, &out->n_rules);
	return true;
}

static void on_setup(void *ctx, const struct sl_flow_setup *setup)
{
	const struct sl_router *r = ctx;
	struct sl_reserves_use use;

	if (reserves_use(r, &use))
		sl_reserves_set_up(r->reserves, &use, setup);
}

/* Hear of flows from the current fast path, if that tells of any. */
static void open_setups(struct sl_router *r)
{
	int err = 0;

	sl_setup_ring_close(r->setups);
	r->setups = NULL;
	if (sl_datapath_reserves(r->current->datapath))
		err = sl_setup_ring_open(r->current->datapath, on_setup, r, &r->setups);
	if (err)
		sl_error("rules reserve nothing for their flows: %s", strerror(-err));
}

/* Put the new generation in the place of the current one. 0, or -errno if it cannot be pinned. */
static int activate(struct sl_router *r, struct sl_generation *g)
{
	struct sl_generation *old = r->current;
	int err;

	r->current = g;
	sl_reserves_put(r->reserves, g->datapath);
	open_setups(r);
	err = sl_generation_activate(g);
	sl_generation_destroy(old);
	sl_rule_lists_forget(r->lists, g->datapath);
	tell_mirror(r);
	return err;
}

/* --- The cluster --- */

static void on_ports_changed(void *ctx)
{
	struct sl_router *r = ctx;

	r->ports.changed = true;
}

static void on_cuts_changed(void *ctx)
{
	struct sl_router *r = ctx;

	sl_mirror_ports_changed(r->current->mirror);
}

static const struct sl_mirror *on_mirror(void *ctx)
{
	const struct sl_router *r = ctx;

	return r->current ? r->current->mirror : NULL;
}

static void on_claim(void *ctx, uint8_t node, enum sl_claim_kind kind,
		     const struct sl_claim_record *record)
{
	const struct sl_router *r = ctx;
	struct sl_reserves_use use;

	if (reserves_use(r, &use))
		sl_reserves_received(r->reserves, &use, node, kind, record);
}

static void on_bridge_connected(void *ctx)
{
	const struct sl_router *r = ctx;
	struct sl_reserves_use use;

	if (reserves_use(r, &use))
		sl_reserves_tell_bridge(r->reserves, &use);
}

static const struct sl_cluster_ops cluster_ops = {
	.ports_changed = on_ports_changed,
	.cuts_changed = on_cuts_changed,
	.claim = on_claim,
	.bridge_connected = on_bridge_connected,
	.mirror = on_mirror,
};

static int cluster_open(struct sl_router *r, const struct sl_settings *settings,
			struct sl_cluster **out)
{
	*out = NULL;
	return settings->cluster.node ? sl_cluster_open(&settings->cluster, &cluster_ops, r, out)
				      : 0;
}

/* --- The router --- */

static time_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* With their maps made: to put them into a fast path then cannot fail for lack of memory. */
static int lists_create(const struct sl_settings *settings, const struct sl_rule_lists *previous,
			struct sl_rule_lists **out)
{
	int err = sl_rule_lists_create(settings, previous, out);

	if (!err)
		err = sl_rule_lists_prepare(*out);
	if (err) {
		sl_rule_lists_destroy(*out);
		*out = NULL;
	}
	return err;
}

/* Serve the copies that the fast path makes for the lists in force. */
static void serve_copies(struct sl_router *r)
{
	struct sl_copy_target *targets = NULL;
	uint32_t n;
	bool any;
	int err = sl_rule_lists_targets(r->lists, &targets, &n, &any);

	any |= sl_datapath_config(r->current->datapath)->exact_flows > 0; /* any may reject */
	if (!err)
		err = sl_copies_serve(
			r->copies, any ? sl_datapath_map_fd(r->current->datapath, "sl_copies") : -1,
			targets, n);
	if (err)
		sl_error(
			"filters: nothing is mirrored, and nobody is told of what is rejected: %s%s",
			strerror(-err), err == -EPERM ? "; the daemon needs CAP_NET_RAW, too" : "");
	free(targets);
}

int sl_router_start(struct sl_settings *settings, const char *object_path, struct sl_router **out)
{
	struct sl_router *r = calloc(1, sizeof(*r));
	struct sl_generation *g = NULL;
	struct sl_reserves_use use;
	int err = -ENOMEM;

	*out = NULL;
	if (!r)
		return err;
	r->object_path = object_path;
	sl_filters_restore(settings);
	err = sl_xdp_features_open(&r->ports.xdp_features);
	if (err && err != -EOPNOTSUPP)
		sl_warning("cannot see which drivers take redirected frames: %s", strerror(-err));
	sl_cluster_keep_indices(&settings->cluster, settings->pin_dir);
	err = sl_edge_ports_configure(&r->ports, settings);
	/* The mirror will ask which netdevs are remote ports, so those come first. */
	if (!err)
		err = cluster_open(r, settings, &r->cluster);
	if (!err)
		err = sl_copies_create(&r->copies);
	if (!err)
		err = sl_reserves_create(&r->reserves);
	if (!err)
		err = lists_create(settings, NULL, &r->lists);
	if (!err)
		err = sl_generation_create(settings, r->object_path, r->current, &r->ports,
					   &r->cluster, &r->lists, &g);
	if (!err)
		err = activate(r, g);
	if (err) {
		sl_router_stop(r);
		return err;
	}
	if (r->cluster)
		sl_cluster_take_charge(r->cluster);
	serve_copies(r);
	r->settings = settings;
	r->started_s = now_s();
	if (!sl_datapath_own_set(r->current->datapath))
		r->refused_set = sl_generation_own_set(settings);
	if (reserves_use(r, &use))
		sl_reserves_restore(r->reserves, &use);
	*out = r;
	return 0;
}

void sl_router_stop(struct sl_router *r)
{
	if (!r)
		return;
	sl_setup_ring_close(r->setups);
	sl_generation_destroy(r->current);
	sl_cluster_close(r->cluster);
	sl_router_free_aside(r);
	sl_rule_lists_destroy(r->lists);
	sl_copies_destroy(r->copies);
	sl_reserves_destroy(r->reserves);
	sl_xdp_features_close(r->ports.xdp_features);
	sl_settings_free(r->settings);
	free(r);
}

/*
 * The program of the fabric's netdev outlives its bridge; a bridge that runs keeps it until it
 * ends.
 */
static void remove_fabric_link(const struct sl_router *r)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s%s", r->settings->pin_dir, SL_FABRIC_LINK);
	if (unlink(path) && errno != ENOENT)
		sl_error("cannot remove the pin at \"%s\": %s", path, strerror(errno));
}

int sl_router_detach_all(struct sl_router *r)
{
	int err, first = 0;

	for (uint32_t i = 0; i < r->ports.n; i++) {
		struct sl_edge_port *port = &r->ports.port[i];

		err = port->mode == SL_XDP_NONE
			      ? 0
			      : sl_datapath_detach(r->current->datapath, port->ifindex);
		if (!err)
			sl_edge_port_restore(r->current->datapath, port);
		else
			sl_error("%s: cannot take the fast path off: %s", port->name,
				 strerror(-err));
		first = first ? first : err;
	}
	if (r->cluster)
		sl_cluster_remove_all(r->cluster);
	remove_fabric_link(r);
	err = sl_pins_remove(r->settings->pin_dir);
	if (err)
		sl_error("cannot remove the pins at \"%s\": %s", r->settings->pin_dir,
			 strerror(-err));
	return first ? first : err;
}

static bool needs_generation(const struct sl_settings *a, const struct sl_settings *b,
			     const struct sl_datapath *running)
{
	return a->engine != b->engine || memcmp(&a->tables, &b->tables, sizeof(a->tables)) != 0 ||
	       strcmp(a->pin_dir, b->pin_dir) != 0 || !a->filters.n != !b->filters.n ||
	       a->exact_flows != b->exact_flows || a->cluster.node != b->cluster.node ||
	       !a->cluster.reserve != !b->cluster.reserve ||
	       a->cluster.bridge.workers != b->cluster.bridge.workers ||
	       !sl_cluster_fits_maps(&b->cluster, running) ||
	       sl_cluster_has_fabric(&a->cluster) != sl_cluster_has_fabric(&b->cluster) ||
	       sl_cluster_has_express(&a->cluster) != sl_cluster_has_express(&b->cluster);
}

/* The lists have changed, and no generation with them. */
static void put_lists(struct sl_router *r, const struct sl_rule_lists *old_lists)
{
	/* A packet sees the old lists of its port or the new ones, each whole. */
	sl_rule_lists_put(r->lists, r->current->datapath, false);
	sl_generation_bind_lists(r->current);
	sl_rule_lists_remove_gone(r->lists, old_lists, r->current->datapath);
	sl_rule_lists_forget(r->lists, r->current->datapath);
}

/* Make the lists of the settings anew, and put them in force; in another generation, or in this. */
static int renew(struct sl_router *r, bool in_another)
{
	struct sl_rule_lists *lists, *old_lists = r->lists;
	struct sl_generation *g = NULL;
	int err = lists_create(r->settings, old_lists, &lists);

	if (!err)
		r->lists = lists;
	if (!err && in_another)
		err = sl_generation_create(r->settings, r->object_path, r->current, &r->ports,
					   &r->cluster, &r->lists, &g);
	if (err) {
		sl_rule_lists_destroy(lists);
		r->lists = old_lists;
		return err;
	}
	if (g)
		activate(r, g);
	else
		put_lists(r, old_lists);
	serve_copies(r);
	sl_router_free_aside(r);
	r->lists_aside = old_lists;
	return 0;
}

int sl_router_set_filters(struct sl_router *r, struct sl_yaml_list *filters)
{
	const struct sl_yaml_list old = r->settings->filters;
	int err;

	r->settings->filters = *filters;
	err = renew(r, !old.n != !filters->n);
	if (err)
		r->settings->filters = old;
	else
		*filters = old;
	return err;
}

int sl_router_take_elements(struct sl_router *r)
{
	const uint32_t set = sl_generation_own_set(r->settings);
	int err;

	if (set == sl_datapath_own_set(r->current->datapath))
		return 0;
	err = sl_generation_take_elements(r->current, r->settings);
	r->refused_set = err ? set : 0;
	if (err)
		sl_error("the own elements of sluice-elements stay out of the fast path: %s",
			 strerror(-err));
	else
		sl_info("the fast path has %s own elements", set ? "other" : "no");
	return err;
}

void sl_router_put_aside(struct sl_router *r, struct sl_yaml_list *gone)
{
	r->filters_aside = *gone;
	*gone = (struct sl_yaml_list){ 0 };
}

void sl_router_free_aside(struct sl_router *r)
{
	struct sl_filter_list_settings *lists = r->filters_aside.items;

	sl_rule_lists_destroy(r->lists_aside);
	r->lists_aside = NULL;
	for (uint32_t i = 0; i < r->filters_aside.n; i++)
		sl_filter_list_free(&lists[i]);
	free(lists);
	r->filters_aside = (struct sl_yaml_list){ 0 };
}

int sl_router_reload(struct sl_router *r, struct sl_settings *settings)
{
	struct sl_edge_ports *backup = malloc(sizeof(*backup));
	struct sl_cluster *cluster = NULL, *old_cluster = r->cluster;
	struct sl_rule_lists *lists = NULL, *old_lists = r->lists;
	struct sl_generation *g = NULL;
	int err = -ENOMEM;

	if (!backup)
		goto out;
	*backup = r->ports;
	sl_cluster_keep_indices(&settings->cluster, r->settings->pin_dir);
	err = sl_filters_keep(settings, &r->settings->filters);
	if (!err)
		err = sl_edge_ports_configure(&r->ports, settings);
	/* The new cluster control adopts the remote ports that the old one made. */
	if (!err)
		err = cluster_open(r, settings, &cluster);
	if (!err)
		r->cluster = cluster;
	if (!err)
		err = lists_create(settings, old_lists, &lists);
	if (!err)
		r->lists = lists;
	if (!err && needs_generation(r->settings, settings, r->current->datapath))
		err = sl_generation_create(settings, r->object_path, r->current, &r->ports,
					   &r->cluster, &r->lists, &g);
	if (err) {
		sl_rule_lists_destroy(lists);
		r->lists = old_lists;
		if (old_cluster)
			sl_cluster_take_charge(old_cluster);
		else if (cluster)
			sl_cluster_remove_all(cluster);
		sl_cluster_close(cluster);
		r->cluster = old_cluster;
		backup->changed = r->ports.changed;
		r->ports = *backup;
		goto out;
	}
	if (old_cluster && !cluster)
		sl_cluster_remove_all(old_cluster);
	sl_cluster_close(old_cluster);
	if (cluster)
		sl_cluster_take_charge(cluster);
	r->ports.changed = true;
	/* Take the ports off while the generation whose program they carry still runs. */
	sl_edge_ports_drop_unconfigured(&r->ports, r->current->datapath);
	/* No way back from here. A failure to pin has been logged; forwarding goes on. */
	if (g)
		activate(r, g);
	if (!g && sl_cluster_fill_maps(&settings->cluster, r->current->datapath))
		sl_error("cannot set up the fast path for the changed cluster; restart sluiced");
	if (!g) {
		sl_generation_limit(r->current, settings);
		put_lists(r, old_lists);
	}
	serve_copies(r);
	sl_rule_lists_destroy(old_lists);
	for (uint32_t i = 0; !g && i < r->ports.n; i++)
		if (r->ports.port[i].state == SL_PORT_ON)
			sl_edge_port_open_and_attach(&r->ports, r->current->datapath,
						     &r->ports.port[i]);
	tell_mirror(r);
	sl_mirror_ignore_netfilter(r->current->mirror, settings->netfilter == SL_NETFILTER_IGNORE);
	if (strcmp(r->settings->pin_dir, settings->pin_dir) != 0)
		sl_pins_remove(r->settings->pin_dir);
	sl_settings_free(r->settings);
	r->settings = settings;
out:
	free(backup);
	return err;
}

int sl_router_attach(struct sl_router *r, const char *name)
{
	struct sl_edge_port *port = sl_edge_port_by_name(&r->ports, name);
	const char *fabric = r->settings->cluster.device;
	uint32_t ifindex = if_nametoindex(name);
	int err;

	if (!ifindex)
		return -ENODEV;
	/* Compare the netdevs, not their names. The XDP program there is the bridge's. */
	if (fabric && ifindex == if_nametoindex(fabric))
		return -EADDRINUSE;
	if (!port)
		port = sl_edge_port_add(&r->ports, name, SL_XDP_NONE);
	if (!port)
		return -ENOSPC;
	port->ifindex = ifindex;
	err = sl_edge_port_open_and_attach(&r->ports, r->current->datapath, port);
	if (err && !port->configured)
		sl_edge_port_forget(&r->ports, port);
	tell_mirror(r);
	return err;
}

int sl_router_detach(struct sl_router *r, const char *name)
{
	struct sl_edge_port *port = sl_edge_port_by_name(&r->ports, name);
	int err;

	if (!port)
		return -ENOENT;
	err = sl_edge_port_take_off(&r->ports, r->current->datapath, port);
	tell_mirror(r);
	return err;
}

int sl_router_fd(const struct sl_router *r)
{
	return sl_mirror_fd(r->current->mirror);
}

int sl_router_cluster_fd(const struct sl_router *r)
{
	return r->cluster ? sl_cluster_fd(r->cluster) : -1;
}

int sl_router_setups_fd(const struct sl_router *r)
{
	return r->setups ? sl_setup_ring_fd(r->setups) : -1;
}

void sl_router_setups_poll(struct sl_router *r)
{
	if (r->setups)
		sl_setup_ring_poll(r->setups);
}

int sl_router_cluster_poll(struct sl_router *r)
{
	int err = r->cluster ? sl_cluster_poll(r->cluster) : 0;

	tell_mirror(r);
	return err;
}

int sl_router_poll(struct sl_router *r)
{
	int err = sl_mirror_poll(r->current->mirror);

	tell_mirror(r);
	return err;
}

/* Exact flows that have been idle for too long end; the others are counted. */
static void sweep_flows(struct sl_generation *g)
{
	if (sl_datapath_config(g->datapath)->exact_flows)
		sl_exact_flows_sweep(sl_datapath_map_fd(g->datapath, "sl_exact_flow"),
				     sl_datapath_exact_puts(g->datapath), sl_now_ns(),
				     &g->flow_sweep);
}

uint32_t sl_router_exact_flows(const struct sl_router *r)
{
	return r->current->flow_sweep.flows;
}

void sl_router_tick(struct sl_router *r)
{
	struct sl_reserves_use use;
	struct sl_fib_stats stats;

	sl_datapath_beat(r->current->datapath, r->settings->heartbeat_s);
	if (!r->refused_set || sl_generation_own_set(r->settings) != r->refused_set)
		sl_router_take_elements(r);
	sl_edge_ports_tick(&r->ports, r->current->datapath);
	sl_mirror_tick(r->current->mirror);
	sl_rule_lists_resolve(r->lists);
	sweep_flows(r->current);
	sl_table_hops_tick(r->current->table_hops, sl_now_ns());
	if (reserves_use(r, &use))
		sl_reserves_tick(r->reserves, &use);
	if (r->setups)
		sl_setup_ring_tick(r->setups);
	sl_fib_tick(r->current->fib);
	sl_fib_stats(r->current->fib, &stats);
	if (stats.overflow4 + stats.overflow6 == 0) {
		if (r->overflow_warned)
			sl_info("every route fits the tables again");
		r->overflow_warned = false;
	} else if (!r->overflow_warned) {
		sl_warning(
			"%llu IPv4 and %llu IPv6 routes do not fit the tables; the kernel forwards for "
			"them: raise `tables` in the configuration, see sluice.yaml(5)",
			(unsigned long long)stats.overflow4, (unsigned long long)stats.overflow6);
		r->overflow_warned = true;
	}
}

const struct sl_settings *sl_router_settings(const struct sl_router *r)
{
	return r->settings;
}

const struct sl_datapath *sl_router_datapath(const struct sl_router *r)
{
	return r->current->datapath;
}

const struct sl_fib *sl_router_fib(const struct sl_router *r)
{
	return r->current->fib;
}

const struct sl_rule_lists *sl_router_lists(const struct sl_router *r)
{
	return r->lists;
}

const struct sl_reserves *sl_router_reserves(const struct sl_router *r)
{
	return r->reserves;
}

int sl_router_reserve(struct sl_router *r, const json_t *request, const struct sl_reservation **out,
		      char why[SL_RESERVE_WHY_BYTES])
{
	struct sl_reserves_use use;

	reserves_use(r, &use);
	return sl_reserves_add(r->reserves, &use, request, out, why);
}

int sl_router_unreserve(struct sl_router *r, const json_t *flow, char why[SL_RESERVE_WHY_BYTES])
{
	struct sl_reserves_use use;

	reserves_use(r, &use);
	return sl_reserves_delete(r->reserves, &use, flow, why);
}

uint64_t sl_router_setups_missed(const struct sl_router *r)
{
	return r->setups ? sl_setup_ring_missed(r->setups) : 0;
}

void sl_router_copies(const struct sl_router *r, struct sl_copy_stats *out)
{
	sl_copies_stats(r->copies, out);
}

const struct sl_mirror *sl_router_mirror(const struct sl_router *r)
{
	return r->current->mirror;
}

const struct sl_cluster *sl_router_cluster(const struct sl_router *r)
{
	return r->cluster;
}

uint64_t sl_router_uptime_s(const struct sl_router *r)
{
	return (uint64_t)(now_s() - r->started_s);
}

const struct sl_edge_ports *sl_router_ports(const struct sl_router *r)
{
	return &r->ports;
}

const struct sl_edge_port *sl_router_find_port(const struct sl_router *r, uint32_t ifindex)
{
	for (uint32_t i = 0; i < r->ports.n && ifindex; i++)
		if (r->ports.port[i].ifindex == ifindex)
			return &r->ports.port[i];
	return NULL;
}
