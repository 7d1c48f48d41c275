/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/queue/ingress.h"

#include <errno.h>
#include <stdlib.h>

#include "rdma-bridge/queue/backlog.h"

int rb_ingress_open(struct rb_ingress_todo *todo, struct rb_frame_pool *pool, uint32_t node,
		    uint32_t n_voqs, uint32_t frame_max_bytes, uint32_t message_max_bytes,
		    uint32_t degree, struct rb_ingress **out)
{
	struct rb_ingress *in;
	int err;

	*out = NULL;
	if (n_voqs > RB_ID_SET_MAX || node >= RB_ID_SET_MAX)
		return -EINVAL;
	in = calloc(1, sizeof(*in));
	if (!in)
		return -ENOMEM;
	in->todo = todo;
	in->pool = pool;
	in->node = node;
	in->n_voqs = n_voqs;
	in->voqs = calloc(n_voqs ? n_voqs : 1, sizeof(*in->voqs));
	err = in->voqs ? rb_pack_init(&in->pack, message_max_bytes, degree) : -ENOMEM;
	if (!err)
		err = rb_drr_create(n_voqs, frame_max_bytes, &in->drr);
	if (err)
		rb_ingress_close(in, NULL, NULL);
	else
		*out = in;
	return err;
}

void rb_ingress_close(struct rb_ingress *in, struct rb_chunks *chunks, struct sl_counter *counters)
{
	if (!in)
		return;
	/* The owners of the other inputs may have closed them already. */
	for (uint32_t i = 0; in->drr && i < in->n_voqs; i++) {
		struct rb_voq *voq = &in->voqs[i];

		voq->inputs = voq->turn = voq->list_input.receive ? &voq->list_input : NULL;
		voq->list_input.next = NULL;
	}
	if (in->drr)
		rb_ingress_discard(in, UINT32_MAX, chunks, counters);
	rb_drr_destroy(in->drr);
	free(in->voqs);
	free(in);
}

static uint32_t take_from_list(void *context, struct rb_frame *out, uint32_t max)
{
	struct rb_voq *voq = context;

	return rb_frame_list_take(voq->list_input.ingress->pool, &voq->list, out, max);
}

/* VOQ i has frames. */
static void activate(struct rb_ingress *in, uint32_t i)
{
	rb_drr_activate(in->drr, i);
	rb_id_set_add(&in->todo->waiting, in->node);
}

void rb_ingress_put(struct rb_ingress *in, uint32_t i, const struct rb_frame *frame)
{
	struct rb_voq *voq = &in->voqs[i];

	rb_frame_list_put(in->pool, &voq->list, frame);
	if (!in->drr->queue[i].active)
		activate(in, i);
}

void rb_ingress_set_voq(struct rb_ingress *in, uint32_t i, uint16_t system_port, uint8_t class,
			volatile struct sl_voq *settings, struct sl_backlog *backlog,
			uint64_t now_ns)
{
	struct rb_voq *voq = &in->voqs[i];

	voq->system_port = system_port;
	voq->class = class;
	voq->settings = settings;
	voq->backlog = backlog;
	rb_pace_init(&voq->pace, &backlog->clock, settings->rate, settings->burst, settings->unit,
		     now_ns);
	if (voq->list_input.receive) /* it was that of another port */
		return;
	voq->list_input = (struct rb_input){ .receive = take_from_list, .context = voq };
	rb_ingress_add_input(in, i, &voq->list_input);
}

void rb_ingress_add_input(struct rb_ingress *in, uint32_t i, struct rb_input *input)
{
	struct rb_voq *voq = &in->voqs[i];

	input->next = voq->inputs;
	voq->inputs = input;
	voq->turn = input;
	input->ingress = in;
	input->voq = i;
	rb_input_ask(input);
}

void rb_input_ask(const struct rb_input *input)
{
	struct rb_ingress *in = input->ingress;

	if (!in)
		return;
	rb_id_set_add_shared(&in->asked, input->voq);
	rb_id_set_add_shared(&in->todo->asked, in->node);
}

void rb_ingress_remove_input(struct rb_ingress *in, uint32_t i, struct rb_input *input)
{
	struct rb_voq *voq = &in->voqs[i];

	for (struct rb_input **at = &voq->inputs; *at; at = &(*at)->next)
		if (*at == input) {
			*at = input->next;
			input->ingress = NULL;
			if (voq->turn == input)
				voq->turn = input->next ? input->next : voq->inputs;
			return;
		}
}

int rb_ingress_set_limits(struct rb_ingress *in, uint32_t message_max_bytes, uint32_t degree)
{
	if (in->pack.count > 0)
		return -EBUSY;
	return rb_pack_init(&in->pack, message_max_bytes, degree);
}

