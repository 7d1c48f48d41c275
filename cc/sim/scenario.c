/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenario files: the YAML schema, and its translation into a struct sim_scenario. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cc/sim/scenario.h"
#include "user/text/yaml.h"

void sim_scenario_copy(struct sim_scenario *to, const struct sim_scenario *from)
{
	*to = *from;
	to->setup.flows = to->flows;
	to->setup.changes = to->changes;
}

int sim_scenario_set(struct sim_scenario *scenario, const char *name, double value)
{
	struct sim_setup *s = &scenario->setup;
	const struct {
		const char *name;
		uint32_t *field;
		double max;
	} fields[] = {
		{ "delay", &s->delay, SIM_DELAY_MAX - 1 },
		{ "jitter", &s->jitter, SIM_DELAY_MAX - 1 },
		{ "loss_ppm", &s->loss_ppm, 1000000 },
		{ "seed", &s->seed, UINT32_MAX },
	};
	int err;

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (strcmp(fields[i].name, name) != 0)
			continue;
		if (value < 0 || value > fields[i].max)
			return -ERANGE;
		*fields[i].field = (uint32_t)value;
		return 0;
	}
	err = cc_config_set(&s->config, name, llround(value));
	return err ? err : cc_config_prepare(&s->config, NULL);
}

#define RATE_MAX_PPS 4000000000u
#define START_AUTO   UINT32_MAX /* start_pps left out: the controller's choice */

struct yaml_param {
	uint32_t line;
	char *name, *value; /* owned */
};

struct yaml_flow {
	uint32_t line, source, output, weight, count, offered_pps, size_frames, delay, from, to;
};

struct yaml_change {
	uint32_t line, at, output, capacity_pps;
};

struct yaml_axis {
	uint32_t line, steps;
	char *param, *from, *to; /* owned */
};

/* The file as written; 0 or NULL where a key is left out. */
struct yaml_scenario {
	uint32_t line;
	char *name, *controller; /* owned */
	int units;		 /* enum cc_units */
	uint32_t capacity_pps, line_pps, queue_limit_frames, voq_limit_frames, start_pps;
	uint32_t frame_bytes, interval_us, intervals, measure_from;
	uint32_t delay, jitter, loss_ppm, seed;
	struct sl_yaml_list params, flows, changes, sweep;
};

static bool valid_name(const char *text)
{
	return text[0] && strlen(text) < SIM_NAME_BYTES && !strpbrk(text, ", \t\n");
}

static bool valid_controller(const char *text)
{
	return cc_lookup(text) != NULL;
}

static bool parse_double(const char *text, double *out)
{
	char *end;

	errno = 0;
	*out = strtod(text, &end);
	return end != text && !*end && !errno && isfinite(*out) && fabs(*out) < 1e15;
}

static bool valid_number(const char *text)
{
	double unused;

	return parse_double(text, &unused);
}

#define STRING_KEY(type_, field_, check_, what_)                                            \
	{                                                                                   \
		.name = #field_, .type = SL_YAML_STRING, .offset = offsetof(type_, field_), \
		.required = true, .valid = check_, .what = what_                            \
	}
#define UINT_KEY(type_, field_, required_, min_, max_, what_)                             \
	{                                                                                 \
		.name = #field_, .type = SL_YAML_UINT, .offset = offsetof(type_, field_), \
		.required = required_, .min = min_, .max = max_, .what = what_            \
	}
#define LINE_KEY(type_)                                               \
	{                                                             \
		.type = SL_YAML_LINE, .offset = offsetof(type_, line) \
	}
#define LIST_KEY(field_, required_, keys_, item_, max_)                                  \
	{                                                                                \
		.name = #field_, .type = SL_YAML_LIST,                                   \
		.offset = offsetof(struct yaml_scenario, field_), .required = required_, \
		.keys = keys_, .item_bytes = sizeof(item_), .items_max = max_            \
	}

static const struct sl_yaml_key param_keys[] = {
	LINE_KEY(struct yaml_param),
	STRING_KEY(struct yaml_param, name, valid_name, "a parameter: see cc-sim --list"),
	STRING_KEY(struct yaml_param, value, valid_number, "a number"),
	{ 0 },
};

