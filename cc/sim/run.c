/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "cc/sim/run.h"

/* What the sources sent to output 0, and their shares of it, over some intervals. */
struct sim_window {
	double sent_ups[SIM_SOURCES_MAX], share_ups[SIM_SOURCES_MAX]; /* sums */
	uint32_t intervals;
};

/* Rates and shares while a run goes on. */
struct sim_watch {
	double *queues; /* owned: of each interval and output measured */
	uint32_t n_queues;
	struct sim_window half, second; /* the last half; the second that goes on */
	double dropped, drained, drainable;
	double busy_drainable; /* while something left or waited at a source */
};

/* Something left the output in this interval, or waits for it at a source. */
static bool sim_busy(struct sim *sim, uint32_t output)
{
	bool busy = sim->outputs[output].departed_units > 0;

	for (uint32_t i = 0; i < sim->setup->n_sources && !busy; i++)
		busy = sim_voq(sim, i, output)->waiting_units > 0;
	return busy;
}

static double sim_interval_s(const struct sim *sim)
{
	return sim->setup->config.port.interval_ns * 1e-9;
}

/*
 * The oracle for one output now; n_sources entries. A source wants what it offers, and one that has
 * ended what is left in its VOQ. A backlog beside an offer is no demand: controllers that go by
 * backlogs keep some of a source that is served in full.
 */
static void sim_shares(struct sim *sim, uint32_t output, double *shares)
{
	const struct sim_setup *s = sim->setup;
	double wanted[SIM_SOURCES_MAX];
	uint16_t weights[SIM_SOURCES_MAX];

	for (uint32_t i = 0; i < s->n_sources; i++) {
		const struct sim_voq *voq = sim_voq(sim, i, output);

		wanted[i] = voq->offered_ups;
		if (wanted[i] <= 0)
			wanted[i] = (voq->sent_units + voq->waiting_units) / sim_interval_s(sim);
		weights[i] = voq->weight ? voq->weight : 1;
	}
	sim_maxmin(sim->outputs[output].capacity_ups, wanted, weights, s->n_sources, shares);
}

/*
 * Largest distance of a rate from its share, as a part of the share (of the capacity if that is 0).
 */
static double sim_error(struct sim *sim, uint32_t output, const double *shares)
{
	double worst = 0;

	for (uint32_t i = 0; i < sim->setup->n_sources; i++) {
		double sent = sim_voq(sim, i, output)->sent_units / sim_interval_s(sim);
		double whole = shares[i] > 0 ? shares[i] : sim->outputs[output].capacity_ups;

		worst = fmax(worst, fabs(sent - shares[i]) / whole);
	}
	return worst;
}

static void sim_window_add(struct sim *sim, struct sim_window *w, const double *shares)
{
	w->intervals++;
	for (uint32_t i = 0; i < sim->setup->n_sources; i++) {
		w->sent_ups[i] += sim_voq(sim, i, 0)->sent_units / sim_interval_s(sim);
		w->share_ups[i] += shares[i];
	}
}

/* Jain's index of rate / share, and the least of them; sources without a share do not count. */
static double sim_window_jain(const struct sim_window *w, double *least)
{
	double ratios[SIM_SOURCES_MAX];
	uint32_t n = 0;

	*least = INFINITY;
	for (uint32_t i = 0; i < SIM_SOURCES_MAX; i++) {
		if (w->share_ups[i] <= 0)
			continue;
		ratios[n] = w->sent_ups[i] / w->share_ups[i];
		*least = fmin(*least, ratios[n++]);
	}
	return sim_jain(ratios, n);
}

static void sim_trace_head(const struct sim_scenario *sc, FILE *trace)
{
	fprintf(trace, "# scenario %s controller %s seed %u\n", sc->name,
		sc->setup.config.ops->name, sc->setup.seed);
	fprintf(trace,
		"interval,time_s,output,capacity_ups,queue_units,dropped_units,signal,share");
	for (uint32_t i = 0; i < sc->setup.n_sources; i++)
		fprintf(trace, ",limit_%u,sent_%u", i, i);
	fputc('\n', trace);
}

static void sim_trace(struct sim *sim, FILE *trace)
{
	const struct sim_setup *s = sim->setup;
	double seconds = sim_interval_s(sim);

	for (uint32_t o = 0; o < s->n_outputs; o++) {
		const struct sim_output *out = &sim->outputs[o];

		fprintf(trace, "%u,%.9g,%u,%.9g,%.9g,%.9g,%u,%u", sim->interval - 1,
			sim->interval * seconds, o, out->capacity_ups, out->backlog_units,
			out->dropped_units, out->latest.signal, out->latest.share);
		for (uint32_t i = 0; i < s->n_sources; i++) {
			const struct sim_voq *voq = sim_voq(sim, i, o);

			fprintf(trace, ",%.9g,%.9g", sim_rate_ups(voq), voq->sent_units / seconds);
		}
		fputc('\n', trace);
	}
}

