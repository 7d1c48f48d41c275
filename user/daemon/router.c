/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "user/cluster/cluster_maps.h"
#include "user/lib/log.h"
#include "user/datapath/xdp_features.h"
#include "user/datapath/pins.h"
#include "user/daemon/router.h"

#define PORTS_MAX 512

/* Context of the mirror's questions: one that is being filled asks too, beside the current one. */
struct generation {
	struct sl_router *router; /* borrowed: it owns this */
	struct sl_datapath *datapath;
	struct sl_fib *fib;
	struct sl_mirror *mirror;
};

struct sl_router {
	struct sl_settings *settings; /* owned */
	const char *object_path;      /* borrowed */
	struct generation *current;   /* owned */
	struct sl_cluster *cluster;   /* owned; NULL: this node is alone */
	/* owned; NULL: this kernel does not say what drivers take */
	struct sl_xdp_features *xdp_features;
	struct sl_router_port ports[PORTS_MAX];
	uint32_t n_ports;
	bool ports_changed; /* the mirror has to look at every next hop again */
	bool overflow_warned;
	time_t started_s; /* CLOCK_MONOTONIC */
};

const char *sl_port_state_name(enum sl_port_state state)
{
	static const char *const names[] = { "absent", "on", "off", "refused" };

	return names[state];
}

/* --- Ports --- */

static struct sl_router_port *port_by_name(struct sl_router *r, const char *name)
{
	for (uint32_t i = 0; i < r->n_ports; i++)
		if (strcmp(r->ports[i].name, name) == 0)
			return &r->ports[i];
	return NULL;
}

static struct sl_router_port *port_by_ifindex(struct sl_router *r, uint32_t ifindex)
{
	for (uint32_t i = 0; i < r->n_ports && ifindex; i++)
		if (r->ports[i].ifindex == ifindex)
			return &r->ports[i];
	return NULL;
}

static struct sl_router_port *port_add(struct sl_router *r, const char *name, enum sl_xdp_mode want)
{
	struct sl_router_port *port;

	if (r->n_ports == PORTS_MAX)
		return NULL;
	port = &r->ports[r->n_ports++];
	*port = (struct sl_router_port){ .want = want, .up = true };
	strncpy(port->name, name, sizeof(port->name) - 1);
	port->ifindex = if_nametoindex(name);
	/* Until it turns out otherwise, the tables are filled for a port that will be attached. */
	port->state = port->ifindex ? SL_PORT_ON : SL_PORT_ABSENT;
	return port;
}

static void port_forget(struct sl_router *r, struct sl_router_port *port)
{
	*port = r->ports[--r->n_ports];
}

/*
 * sl_tx holds the ports that take redirected frames; for what would leave elsewhere XDP asks the
 * kernel. Drivers change their mind (xdp_features.h), so this is looked at whenever the link
 * changes, and once a second.
 */
static void port_update_transmit(struct sl_router *r, struct generation *g,
				 struct sl_router_port *port)
{
	int takes = port->state != SL_PORT_ON ? 0
		    : r->xdp_features
			    ? sl_xdp_features_takes_redirects(r->xdp_features, port->ifindex)
			    : 1;
	int err = 0;

	if (takes < 0 || !!takes == port->transmits)
		return;
	if (takes)
		err = sl_datapath_tx_add(g->datapath, port->ifindex);
	else
		sl_datapath_tx_del(g->datapath, port->ifindex);
	if (err) {
		sl_error("%s: cannot be made a target of redirects: %s", port->name,
			 strerror(-err));
		return;
	}
	port->transmits = takes;
}

/* XDP is on the port or will be in a moment. */
static void port_open(struct sl_router *r, struct generation *g, struct sl_router_port *port)
{
	port->state = SL_PORT_ON;
	port->transmits = false;
	port_update_transmit(r, g, port);
	r->ports_changed = true;
}

static void port_shut(struct sl_router *r, struct generation *g, struct sl_router_port *port,
		      enum sl_port_state state)
{
	if (port->ifindex)
		sl_datapath_tx_del(g->datapath, port->ifindex);
	if (state == SL_PORT_ABSENT)
		port->ifindex = 0;
	port->state = state;
	port->mode = SL_XDP_NONE;
	port->transmits = false;
	r->ports_changed = true;
}