static const struct sl_yaml_key flow_keys[] = {
	LINE_KEY(struct yaml_flow),
	UINT_KEY(struct yaml_flow, source, true, 0, SIM_SOURCES_MAX - 1, "a source"),
	UINT_KEY(struct yaml_flow, output, false, 0, SIM_OUTPUTS_MAX - 1, "an output"),
	UINT_KEY(struct yaml_flow, weight, false, 1, CC_WEIGHT_MAX, "a weight"),
	UINT_KEY(struct yaml_flow, count, false, 1, SIM_SOURCES_MAX, "a number of sources"),
	UINT_KEY(struct yaml_flow, offered_pps, false, 0, RATE_MAX_PPS, "a rate, frames/s"),
	UINT_KEY(struct yaml_flow, size_frames, false, 1, 1000000000, "a number of frames"),
	UINT_KEY(struct yaml_flow, delay, false, 0, SIM_DELAY_MAX - 1, "a number of intervals"),
	UINT_KEY(struct yaml_flow, from, false, 0, UINT32_MAX, "an interval"),
	UINT_KEY(struct yaml_flow, to, false, 1, UINT32_MAX, "an interval"),
	{ 0 },
};

static const struct sl_yaml_key change_keys[] = {
	LINE_KEY(struct yaml_change),
	UINT_KEY(struct yaml_change, at, true, 0, UINT32_MAX, "an interval"),
	UINT_KEY(struct yaml_change, output, false, 0, SIM_OUTPUTS_MAX - 1, "an output"),
	UINT_KEY(struct yaml_change, capacity_pps, true, 1, RATE_MAX_PPS, "a rate, frames/s"),
	{ 0 },
};

static const struct sl_yaml_key axis_keys[] = {
	LINE_KEY(struct yaml_axis),
	STRING_KEY(struct yaml_axis, param, valid_name, "a parameter: see cc-sim --list"),
	STRING_KEY(struct yaml_axis, from, valid_number, "a number"),
	STRING_KEY(struct yaml_axis, to, valid_number, "a number"),
	UINT_KEY(struct yaml_axis, steps, true, 1, 10000, "a number of steps"),
	{ 0 },
};

static const struct sl_yaml_choice unit_names[] = { { "packets", CC_PACKETS },
						    { "bytes", CC_BYTES },
						    { NULL, 0 } };

#define TOP(field_, required_, min_, max_, what_) \
	UINT_KEY(struct yaml_scenario, field_, required_, min_, max_, what_)

static const struct sl_yaml_key scenario_keys[] = {
	LINE_KEY(struct yaml_scenario),
	STRING_KEY(struct yaml_scenario, name, valid_name, "a name: write one word"),
	STRING_KEY(struct yaml_scenario, controller, valid_controller,
		   "a controller: write one that cc-sim --list shows"),
	LIST_KEY(params, false, param_keys, struct yaml_param, CC_PARAMS_MAX),
	{ .name = "units",
	  .type = SL_YAML_CHOICE,
	  .offset = offsetof(struct yaml_scenario, units),
	  .choices = unit_names,
	  .what = "a unit" },
	TOP(frame_bytes, false, 60, 65535, "a frame, bytes"),
	TOP(capacity_pps, true, 1, RATE_MAX_PPS, "a rate, frames/s"),
	TOP(line_pps, false, 1, RATE_MAX_PPS, "a rate, frames/s"),
	TOP(queue_limit_frames, false, 1, UINT32_MAX, "a number of frames"),
	TOP(voq_limit_frames, false, 1, UINT32_MAX, "a number of frames"),
	TOP(start_pps, false, 0, RATE_MAX_PPS, "a rate, frames/s"),
	TOP(interval_us, false, 1, 1000000, "an interval, us"),
	TOP(intervals, true, 1, 100000000, "a number of intervals"),
	TOP(measure_from, false, 0, 100000000, "an interval"),
	TOP(delay, false, 0, SIM_DELAY_MAX - 1, "a number of intervals"),
	TOP(jitter, false, 0, SIM_DELAY_MAX - 1, "a number of intervals"),
	TOP(loss_ppm, false, 0, 1000000, "a share, 1e-6"),
	TOP(seed, false, 1, UINT32_MAX, "a seed"),
	LIST_KEY(flows, true, flow_keys, struct yaml_flow, SIM_FLOWS_MAX),
	LIST_KEY(changes, false, change_keys, struct yaml_change, SIM_CHANGES_MAX),
	LIST_KEY(sweep, false, axis_keys, struct yaml_axis, SIM_AXES_MAX),
	{ 0 },
};

