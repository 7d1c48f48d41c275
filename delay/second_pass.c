/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The second pass: the two-stage model of each output whose rate is known, its predictions beside
 * what was measured, and the busy periods of its queue.
 *
 * Packets come in the order in which they entered, and stage 2 serves them in that of their arrival
 * there. A heap holds those that a later packet may still precede; sizes differ in their excess by
 * little, so it stays small. Packets that left unmatched (or set aside) took the output's time as
 * well: the model has them arrive just in time to leave when they did. So it treats packets with IP
 * options, whose delay no size explains.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "delay/passes.h"

struct arrival {
	int64_t arrival_ns, in_ns, out_ns;
	uint32_t serial; /* of all pushed; it may wrap, but not within a heap */
	uint16_t ip_bytes;
	uint8_t input, vlan_tags;
	bool background;
};

struct queue {
	struct sl_two_stage two_stage;
	struct arrival *heap; /* owned; the first to be served is on top */
	uint32_t n, size, pushed;
	int64_t least_excess_ns; /* no packet reaches stage 2 sooner after its time */
	int64_t latest_ns;	 /* arrival of the last one served */
	uint64_t work_ns;	 /* that it found and brought */
	bool any;
	struct sl_busy busy;
	int64_t measured_ns;  /* amplitude of the period under way, by times measured */
	double bound;	      /* 1 - 1/R; below 0: rates of inputs are not known */
	uint64_t largest_ns;  /* sending the largest packet */
	struct sl_semi *semi; /* owned */
};

struct sl_second_pass {
	struct sl_measure *measure; /* borrowed */
	struct queue queue[SL_LINKS_MAX];
};

/* The least excess of all sizes and inputs; a size counts by the excess that the model gives it. */
static int64_t model_excess_ns(const struct sl_measure *m, uint32_t input, uint32_t output,
			       uint32_t ip_bytes)
{
	const struct sl_pair *pair = m->pair[input][output];

	if (pair->least[ip_bytes].count < SL_LEAST_RELIABLE && pair->fitted)
		return (int64_t)(pair->excess_at_zero_ns + pair->excess_per_byte_ns * ip_bytes);
	return sl_measure_excess_ns(m, input, output, ip_bytes);
}

static int init_queue(struct sl_measure *m, uint32_t j, struct queue *q)
{
	struct sl_output *output = m->output[j];
	uint64_t inputs_bps = 0;
	bool known = true;

	sl_two_stage_init(&q->two_stage, output->rate_bps);
	q->busy.guard_ns = m->settings.guard_ns;
	q->largest_ns =
		sl_serialisation_ps(sl_measure_wire_bytes(m, j, output->largest_ip_bytes, 2),
				    output->rate_bps) /
			1000 +
		1;
	q->least_excess_ns = -(int64_t)q->largest_ns;
	for (uint32_t i = 0; i < m->settings.n_links; i++) {
		const struct sl_pair *pair = m->pair[i][j];

		for (uint32_t bytes = 0; pair && bytes < pair->n_least; bytes++) {
			int64_t excess_ns;

			if (!pair->least[bytes].count)
				continue;
			excess_ns = model_excess_ns(m, i, j, bytes);
			if (excess_ns < q->least_excess_ns)
				q->least_excess_ns = excess_ns;
		}
		if (pair && !m->settings.links[i].rate_bps)
			known = false;
		else if (pair)
			inputs_bps += m->settings.links[i].rate_bps;
	}
	q->bound = -1;
	if (known && inputs_bps > output->rate_bps)
		q->bound = 1 - (double)output->rate_bps / (double)inputs_bps;
	return sl_semi_create(output->rate_bps, &q->semi);
}

static void init_model(struct sl_measure *m, uint32_t j, struct sl_model *model)
{
	const uint32_t packet = sl_measure_wire_bytes(m, j, 1500, 0);

	model->episode_ns = m->settings.episode_ns;
	if (!model->episode_ns)
		model->episode_ns = 10 * sl_serialisation_ps(packet, m->output[j]->rate_bps) / 1000;
	model->above.n = m->settings.n_levels ? m->settings.n_levels : SL_TRIANGLE_EDGES;
	for (uint32_t k = 0; k < model->above.n; k++)
		model->above.level_ns[k] =
			m->settings.n_levels ? m->settings.level_ns[k] : sl_triangle_edge_ns(k);
	model->delays.random = model->periods.random = 0x9e3779b97f4a7c15;
}

int sl_second_pass_create(struct sl_measure *m, struct sl_second_pass **out)
{
	struct sl_second_pass *pass = calloc(1, sizeof(*pass));

	if (!pass)
		return -ENOMEM;
	pass->measure = m;
	for (uint32_t j = 0; j < m->settings.n_links; j++) {
		if (!m->output[j] || !m->output[j]->rate_bps)
			continue;
		m->output[j]->model = calloc(1, sizeof(struct sl_model));
		if (!m->output[j]->model) {
			sl_second_pass_destroy(pass);
			return -ENOMEM;
		}
		init_model(m, j, m->output[j]->model);
		if (init_queue(m, j, &pass->queue[j])) {
			sl_second_pass_destroy(pass);
			return -ENOMEM;
		}
	}
	*out = pass;
	return 0;
}

