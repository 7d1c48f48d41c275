/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/wire/transit.h"

void rb_transit_init(struct rb_transit *t)
{
	*t = (struct rb_transit){ .there_ns = RB_TRANSIT_UNKNOWN };
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

uint32_t rb_transit_of(const struct rb_transit *t, uint64_t sent_ns, uint64_t now_ns)
{
	const int64_t here_ns = rb_transit_here_ns(t), round_trip_ns = rb_transit_round_trip_ns(t);
	/* sent_ns comes from outside, so the difference may be any number. */
	const int64_t ns =
		(int64_t)(now_ns - sent_ns - (uint64_t)here_ns +
			  (round_trip_ns == RB_TRANSIT_UNKNOWN ? 0 : (uint64_t)round_trip_ns / 2));

	if (here_ns == RB_TRANSIT_UNKNOWN || ns < 0)
		return 0;
	return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

uint16_t rb_transit_error_us(const struct rb_transit *t)
{
	const int64_t round_trip_ns = rb_transit_round_trip_ns(t);

	if (round_trip_ns == RB_TRANSIT_UNKNOWN ||
	    round_trip_ns / 2000 + 1 >= (int64_t)RB_TRANSIT_ERROR_MAX)
		return RB_TRANSIT_ERROR_MAX;
	return (uint16_t)(round_trip_ns / 2000 + 1);
}
