/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "user/daemon/edge_ports.h"
#include "user/datapath/vlan_tags.h"
#include "user/lib/log.h"

#define VLAN_DRIVER "802.1Q VLAN Support"

const char *sl_port_state_name(enum sl_port_state state)
{
	static const char *const names[] = { "absent", "on", "off", "refused" };

	return names[state];
}

struct sl_edge_port *sl_edge_port_by_name(struct sl_edge_ports *ports, const char *name)
{
	for (uint32_t i = 0; i < ports->n; i++)
		if (strcmp(ports->port[i].name, name) == 0)
			return &ports->port[i];
	return NULL;
}

struct sl_edge_port *sl_edge_port_by_ifindex(struct sl_edge_ports *ports, uint32_t ifindex)
{
	for (uint32_t i = 0; i < ports->n && ifindex; i++)
		if (ports->port[i].ifindex == ifindex)
			return &ports->port[i];
	return NULL;
}

struct sl_edge_port *sl_edge_port_add(struct sl_edge_ports *ports, const char *name,
				      enum sl_xdp_mode want)
{
	struct sl_edge_port *port;

	if (ports->n == SL_EDGE_PORTS_MAX)
		return NULL;
	port = &ports->port[ports->n++];
	*port = (struct sl_edge_port){ .want = want, .up = true };
	strncpy(port->name, name, sizeof(port->name) - 1);
	port->ifindex = if_nametoindex(name);
	/* The tables are filled before the attempt to attach: assume that it will succeed. */
	port->state = port->ifindex ? SL_PORT_ON : SL_PORT_ABSENT;
	return port;
}

void sl_edge_port_forget(struct sl_edge_ports *ports, struct sl_edge_port *port)
{
	*port = ports->port[--ports->n];
}

/*
 * sl_tx holds the ports whose drivers take redirected frames; XDP gives the kernel the packets that
 * would leave by any other port. A driver may begin or cease to take them at any time
 * (xdp_features.h), so the router looks whenever the link changes, and once a second.
 */
static void port_update_transmit(struct sl_edge_ports *ports, struct sl_datapath *dp,
				 struct sl_edge_port *port)
{
	/*
	 * A kernel that does not tell: frames of several buffers are rare, and lost if wrong. A
	 * VLAN takes none.
	 */
	struct sl_xdp_takes takes = { .frames = port->state == SL_PORT_ON &&
						!sl_netdev_has_driver(port->ifindex, VLAN_DRIVER) };
	int err = 0;

	if (takes.frames && ports->xdp_features)
		err = sl_xdp_features_takes(ports->xdp_features, port->ifindex, &takes);
	if (err || (takes.frames == port->transmits && takes.buffers == port->takes_buffers))
		return;
	if (takes.frames)
		err = sl_datapath_tx_add(dp, port->ifindex, takes.buffers);
	else
		sl_datapath_tx_del(dp, port->ifindex);
	if (err) {
		sl_error("%s: cannot be made a target of redirects: %s", port->name,
			 strerror(-err));
		return;
	}
	port->transmits = takes.frames;
	port->takes_buffers = takes.buffers;
}

void sl_edge_port_open(struct sl_edge_ports *ports, struct sl_datapath *dp,
		       struct sl_edge_port *port)
{
	port->state = SL_PORT_ON;
	port->transmits = port->takes_buffers = false;
	port_update_transmit(ports, dp, port);
	ports->changed = true;
}

static void port_shut(struct sl_edge_ports *ports, struct sl_datapath *dp,
		      struct sl_edge_port *port, enum sl_port_state state)
{
	if (port->ifindex)
		sl_datapath_tx_del(dp, port->ifindex);
	if (state == SL_PORT_ABSENT)
		port->ifindex = 0;
	port->state = state;
	port->mode = SL_XDP_NONE;
	port->transmits = port->takes_buffers = false;
	ports->changed = true;
}

void sl_edge_port_restore(struct sl_datapath *dp, const struct sl_edge_port *port)
{
	if (port->ifindex)
		sl_vlan_tags_restore(sl_datapath_map_fd(dp, "sl_offload"), port->ifindex);
}

/*
 * Would a program on the port see VLAN tags? *bound: only one that is bound to it. -EOPNOTSUPP: no
 * program would; logged, with what would be right.
 */
