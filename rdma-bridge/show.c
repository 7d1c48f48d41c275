/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/show.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>

#include "rdma-bridge/netdev.h"
#include "rdma-bridge/roce_xdp.h"
#include "rdma-bridge/show_control.h"
#include "rdma-bridge/verbs.h"
#include "user/counters.h"
#include "user/ctl.h"

#define SECOND_NS 1000000000ULL
#define NS_PER_MS 1000000ULL

struct rb_show {
	struct sl_ctl *ctl; /* owned */
	uint64_t tick_ns;
};

static json_t *integer(uint64_t value)
{
	return json_integer((json_int_t)value);
}

/* All of a list of counters, by their names. */
static json_t *by_name(const uint64_t *values, uint32_t n, const char *(*name)(uint32_t))
{
	json_t *object = json_object();

	for (uint32_t i = 0; i < n; i++)
		json_object_set_new(object, name(i), integer(values[i]));
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

static void port_name(uint16_t system_port, char out[16])
{
	snprintf(out, 16, "n%up%u", system_port >> 8, system_port & 0xff);
}

static void show_status(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const struct rb_bridge *b = ctx;
	const struct rb_worker *w = b->worker;
	json_t *chunks = json_object(), *frames = json_object();

	(void)request;
	for (uint32_t i = 0; i < RB_OWNER_COUNT; i++)
		json_object_set_new(chunks, rb_owner_name(i), integer(b->chunks->count[i]));
	for (uint32_t i = 0; i < RB_COUNT_COUNT; i++)
		json_object_set_new(frames, rb_frame_counter_name(i),
				    json_pack("{s:o, s:o}", "packets",
					      integer(w->counters[i].packets), "bytes",
					      integer(w->counters[i].bytes)));
	sl_ctl_put(answer,
		   json_pack("{s:i, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o}", "node", w->self.node,
			     "epoch", integer(b->epoch), "maps", b->maps.voq != NULL, "chunks",
			     chunks, "violations", integer(b->chunks->violations), "rounds",
			     integer(w->rounds), "idle_rounds", integer(w->idle_rounds),
			     "longest_round_us", integer(b->longest_ns / 1000), "frames", frames));
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
	return integer(now_ns > then_ns ? (now_ns - then_ns) / NS_PER_MS : 0);
}

static void show_peers(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const struct rb_bridge *b = ctx;
	const struct rb_worker *w = b->worker;

	(void)request;
	for (uint32_t i = 0; i < w->n_nodes; i++) {
		const struct rb_worker_peer *peer = w->peer[w->nodes[i]];
		const struct rb_peer *state = &w->peers.peer[w->nodes[i]];
		struct rb_seq sum = { 0 };
		json_t *row;

		add_seqs(&sum, state);
		row = json_pack("{s:i, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "node", peer->node,
				"address",
				sl_cluster_find_node(&b->settings->cluster, peer->node)->address,
				"state", rb_peer_state_name(state->state), "since_ms",
				ms_since(peer->since_ns, b->round_ns), "epoch",
				state->introduced ? integer(state->epoch) : json_null(), "heard_ms",
				ms_since(state->heard_ns, b->round_ns), "ups", integer(state->ups),
				"downs", integer(state->downs));
		json_object_update_new(
			row,
			json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "data_sent",
				  integer(peer->sent[RB_MSG_DATA]), "data_bytes_sent",
				  integer(peer->sent_bytes[RB_MSG_DATA]), "hellos_sent",
				  integer(peer->sent[RB_MSG_HELLO]), "send_refused",
				  integer(peer->send_refused), "received", integer(sum.received),
				  "lost", integer(sum.lost), "late", integer(sum.late), "duplicate",
				  integer(sum.duplicate), "stale", integer(sum.stale)));
		if (sl_ctl_put(answer, row))
			return;
	}
}

/* How many frames the data messages held that were sent: a list of {least, most, messages}, and the mean. */
static void put_packing(json_t *row, const struct rb_worker *w)
{
	uint64_t frames = w->counters[RB_COUNT_SENT].packets, messages = 0;
	json_t *classes = json_array();

	for (uint32_t i = 0; i < RB_PACKED_CLASSES; i++) {
		messages += w->packed[i];
		json_array_append_new(classes,
				      json_pack("{s:i, s:i, s:o}", "least", 1 << i, "most",
						(2 << i) - 1, "messages", integer(w->packed[i])));
	}
	json_object_set_new(row, "packing_limit", integer(w->config.degree));
	json_object_set_new(row, "packing_mean",
			    messages ? json_real((double)frames / (double)messages) : json_null());
	json_object_set_new(row, "packing", classes);
	json_object_set_new(row, "data_messages_sent", integer(messages));
	json_object_set_new(row, "frames_sent", integer(frames));
	json_object_set_new(row, "frames_received", integer(w->counters[RB_COUNT_EGRESS].packets));
}

