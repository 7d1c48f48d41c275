/* SPDX-License-Identifier: BSD-2-Clause */
#include "delay/stats/least_delay.h"

void sl_least_add(struct sl_least *least, int64_t delay_ns)
{
	if (!least->count || delay_ns < least->delay_ns)
		least->delay_ns = delay_ns;
	least->count++;
}

void sl_line_add(struct sl_line *line, double x, double y)
{
	const double from_x = x - line->mean_x, from_y = y - line->mean_y;

	line->n++;
	line->mean_x += from_x / (double)line->n;
	line->mean_y += from_y / (double)line->n;
	line->sum_xx += from_x * (x - line->mean_x);
	line->sum_xy += from_x * (y - line->mean_y);
	line->sum_yy += from_y * (y - line->mean_y);
}

bool sl_line_fit(const struct sl_line *line, double *at_zero, double *slope)
{
	if (!(line->sum_xx > 0))
		return false;
	*slope = line->sum_xy / line->sum_xx;
	*at_zero = line->mean_y - *slope * line->mean_x;
	return true;
}

bool sl_line_rate(const struct sl_line *gaps, double *rate_bps, double *overhead_bytes)
{
	double at_zero, slope;

	if (gaps->n < SL_LEAST_RELIABLE || !sl_line_fit(gaps, &at_zero, &slope) || !(slope > 0))
		return false;
	*rate_bps = 8e9 / slope;
	*overhead_bytes = at_zero / slope;
	return true;
}
