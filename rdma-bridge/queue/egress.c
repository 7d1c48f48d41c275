/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/queue/egress.h"

#include <errno.h>
#include <stdlib.h>

#define LIMIT_MAX_FRAMES (1U << 20)
#define BATCH		 64
#define ABOVE_NS	 10000000ULL /* over which the rate of higher levels is taken */

static uint32_t power_of_two(uint32_t n)
{
	return n <= 1 ? 1 : 1U << (32 - __builtin_clz(n - 1));
}

static int open_queue(struct rb_egress_queue *q, const struct rb_egress_class_config *class,
		      const struct fq_hash_key *key)
{
	uint32_t entries;

	if (class->flows)
		return rb_egress_flows_open(class->flows, key, &q->flows);
	if (class->limit_frames == 0 || class->limit_frames > LIMIT_MAX_FRAMES)
		return -EINVAL;
	entries = power_of_two(class->limit_frames);
	q->mask = entries - 1;
	q->frames = calloc(entries, sizeof(*q->frames));
	return q->frames ? 0 : -ENOMEM;
}

int rb_egress_open(const struct rb_egress_config *config, uint64_t now_ns,
		   struct rb_egress_port **out)
{
	struct rb_egress_port *port = calloc(1, sizeof(*port));
	int err;

	*out = NULL;
	if (!port)
		return -ENOMEM;
	port->system_port = config->system_port;
	port->unit = config->unit;
	rb_pace_init(&port->pace, &port->clock, config->rate, config->burst, config->unit, now_ns);
	err = rb_wfq_init(&port->wfq, SL_CLASSES);
	if (!err && config->delay_sample)
		err = rb_port_delay_create(config->delay_sample, &port->delay);
	if (!err && config->delay_sample)
		err = rb_port_busy_create(&port->busy);
	for (uint32_t c = 0; c < SL_CLASSES && !err; c++) {
		const struct rb_egress_class_config *class = &config->class[c];

		err = open_queue(&port->queue[c], class, &config->flow_key);
		if (!err)
			err = rb_wfq_configure(&port->wfq, c, class->level, class->weight);
	}
	if (err)
		rb_egress_close(port, NULL, NULL);
	else
		*out = port;
	return err;
}

uint32_t rb_egress_backlog(const struct rb_egress_port *port, uint32_t class)
{
	const struct rb_egress_queue *q = &port->queue[class];

	return q->flows ? rb_egress_flows_backlog(q->flows) : q->tail - q->head;
}

uint32_t rb_egress_limit(const struct rb_egress_port *port, uint32_t class)
{
	const struct rb_egress_queue *q = &port->queue[class];

	return q->flows ? q->flows->port->config.shape.limit_frames : q->mask + 1;
}

static void drop(struct rb_egress_queue *q, const struct rb_frame *frame, enum rb_frame_counter why,
		 struct rb_chunks *chunks, struct sl_counter *counters)
{
	q->dropped.packets++;
	q->dropped.bytes += frame->len_bytes;
	rb_count(counters, why, 1, frame->len_bytes);
	rb_chunk_release(chunks, frame->offset, RB_OWNER_MESSAGE);
}

static uint32_t units_of(const struct rb_egress_port *port, uint32_t len_bytes)
{
	return port->unit == SL_UNIT_BYTES ? len_bytes : 1;
}

/* A call of rb_egress_serve, for head_units. */
struct serving {
	struct rb_egress_port *port;
	struct rb_chunks *chunks;
	struct sl_counter *counters;
	uint64_t now_ns;
};

static int flows_head_units(const struct serving *s, struct rb_egress_queue *q)
{
	const struct rb_egress_drops drops = { s->chunks, s->counters, &q->dropped };
	const uint32_t before = rb_egress_flows_backlog(q->flows);
	const struct rb_frame *frame = rb_egress_flows_head(q->flows, &drops, s->now_ns);

	s->port->n_waiting -= before - rb_egress_flows_backlog(q->flows);
	return frame ? (int)units_of(s->port, frame->len_bytes) : RB_WFQ_EMPTY;
}

