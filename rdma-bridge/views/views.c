/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/views/views.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>

#include "rdma-bridge/bridge/lane.h"
#include "rdma-bridge/bridge/lane_threads.h"
#include "rdma-bridge/bridge/voq_maps.h"
#include "rdma-bridge/join/join.h"
#include "rdma-bridge/port/netdev.h"
#include "rdma-bridge/transport/roce_xdp.h"
#include "rdma-bridge/views/view_rates.h"
#include "rdma-bridge/transport/verbs/verbs.h"
#include "user/datapath/counters.h"
#include "user/ipc/control_socket.h"
#include "user/ipc/relay.h"

#define SECOND_NS 1000000000ULL
#define NS_PER_MS 1000000ULL

struct rb_views {
	struct sl_ctl *ctl; /* owned */
	uint64_t tick_ns;
};

/* A list of counters as an object, by their names. */
static json_t *by_name(const uint64_t *values, uint32_t n, const char *(*name)(uint32_t))
{
	json_t *object = json_object();

	for (uint32_t i = 0; i < n; i++)
		json_object_set_new(object, name(i), json_integer(values[i]));
	return object;
}

static const char *verdict_name(uint32_t i)
{
	return rb_verdict_name(i);
}

static const char *roce_name(uint32_t i)
{
	return rb_roce_verdict_name(i);
}

static const char *refusal_name(uint32_t i)
{
	return rb_refusal_name(i);
}

/* A frame counter, summed over all workers. */
static struct sl_counter count(const struct rb_bridge *b, enum rb_frame_counter which)
{
	struct sl_counter sum = { 0 };

	for (uint32_t k = 0; k < b->n_lanes; k++) {
		sum.packets += b->lanes[k].worker->counters[which].packets;
		sum.bytes += b->lanes[k].worker->counters[which].bytes;
	}
	return sum;
}

static json_t *worker_row(const struct rb_lane *lane)
{
	const struct sl_bridge_settings *settings = &lane->bridge->settings->cluster.bridge;
	const struct rb_worker *w = lane->worker;

	return json_pack(
		"{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "worker", (int)lane->index, "core",
		settings->cores_text ? json_integer(settings->cores[lane->index]) : json_null(),
		"rounds", json_integer(w->rounds), "idle_rounds", json_integer(w->idle_rounds),
		"longest_round_us", json_integer(lane->longest_ns / 1000), "chunks_free",
		json_integer(lane->chunks->n_free), "sent",
		json_integer(w->counters[RB_COUNT_SENT].packets), "transmitted",
		json_integer(w->counters[RB_COUNT_TRANSMITTED].packets));
}

static void show_status(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const struct rb_bridge *b = ctx;
	json_t *chunks = json_object(), *frames = json_object(), *workers = json_array();
	uint64_t violations = 0, rounds = 0, idle_rounds = 0, longest_ns = 0;

	(void)request;
	for (uint32_t i = 0; i < RB_OWNER_COUNT; i++) {
		uint64_t n = 0;

		for (uint32_t k = 0; k < b->n_lanes; k++)
			n += b->lanes[k].chunks->count[i];
		json_object_set_new(chunks, rb_owner_name(i), json_integer(n));
	}
	for (uint32_t i = 0; i < RB_COUNT_COUNT; i++) {
		struct sl_counter sum = count(b, i);

		json_object_set_new(frames, rb_frame_counter_name(i),
				    json_pack("{s:o, s:o}", "packets", json_integer(sum.packets),
					      "bytes", json_integer(sum.bytes)));
	}
	for (uint32_t k = 0; k < b->n_lanes; k++) {
		const struct rb_lane *lane = &b->lanes[k];

		violations += lane->chunks->violations;
		rounds += lane->worker->rounds;
		idle_rounds += lane->worker->idle_rounds;
		if (lane->longest_ns > longest_ns)
			longest_ns = lane->longest_ns;
		json_array_append_new(workers, worker_row(lane));
	}
	sl_ctl_put(answer, json_pack("{s:i, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "node",
				     (int)b->settings->cluster.node, "epoch",
				     json_integer(b->epoch), "maps", b->maps.voq != NULL, "chunks",
				     chunks, "violations", json_integer(violations), "rounds",
				     json_integer(rounds), "idle_rounds", json_integer(idle_rounds),
				     "longest_round_us", json_integer(longest_ns / 1000), "frames",
				     frames, "workers", workers));
}

