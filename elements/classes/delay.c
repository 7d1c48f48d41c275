/* SPDX-License-Identifier: BSD-2-Clause */
/* Delay: takes processor time, for experiments with shares. */
#include "elements/classes/classes.h"

struct delay {
	uint64_t burn_ns;
};

static const char *delay_init(void *state, const struct el_value *values)
{
	((struct delay *)state)->burn_ns = values[0].number;
	return NULL;
}

static int delay_process(void *state, struct el_context *ctx, struct el_packet *packet)
{
	(void)packet;
	ctx->burn_ns += ((const struct delay *)state)->burn_ns;
	return 0;
}

static const struct el_param params[] = {
	{ "time", EL_PARAM_DURATION, true, 0, 1000000, 0, NULL, 0,
	  "processor time of each packet, up to 1ms" },
	{ 0 },
};

const struct el_class el_delay = {
	.name = "Delay",
	.version = 1,
	.what = "takes processor time for each packet",
	.input = EL_EITHER,
	.output = EL_EITHER,
	.outputs_required = 1,
	.outputs = 1,
	.params = params,
	.state_bytes = sizeof(struct delay),
	.init = delay_init,
	.process = delay_process,
};
