/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/rehearsal/rehearsed_node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/rehearsal/no_kernel.h"
#include "user/cluster/cluster.h"

#define CHUNKS	      4096
#define CHUNK_BYTES   4096
#define RECEIVES      2048
#define MESSAGE_BYTES 4096
#define SPARE_PORTS   8 /* as assembly/reachable.c */
#define HELLOS	      5 /* in the time after which a peer is down: as assembly/assembly.c */

static const struct rb_keys keys = { 1, { { "a key for the rehearsal", 23 } } };

void rehearsed_gid(uint8_t id, uint8_t gid[16])
{
	const uint8_t mapped[16] = { [10] = 0xff, 0xff, 127, 0, 0, id };

	memcpy(gid, mapped, 16);
}

/* --- What the bridge tells the daemon --- */

static void tell(struct rehearsed_node *node, const struct sl_relay_message *message)
{
	uint8_t bytes[SL_RELAY_MAX_BYTES];

	no_kernel_put(&node->to_daemon, bytes, sl_relay_encode(message, bytes));
}

static void tell_peer(struct rehearsed_node *node, uint8_t id)
{
	const bool up = rb_worker_peer_state(node->worker, id) == RB_PEER_UP;

	tell(node, &(struct sl_relay_message){ .kind = SL_RELAY_PEER,
					       .node = id,
					       .up = up,
					       .epoch = up ? node->worker->peers.peer[id].epoch : 0,
					       .mtu_bytes = up ? REHEARSED_MTU : 0 });
}

/* As bridge/peering.c. */
static void on_peer(void *context, uint8_t id, enum rb_peer_state state)
{
	struct rehearsed_node *node = context;

	if (state == node->told[id])
		return;
	node->told[id] = (uint8_t)state;
	rb_join_want(node->join, id, state != RB_PEER_UP);
	tell_peer(node, id);
}

static void on_announce(void *context, uint8_t id, const uint8_t *bytes, uint32_t n_bytes)
{
	tell(context,
	     &(struct sl_relay_message){
		     .kind = SL_RELAY_RECEIVED, .node = id, .part = bytes, .part_bytes = n_bytes });
}

static void on_introduced(void *context, const struct rb_introduction *peer, uint32_t key)
{
	struct rehearsed_node *node = context;
	struct rb_endpoint remote = { .qpn = peer->qpn,
				      .qkey = peer->qkey,
				      .message_max_bytes = peer->message_max_bytes };

	(void)key;
	if (node->told[peer->node] == RB_PEER_UP)
		rb_join_want(node->join, peer->node, false);
	memcpy(remote.gid, peer->gid, sizeof(remote.gid));
	rb_peers_set_liveness(&node->worker->peers, peer->node, peer->liveness_ms * REHEARSED_MS);
	if (rb_worker_connect(node->worker, peer->node, peer->epoch, &remote, node->worker->now_ns))
		abort();
}

/* --- Opening and closing --- */

static struct rb_endpoint endpoint_of(const struct rehearsed_node *node)
{
	struct rb_endpoint endpoint = { .qpn = 0x100u + node->id,
					.qkey = node->epoch * 7,
					.message_max_bytes = MESSAGE_BYTES };

	rehearsed_gid(node->id, endpoint.gid);
	return endpoint;
}

