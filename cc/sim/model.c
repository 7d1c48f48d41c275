/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cc/sim/model.h"

/* A record on its way; `due` 0 marks a free place. Place: (interval made, source, output). */
struct sim_record {
	uint32_t due; /* interval + 1 in whose tick it is used */
	struct cc_feedback feedback;
};

static uint32_t sim_random(struct sim *sim)
{
	uint32_t x = sim->random;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return sim->random = x;
}

struct sim_voq *sim_voq(struct sim *sim, uint32_t source, uint32_t output)
{
	return &sim->voqs[source * sim->setup->n_outputs + output];
}

double sim_rate_ups(const struct sim_voq *voq)
{
	return (double)voq->ingress.rate_q16 / 65536.0;
}

static int sim_setup_check(const struct sim_setup *s)
{
	if (s->n_sources < 1 || s->n_sources > SIM_SOURCES_MAX || s->n_outputs < 1 ||
	    s->n_outputs > SIM_OUTPUTS_MAX || s->n_flows > SIM_FLOWS_MAX ||
	    s->delay + s->jitter >= SIM_DELAY_MAX || s->loss_ppm > 1000000 || s->seed == 0)
		return -EINVAL;
	for (uint32_t i = 0; i < s->n_flows; i++)
		if (s->flows[i].source >= s->n_sources || s->flows[i].output >= s->n_outputs ||
		    s->delay + s->jitter + s->flows[i].extra_delay >= SIM_DELAY_MAX)
			return -EINVAL;
	for (uint32_t i = 0; i < s->n_changes; i++)
		if (s->changes[i].output >= s->n_outputs)
			return -EINVAL;
	return 0;
}

static void sim_add_flow(struct sim *sim, uint32_t i)
{
	const struct sim_setup *setup = sim->setup;
	const struct sim_flow *flow = &setup->flows[i];
	struct sim_voq *voq = sim_voq(sim, flow->source, flow->output);
	struct cc_config own = setup->config;

	own.port.seed ^= (uint16_t)((i + setup->seed) * 2654435769u >> 16); /* as in the bridge */
	sim->max_delay =
		(uint32_t)fmax(sim->max_delay, setup->delay + setup->jitter + flow->extra_delay);
	sim->flow_seconds[i] = NAN;
	voq->delivered_units += flow->size_units; /* a sum, until the start */
	sim->flow_end_units[i] = voq->delivered_units;
	voq->sized |= flow->size_units > 0;
	if (voq->used)
		return;
	voq->used = true;
	voq->weight = flow->weight;
	voq->extra_delay = flow->extra_delay;
	cc_ingress_init(&voq->ingress, &own, voq->weight);
	if (setup->start_ups >= 0)
		voq->ingress.rate_q16 = (uint64_t)(setup->start_ups * 65536.0);
}

int sim_create(struct sim **out, const struct sim_setup *setup)
{
	uint32_t n_voqs = setup->n_sources * setup->n_outputs;
	struct sim *sim = NULL;
	int err = sim_setup_check(setup);

	*out = NULL;
	if (err)
		return err;
	err = -ENOMEM;
	sim = calloc(1, sizeof(*sim));
	if (!sim)
		goto out;
	sim->setup = setup;
	sim->random = setup->seed;
	sim->outputs = calloc(setup->n_outputs, sizeof(*sim->outputs));
	sim->voqs = calloc(n_voqs, sizeof(*sim->voqs));
	sim->line = calloc((size_t)SIM_DELAY_MAX * n_voqs, sizeof(*sim->line));
	sim->flow_end_units = calloc(setup->n_flows + 1, sizeof(double));
	sim->flow_seconds = calloc(setup->n_flows + 1, sizeof(double));
	if (!sim->outputs || !sim->voqs || !sim->line || !sim->flow_end_units || !sim->flow_seconds)
		goto out;
	for (uint32_t o = 0; o < setup->n_outputs; o++) {
		cc_egress_init(&sim->outputs[o].egress, &setup->config);
		sim->outputs[o].capacity_ups = (double)setup->config.port.capacity_ups;
	}
	for (uint32_t i = 0; i < setup->n_flows; i++)
		sim_add_flow(sim, i);
	for (uint32_t i = 0; i < n_voqs; i++)
		sim->voqs[i].delivered_units = 0;
	*out = sim;
	sim = NULL;
	err = 0;
out:
	sim_destroy(sim);
	return err;
}

