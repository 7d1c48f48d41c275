/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/bridge/peering.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <openssl/evp.h>

#include "rdma-bridge/bridge/fabric.h"
#include "rdma-bridge/bridge/lane.h"
#include "rdma-bridge/bridge/lane_threads.h"
#include "rdma-bridge/bridge/ports.h"
#include "rdma-bridge/bridge/remote_ports.h"
#include "rdma-bridge/express/express_paths.h"
#include "rdma-bridge/ipc/relay_server.h"
#include "rdma-bridge/join/join.h"
#include "rdma-bridge/transport/neighbour.h"
#include "rdma-bridge/transport/roce.h"
#include "user/config/sysport.h"
#include "user/lib/log.h"

/* --- Keys --- */

int rb_peering_read_keys(struct rb_bridge *b)
{
	const char *path = b->settings->cluster.key_file;
	char also[PATH_MAX];
	int err = -ENAMETOOLONG;

	if (snprintf(also, sizeof(also), "%s" SL_KEY_ALSO, path) < (int)sizeof(also))
		err = rb_keys_read(path, also, &b->keys);
	if (err)
		sl_error("cluster: key file \"%s\", or with " SL_KEY_ALSO " at its end: %s", path,
			 err == -EACCES	  ? "others may read it, or we may not: chmod 600"
			 : err == -EINVAL ? "a key has 16 to 1024 bytes"
					  : strerror(-err));
	for (uint32_t i = 0; !err && b->join && i < b->lanes[0].worker->n_nodes; i++)
		rb_join_want(b->join, b->lanes[0].worker->nodes[i], true);
	return err;
}

/* --- Peers --- */

static uint8_t express_takes(const struct sl_cluster_settings *cluster)
{
	if (cluster->transport == SL_TRANSPORT_VERBS_UD)
		return RB_EXPRESS_TAKES_DATAGRAMS;
	return sl_cluster_has_express(cluster) ? RB_EXPRESS_TAKES : 0;
}

static int hash_table(struct rb_bridge *b)
{
	uint8_t table[SL_SYSPORT_BYTES_MAX];
	unsigned int len = RB_TABLE_HASH_BYTES;

	return EVP_Digest(table, sl_sysport_encode(&b->settings->cluster.table, table),
			  b->table_hash, &len, EVP_sha256(), NULL) == 1
		       ? 0
		       : -EIO;
}

/* The introduction of this node. */
static void introduce_ourselves(const struct rb_bridge *b, struct rb_introduction *self)
{
	const struct sl_cluster_settings *cluster = &b->settings->cluster;
	struct rb_endpoint endpoint;

	b->lanes[0].transport->ops->endpoint(b->lanes[0].transport, &endpoint);
	*self = (struct rb_introduction){
		.node = (uint8_t)cluster->node,
		.transport = cluster->transport == SL_TRANSPORT_VERBS_RC ? RB_TRANSPORT_RC
									 : RB_TRANSPORT_UD,
		.pkey = RB_ROCE_PKEY_DEFAULT,
		.epoch = b->epoch,
		.qpn = endpoint.qpn,
		.qkey = endpoint.qkey,
		.message_max_bytes = endpoint.message_max_bytes,
		.further_qps = b->n_lanes - 1,
		.liveness_ms = cluster->liveness_ms,
		.express_sends = sl_cluster_has_express(cluster) ? cluster->express_check : 0,
		.express_takes = express_takes(cluster),
		.hop_limit = endpoint.hop_limit,
		.versions = rb_exchange_versions,
	};
	memcpy(self->gid, endpoint.gid, sizeof(self->gid));
	memcpy(self->table_hash, b->table_hash, sizeof(self->table_hash));
}

static void note_meeting(struct rb_bridge *b, const struct rb_introduction *peer, uint32_t key)
{
	struct rb_bridge_meeting *met = &b->met[peer->node];

	met->valid = true;
	met->version = peer->versions.oldest;
	rb_key_name(&b->keys.key[key], met->key_name);
	memcpy(met->table_hash, peer->table_hash, sizeof(met->table_hash));
}