/* Sequence numbers of a peer, over all its streams. */
static void add_seqs(struct rb_seq *sum, const struct rb_peer *peer)
{
	for (int s = 0; s < RB_STREAMS_MAX; s++) {
		sum->received += peer->seq[s].received;
		sum->lost += peer->seq[s].lost;
		sum->late += peer->seq[s].late;
		sum->duplicate += peer->seq[s].duplicate;
		sum->stale += peer->seq[s].stale;
	}
}

static json_t *ms_since(uint64_t then_ns, uint64_t now_ns)
{
	if (then_ns == 0)
		return json_null();
	return json_integer(now_ns > then_ns ? (now_ns - then_ns) / NS_PER_MS : 0);
}

static void show_peers(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const struct rb_bridge *b = ctx;
	const struct rb_lane *first = &b->lanes[0];

	(void)request;
	for (uint32_t i = 0; i < first->worker->n_nodes; i++) {
		const uint8_t node = first->worker->nodes[i];
		const struct rb_worker_peer *peer = first->worker->peer[node];
		const struct rb_peer *state = &first->worker->peers.peer[node];
		uint64_t data = 0, data_bytes = 0, hellos = 0, refused = 0;
		struct rb_seq sum = { 0 };
		json_t *row;

		/* A peer has the same life in all lanes; its state is the worst of them. */
		for (uint32_t k = 0; k < b->n_lanes; k++) {
			const struct rb_worker *w = b->lanes[k].worker;

			add_seqs(&sum, &w->peers.peer[node]);
			data += w->peer[node]->sent[RB_MSG_DATA];
			data_bytes += w->peer[node]->sent_bytes[RB_MSG_DATA];
			hellos += w->peer[node]->sent[RB_MSG_HELLO];
			refused += w->peer[node]->send_refused;
		}
		row = json_pack(
			"{s:i, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "node", peer->node, "address",
			sl_cluster_find_node(&b->settings->cluster, peer->node)->address, "state",
			rb_peer_state_name(rb_bridge_peer_state(b, node)), "since_ms",
			ms_since(peer->since_ns, first->worker->now_ns), "epoch",
			state->introduced ? json_integer(state->epoch) : json_null(), "heard_ms",
			ms_since(state->heard_ns, first->worker->now_ns), "ups",
			json_integer(state->ups), "downs", json_integer(state->downs));
		json_object_update_new(
			row,
			json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "data_sent",
				  json_integer(data), "data_bytes_sent", json_integer(data_bytes),
				  "hellos_sent", json_integer(hellos), "send_refused",
				  json_integer(refused), "received", json_integer(sum.received),
				  "lost", json_integer(sum.lost), "late", json_integer(sum.late),
				  "duplicate", json_integer(sum.duplicate), "stale",
				  json_integer(sum.stale)));
		if (sl_ctl_put(answer, row))
			return;
	}
}

/* How many frames the data messages held that we sent: {least, most, messages}, and the mean. */
static void put_packing(json_t *row, const struct rb_bridge *b)
{
	uint64_t frames = count(b, RB_COUNT_SENT).packets, messages = 0;
	json_t *classes = json_array();

	for (uint32_t i = 0; i < RB_PACKED_CLASSES; i++) {
		uint64_t packed = 0;

		for (uint32_t k = 0; k < b->n_lanes; k++)
			packed += b->lanes[k].worker->packed[i];
		messages += packed;
		json_array_append_new(classes,
				      json_pack("{s:i, s:i, s:o}", "least", 1 << i, "most",
						(2 << i) - 1, "messages", json_integer(packed)));
	}
	json_object_set_new(row, "packing_limit", json_integer(b->lanes[0].worker->config.degree));
	json_object_set_new(row, "packing_mean",
			    messages ? json_real((double)frames / (double)messages) : json_null());
	json_object_set_new(row, "packing", classes);
	json_object_set_new(row, "data_messages_sent", json_integer(messages));
	json_object_set_new(row, "frames_sent", json_integer(frames));
	json_object_set_new(row, "frames_received",
			    json_integer(count(b, RB_COUNT_EGRESS).packets));
}

static void put_sequences(json_t *row, const struct rb_bridge *b)
{
	struct rb_seq sum = { 0 };

	for (uint32_t k = 0; k < b->n_lanes; k++) {
		const struct rb_worker *w = b->lanes[k].worker;

		for (uint32_t i = 0; i < w->n_nodes; i++)
			add_seqs(&sum, &w->peers.peer[w->nodes[i]]);
	}
	json_object_set_new(row, "lost", json_integer(sum.lost));
	json_object_set_new(row, "late", json_integer(sum.late));
	json_object_set_new(row, "duplicate", json_integer(sum.duplicate));
	json_object_set_new(row, "stale", json_integer(sum.stale));
}