static int head_units(void *context, uint32_t class)
{
	const struct serving *s = context;
	const struct rb_egress_port *port = s->port;
	const struct rb_egress_queue *q = &port->queue[class];

	if (q->flows)
		return flows_head_units(s, &s->port->queue[class]);
	return q->head == q->tail ? RB_WFQ_EMPTY
				  : (int)units_of(port, q->frames[q->head & q->mask].len_bytes);
}

static void drop_waiting(struct rb_egress_port *port, struct rb_chunks *chunks,
			 struct sl_counter *counters)
{
	for (uint32_t c = 0; c < SL_CLASSES; c++) {
		struct rb_egress_queue *q = &port->queue[c];
		const struct rb_egress_drops drops = { chunks, counters, &q->dropped };

		if (q->flows)
			rb_egress_flows_flush(q->flows, &drops);
		while (q->head != q->tail)
			drop(q, &q->frames[q->head++ & q->mask], RB_COUNT_DROP_PORT_DOWN, chunks,
			     counters);
	}
	port->n_waiting = 0;
}

/* A tx does not tell which frames were refused, so the bytes of those count as sent. */
static void settle(struct rb_egress_port *port, struct sl_counter *counters)
{
	uint64_t refused = port->tx->refused - port->settled;

	rb_count(counters, RB_COUNT_DROP_TRANSMIT, refused, 0);
	rb_count(counters, RB_COUNT_TRANSMITTED, port->under_way.packets - refused,
		 port->under_way.bytes);
	port->under_way = (struct sl_counter){ 0 };
	port->settled = port->tx->refused;
}

void rb_egress_set_tx(struct rb_egress_port *port, struct rb_tx *tx, struct rb_chunks *chunks,
		      struct sl_counter *counters)
{
	if (port->delay)
		rb_port_delay_restart(port->delay);
	if (port->tx) {
		rb_egress_reap(port, chunks, 0, 0);
		if (counters)
			settle(port, counters);
		port->tx->ops->close(port->tx);
	}
	port->tx = tx;
	port->lent = 0;
	port->settled = tx ? tx->refused : 0;
	if (!tx)
		drop_waiting(port, chunks, counters);
}

void rb_egress_close(struct rb_egress_port *port, struct rb_chunks *chunks,
		     struct sl_counter *counters)
{
	if (!port)
		return;
	rb_egress_set_tx(port, NULL, chunks, counters);
	for (uint32_t c = 0; c < SL_CLASSES; c++) {
		rb_egress_flows_close(port->queue[c].flows);
		free(port->queue[c].frames);
	}
	rb_port_delay_destroy(port->delay);
	rb_port_busy_destroy(port->busy);
	free(port);
}

/* Bytes that classes of higher levels than this have sent. */
static uint64_t sent_above(const struct rb_egress_port *port, uint32_t class)
{
	uint64_t bytes = 0;

	for (uint32_t c = 0; c < SL_CLASSES; c++)
		if (port->wfq.queue[c].level > port->wfq.queue[class].level)
			bytes += port->queue[c].departed.bytes;
	return bytes;
}

/*
 * What the port's scheduler grants a class now: of what higher levels leave, its part by weight
 * among the classes of its level that have frames, and it itself.
 */
static uint64_t class_share_Bps(struct rb_egress_port *port, uint32_t class, uint64_t now_ns)
{
	struct rb_egress_queue *q = &port->queue[class];
	const uint64_t port_Bps = q->flows->port->config.shape.rate_Bps;
	const uint64_t elapsed_ns = now_ns - q->above.since_ns;
	uint64_t left_Bps;
	uint32_t weights = 0;

	if (elapsed_ns >= ABOVE_NS) {
		const uint64_t bytes = sent_above(port, class);

		q->above.rate_Bps = (bytes - q->above.bytes) * 1000000 / (elapsed_ns / 1000);
		q->above.bytes = bytes;
		q->above.since_ns = now_ns;
	}
	left_Bps = port_Bps - (q->above.rate_Bps < port_Bps ? q->above.rate_Bps : port_Bps);
	for (uint32_t c = 0; c < SL_CLASSES; c++)
		if (port->wfq.queue[c].level == port->wfq.queue[class].level &&
		    (c == class || rb_egress_backlog(port, c) > 0))
			weights += port->wfq.queue[c].weight;
	return left_Bps * port->wfq.queue[class].weight / weights;
}