void rb_ingress_set_degree(struct rb_ingress *in, uint32_t degree)
{
	in->pack.degree = degree;
}

/* Read ahead from the inputs of VOQ i in turn. Returns true if the VOQ has a frame. */
static bool read_ahead(struct rb_ingress *in, uint32_t i, struct sl_counter *counters)
{
	struct rb_voq *voq = &in->voqs[i];
	struct rb_input *begin = voq->turn;
	struct rb_frame *ahead;

	if (voq->n_ahead > 0)
		return true;
	ahead = begin ? rb_ahead_get(in->pool) : NULL;
	if (begin && !ahead) { /* others have them all: one of them will give its own back */
		rb_input_ask(begin);
		return false;
	}
	while (voq->turn && voq->n_ahead == 0) {
		uint32_t n = voq->turn->receive(voq->turn->context, ahead, RB_READ_AHEAD);

		for (uint32_t k = 0; k < n; k++) {
			struct rb_frame *frame = &ahead[k];

			frame->voq = (uint16_t)i;
			frame->system_port = voq->system_port;
			frame->class = voq->class;
			frame->flags = frame->ingress_port ? 0 : RB_FRAME_FROM_KERNEL;
			rb_count(counters, RB_COUNT_INGRESS, 1, frame->len_bytes);
		}
		voq->n_ahead = n;
		voq->turn = voq->turn->next ? voq->turn->next : voq->inputs;
		if (voq->turn == begin)
			break;
	}
	voq->first = 0;
	voq->ahead = ahead;
	voq->ran_empty |= voq->n_ahead == 0;
	if (ahead && voq->n_ahead == 0)
		rb_ahead_give_back(in->pool, ahead);
	return voq->n_ahead > 0;
}

/* Read the inputs that may have frames for VOQs that have none. */
static void read_asked(struct rb_ingress *in, struct sl_counter *counters)
{
	rb_id_set_collect(&in->asked, &in->to_ask);
	for (uint32_t i = rb_id_set_next(&in->to_ask, 0); i != RB_ID_NONE;
	     i = rb_id_set_next(&in->to_ask, i + 1)) {
		rb_id_set_remove(&in->to_ask, i);
		if (!in->drr->queue[i].active && read_ahead(in, i, counters))
			activate(in, i);
	}
}

static struct rb_frame take(struct rb_ingress *in, uint32_t i)
{
	struct rb_voq *voq = &in->voqs[i];
	const struct rb_frame frame = voq->ahead[voq->first++];

	if (--voq->n_ahead == 0)
		rb_ahead_give_back(in->pool, voq->ahead);
	voq->taken.packets++;
	voq->taken.bytes += frame.len_bytes;
	if (voq->on_taken)
		voq->on_taken(voq->taken_context, frame.len_bytes);
	if (in->busy && !*in->busy) {
		__atomic_store_n(in->busy, 1, __ATOMIC_SEQ_CST);
		rb_id_set_add(&in->todo->busy, in->node);
	}
	/* XDP did not count frames of the kernel into the backlog. */
	if (frame.ingress_port)
		rb_backlog_take(voq->backlog, frame.len_bytes);
	return frame;
}

struct head_context {
	struct rb_ingress *in;
	struct sl_counter *counters;
};

static int head_bytes(void *context, uint32_t i)
{
	const struct head_context *c = context;
	struct rb_voq *voq = &c->in->voqs[i];

	if (!read_ahead(c->in, i, c->counters))
		return RB_DRR_EMPTY;
	/* A new rate holds from the next frame on. */
	rb_pace_set(&voq->pace, voq->settings->rate, voq->settings->burst, voq->settings->unit,
		    c->in->now_ns);
	if (!rb_pace_ready(&voq->pace, c->in->now_ns))
		return RB_DRR_HELD;
	return (int)voq->ahead[voq->first].len_bytes;
}

/* Put a chosen frame into the message. Returns false if it must wait for the next message. */
static bool pack(struct rb_ingress *in, const struct rb_frame *frame, struct rb_chunks *chunks,
		 struct sl_counter *counters)
{
	bool first = in->pack.count == 0;
	int err = rb_pack_add(&in->pack, frame);

	if (err == -ENOSPC)
		return false;
	if (err) {
		if (frame->ingress_port)
			rb_backlog_too_big(in->voqs[frame->voq].backlog);
		rb_count(counters, RB_COUNT_DROP_TOO_BIG, 1, frame->len_bytes);
		rb_chunk_release(chunks, frame->offset, RB_OWNER_INGRESS);
		return true;
	}
	if (first)
		in->opened_ns = in->now_ns;
	return true;
}

bool rb_ingress_fill(struct rb_ingress *in, uint64_t delay_ns, uint64_t now_ns,
		     struct rb_chunks *chunks, struct sl_counter *counters)
{
	struct head_context context = { in, counters };

