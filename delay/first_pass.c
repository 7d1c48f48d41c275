/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first pass: delays of each pair of links, the least of them by size, loads, busy periods of
 * the whole system, and the rate of each output from gaps between departures.
 *
 * A gap between two departures tells the rate only if the second packet waited for the first to
 * leave. It did if it stood at the output by then; and that is sure if even its least delay, which
 * includes its own sending, would have let it leave by then.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "delay/passes.h"

struct departures {
	bool any;
	int64_t latest_ns;
	struct sl_busy busy;
};

struct sl_first_pass {
	struct sl_measure *measure;		/* borrowed */
	struct departures output[SL_LINKS_MAX]; /* by link */
};

int sl_first_pass_create(struct sl_measure *measure, struct sl_first_pass **out)
{
	struct sl_first_pass *pass = calloc(1, sizeof(*pass));

	if (!pass)
		return -ENOMEM;
	pass->measure = measure;
	for (uint32_t i = 0; i < SL_LINKS_MAX; i++)
		pass->output[i].busy.guard_ns = measure->settings.guard_ns;
	*out = pass;
	return 0;
}

void sl_first_pass_destroy(struct sl_first_pass *pass)
{
	free(pass);
}

void sl_periods_add(struct sl_periods *periods, const struct sl_busy_period *period)
{
	const uint64_t duration_ns = (uint64_t)(period->end_ns - period->start_ns);

	periods->count++;
	periods->sum_amplitude_ns += period->amplitude_ns;
	periods->sum_duration_ns += duration_ns;
	if (period->amplitude_ns > periods->max_amplitude_ns)
		periods->max_amplitude_ns = period->amplitude_ns;
	if (duration_ns > periods->max_duration_ns)
		periods->max_duration_ns = duration_ns;
	sl_triangle_add(&periods->triangle, period->amplitude_ns, duration_ns);
}

/* Make room for `wanted` items of an owned array; new ones are zero. */
static int make_room(void **array, uint64_t wanted, uint64_t *size, size_t item_bytes)
{
	uint64_t larger = *size ? *size : 16;
	void *moved;

	if (wanted <= *size)
		return 0;
	while (larger < wanted)
		larger *= 2;
	moved = realloc(*array, larger * item_bytes);
	if (!moved)
		return -ENOMEM;
	memset((char *)moved + *size * item_bytes, 0, (larger - *size) * item_bytes);
	*array = moved;
	*size = larger;
	return 0;
}

static int add_load(struct sl_link_result *link, uint64_t interval, uint32_t ip_bytes)
{
	void *loads = link->loads;
	int err;

	if (interval >= SL_MEASURE_INTERVALS_MAX)
		return -ERANGE;
	err = make_room(&loads, interval + 1, &link->loads_size, sizeof(*link->loads));
	if (err)
		return err;
	link->loads = loads;
	if (interval >= link->n_loads)
		link->n_loads = interval + 1;
	link->loads[interval].packets++;
	link->loads[interval].bytes += ip_bytes;
	return 0;
}

static void end_interval(struct sl_pair *pair)
{
	struct sl_interval *last;

	if (!pair->n_intervals)
		return;
	last = &pair->intervals[pair->n_intervals - 1];
	last->p50_ns = sl_histogram_quantile_ns(&pair->interval_delay, 500000);
	last->p99_ns = sl_histogram_quantile_ns(&pair->interval_delay, 990000);
	memset(&pair->interval_delay, 0, sizeof(pair->interval_delay));
}

