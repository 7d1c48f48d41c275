/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The least delay of the packets of one size, and its excess over the time that the output link
 * needs to send them: what a packet of that size needs in the router when it meets no queue.
 *
 *     excess(L) = min over packets of size L of (delay - 8 L / rate of the output)
 *
 * (the paper's equation 4, with the output's rate; see docs/DELAY.md for the choice). All zero is
 * an empty least, and an empty line. One writer, no allocation; lines alone use floating point.
 *
 * A line fitted to the excess over size stands in where a size is too rare for its own minimum.
 */
#ifndef SL_LEAST_DELAY_H
#define SL_LEAST_DELAY_H

#include <stdbool.h>
#include <stdint.h>

/* With fewer packets of a size, the least of their delays may well have met a queue. */
#define SL_LEAST_RELIABLE 30

/* One size; whoever has many keeps a table of them, indexed by the IP length in bytes. */
struct sl_least {
	uint64_t count;
	int64_t delay_ns; /* least so far */
};

/* A packet of this size took so long; below 0 if clocks differ. */
void sl_least_add(struct sl_least *least, int64_t delay_ns);

/* A line y = at_zero + slope x, by least squares, added up point by point (Welford) */
struct sl_line {
	uint64_t n;
	double mean_x, mean_y, sum_xx, sum_xy, sum_yy; /* sums of products of deviations */
};
void sl_line_add(struct sl_line *line, double x, double y);
/* False, and nothing is written, if all x are one, or there is none. */
bool sl_line_fit(const struct sl_line *line, double *at_zero, double *slope);

/*
 * The rate of an output from the gaps between departures that lie back to back: a gap is
 * 8 (bytes + overhead) / rate. False if the gaps do not tell: fewer than SL_LEAST_RELIABLE, of one
 * size only, or no rise with size.
 */
bool sl_line_rate(const struct sl_line *gaps_ns_over_bytes, double *rate_bps,
		  double *overhead_bytes);

#endif