static int look_for_tags(const struct sl_edge_ports *ports, struct sl_datapath *dp,
			 const struct sl_edge_port *port, bool *bound)
{
	enum sl_vlan_tags tags;
	const char *why;
	int err;

	*bound = false;
	if (port->hidden_tags == SL_HIDDEN_TAGS_IGNORE)
		return 0;
	err = sl_vlan_tags_settle(sl_datapath_map_fd(dp, "sl_offload"), port->ifindex, &tags, &why);
	if (err) {
		sl_error("%s: cannot switch VLAN offload off: %s", port->name, strerror(-err));
		return err;
	}
	if (tags == SL_TAGS_IN_FRAME)
		return 0;
	if (tags == SL_TAGS_OUT_OF_SIGHT)
		sl_error("%s: %s, so XDP would take tagged frames for untagged ones; if none come, "
			 "write \"hidden_tags: ignore\" beside the port",
			 port->name, why);
	else if (port->want == SL_XDP_GENERIC)
		sl_error("%s: %s, and XDP cannot see them in generic mode; use native mode, or, if "
			 "no tagged frames come, write \"hidden_tags: ignore\" beside the port",
			 port->name, why);
	else if (!ports->xdp_features ||
		 !sl_xdp_features_tells_tag(ports->xdp_features, port->ifindex))
		sl_error("%s: %s, and its driver does not tell XDP (a veth's does from Linux 6.8 "
			 "on); if no tagged frames come, write \"hidden_tags: ignore\" beside the "
			 "port",
			 port->name, why);
	else
		*bound = true;
	return *bound ? 0 : -EOPNOTSUPP;
}

/*
 * In native mode, the kernel runs a bond's program at its members: the frames that it sees have
 * entered at netdevs that are no ports, and the bond's sockets take none of them.
 */
static int find_mode(const struct sl_edge_port *port, enum sl_xdp_mode *want)
{
	*want = port->want;
	if (!sl_netdev_has_driver(port->ifindex, "bonding"))
		return 0;
	*want = SL_XDP_GENERIC;
	if (port->want != SL_XDP_NATIVE)
		return 0;
	sl_error("%s: in native mode, XDP runs at the members of a bond, and sees no bond: write "
		 "\"mode: generic\"",
		 port->name);
	return -EOPNOTSUPP;
}

int sl_edge_port_attach(struct sl_edge_ports *ports, struct sl_datapath *dp,
			struct sl_edge_port *port)
{
	enum sl_xdp_mode want, mode;
	bool bound;
	int err = find_mode(port, &want);

	if (!err)
		err = look_for_tags(ports, dp, port, &bound);
	if (err) /* an earlier daemon may have seen no harm in it */
		sl_datapath_detach(dp, port->ifindex);
	else
		err = sl_datapath_attach(dp, port->ifindex, want, bound, &mode);
	if (err) {
		sl_warning("%s: stays with the kernel", port->name);
		sl_edge_port_restore(dp, port);
		port_shut(ports, dp, port, SL_PORT_REFUSED);
		return err;
	}
	if (mode != port->mode)
		sl_event("port",
			 SL_LOG_FIELDS({ "port", port->name, 0 }, { "state", "attached", 0 },
				       { "mode", sl_xdp_mode_name(mode), 0 }),
			 "%s: fast path attached, %s mode", port->name, sl_xdp_mode_name(mode));
	port->mode = mode;
	port_update_transmit(ports, dp, port);
	return 0;
}

int sl_edge_port_open_and_attach(struct sl_edge_ports *ports, struct sl_datapath *dp,
				 struct sl_edge_port *port)
{
	sl_edge_port_open(ports, dp, port);
	return sl_edge_port_attach(ports, dp, port);
}

/* In a cluster, the number of this node's port of that name; 0: none. */
static uint8_t port_number(const struct sl_cluster_settings *cluster, const char *name)
{
	const struct sl_cluster_node *node = sl_cluster_find_node(cluster, cluster->node);

	for (uint32_t i = 0; cluster->node && i < node->ports.n; i++)
		if (strcmp(sl_cluster_port(node, i)->name, name) == 0)
			return (uint8_t)sl_cluster_port(node, i)->number;
	return 0;
}

int sl_edge_ports_configure(struct sl_edge_ports *ports, const struct sl_settings *settings)
{
	for (uint32_t i = 0; i < ports->n; i++)
		ports->port[i].configured = false;
	for (uint32_t i = 0; i < settings->ports.n; i++) {
		const struct sl_port_settings *wanted = sl_settings_port(settings, i);
		struct sl_edge_port *port = sl_edge_port_by_name(ports, wanted->name);

		if (!port)
			port = sl_edge_port_add(ports, wanted->name, wanted->mode);
		if (!port)
			return -ENOSPC;
		port->want = wanted->mode;
		port->hidden_tags = wanted->hidden_tags;
		port->number = port_number(&settings->cluster, wanted->name);
		port->configured = true;
		if (port->ifindex)
			port->state = SL_PORT_ON;
	}
	return 0;
}

int sl_edge_port_take_off(struct sl_edge_ports *ports, struct sl_datapath *dp,
			  struct sl_edge_port *port)
{
	int err = 0;

	port_shut(ports, dp, port, port->state == SL_PORT_ABSENT ? SL_PORT_ABSENT : SL_PORT_OFF);
	if (port->ifindex)
		err = sl_datapath_detach(dp, port->ifindex);
	if (!err) {
		sl_edge_port_restore(dp, port);
		sl_event("port",
			 SL_LOG_FIELDS({ "port", port->name, 0 }, { "state", "detached", 0 }),
			 "%s: fast path detached", port->name);
	}
	if (!port->configured)
		sl_edge_port_forget(ports, port);
	return err;
}

