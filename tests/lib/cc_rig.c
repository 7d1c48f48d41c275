/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/cc_rig.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#define INTERVAL_NS 1000000

void cc_rig_init(struct cc_config *cfg, const char *controller, uint16_t sources)
{
	const struct cc_port port = {
		.capacity_ups = (uint64_t)CC_RIG_C,
		.line_ups = (uint64_t)CC_RIG_C,
		.interval_ns = INTERVAL_NS,
		.frame_bytes = 64,
		.units = CC_PACKETS,
		.sources = sources,
	};

	assert_int_equal(cc_config_init(cfg, controller, &port), 0);
}

struct cc_feedback cc_rig_record(struct cc_egress *egress, const struct cc_config *cfg,
				 struct cc_sample s)
{
	const struct cc_source source = { .id = 0, .weight = 1 };
	struct cc_feedback record;

	s.capacity_ups = (uint64_t)CC_RIG_C;
	s.elapsed_ns = INTERVAL_NS;
	s.n_sources = 1;
	s.sources = &source;
	s.timer = true;
	cc_egress_sample(egress, cfg, &s);
	assert_true(cc_egress_feedback(egress, cfg, &s, &source, &record));
	return record;
}

double cc_rig_rate(const struct cc_ingress *ingress)
{
	return (double)ingress->rate_q16 / 65536;
}
