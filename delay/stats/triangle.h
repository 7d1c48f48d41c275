/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The time that a delay spends above a level L. The estimate takes each busy period for a triangle
 * of base D and height A: by similar triangles it lies above L for
 *
 *     d_L = D (1 - L / A) = D - L (D / A)    if A > L, else 0
 *
 * wherever its apex is. The mean of d_L over the periods with A > L is T_L. As d_L is linear in L,
 * three sums per bin of amplitudes (periods, D, D / A) give T_L exactly for each L that is an edge
 * of the bins. The exact figure, against which the estimate is judged, follows the sawtooth itself:
 * unfinished work jumps when a packet arrives, and falls by a second each second.
 *
 * Adding is integers only, without allocation.
 */
#ifndef SL_TRIANGLE_H
#define SL_TRIANGLE_H

#include <stdint.h>

/* Edge k is 2^(k/2) us: 1 us to 11.9 s. Bin 0 is what lies at or below edge 0. */
#define SL_TRIANGLE_EDGES 48

struct sl_triangle {
	struct {
		uint64_t periods;
		uint64_t duration_ns; /* sum of D */
		uint64_t ratio_q16;   /* sum of D / A, times 65,536, each cut to an integer */
	} bin[SL_TRIANGLE_EDGES + 1]; /* bin k + 1: edge k < A <= edge k + 1 */
};

uint64_t sl_triangle_edge_ns(uint32_t k);
/* Add a period of this amplitude and duration; one of amplitude 0 is not counted. */
void sl_triangle_add(struct sl_triangle *t, uint64_t amplitude_ns, uint64_t duration_ns);

/* What the sums say of the level at edge k */
struct sl_triangle_level {
	uint64_t periods;  /* of them, those with A > L */
	uint64_t above_ns; /* sum of d_L over them; T_L is above_ns / periods */
};
struct sl_triangle_level sl_triangle_level(const struct sl_triangle *t, uint32_t k);

/* The exact time above each level: of a given list of levels, in rising order */
#define SL_ABOVE_LEVELS_MAX 64
struct sl_above {
	uint32_t n; /* levels */
	uint64_t level_ns[SL_ABOVE_LEVELS_MAX];
	uint64_t above_ns[SL_ABOVE_LEVELS_MAX];	    /* time above each, exact */
	uint64_t periods[SL_ABOVE_LEVELS_MAX];	    /* busy periods that exceeded it */
	uint64_t triangles_ns[SL_ABOVE_LEVELS_MAX]; /* sum of their d_L */
};

/* The work falls from `work_ns` for `for_ns`; it stops at 0. */
void sl_above_fall(struct sl_above *above, uint64_t work_ns, uint64_t for_ns);
/* A busy period ended. */
void sl_above_period(struct sl_above *above, uint64_t amplitude_ns, uint64_t duration_ns);

#endif