void sim_destroy(struct sim *sim)
{
	if (!sim)
		return;
	free(sim->outputs);
	free(sim->voqs);
	free(sim->line);
	free(sim->flow_end_units);
	free(sim->flow_seconds);
	free(sim);
}

static double sim_seconds(const struct sim *sim)
{
	return sim->setup->config.port.interval_ns * 1e-9;
}

static void sim_offer(struct sim *sim)
{
	const struct sim_setup *s = sim->setup;

	for (uint32_t i = 0; i < s->n_changes; i++)
		if (s->changes[i].at == sim->interval)
			sim->outputs[s->changes[i].output].capacity_ups =
				s->changes[i].capacity_ups;
	for (uint32_t i = 0; i < s->n_sources * s->n_outputs; i++)
		sim->voqs[i].offered_ups = 0;
	for (uint32_t i = 0; i < s->n_flows; i++) {
		const struct sim_flow *f = &s->flows[i];

		if (sim->interval >= f->from && sim->interval < f->to)
			sim_voq(sim, f->source, f->output)->offered_ups += f->offered_ups;
		if (sim->interval == f->from)
			sim_voq(sim, f->source, f->output)->waiting_units += f->size_units;
	}
}

/* Every VOQ takes its offer and sends as its rate allows; a source sends at most its line. */
static void sim_send(struct sim *sim)
{
	const struct sim_setup *s = sim->setup;
	double seconds = sim_seconds(sim), line = (double)s->config.port.line_ups * seconds;

	for (uint32_t source = 0; source < s->n_sources; source++) {
		double total = 0, scale;

		for (uint32_t o = 0; o < s->n_outputs; o++) {
			struct sim_voq *voq = sim_voq(sim, source, o);

			voq->waiting_units += voq->offered_ups * seconds;
			voq->sent_units = fmin(voq->waiting_units, sim_rate_ups(voq) * seconds);
			total += voq->sent_units;
		}
		scale = total > line ? line / total : 1;
		for (uint32_t o = 0; o < s->n_outputs; o++) {
			struct sim_voq *voq = sim_voq(sim, source, o);
			double excess;

			voq->sent_units *= scale;
			voq->waiting_units -= voq->sent_units;
			excess = voq->sized ? 0 : fmax(voq->waiting_units - s->voq_limit_units, 0);
			voq->waiting_units -= excess;
			voq->dropped_units += excess;
			sim->outputs[o].arrived_units += voq->sent_units;
		}
	}
}

/* What an output has dropped of this interval's arrivals waits at its sources again. */
static void sim_deliver_units(struct sim *sim, uint32_t output)
{
	const struct sim_output *out = &sim->outputs[output];
	double lost = out->arrived_units > 0 ? out->dropped_units / out->arrived_units : 0;

	for (uint32_t source = 0; source < sim->setup->n_sources; source++) {
		struct sim_voq *voq = sim_voq(sim, source, output);

		voq->delivered_units += voq->sent_units * (1 - lost);
		if (voq->sized)
			voq->waiting_units += voq->sent_units * lost;
	}
}

/* Note the flows whose last unit has come into its egress queue, which leaves when that drains. */
static void sim_note_ends(struct sim *sim)
{
	const struct sim_setup *s = sim->setup;

	for (uint32_t i = 0; i < s->n_flows; i++) {
		const struct sim_flow *f = &s->flows[i];
		const struct sim_output *out = &sim->outputs[f->output];
		double delivered = sim_voq(sim, f->source, f->output)->delivered_units;

		if (f->size_units <= 0 || !isnan(sim->flow_seconds[i]) || sim->interval < f->from ||
		    delivered < sim->flow_end_units[i] - 1e-3)
			continue;
		sim->flow_seconds[i] = (sim->interval + 1 - f->from) * sim_seconds(sim) +
				       out->backlog_units / out->capacity_ups;
	}
}