void sl_edge_ports_drop_unconfigured(struct sl_edge_ports *ports, struct sl_datapath *dp)
{
	for (uint32_t i = ports->n; i-- > 0;)
		if (!ports->port[i].configured)
			sl_edge_port_take_off(ports, dp, &ports->port[i]);
}

/* --- Events --- */

static void port_vanished(struct sl_edge_ports *ports, struct sl_datapath *dp,
			  struct sl_edge_port *port)
{
	sl_warning("%s: the port is gone", port->name);
	sl_datapath_port_gone(dp, port->ifindex);
	sl_edge_port_restore(dp, port);
	port_shut(ports, dp, port, SL_PORT_ABSENT);
}

void sl_edge_port_appeared(struct sl_edge_ports *ports, struct sl_datapath *dp,
			   struct sl_edge_port *port, uint32_t ifindex, bool up)
{
	sl_event("port", SL_LOG_FIELDS({ "port", port->name, 0 }, { "state", "here", 0 }),
		 "%s: the port is here", port->name);
	port->ifindex = ifindex;
	port->up = up;
	sl_edge_port_open_and_attach(ports, dp, port);
}

static bool tags_disturbed(struct sl_datapath *dp, const struct sl_edge_port *port)
{
	return port->hidden_tags == SL_HIDDEN_TAGS_REFUSE &&
	       sl_vlan_tags_disturbed(sl_datapath_map_fd(dp, "sl_offload"), port->ifindex);
}

static void stop_for_tags(struct sl_edge_ports *ports, struct sl_datapath *dp,
			  struct sl_edge_port *port)
{
	sl_warning("%s: someone switched VLAN offload on, which hides tags from the fast path; "
		   "`sluice attach %s` switches it off and puts the fast path back",
		   port->name, port->name);
	sl_edge_port_take_off(ports, dp, port);
}

/* The netdev has changed: did someone take the program off, or remove what kept it away? */
static void port_touched(struct sl_edge_ports *ports, struct sl_datapath *dp,
			 struct sl_edge_port *port)
{
	struct sl_xdp_state now;
	int err = sl_xdp_query(port->ifindex, &now);

	/* The netdev is gone already; a later event reports that. */
	if (err == -ENODEV)
		return;
	if (port->state == SL_PORT_ON && !sl_datapath_attached(dp, port->ifindex)) {
		sl_warning("%s: someone took the fast path off; `sluice attach %s` puts it back",
			   port->name, port->name);
		sl_datapath_port_gone(dp, port->ifindex);
		sl_edge_port_restore(dp, port);
		port_shut(ports, dp, port, SL_PORT_OFF);
	} else if (port->state == SL_PORT_ON && tags_disturbed(dp, port)) {
		stop_for_tags(ports, dp, port);
	} else if (port->state == SL_PORT_REFUSED && !err && now.mode == SL_XDP_NONE) {
		sl_edge_port_open_and_attach(ports, dp, port);
	} else {
		port_update_transmit(ports, dp, port);
	}
}

void sl_edge_ports_link_event(struct sl_edge_ports *ports, struct sl_datapath *dp, uint32_t ifindex,
			      const char *name, bool present, bool up)
{
	struct sl_edge_port *port = sl_edge_port_by_ifindex(ports, ifindex);

	if (port && present && strcmp(port->name, name) != 0) {
		sl_warning("%s: renamed to %s, which is no port", port->name, name);
		sl_datapath_detach(dp, ifindex);
	}
	if (port && (!present || strcmp(port->name, name) != 0)) {
		port_vanished(ports, dp, port);
		port = NULL;
	}
	if (!present)
		return;
	if (!port) {
		port = sl_edge_port_by_name(ports, name);
		if (!port)
			return;
		if (port->ifindex)
			port_vanished(ports, dp, port);
		sl_edge_port_appeared(ports, dp, port, ifindex, up);
	} else {
		port_touched(ports, dp, port);
	}
}

static void port_tick(struct sl_edge_ports *ports, struct sl_datapath *dp,
		      struct sl_edge_port *port)
{
	if (port->state != SL_PORT_ON)
		return;
	if (tags_disturbed(dp, port)) {
		stop_for_tags(ports, dp, port);
		return;
	}
	port_update_transmit(ports, dp, port);
	if (port->up && !port->transmits && !port->transmit_warned)
		sl_warning(
			"%s: the driver takes no redirected frames now; what leaves here goes "
			"through the kernel (veth: its peer needs XDP, or `ethtool -K PEER gro on`)",
			port->name);
	port->transmit_warned = port->up && !port->transmits;
}

void sl_edge_ports_tick(struct sl_edge_ports *ports, struct sl_datapath *dp)
{
	for (uint32_t i = 0; i < ports->n; i++)
		port_tick(ports, dp, &ports->port[i]);
}
