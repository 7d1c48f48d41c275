/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/scheduler/pace.h"

#define NANO 1000000000LL

static void settle(struct rb_pace *pace, uint64_t now_ns)
{
	uint64_t elapsed_ns = now_ns - pace->settled_ns;
	int64_t missing_nano = pace->burst_nano - pace->tokens_nano;

	pace->settled_ns = now_ns;
	if (pace->rate == 0 || pace->rate == SL_RATE_UNLIMITED)
		return;
	/* This test keeps the product below under burst + debt + rate, far from overflow. */
	if (elapsed_ns > (uint64_t)missing_nano / pace->rate)
		pace->tokens_nano = pace->burst_nano;
	else
		pace->tokens_nano += (int64_t)(elapsed_ns * pace->rate);
}

void rb_pace_init(struct rb_pace *pace, uint64_t rate, uint32_t burst, uint64_t now_ns)
{
	*pace = (struct rb_pace){ .settled_ns = now_ns };
	rb_pace_set(pace, rate, burst, now_ns);
	pace->tokens_nano = pace->burst_nano;
}

void rb_pace_set(struct rb_pace *pace, uint64_t rate, uint32_t burst, uint64_t now_ns)
{
	if (rate > RB_PACE_RATE_MAX)
		rate = SL_RATE_UNLIMITED;
	if (burst == 0)
		burst = 1;
	if (burst > RB_PACE_BURST_MAX)
		burst = RB_PACE_BURST_MAX;
	if (rate == pace->rate && burst * NANO == pace->burst_nano)
		return;
	settle(pace, now_ns);
	pace->rate = rate;
	pace->burst_nano = burst * NANO;
	if (pace->tokens_nano > pace->burst_nano)
		pace->tokens_nano = pace->burst_nano;
}

bool rb_pace_ready(struct rb_pace *pace, uint64_t now_ns)
{
	if (pace->rate == SL_RATE_UNLIMITED)
		return true;
	if (pace->rate == 0)
		return false;
	settle(pace, now_ns);
	return pace->tokens_nano > 0;
}

void rb_pace_spend(struct rb_pace *pace, uint32_t units)
{
	if (pace->rate != SL_RATE_UNLIMITED)
		pace->tokens_nano -= units * NANO;
}

uint64_t rb_pace_ready_at(const struct rb_pace *pace, uint64_t now_ns)
{
	uint64_t wait_ns;

	if (pace->rate == SL_RATE_UNLIMITED)
		return now_ns;
	if (pace->rate == 0)
		return UINT64_MAX;
	if (pace->tokens_nano > 0)
		return now_ns;
	wait_ns = (uint64_t)-pace->tokens_nano / pace->rate + 1;
	return pace->settled_ns + wait_ns > now_ns ? pace->settled_ns + wait_ns : now_ns;
}
