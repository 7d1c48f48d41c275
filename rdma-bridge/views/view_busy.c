/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/views/view_busy.h"

#include <stdlib.h>

#include "rdma-bridge/bridge/lane.h"
#include "user/ipc/relay.h"

/* Levels of delay: 0, then every fourth edge of the sums, from 1 us to 1.05 s. */
#define LEVEL_STEP 4
#define LEVEL_LAST 40

static void put_level(json_t *levels, uint64_t above_ns, struct sl_triangle_level level)
{
	json_array_append_new(levels, json_pack("{s:I, s:I, s:I}", "above_ns", (json_int_t)above_ns,
						"periods", (json_int_t)level.periods, "time_ns",
						(json_int_t)level.above_ns));
}

static json_t *levels(const struct sl_triangle *t)
{
	struct sl_triangle_level all = { 0, 0 };
	json_t *out = json_array();

	for (uint32_t k = 0; k <= SL_TRIANGLE_EDGES; k++) {
		all.periods += t->bin[k].periods;
		all.above_ns += t->bin[k].duration_ns;
	}
	put_level(out, 0, all);
	for (uint32_t k = 0; k <= LEVEL_LAST; k += LEVEL_STEP)
		put_level(out, sl_triangle_edge_ns(k), sl_triangle_level(t, k));
	return out;
}

/* The sums of each bin that has any; the last bin has no end. */
static json_t *sums(const struct sl_triangle *t)
{
	json_t *out = json_array();

	for (uint32_t k = 0; k <= SL_TRIANGLE_EDGES; k++)
		if (t->bin[k].periods)
			json_array_append_new(
				out,
				json_pack("{s:I, s:o, s:I, s:I, s:f}", "above_ns",
					  (json_int_t)(k ? sl_triangle_edge_ns(k - 1) : 0),
					  "most_ns",
					  k < SL_TRIANGLE_EDGES
						  ? json_integer((json_int_t)sl_triangle_edge_ns(k))
						  : json_null(),
					  "periods", (json_int_t)t->bin[k].periods, "duration_ns",
					  (json_int_t)t->bin[k].duration_ns, "ratio",
					  (double)t->bin[k].ratio_q16 / 65536));
	return out;
}

static json_t *inputs(const struct rb_port_busy *busy, const struct sl_busy_period *period)
{
	json_t *out = json_array();

	for (uint32_t i = 0; i < SL_BUSY_INPUTS_MAX; i++) {
		char name[IF_NAMESIZE];

		if (!period->input_bytes[i])
			continue;
		if (i < RB_BUSY_OTHERS && busy->input[i])
			sl_relay_tap_name(busy->input[i], name);
		json_array_append_new(out, json_pack("{s:s, s:I}", "port",
						     i == RB_BUSY_OTHERS ? "others"
						     : busy->input[i]	 ? name
									 : "kernel",
						     "bytes", (json_int_t)period->input_bytes[i]));
	}
	return out;
}

static int longer_first(const void *a, const void *b)
{
	const uint64_t x = ((const struct sl_busy_period *)a)->amplitude_ns,
		       y = ((const struct sl_busy_period *)b)->amplitude_ns;

	return (x < y) - (x > y);
}

static json_t *episodes(struct rb_port_busy *busy, uint64_t now_ns)
{
	json_t *out = json_array();

	qsort(busy->episode, busy->n_episodes, sizeof(busy->episode[0]), longer_first);
	for (uint32_t i = 0; i < busy->n_episodes; i++) {
		const struct sl_busy_period *p = &busy->episode[i];

		json_array_append_new(
			out, json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o}",
				       "start_ns", (json_int_t)p->start_ns, "ago_ns",
				       (json_int_t)now_ns - p->start_ns, "duration_ns",
				       (json_int_t)(p->end_ns - p->start_ns), "amplitude_ns",
				       (json_int_t)p->amplitude_ns, "apex_ns",
				       (json_int_t)(p->apex_ns - p->start_ns), "frames",
				       (json_int_t)p->packets, "bytes", (json_int_t)p->bytes,
				       "delay_sum_ns", (json_int_t)p->delay_ns, "queue_sum_ns",
				       (json_int_t)p->wait_ns, "inputs", inputs(busy, p)));
	}
	return out;
}

void rb_view_busy(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const struct rb_bridge *b = ctx;

	(void)request;
	for (uint32_t i = 0; i < b->n_ports; i++) {
		const struct rb_bridge_port *port = &b->ports[i];
		const struct rb_worker *worker = rb_bridge_lane(b, port->system_port)->worker;
		const struct rb_egress_port *egress = worker->port[port->settings->number];
		struct rb_port_busy *busy = egress->busy;
		const uint64_t now_ns = worker->now_ns;
		char name[IF_NAMESIZE];

		if (!busy)
			continue;
		if (!egress->n_waiting)
			rb_port_busy_settle(busy, now_ns);
		sl_relay_tap_name(port->system_port, name);
		if (sl_ctl_put(answer,
			       json_pack("{s:s, s:I, s:I, s:I, s:o, s:o, s:o}", "port", name,
					 "observed_ns",
					 (json_int_t)(now_ns - worker->first_tick_ns),
					 "late_frames", (json_int_t)busy->periods.late, "open",
					 (json_int_t)busy->periods.n, "levels",
					 levels(&busy->triangle), "sums", sums(&busy->triangle),
					 "episodes", episodes(busy, now_ns))))
			return;
	}
}
