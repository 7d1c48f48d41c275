/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two-stage model of a router. Stage 1 delays a packet by what its size alone explains, the
 * excess of the least delay (least_delay.h), and keeps the order of each input. Stage 2 is one
 * queue in front of the output, served in order of arrival at the rate of the link:
 *
 *     a = max(T_in + excess(size), a of the packet before it from the same input)
 *     start = max(a, departure of the packet before it)
 *     departure = start + 8 bytes / rate;  predicted delay = departure - T_in;  wait = start - a
 *
 * Integers only; picoseconds inside, so that a long busy period does not add up rounding: times
 * lie within 106 days of 0. One writer, no allocation. The model is that of Hohn, Veitch,
 * Papagiannaki and Diot (SIGMETRICS 2004), with the choices of docs/DELAY.md.
 */
#ifndef SL_TWO_STAGE_H
#define SL_TWO_STAGE_H

#include <stdint.h>

#include "delay/stats/busy_period.h"

/* One output */
struct sl_two_stage {
	uint64_t rate_bps;
	int64_t idle_ps;			/* when stage 2 has served all so far */
	int64_t ordered_ns[SL_BUSY_INPUTS_MAX]; /* a of the latest packet of each input */
	uint64_t seen;				/* bit i: input i had a packet */
};

/* An idle model of an output of this rate, not 0. */
void sl_two_stage_init(struct sl_two_stage *model, uint64_t rate_bps);

/* When a packet reaches stage 2. Each input's packets come in the order of in_ns. */
int64_t sl_two_stage_arrival_ns(struct sl_two_stage *model, uint32_t input, int64_t in_ns,
				int64_t excess_ns);

/* Stage 2 serves a packet of this many bytes on the wire. Packets come in the order of arrival. */
struct sl_service {
	uint64_t wait_ns;
	int64_t departure_ns; /* rounded to the nearest */
};
struct sl_service sl_two_stage_serve(struct sl_two_stage *model, int64_t arrival_ns,
				     uint32_t wire_bytes);

/* How long a link of `rate_bps` takes to send; at most 1 MB. */
uint64_t sl_serialisation_ps(uint32_t wire_bytes, uint64_t rate_bps);

#endif
