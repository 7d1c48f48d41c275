/* SPDX-License-Identifier: BSD-2-Clause */
#include "queues/reserved_flows.h"

#include <errno.h>
#include <string.h>

static bool is_flow(const struct fq_reserved_flow *entry, const struct fq_flow *flow, uint64_t hash)
{
	return entry->hash == hash && entry->flow.key_bytes == flow->key_bytes &&
	       memcmp(entry->flow.key, flow->key, flow->key_bytes) == 0;
}

/* The slot of the flow, or the free one where the search for it ends. */
static uint32_t find_slot(const struct fq_reserved *r, const struct fq_flow *flow, uint64_t hash)
{
	uint32_t i = (uint32_t)hash % FQ_RESERVED_SLOTS;

	while (r->slot[i] && !is_flow(&r->queue[r->slot[i] - 1], flow, hash))
		i = (i + 1) % FQ_RESERVED_SLOTS;
	return i;
}

uint32_t fq_reserved_find(const struct fq_reserved *r, const struct fq_flow *flow, uint64_t hash)
{
	uint16_t queue_plus1;

	if (!r->n)
		return FQ_NONE;
	queue_plus1 = r->slot[find_slot(r, flow, hash)];
	return queue_plus1 ? queue_plus1 - 1u : FQ_NONE;
}

/* A queue may still have frames of the flow that had it. */
static uint32_t free_queue(const struct fq_reserved *r, const struct fq_port *port)
{
	const uint32_t reserved = port->config.shape.reserved;
	uint32_t busy = FQ_NONE;

	for (uint32_t i = 0; i < reserved && i < FQ_RESERVED_MAX; i++) {
		if (r->queue[i].flow.key_bytes)
			continue;
		if (port->queue[i].n_frames == 0)
			return i;
		busy = busy == FQ_NONE ? i : busy;
	}
	return busy;
}

int fq_reserved_put(struct fq_reserved *r, struct fq_port *port, const struct fq_flow *flow,
		    uint64_t hash, uint32_t weight)
{
	const uint32_t slot = find_slot(r, flow, hash);
	uint32_t queue = r->slot[slot] ? r->slot[slot] - 1u : free_queue(r, port);
	int err;

	if (queue == FQ_NONE)
		return -ENOSPC;
	err = fq_set_weight(port, queue, weight);
	if (err || r->slot[slot])
		return err;
	r->queue[queue] = (struct fq_reserved_flow){ .flow = *flow, .hash = hash };
	r->slot[slot] = (uint16_t)(queue + 1);
	r->n++;
	return 0;
}

/* Flows behind a slot that becomes free may have gone past it: each is put where it belongs. */
static void close_gap(struct fq_reserved *r, uint32_t gap)
{
	for (uint32_t i = (gap + 1) % FQ_RESERVED_SLOTS; r->slot[i];
	     i = (i + 1) % FQ_RESERVED_SLOTS) {
		const struct fq_reserved_flow *entry = &r->queue[r->slot[i] - 1];
		const uint16_t queue_plus1 = r->slot[i];

		r->slot[i] = 0;
		r->slot[find_slot(r, &entry->flow, entry->hash)] = queue_plus1;
	}
}

int fq_reserved_remove(struct fq_reserved *r, const struct fq_flow *flow, uint64_t hash)
{
	const uint32_t slot = find_slot(r, flow, hash);

	if (!r->slot[slot])
		return -ENOENT;
	r->queue[r->slot[slot] - 1] = (struct fq_reserved_flow){ 0 };
	r->slot[slot] = 0;
	r->n--;
	close_gap(r, slot);
	return 0;
}
