/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * longest: when the buffer is over its limit, the head of the queue with most bytes is discarded,
 * the lowest number first among equals. With deficit round robin this is the "plain DRR" of Kuhns
 * et al., "Design and Evaluation of a High-Performance Dynamically Extensible Router", section 7,
 * and the buffer stealing of McKenney, "Stochastic Fairness Queueing" (1990).
 *
 * The paper does not say which end of the queue loses a frame. Here it is the head: the sender
 * learns of the loss earlier by the time that the queue takes to drain.
 */
#include "queues/fq.h"

static struct fq_victim longest_victim(struct fq_port *port)
{
	return (struct fq_victim){ .queue = fq_rank_first(&port->rank[0]), .frames = 1 };
}

static void longest_changed(struct fq_port *port, uint32_t queue)
{
	fq_rank_set(&port->rank[0], queue, port->queue[queue].n_bytes);
}

const struct fq_ops fq_longest_ops = {
	.name = "longest",
	.policy = FQ_LONGEST,
	.n_ranks = 1,
	.victim = longest_victim,
	.changed = longest_changed,
};
