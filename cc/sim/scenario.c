/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenario files: the YAML schema, and its translation into a struct sim_scenario. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cyaml/cyaml.h>

#include "cc/sim/run.h"

struct yaml_param {
	char *name;
	int64_t value;
};

struct yaml_flow {
	uint32_t source, output, weight, count, from, to;
	double offered_pps;
};

struct yaml_change {
	uint32_t at, output;
	double capacity_pps;
};

struct yaml_axis {
	char *param;
	double from, to;
	uint32_t steps;
};

/* The file as written; 0 where a field is left out. */
struct yaml_scenario {
	char *name, *controller;
	int units; /* enum cc_units */
	double capacity_pps, line_pps, queue_limit_frames, voq_limit_frames;
	double *start_pps;
	uint32_t frame_bytes, interval_us, intervals, measure_from;
	uint32_t delay, jitter, loss_ppm, seed;
	struct yaml_param *params;
	uint32_t params_count;
	struct yaml_flow *flows;
	uint32_t flows_count;
	struct yaml_change *changes;
	uint32_t changes_count;
	struct yaml_axis *sweep;
	uint32_t sweep_count;
};

#define OPT CYAML_FLAG_OPTIONAL

static const cyaml_schema_field_t param_fields[] = {
	CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct yaml_param, name, 1, 64),
	CYAML_FIELD_INT("value", CYAML_FLAG_DEFAULT, struct yaml_param, value), CYAML_FIELD_END
};

static const cyaml_schema_field_t flow_fields[] = {
	CYAML_FIELD_UINT("source", CYAML_FLAG_DEFAULT, struct yaml_flow, source),
	CYAML_FIELD_UINT("output", OPT, struct yaml_flow, output),
	CYAML_FIELD_UINT("weight", OPT, struct yaml_flow, weight),
	CYAML_FIELD_UINT("count", OPT, struct yaml_flow, count),
	CYAML_FIELD_FLOAT("offered_pps", CYAML_FLAG_DEFAULT, struct yaml_flow, offered_pps),
	CYAML_FIELD_UINT("from", OPT, struct yaml_flow, from),
	CYAML_FIELD_UINT("to", OPT, struct yaml_flow, to),
	CYAML_FIELD_END
};

static const cyaml_schema_field_t change_fields[] = {
	CYAML_FIELD_UINT("at", CYAML_FLAG_DEFAULT, struct yaml_change, at),
	CYAML_FIELD_UINT("output", OPT, struct yaml_change, output),
	CYAML_FIELD_FLOAT("capacity_pps", CYAML_FLAG_DEFAULT, struct yaml_change, capacity_pps),
	CYAML_FIELD_END
};

static const cyaml_schema_field_t axis_fields[] = {
	CYAML_FIELD_STRING_PTR("param", CYAML_FLAG_POINTER, struct yaml_axis, param, 1,
			       SIM_NAME_BYTES - 1),
	CYAML_FIELD_FLOAT("from", CYAML_FLAG_DEFAULT, struct yaml_axis, from),
	CYAML_FIELD_FLOAT("to", CYAML_FLAG_DEFAULT, struct yaml_axis, to),
	CYAML_FIELD_UINT("steps", CYAML_FLAG_DEFAULT, struct yaml_axis, steps), CYAML_FIELD_END
};

static const cyaml_schema_value_t param_entry = { CYAML_VALUE_MAPPING(
	CYAML_FLAG_DEFAULT, struct yaml_param, param_fields) };
static const cyaml_schema_value_t flow_entry = { CYAML_VALUE_MAPPING(
	CYAML_FLAG_DEFAULT, struct yaml_flow, flow_fields) };
static const cyaml_schema_value_t change_entry = { CYAML_VALUE_MAPPING(
	CYAML_FLAG_DEFAULT, struct yaml_change, change_fields) };
static const cyaml_schema_value_t axis_entry = { CYAML_VALUE_MAPPING(
	CYAML_FLAG_DEFAULT, struct yaml_axis, axis_fields) };

static const cyaml_strval_t unit_names[] = { { "packets", CC_PACKETS }, { "bytes", CC_BYTES } };

