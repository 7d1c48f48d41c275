/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <time.h>

#include "delay/report.h"
#include "user/text/duration.h"
#include "user/text/quantity.h"
#include "user/text/table.h"

#define SIZES_SHOWN    12 /* the most frequent ones; JSON has all */
#define EPISODES_SHOWN 5

/* A table under way. A lack of memory counts at its end. */
static struct sl_table *table(FILE *out, const char *title, const char *const *headers,
			      unsigned int n)
{
	fprintf(out, "\n%s\n", title);
	return sl_table_create(headers, n);
}

static int print(struct sl_table *t, FILE *out)
{
	const int err = t ? sl_table_print(t, out) : -ENOMEM;

	sl_table_destroy(t);
	return err;
}

#define HEADERS(...)                          \
	(const char *const[]){ __VA_ARGS__ }, \
		sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *)

static void cell_ns(struct sl_table *t, int64_t value_ns)
{
	char text[SL_DURATION_BYTES];

	sl_table_cell(t, "%s", sl_duration_ns_text(value_ns, text));
}

static void cell_n(struct sl_table *t, uint64_t n)
{
	sl_table_cell(t, "%" PRIu64, n);
}

static int links_text(const struct sl_measure *m, FILE *out)
{
	struct sl_table *t = table(out, "Links: records captured, and what became of the packets",
				   HEADERS("link", "direction", ">records", ">matched",
					   ">unmatched", ">duplicates", ">ambiguous", ">not IP",
					   ">cut", ">broken", ">late", ">resolution"));

	for (uint32_t i = 0; t && i < m->settings.n_links; i++) {
		const struct sl_link_result *r = &m->link[i];

		sl_table_cell(t, "%s", m->settings.links[i].name);
		sl_table_cell(t, "%s", m->settings.links[i].output ? "output" : "input");
		cell_n(t, r->capture.records);
		cell_n(t, r->fate[SL_FATE_MATCHED]);
		cell_n(t, r->fate[SL_FATE_UNMATCHED]);
		cell_n(t, r->fate[SL_FATE_DUPLICATE]);
		cell_n(t, r->fate[SL_FATE_AMBIGUOUS]);
		cell_n(t, r->capture.not_ip);
		cell_n(t, r->capture.cut);
		cell_n(t, r->capture.broken);
		cell_n(t, r->capture.reordered);
		if (r->capture.packets)
			cell_ns(t, (int64_t)r->capture.resolution_ns);
		else
			sl_table_cell(t, "-");
	}
	return print(t, out);
}

static void delay_row(struct sl_table *t, const struct sl_measure *m, uint32_t i, uint32_t j,
		      const struct sl_histogram *h, const char *kind)
{
	const struct sl_pair *pair = m->pair[i][j];
	const bool slow = h == &pair->slow;

	if (!h->count)
		return;
	sl_table_cell(t, "%s -> %s%s", m->settings.links[i].name, m->settings.links[j].name, kind);
	cell_n(t, h->count);
	cell_ns(t, slow ? (int64_t)h->min_ns : pair->min_ns);
	cell_ns(t, slow ? (int64_t)(h->sum_ns / h->count) : pair->sum_ns / (int64_t)h->count);
	cell_ns(t, (int64_t)sl_histogram_quantile_ns(h, 500000));
	cell_ns(t, (int64_t)sl_histogram_quantile_ns(h, 990000));
	cell_ns(t, (int64_t)sl_histogram_quantile_ns(h, 999000));
	cell_ns(t, slow ? (int64_t)h->max_ns : pair->max_ns);
	cell_n(t, slow ? 0 : pair->negative);
}

static int delays_text(const struct sl_measure *m, FILE *out)
{
	struct sl_table *t = table(out, "Delay through the router",
				   HEADERS("from -> to", ">packets", ">min", ">mean", ">p50",
					   ">p99", ">p99.9", ">max", ">negative"));

	for (uint32_t i = 0; t && i < m->settings.n_links; i++)
		for (uint32_t j = 0; j < m->settings.n_links; j++) {
			if (!m->pair[i][j])
				continue;
			delay_row(t, m, i, j, &m->pair[i][j]->delay, "");
			delay_row(t, m, i, j, &m->pair[i][j]->slow, " (IP options)");
		}
	return print(t, out);
}

