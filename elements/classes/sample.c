/* SPDX-License-Identifier: BSD-2-Clause */
/* Sample: one in n packets, counted and not by chance; the others go by output 1, or end. */
#include "elements/classes/classes.h"

struct sample {
	uint32_t one_in, seen;
};

static const char *sample_init(void *state, const struct el_value *values)
{
	((struct sample *)state)->one_in = (uint32_t)values[0].number;
	return NULL;
}

static int sample_process(void *state, struct el_context *ctx, struct el_packet *packet)
{
	struct sample *s = state;

	(void)ctx;
	(void)packet;
	if (++s->seen < s->one_in)
		return 1;
	s->seen = 0;
	return 0;
}

/* There each processor counts its own packets. */
static bool sample_fast(const struct el_value *values, struct sl_fast_element *element)
{
	element->kind = SL_FAST_SAMPLE;
	element->one_in = (uint32_t)values[0].number;
	return true;
}

static const struct el_param params[] = {
	{ "one_in", EL_PARAM_NUMBER, true, 1, 1000000, 0, NULL, 0,
	  "each so-manieth packet goes by output 0" },
	{ 0 },
};

const struct el_class el_sample = {
	.name = "Sample",
	.version = 1,
	.what = "one in n packets by output 0, the others by output 1",
	.may = EL_MAY_DROP,
	.input = EL_PUSH,
	.output = EL_PUSH,
	.outputs_required = 1,
	.outputs = 2,
	.drop_name = "not-sampled",
	.params = params,
	.state_bytes = sizeof(struct sample),
	.init = sample_init,
	.process = sample_process,
	.fast = sample_fast,
};
