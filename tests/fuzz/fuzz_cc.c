/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every controller under arbitrary samples, records and usage: no undefined behaviour, the rate
 * stays within floor and line, the bucket holds a frame, old records are refused.
 */
#include <stdlib.h>
#include <string.h>

#include "cc/cc.h"

struct input {
	const uint8_t *data;
	size_t left;
};

static uint64_t take(struct input *in, size_t bytes)
{
	uint64_t v = 0;

	for (; bytes && in->left; bytes--, in->left--)
		v = v << 8 | *in->data++;
	return v;
}

static void require(bool ok)
{
	if (!ok)
		abort();
}

static void check(const struct cc_ingress *in, const struct cc_config *cfg)
{
	require(in->rate_q16 >= 1 && in->rate_q16 <= cfg->port.line_ups << 16);
	require(in->burst_units >= 1 && in->burst_units <= CC_UNITS_MAX);
	require(cc_ingress_rate_ups(in) >= 1);
}

static void configure(struct cc_config *cfg, struct input *f)
{
#define NAME(number, id, name) #name,
	static const char *const names[] = { CC_ALGORITHMS(NAME) };
	struct cc_port port = {
		.capacity_ups = 1 + take(f, 5) % CC_RATE_MAX,
		.line_ups = 1 + take(f, 5) % CC_RATE_MAX,
		.interval_ns = CC_INTERVAL_MIN_NS +
			       (uint32_t)take(f, 4) % (CC_INTERVAL_MAX_NS - CC_INTERVAL_MIN_NS + 1),
		.frame_bytes = 60 + (uint32_t)take(f, 2) % (65535 - 60 + 1),
		.units = take(f, 1) & 1,
		.sources = 1 + (uint16_t)take(f, 1) % CC_SOURCES_MAX,
		.seed = (uint16_t)take(f, 2),
	};
	const char *name = names[take(f, 1) % (sizeof(names) / sizeof(names[0]))];

	require(cc_config_init(cfg, name, &port) == 0);
	for (uint64_t n = take(f, 1) % 8; n; n--) {
		const struct cc_param *p = &cfg->ops->params[take(f, 1) % cfg->ops->n_params];
		int64_t value = p->min + (int64_t)(take(f, 7) % (uint64_t)(p->max - p->min + 1));

		require(cc_config_set(cfg, p->name, value) == 0);
	}
	if (cc_config_prepare(cfg, NULL) != 0) {
		require(cc_config_init(cfg, name, &port) == 0); /* the defaults always hold */
		require(cc_config_prepare(cfg, NULL) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input f = { data, size };
	struct cc_source sources[8];
	struct cc_config cfg;
	struct cc_egress e;
	struct cc_ingress in;

	configure(&cfg, &f);
	cc_egress_init(&e, &cfg);
	cc_ingress_init(&in, &cfg, (uint16_t)take(&f, 2));
	check(&in, &cfg);
	while (f.left) {
		uint8_t what = (uint8_t)take(&f, 1);
		struct cc_sample s = {
			.capacity_ups = take(&f, 5),
			.elapsed_ns = (uint32_t)take(&f, 4),
			.backlog_units = (uint32_t)take(&f, 4),
			.change_units = (int32_t)take(&f, 4),
			.dropped_units = (uint32_t)take(&f, 4),
			.last_source = (uint16_t)take(&f, 1),
			.n_sources = what & 7,
			.sources = sources,
			.timer = what >> 3 & 1,
		};
		struct cc_usage usage = {
			.elapsed_ns = s.elapsed_ns,
			.sent_units = (uint32_t)take(&f, 4),
			.backlogged = what >> 4 & 1,
			.urgency_total = take(&f, 5),
		};
		struct cc_feedback fb = { 0 };

		for (uint16_t i = 0; i < s.n_sources; i++)
			sources[i] =
				(struct cc_source){ (uint16_t)take(&f, 1), (uint16_t)take(&f, 2),
						    (uint32_t)take(&f, 4), (uint32_t)take(&f, 4) };
		cc_egress_sample(&e, &cfg, &s);
		for (uint16_t i = 0; i < s.n_sources; i++) {
			if (!cc_egress_feedback(&e, &cfg, &s, &sources[i], &fb))
				continue;
			if (what >> 5 & 1) { /* the fabric delivers other numbers */
				fb.signal = (uint32_t)take(&f, 4);
				fb.share = (uint32_t)take(&f, 4);
				fb.capacity_ups = take(&f, 8);
				fb.seq = (uint32_t)take(&f, 4);
			}
			if (cc_ingress_feedback(&in, &cfg, &fb) == 0)
				require(cc_ingress_feedback(&in, &cfg, &fb) != 0 || in.age_ns > 0);
			check(&in, &cfg);
		}
		cc_ingress_sent(&in, &cfg, usage.sent_units);
		check(&in, &cfg);
		cc_ingress_tick(&in, &cfg, &usage);
		check(&in, &cfg);
		if (what >> 6 == 3)
			cc_ingress_switch(&in, &cfg);
	}
	return 0;
}
