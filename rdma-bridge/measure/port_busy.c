/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/measure/port_busy.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "rdma-bridge/measure/queue_delay.h"

#define HOUR_NS 3600000000000LL

int rb_port_busy_create(struct rb_port_busy **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

void rb_port_busy_destroy(struct rb_port_busy *busy)
{
	free(busy);
}

static uint32_t input_of(struct rb_port_busy *busy, uint16_t system_port)
{
	uint32_t i = busy->latest_input;

	if (i < busy->n_inputs && busy->input[i] == system_port)
		return i;
	for (i = 0; i < busy->n_inputs && busy->input[i] != system_port;)
		i++;
	if (i == busy->n_inputs && i < RB_BUSY_OTHERS)
		busy->input[busy->n_inputs++] = system_port;
	busy->latest_input = i;
	return i;
}

/* The place for an episode of this amplitude, or NULL: free, or of a former hour, or the least. */
static struct sl_busy_period *place_for(struct rb_port_busy *busy,
					const struct sl_busy_period *period)
{
	struct sl_busy_period *least = NULL;

	if (busy->n_episodes < RB_EPISODES)
		return &busy->episode[busy->n_episodes++];
	for (uint32_t i = 0; i < RB_EPISODES; i++) {
		struct sl_busy_period *episode = &busy->episode[i];

		if (period->end_ns - episode->end_ns > HOUR_NS)
			return episode;
		if (!least || episode->amplitude_ns < least->amplitude_ns)
			least = episode;
	}
	return least->amplitude_ns < period->amplitude_ns ? least : NULL;
}

static void ended(struct rb_port_busy *busy, const struct sl_busy_period *period)
{
	struct sl_busy_period *place;

	sl_triangle_add(&busy->triangle, period->amplitude_ns,
			(uint64_t)(period->end_ns - period->start_ns));
	/* A frame that meets nobody waits for nobody. */
	place = period->packets > 1 ? place_for(busy, period) : NULL;
	if (place)
		*place = *period;
}

void rb_port_busy_leave(struct rb_port_busy *busy, const struct rb_frame *frame, uint64_t now_ns)
{
	const struct rb_stay stay = rb_stay_of(frame, now_ns);
	const uint64_t total_ns = stay.voq_ns + stay.message_ns + stay.queue_ns;
	const struct sl_passage passage = { .in_ns = (int64_t)(now_ns - total_ns),
					    .out_ns = (int64_t)now_ns,
					    .wait_ns = stay.queue_ns,
					    .delay_ns = total_ns,
					    .bytes = frame->len_bytes,
					    .input = input_of(busy, frame->ingress_port) };
	const struct sl_busy_period *period = sl_busy_leave(&busy->periods, &passage);

	if (period)
		ended(busy, period);
}

void rb_port_busy_settle(struct rb_port_busy *busy, uint64_t now_ns)
{
	const struct sl_busy_period *period;

	while ((period = sl_busy_close_before(&busy->periods,
					      (int64_t)now_ns - (int64_t)RB_BUSY_SETTLED)))
		ended(busy, period);
}
