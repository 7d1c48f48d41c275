/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/rate/rate_trace.h"

#include <errno.h>
#include <stdlib.h>

int rb_rate_trace_begin(struct rb_rate_trace **trace)
{
	if (!*trace)
		*trace = calloc(1, sizeof(**trace));
	return *trace ? 0 : -ENOMEM;
}

void rb_rate_trace_add(struct rb_rate_trace *trace, const struct rb_rate_point *point)
{
	trace->point[trace->n++ % RB_RATE_TRACE_POINTS] = *point;
}