static int port_attach(struct sl_router *r, struct generation *g, struct sl_router_port *port)
{
	enum sl_xdp_mode mode;
	int err = sl_datapath_attach(g->datapath, port->ifindex, port->want, &mode);

	if (err) {
		sl_warning("%s: stays with the kernel", port->name);
		port_shut(r, g, port, SL_PORT_REFUSED);
		return err;
	}
	if (mode != port->mode)
		sl_info("%s: fast path attached, %s mode", port->name, sl_xdp_mode_name(mode));
	port->mode = mode;
	port_update_transmit(r, g, port);
	return 0;
}

static int port_open_and_attach(struct sl_router *r, struct generation *g,
				struct sl_router_port *port)
{
	port_open(r, g, port);
	return port_attach(r, g, port);
}

/* --- What the mirror asks and tells --- */

/* As in sl_adj; 0: it is no remote port. */
static uint16_t remote(const struct sl_router *r, uint32_t ifindex)
{
	return r->cluster ? sl_cluster_voq_plus1(r->cluster, ifindex) : 0;
}

static bool on_is_port(void *ctx, uint32_t port_ifindex)
{
	struct generation *g = ctx;
	const struct sl_router_port *port = port_by_ifindex(g->router, port_ifindex);

	return (port && port->state == SL_PORT_ON) || remote(g->router, port_ifindex);
}

static uint16_t on_voq_plus1(void *ctx, uint32_t port_ifindex)
{
	struct generation *g = ctx;

	return remote(g->router, port_ifindex);
}

static bool on_is_cut(void *ctx, uint32_t port_ifindex)
{
	const struct generation *g = ctx;

	return g->router->cluster && sl_cluster_is_cut(g->router->cluster, port_ifindex);
}

static void on_port_set(void *ctx, const struct sl_port *mirrored, const struct sl_vlan_key *vlan)
{
	struct generation *g = ctx;
	struct sl_port numbered = *mirrored, *port = &numbered;
	uint32_t ifindex = vlan ? vlan->port_ifindex : port->ifindex;
	const struct sl_router_port *entered = port_by_ifindex(g->router, ifindex);
	char name[IF_NAMESIZE] = "?";
	int err;

	/* Nothing enters at a remote port; its place in the table may be another's. */
	if (remote(g->router, ifindex))
		return;
	port->number = entered ? entered->number : 0;
	err = sl_datapath_port_set(g->datapath, port, vlan);
	if (!err)
		return;
	if_indextoname(port->ifindex, name);
	sl_error("%s: its packets go to the kernel: interface %u does not fit the table of %u: %s",
		 name, port->ifindex, SL_PORTS_MAX, strerror(-err));
}

static void on_port_clear(void *ctx, uint32_t l3_ifindex, const struct sl_vlan_key *vlan)
{
	struct generation *g = ctx;

	sl_datapath_port_clear(g->datapath, l3_ifindex, vlan);
}

static void port_vanished(struct sl_router *r, struct generation *g, struct sl_router_port *port)
{
	sl_warning("%s: the port is gone", port->name);
	port_shut(r, g, port, SL_PORT_ABSENT);
}

static void port_appeared(struct sl_router *r, struct generation *g, struct sl_router_port *port,
			  uint32_t ifindex, bool up)
{
	sl_info("%s: the port is here", port->name);
	port->ifindex = ifindex;
	port->up = up;
	port_open_and_attach(r, g, port);
}

/* The link changed somehow: has someone taken the program off, or cleared the way for it? */
static void port_touched(struct sl_router *r, struct generation *g, struct sl_router_port *port)
{
	struct sl_xdp_state now;
	int err = sl_xdp_query(port->ifindex, &now);

	/* A netdev that is gone already is reported as such by a later event. */
	if (err == -ENODEV)
		return;
	if (port->state == SL_PORT_ON && !sl_datapath_attached(g->datapath, port->ifindex)) {
		sl_warning("%s: someone took the fast path off; `sluice attach %s` puts it back",
			   port->name, port->name);
		port_shut(r, g, port, SL_PORT_OFF);
	} else if (port->state == SL_PORT_REFUSED && !err && now.mode == SL_XDP_NONE) {
		port_open_and_attach(r, g, port);
	} else {
		port_update_transmit(r, g, port);
	}
}