/* The count that a size must reach to be among the most frequent ones */
static uint64_t least_shown(const struct sl_pair *pair)
{
	uint64_t top[SIZES_SHOWN] = { 0 };

	for (uint32_t bytes = 0; bytes < pair->n_least; bytes++) {
		uint64_t count = pair->least[bytes].count;

		for (uint32_t k = 0; k < SIZES_SHOWN; k++)
			if (count > top[k]) {
				const uint64_t lower = top[k];

				top[k] = count;
				count = lower;
			}
	}
	return top[SIZES_SHOWN - 1] ? top[SIZES_SHOWN - 1] : 1;
}

static int sizes_text(const struct sl_measure *m, uint32_t i, uint32_t j, FILE *out)
{
	const struct sl_pair *pair = m->pair[i][j];
	const uint64_t least = least_shown(pair);
	char title[3 * SL_LINK_NAME_MAX];
	struct sl_table *t;
	uint32_t shown = 0;
	int err;

	snprintf(title, sizeof(title), "Least delay by IP size, %s -> %s",
		 m->settings.links[i].name, m->settings.links[j].name);
	t = table(out, title, HEADERS(">bytes", ">packets", ">least", ">excess", ""));
	for (uint32_t bytes = 0; t && bytes < pair->n_least && shown < SIZES_SHOWN; bytes++) {
		if (pair->least[bytes].count < least)
			continue;
		shown++;
		cell_n(t, bytes);
		cell_n(t, pair->least[bytes].count);
		cell_ns(t, pair->least[bytes].delay_ns);
		if (m->output[j]->rate_bps)
			cell_ns(t, sl_measure_excess_ns(m, i, j, bytes));
		else
			sl_table_cell(t, "-");
		sl_table_cell(t, "%s", pair->least[bytes].count < SL_LEAST_RELIABLE ? "few" : "");
	}
	err = print(t, out);
	if (pair->fitted)
		fprintf(out, "excess = %.0f ns + %.4f ns per byte, by least squares\n",
			pair->excess_at_zero_ns, pair->excess_per_byte_ns);
	return err;
}

static void rate_text(const struct sl_measure *m, uint32_t j, FILE *out)
{
	const struct sl_output *output = m->output[j];
	char rate[SL_QUANTITY_BYTES], gap[SL_QUANTITY_BYTES];

	fprintf(out, "\nOutput %s: ", m->settings.links[j].name);
	if (output->rate_source == SL_RATE_NONE)
		fprintf(out,
			"no rate is given (rate=RATE), and too few packets left back to back to tell: no excess, no model\n");
	else
		fprintf(out, "%sbit/s, %s\n", sl_quantity(output->rate_bps, rate),
			output->rate_source == SL_RATE_GIVEN ? "as given"
							     : "from gaps between departures");
	if (output->gaps_told)
		fprintf(out,
			"  %" PRIu64
			" gaps between departures back to back tell %sbit/s and %.1f bytes of overhead\n",
			output->gaps.n, sl_quantity((uint64_t)output->gap_rate_bps, gap),
			output->gap_overhead_bytes);
}

static void periods_text(const char *what, const struct sl_periods *p, FILE *out)
{
	char a[SL_DURATION_BYTES], d[SL_DURATION_BYTES];

	fprintf(out, "  busy periods of the %s: %" PRIu64 ", largest A %s, longest D %s\n", what,
		p->count, sl_duration_ns_text((int64_t)p->max_amplitude_ns, a),
		sl_duration_ns_text((int64_t)p->max_duration_ns, d));
}

static int levels_text(const struct sl_measure *m, const struct sl_model *model, FILE *out)
{
	const struct sl_above *above = &model->above;
	struct sl_table *t = table(
		out, "Time above a level, per busy period of the queue that exceeds it",
		HEADERS(">level", ">periods", ">triangle", ">exact", ">ratio", ">share of time"));

	for (uint32_t k = 0; t && k < above->n && above->periods[k]; k++) {
		cell_ns(t, (int64_t)above->level_ns[k]);
		cell_n(t, above->periods[k]);
		cell_ns(t, (int64_t)(above->triangles_ns[k] / above->periods[k]));
		cell_ns(t, (int64_t)(above->above_ns[k] / above->periods[k]));
		if (above->above_ns[k])
			sl_table_cell(t, "%.2f",
				      (double)above->triangles_ns[k] / (double)above->above_ns[k]);
		else
			sl_table_cell(t, "-");
		sl_table_cell(t, "%.4f %%",
			      m->duration_ns ? 100 * (double)above->triangles_ns[k] /
						       (double)m->duration_ns
					     : 0);
	}
	return print(t, out);
}

