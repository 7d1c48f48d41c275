/* SPDX-License-Identifier: BSD-2-Clause */
/* `fixed`: the rate is the parameter's, or what is written into the VOQ from outside. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "cc/cc.h"

static void configure(struct cc_config *cfg)
{
	const struct cc_port port = {
		.capacity_ups = 1000000,
		.line_ups = 2000000,
		.interval_ns = 1000000,
		.frame_bytes = 64,
		.units = CC_PACKETS,
		.sources = 4,
	};

	assert_int_equal(cc_config_init(cfg, "fixed", &port), 0);
	assert_int_equal(cc_config_prepare(cfg, NULL), 0);
}

static void the_rate_is_obeyed_and_never_decays(void **state)
{
	const struct cc_usage idle = { .elapsed_ns = 1000000 };
	struct cc_config cfg;
	struct cc_ingress in;

	(void)state;
	configure(&cfg);
	cc_ingress_init(&in, &cfg, 1);
	assert_int_equal(cc_ingress_rate_ups(&in), 250000); /* a quarter: four sources */
	in.rate_q16 = UINT64_C(1234) << 16;		    /* written from outside */
	for (int i = 0; i < 1000; i++)
		cc_ingress_tick(&in, &cfg, &idle);
	assert_int_equal(cc_ingress_rate_ups(&in), 1234);
	assert_int_equal(in.burst_units, 2); /* 1.2 units in T: two frames instead */
	assert_int_equal(cc_config_set(&cfg, "rate_ups", 700000), 0);
	assert_int_equal(cc_config_prepare(&cfg, NULL), 0);
	cc_ingress_tick(&in, &cfg, &idle);
	assert_int_equal(cc_ingress_rate_ups(&in), 700000);
	assert_int_equal(in.burst_units, 700);
	assert_int_equal(cc_config_set(&cfg, "rate_ups", 5000000), 0);
	cc_ingress_tick(&in, &cfg, &idle);
	assert_int_equal(cc_ingress_rate_ups(&in), 2000000); /* the line */
}

/* 100 Gbit/s are more bytes a second than 32 bits hold. */
static void a_rate_beyond_32_bits_is_obeyed(void **state)
{
	const struct cc_port port = {
		.capacity_ups = UINT64_C(12500000000),
		.line_ups = UINT64_C(12500000000),
		.interval_ns = 1000000,
		.frame_bytes = 1500,
		.units = CC_BYTES,
		.sources = 4,
	};
	struct cc_config cfg;
	struct cc_ingress in;

	(void)state;
	assert_int_equal(cc_config_init(&cfg, "fixed", &port), 0);
	assert_int_equal(cc_config_set(&cfg, "rate_ups", INT64_C(10000000000)), 0);
	assert_int_equal(cc_config_prepare(&cfg, NULL), 0);
	cc_ingress_init(&in, &cfg, 1);
	assert_int_equal(cc_ingress_rate_ups(&in), UINT64_C(10000000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rate_is_obeyed_and_never_decays),
		cmocka_unit_test(a_rate_beyond_32_bits_is_obeyed),
	};

	return cmocka_run_group_tests_name("fixed", tests, NULL, NULL);
}
