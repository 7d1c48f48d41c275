/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long messages of a peer are under way, although its clock shows another time than ours.
 *
 * Each message says when it was made, by the sender's clock. Our clock less that is its time under
 * way plus an unknown difference of clocks, which is the same for all messages. Of hellos, which
 * are made alike and as often in both directions, each node knows the least of these values, and
 * tells its peer. With `here` and `there` for those of the two directions, the difference cancels
 * out:
 *
 *     round trip = here + there
 *     time under way of a message = (our clock - sent) - here + round trip / 2
 *
 * So the least hello of a direction takes half of the least round trip: that is right where both
 * directions are alike, and off by no more than half of the round trip where they are not. Clocks
 * may drift: only the latest second counts.
 *
 * Where something else (PTP) keeps the clocks of the nodes alike within a bound, both nodes put
 * that clock into their messages, and
 *
 *     time under way of a message = our clock - sent
 *
 * within that bound. No message arrives before it was sent: values of `here` or `there` below
 * nothing by more than the bound show that the clocks are not alike. Then the estimate holds.
 */
#ifndef RB_TRANSIT_H
#define RB_TRANSIT_H

#include <stdint.h>

#define RB_TRANSIT_UNKNOWN   INT64_MIN
#define RB_TRANSIT_WINDOW_NS 500000000ULL /* the least value is that of one to two windows */

struct rb_transit {
	int64_t least_ns[2]; /* of the window under way and the one before */
	uint64_t until_ns;   /* the end of the window under way; 0: no hello yet */
	int64_t there_ns;    /* what the peer said last; RB_TRANSIT_UNKNOWN: nothing */
	/* the clocks are said to agree within this, a number of us below RB_TRANSIT_ERROR_MAX */
	uint32_t clock_error_ns; /* 0: nobody says so */
};

/* The peer began a new life, perhaps with another clock. */
void rb_transit_init(struct rb_transit *transit, uint32_t clock_error_ns);
/* A hello came. */
void rb_transit_note(struct rb_transit *transit, uint64_t sent_ns, uint64_t now_ns);
/* The least value of our direction, to tell the peer; RB_TRANSIT_UNKNOWN: no hello yet. */
int64_t rb_transit_here_ns(const struct rb_transit *transit);
/* The least round trip of the latest second, or RB_TRANSIT_UNKNOWN. */
int64_t rb_transit_round_trip_ns(const struct rb_transit *transit);
/* Where the time under way is taken from. */
#define RB_TRANSIT_CLOCKS(X)                                                   \
	X(ESTIMATED, "estimated", "the least hellos of both directions")       \
	X(SYNCHRONIZED, "synchronized", "the clocks, which are said to agree") \
	X(DISAGREES, "disagrees", "as estimated: hellos show that they do not")
#define RB_ENUM_CLOCK(id, name, text) RB_TRANSIT_##id,
enum rb_transit_clock { RB_TRANSIT_CLOCKS(RB_ENUM_CLOCK) RB_TRANSIT_CLOCK_COUNT };
enum rb_transit_clock rb_transit_clock(const struct rb_transit *transit);
const char *rb_transit_clock_name(enum rb_transit_clock clock);
/*
 * How long a message was under way that came now, at most UINT32_MAX. Without a word from the peer,
 * how much longer than the least hello; without a hello 0.
 *
 * Less than nothing if it came during a round that began, at now_ns, before it was sent; 0 if by
 * more than any round takes.
 */
#define RB_TRANSIT_EARLY_MAX_NS 50000000
int64_t rb_transit_of(const struct rb_transit *transit, uint64_t sent_ns, uint64_t now_ns);
/*
 * By how much rb_transit_of() may be wrong now: by as much as the clocks, or half of the least
 * round trip, rounded up. RB_TRANSIT_ERROR_MAX: so much or more, or not known.
 */
#define RB_TRANSIT_ERROR_MAX UINT16_MAX
uint16_t rb_transit_error_us(const struct rb_transit *transit);

#endif