static const char *completion_name(uint32_t i)
{
	return rb_verbs_status_name(i);
}

static void put_roce_xdp(json_t *row, const struct rb_bridge *b)
{
	struct rb_roce_xdp_info info, other;

	rb_roce_xdp_info(b->lanes[0].transport, &info);
	for (uint32_t k = 1; k < b->n_lanes; k++) {
		rb_roce_xdp_info(b->lanes[k].transport, &other);
		for (uint32_t i = 0; i < RB_ROCE_VERDICT_COUNT; i++)
			info.verdicts[i] += other.verdicts[i];
	}
	json_object_update_new(row,
			       json_pack("{s:i, s:b, s:b, s:o}", "queues", info.queues, "zero_copy",
					 info.zero_copy, "native_xdp", info.native_xdp, "frames",
					 by_name(info.verdicts, RB_ROCE_VERDICT_COUNT, roce_name)));
}

static void put_verbs(json_t *row, struct rb_transport *t)
{
	struct rb_verbs_info info;

	rb_verbs_info(t, &info);
	json_object_update_new(
		row,
		json_pack("{s:s, s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "rdma_device",
			  info.device, "path_mtu_bytes", info.path_mtu_bytes, "gather_max",
			  info.send_pieces_max, "inline_max_bytes", info.inline_max_bytes,
			  "queue_pairs", info.queue_pairs, "region_address",
			  json_integer(info.region_address), "region_bytes",
			  json_integer(info.region_bytes), "recoveries",
			  json_integer(info.recoveries), "no_credit", json_integer(info.no_credit),
			  "not_expected", json_integer(info.not_expected), "completions",
			  by_name(info.statuses, RB_VERBS_STATUS_COUNT, completion_name)));
}

/* The fabric's device, and the memory. */
static json_t *fabric_device(const struct rb_bridge *b)
{
	const struct sl_cluster_settings *cluster = &b->settings->cluster;
	struct rb_endpoint endpoint;
	struct rb_transport *transport = b->lanes[0].transport;
	struct rb_netdev netdev = { 0 };
	uint64_t chunks = 0, chunks_free = 0;
	json_t *row;

	for (uint32_t k = 0; k < b->n_lanes; k++) {
		chunks += b->lanes[k].chunks->n;
		chunks_free += b->lanes[k].chunks->n_free;
	}
	transport->ops->endpoint(transport, &endpoint);
	rb_netdev_query(cluster->device, &netdev);
	/* memory_address: of the area that is the UMEM of every AF_XDP socket. */
	row = json_pack("{s:i, s:s, s:s, s:s, s:i, s:i, s:s, s:i, s:o, s:o, s:o, s:o}", "node",
			(int)cluster->node, "address",
			sl_cluster_find_node(cluster, cluster->node)->address, "transport",
			transport->ops->name, "device", cluster->device, "mtu_bytes",
			(int)netdev.mtu_bytes, "message_max_bytes", endpoint.message_max_bytes,
			"poll", sl_poll_name(cluster->bridge.poll), "workers", (int)b->n_lanes,
			"memory_address", json_integer((uintptr_t)b->area), "memory_bytes",
			json_integer(b->area_bytes), "chunks", json_integer(chunks), "chunks_free",
			json_integer(chunks_free));
	if (cluster->transport == SL_TRANSPORT_ROCE_XDP)
		put_roce_xdp(row, b);
	else
		put_verbs(row, transport);
	return row;
}

static void add_stats(struct rb_transport_stats *sum, struct rb_transport *transport)
{
	struct rb_transport_stats s;

	transport->ops->stats(transport, &s);
	sum->sent += s.sent;
	sum->sent_bytes += s.sent_bytes;
	sum->received += s.received;
	sum->received_bytes += s.received_bytes;
	sum->no_buffer += s.no_buffer;
	sum->ring_full += s.ring_full;
	sum->send_failed += s.send_failed;
	sum->cnp_sent += s.cnp_sent;
	sum->cnp_received += s.cnp_received;
	sum->marked += s.marked;
	sum->bytes_copied += s.bytes_copied;
}