void sl_second_pass_destroy(struct sl_second_pass *pass)
{
	if (!pass)
		return;
	for (uint32_t j = 0; j < SL_LINKS_MAX; j++) {
		free(pass->queue[j].heap);
		sl_semi_destroy(pass->queue[j].semi);
	}
	free(pass);
}

/* Reservoir sampling, with a generator (xorshift64*) that starts the same in each run */
static void offer(struct sl_sample *sample, int64_t x, int64_t y)
{
	uint64_t place = sample->offered++;

	if (place >= SL_MEASURE_SAMPLE) {
		sample->random ^= sample->random >> 12;
		sample->random ^= sample->random << 25;
		sample->random ^= sample->random >> 27;
		place = sample->random * 0x2545f4914f6cdd1d % sample->offered;
	}
	if (place < SL_MEASURE_SAMPLE)
		sample->point[place] = (struct sl_point){ x, y };
}

static uint32_t octave(uint64_t value_ns)
{
	const uint32_t log2 = value_ns ? 63 - (uint32_t)__builtin_clzll(value_ns) : 0;

	return log2 < SL_MEASURE_OCTAVES ? log2 : SL_MEASURE_OCTAVES - 1;
}

static void keep_if_large(struct sl_model *model, const struct sl_busy_period *period,
			  uint64_t alone_ns)
{
	uint32_t at;

	if (model->n_top == SL_MEASURE_EPISODES &&
	    period->amplitude_ns <= model->top[SL_MEASURE_EPISODES - 1].period.amplitude_ns)
		return;
	at = model->n_top < SL_MEASURE_EPISODES ? model->n_top++ : SL_MEASURE_EPISODES - 1;
	for (; at && model->top[at - 1].period.amplitude_ns < period->amplitude_ns; at--)
		model->top[at] = model->top[at - 1];
	model->top[at] = (struct sl_episode){ *period, alone_ns };
}

static void period_ended(struct sl_model *model, const struct queue *q,
			 const struct sl_busy_period *period)
{
	const uint64_t duration_ns = (uint64_t)(period->end_ns - period->start_ns);
	const int64_t off_ns = q->measured_ns - (int64_t)period->amplitude_ns;
	const uint64_t alone_ns = sl_semi_take_amplitude_ns(q->semi);

	model->sum_amplitude_ns += (double)period->amplitude_ns;
	model->sum_alone_ns += (double)alone_ns;
	sl_periods_add(&model->queue, period);
	sl_above_period(&model->above, period->amplitude_ns, duration_ns);
	model->joint[octave(duration_ns)][octave(period->amplitude_ns)]++;
	if (q->bound >= 0) {
		model->bound_checked++;
		model->bound_broken += (double)period->amplitude_ns >
				       (double)duration_ns * q->bound + (double)q->largest_ns;
	}
	if (period->packets > 1) {
		offer(&model->periods, (int64_t)duration_ns, (int64_t)period->amplitude_ns);
		if (q->measured_ns > 0)
			sl_histogram_add(&model->amplitude_error_ppm,
					 (uint64_t)(off_ns < 0 ? -off_ns : off_ns) * 1000000 /
						 (uint64_t)q->measured_ns);
	}
	if (period->amplitude_ns >= model->episode_ns) {
		model->episodes++;
		keep_if_large(model, period, alone_ns);
	}
}

static void judge(struct sl_model *model, const struct arrival *a, int64_t departure_ns)
{
	const int64_t error_ns = departure_ns - a->out_ns;

	model->packets++;
	model->sum_error_ns += (double)error_ns;
	model->sum_square_ns2 += (double)error_ns * (double)error_ns;
	sl_histogram_add(&model->error, (uint64_t)(error_ns < 0 ? -error_ns : error_ns));
	offer(&model->delays, a->out_ns - a->in_ns, departure_ns - a->in_ns);
}

static int serve(struct sl_measure *m, uint32_t j, struct queue *q, const struct arrival *a)
{
	struct sl_model *model = m->output[j]->model;
	/* What could not be foreseen, a packet of the past, is served now. */
	const int64_t arrival_ns =
		q->any && a->arrival_ns < q->latest_ns ? q->latest_ns : a->arrival_ns;
	const uint32_t wire_bytes = sl_measure_wire_bytes(m, j, a->ip_bytes, a->vlan_tags);
	const struct sl_service service = sl_two_stage_serve(&q->two_stage, arrival_ns, wire_bytes);
	const int64_t delay_ns = a->out_ns - a->in_ns;
	const struct sl_passage passage = { .in_ns = arrival_ns,
					    .out_ns = service.departure_ns,
					    .wait_ns = service.wait_ns,
					    .delay_ns = delay_ns > 0 ? (uint64_t)delay_ns : 0,
					    .bytes = a->ip_bytes,
					    .input = a->input };
	struct sl_busy_period closed;

	if (q->any)
		sl_above_fall(&model->above, q->work_ns, (uint64_t)(arrival_ns - q->latest_ns));
	q->any = true;
	q->latest_ns = arrival_ns;
	q->work_ns = (uint64_t)(service.departure_ns - arrival_ns);
	if (sl_busy_add(&q->busy, &passage, &closed)) {
		period_ended(model, q, &closed);
		q->measured_ns = 0;
	}
	if (a->out_ns - arrival_ns > q->measured_ns)
		q->measured_ns = a->out_ns - arrival_ns;
	if (a->background)
		model->background++;
	else
		judge(model, a, service.departure_ns);
	return sl_semi_add(q->semi, arrival_ns, a->input, wire_bytes, service.wait_ns);
}

