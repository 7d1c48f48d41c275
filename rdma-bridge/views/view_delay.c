/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/views/view_delay.h"

#include "rdma-bridge/bridge/lane.h"
#include "user/ipc/relay.h"

/* Buckets for Prometheus: below 2^10 ns (1 us), 2^12, ... 2^34 (17 s). */
#define FIRST_BUCKET_BITS 10
#define LAST_BUCKET_BITS  34
#define BUCKET_STEP_BITS  2

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

void rb_view_delay(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const struct rb_bridge *b = ctx;

	(void)request;
	for (uint32_t i = 0; i < b->n_ports * SL_CLASSES; i++) {
		const struct rb_bridge_port *port = &b->ports[i / SL_CLASSES];
		const struct rb_egress_port *egress =
			rb_bridge_lane(b, port->system_port)->worker->port[port->settings->number];
		const uint32_t class = i % SL_CLASSES;
		const struct rb_port_delay *delay = egress->delay;
		char name[IF_NAMESIZE];

		sl_relay_tap_name(port->system_port, name);
		for (uint32_t k = 0; delay && k < RB_DELAY_STAGES; k++)
			if (sl_ctl_put(answer, row(name, class, stage_names[k], delay->mean,
						   &delay->stage[class][k])))
				return;
	}
}