static void show_fabric(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const struct rb_bridge *b = ctx;
	uint64_t verdicts[RB_VERDICT_COUNT] = { 0 }, stalls = 0;
	struct rb_transport_stats stats = { 0 };
	struct rb_join_stats join;
	json_t *row;

	(void)request;
	for (uint32_t k = 0; k < b->n_lanes; k++) {
		add_stats(&stats, b->lanes[k].transport);
		stalls += b->lanes[k].worker->peers.stalls;
		for (uint32_t i = 0; i < RB_VERDICT_COUNT; i++)
			verdicts[i] += b->lanes[k].worker->verdicts[i];
	}
	rb_join_stats(b->join, &join);
	row = fabric_device(b);
	put_packing(row, b);
	put_sequences(row, b);
	json_object_update_new(
		row,
		json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "sent",
			  json_integer(stats.sent), "sent_bytes", json_integer(stats.sent_bytes),
			  "received", json_integer(stats.received), "received_bytes",
			  json_integer(stats.received_bytes), "no_buffer",
			  json_integer(stats.no_buffer), "ring_full", json_integer(stats.ring_full),
			  "send_failed", json_integer(stats.send_failed), "bytes_copied",
			  json_integer(stats.bytes_copied), "marked", json_integer(stats.marked),
			  "cnp_sent", json_integer(stats.cnp_sent), "cnp_received",
			  json_integer(stats.cnp_received)));
	json_object_update_new(
		row,
		json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "messages",
			  by_name(verdicts, RB_VERDICT_COUNT, verdict_name), "met",
			  json_integer(join.introduced), "knocks", json_integer(join.knocks),
			  "stalls", json_integer(stalls), "unreachable",
			  json_integer(join.unreachable), "overflow", json_integer(join.overflow),
			  "refused", by_name(join.refused, RB_REFUSAL_COUNT, refusal_name),
			  "refused_us", by_name(join.refused_us, RB_REFUSAL_COUNT, refusal_name)));
	sl_ctl_put(answer, row);
}

/* What XDP and the bridge counted; `taken` also has frames of the remote port's netdev. */
static void put_backlog(json_t *row, const struct sl_backlog *b, const struct rb_voq *voq)
{
	const uint64_t left = __atomic_load_n(&b->dequeued.frames, __ATOMIC_RELAXED);
	const uint64_t left_bytes = __atomic_load_n(&b->dequeued.bytes, __ATOMIC_RELAXED);
	const uint64_t entered = __atomic_load_n(&b->enqueued.frames, __ATOMIC_RELAXED);
	const uint64_t entered_bytes = __atomic_load_n(&b->enqueued.bytes, __ATOMIC_RELAXED);
	json_t *dropped = json_object();

	for (uint32_t i = 0; i < SL_VOQ_DROPS; i++)
		json_object_set_new(dropped, sl_drop_texts[SL_VOQ_DROP_FIRST + i].name,
				    json_integer(b->dropped[i]));
	json_object_set_new(dropped, "missed", json_integer(b->missed));
	json_object_set_new(dropped, "peer-down", json_integer(b->peer_down));
	json_object_set_new(dropped, "too-big", json_integer(b->too_big));
	json_object_update_new(
		row, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
			       "waiting_frames", json_integer(entered - left), "waiting_bytes",
			       json_integer(entered_bytes - left_bytes), "enqueued_frames",
			       json_integer(entered), "enqueued_bytes", json_integer(entered_bytes),
			       "dequeued_frames", json_integer(left), "dequeued_bytes",
			       json_integer(left_bytes), "taken_frames",
			       json_integer(voq->taken.packets), "taken_bytes",
			       json_integer(voq->taken.bytes), "marked_frames",
			       json_integer(b->marked), "dropped", dropped));
}

static void show_voqs(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const struct rb_bridge *b = ctx;

	(void)request;
	if (!b->maps.voq) {
		sl_ctl_fail(answer, "there are no queues yet: sluiced has pinned no maps at \"%s\"",
			    b->settings->pin_dir);
		return;
	}
	for (uint32_t i = 0; i < b->n_voqs; i++) {
		const struct rb_bridge_remote *remote = &b->remotes[i / SL_CLASSES];
		const struct rb_ingress *in = rb_bridge_ingress(b, remote);
		const struct rb_voq *voq = &in->voqs[remote->first_voq + i % SL_CLASSES];
		const struct sl_voq *settings = &b->maps.voq[b->voqs[i]];
		char name[IF_NAMESIZE];
		json_t *row;

		sl_relay_tap_name(remote->system_port, name);
		row = json_pack("{s:i, s:s, s:i, s:i, s:s%, s:o, s:s, s:i, s:i, s:i, s:i}", "voq",
				b->voqs[i], "port", name, "node", remote->system_port >> 8, "class",
				voq->class, "controller", settings->controller,
				strnlen(settings->controller, sizeof(settings->controller)), "rate",
				settings->rate == SL_RATE_UNLIMITED ? json_null()
								    : json_integer(settings->rate),
				"unit", settings->unit == SL_UNIT_BYTES ? "bytes" : "frames",
				"burst", settings->burst, "limit_frames", settings->limit_frames,
				"delay_max_us", settings->delay_max_us, "ecn_frames",
				settings->ecn_frames);
		put_backlog(row, &b->maps.backlog[b->voqs[i]], voq);
		if (sl_ctl_put(answer, row))
			return;
	}
}

