/* SPDX-License-Identifier: BSD-2-Clause */
/* Pairs: messages from the chain to the device, and from its completions to the caller. */
#include "rdma-bridge/transport/verbs/verbs_shared.h"

#include <stdlib.h>
#include <string.h>

/*
 * The id of a send request: bit 63, then 15 bits of the pair's generation, 16 of its index, and the
 * 32-bit number of the message.
 */
#define SEND_BIT (1ULL << 63)

static uint64_t send_id(const struct rb_verbs_pair *pair, uint32_t number)
{
	return SEND_BIT | (uint64_t)(pair->generation & 0x7fff) << 48 |
	       (uint64_t)pair->index << 32 | number;
}

int rb_verbs_pair_create(struct rb_verbs *v, struct ibv_qp *qp, struct rb_verbs_pair **out)
{
	struct rb_verbs_pair *pair = calloc(1, sizeof(*pair));
	uint32_t index = 0, size = 1;

	*out = NULL;
	while (size < v->config.send_depth)
		size <<= 1;
	if (pair)
		pair->sent = calloc(size, sizeof(*pair->sent));
	while (index < RB_VERBS_PAIRS_MAX && v->pair[index])
		index++;
	if (!pair || !pair->sent || index == RB_VERBS_PAIRS_MAX) {
		int err = index == RB_VERBS_PAIRS_MAX ? -ENOSPC : -ENOMEM;

		if (pair)
			free(pair->sent);
		free(pair);
		v->lib->destroy_qp(qp);
		return err;
	}
	pair->qp = qp;
	pair->mask = size - 1;
	pair->index = index;
	pair->generation = ++v->pair_generation;
	v->pair[index] = pair;
	if (index >= v->n_pairs)
		v->n_pairs = index + 1;
	*out = pair;
	return 0;
}

void rb_verbs_pair_destroy(struct rb_verbs *v, struct rb_verbs_pair *pair)
{
	if (!pair)
		return;
	if (pair->qp)
		v->lib->destroy_qp(pair->qp);
	for (; pair->reported != pair->tail; pair->reported++) {
		uint64_t chunk = pair->sent[pair->reported & pair->mask].chunk;

		if (chunk != RB_CHUNK_NONE)
			rb_chunk_release(v->base.chunks, chunk, RB_OWNER_SEND);
	}
	v->pair[pair->index] = NULL;
	free(pair->sent);
	free(pair);
}

void rb_verbs_pair_close(struct rb_verbs *v, struct rb_verbs_pair *pair)
{
	v->lib->destroy_qp(pair->qp);
	pair->qp = NULL;
	pair->ready = pair->broken = false;
	pair->closing = true;
	rb_verbs_pair_fail(v, pair);
	if (pair->reported == pair->tail)
		rb_verbs_pair_destroy(v, pair);
}

void rb_verbs_pair_fail(struct rb_verbs *v, struct rb_verbs_pair *pair)
{
	v->stats.send_failed += pair->tail - pair->completed;
	pair->completed = pair->posted = pair->tail;
}

static bool in_region(const struct rb_verbs *v, const struct rb_piece *piece)
{
	const uint8_t *area = v->base.chunks->area;

	return piece->data >= area && piece->data + piece->len_bytes <= area + v->config.area_bytes;
}

/* Should the device gather the pieces? Else copy them (RB_VERBS_COPY_BELOW says when). */
static bool may_gather(const struct rb_verbs *v, const struct rb_piece *pieces, uint32_t n,
		       uint32_t len_bytes)
{
	if (len_bytes < (uint64_t)(n - 1) * v->config.copy_below_bytes)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!in_region(v, &pieces[i]))
			return false;
	return true;
}

static void copy(const struct rb_piece *pieces, uint32_t n, uint8_t *to)
{
	for (uint32_t i = 0; i < n; i++) {
		memcpy(to, pieces[i].data, pieces[i].len_bytes);
		to += pieces[i].len_bytes;
	}
}

