/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/queue/egress_flows.h"

#include <errno.h>
#include <stdlib.h>

#include "queues/flow.h"

static enum rb_frame_counter counter_of(enum fq_reason reason)
{
	switch (reason) {
	case FQ_EARLY:
	case FQ_LATE:
		return RB_COUNT_DROP_QUEUE_POLICY;
	case FQ_FLUSHED:
		return RB_COUNT_DROP_PORT_DOWN;
	default:
		return RB_COUNT_DROP_QUEUE_FULL;
	}
}

static void drop(struct rb_egress_flows *f, const struct rb_frame *frame, enum fq_reason reason)
{
	f->dropped[reason]++;
	f->drops.total->packets++;
	f->drops.total->bytes += frame->len_bytes;
	rb_count(f->drops.counters, counter_of(reason), 1, frame->len_bytes);
	rb_chunk_release(f->drops.chunks, frame->offset, RB_OWNER_MESSAGE);
}

static void on_drop(void *context, const struct fq_frame *frame, uint32_t queue,
		    enum fq_reason reason)
{
	struct rb_egress_flows *f = context;

	if (f->take) {
		f->take(f->take_context, &f->frame[frame->handle]);
	} else {
		if (queue < f->port->config.shape.reserved)
			f->reserved.queue[queue].discarded_frames++;
		drop(f, &f->frame[frame->handle], reason);
	}
	f->free[f->n_free++] = (uint32_t)frame->handle;
}

int rb_egress_flows_open(const struct fq_config *config, const struct fq_hash_key *key,
			 struct rb_egress_flows **out)
{
	/* One more: an arrival is in its queue before the policy chooses what to drop. */
	const uint32_t n = config->shape.limit_frames + 1;
	struct rb_egress_flows *f = calloc(1, sizeof(*f));
	void *memory = malloc(fq_port_size(config));

	*out = NULL;
	if (f) {
		f->frame = calloc(n, sizeof(*f->frame));
		f->free = calloc(n, sizeof(*f->free));
	}
	if (!f || !memory || !f->frame || !f->free) {
		free(memory);
		rb_egress_flows_close(f);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < n; i++)
		f->free[f->n_free++] = n - 1 - i;
	f->key = *key;
	f->port = fq_port_init(memory, config, on_drop, f);
	*out = f;
	return 0;
}

void rb_egress_flows_close(struct rb_egress_flows *f)
{
	if (!f)
		return;
	free(f->port);
	free(f->frame);
	free(f->free);
	free(f);
}

int rb_egress_flows_reserve(struct rb_egress_flows *f, const struct fq_flow *flow, uint32_t weight)
{
	return fq_reserved_put(&f->reserved, f->port, flow, fq_flow_hash(flow, &f->key), weight);
}

int rb_egress_flows_release(struct rb_egress_flows *f, const struct fq_flow *flow)
{
	return fq_reserved_remove(&f->reserved, flow, fq_flow_hash(flow, &f->key));
}

void rb_egress_flows_release_all(struct rb_egress_flows *f)
{
	f->reserved = (struct fq_reserved){ 0 };
}

/* The queue of its flow: its own, or one by hash. */
static uint32_t queue_of(struct rb_egress_flows *f, const struct fq_flow *flow, uint32_t len_bytes)
{
	const uint64_t hash = fq_flow_hash(flow, &f->key);
	const uint32_t queue = fq_reserved_find(&f->reserved, flow, hash);

	if (queue == FQ_NONE)
		return fq_queue_pick(f->port, hash);
	f->reserved.queue[queue].arrived_frames++;
	f->reserved.queue[queue].arrived_bytes += len_bytes;
	return queue;
}

void rb_egress_flows_put(struct rb_egress_flows *f, const struct rb_frame *frame,
			 const struct rb_egress_drops *drops, uint64_t now_ns)
{
	struct fq_flow flow;
	const struct fq_config *config = &f->port->config;
	const uint8_t *data = rb_chunk_data(drops->chunks, frame->offset);
	struct fq_frame arrival = { .len_bytes = frame->len_bytes };

	f->drops = *drops;
	fq_flow_parse(data, frame->len_bytes, &flow);
	arrival.ect = fq_flow_is_ect(&flow);
	arrival.layer = config->ops->layer
				? config->ops->layer(config, data, frame->len_bytes, &flow)
				: FQ_NO_LAYER;
	arrival.handle = f->free[--f->n_free];
	f->frame[arrival.handle] = *frame;
	fq_enqueue(f->port, queue_of(f, &flow, frame->len_bytes), &arrival, now_ns);
}

static void mark(struct rb_egress_flows *f)
{
	uint8_t *data = rb_chunk_data(f->drops.chunks, f->head.offset);
	struct fq_flow flow;

	fq_flow_parse(data, f->head.len_bytes, &flow);
	fq_flow_mark(data, &flow);
	f->marked++;
}

const struct rb_frame *rb_egress_flows_head(struct rb_egress_flows *f,
					    const struct rb_egress_drops *drops, uint64_t now_ns)
{
	struct fq_frame next;

	if (f->has_head)
		return &f->head;
	f->drops = *drops;
	if (fq_dequeue(f->port, now_ns, &next) == FQ_NONE)
		return NULL;
	f->head = f->frame[next.handle];
	f->has_head = true;
	f->free[f->n_free++] = (uint32_t)next.handle;
	if (next.ce)
		mark(f);
	return &f->head;
}

struct rb_frame rb_egress_flows_take(struct rb_egress_flows *f)
{
	f->has_head = false;
	return f->head;
}

void rb_egress_flows_flush(struct rb_egress_flows *f, const struct rb_egress_drops *drops)
{
	f->drops = *drops;
	if (f->has_head)
		drop(f, &f->head, FQ_FLUSHED);
	f->has_head = false;
	fq_flush(f->port);
}

void rb_egress_flows_drain(struct rb_egress_flows *f, rb_frame_fn take, void *context)
{
	f->take = take;
	f->take_context = context;
	if (f->has_head)
		take(context, &f->head);
	f->has_head = false;
	fq_flush(f->port);
	f->take = NULL;
}

uint32_t rb_egress_flows_inherit(const struct rb_egress_flows *f, struct rb_egress_flows *to)
{
	uint32_t without = 0;

	for (uint32_t queue = 0; f->reserved.n && queue < FQ_RESERVED_MAX; queue++) {
		const struct fq_reserved_flow *from = &f->reserved.queue[queue];
		struct fq_reserved_flow *entry;
		uint64_t hash = fq_flow_hash(&from->flow, &to->key);

		if (!from->flow.key_bytes)
			continue;
		if (fq_reserved_put(&to->reserved, to->port, &from->flow, hash,
				    f->port->queue[queue].weight)) {
			without++;
			continue;
		}
		entry = &to->reserved.queue[fq_reserved_find(&to->reserved, &from->flow, hash)];
		entry->arrived_frames = from->arrived_frames;
		entry->arrived_bytes = from->arrived_bytes;
		entry->discarded_frames = from->discarded_frames;
	}
	return without;
}

uint32_t rb_egress_flows_in_use(const struct rb_egress_flows *f)
{
	uint32_t n = 0;

	for (uint32_t queue = 0; queue < f->port->config.shape.queues; queue++)
		n += f->port->queue[queue].n_frames > 0;
	return n;
}
