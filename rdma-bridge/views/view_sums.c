/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/views/view_sums.h"

#include <stdio.h>

#include "rdma-bridge/express/express_paths.h"

struct sl_counter rb_view_count(const struct rb_bridge *b, enum rb_frame_counter which)
{
	struct sl_counter sum = { 0 };

	for (uint32_t k = 0; k < b->n_lanes; k++) {
		sum.packets += b->lanes[k].worker->counters[which].packets;
		sum.bytes += b->lanes[k].worker->counters[which].bytes;
	}
	return sum;
}

void rb_view_key_name(const uint8_t name[RB_KEY_NAME_BYTES], char text[RB_VIEW_KEY_NAME_BYTES])
{
	for (uint32_t i = 0; i < RB_KEY_NAME_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", name[i]);
}

uint64_t rb_view_express_taken(const struct rb_bridge *b)
{
	uint64_t taken = 0;

	for (uint32_t i = 0; b->lanes[0].express && i < b->n_ports * SL_CLASSES; i++)
		taken += rb_express_taken(b->lanes[0].express,
					  b->ports[i / SL_CLASSES].system_port & 0xff,
					  i % SL_CLASSES)
				 .frames;
	return taken;
}

uint64_t rb_view_express_damaged(const struct rb_bridge *b)
{
	uint64_t damaged = 0;

	for (uint32_t k = 0; b->lanes[0].express && k < b->n_lanes; k++)
		for (uint32_t i = 0; i < b->lanes[k].worker->n_nodes; i++)
			damaged += rb_express_arrivals(b->lanes[k].express,
						       b->lanes[k].worker->nodes[i])
					   ->damaged;
	return damaged;
}

void rb_view_add_seqs(struct rb_seq *sum, const struct rb_lane *lane, uint8_t node)
{
	const struct rb_peer *peer = &lane->worker->peers.peer[node];
	const struct sl_arrivals *from = rb_express_arrivals(lane->express, node);

	for (int s = 0; s < RB_STREAMS_MAX; s++) {
		sum->received += peer->seq[s].received;
		sum->lost += peer->seq[s].lost;
		sum->late += peer->seq[s].late;
		sum->duplicate += peer->seq[s].duplicate;
		sum->stale += peer->seq[s].stale;
	}
	for (int s = 0; from && s < SL_STREAMS_MAX; s++) {
		sum->received += from->stream[s].received;
		sum->lost += from->stream[s].lost;
		sum->late += from->stream[s].late;
		sum->duplicate += from->stream[s].duplicate;
		sum->stale += from->stream[s].stale;
	}
}
