/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/wire/transit.h"

void rb_transit_init(struct rb_transit *t, uint32_t clock_error_ns)
{
	*t = (struct rb_transit){ .there_ns = RB_TRANSIT_UNKNOWN,
				  .clock_error_ns = clock_error_ns };
}

void rb_transit_note(struct rb_transit *t, uint64_t sent_ns, uint64_t now_ns)
{
	const int64_t here_ns = (int64_t)(now_ns - sent_ns);

	if (now_ns >= t->until_ns) {
		/* After a pause, the window before has nothing to say either. */
		t->least_ns[1] = t->until_ns && now_ns - t->until_ns < RB_TRANSIT_WINDOW_NS
					 ? t->least_ns[0]
					 : here_ns;
		t->least_ns[0] = here_ns;
		t->until_ns = now_ns + RB_TRANSIT_WINDOW_NS;
	}
	if (here_ns < t->least_ns[0])
		t->least_ns[0] = here_ns;
}

int64_t rb_transit_here_ns(const struct rb_transit *t)
{
	if (!t->until_ns)
		return RB_TRANSIT_UNKNOWN;
	return t->least_ns[0] < t->least_ns[1] ? t->least_ns[0] : t->least_ns[1];
}

int64_t rb_transit_round_trip_ns(const struct rb_transit *t)
{
	int64_t sum_ns;

	/* The peer's value comes from outside, so the sum may be any number. */
	if (!t->until_ns || t->there_ns == RB_TRANSIT_UNKNOWN ||
	    __builtin_add_overflow(rb_transit_here_ns(t), t->there_ns, &sum_ns))
		return RB_TRANSIT_UNKNOWN;
	return sum_ns > 0 ? sum_ns : 0;
}

const char *rb_transit_clock_name(enum rb_transit_clock clock)
{
	static const char *const names[RB_TRANSIT_CLOCK_COUNT] = {
#define X(id, name, text) name,
		RB_TRANSIT_CLOCKS(X)
#undef X
	};

	return names[clock];
}

enum rb_transit_clock rb_transit_clock(const struct rb_transit *t)
{
	const int64_t error_ns = t->clock_error_ns;

	if (!error_ns || rb_transit_round_trip_ns(t) == RB_TRANSIT_UNKNOWN)
		return RB_TRANSIT_ESTIMATED;
	return rb_transit_here_ns(t) < -error_ns || t->there_ns < -error_ns
		       ? RB_TRANSIT_DISAGREES
		       : RB_TRANSIT_SYNCHRONIZED;
}

static int64_t within_bounds(int64_t ns)
{
	if (ns < -RB_TRANSIT_EARLY_MAX_NS)
		return 0;
	return ns < UINT32_MAX ? ns : UINT32_MAX;
}

int64_t rb_transit_of(const struct rb_transit *t, uint64_t sent_ns, uint64_t now_ns)
{
	const int64_t here_ns = rb_transit_here_ns(t), round_trip_ns = rb_transit_round_trip_ns(t);
	/* sent_ns comes from outside, so the difference may be any number. */
	const int64_t ns =
		(int64_t)(now_ns - sent_ns - (uint64_t)here_ns +
			  (round_trip_ns == RB_TRANSIT_UNKNOWN ? 0 : (uint64_t)round_trip_ns / 2));

	if (rb_transit_clock(t) == RB_TRANSIT_SYNCHRONIZED)
		return within_bounds((int64_t)(now_ns - sent_ns));
	return here_ns == RB_TRANSIT_UNKNOWN ? 0 : within_bounds(ns);
}

uint16_t rb_transit_error_us(const struct rb_transit *t)
{
	const int64_t round_trip_ns = rb_transit_round_trip_ns(t);

	if (rb_transit_clock(t) == RB_TRANSIT_SYNCHRONIZED)
		return (uint16_t)(t->clock_error_ns / 1000);
	if (round_trip_ns == RB_TRANSIT_UNKNOWN ||
	    round_trip_ns / 2000 + 1 >= (int64_t)RB_TRANSIT_ERROR_MAX)
		return RB_TRANSIT_ERROR_MAX;
	return (uint16_t)(round_trip_ns / 2000 + 1);
}