	in->now_ns = now_ns;
	if (in->ready)
		return true;
	read_asked(in, counters);
	if (in->held) {
		pack(in, &in->held_frame, chunks, counters);
		in->held = false;
	}
	while (in->pack.count < in->pack.degree) {
		uint32_t i = rb_drr_next(in->drr, head_bytes, &context);
		struct rb_frame frame;
		struct rb_voq *voq;

		if (i == RB_DRR_NONE)
			break;
		voq = &in->voqs[i];
		frame = take(in, i);
		rb_pace_spend(&voq->pace, frame.len_bytes, now_ns);
		if (!pack(in, &frame, chunks, counters)) {
			in->held = true;
			in->held_frame = frame;
			break;
		}
	}
	in->ready = in->held || in->pack.count >= in->pack.degree ||
		    (in->pack.count > 0 && now_ns - in->opened_ns >= delay_ns);
	return in->ready;
}

static void begin(struct rb_ingress *in)
{
	rb_pack_reset(&in->pack);
	in->ready = false;
}

void rb_ingress_sent(struct rb_ingress *in, struct sl_counter *counters)
{
	for (uint32_t i = 0; i < in->pack.count; i++)
		rb_count(counters, RB_COUNT_SENT, 1, in->pack.frame[i].len_bytes);
	begin(in);
}

void rb_ingress_delivered(struct rb_ingress *in)
{
	begin(in);
}

/* Drop a frame that was taken. */
static void drop(struct rb_ingress *in, const struct rb_frame *frame, struct rb_chunks *chunks,
		 struct sl_counter *counters)
{
	if (frame->ingress_port)
		rb_backlog_peer_down(in->voqs[frame->voq].backlog);
	rb_count(counters, RB_COUNT_DROP_PEER_DOWN, 1, frame->len_bytes);
	rb_chunk_release(chunks, frame->offset, RB_OWNER_INGRESS);
}

/* A frame that is discarded waits for no rate. */
static int any_head_bytes(void *context, uint32_t i)
{
	const struct head_context *c = context;
	const struct rb_voq *voq = &c->in->voqs[i];

	return read_ahead(c->in, i, c->counters) ? (int)voq->ahead[voq->first].len_bytes
						 : RB_DRR_EMPTY;
}

uint32_t rb_ingress_discard(struct rb_ingress *in, uint32_t budget, struct rb_chunks *chunks,
			    struct sl_counter *counters)
{
	struct head_context context = { in, counters };
	uint32_t dropped = in->pack.count + in->held;
	uint64_t most = 0;

	for (uint32_t i = 0; i < in->pack.count; i++)
		drop(in, &in->pack.frame[i], chunks, counters);
	begin(in);
	if (in->held)
		drop(in, &in->held_frame, chunks, counters);
	in->held = false;
	read_asked(in, counters);
	for (uint32_t level = 0; level < RB_DRR_LEVELS; level++)
		most += (uint64_t)budget * in->drr->active[level];
	for (uint64_t n = 0; n < most; n++) {
		uint32_t i = rb_drr_next(in->drr, any_head_bytes, &context);
		struct rb_frame frame;

		if (i == RB_DRR_NONE)
			break;
		frame = take(in, i);
		drop(in, &frame, chunks, counters);
		dropped++;
	}
	return dropped;
}

void rb_ingress_discard_voq(struct rb_ingress *in, uint32_t i, struct rb_chunks *chunks,
			    struct sl_counter *counters)
{
	while (read_ahead(in, i, counters)) {
		struct rb_frame frame = take(in, i);

		drop(in, &frame, chunks, counters);
	}
}

uint64_t rb_ingress_ready_at(const struct rb_ingress *in, uint64_t delay_ns, uint64_t now_ns)
{
	uint64_t at_ns = UINT64_MAX;

	if (in->ready || in->held)
		return now_ns;
	if (in->pack.count > 0)
		at_ns = in->opened_ns + delay_ns;
	for (uint32_t i = rb_drr_first(in->drr); i != RB_DRR_NONE; i = rb_drr_after(in->drr, i)) {
		const struct rb_voq *voq = &in->voqs[i];
		uint64_t ready_ns =
			voq->n_ahead ? rb_pace_ready_at(&voq->pace, now_ns) : UINT64_MAX;

		if (ready_ns < at_ns)
			at_ns = ready_ns;
	}
	return at_ns;
}

bool rb_ingress_holds(const struct rb_ingress *in)
{
	return in->pack.count > 0 || in->held;
}

bool rb_ingress_is_waiting(const struct rb_ingress *in)
{
	return in->pack.count > 0 || in->held || in->drr->levels != 0;
}