static void put_sequences(json_t *row, const struct rb_worker *w)
{
	struct rb_seq sum = { 0 };

	for (uint32_t i = 0; i < w->n_nodes; i++)
		add_seqs(&sum, &w->peers.peer[w->nodes[i]]);
	json_object_set_new(row, "lost", integer(sum.lost));
	json_object_set_new(row, "late", integer(sum.late));
	json_object_set_new(row, "duplicate", integer(sum.duplicate));
	json_object_set_new(row, "stale", integer(sum.stale));
}

static const char *completion_name(uint32_t i)
{
	return rb_verbs_status_name(i);
}

static void put_roce_xdp(json_t *row, struct rb_transport *t)
{
	struct rb_roce_xdp_info info;

	rb_roce_xdp_info(t, &info);
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
		row, json_pack("{s:s, s:i, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o}",
			       "rdma_device", info.device, "path_mtu_bytes", info.path_mtu_bytes,
			       "gather_max", info.send_pieces_max, "inline_max_bytes",
			       info.inline_max_bytes, "queue_pairs", info.queue_pairs,
			       "region_address", integer(info.region_address), "region_bytes",
			       integer(info.region_bytes), "recoveries", integer(info.recoveries),
			       "no_credit", integer(info.no_credit), "not_expected",
			       integer(info.not_expected), "completions",
			       by_name(info.statuses, RB_VERBS_STATUS_COUNT, completion_name)));
}

/* What the bridge works with. */
static json_t *fabric_device(const struct rb_bridge *b)
{
	const struct sl_cluster_settings *cluster = &b->settings->cluster;
	struct rb_endpoint endpoint;
	struct rb_netdev netdev = { 0 };
	json_t *row;

	b->transport->ops->endpoint(b->transport, &endpoint);
	rb_netdev_query(cluster->device, &netdev);
	/* memory_address: of the area that every AF_XDP socket has as its UMEM. */
	row = json_pack("{s:i, s:s, s:s, s:s, s:i, s:i, s:s, s:o, s:o, s:i, s:i}", "node",
			(int)cluster->node, "address",
			sl_cluster_find_node(cluster, cluster->node)->address, "transport",
			b->transport->ops->name, "device", cluster->device, "mtu_bytes",
			(int)netdev.mtu_bytes, "message_max_bytes", endpoint.message_max_bytes,
			"poll", sl_poll_name(cluster->bridge.poll), "memory_address",
			integer((uintptr_t)b->area), "memory_bytes", integer(b->area_bytes),
			"chunks", b->chunks->n, "chunks_free", b->chunks->n_free);
	if (cluster->transport == SL_TRANSPORT_ROCE_XDP)
		put_roce_xdp(row, b->transport);
	else
		put_verbs(row, b->transport);
	return row;
}

static void show_fabric(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const struct rb_bridge *b = ctx;
	struct rb_transport_stats stats;
	struct rb_meet_stats meet;
	json_t *row;

	(void)request;
	b->transport->ops->stats(b->transport, &stats);
	rb_meet_stats(b->meet, &meet);
	row = fabric_device(b);
	put_packing(row, b->worker);
	put_sequences(row, b->worker);
	json_object_update_new(
		row,
		json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "sent",
			  integer(stats.sent), "sent_bytes", integer(stats.sent_bytes), "received",
			  integer(stats.received), "received_bytes", integer(stats.received_bytes),
			  "no_buffer", integer(stats.no_buffer), "ring_full",
			  integer(stats.ring_full), "send_failed", integer(stats.send_failed),
			  "bytes_copied", integer(stats.bytes_copied), "marked",
			  integer(stats.marked), "cnp_sent", integer(stats.cnp_sent),
			  "cnp_received", integer(stats.cnp_received)));
	json_object_update_new(
		row,
		json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "messages",
			  by_name(b->worker->verdicts, RB_VERDICT_COUNT, verdict_name), "met",
			  integer(meet.met), "knocks", integer(meet.knocks), "stalls",
			  integer(b->worker->peers.stalls), "unreachable",
			  integer(meet.unreachable), "overflow", integer(meet.overflow), "refused",
			  by_name(meet.refused, RB_REFUSAL_COUNT, refusal_name), "refused_us",
			  by_name(meet.refused_us, RB_REFUSAL_COUNT, refusal_name)));
	sl_ctl_put(answer, row);
}

