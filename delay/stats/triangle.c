/* SPDX-License-Identifier: BSD-2-Clause */
#include "delay/stats/triangle.h"

uint64_t sl_triangle_edge_ns(uint32_t k)
{
	const uint64_t ratio_e12 =
		k % 2 ? 1414213562373 : 1000000000000; /* sqrt 2, 1; times 10^12 */

	return ((ratio_e12 << (k / 2)) + 500000000) / 1000000000;
}

static uint32_t bin_of(uint64_t amplitude_ns)
{
	uint32_t low = 0, high = SL_TRIANGLE_EDGES; /* the number of edges below the amplitude */

	while (low < high) {
		const uint32_t k = (low + high) / 2;

		if (sl_triangle_edge_ns(k) < amplitude_ns)
			low = k + 1;
		else
			high = k;
	}
	return low;
}

void sl_triangle_add(struct sl_triangle *t, uint64_t amplitude_ns, uint64_t duration_ns)
{
	const uint32_t k = bin_of(amplitude_ns);

	if (!amplitude_ns)
		return;
	t->bin[k].periods++;
	t->bin[k].duration_ns += duration_ns;
	t->bin[k].ratio_q16 += (duration_ns << 16) / amplitude_ns;
}

struct sl_triangle_level sl_triangle_level(const struct sl_triangle *t, uint32_t k)
{
	struct sl_triangle_level level = { 0, 0 };
	unsigned __int128 duration_q16 = 0, below_q16 = 0;

	for (uint32_t i = k + 1; i <= SL_TRIANGLE_EDGES; i++) {
		level.periods += t->bin[i].periods;
		duration_q16 += (unsigned __int128)t->bin[i].duration_ns << 16;
		below_q16 += (unsigned __int128)t->bin[i].ratio_q16 * sl_triangle_edge_ns(k);
	}
	if (duration_q16 > below_q16)
		level.above_ns = (uint64_t)((duration_q16 - below_q16) >> 16);
	return level;
}

void sl_above_fall(struct sl_above *above, uint64_t work_ns, uint64_t for_ns)
{
	for (uint32_t i = 0; i < above->n && above->level_ns[i] < work_ns; i++) {
		const uint64_t high_ns = work_ns - above->level_ns[i];

		above->above_ns[i] += high_ns < for_ns ? high_ns : for_ns;
	}
}

void sl_above_period(struct sl_above *above, uint64_t amplitude_ns, uint64_t duration_ns)
{
	for (uint32_t i = 0; i < above->n && above->level_ns[i] < amplitude_ns; i++) {
		above->periods[i]++;
		above->triangles_ns[i] +=
			(uint64_t)((unsigned __int128)duration_ns *
				   (amplitude_ns - above->level_ns[i]) / amplitude_ns);
	}
}