static void enqueue_by_flow(struct rb_egress_port *port, const struct rb_frame *frame,
			    struct rb_chunks *chunks, struct sl_counter *counters, uint64_t now_ns)
{
	struct rb_egress_queue *q = &port->queue[frame->class];
	const struct rb_egress_drops drops = { chunks, counters, &q->dropped };

	if (q->flows->port->config.ops->asks_share)
		fq_set_rate(q->flows->port, class_share_Bps(port, frame->class, now_ns));
	port->n_waiting -= rb_egress_flows_backlog(q->flows);
	rb_egress_flows_put(q->flows, frame, &drops, now_ns);
	port->n_waiting += rb_egress_flows_backlog(q->flows);
}

static void enqueue(struct rb_egress_port *port, const struct rb_frame *frame,
		    struct rb_chunks *chunks, struct sl_counter *counters, uint64_t now_ns)
{
	struct rb_egress_queue *q = &port->queue[frame->class];

	if (!port->tx) {
		drop(q, frame, RB_COUNT_DROP_PORT_DOWN, chunks, counters);
		return;
	}
	if (q->flows) {
		enqueue_by_flow(port, frame, chunks, counters, now_ns);
		return;
	}
	if (q->tail - q->head > q->mask) {
		drop(q, frame, RB_COUNT_DROP_QUEUE_FULL, chunks, counters);
		return;
	}
	q->frames[q->tail++ & q->mask] = *frame;
	port->n_waiting++;
}

void rb_egress_enqueue(struct rb_egress_port *port, const struct rb_frame *frame,
		       struct rb_chunks *chunks, struct sl_counter *counters, uint64_t now_ns)
{
	struct rb_egress_queue *q = &port->queue[frame->class];
	uint32_t units = units_of(port, frame->len_bytes);

	q->arrived.packets++;
	q->arrived.bytes += frame->len_bytes;
	q->arrived_from[frame->source] += units;
	enqueue(port, frame, chunks, counters, now_ns);
	if (!q->sample_units)
		return;
	if (q->sample_units > units) {
		q->sample_units -= units;
		return;
	}
	q->sample_units = 0;
	port->on_sample(port->sample_context, frame->class);
}

/* --- Changes --- */

/* A call of rb_egress_become, for rb_egress_flows_drain. */
struct moving {
	struct rb_egress_port *port;
	struct rb_chunks *chunks;
	struct sl_counter *counters;
	uint64_t now_ns;
};

static void move_frame(void *context, const struct rb_frame *frame)
{
	const struct moving *m = context;

	enqueue(m->port, frame, m->chunks, m->counters, m->now_ns);
}

/* Take what holds the frames of a class, empty, and leave what held them until now. */
static void swap_queues(struct rb_egress_queue *q, struct rb_egress_queue *next)
{
	const struct rb_egress_queue former = *q;

	q->flows = next->flows;
	q->frames = next->frames;
	q->mask = next->mask;
	q->head = q->tail = 0;
	next->flows = former.flows;
	next->frames = former.frames;
	next->mask = former.mask;
	next->head = former.head;
	next->tail = former.tail;
}

uint32_t rb_egress_become(struct rb_egress_port *port, struct rb_egress_port *next,
			  struct rb_chunks *chunks, struct sl_counter *counters, uint64_t now_ns)
{
	struct moving moving = { port, chunks, counters, now_ns };
	uint32_t without = 0;

