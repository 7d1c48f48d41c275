/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/views/view_delay.h"

#include "rdma-bridge/bridge/lane.h"
#include "rdma-bridge/express/express_paths.h"
#include "rdma-bridge/wire/transit.h"
#include "user/ipc/relay.h"

/* Buckets for Prometheus: below 2^10 ns (1 us), 2^12, ... 2^34 (17 s). */
#define FIRST_BUCKET_BITS 10
#define LAST_BUCKET_BITS  34
#define BUCKET_STEP_BITS  2
/* Rows of an answer of `frames`, all ports together; workers stand still until it is made. */
#define FRAMES_MAX 1000

static const char *const stage_names[RB_DELAY_STAGES] = {
#define X(name, text, what) text,
	RB_DELAY_STAGE_TABLE(X)
#undef X
};

/* How many values lie below each of the edges, which are edges of the histogram, too. */
static json_t *buckets(const struct sl_histogram *h)
{
	json_t *out = json_array();
	uint64_t seen = 0;
	uint32_t i = 0;

	for (uint32_t bits = FIRST_BUCKET_BITS; bits <= LAST_BUCKET_BITS;
	     bits += BUCKET_STEP_BITS) {
		const uint64_t edge_ns = 1ULL << bits;

		for (; sl_histogram_edge_ns(i) < edge_ns; i++)
			seen += h->bucket[i];
		json_array_append_new(out, json_pack("{s:I, s:I}", "below_ns", (json_int_t)edge_ns,
						     "frames", (json_int_t)seen));
	}
	return out;
}

static json_t *quantile(const struct sl_histogram *h, uint32_t ppm)
{
	return h->count ? json_integer((json_int_t)sl_histogram_quantile_ns(h, ppm)) : json_null();
}

/* By how much times between this node and others may be wrong: those that are up. */
static uint16_t error_us(const struct rb_worker *w)
{
	uint16_t most_us = 0;

	for (uint32_t i = 0; i < w->n_nodes; i++) {
		const uint16_t us = rb_transit_error_us(&w->peer[w->nodes[i]]->transit);

		if (rb_worker_peer_state(w, w->nodes[i]) == RB_PEER_UP && us > most_us)
			most_us = us;
	}
	return most_us;
}

static json_t *error_json(uint16_t us)
{
	return us < RB_TRANSIT_ERROR_MAX ? json_integer((json_int_t)us * 1000) : json_null();
}

static bool is_between_nodes(enum rb_delay_stage stage)
{
	return stage == RB_DELAY_MESSAGE || stage == RB_DELAY_TOTAL;
}

static json_t *row(const char *port, uint32_t class, const char *stage, uint32_t mean,
		   const struct sl_histogram *h)
{
	return json_pack("{s:s, s:i, s:s, s:i, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "port",
			 port, "class", (int)class, "stage", stage, "one_of", (int)mean,
			 "measured_frames", (json_int_t)h->count, "sum_ns", (json_int_t)h->sum_ns,
			 "min_ns", h->count ? json_integer((json_int_t)h->min_ns) : json_null(),
			 "p50_ns", quantile(h, 500000), "p99_ns", quantile(h, 990000), "p999_ns",
			 quantile(h, 999000), "max_ns",
			 h->count ? json_integer((json_int_t)h->max_ns) : json_null(), "buckets",
			 buckets(h));
}

/* What went past the bridge until now. */
static void measure(const struct rb_bridge *b)
{
	for (uint32_t i = 0; i < b->n_lanes; i++)
		rb_express_measure(b->lanes[i].express);
}

void rb_view_delay(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const struct rb_bridge *b = ctx;

	const uint16_t most_us = error_us(b->lanes[0].worker);

	(void)request;
	measure(b);
	for (uint32_t i = 0; i < b->n_ports * SL_CLASSES; i++) {
		const struct rb_bridge_port *port = &b->ports[i / SL_CLASSES];
		const struct rb_egress_port *egress =
			rb_bridge_lane(b, port->system_port)->worker->port[port->settings->number];
		const uint32_t class = i % SL_CLASSES;
		const struct rb_port_delay *delay = egress->delay;
		char name[IF_NAMESIZE];
		json_t *stage;

		sl_relay_tap_name(port->system_port, name);
		for (uint32_t k = 0; delay && k < RB_DELAY_STAGES; k++) {
			stage = row(name, class, stage_names[k], delay->mean,
				    &delay->stage[class][k]);
			json_object_set_new(stage, "error_ns",
					    error_json(is_between_nodes(k) ? most_us : 0));
			if (sl_ctl_put(answer, stage))
				return;
		}
	}
}

static json_t *frame_row(const char *port, uint64_t number, const struct rb_delay_frame *frame)
{
	const uint32_t n = frame->len_bytes < RB_DELAY_HEAD ? frame->len_bytes : RB_DELAY_HEAD;
	static const char digits[] = "0123456789abcdef";
	char name[IF_NAMESIZE], bytes[2 * RB_DELAY_HEAD + 1] = "";
	const uint64_t total_ns = frame->stay.voq_ns + frame->stay.message_ns +
				  frame->stay.queue_ns + frame->transmit_ns;

	for (uint32_t i = 0; i < n; i++) {
		bytes[2 * i] = digits[frame->head[i] >> 4];
		bytes[2 * i + 1] = digits[frame->head[i] & 15];
	}
	if (frame->ingress_port)
		sl_relay_tap_name(frame->ingress_port, name);
	return json_pack("{s:s, s:I, s:i, s:o, s:i, s:s, s:I, s:I, s:I, s:o, s:I, s:I, s:I, s:b}",
			 "port", port, "number", (json_int_t)number, "class", (int)frame->class,
			 "from", frame->ingress_port ? json_string(name) : json_null(),
			 "frame_bytes", (int)frame->len_bytes, "bytes", bytes, "left_ns",
			 (json_int_t)(frame->given_ns + frame->transmit_ns), "voq_ns",
			 (json_int_t)frame->stay.voq_ns, "message_ns",
			 (json_int_t)frame->stay.message_ns, "message_error_ns",
			 error_json(frame->error_us), "queue_ns", (json_int_t)frame->stay.queue_ns,
			 "transmit_ns", (json_int_t)frame->transmit_ns, "total_ns",
			 (json_int_t)total_ns, "express", frame->express);
}

void rb_view_frames(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const json_t *after = json_object_get(request, "after");
	const struct rb_bridge *b = ctx;
	uint32_t n = 0;

	measure(b);
	for (uint32_t i = 0; i < b->n_ports; i++) {
		const struct rb_bridge_port *port = &b->ports[i];
		const struct rb_egress_port *egress =
			rb_bridge_lane(b, port->system_port)->worker->port[port->settings->number];
		const struct rb_port_delay *delay = egress->delay;
		char name[IF_NAMESIZE];
		uint64_t k;

		if (!delay)
			continue;
		sl_relay_tap_name(port->system_port, name);
		k = (uint64_t)json_integer_value(json_object_get(after, name));
		if (delay->n_kept > RB_DELAY_KEPT && k < delay->n_kept - RB_DELAY_KEPT)
			k = delay->n_kept - RB_DELAY_KEPT;
		for (; k < delay->n_kept && n < FRAMES_MAX; k++, n++)
			if (sl_ctl_put(answer,
				       frame_row(name, k + 1, &delay->kept[k % RB_DELAY_KEPT])))
				return;
	}
}
