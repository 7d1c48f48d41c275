/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/measure/queue_delay.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int rb_port_delay_create(uint32_t mean, struct rb_port_delay **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->mean = mean;
	(*out)->until = 1;
	return 0;
}

void rb_port_delay_destroy(struct rb_port_delay *delay)
{
	free(delay);
}

/* From 1 to 2 * mean - 1, by a linear congruential generator (Numerical Recipes). */
static uint32_t draw(struct rb_port_delay *d)
{
	d->random = d->random * 1664525 + 1013904223;
	return 1 + (uint32_t)((uint64_t)d->random * (2 * d->mean - 1) >> 32);
}

void rb_port_delay_give(struct rb_port_delay *d, const struct rb_frame *frame, const uint8_t *bytes,
			uint64_t now_ns)
{
	struct rb_delay_frame *kept = &d->under_way[(d->first + d->n) % RB_DELAY_UNDER_WAY];

	d->given++;
	if (--d->until)
		return;
	d->until = draw(d);
	if (d->n == RB_DELAY_UNDER_WAY)
		return;
	d->n++;
	*kept = (struct rb_delay_frame){
		.number = d->given,
		/* It may have entered after this round began. */
		.given_ns = now_ns > frame->arrival_ns ? now_ns : frame->arrival_ns,
		.stay = rb_stay_of(frame, now_ns),
		.len_bytes = frame->len_bytes,
		.ingress_port = frame->ingress_port,
		.error_us = frame->error_us,
		.class = frame->class,
	};
	memcpy(kept->head, bytes,
	       frame->len_bytes < RB_DELAY_HEAD ? frame->len_bytes : RB_DELAY_HEAD);
}

void rb_port_delay_add(struct rb_port_delay *d, const struct rb_delay_frame *frame)
{
	const struct rb_stay *stay = &frame->stay;
	struct sl_histogram *stage = d->stage[frame->class];

	sl_histogram_add(&stage[RB_DELAY_VOQ], stay->voq_ns);
	sl_histogram_add(&stage[RB_DELAY_MESSAGE], stay->message_ns);
	sl_histogram_add(&stage[RB_DELAY_QUEUE], stay->queue_ns);
	sl_histogram_add(&stage[RB_DELAY_TRANSMIT], frame->transmit_ns);
	sl_histogram_add(&stage[RB_DELAY_TOTAL],
			 stay->voq_ns + stay->message_ns + stay->queue_ns + frame->transmit_ns);
	d->kept[d->n_kept++ % RB_DELAY_KEPT] = *frame;
}

/* A frame from another node may seem to enter, and so to be given, when it has left already. */
static uint64_t between(uint64_t given_ns, uint64_t back_ns)
{
	return back_ns > given_ns ? back_ns - given_ns : 0;
}

void rb_port_delay_back(struct rb_port_delay *d, uint32_t n, uint64_t from_ns, uint64_t step_ns)
{
	const uint64_t before = d->back;

	d->back += n;
	for (; d->n && d->under_way[d->first].number <= d->back;
	     d->n--, d->first = (d->first + 1) % RB_DELAY_UNDER_WAY) {
		struct rb_delay_frame *frame = &d->under_way[d->first];

		frame->transmit_ns =
			between(frame->given_ns, from_ns + (frame->number - before) * step_ns);
		rb_port_delay_add(d, frame);
	}
}

void rb_port_delay_restart(struct rb_port_delay *d)
{
	d->back = d->given;
	d->n = 0;
}