/* A file being translated; messages name the file and the line. */
struct translation {
	const struct yaml_scenario *yaml;
	const char *path;
	char *error; /* SL_YAML_ERROR_BYTES */
	struct sim_scenario *out;
	double unit; /* units of a frame */
};

#define REFUSE(t, line, key, value, ...) \
	(sl_yaml_error((t)->error, (t)->path, line, key, value, __VA_ARGS__), -EINVAL)

static int translate_flows(struct translation *t)
{
	const struct yaml_flow *flows = t->yaml->flows.items;
	struct sim_setup *s = &t->out->setup;

	for (uint32_t i = 0; i < t->yaml->flows.n; i++) {
		const struct yaml_flow *f = &flows[i];
		uint32_t count = f->count ? f->count : 1;

		if (f->source + count > SIM_SOURCES_MAX || s->n_flows + count > SIM_FLOWS_MAX)
			return REFUSE(t, f->line, "flows", "count",
				      "is too large: there are %u sources and %u flows at most",
				      SIM_SOURCES_MAX, SIM_FLOWS_MAX);
		for (uint32_t c = 0; c < count; c++)
			t->out->flows[s->n_flows++] = (struct sim_flow){
				.source = (uint16_t)(f->source + c),
				.output = (uint16_t)f->output,
				.weight = f->weight ? (uint16_t)f->weight : 1,
				.offered_ups = f->offered_pps * t->unit,
				.size_units = f->size_frames * t->unit,
				.extra_delay = (uint16_t)f->delay,
				.from = f->from,
				.to = f->to ? f->to : UINT32_MAX,
			};
		if (f->source + count > s->n_sources)
			s->n_sources = f->source + count;
		if (f->output + 1 > s->n_outputs)
			s->n_outputs = f->output + 1;
	}
	if (s->n_flows == 0)
		return REFUSE(t, t->yaml->line, "flows", "[]", "is empty: write at least one flow");
	return 0;
}

static int translate_config(struct translation *t)
{
	const struct yaml_scenario *y = t->yaml;
	const struct yaml_param *params = y->params.items;
	double line_pps = y->line_pps ? y->line_pps : 10.0 * y->capacity_pps;
	const struct cc_port port = {
		.capacity_ups = (uint64_t)(y->capacity_pps * t->unit),
		.line_ups = (uint64_t)fmin(line_pps * t->unit, (double)CC_RATE_MAX),
		.interval_ns = y->interval_us * 1000,
		.frame_bytes = y->frame_bytes,
		.units = (uint8_t)y->units,
		.sources = (uint16_t)t->out->setup.n_sources,
		.seed = (uint16_t)t->out->setup.seed,
	};
	struct cc_config *cfg = &t->out->setup.config;
	const char *reason = NULL;

	if (cc_config_init(cfg, y->controller, &port))
		return REFUSE(t, y->line, "", "capacity_pps",
			      "is out of range: write at most 2^37 units/s");
	for (uint32_t i = 0; i < y->params.n; i++) {
		double value = NAN;
		int err;

		parse_double(params[i].value, &value);
		err = cc_config_set(cfg, params[i].name, llround(value));
		if (err)
			return REFUSE(t, params[i].line, "params", params[i].name,
				      err == -ENOENT
					      ? "is not a parameter of %s: see cc-sim --list"
					      : "is out of its range in %s: see cc-sim --list",
				      y->controller);
	}
	if (cc_config_prepare(cfg, &reason))
		return REFUSE(t, y->line, "params", y->controller, "refuses them: %s",
			      reason ? reason : "they do not go together");
	return 0;
}

static int translate_sweep(struct translation *t)
{
	const struct yaml_axis *axes = t->yaml->sweep.items;

	for (uint32_t i = 0; i < t->yaml->sweep.n; i++) {
		struct sim_axis *axis = &t->out->axes[t->out->n_axes++];

		parse_double(axes[i].from, &axis->from);
		parse_double(axes[i].to, &axis->to);
		axis->steps = axes[i].steps;
		snprintf(axis->name, sizeof(axis->name), "%s", axes[i].param);
	}
	return 0;
}

