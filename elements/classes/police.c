/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Police: a token bucket of `burst` bytes that fills with `rate`. A frame for which there are
 * tokens goes on by output 0; another by output 1, or it ends.
 *
 * The bucket is kept as a time, the virtual clock of GCRA (ITU-T I.371): `full_ns` is when the
 * bucket will be full. It has room for a frame of n bytes if full_ns + n / rate is at most
 * burst / rate ahead of now. What a division leaves is kept for the next frame.
 */
#include "elements/classes/classes.h"

#define FRACTION_BITS 16
#define NS_PER_S      1000000000u

struct police {
	uint64_t byte_cost; /* time of a byte: ns with fraction */
	uint64_t burst_ns;
	uint64_t full_ns;
	uint32_t rest; /* fraction of full_ns */
};

static const char *police_init(void *state, const struct el_value *values)
{
	struct police *p = state;
	uint64_t rate_Bps = values[0].number, burst_bytes = values[1].number;

	p->byte_cost = ((uint64_t)NS_PER_S << FRACTION_BITS) / rate_Bps;
	if (!p->byte_cost)
		return "the rate is above 65 TB/s";
	if (burst_bytes > (UINT64_C(1) << 62) / p->byte_cost)
		return "the burst lasts longer than 19 hours at this rate";
	p->burst_ns = burst_bytes * p->byte_cost >> FRACTION_BITS;
	return NULL;
}

static int police_process(void *state, struct el_context *ctx, struct el_packet *packet)
{
	struct police *p = state;
	uint64_t full_ns = p->full_ns, cost = packet->len_bytes * p->byte_cost;

	if (full_ns < ctx->now_ns)
		full_ns = ctx->now_ns;
	else
		cost += p->rest;
	full_ns += cost >> FRACTION_BITS;
	if (full_ns - ctx->now_ns > p->burst_ns)
		return 1;
	p->full_ns = full_ns;
	p->rest = cost & ((1u << FRACTION_BITS) - 1);
	return 0;
}

static const struct el_param params[] = {
	{ "rate", EL_PARAM_RATE, true, 0, 0, 0, NULL, 0, "bits a second: 2mbit" },
	{ "burst", EL_PARAM_BURST, true, 0, 0, 0, NULL, 0, "bytes: 20k" },
	{ 0 },
};

const struct el_class el_police = {
	.name = "Police",
	.version = 1,
	.what = "frames within a rate by output 0, those beyond by output 1",
	.may = EL_MAY_DROP,
	.input = EL_PUSH,
	.output = EL_PUSH,
	.outputs_required = 1,
	.outputs = 2,
	.drop_name = "policed",
	.params = params,
	.state_bytes = sizeof(struct police),
	.init = police_init,
	.process = police_process,
};