static int add_to_interval(struct sl_pair *pair, uint64_t number, int64_t delay_ns)
{
	struct sl_interval *last =
		pair->n_intervals ? &pair->intervals[pair->n_intervals - 1] : NULL;

	if (!last || last->number != number) {
		uint64_t size = pair->intervals_size;
		void *intervals = pair->intervals;
		int err;

		end_interval(pair);
		err = make_room(&intervals, pair->n_intervals + 1ULL, &size, sizeof(*last));
		if (err)
			return err;
		pair->intervals = intervals;
		pair->intervals_size = (uint32_t)size;
		last = &pair->intervals[pair->n_intervals++];
		*last = (struct sl_interval){ number, 0, delay_ns, delay_ns, 0, 0, 0 };
	}
	if (delay_ns < last->min_ns)
		last->min_ns = delay_ns;
	if (delay_ns > last->max_ns)
		last->max_ns = delay_ns;
	last->sum_ns += delay_ns;
	last->count++;
	sl_histogram_add(&pair->interval_delay, delay_ns > 0 ? (uint64_t)delay_ns : 0);
	return 0;
}

static int add_least(struct sl_pair *pair, const struct sl_matched *p, int64_t delay_ns)
{
	uint64_t size = pair->n_least;
	void *least = pair->least;
	int err = make_room(&least, p->ip_bytes + 1ULL, &size, sizeof(*pair->least));

	if (err)
		return err;
	pair->least = least;
	pair->n_least = (uint32_t)size;
	if (pair->delay.count == 1 || p->out_tags < pair->least_tags)
		pair->least_tags = p->out_tags;
	sl_least_add(&pair->least[p->ip_bytes], delay_ns);
	return 0;
}

static struct sl_pair *pair_of(struct sl_measure *m, uint32_t input, uint32_t output)
{
	if (!m->pair[input][output])
		m->pair[input][output] = calloc(1, sizeof(struct sl_pair));
	return m->pair[input][output];
}

/* A matched packet, seen at its input */
static int add_delay(struct sl_first_pass *pass, const struct sl_matched *p)
{
	struct sl_measure *m = pass->measure;
	const int64_t out_ns = p->other_ns - (int64_t)m->settings.clock_error_ns,
		      delay_ns = out_ns - p->time_ns;
	const uint64_t positive_ns = delay_ns > 0 ? (uint64_t)delay_ns : 0;
	struct sl_pair *pair = pair_of(m, p->link, p->other_link);
	struct sl_output *output = m->output[p->other_link];
	const struct sl_passage passage = { .in_ns = p->time_ns,
					    .out_ns = out_ns,
					    .delay_ns = positive_ns,
					    .bytes = p->ip_bytes,
					    .input = p->link };
	struct sl_busy_period closed;
	int err;

	if (!pair)
		return -ENOMEM;
	output->from[p->link].packets++;
	output->from[p->link].bytes += p->ip_bytes;
	if (sl_busy_add(&pass->output[p->other_link].busy, &passage, &closed))
		sl_periods_add(&output->system, &closed);
	if (p->slow) {
		sl_histogram_add(&pair->slow, positive_ns);
		return 0;
	}
	if (!pair->delay.count || delay_ns < pair->min_ns)
		pair->min_ns = delay_ns;
	if (!pair->delay.count || delay_ns > pair->max_ns)
		pair->max_ns = delay_ns;
	pair->sum_ns += delay_ns;
	pair->negative += delay_ns < 0;
	sl_histogram_add(&pair->delay, positive_ns);
	err = add_to_interval(pair, (uint64_t)p->time_ns / m->settings.interval_ns, delay_ns);
	return err ? err : add_least(pair, p, delay_ns);
}

/* Any packet, seen at its output */
static void add_departure(struct sl_first_pass *pass, const struct sl_matched *p)
{
	struct sl_measure *m = pass->measure;
	struct departures *d = &pass->output[p->link];
	struct sl_output *output = m->output[p->link];
	const struct sl_tapped_link *link = &m->settings.links[p->link];
	/* Both times bear the clock error. */
	const int64_t gap_ns = p->time_ns - d->latest_ns,
		      before_ns = d->latest_ns - (int64_t)m->settings.clock_error_ns;

	if (p->ip_bytes > output->largest_ip_bytes)
		output->largest_ip_bytes = p->ip_bytes;
	if (d->any && p->fate == SL_FATE_MATCHED && !p->slow) {
		const struct sl_pair *pair = m->pair[p->other_link][p->link];
		const uint32_t overhead_bytes =
			link->overhead_given ? link->overhead_bytes : link->type->overhead_bytes;

		if (p->other_ns + pair->least[p->ip_bytes].delay_ns <= before_ns)
			sl_line_add(&output->gaps,
				    sl_tapped_link_wire_bytes(link, p->ip_bytes, p->out_tags) -
					    overhead_bytes,
				    (double)gap_ns);
	}
	d->any = true;
	d->latest_ns = p->time_ns;
}