static void on_link_event(void *ctx, uint32_t ifindex, const char *name, bool present, bool up)
{
	struct generation *g = ctx;
	struct sl_router *r = g->router;
	struct sl_router_port *port = port_by_ifindex(r, ifindex);

	if (port)
		port->up = up;
	/* While a generation is being filled its ports are not attached yet: that comes after. */
	if (g != r->current)
		return;
	if (port && present && strcmp(port->name, name) != 0) {
		sl_warning("%s: renamed to %s, which is no port", port->name, name);
		sl_datapath_detach(g->datapath, ifindex);
	}
	if (port && (!present || strcmp(port->name, name) != 0)) {
		port_vanished(r, g, port);
		port = NULL;
	}
	if (!present)
		return;
	if (!port) {
		port = port_by_name(r, name);
		if (!port)
			return;
		if (port->ifindex)
			port_vanished(r, g, port);
		port_appeared(r, g, port, ifindex, up);
	} else {
		port_touched(r, g, port);
	}
}

static const struct sl_mirror_ops mirror_ops = {
	.is_port = on_is_port,
	.voq_plus1 = on_voq_plus1,
	.is_cut = on_is_cut,
	.port_set = on_port_set,
	.port_clear = on_port_clear,
	.link_event = on_link_event,
};

/* --- Generations --- */

static void generation_destroy(struct generation *g)
{
	if (!g)
		return;
	sl_mirror_close(g->mirror);
	sl_fib_destroy(g->fib);
	sl_datapath_close(g->datapath);
	free(g);
}

/* Loaded and completely filled for the ports that are on; not yet attached. */
static int generation_create(struct sl_router *r, const struct sl_settings *settings,
			     struct generation **out)
{
	const struct sl_table_settings *tables = &settings->tables;
	struct sl_datapath_params params = {
		.object_path = r->object_path,
		.pin_dir = settings->pin_dir,
		.previous = r->current ? r->current->datapath : NULL,
		.config = { .engine = settings->engine, .managed = 1 },
		.n_nexthop = tables->nexthops,
		.n_adj = tables->adjacencies,
		.n_group = tables->groups,
		.n_tbl8 = tables->ipv4_blocks,
		.n_tbl6 = tables->ipv6_blocks,
		.n_fib4 = tables->ipv4_routes,
		.n_fib6 = tables->ipv6_routes,
	};
	struct generation *g = calloc(1, sizeof(*g));
	int err = -ENOMEM;

	*out = NULL;
	if (!g)
		goto out;
	g->router = r;
	sl_cluster_size_maps(&settings->cluster, &params);
	err = sl_datapath_open(&params, &g->datapath);
	if (err)
		goto out;
	err = sl_cluster_fill_maps(&settings->cluster, g->datapath);
	if (err) {
		sl_error("cannot tell the fast path of the cluster: %s", strerror(-err));
		goto out;
	}
	for (uint32_t i = 0; i < r->n_ports; i++)
		if (r->ports[i].state == SL_PORT_ON)
			port_open(r, g, &r->ports[i]);
	err = sl_fib_create(sl_datapath_tables(g->datapath), &g->fib);
	if (err) {
		sl_error("cannot set up the tables: %s", strerror(-err));
		goto out;
	}
	err = sl_mirror_open(g->fib, &mirror_ops, g, &g->mirror);
	if (err)
		sl_error("cannot follow the kernel's routes: %s", strerror(-err));
out:
	if (err)
		generation_destroy(g);
	else
		*out = g;
	return err;
}

static void tell_mirror(struct sl_router *r)
{
	if (r->ports_changed)
		sl_mirror_ports_changed(r->current->mirror);
	r->ports_changed = false;
}

/* Replace the programs on the ports, then the pins, then let the old generation go. */
static int generation_activate(struct sl_router *r, struct generation *g)
{
	struct generation *old = r->current;
	int err;

	r->current = g;
	r->ports_changed = false;
	for (uint32_t i = 0; i < r->n_ports; i++) {
		struct sl_router_port *port = &r->ports[i];
		uint32_t ifindex = port->ifindex ? 0 : if_nametoindex(port->name);

		if (port->state == SL_PORT_ON)
			port_attach(r, g, port);
		else if (ifindex) /* came while the tables were filled */
			port_appeared(r, g, port, ifindex, port->up);
	}
	err = sl_datapath_publish(g->datapath);
	generation_destroy(old);
	tell_mirror(r);
	return err;
}