/* What XDP and the bridge counted of a queue; `taken` has the frames of the remote port's netdev, too. */
static void put_backlog(json_t *row, const struct sl_backlog *b, const struct rb_voq *voq)
{
	const uint64_t left = __atomic_load_n(&b->dequeued.frames, __ATOMIC_RELAXED);
	const uint64_t left_bytes = __atomic_load_n(&b->dequeued.bytes, __ATOMIC_RELAXED);
	const uint64_t entered = __atomic_load_n(&b->enqueued.frames, __ATOMIC_RELAXED);
	const uint64_t entered_bytes = __atomic_load_n(&b->enqueued.bytes, __ATOMIC_RELAXED);
	json_t *dropped = json_object();

	for (uint32_t i = 0; i < SL_VOQ_DROPS; i++)
		json_object_set_new(dropped, sl_drop_texts[SL_VOQ_DROP_FIRST + i].name,
				    integer(b->dropped[i]));
	json_object_set_new(dropped, "missed", integer(b->missed));
	json_object_set_new(dropped, "peer-down", integer(b->peer_down));
	json_object_set_new(dropped, "too-big", integer(b->too_big));
	json_object_update_new(
		row,
		json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "waiting_frames",
			  integer(entered - left), "waiting_bytes",
			  integer(entered_bytes - left_bytes), "enqueued_frames", integer(entered),
			  "enqueued_bytes", integer(entered_bytes), "dequeued_frames",
			  integer(left), "dequeued_bytes", integer(left_bytes), "taken_frames",
			  integer(voq->taken.packets), "taken_bytes", integer(voq->taken.bytes),
			  "marked_frames", integer(b->marked), "dropped", dropped));
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
		const struct rb_ingress *in = b->worker->peer[remote->system_port >> 8]->ingress;
		const struct rb_voq *voq = &in->voqs[remote->first_voq + i % SL_CLASSES];
		const struct sl_voq *settings = &b->maps.voq[b->voqs[i]];
		char name[16];
		json_t *row;

		port_name(remote->system_port, name);
		row = json_pack(
			"{s:i, s:s, s:i, s:i, s:s%, s:o, s:s, s:i, s:i, s:i, s:i}", "voq",
			b->voqs[i], "port", name, "node", remote->system_port >> 8, "class",
			voq->class, "controller", settings->controller,
			strnlen(settings->controller, sizeof(settings->controller)), "rate",
			settings->rate == SL_RATE_UNLIMITED ? json_null() : integer(settings->rate),
			"unit", settings->unit == SL_UNIT_BYTES ? "bytes" : "frames", "burst",
			settings->burst, "limit_frames", settings->limit_frames, "delay_max_us",
			settings->delay_max_us, "ecn_frames", settings->ecn_frames);
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
		const struct rb_egress_port *egress = b->worker->port[port->settings->number];
		const uint32_t class = i % SL_CLASSES;
		const struct rb_egress_queue *q = &egress->queue[class];
		const struct rb_drr_queue *turn = &egress->drr->queue[class];
		char name[16];
		json_t *row;

		port_name(port->system_port, name);
		row = json_pack("{s:s, s:s, s:b, s:i, s:s, s:i, s:i, s:o, s:s, s:o, s:o, s:o}",
				"port", name, "netdev", port->settings->name, "open",
				port->edge != NULL, "class", class, "scheduler",
				sl_scheduler_name(port->settings->scheduler), "level", turn->level,
				"weight", turn->quantum_bytes / egress->drr->frame_max_bytes,
				"rate",
				egress->pace.rate == SL_RATE_UNLIMITED ? json_null()
								       : integer(egress->pace.rate),
				"unit", egress->unit == SL_UNIT_BYTES ? "bytes" : "frames",
				"limit_frames", integer((uint64_t)q->mask + 1), "waiting_frames",
				integer(rb_egress_backlog(egress, class)), "waiting_bytes",
				integer(q->arrived.bytes - q->departed.bytes - q->dropped.bytes));
		json_object_update_new(row,
				       json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "arrived_frames",
						 integer(q->arrived.packets), "arrived_bytes",
						 integer(q->arrived.bytes), "departed_frames",
						 integer(q->departed.packets), "departed_bytes",
						 integer(q->departed.bytes), "dropped_frames",
						 integer(q->dropped.packets), "dropped_bytes",
						 integer(q->dropped.bytes)));
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
	{ "cc", false, rb_show_control },
	{ "cc-set", false, rb_show_control_set },
	{ "cc-trace", false, rb_show_control_trace },
	{ NULL, false, NULL },
};

int rb_show_open(const char *path, struct rb_show **out)
{
	struct rb_show *show = calloc(1, sizeof(*show));
	int err;

	*out = NULL;
	if (!show)
		return -ENOMEM;
	err = sl_ctl_open(path, 0660, NULL, commands, &show->ctl);
	if (err)
		rb_show_close(show);
	else
		*out = show;
	return err;
}

void rb_show_close(struct rb_show *show)
{
	if (!show)
		return;
	sl_ctl_close(show->ctl);
	free(show);
}

int rb_show_fd(const struct rb_show *show)
{
	return sl_ctl_fd(show->ctl);
}

void rb_show_poll(struct rb_show *show, struct rb_bridge *bridge, uint64_t now_ns)
{
	sl_ctl_poll(show->ctl, bridge);
	if (now_ns < show->tick_ns)
		return;
	show->tick_ns = now_ns + SECOND_NS;
	sl_ctl_tick(show->ctl);
}
