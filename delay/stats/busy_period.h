/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Busy periods of an output: the longest spans of time in which a packet for it is always there. A
 * period opens when a packet comes to an empty system, and ends when the last one there leaves. Its
 * duration is D; its amplitude A is the longest stay of one of its packets, and its apex the time
 * when that packet came.
 *
 * Two flavours use one object. Fed with the times when packets entered and left, it finds the
 * periods of the whole system; fed with arrivals at the queue and departures from it (two_stage.h),
 * those of the queue. Integers only, no allocation; one writer. All zero, but for guard_ns, is an
 * object that has seen no packet.
 *
 * Whoever has all packets adds them in the order in which they came. A router knows of a packet
 * when it leaves, and takes them in that order: a packet that came before others left may join
 * periods that seemed to be over, so the latest ones stay open to it.
 *
 * The paper has the term only; this is the definition of docs/DELAY.md.
 */
#ifndef SL_BUSY_PERIOD_H
#define SL_BUSY_PERIOD_H

#include <stdbool.h>
#include <stdint.h>

#define SL_BUSY_INPUTS_MAX 64

/* One packet on its way through what is measured */
struct sl_passage {
	int64_t in_ns, out_ns; /* when it came and left, of one clock */
	uint64_t wait_ns;      /* of its stay, how long it waited for others */
	uint64_t delay_ns;     /* its delay through all of the router */
	uint32_t bytes;
	uint32_t input; /* where it came from, 0..SL_BUSY_INPUTS_MAX - 1 */
};

struct sl_busy_period {
	int64_t start_ns, end_ns;
	int64_t apex_ns;
	uint64_t amplitude_ns;
	uint64_t packets, bytes;
	uint64_t wait_ns, delay_ns;		  /* of all its packets together */
	uint64_t input_bytes[SL_BUSY_INPUTS_MAX]; /* of bytes, those of each input */
};

struct sl_busy {
	uint64_t guard_ns;	      /* an idle time shorter than this does not end a period */
	uint64_t raw;		      /* periods opened, as if guard_ns were 0 */
	bool open;		      /* `period` has packets */
	struct sl_busy_period period; /* the one under way */
};

/*
 * Add a packet; packets come in the order of in_ns. True if it opened a new period and so closed
 * one, which is then in *closed.
 */
bool sl_busy_add(struct sl_busy *busy, const struct sl_passage *packet,
		 struct sl_busy_period *closed);
/* Close the period under way, after the last packet. False if there is none. */
bool sl_busy_close(struct sl_busy *busy, struct sl_busy_period *closed);

/* --- In the order in which packets leave --- */

#define SL_BUSY_RECENT 16

struct sl_busy_leaving {
	/* A ring of `n` periods that later packets may still join, the oldest first */
	struct sl_busy_period recent[SL_BUSY_RECENT];
	uint32_t first, n;
	int64_t closed_ns; /* end of the latest one closed */
	uint64_t late;	   /* packets that came before closed_ns: D has no time before it, A has */
};

/*
 * Add a packet; packets come in the order of out_ns. Returns the period that gave way to a new one,
 * valid until the next call, or NULL.
 */
const struct sl_busy_period *sl_busy_leave(struct sl_busy_leaving *busy,
					   const struct sl_passage *packet);
/* Close the oldest period if it ended before a time; returned as by sl_busy_leave. */
const struct sl_busy_period *sl_busy_close_before(struct sl_busy_leaving *busy, int64_t time_ns);

#endif
