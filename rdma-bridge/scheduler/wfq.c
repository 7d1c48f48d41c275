/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/scheduler/wfq.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define ONE_Q30 (1U << 30)

int rb_wfq_init(struct rb_wfq *wfq, uint32_t n)
{
	if (n == 0 || n > RB_WFQ_QUEUES_MAX)
		return -EINVAL;
	memset(wfq, 0, sizeof(*wfq));
	wfq->n = n;
	for (uint32_t i = 0; i < n; i++)
		rb_wfq_configure(wfq, i, 0, 1);
	return 0;
}

int rb_wfq_configure(struct rb_wfq *wfq, uint32_t queue, uint32_t level, uint32_t weight)
{
	if (queue >= wfq->n || level >= RB_WFQ_LEVELS || weight == 0 || weight > RB_WFQ_WEIGHT_MAX)
		return -EINVAL;
	wfq->queue[queue].level = (uint8_t)level;
	wfq->queue[queue].weight = (uint16_t)weight;
	wfq->queue[queue].per_cost_q30 = ONE_Q30 / weight;
	return 0;
}

/* Tags wrap around. They differ by one frame's at most, which is below 2^50. */
static bool is_before(uint64_t a, uint64_t b)
{
	return (int64_t)(a - b) < 0;
}

uint32_t rb_wfq_next(struct rb_wfq *wfq, rb_wfq_head_fn head, void *context)
{
	uint32_t best = RB_WFQ_NONE;
	uint64_t best_finish = 0;

	for (uint32_t i = 0; i < wfq->n; i++) {
		struct rb_wfq_queue *q = &wfq->queue[i];
		int cost = head(context, i);
		uint64_t finish;

		if (cost == RB_WFQ_EMPTY) { /* it saves nothing up */
			q->start = wfq->virtual_time[q->level];
			continue;
		}
		finish = q->start + (uint64_t)cost * q->per_cost_q30;
		if (best == RB_WFQ_NONE || q->level > wfq->queue[best].level ||
		    (q->level == wfq->queue[best].level && is_before(finish, best_finish))) {
			best = i;
			best_finish = finish;
		}
	}
	if (best != RB_WFQ_NONE) {
		wfq->queue[best].start = best_finish;
		wfq->virtual_time[wfq->queue[best].level] = best_finish;
	}
	return best;
}
