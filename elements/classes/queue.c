/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue: ends the chain that pushes into it, and begins the one that pulls; tail drop. */
#include "elements/classes/classes.h"
#include "elements/classes/packet_list.h"

struct queue {
	struct el_list list;
	uint32_t limit;
};

static const char *queue_init(void *state, const struct el_value *values)
{
	((struct queue *)state)->limit = (uint32_t)values[0].number;
	return NULL;
}

static int queue_process(void *state, struct el_context *ctx, struct el_packet *packet)
{
	struct queue *q = state;

	(void)ctx;
	if (q->list.n >= q->limit)
		return EL_DROP;
	el_list_put(&q->list, packet);
	return EL_HELD;
}

static struct el_packet *queue_dequeue(void *state)
{
	return el_list_take(&((struct queue *)state)->list);
}

static uint32_t queue_waiting(const void *state)
{
	return ((const struct queue *)state)->list.n;
}

static const struct el_param params[] = {
	{ "limit", EL_PARAM_NUMBER, false, 1, 65536, 64, NULL, 0, "most packets that wait" },
	{ 0 },
};

const struct el_class el_queue = {
	.name = "Queue",
	.version = 1,
	.what = "holds packets until the chain behind it is served",
	.may = EL_MAY_DROP | EL_MAY_HOLD,
	.input = EL_PUSH,
	.output = EL_PULL,
	.outputs_required = 1,
	.outputs = 1,
	.drop_name = "queue-full",
	.params = params,
	.state_bytes = sizeof(struct queue),
	.init = queue_init,
	.process = queue_process,
	.dequeue = queue_dequeue,
	.waiting = queue_waiting,
};
