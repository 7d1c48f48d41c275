/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "user/cluster/cluster_state.h"
#include "user/cluster/cluster_view.h"

static const struct sl_announce_record *announced(const struct sl_cluster *c, uint16_t system_port)
{
	for (uint32_t i = 0; i < c->local.n; i++)
		if (c->local.records[i].type == SL_ANNOUNCE_PORT &&
		    c->local.records[i].system_port == system_port)
			return &c->local.records[i];
	return NULL;
}

static void view_local(const struct sl_cluster *c, struct sl_system_port_view *view)
{
	const struct sl_announce_record *record = announced(c, view->system_port);

	memcpy(view->dev, view->netdev, strnlen(view->netdev, sizeof(view->dev) - 1));
	view->state = SL_SYSTEM_PORT_ABSENT;
	if (!record)
		return;
	view->state = record->up ? SL_SYSTEM_PORT_UP : SL_SYSTEM_PORT_DOWN;
	view->mtu_bytes = record->mtu_bytes;
	memcpy(view->mac, record->mac, sizeof(view->mac));
}

static void view_remote(const struct sl_cluster *c, struct sl_system_port_view *view)
{
	const struct sl_remote_port *port = sl_cluster_port_by_number(c, view->system_port);
	bool reachable = false;

	view->state = SL_SYSTEM_PORT_UNKNOWN;
	if (!port)
		return;
	for (uint32_t i = 0; i < c->n_peers; i++)
		if (c->peers[i].node == view->system_port >> 8)
			reachable = c->peers[i].up;
	if (port->ifindex)
		memcpy(view->dev, port->name, sizeof(view->dev));
	view->mtu_bytes = port->mtu_bytes;
	memcpy(view->mac, port->mac, sizeof(view->mac));
	view->n_refused = port->n_refused;
	memcpy(view->refused_by, port->refused_by, sizeof(view->refused_by));
	view->refused_prefix = port->refused_prefix;
	view->refused_why = port->refused_why;
	if (!reachable)
		view->state = SL_SYSTEM_PORT_UNREACHABLE;
	else if (port->known)
		view->state = port->up ? SL_SYSTEM_PORT_UP : SL_SYSTEM_PORT_DOWN;
}

void sl_cluster_each_system_port(const struct sl_cluster *c,
				 void (*each)(void *ctx, const struct sl_system_port_view *view),
				 void *ctx)
{
	for (uint32_t i = 0; i < c->settings->nodes.n; i++) {
		const struct sl_cluster_node *node = sl_cluster_node(c->settings, i);

		for (uint32_t p = 0; p < node->ports.n; p++) {
			const struct sl_cluster_port *port = sl_cluster_port(node, p);
			struct sl_system_port_view view = {
				.system_port = SL_SYSTEM_PORT(node->id, (uint16_t)port->number),
				.local = node->id == c->settings->node,
				.netdev = port->name,
				.rate = port->rate,
			};

			if (view.local)
				view_local(c, &view);
			else
				view_remote(c, &view);
			each(ctx, &view);
		}
	}
}

bool sl_cluster_remote(const struct sl_cluster *c, uint16_t voq_plus1, struct sl_remote_view *view)
{
	*view = (struct sl_remote_view){ 0 };
	for (uint32_t i = 0; i < c->n_ports; i++)
		if (c->ports[i].voq_plus1 == voq_plus1)
			view->system_port = c->ports[i].system_port;
	for (uint32_t i = 0; i < c->n_peers; i++) {
		const struct sl_peer *peer = &c->peers[i];

		if (peer->node != view->system_port >> 8)
			continue;
		view->address = sl_cluster_find_node(c->settings, peer->node)->address;
		view->peer = peer->up ? "up" : peer->silent ? "down" : "unknown";
	}
	return view->address;
}

bool sl_cluster_is_cut(const struct sl_cluster *c, uint32_t ifindex)
{
	const struct sl_remote_port *port = sl_cluster_port_by_ifindex(c, ifindex);

	for (uint32_t i = 0; port && i < c->n_peers; i++)
		if (c->peers[i].node == port->system_port >> 8)
			return c->peers[i].silent;
	return false;
}

uint16_t sl_cluster_voq_plus1(const struct sl_cluster *c, uint32_t ifindex)
{
	const struct sl_remote_port *port = sl_cluster_port_by_ifindex(c, ifindex);

	return port ? port->voq_plus1 : 0;
}

uint16_t sl_cluster_own_voq_plus1(const struct sl_cluster *c, uint8_t number)
{
	const struct sl_cluster_node *self = sl_cluster_find_node(c->settings, c->settings->node);

	for (uint32_t i = 0; i < self->ports.n; i++) {
		const struct sl_cluster_port *port = sl_cluster_port(self, i);
		uint16_t system_port = SL_SYSTEM_PORT(self->id, (uint16_t)port->number);
		int index = sl_sysport_index(&c->settings->table, system_port);

		if (port->number == number && sl_cluster_port_is_queued(port))
			return (uint16_t)(sl_sysport_voq((uint32_t)index) + 1);
	}
	return 0;
}

const char *sl_system_port_state_name(enum sl_system_port_state state)
{
	static const char *const names[] = { "up", "down", "absent", "unreachable", "unknown" };

	return names[state];
}