static const cyaml_schema_field_t scenario_fields[] = {
	CYAML_FIELD_STRING_PTR("name", CYAML_FLAG_POINTER, struct yaml_scenario, name, 1,
			       SIM_NAME_BYTES - 1),
	CYAML_FIELD_STRING_PTR("controller", CYAML_FLAG_POINTER, struct yaml_scenario, controller,
			       1, CC_NAME_BYTES - 1),
	CYAML_FIELD_SEQUENCE("params", CYAML_FLAG_POINTER | OPT, struct yaml_scenario, params,
			     &param_entry, 0, CC_PARAMS_MAX),
	CYAML_FIELD_ENUM("units", OPT, struct yaml_scenario, units, unit_names, 2),
	CYAML_FIELD_UINT("frame_bytes", OPT, struct yaml_scenario, frame_bytes),
	CYAML_FIELD_FLOAT("capacity_pps", CYAML_FLAG_DEFAULT, struct yaml_scenario, capacity_pps),
	CYAML_FIELD_FLOAT("line_pps", OPT, struct yaml_scenario, line_pps),
	CYAML_FIELD_FLOAT("queue_limit_frames", OPT, struct yaml_scenario, queue_limit_frames),
	CYAML_FIELD_FLOAT("voq_limit_frames", OPT, struct yaml_scenario, voq_limit_frames),
	CYAML_FIELD_FLOAT_PTR("start_pps", CYAML_FLAG_POINTER | OPT, struct yaml_scenario,
			      start_pps),
	CYAML_FIELD_UINT("interval_us", OPT, struct yaml_scenario, interval_us),
	CYAML_FIELD_UINT("intervals", CYAML_FLAG_DEFAULT, struct yaml_scenario, intervals),
	CYAML_FIELD_UINT("measure_from", OPT, struct yaml_scenario, measure_from),
	CYAML_FIELD_UINT("delay", OPT, struct yaml_scenario, delay),
	CYAML_FIELD_UINT("jitter", OPT, struct yaml_scenario, jitter),
	CYAML_FIELD_UINT("loss_ppm", OPT, struct yaml_scenario, loss_ppm),
	CYAML_FIELD_UINT("seed", OPT, struct yaml_scenario, seed),
	CYAML_FIELD_SEQUENCE("flows", CYAML_FLAG_POINTER, struct yaml_scenario, flows, &flow_entry,
			     1, SIM_FLOWS_MAX),
	CYAML_FIELD_SEQUENCE("changes", CYAML_FLAG_POINTER | OPT, struct yaml_scenario, changes,
			     &change_entry, 0, SIM_CHANGES_MAX),
	CYAML_FIELD_SEQUENCE("sweep", CYAML_FLAG_POINTER | OPT, struct yaml_scenario, sweep,
			     &axis_entry, 0, SIM_AXES_MAX),
	CYAML_FIELD_END
};

static const cyaml_schema_value_t scenario_schema = { CYAML_VALUE_MAPPING(
	CYAML_FLAG_POINTER, struct yaml_scenario, scenario_fields) };

/* A place for one message; the YAML library writes there too. */
struct why {
	char *text;
	size_t bytes;
};

static int fail(const struct why *why, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(why->text, why->bytes, fmt, args);
	va_end(args);
	return -EINVAL;
}

static void log_yaml(cyaml_log_t level, void *ctx, const char *fmt, va_list args)
{
	const struct why *why = ctx;
	char line[256];

	(void)level;
	vsnprintf(line, sizeof(line), fmt, args);
	line[strcspn(line, "\n")] = 0;
	/* The first line names the fault; the ones after it name the place, outwards. */
	if (why->text[0] && strlen(why->text) + strlen(line) + 3 < why->bytes)
		strcat(strcat(why->text, "; "), line);
	else if (!why->text[0])
		snprintf(why->text, why->bytes, "%s", line);
}

static int translate_config(struct sim_scenario *out, const struct yaml_scenario *y,
			    const struct why *why)
{
	uint32_t frame_bytes = y->frame_bytes ? y->frame_bytes : 64;
	uint32_t interval_us = y->interval_us ? y->interval_us : 1000;
	double unit = y->units == CC_BYTES ? frame_bytes : 1;
	double line_pps = y->line_pps > 0 ? y->line_pps : 10 * y->capacity_pps;
	struct cc_port port = {
		.capacity_ups = (uint64_t)(y->capacity_pps * unit),
		.line_ups = (uint64_t)(line_pps * unit),
		.interval_ns = interval_us * 1000,
		.frame_bytes = frame_bytes,
		.units = (uint8_t)y->units,
		.sources = (uint16_t)out->setup.n_sources,
		.seed = (uint16_t)out->setup.seed,
	};
	struct cc_config *cfg = &out->setup.config;
	const char *reason;
	int err;

	if (interval_us < 1 || interval_us > 1000000)
		return fail(why, "interval_us: %u is not in 1..1000000", interval_us);
	err = cc_config_init(cfg, y->controller, &port);
	if (err == -ENOENT)
		return fail(why, "controller: \"%s\" is not one of those that cc-sim --list shows",
			    y->controller);
	if (err)
		return fail(why, "capacity_pps, line_pps or frame_bytes is out of range (1..2^37 "
				 "units/s; 60..65535 bytes)");
	for (uint32_t i = 0; i < y->params_count; i++) {
		err = cc_config_set(cfg, y->params[i].name, y->params[i].value);
		if (err)
			return fail(why, "params: %s: %s", y->params[i].name,
				    err == -ENOENT
					    ? "the controller has no such parameter"
					    : "the value is out of range, see cc-sim --list");
	}
	if (cc_config_prepare(cfg, &reason))
		return fail(why, "params: %s", reason ? reason : "they do not go together");
	return 0;
}

