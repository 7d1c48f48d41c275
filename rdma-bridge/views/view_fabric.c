/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/views/view_fabric.h"

#include <errno.h>
#include <string.h>

#include "rdma-bridge/bridge/bridge.h"
#include "rdma-bridge/bridge/fabric.h"
#include "rdma-bridge/bridge/peering.h"
#include "rdma-bridge/join/join.h"
#include "rdma-bridge/port/netdev.h"
#include "rdma-bridge/transport/roce_xdp.h"
#include "rdma-bridge/transport/verbs/verbs.h"
#include "rdma-bridge/views/view_sums.h"

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

/* How many frames the data messages held that we sent: {least, most, messages}, and the mean. */
static void put_packing(json_t *row, const struct rb_bridge *b)
{
	uint64_t frames = rb_view_count(b, RB_COUNT_SENT).packets, messages = 0;
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
	json_object_set_new(row, "express_frames_received", json_integer(rb_view_express_taken(b)));
	json_object_set_new(row, "frames_received",
			    json_integer(rb_view_count(b, RB_COUNT_EGRESS).packets));
}

static void put_sequences(json_t *row, const struct rb_bridge *b)
{
	struct rb_seq sum = { 0 };

	for (uint32_t k = 0; k < b->n_lanes; k++) {
		const struct rb_worker *w = b->lanes[k].worker;

		for (uint32_t i = 0; i < w->n_nodes; i++)
			rb_view_add_seqs(&sum, &b->lanes[k], w->nodes[i]);
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
	info.verdicts[RB_ROCE_EXPRESS] += rb_view_express_damaged(b);
	json_object_update_new(row,
			       json_pack("{s:i, s:b, s:b, s:o}", "queues", info.queues, "zero_copy",
					 info.zero_copy, "native_xdp", info.native_xdp, "frames",
					 by_name(info.verdicts, RB_ROCE_VERDICT_COUNT, roce_name)));
	if (info.samples)
		json_object_set_new(row, "express_delay_until",
				    json_string(info.sent_err ? "redirect" : "driver"));
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
	if (sl_cluster_has_fabric(cluster))
		rb_netdev_query(cluster->device, &netdev);
	/* memory_address: of the area that is the UMEM of every AF_XDP socket. */
	row = json_pack("{s:i, s:s?, s:s, s:s?, s:o, s:i, s:i, s:s, s:i, s:o, s:o, s:o, s:o}",
			"node", (int)cluster->node, "address",
			sl_cluster_find_node(cluster, cluster->node)->address, "transport",
			transport->ops->name, "device", cluster->device, "speed_Bps",
			json_integer(rb_fabric_speed_Bps(b)), "mtu_bytes", (int)netdev.mtu_bytes,
			"message_max_bytes", endpoint.message_max_bytes, "poll",
			sl_poll_name(cluster->bridge.poll), "workers", (int)b->n_lanes,
			"memory_address", json_integer((uintptr_t)b->area), "memory_bytes",
			json_integer(b->area_bytes), "chunks", json_integer(chunks), "chunks_free",
			json_integer(chunks_free));
	if (!sl_cluster_has_fabric(cluster))
		return row;
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

static json_t *key_names(const struct rb_bridge *b)
{
	char name[RB_VIEW_KEY_NAME_BYTES];
	uint8_t bytes[RB_KEY_NAME_BYTES];
	json_t *names = json_array();

	for (uint32_t i = 0; i < b->keys.n; i++) {
		rb_key_name(&b->keys.key[i], bytes);
		rb_view_key_name(bytes, name);
		json_array_append_new(names, json_string(name));
	}
	return names;
}

void rb_view_read_keys(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	struct rb_bridge *b = ctx;
	int err = sl_cluster_has_fabric(&b->settings->cluster) ? rb_peering_read_keys(b) : -ENOTSUP;

	(void)request;
	if (err)
		sl_ctl_fail(answer,
			    "the bridge keeps the keys that it has: %s; its log says which file",
			    strerror(-err));
	else
		sl_ctl_put(answer, json_pack("{s:o}", "keys", key_names(b)));
}

void rb_view_fabric(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const struct rb_bridge *b = ctx;
	uint64_t verdicts[RB_VERDICT_COUNT] = { 0 }, stalls = 0;
	struct rb_transport_stats stats = { 0 };
	struct rb_join_stats join = { 0 };
	json_t *row;

	(void)request;
	for (uint32_t k = 0; k < b->n_lanes; k++) {
		add_stats(&stats, b->lanes[k].transport);
		stalls += b->lanes[k].worker->peers.stalls;
		for (uint32_t i = 0; i < RB_VERDICT_COUNT; i++)
			verdicts[i] += b->lanes[k].worker->verdicts[i];
	}
	if (b->join)
		rb_join_stats(b->join, &join);
	row = fabric_device(b);
	json_object_set_new(row, "keys", key_names(b));
	json_object_set_new(
		row, "protocol",
		json_pack("[i, i]", rb_exchange_versions.oldest, rb_exchange_versions.newest));
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