static int open_worker(struct rehearsed_node *node, struct rb_mem_network *network)
{
	const struct rb_endpoint self = endpoint_of(node);
	struct rb_worker_config config = {
		.node = node->id,
		.epoch = node->epoch,
		.dead_after_ns = node->settings.liveness_ms * REHEARSED_MS,
		.hello_interval_ns = node->settings.liveness_ms * REHEARSED_MS / HELLOS,
		.degree = node->settings.bridge.packing,
		.receive_target = RECEIVES,
	};
	int err;

	/* Memory that nobody touches is none. */
	node->area = mmap(NULL, (size_t)CHUNKS * CHUNK_BYTES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (node->area == MAP_FAILED) {
		node->area = NULL;
		return -ENOMEM;
	}
	err = rb_chunks_create(node->area, 0, CHUNKS, CHUNK_BYTES, &node->chunks);
	if (!err)
		err = rb_mem_open(network, &self, node->chunks, RECEIVES, &node->transport);
	config.transport = node->transport;
	if (!err)
		err = rb_worker_create(&config, &node->worker);
	if (err)
		return err;
	node->worker->event_context = node;
	node->worker->on_peer = on_peer;
	node->worker->on_announce = on_announce;
	return 0;
}

static int open_join(struct rehearsed_node *node)
{
	const struct rb_endpoint self = endpoint_of(node);
	struct rb_join_config config = { .port = REHEARSED_JOIN,
					 .keys = &keys,
					 .self = { .node = node->id,
						   .transport = RB_TRANSPORT_UD,
						   .epoch = node->epoch,
						   .qpn = self.qpn,
						   .qkey = self.qkey,
						   .message_max_bytes = MESSAGE_BYTES,
						   .liveness_ms = node->settings.liveness_ms,
						   .versions = rb_exchange_versions },
					 .introduced = on_introduced,
					 .context = node };

	memcpy(config.self.gid, self.gid, sizeof(config.self.gid));
	return rb_join_open(&config, &node->join);
}

int rehearsed_bridge_open(struct rehearsed_node *node, const struct sl_cluster_settings *file,
			  struct rb_mem_network *network, uint32_t epoch)
{
	int err;

	node->settings = *file;
	node->settings.node = node->id;
	node->epoch = epoch;
	err = open_worker(node, network);
	if (!err)
		err = open_join(node);
	node->runs = !err;
	no_kernel_set_off(node->id, false);
	return err;
}

int rehearsed_bridge_add_peers(struct rehearsed_node *node, uint64_t now_ns)
{
	int err = 0;

	for (uint32_t i = 0; i < node->settings.nodes.n && !err; i++) {
		const uint8_t id = (uint8_t)sl_cluster_node(&node->settings, i)->id;
		uint8_t gid[16];

		if (id == node->id)
			continue;
		err = rb_worker_add_peer(node->worker, id,
					 (REHEARSED_PORTS + SPARE_PORTS) * SL_CLASSES,
					 REHEARSED_MTU + 14);
		rehearsed_gid(id, gid);
		rb_join_add(node->join, id, gid);
	}
	if (!err)
		rb_worker_tick(node->worker, now_ns);
	return err;
}

/* --- The daemon's router, which does nothing --- */

static void nothing(void *ctx)
{
	(void)ctx;
}

static void no_claim(void *ctx, uint8_t id, enum sl_claim_kind kind,
		     const struct sl_claim_record *record)
{
	(void)ctx;
	(void)id;
	(void)kind;
	(void)record;
}

static const struct sl_mirror *no_mirror(void *ctx)
{
	(void)ctx;
	return NULL;
}

static const struct sl_cluster_ops router = {
	.ports_changed = nothing,
	.cuts_changed = nothing,
	.claim = no_claim,
	.bridge_connected = nothing,
	.mirror = no_mirror,
};

int rehearsed_daemon_open(struct rehearsed_node *node)
{
	node->relay_fd = eventfd(0, EFD_CLOEXEC);
	node->event_fd = eventfd(0, EFD_CLOEXEC);
	if (node->relay_fd < 0 || node->event_fd < 0)
		return -errno;
	for (uint8_t p = 1; p <= REHEARSED_PORTS; p++)
		node->port_up[p] = true;
	node->event = true; /* that of its start */
	no_kernel_opens(node);
	return sl_cluster_open(&node->settings, &router, NULL, &node->cluster);
}

void rehearsed_node_close(struct rehearsed_node *node)
{
	if (node->runs)
		no_kernel_set_off(node->id, true);
	node->runs = false;
	sl_cluster_close(node->cluster);
	rb_join_close(node->join);
	rb_worker_destroy(node->worker);
	if (node->transport)
		node->transport->ops->close(node->transport);
	rb_chunks_destroy(node->chunks);
	if (node->area)
		munmap(node->area, (size_t)CHUNKS * CHUNK_BYTES);
	if (node->relay_fd > 0)
		close(node->relay_fd);
	if (node->event_fd > 0)
		close(node->event_fd);
	free(node->to_daemon.bytes);
	free(node->to_bridge.bytes);
	*node = (struct rehearsed_node){ .id = node->id };
}

/* --- Turns --- */

static void send_part(struct rehearsed_node *node, const struct sl_relay_message *message,
		      uint64_t now_ns)
{
	struct rb_worker *worker = node->worker;

	for (uint32_t i = 0; i < worker->n_nodes; i++) {
		const uint8_t id = worker->nodes[i];

		if ((message->node == 0 || message->node == id) &&
		    rb_worker_peer_state(worker, id) == RB_PEER_UP)
			rb_worker_announce(worker, id, message->part, (uint32_t)message->part_bytes,
					   now_ns);
	}
}

static void serve_daemon(struct rehearsed_node *node, uint64_t now_ns)
{
	uint8_t bytes[SL_RELAY_MAX_BYTES];
	struct sl_relay_message message;
	size_t n;

	for (uint32_t i = 0; node->connected && i < node->worker->n_nodes; i++)
		tell_peer(node, node->worker->nodes[i]);
	node->connected = false;
	while ((n = no_kernel_take(&node->to_bridge, bytes)))
		if (!sl_relay_parse(bytes, n, &message) && message.kind == SL_RELAY_SEND)
			send_part(node, &message, now_ns);
}

static uint64_t judged(const struct rb_worker *worker)
{
	uint64_t sum = 0;

	for (int v = 0; v < RB_VERDICT_COUNT; v++)
		sum += worker->verdicts[v];
	return sum;
}

/* Rounds, until all messages that have arrived are judged. */
void rehearsed_bridge_turn(struct rehearsed_node *node, uint64_t now_ns)
{
	uint64_t before;

	do {
		before = judged(node->worker);
		rb_worker_round(node->worker, now_ns);
	} while (judged(node->worker) != before);
	serve_daemon(node, now_ns);
	rb_worker_tick(node->worker, now_ns);
}

void rehearsed_join_turn(struct rehearsed_node *node, uint64_t now_ns)
{
	rb_join_poll(node->join, now_ns);
}

int rehearsed_daemon_turn(struct rehearsed_node *node, uint64_t now_ns)
{
	const struct rehearsed_relay *relay = &node->to_daemon;

	if (relay->first == relay->n_bytes && !node->event && now_ns < node->cluster->armed_ns)
		return 0;
	no_kernel_opens(node);
	return sl_cluster_poll(node->cluster);
}

void rehearsed_change(struct rehearsed_node *node)
{
	node->port_up[1] = false;
	node->further_hosts++;
	node->changed = node->event = true;
}

/* --- What is known --- */

static uint32_t entries_of(const struct rehearsed_node *node)
{
	/* Two families: a prefix, and an address, which the kernel may refuse, and hosts. */
	return REHEARSED_PORTS * (2 + 2 + REHEARSED_HOSTS) + node->further_hosts;
}

bool rehearsed_knows(const struct rehearsed_node *node, const struct rehearsed_node *other)
{
	const struct sl_peer *peer = sl_cluster_peer(node->cluster, other->id);

	if (rb_worker_peer_state(node->worker, other->id) != RB_PEER_UP || !peer->up ||
	    peer->silent || !peer->assembly.complete || peer->changing ||
	    peer->epoch != other->epoch ||
	    peer->assembly.generation != other->cluster->generation ||
	    peer->n_entries != entries_of(other))
		return false;
	for (uint8_t p = 1; p <= REHEARSED_PORTS; p++) {
		const struct sl_remote_port *port =
			sl_cluster_port_by_number(node->cluster, SL_SYSTEM_PORT(other->id, p));

		if (!port->known || port->up != other->port_up[p])
			return false;
	}
	return true;
}

bool rehearsed_misses(const struct rehearsed_node *node, const struct rehearsed_node *other)
{
	const struct sl_peer *peer = sl_cluster_peer(node->cluster, other->id);

	return rb_worker_peer_state(node->worker, other->id) == RB_PEER_DOWN && !peer->up &&
	       peer->silent;
}