static void sim_drain(struct sim *sim, struct sim_output *out)
{
	double drain = out->capacity_ups * sim_seconds(sim);

	out->backlog_units += out->arrived_units;
	out->departed_units = fmin(out->backlog_units, drain);
	out->backlog_units -= out->departed_units;
	out->dropped_units = fmax(out->backlog_units - sim->setup->queue_limit_units, 0);
	out->backlog_units -= out->dropped_units;
	out->total_departed_units += out->departed_units;
	out->total_dropped_units += out->dropped_units;
	out->total_drain_units += drain;
}

static uint32_t sim_whole(double *part)
{
	double whole = floor(*part);

	*part -= whole;
	return (uint32_t)fmin(whole, (double)CC_UNITS_MAX);
}

/* Post a record: lost, or due after its delay. */
static void sim_post(struct sim *sim, uint32_t voq, const struct cc_feedback *feedback)
{
	const struct sim_setup *s = sim->setup;
	uint32_t due = sim->interval + s->delay + sim->voqs[voq].extra_delay;
	size_t place = (size_t)(sim->interval % SIM_DELAY_MAX) * s->n_sources * s->n_outputs + voq;

	if (s->loss_ppm && sim_random(sim) % 1000000 < s->loss_ppm)
		return;
	if (s->jitter)
		due += sim_random(sim) % (s->jitter + 1);
	sim->line[place] = (struct sim_record){ .due = due + 1, .feedback = *feedback };
}

static void sim_measure(struct sim *sim, uint32_t output)
{
	const struct sim_setup *s = sim->setup;
	struct sim_output *out = &sim->outputs[output];
	struct cc_source sources[SIM_SOURCES_MAX];
	struct cc_sample sample = {
		.capacity_ups = (uint64_t)out->capacity_ups,
		.elapsed_ns = s->config.port.interval_ns,
		.backlog_units = (uint32_t)fmin(out->backlog_units, CC_UNITS_MAX),
		.departed_units = (uint32_t)fmin(out->departed_units, CC_UNITS_MAX),
		.last_source = CC_NO_SOURCE,
		.sources = sources,
		.timer = true,
	};
	double pick = out->arrived_units * (sim_random(sim) / 4294967296.0);

	out->shown_dropped += out->dropped_units;
	sample.dropped_units = sim_whole(&out->shown_dropped);
	sample.change_units = (int32_t)((int64_t)sample.backlog_units - out->shown_backlog);
	out->shown_backlog = sample.backlog_units;
	for (uint32_t source = 0; source < s->n_sources; source++) {
		struct sim_voq *voq = sim_voq(sim, source, output);
		struct cc_source *entry = &sources[sample.n_sources];

		if (!voq->used)
			continue;
		voq->arrived_part += voq->sent_units;
		*entry = (struct cc_source){
			.id = (uint16_t)source,
			.weight = voq->weight,
			.arrived_units = sim_whole(&voq->arrived_part),
			.waiting_units = (uint32_t)fmin(voq->waiting_units, CC_UNITS_MAX),
		};
		sample.n_sources++;
		/* Draw the source of the latest arrival by the sources' shares of the arrivals. */
		if (pick >= 0 && voq->sent_units > pick)
			sample.last_source = entry->id;
		pick = voq->sent_units > pick ? -1 : pick - voq->sent_units;
	}
	cc_egress_sample(&out->egress, &s->config, &sample);
	for (uint32_t i = 0; i < sample.n_sources; i++) {
		struct cc_feedback feedback;

		if (!cc_egress_feedback(&out->egress, &s->config, &sample, &sources[i], &feedback))
			continue;
		out->latest = feedback;
		sim_post(sim, sources[i].id * s->n_outputs + output, &feedback);
	}
	out->arrived_units = 0;
}