	port->unit = next->unit;
	rb_pace_set(&port->pace, next->pace.rate, next->pace.burst, next->pace.unit, now_ns);
	port->wfq = next->wfq;
	port->n_waiting = 0;
	for (uint32_t c = 0; c < SL_CLASSES; c++) {
		struct rb_egress_queue *q = &port->queue[c], *former = &next->queue[c];

		swap_queues(q, former);
		if (former->flows && former->flows->reserved.n)
			without += q->flows ? rb_egress_flows_inherit(former->flows, q->flows)
					    : former->flows->reserved.n;
		if (former->flows)
			rb_egress_flows_drain(former->flows, move_frame, &moving);
		while (former->head != former->tail)
			move_frame(&moving, &former->frames[former->head++ & former->mask]);
	}
	rb_egress_close(next, NULL, NULL);
	return without;
}

/* A frame leaves its queue. */
static void measure(const struct rb_egress_port *port, const struct rb_frame *frame,
		    const struct rb_chunks *chunks, uint64_t now_ns)
{
	if (!port->delay)
		return;
	rb_port_delay_give(port->delay, frame, rb_chunk_data(chunks, frame->offset), now_ns);
	rb_port_busy_leave(port->busy, frame, now_ns);
}

uint32_t rb_egress_serve(struct rb_egress_port *port, uint32_t budget, struct rb_chunks *chunks,
			 struct sl_counter *counters, uint64_t now_ns)
{
	struct serving serving = { port, chunks, counters, now_ns };
	struct rb_frame batch[BATCH];
	uint32_t sent = 0, room, n;

	if (!port->tx || port->n_waiting == 0)
		return 0;
	room = port->tx->ops->room(port->tx);
	if (budget > room)
		budget = room;
	do {
		for (n = 0; n < BATCH && sent + n < budget; n++) {
			struct rb_egress_queue *q;
			struct rb_frame *frame = &batch[n];
			uint32_t class;

			if (!rb_pace_ready(&port->pace, now_ns))
				break;
			class = rb_wfq_next(&port->wfq, head_units, &serving);
			if (class == RB_WFQ_NONE)
				break;
			q = &port->queue[class];
			*frame = q->flows ? rb_egress_flows_take(q->flows)
					  : q->frames[q->head++ & q->mask];
			port->n_waiting--;
			measure(port, frame, chunks, now_ns);
			rb_pace_spend(&port->pace, frame->len_bytes, now_ns);
			q->departed.packets++;
			q->departed.bytes += frame->len_bytes;
			port->under_way.packets++;
			port->under_way.bytes += frame->len_bytes;
		}
		/* tx has room for all of them: the budget is at most its room. */
		port->tx->ops->put(port->tx, batch, n);
		port->lent += n;
		sent += n;
	} while (n == BATCH);
	return sent;
}

int rb_egress_flush(struct rb_egress_port *port, struct rb_chunks *chunks,
		    struct sl_counter *counters)
{
	int err;

	if (!port->tx)
		return 0;
	err = port->tx->ops->flush(port->tx);
	if (err == -ENETDOWN)
		drop_waiting(port, chunks, counters);
	else if (err != -EAGAIN)
		settle(port, counters);
	return err;
}

void rb_egress_reap(struct rb_egress_port *port, struct rb_chunks *chunks, uint64_t from_ns,
		    uint64_t until_ns)
{
	const uint64_t step_ns = port->lent ? (until_ns - from_ns) / port->lent : 0;
	uint64_t offsets[BATCH];
	uint32_t n;

	if (!port->tx)
		return;
	do {
		n = port->tx->ops->reap(port->tx, offsets, BATCH);
		port->lent -= n;
		if (port->delay)
			rb_port_delay_back(port->delay, n, from_ns, step_ns);
		from_ns += n * step_ns;
		for (uint32_t i = 0; i < n; i++)
			rb_chunk_release(chunks, offsets[i], RB_OWNER_MESSAGE);
	} while (n == BATCH);
}
