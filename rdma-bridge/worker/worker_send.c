/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/worker/worker_send.h"

#include <errno.h>
#include <string.h>

#include "rdma-bridge/worker/worker_deliver.h"

#define MESSAGES_PER_ROUND 4 /* to one peer, before the next one has its turn */
#define DISCARD_PER_ROUND  64

static struct rb_msg_header header_to(const struct rb_worker *w, const struct rb_worker_peer *peer,
				      enum rb_msg_type type, uint64_t now_ns)
{
	return (struct rb_msg_header){
		.type = (uint8_t)type,
		.source = w->self.node,
		.destination = peer->node,
		.stream = w->config.stream,
		.epoch = w->config.epoch,
		.sequence = peer->sequence,
		.sent_ns = now_ns,
		.clock_offset_ns = w->self.clock_offset_ns,
	};
}

/*
 * Lend a message to the transport: `pieces`, which lie in the chunks of the n frames and in that of
 * the headers, all INGRESS. The chunks are freed when the transport has sent them. 0; after an
 * error the caller keeps them.
 */
static int post(struct rb_worker *w, struct rb_worker_peer *peer, const struct rb_piece *pieces,
		uint32_t n_pieces, uint64_t headers, const struct rb_frame *frames, uint32_t n)
{
	uint32_t slot;
	int err;

	/*
	 * A peer that restarted has no path if none to its new life could be created. It counts as
	 * up until its old life has been silent for too long.
	 */
	if (!peer->path || w->n_free_lent == 0)
		return -EAGAIN;
	slot = w->free_lent[w->n_free_lent - 1];
	err = w->transport->ops->post_send(w->transport, peer->path, pieces, n_pieces, slot);
	if (err < 0)
		return err;
	if (err == 0) {
		w->n_free_lent--;
		w->lent[slot].n = n + 1;
		w->lent[slot].offsets[n] = headers;
		for (uint32_t i = 0; i < n; i++)
			w->lent[slot].offsets[i] = frames[i].offset;
		return 0;
	}
	for (uint32_t i = 0; i < n; i++)
		rb_chunk_release(w->chunks, frames[i].offset, RB_OWNER_INGRESS);
	rb_chunk_release(w->chunks, headers, RB_OWNER_INGRESS);
	return 0;
}

void rb_worker_sent(struct rb_worker *w, uint64_t cookie)
{
	uint32_t slot = (uint32_t)cookie;

	for (uint32_t k = 0; k < w->lent[slot].n; k++)
		rb_chunk_release(w->chunks, w->lent[slot].offsets[k], RB_OWNER_INGRESS);
	w->free_lent[w->n_free_lent++] = slot;
}

static void count_message(struct rb_worker_peer *peer, const struct rb_msg_header *header)
{
	peer->sequence++;
	peer->sent[header->type]++;
	peer->sent_bytes[header->type] += header->length_bytes;
}

int rb_worker_send_records(void *context, uint8_t node, enum rb_msg_type type, uint32_t count,
			   const uint8_t *body, uint32_t body_bytes, uint64_t now_ns)
{
	struct rb_worker *w = context;
	struct rb_worker_peer *peer = w->peer[node];
	struct rb_msg_header header = header_to(w, peer, type, now_ns);
	union rb_records records;
	struct rb_piece piece;
	uint64_t offset;
	uint8_t *bytes;
	uint32_t n;
	int err;

	if (RB_MSG_HEADER_BYTES + body_bytes > rb_chunk_bytes(w->chunks))
		return -EMSGSIZE;
	offset = rb_chunk_take(w->chunks, RB_OWNER_INGRESS);
	if (offset == RB_CHUNK_NONE)
		return -EAGAIN;
	bytes = rb_chunk_data(w->chunks, offset);
	header.count = (uint8_t)count;
	header.length_bytes = (uint16_t)(RB_MSG_HEADER_BYTES + body_bytes);
	rb_msg_header_encode(&header, bytes);
	memcpy(bytes + RB_MSG_HEADER_BYTES, body, body_bytes);
	if (node == w->self.node) {
		err = rb_worker_unpack_records(w, &header, bytes, &records, &n) ? -EINVAL : 0;
		if (!err)
			rb_worker_use_records(w, &header, bytes, &records, n, now_ns);
		rb_chunk_release(w->chunks, offset, RB_OWNER_INGRESS);
		return err;
	}
	piece = (struct rb_piece){ bytes, header.length_bytes };
	err = post(w, peer, &piece, 1, offset, NULL, 0);
	if (err)
		rb_chunk_release(w->chunks, offset, RB_OWNER_INGRESS);
	else
		count_message(peer, &header);
	return err;
}

