/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/queue/frame_counters.h"

#define NAME(id, name, text) name,
static const char *const counter_names[] = { RB_FRAME_COUNTERS(NAME) };
#undef NAME

const char *rb_frame_counter_name(enum rb_frame_counter counter)
{
	return counter_names[counter];
}