/* The order of service: by arrival; at one time by entry, then by input, then as captured. */
static bool sooner(const struct arrival *a, const struct arrival *b)
{
	if (a->arrival_ns != b->arrival_ns)
		return a->arrival_ns < b->arrival_ns;
	if (a->in_ns != b->in_ns)
		return a->in_ns < b->in_ns;
	if (a->input != b->input)
		return a->input < b->input;
	return (int32_t)(a->serial - b->serial) < 0;
}

static int push(struct queue *q, const struct arrival *a)
{
	uint32_t at = q->n;

	if (q->n == q->size) {
		const uint32_t size = q->size ? 2 * q->size : 1024;
		struct arrival *heap = realloc(q->heap, size * sizeof(*heap));

		if (!heap)
			return -ENOMEM;
		q->heap = heap;
		q->size = size;
	}
	q->n++;
	for (; at && sooner(a, &q->heap[(at - 1) / 2]); at = (at - 1) / 2)
		q->heap[at] = q->heap[(at - 1) / 2];
	q->heap[at] = *a;
	return 0;
}

static struct arrival pop(struct queue *q)
{
	const struct arrival top = q->heap[0], last = q->heap[--q->n];
	uint32_t at = 0, child;

	while ((child = 2 * at + 1) < q->n) {
		child += child + 1 < q->n && sooner(&q->heap[child + 1], &q->heap[child]);
		if (!sooner(&q->heap[child], &last))
			break;
		q->heap[at] = q->heap[child];
		at = child;
	}
	q->heap[at] = last;
	return top;
}

/* When a packet whose delay no size explains reaches stage 2: just in time. */
static int64_t just_in_time_ns(const struct sl_measure *m, uint32_t j, const struct arrival *a)
{
	return a->out_ns - (int64_t)((sl_serialisation_ps(sl_measure_wire_bytes(m, j, a->ip_bytes,
										a->vlan_tags),
							  m->output[j]->rate_bps) +
				      500) /
				     1000);
}

int sl_second_pass_packet(void *second_pass, const struct sl_matched *p)
{
	struct sl_second_pass *pass = second_pass;
	struct sl_measure *m = pass->measure;
	const int64_t late_ns = (int64_t)m->settings.clock_error_ns;
	const uint32_t j = p->output ? p->link : p->other_link;
	struct queue *q = &pass->queue[j];
	struct arrival a = { .input = p->link, .ip_bytes = p->ip_bytes, .vlan_tags = p->out_tags };
	int64_t now_ns;
	int err;

	/* A matched packet is taken at its input, others at the output, where they took time. */
	if (p->output == (p->fate == SL_FATE_MATCHED) || !m->output[j] || !m->output[j]->model)
		return 0;
	a.background = p->output || p->slow;
	a.in_ns = p->output ? p->time_ns - late_ns : p->time_ns;
	a.out_ns = p->output ? a.in_ns : p->other_ns - late_ns;
	if (a.background)
		a.arrival_ns = just_in_time_ns(m, j, &a);
	else
		a.arrival_ns = sl_two_stage_arrival_ns(&q->two_stage, p->link, p->time_ns,
						       model_excess_ns(m, p->link, j, p->ip_bytes));
	now_ns = p->time_ns - late_ns + q->least_excess_ns;
	while (q->n && q->heap[0].arrival_ns < now_ns) {
		const struct arrival first = pop(q);

		err = serve(m, j, q, &first);
		if (err)
			return err;
	}
	a.serial = q->pushed++;
	return push(q, &a);
}

int sl_second_pass_finish(struct sl_second_pass *pass)
{
	struct sl_measure *m = pass->measure;
	struct sl_busy_period closed;

	for (uint32_t j = 0; j < m->settings.n_links; j++) {
		struct queue *q = &pass->queue[j];
		struct sl_model *model;

		if (!m->output[j] || !m->output[j]->model)
			continue;
		model = m->output[j]->model;
		while (q->n) {
			const struct arrival first = pop(q);
			const int err = serve(m, j, q, &first);

			if (err)
				return err;
		}
		if (q->any)
			sl_above_fall(&model->above, q->work_ns, q->work_ns);
		if (sl_busy_close(&q->busy, &closed))
			period_ended(model, q, &closed);
		model->queue.raw = q->busy.raw;
		sl_semi_finish(q->semi);
		model->semi = *sl_semi_result(q->semi);
	}
	return 0;
}