int rb_worker_announce(struct rb_worker *w, uint8_t node, const uint8_t *bytes, uint32_t n_bytes,
		       uint64_t now_ns)
{
	struct rb_worker_peer *peer = w->peer[node];

	if (!peer)
		return -ENOENT;
	if (!peer->path)
		return -ENOTCONN;
	if (n_bytes == 0 || n_bytes > RB_MSG_MAX_BYTES - RB_MSG_HEADER_BYTES)
		return -EMSGSIZE;
	return rb_worker_send_records(w, node, RB_MSG_ANNOUNCE, 1, bytes, n_bytes, now_ns);
}

/* Send the message that is being packed for a peer. False if it has to wait. */
static bool send_data(struct rb_worker *w, struct rb_worker_peer *peer, uint64_t now_ns)
{
	struct rb_ingress *in = peer->ingress;
	struct rb_msg_header header = header_to(w, peer, RB_MSG_DATA, now_ns);
	struct rb_piece pieces[RB_PIECES_MAX];
	uint32_t count = in->pack.count, n;
	uint64_t offset;
	uint8_t *headers;

	/* The headers are lent as the frames are, in a chunk of their own. */
	offset = rb_chunk_take(w->chunks, RB_OWNER_INGRESS);
	if (offset == RB_CHUNK_NONE)
		return false;
	headers = rb_chunk_data(w->chunks, offset);
	n = rb_pack_gather(&in->pack, w->chunks->area, headers,
			   rb_pack_headers(&in->pack, &header, headers), pieces);
	if (post(w, peer, pieces, n, offset, in->pack.frame, count)) {
		rb_chunk_release(w->chunks, offset, RB_OWNER_INGRESS);
		peer->send_refused++;
		return false;
	}
	count_message(peer, &header);
	w->packed[31 - __builtin_clz(count)]++;
	rb_ingress_sent(in, w->counters);
	return true;
}

/* After a round that moved nothing: do frames wait for room, or for their time? */
static bool waits_for_room(struct rb_worker *w, const struct rb_ingress *in, uint64_t now_ns)
{
	uint64_t ready_ns;

	if (!rb_ingress_is_waiting(in))
		return false;
	ready_ns = rb_ingress_ready_at(in, w->config.pack_delay_ns, now_ns);
	if (ready_ns <= now_ns)
		return true;
	rb_worker_hold(w, ready_ns);
	return false;
}

bool rb_worker_serve_peer(struct rb_worker *w, struct rb_worker_peer *peer, uint64_t now_ns)
{
	bool busy = false;

	if (rb_worker_peer_state(w, peer->node) != RB_PEER_UP)
		return rb_ingress_discard(peer->ingress, DISCARD_PER_ROUND, w->chunks,
					  w->counters) > 0;
	for (int i = 0; i < MESSAGES_PER_ROUND; i++) {
		if (!rb_ingress_fill(peer->ingress, w->config.pack_delay_ns, now_ns, w->chunks,
				     w->counters))
			break;
		busy = true;
		if (!send_data(w, peer, now_ns))
			break;
	}
	return busy || waits_for_room(w, peer->ingress, now_ns);
}

bool rb_worker_serve_own(struct rb_worker *w, struct rb_worker_peer *self, uint64_t now_ns)
{
	struct rb_ingress *in = self->ingress;

	if (!rb_ingress_fill(in, 0, now_ns, w->chunks, w->counters))
		return waits_for_room(w, in, now_ns);
	for (uint32_t i = 0; i < in->pack.count; i++) {
		struct rb_frame *frame = &in->pack.frame[i];

		rb_chunk_move(w->chunks, frame->offset, RB_OWNER_INGRESS, RB_OWNER_MESSAGE);
		rb_count(w->counters, RB_COUNT_LOCAL, 1, frame->len_bytes);
		frame->source = w->self.node;
		frame->waited_ns = rb_frame_age_ns(frame, now_ns);
		rb_worker_deliver(w, frame);
	}
	rb_ingress_delivered(in);
	return true;
}
