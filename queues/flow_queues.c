/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frames, the queues and their round. What the policies share: the buffer's limit, and that
 * each frame that came in either leaves or is given to drop, once.
 */
#include <errno.h>
#include <string.h>

#include "queues/fq.h"

#define LINE_BYTES 64 /* of a cache */

static size_t aligned(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

/* One entry more than the limit: an arrival is queued before the policy chooses a victim. */
static size_t entries(const struct fq_shape *shape)
{
	return (size_t)shape->limit_frames + 1;
}

size_t fq_port_size(const struct fq_config *cfg)
{
	const struct fq_shape *shape = &cfg->shape;

	return aligned(sizeof(struct fq_port)) + LINE_BYTES +
	       shape->queues * (sizeof(struct fq_queue) + cfg->ops->state_bytes) +
	       cfg->ops->n_ranks * fq_rank_size(shape->queues) +
	       entries(shape) * sizeof(struct fq_entry);
}

struct fq_port *fq_port_init(void *memory, const struct fq_config *cfg, fq_drop_fn drop,
			     void *drop_context)
{
	const struct fq_shape *shape = &cfg->shape;
	unsigned char *at = memory;
	struct fq_port *port = memory;

	memset(port, 0, sizeof(*port));
	port->config = *cfg;
	port->drop = drop;
	port->drop_context = drop_context;
	port->random = shape->seed ? shape->seed : 1;
	for (int i = 0; i < 3; i++)
		port->round[i] = (struct fq_list){ .head = FQ_NONE, .tail = FQ_NONE };
	port->rate_Bps = shape->rate_Bps;
	at += aligned(sizeof(*port));

	/* No queue and no entry is in two lines of a cache. */
	at += -(uintptr_t)at % LINE_BYTES;
	port->queue = (void *)at;
	memset(port->queue, 0, shape->queues * sizeof(*port->queue));
	for (uint32_t i = 0; i < shape->queues; i++) {
		port->queue[i].weight = 1;
		port->queue[i].prev = port->queue[i].next = FQ_NONE;
	}
	at += shape->queues * sizeof(*port->queue);

	port->entry = (void *)at;
	for (uint32_t i = 0; i < entries(shape); i++)
		port->entry[i].next = i + 1;
	at += entries(shape) * sizeof(*port->entry);

	for (int i = 0; i < cfg->ops->n_ranks; i++) {
		fq_rank_init(&port->rank[i], shape->queues, at);
		at += fq_rank_size(shape->queues);
	}

	port->state = at;
	memset(port->state, 0, (size_t)shape->queues * cfg->ops->state_bytes);
	if (cfg->ops->init)
		cfg->ops->init(port);
	return port;
}

uint32_t fq_queue_of(const struct fq_port *port, uint64_t hash)
{
	const struct fq_shape *shape = &port->config.shape;

	return shape->reserved + (uint32_t)((hash >> 32) * (shape->queues - shape->reserved) >> 32);
}

/*
 * A flow that shares a queue must stay there while frames wait in it, for some may be the flow's
 * own: hence is_shared.
 */
uint32_t fq_queue_pick(struct fq_port *port, uint64_t hash)
{
	const struct fq_shape *shape = &port->config.shape;
	const uint32_t direct = fq_queue_of(port, hash), tag = (uint32_t)hash;
	const uint32_t begin = direct - (direct - shape->reserved) % FQ_WAYS;
	const uint32_t ways = shape->queues - begin < FQ_WAYS ? shape->queues - begin : FQ_WAYS;
	uint32_t empty = FQ_NONE;

	for (uint32_t i = 0; i < ways; i++) {
		const uint32_t queue = begin + (direct - begin + i) % ways;
		const struct fq_queue *q = &port->queue[queue];

		if (q->n_frames > 0 && q->tag == tag)
			return queue;
		if (q->n_frames == 0 && empty == FQ_NONE)
			empty = queue;
	}
	if (port->queue[direct].n_frames > 0 &&
	    (port->queue[direct].is_shared || empty == FQ_NONE)) {
		port->queue[direct].is_shared = true;
		return direct;
	}
	port->queue[empty].tag = tag;
	port->queue[empty].is_shared = false;
	return empty;
}

int fq_set_weight(struct fq_port *port, uint32_t queue, uint32_t weight)
{
	if (queue >= port->config.shape.queues || weight < 1 || weight > FQ_WEIGHT_MAX)
		return -EINVAL;
	if (port->queue[queue].round != FQ_IDLE)
		port->active_weight += weight - port->queue[queue].weight;
	port->queue[queue].weight = (uint16_t)weight;
	return 0;
}

void fq_set_rate(struct fq_port *port, uint64_t rate_Bps)
{
	port->rate_Bps = rate_Bps < 1 ? 1 : rate_Bps > FQ_RATE_MAX_BPS ? FQ_RATE_MAX_BPS : rate_Bps;
}

uint64_t fq_share_Bps(const struct fq_port *port, uint32_t queue)
{
	const struct fq_queue *q = &port->queue[queue];
	const uint32_t weights = port->active_weight + (q->round == FQ_IDLE ? q->weight : 0);
	const uint64_t share_Bps = port->rate_Bps * q->weight / weights;

	return share_Bps > 0 ? share_Bps : 1;
}

static int32_t quantum_bytes(const struct fq_port *port, const struct fq_queue *q)
{
	return (int32_t)(q->weight * port->config.shape.quantum_bytes);
}

/* Move a queue to the end of a round; FQ_IDLE: out of its round. */
static void move(struct fq_port *port, uint32_t queue, enum fq_round round)
{
	struct fq_queue *q = &port->queue[queue];
	struct fq_list *list = &port->round[q->round];

	if (q->round != FQ_IDLE) {
		port->active_weight -= q->weight;
		if (q->prev == FQ_NONE)
			list->head = q->next;
		else
			port->queue[q->prev].next = q->next;
		if (q->next == FQ_NONE)
			list->tail = q->prev;
		else
			port->queue[q->next].prev = q->prev;
	}
	q->round = (uint8_t)round;
	q->prev = q->next = FQ_NONE;
	if (round == FQ_IDLE)
		return;
	port->active_weight += q->weight;
	list = &port->round[round];
	q->prev = list->tail;
	if (list->tail == FQ_NONE)
		list->head = (uint16_t)queue;
	else
		port->queue[list->tail].next = (uint16_t)queue;
	list->tail = (uint16_t)queue;
}

static void changed(struct fq_port *port, uint32_t queue)
{
	if (port->config.ops->changed)
		port->config.ops->changed(port, queue);
}

static void put(struct fq_port *port, uint32_t queue, const struct fq_frame *frame)
{
	struct fq_queue *q = &port->queue[queue];
	const uint32_t i = port->free_entry;
	struct fq_entry *entry = &port->entry[i];

	port->free_entry = entry->next;
	entry->frame = *frame;
	if (q->n_frames++ == 0)
		q->first = i;
	else
		port->entry[q->last].next = i;
	q->last = i;
	q->n_bytes += frame->len_bytes;
	port->n_frames++;
	port->n_bytes += frame->len_bytes;
	if (q->round == FQ_IDLE) {
		q->deficit_bytes = quantum_bytes(port, q);
		move(port, queue, port->config.ops->sparse ? FQ_NEW : FQ_OLD);
	}
	changed(port, queue);
}

/* Take the head of a queue that is not empty. The caller calls changed() when it has decided. */
static struct fq_frame take(struct fq_port *port, uint32_t queue)
{
	struct fq_queue *q = &port->queue[queue];
	const uint32_t i = q->first;
	struct fq_entry *entry = &port->entry[i];
	const struct fq_frame frame = entry->frame;

	q->first = entry->next;
	q->n_frames--;
	q->n_bytes -= frame.len_bytes;
	port->n_frames--;
	port->n_bytes -= frame.len_bytes;
	entry->next = port->free_entry;
	port->free_entry = i;
	if (q->n_frames == 0 && !port->config.ops->sparse)
		move(port, queue, FQ_IDLE);
	return frame;
}

static bool fits(const struct fq_port *port, uint32_t n_frames, uint32_t n_bytes)
{
	return n_frames <= port->config.shape.limit_frames &&
	       n_bytes <= port->config.shape.limit_bytes;
}

static void discard_head(struct fq_port *port, uint32_t queue, enum fq_reason reason)
{
	const struct fq_frame frame = take(port, queue);

	port->drop(port->drop_context, &frame, queue, reason);
	changed(port, queue);
}

void fq_enqueue(struct fq_port *port, uint32_t queue, const struct fq_frame *frame, uint64_t now_ns)
{
	const struct fq_ops *ops = port->config.ops;
	struct fq_frame arrival = *frame;
	enum fq_verdict verdict = FQ_PASS;

	arrival.arrival_ns = now_ns;
	arrival.ce = false;
	if (arrival.len_bytes == 0 || arrival.len_bytes > port->config.shape.frame_max_bytes) {
		port->drop(port->drop_context, &arrival, queue, FQ_BAD_SIZE);
		return;
	}
	if (ops->arrive)
		verdict = ops->arrive(port, queue, &arrival, now_ns);
	if (verdict == FQ_DROP) {
		port->drop(port->drop_context, &arrival, queue, FQ_EARLY);
		return;
	}
	if (!ops->victim && !fits(port, port->n_frames + 1, port->n_bytes + arrival.len_bytes)) {
		if (ops->full)
			ops->full(port, now_ns);
		port->drop(port->drop_context, &arrival, queue, FQ_FULL);
		return;
	}
	arrival.ce = verdict == FQ_MARK;
	put(port, queue, &arrival);
	/* Each pass discards at least one of the frames that wait, and none fit always. */
	while (!fits(port, port->n_frames, port->n_bytes)) {
		const struct fq_victim victim = ops->victim(port);

		for (uint32_t i = 0; i < victim.frames && port->queue[victim.queue].n_frames; i++)
			discard_head(port, victim.queue, FQ_PUSHED);
	}
}

/*
 * The queue that sends next, or FQ_NONE. A queue that ends its turn has a quantum for the next, so
 * it sends in its next turn, or within FQ_TURNS_MAX of them where the quantum is small. An empty
 * queue, which only a sparse round has, takes at most three steps to leave. So there is a fixed
 * number of steps for each frame that comes.
 */
static uint32_t next_queue(struct fq_port *port)
{
	const bool sparse = port->config.ops->sparse;

	for (;;) {
		const uint16_t fresh = port->round[FQ_NEW].head;
		const uint16_t queue = fresh != FQ_NONE ? fresh : port->round[FQ_OLD].head;
		struct fq_queue *q;

		if (queue == FQ_NONE)
			return FQ_NONE;
		q = &port->queue[queue];
		if (q->deficit_bytes <
		    (sparse ? 1 : (int32_t)port->entry[q->first].frame.len_bytes)) {
			q->deficit_bytes += quantum_bytes(port, q);
			move(port, queue, FQ_OLD);
		} else if (q->n_frames == 0) {
			/* Not idle at once: it would be new again, and could starve the old. */
			move(port, queue, q->round == FQ_NEW ? FQ_OLD : FQ_IDLE);
		} else {
			return queue;
		}
	}
}

uint32_t fq_dequeue(struct fq_port *port, uint64_t now_ns, struct fq_frame *out)
{
	const struct fq_ops *ops = port->config.ops;
	uint32_t queue;

	/* Each pass takes a frame away. */
	while ((queue = next_queue(port)) != FQ_NONE) {
		enum fq_verdict verdict = FQ_PASS;

		*out = take(port, queue);
		if (ops->depart)
			verdict = ops->depart(port, queue, out, now_ns);
		if (port->n_frames == 0)
			port->empty_since_ns = now_ns;
		if (verdict == FQ_DROP) {
			port->drop(port->drop_context, out, queue, FQ_LATE);
			changed(port, queue);
			continue;
		}
		out->ce |= verdict == FQ_MARK;
		port->queue[queue].deficit_bytes -= (int32_t)out->len_bytes;
		if (ops->sent)
			ops->sent(port, queue, out->len_bytes, now_ns);
		changed(port, queue);
		return queue;
	}
	return FQ_NONE;
}

void fq_flush(struct fq_port *port)
{
	for (uint32_t queue = 0; queue < port->config.shape.queues; queue++)
		while (port->queue[queue].n_frames > 0)
			discard_head(port, queue, FQ_FLUSHED);
}
