/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/assembly/reachable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rdma-bridge/bridge/lane.h"
#include "rdma-bridge/bridge/peering.h"
#include "rdma-bridge/bridge/remote_ports.h"
#include "rdma-bridge/bridge/voq_maps.h"
#include "rdma-bridge/express/express_paths.h"
#include "user/lib/log.h"

#define SPARE_PORTS 8 /* of each node, in each lane */

/* --- Ports --- */

static bool has_voqs(const struct rb_bridge *b, const struct sl_cluster_node *node,
		     const struct sl_cluster_port *port)
{
	return node->id != b->settings->cluster.node || sl_cluster_port_is_queued(port);
}

static uint16_t system_port_of(const struct sl_cluster_node *node,
			       const struct sl_cluster_port *port)
{
	return SL_SYSTEM_PORT(node->id, port->number);
}

/* How many ports of the node have VOQs in a lane? */
static uint32_t ports_in_lane(const struct rb_bridge *b, const struct sl_cluster_node *node,
			      const struct rb_lane *lane)
{
	uint32_t n = 0;

	for (uint32_t p = 0; p < node->ports.n; p++) {
		const struct sl_cluster_port *port = sl_cluster_port(node, p);

		n += has_voqs(b, node, port) &&
		     rb_bridge_lane(b, system_port_of(node, port)) == lane;
	}
	return n;
}

static struct rb_bridge_remote *find(const struct rb_bridge *b, uint16_t system_port)
{
	for (uint32_t i = 0; i < b->n_remotes; i++)
		if (b->remotes[i].system_port == system_port)
			return &b->remotes[i];
	return NULL;
}

/* A place for the port's VOQs in their ingress; there is one. */
static uint32_t free_voq(const struct rb_bridge *b, const struct rb_bridge_remote *remote)
{
	const struct rb_lane *lane = rb_bridge_lane(b, remote->system_port);
	bool used[256] = { false };
	uint32_t place = 0;

	for (uint32_t i = 0; i < b->n_remotes; i++) {
		const struct rb_bridge_remote *other = &b->remotes[i];

		if (other != remote && other->system_port >> 8 == remote->system_port >> 8 &&
		    rb_bridge_lane(b, other->system_port) == lane)
			used[other->first_voq / SL_CLASSES] = true;
	}
	while (used[place])
		place++;
	return place * SL_CLASSES;
}

static bool is_express(const struct rb_bridge *b, const struct sl_cluster_node *node,
		       const struct sl_cluster_port *port)
{
	return node->id != b->settings->cluster.node && port->express != SL_EXPRESS_NEVER;
}

static struct rb_bridge_remote *add_port(struct rb_bridge *b, const struct sl_cluster_node *node,
					 const struct sl_cluster_port *port)
{
	struct rb_bridge_remote *remote = find(b, 0);

	if (!remote)
		remote = &b->remotes[b->n_remotes++];
	*remote = (struct rb_bridge_remote){ .system_port = system_port_of(node, port),
					     .own = node->id == b->settings->cluster.node,
					     .express = is_express(b, node, port),
					     .voq_id = SL_VOQS_MAX };
	remote->first_voq = free_voq(b, remote);
	return remote;
}

static void remove_port(struct rb_bridge *b, struct rb_bridge_remote *remote, uint64_t now_ns)
{
	const struct rb_lane *lane = rb_bridge_lane(b, remote->system_port);

	rb_bridge_close_tap(b, remote);
	for (uint32_t c = 0; c < SL_CLASSES; c++)
		rb_ingress_discard_voq(rb_bridge_ingress(b, remote), remote->first_voq + c,
				       lane->chunks, lane->worker->counters);
	rb_rates_remove_remote(lane->worker->rates, remote->system_port);
	rb_bridge_disown_remote(b, remote, now_ns);
	*remote = (struct rb_bridge_remote){ 0 };
}

/* --- Nodes --- */

/* The node without its ports. */
static int add_node(struct rb_bridge *b, const struct sl_cluster_node *node)
{
	const bool own = node->id == b->settings->cluster.node;
	int err = 0;

	for (uint32_t i = 0; i < b->n_lanes && !err; i++) {
		uint32_t n = ports_in_lane(b, node, &b->lanes[i]);
		struct rb_worker *worker = b->lanes[i].worker;

		if ((n || !own) && n + SPARE_PORTS <= 255)
			n += SPARE_PORTS;
		if (!own)
			err = rb_worker_add_peer(worker, (uint8_t)node->id, n * SL_CLASSES,
						 SL_QUEUED_MAX_BYTES);
		else if (n && !worker->peer[node->id])
			err = rb_worker_add_self(worker, n * SL_CLASSES, SL_QUEUED_MAX_BYTES);
	}
	return err;
}

static void remove_node(struct rb_bridge *b, uint8_t node, uint64_t now_ns)
{
	rb_peering_remove(b, node);
	for (uint32_t i = 0; i < b->n_remotes; i++)
		if (b->remotes[i].system_port >> 8 == node)
			remove_port(b, &b->remotes[i], now_ns);
	for (uint32_t i = 0; i < b->n_lanes; i++) {
		rb_express_remove_path(b->lanes[i].express, node);
		rb_worker_remove_peer(b->lanes[i].worker, node);
	}
	sl_info("fabric: node %u has left the configuration", node);
}

