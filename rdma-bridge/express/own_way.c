/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/express/own_way.h"

#include <stddef.h>

static void set_until(struct rb_own_way *way, uint64_t until_ns)
{
	__atomic_store_n(&way->backlog[0].own.until_ns, until_ns, __ATOMIC_SEQ_CST);
}

static void set_busy(struct rb_own_way *way, uint32_t busy)
{
	if (way->backlog[0].own.busy != busy)
		__atomic_store_n(&way->backlog[0].own.busy, busy, __ATOMIC_SEQ_CST);
}

static uint64_t passed_frames(const struct sl_backlog *backlog)
{
	uint64_t frames = 0;

	for (uint32_t c = 0; c < SL_CLASSES; c++)
		frames += __atomic_load_n(&backlog[c].express.frames, __ATOMIC_RELAXED);
	return frames;
}

static uint64_t entered_frames(const struct sl_backlog *backlog)
{
	uint64_t frames = 0;

	for (uint32_t c = 0; c < SL_CLASSES; c++)
		frames += __atomic_load_n(&backlog[c].enqueued.frames, __ATOMIC_RELAXED);
	return frames;
}

bool rb_own_way_is_used(struct rb_own_way *way, const struct sl_backlog *backlog)
{
	const uint64_t before = way->passed_frames;

	if (!backlog)
		return false;
	way->passed_frames = passed_frames(backlog);
	return way->passed_frames != before;
}

bool rb_own_way_is_wanted(struct rb_own_way *way, const struct sl_backlog *backlog, bool others,
			  uint64_t now_ns)
{
	const uint64_t before = way->entered_frames;

	if (others)
		way->others_ns = now_ns;
	way->entered_frames = entered_frames(backlog);
	if (way->others_ns && now_ns - way->others_ns < RB_OWN_WAY_OTHERS_NS)
		return false;
	return way->backlog || way->entered_frames != before;
}

void rb_own_way_point(struct rb_own_way *way, struct rb_egress_port *port,
		      struct sl_backlog *backlog)
{
	if (backlog == way->backlog)
		return;
	if (way->backlog)
		set_until(way, 0);
	way->backlog = backlog;
	if (!backlog) {
		rb_pace_move(&port->pace, &port->clock);
		return;
	}
	set_until(way, 0);
	set_busy(way, 1); /* the end of a round finds out */
	rb_pace_move(&port->pace, &backlog[0].own.clock);
}

void rb_own_way_open(struct rb_own_way *way, const struct rb_egress_port *port, uint64_t until_ns)
{
	struct sl_own_port *own = way->backlog ? &way->backlog[0].own : NULL;

	if (!own)
		return;
	if (own->rate != port->pace.rate || own->burst != port->pace.burst ||
	    own->unit != port->unit) {
		set_until(way, 0);
		own->rate = port->pace.rate;
		own->burst = port->pace.burst;
		own->unit = port->unit;
	}
	set_until(way, until_ns);
}

static bool holds_frames(const struct sl_backlog *b)
{
	return __atomic_load_n(&b->enqueued.frames, __ATOMIC_RELAXED) !=
	       __atomic_load_n(&b->dequeued.frames, __ATOMIC_RELAXED);
}

void rb_own_way_begin(struct rb_own_way *way)
{
	for (uint32_t c = 0; way->backlog && c < SL_CLASSES; c++)
		if (holds_frames(&way->backlog[c])) {
			set_busy(way, 1);
			return;
		}
}

bool rb_own_way_end(struct rb_own_way *way, const struct rb_egress_port *port,
		    const struct rb_ingress *in)
{
	const bool idle = rb_egress_is_idle(port) && !rb_ingress_holds(in);

	set_busy(way, !idle);
	return !idle && port->n_waiting == 0;
}

static bool has_token(const struct rb_egress_port *port, uint64_t now_ns)
{
	struct rb_pace pace = port->pace;
	__u64 clock = __atomic_load_n(pace.clock, __ATOMIC_RELAXED);

	pace.clock = &clock;
	return rb_pace_ready(&pace, now_ns);
}

enum rb_express_state rb_own_way_state(const struct rb_own_way *way,
				       const struct rb_egress_port *port, const struct rb_voq *voq,
				       bool takes, uint64_t now_ns)
{
	if (!way->backlog || !takes)
		return way->backlog ? RB_EXPRESS_DRIVER : RB_EXPRESS_OWN;
	if (now_ns >= way->backlog[0].own.until_ns)
		return RB_EXPRESS_OWN;
	if (!has_token(port, now_ns))
		return RB_EXPRESS_RATE;
	if (holds_frames(voq->backlog))
		return RB_EXPRESS_WAITING;
	return way->backlog[0].own.busy ? RB_EXPRESS_UNDER_WAY : RB_EXPRESS_OPEN;
}