/* A second ends: note it if it is the worst so far. */
static void sim_watch_second(struct sim_watch *w, struct sim_summary *out)
{
	double least, jain = sim_window_jain(&w->second, &least);

	out->second_jain = fmin(out->second_jain, jain); /* NAN at first: then jain */
	out->second_least = fmin(out->second_least, least);
	memset(&w->second, 0, sizeof(w->second));
}

static void sim_watch_interval(struct sim *sim, const struct sim_scenario *sc, struct sim_watch *w,
			       struct sim_summary *out)
{
	uint32_t k = sim->interval - 1, since = k + 1 - sc->measure_from;
	uint32_t measured = sc->intervals - sc->measure_from;
	double error = 0;

	for (uint32_t o = sc->setup.n_outputs; o-- > 0;) {
		double shares[SIM_SOURCES_MAX];

		sim_shares(sim, o, shares);
		error = fmax(error, sim_error(sim, o, shares));
		if (o > 0)
			continue;
		sim_window_add(sim, &w->second, shares);
		if (since > measured / 2)
			sim_window_add(sim, &w->half, shares);
	}
	if (w->second.intervals * sim_interval_s(sim) > 1 - 1e-9)
		sim_watch_second(w, out);
	if (error > 0.05)
		out->settle_5 = since;
	if (error > 0.01)
		out->settle_1 = since;
	if (error > 0.001)
		out->settle_01 = since;
	if (since > measured - (measured + 9) / 10)
		out->error = fmax(out->error, error);
	for (uint32_t o = 0; o < sc->setup.n_outputs; o++) {
		const struct sim_output *output = &sim->outputs[o];

		w->queues[w->n_queues++] = output->backlog_units;
		w->dropped += output->dropped_units;
		w->drained += output->departed_units;
		w->drainable += output->capacity_ups * sim_interval_s(sim);
		if (sim_busy(sim, o))
			w->busy_drainable += output->capacity_ups * sim_interval_s(sim);
	}
}

static int sim_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Completion times; without flows that have a size all stay 0. */
static int sim_summarise_flows(const struct sim *sim, struct sim_summary *out)
{
	const struct sim_setup *s = sim->setup;
	double *seconds = calloc(s->n_flows + 1, sizeof(*seconds));

	if (!seconds)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n_flows; i++) {
		bool done = !isnan(sim->flow_seconds[i]);

		if (s->flows[i].size_units <= 0)
			continue;
		seconds[out->flows++] = done ? sim->flow_seconds[i] : INFINITY;
		out->flows_done += done;
	}
	qsort(seconds, out->flows, sizeof(*seconds), sim_compare);
	if (out->flows) {
		out->flow_p50_s = seconds[(out->flows - 1) / 2];
		out->flow_p99_s = seconds[(uint32_t)((out->flows - 1) * 0.99)];
		out->flow_p999_s = seconds[(uint32_t)((out->flows - 1) * 0.999)];
	}
	free(seconds);
	return 0;
}

static void sim_summarise(const struct sim_scenario *sc, struct sim_watch *w,
			  struct sim_summary *out)
{
	double total = 0;

	qsort(w->queues, w->n_queues, sizeof(*w->queues), sim_compare);
	for (uint32_t i = 0; i < w->n_queues; i++)
		total += w->queues[i];
	out->queue_mean_units = total / w->n_queues;
	out->queue_p99_units = w->queues[(uint32_t)((w->n_queues - 1) * 0.99)];
	out->queue_max_units = w->queues[w->n_queues - 1];
	out->utilisation = w->drained / w->drainable;
	out->busy_use = w->busy_drainable > 0 ? w->drained / w->busy_drainable : 1;
	out->egress_drop_share = w->dropped > 0 ? w->dropped / (w->drained + w->dropped) : 0;
	for (uint32_t i = 0; i < sc->setup.n_sources; i++) {
		out->rate_ups[i] = w->half.sent_ups[i] / w->half.intervals;
		out->share_ups[i] = w->half.share_ups[i] / w->half.intervals;
	}
	out->jain = sim_window_jain(&w->half, &out->least);
}

int sim_run(const struct sim_scenario *sc, FILE *trace, struct sim_summary *out)
{
	struct sim_watch watch = { 0 };
	struct sim *sim = NULL;
	int err = -EINVAL;

	memset(out, 0, sizeof(*out));
	out->second_jain = out->second_least = NAN;
	if (sc->measure_from >= sc->intervals)
		return err;
	err = sim_create(&sim, &sc->setup);
	if (err)
		return err;
	err = -ENOMEM;
	watch.queues = calloc((size_t)(sc->intervals - sc->measure_from) * sc->setup.n_outputs,
			      sizeof(*watch.queues));
	if (!watch.queues)
		goto out;
	if (trace)
		sim_trace_head(sc, trace);
	for (uint32_t k = 0; k < sc->intervals; k++) {
		sim_step(sim);
		if (trace)
			sim_trace(sim, trace);
		if (k >= sc->measure_from)
			sim_watch_interval(sim, sc, &watch, out);
	}
	sim_summarise(sc, &watch, out);
	err = sim_summarise_flows(sim, out);
out:
	free(watch.queues);
	sim_destroy(sim);
	return err;
}