static void episode_text(const struct sl_measure *m, uint32_t j, const struct sl_episode *episode,
			 FILE *out)
{
	const struct sl_busy_period *p = &episode->period;
	char a[SL_DURATION_BYTES], d[SL_DURATION_BYTES];

	fprintf(out,
		"  at %.6f s: A %s, D %s, %" PRIu64 " packets; the queue %.0f %% of their delay;",
		(double)p->start_ns / 1e9, sl_duration_ns_text((int64_t)p->amplitude_ns, a),
		sl_duration_ns_text(p->end_ns - p->start_ns, d), p->packets,
		p->delay_ns ? 100 * (double)p->wait_ns / (double)p->delay_ns : 0);
	for (uint32_t i = 0; i < m->settings.n_links; i++)
		if (p->input_bytes[i])
			fprintf(out, " %s %.0f %%",
				i == j ? "unmatched" : m->settings.links[i].name,
				100 * (double)p->input_bytes[i] / (double)p->bytes);
	fputc('\n', out);
}

/* Which causes have how much of the waiting */
static void causes_text(const struct sl_measure *m, uint32_t j, FILE *out)
{
	const struct sl_semi_result *semi = &m->output[j]->model->semi;
	const double wait_ns = (double)semi->wait_ns;
	char mean[SL_DURATION_BYTES];

	if (!semi->wait_ns)
		return;
	fprintf(out,
		"\nPackets for %s wait for %s on average. Without one of its causes, which overlap, less:\n",
		m->settings.links[j].name,
		sl_duration_ns_text(llround(wait_ns / (double)semi->packets), mean));
	fprintf(out, "  %5.1f %%  without inputs faster than the output\n",
		100 * (1 - (double)semi->slow_inputs_ns / wait_ns));
	fprintf(out, "  %5.1f %%  if each input had the output for itself\n",
		100 * (1 - (double)semi->alone_ns / wait_ns));
	fprintf(out, "  %5.1f %%  without bursts, each packet at any time of its second\n",
		100 * (1 - (double)semi->smooth_ns / wait_ns));
}

static int model_text(const struct sl_measure *m, uint32_t j, FILE *out)
{
	const struct sl_model *model = m->output[j]->model;
	char mean[SL_DURATION_BYTES], rms[SL_DURATION_BYTES], tail[SL_DURATION_BYTES];
	char level[SL_DURATION_BYTES];
	int err;

	if (!model || !model->packets)
		return 0;
	fprintf(out,
		"  two-stage model less measured delay: mean %s, rms %s, p99.9 %s of %" PRIu64
		" packets\n",
		sl_duration_ns_text(llround(model->sum_error_ns / (double)model->packets), mean),
		sl_duration_ns_text(llround(sqrt(model->sum_square_ns2 / (double)model->packets)),
				    rms),
		sl_duration_ns_text((int64_t)sl_histogram_quantile_ns(&model->error, 999000), tail),
		model->packets);
	periods_text("queue", &model->queue, out);
	err = levels_text(m, model, out);
	causes_text(m, j, out);
	fprintf(out, "\nMicrocongestion at %s: %" PRIu64 " episodes of A from %s on\n",
		m->settings.links[j].name, model->episodes,
		sl_duration_ns_text((int64_t)model->episode_ns, level));
	for (uint32_t k = 0; k < model->n_top && k < EPISODES_SHOWN; k++)
		episode_text(m, j, &model->top[k], out);
	return err;
}

int sl_report_text(const struct sl_measure *m, FILE *out)
{
	const time_t start_s = (time_t)(m->base_ns / 1000000000);
	char date[64] = "?";
	struct tm utc;
	int err;

	if (gmtime_r(&start_s, &utc))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &utc);
	fprintf(out, "%.6f s from %s UTC on\n", (double)m->duration_ns / 1e9, date);
	err = links_text(m, out);
	if (!err)
		err = delays_text(m, out);
	for (uint32_t i = 0; i < m->settings.n_links; i++)
		for (uint32_t j = 0; j < m->settings.n_links && !err; j++)
			if (m->pair[i][j] && m->pair[i][j]->delay.count)
				err = sizes_text(m, i, j, out);
	for (uint32_t j = 0; j < m->settings.n_links && !err; j++) {
		if (!m->output[j])
			continue;
		rate_text(m, j, out);
		periods_text("router", &m->output[j]->system, out);
		err = model_text(m, j, out);
	}
	return err;
}
