/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/views/views.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>

#include "rdma-bridge/bridge/lane.h"
#include "rdma-bridge/bridge/lane_threads.h"
#include "rdma-bridge/join/join.h"
#include "rdma-bridge/views/view_busy.h"
#include "rdma-bridge/views/view_delay.h"
#include "rdma-bridge/views/view_fabric.h"
#include "rdma-bridge/views/view_queues.h"
#include "rdma-bridge/views/view_rates.h"
#include "rdma-bridge/views/view_sums.h"
#include "user/ipc/control_socket.h"
#include "user/ipc/reloads.h"

#define SECOND_NS 1000000000ULL
#define NS_PER_MS 1000000ULL

struct rb_views {
	struct sl_ctl *ctl; /* owned */
	uint64_t tick_ns;
};

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
		struct sl_counter sum = rb_view_count(b, i);

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

static json_t *ms_since(uint64_t then_ns, uint64_t now_ns)
{
	if (then_ns == 0)
		return json_null();
	return json_integer(now_ns > then_ns ? (now_ns - then_ns) / NS_PER_MS : 0);
}

/* Of delays over the fabric: what they are taken from, and by how much they may be wrong. */
static void put_clocks(json_t *row, const struct rb_transit *transit)
{
	const int64_t ns = rb_transit_round_trip_ns(transit);
	const uint16_t us = rb_transit_error_us(transit);

	json_object_set_new(row, "round_trip_ns",
			    ns == RB_TRANSIT_UNKNOWN ? json_null() : json_integer(ns));
	json_object_set_new(row, "clock",
			    json_string(rb_transit_clock_name(rb_transit_clock(transit))));
	json_object_set_new(row, "delay_error_ns",
			    us == RB_TRANSIT_ERROR_MAX ? json_null() : json_integer(us * 1000));
}

/*
 * Which version of the protocol do both use, why did they fail to meet last, which key did the peer
 * prove, and does it know of the same system ports as we do?
 */
static void put_meeting(json_t *row, const struct rb_bridge *b, uint8_t node)
{
	const struct rb_bridge_meeting *met = &b->met[node];
	const enum rb_refusal refusal = rb_join_refusal(b->join, node);
	char name[RB_VIEW_KEY_NAME_BYTES];

	if (met->valid)
		rb_view_key_name(met->key_name, name);
	json_object_set_new(row, "protocol", met->valid ? json_integer(met->version) : json_null());
	json_object_set_new(row, "refused",
			    refusal == RB_REFUSAL_NONE ? json_null()
						       : json_string(rb_refusal_name(refusal)));
	json_object_set_new(row, "key", met->valid ? json_string(name) : json_null());
	json_object_set_new(row, "same_ports",
			    met->valid ? json_boolean(memcmp(met->table_hash, b->table_hash,
							     sizeof(b->table_hash)) == 0)
				       : json_null());
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
		const uint64_t since_ns =
			peer->since_ns ? peer->since_ns : first->worker->first_tick_ns;
		uint64_t data = 0, data_bytes = 0, hellos = 0, refused = 0;
		struct rb_seq sum = { 0 };
		json_t *row;

		/* A peer has the same life in all lanes; its state is the worst of them. */
		for (uint32_t k = 0; k < b->n_lanes; k++) {
			const struct rb_worker *w = b->lanes[k].worker;

			rb_view_add_seqs(&sum, &b->lanes[k], node);
			data += w->peer[node]->sent[RB_MSG_DATA];
			data_bytes += w->peer[node]->sent_bytes[RB_MSG_DATA];
			hellos += w->peer[node]->sent[RB_MSG_HELLO];
			refused += w->peer[node]->send_refused;
		}
		row = json_pack(
			"{s:i, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "node", peer->node,
			"address", sl_cluster_find_node(&b->settings->cluster, peer->node)->address,
			"state", rb_peer_state_name(rb_bridge_peer_state(b, node)), "since_ms",
			ms_since(since_ns, first->worker->now_ns), "epoch",
			state->introduced ? json_integer(state->epoch) : json_null(), "heard_ms",
			ms_since(state->heard_ns, first->worker->now_ns), "ups",
			json_integer(state->ups), "downs", json_integer(state->downs),
			"liveness_ms", json_integer((json_int_t)(state->dead_after_ns / 1000000)));
		json_object_update_new(
			row,
			json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "data_sent",
				  json_integer(data), "data_bytes_sent", json_integer(data_bytes),
				  "hellos_sent", json_integer(hellos), "send_refused",
				  json_integer(refused), "received", json_integer(sum.received),
				  "lost", json_integer(sum.lost), "late", json_integer(sum.late),
				  "duplicate", json_integer(sum.duplicate), "stale",
				  json_integer(sum.stale)));
		put_clocks(row, &peer->transit);
		put_meeting(row, b, node);
		if (sl_ctl_put(answer, row))
			return;
	}
}

static const struct sl_ctl_command commands[] = {
	{ "status", false, show_status },
	{ "peers", false, show_peers },
	{ "fabric", false, rb_view_fabric },
	{ "voqs", false, rb_view_voqs },
	{ "egress-queues", false, rb_view_egress_queues },
	{ "delay", false, rb_view_delay },
	{ "frames", false, rb_view_frames },
	{ "busy", false, rb_view_busy },
	{ "read-keys", false, rb_view_read_keys },
	{ "cc", false, rb_view_cc },
	{ "cc-set", false, rb_view_cc_set },
	{ "cc-trace", false, rb_view_cc_trace },
	{ "reload", false, sl_reloads_run_reload },
	{ "configuration", false, sl_reloads_run_configuration },
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

	/*
	 * Every answer reads numbers of all workers, or changes them. A request that comes after
	 * this look at the socket waits for the next one, because the others run until then.
	 */
	if (poll(&fd, 1, 0) > 0) {
		rb_bridge_halt(bridge);
		sl_ctl_poll(views->ctl, bridge);
		rb_bridge_release(bridge);
	}
	if (now_ns < views->tick_ns)
		return;
	views->tick_ns = now_ns + SECOND_NS;
	sl_ctl_tick(views->ctl);
}
