/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/worker/worker_receive.h"

#include "rdma-bridge/worker/worker_deliver.h"
#include "rdma-bridge/worker/worker_send.h"

#define COMPLETIONS_MAX 8 /* taken from the transport at once */
#define POST_BATCH	64

void rb_worker_post_receives(struct rb_worker *w)
{
	uint64_t offsets[POST_BATCH];

	while (w->chunks->count[RB_OWNER_RECEIVE] < w->config.receive_target) {
		uint32_t missing = w->config.receive_target - w->chunks->count[RB_OWNER_RECEIVE];
		uint32_t n = 0, taken;

		while (n < POST_BATCH && n < missing) {
			offsets[n] = rb_chunk_take(w->chunks, RB_OWNER_RECEIVE);
			if (offsets[n] == RB_CHUNK_NONE)
				break;
			n++;
		}
		taken = w->transport->ops->post_receive(w->transport, offsets, n);
		for (uint32_t i = taken; i < n; i++)
			rb_chunk_release(w->chunks, offsets[i], RB_OWNER_RECEIVE);
		if (taken < POST_BATCH)
			return;
	}
}

/* The frames of a message that was under way for transit_ns, see rb_transit_of(). */
static void deliver(struct rb_worker *w, uint64_t message_offset, struct rb_frame *frames,
		    uint32_t n, int64_t transit_ns, uint16_t error_us)
{
	rb_chunk_set_uses(w->chunks, message_offset, RB_OWNER_MESSAGE, (uint16_t)n);
	for (uint32_t i = 0; i < n; i++) {
		frames[i].message_ns = transit_ns > 0 ? (uint32_t)transit_ns : 0;
		frames[i].error_us = error_us;
		frames[i].arrival_ns -= (uint64_t)transit_ns;
		rb_id_set_add(&w->from_others, frames[i].system_port & 0xff);
		rb_worker_deliver(w, &frames[i]);
	}
}

/* Judge the whole message, then use it. True if its chunk now belongs to its frames. */
static bool receive(struct rb_worker *w, const struct rb_completion *c, uint64_t now_ns)
{
	const uint8_t *msg = rb_chunk_data(w->chunks, c->offset);
	struct rb_worker_peer *peer = c->context;
	struct rb_frame frames[RB_RECORDS_MAX];
	struct rb_msg_header header;
	union rb_records records;
	uint32_t n = 0;
	enum rb_verdict verdict = rb_msg_header_decode(&w->self, msg, c->len_bytes, &header);

	if (verdict == RB_VERDICT_OK && !peer)
		verdict = RB_VERDICT_UNKNOWN_NODE;
	/* A node may speak for itself only. */
	if (verdict == RB_VERDICT_OK && peer->node != header.source)
		verdict = RB_VERDICT_SOURCE;
	if (verdict == RB_VERDICT_OK && header.type == RB_MSG_DATA)
		verdict = rb_unpack_frames(&w->self, &header, msg, c->offset, now_ns, frames, &n);
	else if (verdict == RB_VERDICT_OK)
		verdict = rb_worker_unpack_records(w, &header, msg, &records, &n);
	if (verdict == RB_VERDICT_OK)
		verdict = c->numbered ? rb_peers_judge_numbered(&w->peers, &header, now_ns)
				      : rb_peers_judge(&w->peers, &header, now_ns);
	w->verdicts[verdict]++;
	if (verdict != RB_VERDICT_OK)
		return false;

	if (header.type == RB_MSG_HELLO)
		rb_transit_note(&peer->transit, header.sent_ns, c->came_ns ? c->came_ns : now_ns);
	if (header.type == RB_MSG_DATA) {
		deliver(w, c->offset, frames, n,
			rb_transit_of(&peer->transit, header.sent_ns, now_ns),
			rb_transit_error_us(&peer->transit));
		return true;
	}
	rb_worker_use_records(w, &header, msg, &records, n, now_ns);
	return false;
}

static void complete(struct rb_worker *w, const struct rb_completion *c, uint64_t now_ns)
{
	if (c->kind != RB_RECEIVED)
		rb_worker_sent(w, c->cookie);
	else if (!receive(w, c, now_ns))
		rb_chunk_release(w->chunks, c->offset, RB_OWNER_MESSAGE);
}

/*
 * Frames bound what a round takes in, not messages, so that a burst of full messages does not
 * overrun an egress queue that could drain it. Batches bound it, too: messages without frames may
 * come as fast as we take them.
 *
 * Hellos and feedback alone do not count as work: no frames follow them, and the next message wakes
 * a lane that sleeps.
 */
bool rb_worker_receive(struct rb_worker *w, uint64_t now_ns)
{
	uint64_t first = w->counters[RB_COUNT_EGRESS].packets;
	struct rb_completion completions[COMPLETIONS_MAX];
	uint32_t batches = 0, n;

	do {
		n = w->transport->ops->poll(w->transport, completions, COMPLETIONS_MAX, now_ns);
		for (uint32_t i = 0; i < n; i++)
			complete(w, &completions[i], now_ns);
	} while (n == COMPLETIONS_MAX && ++batches < RB_RECEIVE_BATCHES &&
		 w->counters[RB_COUNT_EGRESS].packets - first < RB_RECEIVE_FRAMES);
	return w->counters[RB_COUNT_EGRESS].packets != first;
}