/* Show the ingress halves what left in this interval, before the records of its end arrive. */
static void sim_show_sent(struct sim *sim)
{
	const struct sim_setup *s = sim->setup;

	for (uint32_t i = 0; i < s->n_sources * s->n_outputs; i++) {
		struct sim_voq *voq = &sim->voqs[i];

		if (!voq->used)
			continue;
		voq->owed_units += voq->sent_units;
		voq->shown_units = sim_whole(&voq->owed_units);
		cc_ingress_sent(&voq->ingress, &s->config, voq->shown_units);
	}
}

static void sim_deliver(struct sim *sim)
{
	const struct sim_setup *s = sim->setup;
	uint32_t n_voqs = s->n_sources * s->n_outputs;

	for (uint32_t age = sim->max_delay + 1; age-- > 0;) {
		/* wraps before the start: nothing is there */
		uint32_t made = sim->interval - age;
		struct sim_record *slot = &sim->line[(size_t)(made % SIM_DELAY_MAX) * n_voqs];

		for (uint32_t i = 0; age <= sim->interval && i < n_voqs; i++) {
			if (slot[i].due != sim->interval + 1)
				continue;
			slot[i].due = 0;
			cc_ingress_feedback(&sim->voqs[i].ingress, &s->config, &slot[i].feedback);
		}
	}
}

static void sim_tick(struct sim *sim)
{
	const struct sim_setup *s = sim->setup;

	for (uint32_t source = 0; source < s->n_sources; source++) {
		struct cc_usage usage = { .elapsed_ns = s->config.port.interval_ns };

		for (uint32_t o = 0; o < s->n_outputs; o++) {
			struct sim_voq *voq = sim_voq(sim, source, o);

			if (voq->used)
				usage.urgency_total +=
					cc_ingress_urgency(&voq->ingress, &s->config);
		}
		for (uint32_t o = 0; o < s->n_outputs; o++) {
			struct sim_voq *voq = sim_voq(sim, source, o);

			if (!voq->used)
				continue;
			usage.sent_units = voq->shown_units;
			usage.backlogged = voq->waiting_units > 0;
			cc_ingress_tick(&voq->ingress, &s->config, &usage);
		}
	}
}

void sim_step(struct sim *sim)
{
	sim_offer(sim);
	sim_send(sim);
	for (uint32_t o = 0; o < sim->setup->n_outputs; o++) {
		sim_drain(sim, &sim->outputs[o]);
		sim_deliver_units(sim, o);
		sim_measure(sim, o);
	}
	sim_note_ends(sim);
	sim_show_sent(sim);
	sim_deliver(sim);
	sim_tick(sim);
	sim->interval++;
}

void sim_maxmin(double capacity_ups, const double *offered_ups, const uint16_t *weights, uint32_t n,
		double *shares_ups)
{
	double left = capacity_ups, weight = 0;
	bool served = true;

	for (uint32_t i = 0; i < n; i++) {
		shares_ups[i] = -1;
		weight += weights[i];
	}
	/* A source that offers no more than its part gets all of it; the rest makes larger parts.
	 */
	while (served) {
		double part = weight > 0 ? left / weight : 0;

		served = false;
		for (uint32_t i = 0; i < n; i++) {
			if (shares_ups[i] >= 0 || offered_ups[i] > part * weights[i])
				continue;
			shares_ups[i] = offered_ups[i];
			left -= offered_ups[i];
			weight -= weights[i];
			served = true;
			break;
		}
	}
	for (uint32_t i = 0; i < n; i++)
		if (shares_ups[i] < 0)
			shares_ups[i] = left * weights[i] / weight;
}

double sim_jain(const double *values, uint32_t n)
{
	double sum = 0, squares = 0;

	for (uint32_t i = 0; i < n; i++) {
		sum += values[i];
		squares += values[i] * values[i];
	}
	return squares > 0 ? sum * sum / (n * squares) : 1;
}