static void show_egress_queues(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const struct rb_bridge *b = ctx;

	(void)request;
	for (uint32_t i = 0; i < b->n_ports * SL_CLASSES; i++) {
		const struct rb_bridge_port *port = &b->ports[i / SL_CLASSES];
		const struct rb_egress_port *egress =
			rb_bridge_lane(b, port->system_port)->worker->port[port->settings->number];
		const uint32_t class = i % SL_CLASSES;
		const struct rb_egress_queue *q = &egress->queue[class];
		const struct rb_drr_queue *turn = &egress->drr->queue[class];
		char name[IF_NAMESIZE];
		json_t *row;

		sl_relay_tap_name(port->system_port, name);
		row = json_pack(
			"{s:s, s:s, s:b, s:i, s:s, s:i, s:i, s:o, s:s, s:o, s:o, s:o}", "port",
			name, "netdev", port->settings->name, "open", port->edge != NULL, "class",
			class, "scheduler", sl_scheduler_name(port->settings->scheduler), "level",
			turn->level, "weight", turn->quantum_bytes / egress->drr->frame_max_bytes,
			"rate",
			egress->pace.rate == SL_RATE_UNLIMITED ? json_null()
							       : json_integer(egress->pace.rate),
			"unit", egress->unit == SL_UNIT_BYTES ? "bytes" : "frames", "limit_frames",
			json_integer((uint64_t)q->mask + 1), "waiting_frames",
			json_integer(rb_egress_backlog(egress, class)), "waiting_bytes",
			json_integer(q->arrived.bytes - q->departed.bytes - q->dropped.bytes));
		json_object_update_new(row,
				       json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "arrived_frames",
						 json_integer(q->arrived.packets), "arrived_bytes",
						 json_integer(q->arrived.bytes), "departed_frames",
						 json_integer(q->departed.packets),
						 "departed_bytes", json_integer(q->departed.bytes),
						 "dropped_frames", json_integer(q->dropped.packets),
						 "dropped_bytes", json_integer(q->dropped.bytes)));
		if (sl_ctl_put(answer, row))
			return;
	}
}

static const struct sl_ctl_command commands[] = {
	{ "status", false, show_status },
	{ "peers", false, show_peers },
	{ "fabric", false, show_fabric },
	{ "voqs", false, show_voqs },
	{ "egress-queues", false, show_egress_queues },
	{ "cc", false, rb_view_cc },
	{ "cc-set", false, rb_view_cc_set },
	{ "cc-trace", false, rb_view_cc_trace },
	{ NULL, false, NULL },
};

int rb_views_open(const char *path, struct rb_views **out)
{
	struct rb_views *views = calloc(1, sizeof(*views));
	int err;

	*out = NULL;
	if (!views)
		return -ENOMEM;
	err = sl_ctl_open(path, 0660, NULL, commands, &views->ctl);
	if (err)
		rb_views_close(views);
	else
		*out = views;
	return err;
}

void rb_views_close(struct rb_views *views)
{
	if (!views)
		return;
	sl_ctl_close(views->ctl);
	free(views);
}

int rb_views_fd(const struct rb_views *views)
{
	return sl_ctl_fd(views->ctl);
}

void rb_views_poll(struct rb_views *views, struct rb_bridge *bridge, uint64_t now_ns)
{
	struct pollfd fd = { .fd = sl_ctl_fd(views->ctl), .events = POLLIN };
	bool halt = bridge->n_lanes > 1 && poll(&fd, 1, 0) > 0;

	/* Every answer reads numbers of all workers. */
	if (halt)
		rb_bridge_halt(bridge);
	sl_ctl_poll(views->ctl, bridge);
	if (halt)
		rb_bridge_release(bridge);
	if (now_ns < views->tick_ns)
		return;
	views->tick_ns = now_ns + SECOND_NS;
	sl_ctl_tick(views->ctl);
}