static int translate_rest(struct translation *t)
{
	const struct yaml_scenario *y = t->yaml;
	const struct yaml_change *changes = y->changes.items;
	struct sim_setup *s = &t->out->setup;
	double drain_frames = y->capacity_pps * (y->interval_us * 1e-6);

	s->queue_limit_units =
		t->unit * (y->queue_limit_frames ? y->queue_limit_frames : 100 * drain_frames);
	s->voq_limit_units =
		t->unit * (y->voq_limit_frames ? y->voq_limit_frames : 2 * drain_frames + 16);
	s->start_ups = y->start_pps == START_AUTO ? -1 : y->start_pps * t->unit;
	s->delay = y->delay;
	s->jitter = y->jitter;
	s->loss_ppm = y->loss_ppm;
	for (uint32_t i = 0; i < s->n_flows; i++)
		if (s->delay + s->jitter + s->flows[i].extra_delay >= SIM_DELAY_MAX)
			return REFUSE(t, y->line, "flows", "delay",
				      "is too large: with delay and jitter at most %u",
				      SIM_DELAY_MAX - 1);
	if (s->delay + s->jitter >= SIM_DELAY_MAX)
		return REFUSE(t, y->line, "", "jitter", "is too large: with delay at most %u",
			      SIM_DELAY_MAX - 1);
	t->out->intervals = y->intervals;
	t->out->measure_from = y->measure_from;
	if (t->out->measure_from >= t->out->intervals)
		return REFUSE(t, y->line, "", "measure_from", "is not below intervals, %u",
			      y->intervals);
	for (uint32_t i = 0; i < y->changes.n; i++) {
		if (changes[i].output >= s->n_outputs)
			return REFUSE(t, changes[i].line, "changes", "output",
				      "has no flow: write 0 to %u", s->n_outputs - 1);
		t->out->changes[s->n_changes++] = (struct sim_change){
			.at = changes[i].at,
			.output = (uint16_t)changes[i].output,
			.capacity_ups = changes[i].capacity_pps * t->unit,
		};
	}
	return translate_sweep(t);
}

/* The whole file in memory; *text is owned by the caller. */
static int read_text(const char *path, char **text, size_t *bytes)
{
	FILE *file = fopen(path, "r");
	int err = 0;

	*text = NULL;
	*bytes = 0;
	if (!file)
		return -errno;
	*text = malloc(SL_YAML_FILE_MAX + 1);
	if (!*text)
		err = -ENOMEM;
	else
		*bytes = fread(*text, 1, SL_YAML_FILE_MAX + 1, file);
	if (!err && ferror(file))
		err = -EIO;
	if (!err && *bytes > SL_YAML_FILE_MAX)
		err = -EFBIG;
	fclose(file);
	return err;
}

int sim_scenario_load(struct sim_scenario *out, const char *path, char error[SL_YAML_ERROR_BYTES])
{
	struct yaml_scenario yaml = {
		.start_pps = START_AUTO, .frame_bytes = 64, .interval_us = 1000, .seed = 1
	};
	struct translation t = { .yaml = &yaml, .path = path, .error = error, .out = out };
	char *text;
	size_t bytes;
	int err;

	error[0] = 0;
	memset(out, 0, sizeof(*out));
	out->setup.flows = out->flows;
	out->setup.changes = out->changes;
	err = read_text(path, &text, &bytes);
	if (err)
		snprintf(error, SL_YAML_ERROR_BYTES, "%.200s: %s", path, strerror(-err));
	if (!err)
		err = sl_yaml_parse(path, text, bytes, scenario_keys, &yaml, error);
	if (err)
		goto out;
	t.unit = yaml.units == CC_BYTES ? yaml.frame_bytes : 1;
	out->setup.seed = yaml.seed;
	snprintf(out->name, sizeof(out->name), "%s", yaml.name);
	err = translate_flows(&t);
	if (!err)
		err = translate_config(&t);
	if (!err)
		err = translate_rest(&t);
out:
	sl_yaml_free(scenario_keys, &yaml);
	free(text);
	return err;
}
