/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/cluster/cluster_state.h"
#include "user/lib/clock.h"
#include "user/text/prefix.h"

int sl_cluster_make_lists(struct sl_cluster *c)
{
	const struct sl_cluster_settings *s = c->settings;
	const struct sl_cluster_node *self = sl_cluster_find_node(s, s->node);
	const uint32_t n_local = self->ports.n, n_remote = s->table.n - n_local;

	c->local.ports = calloc(n_local + 1, sizeof(*c->local.ports));
	c->ports = calloc(n_remote + 1, sizeof(*c->ports));
	c->peers = calloc(s->nodes.n, sizeof(*c->peers));
	c->local.nodes = calloc(s->nodes.n, sizeof(*c->local.nodes));
	if (!c->local.nodes || !c->local.ports || !c->ports || !c->peers)
		return -ENOMEM;
	if (sl_cluster_has_fabric(s))
		snprintf(c->local.fabric, sizeof(c->local.fabric), "%s", s->device);
	for (uint32_t i = 0; i < n_local; i++) {
		const struct sl_cluster_port *from = sl_cluster_port(self, i);
		struct sl_local_port *port = &c->local.ports[c->local.n_ports++];

		port->system_port = SL_SYSTEM_PORT(s->node, (uint16_t)from->number);
		memcpy(port->name, from->name, strlen(from->name));
		port->rate_bps = from->rate.frames ? 0 : from->rate.per_s * 8;
	}
	for (uint32_t i = 0; i < s->table.n; i++) {
		struct sl_remote_port *port = &c->ports[c->n_ports];

		if (s->table.port[i] >> 8 == (int)s->node)
			continue;
		port->system_port = s->table.port[i];
		port->voq_plus1 = (uint16_t)(sl_sysport_voq(s->table.index[i]) + 1);
		sl_relay_tap_name(port->system_port, port->name);
		c->n_ports++;
	}
	for (uint32_t i = 0; i < s->nodes.n; i++) {
		const struct sl_cluster_node *node = sl_cluster_node(s, i);
		struct sl_peer *peer = &c->peers[c->n_peers];
		struct sl_prefix *address = &c->local.nodes[c->local.n_nodes];

		if (node->address &&
		    sl_addr_parse(node->address, &address->family, address->addr) == 0) {
			address->len = sl_addr_bits(address->family);
			c->local.n_nodes++;
		}
		if (node->id == s->node)
			continue;
		peer->node = (uint8_t)node->id;
		peer->down_since_ns = sl_now_ns();
		sl_addr_parse(node->address, &peer->family, peer->address);
		c->n_peers++;
	}
	return 0;
}

void sl_cluster_free_lists(struct sl_cluster *c)
{
	for (uint32_t i = 0; i < c->n_peers; i++) {
		sl_assembly_reset(&c->peers[i].assembly);
		free(c->peers[i].entries);
		free(c->peers[i].target);
	}
	free(c->peers);
	free(c->ports);
	sl_local_free(&c->local);
}

struct sl_peer *sl_cluster_peer(struct sl_cluster *c, uint32_t node)
{
	for (uint32_t i = 0; i < c->n_peers; i++)
		if (c->peers[i].node == node)
			return &c->peers[i];
	return NULL;
}

struct sl_remote_port *sl_cluster_port_by_ifindex(const struct sl_cluster *c, uint32_t ifindex)
{
	for (uint32_t i = 0; i < c->n_ports && ifindex; i++)
		if (c->ports[i].ifindex == ifindex)
			return &c->ports[i];
	return NULL;
}

/* How many remote ports come before this system port? */
static uint32_t ports_before(const struct sl_cluster *c, uint32_t system_port)
{
	uint32_t low = 0, high = c->n_ports;

	while (low < high) {
		const uint32_t middle = (low + high) / 2;

		if (c->ports[middle].system_port < system_port)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct sl_remote_port *sl_cluster_port_by_number(const struct sl_cluster *c, uint16_t system_port)
{
	const uint32_t at = ports_before(c, system_port);

	return at < c->n_ports && c->ports[at].system_port == system_port ? &c->ports[at] : NULL;
}

struct sl_remote_port *sl_cluster_ports_of(const struct sl_cluster *c, uint8_t node, uint32_t *n)
{
	const uint32_t first = ports_before(c, (uint32_t)node << 8);

	*n = ports_before(c, ((uint32_t)node + 1) << 8) - first;
	return *n ? &c->ports[first] : NULL;
}
