/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A log-linear histogram of durations: each octave is cut into 32 buckets of one width, so that the
 * middle of a bucket lies within 1/64 (1.6 %) of every value in it. Integers only, no allocation,
 * one writer: the same object fits packet-rate code. All zero is an empty one.
 */
#ifndef SL_HISTOGRAM_H
#define SL_HISTOGRAM_H

#include <stdint.h>

#define SL_HISTOGRAM_STEP_BITS	5  /* 32 buckets an octave */
#define SL_HISTOGRAM_VALUE_BITS 42 /* values from 2^42 ns (73 minutes) on share the last bucket */
#define SL_HISTOGRAM_BUCKETS \
	((SL_HISTOGRAM_VALUE_BITS - SL_HISTOGRAM_STEP_BITS + 1) << SL_HISTOGRAM_STEP_BITS)

struct sl_histogram {
	uint64_t count;			       /* values added */
	uint64_t sum_ns;		       /* of them, exact */
	uint64_t min_ns, max_ns;	       /* of them, exact; 0 while count is 0 */
	uint64_t bucket[SL_HISTOGRAM_BUCKETS]; /* values in each */
};

/* The bucket of a value, 0..SL_HISTOGRAM_BUCKETS - 1; it does not fall as the value grows. */
uint32_t sl_histogram_index(uint64_t value_ns);
/* The least value of bucket `index`; that of the next bucket ends it. */
uint64_t sl_histogram_edge_ns(uint32_t index);
/* Count a value of any size. Not thread-safe: the caller has one writer, or a lock. */
void sl_histogram_add(struct sl_histogram *h, uint64_t value_ns);
/* The quantile of `ppm` millionths, 1..1000000, within 1.6 % of the value of that rank; 0 if empty.
 */
uint64_t sl_histogram_quantile_ns(const struct sl_histogram *h, uint32_t ppm);

#endif
