/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * qsdrr: Queue State Deficit Round Robin (Kuhns et al., "Design and Evaluation of a
 * High-Performance Dynamically Extensible Router", sections 4.1 and 7).
 *
 * As in `longest`, a buffer that is over its limit takes frames from the longest queue; but the
 * choice has hysteresis. Once frames have been discarded from a queue, that queue stays the victim
 * until it is empty or the smallest of the active queues. So a congestion hits few flows, these
 * halve their windows, and the others go on: the flows do not back off in step.
 *
 * The paper does not say how the first victim is found (here: the longest queue, the lowest number
 * among equals), nor which end loses a frame (here: the head, as in `longest`). "Smallest" is read
 * as: no active queue has fewer bytes. The victim is remembered when the congestion ends.
 *
 * until_longest ends the hysteresis earlier, when another queue is longer than the victim. It is
 * here to be compared: docs/QUEUES.md has figures of both.
 */
#include "queues/fq.h"

enum { QSDRR_UNTIL_LONGEST, QSDRR_PARAMS };

static const struct fq_param qsdrr_params[QSDRR_PARAMS] = {
	[QSDRR_UNTIL_LONGEST] = { "until_longest", "0 or 1", 0, 0, 1,
				  "1: a victim that is not the longest queue is released; "
				  "0: only the smallest, as the paper" },
};

struct qsdrr {
	uint64_t victim; /* queue plus 1; 0: none yet */
};
_Static_assert(sizeof(struct qsdrr) <= FQ_PORT_WORDS * sizeof(uint64_t), "state of a port");

static bool is_released(const struct fq_port *port, uint32_t victim)
{
	const uint32_t other =
		fq_rank_first(&port->rank[port->config.param[QSDRR_UNTIL_LONGEST] ? 0 : 1]);
	const uint32_t bytes = port->queue[victim].n_bytes;

	if (bytes == 0)
		return true;
	if (port->config.param[QSDRR_UNTIL_LONGEST])
		return port->queue[other].n_bytes > bytes;
	return port->queue[other].n_bytes == bytes; /* the smallest of all is as long */
}

static struct fq_victim qsdrr_victim(struct fq_port *port)
{
	struct qsdrr *s = (void *)port->priv;

	if (s->victim == 0 || is_released(port, (uint32_t)s->victim - 1))
		s->victim = fq_rank_first(&port->rank[0]) + 1;
	return (struct fq_victim){ .queue = (uint32_t)s->victim - 1, .frames = 1 };
}

static void qsdrr_changed(struct fq_port *port, uint32_t queue)
{
	const uint32_t bytes = port->queue[queue].n_bytes;

	fq_rank_set(&port->rank[0], queue, bytes);
	/* The first of this one is the smallest of the active queues. */
	fq_rank_set(&port->rank[1], queue, bytes ? UINT32_MAX - bytes : 0);
}

const struct fq_ops fq_qsdrr_ops = {
	.name = "qsdrr",
	.policy = FQ_QSDRR,
	.n_ranks = 2,
	.n_params = QSDRR_PARAMS,
	.params = qsdrr_params,
	.victim = qsdrr_victim,
	.changed = qsdrr_changed,
};