int rb_reachable_open(struct rb_bridge *b, uint64_t now_ns)
{
	const struct sl_cluster_settings *cluster = &b->settings->cluster;
	int err = 0;

	b->remotes = calloc(SL_SYSTEM_PORTS_MAX, sizeof(*b->remotes));
	b->places = calloc(SL_VOQS_MAX, sizeof(*b->places));
	if (!b->remotes || !b->places)
		return -ENOMEM;
	for (uint32_t i = 0; i < cluster->nodes.n && !err; i++) {
		const struct sl_cluster_node *node = sl_cluster_node(cluster, i);

		err = add_node(b, node);
		for (uint32_t p = 0; p < node->ports.n && !err; p++)
			if (has_voqs(b, node, sl_cluster_port(node, p)))
				add_port(b, node, sl_cluster_port(node, p));
	}
	if (!err)
		rb_bridge_point_voqs(b, now_ns);
	return err;
}

void rb_reachable_close(struct rb_bridge *b)
{
	free(b->remotes);
	free(b->places);
}

/* --- Changes --- */

static bool is_same_node(const struct sl_cluster_settings *to, const struct sl_cluster_node *node)
{
	const struct sl_cluster_node *other = sl_cluster_find_node(to, node->id);

	return other && strcmp(other->address, node->address) == 0;
}

bool rb_reachable_fit(const struct rb_bridge *b, const struct sl_cluster_settings *to)
{
	for (uint32_t i = 0; i < to->nodes.n; i++) {
		const struct sl_cluster_node *node = sl_cluster_node(to, i);

		for (uint32_t k = 0; k < b->n_lanes; k++) {
			const struct rb_worker_peer *peer = b->lanes[k].worker->peer[node->id];
			const bool own = node->id == to->node;

			if (!peer || (!own && !is_same_node(&b->settings->cluster, node)) ||
			    ports_in_lane(b, node, &b->lanes[k]) * SL_CLASSES <=
				    peer->ingress->n_voqs)
				continue;
			sl_error(
				"cluster: node %u would have %u ports, and there is room for %u of "
				"them until sluice-bridge starts anew",
				node->id, node->ports.n, peer->ingress->n_voqs / SL_CLASSES);
			return false;
		}
	}
	return true;
}

/* Has the port VOQs in the settings `to`? */
static bool is_wanted(const struct rb_bridge *b, const struct sl_cluster_settings *to,
		      uint16_t system_port)
{
	const struct sl_cluster_node *node = sl_cluster_find_node(to, system_port >> 8);

	for (uint32_t p = 0; node && p < node->ports.n; p++)
		if (sl_cluster_port(node, p)->number == (system_port & 0xff))
			return has_voqs(b, node, sl_cluster_port(node, p));
	return false;
}

/* The ports of a node that stays, or has come. True if there are new ones. */
static bool change_ports(struct rb_bridge *b, const struct sl_cluster_node *node, uint64_t now_ns)
{
	bool any = false;

	for (uint32_t p = 0; p < node->ports.n; p++) {
		const struct sl_cluster_port *port = sl_cluster_port(node, p);
		struct rb_bridge_remote *remote = find(b, system_port_of(node, port));
		const bool express = is_express(b, node, port);

		if (!has_voqs(b, node, port))
			continue;
		if (remote) {
			remote->express = express;
			rb_bridge_set_path(b, remote);
			continue;
		}
		rb_bridge_point_remote(b, add_port(b, node, port), now_ns);
		any = true;
	}
	return any;
}

static int take_node(struct rb_bridge *b, const struct sl_cluster_node *node, uint64_t now_ns)
{
	const bool own = node->id == b->settings->cluster.node;
	const bool is_new = !own && !b->lanes[0].worker->peer[node->id];
	int err = is_new || own ? add_node(b, node) : 0;
	bool any;

	if (own) {
		if (!err)
			change_ports(b, node, now_ns);
		return err;
	}
	for (uint32_t i = 0; err && i < b->n_lanes; i++)
		rb_worker_remove_peer(b->lanes[i].worker, (uint8_t)node->id);
	if (err)
		return err;
	any = change_ports(b, node, now_ns);
	if (is_new)
		rb_peering_add(b, node);
	if (is_new)
		sl_info("fabric: node %u has come into the configuration", node->id);
	/* sluiced may have told of the ports before we knew them. */
	if (is_new || any)
		rb_peering_tell(b, (uint8_t)node->id);
	return 0;
}

int rb_reachable_change(struct rb_bridge *b, const struct sl_cluster_settings *to, uint64_t now_ns)
{
	const struct sl_cluster_settings *from = &b->settings->cluster;
	int err = 0;

	for (uint32_t i = 0; i < from->nodes.n; i++) {
		const struct sl_cluster_node *node = sl_cluster_node(from, i);

		if (node->id != from->node && !is_same_node(to, node))
			remove_node(b, (uint8_t)node->id, now_ns);
	}
	for (uint32_t i = 0; i < b->n_remotes; i++)
		if (b->remotes[i].system_port && !is_wanted(b, to, b->remotes[i].system_port))
			remove_port(b, &b->remotes[i], now_ns);
	for (uint32_t i = 0; i < to->nodes.n && !err; i++)
		err = take_node(b, sl_cluster_node(to, i), now_ns);
	for (uint32_t i = 0; i < b->n_lanes; i++)
		rb_express_set_map(b->lanes[i].express, b->maps.express);
	return err;
}
