/* SPDX-License-Identifier: BSD-2-Clause */
#include "delay/stats/histogram.h"

#define STEPS (1u << SL_HISTOGRAM_STEP_BITS)

uint32_t sl_histogram_index(uint64_t value_ns)
{
	uint32_t shift;

	if (value_ns >= 1ULL << SL_HISTOGRAM_VALUE_BITS)
		return SL_HISTOGRAM_BUCKETS - 1;
	if (value_ns < STEPS)
		return (uint32_t)value_ns;
	shift = 63 - (uint32_t)__builtin_clzll(value_ns) - SL_HISTOGRAM_STEP_BITS;
	return (shift << SL_HISTOGRAM_STEP_BITS) + (uint32_t)(value_ns >> shift);
}

uint64_t sl_histogram_edge_ns(uint32_t index)
{
	uint32_t shift;

	if (index < 2 * STEPS)
		return index;
	shift = (index >> SL_HISTOGRAM_STEP_BITS) - 1;
	return (uint64_t)(STEPS + index % STEPS) << shift;
}

void sl_histogram_add(struct sl_histogram *h, uint64_t value_ns)
{
	if (!h->count || value_ns < h->min_ns)
		h->min_ns = value_ns;
	if (value_ns > h->max_ns)
		h->max_ns = value_ns;
	h->count++;
	h->sum_ns += value_ns;
	h->bucket[sl_histogram_index(value_ns)]++;
}

uint64_t sl_histogram_quantile_ns(const struct sl_histogram *h, uint32_t ppm)
{
	/* The rank is rounded up, in two parts so that it cannot overflow. */
	const uint64_t rank =
		h->count / 1000000 * ppm + (h->count % 1000000 * ppm + 999999) / 1000000;
	uint64_t seen = 0, low, middle;

	if (!h->count)
		return 0;
	for (uint32_t i = 0; i < SL_HISTOGRAM_BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen < rank)
			continue;
		if (i == SL_HISTOGRAM_BUCKETS - 1)
			return h->max_ns;
		low = sl_histogram_edge_ns(i);
		middle = low + (sl_histogram_edge_ns(i + 1) - low) / 2;
		if (middle < h->min_ns)
			return h->min_ns;
		return middle > h->max_ns ? h->max_ns : middle;
	}
	return h->max_ns;
}