static void on_introduced(void *context, const struct rb_introduction *peer, uint32_t key)
{
	struct rb_bridge *b = context;
	bool known = b->lanes[0].worker->peers.peer[peer->node].epoch == peer->epoch;
	uint32_t needed = rb_fabric_message_needed_bytes(b);
	struct rb_endpoint remote = { .qpn = peer->qpn,
				      .qkey = peer->qkey,
				      .message_max_bytes = peer->message_max_bytes,
				      .hop_limit = peer->hop_limit };
	const uint32_t ours_ms = b->settings->cluster.liveness_ms;
	int err = 0;

	note_meeting(b, peer, key);
	if (b->told[peer->node] == RB_PEER_UP)
		rb_join_want(b->join, peer->node, false);
	memcpy(remote.gid, peer->gid, sizeof(remote.gid));
	/* An RDMA device resolves addresses by itself. */
	if (b->settings->cluster.transport == SL_TRANSPORT_ROCE_XDP)
		err = rb_neighbour_mac(b->fabric.ifindex, peer->gid, remote.mac);
	rb_bridge_halt(b);
	for (uint32_t i = 0; i < b->n_lanes && !err; i++, remote.qpn++) {
		const struct rb_worker_peer *to = b->lanes[i].worker->peer[peer->node];
		bool same = known && to->path && memcmp(&to->remote, &remote, sizeof(remote)) == 0;

		if (!same)
			rb_express_close_path(b->lanes[i].express, peer->node);
		rb_peers_set_liveness(&b->lanes[i].worker->peers, peer->node,
				      peer->liveness_ms * 1000000ULL);
		err = rb_worker_connect(b->lanes[i].worker, peer->node, peer->epoch, &remote,
					b->lanes[0].worker->now_ns);
		if (!err && !same)
			rb_express_open_path(b->lanes[i].express, peer->node, peer->epoch,
					     peer->express_sends, peer->express_takes, &remote);
	}
	rb_bridge_release(b);
	if (!known && peer->liveness_ms != ours_ms)
		sl_warning("fabric: node %u has liveness_ms %u, ours is %u: both use the larger "
			   "one",
			   peer->node, peer->liveness_ms, ours_ms);
	if (!known && memcmp(peer->table_hash, b->table_hash, sizeof(b->table_hash)) != 0)
		sl_warning("fabric: node %u knows of other system ports than we do: `nodes` of the "
			   "two configurations differ; of the ports that only one knows, the other "
			   "makes no use",
			   peer->node);
	if (err)
		sl_warning("fabric: met node %u, but there is no path to it: %s%s", peer->node,
			   strerror(-err),
			   err == -ENOENT ? " (its address is not on the fabric's link)" : "");
	else if (!known && peer->message_max_bytes < needed)
		sl_warning("fabric: node %u takes messages of up to %u bytes; a full frame of our "
			   "ports needs %u: its ports get a smaller MTU",
			   peer->node, peer->message_max_bytes, needed);
}

static void tell_peer(struct rb_bridge *b, uint8_t node)
{
	const bool up = rb_bridge_peer_state(b, node) == RB_PEER_UP;

	rb_relay_tell_peer(b->relay, node, up, b->lanes[0].worker->peers.peer[node].epoch,
			   up ? rb_fabric_mtu_to(b, node) : 0);
}

void rb_peering_update(struct rb_bridge *b, uint8_t node)
{
	enum rb_peer_state state = rb_bridge_peer_state(b, node);

	if (state == b->told[node])
		return;
	b->told[node] = (uint8_t)state;
	sl_event("peer",
		 SL_LOG_FIELDS({ "node", NULL, node }, { "state", rb_peer_state_name(state), 0 }),
		 "fabric: node %u is %s", node, rb_peer_state_name(state));
	rb_join_want(b->join, node, state != RB_PEER_UP);
	rb_bridge_set_carriers(b, node);
	tell_peer(b, node);
}

static void on_peer(void *context, uint8_t node, enum rb_peer_state state)
{
	(void)state;
	rb_peering_update(context, node);
}

