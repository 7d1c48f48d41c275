/* SPDX-License-Identifier: BSD-2-Clause */
/* Receiving into chunks, and what the device reports: completions and events. */
#include "rdma-bridge/transport/verbs/verbs_shared.h"

#include <stdlib.h>

/* --- Receiving --- */

/* Post requests for these slots. Returns how many the device took. */
static uint32_t post(struct rb_verbs *v, struct ibv_qp *qp, const uint32_t *slots, uint32_t n)
{
	struct ibv_recv_wr wr[RB_VERBS_BATCH], *bad = NULL;
	struct ibv_sge sge[RB_VERBS_BATCH];

	for (uint32_t i = 0; i < n; i++) {
		uint64_t offset = v->slot[slots[i]];

		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)rb_chunk_data(v->base.chunks, offset),
			.length = rb_chunk_bytes(v->base.chunks),
			.lkey = v->lkey,
		};
		wr[i] = (struct ibv_recv_wr){ .wr_id = slots[i],
					      .sg_list = &sge[i],
					      .num_sge = 1,
					      .next = i + 1 < n ? &wr[i + 1] : NULL };
	}
	if (n == 0 ||
	    (v->srq ? ibv_post_srq_recv(v->srq, wr, &bad) : ibv_post_recv(qp, wr, &bad)) == 0)
		return n;
	return bad ? (uint32_t)(bad - wr) : 0;
}

uint32_t rb_verbs_receive(struct rb_verbs *v, struct ibv_qp *qp, const uint64_t *offsets,
			  uint32_t n)
{
	uint32_t slots[RB_VERBS_BATCH], taken = 0;

	while (taken < n) {
		uint32_t k = n - taken, posted;

		if (k > v->n_free_slots)
			k = v->n_free_slots;
		if (k > RB_VERBS_BATCH)
			k = RB_VERBS_BATCH;
		for (uint32_t i = 0; i < k; i++) {
			slots[i] = v->free_slot[--v->n_free_slots];
			v->slot[slots[i]] = rb_chunk_base(v->base.chunks, offsets[taken + i]);
		}
		posted = post(v, qp, slots, k);
		for (uint32_t i = posted; i < k; i++) {
			v->slot[slots[i]] = RB_CHUNK_NONE;
			v->free_slot[v->n_free_slots++] = slots[i];
		}
		taken += posted;
		if (posted < RB_VERBS_BATCH)
			break;
	}
	return taken;
}

int rb_verbs_receive_again(struct rb_verbs *v, struct ibv_qp *qp)
{
	for (uint32_t i = 0; i < v->config.receive_depth; i++)
		if (v->slot[i] != RB_CHUNK_NONE && post(v, qp, &i, 1) != 1)
			return -EIO;
	return 0;
}

void rb_verbs_repost(struct rb_verbs *v, const struct ibv_wc *wc)
{
	uint32_t slot = (uint32_t)wc->wr_id;

	if (slot < v->config.receive_depth && v->slot[slot] != RB_CHUNK_NONE)
		post(v, NULL, &slot, 1);
}

bool rb_verbs_received(struct rb_verbs *v, const struct ibv_wc *wc, uint64_t *offset)
{
	uint32_t slot = (uint32_t)wc->wr_id;

	if (slot >= v->config.receive_depth || v->slot[slot] == RB_CHUNK_NONE ||
	    wc->status != IBV_WC_SUCCESS)
		return false;
	*offset = v->slot[slot];
	v->slot[slot] = RB_CHUNK_NONE;
	v->free_slot[v->n_free_slots++] = slot;
	return true;
}

/* --- Completions and events --- */

static bool fill_stash(struct rb_verbs *v)
{
	int n;

	if (v->n_stash > 0)
		return true;
	n = ibv_poll_cq(v->cq, RB_VERBS_BATCH, v->stash);
	v->stash_first = 0;
	v->n_stash = n > 0 ? (uint32_t)n : 0;
	return n > 0;
}

const struct ibv_wc *rb_verbs_next(struct rb_verbs *v)
{
	const struct ibv_wc *wc;
	uint32_t status;

	if (!fill_stash(v))
		return NULL;
	wc = &v->stash[v->stash_first++];
	v->n_stash--;
	status = (uint32_t)wc->status;
	v->statuses[status < RB_VERBS_STATUS_COUNT ? status : IBV_WC_GENERAL_ERR]++;
	return wc;
}

int rb_verbs_wait_fd(struct rb_transport *t)
{
	return rb_verbs_of(t)->epoll_fd;
}

/*
 * Events only say that something happened. Completions and the state of queue pairs say what.
 */
void rb_verbs_take_events(struct rb_verbs *v)
{
	struct ibv_async_event event;
	struct ibv_cq *cq;
	void *context;

	while (v->lib->get_cq_event(v->channel, &cq, &context) == 0)
		v->lib->ack_cq_events(cq, 1);
	while (v->lib->get_async_event(v->context, &event) == 0) {
		if (event.event_type == IBV_EVENT_DEVICE_FATAL ||
		    event.event_type == IBV_EVENT_CQ_ERR || event.event_type == IBV_EVENT_SRQ_ERR)
			v->lost = true;
		for (uint32_t i = 0; i < v->n_pairs; i++)
			if (v->pair[i] && event.event_type == IBV_EVENT_QP_FATAL &&
			    v->pair[i]->qp == event.element.qp)
				v->pair[i]->broken = true;
		v->lib->ack_async_event(&event);
	}
}

bool rb_verbs_arm(struct rb_transport *t)
{
	struct rb_verbs *v = rb_verbs_of(t);

	rb_verbs_take_events(v);
	if (ibv_req_notify_cq(v->cq, 0) || (v->datagram_cq && ibv_req_notify_cq(v->datagram_cq, 0)))
		return true;
	/* A completion from before the request causes no event. */
	if (fill_stash(v))
		return true;
	for (uint32_t i = 0; i < v->n_pairs; i++)
		if (v->pair[i] && v->pair[i]->reported != v->pair[i]->completed)
			return true;
	return false;
}