/* A sweep shared by its threads. */
struct sim_grid {
	const struct sim_scenario *scenario; /* borrowed */
	struct sim_summary *results;	     /* owned: one per point */
	uint32_t points;
	atomic_uint next;     /* point to be taken */
	pthread_mutex_t lock; /* of done, err and progress */
	uint32_t done;
	int err;
	void (*progress)(uint32_t done, uint32_t total);
};

static double sim_axis_value(const struct sim_axis *axis, uint32_t step)
{
	if (axis->steps < 2)
		return axis->from;
	return axis->from + (axis->to - axis->from) * step / (axis->steps - 1);
}

/* Coordinates of a point: the first axis runs fastest. */
static void sim_point(const struct sim_scenario *sc, uint32_t point, double *values)
{
	for (uint32_t a = 0; a < sc->n_axes; a++) {
		values[a] = sim_axis_value(&sc->axes[a], point % sc->axes[a].steps);
		point /= sc->axes[a].steps;
	}
}

static void *sim_worker(void *arg)
{
	struct sim_scenario *sc = malloc(sizeof(*sc));
	struct sim_grid *grid = arg;
	int err = sc ? 0 : -ENOMEM;

	while (!err) {
		uint32_t point = atomic_fetch_add(&grid->next, 1);
		double values[SIM_AXES_MAX];

		if (point >= grid->points)
			break;
		sim_scenario_copy(sc, grid->scenario);
		sim_point(sc, point, values);
		for (uint32_t a = 0; a < sc->n_axes && !err; a++)
			err = sim_scenario_set(sc, sc->axes[a].name, values[a]);
		if (!err)
			err = sim_run(sc, NULL, &grid->results[point]);
		pthread_mutex_lock(&grid->lock);
		grid->done++;
		if (grid->progress)
			grid->progress(grid->done, grid->points);
		pthread_mutex_unlock(&grid->lock);
	}
	if (err) {
		pthread_mutex_lock(&grid->lock);
		grid->err = grid->err ? grid->err : err;
		pthread_mutex_unlock(&grid->lock);
		atomic_store(&grid->next, grid->points);
	}
	free(sc);
	return NULL;
}

static void sim_grid_write(const struct sim_grid *grid, FILE *csv)
{
	const struct sim_scenario *sc = grid->scenario;

	fprintf(csv, "# scenario %s controller %s seed %u\n", sc->name, sc->setup.config.ops->name,
		sc->setup.seed);
	for (uint32_t a = 0; a < sc->n_axes; a++)
		fprintf(csv, "%s,", sc->axes[a].name);
	fprintf(csv, "stable,settle_5,settle_1,settle_01,error,utilisation,jain,queue_mean_units,"
		     "queue_p99_units,egress_drop_share,second_jain,second_least,"
		     "queue_max_units,least,rate_0_ups,flows,flows_done,flow_p50_s,flow_p99_s,"
		     "flow_p999_s,busy_use\n");
	for (uint32_t point = 0; point < grid->points; point++) {
		const struct sim_summary *r = &grid->results[point];
		double values[SIM_AXES_MAX];

		sim_point(sc, point, values);
		for (uint32_t a = 0; a < sc->n_axes; a++)
			fprintf(csv, "%.9g,", values[a]);
		fprintf(csv, "%d,%u,%u,%u,%.6g,%.6f,%.6f,%.6g,%.6g,%.6g,%.6f,%.6f,",
			r->error <= 0.001, r->settle_5, r->settle_1, r->settle_01, r->error,
			r->utilisation, r->jain, r->queue_mean_units, r->queue_p99_units,
			r->egress_drop_share, r->second_jain, r->second_least);
		fprintf(csv, "%.6g,%.6f,%.6g,%u,%u,%.6g,%.6g,%.6g,%.6f\n", r->queue_max_units,
			r->least, r->rate_ups[0], r->flows, r->flows_done, r->flow_p50_s,
			r->flow_p99_s, r->flow_p999_s, r->busy_use);
	}
}

int sim_sweep(const struct sim_scenario *sc, uint32_t threads, FILE *csv,
	      void (*progress)(uint32_t done, uint32_t total))
{
	struct sim_grid grid = { .scenario = sc, .points = 1, .progress = progress };
	pthread_t *ids = NULL;
	uint32_t started = 0;

	for (uint32_t a = 0; a < sc->n_axes; a++)
		grid.points *= sc->axes[a].steps;
	atomic_init(&grid.next, 0);
	pthread_mutex_init(&grid.lock, NULL);
	grid.err = -ENOMEM;
	grid.results = calloc(grid.points, sizeof(*grid.results));
	ids = calloc(threads, sizeof(*ids));
	if (!grid.results || !ids)
		goto out;
	grid.err = 0;
	while (started < threads && pthread_create(&ids[started], NULL, sim_worker, &grid) == 0)
		started++;
	for (uint32_t i = 0; i < started; i++)
		pthread_join(ids[i], NULL);
	if (started == 0)
		grid.err = -EAGAIN;
	if (!grid.err)
		sim_grid_write(&grid, csv);
out:
	pthread_mutex_destroy(&grid.lock);
	free(grid.results);
	free(ids);
	return grid.err;
}
