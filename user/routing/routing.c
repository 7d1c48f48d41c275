/* SPDX-License-Identifier: BSD-2-Clause */
#include <netinet/in.h>
#include <string.h>

#include "user/routing/routing.h"

void sl_routing_choose_reflectors(struct sl_routing *routing)
{
	const struct sl_cluster_settings *cluster = &routing->settings->cluster;
	uint32_t chosen = 0;

	if (routing->has_reflectors || cluster->nodes.n <= SL_ROUTING_MESH_MAX)
		return;
	routing->has_reflectors = true;
	/* By id, so that the order of `nodes` does not matter. */
	for (uint32_t id = 1; id < SL_ROUTING_NODES && chosen < SL_ROUTING_REFLECTORS; id++) {
		if (!sl_cluster_find_node(cluster, id))
			continue;
		routing->reflects[id] = true;
		chosen++;
	}
}

enum sl_routing_session sl_routing_session(const struct sl_routing *routing,
					   const struct sl_cluster_node *other)
{
	const bool here = routing->reflects[routing->self->id],
		   there = routing->reflects[other->id];

	if (other == routing->self)
		return SL_ROUTING_NONE;
	if (!routing->has_reflectors || (here && there))
		return SL_ROUTING_MESH;
	if (here)
		return SL_ROUTING_CLIENT;
	return there ? SL_ROUTING_REFLECTOR : SL_ROUTING_NONE;
}

bool sl_routing_has_session(const struct sl_routing *routing, enum sl_routing_session session)
{
	const struct sl_cluster_settings *cluster = &routing->settings->cluster;

	for (uint32_t i = 0; i < cluster->nodes.n; i++)
		if (sl_routing_session(routing, sl_cluster_node(cluster, i)) == session)
			return true;
	return false;
}

static void each_remote_of_port(const struct sl_cluster_node *node,
				const struct sl_cluster_port *port, uint8_t family, FILE *out,
				sl_routing_remote_fn print)
{
	struct sl_port_address addresses[SL_PORT_ADDRESSES_MAX];
	char netdev[IF_NAMESIZE], text[SL_PREFIX_STRLEN];
	uint32_t n;

	snprintf(netdev, sizeof(netdev), "n%up%u", node->id, port->number);
	sl_port_addresses_parse(port->addresses, addresses, &n);
	for (uint32_t a = 0; a < n; a++) {
		struct sl_prefix prefix = { .family = addresses[a].family,
					    .len = addresses[a].len };

		if (prefix.family != family)
			continue;
		memcpy(prefix.addr, addresses[a].addr, sizeof(prefix.addr));
		sl_addr_mask(prefix.addr, prefix.len);
		print(out, sl_prefix_format(&prefix, text), netdev);
	}
}

void sl_routing_each_remote(const struct sl_routing *routing, uint8_t family, FILE *out,
			    sl_routing_remote_fn print)
{
	const struct sl_cluster_settings *cluster = &routing->settings->cluster;

	for (uint32_t i = 0; i < cluster->nodes.n; i++) {
		const struct sl_cluster_node *node = sl_cluster_node(cluster, i);

		for (uint32_t p = 0; node != routing->self && p < node->ports.n; p++)
			each_remote_of_port(node, sl_cluster_port(node, p), family, out, print);
	}
}

bool sl_routing_source(const struct sl_routing *routing, uint8_t family,
		       char text[SL_PREFIX_STRLEN])
{
	struct sl_port_address addresses[SL_PORT_ADDRESSES_MAX];
	uint32_t n;

	for (uint32_t p = 0; p < routing->self->ports.n; p++) {
		sl_port_addresses_parse(sl_cluster_port(routing->self, p)->addresses, addresses,
					&n);
		for (uint32_t a = 0; a < n; a++) {
			if (addresses[a].family != family)
				continue;
			sl_addr_format(family, addresses[a].addr, text);
			return true;
		}
	}
	return false;
}

void sl_routing_router_id(const struct sl_routing *routing, char text[SL_PREFIX_STRLEN])
{
	uint8_t family, addr[16];

	if (!sl_addr_parse(routing->self->address, &family, addr) && family == AF_INET)
		snprintf(text, SL_PREFIX_STRLEN, "%s", routing->self->address);
	else
		snprintf(text, SL_PREFIX_STRLEN, "0.0.0.%u", routing->self->id);
}

void sl_routing_print_head(const struct sl_routing *routing, FILE *out, const char *sign,
			   const char *daemon, const char *command)
{
	const uint32_t nodes = routing->settings->cluster.nodes.n;

	fprintf(out,
		"%s %s on node %u of a cluster of %u, from %s by `sluice cluster routing %s`.\n"
		"%s Make it again when a node, a port or an address changes. What is yours (neighbours\n"
		"%s outside: see the end) belongs in a file of its own, to be put after this one.\n",
		sign, daemon, routing->self->id, nodes, routing->settings->file_name, command, sign,
		sign);
}
