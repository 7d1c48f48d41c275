/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/views/view_sums.h"

struct sl_counter rb_view_count(const struct rb_bridge *b, enum rb_frame_counter which)
{
	struct sl_counter sum = { 0 };

	for (uint32_t k = 0; k < b->n_lanes; k++) {
		sum.packets += b->lanes[k].worker->counters[which].packets;
		sum.bytes += b->lanes[k].worker->counters[which].bytes;
	}
	return sum;
}

void rb_view_add_seqs(struct rb_seq *sum, const struct rb_peer *peer)
{
	for (int s = 0; s < RB_STREAMS_MAX; s++) {
		sum->received += peer->seq[s].received;
		sum->lost += peer->seq[s].lost;
		sum->late += peer->seq[s].late;
		sum->duplicate += peer->seq[s].duplicate;
		sum->stale += peer->seq[s].stale;
	}
}
