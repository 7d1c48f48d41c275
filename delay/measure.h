/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What captures of a router's links say of its delay. They are read twice: the first pass matches
 * packets, and finds delays, their least by size, and the rates of outputs; the second matches them
 * again and runs the two-stage model, which needs what the first has found. Memory does not grow
 * with the number of packets, but with that of intervals and sizes.
 */
#ifndef SL_MEASURE_H
#define SL_MEASURE_H

#include <stddef.h>

#include "delay/measurement.h"

/*
 * Measure. 0, or an error whose reason is in `why`: those of sl_captures_create(),
 * sl_captures_next() and sl_match_add(); -ERANGE: more than SL_MEASURE_INTERVALS_MAX intervals.
 */
int sl_measure_create(const struct sl_measure_settings *settings, struct sl_measure **out,
		      char *why, size_t why_bytes);

#endif
