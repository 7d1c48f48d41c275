/* SPDX-License-Identifier: BSD-2-Clause */
/* The ends of each graph: `input`, `output` and `drop`, which have names and no parameters. */
#include "elements/classes/classes.h"

static int input_process(void *state, struct el_context *ctx, struct el_packet *packet)
{
	(void)state;
	(void)ctx;
	(void)packet;
	return 0;
}

static int output_process(void *state, struct el_context *ctx, struct el_packet *packet)
{
	(void)state;
	(void)ctx;
	(void)packet;
	return EL_SENT;
}

static int drop_process(void *state, struct el_context *ctx, struct el_packet *packet)
{
	(void)state;
	(void)ctx;
	(void)packet;
	return EL_DROP;
}

static bool input_fast(const struct el_value *values, struct sl_fast_element *element)
{
	(void)values;
	element->kind = SL_FAST_PASS;
	return true;
}

static bool output_fast(const struct el_value *values, struct sl_fast_element *element)
{
	(void)values;
	element->kind = SL_FAST_OUTPUT;
	return true;
}

static bool drop_fast(const struct el_value *values, struct sl_fast_element *element)
{
	(void)values;
	element->kind = SL_FAST_DROP;
	return true;
}

const struct el_class el_input = {
	.name = "Input",
	.version = 1,
	.what = "where packets enter the chain",
	.input = EL_PUSH,
	.output = EL_PUSH,
	.outputs_required = 1,
	.outputs = 1,
	.process = input_process,
	.fast = input_fast,
};

const struct el_class el_output = {
	.name = "Output",
	.version = 1,
	.what = "where packets leave the chain",
	.input = EL_EITHER,
	.process = output_process,
	.fast = output_fast,
};

const struct el_class el_discard = {
	.name = "Discard",
	.version = 1,
	.what = "where packets end",
	.may = EL_MAY_DROP,
	.input = EL_EITHER,
	.drop_name = "discarded",
	.process = drop_process,
	.fast = drop_fast,
};
