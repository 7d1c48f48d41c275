/* SPDX-License-Identifier: BSD-2-Clause */
/* Counter: passes packets on; the graph counts those of every element. */
#include "elements/classes/classes.h"

static int counter_process(void *state, struct el_context *ctx, struct el_packet *packet)
{
	(void)state;
	(void)ctx;
	(void)packet;
	return 0;
}

static bool counter_fast(const struct el_value *values, struct sl_fast_element *element)
{
	(void)values;
	element->kind = SL_FAST_PASS;
	return true;
}

const struct el_class el_counter = {
	.name = "Counter",
	.version = 1,
	.what = "counts packets and bytes",
	.input = EL_EITHER,
	.output = EL_EITHER,
	.outputs_required = 1,
	.outputs = 1,
	.process = counter_process,
	.fast = counter_fast,
};
