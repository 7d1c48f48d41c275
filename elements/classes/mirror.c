/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mirror: packets go on by output 0, and a copy of each by output 1. Copies wait in the element,
 * and begin a chain of their own; one for which there is no room is not made.
 */
#include "elements/classes/classes.h"
#include "elements/classes/packet_list.h"

struct mirror {
	struct el_list copies;
	uint32_t limit;
};

static const char *mirror_init(void *state, const struct el_value *values)
{
	((struct mirror *)state)->limit = (uint32_t)values[0].number;
	return NULL;
}

static int mirror_process(void *state, struct el_context *ctx, struct el_packet *packet)
{
	struct mirror *m = state;
	struct el_packet *copy = NULL;

	if (m->copies.n < m->limit)
		copy = el_pool_copy(ctx->pool, packet);
	if (copy) {
		el_list_put(&m->copies, copy);
		ctx->copied++;
		ctx->copied_bytes += copy->len_bytes;
	} else {
		ctx->not_copied++;
	}
	return 0;
}

static struct el_packet *mirror_dequeue(void *state)
{
	return el_list_take(&((struct mirror *)state)->copies);
}

static uint32_t mirror_waiting(const void *state)
{
	return ((const struct mirror *)state)->copies.n;
}

static const struct el_param params[] = {
	{ "limit", EL_PARAM_NUMBER, false, 1, 65536, 64, NULL, 0, "most copies that wait" },
	{ 0 },
};

const struct el_class el_mirror = {
	.name = "Mirror",
	.version = 1,
	.what = "packets by output 0, copies of them by output 1",
	.may = EL_MAY_COPY,
	.input = EL_PUSH,
	.output = EL_PUSH,
	.outputs_required = 2,
	.outputs = 2,
	.stage_output = 1,
	.params = params,
	.state_bytes = sizeof(struct mirror),
	.init = mirror_init,
	.process = mirror_process,
	.dequeue = mirror_dequeue,
	.waiting = mirror_waiting,
};