int sl_first_pass_packet(void *first_pass, const struct sl_matched *p)
{
	struct sl_first_pass *pass = first_pass;
	struct sl_measure *m = pass->measure;
	const int64_t time_ns = p->time_ns - (p->output ? (int64_t)m->settings.clock_error_ns : 0);
	int err;

	m->link[p->link].fate[p->fate]++;
	err = add_load(&m->link[p->link],
		       (time_ns > 0 ? (uint64_t)time_ns : 0) / m->settings.interval_ns,
		       p->ip_bytes);
	if (err)
		return err;
	if (p->output)
		add_departure(pass, p);
	else if (p->fate == SL_FATE_MATCHED)
		return add_delay(pass, p);
	return 0;
}

/* The rate of an output: as given, or as the gaps tell. */
static void settle_rate(struct sl_output *output, const struct sl_tapped_link *link)
{
	const uint32_t overhead_bytes = link->overhead_given ? link->overhead_bytes
					: link->type	     ? link->type->overhead_bytes
							     : 0;

	output->gaps_told =
		sl_line_rate(&output->gaps, &output->gap_rate_bps, &output->gap_overhead_bytes);
	if (link->rate_bps) {
		output->rate_source = SL_RATE_GIVEN;
		output->rate_bps = link->rate_bps;
	} else if (output->gaps_told && output->gap_rate_bps >= 1 && output->gap_rate_bps < 1e15) {
		output->rate_source = SL_RATE_GAPS;
		output->rate_bps = (uint64_t)(output->gap_rate_bps + 0.5);
		output->overhead_bytes =
			output->gap_overhead_bytes > 0 && output->gap_overhead_bytes < 1000
				? (uint32_t)(output->gap_overhead_bytes + 0.5)
				: 0;
	} else if (!output->gaps_told && output->gaps.n >= SL_LEAST_RELIABLE &&
		   output->gaps.mean_y >= 1) {
		/* Packets of one size: the link layer's overhead has to be believed. */
		output->rate_source = SL_RATE_GAPS;
		output->rate_bps = (uint64_t)(8e9 * (output->gaps.mean_x + overhead_bytes) /
					      output->gaps.mean_y);
		output->overhead_bytes = overhead_bytes;
	}
}

static void fit_excess(struct sl_measure *m, uint32_t input, uint32_t output)
{
	struct sl_pair *pair = m->pair[input][output];
	struct sl_line line = { 0 };

	if (!m->output[output]->rate_bps)
		return;
	for (uint32_t bytes = 0; bytes < pair->n_least; bytes++)
		if (pair->least[bytes].count >= SL_LEAST_RELIABLE)
			sl_line_add(&line, bytes,
				    (double)sl_measure_excess_ns(m, input, output, bytes));
	pair->fitted = sl_line_fit(&line, &pair->excess_at_zero_ns, &pair->excess_per_byte_ns);
}

void sl_first_pass_finish(struct sl_first_pass *pass)
{
	struct sl_measure *m = pass->measure;
	struct sl_busy_period closed;

	for (uint32_t j = 0; j < m->settings.n_links; j++) {
		if (!m->output[j])
			continue;
		if (sl_busy_close(&pass->output[j].busy, &closed))
			sl_periods_add(&m->output[j]->system, &closed);
		m->output[j]->system.raw = pass->output[j].busy.raw;
		settle_rate(m->output[j], &m->settings.links[j]);
		for (uint32_t i = 0; i < m->settings.n_links; i++) {
			if (!m->pair[i][j])
				continue;
			end_interval(m->pair[i][j]);
			fit_excess(m, i, j);
		}
	}
}