static int translate_flows(struct sim_scenario *out, const struct yaml_scenario *y,
			   const struct why *why, double unit)
{
	struct sim_setup *s = &out->setup;

	for (uint32_t i = 0; i < y->flows_count; i++) {
		const struct yaml_flow *f = &y->flows[i];
		uint32_t count = f->count ? f->count : 1;

		if (f->source + count > SIM_SOURCES_MAX || f->output >= SIM_OUTPUTS_MAX ||
		    f->weight > CC_WEIGHT_MAX || s->n_flows + count > SIM_FLOWS_MAX)
			return fail(why,
				    "flows[%u]: sources are 0..%u, outputs 0..%u, weights 1..%u, "
				    "and there are %u flows at most",
				    i, SIM_SOURCES_MAX - 1, SIM_OUTPUTS_MAX - 1, CC_WEIGHT_MAX,
				    SIM_FLOWS_MAX);
		for (uint32_t c = 0; c < count; c++)
			out->flows[s->n_flows++] = (struct sim_flow){
				.source = (uint16_t)(f->source + c),
				.output = (uint16_t)f->output,
				.weight = f->weight ? (uint16_t)f->weight : 1,
				.offered_ups = f->offered_pps * unit,
				.from = f->from,
				.to = f->to ? f->to : UINT32_MAX,
			};
		if (f->source + count > s->n_sources)
			s->n_sources = f->source + count;
		if (f->output + 1 > s->n_outputs)
			s->n_outputs = f->output + 1;
	}
	return 0;
}

static int translate_rest(struct sim_scenario *out, const struct yaml_scenario *y,
			  const struct why *why, double unit)
{
	struct sim_setup *s = &out->setup;
	double interval_s = (y->interval_us ? y->interval_us : 1000) * 1e-6;
	double drain_frames = y->capacity_pps * interval_s;

	s->queue_limit_units =
		unit * (y->queue_limit_frames > 0 ? y->queue_limit_frames : 100 * drain_frames);
	s->voq_limit_units =
		unit * (y->voq_limit_frames > 0 ? y->voq_limit_frames : 2 * drain_frames + 16);
	s->start_ups = y->start_pps ? *y->start_pps * unit : -1;
	s->delay = y->delay;
	s->jitter = y->jitter;
	s->loss_ppm = y->loss_ppm;
	if (s->delay + s->jitter >= SIM_DELAY_MAX)
		return fail(why, "delay, jitter: together at most %u", SIM_DELAY_MAX - 1);
	if (s->loss_ppm > 1000000)
		return fail(why, "loss_ppm: %u is not in 0..1000000", s->loss_ppm);
	out->intervals = y->intervals;
	out->measure_from = y->measure_from;
	if (out->intervals == 0 || out->measure_from >= out->intervals)
		return fail(why, "intervals, measure_from: there is no interval to measure");
	for (uint32_t i = 0; i < y->changes_count; i++) {
		if (y->changes[i].output >= s->n_outputs)
			return fail(why, "changes[%u].output: no flow goes to %u", i,
				    y->changes[i].output);
		out->changes[s->n_changes++] = (struct sim_change){
			.at = y->changes[i].at,
			.output = (uint16_t)y->changes[i].output,
			.capacity_ups = y->changes[i].capacity_pps * unit,
		};
	}
	for (uint32_t i = 0; i < y->sweep_count; i++) {
		struct sim_axis *axis = &out->axes[out->n_axes++];

		if (y->sweep[i].steps == 0 || y->sweep[i].steps > 10000)
			return fail(why, "sweep[%u].steps: %u is not in 1..10000", i,
				    y->sweep[i].steps);
		axis->from = y->sweep[i].from;
		axis->to = y->sweep[i].to;
		axis->steps = y->sweep[i].steps;
		snprintf(axis->name, sizeof(axis->name), "%s", y->sweep[i].param);
	}
	return 0;
}

int sim_scenario_load(struct sim_scenario *out, const char *path, char *text, size_t bytes)
{
	const struct why why = { text, bytes };
	const cyaml_config_t config = {
		.log_fn = log_yaml,
		.log_ctx = (void *)&why,
		.log_level = CYAML_LOG_ERROR,
		.mem_fn = cyaml_mem,
	};
	struct yaml_scenario *y = NULL;
	cyaml_err_t broken;
	double unit;
	int err;

	text[0] = 0;
	memset(out, 0, sizeof(*out));
	out->setup.flows = out->flows;
	out->setup.changes = out->changes;
	broken = cyaml_load_file(path, &config, &scenario_schema, (cyaml_data_t **)&y, NULL);
	if (broken != CYAML_OK) {
		if (!text[0])
			fail(&why, "%s", cyaml_strerror(broken));
		return -EINVAL;
	}
	unit = y->units == CC_BYTES ? (y->frame_bytes ? y->frame_bytes : 64) : 1;
	out->setup.seed = y->seed ? y->seed : 1;
	snprintf(out->name, sizeof(out->name), "%s", y->name);
	err = translate_flows(out, y, &why, unit);
	if (!err)
		err = translate_config(out, y, &why);
	if (!err)
		err = translate_rest(out, y, &why, unit);
	cyaml_free(&config, &scenario_schema, y, 0);
	return err;
}