static void on_announce(void *context, uint8_t node, const uint8_t *part, uint32_t part_bytes)
{
	const struct rb_bridge *b = context;

	rb_relay_tell_announced(b->relay, node, part, part_bytes);
}

/* --- What sluiced does --- */

static void on_connected(void *context)
{
	struct rb_bridge *b = context;

	rb_bridge_forget_flows(b);
	for (uint32_t i = 0; i < b->lanes[0].worker->n_nodes; i++)
		tell_peer(b, b->lanes[0].worker->nodes[i]);
}

static void on_flow(void *context, uint16_t system_port, const struct sl_flow_key *flow,
		    uint32_t weight)
{
	rb_bridge_reserve_flow(context, system_port, flow, weight);
}

static void on_port(void *context, uint16_t system_port, bool up, bool gone)
{
	rb_bridge_remote_port_changed(context, system_port, up, gone);
}

static void on_send(void *context, uint8_t to, const uint8_t *bytes, uint32_t n_bytes,
		    uint64_t now_ns)
{
	const struct rb_bridge *b = context;
	struct rb_worker *worker = b->lanes[0].worker;

	/* sluiced repeats within a second what cannot go now. */
	for (uint32_t i = 0; i < worker->n_nodes; i++) {
		uint8_t node = worker->nodes[i];

		if ((to == 0 || to == node) && rb_worker_peer_state(worker, node) == RB_PEER_UP)
			rb_worker_announce(worker, node, bytes, n_bytes, now_ns);
	}
}

static const struct rb_relay_ops relay_ops = {
	.connected = on_connected,
	.port = on_port,
	.flow = on_flow,
	.announce = on_send,
};

/* --- Opening and closing --- */

static int open_join(struct rb_bridge *b)
{
	const struct sl_cluster_settings *cluster = &b->settings->cluster;
	struct rb_join_config config = {
		.netdev = cluster->device,
		.keys = &b->keys,
		.introduced = on_introduced,
		.context = b,
	};
	int err = hash_table(b);

	introduce_ourselves(b, &config.self);
	if (!err)
		err = rb_join_open(&config, &b->join);
	if (err) {
		sl_error("fabric: cannot listen at %s, TCP port %u: %s",
			 sl_cluster_find_node(cluster, cluster->node)->address, RB_JOIN_PORT,
			 strerror(-err));
		return err;
	}
	for (uint32_t i = 0; i < cluster->nodes.n; i++)
		if (sl_cluster_node(cluster, i)->id != cluster->node)
			rb_peering_add(b, sl_cluster_node(cluster, i));
	return 0;
}

void rb_peering_add(struct rb_bridge *b, const struct sl_cluster_node *node)
{
	uint8_t gid[16];

	if (rb_fabric_gid(node->address, gid) == 0)
		rb_join_add(b->join, (uint8_t)node->id, gid);
}

void rb_peering_remove(struct rb_bridge *b, uint8_t node)
{
	rb_join_remove(b->join, node);
	if (b->told[node] == RB_PEER_UP)
		rb_relay_tell_peer(b->relay, node, false, 0, 0);
	b->told[node] = RB_PEER_DOWN;
	b->met[node] = (struct rb_bridge_meeting){ 0 };
}

int rb_peering_table_changed(struct rb_bridge *b)
{
	struct rb_introduction self;
	int err = hash_table(b);

	introduce_ourselves(b, &self);
	if (!err)
		rb_join_set_self(b->join, &self);
	return err;
}

void rb_peering_tell(struct rb_bridge *b, uint8_t node)
{
	tell_peer(b, node);
}

int rb_peering_open(struct rb_bridge *b)
{
	struct rb_worker *first = b->lanes[0].worker;
	int err;

	first->event_context = b;
	first->on_peer = on_peer;
	first->on_announce = on_announce;
	err = sl_cluster_has_fabric(&b->settings->cluster) ? open_join(b) : 0;
	if (err)
		return err;
	return rb_relay_open(b->settings->cluster.socket, b->sockets_fd, &relay_ops, b, &b->relay);
}

void rb_peering_close(struct rb_bridge *b)
{
	rb_relay_close(b->relay);
	rb_join_close(b->join);
}