/* --- The cluster --- */

static void on_ports_changed(void *ctx)
{
	struct sl_router *r = ctx;

	r->ports_changed = true;
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

static const struct sl_cluster_ops cluster_ops = {
	.ports_changed = on_ports_changed,
	.cuts_changed = on_cuts_changed,
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

/*
 * Bring the list of ports in line with the file; those it does not name are left with configured
 * false.
 */
/* In a cluster, the number of this node's port of that name; 0: none. */
static uint8_t port_number(const struct sl_cluster_settings *cluster, const char *name)
{
	const struct sl_cluster_node *node = sl_cluster_find_node(cluster, cluster->node);

	for (uint32_t i = 0; cluster->node && i < node->ports.n; i++)
		if (strcmp(sl_cluster_port(node, i)->name, name) == 0)
			return (uint8_t)sl_cluster_port(node, i)->number;
	return 0;
}

static int ports_configure(struct sl_router *r, const struct sl_settings *settings)
{
	for (uint32_t i = 0; i < r->n_ports; i++)
		r->ports[i].configured = false;
	for (uint32_t i = 0; i < settings->ports.n; i++) {
		const struct sl_port_settings *wanted = sl_settings_port(settings, i);
		struct sl_router_port *port = port_by_name(r, wanted->name);

		if (!port)
			port = port_add(r, wanted->name, wanted->mode);
		if (!port)
			return -ENOSPC;
		port->want = wanted->mode;
		port->number = port_number(&settings->cluster, wanted->name);
		port->configured = true;
		if (port->ifindex)
			port->state = SL_PORT_ON;
	}
	return 0;
}

static int port_take_off(struct sl_router *r, struct sl_router_port *port)
{
	int err = 0;

	port_shut(r, r->current, port,
		  port->state == SL_PORT_ABSENT ? SL_PORT_ABSENT : SL_PORT_OFF);
	if (port->ifindex)
		err = sl_datapath_detach(r->current->datapath, port->ifindex);
	if (!err)
		sl_info("%s: fast path detached", port->name);
	if (!port->configured)
		port_forget(r, port);
	return err;
}

static void ports_drop_unconfigured(struct sl_router *r)
{
	for (uint32_t i = r->n_ports; i-- > 0;)
		if (!r->ports[i].configured)
			port_take_off(r, &r->ports[i]);
}

static time_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

int sl_router_start(struct sl_settings *settings, const char *object_path, struct sl_router **out)
{
	struct sl_router *r = calloc(1, sizeof(*r));
	struct generation *g = NULL;
	int err = -ENOMEM;

	*out = NULL;
	if (!r)
		return err;
	r->object_path = object_path;
	err = sl_xdp_features_open(&r->xdp_features);
	if (err && err != -EOPNOTSUPP)
		sl_warning("cannot see which drivers take redirected frames: %s", strerror(-err));
	err = ports_configure(r, settings);
	/* Before the mirror asks which netdevs are ports. */
	if (!err)
		err = cluster_open(r, settings, &r->cluster);
	if (!err)
		err = generation_create(r, settings, &g);
	if (!err)
		err = generation_activate(r, g);
	if (err) {
		sl_router_stop(r);
		return err;
	}
	r->settings = settings;
	r->started_s = now_s();
	*out = r;
	return 0;
}

void sl_router_stop(struct sl_router *r)
{
	if (!r)
		return;
	generation_destroy(r->current);
	sl_xdp_features_close(r->xdp_features);
	sl_settings_free(r->settings);
	free(r);
}

int sl_router_detach_all(struct sl_router *r)
{
	int err, first = 0;

	for (uint32_t i = 0; i < r->n_ports; i++) {
		struct sl_router_port *port = &r->ports[i];

		err = port->mode == SL_XDP_NONE
			      ? 0
			      : sl_datapath_detach(r->current->datapath, port->ifindex);
		if (err)
			sl_error("%s: cannot take the fast path off: %s", port->name,
				 strerror(-err));
		first = first ? first : err;
	}
	if (r->cluster)
		sl_cluster_remove_all(r->cluster);
	err = sl_pins_remove(r->settings->pin_dir);
	if (err)
		sl_error("cannot remove the pins at \"%s\": %s", r->settings->pin_dir,
			 strerror(-err));
	return first ? first : err;
}

static bool needs_generation(const struct sl_settings *a, const struct sl_settings *b)
{
	return a->engine != b->engine || memcmp(&a->tables, &b->tables, sizeof(a->tables)) != 0 ||
	       strcmp(a->pin_dir, b->pin_dir) != 0 || a->cluster.node != b->cluster.node ||
	       memcmp(&a->cluster.table, &b->cluster.table, sizeof(a->cluster.table)) != 0;
}

int sl_router_reload(struct sl_router *r, struct sl_settings *settings)
{
	struct sl_router_port *backup = malloc(sizeof(r->ports));
	uint32_t n_backup = r->n_ports;
	struct sl_cluster *cluster = NULL, *old_cluster = r->cluster;
	struct generation *g = NULL;
	int err = -ENOMEM;

	if (!backup)
		goto out;
	memcpy(backup, r->ports, sizeof(r->ports));
	err = ports_configure(r, settings);
	/* A new one adopts what the old one made. */
	if (!err)
		err = cluster_open(r, settings, &cluster);
	if (!err)
		r->cluster = cluster;
	if (!err && needs_generation(r->settings, settings))
		err = generation_create(r, settings, &g);
	if (err) {
		sl_cluster_close(cluster);
		r->cluster = old_cluster;
		memcpy(r->ports, backup, sizeof(r->ports));
		r->n_ports = n_backup;
		goto out;
	}
	if (old_cluster && !cluster)
		sl_cluster_remove_all(old_cluster);
	sl_cluster_close(old_cluster);
	r->ports_changed = true;
	/* The running generation still knows its own program on the ports that go. */
	ports_drop_unconfigured(r);
	/*
	 * There is no way back from here; a failure to pin has been logged, and forwarding goes on.
	 */
	if (g)
		generation_activate(r, g);
	if (!g && sl_cluster_fill_maps(&settings->cluster, r->current->datapath))
		sl_error("cannot tell the fast path of the changed cluster; restart sluiced");
	for (uint32_t i = 0; !g && i < r->n_ports; i++)
		if (r->ports[i].state == SL_PORT_ON)
			port_open_and_attach(r, r->current, &r->ports[i]);
	tell_mirror(r);
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
	struct sl_router_port *port = port_by_name(r, name);
	const char *fabric = r->settings->cluster.device;
	uint32_t ifindex = if_nametoindex(name);
	int err;

	if (!ifindex)
		return -ENODEV;
	/*
	 * By whatever name: its XDP program is the bridge's, and must not be taken for a
	 * stranger's.
	 */
	if (fabric && ifindex == if_nametoindex(fabric))
		return -EADDRINUSE;
	if (!port)
		port = port_add(r, name, SL_XDP_NONE);
	if (!port)
		return -ENOSPC;
	port->ifindex = ifindex;
	err = port_open_and_attach(r, r->current, port);
	if (err && !port->configured)
		port_forget(r, port);
	tell_mirror(r);
	return err;
}

int sl_router_detach(struct sl_router *r, const char *name)
{
	struct sl_router_port *port = port_by_name(r, name);
	int err;

	if (!port)
		return -ENOENT;
	err = port_take_off(r, port);
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

static void port_tick(struct sl_router *r, struct sl_router_port *port)
{
	if (port->state != SL_PORT_ON)
		return;
	port_update_transmit(r, r->current, port);
	if (port->up && !port->transmits && !port->transmit_warned)
		sl_warning(
			"%s: the driver takes no redirected frames now; what leaves here goes "
			"through the kernel (veth: its peer needs XDP, or `ethtool -K PEER gro on`)",
			port->name);
	port->transmit_warned = port->up && !port->transmits;
}

void sl_router_tick(struct sl_router *r)
{
	struct sl_fib_stats stats;

	for (uint32_t i = 0; i < r->n_ports; i++)
		port_tick(r, &r->ports[i]);
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

uint32_t sl_router_n_ports(const struct sl_router *r)
{
	return r->n_ports;
}

const struct sl_router_port *sl_router_port(const struct sl_router *r, uint32_t i)
{
	return &r->ports[i];
}

const struct sl_router_port *sl_router_find_port(const struct sl_router *r, uint32_t ifindex)
{
	for (uint32_t i = 0; i < r->n_ports && ifindex; i++)
		if (r->ports[i].ifindex == ifindex)
			return &r->ports[i];
	return NULL;
}
