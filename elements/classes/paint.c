/* SPDX-License-Identifier: BSD-2-Clause */
/* Paint: gives packets a colour, which later elements ask for; it is not in the packet's bytes. */
#include "elements/classes/classes.h"

struct paint {
	uint8_t colour;
};

static const char *paint_init(void *state, const struct el_value *values)
{
	((struct paint *)state)->colour = (uint8_t)values[0].number;
	return NULL;
}

static int paint_process(void *state, struct el_context *ctx, struct el_packet *packet)
{
	(void)ctx;
	packet->paint = ((const struct paint *)state)->colour;
	return 0;
}

static bool paint_fast(const struct el_value *values, struct sl_fast_element *element)
{
	element->kind = SL_FAST_PAINT;
	element->argument = (uint8_t)values[0].number;
	return true;
}

static const struct el_param params[] = {
	{ "colour", EL_PARAM_NUMBER, true, 0, 255, 0, NULL, 0, "0 to 255; packets enter with 0" },
	{ 0 },
};

const struct el_class el_paint = {
	.name = "Paint",
	.version = 1,
	.what = "gives packets a colour, for Classifier",
	.input = EL_EITHER,
	.output = EL_EITHER,
	.outputs_required = 1,
	.outputs = 1,
	.params = params,
	.state_bytes = sizeof(struct paint),
	.init = paint_init,
	.process = paint_process,
	.fast = paint_fast,
};