int rb_verbs_pair_put(struct rb_verbs *v, struct rb_verbs_pair *pair, const struct rb_piece *pieces,
		      uint32_t n, uint32_t len_bytes, uint64_t cookie, struct ibv_send_wr **wr_out)
{
	uint32_t slot = pair->tail % RB_VERBS_CHAIN, i = 0;
	struct rb_verbs_sent *sent = &pair->sent[pair->tail & pair->mask];
	struct ibv_sge *sge;
	struct ibv_send_wr *wr;

	if (pair->tail - pair->reported >= v->config.send_depth)
		return -EAGAIN;
	if (pair->tail - pair->posted == RB_VERBS_CHAIN)
		return -EAGAIN;
	wr = &pair->wr[slot];
	sge = pair->sge[slot];
	*sent = (struct rb_verbs_sent){ .cookie = cookie, .chunk = RB_CHUNK_NONE };
	*wr = (struct ibv_send_wr){ .wr_id = send_id(pair, pair->tail),
				    .sg_list = sge,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND };
	if (len_bytes <= v->inline_max_bytes) {
		copy(pieces, n, pair->inline_bytes[slot]);
		sge[0].addr = (uintptr_t)pair->inline_bytes[slot];
		sge[0].length = len_bytes;
		wr->send_flags = IBV_SEND_INLINE;
		v->stats.bytes_copied += len_bytes;
	} else if (may_gather(v, pieces, n, len_bytes)) {
		for (; i < n; i++)
			sge[i] = (struct ibv_sge){ .addr = (uintptr_t)pieces[i].data,
						   .length = pieces[i].len_bytes,
						   .lkey = v->lkey };
		wr->num_sge = (int)n;
		sent->lent = true;
	} else {
		sent->chunk = rb_chunk_take(v->base.chunks, RB_OWNER_SEND);
		if (sent->chunk == RB_CHUNK_NONE)
			return -EAGAIN;
		copy(pieces, n, rb_chunk_data(v->base.chunks, sent->chunk));
		sge[0] = (struct ibv_sge){
			.addr = (uintptr_t)rb_chunk_data(v->base.chunks, sent->chunk),
			.length = len_bytes,
			.lkey = v->lkey,
		};
		v->stats.bytes_copied += len_bytes;
	}
	pair->tail++;
	v->stats.sent++;
	v->stats.sent_bytes += len_bytes;
	*wr_out = wr;
	return sent->lent ? 0 : 1;
}

int rb_verbs_pair_submit(struct rb_verbs_pair *pair, uint32_t max)
{
	uint32_t n = pair->tail - pair->posted;
	struct ibv_send_wr *bad = NULL, *wr = NULL;

	if (n > max)
		n = max;
	if (n == 0)
		return 0;
	if (!pair->ready)
		return -EIO;
	for (uint32_t i = 0; i < n; i++) {
		struct ibv_send_wr *next = &pair->wr[(pair->posted + i) % RB_VERBS_CHAIN];

		if (wr)
			wr->next = next;
		wr = next;
	}
	wr->next = NULL;
	wr->send_flags |= IBV_SEND_SIGNALED;
	if (ibv_post_send(pair->qp, &pair->wr[pair->posted % RB_VERBS_CHAIN], &bad)) {
		/* Until a reset of the queue pair, nobody knows which of them the device took. */
		pair->broken = true;
		return -EIO;
	}
	pair->posted += n;
	return 0;
}

static uint32_t report(struct rb_verbs *v, struct rb_verbs_pair *pair, struct rb_completion *out,
		       uint32_t max)
{
	uint32_t n = 0;

	for (; pair->reported != pair->completed; pair->reported++) {
		const struct rb_verbs_sent *sent = &pair->sent[pair->reported & pair->mask];

		if (sent->chunk != RB_CHUNK_NONE)
			rb_chunk_release(v->base.chunks, sent->chunk, RB_OWNER_SEND);
		if (!sent->lent)
			continue;
		if (n == max)
			break;
		out[n++] = (struct rb_completion){ .kind = RB_SENT, .cookie = sent->cookie };
	}
	return n;
}

uint32_t rb_verbs_report(struct rb_verbs *v, struct rb_completion *out, uint32_t max)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->n_pairs; i++) {
		struct rb_verbs_pair *pair = v->pair[(v->pair_turn + i) % v->n_pairs];

		if (pair && pair->reported != pair->completed)
			n += report(v, pair, out + n, max - n);
		if (pair && pair->closing && pair->reported == pair->tail)
			rb_verbs_pair_destroy(v, pair);
	}
	if (v->n_pairs)
		v->pair_turn = (v->pair_turn + 1) % v->n_pairs;
	return n;
}

bool rb_verbs_is_send(const struct ibv_wc *wc)
{
	return wc->wr_id & SEND_BIT;
}

struct rb_verbs_pair *rb_verbs_sent(struct rb_verbs *v, const struct ibv_wc *wc)
{
	uint32_t index = wc->wr_id >> 32 & 0xffff, number = (uint32_t)wc->wr_id;
	struct rb_verbs_pair *pair = index < RB_VERBS_PAIRS_MAX ? v->pair[index] : NULL;

	if (!pair || (pair->generation & 0x7fff) != (wc->wr_id >> 48 & 0x7fff))
		return NULL;
	/* A message from before a reset is done already. */
	if (number - pair->completed >= pair->posted - pair->completed)
		return pair;
	if (wc->status == IBV_WC_SUCCESS) {
		pair->completed = number + 1;
	} else {
		/* Messages before the one that failed were sent; it and later ones were not. */
		pair->completed = number;
		pair->broken = true;
	}
	return pair;
}

int rb_verbs_break(struct rb_transport *t)
{
	struct rb_verbs *v = rb_verbs_of(t);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	int err = 0;

	for (uint32_t i = 0; i < v->n_pairs && !err; i++)
		if (v->pair[i] && v->pair[i]->qp)
			err = v->lib->modify_qp(v->pair[i]->qp, &attr, IBV_QP_STATE);
	return -abs(err);
}
