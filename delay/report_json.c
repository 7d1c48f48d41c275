/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include <jansson.h>

#include "delay/report.h"

/* jansson's set_new and append_new refuse NULL and take what they are given, so failures add up
 * here. */
struct builder {
	const struct sl_measure *m;
	bool failed;
};

static void put(struct builder *b, json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value))
		b->failed = true;
}

static void append(struct builder *b, json_t *array, json_t *value)
{
	if (json_array_append_new(array, value))
		b->failed = true;
}

static void put_int(struct builder *b, json_t *object, const char *key, int64_t value)
{
	put(b, object, key, json_integer(value));
}

static void put_uint(struct builder *b, json_t *object, const char *key, uint64_t value)
{
	put_int(b, object, key, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

static void put_real(struct builder *b, json_t *object, const char *key, double value)
{
	put(b, object, key, isfinite(value) ? json_real(value) : json_null());
}

static void put_ratio(struct builder *b, json_t *object, const char *key, double part, double whole)
{
	put(b, object, key, whole != 0 ? json_real(part / whole) : json_null());
}

static json_t *histogram(struct builder *b, const struct sl_histogram *h)
{
	json_t *rows = json_array();

	for (uint32_t i = 0; i < SL_HISTOGRAM_BUCKETS; i++)
		if (h->bucket[i])
			append(b, rows,
			       json_pack("[I,I,I]", (json_int_t)sl_histogram_edge_ns(i),
					 (json_int_t)sl_histogram_edge_ns(i + 1),
					 (json_int_t)h->bucket[i]));
	return rows;
}

static void put_quantiles(struct builder *b, json_t *object, const struct sl_histogram *h)
{
	put_uint(b, object, "p50_ns", sl_histogram_quantile_ns(h, 500000));
	put_uint(b, object, "p90_ns", sl_histogram_quantile_ns(h, 900000));
	put_uint(b, object, "p99_ns", sl_histogram_quantile_ns(h, 990000));
	put_uint(b, object, "p999_ns", sl_histogram_quantile_ns(h, 999000));
}

static json_t *link_json(struct builder *b, uint32_t i)
{
	const struct sl_tapped_link *link = &b->m->settings.links[i];
	const struct sl_link_result *result = &b->m->link[i];
	json_t *object = json_object(), *loads = json_array();

	put(b, object, "name", json_string(link->name));
	put(b, object, "direction", json_string(link->output ? "output" : "input"));
	put(b, object, "file", json_string(link->path));
	put(b, object, "type", json_string(link->type->name));
	put_uint(b, object, "records", result->capture.records);
	put_uint(b, object, "packets", result->capture.packets);
	put_uint(b, object, "not_ip", result->capture.not_ip);
	put_uint(b, object, "cut", result->capture.cut);
	put_uint(b, object, "broken", result->capture.broken);
	put_uint(b, object, "reordered", result->capture.reordered);
	put(b, object, "ended_early", json_boolean(result->capture.ended_early));
	put(b, object, "resolution_ns",
	    result->capture.packets ? json_integer((json_int_t)result->capture.resolution_ns)
				    : json_null());
	put_uint(b, object, "matched", result->fate[SL_FATE_MATCHED]);
	put_uint(b, object, "unmatched", result->fate[SL_FATE_UNMATCHED]);
	put_uint(b, object, "duplicates", result->fate[SL_FATE_DUPLICATE]);
	put_uint(b, object, "ambiguous", result->fate[SL_FATE_AMBIGUOUS]);
	for (uint64_t k = 0; k < result->n_loads; k++)
		append(b, loads,
		       json_pack("{s:f,s:I,s:I}", "time_s",
				 (double)(k * b->m->settings.interval_ns) / 1e9, "packets",
				 (json_int_t)result->loads[k].packets, "bytes",
				 (json_int_t)result->loads[k].bytes));
	put(b, object, "load", loads);
	return object;
}

static json_t *intervals_json(struct builder *b, const struct sl_pair *pair)
{
	json_t *rows = json_array();

	for (uint32_t k = 0; k < pair->n_intervals; k++) {
		const struct sl_interval *interval = &pair->intervals[k];
		json_t *row = json_object();

		put_real(b, row, "time_s",
			 (double)(interval->number * b->m->settings.interval_ns) / 1e9);
		put_uint(b, row, "packets", interval->count);
		put_int(b, row, "min_ns", interval->min_ns);
		put_real(b, row, "mean_ns", (double)interval->sum_ns / (double)interval->count);
		put_int(b, row, "max_ns", interval->max_ns);
		put_uint(b, row, "p50_ns", interval->p50_ns);
		put_uint(b, row, "p99_ns", interval->p99_ns);
		append(b, rows, row);
	}
	return rows;
}

static json_t *sizes_json(struct builder *b, uint32_t i, uint32_t j)
{
	const struct sl_pair *pair = b->m->pair[i][j];
	json_t *rows = json_array();

	for (uint32_t bytes = 0; bytes < pair->n_least; bytes++) {
		json_t *row;

		if (!pair->least[bytes].count)
			continue;
		row = json_object();
		put_uint(b, row, "bytes", bytes);
		put_uint(b, row, "packets", pair->least[bytes].count);
		put(b, row, "reliable",
		    json_boolean(pair->least[bytes].count >= SL_LEAST_RELIABLE));
		put_int(b, row, "least_ns", pair->least[bytes].delay_ns);
		put(b, row, "excess_ns",
		    b->m->output[j]->rate_bps
			    ? json_integer(sl_measure_excess_ns(b->m, i, j, bytes))
			    : json_null());
		append(b, rows, row);
	}
	return rows;
}

static json_t *pair_json(struct builder *b, uint32_t i, uint32_t j)
{
	const struct sl_pair *pair = b->m->pair[i][j];
	json_t *object = json_object(), *slow = json_object();

	put(b, object, "input", json_string(b->m->settings.links[i].name));
	put(b, object, "output", json_string(b->m->settings.links[j].name));
	put_uint(b, object, "packets", pair->delay.count);
	put_int(b, object, "min_ns", pair->min_ns);
	put_ratio(b, object, "mean_ns", (double)pair->sum_ns, (double)pair->delay.count);
	put_int(b, object, "max_ns", pair->max_ns);
	put_quantiles(b, object, &pair->delay);
	put_uint(b, object, "negative", pair->negative);
	put_uint(b, slow, "packets", pair->slow.count);
	put_uint(b, slow, "min_ns", pair->slow.min_ns);
	put_ratio(b, slow, "mean_ns", (double)pair->slow.sum_ns, (double)pair->slow.count);
	put_uint(b, slow, "max_ns", pair->slow.max_ns);
	put_quantiles(b, slow, &pair->slow);
	put(b, object, "slow", slow);
	put(b, object, "excess_fit",
	    pair->fitted ? json_pack("{s:f,s:f}", "at_zero_ns", pair->excess_at_zero_ns,
				     "per_byte_ns", pair->excess_per_byte_ns)
			 : json_null());
	put(b, object, "sizes", sizes_json(b, i, j));
	put(b, object, "intervals", intervals_json(b, pair));
	put(b, object, "histogram", histogram(b, &pair->delay));
	return object;
}

static json_t *periods_json(struct builder *b, const struct sl_periods *periods)
{
	json_t *object = json_object(), *bins = json_array();

	put_uint(b, object, "periods", periods->count);
	put_uint(b, object, "before_merging", periods->raw);
	put_ratio(b, object, "mean_amplitude_ns", (double)periods->sum_amplitude_ns,
		  (double)periods->count);
	put_uint(b, object, "max_amplitude_ns", periods->max_amplitude_ns);
	put_ratio(b, object, "mean_duration_ns", (double)periods->sum_duration_ns,
		  (double)periods->count);
	put_uint(b, object, "max_duration_ns", periods->max_duration_ns);
	for (uint32_t k = 0; k <= SL_TRIANGLE_EDGES; k++) {
		json_t *row;

		if (!periods->triangle.bin[k].periods)
			continue;
		row = json_object();
		put_uint(b, row, "above_ns", k ? sl_triangle_edge_ns(k - 1) : 0);
		put_uint(b, row, "periods", periods->triangle.bin[k].periods);
		put_uint(b, row, "duration_ns", periods->triangle.bin[k].duration_ns);
		put_real(b, row, "duration_by_amplitude",
			 (double)periods->triangle.bin[k].ratio_q16 / 65536);
		append(b, bins, row);
	}
	put(b, object, "bins", bins);
	return object;
}

static json_t *levels_json(struct builder *b, const struct sl_model *model)
{
	const double observed_ns = (double)b->m->duration_ns;
	const struct sl_above *above = &model->above;
	json_t *rows = json_array();

	for (uint32_t k = 0; k < above->n && above->periods[k]; k++) {
		const double n = (double)above->periods[k];
		json_t *row = json_object();

		put_uint(b, row, "level_ns", above->level_ns[k]);
		put_uint(b, row, "periods", above->periods[k]);
		put_ratio(b, row, "share_of_periods", n, (double)model->queue.count);
		put_ratio(b, row, "mean_above_ns", (double)above->triangles_ns[k], n);
		put_ratio(b, row, "mean_above_exact_ns", (double)above->above_ns[k], n);
		put_ratio(b, row, "triangle_by_exact", (double)above->triangles_ns[k],
			  (double)above->above_ns[k]);
		put_ratio(b, row, "share_of_time", (double)above->triangles_ns[k], observed_ns);
		put_ratio(b, row, "per_s", n * 1e9, observed_ns);
		append(b, rows, row);
	}
	return rows;
}

static json_t *episode_json(struct builder *b, uint32_t j, const struct sl_episode *episode)
{
	const struct sl_busy_period *period = &episode->period;
	json_t *object = json_object(), *shares = json_object();

	put_real(b, object, "start_s", (double)period->start_ns / 1e9);
	put_real(b, object, "apex_s", (double)period->apex_ns / 1e9);
	put_int(b, object, "duration_ns", period->end_ns - period->start_ns);
	put_uint(b, object, "amplitude_ns", period->amplitude_ns);
	put_uint(b, object, "packets", period->packets);
	put_uint(b, object, "bytes", period->bytes);
	put_ratio(b, object, "queue_share", (double)period->wait_ns, (double)period->delay_ns);
	put_ratio(b, object, "multiplexing_share",
		  (double)period->amplitude_ns - (double)episode->alone_ns,
		  (double)period->amplitude_ns);
	for (uint32_t i = 0; i < b->m->settings.n_links; i++)
		if (period->input_bytes[i])
			put_ratio(b, shares, i == j ? "" : b->m->settings.links[i].name,
				  (double)period->input_bytes[i], (double)period->bytes);
	put(b, object, "input_shares", shares);
	return object;
}

/* What a cause has of the mean wait: the rest is what remains without it. */
static json_t *cause_json(struct builder *b, const struct sl_semi_result *semi, uint64_t without_ns)
{
	json_t *object = json_object();

	put_ratio(b, object, "mean_wait_ns", (double)without_ns, (double)semi->packets);
	put_ratio(b, object, "share", (double)semi->wait_ns - (double)without_ns,
		  (double)semi->wait_ns);
	return object;
}

static json_t *semi_experiments_json(struct builder *b, uint32_t j, const struct sl_model *model)
{
	const struct sl_semi_result *semi = &model->semi;
	json_t *object = json_object(), *inputs = json_array(), *multiplexing;

	put_ratio(b, object, "mean_wait_ns", (double)semi->wait_ns, (double)semi->packets);
	put(b, object, "bandwidth", cause_json(b, semi, semi->slow_inputs_ns));
	multiplexing = cause_json(b, semi, semi->alone_ns);
	put_ratio(b, multiplexing, "share_of_amplitude",
		  model->sum_amplitude_ns - model->sum_alone_ns, model->sum_amplitude_ns);
	for (uint32_t i = 0; i < b->m->settings.n_links; i++) {
		json_t *input;

		if (!semi->input_packets[i])
			continue;
		input = json_object();
		put(b, input, "input", json_string(i == j ? "" : b->m->settings.links[i].name));
		put_uint(b, input, "packets", semi->input_packets[i]);
		put_ratio(b, input, "mean_wait_ns", (double)semi->input_alone_ns[i],
			  (double)semi->input_packets[i]);
		append(b, inputs, input);
	}
	put(b, multiplexing, "inputs", inputs);
	put(b, object, "multiplexing", multiplexing);
	put(b, object, "burstiness", cause_json(b, semi, semi->smooth_ns));
	return object;
}

static json_t *sample_json(struct builder *b, const struct sl_sample *sample)
{
	const uint64_t n =
		sample->offered < SL_MEASURE_SAMPLE ? sample->offered : SL_MEASURE_SAMPLE;
	json_t *rows = json_array();

	for (uint64_t i = 0; i < n; i++)
		append(b, rows,
		       json_pack("[I,I]", (json_int_t)sample->point[i].x,
				 (json_int_t)sample->point[i].y));
	return rows;
}

static json_t *joint_json(struct builder *b, const struct sl_model *model)
{
	json_t *rows = json_array();

	for (uint32_t d = 0; d < SL_MEASURE_OCTAVES; d++)
		for (uint32_t a = 0; a < SL_MEASURE_OCTAVES; a++)
			if (model->joint[d][a])
				append(b, rows,
				       json_pack("[I,I,I]", (json_int_t)1 << d, (json_int_t)1 << a,
						 (json_int_t)model->joint[d][a]));
	return rows;
}

static json_t *model_json(struct builder *b, uint32_t j, const struct sl_model *model)
{
	json_t *object = json_object(), *error = json_object(), *episodes = json_array();
	const double n = (double)model->packets;

	put_uint(b, object, "packets", model->packets);
	put_uint(b, object, "background", model->background);
	put_ratio(b, error, "mean_ns", model->sum_error_ns, n);
	put_real(b, error, "rms_ns", model->packets ? sqrt(model->sum_square_ns2 / n) : NAN);
	put_uint(b, error, "p999_ns", sl_histogram_quantile_ns(&model->error, 999000));
	put_uint(b, error, "max_ns", model->error.max_ns);
	put_ratio(b, error, "amplitude_mean", (double)model->amplitude_error_ppm.sum_ns / 1e6,
		  (double)model->amplitude_error_ppm.count);
	put_real(b, error, "amplitude_p99",
		 (double)sl_histogram_quantile_ns(&model->amplitude_error_ppm, 990000) / 1e6);
	put(b, object, "error", error);
	put(b, object, "queue", periods_json(b, &model->queue));
	put(b, object, "bound",
	    json_pack("{s:I,s:I}", "checked", (json_int_t)model->bound_checked, "broken",
		      (json_int_t)model->bound_broken));
	put(b, object, "levels", levels_json(b, model));
	put(b, object, "semi_experiments", semi_experiments_json(b, j, model));
	put_uint(b, object, "episode_ns", model->episode_ns);
	put_uint(b, object, "episodes", model->episodes);
	for (uint32_t k = 0; k < model->n_top; k++)
		append(b, episodes, episode_json(b, j, &model->top[k]));
	put(b, object, "largest_episodes", episodes);
	put(b, object, "sample_measured_predicted_ns", sample_json(b, &model->delays));
	put(b, object, "sample_duration_amplitude_ns", sample_json(b, &model->periods));
	put(b, object, "joint_duration_amplitude_ns", joint_json(b, model));
	return object;
}

static json_t *output_json(struct builder *b, uint32_t j)
{
	static const char *const sources[] = { "unknown", "given", "gaps" };
	const struct sl_output *output = b->m->output[j];
	json_t *object = json_object(), *inputs = json_array();

	put(b, object, "name", json_string(b->m->settings.links[j].name));
	put(b, object, "rate_bps",
	    output->rate_bps ? json_integer((json_int_t)output->rate_bps) : json_null());
	put(b, object, "rate_from", json_string(sources[output->rate_source]));
	put(b, object, "gaps",
	    output->gaps_told
		    ? json_pack("{s:I,s:f,s:f}", "gaps", (json_int_t)output->gaps.n, "rate_bps",
				output->gap_rate_bps, "overhead_bytes", output->gap_overhead_bytes)
		    : json_null());
	for (uint32_t i = 0; i < b->m->settings.n_links; i++)
		if (output->from[i].packets)
			append(b, inputs,
			       json_pack("{s:s,s:I,s:I}", "input", b->m->settings.links[i].name,
					 "packets", (json_int_t)output->from[i].packets, "bytes",
					 (json_int_t)output->from[i].bytes));
	put(b, object, "inputs", inputs);
	put(b, object, "system", periods_json(b, &output->system));
	put(b, object, "model", output->model ? model_json(b, j, output->model) : json_null());
	return object;
}

int sl_report_json(const struct sl_measure *m, FILE *out)
{
	struct builder b = { .m = m };
	json_t *root = json_object(), *links = json_array(), *pairs = json_array(),
	       *outputs = json_array();
	int err = 0;

	put_int(&b, root, "start_ns", m->base_ns);
	put_int(&b, root, "duration_ns", m->duration_ns);
	put_uint(&b, root, "window_ns", m->settings.window_ns);
	put_uint(&b, root, "interval_ns", m->settings.interval_ns);
	put_uint(&b, root, "guard_ns", m->settings.guard_ns);
	put_uint(&b, root, "clock_error_ns", m->settings.clock_error_ns);
	for (uint32_t i = 0; i < m->settings.n_links; i++) {
		append(&b, links, link_json(&b, i));
		if (m->output[i])
			append(&b, outputs, output_json(&b, i));
		for (uint32_t j = 0; j < m->settings.n_links; j++)
			if (m->pair[i][j])
				append(&b, pairs, pair_json(&b, i, j));
	}
	put(&b, root, "links", links);
	put(&b, root, "pairs", pairs);
	put(&b, root, "outputs", outputs);
	if (b.failed || json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(12)))
		err = b.failed || !ferror(out) ? -ENOMEM
					       : 0; /* what the stream lost, its flush tells */
	fputc('\n', out);
	json_decref(root);
	return err;
}
