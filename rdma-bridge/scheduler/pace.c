/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/scheduler/pace.h"

#include "bpf/abi/virtual_clock.h"

static bool paces(const struct rb_pace *pace)
{
	return pace->rate != 0 && pace->rate != SL_RATE_UNLIMITED;
}

static uint64_t ticks_of(uint64_t units, uint64_t rate)
{
	return (uint64_t)(((unsigned __int128)units * SL_TICKS_PER_SECOND + rate / 2) / rate);
}

static __u64 load(const struct rb_pace *pace)
{
	return __atomic_load_n(pace->clock, __ATOMIC_RELAXED);
}

/* Set the clock to be `ahead` of now, unless another has moved it from `seen` on. */
static bool swap(struct rb_pace *pace, __u64 seen, uint64_t ahead, uint64_t now_ns)
{
	return __atomic_compare_exchange_n(pace->clock, &seen, now_ns * SL_TICKS_PER_NS + ahead,
					   false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

void rb_pace_init(struct rb_pace *pace, __u64 *clock, uint64_t rate, uint32_t burst, uint32_t unit,
		  uint64_t now_ns)
{
	*pace = (struct rb_pace){ .clock = clock, .burst = RB_PACE_BURST_MAX };
	rb_pace_set(pace, rate, burst, unit, now_ns);
}

void rb_pace_move(struct rb_pace *pace, __u64 *clock)
{
	if (pace->clock == clock)
		return;
	__atomic_store_n(clock, load(pace), __ATOMIC_RELAXED);
	pace->clock = clock;
}

/*
 * How far ahead a clock is at another rate and burst, if the bucket holds or owes the same units. A
 * bucket that had no rate, or held another unit, is full.
 */
static uint64_t converted(const struct rb_pace *before, const struct rb_pace *pace, __u64 clock,
			  uint64_t now_ns)
{
	__int128 held;

	if (paces(before) && before->unit != pace->unit)
		held = pace->capacity;
	else if (paces(before))
		held = ((__int128)before->capacity -
			sl_clock_ahead(clock, now_ns, before->owed_max)) *
		       before->rate / pace->rate;
	else
		held = ticks_of(before->burst, pace->rate);
	return held < pace->capacity ? (uint64_t)(pace->capacity - held) : 0;
}

void rb_pace_set(struct rb_pace *pace, uint64_t rate, uint32_t burst, uint32_t unit,
		 uint64_t now_ns)
{
	struct rb_pace before = *pace;
	__u64 seen;

	if (rate > RB_PACE_RATE_MAX)
		rate = SL_RATE_UNLIMITED;
	if (burst == 0)
		burst = 1;
	if (burst > RB_PACE_BURST_MAX)
		burst = RB_PACE_BURST_MAX;
	if (rate == pace->rate && burst == pace->burst && unit == pace->unit)
		return;
	pace->rate = rate;
	pace->burst = burst;
	pace->unit = unit;
	if (!paces(pace))
		return;
	pace->capacity = ticks_of(burst, rate);
	pace->owed_max =
		pace->capacity + ticks_of(unit == SL_UNIT_BYTES ? RB_PACE_BYTES_MAX : 1, rate);
	do
		seen = load(pace);
	while (!swap(pace, seen, converted(&before, pace, seen, now_ns), now_ns));
}

bool rb_pace_ready(struct rb_pace *pace, uint64_t now_ns)
{
	uint64_t ahead;
	__u64 seen;

	if (!paces(pace))
		return pace->rate != 0;
	seen = load(pace);
	ahead = sl_clock_ahead(seen, now_ns, pace->owed_max);
	/* A clock of long ago: from now on it owes that, and less as time passes. */
	if (ahead == pace->owed_max)
		swap(pace, seen, ahead, now_ns);
	return ahead < pace->capacity;
}

void rb_pace_spend(struct rb_pace *pace, uint32_t len_bytes, uint64_t now_ns)
{
	uint64_t cost;
	__u64 seen;

	if (!paces(pace))
		return;
	cost = ticks_of(pace->unit == SL_UNIT_BYTES ? len_bytes : 1, pace->rate);
	do
		seen = load(pace);
	while (!swap(pace, seen, sl_clock_ahead(seen, now_ns, pace->owed_max) + cost, now_ns));
}

uint64_t rb_pace_ready_at(const struct rb_pace *pace, uint64_t now_ns)
{
	uint64_t ahead;

	if (!paces(pace))
		return pace->rate ? now_ns : UINT64_MAX;
	ahead = sl_clock_ahead(load(pace), now_ns, pace->owed_max);
	if (ahead < pace->capacity)
		return now_ns;
	return now_ns + (ahead - pace->capacity) / SL_TICKS_PER_NS + 1;
}
