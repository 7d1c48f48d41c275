/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * codel: Controlled Delay on each queue (RFC 8289), in the round of RFC 8290: with many queues this
 * is FQ-CoDel, with one it is CoDel.
 *
 * A queue whose frames have waited for `target` or longer during one `interval` enters the dropping
 * state: it signals once, and then again after interval / sqrt(count), with count the signals so
 * far, until a frame has waited less than target. A signal marks a frame whose sender knows ECN,
 * and discards any other. RFC 8289's pseudocode loops over frames; here each frame that leaves is
 * judged by itself, and `owed` carries over what the loop does between two frames.
 *
 * When the buffer is over its limit, the queue with most bytes loses half of its frames, at most 64
 * of them, from its head (RFC 8290, section 4.1).
 */
#include "queues/fq.h"

enum { CODEL_TARGET, CODEL_INTERVAL, CODEL_PARAMS };

static const struct fq_param codel_params[CODEL_PARAMS] = {
	[CODEL_TARGET] = { "target_us", "us", 5000, 1, 1000000, "TARGET; RFC 8289, section 4.3" },
	[CODEL_INTERVAL] = { "interval_us", "us", 100000, 1, 1000000,
			     "INTERVAL; RFC 8289, section 4.3" },
};

#define CODEL_BATCH_FRAMES 64

struct codel {
	uint64_t first_above_ns; /* when a signal becomes due; 0: the latest delay was below target
				  */
	uint64_t drop_next_ns;	 /* when the next signal is due in the dropping state */
	uint32_t count, last_count;
	uint32_t is_dropping;
	uint32_t owed; /* drop_next_ns must move on if the next frame has waited long, too */
};

static uint64_t square_root(uint64_t x)
{
	uint64_t root = 0;

	for (uint64_t bit = UINT64_C(1) << 62; bit; bit >>= 2) {
		if (x >= root + bit) {
			x -= root + bit;
			root = (root >> 1) + bit;
		} else {
			root >>= 1;
		}
	}
	return root;
}

/* t + interval / sqrt(count); the square of an interval is below 2^60. */
static uint64_t control_law(const struct fq_port *port, uint64_t t_ns, uint32_t count)
{
	const uint64_t interval_ns = (uint64_t)port->config.param[CODEL_INTERVAL] * 1000;

	return t_ns + square_root(interval_ns * interval_ns / count);
}

/* dodequeue() of RFC 8289: is a signal due? */
static bool is_due(const struct fq_port *port, struct codel *c, const struct fq_queue *q,
		   const struct fq_frame *frame, uint64_t now_ns)
{
	const int64_t *param = port->config.param;

	if (now_ns - frame->arrival_ns < (uint64_t)param[CODEL_TARGET] * 1000 ||
	    q->n_bytes <= port->config.shape.quantum_bytes) {
		c->first_above_ns = 0;
		return false;
	}
	if (c->first_above_ns == 0) {
		c->first_above_ns = now_ns + (uint64_t)param[CODEL_INTERVAL] * 1000;
		return false;
	}
	return now_ns >= c->first_above_ns;
}

static void enter_dropping(const struct fq_port *port, struct codel *c, uint64_t now_ns)
{
	const int64_t interval_ns = port->config.param[CODEL_INTERVAL] * 1000;
	const uint32_t delta = c->count - c->last_count;

	c->is_dropping = true;
	c->owed = false;
	/* After a short pause go on about where the last dropping state ended. */
	c->count = delta > 1 && (int64_t)(now_ns - c->drop_next_ns) < 16 * interval_ns ? delta : 1;
	c->drop_next_ns = control_law(port, now_ns, c->count);
	c->last_count = c->count;
}

static enum fq_verdict codel_depart(struct fq_port *port, uint32_t queue,
				    const struct fq_frame *frame, uint64_t now_ns)
{
	const struct fq_queue *q = &port->queue[queue];
	struct codel *c = fq_state(port, queue);
	const bool due = is_due(port, c, q, frame, now_ns);

	if (!due) {
		c->is_dropping = false;
		return FQ_PASS;
	}
	if (!c->is_dropping) {
		enter_dropping(port, c, now_ns);
		return frame->ect ? FQ_MARK : FQ_DROP;
	}
	if (c->owed)
		c->drop_next_ns = control_law(port, c->drop_next_ns, c->count);
	c->owed = false;
	if (now_ns < c->drop_next_ns)
		return FQ_PASS;
	c->count++;
	c->owed = true;
	return frame->ect ? FQ_MARK : FQ_DROP;
}

static struct fq_victim codel_victim(struct fq_port *port)
{
	const uint32_t queue = fq_rank_first(&port->rank[0]);
	uint32_t frames = port->queue[queue].n_frames / 2;

	if (frames == 0)
		frames = 1;
	if (frames > CODEL_BATCH_FRAMES)
		frames = CODEL_BATCH_FRAMES;
	return (struct fq_victim){ .queue = queue, .frames = frames };
}

static void codel_changed(struct fq_port *port, uint32_t queue)
{
	fq_rank_set(&port->rank[0], queue, port->queue[queue].n_bytes);
}

const struct fq_ops fq_codel_ops = {
	.name = "codel",
	.policy = FQ_CODEL,
	.sparse = true,
	.n_ranks = 1,
	.state_bytes = sizeof(struct codel),
	.n_params = CODEL_PARAMS,
	.params = codel_params,
	.depart = codel_depart,
	.victim = codel_victim,
	.changed = codel_changed,
};
