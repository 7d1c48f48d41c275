/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/measure/queue_delay.h"

#include <errno.h>
#include <stdlib.h>

int rb_queue_delay_create(uint32_t mean, struct rb_queue_delay **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->mean = mean;
	(*out)->until = 1;
	return 0;
}

void rb_queue_delay_destroy(struct rb_queue_delay *delay)
{
	free(delay);
}

/* From 1 to 2 * mean - 1, by a linear congruential generator (Numerical Recipes). */
static uint32_t draw(struct rb_queue_delay *d)
{
	d->random = d->random * 1664525 + 1013904223;
	return 1 + (uint32_t)((uint64_t)d->random * (2 * d->mean - 1) >> 32);
}

void rb_queue_delay_leave(struct rb_queue_delay *d, const struct rb_frame *frame, uint64_t now_ns)
{
	struct rb_stay stay;

	if (--d->until)
		return;
	d->until = draw(d);
	stay = rb_stay_of(frame, now_ns);
	sl_histogram_add(&d->stage[RB_DELAY_ENTRY], stay.entry_ns);
	sl_histogram_add(&d->stage[RB_DELAY_QUEUE], stay.total_ns - stay.entry_ns);
	sl_histogram_add(&d->stage[RB_DELAY_TOTAL], stay.total_ns);
}
