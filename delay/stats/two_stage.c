/* SPDX-License-Identifier: BSD-2-Clause */
#include "delay/stats/two_stage.h"

uint64_t sl_serialisation_ps(uint32_t wire_bytes, uint64_t rate_bps)
{
	return (wire_bytes * 8000000000000ULL + rate_bps / 2) / rate_bps;
}

void sl_two_stage_init(struct sl_two_stage *model, uint64_t rate_bps)
{
	*model = (struct sl_two_stage){ .rate_bps = rate_bps, .idle_ps = INT64_MIN };
}

int64_t sl_two_stage_arrival_ns(struct sl_two_stage *model, uint32_t input, int64_t in_ns,
				int64_t excess_ns)
{
	int64_t arrival_ns = in_ns + excess_ns;

	if (model->seen >> input & 1 && arrival_ns < model->ordered_ns[input])
		arrival_ns = model->ordered_ns[input];
	model->seen |= 1ULL << input;
	model->ordered_ns[input] = arrival_ns;
	return arrival_ns;
}

struct sl_service sl_two_stage_serve(struct sl_two_stage *model, int64_t arrival_ns,
				     uint32_t wire_bytes)
{
	const int64_t arrival_ps = arrival_ns * 1000;
	const int64_t start_ps = arrival_ps > model->idle_ps ? arrival_ps : model->idle_ps;

	model->idle_ps = start_ps + (int64_t)sl_serialisation_ps(wire_bytes, model->rate_bps);
	return (struct sl_service){
		.wait_ns = (uint64_t)(start_ps - arrival_ps + 500) / 1000,
		.departure_ns = (model->idle_ps + (model->idle_ps < 0 ? -500 : 500)) / 1000,
	};
}
